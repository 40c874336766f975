"""What the distance kernels of one CPU level offer the driver, for float32 and float64."""

cdef enum:
    COLUMNS = 48            # points of the right side that are taken together: vectors of tile.h, three or six … whatever their length
    GROUP = 8               # points of the left side that are
    DEPTH = 8               # coordinates taken together: both sides are padded with zeros to a multiple

cdef enum Norm:
    COUNT                   # of the coordinates that differ: p = 0
    MANHATTAN
    EUCLIDEAN
    CHEBYSHEV
    POWER

# Distances of `rows` <= GROUP points, which lie in room for GROUP, to `columns` <= COLUMNS points, which lie turned: `depth` rows of COLUMNS
# coordinates.
ctypedef void (*Distances)(const char* points, Py_ssize_t rows, const char* turned, Py_ssize_t depth, Py_ssize_t columns, Norm norm, double p,
                           char* out, Py_ssize_t out_row) noexcept nogil

ctypedef struct DistanceTable:
    Distances single
    Distances double_
