/* Elementary functions of one number, written without branches so that the compiler vectorises the loop around them.
 *
 * `m_name(x)` is the function for the type of x. Series are plain Taylor series on a reduced argument, long enough that
 * the truncation is below a tenth of an ulp. Where a float function has no version of its own it is the double one rounded.
 * Rare functions call the C library. Compiled without -ffast-math: NaN, infinities and signed zeros must survive.
 */
#ifndef PYX_TENSOR_SCALAR_MATH_H
#define PYX_TENSOR_SCALAR_MATH_H
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

/* Whatever its size: a call that is left in a loop keeps it from being vectorised. */
#if defined(__GNUC__)
#define INLINE static inline __attribute__((always_inline))
#elif defined(_MSC_VER)
#define INLINE static __forceinline
#else
#define INLINE static inline
#endif

#define REAL_GENERIC(name, x) _Generic((x), float: name##_f32, double: name##_f64)
/* The float function is the double one, rounded once. */
#define FLOAT_FROM_DOUBLE(name) INLINE float name##_f32(float x) { return (float)name##_f64(x); }
#define FLOAT_FROM_DOUBLE_2(name) INLINE float name##_f32(float x, float y) { return (float)name##_f64(x, y); }
#define FROM_LIBM(name, function) \
    INLINE double name##_f64(double x) { return function(x); } \
    INLINE float name##_f32(float x) { return function##f(x); }

INLINE uint32_t bits_f32(float x) { uint32_t u; memcpy(&u, &x, sizeof u); return u; }
INLINE uint64_t bits_f64(double x) { uint64_t u; memcpy(&u, &x, sizeof u); return u; }
INLINE float from_bits_f32(uint32_t u) { float x; memcpy(&x, &u, sizeof x); return x; }
INLINE double from_bits_f64(uint64_t u) { double x; memcpy(&x, &u, sizeof x); return x; }

/* Adding 1.5 * 2^(mantissa bits) rounds to an integer and leaves it in the low bits: conversions that AVX2 lacks. */
#define ROUNDER_F32 0x1.8p23f
#define ROUNDER_F64 0x1.8p52
/* 2^n for the integer in the low bits of x = n + ROUNDER, n in the range of normal exponents. */
INLINE float power_of_two_f32(float x) { return from_bits_f32((bits_f32(x) + 127u) << 23); }
INLINE double power_of_two_f64(double x) { return from_bits_f64((bits_f64(x) + 1023u) << 52); }

INLINE float clip_f32(float x, float lo, float hi) { x = x > hi ? hi : x; return x < lo ? lo : x; }
INLINE double clip_f64(double x, double lo, double hi) { x = x > hi ? hi : x; return x < lo ? lo : x; }

#define LOG2E 1.4426950408889634074
#define LN2_HI_F32 0x1.62e4p-1f         /* so short that n * LN2_HI is exact */
#define LN2_LO_F32 0x1.7f7d1cp-20f
#define LN2_HI_F64 0x1.62e42feep-1
#define LN2_LO_F64 0x1.a39ef35793c76p-33
#define INV_SQRT_2PI 0.39894228040143267794
#define INV_SQRT_PI 0.56418958354775628695
#define SQRT_HALF 0.70710678118654752440
#define PI 3.14159265358979323846

/* ---- exponentials: 2^n * e^r with |r| <= ln2 / 2 ---- */

/* (e^r - 1 - r) / r^2 */
INLINE float exp_tail_f32(float r) {
    return 0.5f + r * (1.f / 6 + r * (1.f / 24 + r * (1.f / 120 + r * (1.f / 720 + r * (1.f / 5040)))));
}
INLINE double exp_tail_f64(double r) {
    double r2 = r * r, r4 = r2 * r2;
    double low = (1. / 2 + r * (1. / 6)) + r2 * (1. / 24 + r * (1. / 120));
    double middle = (1. / 720 + r * (1. / 5040)) + r2 * (1. / 40320 + r * (1. / 362880));
    double high = (1. / 3628800 + r * (1. / 39916800)) + r2 * (1. / 479001600 + r * (1. / 6227020800.));
    return low + r4 * (middle + r4 * high);
}

/* p * 2^n for p near 1 and the integer n in the low bits of t = n + ROUNDER, in two steps because 2^n alone may be out of
 * range where the product is not. */
INLINE float scale_f32(float p, float t) {
    uint32_t n = bits_f32(t), half = n >> 1;
    return p * from_bits_f32((half + 127u) << 23) * from_bits_f32((n - half + 127u) << 23);
}
INLINE double scale_f64(double p, double t) {
    uint64_t n = bits_f64(t), half = n >> 1;
    return p * from_bits_f64((half + 1023u) << 52) * from_bits_f64((n - half + 1023u) << 52);
}

/* e^r from the tail of its series: 1 + r is kept as two numbers, so that only the last addition rounds */
INLINE float exp_series_f32(float r, float low) {
    float one = 1.f + r;
    return one + (((1.f - one) + r) + (r * r * exp_tail_f32(r) + low));
}
INLINE double exp_series_f64(double r, double low) {
    double one = 1. + r;
    return one + (((1. - one) + r) + (r * r * exp_tail_f64(r) + low));
}

/* x + extra = n ln2 + r + *low, *t = n + ROUNDER; *low is what rounding took from r, and `extra` a small addition to x */
INLINE float exp_reduce_f32(float x, float extra, float *t, float *low) {
    *t = x * (float)LOG2E + ROUNDER_F32;
    float n = *t - ROUNDER_F32, high = x - n * LN2_HI_F32, rest = n * LN2_LO_F32 - extra, r = high - rest;
    *low = (high - r) - rest;
    return r;
}
INLINE double exp_reduce_f64(double x, double *t, double *low) {
    *t = x * LOG2E + ROUNDER_F64;
    double n = *t - ROUNDER_F64, high = x - n * LN2_HI_F64, rest = n * LN2_LO_F64, r = high - rest;
    *low = (high - r) - rest;
    return r;
}

/* e^(x + extra) */
INLINE float exp_sum_f32(float x, float extra) {
    float t, low, r = exp_reduce_f32(x, extra, &t, &low);
    return scale_f32(exp_series_f32(r, low), t);
}
/* e^x for x in the range of results, without the corrections above: they would take a third of the time to save half an ulp */
INLINE float exp_plain_f32(float x) {
    float t = x * (float)LOG2E + ROUNDER_F32, n = t - ROUNDER_F32, r = (x - n * LN2_HI_F32) - n * LN2_LO_F32;
    return scale_f32(1.f + (r + r * r * exp_tail_f32(r)), t);
}
INLINE float exp_f32(float x) { return exp_plain_f32(clip_f32(x, -104.f, 89.f)); }
/* for x <= 0 */
INLINE float exp_falling_f32(float x) { return exp_plain_f32(x < -104.f ? -104.f : x); }
/* 2^shift e^x, which may be a number where e^x is not */
INLINE double exp_shifted_f64(double x, double shift) {
    double t, low, r = exp_reduce_f64(clip_f64(x, -760., 720.), &t, &low);
    return scale_f64(exp_series_f64(r, low), t + shift);
}
INLINE double exp_f64(double x) { return exp_shifted_f64(x, 0.); }
/* e^x where it is a normal number, whose exponent can be added to the bits: half the work, within an ulp */
INLINE int exp_is_near_f32(float x) { return fabsf(x) < 87.f; }
INLINE int exp_is_near_f64(double x) { return fabs(x) < 708.; }
INLINE float exp_near_f32(float x) {
    float t = x * (float)LOG2E + ROUNDER_F32, n = t - ROUNDER_F32, r = (x - n * LN2_HI_F32) - n * LN2_LO_F32;
    return from_bits_f32(bits_f32(1.f + (r + r * r * exp_tail_f32(r))) + (bits_f32(t) << 23));
}
INLINE double exp_near_f64(double x) {
    double t = x * LOG2E + ROUNDER_F64, n = t - ROUNDER_F64, r = (x - n * LN2_HI_F64) - n * LN2_LO_F64;
    return from_bits_f64(bits_f64(1. + (r + r * r * exp_tail_f64(r))) + (bits_f64(t) << 52));
}

INLINE float exp2_f32(float x) {
    x = clip_f32(x, -151.f, 129.f);
    float t = x + ROUNDER_F32, r = (x - (t - ROUNDER_F32)) * (float)(LN2_HI_F64 + LN2_LO_F64);
    return scale_f32(exp_series_f32(r, 0.f), t);
}
INLINE double exp2_f64(double x) {
    x = clip_f64(x, -1076., 1025.);
    double t = x + ROUNDER_F64, r = (x - (t - ROUNDER_F64)) * (LN2_HI_F64 + LN2_LO_F64);
    return scale_f64(exp_series_f64(r, 0.), t);
}

/* 2^n (e^r - 1) + (2^n - 1), with 2^(n-1) for 2^n because 2^1024 is not a number. */
INLINE float expm1_f32(float x) {
    float t, low, r = exp_reduce_f32(clip_f32(x, -30.f, 89.f), 0.f, &t, &low);
    float s = power_of_two_f32(t - 1.f);
    float y = copysignf((s * (r + (r * r * exp_tail_f32(r) + low)) + (s - 0.5f)) * 2.f, x);
    return fabsf(x) < 0x1p-25f ? x : y;         /* a subnormal has no bit to spare for the factor 1/2 */
}
INLINE double expm1_f64(double x) {
    double t, low, r = exp_reduce_f64(clip_f64(x, -60., 710.), &t, &low);
    double s = power_of_two_f64(t - 1.);
    double y = copysign((s * (r + (r * r * exp_tail_f64(r) + low)) + (s - 0.5)) * 2., x);
    return fabs(x) < 0x1p-54 ? x : y;
}

/* ---- logarithms: x = 2^k m with m in [sqrt(1/2), sqrt(2)), log m = 2 atanh(s), s = f / (2 + f), f = m - 1 ---- */

#define SQRT_HALF_BITS_F32 0x3f3504f3u
#define SQRT_HALF_BITS_F64 0x3fe6a09e667f3bcdull

INLINE float split_f32(float x, float *k) {
    uint32_t u = bits_f32(x) - SQRT_HALF_BITS_F32;
    *k = (float)((int32_t)u >> 23);
    return from_bits_f32((u & 0x007fffffu) + SQRT_HALF_BITS_F32);
}
INLINE double split_f64(double x, double *k) {
    uint64_t u = bits_f64(x) + (0x3ff0000000000000ull - SQRT_HALF_BITS_F64);
    *k = from_bits_f64(0x4330000000000000ull | (u >> 52)) - (0x1p52 + 1023.);
    return from_bits_f64((u & 0x000fffffffffffffull) + SQRT_HALF_BITS_F64);
}

/* (f - log(1 + f)) with the small term `tail` added to the logarithm while it is still small */
INLINE float log_gap_f32(float f, float tail) {
    float s = f / (2.f + f), z = s * s, half = 0.5f * f * f;
    float r = z * (2.f / 3 + z * (2.f / 5 + z * (2.f / 7 + z * (2.f / 9))));
    return half - (s * (half + r) + tail);
}
INLINE double log_gap_f64(double f, double tail) {
    double s = f / (2. + f), z = s * s, w = z * z, half = 0.5 * f * f;
    double odd = 2. / 3 + w * (2. / 7 + w * (2. / 11 + w * (2. / 15 + w * (2. / 19))));
    double even = 2. / 5 + w * (2. / 9 + w * (2. / 13 + w * (2. / 17 + w * (2. / 21))));
    return half - (s * (half + z * (odd + z * even)) + tail);
}

INLINE float log_specials_f32(float x, float y) {
    y = x == 0.f ? -INFINITY : y;
    y = x < 0.f ? NAN : y;
    return x < INFINITY ? y : x;        /* infinity and NaN */
}
INLINE double log_specials_f64(double x, double y) {
    y = x == 0. ? -INFINITY : y;
    y = x < 0. ? NAN : y;
    return x < INFINITY ? y : x;
}

/* log(x) is k * ln2 + log(1 + f): the two are returned apart so that other bases can scale each exactly */
INLINE float log_parts_f32(float x, float *k) {
    float tiny = x < FLT_MIN ? 1.f : 0.f;
    float f = split_f32(x < FLT_MIN ? x * 0x1p25f : x, k) - 1.f;
    *k -= 25.f * tiny;
    return f;
}
INLINE double log_parts_f64(double x, double *k) {
    double tiny = x < DBL_MIN ? 1. : 0.;
    double f = split_f64(x < DBL_MIN ? x * 0x1p54 : x, k) - 1.;
    *k -= 54. * tiny;
    return f;
}
INLINE float log_f32(float x) {
    float k, f = log_parts_f32(x, &k);
    return log_specials_f32(x, k * LN2_HI_F32 - (log_gap_f32(f, k * LN2_LO_F32) - f));
}
INLINE double log_f64(double x) {
    double k, f = log_parts_f64(x, &k);
    return log_specials_f64(x, k * LN2_HI_F64 - (log_gap_f64(f, k * LN2_LO_F64) - f));
}
INLINE double log2_f64(double x) {
    double k, f = log_parts_f64(x, &k);
    return log_specials_f64(x, k + (f - log_gap_f64(f, 0.)) * LOG2E);
}
INLINE float log2_f32(float x) {
    float k, f = log_parts_f32(x, &k), r = f - log_gap_f32(f, 0.f);
    return log_specials_f32(x, k + (r + r * (float)(LOG2E - 1.)));
}
INLINE double log10_f64(double x) { return log10(x); }
INLINE float log10_f32(float x) { return (float)(log_f64(x) * 0.43429448190325182765); }

/* u = 1 + x was rounded: its logarithm lacks (x - (u - 1)) / u */
INLINE double log1p_f64(double x) {
    double u = 1. + x, k, m = split_f64(u, &k);
    double lost = (k > 1. ? 1. - (u - x) : x - (u - 1.)) / u;
    double f = k == 0. ? x : m - 1.;
    lost = (k == 0.) | (k > 53.) ? 0. : lost;
    double y = k * LN2_HI_F64 - (log_gap_f64(f, k * LN2_LO_F64 + lost) - f);
    y = log_specials_f64(u, y);
    return fabs(x) < 0x1p-54 ? x : y;
}
INLINE float log1p_f32(float x) {
    float u = 1.f + x, k, m = split_f32(u, &k);
    float lost = (k > 1.f ? 1.f - (u - x) : x - (u - 1.f)) / u;
    float f = k == 0.f ? x : m - 1.f;
    lost = (k == 0.f) | (k > 24.f) ? 0.f : lost;
    float y = k * LN2_HI_F32 - (log_gap_f32(f, k * LN2_LO_F32 + lost) - f);
    y = log_specials_f32(u, y);
    return fabsf(x) < 0x1p-25f ? x : y;
}

/* ---- powers ---- */

INLINE double pow_f64(double x, double y) { return pow(x, y); }
/* 2^(y log2 |x|) as double, with series as long as a float needs: to 2^-36 and 2^-32 */
INLINE double power_f64(float x, float y) {
    double k, f = split_f64(fabs((double)x), &k) - 1., s = f / (2. + f), z = s * s;
    double series = 2. / 3 + z * (2. / 5 + z * (2. / 7 + z * (2. / 9 + z * (2. / 11 + z * (2. / 13 + z * (2. / 15))))));
    double log = log_specials_f64(fabs((double)x), k + (2. * s + s * z * series) * LOG2E);
    double t = clip_f64((double)y * log, -160., 130.), n = t + ROUNDER_F64, r = (t - (n - ROUNDER_F64)) * (LN2_HI_F64 + LN2_LO_F64);
    double tail = 1. / 2 + r * (1. / 6 + r * (1. / 24 + r * (1. / 120 + r * (1. / 720 + r * (1. / 5040 + r * (1. / 40320))))));
    return (1. + (r + r * r * tail)) * power_of_two_f64(n);
}
INLINE float pow_f32(float x, float y) {
    double r = power_f64(x, y);
    double half = 0.5 * (double)y;
    int whole = trunc((double)y) == (double)y, odd = whole & (floor(half) != half);
    r = (x < 0.f) & !whole & (x > -INFINITY) ? NAN : r;
    r = odd ? copysign(r, (double)x) : r;
    r = (fabsf(x) == 1.f) & (fabsf(y) == INFINITY) ? 1. : r;
    return (y == 0.f) | (x == 1.f) ? 1.f : (float)r;
}

/* ---- hyperbolic functions and the activations built on them ---- */

/* tanh = e / (e + 2), e = expm1(2x); past the bound the quotient rounds to 1, near zero the series is closer */
INLINE float tanh_f32(float x) {
    float a = fabsf(x), z = a * a, e = expm1_f32(2.f * clip_f32(a, 0.f, 9.1f));
    float near = a + a * z * (-1.f / 3 + z * (2.f / 15 + z * (-17.f / 315 + z * (62.f / 2835 + z * (-1382.f / 155925)))));
    return copysignf(a < 0.35f ? near : e / (e + 2.f), x);
}
INLINE double tanh_f64(double x) {
    double e = expm1_f64(2. * clip_f64(fabs(x), 0., 20.));
    return copysign(e / (e + 2.), x);
}

INLINE double sinh_f64(double x) {
    double a = fabs(x), e = expm1_f64(a);
    return copysign(a > 22. ? exp_shifted_f64(a, -1.) : 0.5 * (e + e / (e + 1.)), x);
}
INLINE double cosh_f64(double x) {
    double a = fabs(x), half = exp_shifted_f64(a, -1.);
    return half + 0.25 / half;
}
/* What overflows a float is far from overflowing a double */
INLINE float sinh_f32(float x) {
    double e = expm1_f64(clip_f64(fabs((double)x), 0., 100.));
    return copysignf((float)(0.5 * (e + e / (e + 1.))), x);
}
INLINE float cosh_f32(float x) {
    double e = exp_f64(clip_f64(fabs((double)x), 0., 100.));
    return (float)(0.5 * (e + 1. / e));
}

INLINE double asinh_f64(double x) {
    double a = fabs(x);
    double near = log1p_f64(a + a * a / (1. + sqrt(a * a + 1.))), far = log_f64(a) + (LN2_HI_F64 + LN2_LO_F64);
    return copysign(a > 0x1p28 ? far : near, x);
}
INLINE double acosh_f64(double x) {
    double t = x - 1.;
    double near = log1p_f64(t + sqrt(2. * t + t * t)), far = log_f64(x) + (LN2_HI_F64 + LN2_LO_F64);
    return x < 1. ? NAN : x > 0x1p28 ? far : near;
}
INLINE double atanh_f64(double x) {
    double a = fabs(x);
    return copysign(0.5 * log1p_f64(2. * a / (1. - a)), x);
}
FLOAT_FROM_DOUBLE(asinh)
FLOAT_FROM_DOUBLE(acosh)
FLOAT_FROM_DOUBLE(atanh)

/* With e = e^-|x|, which never overflows, and q = e / (1 + e): 1 - q, or for negative x q itself, which e - e q rounds less */
INLINE float sigmoid_f32(float x) { float e = exp_falling_f32(-fabsf(x)), q = e / (1.f + e); return x < 0.f ? e - e * q : 1.f - q; }
INLINE double sigmoid_f64(double x) { double e = exp_f64(-fabs(x)), q = e / (1. + e); return x < 0. ? e - e * q : 1. - q; }

/* x sigmoid(x); for negative x the power of two comes last, so that e^x may be below the range of numbers */
INLINE float silu_f32(float x) {
    float t, low, r = exp_reduce_f32(clip_f32(-fabsf(x), -110.f, 0.f), 0.f, &t, &low), p = exp_series_f32(r, low);
    float e = scale_f32(p, t), power = power_of_two_f32(t + 64.f);
    float y = x < 0.f ? x * p / (1.f + e) * power * 0x1p-64f : x / (1.f + e);
    return x < -110.f ? -0.f : y;
}
INLINE double silu_f64(double x) {
    double t, low, r = exp_reduce_f64(clip_f64(-fabs(x), -760., 0.), &t, &low), p = exp_series_f64(r, low);
    double e = scale_f64(p, t), power = power_of_two_f64(t + 128.);
    double y = x < 0. ? x * p / (1. + e) * power * 0x1p-128 : x / (1. + e);
    return x < -760. ? -0. : y;
}

/* tanh(log(1 + e^x)) = n / (n + 2), n = e^x (e^x + 2), and 1 where e^2x would overflow */
INLINE float mish_f32(float x) {
    float e = exp_f32(clip_f32(x, -104.f, 20.f)), n = e * (e + 2.f);
    return x == -INFINITY ? -0.f : x * (n / (n + 2.f));
}
INLINE double mish_f64(double x) {
    double e = exp_f64(clip_f64(x, -746., 40.)), n = e * (e + 2.);
    return x == -INFINITY ? -0. : x * (n / (n + 2.));
}

/* ---- trigonometric functions, for |x| below TRIG_LIMIT; callers send larger ones to the C library ---- */

#define TRIG_LIMIT 1e6                  /* so that n * PIO2_1 is exact */
#define PIO2_1 0x1.921fb544p+0
#define PIO2_2 0x1.0b4611a6p-34
#define PIO2_3 0x1.3198a2e037073p-69

INLINE double sin_series(double r) {
    double z = r * r;
    return r + r * z * (-1. / 6 + z * (1. / 120 + z * (-1. / 5040 + z * (1. / 362880 + z * (-1. / 39916800
        + z * (1. / 6227020800. + z * (-1. / 1307674368000.)))))));
}
INLINE double cos_series(double r) {
    double z = r * r;
    return 1. + z * (-1. / 2 + z * (1. / 24 + z * (-1. / 720 + z * (1. / 40320 + z * (-1. / 3628800
        + z * (1. / 479001600. + z * (-1. / 87178291200. + z * (1. / 20922789888000.))))))));
}
/* r + *low = x - n pi/2 in [-pi/4, pi/4]; the low bits of the result are n */
INLINE uint64_t quadrant(double x, double *r, double *low) {
    double t = x * (2. / PI) + ROUNDER_F64, n = t - ROUNDER_F64;
    double a = x - n * PIO2_1, b = n * PIO2_2, c = a - b, d = n * PIO2_3;
    *r = c - d;
    *low = ((a - c) - b) + ((c - *r) - d);
    return bits_f64(t);
}
INLINE double sin_sum(double r, double low) { return sin_series(r) + low * (1. - 0.5 * r * r); }
INLINE double cos_sum(double r, double low) { return cos_series(r) - low * r; }

INLINE double sin_f64(double x) {
    double r, low;
    uint64_t n = quadrant(x, &r, &low);
    double y = n & 1 ? cos_sum(r, low) : sin_sum(r, low);
    y = from_bits_f64(bits_f64(y) ^ (n & 2) << 62);
    return x == 0. ? x : y;
}
INLINE double cos_f64(double x) {
    double r, low;
    uint64_t n = quadrant(x, &r, &low);
    double y = n & 1 ? sin_sum(r, low) : cos_sum(r, low);
    return from_bits_f64(bits_f64(y) ^ ((n + 1) & 2) << 62);
}
INLINE double tan_f64(double x) {
    double r, low;
    uint64_t n = quadrant(x, &r, &low);
    double s = sin_sum(r, low), c = cos_sum(r, low);
    double y = (n & 1 ? -c : s) / (n & 1 ? s : c);
    return x == 0. ? x : y;
}

/* Reduced as double, summed as float */
INLINE uint32_t quadrant_f32(float x, float *r) {
    double y = x, t = y * (2. / PI) + ROUNDER_F64, n = t - ROUNDER_F64;
    *r = (float)((y - n * PIO2_1) - n * PIO2_2);
    return (uint32_t)bits_f64(t);
}
INLINE float sin_series_f32(float r) {
    float z = r * r;
    return r + r * (z * (-1.f / 6 + z * (1.f / 120 + z * (-1.f / 5040 + z * (1.f / 362880)))));
}
INLINE float cos_series_f32(float r) {
    float z = r * r;
    return 1.f + z * (-0.5f + z * (1.f / 24 + z * (-1.f / 720 + z * (1.f / 40320 + z * (-1.f / 3628800)))));
}
INLINE float sin_f32(float x) {
    float r;
    uint32_t n = quadrant_f32(x, &r);
    float y = n & 1 ? cos_series_f32(r) : sin_series_f32(r);
    y = from_bits_f32(bits_f32(y) ^ (n & 2) << 30);
    return x == 0.f ? x : y;
}
INLINE float cos_f32(float x) {
    float r;
    uint32_t n = quadrant_f32(x, &r);
    float y = n & 1 ? sin_series_f32(r) : cos_series_f32(r);
    return from_bits_f32(bits_f32(y) ^ ((n + 1) & 2) << 30);
}
FLOAT_FROM_DOUBLE(tan)
FROM_LIBM(big_sin, sin)
FROM_LIBM(big_cos, cos)
FROM_LIBM(big_tan, tan)

/* ---- inverse trigonometric functions: atan a = base + atan t with |t| <= tan(pi/8), and the sum of atan's series ---- */

#define TAN_PI_8 0.41421356237309504880
#define TAN_3PI_8 2.41421356237309504880
#define PI_LOW 1.2246467991473532e-16   /* pi - PI */

/* sum of (-z)^k / (2k + 1) for k from 1 on */
INLINE double atan_tail(double z) {
    double p = 1. / 43;
    p = 1. / 41 - z * p; p = 1. / 39 - z * p; p = 1. / 37 - z * p; p = 1. / 35 - z * p; p = 1. / 33 - z * p;
    p = 1. / 31 - z * p; p = 1. / 29 - z * p; p = 1. / 27 - z * p; p = 1. / 25 - z * p; p = 1. / 23 - z * p;
    p = 1. / 21 - z * p; p = 1. / 19 - z * p; p = 1. / 17 - z * p; p = 1. / 15 - z * p; p = 1. / 13 - z * p;
    p = 1. / 11 - z * p; p = 1. / 9 - z * p; p = 1. / 7 - z * p; p = 1. / 5 - z * p; p = 1. / 3 - z * p;
    return -z * p;
}
/* atan(y / x) for y, x >= 0 */
INLINE double atan_ratio(double y, double x) {
    int steep = y > TAN_3PI_8 * x, middle = y > TAN_PI_8 * x;
    double t = (steep ? -x : middle ? y - x : y) / (steep ? y : middle ? y + x : x);
    double base = steep ? 0.5 * PI : middle ? 0.25 * PI : 0., low = steep ? PI_LOW / 2 : middle ? PI_LOW / 4 : 0.;
    return base + (t + (t * atan_tail(t * t) + low));
}
INLINE double atan_f64(double x) { return copysign(atan_ratio(fabs(x), 1.), x); }
INLINE double asin_f64(double x) { double a = fabs(x); return copysign(atan_ratio(a, sqrt((1. - a) * (1. + a))), x); }
INLINE double acos_f64(double x) {
    double a = fabs(x), s = sqrt((1. - a) * (1. + a)), y = atan_ratio(s, a);
    return x < 0. ? PI - y : y;
}
/* atan t for |t| <= tan(pi/8) */
INLINE float atan_series_f32(float t) {
    float z = t * t;
    float p = z * (-1.f / 3 + z * (1.f / 5 + z * (-1.f / 7 + z * (1.f / 9 + z * (-1.f / 11 + z * (1.f / 13 + z * (-1.f / 15 + z * (1.f / 17))))))));
    return t + t * p;
}
#define PI_4_HI_F32 0x1.92p-1f          /* so short that its multiples are exact */
#define PI_4_LO_F32 0x1.fb5444p-13f
INLINE float atan_f32(float x) {
    float a = fabsf(x);
    int steep = a > (float)TAN_3PI_8, middle = a > (float)TAN_PI_8;
    float t = (steep ? -1.f : middle ? a - 1.f : a) / (steep ? a : middle ? a + 1.f : 1.f), n = steep ? 2.f : middle ? 1.f : 0.f;
    return copysignf(n * PI_4_HI_F32 + (atan_series_f32(t) + n * PI_4_LO_F32), x);
}
/* n pi/4 with the angle t of the lesser side and the greater added or subtracted; scaled where their sum would overflow */
INLINE float atan2_f32(float y, float x) {
    float ay = fabsf(y), ax = fabsf(x), scale = (ay > 0x1p126f) | (ax > 0x1p126f) ? 0.25f : 1.f;
    int infinite = (ay == INFINITY) & (ax == INFINITY), steep = ay > ax, left = (int)(bits_f32(x) >> 31);
    float low = infinite ? 1.f : scale * (steep ? ax : ay), high = infinite ? 1.f : scale * (steep ? ay : ax);
    int middle = low > (float)TAN_PI_8 * high;
    high = high == 0.f ? 1.f : high;
    float t = (middle ? low - high : low) / (middle ? low + high : high), n = middle ? 1.f : 0.f, r = atan_series_f32(t);
    n = steep ? 2.f - n : n;
    r = steep ? -r : r;
    n = left ? 4.f - n : n;
    r = left ? -r : r;
    float angle = copysignf(n * PI_4_HI_F32 + (r + n * PI_4_LO_F32), y);
    return (x != x) | (y != y) ? x + y : angle;
}
INLINE double atan2_f64(double y, double x) { return atan2(y, x); }

/* asin s - s for 0 <= s <= 1/2, z = s^2: a minimax fit to 4e-9 */
INLINE float asin_tail_f32(float s, float z) {
    float p = 0.0336908472f;
    p = p * z + 0.0171492384f;
    p = p * z + 0.0311006627f;
    p = p * z + 0.0445994015f;
    p = p * z + 0.0750009454f;
    p = p * z + 0.166666663f;
    return s * z * p;
}
/* s and asin s - s, of x itself or, where it is far from 0, of half the chord: asin x = pi/2 - 2 asin(sqrt((1 - x) / 2)) */
INLINE float asin_parts_f32(float a, int *far, float *tail) {
    *far = a > 0.5f;
    float z = *far ? 0.5f * (1.f - a) : a * a, s = *far ? sqrtf(z) : a;
    *tail = asin_tail_f32(s, z);
    return s;
}
INLINE float asin_f32(float x) {
    int far;
    float tail, s = asin_parts_f32(fabsf(x), &far, &tail);
    return copysignf(far ? (2.f * PI_4_HI_F32 - 2.f * s) - (2.f * tail - 2.f * PI_4_LO_F32) : s + tail, x);
}
INLINE float acos_f32(float x) {
    int far;
    float tail, s = asin_parts_f32(fabsf(x), &far, &tail), n = far ? (x < 0.f ? 4.f : 0.f) : 2.f;
    float sign = far ? (x < 0.f ? -2.f : 2.f) : (x < 0.f ? 1.f : -1.f);
    return (n * PI_4_HI_F32 + sign * s) + (sign * tail + n * PI_4_LO_F32);
}
INLINE double hypot_f64(double x, double y) { return hypot(x, y); }
INLINE float hypot_f32(float x, float y) {
    float r = (float)sqrt((double)x * x + (double)y * y);
    return (fabsf(x) == INFINITY) | (fabsf(y) == INFINITY) ? INFINITY : r;
}
/* The bits of neighbours of one sign follow each other, away from 0 */
#define NEXT_AFTER(name, real, word, bits, from_bits, copysign) \
    INLINE real name(real x, real y) { \
        real next = from_bits(bits(x) + ((x < y) == (x > 0) ? (word)1 : (word)-1)); \
        next = x == 0 ? copysign(from_bits((word)1), y) : next; \
        next = x == y ? y : next; \
        return (x != x) | (y != y) ? x + y : next; \
    }
NEXT_AFTER(nextafter_f32, float, uint32_t, bits_f32, from_bits_f32, copysignf)
NEXT_AFTER(nextafter_f64, double, uint64_t, bits_f64, from_bits_f64, copysign)

#include "special_functions.h"
#include "rarer_functions.h"
#include "division.h"

#include "untyped_names.h"
#endif
