# Convolution of few outputs, a plane of the result at a time. Included behind convolution.pxi.
#
# The plane is copied with its border, and so that the columns that a window's step leaves apart lie together: whatever the
# step, the elements that a tap meets in a row of windows are then neighbours.

cdef struct Bordered:
    Py_ssize_t low[3]           # how far taps reach ahead of the plane
    Py_ssize_t rows[2]          # depth and height with the border
    Py_ssize_t part             # columns of one residue
    Py_ssize_t row              # elements of a row


cdef Bordered border_of(const Windows* s) noexcept nogil:
    cdef Bordered b
    cdef Py_ssize_t high[3]
    cdef Py_ssize_t t
    cdef int d
    for d in range(3):
        b.low[d] = 0
        high[d] = 0
        for t in range(s.taps):
            b.low[d] = max(b.low[d], -s.offset[3 * t + d])
            high[d] = max(high[d], (s.grid[d] - 1) * s.step[d] + s.offset[3 * t + d] + 1)
    b.rows[0] = high[0] + b.low[0]
    b.rows[1] = high[1] + b.low[1]
    b.part = (high[2] + b.low[2] + s.step[2] - 1) // s.step[2] + SLACK
    b.row = b.part * s.step[2]
    return b


cdef void fill_bordered(const Windows* s, const Bordered* b, const real* x, real* to) noexcept nogil:
    cdef Py_ssize_t d, h, w, j, residue, first, step = s.step[2], last
    cdef const real* source
    cdef real* line
    for d in range(min(s.size[0], b.rows[0] - b.low[0])):
        for h in range(min(s.size[1], b.rows[1] - b.low[1])):
            source = x + (d * s.size[1] + h) * s.size[2]
            line = to + ((d + b.low[0]) * b.rows[1] + h + b.low[1]) * b.row
            last = min(s.size[2], (b.part - SLACK) * step - b.low[2])
            if step == 1:
                copy_row(source, line + b.low[2], last)
                continue
            for residue in range(step):
                first = (residue - b.low[2]) % step
                if first < 0:
                    first += step
                w = residue * b.part + (first + b.low[2]) // step
                for j in range((last - first + step - 1) // step):
                    line[w + j] = source[first + j * step]


cdef inline Py_ssize_t place_of(const Windows* s, const Bordered* b, const Py_ssize_t* offset) noexcept nogil:
    """Where a tap of the window at 0 lies in the bordered plane."""
    cdef Py_ssize_t w = offset[2] + b.low[2]
    return ((offset[0] + b.low[0]) * b.rows[1] + offset[1] + b.low[1]) * b.row + w % s.step[2] * b.part + w // s.step[2]


cdef inline void row_sums(const real* line, const real* w, const Py_ssize_t* places, Py_ssize_t taps, real start, real* y, Py_ssize_t count) noexcept nogil:
    if real is float:
        tile_f32_row_sums(taps, places, w, line, start, y, count)
    else:
        tile_f64_row_sums(taps, places, w, line, start, y, count)


cdef void depthwise(const Windows* s, const real* x, const real* w, const real* bias, real* y, real* scratch) noexcept nogil:
    cdef Bordered b = border_of(s)
    cdef Py_ssize_t* places = <Py_ssize_t*>scratch
    cdef real* planes = scratch + (s.channels * s.taps * sizeof(Py_ssize_t) + sizeof(real) - 1) // sizeof(real)
    cdef Py_ssize_t d, h, t, c, size = b.rows[0] * b.rows[1] * b.row
    for c in range(s.channels):
        fill_bordered(s, &b, x + c * s.size[0] * s.size[1] * s.size[2], planes + c * size)
        for t in range(s.taps):
            places[c * s.taps + t] = c * size + place_of(s, &b, s.offset + 3 * t)
    for d in range(s.grid[0]):
        for h in range(s.grid[1]):
            row_sums(<const real*>planes + (d * s.step[0] * b.rows[1] + h * s.step[1]) * b.row, w, places, s.channels * s.taps,
                     <real>0 if bias == NULL else bias[0], y + (d * s.grid[1] + h) * s.grid[2], s.grid[2])


cdef void depthwise_weight(const Windows* s, const real* x, const real* g, real* out, real* scratch) noexcept nogil:
    cdef Bordered b = border_of(s)
    cdef Py_ssize_t lanes = lanes_of(scratch), width = (s.grid[2] + lanes - 1) // lanes * lanes, d, h, t
    cdef real* plane = scratch + s.grid[0] * s.grid[1] * width        # behind the gradient's rows, filled up with zeros
    cdef const real* line
    fill_bordered(s, &b, x, plane)
    for h in range(s.grid[0] * s.grid[1]):
        copy_row(g + h * s.grid[2], scratch + h * width, s.grid[2])
    for t in range(s.taps):
        for d in range(s.grid[0]):
            line = plane + place_of(s, &b, s.offset + 3 * t) + d * s.step[0] * b.rows[1] * b.row
            if real is float:
                out[t] += tile_f32_rows_product(s.grid[1], width, line, s.step[1] * b.row, scratch + d * s.grid[1] * width, width)
            else:
                out[t] += tile_f64_rows_product(s.grid[1], width, line, s.step[1] * b.row, scratch + d * s.grid[1] * width, width)


# ---- many outputs, row by row ---------------------------------------------------------------------------------------
# From bordered planes the rows of the columns' matrix can be read where they lie; only the planes are copied, not their windows.

cdef void fill_band(const Windows* s, const Bordered* b, const real* x, Py_ssize_t top, Py_ssize_t count, real* to) noexcept nogil:
    """Rows [top, top + count) of a plane as rows of a bordered one, which is zero at first."""
    cdef Py_ssize_t i, w, j, residue, first, step = s.step[2], last = min(s.size[2], (b.part - SLACK) * step - b.low[2])
    cdef const real* source
    cdef real* line
    for i in range(max(-top, 0), min(count, s.size[1] - top)):
        source = x + (top + i) * s.size[2]
        line = to + i * b.row
        if step == 1:
            copy_row(source, line + b.low[2], last)
            continue
        for residue in range(step):
            first = (residue - b.low[2]) % step
            if first < 0:
                first += step
            w = residue * b.part + (first + b.low[2]) // step
            if step == 2:
                for j in range((last - first + 1) // 2):
                    line[w + j] = source[first + 2 * j]
            else:
                for j in range((last - first + step - 1) // step):
                    line[w + j] = source[first + j * step]


cdef void convolve_rows(const Windows* s, const real* x, const real* packed, const real* bias, real* y, Py_ssize_t rows, Py_ssize_t first, Py_ssize_t count,
                        real* scratch) noexcept nogil:
    """Rows [first, first + count) of the grid of one image, of all outputs; the grid has no depth and at least a vector of columns."""
    cdef Bordered b = border_of(s)
    cdef Py_ssize_t lanes = lanes_of(scratch), widest = lanes * TILE_VECTORS, depth = s.channels * s.taps, width = s.grid[2], plane = s.grid[1] * width
    cdef Py_ssize_t height = (count - 1) * s.step[1] + b.rows[1] - (s.grid[1] - 1) * s.step[1], size = height * b.row, c, t, r, at, n, m, i, within
    cdef Py_ssize_t* places = <Py_ssize_t*>scratch
    cdef real* planes = scratch + (depth * sizeof(Py_ssize_t) + sizeof(real) - 1) // sizeof(real)
    cdef real tile[TILE_ROWS * LONGEST]
    cdef real shift[TILE_ROWS]
    cdef const real* line
    memset(planes, 0, s.channels * size * sizeof(real))
    for c in range(s.channels):
        fill_band(s, &b, x + c * s.size[1] * s.size[2], first * s.step[1] - b.low[1], height, planes + c * size)
        for t in range(s.taps):
            places[c * s.taps + t] = c * size + place_of(s, &b, s.offset + 3 * t)
    for r in range(count):
        line = planes + r * s.step[1] * b.row
        at = 0
        while at < width:
            n = min(widest, width - at)
            if n < lanes:
                at, n = width - lanes, lanes
            for i in range((rows + TILE_ROWS - 1) // TILE_ROWS):
                m = i * TILE_ROWS
                within = min(rows - m, TILE_ROWS)
                if within == TILE_ROWS:
                    places_product(n, depth, packed + m * depth, line + at, places, y + m * plane + (first + r) * width + at, plane,
                                   NULL if bias == NULL else bias + m)
                    continue
                if bias != NULL:
                    memset(shift, 0, sizeof(shift))
                    memcpy(shift, bias + m, within * sizeof(real))
                places_product(n, depth, packed + m * depth, line + at, places, tile, widest, NULL if bias == NULL else <const real*>shift)
                for t in range(within):
                    memcpy(y + (m + t) * plane + (first + r) * width + at, tile + t * widest, n * sizeof(real))
            at += n


cdef inline void places_product(Py_ssize_t count, Py_ssize_t depth, const real* a, const real* b, const Py_ssize_t* places, real* out, Py_ssize_t out_row,
                                const real* bias) noexcept nogil:
    if real is float:
        tile_f32_places_product(count, depth, a, b, places, out, out_row, bias)
    else:
        tile_f64_places_product(count, depth, a, b, places, out, out_row, bias)
