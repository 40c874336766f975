"""The driver of all reductions: from an array and a set of dims to calls of the kernels' leaves."""
cimport numpy as cnp

from pyx_tensor_cpu.reduce_table cimport LoadMap, ReduceOp, ReduceTable

cdef enum:
    MAX_DIMS = 64
    LEAF = 4096             # longest run that one fold is asked for

cdef ReduceTable* kernels() noexcept nogil
cdef int reduce_array(ReduceOp op, LoadMap map, int code, cnp.ndarray a, const bint* is_reduced,
                      char* out, char* extra) except -1
