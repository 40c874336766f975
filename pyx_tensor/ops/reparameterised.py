"""Draws of gamma and Dirichlet variables that are differentiable in their parameters.

A draw x of the distribution function F(x; a) moves with a, at constant F, by dx/da = -(dF/da) / p(x), p the density (implicit
reparameterisation, Figurnov et al. 2018). For log p = (a - 1) log t + …, dF/da is the integral of p(t) (log t - E[log t]) up to x, or
minus the one from x on. It is taken on the lighter side of x, where t leaves x by a factor exp(±v) and p(t) / p(x) falls exponentially in v,
by the double exponential formula (Takahasi and Mori 1974), which needs no scale.
"""
import numpy as np

from ..core.definitions import op
from ..core.host_data import from_host
from ..core.record import namespace as B
from ..core.signature import T
from .creation import from_numpy
from .random import _checked, _host

_STEP = 0.0625
_NODES = np.arange(-4.5, 3.2, _STEP)
_PLACES = np.exp(np.pi / 2 * np.sinh(_NODES))
_WEIGHTS = _STEP * np.pi / 2 * np.cosh(_NODES) * _PLACES


def _integral(integrand):
    """The integral over v in (0, inf) of what function(v) gives, which falls exponentially."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        return sum(weight * integrand(v) for v, weight in zip(_PLACES, _WEIGHTS))


def _digamma(x):
    return B.digamma(from_numpy(x)).numpy()


def gamma_slope(x, a):
    """dx/da of gamma variables x of shapes a (float64)."""
    expected, log_x = _digamma(a), np.log(x)
    side = np.where(x < np.maximum(a, 0.1), -1.0, 1.0)      # t = x exp(side v)

    def ratio(v):
        return np.exp(side * a * v - x * np.expm1(side * v)) * (log_x + side * v - expected)
    return side * x * _integral(ratio)


def beta_slope(x, a, b):
    """dx/da of beta variables x of shapes a and b (float64)."""
    expected = _digamma(a) - _digamma(a + b)
    below = x * (a + b + 2) < a + 1
    here, own, other = np.where(below, x, 1 - x), np.where(below, a, b), np.where(below, b, a)

    def ratio(v):
        left = here * np.exp(-v)                         # t, or 1 - t: what is left to its end
        right = 1 - left
        log_t = np.where(below, np.log(here) - v, np.log1p(-left))
        return np.exp((other - 1) * (np.log(right) - np.log1p(-here)) - own * v) * (log_t - expected)
    return np.where(below, -here, here) * _integral(ratio)


def _no_second_derivative(B, g):
    raise NotImplementedError("the derivative of gamma and Dirichlet draws isn't differentiable itself")


def _wide(tensor):
    return _host(tensor).astype(np.float64)


@op(hidden=True, method=False, vjp=dict(input=lambda B, g, y, input: B._standard_gamma_backward(g, y, input)))
def _standard_gamma(B, input: T, generator=None):
    """Gamma variables of the shapes that `input` gives (float32 or float64) and rate 1."""
    return from_host(_checked(generator).standard_gamma(_host(input)), input.dtype, input.device)


@op(hidden=True, method=False, vjp={("g", "y", "input"): _no_second_derivative})
def _standard_gamma_backward(B, g: T, y: T, input: T):
    """The gradient of _standard_gamma's shapes."""
    return B.mul(g, from_host(gamma_slope(_wide(y), _wide(input)), input.dtype, input.device))


@op(hidden=True, method=False, vjp=dict(input=lambda B, g, y, input: B._sample_dirichlet_backward(g, y, input)))
def _sample_dirichlet(B, input: T, generator=None):
    """Dirichlet variables of the shapes that `input` gives (float32 or float64) along the last dim."""
    return from_host(_checked(generator).dirichlet(_host(input)), input.dtype, input.device)


@op(hidden=True, method=False, vjp={("g", "y", "input"): _no_second_derivative})
def _sample_dirichlet_backward(B, g: T, y: T, input: T):
    """The gradient of _sample_dirichlet's shapes.

    Each part is a beta variable of its own shape and the sum of the others'. As it grows by dx_i, the others shrink in proportion:
    dx_j = -x_j dx_i / (1 - x_i) (Jankowiak and Obermeyer 2018).
    """
    shapes, x = _wide(input), _wide(y)
    slope = beta_slope(x, shapes, shapes.sum(-1, keepdims=True) - shapes) / (1 - x)
    mean = B.sum(B.mul(g, y), (-1,), True)
    return B.mul(from_host(slope, input.dtype, input.device), B.sub(g, mean))
