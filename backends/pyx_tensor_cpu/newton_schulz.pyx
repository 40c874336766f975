"""The orthogonal matrix next to one, by the iteration of Newton and Schulz, as Muon wants it.

Matrices are float32 of bfloat16's values: a product of such is computed in float32 and rounded once, as PyTorch's is.
"""
cimport numpy as cnp
from cython.parallel cimport prange
from libc.math cimport sqrt

import numpy as np

from pyx_tensor_cpu cimport openblas
from pyx_tensor_cpu.product cimport Matrix, multiply
from pyx_tensor_cpu.dtypes cimport F32
from pyx_tensor_cpu.matmul_kernels cimport i64
from pyx_tensor_cpu.parallel cimport threads_for

cnp.import_array()

cdef extern from *:
    """
    #include <stdint.h>
    #include <string.h>
    /* The value of bfloat16 next to x, the even one of two; NaN stays NaN. */
    static inline float pyx_rounded(float x) {
        uint32_t bits;
        float y;
        memcpy(&bits, &x, sizeof bits);
        bits = (bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000u;
        memcpy(&y, &bits, sizeof y);
        return x == x ? y : x;
    }
    """
    float rounded "pyx_rounded" (float x) noexcept nogil

cdef enum:
    BLOCK = 512                 # rows and columns of one task
    TILE = 16
    SMALL = 32 * 32 * 32        # multiplications of a product that isn't worth a call of BLAS
    KEEP_GIL_BELOW = 100_000    # multiplications that take less than the hand-over of the GIL is worth


cdef inline Matrix matrix(float* data, i64 rows, i64 columns, i64 row, i64 column) noexcept nogil:
    cdef Matrix m
    m.data, m.rows, m.columns, m.row, m.column = <char*>data, rows, columns, row, column
    return m


cdef inline Matrix part(const Matrix* m, i64 row, i64 rows, i64 column, i64 columns) noexcept nogil:
    """Some rows and columns, as far as there are any."""
    return matrix(<float*>m.data + row * m.row + column * m.column, min(rows, m.rows - row), min(columns, m.columns - column), m.row, m.column)


cdef void product(const Matrix* a, const Matrix* b, float* c, bint symmetric, bint use_blas, int threads) noexcept nogil:
    """c = a b by blocks; of a symmetric one those above the diagonal are mirrored."""
    cdef i64 down = (a.rows + BLOCK - 1) // BLOCK, across = (b.columns + BLOCK - 1) // BLOCK, task, i
    if threads == 1:
        for task in range(down * across):
            multiply_block(a, b, c, symmetric, use_blas, task // across * BLOCK, task % across * BLOCK)
    else:
        for task in prange(down * across, num_threads=threads, schedule="dynamic"):
            multiply_block(a, b, c, symmetric, use_blas, task // across * BLOCK, task % across * BLOCK)
    if symmetric and across > 1:
        for i in prange(down, num_threads=threads, schedule="dynamic"):
            mirror(c, b.columns, i * BLOCK)


cdef void multiply_block(const Matrix* a, const Matrix* b, float* c, bint symmetric, bint use_blas, i64 row, i64 column) noexcept nogil:
    cdef Matrix rows, columns
    if symmetric and column > row:
        return
    rows = part(a, row, BLOCK, 0, a.columns)
    columns = part(b, 0, b.rows, column, BLOCK)
    multiply(F32, &rows, &columns, c + row * b.columns + column, b.columns, False, use_blas)


cdef void mirror(float* c, i64 n, i64 row) noexcept nogil:
    """Copy the columns below a block on the diagonal to the rows at its right, in squares that fit the cache."""
    cdef i64 at = row + BLOCK, i, j
    while at < n:
        for i in range(row, row + BLOCK):
            for j in range(at, min(at + TILE, n)):
                c[i * n + j] = c[j * n + i]
        at += TILE


cdef void combine(float* x, const float* y, float a, float b, i64 n, int threads) noexcept nogil:
    """x = a x + b y, rounded."""
    cdef i64 i
    if threads == 1:
        for i in range(n):
            x[i] = rounded(a * x[i] + b * y[i])
    else:
        for i in prange(n, num_threads=threads, schedule="static"):
            x[i] = rounded(a * x[i] + b * y[i])


cdef void round_all(float* x, i64 n) noexcept nogil:
    cdef i64 i
    for i in range(n):
        x[i] = rounded(x[i])


cdef void normalize(float* x, i64 n, float eps) noexcept nogil:
    """Divide by the norm, at least eps."""
    cdef double total = 0
    cdef float norm
    cdef i64 i
    round_all(x, n)
    for i in range(n):
        total += <double>x[i] * x[i]
    norm, eps = rounded(<float>sqrt(total)), rounded(eps)
    norm = eps if norm < eps else norm
    for i in range(n):
        x[i] = rounded(x[i] / norm)


cdef void iterate(float* x, float* gram, float* other, i64 rows, i64 columns, float* abc, int steps, bint use_blas, int threads) noexcept nogil:
    """`steps` times x = a x + (b g + c g²) x, where g = x xᵀ; `other` is memory for a product."""
    cdef Matrix m = matrix(x, rows, columns, columns, 1), t = matrix(x, columns, rows, 1, columns), g = matrix(gram, rows, rows, rows, 1)
    cdef int step
    for step in range(steps):
        product(&m, &t, gram, True, use_blas, threads)
        round_all(gram, rows * rows)
        product(&g, &g, other, True, use_blas, threads)
        combine(gram, other, abc[1], abc[2], rows * rows, threads)
        product(&g, &m, other, False, use_blas, threads)
        combine(x, other, abc[0], 1, rows * columns, threads)


def newton_schulz(cnp.ndarray input, coefficients, int steps, double eps):
    """The matrix after `steps` of the iteration with three coefficients, as a contiguous float32 array or its transpose."""
    cdef bint tall, use_blas
    cdef cnp.ndarray x, gram, other
    cdef i64 rows, columns, work
    cdef float abc[3]
    cdef int threads
    if cnp.PyArray_NDIM(input) != 2:
        raise ValueError(f"newton_schulz(): expected a matrix, got shape {np.shape(input)}")
    abc[0], abc[1], abc[2] = coefficients
    tall = cnp.PyArray_DIM(input, 0) > cnp.PyArray_DIM(input, 1)
    x = np.array(input.T if tall else input, np.float32, order="C")
    rows, columns = cnp.PyArray_DIM(x, 0), cnp.PyArray_DIM(x, 1)
    work = rows * rows * columns
    if rows:
        gram, other = np.empty((rows, rows), np.float32), np.empty((rows, columns), np.float32)
        use_blas = work > SMALL and openblas.load()
        if use_blas:
            openblas.use_threads(1)
        threads = threads_for(work // 16)
        normalize(<float*>cnp.PyArray_DATA(x), rows * columns, <float>eps)
        if work < KEEP_GIL_BELOW:
            iterate(<float*>cnp.PyArray_DATA(x), <float*>cnp.PyArray_DATA(gram), <float*>cnp.PyArray_DATA(other), rows, columns, abc, steps,
                    use_blas, threads)
        else:
            with nogil:
                iterate(<float*>cnp.PyArray_DATA(x), <float*>cnp.PyArray_DATA(gram), <float*>cnp.PyArray_DATA(other), rows, columns, abc,
                        steps, use_blas, threads)
    return x.T if tall else x
