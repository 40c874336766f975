/* Included by gemm.h once for float and once for double, by the names that it defines before and that are forgotten at the end. */
#define LANES ((ptrdiff_t)(TILE_BYTES / sizeof(TILE_REAL)))
#define WIDEST (TILE_VECTORS * LANES)
#define DEEPEST (GEMM_PANEL_BYTES / (ptrdiff_t)sizeof(TILE_REAL) / WIDEST)
#define WHOLE(columns) (((columns) + LANES - 1) / LANES * LANES)       /* vectors of a row, in elements */
#define SLICE (LANES > TILE_ROWS ? LANES : TILE_ROWS)      /* rows of a that are packed side by side: whole squares, whole tiles */

static inline ptrdiff_t GEMM_NAME(least)(ptrdiff_t a, ptrdiff_t b) { return a < b ? a : b; }

/* size / parts, rounded up; one part, as in small products, shouldn't wait for a division */
static inline ptrdiff_t GEMM_NAME(share)(ptrdiff_t size, ptrdiff_t parts) { return parts == 1 ? size : (size + parts - 1) / parts; }

/* ---- rows that end within a vector ---- */

#if defined(GEMM_MASKS)
/* `count` elements to a row of whole vectors, whose rest becomes zero */
TILE_INLINE void GEMM_NAME(widen)(const TILE_REAL *from, ptrdiff_t count, TILE_REAL *to) {
    for (; count > 0; count -= LANES, from += LANES, to += LANES) GEMM_STORE(to, GEMM_LOAD(GEMM_MASK(count), from));
}

/* and back, where they are added to what stands there if `add` says so */
TILE_INLINE void GEMM_NAME(narrow)(const TILE_REAL *from, ptrdiff_t count, TILE_REAL *to, int add) {
    for (; count > 0; count -= LANES, from += LANES, to += LANES) {
        TILE_NAME(vector) row = *(const TILE_NAME(vector) *)from;
        if (add) row += (TILE_NAME(vector))GEMM_LOAD(GEMM_MASK(count), to);
        GEMM_STORE_PART(to, GEMM_MASK(count), row);
    }
}
#else
TILE_INLINE void GEMM_NAME(widen)(const TILE_REAL *from, ptrdiff_t count, TILE_REAL *to) {
    TILE_NAME(copy)(from, to, count);
    for (ptrdiff_t j = count; j % LANES; j++) to[j] = 0;
}

TILE_INLINE void GEMM_NAME(narrow)(const TILE_REAL *from, ptrdiff_t count, TILE_REAL *to, int add) {
    if (!add) TILE_NAME(copy)(from, to, count);
    else for (ptrdiff_t j = 0; j < count; j++) to[j] += from[j];
}
#endif

/* ---- packing ---- */

#if defined(GEMM_SHUFFLES)
/* LANES dense columns of as many elements, `step` apart, become rows, `width` apart. */
TILE_INLINE void GEMM_NAME(turn)(const TILE_REAL *columns, ptrdiff_t step, TILE_REAL *to, ptrdiff_t width) {
    typedef TILE_NAME(vector) vector;
    enum { N = TILE_BYTES / sizeof(TILE_REAL) };
    vector rows[N];
    TILE_UNROLL_ALL for (int i = 0; i < N; i++) rows[i] = *(const vector *)(columns + i * step);
    GEMM_TURN
    TILE_UNROLL_ALL for (int i = 0; i < N; i++) *(vector *)(to + i * width) = rows[i];
}
#endif

/* b[depth, columns], of any strides, to dense rows of `width`; what is beyond the columns is zero. */
static void GEMM_NAME(pack)(const TILE_REAL *b, ptrdiff_t b_row, ptrdiff_t b_column, ptrdiff_t depth, ptrdiff_t columns, TILE_REAL *to, ptrdiff_t width) {
    ptrdiff_t p = 0, j = 0;
    if (b_column == 1) {
        if (columns == WIDEST)      /* of a known size the compiler makes a few moves */
            for (p = 0; p < depth; p++) memcpy(to + p * width, b + p * b_row, WIDEST * sizeof(TILE_REAL));
        else
            for (p = 0; p < depth; p++) GEMM_NAME(widen)(b + p * b_row, columns, to + p * width);
        return;
    }
    if (columns < width) memset(to, 0, depth * width * sizeof(TILE_REAL));
#if defined(GEMM_SHUFFLES)
    if (b_row == 1)
        for (; j + LANES <= columns; j += LANES) {
            for (p = 0; p + LANES <= depth; p += LANES) GEMM_NAME(turn)(b + p + j * b_column, b_column, to + p * width + j, width);
            for (; p < depth; p++)
                for (ptrdiff_t i = j; i < j + LANES; i++) to[p * width + i] = b[p + i * b_column];
        }
#endif
    for (; j < columns; j++)
        for (p = 0; p < depth; p++) to[p * width + j] = b[p * b_row + j * b_column];
}

/* ---- one panel ---- */

/* `rows` rows of out (+)= those of a times a panel of b; `turned` says that a's columns are dense, a_step apart, and not its rows. */
static void GEMM_NAME(tile)(int rows, int vectors, int turned, ptrdiff_t depth, const TILE_REAL *a, ptrdiff_t a_step,
                            const TILE_REAL *b, ptrdiff_t b_row, TILE_REAL *out, ptrdiff_t out_row, int accumulate) {
    const ptrdiff_t last = (vectors - 1) * LANES;
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < vectors; j++) GEMM_FETCH(out + i * out_row + j * LANES);
#define GEMM_CASE(r, v)                                                                                                      \
    case r * 4 + v:                                                                                                          \
        if (turned) TILE_NAME(fixed)(0, r, v, 1, depth, a, a_step, b, b_row, NULL, last, out, out_row, NULL, accumulate);    \
        else TILE_NAME(fixed)(0, r, v, 0, depth, a, a_step, b, b_row, NULL, last, out, out_row, NULL, accumulate);           \
        break;
#define GEMM_ROWS(r) GEMM_CASE(r, 1) GEMM_CASE(r, 2) GEMM_CASE(r, 3)
    switch (rows * 4 + vectors) {
    GEMM_ROWS(1) GEMM_ROWS(2) GEMM_ROWS(3) GEMM_ROWS(4)
#if TILE_ROWS > 4
    GEMM_ROWS(5) GEMM_ROWS(6) GEMM_ROWS(7) GEMM_ROWS(8)
#endif
    }
#undef GEMM_CASE
#undef GEMM_ROWS
}

/* How the rows of a lie: dense, a_step apart; turned; or packed in slices (and turned within each). */
enum GEMM_NAME(layout) { GEMM_NAME(dense), GEMM_NAME(turned), GEMM_NAME(sliced) };

/* All rows of a times one panel of b, in tiles as even as can be: one of a single row would waste the registers. They are added to
 * `start`, a row, if there is one, else to c if `accumulate`. */
static void GEMM_NAME(panel)(enum GEMM_NAME(layout) layout, ptrdiff_t m, ptrdiff_t columns, ptrdiff_t depth, const TILE_REAL *a, ptrdiff_t a_step,
                             const TILE_REAL *b, ptrdiff_t b_row, const TILE_REAL *start, TILE_REAL *c, ptrdiff_t c_row, int accumulate) {
    TILE_REAL edge[TILE_ROWS * TILE_VECTORS * TILE_BYTES / sizeof(TILE_REAL)];
    const int turned = layout != GEMM_NAME(dense), vectors = (int)((columns + LANES - 1) / LANES);
    const ptrdiff_t width = vectors * LANES;
    ptrdiff_t tiles = (m + TILE_ROWS - 1) / TILE_ROWS, rows;
    for (ptrdiff_t i = 0; tiles > 0; i += rows, tiles--) {
        const TILE_REAL *from = a + (turned ? i : i * a_step);
        TILE_REAL *to = c + i * c_row;
        rows = GEMM_NAME(share)(m - i, tiles);
        if (layout == GEMM_NAME(sliced)) {
            from = a + i / SLICE * SLICE * depth + i % SLICE;
            rows = GEMM_NAME(least)(m - i, TILE_ROWS);
        }
        if (start) for (ptrdiff_t r = 0; r < rows; r++) TILE_NAME(copy)(start, to + r * c_row, columns);
        if (columns == width) {
            GEMM_NAME(tile)((int)rows, vectors, turned, depth, from, a_step, b, b_row, to, c_row, accumulate || start);
            continue;
        }
        GEMM_NAME(tile)((int)rows, vectors, turned, depth, from, a_step, b, b_row, edge, width, 0);
        for (ptrdiff_t r = 0; r < rows; r++) GEMM_NAME(narrow)(edge + r * width, columns, to + r * c_row, accumulate || start);
    }
}

/* Panels share the vectors of a row as evenly as can be: one of a single vector would wait for its sums. */
static ptrdiff_t GEMM_NAME(panels)(ptrdiff_t n) { return (n + WIDEST - 1) / WIDEST; }

static ptrdiff_t GEMM_NAME(panel_start)(ptrdiff_t n, ptrdiff_t panel) {
    return panel ? (n + LANES - 1) / LANES * panel / GEMM_NAME(panels)(n) * LANES : 0;
}

/* Columns of a panel that starts at j. */
static ptrdiff_t GEMM_NAME(panel_columns)(ptrdiff_t n, ptrdiff_t panel, ptrdiff_t j) {
    return panel + 1 < GEMM_NAME(panels)(n) ? GEMM_NAME(panel_start)(n, panel + 1) - j : n - j;
}

/* ---- whole products ---- */

/* The product without tiles, for a handful of multiplications or none. */
static void GEMM_NAME(plain)(const TILE_REAL *a, ptrdiff_t a_row, ptrdiff_t a_column, const TILE_REAL *b, ptrdiff_t b_row, ptrdiff_t b_column,
                             const TILE_REAL *start, TILE_REAL *c, ptrdiff_t c_row, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, int accumulate) {
    for (ptrdiff_t i = 0; i < m; i++)
        for (ptrdiff_t j = 0; j < n; j++) {
            TILE_REAL sum = start ? start[j] : accumulate ? c[i * c_row + j] : 0;
            for (ptrdiff_t p = 0; p < k; p++) sum += a[i * a_row + p * a_column] * b[p * b_row + j * b_column];
            c[i * c_row + j] = sum;
        }
}

/* c[m, n] (+)= a[m, k] b[k, n] of any strides, or c = start + a b for a row `start`; the rows of c are dense, c_row apart, and overlap
 * nothing else. */
static void GEMM_NAME(product)(const TILE_REAL *a, ptrdiff_t a_row, ptrdiff_t a_column, const TILE_REAL *b, ptrdiff_t b_row, ptrdiff_t b_column,
                               const TILE_REAL *start, TILE_REAL *c, ptrdiff_t c_row, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, int accumulate) {
    TILE_REAL copy[GEMM_PANEL_BYTES / sizeof(TILE_REAL)], slices[GEMM_BLOCK_BYTES / sizeof(TILE_REAL)];
    const enum GEMM_NAME(layout) layout = a_column == 1 ? GEMM_NAME(dense) : a_row == 1 ? GEMM_NAME(turned) : GEMM_NAME(sliced);
    if (!k || ((m == 1 || n == 1) && m * n * k <= GEMM_FEWEST)) {
        GEMM_NAME(plain)(a, a_row, a_column, b, b_row, b_column, start, c, c_row, m, n, k, accumulate);
        return;
    }
    const ptrdiff_t depth = GEMM_NAME(share)(k, (k + DEEPEST - 1) / DEEPEST), panels = GEMM_NAME(panels)(n);
    const ptrdiff_t height = layout == GEMM_NAME(sliced) ? GEMM_BLOCK_BYTES / (ptrdiff_t)sizeof(TILE_REAL) / depth / SLICE * SLICE : m;
    for (ptrdiff_t p = 0; p < k; p += depth) {
        const ptrdiff_t deep = GEMM_NAME(least)(depth, k - p);
        for (ptrdiff_t i = 0; i < m; i += height) {
            const ptrdiff_t rows = GEMM_NAME(least)(height, m - i);
            const TILE_REAL *left = a + i * a_row + p * a_column;
            ptrdiff_t step = layout == GEMM_NAME(dense) ? a_row : a_column;
            if (layout == GEMM_NAME(sliced)) {
                for (ptrdiff_t r = 0; r < rows; r += SLICE)
                    GEMM_NAME(pack)(left + r * a_row, a_column, a_row, deep, GEMM_NAME(least)(SLICE, rows - r), slices + r * deep, SLICE);
                left = slices;
                step = SLICE;
            }
            for (ptrdiff_t panel = 0; panel < panels; panel++) {
                const ptrdiff_t j = GEMM_NAME(panel_start)(n, panel), columns = GEMM_NAME(panel_columns)(n, panel, j);
                const TILE_REAL *right = b + p * b_row + j * b_column;
                ptrdiff_t width = b_row;
                if (b_column != 1 || columns % LANES || rows > GEMM_FEW_ROWS) {
                    width = WHOLE(columns);
                    GEMM_NAME(pack)(right, b_row, b_column, deep, columns, copy, width);
                    right = copy;
                }
                GEMM_NAME(panel)(layout, rows, columns, deep, left, step, right, width, start && !p ? start + j : NULL, c + i * c_row + j, c_row, accumulate || p > 0);
            }
        }
    }
}

/* Elements of a packed b[k, n]; one panel of it; and c[m, n] += a b for dense rows of a. */
static ptrdiff_t GEMM_NAME(packed_size)(ptrdiff_t n, ptrdiff_t k) { return WHOLE(n) * k; }

static void GEMM_NAME(pack_panel)(const TILE_REAL *b, ptrdiff_t b_row, ptrdiff_t b_column, TILE_REAL *packed, ptrdiff_t n, ptrdiff_t k, ptrdiff_t panel) {
    const ptrdiff_t j = GEMM_NAME(panel_start)(n, panel), columns = GEMM_NAME(panel_columns)(n, panel, j);
    GEMM_NAME(pack)(b + j * b_column, b_row, b_column, k, columns, packed + j * k, WHOLE(columns));
}

static void GEMM_NAME(packed_product)(const TILE_REAL *a, ptrdiff_t a_row, const TILE_REAL *packed, TILE_REAL *c, ptrdiff_t c_row,
                                      ptrdiff_t m, ptrdiff_t n, ptrdiff_t k) {
    for (ptrdiff_t panel = 0; panel < GEMM_NAME(panels)(n); panel++) {
        const ptrdiff_t j = GEMM_NAME(panel_start)(n, panel), columns = GEMM_NAME(panel_columns)(n, panel, j);
        GEMM_NAME(panel)(GEMM_NAME(dense), m, columns, k, a, a_row, packed + j * k, WHOLE(columns), NULL, c + j, c_row, 1);
    }
}
#undef LANES
#undef WIDEST
#undef DEEPEST
#undef SLICE
#undef WHOLE
#undef TILE_REAL
#undef TILE_NAME
#undef GEMM_NAME
#undef GEMM_LOAD
#undef GEMM_STORE
#undef GEMM_STORE_PART
#undef GEMM_TURN
