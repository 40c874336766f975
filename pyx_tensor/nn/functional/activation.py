"""Activation functions."""
import math
import warnings

from ...core.autocast import computed_low
from ...core.dtype import by_name
from ...ops import namespace as ops
from ._arguments import takes_tensors


def _inplace_or_not(name):
    """The function ``name(input, inplace=False)`` over the operations ``name`` and ``name_``."""
    new, in_place = getattr(ops, name), getattr(ops, name + "_")

    def activation(input, inplace=False):
        return in_place(input) if inplace else new(input)

    activation.__name__ = activation.__qualname__ = name
    activation.__doc__ = new.__doc__
    return takes_tensors()(activation)


relu, silu, mish = _inplace_or_not("relu"), _inplace_or_not("silu"), _inplace_or_not("mish")
hardswish, hardsigmoid = _inplace_or_not("hardswish"), _inplace_or_not("hardsigmoid")
gelu, logsigmoid, softplus, softshrink = ops.gelu, ops.logsigmoid, ops.softplus, ops.softshrink
sigmoid, tanh = ops.sigmoid, ops.tanh
relu_, elu_, leaky_relu_, threshold_, hardtanh_ = (
    ops.relu_, ops.elu_, ops.leaky_relu_, ops.threshold_, ops.hardtanh_)

# The fixed point of mean 0 and variance 1 (Klambauer et al., 2017).
_SELU_ALPHA, _SELU_SCALE = 1.6732632423543772, 1.0507009873554805


@takes_tensors()
def threshold(input, threshold, value, inplace=False):
    """x where it is greater than ``threshold``, else ``value``."""
    return (ops.threshold_ if inplace else ops.threshold)(input, threshold, value)


@takes_tensors()
def hardtanh(input, min_val=-1.0, max_val=1.0, inplace=False):
    """x cut off to [``min_val``, ``max_val``]."""
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    return (ops.hardtanh_ if inplace else ops.hardtanh)(input, min_val, max_val)


@takes_tensors()
def elu(input, alpha=1.0, inplace=False):
    """x where positive, else alpha · (eˣ - 1) (Clevert et al., 2015)."""
    return (ops.elu_ if inplace else ops.elu)(input, alpha)


@takes_tensors()
def celu(input, alpha=1.0, inplace=False):
    """max(0, x) + min(0, alpha · (e^(x/alpha) - 1)) (Barron, 2017)."""
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    return (ops.elu_ if inplace else ops.elu)(input, alpha, 1.0, 1.0 / alpha)


@takes_tensors()
def celu_(input, alpha=1.0):
    """In-place form of :func:`celu`."""
    return celu(input, alpha, inplace=True)


@takes_tensors()
def selu(input, inplace=False):
    """Scaled exponential linear unit (Klambauer et al., 2017)."""
    return (ops.elu_ if inplace else ops.elu)(input, _SELU_ALPHA, _SELU_SCALE)


@takes_tensors()
def selu_(input):
    """In-place form of :func:`selu`."""
    return selu(input, inplace=True)


@takes_tensors()
def relu6(input, inplace=False):
    """x cut off to [0, 6]."""
    return hardtanh(input, 0.0, 6.0, inplace)


@takes_tensors()
def leaky_relu(input, negative_slope=0.01, inplace=False):
    """x where positive, else ``negative_slope`` · x."""
    return (ops.leaky_relu_ if inplace else ops.leaky_relu)(input, negative_slope)


@takes_tensors()
def rrelu(input, lower=1.0 / 8, upper=1.0 / 3, training=False, inplace=False):
    """Leaky ReLU whose slope is drawn for each element in training, and the mean of the range otherwise."""
    if not lower <= upper:
        raise RuntimeError("Lower bound should be less than or equal to the upper bound")
    for name, bound in (("lower", lower), ("upper", upper)):
        if not math.isfinite(bound):
            raise RuntimeError(f"rrelu: {name} bound must be finite, got {bound}")
    if not training:
        return leaky_relu(input, (lower + upper) / 2, inplace)
    falling = input <= 0
    slopes = ops.ones_like(input)
    drawn = ops.empty(int(falling.sum()), dtype=by_name["float64"], device=input.device).uniform_(lower, upper)
    slopes[falling] = drawn.to(slopes.dtype)
    return input.mul_(slopes) if inplace else input * slopes


@takes_tensors()
def rrelu_(input, lower=1.0 / 8, upper=1.0 / 3, training=False):
    """In-place form of :func:`rrelu`."""
    return rrelu(input, lower, upper, training, inplace=True)


@takes_tensors(2)
@computed_low
def prelu(input, weight):
    """Leaky ReLU with a learned slope: one number, or one per channel (dimension 1)."""
    if weight.dim() > 1:
        raise RuntimeError(f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {weight.dim()}")
    if weight.numel() != 1:
        if input.dim() == 0:
            raise RuntimeError("Not allow zero-dim input tensor.")
        channels = input.size(1) if input.dim() > 1 else 1
        if weight.numel() != channels:
            raise RuntimeError("Mismatch of parameter numbers and input channel size. "
                               f"Found parameter numbers = {weight.numel()} and channel size = {channels}.")
        weight = weight.reshape((1, -1) + (1,) * (input.dim() - 2)) if input.dim() > 1 else weight
    elif weight.dim() > 1 or input.dim() == 0:
        weight = weight.reshape(())
    return ops.prelu(input, weight)


@takes_tensors()
def glu(input, dim=-1):
    """The first half of ``dim`` times the sigmoid of the second half."""
    if input.dim() == 0:
        raise RuntimeError("glu does not support scalars because halving size must be even")
    if input.size(dim) % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {dim % input.dim()} is size {input.size(dim)}")
    value, gate = input.chunk(2, dim)
    return value * gate.sigmoid()


@takes_tensors()
def hardshrink(input, lambd=0.5):
    """x where |x| is greater than ``lambd``, else 0."""
    return ops.hardshrink(input, lambd)


@takes_tensors()
def softsign(input):
    """x / (1 + \\|x\\|)."""
    return input / (input.abs() + 1)


@takes_tensors()
def tanhshrink(input):
    """x - tanh(x)."""
    return input - input.tanh()


@takes_tensors()
def softmax(input, dim=None, _stacklevel=3, dtype=None):
    """eˣ divided by its sum over ``dim``; the input is cast to ``dtype`` first, if given."""
    dim = _implicit_dim("softmax", input, _stacklevel) if dim is None else dim
    return ops.softmax(input, dim) if dtype is None else ops.softmax(input, dim, dtype=dtype)


@takes_tensors()
def softmin(input, dim=None, _stacklevel=3, dtype=None):
    """Softmax of -x."""
    dim = _implicit_dim("softmin", input, _stacklevel) if dim is None else dim
    return softmax(-input, dim, dtype=dtype)


@takes_tensors()
def log_softmax(input, dim=None, _stacklevel=3, dtype=None):
    """The logarithm of :func:`softmax`, without its loss of precision."""
    dim = _implicit_dim("log_softmax", input, _stacklevel) if dim is None else dim
    return ops.log_softmax(input, dim) if dtype is None else ops.log_softmax(input, dim, dtype=dtype)


@takes_tensors()
def gumbel_softmax(logits, tau=1, hard=False, eps=1e-10, dim=-1):
    """A sample of the Gumbel-softmax distribution (Jang et al., 2017) at temperature ``tau``.

    With ``hard`` it is one-hot, with the gradient of the soft sample. ``eps`` has no effect.
    """
    if eps != 1e-10:
        warnings.warn("`eps` parameter is deprecated and has no effect.", stacklevel=2)
    noise = -ops.empty_like(logits).exponential_().log()
    soft = ((logits + noise) / tau).softmax(dim)
    if not hard:
        return soft
    index = soft.argmax(dim, keepdim=True)
    one_hot = ops.zeros_like(logits).scatter_(dim, index, 1.0)
    return one_hot - soft.detach() + soft


def _implicit_dim(name, input, stacklevel):
    warnings.warn(f"Implicit dimension choice for {name} has been deprecated. "
                  "Change the call to include dim=X as an argument.", stacklevel=stacklevel)
    return 0 if input.dim() in (0, 1, 3) else 1
