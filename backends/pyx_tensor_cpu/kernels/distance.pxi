# cython: language_level=3
"""Distances of points by the norms of their differences: the differences themselves are summed, not products, so that close points
keep their accuracy."""
from cpython.pycapsule cimport PyCapsule_New
from libc.string cimport memset

from pyx_tensor_cpu.distance_table cimport CHEBYSHEV, COLUMNS, COUNT, DEPTH, EUCLIDEAN, GROUP, MANHATTAN, POWER, Distances, DistanceTable, Norm

cdef extern from "tile.h" nogil:
    enum:
        TILE_ROWS
        TILE_BYTES
        TILE_VECTORS
    void tile_f32_squared_distances(int rows, int vectors, Py_ssize_t depth, const float* a, Py_ssize_t a_row, const float* b, Py_ssize_t b_row, float* out,
                                    Py_ssize_t out_row, bint accumulate)
    void tile_f64_squared_distances(int rows, int vectors, Py_ssize_t depth, const double* a, Py_ssize_t a_row, const double* b, Py_ssize_t b_row, double* out,
                                    Py_ssize_t out_row, bint accumulate)

cdef enum:
    RUN = 64                # coordinates whose squares are summed before the sum is added to those of others, so that errors don't grow with the depth

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
    if norm == COUNT:
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


cdef void squared_distances(const Floating* points, Py_ssize_t rows, const Floating* turned, Py_ssize_t depth, Py_ssize_t columns,
                            Floating* total) noexcept nogil:
    """Rows of COLUMNS sums, tile by tile."""
    cdef Py_ssize_t lanes = TILE_BYTES // <Py_ssize_t>sizeof(Floating), widest = lanes * TILE_VECTORS, down, right, run, i, j, d, length
    cdef int height, vectors
    for down in range((rows + TILE_ROWS - 1) // TILE_ROWS):
        i = down * TILE_ROWS
        height = <int>min(rows - i, <Py_ssize_t>TILE_ROWS)
        for right in range((columns + widest - 1) // widest):
            j = right * widest
            vectors = <int>min((columns - j + lanes - 1) // lanes, <Py_ssize_t>TILE_VECTORS)
            for run in range((depth + RUN - 1) // RUN):
                d = run * RUN
                length = min(depth - d, <Py_ssize_t>RUN)
                if Floating is float:
                    tile_f32_squared_distances(height, vectors, length, points + i * depth + d, depth, turned + d * COLUMNS + j, COLUMNS,
                                               total + i * COLUMNS + j, COLUMNS, run > 0)
                else:
                    tile_f64_squared_distances(height, vectors, length, points + i * depth + d, depth, turned + d * COLUMNS + j, COLUMNS,
                                               total + i * COLUMNS + j, COLUMNS, run > 0)


cdef void euclidean(const Floating* points, Py_ssize_t rows, const Floating* turned, Py_ssize_t depth, Py_ssize_t columns, Floating* out,
                    Py_ssize_t out_row) noexcept nogil:
    cdef Floating total[GROUP * COLUMNS]
    cdef Py_ssize_t i, j
    memset(total, 0, sizeof(total))         # what no coordinate is added to
    squared_distances(points, rows, turned, depth, columns, total)
    for i in range(rows):
        for j in range(columns): out[i * out_row + j] = m_sqrt(total[i * COLUMNS + j])


cdef void one_by_one(const Floating* x, const Floating* turned, Py_ssize_t depth, Py_ssize_t columns, Norm norm, double p, Floating* out) noexcept nogil:
    """The distances of one point; compiled apart for each norm."""
    cdef Floating total[COLUMNS]
    cdef Floating power = <Floating>p, root = <Floating>(1 / p) if p != 0 else 1
    cdef Py_ssize_t j
    if norm == MANHATTAN:
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


cdef void distances(const Floating* points, Py_ssize_t rows, const Floating* turned, Py_ssize_t depth, Py_ssize_t columns, Norm norm, double p,
                    Floating* out, Py_ssize_t out_row) noexcept nogil:
    cdef Py_ssize_t i
    if norm == EUCLIDEAN:
        euclidean(points, rows, turned, depth, columns, out, out_row)
    else:
        for i in range(rows): one_by_one(points + i * depth, turned, depth, columns, norm, p, out + i * out_row)


cdef DistanceTable TABLE
TABLE.single = <Distances>distances[float]
TABLE.double_ = <Distances>distances[double]
table = PyCapsule_New(&TABLE, NULL, NULL)
