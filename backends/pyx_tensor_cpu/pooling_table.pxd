"""What the pooling kernels of one CPU level offer the driver, for float32 and float64.

Each takes one plane. `starts` and `ends` have for each of the three dims, one after the other, where each window's elements begin and end; `counts` has for each of the three dims, one after the other, how many elements each window counts.
"""
from libc.stdint cimport int64_t

ctypedef struct Pool:
    Py_ssize_t size[3]              # of a plane
    Py_ssize_t grid[3]              # how many windows
    Py_ssize_t kernel[3]
    Py_ssize_t stride[3]
    Py_ssize_t padding[3]
    Py_ssize_t dilation[3]

ctypedef void (*MaxPool)(const Pool* s, const char* x, char* y, char* scratch) noexcept nogil
ctypedef void (*MaxWindows)(const Pool* s, const char* x, const int64_t* starts, const int64_t* ends, char* y, int64_t* indices, char* scratch) noexcept nogil
ctypedef void (*MaxIndices)(const Pool* s, const char* x, char* indices, char* scratch) noexcept nogil
# The results of the two gradients are added to.
ctypedef void (*MaxBackward)(const Pool* s, const char* g, const char* x, char* gx, char* scratch) noexcept nogil
ctypedef void (*AvgPool)(const Pool* s, const char* x, const char* counts, char* y, char* scratch) noexcept nogil
ctypedef void (*AvgBackward)(const Pool* s, const char* g, const char* counts, char* gx, char* scratch) noexcept nogil

ctypedef struct PoolingKernels:
    MaxPool max_pool
    MaxIndices max_indices
    MaxWindows max_windows
    MaxBackward max_backward
    AvgPool avg_pool
    AvgBackward avg_backward

ctypedef struct PoolingTable:
    PoolingKernels single
    PoolingKernels double_
