"""Sorting and selecting 64-bit keys by their digits: no comparison, so no branch that could be guessed wrong.

Sorting (Knuth, The Art of Computer Programming, volume 3, section 5.2.5) goes from the last digit to the first, each pass stable;
selecting goes from the first, and keeps what shares the digits of the element sought.
"""
from libc.string cimport memcpy, memset

cdef enum:
    DIGIT = 8                   # bits: the buckets' open lines fit the first-level cache
    BUCKETS = 1 << DIGIT
    PASSES = 32 // DIGIT
    SELECT_DIGIT = 11
    SELECT_BUCKETS = 1 << SELECT_DIGIT


cdef bint first_places(uint64_t *counts, Py_ssize_t count) noexcept nogil:
    """Turn the counts of a digit's values into the places of their first elements; False where one value has all."""
    cdef uint64_t place = 0, size
    cdef int i
    for i in range(BUCKETS):
        size = counts[i]
        if size == <uint64_t>count:
            return False
        counts[i] = place
        place += size
    return True


cdef void radix_sort(uint64_t *keys, uint64_t *spare, Py_ssize_t count) noexcept nogil:
    """Sort `count` keys by their upper 32 bits; equal ones keep their order. `spare` has room for as many."""
    cdef uint64_t counts[PASSES][BUCKETS]
    cdef uint64_t *source = keys
    cdef uint64_t *target = spare
    cdef uint64_t key
    cdef Py_ssize_t i
    cdef int digit, shift
    memset(counts, 0, sizeof(counts))
    for i in range(count):
        key = keys[i] >> 32
        for digit in range(PASSES):
            counts[digit][(key >> (digit * DIGIT)) & (BUCKETS - 1)] += 1
    for digit in range(PASSES):
        if not first_places(counts[digit], count):
            continue
        shift = 32 + digit * DIGIT
        for i in range(count):
            key = source[i]
            target[counts[digit][(key >> shift) & (BUCKETS - 1)]] = key
            counts[digit][(key >> shift) & (BUCKETS - 1)] += 1
        source, target = target, source
    if source != keys:
        memcpy(keys, source, count * sizeof(uint64_t))


cdef uint64_t radix_select(const uint64_t *keys, uint64_t *spare, Py_ssize_t count, Py_ssize_t k) noexcept nogil:
    """The k-th smallest of `count` keys, counted from 0. `spare` has room for as many."""
    cdef uint64_t counts[SELECT_BUCKETS]
    cdef uint64_t bucket = 0, key
    cdef const uint64_t *source = keys
    cdef Py_ssize_t i, kept
    cdef int shift = 64
    while shift > 0:
        shift = max(shift - SELECT_DIGIT, 0)
        memset(counts, 0, sizeof(counts))
        for i in range(count):
            counts[(source[i] >> shift) & (SELECT_BUCKETS - 1)] += 1
        bucket = 0
        while <uint64_t>k >= counts[bucket]:
            k -= counts[bucket]
            bucket += 1
        if counts[bucket] == <uint64_t>count:
            continue
        kept = 0
        for i in range(count):
            key = source[i]
            spare[kept] = key
            kept += ((key >> shift) & (SELECT_BUCKETS - 1)) == bucket
        source, count = spare, kept
        if count == 1:
            break
    return source[0]
