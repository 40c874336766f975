/* float16 and bfloat16 as bits, to and from float, without branches and for any processor. */
#ifndef PYX_TENSOR_HALF_H
#define PYX_TENSOR_HALF_H
#include "scalar_math.h"
#include <stddef.h>

static inline float bf16_to_f32(uint16_t h) { return from_bits_f32((uint32_t)h << 16); }

/* Rounds to the nearest, ties to even; a NaN stays one. */
static inline uint16_t f32_to_bf16(float x) {
    uint32_t u = bits_f32(x), rounded = (u + 0x7fffu + (u >> 16 & 1u)) >> 16;
    return (uint16_t)(x != x ? (u >> 16) | 0x40u : rounded);
}

/* The exponent and mantissa move to their places and a product by 2^112 corrects the bias, of subnormals too. */
static inline float f16_to_f32(uint16_t h) {
    uint32_t sign = (uint32_t)(h & 0x8000u) << 16, magnitude = (uint32_t)(h & 0x7fffu) << 13;
    uint32_t scaled = bits_f32(from_bits_f32(magnitude) * 0x1p112f);
    uint32_t special = magnitude | 0x7f800000u;
    return from_bits_f32(sign | (magnitude >= 0x0f800000u ? special : scaled));
}

/* Normal results round by integer addition; subnormal ones by adding a float whose last bit is theirs. */
static inline uint16_t f32_to_f16(float x) {
    uint32_t u = bits_f32(x), sign = u >> 16 & 0x8000u, magnitude = u & 0x7fffffffu;
    uint32_t normal = (magnitude + 0xc8000fffu + (magnitude >> 13 & 1u)) >> 13;
    uint32_t subnormal = bits_f32(from_bits_f32(magnitude) + 0.5f) - 0x3f000000u;
    uint32_t h = magnitude < 0x38800000u ? subnormal : normal;
    h = magnitude >= 0x47800000u ? 0x7c00u : h;                             /* 65536 and more; 65520 to there round up */
    h = magnitude > 0x7f800000u ? 0x7e00u | (magnitude >> 13 & 0x3ffu) : h;
    return (uint16_t)(sign | h);
}

#if defined(__AVX512F__)
#include <immintrin.h>
#define HALF_LANES 16
#define HALF_LOAD(out, a) _mm512_storeu_ps(out, _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(a))))
#define HALF_STORE(out, a) _mm256_storeu_si256((__m256i *)(out), _mm512_cvtps_ph(_mm512_loadu_ps(a), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC))
#elif defined(__F16C__)
#include <immintrin.h>
#define HALF_LANES 8
#define HALF_LOAD(out, a) _mm256_storeu_ps(out, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(a))))
#define HALF_STORE(out, a) _mm_storeu_si128((__m128i *)(out), _mm256_cvtps_ph(_mm256_loadu_ps(a), _MM_FROUND_TO_NEAREST_INT))
#endif

/* Whole arrays, by the processor's own instructions where it has them */
static inline void f16_to_f32_array(float *out, const uint16_t *a, ptrdiff_t n) {
    ptrdiff_t i = 0;
#ifdef HALF_LANES
    for (; i + HALF_LANES <= n; i += HALF_LANES) HALF_LOAD(out + i, a + i);
#endif
    for (; i < n; i++) out[i] = f16_to_f32(a[i]);
}
static inline void f32_to_f16_array(uint16_t *out, const float *a, ptrdiff_t n) {
    ptrdiff_t i = 0;
#ifdef HALF_LANES
    for (; i + HALF_LANES <= n; i += HALF_LANES) HALF_STORE(out + i, a + i);
#endif
    for (; i < n; i++) out[i] = f32_to_f16(a[i]);
}

/* A real number cut to the type of `witness`. What does not fit wraps through the next wider integer that the processor
 * converts to, the same on every CPU level (in C it would be undefined). */
static inline uint64_t real_to_u64(double x) {
    return x >= 0x1p63 ? (uint64_t)(int64_t)(x - 0x1p63) + ((uint64_t)1 << 63) : (uint64_t)(int64_t)x;
}
#define m_truncate(witness, x) _Generic((witness), float: (x), double: (x), int8_t: (int32_t)(x), uint8_t: (int32_t)(x), \
    int16_t: (int32_t)(x), uint16_t: (int32_t)(x), int32_t: (int32_t)(x), uint32_t: (int64_t)(x), int64_t: (int64_t)(x), \
    uint64_t: real_to_u64(x))
#endif
