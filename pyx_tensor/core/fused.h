/* Loops of the random distributions in which products are fused with the following sum (FMA).

   Which ones are is part of PyTorch's random stream: a machine without the instruction gets the same
   bits from the C library's fma and fmaf, only slower. Compile with -ffp-contract=off: no other fusing is allowed. */
#ifndef PYX_TENSOR_FUSED_H
#define PYX_TENSOR_FUSED_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#if defined(_MSC_VER)
#define FUSED_INLINE static __forceinline
#else
#define FUSED_INLINE static inline __attribute__((always_inline))
#endif

/* Natural logarithm of a positive, finite x: like sine and cosine below, Cephes' single-precision approximation. */
FUSED_INLINE float bm_log(float x) {
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
FUSED_INLINE void bm_sincos(float x, float *sine, float *cosine) {
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
FUSED_INLINE void bm_blocks(float *values, int64_t blocks, float mean, float std) {
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

/* Stretch uniforms of [0, 1) to [low, high). A value that rounding brings up to high becomes low. */
FUSED_INLINE void stretch_float(float *values, int64_t n, float low, float high) {
    float width = high - low;
    for (int64_t i = 0; i < n; i++) {
        float value = fmaf(values[i], width, low);
        values[i] = value >= high ? low : value;
    }
}

FUSED_INLINE void stretch_double(double *values, int64_t n, double low, double high) {
    double width = high - low;
    for (int64_t i = 0; i < n; i++) {
        double value = fma(values[i], width, low);
        values[i] = value >= high ? low : value;
    }
}

/* Define `name` as `body`, compiled for AVX2 and FMA too and chosen at run time. */
#if defined(__x86_64__) && defined(__GNUC__)
#define FUSED_FUNCTION(name, body, T) \
    __attribute__((target("avx2,fma"))) static void name##_avx2(T *values, int64_t n, T a, T b) { body(values, n, a, b); } \
    static void name(T *values, int64_t n, T a, T b) { \
        if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) \
            name##_avx2(values, n, a, b); \
        else \
            body(values, n, a, b); \
    }
#else
#define FUSED_FUNCTION(name, body, T) \
    static void name(T *values, int64_t n, T a, T b) { body(values, n, a, b); }
#endif

FUSED_FUNCTION(box_muller_f32, bm_blocks, float)
FUSED_FUNCTION(stretch_f32, stretch_float, float)
FUSED_FUNCTION(stretch_f64, stretch_double, double)

#endif
