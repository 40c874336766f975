"""The orthogonal matrix next to one, by the iteration of Newton and Schulz, as Muon wants it.

Matrices have bfloat16's values: a product of such is computed in float32 and rounded once, as PyTorch's is. Where the processor multiplies
bfloat16 itself, they are kept so, in tiles; else they are float32. Of a symmetric product half the blocks are computed.
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

from pyx_tensor_cpu.level import cpu_level

cnp.import_array()

cdef extern from "bfloat16_tiles.h" nogil:
    ctypedef unsigned short bfloat16
    enum: TILES_SIZE
    float bf16_to_f32(bfloat16 x)
    bfloat16 f32_to_bf16(float x)
    bint tiles_available()
    void tiles_load(bfloat16* to, const float* m, i64 rows, i64 columns, i64 down, i64 across)
    void tiles_store(float* to, bfloat16* m, i64 rows, i64 columns, i64 across)
    void tiles_pack(bfloat16* to, bfloat16* m, i64 down, i64 across, i64 first, i64 last)
    void tiles_pack_transposed(bfloat16* to, const bfloat16* m, i64 tiles)
    void tiles_product(bfloat16* to, bfloat16* old, const bfloat16* left, const bfloat16* right, i64 depth, i64 across, i64 first, i64 last,
                       float a, float b, bint symmetric)

cdef enum:
    BLOCK = 512                 # rows and columns of one task
    TILE = 16
    SMALL = 32 * 32 * 32        # multiplications of a product that isn't worth a call of BLAS
    TILED_FROM = 64 * 64 * 64   # multiplications of products that are worth tile registers
    TILED_ROWS = 8              # blocks of 16 rows of one task
    LINE = 64                   # bytes of a cache line
    PARTS = 16                  # of a matrix, whose squares are summed apart
    KEEP_GIL_BELOW = 100_000    # multiplications that take less than the hand-over of the GIL is worth


cdef inline float rounded(float x) noexcept nogil:
    return bf16_to_f32(f32_to_bf16(x))


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


cdef double round_part(float* x, i64 n) noexcept nogil:
    """Round, and give the sum of the squares."""
    cdef double total = 0
    cdef i64 i
    round_all(x, n)
    for i in range(n):
        total += <double>x[i] * x[i]
    return total


cdef void divide_part(float* x, i64 n, float norm) noexcept nogil:
    cdef i64 i
    for i in range(n):
        x[i] = rounded(x[i] / norm)


cdef void normalize(float* x, i64 n, float eps, int threads) noexcept nogil:
    """Divide by the norm, at least eps. The parts don't depend on the number of threads."""
    cdef double totals[PARTS]
    cdef double total = 0
    cdef float norm
    cdef i64 part
    for part in prange(PARTS, num_threads=threads, schedule="static"):
        totals[part] = round_part(x + n * part // PARTS, n * (part + 1) // PARTS - n * part // PARTS)
    for part in range(PARTS):
        total = total + totals[part]
    norm, eps = rounded(<float>sqrt(total)), rounded(eps)
    norm = eps if norm < eps else norm
    for part in prange(PARTS, num_threads=threads, schedule="static"):
        divide_part(x + n * part // PARTS, n * (part + 1) // PARTS - n * part // PARTS, norm)


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


# ---- where the processor has tile registers ------------------------------------------------------------------------------
cdef void multiply_tiles(bfloat16* to, bfloat16* old, const bfloat16* left, const bfloat16* right, i64 down, i64 depth, i64 across, float a, float b,
                         bint symmetric, int threads) noexcept nogil:
    """to = a old + b left right, rounded, of 2 down rows of tiles; `old` may be NULL."""
    cdef i64 task, tasks = (2 * down + TILED_ROWS - 1) // TILED_ROWS
    for task in prange(tasks, num_threads=threads, schedule="dynamic"):
        tiles_product(to, old, left, right, depth, across, task * TILED_ROWS, min((task + 1) * TILED_ROWS, 2 * down), a, b, symmetric)


cdef void pack_transposed(bfloat16* to, const bfloat16* m, i64 tiles, int threads) noexcept nogil:
    cdef i64 part, first
    for part in prange(threads, num_threads=threads, schedule="static"):
        first = tiles * part // threads
        tiles_pack_transposed(to + first * TILES_SIZE, m + first * TILES_SIZE, tiles * (part + 1) // threads - first)


cdef void pack(bfloat16* to, bfloat16* m, i64 down, i64 across, int threads) noexcept nogil:
    cdef i64 part
    for part in prange(threads, num_threads=threads, schedule="static"):
        tiles_pack(to, m, down, across, 2 * across * part // threads, 2 * across * (part + 1) // threads)


cdef void iterate_tiles(float* x, i64 rows, i64 columns, const float* abc, int steps, bfloat16* memory, int threads) noexcept nogil:
    """`iterate` in tiles, with memory as `tiled_size` says."""
    cdef i64 down = (rows + 31) // 32, across = (columns + 31) // 32, square = 2 * down * down * TILES_SIZE, whole = 2 * down * across * TILES_SIZE
    cdef bfloat16* gram = memory
    cdef bfloat16* polynomial = gram + square
    cdef bfloat16* right = polynomial + square
    cdef bfloat16* now = right + whole
    cdef bfloat16* new = now + whole
    cdef int step
    tiles_load(now, x, rows, columns, down, across)
    for step in range(steps):
        pack_transposed(right, now, 2 * down * across, threads)
        multiply_tiles(gram, NULL, now, right, down, across, down, 0, 1, True, threads)
        pack_transposed(right, gram, 2 * down * down, threads)
        multiply_tiles(polynomial, gram, gram, right, down, down, down, abc[1], abc[2], True, threads)
        pack(right, now, down, across, threads)
        multiply_tiles(new, now, polynomial, right, down, down, across, abc[0], 1, False, threads)
        now, new = new, now
    tiles_store(x, now, rows, columns, across)


cdef i64 tiled_size(i64 rows, i64 columns) noexcept:
    """Bytes that `iterate_tiles` works in."""
    cdef i64 down = (rows + 31) // 32, across = (columns + 31) // 32
    return (2 * 2 * down * down + 3 * 2 * down * across) * TILES_SIZE * <i64>sizeof(bfloat16)


cdef int orthogonalize(cnp.ndarray x, float* abc, int steps, float eps) except -1:
    """The iteration on a contiguous matrix that is no taller than wide."""
    cdef i64 rows = cnp.PyArray_DIM(x, 0), columns = cnp.PyArray_DIM(x, 1), work = rows * rows * columns
    cdef float* data = <float*>cnp.PyArray_DATA(x)
    cdef bint use_blas = work > SMALL and openblas.load()
    cdef int threads = threads_for(work // 16)
    cdef cnp.ndarray gram, other
    cdef char* memory
    with nogil:
        normalize(data, rows * columns, eps, threads)
    if work >= TILED_FROM and cpu_level() == "v4" and tiles_available():
        other = np.empty(tiled_size(rows, columns) + LINE, np.uint8)
        memory = cnp.PyArray_BYTES(other)
        memory += (LINE - <i64>memory % LINE) % LINE
        with nogil:
            iterate_tiles(data, rows, columns, abc, steps, <bfloat16*>memory, threads)
        return 0
    gram, other = np.empty((rows, rows), np.float32), np.empty((rows, columns), np.float32)
    if use_blas:
        openblas.use_threads(1)
    if work < KEEP_GIL_BELOW:
        iterate(data, <float*>cnp.PyArray_DATA(gram), <float*>cnp.PyArray_DATA(other), rows, columns, abc, steps, use_blas, threads)
    else:
        with nogil:
            iterate(data, <float*>cnp.PyArray_DATA(gram), <float*>cnp.PyArray_DATA(other), rows, columns, abc, steps, use_blas, threads)
    return 0


def newton_schulz(cnp.ndarray input, coefficients, int steps, double eps):
    """The matrix after `steps` of the iteration with three coefficients, as a contiguous float32 array or its transpose."""
    cdef bint tall
    cdef cnp.ndarray x
    cdef float abc[3]
    if cnp.PyArray_NDIM(input) != 2:
        raise ValueError(f"newton_schulz(): expected a matrix, got shape {np.shape(input)}")
    abc[0], abc[1], abc[2] = coefficients
    tall = cnp.PyArray_DIM(input, 0) > cnp.PyArray_DIM(input, 1)
    x = np.array(input.T if tall else input, np.float32, order="C")
    if cnp.PyArray_DIM(x, 0):
        orthogonalize(x, abc, steps, <float>eps)
    return x.T if tall else x
