"""Writing elements at positions: scatter, scatter_reduce, index_add and their kin."""
from ..core.definitions import op, primitive
from ..core.signature import Dim, Raw, T
from ..core.tensor import TensorBase


def flat_positions(B, input, dim, index):
    """Positions in the flattened `input` of the elements that gather(input, dim, index) takes."""
    if not input.ndim:
        return index
    step, steps = 1, [0] * input.ndim
    for d in reversed(range(input.ndim)):
        steps[d] = step
        step *= input.shape[d]
    positions = B.mul(index, steps[dim])
    for d in range(input.ndim):
        if d != dim:
            shape = [1] * input.ndim
            shape[d] = index.shape[d]
            positions = B.add(positions, B.mul(B.arange(index.shape[d], device=index.device).reshape(shape), steps[d]))
    return positions


def check_range(B, name, index, dim, size):
    """RuntimeError where an index points outside of a dim of `size`."""
    if bool(B.any(B.logical_or(B.lt(index, 0), B.ge(index, size)))):
        worst = B.amax(index).item() if B.amin(index).item() >= 0 else B.amin(index).item()
        raise RuntimeError(f"{name}(): index {worst} is out of bounds for dimension {dim} with size {size}")


def check_fits(name, index, input, src, dim):
    """RuntimeError unless index has the dims of both and is nowhere larger (than input: apart from `dim`)."""
    shapes = [tuple(t.shape) or (1,) for t in (index, input, src)]
    if not len(shapes[0]) == len(shapes[1]) == len(shapes[2]):
        raise RuntimeError(f"{name}(): Index tensor must have the same number of dimensions as self and src tensors, got shapes {list(index.shape)}, "
                           f"{list(input.shape)} and {list(src.shape)}")
    for d, (n, own, given) in enumerate(zip(*shapes)):
        if (d != dim and n > own) or n > given:
            raise RuntimeError(f"{name}(): Expected index {list(index.shape)} to be no larger than self {list(input.shape)} apart from dimension {dim} "
                               f"and no larger than src {list(src.shape)}")


def _zeros(B, shape, like):
    return B.zeros(shape, dtype=like.dtype, device=like.device)


@primitive(inplace=True, over_input=True, vjp=dict(input=lambda B, g: g, src=lambda B, g, dim, index, src_shape: _padded(B, B.gather(g, dim, index), src_shape)))
def scatter_add(B, input: T, dim: Dim, index: Raw, src: T):
    """A copy of `input` with elements of `src` added at positions along a dim.

    Raises:
        RuntimeError: shapes that don't fit, dtypes that differ, or an index out of range.
    """


@op(inplace=True, hidden=True, entry="scatter", over_input=True, grad_name="Scatter", vjp=dict(
    input=lambda B, g, dim, index: B._scatter(g, dim, index, B.zeros_like(index, dtype=g.dtype)),
    src=lambda B, g, dim, index, src_shape: _padded(B, B.gather(g, dim, index), src_shape)))
def _scatter(B, input: T, dim: Dim, index: Raw, src: T):
    """`scatter` of a tensor; of several elements for one place the last is kept."""
    return _combined_into(B, "scatter", input, dim, index, src, lambda old, new: new, True)


def _scatter_in_place(B, input, dim, index, src, value, reduce):
    if reduce is not None or not input.ndim:
        return input.copy_(B.scatter(B.clone(input), dim, index, src, value=value, reduce=reduce))
    return B._scatter_(input, dim, index, _source(B, input, index, src, value))


def _source(B, input, index, src, value):
    """The elements to scatter, where they are one number too."""
    if value is None and isinstance(src, TensorBase):
        return src
    return B.full(tuple(index.shape), src if value is None else value, dtype=input.dtype, device=input.device)


@op(exact_out=True, inplace=_scatter_in_place)
def scatter(B, input: T, dim: Dim, index: Raw, src=None, *, value=None, reduce=None):
    """A copy of `input` with elements of `src` (or a number) put at positions along a dim: `out[index[i][j]][j] = src[i][j]` for dim 0.

    Args:
        src, value: a tensor of the input's dtype, or a number.
        reduce: 'add' or 'multiply' combines with what is there, instead of replacing it.
    """
    src = _source(B, input, index, src, value)
    if reduce is None:
        return B._scatter(input, dim, index, src)
    if reduce not in ("add", "multiply"):
        raise RuntimeError(f"reduce argument must be either add or multiply, got {reduce!r}")
    return B.scatter_reduce(input, dim, index, src, "sum" if reduce == "add" else "prod")


# --- combining ----------------------------------------------------------------------------------------------------
def _runs(B, input, dim, index, src, combine):
    """For each place that `index` names: its flat position, and what its elements of `src` combine to.

    Elements are sorted by place; then log2(n) rounds combine each with the one 1, 2, 4 … before it, if that has the same place.
    """
    reached = B._slice_to(src, tuple(index.shape))
    places, order = B.sort(B.reshape(flat_positions(B, input, dim, index), (-1,)), 0, False, True)
    values = B.index_select(B.reshape(reached, (-1,)), 0, order)
    n, reach = places.shape[0], 1
    while reach < n:
        same = B.eq(places[reach:], places[:-reach])
        values = B.cat([values[:reach], B.where(same, combine(values[:-reach], values[reach:]), values[reach:])], 0)
        reach *= 2
    last = B.cat([B.ne(places[1:], places[:-1]), B.ones((min(n, 1),), dtype=B.eq(places[:1], 0).dtype, device=places.device)], 0)
    kept = B.reshape(B._nonzero(last), (-1,))
    return B.index_select(places, 0, kept), B.index_select(values, 0, kept)


@op(hidden=True)
def _slice_to(B, input: T, shape):
    """The leading part of each dim, down to `shape`."""
    for d, n in enumerate(shape):
        input = B._slice(input, d, 0, n, 1) if input.ndim else input
    return input


def _combined_into(B, name, input, dim, index, src, combine, replace):
    """`input` with `src` combined at `index`; with what was there before, unless that is to be replaced."""
    if not index.numel():
        return B.clone(input)
    if not src.ndim:
        src = B.expand(src, tuple(index.shape))
    check_fits(name, index, input, src, dim)
    check_range(B, name, index, dim, input.shape[dim] if input.ndim else 1)
    places, values = _runs(B, input, dim, index, src, combine)
    flat = B.reshape(input, (-1,))
    if not replace:
        values = combine(B.index_select(flat, 0, places), values)
    return B.reshape(B._index_put(flat, [places], values, False), tuple(input.shape))


def _counts(B, input, dim, index, include_self):
    """How many elements went into each place, at least 1."""
    start = B.full(tuple(input.shape), int(include_self), dtype=index.dtype, device=input.device)
    return B.clamp(B.scatter_add(start, dim, index, B.ones_like(index)), min=1)


def _reduce_input_vjp(B, g, y, input, dim, index, src, reduce, include_self):
    if reduce == "mean":
        grad = B.div(g, _counts(B, input, dim, index, include_self))
    elif reduce == "prod":
        grad = _prod_parts(B, g, input, dim, index, src, include_self)[0]
    elif reduce in ("amax", "amin"):
        grad = B.mul(B.eq(input, y), _shares(B, g, y, input, dim, index, src))
    else:
        grad = g
    return grad if include_self else B._scatter(grad, dim, index, B.zeros_like(index, dtype=g.dtype))


def _reduce_src_vjp(B, g, y, input, dim, index, src, reduce, include_self):
    if reduce == "mean":
        g = B.div(g, _counts(B, input, dim, index, include_self))
    elif reduce == "prod":
        return _prod_parts(B, g, input, dim, index, src, include_self)[1]
    elif reduce in ("amax", "amin"):
        hit = B.eq(B._slice_to(src, tuple(index.shape)), B.gather(y, dim, index))
        return _padded(B, B.mul(hit, B.gather(_shares(B, g, y, input, dim, index, src), dim, index)), src.shape)
    return _padded(B, B.gather(g, dim, index), src.shape)


def _padded(B, grad, shape):
    """The gradient of the leading part of a source of that shape, zeros around it."""
    if tuple(grad.shape) == tuple(shape):
        return grad
    for d, n in enumerate(shape):
        missing = list(grad.shape)
        missing[d] = n - grad.shape[d]
        grad = B.cat([grad, _zeros(B, missing, grad)], d)
    return grad


def _shares(B, g, y, input, dim, index, src):
    """The gradient of an extreme, divided among all elements that are equal to it."""
    hits = B.eq(B._slice_to(src, tuple(index.shape)), B.gather(y, dim, index)).to(g.dtype)
    return B.div(g, B.clamp(B.scatter_add(B.eq(input, y).to(g.dtype), dim, index, hits), min=1))


def _prod_parts(B, g, input, dim, index, src, include_self):
    """Gradients of a product: times all the other factors, zeros among them counted instead of divided by."""
    taken = B._slice_to(src, tuple(index.shape))
    zero_self, zero_src = B.eq(input, 0).to(index.dtype), B.eq(taken, 0).to(index.dtype)
    zeros = B.scatter_add(zero_self if include_self else B.zeros_like(zero_self), dim, index, zero_src)
    safe_self, safe_src = B.masked_fill(input, B.eq(input, 0), 1), B.masked_fill(taken, B.eq(taken, 0), 1)
    product = B.mul(g, B.scatter_reduce(safe_self, dim, index, safe_src, "prod", include_self=include_self))
    to_self = B.masked_fill(B.div(product, safe_self), B.gt(B.sub(zeros, zero_self), 0), 0)
    to_src = B.masked_fill(B.div(B.gather(product, dim, index), safe_src), B.gt(B.sub(B.gather(zeros, dim, index), zero_src), 0), 0)
    return to_self, _padded(B, to_src, src.shape)


_REDUCTIONS = ("sum", "prod", "mean", "amax", "amin")


@op(inplace=True, hidden=True, entry="scatter_reduce", grad_name="ScatterReduce", vjp=dict(input=_reduce_input_vjp, src=_reduce_src_vjp))
def _scatter_reduce(B, input: T, dim: Dim, index: Raw, src: T, reduce, include_self):
    """`scatter_reduce` with all of its arguments in order."""
    combine = dict(sum=B.add, mean=B.add, prod=B.mul, amax=B.maximum, amin=B.minimum)[reduce]
    total = _combined_into(B, "scatter_reduce", input, dim, index, src, combine, not include_self)
    if reduce != "mean":
        return total
    counts = _counts(B, input, dim, index, include_self)
    return B.div(total, counts) if input.dtype.is_floating_point or input.dtype.is_complex else B.floor_divide(total, counts.to(input.dtype))


@op(exact_out=True, inplace=True)
def scatter_reduce(B, input: T, dim: Dim, index: Raw, src: T, reduce, *, include_self=True):
    """A copy of `input` with elements of `src` combined at positions along a dim.

    Args:
        reduce: 'sum', 'prod', 'mean', 'amax' or 'amin'.
        include_self: the elements of `input` take part.
    """
    if reduce not in _REDUCTIONS:
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce!r}")
    return B._scatter_reduce(input, dim, index, src, reduce, bool(include_self))


# --- slices at the positions of a dim -----------------------------------------------------------------------------
def _along(B, index, source, dim):
    """A 1-d index in the shape of `source`, for scatter."""
    shape = [1] * source.ndim
    shape[dim] = index.numel()
    return B.expand(B.reshape(index, shape), tuple(source.shape))


@op(inplace=True, over_input=True, vjp=dict(input=lambda B, g: g, source=lambda B, g, dim, index, alpha: B.mul(B.index_select(g, dim, index), alpha)))
def index_add(B, input: T, dim: Dim, index: Raw, source: T, *, alpha=1):
    """A copy of `input` with slices of `source` (times `alpha`) added at positions along a dim."""
    if not input.ndim:
        return B.add(input, B.mul(B.sum(source), alpha))
    scaled = B.mul(source, alpha) if alpha != 1 else source
    return B.scatter_add(input, dim, _along(B, index, source, dim), scaled)


@op(exact_out=True, inplace=True)
def index_reduce(B, input: T, dim: Dim, index: Raw, source: T, reduce, *, include_self=True):
    """A copy of `input` with slices of `source` combined at positions along a dim by 'prod', 'mean', 'amax' or 'amin'."""
    if reduce not in _REDUCTIONS[1:]:
        raise RuntimeError(f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}.")
    if not input.ndim:
        return B.reshape(B.index_reduce(B.reshape(input, (1,)), 0, index, B.reshape(source, (-1,)), reduce, include_self=include_self), ())
    return B.scatter_reduce(input, dim, _along(B, index, source, dim), source, reduce, include_self=include_self)


def _copy_slices(B, put, input, dim, index, source):
    """`index_copy` by an operation that puts at positions."""
    if input.dtype is not source.dtype:
        raise RuntimeError(f"index_copy_(): self and source expected to have the same dtype, but got (self) {input.dtype} and (source) {source.dtype}")
    if input.ndim != max(source.ndim, 1):
        raise IndexError(f"index_copy_(): When source and destination are not scalars, their dimensionality must match. Source dimensionality "
                         f"({source.ndim}), destination dimensionality ({input.ndim})")
    source = B.reshape(source, (1,)) if not source.ndim else source
    if source.shape[dim] != index.numel():
        raise IndexError(f"index_copy_(): Number of indices ({index.numel()}) should be equal to source.size(dim) ({source.shape[dim]})")
    return put(input, [None] * dim + [B.reshape(index, (-1,))], source, False)


def _copy_slices_in_place(B, input, *arguments):
    if not input.ndim:
        return input.copy_(B.index_copy(B.clone(input), *arguments))
    return _copy_slices(B, B._index_put_, input, *arguments)


@op(exact_out=True, inplace=_copy_slices_in_place)
def index_copy(B, input: T, dim: Dim, index: Raw, source: T):
    """A copy of `input` with slices of `source` at positions along a dim."""
    if not input.ndim and input.dtype is source.dtype:
        return B.reshape(B.index_copy(B.reshape(input, (1,)), 0, index, B.reshape(source, (-1,))), ())
    return _copy_slices(B, B._index_put, input, dim, index, source)


@op(inplace=True, entry="index_fill")
def index_fill(B, input: T, dim: Dim, index: Raw, value):
    """A copy of `input` with a number in the slices at positions along a dim."""
    if index.ndim > 1:
        raise IndexError(f"index_fill_(): Index is supposed to be a vector, got shape {list(index.shape)}")
    if index.dtype.name not in ("int64", "int32"):
        raise IndexError(f"index_fill_(): Expected dtype int64 for index, got {index.dtype}")
    size = input.shape[dim] if input.ndim else 1
    index = B.reshape(from_front(B, index, size), (-1,))
    check_range_of_dim(B, index, dim, size)
    hit = B.ne(B.scatter_add(B.zeros((size,), dtype=index.dtype, device=index.device), 0, index, B.ones_like(index)), 0)
    return B.masked_fill(input, B.reshape(hit, [size if d == dim else 1 for d in range(input.ndim)]), value)


def from_front(B, index, size):
    """Negative positions counted from the front."""
    return B.where(B.lt(index, 0), B.add(index, size), index)


def check_range_of_dim(B, index, dim, size):
    if index.numel() and bool(B.any(B.logical_or(B.lt(index, 0), B.ge(index, size)))):
        raise IndexError(f"index out of range in self: indices of dimension {dim} must be in [{-size}, {size - 1}]")
