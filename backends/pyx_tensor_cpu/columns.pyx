"""Windows of images as columns of a matrix, and back: im2col and col2im. The row of a channel and a tap has what all windows have there."""
cimport numpy as cnp
from cython.parallel cimport prange
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

import numpy as np

from pyx_tensor_cpu.dtypes cimport C64, C128, F32, F64, I64, code_of, is_half
from pyx_tensor_cpu.indexed cimport Bytes16, Item
from pyx_tensor_cpu.iterate cimport as_type, contiguous, widened
from pyx_tensor_cpu.memory cimport new_array
from pyx_tensor_cpu.parallel cimport threads_for
from pyx_tensor_cpu.pooling cimport spread_all
from pyx_tensor_cpu.pooling_table cimport Pool, Tap, row_of, tap_of

cnp.import_array()

ctypedef fused Number:
    int64_t
    float
    double
    float complex
    double complex

cdef cnp.dtype INT64 = np.dtype(np.int64)


# ---- one plane and tap ----------------------------------------------------------------------------------------------

cdef inline void copy_tap(const Pool* s, Py_ssize_t i, Py_ssize_t j, Py_ssize_t k, const Item* x, Item* out) noexcept nogil:
    """What all windows have at the tap (i, j, k): zeros outside of the plane."""
    cdef Py_ssize_t d, h, w, row, step = s.stride[2], width = s.grid[2]
    cdef Tap tap = tap_of(s, k)
    cdef const Item* source
    for d in range(s.grid[0]):
        for h in range(s.grid[1]):
            row = row_of(s, d, h, i, j)
            if row < 0 or tap.last <= tap.first:
                memset(out, 0, width * sizeof(Item))
            else:
                source = x + row * s.size[2] + tap.start
                if tap.first:                   # a call takes as long as a short row
                    memset(out, 0, tap.first * sizeof(Item))
                if tap.last < width:
                    memset(out + tap.last, 0, (width - tap.last) * sizeof(Item))
                if step == 1:
                    memcpy(out + tap.first, source + tap.first, (tap.last - tap.first) * sizeof(Item))
                else:
                    for w in range(tap.first, tap.last):
                        out[w] = source[w * step]
            out += width


cdef inline void add_tap(const Pool* s, Py_ssize_t i, Py_ssize_t j, Py_ssize_t k, const Number* columns, Number* x) noexcept nogil:
    cdef Py_ssize_t d, h, w, row, step = s.stride[2]
    cdef Tap tap = tap_of(s, k)
    cdef Number* to
    for d in range(s.grid[0]):
        for h in range(s.grid[1]):
            row = row_of(s, d, h, i, j)
            if row >= 0:
                to = x + row * s.size[2] + tap.start
                if step == 1:
                    for w in range(tap.first, tap.last):
                        to[w] = to[w] + columns[w]
                else:
                    for w in range(tap.first, tap.last):
                        to[w * step] = to[w * step] + columns[w]
            columns += s.grid[2]


# ---- all planes -----------------------------------------------------------------------------------------------------

cdef inline Py_ssize_t product(const Py_ssize_t* sizes) noexcept nogil:
    return sizes[0] * sizes[1] * sizes[2]


cdef void copy_row(const Pool* s, Py_ssize_t row, const Item* x, Item* out) noexcept nogil:
    cdef Py_ssize_t tap = row % product(s.kernel), plane = row // product(s.kernel), k = tap % s.kernel[2], j = tap // s.kernel[2] % s.kernel[1]
    copy_tap(s, tap // s.kernel[2] // s.kernel[1], j, k, x + plane * product(s.size), out + row * product(s.grid))


cdef void copy_rows(const Pool* s, Py_ssize_t planes, const Item* x, Item* out) noexcept nogil:
    cdef Py_ssize_t row, rows = planes * product(s.kernel)
    for row in prange(rows, num_threads=threads_for(rows * product(s.grid)), schedule="static"):
        copy_row(s, row, x, out)


cdef void add_plane(const Pool* s, const Number* columns, Number* x) noexcept nogil:
    cdef Py_ssize_t i, j, k
    memset(x, 0, product(s.size) * sizeof(Number))
    for i in range(s.kernel[0]):
        for j in range(s.kernel[1]):
            for k in range(s.kernel[2]):
                add_tap(s, i, j, k, columns, x)
                columns += product(s.grid)


cdef void add_planes(const Pool* s, Py_ssize_t planes, const Number* columns, Number* x) noexcept nogil:
    cdef Py_ssize_t plane, rows = product(s.kernel)
    for plane in prange(planes, num_threads=threads_for(planes * rows * product(s.grid)), schedule="static"):
        add_plane(s, columns + plane * rows * product(s.grid), x + plane * product(s.size))


# ---- entries --------------------------------------------------------------------------------------------------------

cdef int read_windows(str name, Pool* s, size, kernel, grid, stride, padding, dilation) except -1:
    cdef int i
    spread_all(s, size, kernel, grid, stride, padding, dilation)
    for i in range(3):
        if s.size[i] < 0 or s.kernel[i] < 0 or s.grid[i] < 0 or s.stride[i] < 1 or s.dilation[i] < 1:
            raise ValueError(f"{name}(): no windows of size {kernel}, stride {stride} and dilation {dilation}, {grid} of them, are in {size}")
    return 0


def im2col(cnp.ndarray input not None, kernel, grid, stride, padding, dilation):
    """The windows of (samples, channels, *size) as columns: (samples, channels * elements of a window, windows); zeros outside of the input."""
    cdef Pool s
    cdef cnp.ndarray out, a = contiguous(input)
    cdef Py_ssize_t shape[3]
    cdef Py_ssize_t item = cnp.PyArray_ITEMSIZE(a), planes
    cdef const void* source = cnp.PyArray_DATA(a)
    cdef void* target
    if a.ndim != 2 + len(kernel):
        raise ValueError(f"im2col(): expected (samples, channels, *size) for windows of size {kernel}, got shape {np.shape(a)}")
    read_windows("im2col", &s, np.shape(a)[2:], kernel, grid, stride, padding, dilation)
    planes = a.shape[0] * a.shape[1]
    shape[0], shape[1], shape[2] = a.shape[0], a.shape[1] * product(s.kernel), product(s.grid)
    out = new_array(3, shape, <cnp.dtype>cnp.PyArray_DESCR(a))
    target = cnp.PyArray_DATA(out)
    if cnp.PyArray_SIZE(out) == 0:
        return out
    with nogil:
        if item == 1:
            copy_rows(&s, planes, <const uint8_t*>source, <uint8_t*>target)
        elif item == 2:
            copy_rows(&s, planes, <const uint16_t*>source, <uint16_t*>target)
        elif item == 4:
            copy_rows(&s, planes, <const uint32_t*>source, <uint32_t*>target)
        elif item == 8:
            copy_rows(&s, planes, <const uint64_t*>source, <uint64_t*>target)
        else:
            copy_rows(&s, planes, <const Bytes16*>source, <Bytes16*>target)
    return out


def col2im(cnp.ndarray input not None, size, kernel, grid, stride, padding, dilation):
    """The adjoint: every element of (samples, channels, *size) is the sum of its copies in the columns."""
    cdef Pool s
    cdef cnp.ndarray out, a
    cdef Py_ssize_t shape[5]
    cdef Py_ssize_t planes, taps
    cdef int code = code_of(input), i, dims = len(size)
    cdef const void* source
    cdef void* target
    if is_half(input):
        return as_type(col2im(widened(input), size, kernel, grid, stride, padding, dilation), input.dtype)
    if code not in (I64, F32, F64, C64, C128):
        return as_type(col2im(as_type(input, INT64), size, kernel, grid, stride, padding, dilation), input.dtype)
    read_windows("col2im", &s, size, kernel, grid, stride, padding, dilation)
    taps = product(s.kernel)
    if input.ndim != 3 or input.shape[2] != product(s.grid) or taps == 0 or input.shape[1] % taps:
        raise ValueError(f"col2im(): columns {np.shape(input)} are not those of {grid} windows of size {kernel}")
    a = contiguous(input)
    planes = a.shape[0] * (a.shape[1] // taps)
    shape[0], shape[1] = a.shape[0], a.shape[1] // taps
    for i in range(dims):
        shape[2 + i] = s.size[3 - dims + i]
    out = new_array(2 + dims, shape, <cnp.dtype>cnp.PyArray_DESCR(a))
    if cnp.PyArray_SIZE(out) == 0:
        return out
    source, target = cnp.PyArray_DATA(a), cnp.PyArray_DATA(out)
    with nogil:
        if code == F32:
            add_planes(&s, planes, <const float*>source, <float*>target)
        elif code == F64:
            add_planes(&s, planes, <const double*>source, <double*>target)
        elif code == C64:
            add_planes(&s, planes, <const float complex*>source, <float complex*>target)
        elif code == C128:
            add_planes(&s, planes, <const double complex*>source, <double complex*>target)
        else:
            add_planes(&s, planes, <const int64_t*>source, <int64_t*>target)
    return out
