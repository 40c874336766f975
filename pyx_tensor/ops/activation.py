"""Activation functions, element by element.

Gradients at kinks and at NaN are PyTorch's, which is why comparisons below run one way or the other.
"""
import math

from ..core.definitions import op
from ..core.signature import T
from ..core.typeinfo import finfo
from .linalg.common import title

_OPTIONS = dict(promote="float_only", inplace=True, method=False)


@op(promote="common", inplace=True, vjp=dict(input=lambda B, g, y: B.relu_backward(g, y)))
def relu(B, input: T):
    """`max(0, input)`."""
    return B.clamp(input, min=0)


@op(promote="common", method=False, hidden=True, entry="relu_backward")
def relu_backward(B, g: T, output: T):
    """g where relu's output is positive."""
    return B.masked_fill(g, B.le(output, 0), 0)


@op(promote="float_only", method=False, hidden=True, entry="gelu", grad_name="Gelu", vjp=dict(
    input=lambda B, g, input, tanh: B.gelu_backward(g, input, tanh)))
def _gelu(B, input: T, tanh):
    """`gelu` with its approximation as a bool."""
    return B.mul(B.mul(input, 0.5), B.add(_gelu_curve(B, input, tanh), 1))


def _gelu_curve(B, input, tanh):
    """2Φ - 1, or the formula that approximates it."""
    if not tanh:
        return B.erf(B.mul(input, math.sqrt(0.5)))
    return B.tanh(B.mul(B.add(input, B.mul(B.mul(B.mul(input, input), input), 0.044715)), math.sqrt(2 / math.pi)))


@op(promote="common", method=False, hidden=True, entry="gelu_backward")
def gelu_backward(B, g: T, input: T, tanh):
    """g times the derivative of `gelu`."""
    curve = _gelu_curve(B, input, tanh)
    square = B.mul(input, input)
    if tanh:
        inner = B.mul(B.add(B.mul(square, 3 * 0.044715), 1), math.sqrt(2 / math.pi))
        slope = B.mul(B.rsub(B.mul(curve, curve), 1), inner)
    else:
        slope = B.mul(B.exp(B.mul(square, -0.5)), math.sqrt(2 / math.pi))
    return B.mul(g, B.mul(B.add(B.add(curve, 1), B.mul(input, slope)), 0.5))


@op(method=False, hidden=True)
def gelu(B, input: T, *, approximate="none"):
    """`input · Φ(input)`, Φ the normal distribution (Hendrycks, Gimpel, 2016).

    Args:
        approximate: 'none', or 'tanh' for a formula that approximates it.
    """
    if approximate not in ("none", "tanh"):
        raise RuntimeError("approximate argument must be either none or tanh.")
    return B._gelu(input, approximate == "tanh")


def _between(B, input, low, high):
    return B.logical_and(B.gt(input, low), B.lt(input, high))


def _only_where(B, condition, g):
    return B.masked_fill(g, B.logical_not(condition), 0)


@op(**{**_OPTIONS, "promote": "common"}, hidden=True, vjp=dict(
    input=lambda B, g, input, min_val, max_val: _only_where(B, _between(B, input, min_val, max_val), g)))
def hardtanh(B, input: T, min_val=-1.0, max_val=1.0):
    """`input` cut off to [min_val, max_val]. No gradient at the bounds."""
    if not input.dtype.is_floating_point:
        if input.dtype.name == "bool":
            raise RuntimeError("Bool inputs not supported for hardtanh")
        if not input.dtype.is_signed and (min_val < 0 or max_val < 0):
            raise RuntimeError("cannot do hardtanh on an unsigned type with negative limits")
        min_val, max_val = int(min_val), int(max_val)
    return B.clamp(input, min_val, max_val)


@op(**_OPTIONS, vjp=dict(
    input=lambda B, g, input, threshold: B.masked_fill(g, B.le(input, threshold), 0)))
def threshold(B, input: T, threshold, value):
    """`input` where it is greater than `threshold`, else `value`."""
    return B.masked_fill(input, B.le(input, threshold), value)


@op(**_OPTIONS, hidden=True, vjp=dict(
    input=lambda B, g, input: _only_where(B, _between(B, input, -3, 3), B.div(g, 6))))
def hardsigmoid(B, input: T):
    """`relu6(input + 3) / 6`."""
    return B.div(B.clamp(B.add(input, 3), 0, 6), 6)


def _hardswish_vjp(B, g, input):
    inner = B.where(B.lt(input, 3), B.mul(g, B.add(B.div(input, 3), 0.5)), g)
    return B.masked_fill(inner, B.le(input, -3), 0)


@op(**_OPTIONS, hidden=True, vjp=dict(input=_hardswish_vjp))
def hardswish(B, input: T):
    """`input · relu6(input + 3) / 6` (Howard et al., 2019)."""
    return B.div(B.mul(input, B.clamp(B.add(input, 3), 0, 6)), 6)


@op(exact_out=True, promote="float_only", vjp=dict(
    input=lambda B, g, input, lambd: _only_where(B, B.gt(B.abs(input), lambd), g)))
def hardshrink(B, input: T, lambd=0.5):
    """`input` where its magnitude is greater than `lambd`, else 0."""
    return B.masked_fill(input, B.le(B.abs(input), lambd), 0)


@op(promote="float_only", method=False, hidden=True, vjp=dict(
    input=lambda B, g, input, lambd: _only_where(B, B.gt(B.abs(input), lambd), g)))
def softshrink(B, input: T, lambd=0.5):
    """`input` moved towards 0 by `lambd`, and 0 where its magnitude is less.

    Raises:
        RuntimeError: `lambd` is negative, or no number of the input's dtype.
    """
    most = finfo(input.dtype).max
    if not 0 <= lambd <= most:
        raise RuntimeError(f"lambda must be in range [0, {most:g}] for input dtype {title(input.dtype)}, but found {lambd:g}")
    if input.dtype.itemsize == 2:         # which needn't have the number itself
        return B.softshrink(input.float(), lambd).to(input.dtype)
    return B.sub(input, B.clamp(input, -lambd, lambd))


@op(**_OPTIONS, hidden=True, vjp=dict(
    input=lambda B, g, input, negative_slope: B.where(B.gt(input, 0), g, B.mul(g, negative_slope))))
def leaky_relu(B, input: T, negative_slope=0.01):
    """`input` where positive, else `negative_slope · input`."""
    return B.where(B.gt(input, 0), input, B.mul(input, negative_slope))


def _why_not_prelu(input, weight):
    if input.dtype is not weight.dtype:
        return f"prelu: Type promoting not supported. Got {title(input.dtype)} and {title(weight.dtype)}"


@op(promote="float_only", method=False, hidden=True, grad_name="PreluKernel", refuse=_why_not_prelu, vjp=dict(
    input=lambda B, g, input, weight: B.where(B.gt(input, 0), g, B.mul(g, weight)),
    weight=lambda B, g, input: B.masked_fill(B.mul(g, input), B.gt(input, 0), 0)))
def prelu(B, input: T, weight: T):
    """`input` where positive, else `weight · input`; the weight is of a shape that broadcasts (He et al., 2015)."""
    return B.where(B.gt(input, 0), input, B.mul(input, weight))


def _elu_vjp(B, g, input, alpha, scale, input_scale):
    falling = B.mul(B.exp(B.mul(B.clamp(input, None, 0), input_scale)), alpha * scale * input_scale)
    return B.mul(g, B.where(B.le(input, 0), falling, B.full((), scale, dtype=g.dtype, device=g.device)))


@op(**_OPTIONS, hidden=True, vjp=dict(input=_elu_vjp))
def elu(B, input: T, alpha=1.0, scale=1.0, input_scale=1.0):
    """`scale · input` where positive, else `scale · alpha · (exp(input_scale · input) - 1)` (Clevert et al., 2015)."""
    falling = B.mul(B.expm1(B.mul(B.clamp(input, None, 0), input_scale)), alpha * scale)
    return B.where(B.le(input, 0), falling, B.mul(input, scale))


@op(**_OPTIONS, hidden=True, vjp=dict(
    input=lambda B, g, input, beta, threshold: B.mul(g, B.where(
        B.gt(B.mul(input, beta), threshold), B.ones((), dtype=g.dtype, device=g.device), B.sigmoid(B.mul(input, beta))))))
def softplus(B, input: T, beta=1.0, threshold=20.0):
    """`log(1 + exp(beta · input)) / beta`, and `input` itself where `beta · input` is greater than `threshold`."""
    scaled = B.mul(input, beta)
    return B.where(B.gt(scaled, threshold), input, B.div(B.log1p(B.exp(scaled)), beta))


@op(promote="float_only", method=False, hidden=True, grad_name="LogSigmoid", vjp=dict(
    input=lambda B, g, input: B.mul(g, B.sigmoid(B.neg(input)))))
def logsigmoid(B, input: T):
    """The logarithm of the sigmoid."""
    return B.sub(B.clamp(input, None, 0), B.log1p(B.exp(B.neg(B.abs(input)))))


@op(**_OPTIONS, hidden=True, vjp=dict(input=lambda B, g, input: B.silu_backward(g, input)))
def silu(B, input: T):
    """`input · sigmoid(input)`, also called swish."""
    return B.mul(input, B.sigmoid(input))


@op(promote="common", method=False, hidden=True, entry="silu_backward")
def silu_backward(B, g: T, input: T):
    """g times the derivative of `silu`."""
    s = B.sigmoid(input)
    return B.mul(g, B.mul(s, B.add(B.mul(input, B.rsub(s, 1)), 1)))


def _mish_vjp(B, g, input):
    t = B.tanh(B.softplus(input))
    return B.mul(g, B.add(t, B.mul(B.mul(input, B.sigmoid(input)), B.rsub(B.mul(t, t), 1))))


@op(**_OPTIONS, hidden=True, vjp=dict(input=_mish_vjp))
def mish(B, input: T):
    """`input · tanh(softplus(input))` (Misra, 2019)."""
    return B.mul(input, B.tanh(B.softplus(input)))
