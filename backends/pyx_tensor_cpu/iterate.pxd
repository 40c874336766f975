"""The driver of elementwise loops: the table of loops, broadcasting, the result's layout."""
cimport numpy as cnp

cdef cnp.ndarray unary(int op, cnp.ndarray a, cnp.ndarray out)
cdef cnp.ndarray binary(int op, cnp.ndarray a, cnp.ndarray b, cnp.ndarray out)
cdef cnp.ndarray ternary(int op, cnp.ndarray a, cnp.ndarray b, cnp.ndarray c, cnp.ndarray out)
cdef cnp.ndarray quaternary(int op, cnp.ndarray a, cnp.ndarray b, cnp.ndarray c, cnp.ndarray d, cnp.ndarray out)
cdef int convert_into(cnp.ndarray dst, cnp.ndarray src) except -1
cdef cnp.ndarray contiguous_copy(cnp.ndarray a)
cdef cnp.ndarray contiguous(cnp.ndarray a)
cdef cnp.ndarray as_type(cnp.ndarray a, cnp.dtype dtype)
cdef cnp.ndarray widened(cnp.ndarray a)
