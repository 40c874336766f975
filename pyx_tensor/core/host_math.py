"""Special functions of NumPy arrays that NumPy lacks: the slow but accurate fallback of backends without their own."""
import math

import numpy as np


def _each(function):
    """A function of one float as a function of arrays, computed in float64; NaN stays NaN."""
    def apply(x):
        values = [function(v) for v in np.asarray(x, np.float64).ravel().tolist()]
        return np.array(values, np.float64).reshape(np.shape(x))
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


erf, erfc, erfinv = _each(math.erf), _each(math.erfc), _each(_erfinv)
lgamma, digamma = _each(_lgamma), _each(_digamma)
