# Sums and maxima over rows of float32 and float64, in lanes that the compiler keeps in vector registers.
from libc.math cimport INFINITY

cdef extern from "scalar_math.h" nogil:         # for the type of their argument, whatever Cython thinks
    double m_exp(double)
    double m_log(double)
    double m_sqrt(double)

ctypedef fused Floating:
    float
    double

# Tags that choose the terms of a sum at compile time.
ctypedef struct Plain:                          # p
    char unused
ctypedef struct Dot:                            # p * q
    char unused
ctypedef struct Square:                         # (p - centre)^2
    char unused
ctypedef struct Deviation:                      # p * q * (r - centre)
    char unused
ctypedef struct Moment:                         # p * (r - centre)
    char unused

ctypedef fused Term:
    Plain
    Dot
    Square
    Deviation
    Moment

cdef enum:
    LANE_BYTES = 128                            # two of the widest vector registers
    BLOCK = 2048                                # elements that go through one pass at a time
    LONG_ROW = 64                               # elements that are vectors enough by themselves


cdef inline Floating term(Floating* p, Floating* q, Floating* r, Floating centre, Py_ssize_t i, Term* tag) noexcept nogil:
    if Term is Plain:
        return p[i]
    elif Term is Dot:
        return p[i] * q[i]
    elif Term is Square:
        return (p[i] - centre) * (p[i] - centre)
    elif Term is Moment:
        return p[i] * (r[i] - centre)
    else:
        return p[i] * q[i] * (r[i] - centre)


cdef inline void add_upper(Floating* lane, Py_ssize_t half) noexcept nogil:
    cdef Py_ssize_t j
    for j in range(half):
        lane[j] += lane[j + half]


cdef inline Floating sum_of_lanes(Floating* lane) noexcept nogil:
    """The sum of LANE_BYTES of numbers; in steps of known width, which the compiler unrolls."""
    if Floating is float:
        add_upper(lane, 16)
    add_upper(lane, 8)
    add_upper(lane, 4)
    add_upper(lane, 2)
    return lane[0] + lane[1]


cdef inline void max_upper(Floating* lane, Py_ssize_t half) noexcept nogil:
    cdef Py_ssize_t j
    for j in range(half):
        lane[j] = lane[j + half] if lane[j + half] > lane[j] else lane[j]


cdef inline Floating max_of_lanes(Floating* lane) noexcept nogil:
    if Floating is float:
        max_upper(lane, 16)
    max_upper(lane, 8)
    max_upper(lane, 4)
    max_upper(lane, 2)
    return lane[1] if lane[1] > lane[0] else lane[0]


cdef inline Floating block_sum(Floating* p, Floating* q, Floating* r, Floating centre, Py_ssize_t n, Term* tag) noexcept nogil:
    cdef Py_ssize_t width = <Py_ssize_t>(LANE_BYTES // sizeof(Floating)), i = 0, j
    cdef Floating lane[LANE_BYTES]
    cdef Floating total = 0
    if n < width:
        for i in range(n):
            total += term(p, q, r, centre, i, tag)
        return total
    for j in range(width):
        lane[j] = term(p, q, r, centre, j, tag)
    i = width
    while i + width <= n:
        for j in range(width):
            lane[j] += term(p, q, r, centre, i + j, tag)
        i += width
    for j in range(n - i):
        lane[j] += term(p, q, r, centre, i + j, tag)
    return sum_of_lanes(<Floating*>lane)


cdef inline double row_sum(Floating* p, Floating* q, Floating* r, Floating centre, Py_ssize_t n, Term* tag) noexcept nogil:
    """The sum of n terms, by blocks whose sums are added in float64."""
    cdef double total = 0
    cdef Py_ssize_t i = 0
    while i < n:
        total += block_sum(p + i, q + i, r + i, centre, min(n - i, <Py_ssize_t>BLOCK), tag)
        i += BLOCK
    return total


cdef inline Floating row_max(Floating* p, Py_ssize_t n) noexcept nogil:
    """The largest element; NaN need not be found, as the sum of exponentials finds it."""
    cdef Py_ssize_t width = <Py_ssize_t>(LANE_BYTES // sizeof(Floating)), i = 0, j
    cdef Floating lane[LANE_BYTES]
    cdef Floating best = -INFINITY
    if n >= width:
        for j in range(width):
            lane[j] = p[j]
        i = width
        while i + width <= n:
            for j in range(width):
                lane[j] = p[i + j] if p[i + j] > lane[j] else lane[j]
            i += width
        best = max_of_lanes(<Floating*>lane)
    while i < n:
        best = p[i] if p[i] > best else best
        i += 1
    return best
