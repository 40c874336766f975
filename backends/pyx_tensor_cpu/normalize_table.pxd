"""What the normalisation kernels of one CPU level offer the driver, for float32 and float64.

Rows are contiguous, one after the other. A slab is n rows of `inner` elements, of which a call takes `width` columns.
"""
cdef enum:
    COLUMN_TILE = 512       # most columns of one call

ctypedef void (*SoftmaxRows)(const char* a, char* y, Py_ssize_t rows, Py_ssize_t n, bint log) noexcept nogil
ctypedef void (*SoftmaxColumns)(const char* a, char* y, Py_ssize_t n, Py_ssize_t inner, Py_ssize_t width, bint log) noexcept nogil
ctypedef void (*SoftmaxBackwardRows)(const char* g, const char* y, char* ga, Py_ssize_t rows, Py_ssize_t n, bint log) noexcept nogil
ctypedef void (*SoftmaxBackwardColumns)(const char* g, const char* y, char* ga, Py_ssize_t n, Py_ssize_t inner,
                                        Py_ssize_t width, bint log) noexcept nogil
ctypedef void (*LayerNorm)(const char* a, const char* weight, const char* bias, char* y, char* mean, char* rstd,
                           Py_ssize_t rows, Py_ssize_t n, double eps) noexcept nogil
# gw and gb are added to; any of the three results may be NULL.
ctypedef void (*LayerNormBackward)(const char* g, const char* a, const char* mean, const char* rstd, const char* weight,
                                   char* ga, char* gw, char* gb, Py_ssize_t rows, Py_ssize_t n) noexcept nogil

ctypedef struct NormalizeKernels:
    SoftmaxRows softmax_rows
    SoftmaxColumns softmax_columns
    SoftmaxBackwardRows softmax_backward_rows
    SoftmaxBackwardColumns softmax_backward_columns
    LayerNorm layer_norm
    LayerNormBackward layer_norm_backward

ctypedef struct NormalizeTable:
    NormalizeKernels single
    NormalizeKernels double_
