"""The C side of the engine, for modules that draw from it with the GIL released."""
cimport cython
from libc.stdint cimport int64_t, uint32_t, uint64_t

cdef enum:
    WORDS = 624        # the size of the state
    PERIOD_SHIFT = 397


cdef struct Mersenne:
    uint32_t[WORDS] state
    int left               # words not yet used, plus one
    int position           # of the next word
    uint64_t seed
    bint has_double        # a second normal of a pair waits in cached_double
    double cached_double
    bint has_float         # kept because the state has a place for it; no CPU distribution sets it
    float cached_float


cdef class Engine:
    cdef Mersenne mersenne
    cdef cython.pymutex mutex
    cdef object __weakref__


cdef void seed_engine(Mersenne* e, uint64_t seed) noexcept nogil
cdef void regenerate(Mersenne* e) noexcept nogil
cdef void draw(Mersenne* e, uint32_t* words, Py_ssize_t count) noexcept nogil
cdef void draw_doubles(Mersenne* e, double* values, Py_ssize_t count) noexcept nogil
cdef double next_normal(Mersenne* e) noexcept nogil


cdef inline uint32_t temper(uint32_t y) noexcept nogil:
    y ^= y >> 11
    y ^= (y << 7) & <uint32_t>0x9d2c5680
    y ^= (y << 15) & <uint32_t>0xefc60000
    return y ^ (y >> 18)


cdef inline uint32_t next_word(Mersenne* e) noexcept nogil:
    if e.left == 1:
        regenerate(e)
    e.left -= 1
    e.position += 1
    return temper(e.state[e.position - 1])


cdef inline double unit_double(uint32_t high, uint32_t low) noexcept nogil:
    """53 bits of a 64-bit word, as a number in [0, 1)."""
    return <double><int64_t>((<uint64_t>(high & <uint32_t>0x1fffff) << 32) | low) * (1.0 / 9007199254740992.0)


cdef inline double next_double(Mersenne* e) noexcept nogil:
    cdef uint32_t high = next_word(e)
    return unit_double(high, next_word(e))
