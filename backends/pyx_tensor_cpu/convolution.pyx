"""Convolution, transposed convolution and the weight's gradient, of one to three spatial dims, threads sharing images and columns.

All three are products of matrices (kernels/convolution.pxi). A transposed convolution with a step is as many plain ones as there
are positions in a step: those outputs that lie a step apart meet the same taps.
"""
cimport cython
cimport numpy as cnp
from cpython.pycapsule cimport PyCapsule_GetPointer
from cython.parallel cimport prange, threadid
from libc.string cimport memset

import numpy as np

from pyx_tensor_cpu.convolution_table cimport COLUMNS, DEPTH, WINOGRAD_CHANNELS, WINOGRAD_ROWS, ConvolutionKernels, ConvolutionTable, Windows
from pyx_tensor_cpu.dtypes cimport BF16, F16, F32, F64, code_of
from pyx_tensor_cpu.memory cimport new_array
from pyx_tensor_cpu.parallel cimport threads_for

from pyx_tensor_cpu.level import use_kernels

cnp.import_array()

ctypedef fused real:
    float
    double

cdef enum:
    BLOCK = 16                      # rows of a weight that are collected at once
    MOST_COLUMNS = 384              # of one job
    FLOPS = 16                      # multiplications in the time of an addition of a pointwise loop
    SLACK = 64                      # elements beyond a row of a bordered plane, no less than those of kernels/convolution.pxi
    MOST_OUTPUTS = 2                # of a group, up to which planes of the result are made one by one
    PLANE_BYTES = 1 << 20           # of the planes that such an output comes from
    DIRECT = 512                    # columns up to which packing the weight doesn't pay
    LEAST_CHANNELS = 16             # where Winograd's transforms pay
    KEPT_BYTES = 3 << 20            # of a transformed weight that is kept
    MANY_TILES = 1024               # for which it is kept though it is larger
    SHARED_TILES = 144              # most tiles that threads share
    CHANNEL_JOB = 4                 # channels of one job that transforms tiles
    FEW_COLUMNS = 256               # for which a weight's gradient is made column by column; no more than COLUMNS
    VERY_FEW_COLUMNS = 64           # the same of a transposed convolution
    LEAST_OUTPUTS = 64              # with at least so many outputs
    PARTIAL = 1 << 21               # most elements of the partial sums of a weight's gradient

cdef ConvolutionTable* table = NULL


def bind(module):
    global table
    table = <ConvolutionTable*>PyCapsule_GetPointer(module.table, NULL)


use_kernels("convolution", bind)


# ---- arguments ------------------------------------------------------------------------------------------------------

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


cdef int spread(object numbers, Py_ssize_t* to, Py_ssize_t missing) except -1:
    """Numbers for the last dims, `missing` for those ahead."""
    cdef int i, n = len(numbers)
    for i in range(3):
        to[i] = missing if i < 3 - n else <Py_ssize_t>numbers[i - 3 + n]
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
    cdef int code = code_of(a)
    if code == F32:
        return &table.single
    if code == F64:
        return &table.double_
    raise TypeError(f"{name}(): no kernel for dtype {a.dtype}")


cdef bint is_half(cnp.ndarray a) except -1:
    cdef int code = code_of(a)
    return code == F16 or code == BF16


cdef in_float32(function, arrays, arguments):
    """The result for half types: computed in float32, rounded once."""
    return function(*[None if a is None else np.asarray(a, np.float32) for a in arrays], *arguments).astype(arrays[0].dtype)


cdef cnp.ndarray operand(a, cnp.ndarray like):
    if a.dtype != like.dtype:
        raise ValueError(f"dtypes {a.dtype} and {like.dtype} differ")
    return np.ascontiguousarray(a)


cdef cnp.ndarray bias_of(str name, bias, Py_ssize_t outputs, cnp.ndarray like):
    if bias is None:
        return None
    if np.shape(bias) != (outputs,):
        raise ValueError(f"{name}(): expected a bias of shape {(outputs,)}, got {np.shape(bias)}")
    return operand(bias, like)


cdef cnp.ndarray room(tuple shape, cnp.ndarray like):
    cdef Py_ssize_t sizes[5]
    cdef int i, n = len(shape)
    for i in range(n):
        sizes[i] = shape[i]
    return new_array(n, sizes, <cnp.dtype>cnp.PyArray_DESCR(like))


cdef cnp.ndarray elements(Py_ssize_t count, cnp.ndarray like):
    return new_array(1, &count, <cnp.dtype>cnp.PyArray_DESCR(like))


cdef inline Py_ssize_t volume(const Py_ssize_t* sizes) noexcept nogil:
    return sizes[0] * sizes[1] * sizes[2]


cdef inline Py_ssize_t up(Py_ssize_t n, Py_ssize_t step) noexcept nogil:
    return (n + step - 1) // step * step


# ---- taps -----------------------------------------------------------------------------------------------------------

cdef struct Taps:
    Py_ssize_t count
    Py_ssize_t* offset              # three for each: where it is, for the window at 0
    Py_ssize_t* element             # which element of the kernel it is


cdef tuple all_taps(const Geometry* v, Taps* taps):
    """The kernel's elements as taps of windows of the input; returns what keeps their memory."""
    offset, element = [], []
    cdef Py_ssize_t a, b, c
    for a in range(v.kernel[0]):
        for b in range(v.kernel[1]):
            for c in range(v.kernel[2]):
                offset += [a * v.dilation[0] - v.padding[0], b * v.dilation[1] - v.padding[1], c * v.dilation[2] - v.padding[2]]
                element.append((a * v.kernel[1] + b) * v.kernel[2] + c)
    return point_to(taps, offset, element)


cdef tuple point_to(Taps* taps, list offset, list element):
    cdef cnp.ndarray offsets = np.array(offset, np.intp), elements_ = np.array(element, np.intp)
    taps.count = len(element)
    taps.offset = <Py_ssize_t*>cnp.PyArray_DATA(offsets)
    taps.element = <Py_ssize_t*>cnp.PyArray_DATA(elements_)
    return offsets, elements_


cdef tuple taps_of_phase(const Geometry* v, const Py_ssize_t* start, Taps* taps):
    """Those that the outputs at start + q stride of the transposed convolution meet, as taps of windows of its input."""
    offset, element = [], []
    cdef Py_ssize_t at[3]
    cdef Py_ssize_t place[3]
    cdef int i
    cdef bint meets
    for at[0] in range(v.kernel[0] - 1, -1, -1):        # so that offsets rise
        for at[1] in range(v.kernel[1] - 1, -1, -1):
            for at[2] in range(v.kernel[2] - 1, -1, -1):
                meets = True
                for i in range(3):
                    place[i] = start[i] + v.padding[i] - at[i] * v.dilation[i]
                    meets = meets and place[i] % v.stride[i] == 0
                    place[i] = place[i] // v.stride[i]
                if meets:
                    offset += [place[0], place[1], place[2]]
                    element.append((at[0] * v.kernel[1] + at[1]) * v.kernel[2] + at[2])
    return point_to(taps, offset, element)


# ---- the product ----------------------------------------------------------------------------------------------------

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


# ---- 3x3 ------------------------------------------------------------------------------------------------------------

cdef struct WinogradJob:
    ConvolutionKernels* k
    Windows windows
    Py_ssize_t item
    Py_ssize_t rows
    Py_ssize_t w_row                # strides of the weight, and its taps
    Py_ssize_t w_channel
    const Py_ssize_t* tap
    Py_ssize_t apart                # elements from a place to the next of what is kept transformed
    Py_ssize_t tiles
    Py_ssize_t size                 # tiles of one job
    Py_ssize_t lines                # elements of a row of tiles
    Py_ssize_t scratch_size         # bytes
    const char* x
    const char* source              # the weight
    const char* w                   # transformed
    const char* bias
    char* y
    char* scratch


cdef bint suits_winograd(const Job* j, const Taps* taps) noexcept:
    """Whether Winograd's way takes this product and is faster, the transform of the weight included."""
    cdef const Windows* s = &j.windows
    cdef Py_ssize_t tiles = j.samples * ((s.grid[1] + 3) // 4) * ((s.grid[2] + 3) // 4), positions = j.samples * volume(s.grid), t
    if (not j.k.has_winograd or j.groups != 1 or taps.count != 9 or s.size[0] != 1 or s.grid[0] != 1 or s.step[1] != 1 or s.step[2] != 1
            or s.out_step[1] != 1 or s.out_step[2] != 1 or s.offset[0] != 0):
        return False
    for t in range(9):
        if s.offset[3 * t] or s.offset[3 * t + 1] != s.offset[1] + t // 3 or s.offset[3 * t + 2] != s.offset[2] + t % 3:
            return False
    if s.offset[2] > 0:
        return False
    return (s.channels >= LEAST_CHANNELS and j.rows >= LEAST_CHANNELS and positions >= 256 and 10 * positions > 64 * tiles)


cdef int run_winograd(const Job* from_, cnp.ndarray w, Py_ssize_t row, Py_ssize_t channel, const Taps* taps) except -1:
    cdef WinogradJob j
    cdef Py_ssize_t across = (from_.windows.grid[2] + 3) // 4, down = (from_.windows.grid[1] + 3) // 4
    j.k, j.windows, j.item, j.rows = from_.k, from_.windows, from_.item, from_.rows
    j.x, j.bias, j.y = from_.x, from_.bias, from_.y
    j.tiles = from_.samples * across * down
    j.lines = 24 * (across + 2 + j.k.lanes) + j.k.lanes
    j.source, j.w_row, j.w_channel, j.tap = cnp.PyArray_BYTES(w), row, channel, taps.element
    threads = threads_for(j.tiles * 36 * j.rows * j.windows.channels // FLOPS)
    if 36 * j.rows * j.windows.channels * j.item <= KEPT_BYTES or j.tiles >= MANY_TILES:
        return keeping_weights(&j, threads, w)
    return keeping_tiles(&j, threads, w)


cdef int keeping_weights(WinogradJob* j, int threads, cnp.ndarray like) except -1:
    """The whole weight is transformed at first; threads share the tiles."""
    cdef Py_ssize_t jobs, index, pitch, channels = j.windows.channels, panels = (j.rows + j.k.rows - 1) // j.k.rows
    cdef char* to
    j.apart = panels * j.k.rows * channels + 2 * j.k.lanes      # no power of 2: places would share cache sets
    jobs = max(min(up((j.tiles + j.k.width - 1) // j.k.width, threads), j.tiles), 1)
    j.size = (j.tiles + jobs - 1) // jobs
    jobs = (j.tiles + j.size - 1) // j.size
    pitch = up(j.size, j.k.lanes) + j.k.lanes
    j.scratch_size = up((36 * ((channels + WINOGRAD_ROWS) * pitch + 2 * j.k.lanes) + j.lines) * j.item, 4096) + 64
    scratch = elements(threads * j.scratch_size // j.item, like)
    transformed = elements(36 * j.apart, like)
    j.scratch, to = cnp.PyArray_BYTES(scratch), cnp.PyArray_BYTES(transformed)
    j.w = to
    for index in prange(panels, nogil=True, num_threads=threads, schedule="static"):
        j.k.winograd_weights(j.source + index * j.k.rows * j.w_row * j.item, to + index * j.k.rows * channels * j.item,
                             min(j.k.rows, j.rows - index * j.k.rows), channels, j.w_row, j.w_channel, j.tap, j.apart)
    for index in prange(jobs, nogil=True, num_threads=threads, schedule="dynamic"):
        j.k.winograd(&j.windows, j.x, j.w, j.apart, j.bias, j.y, j.rows, index * j.size, min(j.size, j.tiles - index * j.size),
                     j.scratch + threadid() * j.scratch_size)
    return 0


cdef int keeping_tiles(WinogradJob* j, int threads, cnp.ndarray like) except -1:
    """Some tiles are transformed at first; threads share the rows, and transform the weights as they need them."""
    cdef Py_ssize_t parts = (j.tiles + SHARED_TILES - 1) // SHARED_TILES, channels = j.windows.channels, first, count, pitch, index
    cdef Py_ssize_t chunks = (j.rows + WINOGRAD_ROWS - 1) // WINOGRAD_ROWS, groups = (channels + CHANNEL_JOB - 1) // CHANNEL_JOB
    cdef char* tiles
    j.size = (j.tiles + parts - 1) // parts
    pitch = up(j.size, j.k.lanes) + j.k.lanes
    j.scratch_size = up((36 * (WINOGRAD_ROWS * (pitch + WINOGRAD_CHANNELS) + 2 * j.k.lanes) + j.lines) * j.item, 4096) + 64
    scratch = elements(threads * j.scratch_size // j.item, like)
    transformed = elements(36 * (channels * pitch + j.k.lanes), like)
    j.scratch, tiles = cnp.PyArray_BYTES(scratch), cnp.PyArray_BYTES(transformed)
    for first in range(0, j.tiles, j.size):
        count = min(j.size, j.tiles - first)
        pitch = up(count, j.k.lanes) + j.k.lanes
        j.apart = channels * pitch + j.k.lanes
        for index in prange(groups, nogil=True, num_threads=threads, schedule="dynamic"):
            j.k.winograd_inputs(&j.windows, j.x, index * CHANNEL_JOB, min(<Py_ssize_t>CHANNEL_JOB, channels - index * CHANNEL_JOB), first, count, pitch,
                                j.apart, j.scratch + threadid() * j.scratch_size, tiles)
        for index in prange(chunks, nogil=True, num_threads=threads, schedule="dynamic"):
            j.k.winograd_rows(&j.windows, tiles, j.apart, j.source + index * WINOGRAD_ROWS * j.w_row * j.item, j.w_row, j.w_channel, j.tap,
                              NULL if j.bias == NULL else j.bias + index * WINOGRAD_ROWS * j.item,
                              j.y + index * WINOGRAD_ROWS * volume(j.windows.grid) * j.item, min(<Py_ssize_t>WINOGRAD_ROWS, j.rows - index * WINOGRAD_ROWS),
                              first, count, j.scratch + threadid() * j.scratch_size)
    return 0


# ---- planes one by one: few outputs ------------------------------------------------------------------------------------

cdef struct PlaneJob:
    ConvolutionKernels* k
    Windows windows
    Py_ssize_t item
    Py_ssize_t samples
    Py_ssize_t outputs              # planes of the result
    Py_ssize_t multiple             # of them for each group
    Py_ssize_t scratch_size
    const char* x
    const char* w
    const char* bias
    char* y
    char* scratch


cdef inline const char* planes_of(const PlaneJob* j, Py_ssize_t image, Py_ssize_t output) noexcept nogil:
    """The input planes of an output."""
    return j.x + (image * (j.outputs // j.multiple) + output // j.multiple) * j.windows.channels * volume(j.windows.size) * j.item


cdef inline void one_plane(const PlaneJob* j, Py_ssize_t index, int thread) noexcept nogil:
    cdef Py_ssize_t output = index % j.outputs
    j.k.depthwise(&j.windows, planes_of(j, index // j.outputs, output), j.w + output * j.windows.channels * j.windows.taps * j.item,
                  NULL if j.bias == NULL else j.bias + output * j.item, j.y + index * volume(j.windows.grid) * j.item, j.scratch + thread * j.scratch_size)


cdef inline void one_channel(const PlaneJob* j, Py_ssize_t output, int thread) noexcept nogil:
    """A channel's taps, from all images."""
    cdef Py_ssize_t image
    for image in range(j.samples):
        j.k.depthwise_weight(&j.windows, planes_of(j, image, output), j.w + (image * j.outputs + output) * volume(j.windows.grid) * j.item,
                             j.y + output * j.windows.taps * j.item, j.scratch + thread * j.scratch_size)


cdef int run_planes(PlaneJob* j, bint to_weight, cnp.ndarray like) except -1:
    cdef Py_ssize_t positions = volume(j.windows.grid), taps = j.windows.channels * j.windows.taps, index
    cdef Py_ssize_t jobs = j.outputs if to_weight else j.samples * j.outputs
    cdef int threads = threads_for(j.samples * j.outputs * (positions * (taps + 2) // 4))
    j.scratch_size = up((j.windows.channels * bordered_size(&j.windows) + taps * 4) * j.item
                        + positions // max(j.windows.grid[2], 1) * up(j.windows.grid[2], j.k.lanes) * j.item, 64) + 64
    scratch = elements(threads * j.scratch_size // j.item, like)
    j.scratch = cnp.PyArray_BYTES(scratch)
    memset(j.scratch, 0, threads * j.scratch_size)
    for index in prange(jobs, nogil=True, num_threads=threads, schedule="dynamic", chunksize=4):
        if to_weight:
            one_channel(j, index, threadid())
        else:
            one_plane(j, index, threadid())
    return 0


cdef Py_ssize_t bordered_size(const Windows* s) noexcept nogil:
    """No less than the elements of a plane with its border (see kernels/convolution.pxi)."""
    cdef Py_ssize_t size = 1, t, farthest, reach
    cdef int i
    for i in range(3):
        farthest = 0
        for t in range(s.taps):
            farthest = max(farthest, s.offset[3 * t + i], -s.offset[3 * t + i])
        reach = (s.grid[i] - 1) * s.step[i] + 2 * farthest + 1
        size *= reach if i < 2 else reach + (SLACK + 1) * s.step[i]
    return size


cdef bint suits_planes(const Windows* s, Py_ssize_t outputs, Py_ssize_t item) noexcept:
    """Whether outputs are too few to fill a tile, and their planes fit a cache."""
    return outputs <= MOST_OUTPUTS and s.channels * bordered_size(s) * item <= PLANE_BYTES


cdef PlaneJob plane_job(const Job* j):
    return PlaneJob(k=j.k, windows=j.windows, item=j.item, samples=j.samples, outputs=j.groups * j.rows, multiple=j.rows, scratch_size=0,
                    x=j.x, w=j.w, bias=j.bias, y=j.y, scratch=NULL)


cdef cnp.ndarray weight_of_planes(const Geometry* v, const Windows* windows, const ConvolutionKernels* k, cnp.ndarray g, cnp.ndarray x, cnp.ndarray w):
    cdef PlaneJob j
    w.fill(0)
    j = PlaneJob(k=<ConvolutionKernels*>k, windows=windows[0], item=cnp.PyArray_ITEMSIZE(x), samples=v.samples, outputs=v.groups * v.outputs,
                 multiple=v.outputs, scratch_size=0, x=cnp.PyArray_BYTES(x), w=cnp.PyArray_BYTES(g), bias=NULL, y=cnp.PyArray_BYTES(w), scratch=NULL)
    if cnp.PyArray_SIZE(g):
        run_planes(&j, True, x)
    return w


# ---- whole convolutions ---------------------------------------------------------------------------------------------

cdef Windows windows_of(const Geometry* v, const Taps* taps) noexcept:
    """Of the convolution's input, all groups' channels being in an image."""
    return Windows(channels=v.channels, taps=taps.count, size=v.size, grid=v.grid, step=v.stride, offset=taps.offset,
                   image=v.groups * v.channels * volume(v.size), out_image=v.groups * v.outputs * volume(v.grid),
                   out_size=v.grid, out_start=[0, 0, 0], out_step=[1, 1, 1])


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
    cdef PlaneJob planes
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
        planes = plane_job(&j)
        run_planes(&planes, False, x)
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
    cdef PlaneJob planes
    cdef Taps taps
    cdef Py_ssize_t kernel = volume(v.kernel)
    cdef Py_ssize_t start[3]
    cdef Py_ssize_t grid[3]
    cdef int i
    j.rows = v.channels
    if (v.groups == 1 and v.samples * volume(v.grid) <= VERY_FEW_COLUMNS and v.channels * kernel % j.k.lanes == 0 and v.outputs >= LEAST_OUTPUTS
            and v.channels >= LEAST_CHANNELS):
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
                    planes = plane_job(&j)
                    run_planes(&planes, False, y)
                    continue
                merges(&j.windows)
                packed = pack(&j, w, v.outputs * v.channels * kernel, kernel, v.channels * kernel, &taps)
                run(&j, y)
    return x


# ---- the weight's gradient ------------------------------------------------------------------------------------------

cdef struct WeightJob:
    # Jobs are groups times parts of the images times parts of the rows; each part of the images has sums of its own.
    ConvolutionKernels* k
    Windows windows
    Py_ssize_t item
    Py_ssize_t samples
    Py_ssize_t groups
    Py_ssize_t outputs
    Py_ssize_t width                # of a row of sums
    Py_ssize_t parts
    Py_ssize_t row_size
    Py_ssize_t row_jobs
    Py_ssize_t scratch_size
    const char* x
    const char* g
    char* sums
    char* scratch


cdef inline void one_weight_job(const WeightJob* j, Py_ssize_t index, int thread) noexcept nogil:
    cdef Py_ssize_t rows = j.windows.channels * j.windows.taps, row = index % j.row_jobs * j.row_size, part = index // j.row_jobs % j.parts
    cdef Py_ssize_t group = index // j.row_jobs // j.parts, total = j.samples * volume(j.windows.grid)
    cdef Py_ssize_t first = part * total // j.parts, last = (part + 1) * total // j.parts
    j.k.weight_product(&j.windows, j.x + group * j.windows.channels * volume(j.windows.size) * j.item, j.g + group * j.outputs * volume(j.windows.grid) * j.item,
                       j.sums + (part * j.groups + group) * rows * j.width * j.item, j.outputs, j.width, row, min(j.row_size, rows - row),
                       first, last - first, j.scratch + thread * j.scratch_size)


cdef cnp.ndarray weight_gradient(str name, const Geometry* v, cnp.ndarray g, cnp.ndarray x, cnp.ndarray w):
    cdef WeightJob j
    cdef Taps taps
    cdef Py_ssize_t rows, jobs, index, work
    cdef int threads
    keep = all_taps(v, &taps)
    j.k, j.item = kernels_of(name, x), cnp.PyArray_ITEMSIZE(x)
    j.samples, j.groups, j.outputs = v.samples, v.groups, v.outputs
    j.x, j.g = cnp.PyArray_BYTES(x), cnp.PyArray_BYTES(g)
    j.windows = windows_of(v, &taps)
    if v.channels == 1 and v.groups > 1 and suits_planes(&j.windows, v.outputs, j.item):
        return weight_of_planes(v, &j.windows, j.k, g, x, w)
    rows = v.channels * taps.count
    if v.groups == 1 and v.samples * volume(v.grid) <= FEW_COLUMNS and v.outputs >= LEAST_OUTPUTS:
        return weight_by_panels(&j, rows, w)
    merges(&j.windows)
    j.width = up(v.outputs, j.k.lanes)
    work = v.samples * v.groups * volume(v.grid) * rows * v.outputs // FLOPS + v.samples * v.groups * volume(v.grid) * rows
    threads = threads_for(work)
    j.parts = max(1, min(v.samples, threads // v.groups))
    while j.parts > 1 and (j.parts * rows * j.width * v.groups > PARTIAL or threads % j.parts):
        j.parts -= 1
    j.row_jobs = max(1, min(threads // (j.parts * v.groups), (rows + j.k.rows - 1) // j.k.rows))
    j.row_size = up((rows + j.row_jobs - 1) // j.row_jobs, j.k.rows)
    j.row_jobs = (rows + j.row_size - 1) // j.row_size
    jobs = j.groups * j.parts * j.row_jobs
    j.scratch_size = up((j.k.rows * COLUMNS + COLUMNS * up(v.outputs, j.k.width)) * j.item, 4096) + 64
    scratch = elements(threads * j.scratch_size // j.item, x)
    sums = elements(j.parts * v.groups * rows * j.width, x)
    j.sums, j.scratch = cnp.PyArray_BYTES(sums), cnp.PyArray_BYTES(scratch)
    if threads == 1:
        with nogil:
            for index in range(jobs):
                one_weight_job(&j, index, 0)
    else:
        for index in prange(jobs, nogil=True, num_threads=threads, schedule="dynamic"):
            one_weight_job(&j, index, threadid())
    collect_all(&j, w)
    return w


cdef cnp.ndarray weight_by_panels(const WeightJob* from_, Py_ssize_t depth, cnp.ndarray w):
    """The gradient where there are few positions."""
    cdef WeightJob j = from_[0]
    cdef Py_ssize_t positions = volume(j.windows.grid), total = j.samples * positions, index, width = min(j.k.width, up(depth, j.k.lanes))
    cdef int threads = threads_for(total * depth * (j.outputs // FLOPS + 4))
    cdef char* packed
    cdef char* to = cnp.PyArray_BYTES(w)
    transposed = elements(up(j.outputs, j.k.rows) * total, w)
    packed = cnp.PyArray_BYTES(transposed)
    j.scratch_size = up(total * (width + 1) * j.item, 4096) + 64
    scratch = elements(threads * j.scratch_size // j.item, w)
    j.scratch = cnp.PyArray_BYTES(scratch)
    with nogil:
        j.k.pack_positions(j.g, j.outputs, positions, j.windows.out_image, total, True, packed)
        for index in prange((depth + width - 1) // width, num_threads=threads, schedule="dynamic"):
            j.k.weight_panel(&j.windows, j.x, packed, to, j.outputs, index * width, min(width, depth - index * width), total,
                             j.scratch + threadid() * j.scratch_size)
    return w


cdef void collect(const real* sums, real* w, Py_ssize_t parts, Py_ssize_t part, const WeightJob* j, Py_ssize_t first, Py_ssize_t count) noexcept nogil:
    """Rows [first, first + count) of a group's weight from the sums of all parts, which have the outputs last and the taps first."""
    cdef Py_ssize_t channels = j.windows.channels, taps = j.windows.taps, c, t, m, p
    cdef const real* source
    for c in range(channels):
        for m in range(first, first + count):
            for t in range(taps):
                source = sums + (t * channels + c) * j.width + m
                w[(m * channels + c) * taps + t] = source[0]
                for p in range(1, parts):
                    w[(m * channels + c) * taps + t] += source[p * part]


cdef int collect_all(const WeightJob* j, cnp.ndarray w) except -1:
    cdef Py_ssize_t size = j.windows.channels * j.windows.taps, blocks = (j.outputs + BLOCK - 1) // BLOCK, index, group, first, count
    cdef int threads = threads_for(j.groups * size * j.outputs * j.parts)
    cdef char* to = cnp.PyArray_BYTES(w)
    for index in prange(j.groups * blocks, nogil=True, num_threads=threads, schedule="static"):
        group = index // blocks
        first = index % blocks * BLOCK
        count = min(<Py_ssize_t>BLOCK, j.outputs - first)
        if j.item == 4:
            collect(<const float*>j.sums + group * size * j.width, <float*>to + group * j.outputs * size, j.parts, j.groups * size * j.width, j, first, count)
        else:
            collect(<const double*>j.sums + group * size * j.width, <double*>to + group * j.outputs * size, j.parts, j.groups * size * j.width, j, first, count)
    return 0


# ---- the entries ----------------------------------------------------------------------------------------------------

def convolve(cnp.ndarray x, cnp.ndarray weight, bias, grid, stride, padding, dilation, groups):
    """The convolution of images at `grid` positions, with zeros around them."""
    cdef Geometry v
    if is_half(x):
        return in_float32(convolve, (x, weight, bias), (grid, stride, padding, dilation, groups))
    kernels_of("convolve", x)
    shape = (np.shape(x)[0], np.shape(weight)[0], *grid)
    read_geometry("convolve", &v, np.shape(x), np.shape(weight), shape, stride, padding, dilation, groups)
    x, weight, bias = operand(x, x), operand(weight, x), bias_of("convolve", bias, shape[1], x)
    y = room(shape, x)
    return forward("convolve", &v, x, weight, bias, y)


def convolve_transposed(cnp.ndarray y, cnp.ndarray weight, bias, size, stride, padding, dilation, groups):
    """What images of spatial sizes `size` get from the convolution's result."""
    cdef Geometry v
    if is_half(y):
        return in_float32(convolve_transposed, (y, weight, bias), (size, stride, padding, dilation, groups))
    kernels_of("convolve_transposed", y)
    shape = (np.shape(y)[0], np.shape(weight)[1] * groups, *size)
    read_geometry("convolve_transposed", &v, shape, np.shape(weight), np.shape(y), stride, padding, dilation, groups)
    y, weight, bias = operand(y, y), operand(weight, y), bias_of("convolve_transposed", bias, shape[1], y)
    x = room(shape, y)
    return backward("convolve_transposed", &v, y, weight, bias, x)


def convolve_weight(cnp.ndarray g, cnp.ndarray x, kernel, stride, padding, dilation, groups):
    """What a weight of spatial sizes `kernel` gets from the convolution's result and its input."""
    cdef Geometry v
    if is_half(x):
        return in_float32(convolve_weight, (g, x), (kernel, stride, padding, dilation, groups))
    kernels_of("convolve_weight", x)
    shape = (np.shape(g)[1], np.shape(x)[1] // groups, *kernel)
    read_geometry("convolve_weight", &v, np.shape(x), shape, np.shape(g), stride, padding, dilation, groups)
    x, g = operand(x, x), operand(g, x)
    return weight_gradient("convolve_weight", &v, g, x, room(shape, x))
