"""The driver of elementwise loops: broadcasting, result layout, blocks, conversions, threads."""
cimport numpy as cnp
from cpython.object cimport PyObject

from pyx_tensor_cpu.ops cimport Loop

cdef enum:
    MAX_DIMS = 64
    MAX_OPERANDS = 5

cdef struct Operand:
    char* data
    Py_ssize_t itemsize             # in memory
    Loop convert                    # between memory and the loop's float, for half-precision operands; else NULL
    int convert_op
    bint dense                      # its elements lie in memory in the order of the iteration
    bint constant                   # one element for all
    Py_ssize_t strides[MAX_DIMS]    # bytes; 0 where broadcast

cdef struct Plan:
    int op
    Loop loop
    int operands                    # the result, then the inputs
    int ndim
    Py_ssize_t size
    bint tiled                      # an operand runs along the second last dimension: blocks are several short rows
    bint streams                    # … and the result is written past the caches
    Py_ssize_t shape[MAX_DIMS]
    Operand operand[MAX_OPERANDS]

cdef Loop find(int op, int code)
cdef void run(Plan* plan, Py_ssize_t cost)
cdef cnp.ndarray unary(int op, cnp.ndarray a, cnp.ndarray out)
cdef cnp.ndarray binary(int op, cnp.ndarray a, cnp.ndarray b, cnp.ndarray out)
cdef cnp.ndarray ternary(int op, cnp.ndarray a, cnp.ndarray b, cnp.ndarray c, cnp.ndarray out)
cdef cnp.ndarray quaternary(int op, cnp.ndarray a, cnp.ndarray b, cnp.ndarray c, cnp.ndarray d, cnp.ndarray out)
cdef int convert_into(cnp.ndarray dst, cnp.ndarray src) except -1
