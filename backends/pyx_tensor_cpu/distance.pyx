"""Distances of all pairs of points of two sets."""
cimport numpy as cnp
from cpython.pycapsule cimport PyCapsule_GetPointer
from cython.parallel cimport prange
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

import math

import numpy as np

from pyx_tensor_cpu.distance_table cimport CHEBYSHEV, COLUMNS, COUNT, DEPTH, EUCLIDEAN, GROUP, MANHATTAN, POWER, Distances, DistanceTable, Norm
from pyx_tensor_cpu.dtypes cimport BF16, F16, F32, F64, code_of
from pyx_tensor_cpu.iterate cimport as_type, contiguous, widened
from pyx_tensor_cpu.memory cimport new_array
from pyx_tensor_cpu.parallel cimport threads_for

from pyx_tensor_cpu.level import use_kernels

cnp.import_array()

cdef enum:
    MAX_DIMS = 64
    ROWS = 512              # points of the left side that share the turned points of a job

cdef extern from "turn.h" nogil:
    void turn_words(char* dst, Py_ssize_t dst_step, const char* src, Py_ssize_t src_step, Py_ssize_t rows, Py_ssize_t columns, Py_ssize_t itemsize)

cdef DistanceTable* table = NULL


def bind(module):
    global table
    table = <DistanceTable*>PyCapsule_GetPointer(module.table, NULL)


use_kernels("distance", bind)

cdef struct Problem:
    Distances distances
    const char* left
    const char* right
    char* out
    Py_ssize_t item, batches, rows, columns, size, depth    # `depth` is the size padded
    Norm norm
    double p


cdef void turn_points(const Problem* a, const char* points, Py_ssize_t count, char* turned) noexcept nogil:
    """`count` points of `size` coordinates as rows of coordinates, with zeros around them."""
    memset(turned, 0, a.depth * COLUMNS * a.item)
    turn_words(turned, COLUMNS * a.item, points, a.size * a.item, a.size, count, a.item)


cdef void run_job(const Problem* a, Py_ssize_t job, char* turned, char* group) noexcept nogil:
    """Some rows and COLUMNS columns of the distances of one batch."""
    cdef Py_ssize_t strips = (a.columns + COLUMNS - 1) // COLUMNS, blocks = (a.rows + ROWS - 1) // ROWS
    cdef Py_ssize_t batch = job // (strips * blocks), first = job % strips * COLUMNS, start = job // strips % blocks * ROWS, end = min(start + ROWS, a.rows)
    cdef Py_ssize_t count = min(<Py_ssize_t>COLUMNS, a.columns - first), block, first_row, rows, i
    turn_points(a, a.right + (batch * a.columns + first) * a.size * a.item, count, turned)
    memset(group, 0, GROUP * a.depth * a.item)
    for block in range((end - start + GROUP - 1) // GROUP):
        first_row = start + block * GROUP
        rows = min(<Py_ssize_t>GROUP, end - first_row)
        for i in range(rows):
            memcpy(group + i * a.depth * a.item, a.left + (batch * a.rows + first_row + i) * a.size * a.item, a.size * a.item)
        a.distances(group, rows, turned, a.depth, count, a.norm, a.p, a.out + ((batch * a.rows + first_row) * a.columns + first) * a.item, a.columns)


cdef int run(Problem* a) except -1:
    cdef Py_ssize_t jobs = a.batches * ((a.columns + COLUMNS - 1) // COLUMNS) * ((a.rows + ROWS - 1) // ROWS), job, part
    cdef Py_ssize_t bytes_each = (COLUMNS + GROUP) * a.depth * a.item
    cdef int parts = <int>min(<Py_ssize_t>threads_for(a.batches * a.rows * a.columns * a.depth), jobs)
    cdef char* room = <char*>malloc(max(parts * bytes_each, 1))
    if room == NULL:
        raise MemoryError(f"cdist: no memory for {parts} blocks of {COLUMNS} points of {a.size} coordinates")
    for part in prange(parts, num_threads=parts, schedule="static", nogil=True):
        for job in range(jobs * part // parts, jobs * (part + 1) // parts):
            run_job(a, job, room + part * bytes_each, room + part * bytes_each + COLUMNS * a.depth * a.item)
    free(room)
    return 0


cdef Norm norm_of(double p) except *:
    if p < 0 or p != p:
        raise RuntimeError(f"cdist(): expected a norm's order p >= 0, got {p}")
    return {0: COUNT, 1: MANHATTAN, 2: EUCLIDEAN, math.inf: CHEBYSHEV}.get(p, POWER)


def cdist(cnp.ndarray x1 not None, cnp.ndarray x2 not None, double p=2.0, compute_mode=None):
    """The p-norm distances of all pairs of rows of (..., n, m) and (..., k, m), whose batches broadcast."""
    cdef Problem a
    cdef Py_ssize_t shape[MAX_DIMS]
    cdef int code = code_of(x1), nd, i
    cdef cnp.ndarray left, right, out
    if code != code_of(x2) or code not in (F16, BF16, F32, F64):
        raise TypeError(f"cdist(): expected two arrays of one floating point dtype, got {x1.dtype} and {x2.dtype}")
    if x1.ndim < 2 or x2.ndim < 2 or x1.shape[x1.ndim - 1] != x2.shape[x2.ndim - 1]:
        raise RuntimeError(f"cdist(): expected shapes (..., n, m) and (..., k, m), got {np.shape(x1)} and {np.shape(x2)}")
    if code == F16 or code == BF16:
        return as_type(cdist(widened(x1), widened(x2), p), x1.dtype)
    left, right = x1, x2
    if x1.ndim > 2 or x2.ndim > 2:
        batch = np.broadcast_shapes(np.shape(x1)[:-2], np.shape(x2)[:-2])
        left, right = (np.broadcast_to(x, batch + np.shape(x)[-2:]) for x in (x1, x2))
    left, right = contiguous(left), contiguous(right)
    nd = cnp.PyArray_NDIM(left)
    a.batches = 1
    for i in range(nd - 2):
        shape[i] = left.shape[i]
        a.batches *= left.shape[i]
    a.rows, a.columns, a.size = left.shape[nd - 2], right.shape[nd - 2], left.shape[nd - 1]
    shape[nd - 2], shape[nd - 1] = a.rows, a.columns
    out = new_array(nd, shape, x1.dtype)
    a.item, a.depth = cnp.PyArray_ITEMSIZE(left), (a.size + DEPTH - 1) // DEPTH * DEPTH
    a.left, a.right, a.out = cnp.PyArray_BYTES(left), cnp.PyArray_BYTES(right), cnp.PyArray_BYTES(out)
    a.distances = table.single if code == F32 else table.double_
    a.norm, a.p = norm_of(p), p
    if cnp.PyArray_SIZE(out):
        run(&a)
    return out
