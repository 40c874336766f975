"""What the distance kernels of one CPU level offer the driver, for float32 and float64."""

cdef enum:
    COLUMNS = 64            # points of the right side that are taken together
    DEPTH = 8               # coordinates taken together: both sides are padded with zeros to a multiple

cdef enum Norm:
    COUNT                   # of the coordinates that differ: p = 0
    MANHATTAN
    EUCLIDEAN
    CHEBYSHEV
    POWER

# Distances of one point to `columns` <= COLUMNS points, which lie turned: `depth` rows of COLUMNS coordinates.
ctypedef void (*Distances)(const char* point, const char* turned, Py_ssize_t depth, Py_ssize_t columns, Norm norm, double p,
                           char* out) noexcept nogil

ctypedef struct DistanceTable:
    Distances single
    Distances double_
