"""Loops that move or combine elements of an array at places told by an index (gather, scatter, advanced indexing)."""
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
cimport numpy as cnp

ctypedef struct Bytes16:
    uint64_t low
    uint64_t high

# An element that is moved and never looked at.
ctypedef fused Item:
    uint8_t
    uint16_t
    uint32_t
    uint64_t
    Bytes16

cdef enum:
    MAX_DIMS = 64

cdef enum Operation:
    GET      # dense = array[index]
    PUT      # array[index] = dense
    ADD      # array[index] += dense
    MULTIPLY
    MAXIMUM
    MINIMUM

# The element of `array` that a step of the loop meets lies `index * scale` bytes beyond where `array_step` leads.
cdef struct IndexLoop:
    int ndim
    Py_ssize_t shape[MAX_DIMS]
    Py_ssize_t array_step[MAX_DIMS]
    Py_ssize_t index_step[MAX_DIMS]
    Py_ssize_t dense_step[MAX_DIMS]
    bint independent[MAX_DIMS]  # different steps never meet the same element of `array`
    Py_ssize_t scale
    Operation operation
    bint checked                # look for indices outside 0 … last on the way
    int64_t last

cdef void loop_init(IndexLoop *loop, Py_ssize_t scale, Operation operation) noexcept nogil
cdef void loop_check(IndexLoop *loop, Py_ssize_t size) noexcept nogil
cdef int loop_add(IndexLoop *loop, Py_ssize_t size, Py_ssize_t array_step, Py_ssize_t index_step, Py_ssize_t dense_step,
                  bint independent) except -1 nogil
cdef bint loop_run(IndexLoop *loop, cnp.ndarray array, cnp.ndarray index, cnp.ndarray dense) except? False
cdef bint all_within(const int64_t *index, Py_ssize_t count, int64_t size) noexcept nogil
cdef void index_range(const int64_t *index, Py_ssize_t count, int64_t *lowest, int64_t *highest) noexcept nogil
cdef void add_offsets(const int64_t *index, Py_ssize_t count, int64_t size, int64_t stride, int64_t *offsets) noexcept nogil
