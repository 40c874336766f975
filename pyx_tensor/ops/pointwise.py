"""Operations element by element, with broadcasting."""
import math

import numpy as np

from ..core.definitions import op, primitive
from ..core.operands import check_scalar
from ..core.signature import Int, Number, T
from ..core.tensor import TensorBase


def conjugate(B, x):
    """The conjugate of an operand (tensor or number) in a gradient formula; nothing to do for real ones."""
    dtype = getattr(x, "dtype", None)
    if dtype is None:
        return x.conjugate()
    return B.conj(x) if dtype.is_complex else x


# --- arithmetic ---------------------------------------------------------------------------------------------------
@primitive(promote="common", inplace=True, alpha=True, vjp=dict(input=lambda B, g: g, other=lambda B, g: g))
def add(B, input: T, other: T):
    """`input + alpha * other`, element by element.

    Args:
        input, other: tensors or numbers whose shapes broadcast; the result has their promoted dtype.
        alpha: a number that scales `other` (keyword, 1 by default).
        out: a tensor for the result.

    Raises:
        RuntimeError: the shapes don't broadcast.
    """


@op(hidden=True, entry="add_scaled", promote="common", inplace=True)
def _add_scaled(B, input: T, other: T, alpha: Number):
    """`input + alpha * other` of floating tensors of one dtype: what `add` and `sub` with `alpha` do where nothing is recorded."""
    return B.add(input, B.mul(other, alpha))


def _is_bool(x):
    return x is True or x is False or getattr(getattr(x, "dtype", None), "name", None) == "bool"


def _why_not_subtract(input, other):
    if _is_bool(input) and _is_bool(other):
        return "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` operator instead."
    if _is_bool(input) or _is_bool(other):
        return ("Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, use the `~` or "
                "`logical_not()` operator instead.")


def _why_not_negate(input):
    if _is_bool(input):
        return ("Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use the `~` or "
                "`logical_not()` operator instead.")


@primitive(public=("sub", "subtract"), promote="common", inplace=True, alpha=True, explain=_why_not_subtract, refuse=_why_not_subtract,
           grad_name=("SubBackward0", "SubBackward0", "RsubBackward1"), vjp=dict(input=lambda B, g: g, other=lambda B, g: B.neg(g)))
def sub(B, input: T, other: T):
    """`input - alpha * other`, element by element; arguments as for `add`. Bool tensors are refused."""


@primitive(public=("mul", "multiply"), promote="common", inplace=True, vjp=dict(
    input=lambda B, g, other: B.mul(g, conjugate(B, other)),
    other=lambda B, g, input: B.mul(g, conjugate(B, input))))
def mul(B, input: T, other: T):
    """`input * other`, element by element."""


@primitive(promote="float", public=("true_divide",), inplace=True, vjp=dict(
    input=lambda B, g, other: B.div(g, conjugate(B, other)),
    other=lambda B, g, y, other: B.neg(B.mul(g, conjugate(B, B.div(y, other))))))
def div(B, input: T, other: T):
    """`input / other`, element by element; integers divide as floats."""


@op(promote="common", numbers="kept", inplace=True, public=("div", "divide"))
def _div_rounded(B, input: T, other: T, *, rounding_mode=None):
    """`input / other`, element by element; integers divide as floats.

    Args:
        rounding_mode: None (true division), 'trunc' (towards zero) or 'floor' (towards minus infinity); these two keep integers.
    """
    if rounding_mode is None:
        return B.div(input, other)
    if rounding_mode not in ("floor", "trunc"):
        raise RuntimeError("div expected rounding_mode to be one of None, 'trunc', or 'floor' but found "
                           f"'{rounding_mode}'")
    return (B._div_floor if rounding_mode == "floor" else B._div_trunc)(input, other)


_flat = dict.fromkeys(("input", "other"), lambda B, g: B.zeros_like(g))      # what rounds has no slope


@op(promote="common", hidden=True, entry="floor_divide", grad_name="Div", vjp=_flat)
def _div_floor(B, input: T, other: T):
    """`input / other` rounded towards minus infinity."""
    return B.floor_divide(input, other)


@op(promote="common", hidden=True, entry=False, grad_name="Div", vjp=_flat)
def _div_trunc(B, input: T, other: T):
    """`input / other` rounded towards zero."""
    if B._result_is_integral(input, other):
        rest = B.fmod(input, other)
        return B.floor_divide(B.sub(input.to(rest.dtype), rest), other)       # exact: the remainder is gone
    return B.trunc(B.div(input, other))


@op(promote="float", inplace=True, vjp=dict(input=lambda B, g, y: B.neg(B.mul(g, conjugate(B, B.mul(y, y))))))
def reciprocal(B, input: T):
    """`1 / input`, element by element."""
    return B.div(1.0, input)


@primitive(promote="common", inplace=True, nograd=True)
def floor_divide(B, input: T, other: T):
    """`input / other` rounded towards minus infinity."""


@primitive(promote="common", inplace=True, grad_name=("RemainderBackward1", "RemainderBackward0", "RemainderBackward1"), vjp=dict(
    input=lambda B, g: g,
    other=lambda B, g, input, other: B.neg(B.mul(g, B.floor(B.div(input, other))))))
def remainder(B, input: T, other: T):
    """`input` modulo `other`, with the sign of `other`, as Python's `%`."""


@primitive(numbers="second", promote="common", inplace=True, grad_name=("FmodBackward1", "FmodBackward0", "FmodBackward1"), vjp=dict(
    input=lambda B, g: g,
    other=lambda B, g, input, other: B.neg(B.mul(g, B.trunc(B.div(input, other))))))
def fmod(B, input: T, other: T):
    """`input` modulo `other`, with the sign of `input`, as C's fmod."""


def _pow_base(B, g, input, exponent):
    if not isinstance(exponent, TensorBase):
        if exponent == 0:
            return B.zeros_like(g)
        return B.mul(g, B.mul(conjugate(B, B.pow(input, exponent - 1)), exponent))
    grad = B.mul(g, conjugate(B, B.mul(exponent, B.pow(input, B.sub(exponent, 1)))))
    return B.where(B.eq(exponent, 0), B.zeros((), dtype=grad.dtype, device=grad.device), grad)


def _pow_exponent(B, g, y, input, exponent):
    base = input if isinstance(input, TensorBase) else B.full_like(y, input)
    zero = B.logical_and(B.eq(base, 0), B.ge(exponent, 0)) if not y.dtype.is_complex else B.eq(base, 0)
    grad = B.mul(g, conjugate(B, B.mul(y, B.log(base))))
    return B.where(zero, B.zeros((), dtype=grad.dtype, device=grad.device), grad)


WHOLE = (int, np.integer)       # ints beside integer tensors that can't hold them are refused: they would wrap


def takes_any_int(dtype):
    return dtype.is_floating_point or dtype.is_complex or dtype.name == "bool"


def _why_not_pow(input, exponent):
    if not isinstance(exponent, WHOLE) or takes_any_int(input.dtype):
        return None
    if exponent < 0:
        return "Integers to negative integer powers are not allowed."
    check_scalar("pow", "exponent", exponent, input.dtype)


@primitive(promote="common", inplace=True, refuse=_why_not_pow, grad_name=("PowBackward1", "PowBackward0", "PowBackward2"),
           vjp=dict(input=_pow_base, exponent=_pow_exponent))
def pow(B, input: T, exponent: T):
    """`input ** exponent`, element by element. Integers to negative integer powers are refused."""


def _extreme_vjp(first):
    def vjp(B, g, input, other):
        a, b = (input, other) if first else (other, input)
        equal = B.mul(B.eq(input, other), 0.5)
        wins = (B.gt if vjp.larger else B.lt)(a, b)
        return B.mul(g, B.add(wins, equal))
    return vjp


def _extreme(larger):
    table = dict(input=_extreme_vjp(True), other=_extreme_vjp(False))
    for vjp in table.values():
        vjp.larger = larger
    return table


@primitive(numbers="none", promote="common", vjp=_extreme(True))
def maximum(B, input: T, other: T):
    """The larger of two elements; NaN where either is NaN. Where they are equal, each gets half of the gradient."""


@primitive(numbers="none", promote="common", vjp=_extreme(False))
def minimum(B, input: T, other: T):
    """The smaller of two elements; NaN where either is NaN."""


@op(numbers="none", promote="common", vjp=dict(
    input=lambda B, g, input, other: B.masked_fill(g, B.logical_not(B.logical_or(B.ge(input, other), B.isnan(other))), 0),
    other=lambda B, g, input, other: B.masked_fill(g, B.logical_or(B.ge(input, other), B.isnan(other)), 0)))
def fmax(B, input: T, other: T):
    """The larger of two elements, the other one where one is NaN."""
    return B.where(B.logical_or(B.ge(input, other), B.isnan(other)), input, other)


@op(numbers="none", promote="common", vjp=dict(
    input=lambda B, g, input, other: B.masked_fill(g, B.logical_not(B.logical_or(B.le(input, other), B.isnan(other))), 0),
    other=lambda B, g, input, other: B.masked_fill(g, B.logical_or(B.le(input, other), B.isnan(other)), 0)))
def fmin(B, input: T, other: T):
    """The smaller of two elements, the other one where one is NaN."""
    return B.where(B.logical_or(B.le(input, other), B.isnan(other)), input, other)


@primitive(numbers="none", promote="float", inplace=True, vjp=dict(
    input=lambda B, g, input, other: B.mul(g, B.div(other, B.add(B.mul(input, input), B.mul(other, other)))),
    other=lambda B, g, input, other: B.mul(g, B.div(B.neg(input), B.add(B.mul(input, input), B.mul(other, other))))))
def atan2(B, input: T, other: T):
    """The angle in radians of the points (other, input), in [-π, π]."""


@op(numbers="none", promote="float", inplace=True, vjp=dict(
    input=lambda B, g, y, input: B.masked_fill(B.mul(g, B.div(input, y)), B.eq(y, 0), 0),
    other=lambda B, g, y, other: B.masked_fill(B.mul(g, B.div(other, y)), B.eq(y, 0), 0)))
def hypot(B, input: T, other: T):
    """`sqrt(input² + other²)` without overflow in between."""
    if input.dtype.is_complex or other.dtype.is_complex:
        raise NotImplementedError('"hypot_cpu" not implemented for complex tensors')
    big = B.maximum(B.abs(input), B.abs(other))
    small = B.minimum(B.abs(input), B.abs(other))
    ratio = B.div(small, B.where(B.eq(big, 0), B.ones_like(big), big))
    return B.mul(big, B.sqrt(B.add(B.mul(ratio, ratio), 1)))


@primitive(numbers="second", promote="float", inplace=True, grad_name=("CopysignBackward0", "CopysignBackward1", "CopysignBackward0"), vjp=dict(
    input=lambda B, g, y, input: B.mul(g, B.masked_fill(B.div(y, input), B.eq(input, 0), 0)),
    other=lambda B, g: B.zeros_like(g)))
def copysign(B, input: T, other: T):
    """The magnitude of `input` with the sign of `other`."""


# --- one operand --------------------------------------------------------------------------------------------------
@primitive(exact_out=True, public=("neg", "negative"), promote="common", inplace=True, explain=_why_not_negate, vjp=dict(input=lambda B, g: B.neg(g)))
def neg(B, input: T):
    """`-input`. Bool tensors are refused."""


@primitive(exact_out=True, public=("abs", "absolute"), promote="common", inplace=True, result="real", vjp=dict(input=lambda B, g, input: B.mul(g, B.sgn(input))))
def abs(B, input: T):
    """The absolute value (of complex numbers too: a real tensor). Gradient 0 at 0."""


@primitive(exact_out=True, promote="common", inplace=True, vjp=dict(input=lambda B, g: B.zeros_like(g)))
def sign(B, input: T):
    """-1, 0 or 1 by the sign of the element."""


@op(exact_out=True, promote="common", inplace=True)
def sgn(B, input: T):
    """`sign` for real numbers, `input / abs(input)` for complex ones (0 at 0)."""
    if not input.dtype.is_complex:
        return B.sign(input)
    size = B.abs(input)
    return B.div(input, B.where(B.eq(size, 0), B.ones_like(size), size))


@primitive(promote="float", inplace=True, vjp=dict(input=lambda B, g, y: B.mul(g, conjugate(B, y))))
def exp(B, input: T):
    """e to the power of the element."""


@op(promote="float", inplace=True, vjp=dict(input=lambda B, g, y: B.mul(g, B.mul(conjugate(B, y), math.log(2)))))
def exp2(B, input: T):
    """2 to the power of the element."""
    return B.pow(B.full((), 2, dtype=input.dtype, device=input.device), input)


def _complex_expm1(B, x, y):
    """exp(x + iy) - 1 = (expm1(x) cos y - 2 sin²(y/2)) + i exp(x) sin y: neither part cancels near 0."""
    half = B.sin(B.mul(y, 0.5))
    return B.complex(B.sub(B.mul(B.expm1(x), B.cos(y)), B.mul(B.mul(half, half), 2)), B.mul(B.exp(x), B.sin(y)))


@op(promote="float", inplace=True, vjp=dict(input=lambda B, g, y: B.mul(g, B.add(conjugate(B, y), 1))))
def expm1(B, input: T):
    """`exp(input) - 1`, accurate near 0."""
    if input.dtype.is_complex:
        x, y = B.real(input), B.imag(input)
        half = B.sin(B.mul(y, 0.5))
        return B.complex(B.sub(B.mul(B.expm1(x), B.cos(y)), B.mul(B.mul(half, half), 2)), B.mul(B.exp(x), B.sin(y)))
    if input.dtype.is_complex:
        return _complex_expm1(B, B.real(input), B.imag(input))
    u = B.exp(input)
    v = B.sub(u, 1)
    small = B.mul(v, B.div(input, B.log(u)))     # W. Kahan's correction of the rounding of exp
    return B.where(B.eq(u, 1), input, B.where(B.logical_or(B.eq(v, -1), B.isinf(u)), v, small))


@primitive(promote="float", inplace=True, vjp=dict(input=lambda B, g, input: B.div(g, conjugate(B, input))))
def log(B, input: T):
    """The natural logarithm."""


@op(promote="float", inplace=True, vjp=dict(input=lambda B, g, input: B.div(g, B.mul(conjugate(B, input), math.log(2)))))
def log2(B, input: T):
    """The logarithm to base 2."""
    return B.mul(B.log(input), 1 / math.log(2))


@op(promote="float", inplace=True, vjp=dict(input=lambda B, g, input: B.div(g, B.mul(conjugate(B, input), math.log(10)))))
def log10(B, input: T):
    """The logarithm to base 10."""
    return B.mul(B.log(input), 1 / math.log(10))


@op(promote="float", inplace=True, grad_name="Log1P", vjp=dict(input=lambda B, g, input: B.div(g, B.add(conjugate(B, input), 1))))
def log1p(B, input: T):
    """`log(1 + input)`, accurate near 0."""
    u = B.add(input, 1)
    near = B.mul(B.log(u), B.div(input, B.sub(u, 1)))
    return B.where(B.eq(u, 1), input, B.where(B.isinf(u), u, near))


@primitive(promote="float", inplace=True, vjp=dict(input=lambda B, g, y: B.div(g, B.mul(conjugate(B, y), 2))))
def sqrt(B, input: T):
    """The square root; NaN for negative elements."""


@op(promote="float", inplace=True, vjp=dict(input=lambda B, g, y: B.mul(g, B.mul(B.pow(conjugate(B, y), 3), -0.5))))
def rsqrt(B, input: T):
    """`1 / sqrt(input)`."""
    return B.reciprocal(B.sqrt(input))


@op(inplace=True)
def square(B, input: T):
    """`input * input`."""
    return B.pow(input, 2)


@primitive(promote="float", inplace=True, vjp=dict(input=lambda B, g, input: B.mul(g, conjugate(B, B.cos(input)))))
def sin(B, input: T):
    """The sine of angles in radians."""


@op(promote="float", inplace=True, vjp=dict(input=lambda B, g, input: B.neg(B.mul(g, conjugate(B, B.sin(input))))))
def cos(B, input: T):
    """The cosine of angles in radians."""
    return B.sin(B.add(input, math.pi / 2))


@op(promote="float", inplace=True, vjp=dict(input=lambda B, g, y: B.mul(g, conjugate(B, B.add(B.mul(y, y), 1)))))
def tan(B, input: T):
    """The tangent of angles in radians."""
    return B.div(B.sin(input), B.cos(input))


def _inverse(name, meaning, vjp):
    def define(B, input: T):
        pass
    define.__name__, define.__doc__ = name, meaning
    return primitive(promote="float", inplace=True, vjp=dict(input=vjp))(define)


asin = _inverse("asin", "The inverse sine, in [-π/2, π/2].",
                lambda B, g, input: B.mul(g, conjugate(B, B.rsqrt(B.sub(1, B.mul(input, input))))))
acos = _inverse("acos", "The inverse cosine, in [0, π].",
                lambda B, g, input: B.neg(B.mul(g, conjugate(B, B.rsqrt(B.sub(1, B.mul(input, input)))))))
atan = _inverse("atan", "The inverse tangent, in [-π/2, π/2].",
                lambda B, g, input: B.div(g, conjugate(B, B.add(B.mul(input, input), 1))))
sinh = _inverse("sinh", "The hyperbolic sine.", lambda B, g, input: B.mul(g, conjugate(B, B.cosh(input))))
cosh = _inverse("cosh", "The hyperbolic cosine.", lambda B, g, input: B.mul(g, conjugate(B, B.sinh(input))))
asinh = _inverse("asinh", "The inverse hyperbolic sine.",
                 lambda B, g, input: B.mul(g, conjugate(B, B.rsqrt(B.add(B.mul(input, input), 1)))))
acosh = _inverse("acosh", "The inverse hyperbolic cosine.",
                 lambda B, g, input: B.mul(g, conjugate(B, B.rsqrt(B.sub(B.mul(input, input), 1)))))
atanh = _inverse("atanh", "The inverse hyperbolic tangent.",
                 lambda B, g, input: B.div(g, conjugate(B, B.sub(1, B.mul(input, input)))))


def _by_output(backward, slope):
    """A vjp from the output y: the operation `backward`, or for complex numbers, which kernels leave out, g times the slope."""
    def vjp(B, g, y):
        return B.mul(g, B.conj(slope(B, y))) if y.dtype.is_complex else getattr(B, backward)(g, y)
    return vjp


def _tanh_slope(B, y):
    return B.sub(1, B.mul(y, y))


def _sigmoid_slope(B, y):
    return B.mul(y, B.sub(1, y))


@op(promote="float", inplace=True, vjp=dict(input=_by_output("tanh_backward", _tanh_slope)))
def tanh(B, input: T):
    """The hyperbolic tangent."""
    e = B.expm1(B.mul(B.abs(input), -2))
    return B.mul(B.neg(B.sign(input)), B.div(e, B.add(e, 2)))


@op(promote="common", hidden=True, entry="tanh_backward")
def tanh_backward(B, g: T, output: T):
    """g · (1 - y²), y being the real output of tanh."""
    return B.mul(g, _tanh_slope(B, output))


@op(promote="float", inplace=True, vjp=dict(input=_by_output("sigmoid_backward", _sigmoid_slope)))
def sigmoid(B, input: T):
    """`1 / (1 + exp(-input))`."""
    return B.reciprocal(B.add(B.exp(B.neg(input)), 1))


@op(promote="common", hidden=True, entry="sigmoid_backward")
def sigmoid_backward(B, g: T, output: T):
    """g · y · (1 - y), y being the real output of sigmoid."""
    return B.mul(g, _sigmoid_slope(B, output))


def _step(name, meaning):
    def define(B, input: T):
        pass
    define.__name__, define.__doc__ = name, meaning
    return primitive(promote="common", inplace=True, vjp=dict(input=lambda B, g: B.zeros_like(g)))(define)


floor = _step("floor", "The largest integer not above the element.")
ceil = _step("ceil", "The smallest integer not below the element.")
trunc = _step("trunc", "The element without its fraction.")


@primitive(promote="common", inplace=True, hidden=True, entry="round", vjp=dict(input=lambda B, g: B.zeros_like(g)))
def _round(B, input: T):
    """The nearest integer, halves to the even one."""


@op(exact_out=True, inplace=True)
def round(B, input: T, *, decimals: Int = 0):
    """The nearest multiple of 10^-decimals, halves to the even one."""
    if decimals == 0:
        return B._round(input)
    scale = 10.0 ** decimals
    return B.div(B._round(B.mul(input, scale)), scale)


@op(exact_out=True, entry="frac", promote="common", inplace=True)
def frac(B, input: T):
    """The fractional part, with the sign of the element."""
    return B.sub(input, B.trunc(input))


@op(numbers="second", promote="common")
def rsub(B, input: T, other: T, *, alpha=1):
    """`other - alpha * input`."""
    return B.sub(other, input, alpha=alpha)


@primitive(promote="float", inplace=True, vjp=dict(input=lambda B, g, input: B.mul(g, B.mul(B.exp(B.neg(B.mul(input, input))), 2 / math.sqrt(math.pi)))))
def erf(B, input: T):
    """The error function."""


@primitive(promote="float", inplace=True, vjp=dict(input=lambda B, g, input: B.mul(g, B.mul(B.exp(B.neg(B.mul(input, input))), -2 / math.sqrt(math.pi)))))
def erfc(B, input: T):
    """`1 - erf(input)`, accurate for large elements."""


@primitive(promote="float", inplace=True, vjp=dict(input=lambda B, g, y: B.mul(g, B.mul(B.exp(B.mul(y, y)), math.sqrt(math.pi) / 2))))
def erfinv(B, input: T):
    """The inverse of `erf`."""


@primitive(promote="float", inplace=True, vjp=dict(input=lambda B, g, input: B.mul(g, B.digamma(input))))
def lgamma(B, input: T):
    """The logarithm of the absolute value of the gamma function."""


@primitive(promote="float", inplace=True, public=("digamma",), vjp=dict(input=lambda B, g, input: B.mul(g, B.polygamma(1, input))))
def digamma(B, input: T):
    """The derivative of `lgamma`."""


# --- complex ------------------------------------------------------------------------------------------------------
@primitive(hidden=True, vjp=dict(input=lambda B, g: B.conj(g)), entry="conj")
def _conj_physical(B, input: T):
    """The complex conjugate of a complex tensor."""


@op(public=("conj", "conj_physical"))
def conj(B, input: T):
    """The complex conjugate; a real tensor itself."""
    if not input.dtype.is_complex:
        return input
    return B._conj_physical(input)


@primitive(hidden=True, vjp=dict(input=lambda B, g: g), entry="real", grad_name="Real")
def _real(B, input: T):
    """The real part of a complex tensor."""


@primitive(hidden=True, vjp=dict(input=lambda B, g: B.mul(g, 1j)), entry="imag", grad_name="Imag")
def _imag(B, input: T):
    """The imaginary part of a complex tensor."""


@op(method=False, vjp=dict(real=lambda B, g: B.real(g), imag=lambda B, g: B.imag(g)), grad_name="Complex")
def complex(B, real: T, imag: T):
    """A complex tensor from its real and imaginary parts, two real tensors of one dtype."""
    if not real.dtype.is_floating_point or real.dtype is not imag.dtype:
        raise RuntimeError(f"Expected both inputs to be Half, Float or Double tensors but got {real.dtype} and {imag.dtype}")
    dtype = real.dtype.to_complex()
    if real.device.backend.strided:      # side by side: a sum with imag * 1j would be NaN where one part is infinite
        pairs = B.stack(B.broadcast_tensors(real.to(dtype.to_real()), imag.to(dtype.to_real())), -1)
        return B.clone(B.view_as_complex(pairs))
    return B.add(real.to(dtype), B.mul(imag, 1j))


# --- several operands ---------------------------------------------------------------------------------------------
@op(entry="lerp", promote="common", inplace=True)
def lerp(B, input: T, end: T, weight: T):
    """`input + weight * (end - input)`."""
    return B.add(input, B.mul(weight, B.sub(end, input)))


@op(entry="addcmul", promote="common", inplace=True)
def addcmul(B, input: T, tensor1: T, tensor2: T, *, value: Number = 1):
    """`input + value * tensor1 * tensor2`."""
    product = B.mul(tensor1, tensor2)
    return B.add(input, product if value == 1 else B.mul(product, value))


class EarlyFactor(int):
    """A whole factor given as in early PyTorch, where `addcdiv` of integers divided as integers."""


@op(entry="addcdiv", promote="common", inplace=True)
def addcdiv(B, input: T, tensor1: T, tensor2: T, *, value: Number = 1):
    """`input + value * tensor1 / tensor2`."""
    if not (input.dtype.is_floating_point or tensor1.dtype.is_floating_point or tensor2.dtype.is_floating_point
            or input.dtype.is_complex or tensor1.dtype.is_complex or tensor2.dtype.is_complex):
        if isinstance(value, EarlyFactor):
            return B.add(input, B.mul(B._div_trunc(tensor1, tensor2), value))
        raise RuntimeError("Integer division with addcdiv is no longer supported; use true_divide of the operands instead")
    quotient = B.div(tensor1, tensor2)
    return B.add(input, quotient if value == 1 else B.mul(quotient, value))
