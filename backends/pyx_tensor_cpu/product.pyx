"""Products of raw matrices, on one thread and on all: by OpenBLAS where it is faster, else by this package's kernels.

Row-major C = A B is given to OpenBLAS as C^T = B^T A^T.
"""
from cpython.pycapsule cimport PyCapsule_GetPointer
from cython.parallel cimport prange
from libc.string cimport memcpy, memset

from pyx_tensor_cpu cimport openblas
from pyx_tensor_cpu.dtypes cimport BF16, C64, F32, F64
from pyx_tensor_cpu.matmul_kernels cimport MatmulKernels
from pyx_tensor_cpu.parallel cimport threads_for

from pyx_tensor_cpu.level import use_kernels

cdef enum:
    KEEP_GIL_BELOW = 100_000     # multiplications that take less than the hand-over of the GIL is worth

cdef MatmulKernels* kernels = NULL


def _bind(module):
    global kernels
    kernels = <MatmulKernels*>PyCapsule_GetPointer(module.matmul_kernels, "pyx_tensor_cpu.matmul_kernels")


use_kernels("matmul", _bind)


cdef bint has_kernel(int code) noexcept:
    return kernels.product[code] != NULL


# ---- one product of two matrices ----------------------------------------------------------------------------------

cdef inline bint rows_are_dense(const Matrix* m) noexcept nogil:
    return (m.column == 1 or m.columns == 1) and (m.row >= max(1, m.columns) or m.rows == 1)


cdef inline bint columns_are_dense(const Matrix* m) noexcept nogil:
    return (m.row == 1 or m.rows == 1) and (m.column >= max(1, m.rows) or m.columns == 1)


cdef bint is_blas_layout(const Matrix* m) noexcept nogil:
    """Whether BLAS can take the matrix as it lies in memory, plain or transposed."""
    return rows_are_dense(m) or columns_are_dense(m)


cdef inline bint kernels_are_faster(int code, const Matrix* a, const Matrix* b) noexcept nogil:
    """Whether this package's kernels are faster than OpenBLAS."""
    cdef i64 work = a.rows * b.columns * a.columns
    if code < C64 and (a.rows == 1 or b.columns == 1):
        return work <= 16 * 16
    return work <= kernels.largest[code]


cdef bint wants_blas(int code, const Matrix* a, const Matrix* b) except -1:
    return (code >= F32 and a.rows * b.columns * a.columns != 0 and not kernels_are_faster(code, a, b)
            and openblas.load())


cdef void gemm(int code, const Matrix* a, const Matrix* b, void* c, i64 c_row, const void* alpha, const void* beta) noexcept nogil:
    """c = alpha a b + beta c, with dense rows of c; a and b in a BLAS layout; no size is zero."""
    cdef int form = code - F32
    cdef i64 m = a.rows, n = b.columns, k = a.columns
    cdef i64 ldc = max(n, c_row)
    cdef bint plain_a = rows_are_dense(a), plain_b = rows_are_dense(b)
    cdef char trans_a = b'N' if plain_a else b'T'
    cdef char trans_b = b'N' if plain_b else b'T'
    cdef i64 lda = max(1, a.columns if a.rows == 1 else a.row) if plain_a else max(1, a.rows if a.columns == 1 else a.column)
    cdef i64 ldb = max(1, b.columns if b.rows == 1 else b.row) if plain_b else max(1, b.rows if b.columns == 1 else b.column)
    openblas.blas.gemm[form](&trans_b, &trans_a, &n, &m, &k, alpha, b.data, &ldb, a.data, &lda, beta, c, &ldc)


cdef void gemv(int code, const Matrix* a, const Matrix* x, void* y, i64 y_step, const void* alpha, const void* beta) noexcept nogil:
    """y = alpha a x + beta y for matrices x and y of one column."""
    cdef int form = code - F32
    cdef bint plain = rows_are_dense(a)
    cdef i64 inner = a.columns if plain else a.rows
    cdef i64 outer = a.rows if plain else a.columns
    cdef i64 lda = max(1, inner if outer == 1 else (a.row if plain else a.column))
    cdef char trans = b'T' if plain else b'N'
    cdef i64 x_step = x.row if x.rows > 1 else 1
    openblas.blas.gemv[form](&trans, &inner, &outer, alpha, a.data, &lda, x.data, &x_step, beta, y, &y_step)


cdef void blas_product(int code, const Matrix* a, const Matrix* b, void* c, i64 c_row, const void* alpha, const void* beta) noexcept nogil:
    cdef Matrix a_t, b_t
    if b.columns == 1:
        gemv(code, a, b, c, c_row, alpha, beta)
    elif a.rows == 1:
        a_t = transposed(a)
        b_t = transposed(b)
        gemv(code, &b_t, &a_t, c, 1, alpha, beta)
    else:
        gemm(code, a, b, c, c_row, alpha, beta)


cdef void fill_scalar(int code, double complex value, double* storage) noexcept nogil:
    """Write a number as BLAS reads it: one or two float32 or float64."""
    cdef float* single = <float*>storage
    if code == F32 or code == C64:
        single[0] = <float>value.real
        single[1] = <float>value.imag
    else:
        storage[0] = value.real
        storage[1] = value.imag


cdef void multiply(int code, const Matrix* a, const Matrix* b, void* c, i64 c_row, bint accumulate, bint use_blas) noexcept nogil:
    """c = a b, or c += a b, on this thread; the rows of c are dense. With ``use_blas`` a and b have BLAS layouts, if OpenBLAS is faster."""
    multiply_from(code, a, b, NULL, c, c_row, accumulate, use_blas)


cdef void multiply_from(int code, const Matrix* a, const Matrix* b, const char* start, void* c, i64 c_row, bint accumulate, bint use_blas) noexcept nogil:
    """The same, or c = start + a b for a row ``start`` that isn't NULL."""
    cdef double one[2]
    cdef double beta[2]
    if not use_blas or kernels_are_faster(code, a, b):
        kernels.product[code](a.data, a.row, a.column, b.data, b.row, b.column, start, c, c_row, a.rows, b.columns, a.columns, accumulate)
        return
    if start != NULL:
        fill_rows(<char*>c, c_row * bytes_of(code), a.rows, start, b.columns * bytes_of(code))
        accumulate = True
    fill_scalar(code, 1, one)
    fill_scalar(code, 1 if accumulate else 0, beta)
    scaled_multiply(code, a, b, c, c_row, one, beta, not accumulate)


cdef void fill_rows(char* c, i64 step, i64 rows, const char* row, i64 size) noexcept nogil:
    """Write a row of `size` bytes into each of some rows, `step` bytes apart."""
    cdef i64 i
    for i in range(rows):
        memcpy(c + i * step, row, size)


cdef void scaled_multiply(int code, const Matrix* a, const Matrix* b, void* c, i64 c_row,
                          const void* alpha, const void* beta, bint beta_is_zero) noexcept nogil:
    """c = alpha a b + beta c by OpenBLAS on this thread."""
    cdef i64 i, itemsize = bytes_of(code)
    if beta_is_zero and (a.rows == 1 or b.columns == 1):
        # gemv scales what is there, so NaN in fresh memory would survive a factor of 0
        for i in range(a.rows):
            memset(<char*>c + i * c_row * itemsize, 0, b.columns * itemsize)
    blas_product(code, a, b, c, c_row, alpha, beta)


cdef inline i64 bytes_of(int code) noexcept nogil:
    return 4 << (code - F32) if code <= F64 else 8 << (code - C64)


# ---- one product over all threads -----------------------------------------------------------------------------------
# Threads take blocks of c and call OpenBLAS without its own threads: those wait in a busy loop after every product, on
# the processors that this package's loops want next.

cdef void multiply_block(const Product* p, i64 row, i64 rows, i64 column, i64 columns) noexcept nogil:
    cdef Matrix a = p.a, b = p.b
    cdef char* c = p.c + (row * p.c_row + column) * p.itemsize
    if rows <= 0 or columns <= 0:
        return
    a.data += row * a.row * p.itemsize
    a.rows = rows
    b.data += column * b.column * p.itemsize
    b.columns = columns
    if p.alpha == NULL:
        multiply_from(p.code, &a, &b, p.start + column * p.itemsize if p.start != NULL else NULL, c, p.c_row, p.accumulate, p.use_blas)
    else:
        scaled_multiply(p.code, &a, &b, c, p.c_row, p.alpha, p.beta, p.beta_is_zero)


cdef i64 cost(int code, i64 m, i64 n, i64 k) noexcept nogil:
    """Work of a product in additions of a pointwise loop: float ones do many per cycle, but wait for memory with vectors."""
    return m * n * k // ((2 if m == 1 or n == 1 else 16) if code >= BF16 else 4)


cdef inline i64 share(i64 size, i64 parts) noexcept nogil:
    """Size of a part, a multiple of the kernels' widths where that leaves something for each."""
    cdef i64 each = (size + parts - 1) // parts
    return (each + 15) // 16 * 16 if each >= 64 else each


cdef void multiply_blocks(const Product* p) noexcept nogil:
    cdef i64 m = p.a.rows, n = p.b.columns, i, rows, columns
    cdef int threads = threads_for(cost(p.code, m, n, p.a.columns)), down = 1, candidate
    if threads == 1:
        multiply_block(p, 0, m, 0, n)
        return
    for candidate in range(1, threads + 1):     # the grid whose blocks are nearest to squares reads the least memory
        if threads % candidate == 0 and m // candidate + n * candidate // threads < m // down + n * down // threads:
            down = candidate
    rows = share(m, down)
    columns = share(n, threads // down)
    for i in prange(threads, num_threads=threads, schedule="static"):
        multiply_block(p, i % down * rows, min(rows, m - i % down * rows),
                       i // down * columns, min(columns, n - i // down * columns))


cdef int run(Product* p) except -1:
    if p.use_blas:
        openblas.use_threads(1)
    if p.a.rows * p.b.columns * p.a.columns < KEEP_GIL_BELOW:
        multiply_block(p, 0, p.a.rows, 0, p.b.columns)
    else:
        with nogil:
            multiply_blocks(p)
    return 0
