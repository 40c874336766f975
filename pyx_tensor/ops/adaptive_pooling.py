"""Pooling to a given number of windows: adaptive ones, of nearly equal size, and fractional ones, whose places are drawn."""
import math
from functools import lru_cache

import numpy as np

from ..core.definitions import op
from ..core.dtype import by_name
from ..core.naming import needs_floating
from ..core.signature import Raw, T
from .pooling import put, taken
from .sliding import Taps, cached

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


def _check(name, shape, spatial):
    if len(shape) not in (spatial + 1, spatial + 2):
        if spatial == 1:
            raise RuntimeError(f"Expected 2 to 3 dimensions, but got {len(shape)}-dimensional tensor for argument #1 'self' (while checking "
                               f"arguments for {name})")
        raise RuntimeError(f"{name}(): Expected {spatial + 1}D or {spatial + 2}D tensor, but got {list(shape)}")
    for d in range(len(shape) - spatial, len(shape)):
        if shape[d] == 0:
            raise RuntimeError(f"{name}(): Expected input to have non-zero size for non-batch dimensions, but input has sizes "
                               f"{list(shape)} with dimension {d} being empty")


def _regular(size, grid):
    """The kernel of windows that are equal and don't overlap, or None."""
    return tuple([n // g for n, g in zip(size, grid)]) if all(g and n % g == 0 for n, g in zip(size, grid)) else None


@lru_cache(256, typed=True)
def _plan(name, spatial, shape, output_size):
    """(the spatial sizes, how many windows there are along each dim, the kernel of regular ones); RuntimeError where something doesn't fit."""
    _check(name, shape, spatial)
    size = tuple(shape[len(shape) - spatial:])
    grid = _output_size(name, size, output_size, spatial)
    return size, grid, _regular(size, grid)


@lru_cache(32)
def _borders(size, grid):
    """Of all windows, dim after dim, the starts and ends; and the greatest length along each dim."""
    edges = [_edges(n, g) for n, g in zip(size, grid)]
    starts, ends = ([edge[at] for along in edges for edge in along] for at in (0, 1))
    return starts, ends, tuple([max([end - start for start, end in along], default=1) for along in edges])


@lru_cache(32)
def _mean_taps(size, count):
    """The taps whose sums are the means of the windows."""
    starts, ends, (longest,) = _borders((size,), (count,))
    steps, starts, ends = np.arange(longest)[:, None], np.array(starts, np.int64), np.array(ends, np.int64)
    return Taps(np.minimum(starts + steps, ends - 1), (steps < ends - starts) / (ends - starts))


def _define_avg(spatial):
    name = f"adaptive_avg_pool{spatial}d"

    def pool(B, input: T, output_size):
        _, grid, kernel = cached(_plan, name, spatial, input.shape, output_size)
        needs_floating(name, input)
        if grid == (1,) * spatial:
            return B.mean(input, tuple(range(input.ndim - spatial, input.ndim)), True)
        if kernel is not None:
            return B._avg_pool(input, kernel, grid, kernel, (0,) * spatial, True, 0)
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


def _define_max(spatial):
    name = f"adaptive_max_pool{spatial}d"

    def pool(B, input: T, output_size):
        size, grid, kernel = cached(_plan, name, spatial, input.shape, output_size)
        needs_floating(name, input)
        if kernel is not None:
            zeros, ones = (0,) * spatial, (1,) * spatial
            return (B._max_pool(input, kernel, grid, kernel, zeros, ones), B._max_pool_indices(input.detach(), kernel, grid, kernel, zeros, ones))
        starts, ends, kernel = _borders(size, grid)
        return B._max_windows(input, *[B.tensor(places, dtype=_INT64, device=input.device) for places in (starts, ends)], grid, kernel)

    pool.__name__ = name
    pool.__doc__ = f"""The greatest elements of windows that cover the last {spatial} dim{'s' * (spatial > 1)}, and where they are in their planes.

    Args: see `adaptive_avg_pool{spatial}d`.
    """
    return op(method=False, hidden=spatial > 1)(pool)


def _only(n, dim, size):
    return [size if d == dim else 1 for d in range(n)]


@op(method=False, hidden=True, entry="max_windows", returns=("output", "indices"), nondiff=("indices",),
    grad_name=lambda input, starts, ends, grid, kernel: f"{'Adaptive' if starts.ndim == 1 else 'Fractional'}MaxPool{len(grid)}DBackward0",
    vjp=dict(input=lambda B, g, y, input_shape, grid: put(B, g[0], y[1], tuple(input_shape[len(input_shape) - len(grid):]))))
def _max_windows(B, input: T, starts: Raw, ends: Raw, grid, kernel):
    """The greatest elements of windows, and where they are in their planes.

    Args:
        starts, ends: the windows' first elements, and the ones behind their last, dim after dim, of all planes or of each; int64, (sum of grid) or
            (*, sum of grid).
        grid: how many windows there are along each dim.
        kernel: the greatest size of a window along each dim.
    """
    n, first, places = len(grid), 0, None
    size, lead = tuple(input.shape[input.ndim - n:]), tuple(input.shape[:input.ndim - n])
    for d in range(n):
        start, end = (B.unsqueeze(B._slice(edges, -1, first, first + grid[d], 1), -1) for edges in (starts, ends))
        along = B.mul(B.minimum(B.add(start, B.arange(kernel[d], device=input.device)), B.sub(end, 1)), math.prod(size[d + 1:]))
        along = B.reshape(along, (*along.shape[:-2], *_only(n, d, grid[d]), *_only(n, d, kernel[d])))
        places = along if places is None else B.add(places, along)
        first += grid[d]
    places = B.reshape(places, (*places.shape[:places.ndim - 2 * n], math.prod(grid), math.prod(kernel)))
    windows = B.expand(places, (*lead, math.prod(grid), math.prod(kernel)))
    values = B.gather(B.reshape(input, (*lead, math.prod(size))), -1, B.reshape(windows, (*lead, math.prod(grid) * math.prod(kernel))))
    chosen = B.argmax(B.reshape(values, tuple(windows.shape)), -1)
    indices = B.reshape(B.gather(windows, -1, B.unsqueeze(chosen, -1)), (*lead, *grid))
    return taken(B, input, indices, n), indices


adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d = _define_avg(1), _define_avg(2), _define_avg(3)
adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d = _define_max(1), _define_max(2), _define_max(3)


# --- fractional ---------------------------------------------------------------------------------------------------
@lru_cache(32)
def _fractional_columns(size, kernel, grid):
    """Of the windows of all dims, dim after dim, lists of: which of a plane's numbers moves it, its place among the others, their distance; and, added
    to where that leads, its start and its end. The last one of a dim is at its end."""
    columns = []
    for d, (n, k, g) in enumerate(zip(size, kernel, grid)):
        which = len(size) - 1 - d if len(size) == 2 else d           # of two numbers the first is for the width
        columns += [(which, place, (n - k) / (g - 1), 0, k) for place in range(g - 1)] + [(which, 0, 0, n - k, n)]
    return [list(column) for column in zip(*columns)]


@op(method=False, hidden=True)
def _fractional_max_pool(B, input: T, kernel, grid, samples: Raw):
    """The greatest elements of windows, and where they are. They stand where `samples` (N, C, dims), in [0, 1), say (Graham, 2015)."""
    columns = _fractional_columns(tuple(input.shape[input.ndim - len(kernel):]), kernel, grid)
    dtypes = _INT64, samples.dtype, samples.dtype, _INT64, _INT64
    which, place, step, start, end = [B.tensor(column, dtype=dtype, device=samples.device) for column, dtype in zip(columns, dtypes)]
    number = B.index_select(samples, samples.ndim - 1, which)
    moved = B.sub(B.mul(B.add(number, place), step).long(), B.mul(number, step).long())
    return B._max_windows(input, B.add(moved, start), B.add(moved, end), grid, kernel)
