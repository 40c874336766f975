# Matrix products of small and middling sizes, of integers, and for machines without OpenBLAS.
# Included by the module of each CPU level.
from cpython.pycapsule cimport PyCapsule_New
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from pyx_tensor_cpu.dtypes cimport BF16, BOOL, C64, C128, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64
from pyx_tensor_cpu.matmul_kernels cimport MatmulKernels, i64, product_t

ctypedef fused real:
    float
    double

ctypedef fused unsigned_integer:
    uint8_t
    uint16_t
    uint32_t
    uint64_t

cdef extern from "gemm.h" nogil:
    enum:
        TILE_BYTES
    void gemm_f32_product(const float* a, i64 a_row, i64 a_column, const float* b, i64 b_row, i64 b_column,
                          const float* start, float* c, i64 c_row, i64 m, i64 n, i64 k, bint accumulate)
    void gemm_f64_product(const double* a, i64 a_row, i64 a_column, const double* b, i64 b_row, i64 b_column,
                          const double* start, double* c, i64 c_row, i64 m, i64 n, i64 k, bint accumulate)

cdef extern from "bfloat16_product.h" nogil:
    bint tiles_available()
    void bf16_product(const uint16_t* a, i64 a_row, i64 a_column, const uint16_t* b, i64 b_row, i64 b_column,
                      const uint16_t* start, uint16_t* c, i64 c_row, i64 m, i64 n, i64 k, bint accumulate)


cdef inline void begin(char* c, i64 row_bytes, i64 rows, i64 bytes, const char* start, bint accumulate) noexcept nogil:
    """Write what the products are added to, unless that stands there already."""
    cdef i64 i
    if start != NULL:
        for i in range(rows):
            memcpy(c + i * row_bytes, start, bytes)
    elif not accumulate:
        for i in range(rows):
            memset(c + i * row_bytes, 0, bytes)


cdef void complex_product(const real* a, i64 a_row, i64 a_col, const real* b, i64 b_row, i64 b_col,
                          const real* start, real* c, i64 c_row, i64 m, i64 n, i64 k, bint accumulate) noexcept nogil:
    """Complex numbers as pairs of reals; every stride counts pairs."""
    cdef i64 i, j, p
    cdef real a_real, a_imag, b_real, b_imag
    cdef const real* b_pair
    begin(<char*>c, 2 * c_row * sizeof(real), m, 2 * n * sizeof(real), <const char*>start, accumulate)
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


cdef inline void add_products(unsigned_integer* row, const unsigned_integer* a, i64 a_col, const unsigned_integer* b, i64 b_row, i64 b_col, i64 n) noexcept nogil:
    """row += a[0:4] b[0:4], so that the row is read and written once for four products."""
    cdef uint32_t one = 1  # keeps products of the short types out of (overflowing) signed int
    cdef unsigned_integer a0 = a[0], a1 = a[a_col], a2 = a[2 * a_col], a3 = a[3 * a_col]
    cdef const unsigned_integer* b1 = b + b_row
    cdef const unsigned_integer* b2 = b1 + b_row
    cdef const unsigned_integer* b3 = b2 + b_row
    cdef i64 j
    for j in range(n):
        row[j] = <unsigned_integer>(row[j] + (one * a0 * b[j * b_col] + one * a1 * b1[j * b_col]) + (one * a2 * b2[j * b_col] + one * a3 * b3[j * b_col]))


cdef void integer_product(const unsigned_integer* a, i64 a_row, i64 a_col, const unsigned_integer* b, i64 b_row, i64 b_col,
                          const unsigned_integer* start, unsigned_integer* c, i64 c_row, i64 m, i64 n, i64 k, bint accumulate) noexcept nogil:
    """Products modulo 2**bits."""
    cdef i64 i, j, p
    cdef unsigned_integer factor
    cdef unsigned_integer* row
    cdef const unsigned_integer* line
    cdef uint32_t one = 1
    begin(<char*>c, c_row * sizeof(unsigned_integer), m, n * sizeof(unsigned_integer), <const char*>start, accumulate)
    for i in range(m):
        row = c + i * c_row
        for p in range(0, k - 3, 4):
            if b_col == 1:
                add_products(row, a + i * a_row + p * a_col, a_col, b + p * b_row, b_row, 1, n)
            else:
                add_products(row, a + i * a_row + p * a_col, a_col, b + p * b_row, b_row, b_col, n)
        for p in range(k // 4 * 4, k):
            factor = a[i * a_row + p * a_col]
            line = b + p * b_row
            for j in range(n):
                row[j] = <unsigned_integer>(row[j] + one * factor * line[j * b_col])


cdef void bool_product(const uint8_t* a, i64 a_row, i64 a_col, const uint8_t* b, i64 b_row, i64 b_col,
                       const uint8_t* start, uint8_t* c, i64 c_row, i64 m, i64 n, i64 k, bint accumulate) noexcept nogil:
    """Or of ands."""
    cdef i64 i, j, p
    begin(<char*>c, c_row, m, n, <const char*>start, accumulate)
    for i in range(m):
        for p in range(k):
            if a[i * a_row + p * a_col]:
                for j in range(n):
                    c[i * c_row + j] |= b[p * b_row + j * b_col]


cdef MatmulKernels kernels  # no entry (NULL) for float16, and for bfloat16 where the processor hasn't tile registers
kernels.product[<int>BOOL] = <product_t>bool_product
kernels.product[<int>I8] = kernels.product[<int>U8] = <product_t>integer_product[uint8_t]
kernels.product[<int>I16] = kernels.product[<int>U16] = <product_t>integer_product[uint16_t]
kernels.product[<int>I32] = kernels.product[<int>U32] = <product_t>integer_product[uint32_t]
kernels.product[<int>I64] = kernels.product[<int>U64] = <product_t>integer_product[uint64_t]
kernels.product[<int>F32] = <product_t>gemm_f32_product
kernels.product[<int>F64] = <product_t>gemm_f64_product
if TILE_BYTES == 64 and tiles_available():
    kernels.product[<int>BF16] = <product_t>bf16_product
kernels.product[<int>C64] = <product_t>complex_product[float]
kernels.product[<int>C128] = <product_t>complex_product[double]
kernels.largest[<int>F32] = 512 ** 3 if TILE_BYTES > 16 else 48 ** 3
kernels.largest[<int>F64] = 256 ** 3 if TILE_BYTES > 16 else 48 ** 3
kernels.largest[<int>C64] = kernels.largest[<int>C128] = 8 ** 3

matmul_kernels = PyCapsule_New(&kernels, "pyx_tensor_cpu.matmul_kernels", NULL)
