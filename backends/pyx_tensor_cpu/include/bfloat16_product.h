/* Products of bfloat16 matrices of any layout in tile registers, to which subnormal numbers are 0. The factors are copied into tiles first;
 * of those a block of rows stays in the second-level cache while it meets the columns, 32 at a time. */
#ifndef PYX_TENSOR_BFLOAT16_PRODUCT_H
#define PYX_TENSOR_BFLOAT16_PRODUCT_H
#include <stdlib.h>
#include "bfloat16_tiles.h"
#include "turn.h"

enum { PANEL = 2 * TILES_ROWS, BLOCK_BYTES = 1 << 19 };

static inline int64_t at_most(int64_t a, int64_t limit) { return a < limit ? a : limit; }
static inline int64_t panels_of(int64_t size) { return (size + PANEL - 1) / PANEL; }

/* The matrix as tiles, those along its rows next to each other: an even number of rows of `depth` tiles. */
static inline void product_pack_left(bfloat16* to, const bfloat16* m, int64_t row_step, int64_t column_step, int64_t rows, int64_t columns, int64_t depth) {
    for (int64_t row = 0; row < panels_of(rows) * PANEL; row++)
        for (int64_t d = 0; d < depth; d++) {
            bfloat16* line = to + (row / TILES_ROWS * depth + d) * TILES_SIZE + row % TILES_ROWS * TILES_COLUMNS;
            const int64_t first = d * TILES_COLUMNS, count = row < rows ? at_most(columns - first, TILES_COLUMNS) : 0;
            const bfloat16* from = m + row * row_step + first * column_step;
            if (column_step == 1 && count == TILES_COLUMNS)
                memcpy(line, from, sizeof *m * TILES_COLUMNS);
            else
                for (int64_t j = 0; j < TILES_COLUMNS; j++) line[j] = j < count ? from[j * column_step] : 0;
        }
}

/* A tile of a right factor, whose first element is `from` and of which so many rows and columns are there: pairs of rows are interleaved. */
TILES_TARGET static inline void product_pack_tile(bfloat16* tile, const bfloat16* from, int64_t row_step, int64_t column_step, int64_t rows, int64_t columns) {
    if (rows >= TILES_COLUMNS && columns >= TILES_ROWS) {
#ifdef TURN_VECTORS
        if (row_step == 1) {
            for (int j = 0; j < TILES_ROWS; j += 4)
                for (int pair = 0; pair < TILES_ROWS; pair += 4)
                    turn_4x4((char*)(tile + pair * TILES_COLUMNS + 2 * j), 2 * TILES_COLUMNS, (const char*)(from + j * column_step + 2 * pair), 2 * column_step);
            return;
        }
#endif
        if (column_step == 1) {
            for (int pair = 0; pair < TILES_ROWS; pair++, from += 2 * row_step)
                tiles_pair(tile + pair * TILES_COLUMNS, from, from + row_step);
            return;
        }
    }
    for (int i = 0; i < TILES_COLUMNS; i++)
        for (int j = 0; j < TILES_ROWS; j++)
            tile[i / 2 * TILES_COLUMNS + 2 * j + i % 2] = i < rows && j < columns ? from[i * row_step + j * column_step] : 0;
}

/* The matrix as a right factor: tiles along its columns next to each other, an even number of columns of `depth` tiles. */
static inline void product_pack_right(bfloat16* to, const bfloat16* m, int64_t row_step, int64_t column_step, int64_t rows, int64_t columns, int64_t depth) {
    for (int64_t column = 0; column < panels_of(columns) * PANEL; column += TILES_ROWS)
        for (int64_t d = 0; d < depth; d++)
            product_pack_tile(to + (column / TILES_ROWS * depth + d) * TILES_SIZE, m + d * TILES_COLUMNS * row_step + column * column_step, row_step, column_step,
                              rows - d * TILES_COLUMNS, columns - column);
}

/* c = rounded(c or `start` or 0 + sums), at most 16 rows and columns. */
static inline void product_finish(bfloat16* c, int64_t c_row, const bfloat16* start, const float* sums, int64_t rows, int64_t columns, int accumulate) {
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++) {
            const float before = accumulate ? bf16_to_f32(c[i * c_row + j]) : start ? bf16_to_f32(start[j]) : 0;
            c[i * c_row + j] = f32_to_bf16(before + sums[i * TILES_ROWS + j]);
        }
}

/* A panel of rows times one of columns, into the m by n elements of c that there are. */
TILES_TARGET static inline void product_of_panels(const bfloat16* left, const bfloat16* right, int64_t depth, const bfloat16* start, bfloat16* c, int64_t c_row,
                                           int64_t m, int64_t n, int accumulate) {
    float sums[4 * TILES_ROWS * TILES_ROWS];
    tiles_multiply(sums, left, right, depth);
    for (int i = 0; i < 4; i++) {
        const int64_t row = i / 2 * TILES_ROWS, column = i % 2 * TILES_ROWS, rows = at_most(m - row, TILES_ROWS), columns = at_most(n - column, TILES_ROWS);
        bfloat16* block = c + row * c_row + column;
        const bfloat16* first = start ? start + column : NULL;
        if (rows == TILES_ROWS && columns == TILES_ROWS)      /* compiled apart, for its known size */
            product_finish(block, c_row, first, sums + i * 256, TILES_ROWS, TILES_ROWS, accumulate);
        else
            product_finish(block, c_row, first, sums + i * 256, rows, columns, accumulate);
    }
}

/* A row times the matrix without tiles: each element of b is needed once only. */
TILES_TARGET static void product_row(const bfloat16* a, int64_t a_column, const bfloat16* b, int64_t b_row, int64_t b_column, const bfloat16* start,
                                     bfloat16* c, int64_t n, int64_t k, int accumulate) {
    enum { LANES = 16, WIDTH = 64 };
    for (int64_t first = 0; first < n; first += b_row == 1 ? 1 : WIDTH) {
        const int64_t count = b_row == 1 ? 1 : at_most(n - first, WIDTH), whole = b_row == 1 && a_column == 1 ? k / LANES * LANES : 0;
        const bfloat16* columns = b + first * b_column;
        float sums[WIDTH] = {0}, lanes[LANES] = {0};
        for (int64_t p = 0; p < whole; p += LANES)
            for (int lane = 0; lane < LANES; lane++) lanes[lane] += bf16_to_f32(a[p + lane]) * bf16_to_f32(columns[p + lane]);
        for (int lane = 0; lane < LANES; lane++) sums[0] += lanes[lane];
        for (int64_t p = whole; p < k; p++) {
            const float factor = bf16_to_f32(a[p * a_column]);
            if (b_column == 1 && count == WIDTH)
                for (int j = 0; j < WIDTH; j++) sums[j] += factor * bf16_to_f32(columns[p * b_row + j]);
            else
                for (int64_t j = 0; j < count; j++) sums[j] += factor * bf16_to_f32(columns[p * b_row + j * b_column]);
        }
        for (int64_t j = 0; j < count; j++) product_finish(c + first + j, 1, start ? start + first + j : NULL, sums + j, 1, 1, accumulate);
    }
}

/* c = a b, added to the row `start`, if that isn't NULL, or to c. */
static inline void bf16_product(const bfloat16* a, int64_t a_row, int64_t a_column, const bfloat16* b, int64_t b_row, int64_t b_column,
                         const bfloat16* start, bfloat16* c, int64_t c_row, int64_t m, int64_t n, int64_t k, int accumulate) {
    const int64_t depth = (k + TILES_COLUMNS - 1) / TILES_COLUMNS, panel = 2 * depth * TILES_SIZE;        /* elements of a panel */
    const int64_t fitting = BLOCK_BYTES / (panel * sizeof *a + 1), block = at_most(fitting > 1 ? fitting : 1, panels_of(m)) * PANEL;
    bfloat16* const memory = m == 1 ? NULL : malloc((block / PANEL + panels_of(n)) * panel * sizeof *a + 64);
    if (memory == NULL) {                       /* not worth it, or there is none left */
        for (int64_t i = 0; i < m; i++) product_row(a + i * a_row, a_column, b, b_row, b_column, start, c + i * c_row, n, k, accumulate);
        return;
    }
    bfloat16* const right = (bfloat16*)(((uintptr_t)memory + 63) / 64 * 64);
    bfloat16* const left = right + panels_of(n) * panel;
    product_pack_right(right, b, b_row, b_column, k, n, depth);
    tiles_configure();
    for (int64_t row = 0; row < m; row += block) {
        product_pack_left(left, a + row * a_row, a_row, a_column, at_most(m - row, block), k, depth);
        for (int64_t column = 0; column < n; column += PANEL)
            for (int64_t i = row; i < at_most(row + block, m); i += PANEL)
                product_of_panels(left + (i - row) / PANEL * panel, right + column / PANEL * panel, depth, start ? start + column : NULL,
                                  c + i * c_row + column, c_row, m - i, n - column, accumulate);
    }
    tiles_release();
    free(memory);
}
#endif
