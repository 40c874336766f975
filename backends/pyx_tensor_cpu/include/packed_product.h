/* c += a b for a few rows of a and a matrix b that is packed once and used many times, as in the steps of a recurrent layer.
 *
 * `pack` cuts b into panels as wide as a tile; a tile of c stays in registers while the panel and the rows of a go by, which
 * compilers only manage with vectors spelt out (GCC's and Clang's extension). Others get plain loops over the same panels.
 */
#ifndef PYX_TENSOR_PACKED_PRODUCT_H
#define PYX_TENSOR_PACKED_PRODUCT_H
#include <stddef.h>
#include <string.h>

/* Rows and vectors of a tile: sums and what feeds them fill the registers. */
#if defined(__AVX512F__)
#define VECTOR_BYTES 64
#define TILE_ROWS 5
#define TILE_VECTORS 4
#elif defined(__AVX__)
#define VECTOR_BYTES 32
#define TILE_ROWS 6
#define TILE_VECTORS 2
#else
#define VECTOR_BYTES 16
#define TILE_ROWS 6
#define TILE_VECTORS 2
#endif

#if defined(__GNUC__)
#define UNROLLED _Pragma("GCC unroll 8")
#define ALWAYS_INLINE static inline __attribute__((always_inline))
#define VECTOR(real) real __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(real))))
#define LANES(real) (VECTOR_BYTES / sizeof(real))
#else
#define UNROLLED
#define ALWAYS_INLINE static inline
#define VECTOR(real) real
#define LANES(real) 1
#endif

/* Width of the panel that starts at column j of n: full, or for the last one as few vectors as hold the rest, 1, 2 or 4. */
static inline ptrdiff_t panel_width(ptrdiff_t rest, ptrdiff_t lanes) {
    ptrdiff_t vectors = 1;
    while (vectors < TILE_VECTORS && vectors * lanes < rest) vectors *= 2;
    return vectors * lanes;
}

#define PACKED_PRODUCT(real, suffix)                                                                                          \
typedef VECTOR(real) vector_##suffix;                                                                                         \
                                                                                                                              \
ALWAYS_INLINE void tile_##suffix(const real* a, ptrdiff_t a_row, const real* panel, real* c, ptrdiff_t c_row, ptrdiff_t k,    \
                                 int rows, int vectors) {                                                                     \
    vector_##suffix sum[TILE_ROWS][TILE_VECTORS], b[TILE_VECTORS];                                                            \
    const vector_##suffix* from = (const vector_##suffix*)panel;                                                              \
    int i, j;                                                                                                                 \
    UNROLLED for (i = 0; i < rows; i++) {                                                                                     \
        UNROLLED for (j = 0; j < vectors; j++) sum[i][j] = ((const vector_##suffix*)(c + i * c_row))[j];                      \
    }                                                                                                                         \
    for (ptrdiff_t p = 0; p < k; p++, from += vectors) {                                                                      \
        UNROLLED for (j = 0; j < vectors; j++) b[j] = from[j];                                                                \
        UNROLLED for (i = 0; i < rows; i++) {                                                                                 \
            const vector_##suffix factor = a[i * a_row + p] - (vector_##suffix){0};                                           \
            UNROLLED for (j = 0; j < vectors; j++) sum[i][j] += factor * b[j];                                                \
        }                                                                                                                     \
    }                                                                                                                         \
    UNROLLED for (i = 0; i < rows; i++) {                                                                                     \
        UNROLLED for (j = 0; j < vectors; j++) ((vector_##suffix*)(c + i * c_row))[j] = sum[i][j];                            \
    }                                                                                                                         \
}                                                                                                                             \
                                                                                                                              \
ALWAYS_INLINE void rows_##suffix(const real* a, ptrdiff_t a_row, const real* panel, real* c, ptrdiff_t c_row, ptrdiff_t k,    \
                                 ptrdiff_t rows, int vectors) {                                                               \
    switch (rows) {                                                                                                           \
    case 1: tile_##suffix(a, a_row, panel, c, c_row, k, 1, vectors); break;                                                   \
    case 2: tile_##suffix(a, a_row, panel, c, c_row, k, 2, vectors); break;                                                   \
    case 3: tile_##suffix(a, a_row, panel, c, c_row, k, 3, vectors); break;                                                   \
    case 4: tile_##suffix(a, a_row, panel, c, c_row, k, 4, vectors); break;                                                   \
    case 5: tile_##suffix(a, a_row, panel, c, c_row, k, 5, vectors); break;                                                   \
    default: tile_##suffix(a, a_row, panel, c, c_row, k, TILE_ROWS, vectors);                                                 \
    }                                                                                                                         \
}                                                                                                                             \
                                                                                                                              \
static void panel_##suffix(const real* a, ptrdiff_t a_row, const real* panel, real* c, ptrdiff_t c_row, ptrdiff_t m,          \
                           ptrdiff_t k, ptrdiff_t width) {                                                                    \
    ptrdiff_t tiles = (m + TILE_ROWS - 1) / TILE_ROWS, rows;                                                                  \
    for (ptrdiff_t i = 0; tiles > 0; i += rows, tiles--) {      /* as even as can be: a tile of one row wastes the registers */\
        rows = (m - i + tiles - 1) / tiles;                                                                                   \
        const real* from = a + i * a_row;                                                                                     \
        real* to = c + i * c_row;                                                                                             \
        switch (width / (ptrdiff_t)LANES(real)) {                                                                             \
        case 1: rows_##suffix(from, a_row, panel, to, c_row, k, rows, 1); break;                                              \
        case 2: rows_##suffix(from, a_row, panel, to, c_row, k, rows, 2); break;                                              \
        default: rows_##suffix(from, a_row, panel, to, c_row, k, rows, TILE_VECTORS);                                         \
        }                                                                                                                     \
    }                                                                                                                         \
}                                                                                                                             \
                                                                                                                              \
/* c[m, n] += a[m, k] b[k, n], rows of a and c dense and a_row and c_row elements apart */                                    \
static void packed_product_##suffix(const real* a, ptrdiff_t a_row, const real* packed, real* c, ptrdiff_t c_row,             \
                                    ptrdiff_t m, ptrdiff_t n, ptrdiff_t k) {                                                  \
    real edge[TILE_ROWS * TILE_VECTORS * LANES(real)];                                                                        \
    for (ptrdiff_t j = 0, width; j < n; j += width, packed += width * k) {                                                    \
        width = panel_width(n - j, LANES(real));                                                                              \
        if (j + width <= n) {                                                                                                 \
            panel_##suffix(a, a_row, packed, c + j, c_row, m, k, width);                                                      \
            continue;                                                                                                         \
        }                                                                                                                     \
        for (ptrdiff_t i = 0; i < m; i += TILE_ROWS) {      /* columns beyond n are computed beside c */                      \
            ptrdiff_t rows = m - i < TILE_ROWS ? m - i : TILE_ROWS;                                                           \
            memset(edge, 0, sizeof edge);                                                                                     \
            for (ptrdiff_t r = 0; r < rows; r++) memcpy(edge + r * width, c + (i + r) * c_row + j, (n - j) * sizeof(real));   \
            panel_##suffix(a + i * a_row, a_row, packed, edge, width, rows, k, width);                                        \
            for (ptrdiff_t r = 0; r < rows; r++) memcpy(c + (i + r) * c_row + j, edge + r * width, (n - j) * sizeof(real));   \
        }                                                                                                                     \
    }                                                                                                                         \
}                                                                                                                             \
                                                                                                                              \
/* elements that pack_ writes */                                                                                              \
static ptrdiff_t packed_size_##suffix(ptrdiff_t n, ptrdiff_t k) {                                                             \
    ptrdiff_t columns = 0;                                                                                                    \
    while (columns < n) columns += panel_width(n - columns, LANES(real));                                                     \
    return columns * k;                                                                                                       \
}                                                                                                                             \
                                                                                                                              \
static ptrdiff_t panels_##suffix(ptrdiff_t n) { return (n + TILE_VECTORS * LANES(real) - 1) / (TILE_VECTORS * LANES(real)); } \
                                                                                                                              \
/* one panel of b[k, n] with any strides, in elements; in blocks, so that what is read and what is written stay in the cache */\
static void pack_panel_##suffix(const real* b, ptrdiff_t b_row, ptrdiff_t b_column, real* packed, ptrdiff_t n, ptrdiff_t k,   \
                                ptrdiff_t panel) {                                                                            \
    ptrdiff_t j = panel * TILE_VECTORS * LANES(real), width = panel_width(n - j, LANES(real));                                \
    packed += j * k;                                                                                                          \
    for (ptrdiff_t first = 0; first < k; first += 64) {                                                                       \
        ptrdiff_t last = first + 64 < k ? first + 64 : k;                                                                     \
        for (ptrdiff_t i = 0; i < width; i++)                                                                                 \
            for (ptrdiff_t p = first; p < last; p++) packed[p * width + i] = j + i < n ? b[p * b_row + (j + i) * b_column] : 0;\
    }                                                                                                                         \
}

PACKED_PRODUCT(float, f32)
PACKED_PRODUCT(double, f64)
#endif
