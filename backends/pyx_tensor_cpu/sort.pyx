"""Sorting and selection along a dimension, always stable, NaN as the largest value.

Each element becomes an unsigned key that sorts as the element does. Elements of up to four bytes are packed with their
position, key << 32 | position, so that one vectorised sort of plain 64-bit integers gives values and indices at once
and equal elements keep their order. Eight-byte elements are sorted indirectly and their ties put in order afterwards.
"""
from cython.parallel cimport prange
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport qsort
cimport numpy as cnp

import numpy as np

from pyx_tensor_cpu.parallel cimport threads_for

cnp.import_array()

cdef extern from "numpy/arrayobject.h" nogil:
    ctypedef struct PyArray_ArrFuncs:
        void **sort
    PyArray_ArrFuncs *PyDataType_GetArrFuncs(void *descr)

ctypedef int (*SortFunction)(void *start, cnp.npy_intp count, void *array) noexcept nogil

ctypedef fused Bits:
    uint8_t
    uint16_t
    uint32_t
    uint64_t

cdef enum Kind:
    UNSIGNED, SIGNED, FLOATING

cdef enum:
    SORT_COST = 8  # of one element, an addition being 1
    SHORT_RUN = 16

ctypedef void (*Encode)(void *source, uint64_t *keys, Py_ssize_t count, Kind kind, uint64_t infinity, bint descending) noexcept nogil
ctypedef void (*Decode)(void *source, const int64_t *order, Py_ssize_t count, char *values) noexcept nogil

cdef dict INFINITIES = {"float16": 0x7C00, "bfloat16": 0x7F80, "float32": 0x7F800000, "float64": 0x7FF0000000000000}
cdef uint64_t POSITION_BITS = 0xFFFFFFFF
cdef object UINT64 = np.dtype(np.uint64)
cdef object INT64 = np.dtype(np.int64)
cdef SortFunction sort_keys = <SortFunction>PyDataType_GetArrFuncs(<void *>UINT64).sort[0]


# --------------------------------------------------------------------------------------------------------------- keys

cdef inline void encode_as(const Bits *source, uint64_t *keys, Py_ssize_t count, Kind kind, Bits infinity, bint descending) noexcept nogil:
    cdef Bits sign = <Bits>(<Bits>1 << (8 * sizeof(Bits) - 1)), bits, invert = <Bits>(~<Bits>0) if descending else 0
    cdef Py_ssize_t i
    for i in range(count):
        bits = source[i]
        if kind == SIGNED:
            bits ^= sign
        elif kind == FLOATING:
            bits = 0 if bits == sign else bits  # -0 and 0 are equal
            if (bits & ~sign) > infinity:
                bits = <Bits>(~<Bits>0)
            else:
                bits = <Bits>(~bits) if bits & sign else bits | sign
        bits ^= invert
        if Bits is uint64_t:
            keys[i] = bits
        else:
            keys[i] = (<uint64_t>bits << 32) | <uint64_t>i


cdef void encode(Bits *source, uint64_t *keys, Py_ssize_t count, Kind kind, uint64_t infinity, bint descending) noexcept nogil:
    if kind == FLOATING:
        encode_as(source, keys, count, FLOATING, <Bits>infinity, descending)
    elif kind == SIGNED:
        encode_as(source, keys, count, SIGNED, <Bits>0, descending)
    else:
        encode_as(source, keys, count, UNSIGNED, <Bits>0, descending)


cdef void decode(Bits *source, const int64_t *order, Py_ssize_t count, char *values) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(count):
        (<Bits *>values)[i] = source[order[i]]


cdef Encode encoders[9]  # by bytes an element
encoders[1] = <Encode>encode[uint8_t]
encoders[2] = <Encode>encode[uint16_t]
encoders[4] = <Encode>encode[uint32_t]
encoders[8] = <Encode>encode[uint64_t]
cdef Decode decoders[9]
decoders[1] = <Decode>decode[uint8_t]
decoders[2] = <Decode>decode[uint16_t]
decoders[4] = <Decode>decode[uint32_t]
decoders[8] = <Decode>decode[uint64_t]


cdef cnp.ndarray as_rows(cnp.ndarray array, Py_ssize_t dim):
    """A contiguous array with `dim` last."""
    if cnp.PyArray_NDIM(array) == 0:
        return array.reshape(1)
    return np.ascontiguousarray(array if dim == array.ndim - 1 else np.moveaxis(array, dim, -1))


cdef cnp.ndarray from_rows(cnp.ndarray rows, Py_ssize_t dim, Py_ssize_t ndim, bint keep=True):
    """The inverse of as_rows for a result; without `keep`, the last dimension has size 1 and goes."""
    if ndim == 0 or not keep:
        return rows.reshape((<object>rows).shape[:rows.ndim - 1])
    return rows if dim == ndim - 1 else np.ascontiguousarray(np.moveaxis(rows, -1, dim))


cdef cnp.ndarray row_keys(cnp.ndarray rows, bint descending, str name):
    cdef cnp.ndarray keys = np.empty((<object>rows).shape, UINT64)
    cdef Py_ssize_t size = cnp.PyArray_SIZE(rows), length = rows.shape[rows.ndim - 1], count, row
    cdef int itemsize = <int>cnp.PyArray_ITEMSIZE(rows)
    cdef char *source = cnp.PyArray_BYTES(rows)
    cdef uint64_t *result = <uint64_t *>cnp.PyArray_DATA(keys)
    cdef uint64_t infinity = INFINITIES.get(rows.dtype.name, 0)
    cdef Kind kind = FLOATING if infinity else SIGNED if rows.dtype.kind == "i" else UNSIGNED
    cdef Encode encode_row
    if cnp.PyArray_ISCOMPLEX(rows):
        raise TypeError(f"{name} is not implemented for {rows.dtype}")
    if itemsize < 8 and length >> 32:
        raise ValueError(f"{name} of {length} elements of {rows.dtype} along one dimension is not supported (at most 2**32)")
    encode_row = encoders[itemsize]
    count = size // length if length else 0
    for row in prange(count, num_threads=threads_for(size), schedule='static', nogil=True):
        encode_row(source + row * length * itemsize, result + row * length, length, kind, infinity, descending)
    return keys


cdef cnp.ndarray take_rows(cnp.ndarray rows, cnp.ndarray order):
    """values[..., i] = rows[..., order[..., i]]"""
    cdef cnp.ndarray values = np.empty((<object>order).shape, rows.dtype)
    cdef Py_ssize_t size = cnp.PyArray_SIZE(order), length = rows.shape[rows.ndim - 1], taken = order.shape[order.ndim - 1], row
    cdef Py_ssize_t itemsize = cnp.PyArray_ITEMSIZE(rows), count = size // taken if taken else 0
    cdef char *source = cnp.PyArray_BYTES(rows)
    cdef char *result = cnp.PyArray_BYTES(values)
    cdef const int64_t *at = <const int64_t *>cnp.PyArray_DATA(order)
    cdef Decode decode_row = decoders[itemsize]
    for row in prange(count, num_threads=threads_for(size), schedule='static', nogil=True):
        decode_row(source + row * length * itemsize, at + row * taken, taken, result + row * taken * itemsize)
    return values


# ------------------------------------------------------------------------------------------------------------- orders

cdef int sort_rows(cnp.ndarray keys) except -1:
    """Sort each row of a contiguous uint64 array, with NumPy's own loop for this CPU."""
    cdef Py_ssize_t size = cnp.PyArray_SIZE(keys), length = keys.shape[keys.ndim - 1], row
    cdef Py_ssize_t count = size // length if length else 0
    cdef uint64_t *data = <uint64_t *>cnp.PyArray_DATA(keys)
    cdef int threads = threads_for(size * SORT_COST)
    if sort_keys == NULL or count < 2 or threads == 1:
        keys.sort(axis=-1)
        return 0
    for row in prange(count, num_threads=threads, schedule='static', nogil=True):
        sort_keys(data + row * length, length, <void *>keys)
    return 0


cdef void unpack_positions(cnp.ndarray keys) noexcept:
    """Packed keys become the positions in them, in place."""
    cdef uint64_t *data = <uint64_t *>cnp.PyArray_DATA(keys)
    cdef Py_ssize_t size = cnp.PyArray_SIZE(keys), i
    for i in prange(size, num_threads=threads_for(size), schedule='static', nogil=True):
        data[i] = data[i] & POSITION_BITS


cdef int compare_positions(const void *a, const void *b) noexcept nogil:
    cdef int64_t left = (<const int64_t *>a)[0], right = (<const int64_t *>b)[0]
    return (left > right) - (left < right)


cdef void order_ties(const uint64_t *keys, int64_t *order, Py_ssize_t count) noexcept nogil:
    """Put the positions of equal keys in increasing order."""
    cdef Py_ssize_t start = 0, stop, i, j
    cdef int64_t position
    while start < count:
        stop = start + 1
        while stop < count and keys[order[stop]] == keys[order[start]]:
            stop += 1
        if stop - start > SHORT_RUN:
            qsort(order + start, stop - start, sizeof(int64_t), compare_positions)
        else:
            for i in range(start + 1, stop):
                position = order[i]
                j = i
                while j > start and order[j - 1] > position:
                    order[j] = order[j - 1]
                    j -= 1
                order[j] = position
        start = stop


cdef cnp.ndarray argsort_rows(cnp.ndarray keys):
    """The stable order of each row of plain keys."""
    cdef cnp.ndarray order = keys.argsort(axis=-1)
    cdef Py_ssize_t size = cnp.PyArray_SIZE(keys), length = keys.shape[keys.ndim - 1], row
    cdef Py_ssize_t count = size // length if length else 0
    cdef const uint64_t *key_data = <const uint64_t *>cnp.PyArray_DATA(keys)
    cdef int64_t *data = <int64_t *>cnp.PyArray_DATA(order)
    for row in prange(count, num_threads=threads_for(size), schedule='static', nogil=True):
        order_ties(key_data + row * length, data + row * length, length)
    return order


cdef cnp.ndarray row_order(cnp.ndarray rows, bint descending, str name):
    """Positions (int64) that sort each row."""
    cdef cnp.ndarray keys = row_keys(rows, descending, name)
    if cnp.PyArray_ITEMSIZE(rows) == 8:
        return argsort_rows(keys)
    sort_rows(keys)
    unpack_positions(keys)
    return keys.view(INT64)


cdef cnp.ndarray first_positions(cnp.ndarray rows, Py_ssize_t k, bint descending, str name):
    """Positions of the `k` first elements of each row in sorted order."""
    cdef cnp.ndarray keys = row_keys(rows, descending, name), order
    cdef bint packed = cnp.PyArray_ITEMSIZE(rows) < 8
    if k == 0:
        return np.empty((<object>rows).shape[:rows.ndim - 1] + (0,), INT64)
    if packed:
        keys.partition(k - 1, axis=-1)
        keys = np.ascontiguousarray(keys[..., :k])
        sort_rows(keys)
        unpack_positions(keys)
        return keys.view(INT64)
    order = np.sort(keys.argpartition(k - 1, axis=-1)[..., :k], axis=-1)
    return take_rows(order, argsort_rows(take_rows(keys, order)))


cdef tuple kth_of_rows(cnp.ndarray rows, Py_ssize_t k, str name):
    """(values, positions) of the k-th smallest element of each row, counted from 0; a last dimension of size 1."""
    cdef cnp.ndarray keys = row_keys(rows, False, name), order
    if cnp.PyArray_ITEMSIZE(rows) < 8:
        keys.partition(k, axis=-1)
        order = np.ascontiguousarray(keys[..., k:k + 1])
        unpack_positions(order)
        order = order.view(INT64)
    else:
        order = np.ascontiguousarray(keys.argpartition(k, axis=-1)[..., k:k + 1])
    return take_rows(rows, order), order


# ------------------------------------------------------------------------------------------------------------ entries

def argsort(cnp.ndarray array, Py_ssize_t dim, bint descending=False, bint stable=True):
    return from_rows(row_order(as_rows(array, dim), descending, "argsort"), dim, array.ndim)


def sort(cnp.ndarray array, Py_ssize_t dim, bint descending=False, bint stable=True):
    """(values, indices). Equal elements keep their order whatever `stable` says, as in PyTorch."""
    cdef cnp.ndarray rows = as_rows(array, dim), order = row_order(rows, descending, "sort")
    return from_rows(take_rows(rows, order), dim, array.ndim), from_rows(order, dim, array.ndim)


def topk(cnp.ndarray array, Py_ssize_t k, Py_ssize_t dim, bint largest=True, bint sorted=True):
    """(values, indices) of the k largest or smallest elements; in order whatever `sorted` says."""
    cdef cnp.ndarray rows = as_rows(array, dim), order
    if not 0 <= k <= rows.shape[rows.ndim - 1]:
        raise RuntimeError(f"topk(): selected index k out of range, got k={k} for dimension {dim} of size {rows.shape[rows.ndim - 1]}")
    if cnp.PyArray_TYPE(array) == cnp.NPY_BOOL:
        raise TypeError("topk is not implemented for bool")
    order = first_positions(rows, k, largest, "topk")
    if array.ndim == 0 and k == 0:
        return take_rows(rows, order), order
    return from_rows(take_rows(rows, order), dim, array.ndim), from_rows(order, dim, array.ndim)


cdef cnp.ndarray nonempty_rows(cnp.ndarray array, Py_ssize_t dim, str name):
    cdef cnp.ndarray rows = as_rows(array, dim)
    if rows.shape[rows.ndim - 1] == 0:
        raise IndexError(f"{name}(): Expected reduction dim {dim} to have non-zero size.")
    return rows


def kthvalue(cnp.ndarray array, Py_ssize_t k, Py_ssize_t dim, bint keepdim=False):
    """(values, indices) of the k-th smallest element, counted from 1."""
    cdef cnp.ndarray rows = nonempty_rows(array, dim, "kthvalue")
    if not 1 <= k <= rows.shape[rows.ndim - 1]:
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {dim}, got k={k} of {rows.shape[rows.ndim - 1]}")
    values, order = kth_of_rows(rows, k - 1, "kthvalue")
    return from_rows(values, dim, array.ndim, keepdim), from_rows(order, dim, array.ndim, keepdim)


def median(cnp.ndarray array, Py_ssize_t dim, bint keepdim=False):
    """(values, indices) of the lower median; of the first NaN where there is one."""
    cdef cnp.ndarray rows = nonempty_rows(array, dim, "median")
    values, order = kth_of_rows(rows, (rows.shape[rows.ndim - 1] - 1) // 2, "median")
    if rows.dtype.name in INFINITIES:
        nan = np.isnan(rows)
        order = np.where(nan.any(axis=-1, keepdims=True), nan.argmax(axis=-1, keepdims=True), order)
        values = take_rows(rows, order)
    return from_rows(values, dim, array.ndim, keepdim), from_rows(order, dim, array.ndim, keepdim)


def mode(cnp.ndarray array, Py_ssize_t dim, bint keepdim=False):
    """(values, indices) of the most frequent element, the smallest of several; the index of its last occurrence."""
    cdef cnp.ndarray rows = nonempty_rows(array, dim, "mode"), order = row_order(rows, False, "mode")
    values = take_rows(rows, order)
    place = np.arange(rows.shape[rows.ndim - 1])
    starts = np.where(run_starts(values), place, 0)
    longest = (place - np.maximum.accumulate(starts, axis=-1)).argmax(axis=-1)[..., None]
    values, order = np.take_along_axis(values, longest, -1), np.take_along_axis(order, longest, -1)
    return from_rows(values, dim, array.ndim, keepdim), from_rows(order, dim, array.ndim, keepdim)


cdef cnp.ndarray run_starts(cnp.ndarray rows):
    """Where an element differs from the one before it in its row (each NaN differs from all)."""
    cdef cnp.ndarray starts = np.ones((<object>rows).shape, np.bool_)
    np.not_equal(rows[..., 1:], rows[..., :-1], out=starts[..., 1:])
    return starts


cdef tuple runs(cnp.ndarray values, bint return_inverse, bint return_counts):
    """(elements, the run of each place, lengths) of the runs of equal elements of a vector; empty where not asked for."""
    starts = run_starts(values)
    places = np.flatnonzero(starts)
    inverse = np.cumsum(starts, dtype=INT64) - 1 if return_inverse else np.empty(0, INT64)
    counts = np.diff(places, append=values.shape[0]) if return_counts else np.empty(0, INT64)
    return values[places], inverse, counts


def unique(cnp.ndarray array, bint sorted=True, bint return_inverse=False, bint return_counts=False):
    """(values in order, inverse in the shape of `array`, counts); what is not asked for is empty."""
    cdef cnp.ndarray flat = np.ascontiguousarray(array).reshape(-1), order = row_order(flat, False, "unique"), inverse
    values, run, counts = runs(take_rows(flat, order), return_inverse, return_counts)
    if not return_inverse:
        return values, run, counts
    inverse = np.empty(flat.shape[0], INT64)
    inverse[order] = run
    return values, inverse.reshape((<object>array).shape), counts


def unique_consecutive(cnp.ndarray array, bint return_inverse=False, bint return_counts=False):
    values, inverse, counts = runs(np.ascontiguousarray(array).reshape(-1), return_inverse, return_counts)
    return values, inverse.reshape((<object>array).shape) if return_inverse else inverse, counts


# ----------------------------------------------------------------------------------------------- searching and counting

cdef cnp.ndarray comparable(cnp.ndarray array):
    """float16 and bfloat16 as float32, which NumPy's searches handle (and handle faster)."""
    return array.astype(np.float32) if array.dtype.name in ("float16", "bfloat16") else array


def searchsorted(cnp.ndarray boundaries, cnp.ndarray values, bint right=False):
    """Where `values` belong in sorted `boundaries`: one vector for all values, or a row for each row of values."""
    cdef cnp.ndarray rows, wanted, result
    cdef Py_ssize_t row
    side = "right" if right else "left"
    if boundaries.ndim == 1:
        return np.asarray(np.searchsorted(comparable(boundaries), comparable(values), side))
    if boundaries.ndim == 0 or (<object>boundaries).shape[:boundaries.ndim - 1] != (<object>values).shape[:max(values.ndim - 1, 0)]:
        raise RuntimeError(
            "searchsorted(): boundaries should have 1 dimension or the first N-1 dimensions of boundaries and values must "
            f"match, got boundaries {list((<object>boundaries).shape)} and values {list((<object>values).shape)}")
    result = np.empty((<object>values).shape, INT64)
    rows = comparable(boundaries).reshape(-1, boundaries.shape[boundaries.ndim - 1])
    wanted = comparable(values).reshape(rows.shape[0], values.shape[values.ndim - 1])
    places = result.reshape((<object>wanted).shape)
    for row in range(rows.shape[0]):
        places[row] = np.searchsorted(rows[row], wanted[row], side)
    return result


def isin(cnp.ndarray elements, cnp.ndarray test_elements, bint invert=False):
    return np.asarray(np.isin(comparable(elements), comparable(test_elements), invert=invert))


def bincount(cnp.ndarray array, weights=None, Py_ssize_t minlength=0):
    """Counts of 0, 1, 2 …, or sums of `weights` (float32 stays float32, all else becomes float64)."""
    if minlength < 0:
        raise RuntimeError(f"bincount(): minlength should be >= 0, got {minlength}")
    if array.ndim != 1 or array.dtype.kind not in "iu" or (array.size and array.min() < 0):
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if weights is None:
        return np.bincount(array.astype(INT64), minlength=minlength)
    if weights.shape != (<object>array).shape:
        raise RuntimeError(f"bincount(): weights should have the shape of input {list((<object>array).shape)}, got {list(weights.shape)}")
    sums = np.bincount(array.astype(INT64), weights.astype(np.float64), minlength)
    return sums.astype(np.float32) if weights.dtype == np.float32 else sums


def histc(cnp.ndarray array, Py_ssize_t bins, lo, hi):
    """Counts in `bins` equal bins from lo to hi (of the data where lo == hi), the last closed; in the dtype of `array`."""
    cdef cnp.ndarray numbers
    if array.dtype.name not in INFINITIES:
        raise TypeError(f"histc is not implemented for {array.dtype}")
    if bins <= 0:
        raise RuntimeError(f"histc(): bins must be > 0, got {bins}")
    numbers = comparable(array).reshape(-1)
    if lo == hi and numbers.size:
        lo, hi = numbers.min(), numbers.max()
    if lo == hi:
        lo, hi = lo - 1, hi + 1
    if not (np.isfinite(lo) and np.isfinite(hi)):
        raise RuntimeError(f"histc(): range of [{lo}, {hi}] is not finite")
    if lo > hi:
        raise RuntimeError(f"histc(): max must be larger than min, got [{lo}, {hi}]")
    lo, hi = numbers.dtype.type(lo), numbers.dtype.type(hi)
    inside = numbers[(numbers >= lo) & (numbers <= hi)]
    places = np.minimum(((inside - lo) * numbers.dtype.type(bins) / (hi - lo)).astype(INT64), bins - 1)
    return np.bincount(places, minlength=bins).astype(array.dtype)
