"""Padding."""
from functools import lru_cache
from operator import index

import numpy as np

from ...ops import namespace as ops
from ...ops.sliding import Taps
from ._arguments import takes_tensors


def _reflected(before, size, after):
    places = np.abs(np.arange(-before, size + after))
    return np.where(places >= size, 2 * (size - 1) - places, places)


def _replicated(before, size, after):
    return np.clip(np.arange(-before, size + after), 0, size - 1)


def _wrapped(before, size, after):
    first, count = max(-before, 0), size + min(before, 0) + min(after, 0)       # what is taken away doesn't come back at the other end
    return first + np.arange(-max(before, 0), count + max(after, 0)) % count


_PLACES = {"reflect": _reflected, "replicate": _replicated, "circular": _wrapped}


@lru_cache(64)
def _steps(mode, shape, pad):
    """The dims of an input of that shape that are padded, the last first, and from where each takes its elements."""
    _check(shape, pad, mode)
    sides = [(len(shape) - 1 - at, *pad[2 * at:2 * at + 2]) for at in range(len(pad) // 2)]
    return [(dim, Taps(_PLACES[mode](before, shape[dim], after)[None], None)) for dim, before, after in sides if before or after]


@takes_tensors()
def pad(input, pad, mode="constant", value=None):
    """The input with elements put around it, or taken away where a number is negative.

    Args:
        pad: how many before and after along the last dim, then along the one before it, and so on.
        mode: ``'constant'``: new elements are ``value``, 0 by default. The others take them from the input, over the last one to three of
            (N, C, *) or (C, *): ``'reflect'`` mirrors at the border elements, ``'replicate'`` repeats those, ``'circular'`` goes on at the other end.

    Raises:
        NotImplementedError: an unknown mode, or a number of dims that the mode doesn't have.
        RuntimeError: pad has an odd length, or is greater than the mode allows.

    >>> nn.functional.pad(torch.tensor([[1., 2., 3.]]), (2, 1), mode='reflect')
    tensor([[3., 2., 1., 2., 3., 2.]])
    """
    if mode == "constant":
        return ops.constant_pad_nd(input, tuple(pad), 0 if value is None else value)
    if value is not None and value != 0:
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    if mode not in _PLACES:
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    result = input
    for dim, taps in _steps(mode, tuple(input.shape), tuple(map(index, pad))):
        result = ops._resample(result, dim, taps)
    return ops.clone(input) if result is input else result


def _check(shape, pad, mode):
    dims, ndim, shape = len(pad) // 2, len(shape), list(shape)
    if len(pad) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    if not 1 <= dims <= 3 or ndim not in (dims + 1, dims + 2):
        raise NotImplementedError(f"Padding size {len(pad)} is not supported for {ndim}D input tensor.")
    if 0 in shape[ndim - dims - 1:]:
        raise RuntimeError(f"Expected {dims + 1}D or {dims + 2}D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for "
                           f"input, but got: {shape}")
    for at in range(dims):
        before, after = pad[2 * at:2 * at + 2]
        dim = ndim - 1 - at
        if mode == "reflect" and max(before, after) >= shape[dim]:
            raise RuntimeError("Argument #4: Padding size should be less than the corresponding input dimension, but got: padding "
                               f"({before}, {after}) at dimension {dim} of input {shape}")
        if mode == "circular" and max(before, after) > shape[dim]:
            raise RuntimeError("Padding value causes wrapping around more than once.")
        if shape[dim] + before + after <= 0 or (mode == "circular" and shape[dim] + min(before, 0) + min(after, 0) <= 0):
            raise RuntimeError(f"The input size {shape[dim]} at dimension {dim}, plus padding {before} and {after}, resulted in an invalid "
                               f"output size of {shape[dim] + before + after}, or nothing is left to go on with")
