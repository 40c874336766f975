/* Included by tile.h once for float and once for double. */
#define LANES ((ptrdiff_t)(TILE_BYTES / sizeof(TILE_REAL)))

#if defined(__GNUC__)
TILE_INLINE void TILE_NAME(fixed)(const int vectors, const int packed, ptrdiff_t depth, const TILE_REAL *a, ptrdiff_t a_row, const TILE_REAL *b,
                                  TILE_REAL *out, ptrdiff_t out_row, const TILE_REAL *bias, int accumulate) {
    typedef TILE_NAME(vector) vector;
    vector c[TILE_ROWS][TILE_VECTORS];
    TILE_UNROLL for (int i = 0; i < TILE_ROWS; i++)
        TILE_UNROLL for (int j = 0; j < vectors; j++) c[i][j] = (vector){0} + (bias ? bias[i] : (TILE_REAL)0);
    for (ptrdiff_t p = 0; p < depth; p++) {
        vector row[TILE_VECTORS];
        TILE_UNROLL for (int j = 0; j < vectors; j++) row[j] = *(const vector *)(b + (p * vectors + j) * LANES);
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
                                  TILE_REAL *out, ptrdiff_t out_row, const TILE_REAL *bias, int accumulate) {
    const ptrdiff_t width = vectors * LANES;
    for (ptrdiff_t i = 0; i < TILE_ROWS; i++) {
        TILE_REAL c[TILE_VECTORS * TILE_BYTES / sizeof(TILE_REAL)];
        for (ptrdiff_t j = 0; j < width; j++) c[j] = bias ? bias[i] : (TILE_REAL)0;
        for (ptrdiff_t p = 0; p < depth; p++) {
            const TILE_REAL factor = packed ? a[p * TILE_ROWS + i] : a[i * a_row + p];
            for (ptrdiff_t j = 0; j < width; j++) c[j] += factor * b[p * width + j];
        }
        for (ptrdiff_t j = 0; j < width; j++) out[i * out_row + j] = accumulate ? out[i * out_row + j] + c[j] : c[j];
    }
}
#endif

static void TILE_NAME(product)(int vectors, ptrdiff_t depth, const TILE_REAL *a, ptrdiff_t a_row, const TILE_REAL *b, TILE_REAL *out,
                               ptrdiff_t out_row, const TILE_REAL *bias, int accumulate) {
#define TILE_CASE(v)                                                                              \
    if (vectors == v) {                                                                           \
        if (a_row) TILE_NAME(fixed)(v, 0, depth, a, a_row, b, out, out_row, bias, accumulate);    \
        else TILE_NAME(fixed)(v, 1, depth, a, 0, b, out, out_row, bias, accumulate);              \
        return;                                                                                   \
    }
    TILE_CASE(3)
    TILE_CASE(2)
    TILE_CASE(1)
#undef TILE_CASE
}
#undef LANES
