/* The error function, the normal distribution and the gamma functions: a part of scalar_math.h. */
#ifndef PYX_TENSOR_SPECIAL_FUNCTIONS_H
#define PYX_TENSOR_SPECIAL_FUNCTIONS_H

/* ---- the error function and the normal distribution ---- */

FROM_LIBM(libm_erf, erf)
FROM_LIBM(libm_erfc, erfc)

/* e^(x^2) erfc(x) for 0 <= x <= 10.2, relative error 3e-9: a Chebyshev fit of (1 + 2x) e^(x^2) erfc(x) in t = (x - 3) / (x + 3) */
#define ERFC_SCALED(suffix, real) \
    static inline real erfc_scaled_##suffix(real x) { \
        x = clip_##suffix(x, 0, (real)10.2);        /* beyond, e^(-x^2) is no float */ \
        real growth = 1 + 2 * x, inverse = 1 / ((x + 3) * growth), t = (x - 3) * growth * inverse; \
        real p = (real)-0.00027639026083749776; \
        p = p * t + (real)-0.0007957492461335323; \
        p = p * t + (real)0.0019963757329056688; \
        p = p * t + (real)0.0025788453659237112; \
        p = p * t + (real)-0.02379134802634766; \
        p = p * t + (real)0.06829336743302265; \
        p = p * t + (real)-0.11927247426922286; \
        p = p * t + (real)0.12964661242959008; \
        p = p * t + (real)-0.04756228936925366; \
        p = p * t + (real)-0.13562114482805326; \
        p = p * t + (real)1.2530080579001333; \
        return p * (x + 3) * inverse; \
    }
ERFC_SCALED(f32, float)
ERFC_SCALED(f64, double)

/* e^(-scale x^2), scale x^2 below 145, with a square that is not rounded: the head of x has so few bits that its square is exact */
static inline float exp_square_f32(float x, float scale) {
    x = clip_f32(x, -17.f, 17.f);
    float head = from_bits_f32(bits_f32(x) & 0xfffff000u), tail = x - head;
    return exp_sum_f32(-scale * (head * head), -scale * (tail * (x + head)));
}
static inline float erf_f32(float x) {
    float a = fabsf(x), z = a * a;
    float near = 1.f / 75600 - z * (1.f / 685440 - z * (1.f / 6894720));
    near = 1.f / 3 - z * (1.f / 10 - z * (1.f / 42 - z * (1.f / 216 - z * (1.f / 1320 - z * (1.f / 9360 - z * near)))));
    near = a + a * ((float)(2. * INV_SQRT_PI - 1.) - (float)(2. * INV_SQRT_PI) * z * near);
    float far = 1.f - exp_square_f32(clip_f32(a, 0.f, 5.f), 1.f) * erfc_scaled_f32(a);
    return copysignf(a < 0.9f ? near : far, x);
}
static inline float erfc_f32(float x) {
    double a = fabs((double)x), e = exp_f64(-a * a) * erfc_scaled_f64(a);
    return (float)(x < 0.f ? 2. - e : e);
}
static inline double erf_f64(double x) { return libm_erf_f64(x); }
static inline double erfc_f64(double x) { return libm_erfc_f64(x); }

/* The normal distribution function of x; *density gets its derivative */
static inline float normal_f32(float x, float *density) {
    float a = fabsf(x), e = exp_square_f32(a, 0.5f), tail = 0.5f * e * erfc_scaled_f32(a * (float)SQRT_HALF);
    *density = e * (float)INV_SQRT_2PI;
    return x > 0.f ? 1.f - tail : tail;
}
static inline float gelu_f32(float x) {
    float density, y = x * normal_f32(x, &density);
    return x < -15.f ? -0.f : y;
}
static inline double gelu_f64(double x) { return x == -INFINITY ? -0. : 0.5 * x * erfc(-x * SQRT_HALF); }
static inline float gelu_slope_f32(float x) {
    float density, cdf = normal_f32(x, &density);
    return cdf + clip_f32(x, -16.f, 16.f) * density;
}
static inline double gelu_slope_f64(double x) {
    double y = clip_f64(x, -40., 40.);
    return 0.5 * erfc(-x * SQRT_HALF) + y * INV_SQRT_2PI * exp_f64(-0.5 * y * y);
}

/* The tanh approximation: x * sigmoid(2u), u = sqrt(2/pi) (x + 0.044715 x^3) */
#define GELU_U2 (2. * 0.79788456080286535588)
static inline float gelu_tanh_f32(float x) {
    float y = clip_f32(x, -30.f, 30.f);
    float s = sigmoid_f32((float)GELU_U2 * y * (1.f + 0.044715f * y * y));
    return x == -INFINITY ? -0.f : x * s;
}
static inline double gelu_tanh_f64(double x) {
    double y = clip_f64(x, -30., 30.), s = sigmoid_f64(GELU_U2 * y * (1. + 0.044715 * y * y));
    return x == -INFINITY ? -0. : x * s;
}
static inline float gelu_tanh_slope_f32(float x) {
    float y = clip_f32(x, -30.f, 30.f), s = sigmoid_f32((float)GELU_U2 * y * (1.f + 0.044715f * y * y));
    return s + y * s * (1.f - s) * (float)GELU_U2 * (1.f + 3.f * 0.044715f * y * y);
}
static inline double gelu_tanh_slope_f64(double x) {
    double y = clip_f64(x, -30., 30.), s = sigmoid_f64(GELU_U2 * y * (1. + 0.044715 * y * y));
    return s + y * s * (1. - s) * GELU_U2 * (1. + 3. * 0.044715 * y * y);
}

/* A first guess good to 2e-3 (Winitzki 2008), then Halley's steps on erf, or on erfc where erf is close to 1 */
static inline double erfinv_f64(double y) {
    double a = fabs(y);
    if (!(a < 1.)) return a == 1. ? copysign(INFINITY, y) : NAN;
    double l = log1p(-a * a), b = 2. / (PI * 0.147) + 0.5 * l;
    double x = sqrt(sqrt(b * b - l / 0.147) - b);
    for (int i = 0; i < 3; i++) {
        double error = a < 0.5 ? erf(x) - a : (1. - a) - erfc(x);
        double step = error / (2. * INV_SQRT_PI * exp(-x * x));
        x -= step / (1. + x * step);
    }
    return a == 0. ? y : copysign(x, y);
}
FLOAT_FROM_DOUBLE(erfinv)

/* ---- gamma functions ---- */

#if defined(_MSC_VER)
static inline double lgamma_f64(double x) { return lgamma(x); }
static inline float lgamma_f32(float x) { return lgammaf(x); }
#else
extern double lgamma_r(double, int *);
extern float lgammaf_r(float, int *);
static inline double lgamma_f64(double x) { int sign; return lgamma_r(x, &sign); }
static inline float lgamma_f32(float x) { int sign; return lgammaf_r(x, &sign); }
#endif

/* Recurrence up to 10, then the asymptotic series; reflection on the left */
static inline double digamma_f64(double x) {
    if (x == 0.) return copysign(INFINITY, -x);
    if (x < 0. && (x == floor(x) || x == -INFINITY)) return NAN;
    double y = 0.;
    if (x < 0.) { y = -PI / tan(PI * (x - floor(x))); x = 1. - x; }
    while (x < 10.) { y -= 1. / x; x += 1.; }
    double z = 1. / (x * x);
    return y + log(x) - 0.5 / x
        - z * (1. / 12 - z * (1. / 120 - z * (1. / 252 - z * (1. / 240 - z * (1. / 132 - z * (691. / 32760 - z * (1. / 12)))))));
}
FLOAT_FROM_DOUBLE(digamma)

#endif
