"""Sorting, order statistics, distinct elements."""
import math

from ..core.definitions import op, primitive
from ..core.dtype import by_name
from ..core.signature import Dim, Int, T
from ..core.tensor import TensorBase

BOOL = by_name["bool"]
_PAIR = dict(returns=("values", "indices"), nondiff=("indices",))


def _picked_vjp(B, g, y, input_shape, dim):
    """The gradient goes to where the elements came from."""
    zeros = B.zeros(input_shape, dtype=g[0].dtype, device=g[0].device)
    return B.scatter_add(zeros, dim, y[1], g[0]) if input_shape else B.reshape(g[0], ()) if g[0].numel() else zeros


def _picked_one_vjp(B, g, y, input_shape, dim, keepdim):
    grad, index = g[0], y[1]
    if not keepdim and input_shape:
        grad, index = B.unsqueeze(grad, dim), B.unsqueeze(index, dim)
    zeros = B.zeros(input_shape, dtype=grad.dtype, device=grad.device)
    return B.scatter_add(zeros, dim, index, grad) if input_shape else grad


@primitive(hidden=True, entry="sort", grad_name="Sort", vjp=dict(input=_picked_vjp), **_PAIR)
def _sort(B, input: T, dim: Dim, descending, stable):
    """Values in order, and where they were."""


def _needs_order(name, input, error=RuntimeError):
    if input.dtype.is_complex:
        raise error(f"{name}: complex tensors have no order, got {input.dtype}")


@op(exact_out=True, **_PAIR)
def sort(B, input: T, dim=-1, descending=False, stable=False):
    """The elements of a dim in rising order (or falling), and their positions; NaN counts as the largest.

    >>> import pyx_tensor as torch
    >>> torch.sort(torch.tensor([3, 1, 2])).indices
    tensor([1, 2, 0])
    """
    _needs_order("sort", input)
    return tuple(B._sort(input, dim, bool(descending), True))


@op(nograd=True, entry=False)
def argsort(B, input: T, dim=-1, descending=False, stable=False):
    """The positions of the elements of a dim in rising order (or falling)."""
    return B.sort(input, dim, descending, True)[1]


@op(exact_out=True)
def msort(B, input: T):
    """The elements in rising order along the first dim."""
    return B.sort(input, 0)[0]


def _first_places(B, input, dim, count, descending):
    values, order = B._sort(input, dim, descending, True)
    return B.narrow(values, dim, 0, count), B.narrow(order, dim, 0, count)


@op(exact_out=True, vjp=dict(input=_picked_vjp), **_PAIR)
def topk(B, input: T, k: Int, dim: Dim = -1, largest=True, sorted=True):
    """The k largest (or smallest) elements of a dim and their positions."""
    _needs_order("topk", input)
    if input.dtype.name == "bool":
        raise RuntimeError("topk does not support bool dtypes on CPU")
    if not 0 <= k <= (input.shape[dim] if input.ndim else 1):
        raise RuntimeError("selected index k out of range")
    if not input.ndim:
        values, order = B.topk(B.reshape(input, (1,)), k, 0, largest, sorted)
        return (B.reshape(values, ()), B.reshape(order, ())) if k else (values, order)
    return _first_places(B, input, dim, k, largest)


# --- order statistics ---------------------------------------------------------------------------------------------
def _needs_elements(name, input, dim):
    if input.ndim and not input.shape[dim]:
        raise IndexError(f"{name}(): Expected reduction dim {dim} to have non-zero size.")


def _one_place(B, input, dim, keepdim, index):
    """(values, indices) at one position a row; `index` has size 1 along dim."""
    values = B.gather(input, dim, index)
    return (values, index) if keepdim or not input.ndim else (B.squeeze(values, dim), B.squeeze(index, dim))


@op(hidden=True, entry="kthvalue", named="kthvalue", grad_name="Kthvalue", vjp=dict(input=_picked_one_vjp), **_PAIR)
def _kthvalue(B, input: T, k, dim: Dim, keepdim):
    """`kthvalue` with checked arguments."""
    order = B._sort(input, dim, False, True)[1]
    return _one_place(B, input, dim, keepdim, B.narrow(order, dim, k - 1, 1) if input.ndim else order)


@op(out_apart=True, exact_out=True, **_PAIR)
def kthvalue(B, input: T, k: Int, dim: Dim = -1, keepdim=False):
    """The k-th smallest element along a dim, counted from 1, and its position."""
    _needs_elements("kthvalue", input, dim)
    if not 1 <= k <= (input.shape[dim] if input.ndim else 1):
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {dim}")
    return tuple(B._kthvalue(input, k, dim, bool(keepdim)))


@op(hidden=True, entry="median", named="median", grad_name="Median", vjp=dict(input=_picked_one_vjp), **_PAIR)
def _median(B, input: T, dim: Dim, keepdim):
    """`median` along a dim."""
    if not input.ndim:
        return B.clone(input), B.zeros((), dtype=B.argmax(input).dtype, device=input.device)
    order = B._sort(input, dim, False, True)[1]
    middle = B.narrow(order, dim, (input.shape[dim] - 1) // 2, 1)
    nan = B.isnan(input)
    index = B.where(B.any(nan, dim, True), B.argmax(nan.to(by_name["uint8"]), dim, True), middle)
    return _one_place(B, input, dim, keepdim, index)


@op(hidden=True, entry="nanmedian", named="nanmedian", grad_name="Nanmedian", vjp=dict(input=_picked_one_vjp), **_PAIR)
def _nanmedian(B, input: T, dim: Dim, keepdim):
    """`nanmedian` along a dim."""
    if not input.ndim:
        return tuple(B._median(input, dim, keepdim))
    order = B._sort(input, dim, False, True)[1]
    count = B.sum(B.logical_not(B.isnan(input)), dim, True)
    middle = B.floor_divide(B.clamp(B.sub(count, 1), min=0), 2)
    return _one_place(B, input, dim, keepdim, B.gather(order, dim, middle))


def _median_form(name, meaning):
    entry = "_" + name

    def define(B, input: T, dim=None, keepdim=False):
        _needs_order(name, input, NotImplementedError)
        pair = B.__dict__[entry]
        if dim is not None:
            _needs_elements(name, input, dim)
            return pair(input, dim, bool(keepdim))
        if not input.numel():
            return B.full((), float("nan"), dtype=input.dtype, device=input.device)
        return pair(input if input.ndim == 1 else B.reshape(input, (-1,)), 0, False)[0]

    define.__name__ = name
    define.__doc__ = f"""The median {meaning}, the lower one of two: of all elements, or with `dim` the pair (values, indices) along it."""
    return op()(define)


median = _median_form("median", "(NaN where there is one)")
nanmedian = _median_form("nanmedian", "of the elements that aren't NaN")


@op(hidden=True, entry="mode", named="mode", grad_name="Mode", vjp=dict(input=_picked_one_vjp), **_PAIR)
def _mode(B, input: T, dim: Dim, keepdim):
    """`mode` with checked arguments."""
    if not input.ndim:
        return B.clone(input), B.zeros((), dtype=B.argmax(input).dtype, device=input.device)
    values, order = B._sort(B.movedim(input, dim, -1), -1, False, True)
    n = values.shape[-1]
    places = B.expand(B.arange(n, device=input.device), tuple(values.shape))
    fresh = B.cat([B.ones_like(values[..., :1], dtype=BOOL), B.ne(values[..., 1:], values[..., :-1])], -1)
    run_start = B.cummax(B.where(fresh, places, B.zeros_like(places)), -1)[0]
    longest = B.argmax(B.sub(places, run_start), -1, True)
    return _one_place(B, input, dim, keepdim, B.movedim(B.gather(order, -1, longest), -1, dim))


@op(out_apart=True, exact_out=True, **_PAIR)
def mode(B, input: T, dim: Dim = -1, keepdim=False):
    """The most frequent element along a dim (the smallest of several) and a position of it."""
    _needs_order("mode", input, NotImplementedError)
    _needs_elements("mode", input, dim)
    return tuple(B._mode(input, dim, bool(keepdim)))


def _read_quantiles(B, name, input, q):
    if input.dtype.name not in ("float32", "float64"):
        raise RuntimeError(f"{name}() input tensor must be either float or double dtype, got {input.dtype}")
    if not input.numel():
        raise RuntimeError(f"{name}() input tensor must be non-empty")
    if not isinstance(q, TensorBase):
        if not 0 <= q <= 1:
            raise RuntimeError(f"{name}() q must be in the range [0, 1] but got {q}")
        q = B.full((), q, dtype=input.dtype, device=input.device)
    if q.ndim > 1:
        raise RuntimeError(f"{name}() q must be a scalar or 1D tensor")
    if q.dtype is not input.dtype:
        raise RuntimeError(f"{name}() q tensor must be same dtype as the input tensor")
    if q.numel() and bool(B.any(B.logical_or(B.lt(q, 0), B.gt(q, 1)))):
        raise RuntimeError(f"{name}() q values must be in the range [0, 1]")
    return q


def _between(B, rows, rank, interpolation):
    """Elements of sorted rows at fractional ranks."""
    below = B.floor(rank)
    low = B.gather(rows, -1, below.long())
    if interpolation == "lower":
        return low
    high = B.gather(rows, -1, B.ceil(rank).long())
    if interpolation == "higher":
        return high
    if interpolation == "nearest":
        return B.gather(rows, -1, B.round(rank).long())
    weight = B.full_like(rank, 0.5) if interpolation == "midpoint" else B.sub(rank, below)
    return B.lerp(low, high, weight)


def _quantile(B, name, input, q, dim, keepdim, interpolation, ignore_nan):
    if interpolation not in ("linear", "lower", "higher", "midpoint", "nearest"):
        raise RuntimeError(f"{name}() interpolation must be one of linear, lower, higher, midpoint or nearest, but got {interpolation}")
    q = _read_quantiles(B, name, input, q)
    kept_shape = [1] * input.ndim
    if dim is None:
        rows = B.reshape(input, (-1,))
    else:
        kept_shape = [1 if d == dim % max(input.ndim, 1) else n for d, n in enumerate(input.shape)]
        rows = B.movedim(input, dim, -1) if input.ndim else B.reshape(input, (1,))
    rows = B.sort(rows, -1)[0]
    n = rows.shape[-1]
    valid = B.sum(B.logical_not(B.isnan(rows)), -1, True)
    ranks = B.mul(B.clamp(B.sub(valid, 1), min=0).to(rows.dtype) if ignore_nan else B.full_like(valid, n - 1, dtype=rows.dtype), B.reshape(q, (-1,)))
    if not ignore_nan:        # a NaN makes all quantiles of its row NaN: it is the last element
        ranks = B.where(B.lt(valid, n), B.full_like(ranks, n - 1), ranks)
    result = B.movedim(_between(B, rows, ranks, interpolation), -1, 0)
    shape = kept_shape if keepdim else list(result.shape[1:])
    return B.reshape(result, [*tuple(q.shape), *shape])


@op(exact_out=True)
def quantile(B, input: T, q, dim=None, keepdim=False, *, interpolation="linear"):
    """The q-quantiles of all elements, or along a dim; several q give a leading dim. NaN where there is one.

    Args:
        q: a number or 1-d tensor, in [0, 1]. interpolation: 'linear', 'lower', 'higher', 'midpoint' or 'nearest'.
    """
    return _quantile(B, "quantile", input, q, dim, keepdim, interpolation, False)


@op(exact_out=True)
def nanquantile(B, input: T, q, dim=None, keepdim=False, *, interpolation="linear"):
    """`quantile` of the elements that aren't NaN."""
    return _quantile(B, "nanquantile", input, q, dim, keepdim, interpolation, True)


# --- distinct elements --------------------------------------------------------------------------------------------
@op(nograd=True, hidden=True, entry="unique")
def _unique(B, input: T, sorted, return_inverse, return_counts):
    """(values in order, inverse, counts) of the flattened tensor; what isn't asked for may be anything."""
    values, order = B._sort(B.reshape(input, (-1,)), 0, False, True)
    distinct, numbers, counts = B._unique_consecutive(values, True, True)
    inverse = B.scatter_add(B.zeros_like(order), 0, order, numbers)
    return distinct, B.reshape(inverse, tuple(input.shape)), counts


@op(nograd=True, hidden=True, entry="unique_consecutive")
def _unique_consecutive(B, input: T, return_inverse, return_counts):
    """(first elements of runs, numbers of the runs, their lengths) of the flattened tensor."""
    flat = B.reshape(input, (-1,))
    fresh = B.cat([B.ones_like(flat[:1], dtype=BOOL), B.ne(flat[1:], flat[:-1])], 0)
    starts = B.reshape(B._nonzero(fresh), (-1,))
    ends = B.cat([starts[1:], B.full((min(flat.shape[0], 1),), flat.shape[0], dtype=starts.dtype, device=flat.device)], 0)
    numbers = B.sub(B.cumsum(fresh, 0), 1)
    return B.index_select(flat, 0, starts), B.reshape(numbers, tuple(input.shape)), B.sub(ends, starts)


def _asked_for(results, return_inverse, return_counts):
    wanted = [results[0]] + [results[1]] * return_inverse + [results[2]] * return_counts
    return tuple(wanted) if len(wanted) > 1 else wanted[0]


def _distinct_slices(B, input, dim, consecutive):
    """(distinct slices, inverse, counts) of a dim, in lexicographic order unless `consecutive`."""
    rows = B.movedim(input, dim, 0)
    rows = B.reshape(rows, (rows.shape[0], math.prod(rows.shape[1:])))
    order = B.arange(rows.shape[0], device=input.device)
    if not consecutive:
        for column in reversed(range(rows.shape[1])):      # stable sorts from the last key to the first
            order = B.index_select(order, 0, B._sort(B.index_select(rows[:, column], 0, order), 0, False, True)[1])
    placed = B.index_select(rows, 0, order)
    fresh = B.cat([B.ones_like(placed[:1, 0], dtype=BOOL) if placed.shape[1] else B.ones((min(placed.shape[0], 1),), dtype=BOOL),
                   B.any(B.ne(placed[1:], placed[:-1]), 1)], 0)
    numbers = B.sub(B.cumsum(fresh, 0), 1)
    starts = B.reshape(B._nonzero(fresh), (-1,))
    inverse = B.scatter_add(B.zeros_like(order), 0, order, numbers)
    return B.index_select(input, dim, B.index_select(order, 0, starts)), inverse, B.bincount(numbers)


@op(nograd=True, entry=False)
def unique(B, input: T, sorted=True, return_inverse=False, return_counts=False, dim: Int = None):
    """The distinct elements (or slices of a dim), sorted; on demand the number of each element's value, and how often each occurs.

    >>> import pyx_tensor as torch
    >>> torch.unique(torch.tensor([3, 1, 3]), return_counts=True)
    (tensor([1, 3]), tensor([1, 2]))
    """
    results = B._unique(input, True, bool(return_inverse), bool(return_counts)) if dim is None else _distinct_slices(B, input, dim, False)
    return _asked_for(results, bool(return_inverse), bool(return_counts))


@op(nograd=True, entry=False)
def unique_consecutive(B, input: T, return_inverse=False, return_counts=False, dim: Int = None):
    """The elements (or slices of a dim) without those that equal the one before them."""
    results = B._unique_consecutive(input, bool(return_inverse), bool(return_counts)) if dim is None else _distinct_slices(B, input, dim, True)
    return _asked_for(results, bool(return_inverse), bool(return_counts))
