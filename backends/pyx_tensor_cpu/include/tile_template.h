/* Included by tile.h once for float and once for double. */
#define LANES ((ptrdiff_t)(TILE_BYTES / sizeof(TILE_REAL)))

#if defined(__GNUC__)
TILE_INLINE void TILE_NAME(fixed)(const int squares, const int rows, const int vectors, const int turned, ptrdiff_t depth, const TILE_REAL *a, ptrdiff_t a_step, const TILE_REAL *b,
                                  ptrdiff_t b_row, const ptrdiff_t *places, ptrdiff_t last, TILE_REAL *out, ptrdiff_t out_row, const TILE_REAL *bias, int accumulate) {
    typedef TILE_NAME(vector) vector;
    vector c[TILE_ROWS][TILE_VECTORS];
    TILE_UNROLL for (int i = 0; i < rows; i++)
        TILE_UNROLL for (int j = 0; j < vectors; j++) c[i][j] = (vector){0} + (bias ? bias[i] : (TILE_REAL)0);
    for (ptrdiff_t p = 0; p < depth; p++) {
        vector row[TILE_VECTORS];
        if (turned) __builtin_prefetch(a + (p + TILE_AHEAD) * a_step);      /* the processor doesn't guess steps across pages */
        TILE_UNROLL for (int j = 0; j < vectors; j++) row[j] = *(const vector *)(b + (places ? places[p] : p * b_row) + (j == vectors - 1 ? last : j * LANES));
        TILE_UNROLL for (int i = 0; i < rows; i++) {
            const TILE_REAL factor = turned ? a[p * a_step + i] : a[i * a_step + p];
            TILE_UNROLL for (int j = 0; j < vectors; j++) {
                const vector apart = factor - row[j];
                c[i][j] += squares ? apart * apart : factor * row[j];
            }
        }
    }
    TILE_UNROLL for (int i = 0; i < rows; i++)
        TILE_UNROLL for (int j = 0; j < vectors; j++) {
            vector *place = (vector *)(out + i * out_row + (j == vectors - 1 ? last : j * LANES));
            if (accumulate) *place = *place + c[i][j];
            else *place = c[i][j];
        }
}
#else
TILE_INLINE void TILE_NAME(fixed)(const int squares, const int rows, const int vectors, const int turned, ptrdiff_t depth, const TILE_REAL *a, ptrdiff_t a_step, const TILE_REAL *b,
                                  ptrdiff_t b_row, const ptrdiff_t *places, ptrdiff_t last, TILE_REAL *out, ptrdiff_t out_row, const TILE_REAL *bias, int accumulate) {
    const ptrdiff_t width = last + LANES;
    for (ptrdiff_t i = 0; i < rows; i++) {
        TILE_REAL c[TILE_VECTORS * TILE_BYTES / sizeof(TILE_REAL)];
        for (ptrdiff_t j = 0; j < width; j++) c[j] = bias ? bias[i] : (TILE_REAL)0;
        for (ptrdiff_t p = 0; p < depth; p++) {
            const TILE_REAL factor = turned ? a[p * a_step + i] : a[i * a_step + p];
            for (ptrdiff_t j = 0; j < width; j++) {
                const TILE_REAL value = b[(places ? places[p] : p * b_row) + j], apart = factor - value;
                c[j] += squares ? apart * apart : factor * value;
            }
        }
        for (ptrdiff_t j = 0; j < width; j++) out[i * out_row + j] = accumulate ? out[i * out_row + j] + c[j] : c[j];
    }
}
#endif

/* `rows` is how many are wanted: of a half or less only that half is computed. */
TILE_INLINE void TILE_NAME(sums)(const int squares, int rows, int vectors, ptrdiff_t depth, const TILE_REAL *a, ptrdiff_t a_row, const TILE_REAL *b,
                                 ptrdiff_t b_row, TILE_REAL *out, ptrdiff_t out_row, const TILE_REAL *bias, int accumulate) {
    const ptrdiff_t last = (vectors - 1) * LANES;
#define TILE_CASE(r, v)                                                                                                 \
    if (a_row) TILE_NAME(fixed)(squares, r, v, 0, depth, a, a_row, b, b_row, NULL, last, out, out_row, bias, accumulate); \
    else TILE_NAME(fixed)(squares, r, v, 1, depth, a, TILE_ROWS, b, b_row, NULL, last, out, out_row, bias, accumulate);
    if (rows <= TILE_ROWS / 2) {
        if (vectors == 3) { TILE_CASE(TILE_ROWS / 2, 3) }
        else if (vectors == 2) { TILE_CASE(TILE_ROWS / 2, 2) }
        else { TILE_CASE(TILE_ROWS / 2, 1) }
    } else if (vectors == 3) { TILE_CASE(TILE_ROWS, 3) }
    else if (vectors == 2) { TILE_CASE(TILE_ROWS, 2) }
    else { TILE_CASE(TILE_ROWS, 1) }
#undef TILE_CASE
}
static void TILE_NAME(product)(int rows, int vectors, ptrdiff_t depth, const TILE_REAL *a, ptrdiff_t a_row, const TILE_REAL *b, ptrdiff_t b_row,
                               TILE_REAL *out, ptrdiff_t out_row, const TILE_REAL *bias, int accumulate) {
    TILE_NAME(sums)(0, rows, vectors, depth, a, a_row, b, b_row, out, out_row, bias, accumulate);
}
/* Sums of (a[i, p] - b[p, j])^2 */
static void TILE_NAME(squared_distances)(int rows, int vectors, ptrdiff_t depth, const TILE_REAL *a, ptrdiff_t a_row, const TILE_REAL *b, ptrdiff_t b_row,
                                         TILE_REAL *out, ptrdiff_t out_row, int accumulate) {
    TILE_NAME(sums)(1, rows, vectors, depth, a, a_row, b, b_row, out, out_row, NULL, accumulate);
}

/* The same for packed a and rows of b at places of their own. The vectors cover `count` columns, the last one overlapping the one before. */
static void TILE_NAME(places_product)(ptrdiff_t count, ptrdiff_t depth, const TILE_REAL *a, const TILE_REAL *b, const ptrdiff_t *places, TILE_REAL *out,
                                      ptrdiff_t out_row, const TILE_REAL *bias) {
    const ptrdiff_t last = count - LANES;
    if (count > 2 * LANES) TILE_NAME(fixed)(0, TILE_ROWS, 3, 1, depth, a, TILE_ROWS, b, 0, places, last, out, out_row, bias, 0);
    else if (count > LANES) TILE_NAME(fixed)(0, TILE_ROWS, 2, 1, depth, a, TILE_ROWS, b, 0, places, last, out, out_row, bias, 0);
    else TILE_NAME(fixed)(0, TILE_ROWS, 1, 1, depth, a, TILE_ROWS, b, 0, places, last, out, out_row, bias, 0);
}

/* y[j] = start + sum over taps of w[t] line[places[t] + j] for `vectors` vectors of j, the last one beginning at `last`. */
#if defined(__GNUC__)
TILE_INLINE void TILE_NAME(some_sums)(const int vectors, ptrdiff_t last, ptrdiff_t taps, const ptrdiff_t *places, const TILE_REAL *w,
                                      const TILE_REAL *line, TILE_REAL start, TILE_REAL *y) {
    typedef TILE_NAME(vector) vector;
    vector c[4];
    TILE_UNROLL for (int j = 0; j < vectors; j++) c[j] = (vector){0} + start;
    for (ptrdiff_t t = 0; t < taps; t++) {
        const TILE_REAL *source = line + places[t], factor = w[t];
        TILE_UNROLL for (int j = 0; j < vectors; j++) c[j] += factor * *(const vector *)(source + (j == vectors - 1 ? last : j * LANES));
    }
    TILE_UNROLL for (int j = 0; j < vectors; j++) *(vector *)(y + (j == vectors - 1 ? last : j * LANES)) = c[j];
}
#else
TILE_INLINE void TILE_NAME(some_sums)(const int vectors, ptrdiff_t last, ptrdiff_t taps, const ptrdiff_t *places, const TILE_REAL *w,
                                      const TILE_REAL *line, TILE_REAL start, TILE_REAL *y) {
    for (ptrdiff_t j = 0; j < last + LANES; j++) y[j] = start;
    for (ptrdiff_t t = 0; t < taps; t++)
        for (ptrdiff_t j = 0; j < last + LANES; j++) y[j] += w[t] * line[places[t] + j];
}
#endif

/* The same for a row of `count`; reads less than a vector beyond its end. */
static void TILE_NAME(row_sums)(ptrdiff_t taps, const ptrdiff_t *places, const TILE_REAL *w, const TILE_REAL *line, TILE_REAL start, TILE_REAL *y,
                                ptrdiff_t count) {
    for (; count >= 5 * LANES; count -= 4 * LANES, line += 4 * LANES, y += 4 * LANES)
        TILE_NAME(some_sums)(4, 3 * LANES, taps, places, w, line, start, y);
    if (count > 4 * LANES) {
        TILE_NAME(some_sums)(2, LANES, taps, places, w, line, start, y);
        count -= 2 * LANES, line += 2 * LANES, y += 2 * LANES;
    }
    if (count > 3 * LANES) TILE_NAME(some_sums)(4, count - LANES, taps, places, w, line, start, y);
    else if (count > 2 * LANES) TILE_NAME(some_sums)(3, count - LANES, taps, places, w, line, start, y);
    else if (count > LANES) TILE_NAME(some_sums)(2, count - LANES, taps, places, w, line, start, y);
    else if (count == LANES) TILE_NAME(some_sums)(1, 0, taps, places, w, line, start, y);
    else {
        TILE_REAL sums[TILE_BYTES / sizeof(TILE_REAL)];
        TILE_NAME(some_sums)(1, 0, taps, places, w, line, start, sums);
        memcpy(y, sums, count * sizeof(TILE_REAL));
    }
}

/* The sum of products of two arrays of rows; `count` elements of a row, a whole number of vectors. */
static TILE_REAL TILE_NAME(rows_product)(ptrdiff_t rows, ptrdiff_t count, const TILE_REAL *a, ptrdiff_t a_row, const TILE_REAL *b, ptrdiff_t b_row) {
    TILE_REAL total = 0;
#if defined(__GNUC__)
    typedef TILE_NAME(vector) vector;
    vector even = {0}, odd = {0};
    for (ptrdiff_t i = 0; i < rows; i++) {
        ptrdiff_t j = 0;
        for (; j + 2 * LANES <= count; j += 2 * LANES) {
            even += *(const vector *)(a + i * a_row + j) * *(const vector *)(b + i * b_row + j);
            odd += *(const vector *)(a + i * a_row + j + LANES) * *(const vector *)(b + i * b_row + j + LANES);
        }
        if (j < count) even += *(const vector *)(a + i * a_row + j) * *(const vector *)(b + i * b_row + j);
    }
    even += odd;
    for (ptrdiff_t j = 0; j < LANES; j++) total += even[j];
#else
    for (ptrdiff_t i = 0; i < rows; i++)
        for (ptrdiff_t j = 0; j < count; j++) total += a[i * a_row + j] * b[i * b_row + j];
#endif
    return total;
}

/* Copies of short rows: a call of memcpy takes longer than they do. */
TILE_INLINE void TILE_NAME(copy)(const TILE_REAL *from, TILE_REAL *to, ptrdiff_t count) {
#if defined(__GNUC__)
    typedef TILE_NAME(vector) vector;
    if (count >= LANES) {
        ptrdiff_t j = 0;
        for (; j + LANES <= count; j += LANES) *(vector *)(to + j) = *(const vector *)(from + j);
        if (j < count) *(vector *)(to + count - LANES) = *(const vector *)(from + count - LANES);
        return;
    }
    if (sizeof(TILE_REAL) == 4 && count >= 4) {
        typedef TILE_REAL quad __attribute__((vector_size(4 * sizeof(TILE_REAL)), aligned(sizeof(TILE_REAL)), may_alias));
        ptrdiff_t j = 0;
        for (; j + 4 <= count; j += 4) *(quad *)(to + j) = *(const quad *)(from + j);
        *(quad *)(to + count - 4) = *(const quad *)(from + count - 4);
        return;
    }
#endif
    for (ptrdiff_t j = 0; j < count; j++) to[j] = from[j];
}
#undef LANES
