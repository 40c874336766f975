"""Windows that slide over spatial dims, and what convolution and pooling share: their arguments, padding, im2col and col2im.

A tensor here is (samples, channels, *spatial). Windows are told by tuples with a number for each spatial dim: their size
(`kernel`), their distance (`stride`), what lies ahead of the first element (`padding`), the distance of a window's elements
(`dilation`) and how many windows there are (`grid`).
"""
import itertools
import math
from typing import NamedTuple

import numpy as np

from ..core.definitions import op
from ..core.dtype import by_name
from ..core.signature import T


# --- arguments ----------------------------------------------------------------------------------------------------
def each(value, count, complain):
    """A number for each of `count` dims, from one number or a sequence; RuntimeError(complain()) where there are others."""
    if type(value) is tuple and len(value) == count and all(type(n) is int for n in value):
        return value
    if hasattr(value, "__index__"):
        return (value.__index__(),) * count
    if not isinstance(value, (tuple, list)):
        raise TypeError(f"{complain()}; got {type(value).__name__}")
    for number in value:
        if not hasattr(number, "__index__"):
            raise TypeError(f"{complain()}; got an element of type {type(number).__name__}")
    numbers = tuple([n.__index__() for n in value])
    if len(numbers) == 1:
        return numbers * count
    if len(numbers) != count:
        raise RuntimeError(complain())
    return numbers


def cached(function, *arguments):
    """What a function with a cache gives; lists, which no cache can have for a key, count as tuples."""
    try:
        return function(*arguments)
    except TypeError:
        return function(*[tuple(a) if type(a) is list else a for a in arguments])


def extent(kernel, dilation):
    """How far a window reaches, its first and last element included."""
    return tuple([d * (k - 1) + 1 for k, d in zip(kernel, dilation)])


def grid_of(size, kernel, stride, padding, dilation):
    """How many windows fit in each dim."""
    return tuple([(n + 2 * p - e) // s + 1 for n, e, s, p in zip(size, extent(kernel, dilation), stride, padding)])


def named_sizes(name, sizes):
    """'kernel_height: 3 kernel_width: 2', as messages tell sizes."""
    words = {1: ("width",), 2: ("height", "width"), 3: ("depth", "height", "width")}.get(len(sizes))
    return " ".join(f"{name}_{word}: {size}" for word, size in zip(words, sizes)) if words else f"{name}: {list(sizes)}"


# --- padding ------------------------------------------------------------------------------------------------------
@op(method=False, grad_name="ConstantPadNd", vjp=dict(input=lambda B, g, pad: B.constant_pad_nd(g, [-n for n in pad], 0)))
def constant_pad_nd(B, input: T, pad, value=0):
    """The tensor with elements of one value put around it.

    Args:
        pad: how many before and after along the last dim, then along the one before it, and so on. Negative ones take away.
        value: of the new elements.

    Raises:
        RuntimeError: pad has an odd length, is for more dims than there are, or takes away more than there is.
    """
    _check_pad(input, pad)
    shape, inner, outer = list(input.shape), [], []
    for dim, (before, after) in _pads(input.ndim, pad):
        size = shape[dim] + before + after
        if size < 0 or shape[dim] + min(before, 0) + min(after, 0) < 0:
            raise RuntimeError(f"The input size {shape[dim]}, plus negative padding {before} and {after} resulted in a negative output size, "
                               f"which is invalid. Check dimension {dim} of your input.")
        inner.append((max(-before, 0), shape[dim] - max(-after, 0)))
        outer.append((max(before, 0), size - max(after, 0)))
        shape[dim] = size
    kept = B._index_basic(input, tuple([slice(a, b) for a, b in inner]))
    if kept.shape == tuple(shape):
        return B.clone(kept)
    index = tuple([slice(a, b) for a, b in outer])
    if value == 0:
        return B._view_backward(kept, tuple(shape), "_index_basic", (index,))
    return B._view_scatter(B.full(tuple(shape), value, dtype=input.dtype, device=input.device), kept, "_index_basic", (index,))


def _check_pad(input, pad):
    if len(pad) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    if len(pad) > 2 * input.ndim:
        raise RuntimeError(f"Padding length should be less than or equal to two times the input dimension but got padding length {len(pad)} "
                           f"and input of dimension {input.ndim}")


def _pads(ndim, pad):
    """(dim, (before, after)) for every dim."""
    padded = len(pad) // 2
    for dim in range(ndim):
        last = ndim - 1 - dim
        yield dim, (tuple(pad[2 * last:2 * last + 2]) if last < padded else (0, 0))


# --- im2col and col2im --------------------------------------------------------------------------------------------
def covered(kernel, grid, stride, dilation):
    """The size of what all windows together cover."""
    return [(g - 1) * s + e if g else 0 for g, s, e in zip(grid, stride, extent(kernel, dilation))]


def _pad_for(size, reach, padding):
    """`constant_pad_nd`'s argument that makes the spatial dims what windows cover."""
    return [n for size, reach, p in reversed(list(zip(size, reach, padding))) for n in (p, reach - size - p)]


@op(method=False, hidden=True, entry="im2col", grad_name="Im2Col", vjp=dict(input=lambda B, g, input_shape, kernel, grid, stride, padding, dilation:
    B._col2im(g, input_shape[2:], kernel, grid, stride, padding, dilation)))
def _im2col(B, input: T, kernel, grid, stride, padding, dilation):
    """The windows as columns: (samples, channels * elements of a window, windows); zeros outside of the input."""
    n = len(kernel)
    if not math.prod(grid):
        return B.zeros((input.shape[0], input.shape[1] * math.prod(kernel), 0), dtype=input.dtype, device=input.device)
    x = B.constant_pad_nd(input, _pad_for(input.shape[2:], covered(kernel, grid, stride, dilation), padding), 0)
    for d in range(n):
        x = B._slice(B._unfold(x, 2 + d, dilation[d] * (kernel[d] - 1) + 1, stride[d]), -1, None, None, dilation[d])
    x = B.permute(x, (0, 1, *range(2 + n, 2 + 2 * n), *range(2, 2 + n)))
    return B.reshape(x, (x.shape[0], x.shape[1] * math.prod(kernel), math.prod(grid)))


@op(method=False, hidden=True, entry="col2im", grad_name="Col2Im", vjp=dict(input=lambda B, g, kernel, grid, stride, padding, dilation:
    B._im2col(g, kernel, grid, stride, padding, dilation)))
def _col2im(B, input: T, size, kernel, grid, stride, padding, dilation):
    """The adjoint of `_im2col`: every element of a (samples, channels, *size) tensor is the sum of its copies in the columns."""
    samples, channels = input.shape[0], input.shape[1] // max(math.prod(kernel), 1)
    reach = covered(kernel, grid, stride, dilation)
    result = B.zeros((samples, channels, *reach), dtype=input.dtype, device=input.device)
    columns = B.reshape(input, (samples, channels, math.prod(kernel), *grid))
    for at, place in enumerate(itertools.product(*map(range, kernel)) if math.prod(grid) else ()):
        index = (slice(None), slice(None), *[slice(k * d, k * d + (g - 1) * s + 1, s) for k, d, g, s in zip(place, dilation, grid, stride)])
        result = B.add(result, B._view_backward(B.select(columns, 2, at), tuple(result.shape), "_index_basic", (index,)))
    return B.constant_pad_nd(result, [-p if at % 2 == 0 else n for at, (p, n) in enumerate(_crop(size, reach, padding))], 0)


def _crop(size, reach, padding):
    pairs = reversed(list(zip(size, reach, padding)))
    return [pair for n, covered, p in pairs for pair in ((p, 0), (0, n + p - covered))]


# --- resampling ---------------------------------------------------------------------------------------------------
class Taps(NamedTuple):
    """What results along a dim are sums of: ndarrays (taps, results) of places and weights, or None for weights where each is 1 tap of 1."""
    places: np.ndarray
    weights: np.ndarray | None

    def of(self, B, x, dim):
        """(places, weights or None) of each tap as tensors that fit x. Taps with a weight of 0 everywhere are left out."""
        shape = [1] * x.ndim
        shape[dim] = -1
        for place, weight in zip(self.places, self.places if self.weights is None else self.weights):
            if self.weights is None:
                yield B.tensor(place.tolist(), dtype=by_name["int64"], device=x.device), None
            elif weight.any():
                yield (B.tensor(place.tolist(), dtype=by_name["int64"], device=x.device),
                       B.reshape(B.tensor(weight.tolist(), dtype=x.dtype, device=x.device), shape))


@op(method=False, hidden=True, entry="resample", grad_name="Resample", vjp=dict(
    input=lambda B, g, input_shape, dim, taps: B._resample_backward(g, dim, input_shape[dim], taps)))
def _resample(B, input: T, dim, taps):
    """The sum over taps t of weights[t][o] * input[places[t][o]] along a dim, for every o."""
    total = None
    for place, weight in taps.of(B, input, dim):
        part = B.index_select(input, dim, place)
        part = part if weight is None else B.mul(part, weight)
        total = part if total is None else B.add(total, part)
    return total


@op(method=False, hidden=True, entry="resample_backward", grad_name="ResampleBackward", vjp=dict(
    grad=lambda B, g, dim, size, taps: B._resample(g, dim, taps)))
def _resample_backward(B, grad: T, dim, size, taps):
    """The adjoint of `_resample`: every element is the weighted sum of what it went into."""
    total = B.zeros((*grad.shape[:dim], size, *grad.shape[dim + 1:]), dtype=grad.dtype, device=grad.device)
    for place, weight in taps.of(B, grad, dim):
        total = B.index_add(total, dim, place, grad if weight is None else B.mul(grad, weight))
    return total
