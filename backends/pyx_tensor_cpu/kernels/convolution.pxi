# Convolution as products of matrices whose panels are made from the image as they are needed.
from cpython.pycapsule cimport PyCapsule_New
from libc.string cimport memcpy, memset

from pyx_tensor_cpu.convolution_table cimport (COLUMNS, DEPTH, AddColumns, ColumnsPanel, ConvolutionKernels, ConvolutionTable, Depthwise,
                                              DepthwiseWeight, PackPositions, PackWeight, Product, WeightPanel,
                                              WeightProduct, Winograd, WINOGRAD_CHANNELS, WINOGRAD_ROWS, WinogradInputs, WinogradRows, WinogradWeights, Windows)

cdef extern from "tile.h" nogil:
    enum:
        TILE_ROWS
        TILE_BYTES
        TILE_VECTORS
    void tile_f32_product(int vectors, Py_ssize_t depth, const float* a, Py_ssize_t a_row, const float* b, Py_ssize_t b_row, float* out, Py_ssize_t out_row,
                          const float* bias, bint accumulate)
    void tile_f64_product(int vectors, Py_ssize_t depth, const double* a, Py_ssize_t a_row, const double* b, Py_ssize_t b_row, double* out, Py_ssize_t out_row,
                          const double* bias, bint accumulate)
    void tile_f32_row_sums(Py_ssize_t taps, const Py_ssize_t* places, const float* w, const float* line, float start, float* y, Py_ssize_t count)
    void tile_f64_row_sums(Py_ssize_t taps, const Py_ssize_t* places, const double* w, const double* line, double start, double* y, Py_ssize_t count)
    float tile_f32_rows_product(Py_ssize_t rows, Py_ssize_t count, const float* a, Py_ssize_t a_row, const float* b, Py_ssize_t b_row)
    double tile_f64_rows_product(Py_ssize_t rows, Py_ssize_t count, const double* a, Py_ssize_t a_row, const double* b, Py_ssize_t b_row)
    void tile_f32_copy(const float* source, float* to, Py_ssize_t count)
    void tile_f64_copy(const double* source, double* to, Py_ssize_t count)

ctypedef fused real:
    float
    double

cdef enum:
    LONGEST = TILE_BYTES // 4 * TILE_VECTORS        # columns of the widest panel
    SLACK = TILE_BYTES                              # elements that may be read beyond a row of a bordered plane


cdef inline Py_ssize_t lanes_of(real* unused) noexcept nogil:
    return <Py_ssize_t>(TILE_BYTES // sizeof(real))


cdef inline void product(int vectors, Py_ssize_t depth, const real* a, Py_ssize_t a_row, const real* b, Py_ssize_t b_row, real* out, Py_ssize_t out_row,
                         const real* bias, bint accumulate) noexcept nogil:
    if real is float:
        tile_f32_product(vectors, depth, a, a_row, b, b_row, out, out_row, bias, accumulate)
    else:
        tile_f64_product(vectors, depth, a, a_row, b, b_row, out, out_row, bias, accumulate)


# ---- windows --------------------------------------------------------------------------------------------------------

# Columns of a panel whose windows lie in one row of the grid.
cdef struct Run:
    Py_ssize_t column
    Py_ssize_t length
    Py_ssize_t image            # where its image begins
    Py_ssize_t start[3]         # of the first window, in the image
    Py_ssize_t out              # its place in a plane of the result


cdef int find_runs(const Windows* s, Py_ssize_t first, Py_ssize_t count, Run* runs) noexcept nogil:
    """The runs of columns [first, first + count); returns how many."""
    cdef Py_ssize_t at = 0, w, h, d, image
    cdef int n = 0
    while at < count:
        w = (first + at) % s.grid[2]
        h = (first + at) // s.grid[2]
        d = h // s.grid[1]
        h = h % s.grid[1]
        image = d // s.grid[0]
        d = d % s.grid[0]
        runs[n].column = at
        runs[n].length = min(s.grid[2] - w, count - at)
        runs[n].image = image * s.image
        runs[n].start[0] = d * s.step[0]
        runs[n].start[1] = h * s.step[1]
        runs[n].start[2] = w * s.step[2]
        runs[n].out = ((s.out_start[0] + d * s.out_step[0]) * s.out_size[1] + s.out_start[1] + h * s.out_step[1]) * s.out_size[2] \
            + s.out_start[2] + w * s.out_step[2] + image * s.out_image
        at += runs[n].length
        n += 1
    return n


# Where a tap of a run's windows lies in the image: `inside` of the windows from `lead` on, in elements of a plane.
cdef struct Part:
    Py_ssize_t lead
    Py_ssize_t inside
    Py_ssize_t offset


cdef inline Part part_of(const Windows* s, const Run* run, const Py_ssize_t* offset) noexcept nogil:
    cdef Py_ssize_t d = run.start[0] + offset[0], h = run.start[1] + offset[1], w = run.start[2] + offset[2], step = s.step[2], end
    cdef Part part = Part(lead=0, inside=0, offset=0)
    if d < 0 or d >= s.size[0] or h < 0 or h >= s.size[1] or w >= s.size[2]:
        return part
    if step == 1:
        part.lead = min(max(-w, 0), run.length)
        end = min(s.size[2] - w, run.length)
    else:
        part.lead = min((step - 1 - w) // step, run.length) if w < 0 else 0
        end = min((s.size[2] - w + step - 1) // step, run.length)
    part.inside = max(end - part.lead, 0)
    part.offset = (d * s.size[1] + h) * s.size[2] + w + part.lead * step
    return part


cdef inline void copy_part(const real* x, Py_ssize_t step, const Part* part, Py_ssize_t length, real* to) noexcept nogil:
    """`length` elements, zeros outside of the image."""
    cdef Py_ssize_t j
    cdef real* inner = to + part.lead
    for j in range(part.lead):
        to[j] = 0
    if step == 1:
        if real is float:
            tile_f32_copy(x + part.offset, inner, part.inside)
        else:
            tile_f64_copy(x + part.offset, inner, part.inside)
    elif step == 2:
        for j in range(part.inside):
            inner[j] = x[part.offset + 2 * j]
    else:
        for j in range(part.inside):
            inner[j] = x[part.offset + step * j]
    for j in range(part.lead + part.inside, length):
        to[j] = 0


cdef void pack_columns(const Windows* s, const real* x, const Run* runs, int n_runs, Py_ssize_t channel, Py_ssize_t channels, Py_ssize_t width,
                       real* panel) noexcept nogil:
    """Rows of some channels of the columns' matrix, each `width` long."""
    cdef Py_ssize_t plane = s.size[0] * s.size[1] * s.size[2], t, c, j, length = runs[n_runs - 1].column + runs[n_runs - 1].length
    cdef Part part
    cdef real* to
    cdef int r
    for t in range(s.taps):
        for r in range(n_runs):
            part = part_of(s, &runs[r], s.offset + 3 * t)
            for c in range(channels):
                to = panel + (c * s.taps + t) * width + runs[r].column
                copy_part(x + runs[r].image + (channel + c) * plane, s.step[2], &part, runs[r].length, to)
    for c in range(channels * s.taps):
        for j in range(length, width):
            panel[c * width + j] = 0


# ---- the convolution ------------------------------------------------------------------------------------------------

cdef void pack_weight(const real* w, real* packed, Py_ssize_t rows, Py_ssize_t channels, Py_ssize_t taps, Py_ssize_t row, Py_ssize_t channel,
                      const Py_ssize_t* tap) noexcept nogil:
    cdef Py_ssize_t panel, first, c, t, i, within
    cdef const real* source
    for panel in range((rows + TILE_ROWS - 1) // TILE_ROWS):
        first = panel * TILE_ROWS
        within = min(rows - first, TILE_ROWS)
        for c in range(channels):
            source = w + first * row + c * channel
            for t in range(taps):
                for i in range(within):
                    packed[i] = source[i * row + tap[t]]
                for i in range(within, TILE_ROWS):
                    packed[i] = 0
                packed += TILE_ROWS


cdef inline void place_tile(const Windows* s, const real* tile, Py_ssize_t tile_row, const Run* runs, int n_runs, Py_ssize_t rows, real* y,
                            Py_ssize_t plane, bint accumulate) noexcept nogil:
    """Rows of a tile into planes of the result."""
    cdef Py_ssize_t i, j, step = s.out_step[2]
    cdef const real* source
    cdef real* to
    cdef int r
    for i in range(rows):
        for r in range(n_runs):
            source = tile + i * tile_row + runs[r].column
            to = y + i * plane + runs[r].out
            if accumulate:
                for j in range(runs[r].length):
                    to[j * step] += source[j]
            else:
                for j in range(runs[r].length):
                    to[j * step] = source[j]


cdef void convolve(const Windows* s, const real* x, const real* w, Py_ssize_t w_row, const real* bias, real* y, Py_ssize_t row, Py_ssize_t rows,
                   Py_ssize_t first, Py_ssize_t count, real* scratch) noexcept nogil:
    cdef Py_ssize_t lanes = lanes_of(scratch), widest = lanes * TILE_VECTORS, depth = s.channels * s.taps
    cdef Py_ssize_t out_plane = s.out_size[0] * s.out_size[1] * s.out_size[2]
    cdef Py_ssize_t blocks = max((depth + DEPTH - 1) // DEPTH, 1), most = (s.channels + blocks - 1) // blocks, channel = 0, channels
    cdef Py_ssize_t panel, panels = (count + widest - 1) // widest, tile_at, m, width, columns, within
    cdef bint dense = s.out_step[2] == 1 and s.out_size[2] == s.grid[2] and s.out_size[1] == s.grid[1] and s.out_size[0] == s.grid[0]
    cdef Py_ssize_t positions = s.grid[0] * s.grid[1] * s.grid[2], at
    cdef bint more
    cdef const real* factors
    cdef Run runs[LONGEST]
    cdef real tile[TILE_ROWS * LONGEST]
    cdef real shift[TILE_ROWS]
    cdef const real* shifts
    cdef real* to
    cdef int n_runs = 0
    while True:
        channels = min(most, s.channels - channel)
        more = channel > 0
        for panel in range(panels):
            columns = min(widest, count - panel * widest)
            width = (columns + lanes - 1) // lanes * lanes
            n_runs = find_runs(s, first + panel * widest, columns, runs)
            if channels * s.taps:
                pack_columns(s, x, runs, n_runs, channel, channels, width, scratch + panel * widest * channels * s.taps)
        for tile_at in range((rows + TILE_ROWS - 1) // TILE_ROWS):
            m = row + tile_at * TILE_ROWS
            within = min(row + rows - m, TILE_ROWS)
            shifts = NULL
            if bias != NULL and not more:
                memset(shift, 0, sizeof(shift))
                memcpy(shift, bias + m, within * sizeof(real))
                shifts = shift
            factors = w + (m * w_row + channel * s.taps if w_row else m * depth + channel * s.taps * TILE_ROWS)
            for panel in range(panels):
                columns = min(widest, count - panel * widest)
                width = (columns + lanes - 1) // lanes * lanes
                at = first + panel * widest
                if dense and columns == width and within == TILE_ROWS and at // positions == (at + columns - 1) // positions:
                    to = y + at // positions * s.out_image + m * out_plane + at % positions
                    product(<int>(width // lanes), channels * s.taps, factors, w_row, <const real*>scratch + panel * widest * channels * s.taps, width, to,
                            out_plane, shifts, more)
                    continue
                product(<int>(width // lanes), channels * s.taps, factors, w_row, <const real*>scratch + panel * widest * channels * s.taps, width, tile, width,
                        shifts, False)
                n_runs = find_runs(s, at, columns, runs)
                place_tile(s, <const real*>tile, width, runs, n_runs, within, y + m * out_plane, out_plane, more)
        channel += channels
        if channel >= s.channels:
            break


# ---- the weight's gradient ------------------------------------------------------------------------------------------

cdef void pack_gradient(const real* g, Py_ssize_t outputs, Py_ssize_t positions, Py_ssize_t image, Py_ssize_t first, Py_ssize_t count,
                        real* panels) noexcept nogil:
    """Columns [first, first + count) of all outputs, transposed: a panel has a row for each position."""
    cdef Py_ssize_t lanes = lanes_of(panels), widest = lanes * TILE_VECTORS, panel, m, j, q, width, columns, at, length
    cdef const real* source
    for panel in range((outputs + widest - 1) // widest):
        m = panel * widest
        columns = min(widest, outputs - m)
        width = (columns + lanes - 1) // lanes * lanes
        at = 0
        while at < count:
            length = min(count - at, positions - (first + at) % positions)
            for j in range(columns):
                source = g + (first + at) // positions * image + (m + j) * positions + (first + at) % positions
                for q in range(length):
                    panels[(at + q) * width + j] = source[q]
            at += length
        for j in range(columns, width):
            for q in range(count):
                panels[q * width + j] = 0
        panels += width * count


cdef void pack_line(const Windows* s, const real* x, const Run* runs, int n_runs, Py_ssize_t k, real* line) noexcept nogil:
    """A row of the columns' matrix, the tap being the first part of its number."""
    cdef Py_ssize_t t = k // s.channels, c = k % s.channels, plane = s.size[0] * s.size[1] * s.size[2]
    cdef Part part
    cdef int r
    for r in range(n_runs):
        part = part_of(s, &runs[r], s.offset + 3 * t)
        copy_part(x + runs[r].image + c * plane, s.step[2], &part, runs[r].length, line + runs[r].column)


cdef void convolve_weight(const Windows* s, const real* x, const real* g, real* out, Py_ssize_t outputs, Py_ssize_t out_row, Py_ssize_t row,
                          Py_ssize_t rows, Py_ssize_t begin, Py_ssize_t total, real* scratch) noexcept nogil:
    cdef Py_ssize_t lanes = lanes_of(scratch), widest = lanes * TILE_VECTORS, plane = s.size[0] * s.size[1] * s.size[2]
    cdef Py_ssize_t positions = s.grid[0] * s.grid[1] * s.grid[2], block, first, count, k, i, j, m, width, within, across, down, a_row, most
    cdef bint whole = s.taps == 1 and plane == positions and s.offset[0] == 0 and s.offset[1] == 0 and s.offset[2] == 0, direct
    memset(out + row * out_row, 0, rows * out_row * sizeof(real))
    cdef real* lines = scratch                                   # TILE_ROWS rows of the columns' matrix
    cdef real* panels = scratch + TILE_ROWS * COLUMNS
    cdef real tile[TILE_ROWS * LONGEST]
    cdef const real* a
    cdef const real* panel
    cdef Run runs[COLUMNS]
    cdef int n_runs
    most = (total + (total + COLUMNS - 1) // COLUMNS - 1) // max((total + COLUMNS - 1) // COLUMNS, 1)     # blocks of one size
    for block in range((total + COLUMNS - 1) // COLUMNS):
        first = begin + block * most
        count = min(most, total - block * most)
        n_runs = find_runs(s, first, count, runs)
        pack_gradient(g, outputs, positions, s.out_image, first, count, panels)
        direct = whole and first // positions == (first + count - 1) // positions
        for down in range((rows + TILE_ROWS - 1) // TILE_ROWS):
            k = row + down * TILE_ROWS
            within = min(row + rows - k, TILE_ROWS)
            if direct and within == TILE_ROWS:
                a = x + first // positions * s.image + k * plane + first % positions
                a_row = plane
            else:
                for i in range(within):
                    pack_line(s, x, runs, n_runs, k + i, lines + i * count)
                a = lines
                a_row = count
            panel = panels
            for across in range((outputs + widest - 1) // widest):
                m = across * widest
                width = (min(widest, outputs - m) + lanes - 1) // lanes * lanes
                if within == TILE_ROWS:
                    product(<int>(width // lanes), count, a, a_row, panel, width, out + k * out_row + m, out_row, <const real*>NULL, True)
                else:
                    product(<int>(width // lanes), count, a, a_row, panel, width, tile, width, <const real*>NULL, False)
                    for i in range(within):
                        for j in range(width):
                            out[(k + i) * out_row + m + j] += tile[i * width + j]
                panel += width * count


# ---- few positions: the columns' matrix transposed ------------------------------------------------------------------
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
            product(<int>(width // lanes), total, packed + m * total, 0, <const real*>columns, width, out + m * depth + first, depth, <const real*>NULL, False)
            continue
        product(<int>(width // lanes), total, packed + m * total, 0, <const real*>columns, width, tile, width, <const real*>NULL, False)
        for j in range(within):
            memcpy(out + (m + j) * depth + first, tile + j * width, count * sizeof(real))


cdef void columns_panel(const real* packed, const real* w, real* out, Py_ssize_t outputs, Py_ssize_t depth, Py_ssize_t first, Py_ssize_t count,
                        Py_ssize_t total) noexcept nogil:
    """Columns [first, first + count) of (positions, depth), what the transposed convolution adds up; count is a whole number of vectors."""
    cdef Py_ssize_t panel
    for panel in range((total + TILE_ROWS - 1) // TILE_ROWS):
        product(<int>(count // lanes_of(out)), outputs, packed + panel * TILE_ROWS * outputs, 0, w + first, depth, out + panel * TILE_ROWS * depth + first, depth,
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


# ---- a plane for each channel ---------------------------------------------------------------------------------------
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
                memcpy(line + b.low[2], source, last * sizeof(real))
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
        memcpy(scratch + h * width, g + h * s.grid[2], s.grid[2] * sizeof(real))
    for t in range(s.taps):
        for d in range(s.grid[0]):
            line = plane + place_of(s, &b, s.offset + 3 * t) + d * s.step[0] * b.rows[1] * b.row
            if real is float:
                out[t] += tile_f32_rows_product(s.grid[1], width, line, s.step[1] * b.row, scratch + d * s.grid[1] * width, width)
            else:
                out[t] += tile_f64_rows_product(s.grid[1], width, line, s.step[1] * b.row, scratch + d * s.grid[1] * width, width)


include "winograd.pxi"


# ---- the table ------------------------------------------------------------------------------------------------------

cdef void fill(ConvolutionKernels* k, real* unused) noexcept:
    k.pack_weight = <PackWeight>pack_weight[real]
    k.product = <Product>convolve[real]
    k.weight_product = <WeightProduct>convolve_weight[real]
    k.pack_positions = <PackPositions>pack_positions[real]
    k.weight_panel = <WeightPanel>weight_panel[real]
    k.columns_panel = <ColumnsPanel>columns_panel[real]
    k.add_columns = <AddColumns>add_columns[real]
    k.depthwise = <Depthwise>depthwise[real]
    k.depthwise_weight = <DepthwiseWeight>depthwise_weight[real]
    k.winograd_weights = <WinogradWeights>winograd_weights[real]
    k.winograd = <Winograd>winograd[real]
    k.winograd_inputs = <WinogradInputs>winograd_inputs[real]
    k.winograd_rows = <WinogradRows>winograd_rows[real]
    k.has_winograd = HAS_WINOGRAD
    k.rows = TILE_ROWS
    k.lanes = lanes_of(unused)
    k.width = k.lanes * TILE_VECTORS


cdef ConvolutionTable TABLE
fill(&TABLE.single, <float*>NULL)
fill(&TABLE.double_, <double*>NULL)
table = PyCapsule_New(&TABLE, NULL, NULL)
