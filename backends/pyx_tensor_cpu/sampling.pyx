"""Images at the places of a grid; threads share the points, or for an image's gradient the images and channels."""
cimport numpy as cnp
from cpython.pycapsule cimport PyCapsule_GetPointer
from cython.parallel cimport prange
from libc.string cimport memset

import numpy as np

from pyx_tensor_cpu.dtypes cimport is_half, precision_of
from pyx_tensor_cpu.iterate cimport as_type, contiguous, widened
from pyx_tensor_cpu.memory cimport new_like
from pyx_tensor_cpu.parallel cimport threads_for
from pyx_tensor_cpu.sampling_table cimport BLOCK, CUBIC, LINEAR, MAX_ELEMENTS, MAX_SPATIAL, MAX_TAPS, Grid, Kernels, Mode, Padding, SamplingTable

from pyx_tensor_cpu.level import use_kernels
from pyx_tensor_cpu.memory import empty

cnp.import_array()

cdef enum:
    COST = 4                # of an element of the sums, in additions

cdef SamplingTable* table = NULL


def bind(module):
    global table
    table = <SamplingTable*>PyCapsule_GetPointer(module.table, NULL)


use_kernels("sampling", bind)


cdef struct Task:
    Kernels* k
    Grid how
    Py_ssize_t samples, blocks, work
    Py_ssize_t image, grid, result      # bytes of a sample's


cdef int prepare(str name, Task* a, tuple image_shape, cnp.ndarray grid, int mode, int padding, bint align) except -1:
    """Check the shapes, and what follows from them."""
    cdef int d, is_double = precision_of(name, grid), nd = cnp.PyArray_NDIM(grid)
    cdef Py_ssize_t item = cnp.PyArray_ITEMSIZE(grid)
    cdef Grid* how = &a.how
    how.dims = nd - 2
    if mode not in (0, 1, 2) or padding not in (0, 1, 2):
        raise ValueError(f"{name}(): expected a mode and a padding of 0 to 2, got {mode} and {padding}")
    if not 2 <= how.dims <= MAX_SPATIAL or len(image_shape) != nd or grid.shape[nd - 1] != how.dims or image_shape[0] != grid.shape[0]:
        raise ValueError(f"{name}(): expected images (N, C, *) and a grid (N, *, dims) of as many dims, got shapes {image_shape} and {np.shape(grid)}")
    how.mode, how.padding, how.align = <Mode>mode, <Padding>padding, align
    how.channels = image_shape[1]
    how.taps = how.points = how.elements = 1
    for d in range(how.dims):
        how.size[d] = image_shape[d + 2]
        if how.size[d] == 0:
            raise ValueError(f"{name}(): expected images with elements, got shape {image_shape}")
        how.elements *= how.size[d]
        how.points *= grid.shape[d + 1]
        how.taps *= 4 if mode == CUBIC else 2 if mode == LINEAR else 1
    if how.taps > MAX_TAPS:
        raise ValueError(f"{name}(): the cubic mode is for two dims, got images of shape {image_shape}")
    if how.elements > MAX_ELEMENTS:
        raise NotImplementedError(f"{name}(): images of more than {MAX_ELEMENTS} elements aren't supported, got shape {image_shape}")
    a.k = &table.double_ if is_double else &table.single
    a.samples, a.blocks = grid.shape[0], (how.points + BLOCK - 1) // BLOCK
    a.image, a.grid, a.result = how.channels * how.elements * item, how.points * how.dims * item, how.channels * how.points * item
    a.work = a.samples * how.points * how.taps * (how.channels + how.dims) * COST
    return 0


cdef int check(str name, str what, cnp.ndarray a, cnp.ndarray grid, tuple shape) except -1:
    if np.shape(a) != shape or a.dtype != grid.dtype:
        raise ValueError(f"{name}(): expected {what} of shape {shape} and dtype {grid.dtype}, got shape {np.shape(a)} and dtype {a.dtype}")
    return 0


cdef tuple result_shape(tuple image_shape, cnp.ndarray grid):
    return (*image_shape[:2], *np.shape(grid)[1:len(image_shape) - 1])


def grid_sampler(cnp.ndarray input not None, cnp.ndarray grid not None, int interpolation_mode, int padding_mode, bint align_corners):
    """The images (N, C, *) at the points of a grid (N, *, dims), whose coordinates are from -1 to 1."""
    cdef Task a
    cdef Py_ssize_t job, first
    cdef cnp.ndarray out
    cdef char* x
    cdef char* points
    cdef char* y
    if is_half(grid):
        return as_type(grid_sampler(widened(input), widened(grid), interpolation_mode, padding_mode, align_corners), input.dtype)
    input, grid = contiguous(input), contiguous(grid)
    prepare("grid_sampler", &a, np.shape(input), grid, interpolation_mode, padding_mode, align_corners)
    check("grid_sampler", "images", input, grid, np.shape(input))
    out = empty(result_shape(np.shape(input), grid), input.dtype)
    x, points, y = cnp.PyArray_BYTES(input), cnp.PyArray_BYTES(grid), cnp.PyArray_BYTES(out)
    for job in prange(a.samples * a.blocks, num_threads=threads_for(a.work), schedule="static", nogil=True):
        first = job % a.blocks * BLOCK
        a.k.sample(x + job // a.blocks * a.image, points + job // a.blocks * a.grid, &a.how, first, min(<Py_ssize_t>BLOCK, a.how.points - first),
                   y + job // a.blocks * a.result)
    return out


def grid_sampler_input(cnp.ndarray grad not None, cnp.ndarray grid not None, tuple shape, int interpolation_mode, int padding_mode, bint align_corners):
    """The gradient of images of a shape."""
    cdef Task a
    cdef Py_ssize_t job, parts, block, first, start, stop
    cdef int threads
    cdef cnp.ndarray out
    cdef char* g
    cdef char* points
    cdef char* y
    if is_half(grid):
        return as_type(grid_sampler_input(widened(grad), widened(grid), shape, interpolation_mode, padding_mode, align_corners), grad.dtype)
    grad, grid = contiguous(grad), contiguous(grid)
    prepare("grid_sampler_input", &a, shape, grid, interpolation_mode, padding_mode, align_corners)
    check("grid_sampler_input", "gradients", grad, grid, result_shape(shape, grid))
    out = empty(shape, grad.dtype)
    g, points, y = cnp.PyArray_BYTES(grad), cnp.PyArray_BYTES(grid), cnp.PyArray_BYTES(out)
    threads = threads_for(a.work)
    parts = min(a.how.channels, (threads + a.samples - 1) // a.samples) if a.samples else 0     # of the channels, where images don't suffice
    with nogil:
        memset(y, 0, a.samples * a.image)
        for job in prange(a.samples * parts, num_threads=threads, schedule="static"):
            start, stop = job % parts * a.how.channels // parts, (job % parts + 1) * a.how.channels // parts
            for block in range(a.blocks):
                first = block * BLOCK
                a.k.sample_input(g + job // parts * a.result, points + job // parts * a.grid, &a.how, first, min(<Py_ssize_t>BLOCK, a.how.points - first),
                                 start, stop, y + job // parts * a.image)
    return out


def grid_sampler_grid(cnp.ndarray grad not None, cnp.ndarray input not None, cnp.ndarray grid not None, int interpolation_mode, int padding_mode,
                      bint align_corners):
    """The gradient of a grid."""
    cdef Task a
    cdef Py_ssize_t job, first
    cdef cnp.ndarray out
    cdef char* g
    cdef char* x
    cdef char* points
    cdef char* y
    if is_half(grid):
        return as_type(grid_sampler_grid(widened(grad), widened(input), widened(grid), interpolation_mode, padding_mode, align_corners), grid.dtype)
    grad, input, grid = contiguous(grad), contiguous(input), contiguous(grid)
    prepare("grid_sampler_grid", &a, np.shape(input), grid, interpolation_mode, padding_mode, align_corners)
    check("grid_sampler_grid", "images", input, grid, np.shape(input))
    check("grid_sampler_grid", "gradients", grad, grid, result_shape(np.shape(input), grid))
    out = new_like(grid, grid.dtype)
    g, x, points, y = cnp.PyArray_BYTES(grad), cnp.PyArray_BYTES(input), cnp.PyArray_BYTES(grid), cnp.PyArray_BYTES(out)
    for job in prange(a.samples * a.blocks, num_threads=threads_for(a.work), schedule="static", nogil=True):
        first = job % a.blocks * BLOCK
        a.k.sample_grid(g + job // a.blocks * a.result, x + job // a.blocks * a.image, points + job // a.blocks * a.grid, &a.how, first,
                        min(<Py_ssize_t>BLOCK, a.how.points - first), y + job // a.blocks * a.grid)
    return out
