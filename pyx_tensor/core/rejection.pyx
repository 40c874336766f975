"""Samples of Poisson, binomial and gamma variables, which draw as many words as it takes.

Each entry takes arrays of parameters and returns a new C-contiguous array of their shape and dtype, filled in C order.
"""
cimport numpy as cnp
import numpy as np
from libc.float cimport DBL_MAX
from libc.math cimport ceil, exp, fabs, floor, lgamma, log, log1p, pow, sqrt, NAN

from pyx_tensor.core.mt19937 cimport Engine, Mersenne, next_double, next_normal

from pyx_tensor.core.distributions import lie_up_to

cnp.import_array()

ctypedef fused real:
    float
    double


cdef double sample_poisson(Mersenne* e, double rate) noexcept nogil:
    if rate >= 10:
        return poisson_transformed(e, rate)
    if rate == 0:
        return 0
    cdef double limit = exp(-rate), product = next_double(e), count = 0
    while product > limit:
        product *= next_double(e)
        count += 1
    return count


cdef double poisson_transformed(Mersenne* e, double rate) noexcept nogil:
    """PTRS: transformed rejection with a squeeze (Hörmann, 1993)."""
    cdef double log_rate = log(rate)
    cdef double b = 0.931 + 2.53 * sqrt(rate)
    cdef double a = -0.059 + 0.02483 * b
    cdef double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    cdef double squeeze = 0.9277 - 3.6224 / (b - 2)
    cdef double u, v, us, k
    while True:
        u = next_double(e) - 0.5
        v = next_double(e)
        us = 0.5 - fabs(u)
        k = floor((2 * a / us + b) * u + rate + 0.43)
        if us >= 0.07 and v <= squeeze:
            return k
        if k < 0 or (us < 0.013 and v > us):
            continue
        if log(v) + log(inverse_alpha) - log(a / (us * us) + b) <= -rate + k * log_rate - lgamma(k + 1):
            return k


cdef real binomial_inversion(Mersenne* e, real count, real prob) noexcept nogil:
    """Sums of geometric variables until they pass count (Devroye, 1986)."""
    cdef real log_failure = <real>log1p(-<double>prob), total = 0, successes = 0
    while True:
        total += <real>ceil(log(next_double(e)) / log_failure)
        if total > count:
            return successes
        successes += 1


cdef real stirling_tail(real k) noexcept nogil:
    """log k! less Stirling's approximation of it."""
    cdef double[10] table
    cdef real square
    if k <= 9:
        table = [0.0810614667953272, 0.0413406959554092, 0.0276779256849983, 0.02079067210376509, 0.0166446911898211,
                 0.0138761288230707, 0.0118967099458917, 0.0104112652619720, 0.00925546218271273, 0.00833056343336287]
        return <real>table[<int>k]
    square = (k + 1) * (k + 1)
    return <real>((1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1))


cdef real binomial_transformed(Mersenne* e, real count, real prob) noexcept nogil:
    """BTRS: transformed rejection with a squeeze (Hörmann, 1993)."""
    cdef real spread = <real>sqrt(count * prob * (1 - prob))
    cdef real b = <real>(1.15 + 2.53 * spread)
    cdef real a = <real>(-0.0873 + 0.0248 * b + 0.01 * prob)
    cdef real centre = <real>(count * prob + 0.5)
    cdef real squeeze = <real>(0.92 - 4.2 / b)
    cdef real odds = prob / (1 - prob)
    cdef real alpha = <real>((2.83 + 5.1 / b) * spread)
    cdef real mode = <real>floor((count + 1) * prob)
    cdef real u, v, us, k, bound
    while True:
        u = <real>(next_double(e) - 0.5)
        v = <real>next_double(e)
        us = <real>(0.5 - fabs(u))
        k = <real>floor((2 * a / us + b) * u + centre)
        if k < 0 or k > count:
            continue
        if us >= 0.07 and v <= squeeze:
            return k
        v = <real>log(v * alpha / (a / (us * us) + b))
        bound = <real>((mode + 0.5) * log((mode + 1) / (odds * (count - mode + 1)))
                       + (count + 1) * log((count - mode + 1) / (count - k + 1))
                       + (k + 0.5) * log(odds * (count - k + 1) / (k + 1))
                       + stirling_tail(mode) + stirling_tail(count - mode) - stirling_tail(k) - stirling_tail(count - k))
        if v <= bound:
            return k


cdef real sample_binomial(Mersenne* e, real count, real prob) noexcept nogil:
    if count != count:
        return NAN
    if count <= 0 or prob <= 0:
        return 0
    if prob >= 1:
        return count
    if prob > 0.5:
        return count - sample_rarer(e, count, <real>1.0 - prob)
    if prob <= 0.5:
        return sample_rarer(e, count, prob)
    return NAN  # prob is NaN


cdef real sample_rarer(Mersenne* e, real count, real prob) noexcept nogil:
    if count * prob >= 10:
        return binomial_transformed(e, count, prob)
    return binomial_inversion(e, count, prob)


cdef double sample_gamma(Mersenne* e, real alpha) noexcept nogil:
    """Marsaglia and Tsang, 2000. What is made of alpha alone is rounded to its type, and the constants to float32."""
    cdef double scale = 1, d, c, x, y, u, v
    if alpha < 1:
        if alpha == 0:
            return 0
        scale = pow(1 - next_double(e), <real>1 / alpha)
        alpha += 1
    d = alpha - <float>(1.0 / 3.0)
    c = 1 / sqrt(9 * d)
    while True:
        x = next_normal(e)
        y = 1 + c * x
        if y <= 0:
            continue
        v = y * y * y
        u = 1 - next_double(e)
        x = x * x
        if u < 1 - <double><float>0.0331 * x * x or log(u) < 0.5 * x + d * (1 - v + log(v)):
            return scale * d * v


def poisson(Engine engine not None, rates):
    """Poisson variables with these rates (all >= 0)."""
    if not lie_up_to(rates, DBL_MAX):
        raise RuntimeError("invalid Poisson rate, expected rate to be non-negative and finite")
    values = np.array(rates, np.float64, order="C")
    cdef double[::1] x = values.reshape(-1)
    cdef Py_ssize_t i
    with nogil, engine.mutex:
        for i in range(x.shape[0]):
            x[i] = sample_poisson(&engine.mersenne, x[i])
    return values.astype(rates.dtype)


def standard_gamma(Engine engine not None, alpha):
    """Gamma variables of these shapes (float32 or float64) and scale 1, none below the dtype's smallest normal number."""
    require_shapes("standard_gamma", alpha)
    values = np.array(alpha, order="C")
    _fill_gamma(engine, values.reshape(-1))
    return np.maximum(values, np.finfo(values.dtype).tiny, out=values)


def dirichlet(Engine engine not None, alpha):
    """Dirichlet variables: gamma variables, made in float64, over their sum along the last dimension."""
    require_shapes("dirichlet", alpha)
    values = np.array(alpha, np.float64, order="C")
    _fill_gamma(engine, values.reshape(-1))
    np.maximum(values, np.finfo(np.float64).tiny, out=values)
    values /= values.sum(-1, keepdims=True)
    return np.clip(values.astype(alpha.dtype), np.finfo(alpha.dtype).tiny, np.nextafter(alpha.dtype.type(1), alpha.dtype.type(0)))


def _fill_gamma(Engine engine, real[::1] x):
    cdef Py_ssize_t i
    with nogil, engine.mutex:
        for i in range(x.shape[0]):
            x[i] = <real>sample_gamma(&engine.mersenne, x[i])


cdef require_shapes(name, alpha):
    require_wide(name, alpha)
    if not np.all(alpha >= 0):
        raise RuntimeError(f"{name} expects all shape parameters to be >= 0")


cdef require_wide(name, array):
    if array.dtype not in (np.float32, np.float64):
        raise TypeError(f"{name} takes float32 or float64, got {array.dtype}")


def binomial(Engine engine not None, count, prob):
    """Numbers of successes in `count` trials of probability `prob`: arrays of one shape, both float32 or both float64."""
    require_wide("binomial", count)
    if count.shape != prob.shape or count.dtype != prob.dtype:
        raise TypeError(f"binomial takes two arrays of one shape and dtype; got {count.dtype}{list(count.shape)} "
                        f"and {prob.dtype}{list(prob.shape)}")
    values = np.array(count, order="C")
    _fill_binomial(engine, values.reshape(-1), np.ascontiguousarray(prob).reshape(-1))
    return values


def _fill_binomial(Engine engine, real[::1] count, const real[::1] prob):
    cdef Py_ssize_t i
    with nogil, engine.mutex:
        for i in range(count.shape[0]):
            count[i] = sample_binomial(&engine.mersenne, count[i], prob[i])
