"""Runs of equal elements: unique ones, and the most frequent."""
cimport numpy as cnp
from libc.stdint cimport int64_t, uint8_t

import numpy as np

from pyx_tensor_cpu.iterate cimport contiguous
from pyx_tensor_cpu.sort cimport from_rows, new_rows, nonempty_rows, row_length, row_order, take_rows

from pyx_tensor_cpu.masks import masked_select, nonzero

cnp.import_array()

cdef object INT64 = np.dtype(np.int64)


def mode(cnp.ndarray array not None, Py_ssize_t dim, bint keepdim=False):
    """(values, indices) of the most frequent element, the smallest of several; the index of its last occurrence."""
    cdef cnp.ndarray rows = nonempty_rows(array, dim, "mode"), order = row_order(rows, False, "mode")
    cdef cnp.ndarray values = take_rows(rows, order), longest = ends_of_longest(run_starts(values))
    values, order = take_rows(values, longest), take_rows(order, longest)
    return from_rows(values, dim, array.ndim, keepdim), from_rows(order, dim, array.ndim, keepdim)


cdef cnp.ndarray run_starts(cnp.ndarray rows):
    """Where an element differs from the one before it in its row (each NaN differs from all)."""
    cdef cnp.ndarray starts = np.ones((<object>rows).shape, np.bool_)
    np.not_equal(rows[..., 1:], rows[..., :-1], out=starts[..., 1:])
    return starts


cdef cnp.ndarray ends_of_longest(cnp.ndarray starts):
    """The last place of the longest run in each row, the first of several."""
    cdef Py_ssize_t length = row_length(starts), count = cnp.PyArray_SIZE(starts) // length, row, i, start, longest
    cdef cnp.ndarray result = new_rows(starts, 1, INT64)
    cdef const uint8_t *flags = <const uint8_t *>cnp.PyArray_DATA(starts)
    cdef int64_t *ends = <int64_t *>cnp.PyArray_DATA(result)
    for row in range(count):
        longest = -1
        for i in range(length):
            start = i if flags[i] else start
            if i - start > longest:
                longest, ends[row] = i - start, i
        flags += length
    return result


cdef tuple runs(cnp.ndarray values, bint return_counts):
    """(elements, flags of their first places, lengths or an empty array) of the runs of equal elements of a vector."""
    starts = run_starts(values)
    if not return_counts:
        return masked_select(values, starts), starts, np.empty(0, INT64)
    return masked_select(values, starts), starts, np.diff(nonzero(starts).reshape(-1), append=values.shape[0])


cdef cnp.ndarray run_numbers(cnp.ndarray starts, cnp.ndarray order):
    """The number of the run that holds each element; `order` says where the elements were before sorting, if they were."""
    cdef Py_ssize_t count = starts.shape[0], i
    cdef cnp.ndarray result = new_rows(starts, count, INT64)
    cdef const uint8_t *flags = <const uint8_t *>cnp.PyArray_DATA(starts)
    cdef const int64_t *places = NULL if order is None else <const int64_t *>cnp.PyArray_DATA(order)
    cdef int64_t *numbers = <int64_t *>cnp.PyArray_DATA(result)
    cdef int64_t run = -1
    for i in range(count):
        run += flags[i]
        numbers[i if places == NULL else places[i]] = run
    return result


def unique(cnp.ndarray array not None, bint sorted=True, bint return_inverse=False, bint return_counts=False):
    """(values in order, inverse in the shape of `array`, counts); what is not asked for is empty."""
    cdef cnp.ndarray flat = contiguous(array).reshape(-1), order = row_order(flat, False, "unique")
    values, starts, counts = runs(take_rows(flat, order), return_counts)
    inverse = run_numbers(starts, order).reshape((<object>array).shape) if return_inverse else np.empty(0, INT64)
    return values, inverse, counts


def unique_consecutive(cnp.ndarray array not None, bint return_inverse=False, bint return_counts=False):
    """The same of runs of equal neighbours."""
    values, starts, counts = runs(contiguous(array).reshape(-1), return_counts)
    inverse = run_numbers(starts, None).reshape((<object>array).shape) if return_inverse else np.empty(0, INT64)
    return values, inverse, counts
