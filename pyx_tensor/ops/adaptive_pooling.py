"""Pooling to a given number of windows: adaptive ones, of nearly equal size, and fractional ones, whose places are drawn."""
import math
from functools import lru_cache

import numpy as np

from ..core.definitions import op
from ..core.dtype import by_name
from ..core.signature import Raw, T
from .pooling import indices_by, put, taken
from .sliding import Taps

_INT64 = by_name["int64"]


def _edges(size, count):
    """(start, end) of each of `count` windows that together cover `size` elements."""
    return [(o * size // count, -(-(o + 1) * size // count)) for o in range(count)]


def _output_size(name, size, output_size, spatial):
    """A number for each dim; None keeps the input's."""
    given = (output_size,) * spatial if hasattr(output_size, "__index__") or output_size is None else tuple(output_size)
    if len(given) != spatial:
        if spatial == 1:
            raise RuntimeError(f"{name}() argument 'output_size' should contain one int (got {len(given)})")
        raise RuntimeError(f"{name}: output_size must be {spatial}")
    sizes = tuple([n if o is None else o.__index__() for o, n in zip(given, size)])
    if min(sizes) < 0:
        raise RuntimeError(f"{name}: elements of output_size must be greater than or equal to 0 but received {{{', '.join(map(str, sizes))}}}")
    return sizes


def _check(name, input, spatial):
    if input.ndim not in (spatial + 1, spatial + 2):
        if spatial == 1:
            raise RuntimeError(f"Expected 2 to 3 dimensions, but got {input.ndim}-dimensional tensor for argument #1 'self' (while checking "
                               f"arguments for {name})")
        raise RuntimeError(f"{name}(): Expected {spatial + 1}D or {spatial + 2}D tensor, but got {list(input.shape)}")
    for d in range(input.ndim - spatial, input.ndim):
        if input.shape[d] == 0:
            raise RuntimeError(f"{name}(): Expected input to have non-zero size for non-batch dimensions, but input has sizes "
                               f"{list(input.shape)} with dimension {d} being empty")
    if not input.dtype.is_floating_point:
        raise NotImplementedError(f"\"{name}\" not implemented for '{input.dtype}'")


def _regular(size, grid):
    """The kernel of windows that are equal and don't overlap, or None."""
    return tuple([n // g for n, g in zip(size, grid)]) if all(g and n % g == 0 for n, g in zip(size, grid)) else None


@lru_cache(32)
def _mean_taps(size, count):
    """The taps whose sums are the means of the windows."""
    table, = _adaptive_tables((size,), (count,))
    lengths = np.array([end - start for start, end in _edges(size, count)])
    places = np.array(table, np.int64).T
    return Taps(places, (np.arange(len(places))[:, None] < lengths) / lengths)


def _define_avg(spatial):
    name = f"adaptive_avg_pool{spatial}d"

    def pool(B, input: T, output_size):
        _check(name, input, spatial)
        size = tuple(input.shape[input.ndim - spatial:])
        grid = _output_size(name, size, output_size, spatial)
        kernel, zeros = _regular(size, grid), (0,) * spatial
        if grid == (1,) * spatial:
            return B.mean(input, tuple(range(input.ndim - spatial, input.ndim)), True)
        if kernel is not None:
            return B._avg_pool(input, kernel, grid, kernel, zeros, True, 0)
        if 0 in grid:
            return B.mul(B.sum(input), B.zeros((*input.shape[:input.ndim - spatial], *grid), dtype=input.dtype, device=input.device))
        for d in range(input.ndim - spatial, input.ndim):
            input = B._resample(input, d, _mean_taps(input.shape[d], grid[d - input.ndim]))
        return input

    pool.__name__ = name
    pool.__doc__ = f"""The means of windows that cover the last {spatial} dim{'s' * (spatial > 1)}, as many as the result is to have.

    Args:
        input: (N, C, *) or (C, *).
        output_size: a number for each dim, or one for all; None keeps a dim's size. Window i of n covers the elements from
            floor(i size / n) to ceil((i + 1) size / n).
    """
    return op(method=False, hidden=spatial > 1)(pool)


def _adaptive_tables(size, grid):
    tables = []
    for n, g in zip(size, grid):
        edges = _edges(n, g)
        longest = max([end - start for start, end in edges], default=1)
        tables.append([[min(start + i, end - 1) for i in range(longest)] for start, end in edges])
    return tables


def _define_max(spatial):
    name = f"adaptive_max_pool{spatial}d"

    def pool(B, input: T, output_size):
        _check(name, input, spatial)
        size = tuple(input.shape[input.ndim - spatial:])
        grid = _output_size(name, size, output_size, spatial)
        kernel, zeros, ones = _regular(size, grid), (0,) * spatial, (1,) * spatial
        if kernel is not None:
            return (B._max_pool(input, kernel, grid, kernel, zeros, ones), B._max_pool_indices(input.detach(), kernel, grid, kernel, zeros, ones))
        indices = indices_by(B, input.detach(), _adaptive_tables(size, grid))
        return B._at_indices(input, indices, spatial), indices

    pool.__name__ = name
    pool.__doc__ = f"""The greatest elements of windows that cover the last {spatial} dim{'s' * (spatial > 1)}, and where they are in their planes.

    Args: see `adaptive_avg_pool{spatial}d`.
    """
    return op(method=False, hidden=spatial > 1)(pool)


@op(method=False, hidden=True, grad_name=lambda input, indices, spatial: f"AdaptiveMaxPool{spatial}DBackward0", vjp=dict(input=lambda B, g, input_shape, indices, spatial:
    put(B, g, indices, tuple(input_shape[len(input_shape) - spatial:]))))
def _at_indices(B, input: T, indices: Raw, spatial):
    """The elements at places in their planes of the last `spatial` dims."""
    return taken(B, input, indices, spatial)


adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d = _define_avg(1), _define_avg(2), _define_avg(3)
adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d = _define_max(1), _define_max(2), _define_max(3)


# --- fractional ---------------------------------------------------------------------------------------------------
def _starts(B, samples, size, count, kernel):
    """Where the windows of each plane begin along a dim, from a number in [0, 1) for each plane (Graham, 2015)."""
    last = B.full((*samples.shape, 1), size - kernel, dtype=_INT64, device=samples.device)
    if count == 1:
        return last
    step = (size - kernel) / (count - 1)
    steps = B.arange(count - 1, device=samples.device).to(samples.dtype)
    shifted = B.mul(B.add(B.unsqueeze(samples, -1), steps), step).long()
    return B.cat([B.sub(shifted, B.unsqueeze(B.mul(samples, step).long(), -1)), last], -1)


@op(method=False, hidden=True)
def _fractional_max_pool(B, input: T, kernel, grid, samples: Raw):
    """The greatest elements of windows whose places `samples` (N, C, dims) tell, and where they are."""
    n = len(kernel)
    size, lead = tuple(input.shape[input.ndim - n:]), tuple(input.shape[:input.ndim - n])
    places = None
    for d in range(n):
        at = n - 1 - d if n == 2 else d           # of two numbers the first is for the width
        starts = _starts(B, B.select(samples, -1, at), size[d], grid[d], kernel[d])
        along = B.add(B.unsqueeze(starts, -1), B.arange(kernel[d], device=input.device))
        along = B.reshape(B.mul(along, math.prod(size[d + 1:])), (*along.shape[:2], *_only(n, d, grid[d]), *_only(n, d, kernel[d])))
        places = along if places is None else B.add(places, along)
    windows = B.reshape(places, (*lead, math.prod(grid), math.prod(kernel)))
    flat = B.reshape(input.detach(), (*lead, math.prod(size)))
    values = B.reshape(B.gather(flat, -1, B.reshape(windows, (*lead, math.prod(grid) * math.prod(kernel)))), tuple(windows.shape))
    indices = B.reshape(B.gather(windows, -1, B.unsqueeze(B.argmax(values, -1), -1)), (*lead, *grid))
    return B._at_indices(input, indices, n), indices


def _only(n, dim, size):
    return [size if d == dim else 1 for d in range(n)]
