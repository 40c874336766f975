/* The error function, the normal distribution and the gamma functions: a part of scalar_math.h. */
#ifndef PYX_TENSOR_SPECIAL_FUNCTIONS_H
#define PYX_TENSOR_SPECIAL_FUNCTIONS_H

/* ---- the error function and the normal distribution ---- */

FROM_LIBM(libm_erf, erf)
FROM_LIBM(libm_erfc, erfc)

/* e^(x^2) erfc(x) for 0 <= x <= 10.2, relative error 3e-9: a Chebyshev fit of (1 + 2x) e^(x^2) erfc(x) in t = (x - 3) / (x + 3) */
static inline double erfc_scaled_f64(double x) {
    x = clip_f64(x, 0., 10.2);        /* beyond, e^(-x^2) is no float */
    double growth = 1 + 2 * x, inverse = 1 / ((x + 3) * growth), t = (x - 3) * growth * inverse;
    double p = -0.00027639026083749776;
    p = p * t + -0.0007957492461335323;
    p = p * t + 0.0019963757329056688;
    p = p * t + 0.0025788453659237112;
    p = p * t + -0.02379134802634766;
    p = p * t + 0.06829336743302265;
    p = p * t + -0.11927247426922286;
    p = p * t + 0.12964661242959008;
    p = p * t + -0.04756228936925366;
    p = p * t + -0.13562114482805326;
    p = p * t + 1.2530080579001333;
    return p * (x + 3) * inverse;
}

/* e^(-x^2 / 2) for |x| <= NORMAL_LIMIT, beyond which it is no normal number. The rounding of x^2 counts: it is put right by an
 * fma, or where there is none by a square that is exact, because the head of x has so few bits. */
#define NORMAL_LIMIT 13.2f
static inline float exp_half_square_f32(float x) {
#ifdef __FMA__
    const float c = (float)(-0.5 * LOG2E);
    float z = x * x, rest = __builtin_fmaf(x, x, -z), t = z * c + ROUNDER_F32;
    float r = __builtin_fmaf(rest, c, __builtin_fmaf(z, c, ROUNDER_F32 - t));
    float p = 0.00015353362026444307f;                  /* 2^r for |r| <= 1/2, a minimax fit to 2e-9 */
    p = p * r + 0.0013398874650678329f;
    p = p * r + 0.009618437359138678f;
    p = p * r + 0.05550332470535452f;
    p = p * r + 0.24022647913600506f;
    p = p * r + 0.6931472028553374f;
    return (p * r + 1.f) * power_of_two_f32(t);
#else
    float head = from_bits_f32(bits_f32(x) & 0xfffff000u), tail = x - head;
    return exp_sum_f32(-0.5f * (head * head), -0.5f * (tail * (x + head)));
#endif
}

/* The normal distribution function of -a, 0 <= a <= NORMAL_LIMIT, and *e = e^(-a^2 / 2): a minimax fit of their quotient
 * in t = 1 / (1 + 0.35 a), relative error 3e-8 */
static inline float normal_tail_f32(float a, float *e) {
    float t = 1.f / (1.f + 0.35f * a);
    float q = -0.02911174370066576f;
    q = q * t + 0.14380214965222243f;
    q = q * t + -0.25535660329452836f;
    q = q * t + 0.15875623162448904f;
    q = q * t + -0.022814862555120198f;
    q = q * t + 0.10537967280793362f;
    q = q * t + 0.11986635757814194f;
    q = q * t + 0.13985709376139685f;
    q = q * t + 0.13962168829186097f;
    *e = exp_half_square_f32(a);
    return q * t * *e;
}
static inline float erf_f32(float x) {
    float a = fabsf(x), z = a * a, e;
    float near = 1.f / 75600 - z * (1.f / 685440 - z * (1.f / 6894720));
    near = 1.f / 3 - z * (1.f / 10 - z * (1.f / 42 - z * (1.f / 216 - z * (1.f / 1320 - z * (1.f / 9360 - z * near)))));
    near = a + a * ((float)(2. * INV_SQRT_PI - 1.) - (float)(2. * INV_SQRT_PI) * z * near);
    float far = 1.f - 2.f * normal_tail_f32((float)(2. * SQRT_HALF) * clip_f32(a, 0.f, 5.f), &e);
    return copysignf(a < 0.9f ? near : far, x);
}
static inline float erfc_f32(float x) {
    double a = fabs((double)x), e = exp_f64(-a * a) * erfc_scaled_f64(a);
    return (float)(x < 0.f ? 2. - e : e);
}
static inline double erf_f64(double x) { return libm_erf_f64(x); }
static inline double erfc_f64(double x) { return libm_erfc_f64(x); }

static inline float gelu_f32(float x) {
    float e, a = fabsf(x), tail = normal_tail_f32(a > NORMAL_LIMIT ? NORMAL_LIMIT : a, &e);
    return (x < 0.f ? -0.f : x) - (a > NORMAL_LIMIT ? NORMAL_LIMIT : a) * (a > NORMAL_LIMIT ? 0.f : tail);
}
static inline double gelu_f64(double x) { return x == -INFINITY ? -0. : 0.5 * x * erfc(-x * SQRT_HALF); }
static inline float gelu_slope_f32(float x) {
    float e, a = fabsf(x), y = clip_f32(x, -NORMAL_LIMIT, NORMAL_LIMIT), tail = normal_tail_f32(fabsf(y), &e);
    float slope = (x > 0.f ? 1.f - tail : tail) + y * e * (float)INV_SQRT_2PI;
    return a > NORMAL_LIMIT ? (x > 0.f ? 1.f : 0.f) : slope;
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
