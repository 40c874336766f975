"""The gradient of a convolution's weight: a product of matrices over all positions, threads sharing rows or positions."""
cimport numpy as cnp
from cython.parallel cimport prange, threadid

from pyx_tensor_cpu.convolution_plan cimport FLOPS, Geometry, Taps, all_taps, elements, kernels_of, merges, up, volume, windows_of
from pyx_tensor_cpu.convolution_planes cimport suits_planes, weight_of_planes
from pyx_tensor_cpu.convolution_table cimport COLUMNS, ConvolutionKernels, Windows
from pyx_tensor_cpu.parallel cimport threads_for

cnp.import_array()

ctypedef fused real:
    float
    double

cdef enum:
    BLOCK = 16                      # rows of a weight that are collected at once
    FEW_COLUMNS = 256               # positions up to which it is made column by column; no more than COLUMNS
    LEAST_OUTPUTS = 64              # with at least so many outputs
    PARTIAL = 1 << 21               # most elements of partial sums


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
