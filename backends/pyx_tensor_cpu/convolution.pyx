"""Convolution, transposed convolution and the weight's gradient, of one to three spatial dims, threads sharing columns and rows.

All three are products of matrices (kernels/convolution.pxi). A transposed convolution with a step is as many plain ones as there
are positions in a step: those outputs that lie a step apart meet the same taps.
"""
cimport numpy as cnp
from cython.parallel cimport prange, threadid

import numpy as np

from pyx_tensor_cpu.convolution_plan cimport (FLOPS, Geometry, Job, Taps, all_taps, bias_of, elements, in_float32, kernels_of, merges, operand,
                                              read_geometry, room, shape_of, taps_of_phase, up, volume, windows_of)
from pyx_tensor_cpu.convolution_planes cimport convolve_planes, convolve_rows, suits_planes, suits_rows
from pyx_tensor_cpu.convolution_table cimport DEPTH, ConvolutionKernels, Windows
from pyx_tensor_cpu.convolution_weight cimport weight_gradient
from pyx_tensor_cpu.convolution_winograd cimport run_winograd, suits_winograd
from pyx_tensor_cpu.dtypes cimport is_half
from pyx_tensor_cpu.parallel cimport threads_for

cnp.import_array()

cdef enum:
    MOST_COLUMNS = 384              # of one job
    DIRECT = 512                    # columns up to which packing the weight doesn't pay
    VERY_FEW_COLUMNS = 64           # up to which a transposed convolution adds up columns
    LEAST_CHANNELS = 64             # with at least so many channels on either side


# ---- the product ----------------------------------------------------------------------------------------------------

cdef inline void one_job(const Job* j, Py_ssize_t index, int thread) noexcept nogil:
    cdef Py_ssize_t part = index % j.row_jobs, column = index // j.row_jobs % j.column_jobs, group = index // j.row_jobs // j.column_jobs
    cdef Py_ssize_t total = j.samples * volume(j.windows.grid), first = column * j.columns, row = part * j.row_size
    j.k.product(&j.windows, j.x + group * j.windows.channels * volume(j.windows.size) * j.item, j.w + group * j.w_group * j.item, j.w_row,
                NULL if j.bias == NULL else j.bias + group * j.rows * j.item, j.y + group * j.rows * volume(j.windows.out_size) * j.item,
                row, min(j.row_size, j.rows - row), first, min(j.columns, total - first), j.scratch + thread * j.scratch_size)


cdef int run(Job* j, cnp.ndarray like) except -1:
    """Divide the columns of all images among threads; rows too where there are few of those."""
    cdef Py_ssize_t total = j.samples * volume(j.windows.grid), depth = j.windows.channels * j.windows.taps, jobs, index
    cdef Py_ssize_t parts, blocks = max((depth + DEPTH - 1) // DEPTH, 1)
    cdef int threads
    if total == 0 or j.groups == 0 or j.rows == 0:
        return 0
    if suits_rows(j):
        return convolve_rows(j, like)
    threads = threads_for(j.groups * total * j.rows * max(depth, 1) // FLOPS + j.groups * total * depth)
    j.columns = MOST_COLUMNS // j.k.width * j.k.width
    parts = (total + j.columns - 1) // j.columns
    while threads > 1 and j.groups * parts < 4 * threads and total > parts * 2 * j.k.width:
        parts += 1
    j.columns = up((total + parts - 1) // parts, j.k.width)
    j.column_jobs = (total + j.columns - 1) // j.columns
    j.row_jobs = 1
    if j.groups * j.column_jobs < 2 * threads and j.groups * j.column_jobs % threads:
        j.row_jobs = min((2 * threads + j.groups * j.column_jobs - 1) // (j.groups * j.column_jobs), (j.rows + j.k.rows - 1) // j.k.rows)
    j.row_size = up((j.rows + j.row_jobs - 1) // j.row_jobs, j.k.rows)
    j.row_jobs = (j.rows + j.row_size - 1) // j.row_size
    jobs = j.groups * j.column_jobs * j.row_jobs
    j.scratch_size = up(j.windows.taps * ((j.windows.channels + blocks - 1) // blocks) * up(j.columns, j.k.width) * j.item, 4096) + 64
    scratch = elements(threads * j.scratch_size // j.item, like)
    j.scratch = cnp.PyArray_BYTES(scratch)
    if threads == 1:
        with nogil:
            for index in range(jobs):
                one_job(j, index, 0)
    else:
        for index in prange(jobs, nogil=True, num_threads=threads, schedule="dynamic"):
            one_job(j, index, threadid())
    return 0


cdef void pack_channel(const Job* j, const char* w, char* packed, Py_ssize_t group, Py_ssize_t channel, Py_ssize_t w_group, Py_ssize_t row,
                       Py_ssize_t w_channel, const Taps* taps) noexcept nogil:
    """A channel of all panels of a group."""
    cdef Py_ssize_t first = 0
    while first < j.rows:
        j.k.pack_weight(w + (group * w_group + first * row + channel * w_channel) * j.item,
                        packed + (group * j.w_group + (first * j.windows.channels + channel * j.k.rows) * taps.count) * j.item,
                        min(j.k.rows, j.rows - first), 1, taps.count, row, w_channel, taps.element)
        first = first + j.k.rows


cdef cnp.ndarray pack(Job* j, cnp.ndarray w, Py_ssize_t group, Py_ssize_t row, Py_ssize_t channel, const Taps* taps):
    """The weight of every group in panels; `group`, `row` and `channel` are its strides."""
    cdef Py_ssize_t panel_rows = up(j.rows, j.k.rows), per_group = panel_rows * j.windows.channels * taps.count, first, index, panels = panel_rows // j.k.rows
    cdef cnp.ndarray packed = elements(j.groups * per_group, w)
    cdef const char* source = cnp.PyArray_BYTES(w)
    cdef char* to = cnp.PyArray_BYTES(packed)
    cdef int threads = threads_for(j.groups * per_group)
    j.w_row, j.w_group = 0, per_group
    if row < channel:               # along the memory
        for index in prange(j.groups * j.windows.channels, nogil=True, num_threads=threads, schedule="static"):
            pack_channel(j, source, to, index // j.windows.channels, index % j.windows.channels, group, row, channel, taps)
        j.w = to
        return packed
    for index in prange(j.groups * panels, nogil=True, num_threads=threads, schedule="static"):
        first = index % panels * j.k.rows
        j.k.pack_weight(source + (index // panels * group + first * row) * j.item,
                        to + (index // panels * per_group + first * j.windows.channels * taps.count) * j.item,
                        min(j.k.rows, j.rows - first), j.windows.channels, taps.count, row, channel, taps.element)
    j.w = to
    return packed


# ---- whole convolutions ---------------------------------------------------------------------------------------------

cdef Job job_of(str name, const Geometry* v, cnp.ndarray x, cnp.ndarray bias, cnp.ndarray y):
    cdef Job j
    j.k = kernels_of(name, x)
    j.item = cnp.PyArray_ITEMSIZE(x)
    j.samples, j.groups = v.samples, v.groups
    j.x, j.y = cnp.PyArray_BYTES(x), cnp.PyArray_BYTES(y)
    j.bias = NULL if bias is None else cnp.PyArray_BYTES(bias)
    return j


cdef cnp.ndarray forward(str name, const Geometry* v, cnp.ndarray x, cnp.ndarray w, cnp.ndarray bias, cnp.ndarray y):
    cdef Job j = job_of(name, v, x, bias, y)
    cdef Taps taps
    cdef Py_ssize_t kernel = volume(v.kernel)
    keep = all_taps(v, &taps)
    j.rows = v.outputs
    j.windows = windows_of(v, &taps)
    if suits_winograd(&j, &taps):
        run_winograd(&j, w, v.channels * kernel, kernel, &taps)
        return y
    if kernel > 1 and suits_planes(&j.windows, v.outputs, j.item) and cnp.PyArray_SIZE(y):
        j.w = cnp.PyArray_BYTES(w)
        convolve_planes(&j, x)
        return y
    merges(&j.windows)
    if v.outputs % j.k.rows == 0 and v.samples * volume(v.grid) <= DIRECT:
        j.w, j.w_row, j.w_group = cnp.PyArray_BYTES(w), v.channels * kernel, v.outputs * v.channels * kernel
    else:
        packed = pack(&j, w, v.outputs * v.channels * kernel, v.channels * kernel, kernel, &taps)
    run(&j, x)
    return y


cdef cnp.ndarray backward_by_columns(const Job* j, const Geometry* v, cnp.ndarray w, cnp.ndarray x):
    """What x gets where there are few positions."""
    cdef Taps taps
    keep = all_taps(v, &taps)
    cdef Windows windows = windows_of(v, &taps)
    cdef Py_ssize_t positions = volume(v.grid), total = v.samples * positions, depth = v.channels * taps.count, index
    cdef Py_ssize_t jobs = (depth + j.k.width - 1) // j.k.width
    cdef int threads = threads_for(total * depth * (v.outputs // FLOPS + 4))
    cdef const char* weight = cnp.PyArray_BYTES(w)
    cdef char* to
    cdef char* packed
    transposed, columns = elements(up(total, j.k.rows) * v.outputs, x), elements(up(total, j.k.rows) * depth, x)
    packed, to = cnp.PyArray_BYTES(transposed), cnp.PyArray_BYTES(columns)
    with nogil:
        j.k.pack_positions(j.x, v.outputs, positions, windows.out_image, total, False, packed)
        for index in prange(jobs, num_threads=threads, schedule="static"):
            j.k.columns_panel(packed, weight, to, v.outputs, depth, index * j.k.width, min(j.k.width, depth - index * j.k.width), total)
        for index in prange(v.channels, num_threads=threads, schedule="static"):
            j.k.add_columns(&windows, to, j.bias, j.y, v.samples, index)
    return x


cdef cnp.ndarray backward(str name, const Geometry* v, cnp.ndarray y, cnp.ndarray w, cnp.ndarray bias, cnp.ndarray x):
    """What x gets from y: a plain convolution of y for each position in a step."""
    cdef Job j = job_of(name, v, y, bias, x)
    cdef Taps taps
    cdef Py_ssize_t kernel = volume(v.kernel)
    cdef Py_ssize_t start[3]
    cdef Py_ssize_t grid[3]
    cdef int i
    j.rows = v.channels
    if (v.groups == 1 and v.samples * volume(v.grid) <= VERY_FEW_COLUMNS and v.channels * kernel % j.k.lanes == 0 and min(v.outputs, v.channels) >= LEAST_CHANNELS):
        return backward_by_columns(&j, v, w, x)
    for start[0] in range(min(v.stride[0], v.size[0])):
        for start[1] in range(min(v.stride[1], v.size[1])):
            for start[2] in range(min(v.stride[2], v.size[2])):
                keep = taps_of_phase(v, start, &taps)
                for i in range(3):
                    grid[i] = (v.size[i] - start[i] + v.stride[i] - 1) // v.stride[i]
                j.windows = Windows(channels=v.outputs, taps=taps.count, size=v.grid, grid=grid, step=[1, 1, 1], offset=taps.offset,
                                    image=v.groups * v.outputs * volume(v.grid), out_image=v.groups * v.channels * volume(v.size),
                                    out_size=v.size, out_start=start, out_step=v.stride)
                if suits_winograd(&j, &taps):
                    run_winograd(&j, w, kernel, v.channels * kernel, &taps)
                    continue
                if taps.count == kernel > 1 and v.stride[0] == v.stride[1] == v.stride[2] == 1 and suits_planes(&j.windows, v.channels, j.item) and cnp.PyArray_SIZE(x):
                    mirrored = np.reshape(w, (v.groups, v.outputs, v.channels, kernel))[..., ::-1].transpose(0, 2, 1, 3).copy()       # as the taps are
                    j.w = cnp.PyArray_BYTES(mirrored)
                    convolve_planes(&j, y)
                    continue
                merges(&j.windows)
                packed = pack(&j, w, v.outputs * v.channels * kernel, kernel, v.channels * kernel, &taps)
                run(&j, y)
    return x


# ---- the entries ----------------------------------------------------------------------------------------------------

cdef int expect_images(str name, cnp.ndarray a, cnp.ndarray b) except -1:
    """ValueError unless both have a batch, channels and at least one spatial dim."""
    if cnp.PyArray_NDIM(a) < 3 or cnp.PyArray_NDIM(b) < 3:
        raise ValueError(f"{name}(): expected arrays of at least 3 dims, got shapes {shape_of(a)} and {shape_of(b)}")
    return 0


def convolve(cnp.ndarray x, cnp.ndarray weight, bias, grid, stride, padding, dilation, groups):
    """The convolution of images at `grid` positions, with zeros around them."""
    cdef Geometry v
    if is_half(x):
        return in_float32(convolve, (x, weight, bias), (grid, stride, padding, dilation, groups))
    kernels_of("convolve", x)
    expect_images("convolve", x, weight)
    shape = (shape_of(x)[0], shape_of(weight)[0], *grid)
    read_geometry("convolve", &v, shape_of(x), shape_of(weight), shape, stride, padding, dilation, groups)
    x, weight, bias = operand(x, x), operand(weight, x), bias_of("convolve", bias, shape[1], x)
    y = room(shape, x)
    return forward("convolve", &v, x, weight, bias, y)


def convolve_transposed(cnp.ndarray y, cnp.ndarray weight, bias, size, stride, padding, dilation, groups):
    """What images of spatial sizes `size` get from the convolution's result."""
    cdef Geometry v
    if is_half(y):
        return in_float32(convolve_transposed, (y, weight, bias), (size, stride, padding, dilation, groups))
    kernels_of("convolve_transposed", y)
    expect_images("convolve_transposed", y, weight)
    shape = (shape_of(y)[0], shape_of(weight)[1] * groups, *size)
    read_geometry("convolve_transposed", &v, shape, shape_of(weight), shape_of(y), stride, padding, dilation, groups)
    y, weight, bias = operand(y, y), operand(weight, y), bias_of("convolve_transposed", bias, shape[1], y)
    x = room(shape, y)
    return backward("convolve_transposed", &v, y, weight, bias, x)


def convolve_weight(cnp.ndarray g, cnp.ndarray x, kernel, stride, padding, dilation, groups):
    """What a weight of spatial sizes `kernel` gets from the convolution's result and its input."""
    cdef Geometry v
    if is_half(x):
        return in_float32(convolve_weight, (g, x), (kernel, stride, padding, dilation, groups))
    kernels_of("convolve_weight", x)
    expect_images("convolve_weight", x, g)
    shape = (shape_of(g)[1], shape_of(x)[1] // groups, *kernel)
    read_geometry("convolve_weight", &v, shape_of(x), shape, shape_of(g), stride, padding, dilation, groups)
    x, g = operand(x, x), operand(g, x)
    return weight_gradient("convolve_weight", &v, g, x, room(shape, x))
