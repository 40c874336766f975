"""How a loop goes through its operands: dimensions ordered and merged, tiles, blocks, conversions, threads."""
cimport numpy as cnp

from pyx_tensor_cpu.ops cimport Loop

cdef enum:
    MAX_DIMS = 64
    MAX_OPERANDS = 5
    BLOCK = 1024                    # elements
    RELEASE_GIL = 1 << 16           # work from which other Python threads may run meanwhile

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

cdef void add_operand(Plan* plan, cnp.ndarray a, Loop convert_loop, int convert_op)
cdef void copy_strided(char* dst, Py_ssize_t dst_step, const char* src, Py_ssize_t src_step, Py_ssize_t n, Py_ssize_t itemsize) noexcept nogil
cdef void run(Plan* plan, Py_ssize_t cost)
