/* Products of small matrices in registers: out[ROWS, columns] = bias + a b (+ out).
 *
 * a has ROWS rows, packed (element (i, p) at p * ROWS + i) where a_row is 0, else rows of their own, a_row apart; `turned` says that
 * its columns are dense, a_step apart. b has `depth` rows of `vectors` vectors, 1 to TILE_VECTORS, b_row apart. Twenty-four
 * accumulators hide the latency of the multiply-add units of AVX-512; twelve are what fits the sixteen registers of the others. */
#ifndef PYX_TENSOR_TILE_H
#define PYX_TENSOR_TILE_H
#include <stddef.h>
#include <string.h>

#if defined(__AVX512F__)
#define TILE_BYTES 64
#define TILE_ROWS 8
#elif defined(__AVX2__)
#define TILE_BYTES 32
#define TILE_ROWS 4
#else
#define TILE_BYTES 16
#define TILE_ROWS 4
#endif
#define TILE_VECTORS 3
#define TILE_AHEAD 16       /* columns of a that are asked for before they are needed */

#if defined(__GNUC__)
#define TILE_INLINE static inline __attribute__((always_inline))
#define TILE_UNROLL _Pragma("GCC unroll 8")
#define TILE_RESTRICT __restrict__
typedef float tile_f32_vector __attribute__((vector_size(TILE_BYTES), aligned(4), may_alias));
typedef double tile_f64_vector __attribute__((vector_size(TILE_BYTES), aligned(8), may_alias));
#else
#define TILE_INLINE static __inline
#define TILE_UNROLL
#define TILE_RESTRICT __restrict
#endif

#define TILE_REAL float
#define TILE_NAME(name) tile_f32_##name
#include "tile_template.h"
#undef TILE_REAL
#undef TILE_NAME
#define TILE_REAL double
#define TILE_NAME(name) tile_f64_##name
#include "tile_template.h"
#undef TILE_REAL
#undef TILE_NAME
#endif
