"""Pooling's reading of arguments, for other loops over windows."""

cdef int spread(object numbers, Py_ssize_t* to, Py_ssize_t missing) except -1
