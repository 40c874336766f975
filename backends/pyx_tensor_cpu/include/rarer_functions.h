/* Bessel functions, incomplete gamma functions, the zeta function and the inverse of the normal distribution: a part of scalar_math.h.
   All are computed in double precision. */
#ifndef PYX_TENSOR_RARER_FUNCTIONS_H
#define PYX_TENSOR_RARER_FUNCTIONS_H

#if defined(__clang__)
#define UNROLLED _Pragma("unroll")
#elif defined(__GNUC__)
#define UNROLLED _Pragma("GCC unroll 32")
#else
#define UNROLLED
#endif

/* name(t): a polynomial by its coefficients, the highest first. Those below are Chebyshev fits over -1 <= t <= 1 to 1e-16. */
#define POLYNOMIAL(name, ...) \
    static inline double name(double t) { \
        static const double c[] = {__VA_ARGS__}; \
        double p = c[0]; \
        UNROLLED \
        for (int k = 1; k < (int)(sizeof c / sizeof c[0]); k++) p = p * t + c[k]; \
        return p; \
    }

/* ---- modified Bessel functions of the first kind, times e^-|x| ---- */

/* of x = 4t + 4: I0, and I1 / x. Of x = 16 / (t + 1): both times sqrt(x). */
POLYNOMIAL(i0_near,
    4.4705014223133755e-09, -1.63160420080035e-08, 2.6265470242538234e-08, -8.591407016956472e-08, 3.67583958152038e-07,
    -1.1420453067089874e-06, 3.2293396978191982e-06, -9.183742617093156e-06, 2.520232653134211e-05, -6.556805960961822e-05,
    0.0001624054222395044, -0.0003828652650097174, 0.0008563152744735182, -0.0018119030567492935, 0.0036171264490413124,
    -0.006792394790945451, 0.011960077906985228, -0.019682655791719798, 0.03017791202298626, -0.04298594929542244,
    0.05677703201991596, -0.06954119563168232, 0.07927522590716354, -0.08496338091541732, 0.08734341617552312,
    -0.08904344136077755, 0.09451562853995103, -0.11300432688620536, 0.2070019212239867)
POLYNOMIAL(i0_far,
    9.3657728324423e-11, 3.6289686268480885e-11, -6.633664445835667e-10, -2.8031770522385816e-10, 2.1969817523051966e-09,
    1.1050092635946204e-09, -4.575673658377988e-09, -3.1345682201156773e-09, 6.560238867271445e-09, 7.335922192999443e-09,
    -5.038160008170548e-09, -1.3326071366187051e-08, -6.849319833287662e-09, 7.534348673937332e-09, 2.1566247534672977e-08,
    3.9328895096501806e-08, 8.87203443199894e-08, 2.9735960451696544e-07, 1.4838476650941232e-06, 1.1143033800715627e-05,
    0.0001362160743898481, 0.0033605519836677504, 0.4021765094450081)
POLYNOMIAL(i1_near,
    3.728442915217849e-10, -1.4169507359276812e-09, 2.6032137443430434e-09, -8.98442133343783e-09, 3.802982535485249e-08,
    -1.242475982088227e-07, 3.7593677201459497e-07, -1.132707271805139e-06, 3.293899089250825e-06, -9.136543920548328e-06,
    2.4233753190701692e-05, -6.142360299273867e-05, 0.0001484212433237935, -0.00034117602890639426, 0.0007445123445158202,
    -0.0015388745620307418, 0.0030057624197747717, -0.005534567847563588, 0.009583962150732109, -0.015571309243980067,
    0.023686016957729466, -0.03367135552108536, 0.044674572621254675, -0.055280039226991644, 0.06376740371340721,
    -0.06848260620582691, 0.0680575999095116, -0.061124338029666284, 0.044687709875608835)
POLYNOMIAL(i1_far,
    -9.753143981922404e-11, -3.365038425582999e-11, 6.917500325382549e-10, 2.6338685257883424e-10, -2.297101842394956e-09,
    -1.0594069675078046e-09, 4.810728559247231e-09, 3.0868262449009417e-09, -6.983948934899276e-09, -7.444394115704304e-09,
    5.5934285958046576e-09, 1.3958527540003025e-08, 6.840118911389609e-09, -8.409174737860621e-09, -2.3392499453212326e-08,
    -4.313196627036352e-08, -1.0001095713105033e-07, -3.483853436618033e-07, -1.8349102358615085e-06, -1.5038547209508635e-05,
    -0.00021923576383172514, -0.009749577193235635, 0.38939845902587233)

static inline double i0e_f64(double x) {
    double a = fabs(x), low = a < 8. ? a : 8., high = a < 8. ? 8. : a;
    double near = i0_near(0.25 * low - 1.), far = i0_far(16. / high - 1.) / sqrt(high);
    return a < 8. ? near : far;
}
static inline double i1e_f64(double x) {
    double a = fabs(x), low = a < 8. ? a : 8., high = a < 8. ? 8. : a;
    double near = low * i1_near(0.25 * low - 1.), far = i1_far(16. / high - 1.) / sqrt(high);
    return copysign(a < 8. ? near : far, x);
}
/* In two steps, since e^|x| itself may be too large */
static inline double i0_f64(double x) {
    double root = exp_f64(0.5 * fabs(x));
    return fabs(x) == INFINITY ? INFINITY : root * i0e_f64(x) * root;
}
static inline double i1_f64(double x) {
    double root = exp_f64(0.5 * fabs(x));
    return fabs(x) == INFINITY ? x : root * i1e_f64(x) * root;
}
FLOAT_FROM_DOUBLE(i0)
FLOAT_FROM_DOUBLE(i0e)
FLOAT_FROM_DOUBLE(i1)
FLOAT_FROM_DOUBLE(i1e)

/* ---- the normal distribution far out ---- */

/* (1 + 2x) e^(x^2) erfc(x) of x = 3 (1 + t) / (1 - t) */
POLYNOMIAL(erfcx_scaled,
    8.393734858690877e-10, 9.862533510345587e-10, -8.217595058711455e-09, -1.3312919661038687e-08, 4.1064013667940355e-08,
    1.0183620603842736e-07, -1.4047654315428462e-07, -6.166011460398726e-07, 3.5576086684080595e-07, 3.472370944977168e-06,
    -7.308281468783614e-07, -2.0100542268525612e-05, 4.949196649968345e-06, 0.0001250993424583729, -0.00010515971958448065,
    -0.0007798322696543306, 0.0018886903449991718, 0.0025293918156939696, -0.02377051491717134, 0.0683080273440099,
    -0.11927366341538638, 0.1296451587027594, -0.0475622943534492, -0.13562110612458117, 1.2530080582697296)

/* e^(x^2), with a square that is not rounded: the head of x has so few bits that its square is exact */
static inline double exp_of_square(double x) {
    double head = from_bits_f64(bits_f64(x) & 0xfffffffff8000000ull);
    return fabs(x) < 27. ? exp_f64(head * head) * exp_f64((x - head) * (x + head)) : x != x ? x : INFINITY;
}
static inline double erfcx_f64(double x) {
    double a = fabs(x), b = a < 1e300 ? a : 1e300;
    double tail = a == INFINITY ? 0. : erfcx_scaled((b - 3.) / (b + 3.)) / (1. + 2. * b);
    return x >= 0. ? tail : x != x ? x : 2. * exp_of_square(x) - tail;
}
FLOAT_FROM_DOUBLE(erfcx)

static inline double log_ndtr_f64(double x) {
    if (x < -1.) return log(0.5 * erfcx_f64(-x * SQRT_HALF)) - 0.5 * x * x;
    return log1p(-0.5 * erfc(x * SQRT_HALF));
}
FLOAT_FROM_DOUBLE(log_ndtr)

/* x > 0 with erf(x / sqrt 2) = y, to 1e-8, from w = -log(1 - y^2): by a fit of x / y in w in the middle, of x / sqrt(w) in 1 / sqrt(w) beyond */
INLINE double quantile_guess(double y, double w) {
    double s = sqrt(w), u = w - 3., v = 1. / s - 0.22, middle = 9.5486588e-10, far = -32017.170038;
    middle = middle * u + -7.68006435803e-09;
    middle = middle * u + -2.74735179416e-08;
    middle = middle * u + 6.32955589807e-07;
    middle = middle * u + -2.49961999847e-06;
    middle = middle * u + -1.79650177713e-05;
    middle = middle * u + 0.000275915776831;
    middle = middle * u + -0.00118257441175;
    middle = middle * u + -0.0081149925339;
    middle = middle * u + 0.341717011657;
    middle = middle * u + 2.29603513007;
    far = far * v + 7393.31421394;
    far = far * v + 1744.62874977;
    far = far * v + -214.663377493;
    far = far * v + -109.709454728;
    far = far * v + 15.6895471679;
    far = far * v + -4.2317723618;
    far = far * v + 1.96544407486;
    far = far * v + -1.48760964925;
    far = far * v + 0.9454906745;
    far = far * v + 0.0359293001415;
    far = far * v + -0.284846626367;
    far = far * v + 1.36605719325;
    return w < 6. ? middle * y : far * s;
}
/* erfinv of y >= 0, c = 1 - y: the guess and one of Halley's steps, on erf, or on erfcx where erf is close to 1 */
INLINE double erfinv_positive(double y, double c) {
    double w = -log_f64(c * (1. + y)), x = SQRT_HALF * quantile_guess(y, w);
    int near = y < 0.7;
    double e = exp_f64(near ? x * x : x * x - w), scaled = erfcx_scaled((x - 3.) / (x + 3.)) / (1. + 2. * x);
    double step = (near ? (erf_near_f64(near ? x : 0.) - y) * e : e / (1. + y) - scaled) / (2. * INV_SQRT_PI);
    return c == 0. ? INFINITY : x - step / (1. + x * step);
}
INLINE double erfinv_f64(double y) { return copysign(erfinv_positive(fabs(y), 1. - fabs(y)), y); }

/* In the lower half, where probabilities are exact */
INLINE double ndtri_f64(double p) {
    double q = p > 0.5 ? 1. - p : p, x = 2. * SQRT_HALF * erfinv_positive(1. - 2. * q, 2. * q);
    return p > 0.5 ? x : 0. - x;
}
INLINE float ndtri_f32(float p) {
    double q = p > 0.5f ? 1. - (double)p : p, x = quantile_guess(1. - 2. * q, -log_f64(4. * q * (1. - q)));
    x = q == 0. ? INFINITY : x;
    return (float)(p > 0.5f ? x : 0. - x);
}

/* ---- incomplete gamma functions ---- */

/* log(1 + d) - d without cancellation, for -0.5 <= d <= 0.5 */
static inline double log1p_minus(double d) {
    double r = d / (2. + d), y = r * r, sum = 0., power = 1.;
    for (int k = 3; k < 45; k += 2) { sum += power / k; power *= y; }
    return 2. * r * y * sum - d * r;
}
/* x^a e^-x / Gamma(a + 1): for large a by Stirling's formula, around x = a */
static inline double gamma_term(double a, double x) {
    if (a < 20.) return exp(a * log(x) - x - lgamma_f64(a + 1.));
    double d = (x - a) / a, z = 1. / (a * a);
    double logarithm = fabs(d) < 0.5 ? log1p_minus(d) : log(x / a) - d;
    double stirling = (1. / 12 - z * (1. / 360 - z * (1. / 1260 - z * (1. / 1680)))) / a;
    return exp(a * logarithm - stirling) / sqrt(2. * PI * a);
}
/* The lower function by its power series, good for x < a + 1 */
static inline double gamma_series(double a, double x) {
    double term = 1., sum = 1., n = a;
    for (int i = 0; i < 1000000 && term > 1e-17 * sum; i++) { n += 1.; term *= x / n; sum += term; }
    return sum * gamma_term(a, x);
}
/* The upper function by its continued fraction (Lentz's method), good for x >= a + 1 */
static inline double gamma_fraction(double a, double x) {
    double b = x + 1. - a, c = 1e300, d = 1. / b, h = d;
    for (int i = 1; i < 1000000; i++) {
        double n = -i * (i - a);
        b += 2.;
        d = 1. / (n * d + b);
        c = b + n / c;
        h *= c * d;
        if (fabs(c * d - 1.) < 2e-16) break;
    }
    return h * a * gamma_term(a, x);
}
/* The upper function for a and x about 1 or less, where it is small: 1 - x^a / Gamma(a + 1) (1 + a sum of (-x)^n / ((a + n) n!)) */
static inline double gamma_small(double a, double x) {
    double sum = 0., term = 1., u = a * log(x) - lgamma_f64(1. + a);
    for (int n = 1; n < 40; n++) { term *= -x / n; sum += term / (a + n); }
    return -expm1(u) - exp(u) * a * sum;
}
/* Temme's expansion for a so large that its first terms are exact; the lower function if `lower` */
static inline double gamma_uniform(double a, double x, int lower) {
    double d = (x - a) / a, logarithm = fabs(d) < 0.5 ? log1p_minus(d) : log(x / a) - d;
    double eta = copysign(sqrt(-2. * logarithm), d);
    double rest = exp(a * logarithm) / sqrt(2. * PI * a) * (-1. / 3 + eta * (1. / 12 - eta * (2. / 135 - eta / 864)));
    double side = lower ? -eta : eta;
    return 0.5 * erfc(side * sqrt(0.5 * a)) + (lower ? -rest : rest);
}
static inline double gammainc_f64(double a, double x) {
    if (!(a >= 0. && x >= 0.) || (a == 0. && x == 0.) || (a == INFINITY && x == INFINITY)) return NAN;
    if (a == 0. || x == INFINITY) return 1.;
    if (x == 0. || a == INFINITY) return 0.;
    if (a > 1e9) return gamma_uniform(a, x, 1);
    return x < a + 1. ? gamma_series(a, x) : 1. - gamma_fraction(a, x);
}
static inline double gammaincc_f64(double a, double x) {
    if (!(a >= 0. && x >= 0.) || (a == 0. && x == 0.) || (a == INFINITY && x == INFINITY)) return NAN;
    if (a == 0. || x == INFINITY) return 0.;
    if (x == 0. || a == INFINITY) return 1.;
    if (a > 1e9) return gamma_uniform(a, x, 0);
    if (a < 1. && x < 1.1) return gamma_small(a, x);
    return x < a + 1. ? 1. - gamma_series(a, x) : gamma_fraction(a, x);
}
FLOAT_FROM_DOUBLE_2(gammainc)
FLOAT_FROM_DOUBLE_2(gammaincc)

/* Hurwitz's zeta function, the sum of (q + k)^-s over k >= 0, by Euler's and Maclaurin's formula behind the first terms */
static inline double zeta_f64(double s, double q) {
    static const double bernoulli[] = {          /* B_2k / (2k)! */
        1. / 12, -1. / 720, 1. / 30240, -1. / 1209600, 1. / 47900160, -691. / 1307674368000., 1. / 74724249600.,
        -3617. / 10670622842880000., 43867. / 5109094217170944000., -174611. / 802857662698291200000.};
    if (!(s > 1.) || q != q) return s == 1. && q == q ? INFINITY : NAN;
    if (q == INFINITY) return 0.;
    if (q <= 0.) {
        if (q == floor(q)) return INFINITY;
        if (s != floor(s)) return NAN;
    }
    double sum = 0., term;
    for (int k = 0; k < 9 || (q <= 9. && k < 1000000); k++) {
        term = pow(q, -s);
        sum += term;
        q += 1.;
        if (fabs(term) < 1e-17 * fabs(sum)) return sum;
    }
    double power = pow(q, -s), rising = s;
    sum += power * q / (s - 1.) + 0.5 * power;
    power /= q;
    for (int k = 0; k < 10; k++) {
        term = bernoulli[k] * rising * power;
        sum += term;
        if (fabs(term) < 1e-17 * fabs(sum)) break;
        rising *= (s + 2 * k + 1) * (s + 2 * k + 2);
        power /= q * q;
    }
    return sum;
}
FLOAT_FROM_DOUBLE_2(zeta)

#undef POLYNOMIAL
#undef UNROLLED
#endif
