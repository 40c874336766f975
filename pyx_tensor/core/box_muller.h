/* Box-Muller in float32, with the polynomials and the rounding of PyTorch's vectorised kernel.

   log, sin and cos are Cephes' single-precision approximations. Which products are fused with the
   following sum (FMA) is part of the random stream: a machine without the instruction gets the same
   bits from the C library's fmaf, only slower. Compile with -ffp-contract=off: no other fusing is allowed. */
#ifndef PYX_TENSOR_BOX_MULLER_H
#define PYX_TENSOR_BOX_MULLER_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#if defined(_MSC_VER)
#define BM_INLINE static __forceinline
#else
#define BM_INLINE static inline __attribute__((always_inline))
#endif

/* Natural logarithm of a positive, finite x. */
BM_INLINE float bm_log(float x) {
    const float smallest_normal = 1.17549435e-38f, sqrt_half = 0.707106781186547524f;
    x = x < smallest_normal ? smallest_normal : x;
    int32_t bits;
    memcpy(&bits, &x, sizeof bits);
    float exponent = (float)((bits >> 23) - 126);
    bits = (bits & 0x007fffff) | 0x3f000000;
    float m; /* the mantissa in [1/2, 1), brought to [sqrt(1/2), sqrt(2)) - 1 */
    memcpy(&m, &bits, sizeof m);
    int low = m < sqrt_half;
    exponent -= low ? 1.0f : 0.0f;
    m = (m - 1.0f) + (low ? m : 0.0f);

    float square = m * m;
    float y = 7.0376836292e-2f;
    y = fmaf(y, m, -1.1514610310e-1f);
    y = fmaf(y, m, 1.1676998740e-1f);
    y = fmaf(y, m, -1.2420140846e-1f);
    y = fmaf(y, m, 1.4249322787e-1f);
    y = fmaf(y, m, -1.6668057665e-1f);
    y = fmaf(y, m, 2.0000714765e-1f);
    y = fmaf(y, m, -2.4999993993e-1f);
    y = fmaf(y, m, 3.3333331174e-1f);
    y = fmaf(y * m, square, exponent * -2.12194440e-4f); /* log(2) in two parts: small */
    y = fmaf(-square, 0.5f, y);
    return fmaf(exponent, 0.693359375f, m + y); /* and large */
}

/* Sine and cosine of 0 <= x < 2^13. */
BM_INLINE void bm_sincos(float x, float *sine, float *cosine) {
    const float four_over_pi = 1.27323954473516f;
    int32_t octant = ((int32_t)(x * four_over_pi) + 1) & ~1;
    float n = (float)octant;
    x = fmaf(n, -0.78515625f, x); /* x - n pi/4, with pi/4 in three parts */
    x = fmaf(n, -2.4187564849853515625e-4f, x);
    x = fmaf(n, -3.77489497744594108e-8f, x);

    float square = x * x;
    float c = 2.443315711809948e-5f;
    c = fmaf(c, square, -1.388731625493765e-3f);
    c = fmaf(c, square, 4.166664568298827e-2f);
    c = fmaf(c * square, square, -(square * 0.5f)) + 1.0f;
    float s = -1.9515295891e-4f;
    s = fmaf(s, square, 8.3321608736e-3f);
    s = fmaf(s, square, -1.6666654611e-1f);
    s = fmaf(s * square, x, x);

    int swap = octant & 2;
    float sine_size = swap ? c : s, cosine_size = swap ? s : c;
    *sine = octant & 4 ? -sine_size : sine_size;
    *cosine = (octant + 2) & 4 ? -cosine_size : cosine_size;
}

/* Turn each 16 uniforms of [0, 1) into 16 normals: eight radii, then eight angles. */
BM_INLINE void bm_blocks(float *values, int64_t blocks, float mean, float std) {
    const float two_pi = 6.283185307179586f;
    for (; blocks > 0; blocks--, values += 16) {
        for (int j = 0; j < 8; j++) {
            float sine, cosine, radius = sqrtf(-2.0f * bm_log(1.0f - values[j]));
            bm_sincos(two_pi * values[j + 8], &sine, &cosine);
            values[j] = fmaf(radius * cosine, std, mean);
            values[j + 8] = fmaf(radius * sine, std, mean);
        }
    }
}

#if defined(__x86_64__) && defined(__GNUC__)
__attribute__((target("avx2,fma"))) static void bm_blocks_fma(float *values, int64_t blocks, float mean, float std) {
    bm_blocks(values, blocks, mean, std);
}
#define BM_HAS_FMA() (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
#else
#define BM_HAS_FMA() 0
#define bm_blocks_fma bm_blocks_portable
#endif

static void bm_blocks_portable(float *values, int64_t blocks, float mean, float std) {
    bm_blocks(values, blocks, mean, std);
}

static void box_muller_f32(float *values, int64_t blocks, float mean, float std) {
    if (BM_HAS_FMA())
        bm_blocks_fma(values, blocks, mean, std);
    else
        bm_blocks_portable(values, blocks, mean, std);
}

#endif
