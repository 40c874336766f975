"""Elementary functions in terms of others, element by element."""
import math

from ..core.definitions import op, primitive
from ..core.dtype import by_name
from ..core.signature import Dim, Number, T
from ..core.tensor import TensorBase
from ..core.typeinfo import finfo
from .pointwise import conjugate


# --- angles and complex numbers -----------------------------------------------------------------------------------
def _refuse_complex(name, input):
    if input.dtype.is_complex:
        raise RuntimeError(f"{name} is not supported for complex tensors.")


@op(inplace=True)
def deg2rad(B, input: T):
    """Degrees as radians."""
    _refuse_complex("deg2rad", input)
    return B.mul(input, math.pi / 180)


@op(inplace=True)
def rad2deg(B, input: T):
    """Radians as degrees."""
    _refuse_complex("rad2deg", input)
    return B.mul(input, 180 / math.pi)


@op()
def positive(B, input: T):
    """The tensor itself. Bool tensors are refused."""
    if input.dtype.name == "bool":
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return input


def _angle_vjp(B, g, input):
    if not input.dtype.is_complex:
        return B.zeros_like(g)
    size = B.abs(input)
    turned = B.mul(B.div(input, B.mul(size, size)), 1j)
    return B.masked_fill(B.mul(g, turned), B.eq(size, 0), 0)


@op(promote="float", result="real", vjp=dict(input=_angle_vjp))
def angle(B, input: T):
    """The angle of complex numbers in radians; of real ones 0, π where negative, NaN where NaN."""
    if input.dtype.is_complex:
        return B.atan2(B.imag(input), B.real(input))
    result = B.mul(B.lt(input, 0).to(input.dtype), math.pi)
    return B.where(B.isnan(input), input, result)


@op(exact_out=True, method=False)
def polar(B, abs: T, angle: T):
    """Complex numbers from their absolute values and angles."""
    if not abs.dtype.is_floating_point or abs.dtype is not angle.dtype:
        raise RuntimeError(f"Expected both inputs to be Half, Float or Double tensors of one dtype but got {abs.dtype} and {angle.dtype}")
    return B.complex(B.mul(abs, B.cos(angle)), B.mul(abs, B.sin(angle)))


# --- logarithms and exponentials ----------------------------------------------------------------------------------
def _sinc_vjp(B, g, input):
    at = B.mul(input, math.pi)
    slope = B.div(B.sub(B.mul(at, B.cos(at)), B.sin(at)), B.mul(at, input))
    return B.mul(g, conjugate(B, B.masked_fill(slope, B.eq(input, 0), 0)))


@op(promote="float", inplace=True, vjp=dict(input=_sinc_vjp))
def sinc(B, input: T):
    """`sin(π input) / (π input)`, 1 at 0."""
    if input.dtype.name == "float16":      # π input may exceed its range
        return B.sinc(input.float()).to(input.dtype)
    at = B.mul(input, math.pi)
    return B.masked_fill(B.div(B.sin(at), at), B.eq(input, 0), 1)


def _as_floats(B, input):
    """Integers and bool as the default floating type, before arithmetic that would wrap them."""
    return input if input.dtype.is_floating_point or input.dtype.is_complex else input.to(B.get_default_dtype())


def _logit_vjp(B, g, input, eps):
    slope = B.reciprocal(B.mul(input, B.sub(1, input)))
    low, high, beyond = (0.0, 1.0, math.nan) if eps is None else (eps, 1 - eps, 0.0)
    return B.mul(g, B.masked_fill(slope, B.logical_or(B.lt(input, low), B.gt(input, high)), beyond))


@op(promote="float", inplace=True, vjp=dict(input=_logit_vjp))
def logit(B, input: T, eps=None):
    """`log(input / (1 - input))`, the inverse of sigmoid; `eps` limits the input to [eps, 1 - eps]."""
    input = _as_floats(B, input)
    if eps is not None:
        input = B.clamp(input, eps, 1 - eps)
    return B.log(B.div(input, B.sub(1, input)))


def _product_with_log(log, slope):
    """The vjps of `input * log(other)` where input 0 gives 0."""
    def to_input(B, g, input, other):
        hidden = B.logical_and(B.eq(input, 0), B.logical_not(B.gt(slope(B, other), 0)))
        return B.mul(g, B.masked_fill(log(B, other), hidden, 0))

    def to_other(B, g, input, other):
        return B.div(B.mul(g, input), slope(B, other))
    return dict(input=to_input, other=to_other)


def _zero_wins(B, product, input, other):
    hidden = B.logical_and(B.eq(input, 0), B.logical_not(B.isnan(other)))
    return B.masked_fill(product, hidden, 0)


def _both(B, input, other):
    """Two operands, one of which may be a number, as tensors; of their common dtype where that isn't an integer's."""
    dtype = B.result_type(input, other)
    dtype = dtype if dtype.is_floating_point or dtype.is_complex else None
    operands = [x if isinstance(x, TensorBase) else B.scalar_tensor(x, dtype=dtype) for x in (input, other)]
    return operands if dtype is None else [x.to(dtype) for x in operands]


@op(promote="float", hidden=True, grad_name="Xlogy", vjp=_product_with_log(lambda B, x: B.log(x), lambda B, x: x))
def _xlogy(B, input: T, other: T):
    """`xlogy` of two tensors."""
    return _zero_wins(B, B.mul(input, B.log(other)), input, other)


@op(inplace=True, promote="float")
def xlogy(B, input: T, other: T):
    """`input * log(other)`, 0 where input is 0 (NaN where other is)."""
    return B._xlogy(*_both(B, input, other))


@op(promote="float", hidden=True, grad_name="SpecialXlog1Py", vjp=_product_with_log(lambda B, x: B.log1p(x), lambda B, x: B.add(x, 1)))
def _xlog1py(B, input: T, other: T):
    """`xlog1py` of two tensors."""
    return _zero_wins(B, B.mul(input, B.log1p(other)), input, other)


@op(method=False, hidden=True, promote="float")
def xlog1py(B, input: T, other: T):
    """`input * log1p(other)`, 0 where input is 0 (NaN where other is)."""
    return B._xlog1py(*_both(B, input, other))


def _complex_log_add(B, input, other, exp, log1p):
    """From the operand with the larger real part; the other one's exponential is small beside it."""
    larger = B.ge(B.real(input), B.real(other))
    high, low = B.where(larger, input, other), B.where(larger, other, input)
    return B.where(B.isinf(B.real(high)), high, B.add(high, log1p(exp(B.sub(low, high)))))


def _log_add(B, input, other, exp, log1p):
    if input.dtype.is_complex or other.dtype.is_complex:
        return _complex_log_add(B, input, other, exp, log1p)
    high = B.maximum(input, other)
    result = B.add(high, log1p(exp(B.neg(B.abs(B.sub(input, other))))))
    return B.where(B.logical_and(B.isinf(input), B.eq(input, other)), input, result)


def _check_floats(B, name, input, other):
    dtype = B.result_type(input, other)
    if not (dtype.is_floating_point or dtype.is_complex):
        raise NotImplementedError(f'"{name}_cpu" not implemented for {dtype}')


def _share_of(exp):
    return dict(input=lambda B, g, input, other: B.div(g, conjugate(B, B.add(exp(B)(B.sub(other, input)), 1))),
                other=lambda B, g, input, other: B.div(g, conjugate(B, B.add(exp(B)(B.sub(input, other)), 1))))


@op(exact_out=False, vjp=_share_of(lambda B: B.exp))
def logaddexp(B, input: T, other: T):
    """`log(exp(input) + exp(other))`, without overflow."""
    _check_floats(B, "logaddexp", input, other)
    return _log_add(B, input, other, B.exp, B.log1p)


@op(exact_out=False, vjp=_share_of(lambda B: B.exp2))
def logaddexp2(B, input: T, other: T):
    """`log2(2^input + 2^other)`, without overflow."""
    _check_floats(B, "logaddexp2", input, other)
    return _log_add(B, input, other, B.exp2, lambda x: B.mul(B.log1p(x), 1 / math.log(2)))


@op(promote="common", numbers="kept")
def float_power(B, input: T, exponent: T):
    """`input ** exponent` in double precision."""
    def double(x):
        if isinstance(x, TensorBase):
            return x.to(by_name["complex128" if is_complex else "float64"])
        return complex(x) if is_complex else float(x)
    is_complex = any(x.dtype.is_complex if isinstance(x, TensorBase) else isinstance(x, complex) for x in (input, exponent))
    return B.pow(double(input), double(exponent))


@op(inplace=True)
def ldexp(B, input: T, other: T):
    """`input * 2^other`."""
    if isinstance(other, TensorBase) and input.dtype.is_floating_point and not (other.dtype.is_floating_point or other.dtype.is_complex):
        return _scaled(B, input, other.long())
    return B.mul(input, B.pow(2.0, other))


def _scaled(B, input, exponent):
    """`input * 2^exponent` for whole exponents, in three steps, as 2^exponent itself may be out of range."""
    limit = 3 * (math.frexp(finfo(input.dtype).max)[1] - 2)
    exponent = B.clamp(exponent, -limit, limit)
    third = B._div_floor(exponent, 3)
    step, last = (B.pow(2.0, part.to(input.dtype)) for part in (third, B.sub(exponent, third, alpha=2)))
    return B.mul(B.mul(B.mul(input, step), step), last)


def _frexp_vjp(B, g, y):
    return B.mul(g[0], B.exp2(B.neg(y[1]).to(g[0].dtype)))


@op(returns=("mantissa", "exponent"), nondiff=("exponent",), vjp=dict(input=_frexp_vjp))
def frexp(B, input: T):
    """Mantissas in [0.5, 1) and int32 exponents of 2 whose product is the input."""
    if not input.dtype.is_floating_point:
        raise RuntimeError(f"torch.frexp() only supports floating-point dtypes, got {input.dtype}")
    usual = B.logical_and(B.isfinite(input), B.ne(input, 0))
    exponent = B.where(usual, B.floor(B.log2(B.abs(B.masked_fill(input, B.logical_not(usual), 1)))), B.full((), -1, dtype=input.dtype))
    exponent = B.add(exponent, 1)
    half = B.floor(B.div(exponent, 2))                  # in two steps, since 2^-exponent itself may overflow
    mantissa = B.mul(B.mul(input, B.exp2(B.neg(half))), B.exp2(B.sub(half, exponent)))
    up, down = B.ge(B.abs(mantissa), 1), B.logical_and(usual, B.lt(B.abs(mantissa), 0.5))      # log2 rounds
    up = B.logical_and(up, usual)
    mantissa = B.where(up, B.mul(mantissa, 0.5), B.where(down, B.mul(mantissa, 2), mantissa))
    exponent = B.sub(B.add(exponent, up), down.to(exponent.dtype))
    return B.where(usual, mantissa, input), B.masked_fill(exponent, B.logical_not(usual), 0).int()


@primitive(promote="common", hidden=True, entry="nextafter", grad_name="Nextafter", vjp=dict(input=lambda B, g: g, other=lambda B, g: B.zeros_like(g)))
def _nextafter(B, input: T, other: T):
    """`nextafter` of float32 and float64."""


@op(promote="common", hidden=True, grad_name="Nextafter", entry=False, vjp=dict(input=lambda B, g: g, other=lambda B, g: B.zeros_like(g)))
def _nextafter_half(B, input: T, other: T):
    """`nextafter` of 16 bits, by the bits: those of neighbours follow each other, away from 0."""
    dtype = B.result_type(input, other)
    input, other = B.broadcast_tensors(input.to(dtype), other.to(dtype))
    bits = B.clone(input).view(by_name["int16"])
    away = B.eq(B.lt(input, other), B.gt(input, 0))
    smallest = B.where(B.gt(other, 0), B.ones_like(bits), B.full_like(bits, 1 - 2**15))
    beside = B.where(B.eq(input, 0), smallest, B.where(away, B.add(bits, 1), B.sub(bits, 1))).view(dtype)
    unordered = B.logical_or(B.isnan(input), B.isnan(other))
    return B.where(unordered, B.add(input, other), B.where(B.eq(input, other), other, beside))


@op(promote="common", inplace=True)
def nextafter(B, input: T, other: T):
    """The next floating-point number after `input` towards `other`."""
    half = B.result_type(input, other).name in ("float16", "bfloat16")
    return (B._nextafter_half if half else B._nextafter)(input, other)


# --- steps and limits ---------------------------------------------------------------------------------------------
def _why_not_heaviside(input, values):
    if input.dtype is not values.dtype:
        return "heaviside is not yet implemented for tensors with different dtypes."
    if input.dtype.is_complex:
        return "heaviside is not yet implemented for complex tensors."


@op(inplace=True, refuse=_why_not_heaviside, vjp=dict(
    input=lambda B, g: B.zeros_like(g), values=lambda B, g, input: B.masked_fill(g, B.ne(input, 0), 0)))
def heaviside(B, input: T, values: T):
    """0 where the input is negative, 1 where positive, `values` where it is 0."""
    return B.where(B.eq(input, 0), values, B.gt(input, 0).to(input.dtype))


def _where_finite(B, g, input):
    if input.dtype.is_complex:
        return B.complex(_where_finite(B, B.real(g), B.real(input)), _where_finite(B, B.imag(g), B.imag(input)))
    return B.masked_fill(g, B.logical_not(B.isfinite(input)), 0)


@op(exact_out=True, inplace=True, vjp=dict(input=_where_finite))
def nan_to_num(B, input: T, nan: Number = None, posinf: Number = None, neginf: Number = None):
    """NaN replaced by `nan` (0), infinities by `posinf` and `neginf` (the largest and smallest finite numbers)."""
    if input.dtype.is_complex:
        return B.complex(B.nan_to_num(B.real(input), nan, posinf, neginf), B.nan_to_num(B.imag(input), nan, posinf, neginf))
    if not input.dtype.is_floating_point:
        return B.clone(input)
    limits, result = finfo(input.dtype), input
    if posinf is None and neginf is None:          # both infinities at once; a NaN stays one
        result = B.clamp(input, limits.min, limits.max)
        return B._where(B.isnan(input), 0.0, result) if nan is None else B.masked_fill(result, B.isnan(input), nan)
    for found, given, usual in ((B.isnan(input), nan, 0.0), (B.eq(input, math.inf), posinf, limits.max), (B.eq(input, -math.inf), neginf, limits.min)):
        result = B._where(found, usual, result) if given is None else B.masked_fill(result, found, given)
    return result


@op(exact_out=True, inplace=True)
def renorm(B, input: T, p: Number, dim: Dim, maxnorm: Number):
    """Slices of a dim whose p-norm exceeds `maxnorm`, scaled down to it."""
    if input.ndim < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {input.ndim} dimensions")
    if not p > 0:
        raise RuntimeError(f"renorm: non-positive-norm not supported, got p={p}")
    if maxnorm < 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm}")
    others = [d for d in range(input.ndim) if d != dim]
    size = B.norm(input, p, others, True)
    factor = B.where(B.gt(size, maxnorm), B.div(maxnorm, B.add(size, 1e-7)), B.ones_like(size))
    return B.mul(input, factor)


# --- integers -----------------------------------------------------------------------------------------------------
def _as_integers(B, name, input, other):
    """Both operands in their common dtype."""
    dtype = B.result_type(input, other)
    if dtype.is_floating_point or dtype.is_complex or dtype.name == "bool":
        raise NotImplementedError(f'"{name}_cpu" not implemented for {dtype}')
    return input.to(dtype), other.to(dtype)


@op(promote="common", hidden=True, method=False, entry="gcd", nograd=True)
def _gcd(B, input: T, other: T):
    """`gcd` of integers of one dtype, by Euclid's algorithm on all of them."""
    a, b = B.broadcast_tensors(B.abs(input), B.abs(other))
    while bool(B.any(B.ne(b, 0))):
        done = B.eq(b, 0)
        a, b = B.where(done, a, b), B.where(done, b, B.remainder(a, B.where(done, B.ones_like(b), b)))
    return B.clone(a)


@op(exact_out=False, inplace=True, nograd=True, entry=False)
def gcd(B, input: T, other: T):
    """The greatest common divisor of integers, not negative."""
    return B._gcd(*_as_integers(B, "gcd", input, other))


@op(exact_out=False, inplace=True, nograd=True, entry=False)
def lcm(B, input: T, other: T):
    """The least common multiple of integers, not negative."""
    input, other = _as_integers(B, "lcm", input, other)
    divisor = B.gcd(input, other)
    safe = B.where(B.eq(divisor, 0), B.ones_like(divisor), divisor)
    return B.abs(B.mul(B.floor_divide(input, safe), other))
