"""What the parts of convolution share: its sizes, the taps of its windows, memory."""
cimport numpy as cnp

from pyx_tensor_cpu.convolution_table cimport ConvolutionKernels, Windows

cdef enum:
    FLOPS = 16                      # multiplications in the time of an addition of a pointwise loop

cdef struct Geometry:
    # One convolution: x (samples, groups * channels, *size) to y (samples, groups * outputs, *grid).
    Py_ssize_t samples
    Py_ssize_t groups
    Py_ssize_t channels
    Py_ssize_t outputs
    Py_ssize_t size[3]
    Py_ssize_t grid[3]
    Py_ssize_t kernel[3]
    Py_ssize_t stride[3]
    Py_ssize_t padding[3]
    Py_ssize_t dilation[3]

cdef struct Taps:
    Py_ssize_t count
    Py_ssize_t* offset              # three for each: where it is, for the window at 0
    Py_ssize_t* element             # which element of the kernel it is

cdef struct Job:
    # The product of a weight with the columns of all images and groups.
    ConvolutionKernels* k
    Windows windows
    Py_ssize_t item
    Py_ssize_t samples
    Py_ssize_t groups
    Py_ssize_t rows                 # outputs of a group
    Py_ssize_t w_row                # elements of a row of the weight, 0 where it is packed
    Py_ssize_t w_group              # of a group's
    Py_ssize_t columns              # of one job
    Py_ssize_t column_jobs
    Py_ssize_t row_size             # rows of one job
    Py_ssize_t row_jobs
    Py_ssize_t scratch_size         # bytes
    const char* x
    const char* w
    const char* bias
    char* y
    char* scratch


cdef inline Py_ssize_t volume(const Py_ssize_t* sizes) noexcept nogil:
    return sizes[0] * sizes[1] * sizes[2]


cdef inline Py_ssize_t up(Py_ssize_t n, Py_ssize_t step) noexcept nogil:
    return (n + step - 1) // step * step


cdef int read_geometry(str name, Geometry* v, x_shape, w_shape, y_shape, stride, padding, dilation, Py_ssize_t groups) except -1
cdef ConvolutionKernels* kernels_of(str name, cnp.ndarray a) except NULL
cdef in_float32(function, arrays, arguments)
cdef tuple shape_of(cnp.ndarray a)
cdef cnp.ndarray operand(cnp.ndarray a, cnp.ndarray like)
cdef cnp.ndarray bias_of(str name, bias, Py_ssize_t outputs, cnp.ndarray like)
cdef cnp.ndarray room(tuple shape, cnp.ndarray like)
cdef cnp.ndarray elements(Py_ssize_t count, cnp.ndarray like)
cdef cnp.ndarray all_taps(const Geometry* v, Taps* taps)
cdef cnp.ndarray taps_of_phase(const Geometry* v, const Py_ssize_t* start, Taps* taps)
cdef Windows windows_of(const Geometry* v, const Taps* taps) noexcept
cdef bint merges(Windows* s) noexcept nogil
