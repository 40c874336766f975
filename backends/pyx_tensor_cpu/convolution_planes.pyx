"""Convolution from planes with their borders: of few outputs, as of depthwise ones, a plane of the result at a time; of many row by row."""
cimport numpy as cnp
from cython.parallel cimport prange, threadid
from libc.string cimport memset

from pyx_tensor_cpu.convolution_plan cimport FLOPS, Geometry, Job, elements, up, volume
from pyx_tensor_cpu.convolution_table cimport ConvolutionKernels, Windows
from pyx_tensor_cpu.parallel cimport threads_for

cnp.import_array()

cdef enum:
    SLACK = 64                      # elements beyond a row of a bordered plane, no less than those of the kernels
    MOST_OUTPUTS = 2                # of a group
    PLANE_BYTES = 1 << 20           # of the planes that an output comes from
    SHALLOW = 256                   # most taps of all channels for which panels cost more than rows at their places
    BAND_BYTES = 3 << 17            # of the planes that some rows of all outputs come from


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
    if threads == 1:
        with nogil:
            for index in range(jobs):
                channel_or_plane(j, to_weight, index, 0)
        return 0
    for index in prange(jobs, nogil=True, num_threads=threads, schedule="dynamic", chunksize=4):
        channel_or_plane(j, to_weight, index, threadid())
    return 0


cdef inline void channel_or_plane(const PlaneJob* j, bint to_weight, Py_ssize_t index, int thread) noexcept nogil:
    if to_weight:
        one_channel(j, index, thread)
    else:
        one_plane(j, index, thread)


cdef Py_ssize_t bordered_size(const Windows* s) noexcept nogil:
    """No less than the elements of a plane with its border (see kernels/planes.pxi)."""
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


cdef int convolve_planes(const Job* j, cnp.ndarray like) except -1:
    """The convolution that a job tells of, its weight as it lies."""
    cdef PlaneJob planes = PlaneJob(k=j.k, windows=j.windows, item=j.item, samples=j.samples, outputs=j.groups * j.rows, multiple=j.rows, scratch_size=0,
                                    x=j.x, w=j.w, bias=j.bias, y=j.y, scratch=NULL)
    return run_planes(&planes, False, like)


cdef cnp.ndarray weight_of_planes(const Geometry* v, const Windows* windows, const ConvolutionKernels* k, cnp.ndarray g, cnp.ndarray x, cnp.ndarray w):
    cdef PlaneJob j
    w.fill(0)
    j = PlaneJob(k=<ConvolutionKernels*>k, windows=windows[0], item=cnp.PyArray_ITEMSIZE(x), samples=v.samples, outputs=v.groups * v.outputs,
                 multiple=v.outputs, scratch_size=0, x=cnp.PyArray_BYTES(x), w=cnp.PyArray_BYTES(g), bias=NULL, y=cnp.PyArray_BYTES(w), scratch=NULL)
    if cnp.PyArray_SIZE(g):
        run_planes(&j, True, x)
    return w


# ---- many outputs, row by row ---------------------------------------------------------------------------------------

cdef Py_ssize_t band_size(const Windows* s, Py_ssize_t rows) noexcept nogil:
    """No less than the elements of the planes that `rows` rows of the grid come from."""
    cdef Windows band = s[0]
    band.grid[1] = rows
    return s.channels * bordered_size(&band)


cdef bint suits_rows(const Job* j) noexcept:
    """Whether rows of the result fill vectors and lie as the grid does, and what a row comes from fits a cache."""
    cdef const Windows* s = &j.windows
    cdef int i
    for i in range(3):
        if s.out_step[i] != 1 or s.out_start[i] or s.out_size[i] != s.grid[i]:
            return False
    return (s.grid[0] == s.size[0] == 1 and s.taps > 1 and s.offset[0] == 0 and s.grid[2] >= j.k.lanes and 10 * s.grid[2] >= 8 * up(s.grid[2], j.k.lanes)
            and j.w_row == 0 and 2 * j.rows > j.k.rows and s.channels * s.taps <= SHALLOW and band_size(s, 1) * j.item <= BAND_BYTES)


cdef int convolve_rows(const Job* j, cnp.ndarray like) except -1:
    """The convolution that a job with a packed weight tells of."""
    cdef const Windows* s = &j.windows
    cdef Py_ssize_t count = s.grid[1], bands, jobs, index, size, plane = volume(s.size), out_plane = volume(s.grid), image, band
    cdef int threads = threads_for(j.samples * j.groups * out_plane * s.channels * s.taps * j.rows // FLOPS)
    cdef char* scratch
    while count > 1 and (band_size(s, count) * j.item > BAND_BYTES or (threads > 1 and j.samples * j.groups * ((s.grid[1] + count - 1) // count) < 3 * threads)):
        count = (count + 1) // 2
    bands = (s.grid[1] + count - 1) // count
    jobs = j.samples * j.groups * bands
    size = up(s.channels * s.taps * 8 + (band_size(s, count) + SLACK) * j.item, 4096) + 64
    memory = elements(threads * size // j.item, like)
    scratch = cnp.PyArray_BYTES(memory)
    for index in prange(jobs, nogil=True, num_threads=threads, schedule="dynamic"):
        image = index // bands
        band = index % bands
        j.k.rows_product(&j.windows, j.x + image * s.channels * plane * j.item, j.w + image % j.groups * j.w_group * j.item,
                         NULL if j.bias == NULL else j.bias + image % j.groups * j.rows * j.item, j.y + image * j.rows * out_plane * j.item, j.rows,
                         band * count, min(count, s.grid[1] - band * count), scratch + threadid() * size)
    return 0
