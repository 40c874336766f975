"""Weighted sums of a few places along a dim: interpolation, padding with what is there, pooling by windows of unequal size.

An array is taken as `outer` slabs of n by `inner` elements, n along the dim; threads share the slabs.
"""
cimport numpy as cnp
from cython.parallel cimport prange
from libc.stdint cimport int64_t
from libc.string cimport memset

import numpy as np

from pyx_tensor_cpu.dtypes cimport C64, C128, F32, F64, code_of, is_half
from pyx_tensor_cpu.iterate cimport contiguous
from pyx_tensor_cpu.memory cimport new_array
from pyx_tensor_cpu.parallel cimport threads_for

from pyx_tensor_cpu.index import index_select

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


cdef void run_slabs(const Real* a, Real* out, const Taps* t, Py_ssize_t outer, Py_ssize_t n, Py_ssize_t size, Py_ssize_t inner, bint adjoint) noexcept nogil:
    cdef Py_ssize_t slab
    cdef int threads = threads_for(outer * t.count * t.taps * inner * COST)
    for slab in prange(outer, num_threads=threads, schedule="static"):
        if adjoint:
            scatter(a + slab * n * inner, out + slab * size * inner, t, inner, size)
        else:
            gather(a + slab * n * inner, out + slab * size * inner, t, inner)


# ---- entries --------------------------------------------------------------------------------------------------------

cdef int check(str name, cnp.ndarray places, cnp.ndarray weights, Py_ssize_t size, Py_ssize_t count) except -1:
    cdef const int64_t* place
    cdef Py_ssize_t i
    if places.ndim != 2 or np.shape(places) != np.shape(weights) or cnp.PyArray_TYPE(places) != cnp.NPY_INT64 or places.shape[1] != count:
        raise ValueError(f"{name}(): expected places (taps, {count}) of int64 and as many weights, got shapes {np.shape(places)} and {np.shape(weights)}")
    place = <const int64_t*>cnp.PyArray_DATA(places)
    for i in range(places.size):
        if not 0 <= place[i] < size:
            raise IndexError(f"{name}(): place {place[i]} is out of range for {size} elements")
    return 0


cdef cnp.ndarray resampled(str name, cnp.ndarray a, Py_ssize_t dim, Py_ssize_t size, taps, bint adjoint):
    """An array whose dim has `size` elements."""
    cdef Py_ssize_t shape[MAX_DIMS]
    cdef Py_ssize_t outer = 1, inner = 1, n = a.shape[dim]
    cdef int code = code_of(a), d
    cdef bint single = code == F32 or code == C64
    cdef cnp.ndarray places, weights, out
    cdef Taps t
    if is_half(a):
        return resampled(name, a.astype(np.float32), dim, size, taps, adjoint).astype(a.dtype)
    if code not in (F32, F64, C64, C128):
        raise TypeError(f"{name}(): expected a floating-point or complex dtype, got dtype {a.dtype}")
    a = contiguous(a)
    for d in range(a.ndim):
        shape[d] = size if d == dim else a.shape[d]
        outer *= a.shape[d] if d < dim else 1
        inner *= a.shape[d] if d > dim else 1
    places, weights = contiguous(taps[0]), np.ascontiguousarray(taps[1], np.float32 if single else np.float64)
    check(name, places, weights, size if adjoint else n, n if adjoint else size)
    out = new_array(a.ndim, shape, a.dtype)
    if code == C64 or code == C128:         # pairs of neighbours
        inner *= 2
    t.taps, t.count, t.places, t.weights = places.shape[0], places.shape[1], <const int64_t*>cnp.PyArray_DATA(places), cnp.PyArray_DATA(weights)
    if outer * inner == 0:
        return out
    with nogil:
        if single:
            run_slabs(<const float*>cnp.PyArray_DATA(a), <float*>cnp.PyArray_DATA(out), &t, outer, n, size, inner, adjoint)
        else:
            run_slabs(<const double*>cnp.PyArray_DATA(a), <double*>cnp.PyArray_DATA(out), &t, outer, n, size, inner, adjoint)
    return out


def resample(cnp.ndarray input not None, Py_ssize_t dim, taps):
    """The sum over t of weights[t][o] * input[places[t][o]] along a dim, for every o. `taps` has both; weights are None for copies of one place."""
    if taps[1] is None:
        return index_select(input, dim, taps[0][0])
    return resampled("resample", input, dim, taps[0].shape[1], taps, False)


def resample_backward(cnp.ndarray grad not None, Py_ssize_t dim, Py_ssize_t size, taps):
    """The adjoint: every element of the `size` along the dim is the weighted sum of those that it went into."""
    places, weights = taps
    return resampled("resample_backward", grad, dim, size, (places, np.ones(np.shape(places)) if weights is None else weights), True)
