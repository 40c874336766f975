# Convolution as products of matrices whose panels are made from the image as they are needed.
from cpython.pycapsule cimport PyCapsule_New
from libc.string cimport memcpy, memset

from pyx_tensor_cpu.convolution_table cimport (COLUMNS, DEPTH, AddColumns, ColumnsPanel, ConvolutionKernels, ConvolutionTable, Depthwise,
                                              DepthwiseWeight, PackPositions, PackWeight, Product, RowsProduct, WeightPanel,
                                              WeightProduct, Winograd, WINOGRAD_CHANNELS, WINOGRAD_ROWS, WinogradInputs, WinogradRows, WinogradWeights, Windows)

cdef extern from "tile.h" nogil:
    enum:
        TILE_ROWS
        TILE_BYTES
        TILE_VECTORS
    void tile_f32_product(int rows, int vectors, Py_ssize_t depth, const float* a, Py_ssize_t a_row, const float* b, Py_ssize_t b_row, float* out, Py_ssize_t out_row,
                          const float* bias, bint accumulate)
    void tile_f64_product(int rows, int vectors, Py_ssize_t depth, const double* a, Py_ssize_t a_row, const double* b, Py_ssize_t b_row, double* out, Py_ssize_t out_row,
                          const double* bias, bint accumulate)
    void tile_f32_places_product(Py_ssize_t count, Py_ssize_t depth, const float* a, const float* b, const Py_ssize_t* places, float* out,
                                 Py_ssize_t out_row, const float* bias)
    void tile_f64_places_product(Py_ssize_t count, Py_ssize_t depth, const double* a, const double* b, const Py_ssize_t* places, double* out,
                                 Py_ssize_t out_row, const double* bias)
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


cdef inline void product(Py_ssize_t rows, int vectors, Py_ssize_t depth, const real* a, Py_ssize_t a_row, const real* b, Py_ssize_t b_row, real* out, Py_ssize_t out_row,
                         const real* bias, bint accumulate) noexcept nogil:
    if real is float:
        tile_f32_product(<int>rows, vectors, depth, a, a_row, b, b_row, out, out_row, bias, accumulate)
    else:
        tile_f64_product(<int>rows, vectors, depth, a, a_row, b, b_row, out, out_row, bias, accumulate)


include "windows.pxi"


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
    cdef Py_ssize_t positions = s.grid[0] * s.grid[1] * s.grid[2], at, b_row
    cdef bint more, single = dense and s.taps == 1 and s.step[2] == 1 and s.size[0] == s.size[1] == 1 and s.size[2] == positions and s.offset[2] == 0
    cdef const real* factors
    cdef const real* panel_b
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
            at = first + panel * widest
            if channels * s.taps and not (single and columns == width and at // positions == (at + columns - 1) // positions):
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
                panel_b, b_row = <const real*>scratch + panel * widest * channels * s.taps, width
                if single and columns == width and at // positions == (at + columns - 1) // positions:
                    panel_b, b_row = x + at // positions * s.image + channel * positions + at % positions, positions
                if dense and columns == width and within == TILE_ROWS and at // positions == (at + columns - 1) // positions:
                    to = y + at // positions * s.out_image + m * out_plane + at % positions
                    product(within, <int>(width // lanes), channels * s.taps, factors, w_row, panel_b, b_row, to, out_plane, shifts, more)
                    continue
                product(within, <int>(width // lanes), channels * s.taps, factors, w_row, panel_b, b_row, tile, width, shifts, False)
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
                    product(within, <int>(width // lanes), count, a, a_row, panel, width, out + k * out_row + m, out_row, <const real*>NULL, True)
                else:
                    product(within, <int>(width // lanes), count, a, a_row, panel, width, tile, width, <const real*>NULL, False)
                    for i in range(within):
                        for j in range(width):
                            out[(k + i) * out_row + m + j] += tile[i * width + j]
                panel += width * count


include "few_positions.pxi"
include "planes.pxi"
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
    k.rows_product = <RowsProduct>convolve_rows[real]
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
