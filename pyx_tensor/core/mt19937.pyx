"""The Mersenne Twister MT19937 of PyTorch's CPU stream (Matsumoto and Nishimura, 1998).

The words are made 624 at a time, in loops that the compiler vectorises. `Engine` holds one stream; the
distributions on top of it are in `distributions.pyx`, the public `Generator` in `random.py`.
"""
import os
from weakref import WeakSet

cimport cython
import numpy as np
from libc.math cimport cos, log1p, sin, sqrt, M_PI
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.string cimport memcpy

cdef enum:
    PAIRS = 256


cdef void seed_engine(Mersenne* e, uint64_t seed) noexcept nogil:
    """`init_genrand` of the original program; only the low 32 bits of the seed count."""
    cdef uint32_t i
    e.seed = seed
    e.state[0] = <uint32_t>seed
    for i in range(1, WORDS):
        e.state[i] = <uint32_t>1812433253 * (e.state[i - 1] ^ (e.state[i - 1] >> 30)) + i
    e.left = 1
    e.position = 0
    e.has_double = e.has_float = False


cdef inline uint32_t twist(uint32_t upper, uint32_t lower) noexcept nogil:
    cdef uint32_t joined = (upper & <uint32_t>0x80000000) | (lower & <uint32_t>0x7fffffff)
    return (joined >> 1) ^ ((0 - (lower & 1)) & <uint32_t>0x9908b0df)


cdef void regenerate(Mersenne* e) noexcept nogil:
    cdef uint32_t* s = e.state
    cdef int k
    for k in range(WORDS - PERIOD_SHIFT):
        s[k] = s[k + PERIOD_SHIFT] ^ twist(s[k], s[k + 1])
    for k in range(WORDS - PERIOD_SHIFT, WORDS - 1):
        s[k] = s[k + PERIOD_SHIFT - WORDS] ^ twist(s[k], s[k + 1])
    s[WORDS - 1] = s[PERIOD_SHIFT - 1] ^ twist(s[WORDS - 1], s[0])
    e.left = WORDS + 1
    e.position = 0


cdef void draw(Mersenne* e, uint32_t* words, Py_ssize_t count) noexcept nogil:
    cdef Py_ssize_t i, size
    cdef uint32_t* s
    while count > 0:
        if e.left == 1:
            regenerate(e)
        size = min(count, e.left - 1)
        s = e.state + e.position
        for i in range(size):
            words[i] = temper(s[i])
        e.left -= <int>size
        e.position += <int>size
        words += size
        count -= size


cdef void draw_doubles(Mersenne* e, double* values, Py_ssize_t count) noexcept nogil:
    cdef uint32_t[2 * PAIRS] words
    cdef Py_ssize_t i, size
    while count > 0:
        size = min(count, PAIRS)
        draw(e, words, 2 * size)
        for i in range(size):
            values[i] = unit_double(words[2 * i], words[2 * i + 1])
        values += size
        count -= size


cdef double next_normal(Mersenne* e) noexcept nogil:
    """One standard normal; Box-Muller makes two, the second waits for the next call."""
    cdef double angle, radius
    if e.has_double:
        e.has_double = False
        return e.cached_double
    angle = 2.0 * M_PI * next_double(e)
    radius = sqrt(-2.0 * log1p(-next_double(e)))
    e.cached_double = radius * sin(angle)
    e.has_double = True
    return radius * cos(angle)


cdef object _engines = WeakSet()


def _unlock_in_child():
    """After a fork: a lock that another thread held would never be released, as only the forking thread goes on."""
    for engine in list(_engines):
        if (<Engine>engine).mutex.locked():
            (<Engine>engine).mutex.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_unlock_in_child)


@cython.binding(False)
cdef class Engine:
    """One stream of random words. Not bound to a thread: each call takes the engine's lock."""

    def __cinit__(self, *args, **kwargs):
        seed_engine(&self.mersenne, 67280421310721)
        _engines.add(self)

    def _seed(self, uint64_t seed):
        with self.mutex:
            seed_engine(&self.mersenne, seed)

    def initial_seed(self):
        """The seed that the stream was last started with, as an unsigned 64-bit integer."""
        return self.mersenne.seed

    def _snapshot(self):
        """`(seed, left, position, words, waiting double normal, waiting float normal)`; None where nothing waits."""
        words = np.empty(WORDS, np.uint32)
        cdef uint32_t[::1] view = words
        cdef Mersenne* e = &self.mersenne
        with self.mutex:
            memcpy(&view[0], e.state, sizeof(e.state))
            return (e.seed, e.left, e.position, words, e.cached_double if e.has_double else None,
                    e.cached_float if e.has_float else None)

    def _restore(self, uint64_t seed, int left, int position, words, double_normal, float_normal):
        """Take over what `_snapshot` gave; raises ValueError, with nothing changed, if it is no valid state."""
        if not (0 < left <= WORDS and 0 <= position <= WORDS and position + left - 1 <= WORDS):
            raise ValueError(f"no MT19937 state has left={left} and next={position}")
        cdef const uint32_t[::1] view = np.ascontiguousarray(words, np.uint32)
        if view.shape[0] != WORDS:
            raise ValueError(f"an MT19937 state has {WORDS} words, not {view.shape[0]}")
        cdef double cached_double = 0.0 if double_normal is None else double_normal
        cdef float cached_float = 0.0 if float_normal is None else float_normal
        cdef Mersenne* e = &self.mersenne
        with self.mutex:
            memcpy(e.state, &view[0], sizeof(e.state))
            e.seed, e.left, e.position = seed, left, position
            e.has_double, e.cached_double = double_normal is not None, cached_double
            e.has_float, e.cached_float = float_normal is not None, cached_float
