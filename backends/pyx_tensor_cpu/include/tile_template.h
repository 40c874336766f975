/* Included by tile.h once for float and once for double. */
#define LANES ((ptrdiff_t)(TILE_BYTES / sizeof(TILE_REAL)))

#if defined(__GNUC__)
TILE_INLINE void TILE_NAME(fixed)(const int vectors, const int packed, ptrdiff_t depth, const TILE_REAL *a, ptrdiff_t a_row, const TILE_REAL *b,
                                  ptrdiff_t b_row, TILE_REAL *out, ptrdiff_t out_row, const TILE_REAL *bias, int accumulate) {
    typedef TILE_NAME(vector) vector;
    vector c[TILE_ROWS][TILE_VECTORS];
    TILE_UNROLL for (int i = 0; i < TILE_ROWS; i++)
        TILE_UNROLL for (int j = 0; j < vectors; j++) c[i][j] = (vector){0} + (bias ? bias[i] : (TILE_REAL)0);
    for (ptrdiff_t p = 0; p < depth; p++) {
        vector row[TILE_VECTORS];
        TILE_UNROLL for (int j = 0; j < vectors; j++) row[j] = *(const vector *)(b + p * b_row + j * LANES);
        TILE_UNROLL for (int i = 0; i < TILE_ROWS; i++) {
            const TILE_REAL factor = packed ? a[p * TILE_ROWS + i] : a[i * a_row + p];
            TILE_UNROLL for (int j = 0; j < vectors; j++) c[i][j] += factor * row[j];
        }
    }
    TILE_UNROLL for (int i = 0; i < TILE_ROWS; i++)
        TILE_UNROLL for (int j = 0; j < vectors; j++) {
            vector *place = (vector *)(out + i * out_row + j * LANES);
            if (accumulate) *place = *place + c[i][j];
            else *place = c[i][j];
        }
}
#else
TILE_INLINE void TILE_NAME(fixed)(const int vectors, const int packed, ptrdiff_t depth, const TILE_REAL *a, ptrdiff_t a_row, const TILE_REAL *b,
                                  ptrdiff_t b_row, TILE_REAL *out, ptrdiff_t out_row, const TILE_REAL *bias, int accumulate) {
    const ptrdiff_t width = vectors * LANES;
    for (ptrdiff_t i = 0; i < TILE_ROWS; i++) {
        TILE_REAL c[TILE_VECTORS * TILE_BYTES / sizeof(TILE_REAL)];
        for (ptrdiff_t j = 0; j < width; j++) c[j] = bias ? bias[i] : (TILE_REAL)0;
        for (ptrdiff_t p = 0; p < depth; p++) {
            const TILE_REAL factor = packed ? a[p * TILE_ROWS + i] : a[i * a_row + p];
            for (ptrdiff_t j = 0; j < width; j++) c[j] += factor * b[p * b_row + j];
        }
        for (ptrdiff_t j = 0; j < width; j++) out[i * out_row + j] = accumulate ? out[i * out_row + j] + c[j] : c[j];
    }
}
#endif

static void TILE_NAME(product)(int vectors, ptrdiff_t depth, const TILE_REAL *a, ptrdiff_t a_row, const TILE_REAL *b, ptrdiff_t b_row,
                               TILE_REAL *out, ptrdiff_t out_row, const TILE_REAL *bias, int accumulate) {
#define TILE_CASE(v)                                                                              \
    if (vectors == v) {                                                                           \
        if (a_row) TILE_NAME(fixed)(v, 0, depth, a, a_row, b, b_row, out, out_row, bias, accumulate);    \
        else TILE_NAME(fixed)(v, 1, depth, a, 0, b, b_row, out, out_row, bias, accumulate);              \
        return;                                                                                   \
    }
    TILE_CASE(3)
    TILE_CASE(2)
    TILE_CASE(1)
#undef TILE_CASE
}

/* y[j] = start + sum over taps of w[t] line[places[t] + j]; reads up to four vectors beyond the last j. */
static void TILE_NAME(row_sums)(ptrdiff_t taps, const ptrdiff_t *places, const TILE_REAL *w, const TILE_REAL *line, TILE_REAL start, TILE_REAL *y,
                                ptrdiff_t count) {
    enum { WIDE = 4 * (TILE_BYTES / sizeof(TILE_REAL)) };
    TILE_REAL sums[WIDE];
    while (count > 0) {
        const ptrdiff_t columns = count < WIDE ? count : WIDE;
#if defined(__GNUC__)
        typedef TILE_NAME(vector) vector;
        vector c[4];
        TILE_UNROLL for (int j = 0; j < 4; j++) c[j] = (vector){0} + start;
        for (ptrdiff_t t = 0; t < taps; t++) {
            const TILE_REAL *source = line + places[t], factor = w[t];
            TILE_UNROLL for (int j = 0; j < 4; j++) c[j] += factor * *(const vector *)(source + j * LANES);
        }
        if (columns == WIDE) {
            TILE_UNROLL for (int j = 0; j < 4; j++) *(vector *)(y + j * LANES) = c[j];
        } else {
            TILE_UNROLL for (int j = 0; j < 4; j++) *(vector *)(sums + j * LANES) = c[j];
            memcpy(y, sums, columns * sizeof(TILE_REAL));
        }
#else
        for (ptrdiff_t j = 0; j < WIDE; j++) sums[j] = start;
        for (ptrdiff_t t = 0; t < taps; t++)
            for (ptrdiff_t j = 0; j < WIDE; j++) sums[j] += w[t] * line[places[t] + j];
        memcpy(y, sums, columns * sizeof(TILE_REAL));
#endif
        line += columns;
        y += columns;
        count -= columns;
    }
}
#undef LANES
