"""What a CPU level exports for matrix products: one function per dtype code.

``c[i, j] = start[j] + sum_p a[i, p] b[p, j]``, without a start when that is NULL (and then added to ``c`` when ``accumulate``), where the rows of ``c`` are dense and ``c_row``
apart; all strides count elements, those of ``a`` and ``b`` may be anything. Integers wrap, so signed ones use the unsigned functions.
"""
cimport numpy as cnp

from pyx_tensor_cpu.dtypes cimport NCODES

ctypedef cnp.int64_t i64

ctypedef void (*product_t)(const void* a, i64 a_row, i64 a_col, const void* b, i64 b_row, i64 b_col,
                           const void* start, void* c, i64 c_row, i64 m, i64 n, i64 k, bint accumulate) noexcept nogil

cdef struct MatmulKernels:
    product_t product[NCODES]
    i64 largest[NCODES]     # multiplications of a product up to which they are faster than OpenBLAS 0.3.34, by measurement
