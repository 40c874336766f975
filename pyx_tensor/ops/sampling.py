"""Images at the places of a grid."""
import functools
import itertools
import math
import operator

from ..core.definitions import op
from ..core.signature import Raw, T

_MODES, _PADDINGS = ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection")


# --- sums of elements at places, and what they are the gradients of ---------------------------------------------------
def _index(B, places, channels):
    """Places (N, taps, points) as indices (N, channels, taps * points), that of the first element where there is none."""
    batch, taps, points = places.shape
    return B.expand(B.reshape(B.clamp(places, 0), (batch, 1, taps * points)), (batch, channels, taps * points))


def _where_there(B, places, x):
    """x (N, C, taps, points), zeros where there is no place."""
    return B.where(B.unsqueeze(places, 1) >= 0, x, B.zeros((), dtype=x.dtype, device=x.device))


def _found(B, input, places):
    """The elements (N, C, taps, points) of images (N, C, size) at places (N, taps, points), zeros where there is none."""
    (batch, taps, points), channels = places.shape, input.shape[1]
    return _where_there(B, places, B.reshape(B.gather(input, 2, _index(B, places, channels)), (batch, channels, taps, points)))


@op(method=False, hidden=True, entry=False, grad_name="SumAt", vjp=dict(
    input=lambda B, g, input_shape, weights, places: B._spread_at(g, weights, places, input_shape[2]),
    weights=lambda B, g, input, places: B._products_at(g, input, places)))
def _sum_at(B, input: T, weights: T, places: Raw):
    """The sums (N, C, points) of an image's elements at places, with weights (N, taps, points); -1 is no place."""
    return B.sum(_found(B, input, places) * B.unsqueeze(weights, 1), 2)


@op(method=False, hidden=True, entry=False, grad_name="SpreadAt", vjp=dict(
    grad=lambda B, g, weights, places: B._sum_at(g, weights, places),
    weights=lambda B, g, grad, places: B._products_at(grad, g, places)))
def _spread_at(B, grad: T, weights: T, places: Raw, size):
    """The adjoint of `_sum_at`: images (N, C, size), each element the weighted sum of what it went into."""
    index = _index(B, places, grad.shape[1])
    parts = _where_there(B, places, B.unsqueeze(grad, 2) * B.unsqueeze(weights, 1))
    return B.scatter_add(B.zeros((*grad.shape[:2], size), dtype=grad.dtype, device=grad.device), 2, index, B.reshape(parts, tuple(index.shape)))


@op(method=False, hidden=True, entry=False, grad_name="ProductsAt", vjp=dict(
    grad=lambda B, g, input, places: B._sum_at(input, g, places),
    input=lambda B, g, input_shape, grad, places: B._spread_at(grad, g, places, input_shape[2])))
def _products_at(B, grad: T, input: T, places: Raw):
    """The products (N, taps, points) of gradients (N, C, points) and an image's elements at places, summed over the channels."""
    return B.sum(_found(B, input, places) * B.unsqueeze(grad, 2), 1)


# --- the taps of a grid: elements, and what part each has ---------------------------------------------------------------
def _reflected(B, at, slope, low, high):
    """Places mirrored at `low` and `high` until they are between them, and their derivatives."""
    if high <= low:
        return at * 0, slope * 0
    away, span = at - low, high - low
    slope = B.where(away < 0, -slope, slope)
    away = away.abs()
    turns = (away / span).floor().detach()
    rest, odd = away - span * turns, turns.remainder(2) != 0
    return B.where(odd, span - rest + low, rest + low), B.where(odd, -slope, slope)


def _padded(B, at, slope, size, padding, align_corners):
    """Places as the padding moves them, and their derivatives; what is no number is at the first element, where there is padding."""
    if padding == "zeros":
        return at, slope
    if padding == "reflection":
        at, slope = _reflected(B, at, slope, *((0.0, size - 1.0) if align_corners else (-0.5, size - 0.5)))
    nothing, last = B.zeros_like(at), B.full_like(at, size - 1)
    slope = B.where((at > 0) & (at < last), slope, nothing)
    at = B.where(at > 0, at, nothing)
    return B.where(at < last, at, last), slope


def _cubic_parts(f):
    """The parts of the four elements around a place, from its distance to the second (Keys, 1981, a = -0.75), and their derivatives."""
    a, g = -0.75, 1 - f

    def near(x):
        return ((a + 2) * x - (a + 3)) * x * x + 1, (3 * (a + 2) * x - 2 * (a + 3)) * x

    def far(x):
        return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a, (3 * a * x - 10 * a) * x + 8 * a
    parts, slopes = zip(far(f + 1), near(f), near(g), far(g + 1))
    return parts, (slopes[0], slopes[1], -slopes[2], -slopes[3])


def _place(B, at, size):
    """Whole numbers as places among `size` elements, -1 outside."""
    return B.where((at >= 0) & (at < size), at, B.full_like(at, -1)).long()


def _split(B, coordinate, size, mode, padding, align_corners):
    """(places, parts, derivatives of the parts by the coordinate) of the elements around each point along one dim."""
    scale = (size - 1) / 2 if align_corners else size / 2
    at = (coordinate + 1) * scale - (0.0 if align_corners else 0.5)
    slope = B.full_like(at, scale)
    if mode == "bicubic":
        low = at.detach().floor()
        parts, slopes = _cubic_parts(at - low)
        places = [_place(B, _padded(B, low + (k - 1), slope, size, padding, align_corners)[0], size) for k in range(4)]
        return places, parts, [s * slope for s in slopes]
    at, slope = _padded(B, at, slope, size, padding, align_corners)
    if mode == "nearest":
        return [_place(B, at.detach().round(), size)], [B.ones_like(at)], [B.zeros_like(at)]
    low = at.detach().floor()
    return [_place(B, low, size), _place(B, low + 1, size)], [low + 1 - at, at - low], [-slope, slope]


def _split_all(B, grid, size, mode, padding_mode, align_corners):
    """`_split` of each dim, the points as one: a grid's last coordinate is the first dim's."""
    points, n = B.reshape(grid, (grid.shape[0], -1, len(size))), len(size)
    return zip(*[_split(B, points[..., n - 1 - d], size[d], _MODES[mode], _PADDINGS[padding_mode], align_corners) for d in range(n)])


@op(method=False, hidden=True, entry=False, grad_name="GridTaps", returns=("weights", "places"), nondiff=("places",), vjp=dict(
    grid=lambda B, g, grid, size, mode, padding_mode, align_corners: B._grid_taps_backward(g[0], grid, size, mode, padding_mode, align_corners)))
def _grid_taps(B, grid: T, size, mode, padding_mode, align_corners):
    """The weights and places (N, taps, points) of the elements, counted through images of `size`, that a grid's points are the sums of."""
    places, parts, _ = _split_all(B, grid, size, mode, padding_mode, align_corners)
    found = []
    for at in itertools.product(*places):
        place = at[0]
        for later, n in zip(at[1:], size[1:]):
            place = B.where((place < 0) | (later < 0), B.full_like(place, -1), place * n + later)
        found.append(place)
    return B.stack([functools.reduce(operator.mul, chosen) for chosen in itertools.product(*parts)], 1), B.stack(found, 1)


@op(method=False, hidden=True)
def _grid_taps_backward(B, g: T, grid: T, size, mode, padding_mode, align_corners):
    """The gradient of a grid, from that of the weights."""
    _, parts, slopes = _split_all(B, grid, size, mode, padding_mode, align_corners)
    totals = []
    for d in range(len(size)):
        factors = [slopes[d] if other == d else parts[other] for other in range(len(size))]
        weights = [functools.reduce(operator.mul, chosen) for chosen in itertools.product(*factors)]
        totals.append(B.sum(g * B.stack(weights, 1), 1))
    return B.reshape(B.stack(totals[::-1], -1), grid.shape)


# --- the operation -------------------------------------------------------------------------------------------------------
def _why_no_samples(input, grid, interpolation_mode, padding_mode, align_corners):
    """What is wrong with images and a grid, or None."""
    given = f"but got input with sizes {list(input.shape)} and grid with sizes {list(grid.shape)}"
    if input.dtype is not grid.dtype:
        return f"grid_sampler(): expected input and grid to have the same dtype, but input has {input.dtype} and grid has {grid.dtype}"
    if input.dim() not in (4, 5) or input.dim() != grid.dim():
        return f"grid_sampler(): expected 4D or 5D input and grid with same number of dimensions, {given}"
    if grid.size(-1) != input.dim() - 2:
        return f"grid_sampler(): expected grid to have size {input.dim() - 2} in last dimension, but got grid with sizes {list(grid.shape)}"
    if input.size(0) != grid.size(0):
        return f"grid_sampler(): expected grid and input to have same batch size, {given}"
    if input.dim() == 5 and _MODES[interpolation_mode] == "bicubic":
        return "grid_sampler(): bicubic interpolation only supports 4D input"
    empty = next((d for d in range(2, input.dim()) if input.size(d) == 0), None)
    if empty is not None:
        return ("grid_sampler(): expected input to have non-empty spatial dimensions, but input has sizes "
                f"{list(input.shape)} with dimension {empty} being empty")
    return None


def _flat(B, images):
    return B.reshape(images, (*images.shape[:2], -1))


@op(method=False, explain=_why_no_samples, grad_name=lambda input, grid, *how: f"GridSampler{input.ndim - 2}DBackward0", vjp=dict(
    input=lambda B, g, input_shape, grid, interpolation_mode, padding_mode, align_corners: B._grid_sampler_input(
        g, grid, tuple(input_shape), interpolation_mode, padding_mode, align_corners),
    grid=lambda B, g, input, grid, interpolation_mode, padding_mode, align_corners: B._grid_sampler_grid(
        g, input, grid, interpolation_mode, padding_mode, align_corners)))
def grid_sampler(B, input: T, grid: T, interpolation_mode, padding_mode, align_corners):
    """`nn.functional.grid_sample` with modes as numbers.

    Args:
        interpolation_mode: 0 bilinear, 1 nearest, 2 bicubic. padding_mode: 0 zeros, 1 border, 2 reflection.
    """
    message = _why_no_samples(input, grid, interpolation_mode, padding_mode, align_corners)
    if message is not None:
        raise RuntimeError(message)
    weights, places = B._grid_taps(grid, tuple(input.shape[2:]), interpolation_mode, padding_mode, align_corners)
    return B.reshape(B._sum_at(_flat(B, input), weights, places), (*input.shape[:2], *grid.shape[1:-1]))


@op(method=False, hidden=True, entry="grid_sampler_input")
def _grid_sampler_input(B, g: T, grid: T, shape, interpolation_mode, padding_mode, align_corners):
    """The gradient of the images of `grid_sampler`."""
    weights, places = B._grid_taps(grid, shape[2:], interpolation_mode, padding_mode, align_corners)
    return B.reshape(B._spread_at(_flat(B, g), weights, places, math.prod(shape[2:])), shape)


@op(method=False, hidden=True, entry="grid_sampler_grid")
def _grid_sampler_grid(B, g: T, input: T, grid: T, interpolation_mode, padding_mode, align_corners):
    """The gradient of the grid of `grid_sampler`."""
    size = tuple(input.shape[2:])
    _, places = B._grid_taps(grid, size, interpolation_mode, padding_mode, align_corners)
    return B._grid_taps_backward(B._products_at(_flat(B, g), _flat(B, input), places), grid, size, interpolation_mode, padding_mode, align_corners)


def _of_dims(count):
    def sampler(B, input: T, grid: T, interpolation_mode, padding_mode, align_corners):
        if input.ndim != count + 2:
            raise RuntimeError(f"grid_sampler_{count}d(): expected {count + 2}D input, but got input with sizes {list(input.shape)}")
        return B.grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners)
    sampler.__name__, sampler.__doc__ = f"grid_sampler_{count}d", f"`grid_sampler` of {count} spatial dims."
    return op(method=False)(sampler)


grid_sampler_2d, grid_sampler_3d = _of_dims(2), _of_dims(3)
