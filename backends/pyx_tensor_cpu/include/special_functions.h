/* The error function, the normal distribution and the gamma functions: a part of scalar_math.h. */
#ifndef PYX_TENSOR_SPECIAL_FUNCTIONS_H
#define PYX_TENSOR_SPECIAL_FUNCTIONS_H

/* ---- the error function and the normal distribution ---- */

FROM_LIBM(libm_erfc, erfc)

/* e^(x^2) erfc(x) for 0 <= x <= 10.2, relative error 3e-9: a Chebyshev fit of (1 + 2x) e^(x^2) erfc(x) in t = (x - 3) / (x + 3) */
INLINE double erfc_scaled_f64(double x) {
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
INLINE float exp_half_square_f32(float x) {
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
INLINE float normal_tail_f32(float a, float *e) {
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
INLINE float erf_f32(float x) {
    float a = fabsf(x), z = a * a, e;
    float near = 1.f / 75600 - z * (1.f / 685440 - z * (1.f / 6894720));
    near = 1.f / 3 - z * (1.f / 10 - z * (1.f / 42 - z * (1.f / 216 - z * (1.f / 1320 - z * (1.f / 9360 - z * near)))));
    near = a + a * ((float)(2. * INV_SQRT_PI - 1.) - (float)(2. * INV_SQRT_PI) * z * near);
    float far = 1.f - 2.f * normal_tail_f32((float)(2. * SQRT_HALF) * clip_f32(a, 0.f, 5.f), &e);
    return copysignf(a < 0.9f ? near : far, x);
}
INLINE float erfc_f32(float x) {
    double a = fabs((double)x), e = exp_f64(-a * a) * erfc_scaled_f64(a);
    return (float)(x < 0.f ? 2. - e : e);
}
/* A fit in x^2 to 7e-18 below 1; 1 - e^(-x^2) times a fit of e^(x^2) erfc(x) in t = (x - 3) / (x + 3), to 2e-19, from there to 6 */
INLINE double erf_near_f64(double a) {
    double z = a * a, p = -7.7958988270021422e-10;
    p = p * z + 1.3720064546777686e-8;
    p = p * z + -1.6208483801871706e-7;
    p = p * z + 1.6447424703317362e-6;
    p = p * z + -1.492473690741966e-5;
    p = p * z + 0.00012055294904839708;
    p = p * z + -0.00085483259753896921;
    p = p * z + 0.0052239776071164227;
    p = p * z + -0.02686617064323777;
    p = p * z + 0.11283791670945006;
    p = p * z + -0.3761263890318354;
    p = p * z + 0.12837916709551257;
    return a + a * p;
}
INLINE double erf_far_f64(double a) {
    double t = (a - 3.) / (a + 3.), p = -2.0355575642200859e-7;
    p = p * t + -2.6915157592850125e-7;
    p = p * t + 1.2459620847174092e-6;
    p = p * t + 2.1124428949403866e-6;
    p = p * t + -7.9776965796440729e-6;
    p = p * t + -1.2859347351455289e-5;
    p = p * t + 6.4056577940516657e-5;
    p = p * t + 4.525520140579536e-5;
    p = p * t + -0.0005970619531815352;
    p = p * t + 0.00070774644356119724;
    p = p * t + 0.0042691363330778686;
    p = p * t + -0.024392499318790735;
    p = p * t + 0.071665837197973308;
    p = p * t + -0.15011593650077581;
    p = p * t + 0.24560380171233091;
    p = p * t + -0.32623356004303723;
    p = p * t + 0.17900115118138995;
    return 1. - exp_f64(-a * a) * p;
}
INLINE double erf_f64(double x) {
    double a = fabs(x), far = erf_far_f64(clip_f64(a, 1., 6.));
    double y = copysign(a < 1. ? erf_near_f64(a) : far, x);
    return x != x ? x : y;
}
INLINE double erfc_f64(double x) { return libm_erfc_f64(x); }

INLINE float gelu_f32(float x) {
    float e, a = fabsf(x), tail = normal_tail_f32(a > NORMAL_LIMIT ? NORMAL_LIMIT : a, &e);
    return (x < 0.f ? -0.f : x) - (a > NORMAL_LIMIT ? NORMAL_LIMIT : a) * (a > NORMAL_LIMIT ? 0.f : tail);
}
INLINE double gelu_f64(double x) { return x == -INFINITY ? -0. : 0.5 * x * erfc(-x * SQRT_HALF); }
INLINE float gelu_slope_f32(float x) {
    float e, a = fabsf(x), y = clip_f32(x, -NORMAL_LIMIT, NORMAL_LIMIT), tail = normal_tail_f32(fabsf(y), &e);
    float slope = (x > 0.f ? 1.f - tail : tail) + y * e * (float)INV_SQRT_2PI;
    return a > NORMAL_LIMIT ? (x > 0.f ? 1.f : 0.f) : slope;
}
INLINE double gelu_slope_f64(double x) {
    double y = clip_f64(x, -40., 40.);
    return 0.5 * erfc(-x * SQRT_HALF) + y * INV_SQRT_2PI * exp_f64(-0.5 * y * y);
}

/* The tanh approximation: x * sigmoid(2u), u = sqrt(2/pi) (x + 0.044715 x^3) */
#define GELU_U2 (2. * 0.79788456080286535588)
INLINE float gelu_tanh_f32(float x) {
    float y = clip_f32(x, -30.f, 30.f);
    float s = sigmoid_f32((float)GELU_U2 * y * (1.f + 0.044715f * y * y));
    return x == -INFINITY ? -0.f : x * s;
}
INLINE double gelu_tanh_f64(double x) {
    double y = clip_f64(x, -30., 30.), s = sigmoid_f64(GELU_U2 * y * (1. + 0.044715 * y * y));
    return x == -INFINITY ? -0. : x * s;
}
INLINE float gelu_tanh_slope_f32(float x) {
    float y = clip_f32(x, -30.f, 30.f), s = sigmoid_f32((float)GELU_U2 * y * (1.f + 0.044715f * y * y));
    return s + y * s * (1.f - s) * (float)GELU_U2 * (1.f + 3.f * 0.044715f * y * y);
}
INLINE double gelu_tanh_slope_f64(double x) {
    double y = clip_f64(x, -30., 30.), s = sigmoid_f64(GELU_U2 * y * (1. + 0.044715 * y * y));
    return s + y * s * (1. - s) * GELU_U2 * (1. + 3. * 0.044715 * y * y);
}

/* x / y - 1 by fits in w = -log(1 - y^2), to 1e-8 below 5, and in its root beyond (the two regions are those of Giles, Approximating
 * the erfinv function, 2010) */
INLINE float erfinv_f32(float y) {
    float a = fabsf(y), w = -log_f32((1.f - a) * (1.f + a)), u = w - 2.5f, t = sqrtf(clip_f32(w, 5.f, 17.f)) - 3.f;
    float p = -8.93192597e-9f, q = 0.00010628436f;
    p = p * u + 2.33359672e-8f;
    q = q * t + -0.000299719238f;
    p = p * u + 4.68131348e-7f;
    q = q * t + -4.3469639e-5f;
    p = p * u + -3.46398527e-6f;
    q = q * t + 0.00147236365f;
    p = p * u + -4.97241969e-6f;
    q = q * t + -0.0036042509f;
    p = p * u + 0.000218349386f;
    q = q * t + 0.00569211017f;
    p = p * u + -0.00125272639f;
    q = q * t + -0.00763581668f;
    p = p * u + -0.00417739288f;
    q = q * t + 0.00944463348f;
    p = p * u + 0.246640279f;
    q = q * t + 1.00167487f;
    p = p * u + 0.50140936f;
    q = q * t + 1.83297681f;
    float x = y + y * (w < 5.f ? p : q);
    return a < 1.f ? copysignf(x, y) : a == 1.f ? copysignf(INFINITY, y) : NAN;
}

/* ---- gamma functions ---- */

#if defined(_MSC_VER)
INLINE double lgamma_f64(double x) { return lgamma(x); }
#else
extern double lgamma_r(double, int *);
INLINE double lgamma_f64(double x) { int sign; return lgamma_r(x, &sign); }
#endif

/* log(Gamma(x) / divisor) for x > 0 as float: the asymptotic series of x + 7, and the logarithm of the seven factors between, where x is small */
INLINE double lgamma_series_f64(double x, double divisor) {
    double p = x * (x + 1.) * (x + 2.) * (x + 3.) * (x + 4.) * (x + 5.) * (x + 6.);
    int small = x < 7.;
    double s = small ? x + 7. : x, r = 1. / s, z = r * r;
    double tail = r * (1. / 12 - z * (1. / 360 - z * (1. / 1260 - z * (1. / 1680 - z * (1. / 1188 - z * (691. / 360360 - z * (1. / 156
        - z * (3617. / 122400))))))));
    return ((s - 0.5) * log_f64(s) - s) + 0.91893853320467274178 + tail - log_f64((small ? p : 1.) * divisor);
}
INLINE float positive_lgamma_f32(float a) {
    double y = lgamma_series_f64(a, 1.);
    y = (a == 1.f) | (a == 2.f) ? 0. : y;
    return a == INFINITY ? INFINITY : (float)y;
}
INLINE double positive_lgamma_f64(double x) { return lgamma_f64(x); }

/* Reflection on the left: |Gamma(x)| = pi / (|x sin(pi x)| Gamma(|x|)), where the sine of whole numbers is 0 exactly */
INLINE float lgamma_f32(float a) {
    double x = fabs((double)a), reflected = PI / (x * fabs(sin_f64(PI * (x - rint(x)))));
    double y = lgamma_series_f64(x, a < 0.f ? reflected : 1.);
    y = (a == 1.f) | (a == 2.f) ? 0. : a < 0.f ? -y : y;
    return x == INFINITY ? INFINITY : (float)y;
}

/* The same for its derivative: the reciprocals of the seven factors are summed as one fraction */
INLINE float positive_digamma_f32(float a) {
    double x = a, above = 1., below = x;
    above = above * (x + 1.) + below; below *= x + 1.;
    above = above * (x + 2.) + below; below *= x + 2.;
    above = above * (x + 3.) + below; below *= x + 3.;
    above = above * (x + 4.) + below; below *= x + 4.;
    above = above * (x + 5.) + below; below *= x + 5.;
    above = above * (x + 6.) + below; below *= x + 6.;
    int small = x < 7.;
    double s = small ? x + 7. : x, r = 1. / s, z = r * r;
    double tail = z * (1. / 12 - z * (1. / 120 - z * (1. / 252 - z * (1. / 240 - z * (1. / 132 - z * (691. / 32760 - z * (1. / 12)))))));
    return (float)(log_f64(s) - 0.5 * r - tail - (small ? above / below : 0.));
}

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
INLINE double positive_digamma_f64(double x) { return digamma_f64(x); }

#endif
