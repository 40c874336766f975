/* Tiles turned on their side: columns that lie one after the other in memory become rows; and rows written past the caches. */
#ifndef PYX_TENSOR_TURN_H
#define PYX_TENSOR_TURN_H
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__SSE2__) || defined(_M_X64)
#include <emmintrin.h>
#define STREAM_LINE 64

/* memcpy past the caches, where it writes whole lines: they needn't be read first. stream_end() before others look at them. */
static inline void stream(char *dst, const char *src, ptrdiff_t size) {
    if (((uintptr_t)dst | (uintptr_t)size) % STREAM_LINE) { memcpy(dst, src, size); return; }
    for (ptrdiff_t i = 0; i < size; i += 16) _mm_stream_si128((__m128i *)(dst + i), _mm_loadu_si128((const __m128i *)(src + i)));
}
static inline void stream_end(void) { _mm_sfence(); }
#else
static inline void stream(char *dst, const char *src, ptrdiff_t size) { memcpy(dst, src, size); }
static inline void stream_end(void) {}
#endif

/* Ask for the lines from `data` on, where they are too far apart for the processor to guess. Past the end of memory nothing happens. */
static inline void fetch(const char *data, ptrdiff_t size) {
#if defined(__GNUC__)
    for (ptrdiff_t line = 0; line < size; line += 64) __builtin_prefetch(data + line);
#else
    (void)data; (void)size;
#endif
}

#if defined(__GNUC__)
#define TURN_VECTORS
typedef uint32_t turn_v4 __attribute__((vector_size(16)));
typedef uint64_t turn_v2 __attribute__((vector_size(16)));
#if defined(__clang__)
#define TURN_MIX(a, b, i, j, k, l) __builtin_shufflevector(a, b, i, j, k, l)
#define TURN_PAIR(a, b, i, j) __builtin_shufflevector(a, b, i, j)
#else
#define TURN_MIX(a, b, i, j, k, l) __builtin_shuffle(a, b, (turn_v4){i, j, k, l})
#define TURN_PAIR(a, b, i, j) __builtin_shuffle(a, b, (turn_v2){i, j})
#endif

/* dst[r][c] = src[c][r] for four rows and columns of four-byte words; steps in bytes */
static inline void turn_4x4(char *dst, ptrdiff_t dst_step, const char *src, ptrdiff_t src_step) {
    turn_v4 a, b, c, d, ab, cd;
    memcpy(&a, src, 16); memcpy(&b, src + src_step, 16); memcpy(&c, src + 2 * src_step, 16); memcpy(&d, src + 3 * src_step, 16);
    ab = TURN_MIX(a, b, 0, 4, 1, 5); cd = TURN_MIX(c, d, 0, 4, 1, 5);
    turn_v4 r0 = TURN_MIX(ab, cd, 0, 1, 4, 5), r1 = TURN_MIX(ab, cd, 2, 3, 6, 7);
    ab = TURN_MIX(a, b, 2, 6, 3, 7); cd = TURN_MIX(c, d, 2, 6, 3, 7);
    turn_v4 r2 = TURN_MIX(ab, cd, 0, 1, 4, 5), r3 = TURN_MIX(ab, cd, 2, 3, 6, 7);
    memcpy(dst, &r0, 16); memcpy(dst + dst_step, &r1, 16); memcpy(dst + 2 * dst_step, &r2, 16); memcpy(dst + 3 * dst_step, &r3, 16);
}
static inline void turn_2x2(char *dst, ptrdiff_t dst_step, const char *src, ptrdiff_t src_step) {
    turn_v2 a, b;
    memcpy(&a, src, 16); memcpy(&b, src + src_step, 16);
    turn_v2 r0 = TURN_PAIR(a, b, 0, 2), r1 = TURN_PAIR(a, b, 1, 3);
    memcpy(dst, &r0, 16); memcpy(dst + dst_step, &r1, 16);
}
#endif

#define TURN_GROUP 4        /* columns read side by side: their lines share the first-level cache, whatever their distance */

#define TURN_SCALAR(type, first_row, first_column, last_column) \
    for (ptrdiff_t r = first_row; r < rows; r++) \
        for (ptrdiff_t c = first_column; c < last_column; c++) \
            ((type *)(dst + r * dst_step))[c] = ((const type *)(src + c * src_step))[r];

/* Columns of contiguous elements, src_step bytes apart, to rows of contiguous elements, dst_step bytes apart. */
#define TURN(name, type, BLOCKS) \
    static void name(char *dst, ptrdiff_t dst_step, const char *src, ptrdiff_t src_step, ptrdiff_t rows, ptrdiff_t columns) { \
        ptrdiff_t column = 0; \
        for (; column + TURN_GROUP <= columns; column += TURN_GROUP) { \
            ptrdiff_t row = 0, size = rows * (ptrdiff_t)sizeof(type); \
            for (ptrdiff_t c = column; c < column + TURN_GROUP; c++) fetch(src + c * src_step + size, size); /* the next tile's */ \
            BLOCKS \
            TURN_SCALAR(type, row, column, column + TURN_GROUP) \
        } \
        TURN_SCALAR(type, 0, column, columns) \
    }

#ifdef TURN_VECTORS
#define TURN_BLOCKS_4 \
    for (; row + 4 <= rows; row += 4) turn_4x4(dst + row * dst_step + column * 4, dst_step, src + column * src_step + row * 4, src_step);
#define TURN_BLOCKS_8 \
    for (; row + 2 <= rows; row += 2) \
        for (ptrdiff_t pair = column; pair < column + TURN_GROUP; pair += 2) \
            turn_2x2(dst + row * dst_step + pair * 8, dst_step, src + pair * src_step + row * 8, src_step);
#else
#define TURN_BLOCKS_4
#define TURN_BLOCKS_8
#endif
typedef struct { uint64_t half[2]; } turn_16;
TURN(turn_words_1, uint8_t, )
TURN(turn_words_2, uint16_t, )
TURN(turn_words_4, uint32_t, TURN_BLOCKS_4)
TURN(turn_words_8, uint64_t, TURN_BLOCKS_8)
TURN(turn_words_16, turn_16, )

static void turn_words(char *dst, ptrdiff_t dst_step, const char *src, ptrdiff_t src_step, ptrdiff_t rows, ptrdiff_t columns, ptrdiff_t itemsize) {
    switch (itemsize) {
    case 1: turn_words_1(dst, dst_step, src, src_step, rows, columns); break;
    case 2: turn_words_2(dst, dst_step, src, src_step, rows, columns); break;
    case 4: turn_words_4(dst, dst_step, src, src_step, rows, columns); break;
    case 8: turn_words_8(dst, dst_step, src, src_step, rows, columns); break;
    default: turn_words_16(dst, dst_step, src, src_step, rows, columns); break;
    }
}
#endif
