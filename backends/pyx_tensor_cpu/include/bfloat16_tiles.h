/* Products of bfloat16 matrices in the tile registers of x86 processors that have them (AMX): multiplied exactly, summed in float32.
 *
 * A matrix is kept as tiles that fill a register, 16 rows of 32 values, those along its rows next to each other. There is an even number of
 * tiles in a column; what the matrix lacks of that is zero. Of a right factor those along its columns lie next to each other, and a row of
 * a tile has two of the matrix, in pairs: the values that are multiplied and added in one go.
 */
#ifndef PYX_TENSOR_BFLOAT16_TILES_H
#define PYX_TENSOR_BFLOAT16_TILES_H
#include <stdint.h>
#include <string.h>
#include "half.h"

#define TILES_ROWS 16
#define TILES_COLUMNS 32
#define TILES_SIZE (TILES_ROWS * TILES_COLUMNS)

typedef uint16_t bfloat16;

/* Where the 16 x 16 block (row, column) of a matrix of so many tiles a row begins; its rows lie TILES_COLUMNS apart. */
static inline bfloat16* tiles_block(bfloat16* m, int64_t across, int64_t row, int64_t column) {
    return m + (row * across + column / 2) * TILES_SIZE + column % 2 * TILES_ROWS;
}

/* A matrix of rows one after the other as tiles, of which there are 2 * down in a column and `across` in a row. */
static inline void tiles_load(bfloat16* to, const float* m, int64_t rows, int64_t columns, int64_t down, int64_t across) {
    for (int64_t row = 0; row < 2 * down; row++)
        for (int64_t column = 0; column < 2 * across; column++) {
            bfloat16* block = tiles_block(to, across, row, column);
            const int64_t top = row * TILES_ROWS, left = column * TILES_ROWS;
            for (int i = 0; i < TILES_ROWS; i++)
                for (int j = 0; j < TILES_ROWS; j++)
                    block[i * TILES_COLUMNS + j] = top + i < rows && left + j < columns ? f32_to_bf16(m[(top + i) * columns + left + j]) : 0;
        }
}

static inline void tiles_store(float* to, bfloat16* m, int64_t rows, int64_t columns, int64_t across) {
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++)
            to[i * columns + j] = bf16_to_f32(tiles_block(m, across, i / TILES_ROWS, j / TILES_ROWS)[i % TILES_ROWS * TILES_COLUMNS + j % TILES_ROWS]);
}

/* The transpose of m as a right factor: each tile's pairs of values turned on their side. */
static inline void tiles_pack_transposed(bfloat16* to, const bfloat16* m, int64_t tiles) {
    for (int64_t t = 0; t < tiles; t++, to += TILES_SIZE, m += TILES_SIZE)
        for (int pair = 0; pair < TILES_ROWS; pair++)
            for (int row = 0; row < TILES_ROWS; row++)
                memcpy(to + pair * TILES_COLUMNS + 2 * row, m + row * TILES_COLUMNS + 2 * pair, 2 * sizeof *m);
}

/* A row of a right factor's tile: a pair of rows of the matrix, interleaved. */
static inline void tiles_pair(bfloat16* to, const bfloat16* even, const bfloat16* odd) {
    for (int i = 0; i < TILES_ROWS; i++) {
        const uint32_t both = even[i] | (uint32_t)odd[i] << 16;
        memcpy(to + 2 * i, &both, sizeof both);
    }
}

/* Columns first to last, in blocks of 16, of m as a right factor. */
static inline void tiles_pack(bfloat16* to, bfloat16* m, int64_t down, int64_t across, int64_t first, int64_t last) {
    for (int64_t column = first; column < last; column++)
        for (int64_t row = 0; row < 2 * down; row++) {
            const bfloat16* from = tiles_block(m, across, row, column);
            bfloat16* tile = to + (column * down + row / 2) * TILES_SIZE + row % 2 * TILES_SIZE / 2;
            for (int pair = 0; pair < TILES_ROWS / 2; pair++, from += 2 * TILES_COLUMNS)
                tiles_pair(tile + pair * TILES_COLUMNS, from, from + TILES_COLUMNS);
        }
}

/* to = rounded(a * old + b * product), a block of 16 x 16; old may be NULL. */
static inline void tiles_finish(bfloat16* to, const bfloat16* old, const float* product, float a, float b) {
    for (int i = 0; i < TILES_ROWS; i++)
        for (int j = 0; j < TILES_ROWS; j++) {
            const float p = b * product[i * TILES_ROWS + j];
            to[i * TILES_COLUMNS + j] = f32_to_bf16(old ? a * bf16_to_f32(old[i * TILES_COLUMNS + j]) + p : p);
        }
}

static inline void tiles_mirror(bfloat16* to, const bfloat16* from) {
    for (int i = 0; i < TILES_ROWS; i++)
        for (int j = 0; j < TILES_ROWS; j++)
            to[j * TILES_COLUMNS + i] = from[i * TILES_COLUMNS + j];
}

#if defined(__x86_64__) && defined(__linux__) && (defined(__clang__) ? __clang_major__ >= 12 : defined(__GNUC__) && __GNUC__ >= 11)
#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TILES_TARGET __attribute__((target("amx-tile,amx-bf16,avx512f,avx512bw,avx512vl,avx512dq")))

/* Whether the processor has the registers and the system lets this process use them, for which it must be asked. */
static inline int tiles_available(void) {
    enum { ARCH_REQ_XCOMP_PERM = 0x1023, XFEATURE_XTILEDATA = 18 };
    unsigned a, b, c, d;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(d >> 22 & 1) || !(d >> 24 & 1) || !(b >> 16 & 1) || !(b >> 30 & 1))
        return 0;
    return syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) == 0;
}

/* Between these two the calling thread may multiply tiles. */
TILES_TARGET static inline void tiles_configure(void) {
    static const struct { uint8_t palette, start, unused[14]; uint16_t bytes[16]; uint8_t rows[16]; } CONFIGURATION = {
        1, 0, {0}, {64, 64, 64, 64, 64, 64, 64, 64}, {16, 16, 16, 16, 16, 16, 16, 16}};
    _tile_loadconfig(&CONFIGURATION);
}
TILES_TARGET static inline void tiles_release(void) { _tile_release(); }

/* Four blocks of the product, two down and two across, whose factors' tiles lie a row (column) of `depth` tiles apart. */
TILES_TARGET static inline void tiles_multiply(float* out, const bfloat16* left, const bfloat16* right, int64_t depth) {
    const bfloat16 *left2 = left + depth * TILES_SIZE, *right2 = right + depth * TILES_SIZE;
    _tile_zero(0); _tile_zero(1); _tile_zero(2); _tile_zero(3);
    for (int64_t k = 0; k < depth * TILES_SIZE; k += TILES_SIZE) {
        _tile_loadd(4, left + k, 64);
        _tile_loadd(6, right + k, 64);
        _tile_dpbf16ps(0, 4, 6);
        _tile_loadd(7, right2 + k, 64);
        _tile_dpbf16ps(1, 4, 7);
        _tile_loadd(5, left2 + k, 64);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
    }
    _tile_stored(0, out, 64); _tile_stored(1, out + 256, 64); _tile_stored(2, out + 512, 64); _tile_stored(3, out + 768, 64);
}

/* Rows 16 * first to 16 * last, both even, of to = rounded(a * old + b * left right), which has `across` tiles in a row; `depth` are those that
 * are summed over. Of a symmetric product those blocks are computed that are not right of the diagonal, and mirrored. */
TILES_TARGET static inline void tiles_product(bfloat16* to, bfloat16* old, const bfloat16* left, const bfloat16* right, int64_t depth, int64_t across,
                                       int64_t first, int64_t last, float a, float b, int symmetric) {
    float out[4 * TILES_ROWS * TILES_ROWS];
    tiles_configure();
    for (int64_t column = 0; column < (symmetric ? last : 2 * across); column += 2)
        for (int64_t row = symmetric && column > first ? column : first; row < last; row += 2) {
            tiles_multiply(out, left + row * depth * TILES_SIZE, right + column * depth * TILES_SIZE, depth);
            for (int i = 0; i < 4; i++) {
                bfloat16* block = tiles_block(to, across, row + i / 2, column + i % 2);
                tiles_finish(block, old ? tiles_block(old, across, row + i / 2, column + i % 2) : NULL, out + i * 256, a, b);
                if (symmetric && row > column)
                    tiles_mirror(tiles_block(to, across, column + i % 2, row + i / 2), block);
            }
        }
    tiles_release();
}
#else
#define TILES_TARGET
static inline int tiles_available(void) { return 0; }
static inline void tiles_configure(void) {}
static inline void tiles_release(void) {}
static inline void tiles_multiply(float* out, const bfloat16* left, const bfloat16* right, int64_t depth) {}
static inline void tiles_product(bfloat16* to, bfloat16* old, const bfloat16* left, const bfloat16* right, int64_t depth, int64_t across, int64_t first,
                          int64_t last, float a, float b, int symmetric) {}
#endif
#endif
