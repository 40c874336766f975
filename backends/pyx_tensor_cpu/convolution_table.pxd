"""What the convolution kernels of one CPU level offer the driver, for float32 and float64.

Images are seen through windows: positions in a grid, each with `taps` places for every channel. As a matrix they have channels * taps
rows (channel first) and a column for each window, image after image; it is made a panel at a time and never as a whole.
"""
ctypedef struct Windows:
    Py_ssize_t channels
    Py_ssize_t taps
    Py_ssize_t image                # elements from an image to the next; there may be more channels than these
    Py_ssize_t out_image            # the same of the result
    Py_ssize_t size[3]              # of an image
    Py_ssize_t grid[3]              # how many windows
    Py_ssize_t step[3]              # from a window to the next, in the image
    const Py_ssize_t* offset        # three for each tap: where it is, for the window at 0
    Py_ssize_t out_size[3]          # of the result, in which window q is at start + q * step
    Py_ssize_t out_start[3]
    Py_ssize_t out_step[3]

# Rows of a weight in panels of TILE_ROWS: element (m, c, t) is at w + m row + c channel + tap[t].
ctypedef void (*PackWeight)(const char* w, char* packed, Py_ssize_t rows, Py_ssize_t channels, Py_ssize_t taps, Py_ssize_t row, Py_ssize_t channel,
                            const Py_ssize_t* tap) noexcept nogil
# Rows [row, row + rows) of y = weight * columns + bias, for columns [first, first + count); row is a multiple of TILE_ROWS. The weight
# is packed where w_row is 0, else its rows are that far apart and as many as panels of TILE_ROWS need.
ctypedef void (*Product)(const Windows* s, const char* x, const char* w, Py_ssize_t w_row, const char* bias, char* y, Py_ssize_t row, Py_ssize_t rows,
                         Py_ssize_t first, Py_ssize_t count, char* scratch) noexcept nogil
# out[k, m] = sum over columns [first, first + count) of x's matrix[k] g[m], for rows k in [row, row + rows) with the tap first; out has
# `width` columns, and g's images are out_image apart.
ctypedef void (*WeightProduct)(const Windows* s, const char* x, const char* g, char* out, Py_ssize_t outputs, Py_ssize_t width, Py_ssize_t row,
                               Py_ssize_t rows, Py_ssize_t first, Py_ssize_t count, char* scratch) noexcept nogil
# For few positions (see kernels/few_positions.pxi): those of y packed; then some columns of the weight's gradient, or of the matrix of columns
# that an image is the sum of; and those sums for a channel.
ctypedef void (*PackPositions)(const char* y, Py_ssize_t outputs, Py_ssize_t positions, Py_ssize_t image, Py_ssize_t total, bint by_output,
                               char* packed) noexcept nogil
ctypedef void (*WeightPanel)(const Windows* s, const char* x, const char* packed, char* out, Py_ssize_t outputs, Py_ssize_t first, Py_ssize_t count,
                             Py_ssize_t total, char* scratch) noexcept nogil
ctypedef void (*ColumnsPanel)(const char* packed, const char* w, char* out, Py_ssize_t outputs, Py_ssize_t depth, Py_ssize_t first, Py_ssize_t count,
                              Py_ssize_t total) noexcept nogil
ctypedef void (*AddColumns)(const Windows* s, const char* columns, const char* bias, char* x, Py_ssize_t samples, Py_ssize_t channel) noexcept nogil
# Rows [first, first + count) of an image's grid, which has no depth, from the packed weight.
ctypedef void (*RowsProduct)(const Windows* s, const char* x, const char* packed, const char* bias, char* y, Py_ssize_t rows, Py_ssize_t first,
                             Py_ssize_t count, char* scratch) noexcept nogil
# One plane of the result: y = the windows of all channels times their taps (+ bias); and of one channel the sums for its taps, added to
# `out`. The scratch memory is zero at first and then only for calls with the same windows.
ctypedef void (*Depthwise)(const Windows* s, const char* x, const char* w, const char* bias, char* y, char* scratch) noexcept nogil
ctypedef void (*DepthwiseWeight)(const Windows* s, const char* x, const char* g, char* out, char* scratch) noexcept nogil

# By Winograd's minimal filtering, for windows of 3x3 neighbours that touch: a panel of the transformed weight, of which 36 places are `step`
# apart, and tiles [first, first + count) of 4x4 outputs, row by row, image by image.
ctypedef void (*WinogradWeights)(const char* w, char* to, Py_ssize_t rows, Py_ssize_t channels, Py_ssize_t row, Py_ssize_t channel,
                                 const Py_ssize_t* tap, Py_ssize_t step) noexcept nogil
ctypedef void (*Winograd)(const Windows* s, const char* x, const char* w, Py_ssize_t w_place, const char* bias, char* y, Py_ssize_t rows,
                          Py_ssize_t first, Py_ssize_t count, char* scratch) noexcept nogil
# The same in two steps, for weights whose transform no cache would hold: transformed tiles of some channels, and some rows from them.
ctypedef void (*WinogradInputs)(const Windows* s, const char* x, Py_ssize_t channel, Py_ssize_t channels, Py_ssize_t first, Py_ssize_t count,
                                Py_ssize_t pitch, Py_ssize_t apart, char* lines, char* to) noexcept nogil
ctypedef void (*WinogradRows)(const Windows* s, const char* tiles, Py_ssize_t apart, const char* w, Py_ssize_t w_row, Py_ssize_t w_channel,
                              const Py_ssize_t* tap, const char* bias, char* y, Py_ssize_t rows, Py_ssize_t first, Py_ssize_t count,
                              char* scratch) noexcept nogil

ctypedef struct ConvolutionKernels:
    PackWeight pack_weight
    Product product
    WeightProduct weight_product
    PackPositions pack_positions
    WeightPanel weight_panel
    ColumnsPanel columns_panel
    AddColumns add_columns
    RowsProduct rows_product
    Depthwise depthwise
    DepthwiseWeight depthwise_weight
    WinogradWeights winograd_weights
    Winograd winograd
    WinogradInputs winograd_inputs
    WinogradRows winograd_rows
    bint has_winograd               # the compiler knows vectors
    Py_ssize_t rows                 # of a tile
    Py_ssize_t width                # columns of a panel
    Py_ssize_t lanes                # elements of a vector

ctypedef struct ConvolutionTable:
    ConvolutionKernels single
    ConvolutionKernels double_

cdef enum:
    DEPTH = 512                     # about how many rows of the columns' matrix are made at once
    COLUMNS = 512                   # columns of the columns' matrix that a weight's gradient takes at once
    WINOGRAD_CHANNELS = 96          # channels whose weights are transformed at once where they aren't kept
    WINOGRAD_ROWS = 32              # rows whose products are kept before they are transformed
