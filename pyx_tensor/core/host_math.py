"""Special functions of NumPy arrays that NumPy lacks: the slow but accurate fallback of backends without their own."""
import math

import numpy as np


def _each(function):
    """A function of floats as a function of arrays that broadcast, computed in float64; NaN stays NaN."""
    def apply(*operands):
        operands = np.broadcast_arrays(*[np.asarray(x, np.float64) for x in operands])
        values = [function(*v) for v in zip(*[x.ravel().tolist() for x in operands])]
        return np.array(values, np.float64).reshape(operands[0].shape)
    apply.__doc__ = function.__doc__
    return apply


def _lgamma(x):
    """log |Γ(x)|; infinite at the poles 0, -1, -2 … and at ±inf."""
    if math.isinf(x) or (x <= 0 and x == math.floor(x)):
        return math.inf
    return math.lgamma(x)


def _digamma(x):
    """Γ'(x) / Γ(x), by reflection, recurrence up to x >= 10 and the asymptotic series (Abramowitz & Stegun 6.3)."""
    if x == 0:
        return math.copysign(math.inf, -x)
    if x == -math.inf or (x < 0 and x == math.floor(x)):
        return math.nan
    if x == math.inf:
        return x
    if x < 0:
        return _digamma(1 - x) - math.pi / math.tan(math.pi * math.fmod(x, 1))
    shift = 0.0
    while x < 10:
        shift -= 1 / x
        x += 1
    z = 1 / (x * x)
    series = z * (1 / 12 - z * (1 / 120 - z * (1 / 252 - z * (1 / 240 - z * (1 / 132 - z * (691 / 32760 - z / 12))))))
    return shift + math.log(x) - 0.5 / x - series


def _erfinv(y):
    """The x with erf(x) = y: a starting value from an elementary approximation (Winitzki), then Halley's iteration."""
    if not -1 <= y <= 1:
        return math.nan
    if abs(y) == 1:
        return math.copysign(math.inf, y)
    if y == 0:
        return y
    away = math.log1p(-y * y)
    a = 0.147
    b = 2 / (math.pi * a) + away / 2
    x = math.copysign(math.sqrt(math.sqrt(b * b - away / a) - b), y)
    for _ in range(4):
        error = math.erf(x) - y if abs(y) < 0.5 else math.copysign(1, y) * ((1 - abs(y)) - math.erfc(abs(x)))
        step = error / (2 / math.sqrt(math.pi) * math.exp(-x * x))
        x -= step / (1 + x * step)
    return x


def _i0e(x):
    """e^-|x| I0(x), I0 the modified Bessel function of the first kind."""
    return _bessel_i(0, abs(x))


def _i1e(x):
    """e^-|x| I1(x)."""
    return math.copysign(_bessel_i(1, abs(x)), x)


def _bessel_i(order, x):
    """e^-x I_order(x) for x >= 0: the power series, far out the asymptotic one (Abramowitz & Stegun 9.6.10, 9.7.1)."""
    if math.isinf(x):
        return 0.0
    term = total = 1.0
    if x < 30:
        for k in range(1, 200):
            term *= x * x / (4 * k * (k + order))
            total += term
            if term < 1e-17 * total:
                break
        return (x / 2) ** order * total * math.exp(-x)
    for k in range(1, 25):
        term *= ((2 * k - 1) ** 2 - 4 * order * order) / (8 * k * x)
        total += term
    return total / math.sqrt(2 * math.pi * x)


def _times_exp(scaled):
    """A Bessel function from its scaled form, in two steps since e^|x| itself may be too large."""
    def function(x):
        if math.isinf(x):
            return math.copysign(math.inf, scaled(math.copysign(1, x)))
        try:
            root = math.exp(abs(x) / 2)
        except OverflowError:
            root = math.inf
        return root * scaled(x) * root
    return function


def _erfcx(x):
    """e^(x^2) erfc(x): from 2 on by its continued fraction (Abramowitz & Stegun 7.1.14)."""
    if x < -26.7:
        return math.inf
    if x < 2:
        return math.exp(x * x) * math.erfc(x)
    fraction = 0.0
    for k in range(120, 0, -1):
        fraction = k / 2 / (x + fraction)
    return 1 / (math.sqrt(math.pi) * (x + fraction))


def _log_ndtr(x):
    """The logarithm of the normal distribution function."""
    if x < -1:
        return math.log(0.5 * _erfcx(-x * math.sqrt(0.5))) - 0.5 * x * x if x > -math.inf else x
    return math.log1p(-0.5 * math.erfc(x * math.sqrt(0.5)))


def _ndtri(p):
    """The inverse of the normal distribution function: far out a first guess (Abramowitz & Stegun 26.2.23) and Newton's steps in log p."""
    if not 0 < p < 1:
        return math.copysign(math.inf, p - 0.5) if p in (0, 1) else math.nan
    if 0.1 < p < 0.9:
        return math.sqrt(2) * _erfinv(2 * p - 1)
    if p > 0.5:
        return -_ndtri(1 - p)
    t = math.sqrt(-2 * math.log(p))
    x = (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308))) - t
    for _ in range(6):
        x -= (_log_ndtr(x) - math.log(p)) * math.sqrt(math.pi / 2) * _erfcx(-x * math.sqrt(0.5))
    return x


def _gamma_term(a, x):
    """x^a e^-x / Γ(a + 1)."""
    return math.exp(a * math.log(x) - x - math.lgamma(a + 1))


def _gammainc(a, x):
    """The lower regularised incomplete gamma function: its series, or 1 minus the upper one."""
    edge = _gamma_edge(a, x)
    if edge is not None:
        return edge
    if x >= a + 1:
        return 1 - _gammaincc(a, x)
    term, total, n = 1.0, 1.0, a
    while term > 1e-17 * total:
        n += 1
        term *= x / n
        total += term
    return total * _gamma_term(a, x)


def _gamma_edge(a, x):
    """`_gammainc` at 0, infinity and outside of the domain; None elsewhere."""
    if not (a >= 0 and x >= 0) or a == x == 0 or a == x == math.inf:
        return math.nan
    if a == 0 or x == math.inf:
        return 1.0
    return 0.0 if x == 0 or a == math.inf else None


def _gammaincc(a, x):
    """The upper regularised incomplete gamma function, by its continued fraction (Abramowitz & Stegun 6.5.31)."""
    edge = _gamma_edge(a, x)
    if edge is not None:
        return 1 - edge
    if x < a + 1:
        return 1 - _gammainc(a, x)
    fraction = 0.0
    for k in range(int(200 + 20 * math.sqrt(a)), 0, -1):
        fraction = k * (a - k) / (x + 2 * k + 1 - a + fraction)
    return a * _gamma_term(a, x) / (x + 1 - a + fraction)


# B_2k / (2k)!, for the Euler-Maclaurin sum of the Hurwitz zeta function.
_BERNOULLI = (1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160, -691 / 1307674368000, 1 / 74724249600, -3617 / 10670622842880000)


def _zeta(s, q):
    """Hurwitz's zeta function, the sum of (q + k)^-s over k >= 0, by Euler's and Maclaurin's formula behind the first terms."""
    if not s > 1 or q != q:
        return math.inf if s == 1 and q == q else math.nan
    if q == math.inf:
        return 0.0
    if q <= 0 and q == math.floor(q):
        return math.inf
    if q <= 0 and s != math.floor(s):
        return math.nan
    total, count = 0.0, 0
    while count < 9 or q <= 9:
        total += q ** -s
        q, count = q + 1, count + 1
    total += q ** (1 - s) / (s - 1) + 0.5 * q ** -s
    rising, power = s, q ** (-s - 1)
    for k, coefficient in enumerate(_BERNOULLI):
        total += coefficient * rising * power
        rising *= (s + 2 * k + 1) * (s + 2 * k + 2)
        power /= q * q
    return total


erf, erfc, erfinv = _each(math.erf), _each(math.erfc), _each(_erfinv)
lgamma, digamma = _each(_lgamma), _each(_digamma)
i0e, i1e, i0, i1 = _each(_i0e), _each(_i1e), _each(_times_exp(_i0e)), _each(_times_exp(_i1e))
erfcx, log_ndtr, ndtri = _each(_erfcx), _each(_log_ndtr), _each(_ndtri)
gammainc, gammaincc, zeta = _each(_gammainc), _each(_gammaincc), _each(_zeta)
