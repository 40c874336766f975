/* Included by winograd.h once for float and once for double. */
#if HAS_WINOGRAD
#define LANES ((ptrdiff_t)(TILE_BYTES / sizeof(WINOGRAD_REAL)))

/* B' x, for six vectors. */
TILE_INLINE void WINOGRAD_NAME(before)(const WINOGRAD_VECTOR *x, WINOGRAD_VECTOR *y) {
    const WINOGRAD_REAL near = (WINOGRAD_REAL)NEAR, far = (WINOGRAD_REAL)FAR, half = (WINOGRAD_REAL)0.5, both = (WINOGRAD_REAL)2.5;
    const WINOGRAD_VECTOR a = x[4] - 2 * x[2], b = near * (x[3] - 2 * x[1]), c = x[4] - half * x[2], d = far * (x[3] - half * x[1]);
    y[0] = x[0] - both * x[2] + x[4];
    y[1] = a + b;
    y[2] = a - b;
    y[3] = c + d;
    y[4] = c - d;
    y[5] = x[1] - both * x[3] + x[5];
}

/* A' x, for six vectors. */
TILE_INLINE void WINOGRAD_NAME(after)(const WINOGRAD_VECTOR *x, WINOGRAD_VECTOR *y) {
    const WINOGRAD_REAL near = (WINOGRAD_REAL)NEAR, far = (WINOGRAD_REAL)FAR, half = (WINOGRAD_REAL)0.5;
    const WINOGRAD_VECTOR a = x[1] + x[2], b = near * (x[1] - x[2]), c = x[3] + x[4], d = far * (x[3] - x[4]);
    y[0] = x[0] + a + c;
    y[1] = b + d;
    y[2] = half * a + 2 * c;
    y[3] = half * b + 2 * d + x[5];
}

/* B' x B of a vector of neighbouring tiles. Row i of the inputs is at line + i * row; column j of the tiles at part j % 4 of it, j / 4
 * further on. Place p of the result is at to + p * step. */
static void WINOGRAD_NAME(input)(const WINOGRAD_REAL *line, ptrdiff_t row, ptrdiff_t part, WINOGRAD_REAL *to, ptrdiff_t step) {
    WINOGRAD_VECTOR half[6][6];
    for (int j = 0; j < 6; j++) {
        WINOGRAD_VECTOR x[6], y[6];
        TILE_UNROLL for (int i = 0; i < 6; i++) x[i] = *(const WINOGRAD_VECTOR *)(line + i * row + j % 4 * part + j / 4);
        WINOGRAD_NAME(before)(x, y);
        TILE_UNROLL for (int i = 0; i < 6; i++) half[i][j] = y[i];
    }
    for (int i = 0; i < 6; i++) {
        WINOGRAD_VECTOR y[6];
        WINOGRAD_NAME(before)(half[i], y);
        TILE_UNROLL for (int j = 0; j < 6; j++) *(WINOGRAD_VECTOR *)(to + (i * 6 + j) * step) = y[j];
    }
}

/* A' x A + start of a vector of tiles: output (i, j) of tile t at to[(i * 4 + j) * lanes + t]. */
static void WINOGRAD_NAME(output)(const WINOGRAD_REAL *from, ptrdiff_t step, WINOGRAD_REAL start, WINOGRAD_REAL *to) {
    WINOGRAD_VECTOR half[4][6];
    for (int j = 0; j < 6; j++) {
        WINOGRAD_VECTOR x[6], y[4];
        TILE_UNROLL for (int i = 0; i < 6; i++) x[i] = *(const WINOGRAD_VECTOR *)(from + (i * 6 + j) * step);
        WINOGRAD_NAME(after)(x, y);
        TILE_UNROLL for (int i = 0; i < 4; i++) half[i][j] = y[i];
    }
    for (int i = 0; i < 4; i++) {
        WINOGRAD_VECTOR y[4];
        WINOGRAD_NAME(after)(half[i], y);
        TILE_UNROLL for (int j = 0; j < 4; j++) *(WINOGRAD_VECTOR *)(to + (i * 4 + j) * LANES) = y[j] + start;
    }
}
#undef LANES
#else           /* never called: the driver asks HAS_WINOGRAD */
static void WINOGRAD_NAME(input)(const WINOGRAD_REAL *line, ptrdiff_t row, ptrdiff_t part, WINOGRAD_REAL *to, ptrdiff_t step) {
    (void)line, (void)row, (void)part, (void)to, (void)step;
}
static void WINOGRAD_NAME(output)(const WINOGRAD_REAL *from, ptrdiff_t step, WINOGRAD_REAL start, WINOGRAD_REAL *to) {
    (void)from, (void)step, (void)start, (void)to;
}
#endif

/* G w, for three vectors of TILE_ROWS weights. */
static void WINOGRAD_NAME(weights_half)(const WINOGRAD_REAL *a, const WINOGRAD_REAL *b, const WINOGRAD_REAL *c, WINOGRAD_REAL *to, ptrdiff_t step) {
    const WINOGRAD_REAL thirds = (WINOGRAD_REAL)(2.0 / 3), third = (WINOGRAD_REAL)(1.0 / 3), sixth = (WINOGRAD_REAL)(1.0 / 6);
    for (int i = 0; i < TILE_ROWS; i++) {
        const WINOGRAD_REAL outer = -thirds * a[i] - third * c[i], inner = (WINOGRAD_REAL)(NEAR * 2 / 3) * b[i];
        const WINOGRAD_REAL wide = sixth * a[i] + third * c[i], middle = (WINOGRAD_REAL)(FAR / 6) * b[i];
        to[i] = a[i];
        to[step + i] = outer - inner;
        to[2 * step + i] = outer + inner;
        to[3 * step + i] = wide + middle;
        to[4 * step + i] = wide - middle;
        to[5 * step + i] = c[i];
    }
}

/* G w G' of TILE_ROWS weights, w[t * TILE_ROWS + i]; place p of the result is at to + p * step. */
static void WINOGRAD_NAME(weights)(const WINOGRAD_REAL *w, WINOGRAD_REAL *to, ptrdiff_t step) {
    WINOGRAD_REAL half[18 * TILE_ROWS];      /* place i of the first dim, tap j of the second at (j * 6 + i) */
    for (int j = 0; j < 3; j++)
        WINOGRAD_NAME(weights_half)(w + j * TILE_ROWS, w + (3 + j) * TILE_ROWS, w + (6 + j) * TILE_ROWS, half + j * 6 * TILE_ROWS, TILE_ROWS);
    for (int i = 0; i < 6; i++)
        WINOGRAD_NAME(weights_half)(half + i * TILE_ROWS, half + (6 + i) * TILE_ROWS, half + (12 + i) * TILE_ROWS, to + i * 6 * step, step);
}

/* Every fourth element to each of four parts. */
static void WINOGRAD_NAME(split)(const WINOGRAD_REAL *x, ptrdiff_t quads, WINOGRAD_REAL *to, ptrdiff_t part) {
    WINOGRAD_REAL *TILE_RESTRICT a = to, *TILE_RESTRICT b = to + part, *TILE_RESTRICT c = to + 2 * part, *TILE_RESTRICT d = to + 3 * part;
    for (ptrdiff_t i = 0; i < quads; i++) {
        a[i] = x[4 * i];
        b[i] = x[4 * i + 1];
        c[i] = x[4 * i + 2];
        d[i] = x[4 * i + 3];
    }
}
