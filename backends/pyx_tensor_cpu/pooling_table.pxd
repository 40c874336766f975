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

# Windows [first, last) of a row have an element of the plane at tap k; that of window j is at column start + j * step.
cdef struct Tap:
    Py_ssize_t first
    Py_ssize_t last
    Py_ssize_t start


cdef inline Tap tap_of(const Pool* s, Py_ssize_t k) noexcept nogil:
    cdef Py_ssize_t start = k * s.dilation[2] - s.padding[2], step = s.stride[2]
    cdef Tap tap = Tap(first=0, last=0, start=start)
    if start < 0:
        tap.first = min((step - 1 - start) // step, s.grid[2])
    if start < s.size[2]:
        tap.last = min((s.size[2] - start + step - 1) // step, s.grid[2])
    return tap


cdef inline Py_ssize_t row_of(const Pool* s, Py_ssize_t d, Py_ssize_t h, Py_ssize_t i, Py_ssize_t j) noexcept nogil:
    """Which row of the plane is row (i, j) of the windows in row (d, h) of the grid, or -1."""
    cdef Py_ssize_t z = d * s.stride[0] - s.padding[0] + i * s.dilation[0], y = h * s.stride[1] - s.padding[1] + j * s.dilation[1]
    return z * s.size[1] + y if 0 <= z < s.size[0] and 0 <= y < s.size[1] else -1


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
