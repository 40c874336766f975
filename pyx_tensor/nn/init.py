"""Initial values of parameters: every function fills its tensor in place and returns it.

The formulas and the order in which random numbers are drawn are PyTorch's, so that equal seeds give equal
weights. Nothing here is recorded for gradients.
"""
import math
import warnings

from ..autograd import no_grad
from ..ops import namespace as ops

_GAINS = {
    **dict.fromkeys(("linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d",
                     "conv_transpose3d", "sigmoid"), 1),
    "tanh": 5 / 3, "relu": math.sqrt(2), "selu": 3 / 4,
}

_MOSTLY_INSIDE = 0.3  # the probability above which normal numbers are drawn until they fall inside


def calculate_gain(nonlinearity, param=None):
    """The factor by which weights ahead of ``nonlinearity`` are enlarged to keep the variance.

    Args:
        nonlinearity: the name of the function in ``nn.functional``.
        param: the negative slope of ``leaky_relu``, 0.01 by default.

    >>> nn.init.calculate_gain('leaky_relu', 0.2)
    1.3867504905630728
    """
    if nonlinearity in _GAINS:
        return _GAINS[nonlinearity]
    if nonlinearity != "leaky_relu":
        raise ValueError(f"Unsupported nonlinearity {nonlinearity}")
    slope = 0.01 if param is None else param
    if isinstance(slope, bool) or not isinstance(slope, (int, float)):
        raise ValueError(f"negative_slope {slope} not a valid number")
    return math.sqrt(2 / (1 + slope**2))


def uniform_(tensor, a=0.0, b=1.0, generator=None):
    """Fill with numbers drawn evenly from [``a``, ``b``)."""
    with no_grad():
        return tensor.uniform_(a, b, generator=generator)


def normal_(tensor, mean=0.0, std=1.0, generator=None):
    """Fill with normally distributed numbers."""
    with no_grad():
        return tensor.normal_(mean, std, generator=generator)


def trunc_normal_(tensor, mean=0.0, std=1.0, a=-2.0, b=2.0, generator=None):
    """Fill with normally distributed numbers from [``a``, ``b``], by drawing again what falls outside."""
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn("mean is more than 2 std from [a, b] in nn.init.trunc_normal_. "
                      "The distribution of values may be incorrect.", stacklevel=2)
    inside = _normal_cdf((b - mean) / std) - _normal_cdf((a - mean) / std)
    propose = _propose_normal if inside > _MOSTLY_INSIDE else _propose_uniform
    with no_grad():
        values, rejected = propose(tensor, mean, std, a, b, generator)
        while rejected.any():
            others, rejected_again = propose(tensor, mean, std, a, b, generator)
            values, rejected = ops.where(rejected, others, values), rejected & rejected_again
        return tensor.copy_(values)


def constant_(tensor, val):
    """Fill with the number ``val``."""
    with no_grad():
        return tensor.fill_(val)


def ones_(tensor):
    """Fill with ones."""
    return constant_(tensor, 1.0)


def zeros_(tensor):
    """Fill with zeros."""
    return constant_(tensor, 0.0)


def eye_(tensor):
    """Fill a matrix with the identity."""
    if tensor.dim() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    with no_grad():
        return tensor.copy_(ops.eye(*tensor.shape, dtype=tensor.dtype, device=tensor.device))


def dirac_(tensor, groups=1):
    """Fill the weight of a convolution so that as many channels as possible pass unchanged, in each of ``groups``."""
    if tensor.dim() not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    if tensor.size(0) % groups:
        raise ValueError("dim 0 must be divisible by groups")
    out_channels = tensor.size(0) // groups
    center = tuple(size // 2 for size in tensor.shape[2:])
    with no_grad():
        tensor.zero_()
        for group in range(groups):
            for channel in range(min(out_channels, tensor.size(1))):
                tensor[(group * out_channels + channel, channel, *center)] = 1
    return tensor


def xavier_uniform_(tensor, gain=1.0, generator=None):
    """Fill evenly from [-a, a] with a = gain · √(6 / (fan_in + fan_out)) (Glorot and Bengio, 2010)."""
    bound = math.sqrt(3.0) * _xavier_std(tensor, gain)
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor, gain=1.0, generator=None):
    """Fill normally with standard deviation gain · √(2 / (fan_in + fan_out)) (Glorot and Bengio, 2010)."""
    return normal_(tensor, 0.0, _xavier_std(tensor, gain), generator)


def kaiming_uniform_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    """Fill evenly from [-b, b] with b = gain · √(3 / fan) (He et al., 2015).

    Args:
        a: the negative slope of ``leaky_relu``.
        mode: ``"fan_in"`` keeps the variance on the way forward, ``"fan_out"`` on the way back.
        nonlinearity: the function that follows; see :func:`calculate_gain`.
    """
    if _warned_empty(tensor):
        return tensor
    bound = math.sqrt(3.0) * _kaiming_std(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    """Fill normally with standard deviation gain / √fan (He et al., 2015); see :func:`kaiming_uniform_`."""
    if _warned_empty(tensor):
        return tensor
    return normal_(tensor, 0, _kaiming_std(tensor, a, mode, nonlinearity), generator)


def orthogonal_(tensor, gain=1, generator=None):
    """Fill with a matrix whose rows, or columns if fewer, are orthogonal and of length ``gain`` (Saxe et al., 2013).

    Dimensions after the first count as one.
    """
    if tensor.dim() < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0:
        return tensor
    rows = tensor.size(0)
    columns = tensor.numel() // rows
    with no_grad():
        sample = tensor.new_empty((rows, columns)).normal_(0, 1, generator=generator)
        q, r = ops.linalg_qr(sample.t() if rows < columns else sample)
        q = q * ops.diagonal(r).sign()  # makes the decomposition unique, and the distribution even
        q = q.t() if rows < columns else q
        return tensor.copy_(q.reshape(tensor.shape)).mul_(gain)


def sparse_(tensor, sparsity, std=0.01, generator=None):
    """Fill a matrix normally, then set the fraction ``sparsity`` of each column to zero (Martens, 2010)."""
    if tensor.dim() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    with no_grad():
        tensor.normal_(0, std, generator=generator)
        for column in range(columns):
            tensor[ops.randperm(rows)[:zeros], column] = 0
    return tensor


def _propose_normal(tensor, mean, std, a, b, generator):
    """Normal numbers like ``tensor``, and where they fall outside of [a, b]."""
    values = ops.empty_like(tensor).normal_(mean, std, generator=generator)
    low, high = tensor.new_tensor([a, b]).tolist()  # as the dtype can hold them
    return values, (values < low) | (values > high)


def _propose_uniform(tensor, mean, std, a, b, generator):
    """Numbers spread evenly over [a, b], and where to reject them for the rest to be normal."""
    values = ops.empty_like(tensor).uniform_(a, b, generator=generator)
    mode = max(a, min(mean, b))
    log_density = ((values - mean) / std).square() * -0.5 - -0.5 * ((mode - mean) / std) ** 2
    return values, ops.empty_like(tensor).uniform_(generator=generator).log() > log_density


def _normal_cdf(x):
    return (1.0 + math.erf(x / math.sqrt(2.0))) / 2.0


def _calculate_fan_in_and_fan_out(tensor):
    if tensor.dim() < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    receptive_field = math.prod(tensor.shape[2:])
    return tensor.size(1) * receptive_field, tensor.size(0) * receptive_field


def _xavier_std(tensor, gain):
    return gain * math.sqrt(2.0 / float(sum(_calculate_fan_in_and_fan_out(tensor))))


def _kaiming_std(tensor, slope, mode, nonlinearity):
    modes = ("fan_in", "fan_out")
    if str(mode).lower() not in modes:
        raise ValueError(f"Mode {mode} not supported, please use one of {list(modes)}")
    fan = _calculate_fan_in_and_fan_out(tensor)[modes.index(mode.lower())]
    return calculate_gain(nonlinearity, slope) / math.sqrt(fan)


def _warned_empty(tensor):
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=3)
        return True
    return False


def _deprecated(function):
    """The function under its older name, without the underscore."""
    name = function.__name__[:-1]

    def older(*args, **kwargs):
        warnings.warn(f"`nn.init.{name}` is now deprecated in favor of `nn.init.{name}_`.", FutureWarning, stacklevel=2)
        return function(*args, **kwargs)

    older.__name__ = older.__qualname__ = name
    older.__doc__ = f"The deprecated name of :func:`{name}_`."
    globals()[name] = older


for _function in (uniform_, normal_, constant_, eye_, dirac_, xavier_uniform_, xavier_normal_, kaiming_uniform_, kaiming_normal_, orthogonal_, sparse_):
    _deprecated(_function)
