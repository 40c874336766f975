"""What the parts of convolution share: its sizes, the taps of its windows, memory."""
cimport numpy as cnp
from cpython.pycapsule cimport PyCapsule_GetPointer

import numpy as np

from pyx_tensor_cpu.convolution_table cimport ConvolutionKernels, ConvolutionTable, Windows
from pyx_tensor_cpu.dtypes cimport precision_of
from pyx_tensor_cpu.iterate cimport as_type, contiguous, widened
from pyx_tensor_cpu.memory cimport new_array

from pyx_tensor_cpu.level import use_kernels

cnp.import_array()

cdef cnp.dtype INTP = np.dtype(np.intp)
cdef ConvolutionTable* table = NULL


def bind(module):
    global table
    table = <ConvolutionTable*>PyCapsule_GetPointer(module.table, NULL)


use_kernels("convolution", bind)


# ---- arguments ------------------------------------------------------------------------------------------------------

cdef int spread(object numbers, Py_ssize_t* to, Py_ssize_t missing) except -1:
    """Numbers for the last dims, `missing` for those ahead."""
    cdef tuple given = numbers if type(numbers) is tuple else tuple(numbers)
    cdef int i, n = len(given)
    for i in range(3):
        to[i] = missing if i < 3 - n else <Py_ssize_t>given[i - 3 + n]
    return 0


cdef int read_geometry(str name, Geometry* v, x_shape, w_shape, y_shape, stride, padding, dilation, Py_ssize_t groups) except -1:
    cdef int n = len(x_shape) - 2, i
    if not 1 <= n <= 3 or len(w_shape) != n + 2 or len(y_shape) != n + 2:
        raise TypeError(f"{name}(): {n} spatial dims are not supported")
    if (groups < 1 or w_shape[0] % groups or x_shape[1] != w_shape[1] * groups or y_shape[1] != w_shape[0] or x_shape[0] != y_shape[0]
            or not len(stride) == len(padding) == len(dilation) == n):
        raise ValueError(f"{name}(): shapes {x_shape} of the input, {w_shape} of the weight, {y_shape} of the result and {groups} groups do not fit")
    v.samples, v.groups, v.channels, v.outputs = x_shape[0], groups, w_shape[1], w_shape[0] // groups
    spread(x_shape[2:], v.size, 1)
    spread(y_shape[2:], v.grid, 1)
    spread(w_shape[2:], v.kernel, 1)
    spread(stride, v.stride, 1)
    spread(padding, v.padding, 0)
    spread(dilation, v.dilation, 1)
    for i in range(3):
        if v.stride[i] < 1 or v.dilation[i] < 1:
            raise ValueError(f"{name}(): stride {stride} and dilation {dilation} must be positive")
    return 0


cdef ConvolutionKernels* kernels_of(str name, cnp.ndarray a) except NULL:
    return &table.double_ if precision_of(name, a) else &table.single


cdef in_float32(function, arrays, arguments):
    """The result for half types: computed in float32, rounded once."""
    return as_type(function(*[widened(a) for a in arrays], *arguments), arrays[0].dtype)


cdef tuple shape_of(cnp.ndarray a):
    return (<object>a).shape


cdef cnp.ndarray operand(cnp.ndarray a, cnp.ndarray like):
    if cnp.PyArray_TYPE(a) != cnp.PyArray_TYPE(like):
        raise ValueError(f"dtypes {a.dtype} and {like.dtype} differ")
    return contiguous(a)


cdef cnp.ndarray bias_of(str name, bias, Py_ssize_t outputs, cnp.ndarray like):
    if bias is None:
        return None
    if shape_of(bias) != (outputs,):
        raise ValueError(f"{name}(): expected a bias of shape {(outputs,)}, got {shape_of(bias)}")
    return operand(bias, like)


cdef cnp.ndarray room(tuple shape, cnp.ndarray like):
    cdef Py_ssize_t sizes[5]
    cdef int i, n = len(shape)
    for i in range(n):
        sizes[i] = shape[i]
    return new_array(n, sizes, <cnp.dtype>cnp.PyArray_DESCR(like))


cdef cnp.ndarray elements(Py_ssize_t count, cnp.ndarray like):
    return new_array(1, &count, <cnp.dtype>cnp.PyArray_DESCR(like))


# ---- taps -----------------------------------------------------------------------------------------------------------

cdef cnp.ndarray room_for(const Geometry* v, Taps* taps):
    """Memory for all taps of a kernel."""
    cdef Py_ssize_t count = 4 * volume(v.kernel)
    cdef cnp.ndarray memory = new_array(1, &count, INTP)
    taps.count = 0
    taps.offset = <Py_ssize_t*>cnp.PyArray_DATA(memory)
    taps.element = taps.offset + 3 * volume(v.kernel)
    return memory


cdef inline void add_tap(Taps* taps, const Py_ssize_t* place, Py_ssize_t element) noexcept:
    cdef int i
    for i in range(3):
        taps.offset[3 * taps.count + i] = place[i]
    taps.element[taps.count] = element
    taps.count += 1


cdef cnp.ndarray all_taps(const Geometry* v, Taps* taps):
    """The kernel's elements as taps of windows of the input; returns what keeps their memory."""
    cdef cnp.ndarray memory = room_for(v, taps)
    cdef Py_ssize_t place[3]
    cdef Py_ssize_t at
    for at in range(volume(v.kernel)):
        place[0] = at // v.kernel[2] // v.kernel[1] * v.dilation[0] - v.padding[0]
        place[1] = at // v.kernel[2] % v.kernel[1] * v.dilation[1] - v.padding[1]
        place[2] = at % v.kernel[2] * v.dilation[2] - v.padding[2]
        add_tap(taps, place, at)
    return memory


cdef cnp.ndarray taps_of_phase(const Geometry* v, const Py_ssize_t* start, Taps* taps):
    """Those that the outputs at start + q stride of the transposed convolution meet, as taps of windows of its input; offsets rise."""
    cdef cnp.ndarray memory = room_for(v, taps)
    cdef Py_ssize_t place[3]
    cdef Py_ssize_t at, rest
    cdef int i
    cdef bint meets
    for at in range(volume(v.kernel) - 1, -1, -1):
        rest = at
        meets = True
        for i in range(2, -1, -1):
            place[i] = start[i] + v.padding[i] - rest % v.kernel[i] * v.dilation[i]
            rest = rest // v.kernel[i]
            if place[i] % v.stride[i]:
                meets = False
            elif place[i] < 0:
                place[i] = -(-place[i] // v.stride[i])
            else:
                place[i] = place[i] // v.stride[i]
        if meets:
            add_tap(taps, place, at)
    return memory


cdef Windows windows_of(const Geometry* v, const Taps* taps) noexcept:
    """Of the convolution's input, all groups' channels being in an image."""
    return Windows(channels=v.channels, taps=taps.count, size=v.size, grid=v.grid, step=v.stride, offset=taps.offset,
                   image=v.groups * v.channels * volume(v.size), out_image=v.groups * v.outputs * volume(v.grid),
                   out_size=v.grid, out_start=[0, 0, 0], out_step=[1, 1, 1])


cdef bint merges(Windows* s) noexcept nogil:
    """Where every element is a window of its own, a plane is one long row."""
    cdef int i
    if s.taps != 1:
        return False
    for i in range(3):
        if s.offset[i] or s.step[i] != 1 or s.out_step[i] != 1 or s.out_start[i] or s.size[i] != s.grid[i] or s.out_size[i] != s.grid[i]:
            return False
    s.size[2] = s.grid[2] = s.out_size[2] = volume(s.size)
    for i in range(2):
        s.size[i] = s.grid[i] = s.out_size[i] = 1
    return True
