"""What the sampling kernels of one CPU level offer the driver, for float32 and float64. All work on one sample's arrays: images (channels,
elements), a grid (points, dims), results and their gradients (channels, points)."""

ctypedef int place_t        # of an element in an image, -1 for none: gathered sixteen at a time

cdef enum:
    BLOCK = 64              # points that are taken together
    MAX_SPATIAL = 3
    MAX_PARTS = 4           # elements that one dim takes part in, of the cubic mode
    MAX_TAPS = 16           # elements that a point is the sum of
    MAX_ELEMENTS = 0x7fffffff

cdef enum Mode:             # PyTorch's numbers
    LINEAR
    NEAREST
    CUBIC

cdef enum Padding:
    ZEROS
    BORDER
    REFLECTION

cdef struct Grid:
    int dims, taps
    Mode mode
    Padding padding
    bint align
    Py_ssize_t size[MAX_SPATIAL]
    Py_ssize_t channels, elements, points

# `count` <= BLOCK points from `first` are done.
ctypedef void (*Sample)(const char* images, const char* grid, const Grid* how, Py_ssize_t first, Py_ssize_t count, char* out) noexcept nogil
# Adds to the gradients of the channels from `start` to `stop`.
ctypedef void (*SampleInput)(const char* grads, const char* grid, const Grid* how, Py_ssize_t first, Py_ssize_t count, Py_ssize_t start, Py_ssize_t stop,
                             char* out) noexcept nogil
ctypedef void (*SampleGrid)(const char* grads, const char* images, const char* grid, const Grid* how, Py_ssize_t first, Py_ssize_t count, char* out) noexcept nogil

cdef struct Kernels:
    Sample sample
    SampleInput sample_input
    SampleGrid sample_grid

cdef struct SamplingTable:
    Kernels single
    Kernels double_
