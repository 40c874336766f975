"""Resampling images to another size."""
import math
import warnings
from functools import lru_cache

import numpy as np

from ...core.dtype import by_name
from ...ops import namespace as ops
from ...ops.sliding import Taps, cached
from ._arguments import takes_tensors
from .pooling import adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d

_DIMS = {"linear": 3, "bilinear": 4, "bicubic": 4, "trilinear": 5, "lanczos": 4}
_MODES = "nearest | linear | bilinear | bicubic | trilinear | lanczos | area | nearest-exact"
_AREA = {3: adaptive_avg_pool1d, 4: adaptive_avg_pool2d, 5: adaptive_avg_pool3d}


# --- places and weights along one dim -----------------------------------------------------------------------------
def _step(size, count, scale, align_corners, real):
    """The distance of two results in elements of the input."""
    if align_corners:
        return real(size - 1) / real(count - 1) if count > 1 else real(0)
    return real(1 / scale) if scale else real(size) / real(count)


def _nearest(size, count, scale, exact):
    """The element for each result, in the single precision that decides it in PyTorch too."""
    step = np.float32(1 / scale) if scale else np.float32(size) / np.float32(count)
    at = np.arange(count, dtype=np.float32)
    places = np.floor((at + np.float32(0.5)) * step if exact else at * step)
    return np.minimum(places.astype(np.int64), size - 1)


def _centres(size, count, scale, align_corners, real):
    """Where each result lies among the elements."""
    step, at = _step(size, count, scale, align_corners, real), np.arange(count).astype(real)
    return at * step if align_corners else (at + real(0.5)) * step - real(0.5)


def _linear(size, count, scale, align_corners, real):
    at = np.maximum(_centres(size, count, scale, align_corners, real), 0)
    low = np.minimum(at.astype(np.int64), size - 1)
    part = np.clip(at - low, 0, 1)
    return [low, np.minimum(low + 1, size - 1)], [1 - part, part]


def _cubic_filter(x, a):
    """Keys's cubic convolution kernel (1981)."""
    x = np.abs(x)
    near, far = ((a + 2) * x - (a + 3)) * x * x + 1, ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return np.where(x < 1, near, np.where(x < 2, far, 0))


def _cubic(size, count, scale, align_corners, real):
    at = _centres(size, count, scale, align_corners, real)
    low = np.floor(at).astype(np.int64)
    part = at - low
    taps = range(-1, 3)
    return [np.clip(low + t, 0, size - 1) for t in taps], [_cubic_filter(part - t, -0.75) for t in taps]


def _sinc_filter(x):
    return np.where(np.abs(x) < 3, np.sinc(x) * np.sinc(x / 3), 0)


_FILTERS = {      # half of the width, and the weight at a distance
    "bilinear": (1, lambda x: np.maximum(1 - np.abs(x), 0)), "bicubic": (2, lambda x: _cubic_filter(x, -0.5)), "lanczos": (3, _sinc_filter)}


def _antialiased(mode, size, count, scale, align_corners, real):
    """A filter as wide as the distance of results, cut off at the ends and normalised there."""
    reach, weigh = _FILTERS[mode]
    step = _step(size, count, scale, align_corners, real)
    wide = max(step, real(1))
    centre = step * (np.arange(count).astype(real) + real(0.5))
    first = np.maximum((centre - reach * wide + 0.5).astype(np.int64), 0)
    length = np.minimum((centre + reach * wide + 0.5).astype(np.int64), size) - first
    taps = np.arange(max(int(length.max()), 1))[:, None]
    weights = np.where(taps < length, weigh((taps + first - centre + real(0.5)) / wide), 0)
    return np.minimum(first + taps, size - 1), weights / weights.sum(0)


# --- public -------------------------------------------------------------------------------------------------------
@takes_tensors()
def interpolate(input, size=None, scale_factor=None, mode="nearest", align_corners=None, recompute_scale_factor=None, antialias=False):
    """Images (N, C, *) with one to three spatial dims, resampled to another size.

    Args:
        size: the spatial sizes of the result, or one for all.
        scale_factor: what the sizes are multiplied by, instead.
        mode: ``'nearest'`` or ``'nearest-exact'`` (of the centre), ``'linear'``, ``'bilinear'``, ``'trilinear'`` by the number of dims,
            ``'bicubic'``, ``'area'`` (means).
        align_corners: whether the centres of the outer elements keep their places, or the outer edges.
        recompute_scale_factor: whether places follow from the sizes, where the product with ``scale_factor`` was rounded.
        antialias: for ``'bilinear'`` and ``'bicubic'``: widen the filter where the result is smaller.

    Raises:
        ValueError: not exactly one of ``size`` and ``scale_factor``, or of another length than there are spatial dims.
        NotImplementedError: a mode that the number of dims doesn't have.

    >>> nn.functional.interpolate(torch.tensor([[[0., 2.]]]), scale_factor=2, mode='linear', align_corners=True)
    tensor([[[0.0000, 0.6667, 1.3333, 2.0000]]])
    """
    if mode in ("nearest", "area", "nearest-exact"):
        if align_corners is not None:
            raise ValueError("align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear")
    else:
        align_corners = bool(align_corners)
    grid, scales = cached(_sizes, input.shape[2:], size, scale_factor, recompute_scale_factor)
    if antialias and (mode not in _FILTERS or input.dim() != 4):
        raise ValueError("Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires a 4-D tensor as input")
    _check(input, grid, mode, antialias)
    if mode == "area":
        return _AREA[input.dim()](input, grid)
    if mode.startswith("nearest"):
        return _by_places(input, grid, scales, mode == "nearest-exact")
    return _by_taps(input, grid, scales, mode, align_corners, antialias)


@lru_cache(32)
def _nearest_taps(size, count, scale, exact):
    """The tap of the nearest element, or None where each is its own."""
    places = _nearest(size, count, scale, exact)
    return None if np.array_equal(places, np.arange(size)) else Taps(places[None], None)


def _by_places(input, grid, scales, exact):
    result = input
    for dim in reversed(range(2, input.dim())):
        size, count, scale = input.size(dim), grid[dim - 2], scales[dim - 2]
        if input.dim() == 4 and not exact and count in (size, 2 * size):        # there, and only there, PyTorch disregards the fraction of a scale
            scale = None
        taps = _nearest_taps(size, count, scale, exact)
        if taps is not None:
            result = ops._resample(result, dim, taps)
    return result


@lru_cache(32)
def _taps(mode, antialias, size, count, scale, align_corners, real):
    """The taps of a mode along one dim."""
    arguments = size, count, scale, align_corners, real
    places, weights = _antialiased(mode, *arguments) if antialias else _cubic(*arguments) if mode == "bicubic" else _linear(*arguments)
    return Taps(np.array(places, np.int64), np.array(weights, real))


def _by_taps(input, grid, scales, mode, align_corners, antialias):
    dtype = input.dtype
    if dtype.name in ("float16", "bfloat16", "uint8"):
        input = input.float()
    real = np.float64 if dtype.name == "float64" else np.float32
    for dim in reversed(range(2, input.dim())):
        g, scale = grid[dim - 2], scales[dim - 2]
        if not antialias and g == input.size(dim) and (align_corners or not scale or scale == 1):
            continue
        input = ops._resample(input, dim, _taps(mode, antialias, input.size(dim), g, scale, align_corners, real))
        if dtype.name == "uint8":           # each dim's results are whole numbers of the dtype, halves rounded up, as in PyTorch: what overshoots is cut off
            input = (input + 0.5).floor().clamp(0, 255)
    return input.to(dtype)


@lru_cache(64, typed=True)
def _sizes(spatial, size, scale_factor, recompute):
    """The spatial sizes of the result, and for each dim the scale that tells places, or None."""
    spatial = list(spatial)
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is None and scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    for what, shown, given in (("output size", "output size in (o1, o2, ...,oK) format", size),
                               ("scale_factor", "scale_factor in (s1, s2, ...,sK) format", scale_factor)):
        if isinstance(given, (tuple, list)) and len(given) != len(spatial):
            both = "Input and output" if given is size else "Input and scale_factor"
            found = f"output size of {given}" if given is size else f"scale_factor of shape {given}"
            raise ValueError(f"{both} must have the same number of spatial dimensions, but got input with spatial dimensions of {spatial} and "
                             f"{found}. Please provide input tensor in (N, C, d1, d2, ...,dK) format and {shown}.")
    if size is not None:
        if recompute:
            raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
        size = list(size) if isinstance(size, (tuple, list)) else [size] * len(spatial)
        if not all(hasattr(n, "__index__") for n in size):
            raise TypeError(f"interpolate(): argument 'size' must be an int or a tuple of ints, but got {size}")
        return tuple([n.__index__() for n in size]), [None] * len(spatial)
    factors = [float(f) for f in (scale_factor if isinstance(scale_factor, (tuple, list)) else [scale_factor] * len(spatial))]
    grid = tuple([math.floor(n * f) for n, f in zip(spatial, factors)])
    return grid, [None if recompute or f <= 0 else f for f in factors]


def _check(input, grid, mode, antialias):
    if input.dim() not in (3, 4, 5) or mode not in _MODES.split(" | "):
        raise NotImplementedError(f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {input.dim()}D) for the modes: {_MODES} (got {mode})")
    if mode in _DIMS and input.dim() != _DIMS[mode]:
        raise NotImplementedError(f"Got {input.dim()}D input, but {mode} mode needs {_DIMS[mode]}D input")
    if mode == "lanczos" and not antialias:
        raise NotImplementedError("lanczos mode is only supported with antialias=True")
    if input.size(1) == 0:
        raise RuntimeError(f"Non-empty {input.dim()}D data tensor expected but got a tensor with sizes {list(input.shape)}")
    if min((*input.shape[2:], *(() if mode == "area" else grid))) <= 0:        # there are means of no windows, too
        def tell(sizes):
            return ", ".join(f"{letter}: {n}" for letter, n in zip("DHW"[5 - input.dim():], sizes))
        raise RuntimeError(f"Input and output sizes should be greater than 0, but got input ({tell(input.shape[2:])}) output ({tell(grid)})")
    if not input.is_floating_point() and input.dtype is not by_name["uint8"]:
        raise NotImplementedError(f"\"interpolate\" not implemented for '{input.dtype}'")


@takes_tensors()
def upsample(input, size=None, scale_factor=None, mode="nearest", align_corners=None):
    """Deprecated form of :func:`interpolate`."""
    warnings.warn("`nn.functional.upsample` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=2)
    return interpolate(input, size, scale_factor, mode, align_corners)


@takes_tensors()
def upsample_nearest(input, size=None, scale_factor=None):
    """Deprecated form of :func:`interpolate`."""
    warnings.warn("`nn.functional.upsample_nearest` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=2)
    return interpolate(input, size, scale_factor, "nearest")


@takes_tensors()
def upsample_bilinear(input, size=None, scale_factor=None):
    """Deprecated form of :func:`interpolate` with aligned corners."""
    warnings.warn("`nn.functional.upsample_bilinear` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=2)
    return interpolate(input, size, scale_factor, "bilinear", align_corners=True)
