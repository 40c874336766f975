"""What the reduction kernels of one CPU level offer the driver: C functions by operation and dtype code.

A fold reduces `reduced` elements for each of `kept` neighbours (strides in bytes, one of the two is the item size);
it writes `kept` contiguous results to `out` and, for operations with two results, `kept` more to `extra`.
A merge folds the partial results of `n_part` elements into those of the `n_out` elements before them.
A load copies an `outer` by `inner` tile into contiguous memory, converting as its map says.
"""
ctypedef void (*Fold)(const char* a, Py_ssize_t kept, Py_ssize_t kept_stride, Py_ssize_t reduced,
                      Py_ssize_t reduced_stride, char* out, char* extra, const void* tag) noexcept nogil
ctypedef void (*Merge)(char* out, char* extra, const char* part, const char* part_extra, Py_ssize_t kept,
                       Py_ssize_t n_out, Py_ssize_t n_part, const void* tag) noexcept nogil
ctypedef void (*Load)(const char* a, Py_ssize_t outer, Py_ssize_t outer_stride, Py_ssize_t inner,
                      Py_ssize_t inner_stride, char* out, const void* tag) noexcept nogil

cdef enum:
    KEPT_TILE = 512        # most neighbours one fold is asked for

cdef enum ReduceOp:
    SUM
    PRODUCT
    MAXIMUM
    MINIMUM
    ARGMAX
    ARGMIN
    MOMENTS
    EXTREMA                # the smallest, and the largest beside it
    EXPONENTIALS           # the largest, and beside it the sum of the exponentials of what all are above it
    N_OPS

cdef enum LoadMap:
    COPY
    NONZERO                # 0 or 1 as uint8
    COUNT                  # 0 or 1 as int64
    WIDEN                  # half types to float32
    MAGNITUDE              # absolute value, in float32 or float64
    SQUARE                 # its square, in float32 or float64
    NUMBERS                # NaN as 0, in float32 or float64
    N_MAPS

ctypedef struct Kernel:
    Fold fold
    Merge merge

ctypedef struct ReduceTable:
    Kernel kernel[9][15]   # [N_OPS][NCODES]
    Load load[7][15]       # [N_MAPS][NCODES]
