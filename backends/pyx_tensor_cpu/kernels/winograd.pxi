# Convolution with 3x3 kernels whose windows touch, by Winograd's minimal filtering: a quarter of the multiplications.
# Included behind convolution.pxi.

cdef extern from "winograd.h" nogil:
    const bint HAS_WINOGRAD
    void winograd_f32_input(const float* line, Py_ssize_t row, Py_ssize_t part, float* to, Py_ssize_t step)
    void winograd_f32_output(const float* source, Py_ssize_t step, float start, float* to)
    void winograd_f32_weights(const float* w, float* to, Py_ssize_t step)
    void winograd_f32_split(const float* x, Py_ssize_t quads, float* to, Py_ssize_t part)
    void winograd_f64_input(const double* line, Py_ssize_t row, Py_ssize_t part, double* to, Py_ssize_t step)
    void winograd_f64_output(const double* source, Py_ssize_t step, double start, double* to)
    void winograd_f64_weights(const double* w, double* to, Py_ssize_t step)
    void winograd_f64_split(const double* x, Py_ssize_t quads, double* to, Py_ssize_t part)

cdef enum:
    PLACES = 36
    SIDE = 4                    # of a tile of outputs


cdef void winograd_weights(const real* w, real* to, Py_ssize_t rows, Py_ssize_t channels, Py_ssize_t row, Py_ssize_t channel, const Py_ssize_t* tap,
                           Py_ssize_t step) noexcept nogil:
    """A panel of at most TILE_ROWS rows; the places are `step` apart."""
    cdef real taps[9 * TILE_ROWS]
    cdef Py_ssize_t c, t, i
    memset(taps, 0, sizeof(taps))
    for c in range(channels):
        for t in range(9):
            for i in range(rows):
                taps[t * TILE_ROWS + i] = w[i * row + c * channel + tap[t]]
        if real is float:
            winograd_f32_weights(taps, to + c * TILE_ROWS, step)
        else:
            winograd_f64_weights(taps, to + c * TILE_ROWS, step)


cdef inline void split_row(const real* x, Py_ssize_t width, Py_ssize_t start, Py_ssize_t part, real* to) noexcept nogil:
    """A row of the image to column `start` of a line whose columns lie in four parts."""
    cdef Py_ssize_t head = min((SIDE - start % SIDE) % SIDE, width), quads = (width - head) // SIDE, w
    for w in range(head):
        to[(w + start) % SIDE * part + (w + start) // SIDE] = x[w]
    if real is float:
        winograd_f32_split(x + head, quads, to + (head + start) // SIDE, part)
    else:
        winograd_f64_split(x + head, quads, to + (head + start) // SIDE, part)
    for w in range(head + quads * SIDE, width):
        to[(w + start) % SIDE * part + (w + start) // SIDE] = x[w]


cdef void winograd_inputs(const Windows* s, const real* x, Py_ssize_t first, Py_ssize_t count, Py_ssize_t pitch, real* lines, real* to) noexcept nogil:
    """The transformed tiles [first, first + count): place, channel, tile."""
    cdef Py_ssize_t lanes = lanes_of(to), across = (s.grid[2] + SIDE - 1) // SIDE, down = (s.grid[1] + SIDE - 1) // SIDE, plane = s.size[1] * s.size[2]
    cdef Py_ssize_t part = across + 2 + lanes, top = s.offset[1], left = -s.offset[2], width = min(s.size[2], (across + 1) * SIDE - left)
    cdef Py_ssize_t c, at, tile, n, h, i, image
    cdef const real* source
    memset(lines, 0, 6 * SIDE * part * sizeof(real))
    for c in range(s.channels):
        at = 0
        while at < count:
            tile = (first + at) % across
            h = (first + at) // across % down * SIDE + top
            image = (first + at) // across // down
            n = min(across - tile, count - at)
            source = x + image * s.image + c * plane
            for i in range(6):
                if 0 <= h + i < s.size[1]:
                    split_row(source + (h + i) * s.size[2], width, left, part, lines + i * SIDE * part)
                else:
                    memset(lines + i * SIDE * part, 0, SIDE * part * sizeof(real))
            i = 0
            while i < n:
                if real is float:
                    winograd_f32_input(lines + tile + i, SIDE * part, part, to + c * pitch + at + i, s.channels * pitch)
                else:
                    winograd_f64_input(lines + tile + i, SIDE * part, part, to + c * pitch + at + i, s.channels * pitch)
                i += lanes
            at += n


cdef void place_outputs(const Windows* s, const real* block, real* y, Py_ssize_t first, Py_ssize_t count) noexcept nogil:
    """A vector of tiles of one row to its plane in each image."""
    cdef Py_ssize_t lanes = lanes_of(y), across = (s.grid[2] + SIDE - 1) // SIDE, down = (s.grid[1] + SIDE - 1) // SIDE, t, i, j, h, w, columns
    cdef real* to
    for t in range(count):
        w = (first + t) % across * SIDE
        h = (first + t) // across % down * SIDE
        to = y + (first + t) // across // down * s.out_image + h * s.grid[2] + w
        columns = min(<Py_ssize_t>SIDE, s.grid[2] - w)
        for i in range(min(<Py_ssize_t>SIDE, s.grid[1] - h)):
            if columns == SIDE:
                for j in range(SIDE):
                    to[j] = block[(i * SIDE + j) * lanes + t]
            else:
                for j in range(columns):
                    to[j] = block[(i * SIDE + j) * lanes + t]
            to += s.grid[2]


cdef void winograd(const Windows* s, const real* x, const real* w, Py_ssize_t w_place, const real* bias, real* y, Py_ssize_t rows, Py_ssize_t first,
                   Py_ssize_t count, real* scratch) noexcept nogil:
    """The tiles [first, first + count) of all rows; the places of the transformed weight are w_place apart."""
    cdef Py_ssize_t lanes = lanes_of(scratch), widest = lanes * TILE_VECTORS, pitch = (count + lanes - 1) // lanes * lanes + lanes
    cdef Py_ssize_t panels = (count + widest - 1) // widest, panel, chunk, chunks = (rows + WINOGRAD_ROWS - 1) // WINOGRAD_ROWS
    cdef Py_ssize_t m, place, i, within, plane = s.grid[1] * s.grid[2], width, at
    cdef real* tiles = scratch
    cdef real* products = tiles + PLACES * s.channels * pitch
    cdef real* lines = products + PLACES * WINOGRAD_ROWS * pitch
    cdef real block[SIDE * SIDE * LONGEST]
    winograd_inputs(s, x, first, count, pitch, lines, tiles)
    for chunk in range(chunks):
        within = min(rows - chunk * WINOGRAD_ROWS, WINOGRAD_ROWS)
        for place in range(PLACES):
            for i in range((within + TILE_ROWS - 1) // TILE_ROWS):
                m = chunk * WINOGRAD_ROWS + i * TILE_ROWS
                for panel in range(panels):
                    width = (min(widest, count - panel * widest) + lanes - 1) // lanes * lanes
                    product(<int>(width // lanes), s.channels, w + place * w_place + m * s.channels, 0, <const real*>tiles + place * s.channels * pitch + panel * widest,
                            pitch, products + (place * WINOGRAD_ROWS + i * TILE_ROWS) * pitch + panel * widest, pitch, <const real*>NULL, False)
        for i in range(within):
            m = chunk * WINOGRAD_ROWS + i
            at = 0
            while at < count:
                if real is float:
                    winograd_f32_output(products + i * pitch + at, WINOGRAD_ROWS * pitch, 0 if bias == NULL else bias[m], block)
                else:
                    winograd_f64_output(products + i * pitch + at, WINOGRAD_ROWS * pitch, 0 if bias == NULL else bias[m], block)
                place_outputs(s, <const real*>block, y + m * plane, first + at, min(lanes, count - at))
                at += lanes
