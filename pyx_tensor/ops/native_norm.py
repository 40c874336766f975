"""Normalisations that also return the statistics they used (`torch.native_layer_norm` and its kin)."""
from ..core.definitions import op
from ..core.signature import Raw, T
from .nn import _all_but_channels, _along_channels, _widened, update_statistics_


def _mean_and_rstd(B, input, dims, eps, keepdim):
    """The mean over dims, and one over the standard deviation."""
    variance, mean = B.var_mean(input, dims, correction=0, keepdim=keepdim)
    return mean, B.rsqrt(B.add(variance, eps))


@op(method=False)
def native_layer_norm(B, input: T, normalized_shape, weight: T, bias: T, eps):
    """`layer_norm`, and the mean and one over the standard deviation of each normalised part (without a gradient)."""
    output = B.layer_norm(input, normalized_shape, weight, bias, eps)
    dims = tuple(range(input.ndim - len(normalized_shape), input.ndim))
    return (output, *_mean_and_rstd(B, input.detach(), dims, eps, True))


def _grouped(B, x, groups):
    return B.reshape(x, (x.shape[0], groups, x.numel() // max(x.shape[0] * groups, 1)))


@op(method=False, hidden=True, entry="group_norm", aux=("mean", "rstd"), grad_name="NativeGroupNorm", vjp={
    ("input", "weight", "bias"): lambda B, g, input, mean, rstd, weight, groups, needs, eps:
        B.group_norm_backward(g, input, mean, rstd, weight, groups, needs, eps)})
def _group_norm(B, input: T, groups, weight: T = None, bias: T = None, eps=1e-5):
    """Groups of channels of each sample with mean 0 and variance 1, then each channel scaled and shifted. Half types are computed in float32."""
    wide, weight, bias = _widened(input), _widened(weight), _widened(bias)
    grouped = _grouped(B, wide, groups)
    y = B.reshape(B._layer_norm(grouped, 1, None, None, eps), tuple(input.shape))
    y = y if weight is None else B.mul(y, _along_channels(B, weight, input))
    y = y if bias is None else B.add(y, _along_channels(B, bias, input))
    return y.to(input.dtype), *_mean_and_rstd(B, grouped, 2, eps, True)


@op(method=False, hidden=True, entry="group_norm_backward")
def group_norm_backward(B, g: T, input: T, mean: Raw, rstd: Raw, weight: T, groups, needs, eps):
    """The gradients of group_norm's input, weight and bias (None where not needed)."""
    wide, g, weight = _widened(input), _widened(g), _widened(weight)
    grouped, dims = _grouped(B, wide, groups), _all_but_channels(wide)
    to_input = to_weight = None
    if needs[0]:
        scaled = g if weight is None else B.mul(g, _along_channels(B, weight, wide))
        to_input = B.layer_norm_backward(_grouped(B, scaled, groups), grouped, mean, rstd, None, 1, (True, False, False), eps)[0]
        to_input = B.reshape(to_input, tuple(input.shape))
    if needs[1]:
        to_weight = B.sum(B.mul(g, B.reshape(B._layer_norm(grouped, 1, None, None, eps), tuple(input.shape))), dims)
    return to_input, to_weight, B.sum(g, dims) if needs[2] else None


@op(method=False)
def native_group_norm(B, input: T, weight: T, bias: T, N, C, HxW, group, eps):
    """`group_norm`, and the mean and one over the standard deviation of each sample and group, (N, group).

    Args:
        N, C, HxW: the numbers of samples, channels and positions in the input.
    """
    if C % group or input.numel() != N * C * HxW or input.ndim < 2:
        raise RuntimeError(f"native_group_norm: an input of shape {list(input.shape)} doesn't hold {N} samples of {C} channels in {group} groups with "
                           f"{HxW} positions")
    grouped = B.reshape(input, (N, group, C // group * HxW))
    mean, rstd = _mean_and_rstd(B, grouped, 2, eps, True)
    output = B.reshape(B.mul(B.sub(grouped, mean), rstd), tuple(input.shape))
    for vector, combine in ((weight, B.mul), (bias, B.add)):
        if vector is not None:
            output = combine(output, B.reshape(vector, (C,) + (1,) * (input.ndim - 2)))
    return output, B.squeeze(mean, 2), B.squeeze(rstd, 2)


@op(method=False)
def native_batch_norm(B, input: T, weight: T, bias: T, running_mean: Raw, running_var: Raw, training, momentum, eps):
    """`batch_norm`, and in training the mean and one over the standard deviation of each channel (else two empty tensors).

    In training the running statistics, where given, are moved towards the batch's by `momentum`.
    """
    output, mean, variance = B._batch_norm(input, running_mean, running_var, weight, bias, bool(training), eps)
    if not training:
        empty = B.empty((0,), dtype=mean.dtype, device=mean.device)
        return output, empty, B.clone(empty)
    count = input.numel() // input.shape[1]
    for running, batch, factor in ((running_mean, mean, 1.0), (running_var, variance, count / max(count - 1, 1))):
        if running is not None:
            update_statistics_(running, batch, momentum, factor)
    return output, mean.to(input.dtype), B.rsqrt(B.add(variance, eps)).to(input.dtype)
