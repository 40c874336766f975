"""Pooling over windows of the last dims: the greatest, the mean; and unpooling.

All dims ahead of the spatial ones are planes. What the windows of a dim see is told by a table: a list of positions for each
window, all of one length. A position that a window doesn't have is replaced by another one of it, which a maximum doesn't notice.
"""
import math
from functools import lru_cache

from ..core.definitions import op
from ..core.dtype import by_name
from ..core.naming import needs_floating
from ..core.signature import Raw, T
from .sliding import cached, covered, each, extent


_INT64 = by_name["int64"]


# --- windows as tables --------------------------------------------------------------------------------------------
def _table(size, kernel, grid, stride, padding, dilation):
    """The positions of each window along one dim, those outside replaced by the window's first one inside."""
    found = []
    for o in range(grid):
        window = range(o * stride - padding, o * stride - padding + kernel * dilation, dilation)
        inside = [i for i in window if 0 <= i < size]
        found.append([i if 0 <= i < size else inside[0] for i in window])
    return found


def tables_of(size, kernel, grid, stride, padding, dilation):
    return [_table(*numbers) for numbers in zip(size, kernel, grid, stride, padding, dilation)]


def _interleaved(lead, tables):
    return (*lead, *[n for table in tables for n in (len(table), len(table[0]) if table else 1)])


def _windows_last(B, x, lead, tables):
    """(*lead, windows, positions, windows, positions, …) with the windows first and the positions as one last dim."""
    first, n = len(lead), len(tables)
    x = B.permute(B.reshape(x, _interleaved(lead, tables)), (*range(first), *range(first, first + 2 * n, 2), *range(first + 1, first + 2 * n, 2)))
    return B.reshape(x, (*x.shape[:first + n], math.prod(x.shape[first + n:])))


def windows_by(B, input, tables):
    """The elements of all windows, as a new last dim."""
    lead = tuple(input.shape[:input.ndim - len(tables)])
    for dim, table in enumerate(tables, len(lead)):
        input = B.index_select(input, dim, B.tensor([i for window in table for i in window], dtype=_INT64, device=input.device))
    return _windows_last(B, input, lead, tables)


def indices_by(B, input, tables):
    """Where in its plane each window has its greatest element."""
    size, n = input.shape[input.ndim - len(tables):], len(tables)
    place = B.zeros((1,) * (2 * n), dtype=_INT64, device=input.device)
    for dim, table in enumerate(tables):
        shape = [1] * (2 * n)
        shape[2 * dim], shape[2 * dim + 1] = len(table), len(table[0]) if table else 1
        positions = B.reshape(B.tensor(table, dtype=_INT64, device=input.device), shape)
        place = B.add(place, B.mul(positions, math.prod(size[dim + 1:])))
    places = _windows_last(B, place, (), tables)
    chosen = B.unsqueeze(B.argmax(windows_by(B, input, tables), -1), -1)
    return B.squeeze(B.gather(B.expand(places, (*chosen.shape[:-1], places.shape[-1])), -1, chosen), -1)


def _planes(B, x, spatial):
    """All dims ahead of the spatial ones as they are, those as one."""
    return B.reshape(x, (*x.shape[:x.ndim - spatial], math.prod(x.shape[x.ndim - spatial:])))


# --- elements by their place in the plane -------------------------------------------------------------------------
def taken(B, input, indices, spatial):
    """The elements at places in their planes."""
    picked = B.gather(_planes(B, input, spatial), -1, _planes(B, indices, spatial))
    return B.reshape(picked, tuple(indices.shape))


def put(B, values, indices, size):
    """Planes of zeros of spatial sizes `size`, with values added at their places."""
    lead = tuple(values.shape[:values.ndim - len(size)])
    flat = B.zeros((*lead, math.prod(size)), dtype=values.dtype, device=values.device)
    return B.reshape(B.scatter_add(flat, -1, _planes(B, indices, len(size)), _planes(B, values, len(size))), (*lead, *size))


# --- the greatest -------------------------------------------------------------------------------------------------
@op(method=False, hidden=True, entry="max_pool", grad_name=lambda input, kernel, *_: f"MaxPool{len(kernel)}DWithIndicesBackward0", vjp=dict(input=lambda B, g, input, kernel, grid, stride, padding, dilation:
    B._max_pool_backward(g, input, kernel, grid, stride, padding, dilation)))
def _max_pool(B, input: T, kernel, grid, stride, padding, dilation):
    """The greatest element of each window; NaN where there is one."""
    n = len(kernel)
    return B.amax(windows_by(B, input, tables_of(input.shape[input.ndim - n:], kernel, grid, stride, padding, dilation)), -1)


@op(method=False, hidden=True, entry="max_pool_indices", nograd=True)
def _max_pool_indices(B, input: T, kernel, grid, stride, padding, dilation):
    """Where in its plane each window has its greatest element, the first of equals."""
    return indices_by(B, input, tables_of(input.shape[input.ndim - len(kernel):], kernel, grid, stride, padding, dilation))


@op(promote="common", method=False, hidden=True, entry="max_pool_backward")
def _max_pool_backward(B, grad: T, input: T, kernel, grid, stride, padding, dilation):
    """The gradient of max pooling: what arrives at a window goes to its greatest element."""
    indices = B._max_pool_indices(input.detach(), kernel, grid, stride, padding, dilation)
    return put(B, grad, indices, tuple(input.shape[input.ndim - len(kernel):]))


# --- the mean -----------------------------------------------------------------------------------------------------
def _counts(B, like, size, kernel, grid, stride, padding, include_pad, divisor):
    """How many elements each window counts, shaped to broadcast along the windows; one number where it is the same for all."""
    if divisor:
        return divisor
    result = None
    for d, (n, k, g, s, p) in enumerate(zip(size, kernel, grid, stride, padding)):
        counts = window_counts(n, k, g, s, p, include_pad)
        along = B.reshape(B.tensor(counts, dtype=like.dtype, device=like.device), (-1,) + (1,) * (len(size) - 1 - d))
        result = along if result is None else B.mul(result, along)
    return result


def window_counts(size, kernel, grid, stride, padding, include_pad):
    """How many elements each window along a dim counts: of the padded input, or those of the input alone."""
    starts = [o * stride - padding for o in range(grid)]
    if include_pad:
        return [min(start + kernel, size + padding) - start for start in starts]
    return [max(min(start + kernel, size) - max(start, 0), 1) for start in starts]


@op(method=False, hidden=True, entry="avg_pool", grad_name=lambda input, kernel, *_: f"AvgPool{len(kernel)}DBackward0", vjp=dict(input=lambda B, g, input_shape, kernel, grid, stride, padding, include_pad, divisor:
    B._avg_pool_backward(g, tuple(input_shape[len(input_shape) - len(kernel):]), kernel, grid, stride, padding, include_pad, divisor)))
def _avg_pool(B, input: T, kernel, grid, stride, padding, include_pad, divisor):
    """The sum of each window over the number of its elements, or over `divisor`."""
    n = len(kernel)
    first, size = input.ndim - n, tuple(input.shape[input.ndim - n:])
    reach = covered(kernel, grid, stride, (1,) * n)
    x = B.constant_pad_nd(input, [m for i, r, p in reversed(list(zip(size, reach, padding))) for m in (p, r - i - p)], 0)
    for d in range(n):
        x = B.sum(B._unfold(x, first + d, kernel[d], stride[d]), -1)
    return B.div(x, _counts(B, input, size, kernel, grid, stride, padding, include_pad, divisor))


@op(method=False, hidden=True, entry="avg_pool_backward", grad_name="AvgPoolBackward", vjp=dict(
    grad=lambda B, g, kernel, grid, stride, padding, include_pad, divisor: B._avg_pool(g, kernel, grid, stride, padding, include_pad, divisor)))
def _avg_pool_backward(B, grad: T, size, kernel, grid, stride, padding, include_pad, divisor):
    """The gradient of average pooling's input: each window's share to all of its elements."""
    first = grad.ndim - len(kernel)
    x = B.div(grad, _counts(B, grad, size, kernel, grid, stride, padding, include_pad, divisor))
    for d, (k, g, s, r) in enumerate(zip(kernel, grid, stride, covered(kernel, grid, stride, (1,) * len(kernel))), first):
        shape = (*x.shape[:d], r, *x.shape[d + 1:])
        spread = [B._view_backward(x, shape, "_slice", (d, t, t + (g - 1) * s + 1, s)) for t in range(k)]
        x = spread[0]
        for part in spread[1:]:
            x = B.add(x, part)
    pads = [m for i, r, p in reversed(list(zip(size, x.shape[first:], padding))) for m in (-p, i + p - r)]
    return B.constant_pad_nd(x, pads, 0)


# --- arguments ----------------------------------------------------------------------------------------------------
def _words(spatial):
    return {1: "one", 2: "two", 3: "three"}[spatial]


def read_windows(name, spatial, kernel_size, stride, padding, dilation=1):
    """kernel, stride, padding and dilation as tuples; no stride is the kernel's."""
    def numbers(what, value, or_omitted=""):
        return each(value, spatial, lambda: f"{name}: {what} must either be {or_omitted}a single int, or a tuple of {_words(spatial)} ints")
    kernel = numbers("kernel_size", kernel_size)
    given = stride is not None and not (isinstance(stride, (tuple, list)) and not stride)
    return kernel, numbers("stride", stride, "omitted, ") if given else kernel, numbers("padding", padding), numbers("dilation", dilation)


@lru_cache(256, typed=True)
def _plan(name, spatial, shape, kernel_size, stride, padding, dilation, ceil_mode):
    """(kernel, grid, stride, padding, dilation) with a number for each spatial dim; RuntimeError where something doesn't fit."""
    if len(shape) not in (spatial + 1, spatial + 2) or 0 in shape[len(shape) - spatial - 1:]:
        raise RuntimeError(f"{name}: Expected {spatial + 1}D or {spatial + 2}D (batch mode) tensor with optional 0 dim batch size for input, "
                           f"but got:{list(shape)}")
    kernel, stride, padding, dilation = read_windows(name, spatial, kernel_size, stride, padding, dilation)
    return kernel, _pooled_grid(name, shape, kernel, stride, padding, dilation, ceil_mode), stride, padding, dilation


def _pooled_grid(name, shape, kernel, stride, padding, dilation, ceil_mode):
    """How many windows there are; RuntimeError for numbers that don't fit."""
    spatial = len(kernel)
    if min(stride) <= 0:
        raise RuntimeError("stride should not be zero" if 0 in stride else f"stride should be greater than zero, but got {list(stride)}")
    if min(kernel) <= 0:
        raise RuntimeError(f"kernel size should be greater than zero, but got {list(kernel)}")
    if min(dilation) <= 0:
        raise RuntimeError(f"dilation should be greater than zero, but got {list(dilation)}")
    if min(padding) < 0:
        raise RuntimeError(f"pad must be non-negative, but got pad: {min(padding)}")
    for k, p, d in zip(kernel, padding, dilation):
        if 2 * p > k:
            raise RuntimeError(f"pad should be at most half of effective kernel size, but got pad={p}, kernel_size={k} and dilation={d}")
    size = shape[len(shape) - spatial:]
    grid = []
    for n, e, s, p in zip(size, extent(kernel, dilation), stride, padding):
        count = (n + 2 * p - e + (s - 1 if ceil_mode else 0)) // s + 1
        grid.append(count - 1 if ceil_mode and (count - 1) * s >= n + p else count)
    if min(grid) < 1:
        if spatial == 1:
            raise RuntimeError(f"{name}() Invalid computed output size: {grid[0]}")
        channels = shape[len(shape) - spatial - 1]
        raise RuntimeError(f"Given input size: ({'x'.join(map(str, (channels, *size)))}). Calculated output size: "
                           f"({'x'.join(map(str, (channels, *[max(g, 0) for g in grid])))}). Output size is too small")
    return tuple(grid)


_MAX_POOL = {1: "max_pool1d", 2: "max_pool2d", 3: "max_pool3d"}


def _max_arguments(spatial, input, kernel_size, stride, padding, dilation, ceil_mode):
    name = _MAX_POOL[spatial]
    plan = cached(_plan, name, spatial, input.shape, kernel_size, stride, padding, dilation, ceil_mode)
    if not input.dtype.is_floating_point and (input.dtype.name == "bool" or spatial == 1 or input.dtype.is_complex):
        raise NotImplementedError(f"\"{name}\" not implemented for '{input.dtype}'")
    return plan


# --- public -------------------------------------------------------------------------------------------------------
def _define_max(spatial):
    def pool(B, input: T, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False):
        return B._max_pool(input, *_max_arguments(spatial, input, kernel_size, stride, padding, dilation, ceil_mode))

    def pool_with_indices(B, input: T, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False):
        arguments = _max_arguments(spatial, input, kernel_size, stride, padding, dilation, ceil_mode)
        return B._max_pool(input, *arguments), B._max_pool_indices(input.detach(), *arguments)

    pool.__name__, pool_with_indices.__name__ = f"max_pool{spatial}d", f"max_pool{spatial}d_with_indices"
    pool.__doc__ = f"""The greatest element of each window over the last {_words(spatial)} dim{'s' * (spatial > 1)}.

    Args:
        input: (N, C, *) or (C, *).
        kernel_size, stride, dilation: the windows' size, distance (by default their size) and the distance of their elements.
        padding: how far windows reach beyond the input, at most half of their size; what lies there counts as nothing.
        ceil_mode: windows that are partly beyond the end count too.

    Raises:
        RuntimeError: the windows don't fit.
    """
    pool_with_indices.__doc__ = f"`max_pool{spatial}d`, and where in its plane each greatest element stands."
    return op(method=False)(pool), op(method=False, hidden=spatial > 1)(pool_with_indices)


def _define_avg(spatial):
    name = f"avg_pool{spatial}d"

    def pool(B, input: T, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
        if divisor_override == 0:
            raise RuntimeError("divisor must be not zero")
        kernel, grid, stride, padding, _ = cached(_plan, name, spatial, input.shape, kernel_size, stride, padding, 1, ceil_mode)
        needs_floating(name, input)
        return B._avg_pool(input, kernel, grid, stride, padding, count_include_pad, divisor_override or 0)

    pool.__name__ = name
    pool.__doc__ = f"""The mean of each window over the last {_words(spatial)} dim{'s' * (spatial > 1)}.

    Args:
        input: (N, C, *) or (C, *).
        kernel_size, stride: the windows' size and distance (by default their size).
        padding: zeros at both ends, at most half of a window.
        ceil_mode: windows that are partly beyond the end count too.
        count_include_pad: the zeros of the padding count as elements.
        divisor_override: what sums are divided by instead of the number of elements.

    Raises:
        RuntimeError: the windows don't fit.
    """
    return op(method=False, hidden=spatial > 1)(pool)


max_pool1d, max_pool1d_with_indices = _define_max(1)
max_pool2d, max_pool2d_with_indices = _define_max(2)
max_pool3d, max_pool3d_with_indices = _define_max(3)
avg_pool1d, avg_pool2d, avg_pool3d = _define_avg(1), _define_avg(2), _define_avg(3)


@op(method=False, hidden=True, grad_name=lambda input, indices, size: f"MaxUnpool{len(size)}DBackward0", vjp=dict(input=lambda B, g, indices, size: taken(B, g, indices, len(size))))
def _max_unpool(B, input: T, indices: Raw, size):
    """Planes of zeros with the input's elements at their places."""
    lead = tuple(input.shape[:input.ndim - len(size)])
    flat = B.zeros((*lead, math.prod(size)), dtype=input.dtype, device=input.device)
    return B.reshape(B.scatter(flat, -1, _planes(B, indices, len(size)), _planes(B, input, len(size))), (*lead, *size))
