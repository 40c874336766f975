"""Dropout."""
import math
import warnings

from ...ops import namespace as ops
from ...ops.random import empty_in_order_of
from ._arguments import takes_tensors

# The value that SELU tends to on the left, negated: what a dropped element is set to by alpha dropout.
_SELU_LIMIT = 1.7580993408473766


@takes_tensors()
def dropout(input, p=0.5, training=True, inplace=False):
    """Set each element to zero with probability ``p`` and scale the others by 1 / (1 - p); nothing unless ``training``."""
    _check_probability(p)
    return (ops.dropout_ if inplace else ops.dropout)(input, p, training)


@takes_tensors()
def dropout1d(input, p=0.5, training=True, inplace=False):
    """:func:`dropout` of whole channels of (N, C, L) or (C, L)."""
    return _channel_dropout("dropout1d", (2, 3), input, p, training, inplace)


@takes_tensors()
def dropout2d(input, p=0.5, training=True, inplace=False):
    """:func:`dropout` of whole channels of (N, C, H, W)."""
    if input.dim() not in (3, 4):
        warnings.warn(f"dropout2d: Received a {input.dim()}-D input to dropout2d, which is deprecated and will result "
                      "in an error in a future release. Expected a 3-D or 4-D input.", stacklevel=2)
    _check_probability(p)
    return _feature_dropout(input, p, training, inplace)


@takes_tensors()
def dropout3d(input, p=0.5, training=True, inplace=False):
    """:func:`dropout` of whole channels of (N, C, D, H, W) or (C, D, H, W)."""
    return _channel_dropout("dropout3d", (4, 5), input, p, training, inplace)


@takes_tensors()
def alpha_dropout(input, p=0.5, training=False, inplace=False):
    """Dropout that keeps mean and variance of what SELU gives (Klambauer et al., 2017)."""
    _check_probability(p)
    return _alpha_dropout(input, p, training, inplace, lambda: empty_in_order_of(input, dtype=input.dtype, device=input.device))


@takes_tensors()
def feature_alpha_dropout(input, p=0.5, training=False, inplace=False):
    """:func:`alpha_dropout` of whole channels."""
    _check_probability(p)
    return _alpha_dropout(input, p, training, inplace, lambda: input.new_empty(_one_per_channel(input)))


def _channel_dropout(name, dims, input, p, training, inplace):
    """Channel dropout of a batch or, with the smaller number of dimensions, of one sample."""
    _check_probability(p)
    if input.dim() not in dims:
        raise RuntimeError(f"{name}: Expected {dims[0]}D or {dims[1]}D input, but received a {input.dim()}D input.")
    if input.dim() == dims[1]:
        return _feature_dropout(input, p, training, inplace)
    result = _feature_dropout(input.unsqueeze(0), p, training, inplace)
    return input if inplace else result.squeeze(0)


def _feature_dropout(input, p, training, inplace):
    """``input`` times a mask of zeros and 1 / (1 - p), one for each sample and channel."""
    if not training or p == 0 or input.numel() == 0:
        return input
    if p == 1:
        return input.mul_(0) if inplace else input * 0
    noise = input.new_empty(_one_per_channel(input)).bernoulli_(1 - p).div_(1 - p)
    return input.mul_(noise) if inplace else input * noise


def _alpha_dropout(input, p, training, inplace, empty_mask):
    if not training or p == 0 or input.numel() == 0:
        return input
    if p == 1:
        return input.mul_(0) if inplace else input * 0
    keep = empty_mask().bernoulli_(1 - p)
    scale = 1 / math.sqrt((_SELU_LIMIT**2 * p + 1) * (1 - p))
    shift = (keep - 1) * (_SELU_LIMIT * scale) + _SELU_LIMIT * scale * p
    keep = keep * scale
    return input.mul_(keep).add_(shift) if inplace else input * keep + shift


def _one_per_channel(input):
    if input.dim() < 2:
        raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
    return (*input.shape[:2], *(1 for _ in input.shape[2:]))


def _check_probability(p):
    if p < 0 or p > 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
