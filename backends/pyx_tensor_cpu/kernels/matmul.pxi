# Matrix products for sizes below OpenBLAS's overhead, for integers, and for machines without OpenBLAS.
# Included by the module of each CPU level.
from cpython.pycapsule cimport PyCapsule_New
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memset

from pyx_tensor_cpu.dtypes cimport BOOL, C64, C128, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64
from pyx_tensor_cpu.matmul_kernels cimport MatmulKernels, i64, product_t

ctypedef fused real:
    float
    double

ctypedef fused unsigned_integer:
    uint8_t
    uint16_t
    uint32_t
    uint64_t

cdef enum:
    TILE_ROWS = 6         # six rows of 16 float32 fill half the 512-bit registers, twelve of the sixteen 256-bit ones
    TILE_LANES = 16
    PANEL_DEPTH = 256     # rows of b packed at once: a panel of 16 or 32 KB stays in the L1 cache


cdef inline void clear(char* c, i64 row_bytes, i64 rows, i64 bytes) noexcept nogil:
    cdef i64 i
    for i in range(rows):
        memset(c + i * row_bytes, 0, bytes)


cdef inline void tile(const real* a, i64 a_row, i64 a_col, const real* b, i64 b_row, real* out, i64 depth) noexcept nogil:
    """out[6, lanes] = a[6, depth] b[depth, lanes]; one array per row, since compilers keep those in registers."""
    cdef real c0[TILE_LANES]
    cdef real c1[TILE_LANES]
    cdef real c2[TILE_LANES]
    cdef real c3[TILE_LANES]
    cdef real c4[TILE_LANES]
    cdef real c5[TILE_LANES]
    cdef real a0, a1, a2, a3, a4, a5, value
    cdef int j
    cdef i64 p
    for j in range(TILE_LANES):
        c0[j] = c1[j] = c2[j] = c3[j] = c4[j] = c5[j] = 0
    for p in range(depth):
        a0 = a[p * a_col]
        a1 = a[p * a_col + a_row]
        a2 = a[p * a_col + 2 * a_row]
        a3 = a[p * a_col + 3 * a_row]
        a4 = a[p * a_col + 4 * a_row]
        a5 = a[p * a_col + 5 * a_row]
        for j in range(TILE_LANES):
            value = b[p * b_row + j]
            c0[j] += a0 * value
            c1[j] += a1 * value
            c2[j] += a2 * value
            c3[j] += a3 * value
            c4[j] += a4 * value
            c5[j] += a5 * value
    for j in range(TILE_LANES):
        out[j] = c0[j]
        out[TILE_LANES + j] = c1[j]
        out[2 * TILE_LANES + j] = c2[j]
        out[3 * TILE_LANES + j] = c3[j]
        out[4 * TILE_LANES + j] = c4[j]
        out[5 * TILE_LANES + j] = c5[j]


cdef inline void tile_row(const real* a, i64 a_col, const real* b, i64 b_row, real* out, i64 depth) noexcept nogil:
    """One row of a tile, in two chains of sums to hide the latency of addition."""
    cdef real even[TILE_LANES]
    cdef real odd[TILE_LANES]
    cdef int j
    cdef i64 p
    cdef real a0, a1
    for j in range(TILE_LANES):
        even[j] = odd[j] = 0
    for p in range(0, depth - 1, 2):
        a0 = a[p * a_col]
        a1 = a[(p + 1) * a_col]
        for j in range(TILE_LANES):
            even[j] += a0 * b[p * b_row + j]
            odd[j] += a1 * b[(p + 1) * b_row + j]
    if depth & 1:
        a0 = a[(depth - 1) * a_col]
        for j in range(TILE_LANES):
            even[j] += a0 * b[(depth - 1) * b_row + j]
    for j in range(TILE_LANES):
        out[j] = even[j] + odd[j]


cdef inline void store(const real* tile_values, real* c, i64 c_row, i64 rows, i64 columns, bint accumulate) noexcept nogil:
    cdef i64 i, j
    for i in range(rows):
        if accumulate:
            for j in range(columns):
                c[i * c_row + j] += tile_values[i * TILE_LANES + j]
        else:
            for j in range(columns):
                c[i * c_row + j] = tile_values[i * TILE_LANES + j]


cdef inline void pack(const real* b, i64 b_row, i64 b_col, real* panel, i64 depth, i64 columns) noexcept nogil:
    """Copy b[depth, columns] to a panel whose rows have a tile's full width, the rest zero."""
    cdef i64 p, j
    if columns < TILE_LANES:
        memset(panel, 0, depth * TILE_LANES * sizeof(real))
    if b_col == 1:
        for p in range(depth):
            for j in range(columns):
                panel[p * TILE_LANES + j] = b[p * b_row + j]
    else:
        for j in range(columns):
            for p in range(depth):
                panel[p * TILE_LANES + j] = b[p * b_row + j * b_col]


cdef inline void panel_product(const real* a, i64 a_row, i64 a_col, const real* panel, i64 panel_row,
                               real* c, i64 c_row, i64 m, i64 columns, i64 depth, bint accumulate) noexcept nogil:
    """All rows of a times one panel of b, a tile at a time."""
    cdef real out[TILE_ROWS * TILE_LANES]
    cdef i64 i = 0
    while i + TILE_ROWS <= m:
        tile(a + i * a_row, a_row, a_col, panel, panel_row, out, depth)
        store(out, c + i * c_row, c_row, TILE_ROWS, columns, accumulate)
        i += TILE_ROWS
    while i < m:
        tile_row(a + i * a_row, a_col, panel, panel_row, out, depth)
        store(out, c + i * c_row, c_row, 1, columns, accumulate)
        i += 1


cdef void real_product(const real* a, i64 a_row, i64 a_col, const real* b, i64 b_row, i64 b_col,
                       real* c, i64 c_row, i64 m, i64 n, i64 k, bint accumulate) noexcept nogil:
    cdef real packed[PANEL_DEPTH * TILE_LANES]
    cdef const real* panel
    cdef i64 j, start = 0, depth, columns, panel_row
    if k == 0 and not accumulate:
        clear(<char*>c, c_row * sizeof(real), m, n * sizeof(real))
    while start < k:
        depth = min(PANEL_DEPTH, k - start)
        j = 0
        while j < n:
            columns = min(TILE_LANES, n - j)
            panel = b + start * b_row + j * b_col
            panel_row = b_row
            if b_col != 1 or columns < TILE_LANES:
                pack(panel, b_row, b_col, packed, depth, columns)
                panel = packed
                panel_row = TILE_LANES
            panel_product(a + start * a_col, a_row, a_col, panel, panel_row, c + j, c_row, m, columns, depth, accumulate or start > 0)
            j += TILE_LANES
        start += PANEL_DEPTH


cdef void complex_product(const real* a, i64 a_row, i64 a_col, const real* b, i64 b_row, i64 b_col,
                          real* c, i64 c_row, i64 m, i64 n, i64 k, bint accumulate) noexcept nogil:
    """Complex numbers as pairs of reals; every stride counts pairs."""
    cdef i64 i, j, p
    cdef real a_real, a_imag, b_real, b_imag
    cdef const real* b_pair
    if not accumulate:
        clear(<char*>c, 2 * c_row * sizeof(real), m, 2 * n * sizeof(real))
    for i in range(m):
        for p in range(k):
            a_real = a[2 * (i * a_row + p * a_col)]
            a_imag = a[2 * (i * a_row + p * a_col) + 1]
            for j in range(n):
                b_pair = b + 2 * (p * b_row + j * b_col)
                b_real = b_pair[0]
                b_imag = b_pair[1]
                c[2 * (i * c_row + j)] += a_real * b_real - a_imag * b_imag
                c[2 * (i * c_row + j) + 1] += a_real * b_imag + a_imag * b_real


cdef void integer_product(const unsigned_integer* a, i64 a_row, i64 a_col, const unsigned_integer* b, i64 b_row, i64 b_col,
                          unsigned_integer* c, i64 c_row, i64 m, i64 n, i64 k, bint accumulate) noexcept nogil:
    """Products modulo 2**bits."""
    cdef i64 i, j, p
    cdef unsigned_integer factor
    cdef unsigned_integer* row
    cdef const unsigned_integer* b_line
    cdef uint32_t one = 1  # keeps products of the short types out of (overflowing) signed int
    if not accumulate:
        clear(<char*>c, c_row * sizeof(unsigned_integer), m, n * sizeof(unsigned_integer))
    for i in range(m):
        row = c + i * c_row
        for p in range(k):
            factor = a[i * a_row + p * a_col]
            b_line = b + p * b_row
            if b_col == 1:
                for j in range(n):
                    row[j] = <unsigned_integer>(row[j] + one * factor * b_line[j])
            else:
                for j in range(n):
                    row[j] = <unsigned_integer>(row[j] + one * factor * b_line[j * b_col])


cdef void bool_product(const uint8_t* a, i64 a_row, i64 a_col, const uint8_t* b, i64 b_row, i64 b_col,
                       uint8_t* c, i64 c_row, i64 m, i64 n, i64 k, bint accumulate) noexcept nogil:
    """Or of ands."""
    cdef i64 i, j, p
    if not accumulate:
        clear(<char*>c, c_row, m, n)
    for i in range(m):
        for p in range(k):
            if a[i * a_row + p * a_col]:
                for j in range(n):
                    c[i * c_row + j] |= b[p * b_row + j * b_col]


cdef MatmulKernels kernels  # no entry (NULL) for float16 and bfloat16
kernels.product[<int>BOOL] = <product_t>bool_product
kernels.product[<int>I8] = kernels.product[<int>U8] = <product_t>integer_product[uint8_t]
kernels.product[<int>I16] = kernels.product[<int>U16] = <product_t>integer_product[uint16_t]
kernels.product[<int>I32] = kernels.product[<int>U32] = <product_t>integer_product[uint32_t]
kernels.product[<int>I64] = kernels.product[<int>U64] = <product_t>integer_product[uint64_t]
kernels.product[<int>F32] = <product_t>real_product[float]
kernels.product[<int>F64] = <product_t>real_product[double]
kernels.product[<int>C64] = <product_t>complex_product[float]
kernels.product[<int>C128] = <product_t>complex_product[double]

matmul_kernels = PyCapsule_New(&kernels, "pyx_tensor_cpu.matmul_kernels", NULL)
