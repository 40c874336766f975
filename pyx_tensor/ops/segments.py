"""Reductions of consecutive parts of a dim."""
import math

import numpy as np

from ..core.definitions import op
from ..core.signature import Bool, Int, Number, Raw, T

# What a reduction starts from, and the operation that gathers rows at positions.
_KINDS = {"sum": (0.0, "sum"), "mean": (0.0, "sum"), "prod": (1.0, "prod"), "max": (-math.inf, "amax"), "min": (math.inf, "amin")}
_KINDS["amax"], _KINDS["amin"] = _KINDS["max"], _KINDS["min"]


def _refuse(condition, message):
    if condition:
        raise RuntimeError(f"segment_reduce(): {message}")


def _parts(data, lengths, offsets, axis, unsafe):
    """How long each row's parts are, as integers (rows, parts + 2): first and last what belongs to none."""
    given = lengths if lengths is not None else offsets
    if given.dtype.is_floating_point or given.dtype.is_complex or given.dtype.name == "bool":
        raise NotImplementedError(f"segment_reduce(): lengths and offsets of dtype {given.dtype} aren't implemented, integers are")
    _refuse(not given.ndim or axis != given.ndim - 1 or data.ndim <= axis,
            f"Expected axis to be the last dimension of {'lengths' if given is lengths else 'offsets'} but got {axis}.")
    _refuse(given.shape[:-1] != data.shape[:axis], f"lengths or offsets of shape {list(given.shape)} don't fit data of shape {list(data.shape)}")
    numbers = np.asarray(given.detach()._host_array(), np.int64).reshape(math.prod(data.shape[:axis]), given.shape[-1])
    size = data.shape[axis]
    if lengths is None:
        _refuse(not numbers.shape[1], "offsets name at least one place")
        start, numbers = numbers[:, :1], np.diff(numbers, axis=1)
    else:
        start = np.zeros((len(numbers), 1), np.int64)
        _refuse(not unsafe and (numbers.sum(1) != size).any(), "Expected all rows of lengths along axis to sum to data.size(lengths.dim()-1) when !unsafe.")
    rest = size - start - numbers.sum(1, keepdims=True)
    parts = np.concatenate([start, numbers, rest], 1)
    _refuse((parts < 0).any(), "lengths contains negative value, or the parts reach beyond the data")
    return parts


@op(method=False)
def segment_reduce(B, data: T, reduce, *, lengths: Raw = None, indices: Raw = None, offsets: Raw = None, axis: Int = 0, unsafe: Bool = False,
                   initial: Number = None):
    """One number for each of the consecutive parts of a dim: of shape (*before, parts, *behind) for data of shape (*before, size, *behind).

    Args:
        reduce: 'sum', 'mean', 'max', 'min' or 'prod'.
        lengths: how many elements each part has, of shape (*before, parts). offsets: where parts begin and where the last one ends, of shape
            (*before, parts + 1), instead of lengths.
        axis: the dim, the last of `lengths`. unsafe: the lengths needn't sum to its size.
        initial: a number that takes part in each reduction. Without it the result of no elements is 0, NaN, -inf, inf or 1.

    >>> import pyx_tensor as torch
    >>> torch.segment_reduce(torch.tensor([1., 2., 3., 4.]), "sum", lengths=torch.tensor([1, 3]))
    tensor([1., 9.])

    Raises:
        RuntimeError: neither lengths nor offsets are given, or they don't fit the data.
        NotImplementedError: the data aren't floating-point numbers.
    """
    _refuse(reduce not in _KINDS, f"reduce argument must be either {', '.join(_KINDS)}, got {reduce}")
    _refuse(indices is not None, "indices based reduction is not supported.")
    _refuse(lengths is None and offsets is None, "Either lengths or offsets must be defined.")
    if not data.dtype.is_floating_point:
        raise NotImplementedError(f"segment_reduce(): not implemented for data of dtype {data.dtype}")
    axis = axis % data.ndim if data.ndim else axis
    parts = _parts(data, lengths, offsets, axis, unsafe)
    rows, count = parts.shape
    before, behind = tuple(data.shape[:axis]), tuple(data.shape[axis + 1:])
    index = B.from_numpy(np.repeat(np.arange(parts.size), parts.reshape(-1))).to(data.device)
    start, kind = _KINDS[reduce]
    into = B.full((parts.size, *behind), start, dtype=data.dtype, device=data.device)
    flat = B.reshape(data, (index.numel(), *behind))
    gathered = B.index_add(into, 0, index, flat) if kind == "sum" else B.index_reduce(into, 0, index, flat, kind)
    result = B.reshape(B._slice(B.reshape(gathered, (rows, count, *behind)), 1, 1, count - 1, 1), (*before, count - 2, *behind))
    result = result if initial is None else _with_initial(B, result, reduce, initial)
    if reduce != "mean":
        return result
    sizes = B.tensor(parts[:, 1:-1] if initial is None else np.maximum(parts[:, 1:-1], 1), dtype=data.dtype, device=data.device)
    return B.div(result, B.reshape(sizes, (*before, count - 2) + (1,) * len(behind)))


def _with_initial(B, result, reduce, initial):
    """The initial value's part; where it is as large (or small) as the elements, the gradient is theirs."""
    if reduce in ("sum", "mean"):
        return B.add(result, initial)
    if reduce == "prod":
        return B.mul(result, initial)
    return B.masked_fill(result, (B.lt if _KINDS[reduce][1] == "amax" else B.gt)(result, initial), initial)
