# cython: language_level=3
"""Distances of points by the norms of their differences: the differences themselves are summed, not products, so that close points
keep their accuracy."""
from cpython.pycapsule cimport PyCapsule_New

from pyx_tensor_cpu.distance_table cimport CHEBYSHEV, COLUMNS, COUNT, DEPTH, EUCLIDEAN, MANHATTAN, POWER, Distances, DistanceTable, Norm

ctypedef fused Floating:
    float
    double

cdef extern from "scalar_math.h" nogil:
    double m_fabs(double)
    double m_sqrt(double)
    double m_pow(double, double)
    double m_maximum(double, double)


cdef inline Floating measured(Floating away, Norm norm, Floating p) noexcept nogil:
    """What a coordinate adds to the sum, or puts up for the maximum."""
    if norm == EUCLIDEAN:
        return away * away
    elif norm == COUNT:
        return away != 0
    elif norm == POWER:
        return m_pow(<Floating>m_fabs(away), p)
    return m_fabs(away)


cdef inline Floating joined(Floating a, Floating b, Norm norm) noexcept nogil:
    if norm == CHEBYSHEV:
        return m_maximum(a, b)
    return a + b


cdef inline void accumulate(const Floating* x, const Floating* turned, Py_ssize_t depth, Norm norm, Floating p, Floating* total) noexcept nogil:
    cdef Py_ssize_t d = 0, j
    cdef const Floating* t
    cdef Floating x0, x1, x2, x3, x4, x5, x6, x7
    for j in range(COLUMNS):
        total[j] = 0
    while d < depth:
        t = turned + d * COLUMNS
        x0, x1, x2, x3, x4, x5, x6, x7 = x[d], x[d + 1], x[d + 2], x[d + 3], x[d + 4], x[d + 5], x[d + 6], x[d + 7]
        for j in range(COLUMNS):
            total[j] = joined(total[j], joined(
                joined(joined(measured(x0 - t[j], norm, p), measured(x1 - t[COLUMNS + j], norm, p), norm),
                       joined(measured(x2 - t[2 * COLUMNS + j], norm, p), measured(x3 - t[3 * COLUMNS + j], norm, p), norm), norm),
                joined(joined(measured(x4 - t[4 * COLUMNS + j], norm, p), measured(x5 - t[5 * COLUMNS + j], norm, p), norm),
                       joined(measured(x6 - t[6 * COLUMNS + j], norm, p), measured(x7 - t[7 * COLUMNS + j], norm, p), norm), norm), norm), norm)
        d += DEPTH


cdef void distances(const Floating* x, const Floating* turned, Py_ssize_t depth, Py_ssize_t columns, Norm norm, double p,
                    Floating* out) noexcept nogil:
    """Compiled apart for each norm."""
    cdef Floating total[COLUMNS]
    cdef Floating power = <Floating>p, root = <Floating>(1 / p) if p != 0 else 1
    cdef Py_ssize_t j
    if norm == EUCLIDEAN:
        accumulate(x, turned, depth, EUCLIDEAN, power, total)
        for j in range(COLUMNS): total[j] = m_sqrt(total[j])
    elif norm == MANHATTAN:
        accumulate(x, turned, depth, MANHATTAN, power, total)
    elif norm == CHEBYSHEV:
        accumulate(x, turned, depth, CHEBYSHEV, power, total)
    elif norm == COUNT:
        accumulate(x, turned, depth, COUNT, power, total)
    else:
        accumulate(x, turned, depth, POWER, power, total)
        for j in range(COLUMNS): total[j] = m_pow(total[j], root)
    for j in range(columns):
        out[j] = total[j]


cdef DistanceTable TABLE
TABLE.single = <Distances>distances[float]
TABLE.double_ = <Distances>distances[double]
table = PyCapsule_New(&TABLE, NULL, NULL)
