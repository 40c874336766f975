"""Sorting and selecting 64-bit keys by their digits."""
from libc.stdint cimport uint64_t

cdef void radix_sort(uint64_t *keys, uint64_t *spare, Py_ssize_t count) noexcept nogil
cdef uint64_t radix_select(const uint64_t *keys, uint64_t *spare, Py_ssize_t count, Py_ssize_t k) noexcept nogil
