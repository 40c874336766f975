"""Losses between an input and a target of the same shape.

All take ``reduction``: ``"mean"`` (the default) and ``"sum"`` give one number, ``"none"`` one per element.
``size_average`` and ``reduce`` are its deprecated forms.
"""
import math
import warnings

from ...core.autocast import computed_in_float32
from ...core.frontend import Tensor
from ...ops import namespace as ops
from ._arguments import takes_tensors
from ._reduction import apply_reduction, resolve_reduction


@takes_tensors(2)
def mse_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    """(input - target)²."""
    return _difference_loss(ops.mse_loss, input, target, resolve_reduction(reduction, size_average, reduce), weight)


@takes_tensors(2)
def l1_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    """\\|input - target\\|."""
    return _difference_loss(ops.l1_loss, input, target, resolve_reduction(reduction, size_average, reduce), weight)


@takes_tensors(2)
def smooth_l1_loss(input, target, size_average=None, reduce=None, reduction="mean", beta=1.0):
    """d² / (2 beta) where d = \\|input - target\\| is less than ``beta``, else d - beta / 2 (Girshick, 2015)."""
    reduction = resolve_reduction(reduction, size_average, reduce)
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    if beta == 0:
        return _difference_loss(ops.l1_loss, input, target, reduction)
    return _difference_loss(ops.smooth_l1_loss, input, target, reduction, None, beta)


@takes_tensors(2)
def huber_loss(input, target, reduction="mean", delta=1.0, weight=None):
    """d² / 2 where d = \\|input - target\\| is at most ``delta``, else delta · (d - delta / 2) (Huber, 1964)."""
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    return _difference_loss(ops.huber_loss, input, target, resolve_reduction(reduction), weight, delta)


@takes_tensors(2)
def binary_cross_entropy(input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    """-(t log x + (1 - t) log(1 - x)) for probabilities ``input``; logarithms below -100 count as -100."""
    reduction = resolve_reduction(reduction, size_average, reduce)
    if target.shape != input.shape:
        raise ValueError(f"Using a target size ({target.shape}) that is different to the input size ({input.shape}) "
                         "is deprecated. Please ensure they have the same size.")
    if input.numel() and not bool(((input >= 0) & (input <= 1)).all()):
        raise RuntimeError("all elements of input should be between 0 and 1")
    if target.dtype is not input.dtype:
        raise RuntimeError(f"Found dtype {target.dtype} of the target but expected {input.dtype}, the input's")
    if weight is None:
        return ops.binary_cross_entropy(input, target, reduction=reduction)
    return apply_reduction(ops.binary_cross_entropy(input, target, reduction="none") * weight, reduction)


@takes_tensors(2)
def binary_cross_entropy_with_logits(input, target, weight=None, size_average=None, reduce=None, reduction="mean",
                                     pos_weight=None):
    """:func:`binary_cross_entropy` of sigmoid(input), computed without its loss of precision.

    ``pos_weight`` multiplies the term of the positive class.
    """
    reduction = resolve_reduction(reduction, size_average, reduce)
    if target.shape != input.shape:
        raise ValueError(f"Target size ({target.shape}) must be the same as input size ({input.shape})")
    if weight is None and pos_weight is None:
        return ops.binary_cross_entropy_with_logits(input, target, reduction=reduction)
    negative = ops.softplus(input)  # -log(1 - sigmoid(x))
    if pos_weight is None:
        loss = negative - target * input
    else:
        loss = (1 - target) * input + (1 + (pos_weight - 1) * target) * -ops.logsigmoid(input)
    return apply_reduction(loss if weight is None else loss * weight, reduction)


@takes_tensors(2)
@computed_in_float32
def kl_div(input, target, size_average=None, reduce=None, reduction="mean", log_target=False):
    """target · (log target - input), where ``input`` (and with ``log_target`` also ``target``) is a logarithm.

    ``reduction="batchmean"`` divides the sum by the size of dimension 0, as the divergence is defined.
    """
    batch_mean = reduction == "batchmean"
    if reduction == "mean" and size_average is None and reduce is None:
        warnings.warn("reduction: 'mean' divides the total loss by both the batch size and the support size."
                      "'batchmean' divides only by the batch size, and aligns with the KL div math definition."
                      "'mean' will be changed to behave the same as 'batchmean' in the next major release.",
                      stacklevel=3)
    reduction = "sum" if batch_mean else resolve_reduction(reduction, size_average, reduce)
    loss = target.exp() * (target - input) if log_target else ops.xlogy(target, target) - target * input
    loss = apply_reduction(loss, reduction)
    return loss / input.size(0) if batch_mean and input.dim() else loss


@takes_tensors(2)
@computed_in_float32
def poisson_nll_loss(input, target, log_input=True, full=False, size_average=None, eps=1e-8, reduce=None,
                     reduction="mean"):
    """Negative log likelihood of counts ``target`` under Poisson rates ``input`` (or their logarithms).

    ``full`` adds Stirling's approximation of log(target!).
    """
    reduction = resolve_reduction(reduction, size_average, reduce)
    loss = input.exp() - target * input if log_input else input - target * (input + eps).log()
    if full:
        stirling = target * target.log() - target + 0.5 * (2 * math.pi * target).log()
        loss = loss + stirling.masked_fill(target <= 1, 0)
    return apply_reduction(loss, reduction)


@takes_tensors(2)
def gaussian_nll_loss(input, target, var, full=False, eps=1e-6, reduction="mean"):
    """Negative log likelihood of ``target`` under normal distributions with mean ``input`` and variance ``var``.

    ``full`` adds the constant log(2π) / 2.
    """
    if not isinstance(var, Tensor):
        if var < 0:
            raise ValueError("var has negative entry/entries")
        var = ops.full_like(input, var)
    elif bool((var < 0).any()):
        raise ValueError("var has negative entry/entries")
    if var.shape != input.shape:
        var = _matching_variance(input, var)
    reduction = resolve_reduction(reduction)
    clamped = ops.where(var < eps, ops.full_like(var, eps), var).detach()
    var = var + (clamped - var.detach())  # clamped, with the gradient of the unclamped variance
    loss = 0.5 * (var.log() + (input - target) ** 2 / var)
    return apply_reduction(loss + 0.5 * math.log(2 * math.pi) if full else loss, reduction)


@takes_tensors(2)
@computed_in_float32
def hinge_embedding_loss(input, target, margin=1.0, size_average=None, reduce=None, reduction="mean"):
    """x where the target is 1, max(0, margin - x) where it is -1."""
    reduction = resolve_reduction(reduction, size_average, reduce)
    zero = ops.zeros_like(input)
    loss = (ops.where(target != 1, (margin - input).clamp_min(0), zero) + ops.where(target != -1, input, zero))
    return apply_reduction(loss, reduction)


@takes_tensors(2)
@computed_in_float32
def soft_margin_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    """log(1 + exp(-target · input)), targets 1 and -1."""
    return apply_reduction((-target * input).exp().log1p(), resolve_reduction(reduction, size_average, reduce))


@takes_tensors(3)
@computed_in_float32
def margin_ranking_loss(input1, input2, target, margin=0, size_average=None, reduce=None, reduction="mean"):
    """max(0, -target · (input1 - input2) + margin): target 1 says that ``input1`` ranks higher, -1 lower."""
    reduction = resolve_reduction(reduction, size_average, reduce)
    if not input1.dim() == input2.dim() == target.dim():
        raise RuntimeError("margin_ranking_loss : All input tensors should have same dimension but got sizes: "
                           f"input1: {input1.size()}, input2: {input2.size()}, target: {target.size()} ")
    return apply_reduction((-target * (input1 - input2) + margin).clamp_min(0), reduction)


def _difference_loss(loss, input, target, reduction, weight=None, *options):
    """``loss`` of the broadcast pair, with the warning or weights that go with it."""
    if target.shape != input.shape:
        warnings.warn(f"Using a target size ({target.shape}) that is different to the input size ({input.shape}). "
                      "This will likely lead to incorrect results due to broadcasting. "
                      "Please ensure they have the same size.", stacklevel=3)
        input, target = ops.broadcast_tensors(input, target)
    if weight is None:
        return loss(input, target, reduction, *options)
    if weight.shape != input.shape:
        raise ValueError("Weights and input must have the same size.")
    weighted = loss(input, target, "none", *options) * weight
    if reduction == "mean":
        return weighted.sum() / weight.sum()
    return apply_reduction(weighted, reduction)


def _matching_variance(input, var):
    """A variance for each vector along the last dimension, shaped to broadcast with ``input``."""
    if input.shape[:-1] == var.shape:
        return var.unsqueeze(-1)
    if input.shape[:-1] == var.shape[:-1] and var.size(-1) == 1:
        return var
    if input.dim() == var.dim() and all(size in (1, full) for size, full in zip(var.shape, input.shape)):
        return var
    raise ValueError("var is of incorrect size")
