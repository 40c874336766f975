/* Matrix products of any size on one thread, tile by tile (tile.h): c[m, n] = a[m, k] b[k, n], or c += a b.
 *
 * After Goto and van de Geijn, "Anatomy of high-performance matrix multiplication" (ACM TOMS 34(3), 2008): a panel of b, as wide as a
 * tile, is copied to where it stays in the first cache while the rows of a go by. Rows or columns of a that are dense are read as they
 * are, so that middle-sized products pay for little but their multiplications. A matrix b that many products share is packed once.
 */
#ifndef PYX_TENSOR_GEMM_H
#define PYX_TENSOR_GEMM_H
#include "tile.h"

#define GEMM_PANEL_BYTES 32768      /* of a panel of b */
#define GEMM_BLOCK_BYTES 32768      /* of rows of a that lie neither way, packed */
#define GEMM_FEWEST 64              /* multiplications of a product with a vector that don't repay a tile */
#define GEMM_FEW_ROWS 24            /* so few don't repay a copy of b where its rows are dense */

#if defined(__GNUC__) && defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
#define GEMM_SHUFFLES
#endif
#endif

#if defined(__GNUC__) && defined(__AVX512F__)
#include <immintrin.h>
#define GEMM_MASKS                  /* parts of vectors without a way through memory */
#define GEMM_MASK(count) ((count) < LANES ? (1u << (count)) - 1 : 0xFFFFu)
#endif

#if defined(__GNUC__)
#define GEMM_FETCH(place) __builtin_prefetch(place, 1)
#else
#define GEMM_FETCH(place) (void)0
#endif

/* A square of vectors turned on its side in log2(size) stages: stage d exchanges, in each pair of rows d apart, the elements whose
 * place has bit d in the one with those that haven't in the other. N is the number of lanes. */
#define GEMM_LOW(place, d) ((place) & (d) ? N + (place) - (d) : (place))
#define GEMM_HIGH(place, d) ((place) & (d) ? N + (place) : (place) + (d))
#define GEMM_LIST_2(M, d) M(0, d), M(1, d)
#define GEMM_LIST_4(M, d) GEMM_LIST_2(M, d), M(2, d), M(3, d)
#define GEMM_LIST_8(M, d) GEMM_LIST_4(M, d), M(4, d), M(5, d), M(6, d), M(7, d)
#define GEMM_LIST_16(M, d) GEMM_LIST_8(M, d), M(8, d), M(9, d), M(10, d), M(11, d), M(12, d), M(13, d), M(14, d), M(15, d)
#define GEMM_STAGE(LIST, d)                                                                             \
    TILE_UNROLL_ALL for (int i = 0; i < N; i++)                                                         \
        if (!(i & (d))) {                                                                               \
            const vector low = __builtin_shufflevector(rows[i], rows[i + (d)], LIST(GEMM_LOW, d));      \
            rows[i + (d)] = __builtin_shufflevector(rows[i], rows[i + (d)], LIST(GEMM_HIGH, d));        \
            rows[i] = low;                                                                              \
        }
#define GEMM_TURN_2 GEMM_STAGE(GEMM_LIST_2, 1)
#define GEMM_TURN_4 GEMM_STAGE(GEMM_LIST_4, 1) GEMM_STAGE(GEMM_LIST_4, 2)
#define GEMM_TURN_8 GEMM_STAGE(GEMM_LIST_8, 1) GEMM_STAGE(GEMM_LIST_8, 2) GEMM_STAGE(GEMM_LIST_8, 4)
#define GEMM_TURN_16 GEMM_STAGE(GEMM_LIST_16, 1) GEMM_STAGE(GEMM_LIST_16, 2) GEMM_STAGE(GEMM_LIST_16, 4) GEMM_STAGE(GEMM_LIST_16, 8)
#define TILE_UNROLL_ALL _Pragma("GCC unroll 16")

#define TILE_REAL float
#define TILE_NAME(name) tile_f32_##name
#define GEMM_NAME(name) gemm_f32_##name
#define GEMM_LOAD(mask, from) _mm512_maskz_loadu_ps((__mmask16)(mask), from)
#define GEMM_STORE(to, row) _mm512_storeu_ps(to, row)
#define GEMM_STORE_PART(to, mask, row) _mm512_mask_storeu_ps(to, (__mmask16)(mask), (__m512)(row))
#if TILE_BYTES == 64
#define GEMM_TURN GEMM_TURN_16
#elif TILE_BYTES == 32
#define GEMM_TURN GEMM_TURN_8
#else
#define GEMM_TURN GEMM_TURN_4
#endif
#include "gemm_template.h"

#define TILE_REAL double
#define TILE_NAME(name) tile_f64_##name
#define GEMM_NAME(name) gemm_f64_##name
#define GEMM_LOAD(mask, from) _mm512_maskz_loadu_pd((__mmask8)(mask), from)
#define GEMM_STORE(to, row) _mm512_storeu_pd(to, row)
#define GEMM_STORE_PART(to, mask, row) _mm512_mask_storeu_pd(to, (__mmask8)(mask), (__m512d)(row))
#if TILE_BYTES == 64
#define GEMM_TURN GEMM_TURN_8
#elif TILE_BYTES == 32
#define GEMM_TURN GEMM_TURN_4
#else
#define GEMM_TURN GEMM_TURN_2
#endif
#include "gemm_template.h"
#endif
