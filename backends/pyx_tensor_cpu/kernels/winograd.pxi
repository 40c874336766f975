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


cdef void winograd_inputs(const Windows* s, const real* x, Py_ssize_t channel, Py_ssize_t channels, Py_ssize_t first, Py_ssize_t count, Py_ssize_t pitch,
                          Py_ssize_t apart, real* lines, real* to) noexcept nogil:
    """The transformed tiles [first, first + count) of some channels: places (`apart`), channels (`pitch`), tiles."""
    cdef Py_ssize_t lanes = lanes_of(to), across = (s.grid[2] + SIDE - 1) // SIDE, down = (s.grid[1] + SIDE - 1) // SIDE, plane = s.size[1] * s.size[2]
    cdef Py_ssize_t part = across + 2 + lanes, top = s.offset[1], left = -s.offset[2], width = min(s.size[2], (across + 1) * SIDE - left)
    cdef Py_ssize_t c, at, tile, n, h, i, image
    cdef const real* source
    memset(lines, 0, 6 * SIDE * part * sizeof(real))
    for c in range(channel, channel + channels):
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
                    winograd_f32_input(lines + tile + i, SIDE * part, part, to + c * pitch + at + i, apart)
                else:
                    winograd_f64_input(lines + tile + i, SIDE * part, part, to + c * pitch + at + i, apart)
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


cdef void winograd_products(const real* tiles, Py_ssize_t apart, const real* w, Py_ssize_t w_apart, real* to, Py_ssize_t out_apart, Py_ssize_t rows,
                            Py_ssize_t channels, Py_ssize_t w_channels, Py_ssize_t count, Py_ssize_t pitch, bint accumulate) noexcept nogil:
    """At each place the product of a weight (panels of w_channels) and the tiles."""
    cdef Py_ssize_t lanes = lanes_of(to), widest = lanes * TILE_VECTORS, place, i, panel, width
    for place in range(PLACES):
        for i in range((rows + TILE_ROWS - 1) // TILE_ROWS):
            for panel in range((count + widest - 1) // widest):
                width = (min(widest, count - panel * widest) + lanes - 1) // lanes * lanes
                product(TILE_ROWS, <int>(width // lanes), channels, w + place * w_apart + i * TILE_ROWS * w_channels, 0, tiles + place * apart + panel * widest, pitch,
                        to + place * out_apart + i * TILE_ROWS * pitch + panel * widest, pitch, <const real*>NULL, accumulate)


cdef void winograd_outputs(const Windows* s, const real* products, Py_ssize_t apart, const real* bias, real* y, Py_ssize_t rows, Py_ssize_t first,
                           Py_ssize_t count, Py_ssize_t pitch) noexcept nogil:
    cdef Py_ssize_t lanes = lanes_of(y), plane = s.grid[1] * s.grid[2], i, at
    cdef real block[SIDE * SIDE * LONGEST]
    cdef real start
    for i in range(rows):
        start = 0 if bias == NULL else bias[i]
        at = 0
        while at < count:
            if real is float:
                winograd_f32_output(products + i * pitch + at, apart, start, block)
            else:
                winograd_f64_output(products + i * pitch + at, apart, start, block)
            place_outputs(s, <const real*>block, y + i * plane, first + at, min(lanes, count - at))
            at += lanes


cdef void winograd(const Windows* s, const real* x, const real* w, Py_ssize_t w_apart, const real* bias, real* y, Py_ssize_t rows, Py_ssize_t first,
                   Py_ssize_t count, real* scratch) noexcept nogil:
    """The tiles [first, first + count) of all rows, from the transformed weight."""
    cdef Py_ssize_t lanes = lanes_of(scratch), pitch = (count + lanes - 1) // lanes * lanes + lanes, row = 0, within
    cdef Py_ssize_t apart = s.channels * pitch + lanes, out_apart = WINOGRAD_ROWS * pitch + lanes      # no power of 2: places would share cache sets
    cdef real* tiles = scratch
    cdef real* products = tiles + PLACES * apart
    winograd_inputs(s, x, 0, s.channels, first, count, pitch, apart, products + PLACES * out_apart, tiles)
    while row < rows:
        within = min(rows - row, WINOGRAD_ROWS)
        winograd_products(<const real*>tiles, apart, w + row * s.channels, w_apart, products, out_apart, within, s.channels, s.channels, count, pitch, False)
        winograd_outputs(s, <const real*>products, out_apart, NULL if bias == NULL else bias + row, y + row * s.grid[1] * s.grid[2], within, first, count,
                         pitch)
        row += within


cdef void winograd_rows(const Windows* s, const real* tiles, Py_ssize_t apart, const real* w, Py_ssize_t w_row, Py_ssize_t w_channel, const Py_ssize_t* tap,
                        const real* bias, real* y, Py_ssize_t rows, Py_ssize_t first, Py_ssize_t count, real* scratch) noexcept nogil:
    """At most WINOGRAD_ROWS rows of the transformed tiles [first, first + count), the weight transformed a few channels at a time."""
    cdef Py_ssize_t lanes = lanes_of(scratch), pitch = (count + lanes - 1) // lanes * lanes + lanes, channel = 0, channels, i
    cdef Py_ssize_t out_apart = WINOGRAD_ROWS * pitch + lanes, w_apart = WINOGRAD_ROWS * WINOGRAD_CHANNELS + lanes
    cdef real* products = scratch
    cdef real* weights = scratch + PLACES * out_apart
    while channel < s.channels:
        channels = min(s.channels - channel, WINOGRAD_CHANNELS)
        for i in range((rows + TILE_ROWS - 1) // TILE_ROWS):
            winograd_weights(w + i * TILE_ROWS * w_row + channel * w_channel, weights + i * TILE_ROWS * channels, min(rows - i * TILE_ROWS, TILE_ROWS), channels,
                             w_row, w_channel, tap, w_apart)
        winograd_products(tiles + channel * pitch, apart, <const real*>weights, w_apart, products, out_apart, rows, channels, channels, count, pitch,
                          channel > 0)
        channel += channels
    winograd_outputs(s, <const real*>products, out_apart, bias, y, rows, first, count, pitch)
