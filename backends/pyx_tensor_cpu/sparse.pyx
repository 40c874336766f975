"""The product of a sparse matrix, given by its values and their places, and a dense one."""
cimport numpy as cnp
from cython.parallel cimport prange
from libc.stdint cimport int64_t

import numpy as np

from pyx_tensor_cpu.dtypes cimport C64, C128, F32, F64, I64, code_of
from pyx_tensor_cpu.iterate cimport contiguous
from pyx_tensor_cpu.parallel cimport threads_for

cnp.import_array()

ctypedef float complex c64
ctypedef double complex c128

ctypedef fused Number:
    int64_t
    float
    double
    c64
    c128


cdef bint check_places(const int64_t* places, Py_ssize_t count, Py_ssize_t size, str what) except -1:
    """ValueError where a place lies outside; whether they never fall."""
    cdef Py_ssize_t i
    cdef bint rising = True
    for i in range(count):
        if places[i] < 0 or places[i] >= size:
            raise ValueError(f"sparse_mm(): a value stands in {what} {places[i]} of {size}")
        rising = rising and (i == 0 or places[i - 1] <= places[i])
    return rising


cdef void add_rows(const Number* values, const int64_t* rows, const int64_t* columns, const Number* dense, Number* out, Py_ssize_t begin,
                   Py_ssize_t end, Py_ssize_t width) noexcept nogil:
    """out[row] += value * dense[column], for the values from begin to end."""
    cdef Py_ssize_t i, j
    cdef const Number* source
    cdef Number* target
    cdef Number value
    for i in range(begin, end):
        value, source, target = values[i], dense + columns[i] * width, out + rows[i] * width
        for j in range(width):
            target[j] = target[j] + value * source[j]


cdef Py_ssize_t row_start(const int64_t* rows, Py_ssize_t i, Py_ssize_t count) noexcept nogil:
    """The first value from i on that begins a row."""
    while 0 < i < count and rows[i] == rows[i - 1]:
        i += 1
    return i


cdef void multiply(Number* kind, cnp.ndarray values, cnp.ndarray rows, cnp.ndarray columns, cnp.ndarray dense, cnp.ndarray out, int threads):
    cdef Py_ssize_t count = cnp.PyArray_SIZE(rows), width = cnp.PyArray_DIM(dense, 1)
    cdef const Number* v = <const Number*>cnp.PyArray_DATA(values)
    cdef const int64_t* r = <const int64_t*>cnp.PyArray_DATA(rows)
    cdef const int64_t* c = <const int64_t*>cnp.PyArray_DATA(columns)
    cdef const Number* d = <const Number*>cnp.PyArray_DATA(dense)
    cdef Number* o = <Number*>cnp.PyArray_DATA(out)
    cdef int t
    with nogil:
        for t in prange(threads, num_threads=threads, schedule="static"):
            add_rows(v, r, c, d, o, row_start(r, count * t // threads, count), row_start(r, count * (t + 1) // threads, count), width)


def sparse_mm(cnp.ndarray values not None, cnp.ndarray rows not None, cnp.ndarray columns not None, cnp.ndarray dense not None, Py_ssize_t n):
    """(n, p): values (k) at rows and columns (k, int64) of a matrix (n, m), times dense (m, p). Values at the same place add up.

    Where the rows rise, as those of a coalesced tensor do, threads share them.
    """
    cdef int code = code_of(values), threads
    if code != code_of(dense) or code not in (I64, F32, F64, C64, C128):
        raise TypeError(f"sparse_mm: not implemented for dtype {values.dtype}")
    if dense.ndim != 2 or values.ndim != 1 or rows.ndim != 1 or columns.ndim != 1 or not values.size == rows.size == columns.size:
        raise ValueError(f"sparse_mm(): shapes {np.shape(values)}, {np.shape(rows)}, {np.shape(columns)} and {np.shape(dense)} don't fit")
    values, rows, columns, dense = contiguous(values), contiguous(rows), contiguous(columns), contiguous(dense)
    check_places(<const int64_t*>cnp.PyArray_DATA(columns), columns.size, dense.shape[0], "column")
    rising = check_places(<const int64_t*>cnp.PyArray_DATA(rows), rows.size, n, "row")
    threads = max(1, threads_for(values.size * dense.shape[1])) if rising else 1
    out = np.zeros((n, dense.shape[1]), dense.dtype)
    if code == I64:
        multiply[int64_t](NULL, values, rows, columns, dense, out, threads)
    elif code == F32:
        multiply[float](NULL, values, rows, columns, dense, out, threads)
    elif code == F64:
        multiply[double](NULL, values, rows, columns, dense, out, threads)
    elif code == C64:
        multiply[c64](NULL, values, rows, columns, dense, out, threads)
    else:
        multiply[c128](NULL, values, rows, columns, dense, out, threads)
    return out
