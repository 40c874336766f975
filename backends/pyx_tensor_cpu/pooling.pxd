"""Pooling's reading of arguments, for other loops over windows."""
from pyx_tensor_cpu.pooling_table cimport Pool

cdef int spread(object numbers, Py_ssize_t* to, Py_ssize_t missing) except -1
cdef int spread_all(Pool* s, size, kernel, grid, stride, padding, dilation) except -1
