"""Sorting and selection along a dimension, always stable, NaN as the largest value.

Each element becomes an unsigned key that sorts as the element does. Elements of up to four bytes are packed with their
position, key << 32 | position, so that one sort of plain 64-bit integers gives values and indices at once and equal
elements keep their order: by NumPy's sorting networks where rows are short or the processor has AVX-512, else by digits. Eight-byte elements are
packed and sorted twice, by their lower and then by their upper halves; short rows of them indirectly.
"""
from cython.parallel cimport prange
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
cimport numpy as cnp

import sys

import numpy as np

from pyx_tensor_cpu.dtypes cimport (
    BF16, BOOL, C64, F16, F32, F64, I8, I16, I32, I64, NCODES, U8, U16, U32, U64, code_of)
from pyx_tensor_cpu.iterate cimport contiguous
from pyx_tensor_cpu.memory cimport new_array
from pyx_tensor_cpu.parallel cimport threads_for
from pyx_tensor_cpu.radix cimport radix_select, radix_sort

cnp.import_array()

cdef extern from "cpu_features.h":
    int x86_64_level()

cdef extern from "numpy/arrayobject.h" nogil:
    ctypedef struct PyArray_ArrFuncs:
        void **sort
        void **argsort
    PyArray_ArrFuncs *PyDataType_GetArrFuncs(void *descr)

ctypedef int (*SortFunction)(void *keys, cnp.npy_intp count, void *array) noexcept nogil
ctypedef int (*ArgsortFunction)(void *keys, cnp.npy_intp *order, cnp.npy_intp count, void *array) noexcept nogil

ctypedef fused Bits:
    uint8_t
    uint16_t
    uint32_t
    uint64_t

cdef enum Kind:
    UNSIGNED, SIGNED, FLOATING

cdef enum:
    SORT_COST = 8  # of one element, an addition being 1
    FEW = 16        # times fewer elements selected than there are: a scan beats a sort
    SHORT_ROW = 128
    CHUNK = 2048    # keys that stay in the first-level cache
    NETWORK = 256   # elements that NumPy's sort takes without a partition
    WIDE_LEVEL = 4  # of x86-64: with its vectors NumPy's sort is the quickest at every length

ctypedef void (*Encode)(void *source, uint64_t *keys, Py_ssize_t count, Kind kind, uint64_t infinity, bint descending) noexcept nogil
ctypedef void (*Decode)(void *source, const int64_t *order, Py_ssize_t count, char *values) noexcept nogil

cdef uint64_t POSITION_BITS = 0xFFFFFFFF
cdef object UINT64 = np.dtype(np.uint64)
cdef object INT64 = np.dtype(np.int64)

cdef Kind kinds[NCODES]
cdef uint64_t infinities[NCODES]  # their bits
for _code in (BOOL, U8, U16, U32, U64):
    kinds[<int>_code] = UNSIGNED
for _code in (I8, I16, I32, I64):
    kinds[<int>_code] = SIGNED
for _code, _bits in ((F16, 0x7C00), (BF16, 0x7F80), (F32, 0x7F800000), (F64, 0x7FF0000000000000)):
    kinds[<int>_code], infinities[<int>_code] = FLOATING, _bits


# NumPy's loops for uint64, which it chooses for this CPU.
cdef SortFunction sort_keys = <SortFunction>PyDataType_GetArrFuncs(<void *>UINT64).sort[0]
cdef ArgsortFunction argsort_keys = <ArgsortFunction>PyDataType_GetArrFuncs(<void *>UINT64).argsort[0]
if sort_keys == NULL or argsort_keys == NULL:
    raise ImportError("this version of NumPy offers no sorting loops for uint64")


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
    return contiguous(array if dim == array.ndim - 1 else np.moveaxis(array, dim, -1))


cdef cnp.ndarray from_rows(cnp.ndarray rows, Py_ssize_t dim, Py_ssize_t ndim, bint keep=True):
    """The inverse of as_rows for a result; without `keep`, the last dimension has size 1 and goes."""
    cdef cnp.PyArray_Dims kept
    if ndim == 0 or not keep:
        kept.ptr, kept.len = cnp.PyArray_DIMS(rows), cnp.PyArray_NDIM(rows) - 1
        return cnp.PyArray_Newshape(rows, &kept, cnp.NPY_CORDER)
    return rows if dim == ndim - 1 else contiguous(np.moveaxis(rows, -1, dim))


cdef cnp.ndarray new_rows(cnp.ndarray rows, Py_ssize_t length, cnp.dtype dtype):
    """As many rows as `rows` has, of `length` elements."""
    cdef Py_ssize_t shape[64]
    cdef int d
    for d in range(cnp.PyArray_NDIM(rows) - 1):
        shape[d] = rows.shape[d]
    shape[cnp.PyArray_NDIM(rows) - 1] = length
    return new_array(cnp.PyArray_NDIM(rows), shape, dtype)


cdef Py_ssize_t row_length(cnp.ndarray rows) noexcept:
    return rows.shape[cnp.PyArray_NDIM(rows) - 1]


cdef inline Py_ssize_t row_count(cnp.ndarray rows) noexcept:
    cdef Py_ssize_t length = row_length(rows)
    return cnp.PyArray_SIZE(rows) // length if length else 0


cdef bint pack_narrow(uint64_t *keys, Py_ssize_t count, Py_ssize_t length) noexcept nogil:
    """Pack whole keys in place if their range allows it, as that of most int64 data does."""
    cdef uint64_t low, high
    cdef Py_ssize_t i, j
    if count * length == 0 or length >> 32:
        return False
    low = high = keys[0]
    for i in range(count * length):
        low = keys[i] if keys[i] < low else low
        high = keys[i] if keys[i] > high else high
        if high - low > POSITION_BITS:
            return False
    for i in prange(count, num_threads=threads_for(count * length), schedule='static'):
        for j in range(length):
            keys[i * length + j] = ((keys[i * length + j] - low) << 32) | <uint64_t>j
    return True


cdef int check_sortable(cnp.ndarray rows, str name) except -1:
    if code_of(rows) >= C64:
        raise TypeError(f"{name} is not implemented for {rows.dtype}")
    if cnp.PyArray_ITEMSIZE(rows) < 8 and row_length(rows) >> 32:
        raise ValueError(f"{name} of {row_length(rows)} elements of {rows.dtype} along one dimension is not supported (at most 2**32)")
    return 0


cdef tuple row_keys(cnp.ndarray rows, bint descending):
    """(keys of each row, whether they are packed with positions)."""
    cdef cnp.ndarray keys
    cdef Py_ssize_t length = row_length(rows), count = row_count(rows), row
    cdef int itemsize = <int>cnp.PyArray_ITEMSIZE(rows), code = code_of(rows), threads = threads_for(count * length)
    cdef char *source = cnp.PyArray_BYTES(rows)
    cdef uint64_t *data
    cdef Encode encode_row
    keys = new_rows(rows, length, UINT64)
    data = <uint64_t *>cnp.PyArray_DATA(keys)
    encode_row = encoders[itemsize]
    for row in prange(count, num_threads=threads, schedule='static', nogil=True):
        encode_row(source + row * length * itemsize, data + row * length, length, kinds[code], infinities[code], descending)
    return keys, itemsize < 8 or pack_narrow(data, count, length)


cdef cnp.ndarray take_rows(cnp.ndarray rows, cnp.ndarray order):
    """values[..., i] = rows[..., order[..., i]]"""
    cdef Py_ssize_t length = row_length(rows), taken = row_length(order), count = row_count(order), row
    cdef Py_ssize_t itemsize = cnp.PyArray_ITEMSIZE(rows)
    cdef cnp.ndarray values = new_rows(rows, taken, rows.dtype)
    cdef char *source = cnp.PyArray_BYTES(rows)
    cdef char *result = cnp.PyArray_BYTES(values)
    cdef const int64_t *at = <const int64_t *>cnp.PyArray_DATA(order)
    cdef Decode decode_row = decoders[itemsize]
    for row in prange(count, num_threads=threads_for(count * taken), schedule='static', nogil=True):
        decode_row(source + row * length * itemsize, at + row * taken, taken, result + row * taken * itemsize)
    return values


# ------------------------------------------------------------------------------------------------------------- orders

cdef void order_ties(const uint64_t *keys, int64_t *order, Py_ssize_t count) noexcept nogil:
    """Put the positions of equal keys in increasing order."""
    cdef Py_ssize_t start = 0, stop
    while start < count:
        stop = start + 1
        while stop < count and keys[order[stop]] == keys[order[start]]:
            stop += 1
        if stop - start > 1:
            sort_keys(order + start, stop - start, <void *>UINT64)
        start = stop


cdef void argsort_row(uint64_t *keys, int64_t *order, Py_ssize_t count, void *array) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(count):
        order[i] = i
    argsort_keys(keys, <cnp.npy_intp *>order, count, array)
    order_ties(keys, order, count)


cdef void order_wide_row(const uint64_t *keys, uint64_t *spare, int64_t *order, Py_ssize_t count) noexcept nogil:
    """Order by the lower halves of the keys, then, stably, by the upper ones; `order` holds the packed halves meanwhile."""
    cdef uint64_t *packed = <uint64_t *>order
    cdef uint64_t place
    cdef Py_ssize_t i
    for i in range(count):
        packed[i] = keys[i] << 32 | <uint64_t>i
    radix_sort(packed, spare, count)
    for i in range(count):
        place = packed[i] & POSITION_BITS
        packed[i] = (keys[place] & ~POSITION_BITS) | place
    radix_sort(packed, spare, count)
    for i in range(count):
        packed[i] &= POSITION_BITS


cdef Py_ssize_t by_comparing = sys.maxsize if x86_64_level() >= WIDE_LEVEL else NETWORK     # the longest row that NumPy's sort gets


cdef inline void sort_packed(uint64_t *keys, uint64_t *spare, Py_ssize_t count, void *array) noexcept nogil:
    """Sort keys packed with their positions, equal ones being in the order of these."""
    if count <= by_comparing:
        sort_keys(keys, count, array)
    else:
        radix_sort(keys, spare, count)


# The k smallest packed keys so far and, behind them, candidates below the k-th of these.
cdef struct Candidates:
    uint64_t *keys          # room for 2 k
    uint64_t *spare         # as much
    Py_ssize_t k
    Py_ssize_t filled
    uint64_t bound
    void *array


cdef Candidates no_candidates(uint64_t *keys, uint64_t *spare, Py_ssize_t k, void *array) noexcept nogil:
    return Candidates(keys=keys, spare=spare, k=k, filled=0, bound=~<uint64_t>0, array=array)


cdef void settle(Candidates *c) noexcept nogil:
    """Put the candidates in order and let those behind the k-th go."""
    sort_packed(c.keys, c.spare, c.filled, c.array)
    if c.filled >= c.k:
        c.filled = c.k
        c.bound = c.keys[c.k - 1]


cdef inline void offer(Candidates *c, uint64_t key) noexcept nogil:
    if key < c.bound:
        c.keys[c.filled] = key
        c.filled += 1
        if c.filled == 2 * c.k:
            settle(c)


cdef void select_first(uint64_t *keys, uint64_t *spare, Py_ssize_t count, Py_ssize_t k, void *array) noexcept nogil:
    """Bring the k smallest packed keys to the front, in order."""
    cdef Candidates found = no_candidates(keys, spare, k, array)
    cdef Py_ssize_t i
    for i in range(count):
        offer(&found, keys[i])
    settle(&found)


cdef void gather_first(const uint64_t *keys, uint64_t *spare, Py_ssize_t count, Py_ssize_t k, int64_t *places) noexcept nogil:
    """The places of the k smallest keys, the first of equal ones, in increasing order."""
    cdef uint64_t bound = radix_select(keys, spare, count, k - 1)
    cdef Py_ssize_t equal = k, found = 0, i
    for i in range(count):
        equal -= keys[i] < bound
    for i in range(count):
        if keys[i] < bound or (keys[i] == bound and equal > 0):
            equal -= keys[i] == bound
            places[found] = i
            found += 1


cdef int64_t place_of_kth(const uint64_t *keys, uint64_t *spare, Py_ssize_t count, Py_ssize_t k, bint packed) noexcept nogil:
    """Where the k-th smallest key is, counted from 0; equal keys count in their order."""
    cdef uint64_t key = radix_select(keys, spare, count, k)
    cdef Py_ssize_t i
    if packed:
        return key & POSITION_BITS
    for i in range(count):
        k -= keys[i] < key
    for i in range(count):
        if keys[i] == key:
            if k == 0:
                return i
            k -= 1
    return -1  # never


cdef cnp.ndarray positions_in(cnp.ndarray keys, Py_ssize_t start, Py_ssize_t taken):
    """The positions in packed keys[..., start:start+taken]."""
    cdef Py_ssize_t length = row_length(keys), count = row_count(keys), row, i
    cdef const uint64_t *source = <const uint64_t *>cnp.PyArray_DATA(keys)
    cdef cnp.ndarray order = new_rows(keys, taken, INT64)
    cdef int64_t *result = <int64_t *>cnp.PyArray_DATA(order)
    for row in prange(count, num_threads=threads_for(count * taken), schedule='static', nogil=True):
        for i in range(taken):
            result[row * taken + i] = source[row * length + start + i] & POSITION_BITS
    return order


cdef uint64_t *spare_keys(int threads, Py_ssize_t length) except NULL:
    """Room for a row of keys for each thread, to be freed."""
    cdef uint64_t *spare = <uint64_t *>malloc(max(threads * length, 1) * sizeof(uint64_t))
    if spare == NULL:
        raise MemoryError(f"no memory to sort rows of {length} elements")
    return spare


cdef void order_row(uint64_t *keys, uint64_t *spare, int64_t *order, Py_ssize_t count, bint packed, void *array) noexcept nogil:
    cdef Py_ssize_t i
    if packed:
        sort_packed(keys, spare, count, array)
        for i in range(count):
            order[i] = keys[i] & POSITION_BITS
    elif count <= NETWORK or count >> 32:
        argsort_row(keys, order, count, array)
    else:
        order_wide_row(keys, spare, order, count)


cdef cnp.ndarray order_by_keys(cnp.ndarray keys, bint packed):
    """Positions (int64) that sort each row stably. The keys are overwritten."""
    cdef Py_ssize_t length = row_length(keys), count = row_count(keys), row, part
    cdef uint64_t *data = <uint64_t *>cnp.PyArray_DATA(keys)
    cdef cnp.ndarray order = new_rows(keys, length, INT64)
    cdef int64_t *result = <int64_t *>cnp.PyArray_DATA(order)
    cdef int parts = <int>min(threads_for(count * length * SORT_COST), max(count, 1))
    cdef uint64_t *spare = spare_keys(parts, length)
    for part in prange(parts, num_threads=parts, schedule='static', nogil=True):
        for row in range(count * part // parts, count * (part + 1) // parts):
            order_row(data + row * length, spare + part * length, result + row * length, length, packed, <void *>keys)
    free(spare)
    return order


cdef cnp.ndarray row_order(cnp.ndarray rows, bint descending, str name):
    check_sortable(rows, name)
    keys, packed = row_keys(rows, descending)
    return order_by_keys(keys, packed)


cdef cnp.ndarray first_of_packed(cnp.ndarray keys, Py_ssize_t k):
    """Positions of the k smallest packed keys of each row, in order."""
    cdef Py_ssize_t length = row_length(keys), count = row_count(keys), row, part
    cdef uint64_t *data = <uint64_t *>cnp.PyArray_DATA(keys)
    cdef int parts = <int>min(threads_for(count * length), max(count, 1))
    cdef uint64_t *spare
    if not few(k, length):
        return contiguous(order_by_keys(keys, True)[..., :k])
    spare = spare_keys(parts, 2 * k)
    for part in prange(parts, num_threads=parts, schedule='static', nogil=True):
        for row in range(count * part // parts, count * (part + 1) // parts):
            select_first(data + row * length, spare + 2 * k * part, length, k, <void *>keys)
    free(spare)
    return positions_in(keys, 0, k)


cdef inline bint few(Py_ssize_t k, Py_ssize_t length) noexcept nogil:
    """Whether a scan finds the first k sooner than a sort."""
    return k * FEW <= length or length <= SHORT_ROW


cdef void first_of_row(const char *source, int itemsize, int code, Py_ssize_t length, bint descending, Candidates found, int64_t *places) noexcept nogil:
    """The places of the first elements of a row, whose keys are made a chunk at a time, so that they stay in the cache."""
    cdef uint64_t keys[CHUNK]
    cdef Py_ssize_t start = 0, count, i
    while start < length:
        count = min(<Py_ssize_t>CHUNK, length - start)
        encoders[itemsize](<void *>(source + start * itemsize), keys, count, kinds[code], infinities[code], descending)
        for i in range(count):
            offer(&found, keys[i] + <uint64_t>start)
        start += count
    settle(&found)
    for i in range(found.k):
        places[i] = found.keys[i] & POSITION_BITS


cdef cnp.ndarray first_of_narrow(cnp.ndarray rows, Py_ssize_t k, bint descending):
    """Positions of the k first elements of each row, in order; the elements have less than eight bytes."""
    cdef Py_ssize_t length = row_length(rows), count = row_count(rows), row, part
    cdef int itemsize = <int>cnp.PyArray_ITEMSIZE(rows), code = code_of(rows)
    cdef const char *source = cnp.PyArray_BYTES(rows)
    cdef cnp.ndarray order = new_rows(rows, k, INT64)
    cdef int64_t *places = <int64_t *>cnp.PyArray_DATA(order)
    cdef int parts = <int>min(threads_for(count * length), max(count, 1))
    cdef uint64_t *room = spare_keys(parts, 4 * k)
    for part in prange(parts, num_threads=parts, schedule='static', nogil=True):
        for row in range(count * part // parts, count * (part + 1) // parts):
            first_of_row(source + row * length * itemsize, itemsize, code, length, descending,
                         no_candidates(room + 4 * k * part, room + 4 * k * part + 2 * k, k, <void *>rows), places + row * k)
    free(room)
    return order


cdef cnp.ndarray first_of_wide(cnp.ndarray keys, Py_ssize_t k):
    """Positions of the k smallest keys of each row, in order."""
    cdef Py_ssize_t length = row_length(keys), count = row_count(keys), row, part
    cdef const uint64_t *data = <const uint64_t *>cnp.PyArray_DATA(keys)
    cdef cnp.ndarray places = new_rows(keys, k, INT64)
    cdef int64_t *result = <int64_t *>cnp.PyArray_DATA(places)
    cdef int parts = <int>min(threads_for(count * length), max(count, 1))
    cdef uint64_t *spare = spare_keys(parts, length)
    for part in prange(parts, num_threads=parts, schedule='static', nogil=True):
        for row in range(count * part // parts, count * (part + 1) // parts):
            gather_first(data + row * length, spare + part * length, length, k, result + row * k)
    free(spare)
    return take_rows(places, order_by_keys(take_rows(keys, places), False))


cdef cnp.ndarray first_positions(cnp.ndarray rows, Py_ssize_t k, bint descending, str name):
    """Positions of the `k` first elements of each row in sorted order."""
    check_sortable(rows, name)
    if k == 0:
        return new_rows(rows, 0, INT64)
    if cnp.PyArray_ITEMSIZE(rows) < 8 and few(k, row_length(rows)):
        return first_of_narrow(rows, k, descending)
    keys, packed = row_keys(rows, descending)
    return first_of_packed(keys, k) if packed else first_of_wide(keys, k)


cdef tuple kth_of_rows(cnp.ndarray rows, Py_ssize_t k, str name, cnp.ndarray each=None):
    """(values, positions) of the k-th smallest element of each row, counted from 0; a last dimension of size 1. `each` has the k of each row."""
    cdef const int64_t *ks = NULL if each is None else <const int64_t *>cnp.PyArray_DATA(each)
    cdef Py_ssize_t length = row_length(rows), count = row_count(rows), row, part
    cdef cnp.ndarray keys, order = new_rows(rows, 1, INT64)
    cdef int64_t *result = <int64_t *>cnp.PyArray_DATA(order)
    cdef const uint64_t *data
    cdef uint64_t *spare
    cdef int parts = <int>min(threads_for(count * length), max(count, 1))
    cdef bint packed
    check_sortable(rows, name)
    keys, packed = row_keys(rows, False)
    data = <const uint64_t *>cnp.PyArray_DATA(keys)
    spare = spare_keys(parts, length)
    for part in prange(parts, num_threads=parts, schedule='static', nogil=True):
        for row in range(count * part // parts, count * (part + 1) // parts):
            result[row] = place_of_kth(data + row * length, spare + part * length, length, k if ks == NULL else ks[row], packed)
    free(spare)
    return take_rows(rows, order), order


# ------------------------------------------------------------------------------------------------------------ entries

def argsort(cnp.ndarray array not None, Py_ssize_t dim, bint descending=False, bint stable=True):
    return from_rows(row_order(as_rows(array, dim), descending, "argsort"), dim, array.ndim)


def sort(cnp.ndarray array not None, Py_ssize_t dim, bint descending=False, bint stable=True):
    """(values, indices). Equal elements keep their order whatever `stable` says, as in PyTorch."""
    cdef cnp.ndarray rows = as_rows(array, dim), order = row_order(rows, descending, "sort")
    return from_rows(take_rows(rows, order), dim, array.ndim), from_rows(order, dim, array.ndim)


def topk(cnp.ndarray array not None, Py_ssize_t k, Py_ssize_t dim, bint largest=True, bint sorted=True):
    """(values, indices) of the k largest or smallest elements; in order whatever `sorted` says."""
    cdef cnp.ndarray rows = as_rows(array, dim), order
    if not 0 <= k <= row_length(rows):
        raise RuntimeError(f"topk(): selected index k out of range, got k={k} for dimension {dim} of size {row_length(rows)}")
    if cnp.PyArray_TYPE(array) == cnp.NPY_BOOL:
        raise TypeError("topk is not implemented for bool")
    order = first_positions(rows, k, largest, "topk")
    if array.ndim == 0 and k == 0:
        return take_rows(rows, order), order
    return from_rows(take_rows(rows, order), dim, array.ndim), from_rows(order, dim, array.ndim)


cdef cnp.ndarray nonempty_rows(cnp.ndarray array, Py_ssize_t dim, str name):
    cdef cnp.ndarray rows = as_rows(array, dim)
    if row_length(rows) == 0:
        raise IndexError(f"{name}(): Expected reduction dim {dim} to have non-zero size.")
    return rows


def kthvalue(cnp.ndarray array not None, Py_ssize_t k, Py_ssize_t dim, bint keepdim=False):
    """(values, indices) of the k-th smallest element, counted from 1."""
    cdef cnp.ndarray rows = nonempty_rows(array, dim, "kthvalue")
    if not 1 <= k <= row_length(rows):
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {dim}, got k={k} of {row_length(rows)}")
    values, order = kth_of_rows(rows, k - 1, "kthvalue")
    return from_rows(values, dim, array.ndim, keepdim), from_rows(order, dim, array.ndim, keepdim)


cdef bint has_nan(cnp.ndarray rows):
    cdef Py_ssize_t i
    cdef bint found = False
    cdef const float* singles = <const float*>cnp.PyArray_DATA(rows)
    cdef const double* doubles = <const double*>cnp.PyArray_DATA(rows)
    if not cnp.PyArray_IS_C_CONTIGUOUS(rows) or cnp.PyArray_TYPE(rows) != cnp.NPY_FLOAT32 and cnp.PyArray_TYPE(rows) != cnp.NPY_FLOAT64:
        return np.isnan(rows).any()
    if cnp.PyArray_TYPE(rows) == cnp.NPY_FLOAT32:
        for i in range(cnp.PyArray_SIZE(rows)):
            found |= singles[i] != singles[i]
    else:
        for i in range(cnp.PyArray_SIZE(rows)):
            found |= doubles[i] != doubles[i]
    return found


def median(cnp.ndarray array not None, Py_ssize_t dim, bint keepdim=False):
    """(values, indices) of the lower median; of the first NaN where there is one."""
    cdef cnp.ndarray rows = nonempty_rows(array, dim, "median")
    values, order = kth_of_rows(rows, (row_length(rows) - 1) // 2, "median")
    if kinds[code_of(rows)] == FLOATING and has_nan(rows):
        nan = np.isnan(rows)
        order = np.where(nan.any(axis=-1, keepdims=True), nan.argmax(axis=-1, keepdims=True), order)
        values = take_rows(rows, order)
    return from_rows(values, dim, array.ndim, keepdim), from_rows(order, dim, array.ndim, keepdim)


def nanmedian(cnp.ndarray array not None, Py_ssize_t dim, bint keepdim=False):
    """(values, indices) of the lower median of the elements that aren't NaN; NaN where all are."""
    cdef cnp.ndarray rows = nonempty_rows(array, dim, "nanmedian"), each = None
    if kinds[code_of(rows)] == FLOATING and has_nan(rows):
        numbers = row_length(rows) - np.count_nonzero(np.isnan(rows), axis=-1)
        each = np.ascontiguousarray(np.maximum(numbers - 1, 0) // 2, np.int64)
    values, order = kth_of_rows(rows, (row_length(rows) - 1) // 2, "nanmedian", each)
    return from_rows(values, dim, array.ndim, keepdim), from_rows(order, dim, array.ndim, keepdim)
