"""What the normalisation kernels of one CPU level offer the driver, for float32 and float64.

Rows are contiguous, one after the other; vectors that belong to channels have a number for each channel of the array. A slab is n rows of `inner` elements, of which a call takes `width` columns.
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

# Channels [first, first + count) of an array (samples, channels, size); count is at most COLUMN_TILE.
ctypedef struct Channels:
    Py_ssize_t samples
    Py_ssize_t channels
    Py_ssize_t size
    Py_ssize_t first
    Py_ssize_t count

ctypedef void (*ChannelStatistics)(const char* a, char* mean, char* var, const Channels* s) noexcept nogil
# y = (a - mean) scale + bias
ctypedef void (*ChannelNorm)(const char* a, const char* mean, const char* scale, const char* bias, char* y, const Channels* s) noexcept nogil
# The sums of g and of g (a - mean).
ctypedef void (*ChannelSums)(const char* g, const char* a, const char* mean, char* sum, char* moment, const Channels* s) noexcept nogil
# ga = g scale - flat - (a - mean) slope
ctypedef void (*ChannelBackward)(const char* g, const char* a, const char* mean, const char* flat, const char* slope, const char* scale,
                                 char* ga, const Channels* s) noexcept nogil

ctypedef struct NormalizeKernels:
    SoftmaxRows softmax_rows
    SoftmaxColumns softmax_columns
    SoftmaxBackwardRows softmax_backward_rows
    SoftmaxBackwardColumns softmax_backward_columns
    LayerNorm layer_norm
    LayerNormBackward layer_norm_backward
    ChannelStatistics channel_statistics
    ChannelNorm channel_norm
    ChannelSums channel_sums
    ChannelBackward channel_backward

ctypedef struct NormalizeTable:
    NormalizeKernels single
    NormalizeKernels double_
