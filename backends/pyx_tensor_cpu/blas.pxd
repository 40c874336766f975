"""Products of raw matrices, for the other modules of this backend (convolution, attention …)."""
cimport numpy as cnp

from pyx_tensor_cpu.matmul_kernels cimport i64

cdef struct Matrix:
    # Sizes and strides (in elements) of a two-dimensional block of memory.
    char* data
    i64 rows, columns
    i64 row, column

cdef bint is_blas_layout(const Matrix* m) noexcept nogil
cdef void multiply(int code, const Matrix* a, const Matrix* b, void* c, i64 c_row, bint accumulate, bint use_blas) noexcept nogil
cpdef cnp.ndarray matmul(cnp.ndarray a, cnp.ndarray b)
cdef void fill_scalar(int code, double complex value, double* storage) noexcept nogil
