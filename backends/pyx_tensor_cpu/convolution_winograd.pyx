"""Convolution with 3x3 kernels by Winograd's minimal filtering: which ones, and how threads share it."""
cimport numpy as cnp
from cython.parallel cimport prange, threadid

from pyx_tensor_cpu.convolution_plan cimport FLOPS, Job, Taps, elements, up, volume
from pyx_tensor_cpu.convolution_table cimport WINOGRAD_CHANNELS, WINOGRAD_ROWS, ConvolutionKernels, Windows
from pyx_tensor_cpu.parallel cimport threads_for

cnp.import_array()

cdef enum:
    LEAST_CHANNELS = 16             # where the transforms pay
    KEPT_BYTES = 3 << 20            # of a transformed weight that is kept
    MANY_TILES = 1024               # for which it is kept though it is larger
    SHARED_TILES = 144              # most tiles that threads share
    CHANNEL_JOB = 4                 # channels of one job that transforms tiles


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
