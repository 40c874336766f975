# Pooling of planes, row by row: rows of the plane are joined first, then the columns of the joined row.
from cpython.pycapsule cimport PyCapsule_New
from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy, memset

from pyx_tensor_cpu.pooling_table cimport AvgBackward, AvgPool, MaxBackward, MaxIndices, MaxPool, MaxWindows, Pool, PoolingKernels, PoolingTable, Tap, row_of, tap_of

ctypedef fused real:
    float
    double


# ---- the greatest ---------------------------------------------------------------------------------------------------

cdef inline real greater(real best, real value) noexcept nogil:
    """NaN counts as the greatest. Two selections, which compilers make instructions of vectors."""
    cdef real more = value if value > best else best
    return value if value != value else more


cdef inline void join_greatest(const real* line, Tap tap, Py_ssize_t step, real* y) noexcept nogil:
    cdef Py_ssize_t j
    cdef const real* source = line + tap.start
    if step == 1:
        for j in range(tap.first, tap.last):
            y[j] = greater(y[j], source[j])
    elif step == 2:
        for j in range(tap.first, tap.last):
            y[j] = greater(y[j], source[2 * j])
    else:
        for j in range(tap.first, tap.last):
            y[j] = greater(y[j], source[step * j])


cdef void max_pool(const Pool* s, const real* x, real* y, real* scratch) noexcept nogil:
    cdef Py_ssize_t d, h, i, j, w, row, width = s.size[2]
    cdef const real* source
    cdef const real* line
    cdef bint several
    for d in range(s.grid[0]):
        for h in range(s.grid[1]):
            line = NULL
            several = False
            for i in range(s.kernel[0]):
                for j in range(s.kernel[1]):
                    row = row_of(s, d, h, i, j)
                    if row < 0:
                        continue
                    source = x + row * width
                    if line == NULL:
                        line = source
                    elif not several:
                        for w in range(width):
                            scratch[w] = greater(line[w], source[w])
                        line = scratch
                        several = True
                    else:
                        for w in range(width):
                            scratch[w] = greater(scratch[w], source[w])
            for w in range(s.grid[2]):
                y[w] = <real>-INFINITY
            if line != NULL:
                for i in range(s.kernel[2]):
                    join_greatest(line, tap_of(s, i), s.stride[2], y)
            y += s.grid[2]


cdef inline void find_greatest(const real* source, int32_t place, Tap tap, Py_ssize_t step, real* best, int32_t* where) noexcept nogil:
    """`place` is that of the plane's element at source[0]."""
    cdef Py_ssize_t j
    cdef real value
    cdef int32_t here
    cdef bint better
    for j in range(tap.first, tap.last):
        value = source[tap.start + step * j]
        here = place + <int32_t>(tap.start + step * j)
        better = (value > best[j]) | (value != value)
        best[j] = value if better else best[j]
        where[j] = here if better else where[j]


cdef void greatest_of_row(const Pool* s, const real* x, Py_ssize_t d, Py_ssize_t h, real* best, int32_t* where) noexcept nogil:
    """Where in the plane each window of a row has its greatest element, the first of equals."""
    cdef Py_ssize_t i, j, k, w, row
    cdef bint first = True
    cdef Tap tap
    for w in range(s.grid[2]):
        best[w] = <real>-INFINITY
    for i in range(s.kernel[0]):
        for j in range(s.kernel[1]):
            row = row_of(s, d, h, i, j)
            if row < 0:
                continue
            if first:                    # where all are -inf
                first = False
                for k in range(s.kernel[2] - 1, -1, -1):
                    tap = tap_of(s, k)
                    for w in range(tap.first, tap.last):
                        where[w] = <int32_t>(row * s.size[2] + tap.start + s.stride[2] * w)
            for k in range(s.kernel[2]):
                if s.stride[2] == 2:
                    find_greatest(x + row * s.size[2], <int32_t>(row * s.size[2]), tap_of(s, k), 2, best, where)
                else:
                    find_greatest(x + row * s.size[2], <int32_t>(row * s.size[2]), tap_of(s, k), s.stride[2], best, where)


cdef void max_indices(const Pool* s, const real* x, int64_t* indices, real* scratch) noexcept nogil:
    cdef Py_ssize_t d, h, w
    cdef int32_t* where = <int32_t*>(scratch + s.grid[2])
    for d in range(s.grid[0]):
        for h in range(s.grid[1]):
            greatest_of_row(s, x, d, h, scratch, where)
            for w in range(s.grid[2]):
                indices[w] = where[w]
            indices += s.grid[2]


cdef void max_backward(const Pool* s, const real* g, const real* x, real* gx, real* scratch) noexcept nogil:
    cdef Py_ssize_t d, h, w
    cdef int32_t* where = <int32_t*>(scratch + s.grid[2])
    for d in range(s.grid[0]):
        for h in range(s.grid[1]):
            greatest_of_row(s, x, d, h, scratch, where)
            for w in range(s.grid[2]):
                gx[where[w]] += g[w]
            g += s.grid[2]


# Windows at places of their own: the greatest of each column of a row of windows, then of the columns of each window.

cdef inline void greatest_of_columns(const real* line, int32_t row, Py_ssize_t width, bint first, real* best, int32_t* rows) noexcept nogil:
    """Of equals the first, of NaN the last."""
    cdef Py_ssize_t c
    cdef real value
    cdef bint better
    if first:
        for c in range(width):
            best[c] = line[c]
            rows[c] = row
    else:
        for c in range(width):
            value = line[c]
            better = (value > best[c]) | (value != value)
            best[c] = value if better else best[c]
            rows[c] = row if better else rows[c]


cdef inline Py_ssize_t greatest_column(const real* best, const int32_t* rows, Py_ssize_t start, Py_ssize_t end) noexcept nogil:
    """Of equals the one in the first row, of NaN that in the last."""
    cdef Py_ssize_t c, chosen = start
    cdef real value, most = best[start]
    for c in range(start + 1, end):
        value = best[c]
        if value > most or (value == most and rows[c] < rows[chosen]) or (value != value and (most == most or rows[c] >= rows[chosen])):
            most = value
            chosen = c
    return chosen


cdef void max_windows(const Pool* s, const real* x, const int64_t* starts, const int64_t* ends, real* y, int64_t* indices, real* scratch) noexcept nogil:
    cdef Py_ssize_t d, h, w, i, j, row, chosen, width = s.size[2], down = s.grid[0], right = s.grid[0] + s.grid[1]
    cdef int32_t* rows = <int32_t*>(scratch + width)
    cdef bint first
    for d in range(s.grid[0]):
        for h in range(s.grid[1]):
            first = True
            for i in range(starts[d], ends[d]):
                for j in range(starts[down + h], ends[down + h]):
                    row = i * s.size[1] + j
                    greatest_of_columns(x + row * width, <int32_t>row, width, first, scratch, rows)
                    first = False
            for w in range(s.grid[2]):
                chosen = greatest_column(scratch, rows, starts[right + w], ends[right + w])
                y[w] = scratch[chosen]
                indices[w] = rows[chosen] * width + chosen
            y += s.grid[2]
            indices += s.grid[2]


# ---- the mean -------------------------------------------------------------------------------------------------------

cdef inline void join_sum(const real* line, Tap tap, Py_ssize_t step, real* y) noexcept nogil:
    cdef Py_ssize_t j
    cdef const real* source = line + tap.start
    if step == 1:
        for j in range(tap.first, tap.last):
            y[j] += source[j]
    elif step == 2:
        for j in range(tap.first, tap.last):
            y[j] += source[2 * j]
    else:
        for j in range(tap.first, tap.last):
            y[j] += source[step * j]


cdef void avg_pool(const Pool* s, const real* x, const real* counts, real* y, real* scratch) noexcept nogil:
    cdef Py_ssize_t d, h, i, j, w, row, width = s.size[2]
    cdef const real* source
    cdef const real* line
    cdef const real* across = counts + s.grid[0] + s.grid[1]
    cdef bint several
    cdef real count
    for d in range(s.grid[0]):
        for h in range(s.grid[1]):
            line = NULL
            several = False
            for i in range(s.kernel[0]):
                for j in range(s.kernel[1]):
                    row = row_of(s, d, h, i, j)
                    if row < 0:
                        continue
                    source = x + row * width
                    if line == NULL:
                        line = source
                    elif not several:
                        for w in range(width):
                            scratch[w] = line[w] + source[w]
                        line = scratch
                        several = True
                    else:
                        for w in range(width):
                            scratch[w] += source[w]
            memset(y, 0, s.grid[2] * sizeof(real))
            if line != NULL:
                for i in range(s.kernel[2]):
                    join_sum(line, tap_of(s, i), s.stride[2], y)
            count = counts[d] * counts[s.grid[0] + h]
            for w in range(s.grid[2]):
                y[w] /= count * across[w]
            y += s.grid[2]


cdef void avg_backward(const Pool* s, const real* g, const real* counts, real* gx, real* scratch) noexcept nogil:
    cdef Py_ssize_t d, h, i, j, w, row, width = s.size[2]
    cdef const real* across = counts + s.grid[0] + s.grid[1]
    cdef real* share = scratch + width
    cdef real* to
    cdef real count
    cdef Tap tap
    for d in range(s.grid[0]):
        for h in range(s.grid[1]):
            count = counts[d] * counts[s.grid[0] + h]
            for w in range(s.grid[2]):
                share[w] = g[w] / (count * across[w])
            memset(scratch, 0, width * sizeof(real))
            for i in range(s.kernel[2]):
                tap = tap_of(s, i)
                to = scratch + tap.start
                if s.stride[2] == 1:
                    for w in range(tap.first, tap.last):
                        to[w] += share[w]
                else:
                    for w in range(tap.first, tap.last):
                        to[w * s.stride[2]] += share[w]
            for i in range(s.kernel[0]):
                for j in range(s.kernel[1]):
                    row = row_of(s, d, h, i, j)
                    if row >= 0:
                        to = gx + row * width
                        for w in range(width):
                            to[w] += scratch[w]
            g += s.grid[2]


# ---- the table ------------------------------------------------------------------------------------------------------

cdef void fill(PoolingKernels* k, real* unused) noexcept:
    k.max_pool = <MaxPool>max_pool[real]
    k.max_indices = <MaxIndices>max_indices[real]
    k.max_windows = <MaxWindows>max_windows[real]
    k.max_backward = <MaxBackward>max_backward[real]
    k.avg_pool = <AvgPool>avg_pool[real]
    k.avg_backward = <AvgBackward>avg_backward[real]


cdef PoolingTable TABLE
fill(&TABLE.single, <float*>NULL)
fill(&TABLE.double_, <double*>NULL)
table = PyCapsule_New(&TABLE, NULL, NULL)
