"""Reductions and normalisations of the elements where a mask is True (`torch.masked`).

A mask is a bool tensor that broadcasts to the input. Elements where it is False count as if they weren't there: they take
the reduction's identity, which is also the result where a mask leaves nothing (NaN for means and variances).
"""
import math

from ..core.typeinfo import iinfo
from ..ops import namespace as ops

__all__ = ["amax", "amin", "argmax", "argmin", "cumprod", "cumsum", "log_softmax", "logaddexp", "logsumexp", "mean", "median",
           "norm", "normalize", "prod", "softmax", "softmin", "std", "sum", "var"]


def _lowest(dtype):
    """The identity of a maximum."""
    if dtype.is_floating_point or dtype.is_complex:
        return -math.inf
    return False if dtype.name == "bool" else iinfo(dtype).min


def _highest(dtype):
    """The identity of a minimum."""
    if dtype.is_floating_point:
        return math.inf
    return True if dtype.name == "bool" else iinfo(dtype).max


def _cast(input, dtype):
    return input if dtype is None else input.to(dtype)


def _check_mask(input, mask):
    if mask is not None and mask.ndim > input.ndim:
        raise IndexError(f"_broadcast_to expected broadcast-able mask, but the mask has {mask.ndim} dims and the input {input.ndim}")


def _filled(input, mask, value):
    """The input with `value` where the mask is False."""
    _check_mask(input, mask)
    if mask is None:
        return input
    return ops.where(mask.expand(input.shape), input, ops.full((), value, dtype=input.dtype, device=input.device))


def _dims(input, dim):
    """`dim` as a reduction takes it: None for all of no dims too."""
    return None if dim is None or not isinstance(dim, int) and not dim else dim


def _counted(input, dim, keepdim, mask):
    """How many elements are left along dims, as the input's dtype."""
    mask = ops.ones((), dtype=ops.ones((), device=input.device).ne(0).dtype, device=input.device) if mask is None else mask
    return mask.expand(input.shape).sum(_dims(input, dim), keepdim).to(input.dtype)


def _reduction(name, identity, meaning):
    def reduce(input, dim=None, *, keepdim=False, dtype=None, mask=None):
        input = _cast(input, dtype)
        dims = () if _dims(input, dim) is None else dim
        return getattr(ops, name)(_filled(input, mask, identity(input.dtype)), dims, keepdim)
    reduce.__name__ = reduce.__qualname__ = name
    reduce.__doc__ = f"""The {meaning} of the elements where the mask is True, of all or along dims.

    Args:
        dim: an int, several, or None for all. keepdim: leave reduced dims with size 1.
        dtype: to compute in. mask: bool, broadcast to the input; None counts every element.
    """
    return reduce


amax = _reduction("amax", _lowest, "largest")
amin = _reduction("amin", _highest, "smallest")


def sum(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The sum of the elements where the mask is True, of all or along dims; small integers sum as int64.

    >>> import pyx_tensor as torch
    >>> torch.masked.sum(torch.tensor([[1, 2], [3, 4]]), 1, mask=torch.tensor([[True, False], [True, True]]))
    tensor([1, 7])
    """
    return ops.sum(_filled(_cast(input, dtype), mask, 0), _dims(input, dim), keepdim)


def prod(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The product of the elements where the mask is True, of all or along dims."""
    return ops.prod(_filled(_cast(input, dtype), mask, 1), _dims(input, dim), keepdim)


def mean(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The mean of the elements where the mask is True, of all or along dims; NaN of none. Integers average as float32."""
    input = _cast(input, dtype)
    if not (input.is_floating_point() or input.is_complex()):
        input = input.float()
    if mask is None:
        return ops.mean(input, _dims(input, dim), keepdim)
    return sum(input, dim, keepdim=keepdim, mask=mask) / _counted(input, dim, keepdim, mask)


def var(input, dim=None, unbiased=None, *, correction=None, keepdim=False, dtype=None, mask=None):
    """The variance of the elements where the mask is True, of all or along dims.

    Args:
        correction: subtracted from the count, 1 by default (`unbiased=False`: 0). The others as for `sum`.
    """
    if unbiased is not None and correction is not None:
        raise ValueError("Only one of unbiased and correction may be given")
    correction = (1 if unbiased is None or unbiased else 0) if correction is None else correction
    input = _cast(input, dtype)
    if not (input.is_floating_point() or input.is_complex()):
        input = input.float()
    average = mean(input, dim, keepdim=True, mask=mask)
    away = _filled(input - average, mask, 0)
    square = (away * away.conj()).real if away.is_complex() else away * away
    count = _counted(square, dim, keepdim, mask)
    return (square.sum(_dims(input, dim), keepdim) / (count - correction).clamp(min=0)).to(input.dtype)


def std(input, dim=None, unbiased=None, *, correction=None, keepdim=False, dtype=None, mask=None):
    """The square root of `var`."""
    return ops._root(var(input, dim, unbiased, correction=correction, keepdim=keepdim, dtype=dtype, mask=mask))


def norm(input, ord=2.0, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The `ord`-norm of the elements where the mask is True, of all or along dims."""
    input = _cast(input, dtype)
    return ops.norm(_filled(input, mask, math.inf if ord < 0 else 0), ord, _dims(input, dim), keepdim)


def median(input, dim=-1, *, keepdim=False, dtype=None, mask=None):
    """The median of the elements where the mask is True along a dim, the lower one of two; NaN of none."""
    input = _cast(input, dtype)
    if not input.is_floating_point():
        raise ValueError(f"input must be floating-point, got {input.dtype}")
    if mask is None:
        return ops.median(input, dim, keepdim)[0]
    return ops.nanmedian(_filled(input, mask, math.nan), dim, keepdim)[0]


# --- positions ----------------------------------------------------------------------------------------------------
def argmax(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The index of the largest element where the mask is True, along a dim or in the flattened tensor, in the input's dtype."""
    input = _cast(input, dtype)
    return ops.argmax(_filled(input, mask, _lowest(input.dtype)), dim, keepdim).to(input.dtype)


def argmin(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The index of the smallest element where the mask is True, along a dim or in the flattened tensor, in the input's dtype."""
    input = _cast(input, dtype)
    return ops.argmin(_filled(input, mask, _highest(input.dtype)), dim, keepdim).to(input.dtype)


# --- along a dim --------------------------------------------------------------------------------------------------
def cumsum(input, dim, *, dtype=None, mask=None):
    """The running sums of the elements where the mask is True."""
    return ops.cumsum(_filled(_cast(input, dtype), mask, 0), dim)


def cumprod(input, dim, *, dtype=None, mask=None):
    """The running products of the elements where the mask is True."""
    return ops.cumprod(_filled(_cast(input, dtype), mask, 1), dim)


def softmax(input, dim, *, dtype=None, mask=None):
    """`softmax` over the elements where the mask is True; the others give 0."""
    return ops.softmax(_filled(_cast(input, dtype), mask, -math.inf), dim)


def log_softmax(input, dim, *, dtype=None, mask=None):
    """The logarithm of the masked `softmax`."""
    return ops.log_softmax(_filled(_cast(input, dtype), mask, -math.inf), dim)


def softmin(input, dim, *, dtype=None, mask=None):
    """The masked `softmax` of `-input`."""
    return ops.softmax(-_filled(_cast(input, dtype), mask, math.inf), dim)


def logsumexp(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """`log(sum(exp(input)))` of the elements where the mask is True; -inf of none."""
    input = _cast(input, dtype)
    dims = tuple(range(input.ndim)) if _dims(input, dim) is None else dim
    return ops.logsumexp(_filled(input, mask, _lowest(input.dtype)), dims, keepdim).to(input.dtype)


def normalize(input, ord, dim, *, eps=1e-12, dtype=None, mask=None):
    """The elements where the mask is True divided by their `ord`-norm along a dim, or by `eps` where that is smaller."""
    input = _cast(input, dtype)
    size = norm(input, ord, dim, keepdim=True, mask=mask)
    return _filled(input, mask, 0) / size.clamp(min=eps)


# --- two operands -------------------------------------------------------------------------------------------------
def logaddexp(input, other, *, dtype=None, input_mask=None, other_mask=None):
    """`logaddexp` in which an element counts only where its tensor's mask is True."""
    input, other = _cast(input, dtype), _cast(other, dtype)
    return ops.logaddexp(_filled(input, input_mask, -math.inf), _filled(other, other_mask, -math.inf))
