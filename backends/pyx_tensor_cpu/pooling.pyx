"""Pooling of the last one to three dims; threads share the planes."""
cimport numpy as cnp
from cpython.pycapsule cimport PyCapsule_GetPointer
from cython.parallel cimport prange, threadid
from libc.stdint cimport int64_t
from libc.string cimport memset

import numpy as np

from pyx_tensor_cpu.dtypes cimport is_half, precision_of
from pyx_tensor_cpu.iterate cimport as_type, contiguous, widened
from pyx_tensor_cpu.memory cimport new_array
from pyx_tensor_cpu.parallel cimport threads_for
from pyx_tensor_cpu.pooling_table cimport Pool, PoolingKernels, PoolingTable

from pyx_tensor_cpu.level import use_kernels

cnp.import_array()

cdef enum:
    MAX_DIMS = 64
    COST = 2                    # of an element of a window, in additions, divided by 4
    MAX, INDICES, WINDOWS, MAX_BACKWARD, AVG, AVG_BACKWARD

cdef cnp.dtype UINT8 = np.dtype(np.uint8), INT64 = np.dtype(np.int64)
cdef PoolingTable* table = NULL


def bind(module):
    global table
    table = <PoolingTable*>PyCapsule_GetPointer(module.table, NULL)


use_kernels("pooling", bind)


cdef struct Task:
    PoolingKernels* k
    Pool pool
    int what
    Py_ssize_t planes
    const char* a               # what comes in: the input, or a gradient
    const char* x               # the input beside a gradient, or counts
    char* out
    int64_t* indices            # of WINDOWS, with their borders, `edges` of them for a plane
    const int64_t* starts
    const int64_t* ends
    Py_ssize_t edges
    Py_ssize_t a_size           # bytes of a plane of each
    Py_ssize_t x_size
    Py_ssize_t out_size
    char* scratch
    Py_ssize_t scratch_size


cdef inline void one_plane(const Task* t, Py_ssize_t plane, int thread) noexcept nogil:
    cdef const char* a = t.a + plane * t.a_size
    cdef const char* x = t.x + plane * t.x_size
    cdef char* out = t.out + plane * t.out_size
    cdef char* scratch = t.scratch + thread * t.scratch_size
    if t.what == MAX:
        t.k.max_pool(&t.pool, a, out, scratch)
    elif t.what == INDICES:
        t.k.max_indices(&t.pool, a, out, scratch)
    elif t.what == WINDOWS:
        t.k.max_windows(&t.pool, a, t.starts + plane * t.edges, t.ends + plane * t.edges, out,
                        t.indices + plane * t.pool.grid[0] * t.pool.grid[1] * t.pool.grid[2], scratch)
    elif t.what == AVG:
        t.k.avg_pool(&t.pool, a, x, out, scratch)
    else:
        memset(out, 0, t.out_size)
        if t.what == MAX_BACKWARD:
            t.k.max_backward(&t.pool, a, x, out, scratch)
        else:
            t.k.avg_backward(&t.pool, a, x, out, scratch)


cdef int run(Task* t, cnp.ndarray like) except -1:
    cdef Py_ssize_t windows = t.pool.grid[0] * t.pool.grid[1] * t.pool.grid[2], elements = t.pool.kernel[0] * t.pool.kernel[1] * t.pool.kernel[2]
    cdef Py_ssize_t plane, bytes_, jobs, job, size
    cdef int threads = threads_for(t.planes * windows * elements * COST // 4 + t.planes * windows)
    t.scratch_size = (2 * t.pool.size[2] + 2 * t.pool.grid[2] + 32) * 8
    bytes_ = threads * t.scratch_size
    scratch = new_array(1, &bytes_, UINT8)
    t.scratch = cnp.PyArray_BYTES(scratch)
    if threads == 1:
        with nogil:
            for plane in range(t.planes):
                one_plane(t, plane, 0)
        return 0
    size = max(t.planes // (threads * 8), 1)
    jobs = (t.planes + size - 1) // size
    for job in prange(jobs, nogil=True, num_threads=threads, schedule="dynamic"):
        some_planes(t, job * size, min(size, t.planes - job * size), threadid())
    return 0


cdef void some_planes(const Task* t, Py_ssize_t first, Py_ssize_t count, int thread) noexcept nogil:
    cdef Py_ssize_t plane
    for plane in range(first, first + count):
        one_plane(t, plane, thread)


# ---- arguments ------------------------------------------------------------------------------------------------------

cdef int spread(object numbers, Py_ssize_t* to, Py_ssize_t missing) except -1:
    """Numbers for the last dims, `missing` for those ahead."""
    cdef tuple given = numbers if type(numbers) is tuple else tuple(numbers)
    cdef int i, n = len(given)
    if n > 3:
        raise TypeError(f"pooling of {n} dims is not supported")
    for i in range(3):
        to[i] = missing if i < 3 - n else <Py_ssize_t>given[i - 3 + n]
    return 0


cdef int check_plane(str name, const Pool* s) except -1:
    if s.size[0] * s.size[1] * s.size[2] >= 1 << 31:
        raise TypeError(f"{name}(): planes of {s.size[0] * s.size[1] * s.size[2]} elements are not supported")
    return 0


cdef int spread_all(Pool* s, size, kernel, grid, stride, padding, dilation) except -1:
    """Sizes and steps of windows for the last dims; the ones ahead have one window of one element."""
    spread(size, s.size, 1)
    spread(kernel, s.kernel, 1)
    spread(grid, s.grid, 1)
    spread(stride, s.stride, 1)
    spread(padding, s.padding, 0)
    spread(dilation, s.dilation, 1)
    return 0


cdef int read_pool(str name, Pool* s, size, kernel, grid, stride, padding, dilation) except -1:
    cdef int i
    spread_all(s, size, kernel, grid, stride, padding, dilation)
    for i in range(3):
        if (s.kernel[i] < 1 or s.stride[i] < 1 or s.dilation[i] < 1 or s.padding[i] < 0 or s.grid[i] < 0
                or not windows_meet(s.size[i], s.kernel[i], s.grid[i], s.stride[i], s.padding[i], s.dilation[i])):
            raise ValueError(f"{name}(): windows of size {kernel}, stride {stride}, padding {padding} and dilation {dilation} do not fit {grid} times in {size}")
    return check_plane(name, s)


cdef bint windows_meet(Py_ssize_t size, Py_ssize_t kernel, Py_ssize_t grid, Py_ssize_t stride, Py_ssize_t padding, Py_ssize_t dilation) noexcept:
    """Whether every window has an element."""
    cdef Py_ssize_t o, start, skipped
    for o in range(grid):
        start = o * stride - padding
        skipped = (-start + dilation - 1) // dilation if start < 0 else 0
        if skipped >= kernel or start + skipped * dilation >= size:
            return False
    return True


cdef PoolingKernels* kernels_of(str name, cnp.ndarray a) except NULL:
    return &table.double_ if precision_of(name, a) else &table.single


cdef cnp.ndarray result(cnp.ndarray like, sizes, dtype):
    """Room for planes of other sizes."""
    cdef Py_ssize_t shape[MAX_DIMS]
    cdef int i, n = len(sizes), lead = cnp.PyArray_NDIM(like) - n
    for i in range(lead + n):
        shape[i] = cnp.PyArray_DIM(like, i) if i < lead else <Py_ssize_t>sizes[i - lead]
    return new_array(lead + n, shape, dtype)


cdef cnp.ndarray pooled(str name, int what, cnp.ndarray a, cnp.ndarray x, out_sizes, dtype, Pool* pool):
    """Run over all planes of a; x is a second input with planes too, or counts for all."""
    cdef Task t
    cdef cnp.ndarray out = result(a, out_sizes, dtype)
    cdef int i
    t.k, t.pool, t.what, t.planes = kernels_of(name, a), pool[0], what, 1
    for i in range(cnp.PyArray_NDIM(a) - len(out_sizes)):
        t.planes *= cnp.PyArray_DIM(a, i)
    if cnp.PyArray_SIZE(out) == 0 or cnp.PyArray_SIZE(a) == 0:
        out.fill(0)
        return out
    t.a, t.out = cnp.PyArray_BYTES(a), cnp.PyArray_BYTES(out)
    t.a_size, t.out_size = cnp.PyArray_NBYTES(a) // t.planes, cnp.PyArray_NBYTES(out) // t.planes
    t.x = NULL if x is None else cnp.PyArray_BYTES(x)
    t.x_size = cnp.PyArray_NBYTES(x) // t.planes if what == MAX_BACKWARD else 0
    run(&t, a)
    return out


cdef tuple last_sizes(cnp.ndarray a, n):
    return (<object>a).shape[cnp.PyArray_NDIM(a) - n:]


# ---- the entries ----------------------------------------------------------------------------------------------------

def max_pool(cnp.ndarray a, kernel, grid, stride, padding, dilation):
    """The greatest element of each window; NaN where there is one."""
    cdef Pool pool
    if is_half(a):
        return as_type(max_pool(widened(a), kernel, grid, stride, padding, dilation), a.dtype)
    read_pool("max_pool", &pool, last_sizes(a, len(kernel)), kernel, grid, stride, padding, dilation)
    return pooled("max_pool", MAX, contiguous(a), None, grid, a.dtype, &pool)


def max_pool_indices(cnp.ndarray a, kernel, grid, stride, padding, dilation):
    """Where in its plane each window has its greatest element."""
    cdef Pool pool
    a = contiguous(widened(a) if is_half(a) else a)
    read_pool("max_pool_indices", &pool, last_sizes(a, len(kernel)), kernel, grid, stride, padding, dilation)
    return pooled("max_pool_indices", INDICES, a, None, grid, INT64, &pool)


cdef cnp.ndarray read_edges(Task* t, cnp.ndarray starts, cnp.ndarray ends, Py_ssize_t planes, int dims):
    """Sets the windows' borders, of all three dims, with room that holds them; ValueError where a window is empty or reaches beyond its plane."""
    cdef Py_ssize_t given = starts.shape[starts.ndim - 1], plane, o, size = 2 * planes * (given + 3 - dims)
    cdef const int64_t* start = <const int64_t*>cnp.PyArray_DATA(starts)
    cdef const int64_t* end = <const int64_t*>cnp.PyArray_DATA(ends)
    cdef cnp.ndarray room = new_array(1, &size, INT64)
    cdef int64_t* at = <int64_t*>cnp.PyArray_DATA(room)
    cdef int i
    t.edges, t.starts, t.ends = given + 3 - dims, at, at + size // 2
    for plane in range(planes):
        for i in range(3):
            for o in range(t.pool.grid[i]):
                if i < 3 - dims:
                    at[0], at[size // 2] = 0, 1
                else:
                    at[0], at[size // 2] = start[0], end[0]
                    start += 1
                    end += 1
                if not 0 <= at[0] < at[size // 2] <= t.pool.size[i]:
                    raise ValueError(f"max_windows(): {at[0]} to {at[size // 2]} is no window in {t.pool.size[i]} elements")
                at += 1
    if planes == 1:
        t.edges = 0
    return room


def max_windows(cnp.ndarray a, cnp.ndarray starts, cnp.ndarray ends, grid, kernel):
    """(the greatest element of each window, where it is in its plane) for windows with borders of their own, of each plane or of all."""
    cdef Task t
    cdef cnp.ndarray out, indices, source
    cdef int dims = len(grid)
    if is_half(a):
        out, indices = max_windows(widened(a), starts, ends, grid, kernel)
        return as_type(out, a.dtype), indices
    t.k, t.what = kernels_of("max_windows", a), WINDOWS
    spread(last_sizes(a, dims), t.pool.size, 1)
    spread(kernel, t.pool.kernel, 1)
    spread(grid, t.pool.grid, 1)
    check_plane("max_windows", &t.pool)
    source, out, indices = contiguous(a), result(a, grid, a.dtype), result(a, grid, INT64)
    if cnp.PyArray_SIZE(out) == 0:
        return out, indices
    t.planes = cnp.PyArray_SIZE(source) // (t.pool.size[0] * t.pool.size[1] * t.pool.size[2])
    planes = 1 if starts.ndim == 1 else t.planes
    if starts.dtype != INT64 or ends.dtype != INT64 or np.shape(starts) != np.shape(ends) or np.shape(starts)[-1:] != (sum(grid),) \
            or cnp.PyArray_SIZE(starts) != planes * sum(grid):
        raise ValueError(f"max_windows(): borders {np.shape(starts)} and {np.shape(ends)} don't fit {tuple(grid)} windows of {t.planes} planes")
    room = read_edges(&t, contiguous(starts), contiguous(ends), planes, dims)
    t.a, t.out, t.indices = cnp.PyArray_BYTES(source), cnp.PyArray_BYTES(out), <int64_t*>cnp.PyArray_DATA(indices)
    t.a_size, t.out_size, t.x, t.x_size = cnp.PyArray_NBYTES(source) // t.planes, cnp.PyArray_NBYTES(out) // t.planes, NULL, 0
    run(&t, source)
    return out, indices


def max_pool_backward(cnp.ndarray g, cnp.ndarray a, kernel, grid, stride, padding, dilation):
    """The gradient for max_pool's input."""
    cdef Pool pool
    if is_half(a):
        return as_type(max_pool_backward(widened(g), widened(a), kernel, grid, stride, padding, dilation), a.dtype)
    sizes = last_sizes(a, len(kernel))
    if (<object>g).shape != (*(<object>a).shape[:a.ndim - len(kernel)], *grid) or g.dtype != a.dtype:
        raise ValueError(f"max_pool_backward(): the gradient has shape {(<object>g).shape}, the input {(<object>a).shape}, for {tuple(grid)} windows")
    read_pool("max_pool_backward", &pool, sizes, kernel, grid, stride, padding, dilation)
    return pooled("max_pool_backward", MAX_BACKWARD, contiguous(g), contiguous(a), sizes, a.dtype, &pool)


cdef Py_ssize_t count_of(const Pool* s, int dim, Py_ssize_t window, bint include_pad) noexcept:
    """How many elements a window counts along a dim."""
    cdef Py_ssize_t start = window * s.stride[dim] - s.padding[dim], end = start + s.kernel[dim]
    if include_pad:
        return min(end, s.size[dim] + s.padding[dim]) - start
    return max(min(end, s.size[dim]) - max(start, <Py_ssize_t>0), <Py_ssize_t>1)


cdef cnp.ndarray counts_of(const Pool* s, cnp.ndarray like, bint include_pad, divisor):
    """How many elements each window counts, dim after dim, in the dtype of `like`; a divisor stands for all, in the first dim."""
    cdef Py_ssize_t total = s.grid[0] + s.grid[1] + s.grid[2], at = 0, o
    cdef cnp.ndarray counts = new_array(1, &total, like.dtype)
    cdef bint single = cnp.PyArray_TYPE(counts) == cnp.NPY_FLOAT32
    cdef double count
    cdef int i
    for i in range(3):
        for o in range(s.grid[i]):
            count = count_of(s, i, o, include_pad) if not divisor else divisor if i == 0 else 1
            if single:
                (<float*>cnp.PyArray_DATA(counts))[at] = <float>count
            else:
                (<double*>cnp.PyArray_DATA(counts))[at] = count
            at += 1
    return counts


def avg_pool(cnp.ndarray a, kernel, grid, stride, padding, bint include_pad, divisor):
    """The mean of each window."""
    cdef Pool pool
    if is_half(a):
        return as_type(avg_pool(widened(a), kernel, grid, stride, padding, include_pad, divisor), a.dtype)
    kernels_of("avg_pool", a)
    read_pool("avg_pool", &pool, last_sizes(a, len(kernel)), kernel, grid, stride, padding, (1,) * len(kernel))
    return pooled("avg_pool", AVG, contiguous(a), counts_of(&pool, a, include_pad, divisor), grid, a.dtype, &pool)


def avg_pool_backward(cnp.ndarray g, size, kernel, grid, stride, padding, bint include_pad, divisor):
    """The gradient for avg_pool's input of spatial sizes `size`."""
    cdef Pool pool
    if is_half(g):
        return as_type(avg_pool_backward(widened(g), size, kernel, grid, stride, padding, include_pad, divisor), g.dtype)
    kernels_of("avg_pool_backward", g)
    if last_sizes(g, len(kernel)) != tuple(grid):
        raise ValueError(f"avg_pool_backward(): the gradient has shape {(<object>g).shape}, for {tuple(grid)} windows")
    read_pool("avg_pool_backward", &pool, size, kernel, grid, stride, padding, (1,) * len(kernel))
    return pooled("avg_pool_backward", AVG_BACKWARD, contiguous(g), counts_of(&pool, g, include_pad, divisor), size, g.dtype, &pool)
