"""Normalisation."""
from math import prod

from ...core.naming import needs_floating
from ...core.typeinfo import finfo
from ...ops import namespace as ops
from ...ops.nn import update_statistics_
from ._arguments import takes_tensors


@takes_tensors()
def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    """Normalise over the last dimensions, of sizes ``normalized_shape``, to mean 0 and variance 1; scale and shift."""
    return ops.layer_norm(input, normalized_shape, weight, bias, eps)


@takes_tensors()
def rms_norm(input, normalized_shape, weight=None, eps=None):
    """Divide by the root of the mean square over the last dimensions, of sizes ``normalized_shape``; scale."""
    if not len(normalized_shape):
        raise RuntimeError("Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got "
                           "normalized_shape = []")
    if weight is not None and tuple(weight.shape) != tuple(normalized_shape):
        raise RuntimeError(f"Expected weight to be of same shape as normalized_shape, but got weight of shape {list(weight.shape)} and "
                           f"normalized_shape = {list(normalized_shape)}")
    if tuple(input.shape[len(input.shape) - len(normalized_shape):]) != tuple(normalized_shape):
        raise RuntimeError(f"Given normalized_shape={list(normalized_shape)}, expected input with shape "
                           f"[*, {', '.join(map(str, normalized_shape))}], but got input of size{list(input.shape)}")
    dims = tuple(range(-len(normalized_shape), 0))
    eps = finfo(input.dtype).eps if eps is None else eps
    output = input * (input.square().mean(dims, keepdim=True) + eps).rsqrt()
    return output if weight is None else output * weight


@takes_tensors()
def group_norm(input, num_groups, weight=None, bias=None, eps=1e-5):
    """Normalise (N, C, *) over groups of channels and all positions; scale and shift each channel."""
    if input.dim() < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {input.dim()}")
    samples, channels = input.shape[:2]
    if channels % num_groups:
        raise RuntimeError("Expected number of channels in input to be divisible by num_groups, but got input of "
                           f"shape {list(input.shape)} and num_groups={num_groups}")
    _check_positions(samples * channels // num_groups, input.shape[2:], input.shape)
    needs_floating("group_norm", input)
    for name, vector in (("weight", weight), ("bias", bias)):
        if vector is None:
            continue
        if tuple(vector.shape) != (channels,):
            raise RuntimeError(f"Expected {name} to be a vector of size equal to the number of channels in input, but got {name} of shape "
                               f"{list(vector.shape)} and input of shape {list(input.shape)}")
        if vector.dtype != input.dtype and not (input.element_size() == 2 and vector.dtype.name == "float32"):
            raise RuntimeError(f"group_norm: an input of {input.dtype} takes a {name} of its dtype{' or float32' * (input.element_size() == 2)}, "
                               f"got {vector.dtype}")
    return ops._group_norm(input, num_groups, weight, bias, eps)


@takes_tensors()
def batch_norm(input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
    """Normalise (N, C, *) over batch and positions; scale and shift each channel.

    In training with the batch's statistics, which also move ``running_mean`` and ``running_var`` (unbiased) by
    ``momentum``; else with the running ones.
    """
    if input.dim() < 2:
        if input.numel():
            raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {input.dim()}")
        return input.clone()
    if training:
        _check_positions(input.size(0), input.shape[2:], input.shape)
    else:
        for name, running in (("running_mean", running_mean), ("running_var", running_var)):
            if running is None:
                raise RuntimeError(f"{name} must be defined in evaluation mode")
    needs_floating("batch_norm", input)
    _check_channels(input.size(1), running_mean=running_mean, running_var=running_var, weight=weight, bias=bias)
    output, mean, var = ops._batch_norm(input, running_mean, running_var, weight, bias, training, eps)
    if training and input.numel():        # an empty batch has no statistics
        _update_running(running_mean, running_var, mean, var, input.numel() // input.size(1), momentum)
    return output


@takes_tensors()
def instance_norm(input, running_mean=None, running_var=None, weight=None, bias=None, use_input_stats=True,
                  momentum=0.1, eps=1e-5):
    """Normalise (N, C, *) over the positions of each sample and channel; scale and shift each channel."""
    if not use_input_stats:
        return batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps)
    _check_positions(1, input.shape[2:], input.shape)
    dims = tuple(range(2, input.dim()))
    var, mean = ops.var_mean(input, dims, correction=0, keepdim=True)
    if running_mean is not None:
        _update_running(running_mean, running_var, mean.mean(0).reshape(-1), var.mean(0).reshape(-1),
                        prod(input.shape[2:]), momentum)
    return _per_channel((input - mean) * (var + eps).rsqrt(), weight, bias)


@takes_tensors()
def local_response_norm(input, size, alpha=1e-4, beta=0.75, k=1.0):
    """Divide (N, C, *) by (k + alpha · mean square over ``size`` neighbouring channels) ** beta."""
    if input.dim() < 3:
        raise ValueError("Expected 3D or higher dimensionality                          "
                         f"input (got {input.dim()} dimensions)")
    if input.numel() == 0:
        return input
    before, after = size // 2, (size - 1) // 2
    square = input * input
    zeros = square.new_zeros((input.size(0), before + after, *input.shape[2:]))
    padded = ops.cat([zeros[:, :before], square, zeros[:, before:]], 1)
    total = padded.unfold(1, size, 1).sum(-1)
    mean = total / size if total.is_floating_point() else total // size      # the average of integers is one, as PyTorch's pooling
    return input / (mean * alpha + k).pow(beta)


@takes_tensors()
def normalize(input, p=2.0, dim=1, eps=1e-12, out=None):
    """Divide by the ``p``-norm over ``dim``, or by ``eps`` where the norm is smaller."""
    norm = input.norm(p, dim, keepdim=True).clamp_min(eps)
    return ops.div(input, norm.expand_as(input), out=out)


def _update_running(running_mean, running_var, mean, var, count, momentum):
    """Move the running statistics towards the batch's; ``var`` is the biased variance of ``count`` values."""
    for running, batch, factor in ((running_mean, mean, 1.0), (running_var, var, count / max(count - 1, 1))):
        if running is not None:
            update_statistics_(running, batch, momentum, factor)


def _per_channel(output, weight, bias):
    if weight is not None:
        output = output * _as_channels(weight, output)
    return output if bias is None else output + _as_channels(bias, output)


def _as_channels(vector, like):
    """``vector`` shaped so that it lies along dimension 1 of ``like``."""
    return vector.reshape(-1, *(1 for _ in like.shape[2:]))


def _check_channels(channels, **vectors):
    for name, vector in vectors.items():
        if vector is not None and vector.numel() != channels:
            raise RuntimeError(f"{name} should contain {channels} elements not {vector.numel()}")


def _check_positions(samples, positions, shape):
    if samples * prod(positions) == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {shape}")
