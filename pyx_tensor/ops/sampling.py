"""Images at the places of a grid."""
import itertools
import math

from ..core.definitions import op
from ..core.signature import T

_MODES, _PADDINGS = ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection")


def _unnormalized(at, size, align_corners):
    """Coordinates in [-1, 1] as places among `size` elements."""
    return (at + 1) * ((size - 1) / 2) if align_corners else ((at + 1) * size - 1) / 2


def _reflected(B, at, low, high):
    """Coordinates mirrored at `low` and `high` until they are between them."""
    if high <= low:
        return at * 0
    span = high - low
    at = (at - low).abs()
    turns, rest = (at / span).floor().detach(), at - span * (at / span).floor().detach()
    return B.where(turns.remainder(2) == 0, rest + low, span - rest + low)


def _inside(B, at, size, padding_mode, align_corners):
    """Places as the padding mode moves them."""
    if padding_mode == "border":
        return at.clamp(0, size - 1)
    if padding_mode == "reflection":
        at = _reflected(B, at, 0.0, size - 1.0) if align_corners else _reflected(B, at, -0.5, size - 0.5)
        return at.clamp(0, size - 1)
    return at


class _Sampler:
    """Looks up elements of images at whole places, zeros outside."""

    def __init__(self, B, input, grid):
        self.B = B
        self.size, self.shape = tuple(input.shape[2:]), tuple(grid.shape[1:-1])
        self.images = input.reshape(*input.shape[:2], math.prod(self.size))

    def __call__(self, places):
        """The elements (N, C, *) at floating places of each dim, which are whole numbers."""
        B = self.B
        index = within = None
        for at, n in zip(places, self.size):
            at = B.where(at.isfinite(), at, B.full_like(at, -1)).clamp(-2, n + 1).long()
            here, at = (at >= 0) & (at < n), at.clamp(0, n - 1)
            index, within = (at, here) if index is None else (index * n + at, within & here)
        batch, count = self.images.size(0), math.prod(self.shape)
        found = self.images.gather(2, index.reshape(batch, 1, count).expand(batch, self.images.size(1), count))
        found = B.where(within.reshape(batch, 1, count), found, B.zeros((), dtype=found.dtype, device=found.device))
        return found.reshape(batch, -1, *self.shape)


def _no_gradient(grid):
    """Zero, through which the grid gets a gradient of zeros."""
    return (grid * 0).sum() if grid.requires_grad else 0


def _cubic_weights(part):
    """The weights of the four elements around a place, from its distance to the second (Keys, 1981, a = -0.75)."""
    a = -0.75

    def near(x):
        return ((a + 2) * x - (a + 3)) * x * x + 1

    def far(x):
        return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return far(part + 1), near(part), near(1 - part), far(2 - part)


def _bicubic(B, sampler, places, padding_mode, align_corners):
    lows = [at.detach().floor() for at in places]
    rows, columns = [_cubic_weights(at - low) for at, low in zip(places, lows)]
    total = None
    for i, j in itertools.product(range(4), repeat=2):
        at = [_inside(B, low + k - 1, n, padding_mode, align_corners) for low, k, n in zip(lows, (i, j), sampler.size)]
        found = sampler(at) * (rows[i] * columns[j]).unsqueeze(1)
        total = found if total is None else total + found
    return total


def _check_grid(input, grid, mode):
    if input.dtype is not grid.dtype:
        raise RuntimeError(f"grid_sampler(): expected input and grid to have the same dtype, but input has {input.dtype} and grid has {grid.dtype}")
    if grid.size(-1) != input.dim() - 2:
        raise RuntimeError(f"grid_sampler(): expected grid to have size {input.dim() - 2} in last dimension, but got grid with sizes "
                           f"{list(grid.shape)}")
    if input.dim() not in (4, 5) or input.dim() != grid.dim():
        raise RuntimeError("grid_sampler(): expected 4D or 5D input and grid with same number of dimensions, but got input with sizes "
                           f"{list(input.shape)} and grid with sizes {list(grid.shape)}")
    if input.size(0) != grid.size(0):
        raise RuntimeError("grid_sampler(): expected grid and input to have same batch size, but got input with sizes "
                           f"{list(input.shape)} and grid with sizes {list(grid.shape)}")
    if input.dim() == 5 and mode == "bicubic":
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")
    for d in range(2, input.dim()):
        if input.size(d) == 0:
            raise RuntimeError("grid_sampler(): expected input to have non-empty spatial dimensions, but input has sizes "
                               f"{list(input.shape)} with dimension {d} being empty")


@op(method=False)
def grid_sampler(B, input: T, grid: T, interpolation_mode, padding_mode, align_corners):
    """`nn.functional.grid_sample` with modes as numbers.

    Args:
        interpolation_mode: 0 bilinear, 1 nearest, 2 bicubic. padding_mode: 0 zeros, 1 border, 2 reflection.
    """
    mode, padding_mode = _MODES[interpolation_mode], _PADDINGS[padding_mode]
    _check_grid(input, grid, mode)
    n, sampler = input.dim() - 2, _Sampler(B, input, grid)
    size = sampler.size
    places = [_unnormalized(grid[..., n - 1 - d], size[d], align_corners) for d in range(n)]
    if mode == "bicubic":
        return _bicubic(B, sampler, places, padding_mode, align_corners)
    places = [_inside(B, at, s, padding_mode, align_corners) for at, s in zip(places, size)]
    if mode == "nearest":
        return sampler([at.detach().round() for at in places]) + _no_gradient(grid)
    lows = [at.detach().floor() for at in places]
    total = None
    for corner in itertools.product((0, 1), repeat=n):
        weight = None
        for at, low, c in zip(places, lows, corner):
            part = at - low if c else low + 1 - at
            weight = part if weight is None else weight * part
        found = sampler([low + c for low, c in zip(lows, corner)]) * weight.unsqueeze(1)
        total = found if total is None else total + found
    return total


def _of_dims(count):
    def sampler(B, input: T, grid: T, interpolation_mode, padding_mode, align_corners):
        if input.ndim != count + 2:
            raise RuntimeError(f"grid_sampler_{count}d(): expected {count + 2}D input, but got input with sizes {list(input.shape)}")
        return B.grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners)
    sampler.__name__, sampler.__doc__ = f"grid_sampler_{count}d", f"`grid_sampler` of {count} spatial dims."
    return op(method=False)(sampler)


grid_sampler_2d, grid_sampler_3d = _of_dims(2), _of_dims(3)
