# Convolution of few positions, by the columns' matrix transposed. Included behind convolution.pxi.
# A weight's gradient, or what an image gets, is then soon computed, and time is spent on the weight's memory: it is read or written once,
# as it lies.

cdef void pack_positions(const real* y, Py_ssize_t outputs, Py_ssize_t positions, Py_ssize_t image, Py_ssize_t total, bint by_output, real* packed) noexcept nogil:
    """All positions of y in panels of TILE_ROWS positions, or (by_output) of outputs; zeros behind the last."""
    cdef Py_ssize_t rows = outputs if by_output else total, depth = total if by_output else outputs, panel, i, p, m, q
    for panel in range((rows + TILE_ROWS - 1) // TILE_ROWS):
        for p in range(depth):
            for i in range(TILE_ROWS):
                m, q = (panel * TILE_ROWS + i, p) if by_output else (p, panel * TILE_ROWS + i)
                packed[i] = 0 if panel * TILE_ROWS + i >= rows else y[q // positions * image + m * positions + q % positions]
            packed += TILE_ROWS


cdef void weight_panel(const Windows* s, const real* x, const real* packed, real* out, Py_ssize_t outputs, Py_ssize_t first, Py_ssize_t count, Py_ssize_t total,
                       real* scratch) noexcept nogil:
    """Columns [first, first + count) of the weight's gradient, all rows; channel * taps + tap is the number of a column."""
    cdef Py_ssize_t lanes = lanes_of(scratch), width = (count + lanes - 1) // lanes * lanes, k, q, m, j, panel, depth = s.channels * s.taps, within
    cdef real* line = scratch
    cdef real* columns = scratch + total
    cdef real tile[TILE_ROWS * LONGEST]
    cdef Run runs[COLUMNS]
    cdef int n_runs = find_runs(s, 0, total, runs)
    for j in range(count):
        k = first + j
        pack_line(s, x, runs, n_runs, k % s.taps * s.channels + k // s.taps, line)
        for q in range(total):
            columns[q * width + j] = line[q]
    for j in range(count, width):
        for q in range(total):
            columns[q * width + j] = 0
    for panel in range((outputs + TILE_ROWS - 1) // TILE_ROWS):
        m = panel * TILE_ROWS
        within = min(outputs - m, TILE_ROWS)
        if within == TILE_ROWS and count == width:
            product(within, <int>(width // lanes), total, packed + m * total, 0, <const real*>columns, width, out + m * depth + first, depth, <const real*>NULL, False)
            continue
        product(within, <int>(width // lanes), total, packed + m * total, 0, <const real*>columns, width, tile, width, <const real*>NULL, False)
        for j in range(within):
            memcpy(out + (m + j) * depth + first, tile + j * width, count * sizeof(real))


cdef void columns_panel(const real* packed, const real* w, real* out, Py_ssize_t outputs, Py_ssize_t depth, Py_ssize_t first, Py_ssize_t count,
                        Py_ssize_t total) noexcept nogil:
    """Columns [first, first + count) of (positions, depth), what the transposed convolution adds up; count is a whole number of vectors."""
    cdef Py_ssize_t panel
    for panel in range((total + TILE_ROWS - 1) // TILE_ROWS):
        product(TILE_ROWS, <int>(count // lanes_of(out)), outputs, packed + panel * TILE_ROWS * outputs, 0, w + first, depth, out + panel * TILE_ROWS * depth + first, depth,
                <const real*>NULL, False)


cdef void add_columns(const Windows* s, const real* columns, const real* bias, real* x, Py_ssize_t samples, Py_ssize_t channel) noexcept nogil:
    """A channel's planes of all images from (positions, channels * taps)."""
    cdef Py_ssize_t plane = s.size[0] * s.size[1] * s.size[2], positions = s.grid[0] * s.grid[1] * s.grid[2], depth = s.channels * s.taps, n, q, t, d, h, w, i
    cdef Py_ssize_t start[3]
    cdef const real* source
    cdef real* to
    for n in range(samples):
        to = x + n * s.image + channel * plane
        for i in range(plane):
            to[i] = 0 if bias == NULL else bias[channel]
        for q in range(positions):
            source = columns + (n * positions + q) * depth + channel * s.taps
            start[0] = q // (s.grid[1] * s.grid[2]) * s.step[0]
            start[1] = q // s.grid[2] % s.grid[1] * s.step[1]
            start[2] = q % s.grid[2] * s.step[2]
            for t in range(s.taps):
                d, h, w = start[0] + s.offset[3 * t], start[1] + s.offset[3 * t + 1], start[2] + s.offset[3 * t + 2]
                if 0 <= d < s.size[0] and 0 <= h < s.size[1] and 0 <= w < s.size[2]:
                    to[(d * s.size[1] + h) * s.size[2] + w] += source[t]
