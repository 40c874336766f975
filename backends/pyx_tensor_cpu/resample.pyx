"""Weighted sums of a few places along a dim: interpolation, padding with what is there, pooling by windows of unequal size.

An array is taken as `outer` slabs of n by `inner` elements, n along the dim; threads share the slabs.
"""
cimport numpy as cnp
from cython.parallel cimport prange
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

import numpy as np

from pyx_tensor_cpu.dtypes cimport C64, C128, F32, F64, code_of, is_half
from pyx_tensor_cpu.indexed cimport Bytes16, Item
from pyx_tensor_cpu.iterate cimport as_type, contiguous, widened
from pyx_tensor_cpu.memory cimport new_array
from pyx_tensor_cpu.parallel cimport threads_for

cnp.import_array()

cdef enum:
    MAX_DIMS = 64
    COST = 2                    # of an element of the sums and a tap, in additions

ctypedef fused Real:
    float
    double

cdef struct Taps:
    Py_ssize_t taps, count
    const int64_t* places       # [taps][count]
    const void* weights         # the same, of the array's type
    Py_ssize_t first, run       # of the results of one tap: those of the longest run of neighbouring places


# ---- one slab -------------------------------------------------------------------------------------------------------

cdef inline void add_row(Real* to, const Real* x, Real weight, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t j
    for j in range(n):
        to[j] += weight * x[j]


cdef void gather(const Real* x, Real* out, const Taps* t, Py_ssize_t inner) noexcept nogil:
    """out[o] = the sum over taps of weight * x[place]; what has a weight of 0 isn't looked at, so that infinity stays away."""
    cdef const Real* weights = <const Real*>t.weights
    cdef const int64_t* places = t.places
    cdef Py_ssize_t tap, o
    memset(out, 0, t.count * inner * sizeof(Real))
    for tap in range(t.taps):
        for o in range(t.count):
            if inner == 1:
                out[o] += weights[o] * x[places[o]] if weights[o] != 0 else 0
            elif weights[o] != 0:
                add_row(out + o * inner, x + places[o] * inner, weights[o], inner)
        weights += t.count
        places += t.count


cdef void scatter(const Real* g, Real* out, const Taps* t, Py_ssize_t inner, Py_ssize_t size) noexcept nogil:
    """The adjoint: out[place] is the sum of weight * g[o]."""
    cdef const Real* weights = <const Real*>t.weights
    cdef const int64_t* places = t.places
    cdef Py_ssize_t tap, o
    memset(out, 0, size * inner * sizeof(Real))
    for tap in range(t.taps):
        for o in range(t.count):
            if weights[o] != 0:
                add_row(out + places[o] * inner, g + o * inner, weights[o], inner)
        weights += t.count
        places += t.count


cdef void find_run(Taps* t) noexcept nogil:
    """Padding takes most elements in one run."""
    cdef Py_ssize_t start = 0, stop
    t.first = t.run = 0
    while start < t.count:
        stop = start + 1
        while stop < t.count and t.places[stop] == t.places[stop - 1] + 1:
            stop += 1
        if stop - start > t.run:
            t.first, t.run = start, stop - start
        start = stop


cdef inline void move_some(const Item* x, Item* out, const Taps* t, Py_ssize_t inner, Py_ssize_t start, Py_ssize_t stop) noexcept nogil:
    cdef Py_ssize_t o
    for o in range(start, stop):
        if inner == 1:
            out[o] = x[t.places[o]]
        else:
            memcpy(out + o * inner, x + t.places[o] * inner, inner * sizeof(Item))


cdef void move(const Item* x, Item* out, const Taps* t, Py_ssize_t inner) noexcept nogil:
    """out[o] = x[place], whatever the elements are."""
    move_some(x, out, t, inner, 0, t.first)
    memcpy(out + t.first * inner, x + t.places[t.first] * inner, t.run * inner * sizeof(Item))
    move_some(x, out, t, inner, t.first + t.run, t.count)


cdef void move_slabs(const Item* a, Item* out, const Taps* t, Py_ssize_t outer, Py_ssize_t n, Py_ssize_t inner) noexcept nogil:
    cdef Py_ssize_t slab
    for slab in prange(outer, num_threads=threads_for(outer * t.count * inner), schedule="static"):
        move(a + slab * n * inner, out + slab * t.count * inner, t, inner)


cdef void run_slabs(const Real* a, Real* out, const Taps* t, Py_ssize_t outer, Py_ssize_t n, Py_ssize_t size, Py_ssize_t inner, bint adjoint) noexcept nogil:
    cdef Py_ssize_t slab
    cdef int threads = threads_for(outer * t.count * t.taps * inner * COST)
    for slab in prange(outer, num_threads=threads, schedule="static"):
        if adjoint:
            scatter(a + slab * n * inner, out + slab * size * inner, t, inner, size)
        else:
            gather(a + slab * n * inner, out + slab * size * inner, t, inner)


# ---- entries --------------------------------------------------------------------------------------------------------

cdef struct Slabs:
    Py_ssize_t outer, n, inner


cdef cnp.ndarray with_size(cnp.ndarray a, Py_ssize_t dim, Py_ssize_t size, Slabs* slabs):
    """A new array like `a` but for the size of a dim; how both are cut."""
    cdef Py_ssize_t shape[MAX_DIMS]
    cdef int d
    slabs.outer = slabs.inner = 1
    slabs.n = a.shape[dim]
    for d in range(a.ndim):
        shape[d] = size if d == dim else a.shape[d]
        slabs.outer *= a.shape[d] if d < dim else 1
        slabs.inner *= a.shape[d] if d > dim else 1
    return new_array(a.ndim, shape, a.dtype)


cdef int set_places(str name, cnp.ndarray places, Py_ssize_t size, Py_ssize_t count, Taps* t) except -1:
    cdef Py_ssize_t i
    if places.ndim != 2 or cnp.PyArray_TYPE(places) != cnp.NPY_INT64 or places.shape[1] != count:
        raise ValueError(f"{name}(): expected places (taps, {count}) of int64, got shape {np.shape(places)} and dtype {places.dtype}")
    t.taps, t.count, t.places = places.shape[0], count, <const int64_t*>cnp.PyArray_DATA(places)
    for i in range(places.size):
        if not 0 <= t.places[i] < size:
            raise IndexError(f"{name}(): place {t.places[i]} is out of range for {size} elements")
    return 0


cdef cnp.ndarray copied(str name, cnp.ndarray a, Py_ssize_t dim, cnp.ndarray places):
    """One place for each result."""
    cdef Slabs s
    cdef Taps t
    cdef cnp.ndarray out
    cdef const void* source
    cdef void* target
    cdef Py_ssize_t item = cnp.PyArray_ITEMSIZE(a)
    a, places = contiguous(a), contiguous(places)
    set_places(name, places, a.shape[dim], places.shape[1], &t)
    out = with_size(a, dim, t.count, &s)
    source, target = cnp.PyArray_DATA(a), cnp.PyArray_DATA(out)
    if cnp.PyArray_SIZE(out) == 0:
        return out
    find_run(&t)
    with nogil:
        if item == 1:
            move_slabs(<const uint8_t*>source, <uint8_t*>target, &t, s.outer, s.n, s.inner)
        elif item == 2:
            move_slabs(<const uint16_t*>source, <uint16_t*>target, &t, s.outer, s.n, s.inner)
        elif item == 4:
            move_slabs(<const uint32_t*>source, <uint32_t*>target, &t, s.outer, s.n, s.inner)
        elif item == 8:
            move_slabs(<const uint64_t*>source, <uint64_t*>target, &t, s.outer, s.n, s.inner)
        else:
            move_slabs(<const Bytes16*>source, <Bytes16*>target, &t, s.outer, s.n, s.inner)
    return out


cdef cnp.ndarray resampled(str name, cnp.ndarray a, Py_ssize_t dim, Py_ssize_t size, cnp.ndarray places, weights, bint adjoint):
    """An array whose dim has `size` elements."""
    cdef int code = code_of(a)
    cdef bint single = code == F32 or code == C64
    cdef cnp.ndarray out, w
    cdef Slabs s
    cdef Taps t
    if is_half(a):
        return as_type(resampled(name, widened(a), dim, size, places, weights, adjoint), a.dtype)
    if code not in (F32, F64, C64, C128):
        raise TypeError(f"{name}(): expected a floating-point or complex dtype, got dtype {a.dtype}")
    a, places = contiguous(a), contiguous(places)
    set_places(name, places, size if adjoint else a.shape[dim], a.shape[dim] if adjoint else size, &t)
    w = np.ascontiguousarray(weights, np.float32 if single else np.float64)
    if np.shape(w) != np.shape(places):
        raise ValueError(f"{name}(): expected as many weights as places, {np.shape(places)}, got shape {np.shape(w)}")
    t.weights = cnp.PyArray_DATA(w)
    out = with_size(a, dim, size, &s)
    if code == C64 or code == C128:         # pairs of neighbours
        s.inner *= 2
    if cnp.PyArray_SIZE(out) == 0:
        return out
    with nogil:
        if single:
            run_slabs(<const float*>cnp.PyArray_DATA(a), <float*>cnp.PyArray_DATA(out), &t, s.outer, s.n, size, s.inner, adjoint)
        else:
            run_slabs(<const double*>cnp.PyArray_DATA(a), <double*>cnp.PyArray_DATA(out), &t, s.outer, s.n, size, s.inner, adjoint)
    return out


def resample(cnp.ndarray input not None, Py_ssize_t dim, taps):
    """The sum over t of weights[t][o] * input[places[t][o]] along a dim, for every o. `taps` has both; weights are None for copies of one place."""
    places, weights = taps
    if weights is None:
        return copied("resample", input, dim, places)
    return resampled("resample", input, dim, places.shape[1], places, weights, False)


def resample_backward(cnp.ndarray grad not None, Py_ssize_t dim, Py_ssize_t size, taps):
    """The adjoint: every element of the `size` along the dim is the weighted sum of those that it went into."""
    places, weights = taps
    return resampled("resample_backward", grad, dim, size, places, np.ones(np.shape(places)) if weights is None else weights, True)
