"""Rows in order, for the modules that look for runs in them."""
cimport numpy as cnp

cdef cnp.ndarray nonempty_rows(cnp.ndarray array, Py_ssize_t dim, str name)
cdef cnp.ndarray from_rows(cnp.ndarray rows, Py_ssize_t dim, Py_ssize_t ndim, bint keep=*)
cdef cnp.ndarray new_rows(cnp.ndarray rows, Py_ssize_t length, cnp.dtype dtype)
cdef Py_ssize_t row_length(cnp.ndarray rows) noexcept
cdef cnp.ndarray take_rows(cnp.ndarray rows, cnp.ndarray order)
cdef cnp.ndarray row_order(cnp.ndarray rows, bint descending, str name)
