"""Special functions of mathematics, element by element; those that PyTorch has no gradient for stand in special_rare.py.

Most are public in `torch.special` alone, whose module gives them their names there.
"""
import math

from ..core.definitions import methods, op, primitive
from ..core.signature import Int, T

_SPECIAL = dict(promote="float", hidden=True, method=False)


def _no_derivative(name):
    def vjp(B, g):
        raise NotImplementedError(f"the derivative for '{name}' is not implemented.")
    return vjp


# --- Bessel functions ---------------------------------------------------------------------------------------------
@primitive(promote="float", inplace=True, vjp=dict(input=lambda B, g, input: B.mul(g, B.special_i1(input))))
def i0(B, input: T):
    """The modified Bessel function of the first kind and order 0.

    >>> import pyx_tensor as torch
    >>> torch.i0(torch.arange(3.0))
    tensor([1.0000, 1.2661, 2.2796])
    """


def _divided(B, y, input):
    """y / input, and 1/2 at 0: the limit for the Bessel functions of order 1."""
    return B.masked_fill(B.div(y, input), B.eq(input, 0), 0.5)


@primitive(**_SPECIAL, entry="i0e", vjp=dict(
    input=lambda B, g, y, input: B.mul(g, B.sub(B.special_i1e(input), B.mul(B.sign(input), y)))))
def special_i0e(B, input: T):
    """`exp(-|input|) i0(input)`."""


@primitive(**_SPECIAL, entry="i1", vjp=dict(
    input=lambda B, g, y, input: B.mul(g, B.sub(B.i0(input), _divided(B, y, input)))))
def special_i1(B, input: T):
    """The modified Bessel function of the first kind and order 1."""


@primitive(**_SPECIAL, entry="i1e", vjp=dict(
    input=lambda B, g, y, input: B.mul(g, B.sub(B.sub(B.special_i0e(input), B.mul(B.sign(input), y)), _divided(B, y, input)))))
def special_i1e(B, input: T):
    """`exp(-|input|) i1(input)`."""


# --- the normal distribution and entropy --------------------------------------------------------------------------
@primitive(**_SPECIAL, entry="erfcx", vjp=dict(
    input=lambda B, g, y, input: B.mul(g, B.sub(B.mul(B.mul(input, y), 2), 2 / math.sqrt(math.pi)))))
def special_erfcx(B, input: T):
    """The scaled complementary error function, `exp(input²) erfc(input)`."""


def _density(B, x):
    return B.mul(B.exp(B.mul(B.mul(x, x), -0.5)), 1 / math.sqrt(2 * math.pi))


@op(**_SPECIAL, vjp=dict(input=lambda B, g, input: B.mul(g, _density(B, input))))
def special_ndtr(B, input: T):
    """The distribution function of the normal distribution.

    >>> import pyx_tensor as torch
    >>> torch.special.ndtr(torch.tensor([-1.0, 0.0, 1.0]))
    tensor([0.1587, 0.5000, 0.8413])
    """
    return B.mul(B.erfc(B.mul(input, -math.sqrt(0.5))), 0.5)


@primitive(**_SPECIAL, entry="log_ndtr", vjp=dict(
    input=lambda B, g, input: B.div(B.mul(g, math.sqrt(2 / math.pi)), B.special_erfcx(B.mul(input, -math.sqrt(0.5))))))
def special_log_ndtr(B, input: T):
    """The logarithm of `ndtr`, accurate far out too."""


@primitive(**_SPECIAL, entry="ndtri", vjp=dict(input=lambda B, g, y: B.div(g, _density(B, y))))
def special_ndtri(B, input: T):
    """The inverse of `ndtr`; NaN outside of [0, 1]."""


@op(**_SPECIAL, vjp=dict(input=lambda B, g, input: B.mul(g, B.neg(B.add(B.log(input), 1)))))
def special_entr(B, input: T):
    """The entropy `-input log(input)`: 0 at 0, -inf where negative."""
    result = B.masked_fill(B.neg(B.mul(input, B.log(input))), B.eq(input, 0), 0)
    return B.masked_fill(result, B.lt(input, 0), -math.inf)


# --- gamma functions ----------------------------------------------------------------------------------------------
def _gamma_density(B, g, input, other):
    """g times the density of the gamma distribution with shape `input`."""
    return B.mul(g, B.exp(B.sub(B.sub(B.mul(B.sub(input, 1), B.log(other)), other), B.lgamma(input))))


def _check_floating(B, name, input, other):
    dtype = B.result_type(input, other)
    if not dtype.is_floating_point:
        raise NotImplementedError(f'"{name}_cpu" not implemented for {dtype}')


@primitive(**_SPECIAL, entry="gammainc", numbers="none", grad_name="Igamma", vjp=dict(
    input=_no_derivative("igamma: input"), other=_gamma_density))
def _gammainc(B, input: T, other: T):
    """`igamma` of floating-point numbers."""


@primitive(**_SPECIAL, entry="gammaincc", numbers="none", grad_name="Igammac", vjp=dict(
    input=_no_derivative("igammac: input"), other=lambda B, g, input, other: B.neg(_gamma_density(B, g, input, other))))
def _gammaincc(B, input: T, other: T):
    """`igammac` of floating-point numbers."""


@op(promote="common", numbers="none", inplace=True)
def igamma(B, input: T, other: T):
    """The lower regularised incomplete gamma function: of t^(a-1) e^-t / Γ(a), the integral from 0 to x, for a = `input`, x = `other`.

    Both are at least 0; elsewhere the result is NaN. There is a gradient for `other` alone.

    >>> import pyx_tensor as torch
    >>> torch.igamma(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 1.0]))
    tensor([0.6321, 0.2642])
    """
    _check_floating(B, "igamma", input, other)
    return B._gammainc(input, other)


@op(promote="common", numbers="none", inplace=True)
def igammac(B, input: T, other: T):
    """The upper regularised incomplete gamma function, 1 - `igamma`."""
    _check_floating(B, "igammac", input, other)
    return B._gammaincc(input, other)


@primitive(**_SPECIAL, entry="zeta", grad_name="SpecialZeta", vjp=dict(
    input=_no_derivative("zeta"), other=lambda B, g, input, other: B.neg(B.mul(B.mul(g, input), B.special_zeta(B.add(input, 1), other)))))
def special_zeta(B, input: T, other: T):
    """Hurwitz's zeta function, the sum of `(k + other)^-input` over k >= 0. There is a gradient for `other` alone.

    >>> import pyx_tensor as torch
    >>> torch.special.zeta(torch.tensor([2.0, 4.0]), 1)
    tensor([1.6449, 1.0823])
    """


@op(hidden=True, method=False, promote="float", entry=False, grad_name="Polygamma", vjp=dict(
    input=lambda B, g, input, n: B.mul(g, B.polygamma(n + 1, input))))
def _polygamma(B, input: T, n):
    """`polygamma` with the tensor first."""
    if n == 0:
        return B.digamma(input)
    zeta, sign = B.special_zeta(float(n + 1), input), 1.0 if n % 2 else -1.0
    if n <= 170:        # the last factorial that is a double
        return B.mul(zeta, sign * float(math.factorial(n)))
    vanishes = B.eq(zeta, 0)        # where it underflows its first term is all of it
    logarithm = B.where(vanishes, B.mul(B.log(input), -float(n + 1)), B.log(B.masked_fill(zeta, vanishes, 1)))
    return B.mul(B.exp(B.add(logarithm, math.lgamma(n + 1))), sign)


@op(method=False)
def polygamma(B, n: Int, input: T):
    """The n-th derivative of `digamma`."""
    if n < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")
    return B._polygamma(input if input.dtype.is_floating_point else input.to(B.get_default_dtype()), n)


methods["polygamma"] = lambda self, n: polygamma(n, self)
methods["polygamma_"] = lambda self, n: self.copy_(polygamma(n, self))


@op(inplace=True)
def mvlgamma(B, input: T, p):
    """The logarithm of the multivariate gamma function of dimension p."""
    if p < 1:
        raise RuntimeError(f"p has to be greater than or equal to 1, got {p}")
    if bool(B.any(B.le(input, (p - 1) / 2))):
        raise RuntimeError(f"All elements must be greater than (p-1)/2, got p={p}")
    shifts = B.mul(B.arange(p, device=input.device), -0.5).to(input.dtype if input.dtype.is_floating_point else None)
    return B.add(B.sum(B.lgamma(B.add(B.unsqueeze(input, -1), shifts)), -1), p * (p - 1) / 4 * math.log(math.pi))
