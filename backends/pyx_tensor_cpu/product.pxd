"""Products of raw matrices, for the other modules of this backend (blas, convolution, attention …)."""
from pyx_tensor_cpu.matmul_kernels cimport i64

cdef struct Matrix:
    # Sizes and strides (in elements) of a two-dimensional block of memory.
    char* data
    i64 rows, columns
    i64 row, column

cdef struct Product:
    int code
    Matrix a, b
    const char* start            # the row that is added to each of a b, or NULL
    char* c
    i64 c_row, itemsize
    bint accumulate, use_blas
    const void* alpha            # NULL for a plain product
    const void* beta
    bint beta_is_zero

cdef bint has_kernel(int code) noexcept
cdef bint is_blas_layout(const Matrix* m) noexcept nogil
cdef bint wants_blas(int code, const Matrix* a, const Matrix* b) except -1
cdef void fill_rows(char* c, i64 step, i64 rows, const char* row, i64 size) noexcept nogil
cdef void fill_scalar(int code, double complex value, double* storage) noexcept nogil

# on this thread
cdef void multiply(int code, const Matrix* a, const Matrix* b, void* c, i64 c_row, bint accumulate, bint use_blas) noexcept nogil
cdef void multiply_block(const Product* p, i64 row, i64 rows, i64 column, i64 columns) noexcept nogil

# on as many as it is worth
cdef void multiply_blocks(const Product* p) noexcept nogil
cdef int run(Product* p) except -1
cdef i64 cost(int code, i64 m, i64 n, i64 k) noexcept nogil

cdef inline Matrix transposed(const Matrix* m) noexcept nogil:
    cdef Matrix t
    t.data = m.data
    t.rows, t.columns = m.columns, m.rows
    t.row, t.column = m.column, m.row
    return t
