/* The transforms of Winograd's minimal filtering F(4x4, 3x3) (Lavin and Gray, 2016), on vectors of tiles or of weights.
 *
 * A tile of 4x4 outputs needs 6x6 inputs. Y = A' [(G w G') * (B' x B)] A, the product in the middle being one of numbers at each of the
 * 36 places, so that sums over channels are 36 products of matrices. The polynomials behind it are taken at 0, at the roots of 1/2 and of 2
 * with both signs, and at infinity: the error is then a quarter of that with the usual whole numbers. */
#ifndef PYX_TENSOR_WINOGRAD_H
#define PYX_TENSOR_WINOGRAD_H
#include "tile.h"

#if defined(__GNUC__)
#define HAS_WINOGRAD 1
#else
#define HAS_WINOGRAD 0
#endif

#define NEAR 0.70710678118654752440
#define FAR 1.41421356237309504880

#define WINOGRAD_REAL float
#define WINOGRAD_NAME(name) winograd_f32_##name
#define WINOGRAD_VECTOR tile_f32_vector
#include "winograd_template.h"
#undef WINOGRAD_REAL
#undef WINOGRAD_NAME
#undef WINOGRAD_VECTOR
#define WINOGRAD_REAL double
#define WINOGRAD_NAME(name) winograd_f64_##name
#define WINOGRAD_VECTOR tile_f64_vector
#include "winograd_template.h"
#undef WINOGRAD_REAL
#undef WINOGRAD_NAME
#undef WINOGRAD_VECTOR
#undef NEAR
#undef FAR
#endif
