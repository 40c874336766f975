"""Boolean masks: which elements are nonzero, picking them, filling them, and triangles of matrices."""
from cython.parallel cimport prange
from libc.math cimport INFINITY
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset
cimport numpy as cnp

import numpy as np

from pyx_tensor_cpu.index import index_put_
from pyx_tensor_cpu.indexed cimport Bytes16, Item
from pyx_tensor_cpu.iterate cimport contiguous, contiguous_copy, ternary
from pyx_tensor_cpu.memory cimport new_array
from pyx_tensor_cpu.ops cimport WHERE
from pyx_tensor_cpu.parallel cimport threads_for

from .copying import cast

cnp.import_array()

cdef cnp.dtype BOOL_TYPE = np.dtype(bool), INT64_TYPE = np.dtype(np.int64)

cdef enum:
    MAX_PARTS = 64
    WORD = 8  # mask bytes looked at together
cdef uint64_t LOW_BITS = 0x7F7F7F7F7F7F7F7F, HIGH_BITS = 0x8080808080808080, ONES = 0x0101010101010101


cdef inline uint64_t nonzero_bytes(const uint8_t *mask) noexcept nogil:
    """The high bit of each of eight bytes set where the byte is not zero."""
    cdef uint64_t word
    memcpy(&word, mask, WORD)
    return (((word & LOW_BITS) + LOW_BITS) | word) & HIGH_BITS


cdef Py_ssize_t count_true(const uint8_t *mask, Py_ssize_t size) noexcept nogil:
    cdef Py_ssize_t i = 0, count = 0
    while i + WORD <= size:
        count += ((nonzero_bytes(mask + i) >> 7) * ONES) >> 56
        i += WORD
    while i < size:
        count += mask[i] != 0
        i += 1
    return count


cdef inline void set_item(Item *place, const Item *source, Py_ssize_t i) noexcept nogil:
    """source[i], or the position i itself where there is no source."""
    if source != NULL:
        place[0] = source[i]
    elif Item is uint64_t:
        place[0] = <uint64_t>i


cdef inline void compress_from(const Item *source, const uint8_t *mask, Py_ssize_t start, Py_ssize_t stop, Item *result,
                               Py_ssize_t count) noexcept nogil:
    cdef Py_ssize_t i = start, j, k = 0
    cdef uint64_t word
    # a whole word at a time without branches on single bytes: each step writes, and only true ones move on
    while i + WORD <= stop and k + WORD <= count:
        word = nonzero_bytes(mask + i)
        if word:
            for j in range(WORD):
                set_item(result + k, source, i + j)
                k += mask[i + j] != 0
        i += WORD
    while i < stop and k < count:
        if mask[i]:
            set_item(result + k, source, i)
            k += 1
        i += 1


cdef void compress(Item *source, const uint8_t *mask, Py_ssize_t start, Py_ssize_t stop, char *result,
                   Py_ssize_t count) noexcept nogil:
    """Write the `count` elements of source[start:stop] whose mask is true, or their positions where source is NULL."""
    if source == NULL:
        compress_from(<const Item *>NULL, mask, start, stop, <Item *>result, count)
    else:
        compress_from(source, mask, start, stop, <Item *>result, count)


ctypedef void (*Compress)(void *source, const uint8_t *mask, Py_ssize_t start, Py_ssize_t stop, char *result,
                          Py_ssize_t count) noexcept nogil
ctypedef void (*Fill)(void *source, const uint8_t *mask, Py_ssize_t period, const char *value, Py_ssize_t start,
                      Py_ssize_t stop, char *result) noexcept nogil


cdef inline Item choose(uint8_t flag, Item yes, Item no) noexcept nogil:
    """`yes` where flag is not zero: by bit masks, since a random flag makes a branch slow."""
    cdef Item chosen
    cdef uint64_t wide
    if Item is Bytes16:
        wide = <uint64_t>0 - <uint64_t>(flag != 0)
        chosen.low = (yes.low & wide) | (no.low & ~wide)
        chosen.high = (yes.high & wide) | (no.high & ~wide)
        return chosen
    else:
        chosen = <Item>(<Item>0 - <Item>(flag != 0))
        return <Item>((yes & chosen) | (no & <Item>(~chosen)))


cdef void fill(Item *source, const uint8_t *mask, Py_ssize_t period, const char *value, Py_ssize_t start, Py_ssize_t stop,
               char *result) noexcept nogil:
    """result[i] = value where mask[i % period], else source[i]."""
    cdef Py_ssize_t i, first, count
    cdef Item *out
    cdef const Item *values
    cdef const uint8_t *flags
    cdef Item filler = (<const Item *>value)[0]
    while start < stop:
        first = start % period
        count = min(period - first, stop - start)
        out, values, flags = <Item *>result + start, source + start, mask + first
        for i in range(count):
            out[i] = choose(flags[i], filler, values[i])
        start += count


cdef Compress compressors[17]  # by bytes an element
compressors[1] = <Compress>compress[uint8_t]
compressors[2] = <Compress>compress[uint16_t]
compressors[4] = <Compress>compress[uint32_t]
compressors[8] = <Compress>compress[uint64_t]
compressors[16] = <Compress>compress[Bytes16]
cdef Fill fillers[17]
fillers[1] = <Fill>fill[uint8_t]
fillers[2] = <Fill>fill[uint16_t]
fillers[4] = <Fill>fill[uint32_t]
fillers[8] = <Fill>fill[uint64_t]
fillers[16] = <Fill>fill[Bytes16]


cdef cnp.ndarray compressed(cnp.ndarray array, cnp.ndarray mask, cnp.dtype dtype):
    """Elements of the contiguous `array` (positions where it is None) at the true places of the contiguous `mask`."""
    cdef Py_ssize_t size = cnp.PyArray_SIZE(mask), total = 0, part, parts, itemsize = dtype.itemsize
    cdef Py_ssize_t counts[MAX_PARTS]
    cdef Py_ssize_t starts[MAX_PARTS]
    cdef const uint8_t *flags = <const uint8_t *>cnp.PyArray_DATA(mask)
    cdef void *source = NULL if array is None else cnp.PyArray_DATA(array)
    cdef Compress compress_part = compressors[itemsize]
    cdef cnp.ndarray result
    cdef char *data
    parts = min(threads_for(size), <Py_ssize_t>MAX_PARTS)
    for part in prange(parts, num_threads=<int>parts, schedule='static', nogil=True):
        counts[part] = count_true(flags + size * part // parts, size * (part + 1) // parts - size * part // parts)
    for part in range(parts):
        starts[part] = total
        total += counts[part]
    result = new_array(1, &total, dtype)
    data = cnp.PyArray_BYTES(result)
    for part in prange(parts, num_threads=<int>parts, schedule='static', nogil=True):
        compress_part(source, flags, size * part // parts, size * (part + 1) // parts, data + starts[part] * itemsize, counts[part])
    return result


cdef cnp.ndarray as_mask(cnp.ndarray mask, str name):
    if cnp.PyArray_TYPE(mask) != cnp.NPY_BOOL:
        raise RuntimeError(f"{name}(): mask must be a boolean array, got dtype {mask.dtype}")
    return mask


cdef tuple broadcast_pair(cnp.ndarray array, cnp.ndarray mask):
    """Both, contiguous and in their common shape."""
    if (<object>array).shape != (<object>mask).shape:
        array, mask = np.broadcast_arrays(array, mask)
    return contiguous(array), contiguous(mask)


def masked_select(cnp.ndarray array not None, cnp.ndarray mask not None):
    """The elements where the mask is true; both broadcast. TypeError for a mask that isn't boolean."""
    if cnp.PyArray_TYPE(mask) != cnp.NPY_BOOL:
        raise TypeError(f"masked_select: expected a boolean mask, got dtype {mask.dtype}")
    array, mask = broadcast_pair(array, mask)
    return compressed(array, mask, array.dtype)


cdef cnp.ndarray as_flags(cnp.ndarray array):
    """Where `array` is not zero, contiguous."""
    if cnp.PyArray_TYPE(array) != cnp.NPY_BOOL:
        return contiguous(cast(array, BOOL_TYPE))
    return contiguous(array)


cdef void coordinates(const int64_t *positions, Py_ssize_t start, Py_ssize_t stop, int ndim, const cnp.npy_intp *shape,
                      int64_t *result) noexcept nogil:
    """Unravel increasing flat positions[start:stop], after the first row by row instead of by divisions."""
    cdef int64_t row[64]
    cdef Py_ssize_t k, width = shape[ndim - 1], rest, row_end
    cdef int d
    if start == stop:
        return
    rest = positions[start] // width
    row_end = (rest + 1) * width
    for d in range(ndim - 2, -1, -1):
        row[d] = rest % shape[d]
        rest = rest // shape[d]
    result += start * ndim
    for k in range(start, stop):
        while positions[k] >= row_end:
            row_end += width
            d = ndim - 2
            while row[d] + 1 == shape[d]:
                row[d] = 0
                d -= 1
            row[d] += 1
        for d in range(ndim - 1):
            result[d] = row[d]
        result[ndim - 1] = positions[k] - (row_end - width)
        result += ndim


def nonzero(cnp.ndarray array not None):
    """Coordinates of the nonzero elements, (count, ndim), in the order of the elements."""
    cdef cnp.ndarray positions = compressed(None, as_flags(array), INT64_TYPE), result
    cdef Py_ssize_t shape[2]
    cdef Py_ssize_t count = positions.shape[0], part
    cdef int ndim = cnp.PyArray_NDIM(array), threads = threads_for(count * ndim)
    cdef const int64_t *source = <const int64_t *>cnp.PyArray_DATA(positions)
    cdef const cnp.npy_intp *sizes = cnp.PyArray_DIMS(array)
    cdef int64_t *target
    shape[0], shape[1] = count, ndim
    if ndim == 1:
        return positions.reshape(-1, 1)
    result = new_array(2, shape, positions.dtype)
    target = <int64_t *>cnp.PyArray_DATA(result)
    if ndim:
        for part in prange(threads, num_threads=threads, schedule='static', nogil=True):
            coordinates(source, count * part // threads, count * (part + 1) // threads, ndim, sizes, target)
    return result


cdef bint is_trailing(cnp.ndarray mask, cnp.ndarray array):
    """Whether broadcasting `mask` to `array` only repeats it as a whole."""
    shape = (<object>mask).shape
    while shape and shape[0] == 1:
        shape = shape[1:]
    return mask.ndim <= array.ndim and shape == (<object>array).shape[array.ndim - len(shape):]


cdef cnp.ndarray as_element(object value, cnp.dtype dtype):
    """A 0-dim array of the dtype from one, or from a Python number that surely fits; TypeError for others: the caller knows what to do with them."""
    cdef cnp.ndarray result
    cdef bint fits = type(value) is int and 0 <= value <= 127
    if isinstance(value, np.ndarray):
        return value.astype(dtype)
    if (type(value) is int or type(value) is float) and dtype.kind == b"f" and dtype.itemsize >= 4:
        fits = not 1e38 <= abs(value) < INFINITY
    if not fits:
        raise TypeError(f"masked_fill(): {value!r} may not fit {dtype}")
    result = new_array(0, NULL, dtype)
    result[()] = value
    return result


def masked_fill(cnp.ndarray array not None, cnp.ndarray mask not None, value, cnp.ndarray out=None):
    """A copy of `array` with `value` wherever `mask` is true; in `out`, which may be `array` itself."""
    cdef cnp.ndarray filler = as_element(value, array.dtype), result
    cdef Py_ssize_t size, period, part, parts
    cdef void *source
    cdef const uint8_t *flags
    cdef const char *filler_data
    cdef char *data
    cdef Fill fill_part = fillers[cnp.PyArray_ITEMSIZE(array)]
    if cnp.PyArray_TYPE(mask) != cnp.NPY_BOOL:
        raise TypeError(f"masked_fill(): mask must be a boolean array, got dtype {mask.dtype}")
    if filler.ndim:
        raise RuntimeError(f"masked_fill(): value must be a scalar or a 0-dim array, got shape {list((<object>filler).shape)}")
    if not cnp.PyArray_IS_C_CONTIGUOUS(array) or not is_trailing(mask, array) or out is not None and out is not array:
        return ternary(WHERE, mask, filler, array, out)
    mask = contiguous(mask)
    result = new_array(cnp.PyArray_NDIM(array), <const Py_ssize_t *>cnp.PyArray_DIMS(array), array.dtype) if out is None else out
    size, period = cnp.PyArray_SIZE(array), cnp.PyArray_SIZE(mask)
    source, flags, data = cnp.PyArray_DATA(array), <const uint8_t *>cnp.PyArray_DATA(mask), cnp.PyArray_BYTES(result)
    filler_data = cnp.PyArray_BYTES(filler)
    parts = threads_for(size)
    for part in prange(parts, num_threads=<int>parts, schedule='static', nogil=True):
        fill_part(source, flags, period, filler_data, size * part // parts, size * (part + 1) // parts, data)
    return result


def masked_scatter(cnp.ndarray array not None, cnp.ndarray mask not None, cnp.ndarray source not None):
    """A copy of `array` in which the true places of `mask` take the elements of `source`, in order."""
    cdef cnp.ndarray result, positions
    as_mask(mask, "masked_scatter")
    if array.dtype != source.dtype:
        raise RuntimeError(f"masked_scatter(): expected self and source to have the same dtype, got {array.dtype} and {source.dtype}")
    array, mask = np.broadcast_arrays(array, mask)
    result = contiguous_copy(array)
    positions = compressed(None, contiguous(mask), INT64_TYPE)
    if source.size < positions.size:
        raise RuntimeError(f"masked_scatter(): number of elements of source ({source.size}) < number of ones in mask ({positions.size})")
    index_put_(result.reshape(-1), [positions], source.reshape(-1)[:positions.size])
    return result


cdef cnp.ndarray triangle(cnp.ndarray array, Py_ssize_t diagonal, bint lower, str name):
    """A copy of the matrices in the last two dimensions with zeros above (lower) or below the diagonal."""
    cdef cnp.ndarray result = contiguous_copy(array)
    cdef Py_ssize_t rows, columns, itemsize = cnp.PyArray_ITEMSIZE(result), matrix, row, cut
    cdef char *data = cnp.PyArray_BYTES(result)
    if result.ndim < 2:
        raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions, got shape {list((<object>array).shape)}")
    rows, columns = result.shape[result.ndim - 2], result.shape[result.ndim - 1]
    if cnp.PyArray_SIZE(result) == 0:
        return result
    diagonal = min(max(diagonal, -rows - 1), columns)
    for matrix in range(cnp.PyArray_SIZE(result) // (rows * columns)):
        for row in range(rows):
            cut = min(max(row + diagonal + (1 if lower else 0), <Py_ssize_t>0), columns)
            if lower:
                memset(data + cut * itemsize, 0, (columns - cut) * itemsize)
            else:
                memset(data, 0, cut * itemsize)
            data += columns * itemsize
    return result


def tril(cnp.ndarray array not None, Py_ssize_t diagonal=0):
    return triangle(array, diagonal, True, "tril")


def triu(cnp.ndarray array not None, Py_ssize_t diagonal=0):
    return triangle(array, diagonal, False, "triu")
