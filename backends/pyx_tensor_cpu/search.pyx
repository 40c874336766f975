"""Searching in sorted values, and counting."""
from cython.parallel cimport prange
from libc.stdint cimport int64_t, uint8_t, uint64_t
cimport numpy as cnp

import numpy as np

from pyx_tensor_cpu.dtypes cimport BF16, F16, F32, F64, U64, code_of
from pyx_tensor_cpu.iterate cimport contiguous, widened
from pyx_tensor_cpu.memory cimport new_array
from pyx_tensor_cpu.parallel cimport threads_for

cnp.import_array()

ctypedef fused Ordered:
    float
    double
    int64_t
    uint64_t

ctypedef fused Real:
    float
    double

cdef enum:
    SEARCH_COST = 16  # of one value, an addition being 1
cdef object INT64 = np.dtype(np.int64), BOOL = np.dtype(bool)


cdef cnp.ndarray comparable(cnp.ndarray array):
    """As float32, float64, int64 or uint64, whichever holds all values of the dtype."""
    cdef int code = code_of(array)
    if cnp.PyArray_ISCOMPLEX(array):
        raise TypeError(f"{array.dtype} has no order")
    if code == F16 or code == BF16:
        return widened(array)
    if code == F32 or code == F64 or code == U64:
        return array
    return array.astype(INT64, copy=False)


# ------------------------------------------------------------------------------------------------------- searchsorted

cdef inline Py_ssize_t place_of(const Ordered *row, Py_ssize_t length, Ordered value, bint right) noexcept nogil:
    """The first place whose element is not less than `value` (greater, with `right`); a NaN goes to the end."""
    cdef const Ordered *start = row
    cdef Py_ssize_t half
    if length == 0:
        return 0
    while length > 1:       # a product instead of a branch, which would be guessed wrong half the time
        half = length >> 1
        start += half * (not ((start[half - 1] > value) if right else (start[half - 1] >= value)))
        length -= half
    return start - row + (not ((start[0] > value) if right else (start[0] >= value)))


cdef int search_rows(Ordered *rows, Py_ssize_t length, Py_ssize_t row_step, void *values, Py_ssize_t count, Py_ssize_t per_row,
                     bint right, int64_t *result) except -1:
    cdef Py_ssize_t i
    for i in prange(count, num_threads=threads_for(count * SEARCH_COST), schedule='static', nogil=True):
        result[i] = place_of(rows + (i // per_row) * row_step, length, (<Ordered *>values)[i], right)
    return 0


def searchsorted(cnp.ndarray boundaries not None, cnp.ndarray values not None, bint right=False):
    """Where `values` belong in sorted `boundaries`: one vector for all values, or a row for each row of values."""
    cdef cnp.ndarray rows = contiguous(comparable(boundaries)), wanted = contiguous(comparable(values)), result
    cdef Py_ssize_t count = cnp.PyArray_SIZE(wanted), per_row = count, step = 0, length
    cdef int code = code_of(rows)
    cdef void *source = cnp.PyArray_DATA(rows)
    cdef void *data = cnp.PyArray_DATA(wanted)
    cdef int64_t *places
    if boundaries.dtype != values.dtype:
        raise RuntimeError(f"searchsorted(): boundaries and values should have one dtype, got {boundaries.dtype} and {values.dtype}")
    if boundaries.ndim == 0 or (boundaries.ndim > 1 and
            (<object>boundaries).shape[:boundaries.ndim - 1] != (<object>values).shape[:max(values.ndim - 1, 0)]):
        raise RuntimeError(
            "searchsorted(): boundaries should have 1 dimension or the first N-1 dimensions of boundaries and values must "
            f"match, got boundaries {list((<object>boundaries).shape)} and values {list((<object>values).shape)}")
    length = rows.shape[rows.ndim - 1]
    if rows.ndim > 1:
        per_row, step = wanted.shape[wanted.ndim - 1], length
    result = new_array(cnp.PyArray_NDIM(wanted), <const Py_ssize_t *>cnp.PyArray_DIMS(wanted), INT64)
    places = <int64_t *>cnp.PyArray_DATA(result)
    if code == F32:
        search_rows(<float *>source, length, step, data, count, per_row, right, places)
    elif code == F64:
        search_rows(<double *>source, length, step, data, count, per_row, right, places)
    elif code == U64:
        search_rows(<uint64_t *>source, length, step, data, count, per_row, right, places)
    else:
        search_rows(<int64_t *>source, length, step, data, count, per_row, right, places)
    return result


cdef int mark_members(Ordered *members, Py_ssize_t length, void *values, Py_ssize_t count, bint invert, uint8_t *result) except -1:
    """Which values are among sorted members; a NaN, of which there are some at the end, is no member."""
    cdef Py_ssize_t i, place
    cdef Ordered value
    while length and members[length - 1] != members[length - 1]:
        length -= 1
    for i in prange(count, num_threads=threads_for(count * SEARCH_COST), schedule='static', nogil=True):
        value = (<Ordered *>values)[i]
        place = place_of(members, length, value, False)
        result[i] = (place < length and members[place] == value) != invert
    return 0


def isin(cnp.ndarray elements not None, cnp.ndarray test_elements not None, bint invert=False):
    """Whether each element is among the test elements (with `invert`: isn't), which have the same dtype."""
    cdef cnp.ndarray wanted, members, result
    cdef Py_ssize_t count = cnp.PyArray_SIZE(elements), length = cnp.PyArray_SIZE(test_elements)
    cdef int code
    cdef void *source
    cdef void *data
    cdef uint8_t *flags
    if elements.dtype != test_elements.dtype:
        raise TypeError(f"isin(): elements and test elements should have one dtype, got {elements.dtype} and {test_elements.dtype}")
    if cnp.PyArray_ISCOMPLEX(elements):
        return np.asarray(np.isin(elements, test_elements, invert=invert))
    wanted, members = contiguous(comparable(elements)), np.array(comparable(test_elements)).reshape(-1)
    members.sort()
    result = new_array(cnp.PyArray_NDIM(wanted), <const Py_ssize_t *>cnp.PyArray_DIMS(wanted), BOOL)
    code = code_of(wanted)
    source, data, flags = cnp.PyArray_DATA(members), cnp.PyArray_DATA(wanted), <uint8_t *>cnp.PyArray_DATA(result)
    if code == F32:
        mark_members(<float *>source, length, data, count, invert, flags)
    elif code == F64:
        mark_members(<double *>source, length, data, count, invert, flags)
    elif code == U64:
        mark_members(<uint64_t *>source, length, data, count, invert, flags)
    else:
        mark_members(<int64_t *>source, length, data, count, invert, flags)
    return result


# ----------------------------------------------------------------------------------------------------------- counting

def bincount(cnp.ndarray array not None, weights=None, Py_ssize_t minlength=0):
    """Counts of 0, 1, 2 …, or sums of `weights` (float32 stays float32, all else becomes float64)."""
    if minlength < 0:
        raise RuntimeError(f"bincount(): minlength should be >= 0, got {minlength}")
    if array.ndim != 1 or not cnp.PyArray_ISINTEGER(array):
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if weights is not None and weights.shape != (<object>array).shape:
        raise RuntimeError(f"bincount(): weights should have the shape of input {list((<object>array).shape)}, got {list(weights.shape)}")
    numbers = array.astype(INT64, copy=False)
    try:
        counts = np.bincount(numbers, None if weights is None else weights.astype(np.float64, copy=False), minlength)
    except ValueError:  # NumPy's for a negative number
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.") from None
    return counts.astype(np.float32) if weights is not None and weights.dtype == np.float32 else counts


cdef void count_bins(Real *numbers, Py_ssize_t count, Real low, Real high, Py_ssize_t bins, int64_t *counts) noexcept nogil:
    cdef Real width = high - low
    cdef Py_ssize_t i
    for i in range(count):
        if low <= numbers[i] <= high:
            counts[min(<Py_ssize_t>((numbers[i] - low) * bins / width), bins - 1)] += 1


def histc(cnp.ndarray array not None, Py_ssize_t bins, lo, hi):
    """Counts in `bins` equal bins from lo to hi (of the data where lo == hi), the last closed; in the dtype of `array`."""
    cdef cnp.ndarray numbers, counts
    if code_of(array) not in (F16, BF16, F32, F64):
        raise TypeError(f"histc is not implemented for {array.dtype}")
    if bins <= 0:
        raise RuntimeError(f"histc(): bins must be > 0, got {bins}")
    numbers = contiguous(comparable(array))
    if lo == hi and numbers.size:
        lo, hi = numbers.min(), numbers.max()
    if lo == hi:
        lo, hi = lo - 1, hi + 1
    if not (np.isfinite(lo) and np.isfinite(hi)):
        raise RuntimeError(f"histc(): range of [{lo}, {hi}] is not finite")
    if lo > hi:
        raise RuntimeError(f"histc(): max must be larger than min, got [{lo}, {hi}]")
    counts = np.zeros(bins, INT64)
    if code_of(numbers) == F32:
        count_bins[float](<float *>cnp.PyArray_DATA(numbers), cnp.PyArray_SIZE(numbers), lo, hi, bins, <int64_t *>cnp.PyArray_DATA(counts))
    else:
        count_bins[double](<double *>cnp.PyArray_DATA(numbers), cnp.PyArray_SIZE(numbers), lo, hi, bins, <int64_t *>cnp.PyArray_DATA(counts))
    return counts.astype(array.dtype)
