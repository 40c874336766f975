cdef enum:
    MAX_DIMS = 64

cdef struct Geometry:
    int ndim
    Py_ssize_t offset                 # elements from the start of the storage
    Py_ssize_t shape[MAX_DIMS]
    Py_ssize_t strides[MAX_DIMS]      # elements

cdef Py_ssize_t numel(const Geometry* g) noexcept nogil
cdef bint is_contiguous(const Geometry* g) noexcept nogil
cdef bint overlaps_itself(const Geometry* g) noexcept nogil
cdef void set_contiguous(Geometry* g) noexcept nogil
cdef int wrap_dim(Py_ssize_t dim, int ndim) except -1
cdef tuple shape_tuple(const Geometry* g)
cdef int load_shape(Geometry* g, object shape) except -1
cdef int select(Geometry* g, int dim, Py_ssize_t index) except -1
cdef int slice_(Geometry* g, int dim, object start, object stop, object step) except -1
cdef int slice_bounds(Geometry* g, int dim, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t step) except -1
cdef int unsqueeze(Geometry* g, int dim) except -1
cdef int apply_view(int kind, Geometry* g, tuple args) except -1
cdef int view_as(Geometry* g, object sizes) except -1
cdef int index_basic(Geometry* g, tuple index) except -1
cdef bint reshape_strides(Geometry* g, const Geometry* wanted) noexcept nogil
cdef int infer_size(Geometry* wanted, object sizes, Py_ssize_t count) except -1

# The kinds of view operations; `apply_view` has one rule for each.
cdef enum ViewKind:
    VIEW = 1
    EXPAND
    PERMUTE
    TRANSPOSE
    SQUEEZE
    UNSQUEEZE
    SELECT
    SLICE
    DIAGONAL
    UNFOLD
    AS_STRIDED
    INDEX
    ALIAS
    RETYPE                            # another dtype: see make_retyped_view in viewing.pyx
