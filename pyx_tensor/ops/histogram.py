"""Counting: occurrences of whole numbers, and histograms."""
import math

from ..core.definitions import op
from ..core.dtype import by_name
from ..core.signature import Int, Number, Raw, T
from ..core.tensor import TensorBase


@op(nograd=True, hidden=True, entry="bincount", method=False)
def _bincount(B, input: T, weights: Raw, minlength):
    """`bincount` with all of its arguments in order."""
    if input.ndim != 1 or input.dtype.is_floating_point or (input.numel() and bool(B.any(B.lt(input, 0)))):
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if weights is not None and weights.shape != input.shape:
        raise RuntimeError(f"weights should be 1-d and have the same length as input, got {list(weights.shape)} and {list(input.shape)}")
    size = max(int(B.amax(input)) + 1 if input.numel() else 0, minlength)
    places = input.long()
    values = B.ones_like(places) if weights is None else weights if weights.dtype.name == "float32" else weights.double()
    return B.scatter_add(B.zeros((size,), dtype=values.dtype, device=input.device), 0, places, values)


@op(nograd=True, entry=False)
def bincount(B, input: T, weights: Raw = None, minlength=0):
    """How often 0, 1, 2 … occur in a 1-d tensor of integers, or the sums of their weights."""
    if minlength < 0:
        raise RuntimeError("minlength should be >= 0")
    return B._bincount(input, weights, minlength)


@op(nograd=True, hidden=True, entry="histc")
def _histc(B, input: T, bins, low, high):
    """`histc` with all of its arguments in order."""
    flat = B.reshape(input, (-1,))
    if low == high and flat.numel():
        low, high = B.amin(flat).item(), B.amax(flat).item()
    if low == high:
        low, high = low - 1, high + 1
    if not (math.isfinite(low) and math.isfinite(high)):
        raise RuntimeError(f"histc: range of [{low}, {high}] is not finite")
    if low > high:
        raise RuntimeError("max must be larger than min")
    flat = B.masked_select(flat, B.logical_and(B.ge(flat, low), B.le(flat, high)))
    places = B.clamp(B.div(B.mul(B.sub(flat, low), bins), high - low).long(), max=bins - 1)
    return B.bincount(places, None, bins).to(input.dtype)


@op(nograd=True, entry=False)
def histc(B, input: T, bins: Int = 100, min: Number = 0, max: Number = 0):
    """Counts of the elements in `bins` equal bins from min to max (of the data, where both are equal)."""
    if bins <= 0:
        raise RuntimeError("bins must be > 0")
    return B._histc(input, bins, min, max)


@op(nograd=True, entry=False, returns=("hist", "bin_edges"))
def histogram(B, input: T, bins, *, range=None, weight=None, density=False):
    """Counts (or sums of weights) of the elements in bins, and the bins' edges.

    Args:
        bins: how many equal bins, or a 1-d tensor of edges. range: (low, high), by default of the data.
        density: divide by the total and the widths.
    """
    flat = B.reshape(input, (-1,))
    edges = bins if isinstance(bins, TensorBase) else _edges(B, flat, bins, range)
    n = edges.shape[0] - 1
    inside = B.logical_and(B.ge(flat, edges[0]), B.le(flat, edges[-1]))
    places = B.clamp(B.sub(B.searchsorted(edges, flat, right=True), 1), min=0, max=n - 1)
    weights = inside.to(input.dtype) if weight is None else B.mul(B.reshape(weight, (-1,)), inside)
    counts = B.scatter_add(B.zeros((n,), dtype=input.dtype, device=input.device), 0, places, weights)
    if density:
        counts = B.div(counts, B.mul(B.sum(counts), B.sub(edges[1:], edges[:-1])))
    return counts, edges


def _edges(B, flat, bins, range):
    low, high = range if range is not None else (B.amin(flat).item(), B.amax(flat).item()) if flat.numel() else (0.0, 1.0)
    if low == high:
        low, high = low - 0.5, high + 0.5
    return B.linspace(low, high, bins + 1, dtype=flat.dtype, device=flat.device)


@op(nograd=True, entry=False, returns=("hist", "bin_edges"))
def histogramdd(B, input: T, bins, *, range=None, weight=None, density=False):
    """Counts (or sums of weights) of points in a grid of bins, and the edges in each dim.

    Args:
        input: (..., d), one point a row.
        bins: how many bins in each dim (one number for all), or d 1-d tensors of edges.
        range: 2·d numbers, the lowest and the highest edge of each dim; by default those of the data.
        weight: one for each point. density: divide by the total and the bins' volumes.
    """
    if input.ndim < 2:
        raise RuntimeError("torch.histogramdd: input tensor should have at least 2 dimensions, but got " + str(input.ndim))
    points, dims = B.reshape(input, (-1, input.shape[-1])), input.shape[-1]
    bins = [bins] * dims if isinstance(bins, int) else list(bins)
    if len(bins) != dims:
        raise RuntimeError("histogramdd: The size of bins must be equal to the innermost dimension of the input.")
    if range is not None and len(range) != 2 * dims:
        raise RuntimeError(f"torch.histogramdd: for a {dims}-dimensional histogram range should have {2 * dims} elements, but got {len(range)}")
    columns = B.unbind(points, 1)
    edges = [b if isinstance(b, TensorBase) else _edges(B, x, b, None if range is None else range[2 * at:2 * at + 2])
             for at, (b, x) in enumerate(zip(bins, columns))]
    count = points.shape[:1]
    places, inside = (B.full(count, value, dtype=by_name[name], device=input.device) for value, name in ((0, "int64"), (True, "bool")))
    for x, edge in zip(columns, edges):
        n = edge.shape[0] - 1
        inside = B.logical_and(inside, B.logical_and(B.ge(x, edge[0]), B.le(x, edge[-1])))
        places = B.add(B.mul(places, n), B.clamp(B.sub(B.searchsorted(edge, B.contiguous(x), right=True), 1), min=0, max=n - 1))
    weights = inside.to(input.dtype) if weight is None else B.mul(B.reshape(weight, (-1,)), inside)
    shape = [edge.shape[0] - 1 for edge in edges]
    counts = B.reshape(B.scatter_add(B.zeros((math.prod(shape),), dtype=input.dtype, device=input.device), 0, places, weights), shape)
    if density:
        counts = B.div(counts, B.sum(counts))
        for at, edge in enumerate(edges):
            counts = B.div(counts, B.reshape(B.sub(edge[1:], edge[:-1]), [1] * at + [-1] + [1] * (dims - 1 - at)))
    return counts, tuple(edges)
