"""Several tensors together: joined, stacked, broadcast, combined."""
import math

import numpy as np

from ..core.definitions import composes, op, publish_function
from ..core.protocol import allocating
from ..core.record import namespace as B
from ..core.signature import T, Ts
from ..core.size import Size
from ..core.tensor import TensorBase
from .shape import wrapped


def _cat_vjp(B, g, tensors_shape, dim):
    grads, at, dim = [], 0, dim % g.ndim
    for shape in tensors_shape:
        if shape == (0,) and g.ndim != 1:
            grads.append(B.zeros(shape, dtype=g.dtype, device=g.device))
            continue
        grads.append(B._slice(g, dim, at, at + shape[dim], 1))
        at += shape[dim]
    return grads


def _check_cat(tensors, dim):
    """Raises where tensors can't be joined along a dim."""
    if not tensors:
        raise ValueError("torch.cat(): expected a non-empty list of Tensors")
    first = next((t for t in tensors if tuple(t.shape) != (0,)), tensors[0])
    dim = wrapped(dim, max(first.ndim, 1))
    for i, t in enumerate(tensors):
        if t.ndim == 0:
            raise RuntimeError(f"zero-dimensional tensor (at position {i}) cannot be concatenated")
        if tuple(t.shape) == (0,):
            continue
        if t.ndim != first.ndim:
            raise RuntimeError(f"Tensors must have same number of dimensions: got {first.ndim} and {t.ndim}")
        for d, (a, b) in enumerate(zip(first.shape, t.shape)):
            if a != b and d != dim:
                raise RuntimeError(f"Sizes of tensors must match except in dimension {dim}. Expected size {a} but got size {b} for tensor "
                                   f"number {i} in the list.")


@op(promote="common", entry="cat", grad_name="Cat", vjp=dict(tensors=_cat_vjp), explain=_check_cat, out_apart=True, method=False,
    public=("cat", "concat", "concatenate"))
def cat(B, tensors: Ts, dim=0):
    """Tensors one after another along a dim; their other sizes must agree (1-d empty tensors are skipped).

    >>> import pyx_tensor as torch
    >>> torch.cat([torch.ones(2), torch.zeros(1)])
    tensor([1., 1., 0.])
    """
    _check_cat(tensors, dim)
    kept = [t for t in tensors if tuple(t.shape) != (0,)] or list(tensors)
    dtype = kept[0].dtype
    for t in tensors:
        dtype = B.promote_types(dtype, t.dtype)
    shape = list(kept[0].shape)
    dim %= len(shape)
    shape[dim] = sum(t.shape[dim] for t in kept)
    result = B.empty(shape, dtype=dtype, device=kept[0].device)
    at = 0
    for t in kept:
        B._slice(result, dim, at, at + t.shape[dim], 1).copy_(t)
        at += t.shape[dim]
    return result


@op(promote="common", entry="stack", grad_name="Stack", method=False,
    vjp=dict(tensors=lambda B, g, dim: [B.select(g, dim, i) for i in range(g.shape[dim])]))
def stack(B, tensors: Ts, dim=0):
    """Tensors of one shape, side by side along a new dim."""
    if not tensors:
        raise RuntimeError("stack expects a non-empty TensorList")
    first = tensors[0].shape
    for i, t in enumerate(tensors):
        if t.shape != first:
            raise RuntimeError(f"stack expects each tensor to be equal size, but got {list(first)} at entry 0 and {list(t.shape)} at entry {i}")
    return B.cat([B.unsqueeze(t, dim) for t in tensors], wrapped(dim, len(first) + 1))


def _all_tensors(name, tensors):
    """The tensors, a list of them where that is the only argument; TypeError for anything else among them."""
    tensors = list(tensors[0]) if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else list(tensors)
    for at, t in enumerate(tensors):
        if not isinstance(t, TensorBase):
            raise TypeError(f"expected Tensor as element {at} in argument 'tensors' of {name}(), but got {type(t).__name__}")
    return tensors


def _at_least(count):
    """`atleast_1d` and so on of one tensor."""
    def lift(B, t):
        if count > 0 and t.ndim == 0:
            t = B.reshape(t, (1,))
        if count > 1 and t.ndim == 1:
            t = B.unsqueeze(t, 0)
        if count > 2 and t.ndim == 2:
            t = B.unsqueeze(t, -1)
        return t
    return lift


def _atleast(count):
    lift = _at_least(count)

    name = f"atleast_{count}d"

    def form(*tensors):
        if len(tensors) == 1 and isinstance(tensors[0], TensorBase):
            return lift(B, tensors[0])
        return tuple([lift(B, t) for t in _all_tensors(name, tensors)])
    form.__name__ = form.__qualname__ = name
    form.__doc__ = f"Views of tensors with at least {count} dim{'s' * (count > 1)}: one tensor, or a tuple for several."
    return composes(form)


atleast_1d, atleast_2d, atleast_3d = _atleast(1), _atleast(2), _atleast(3)


def _stacker(name, public, count, dim, meaning):
    lift = _at_least(count)

    def define(B, tensors: Ts):
        if not tensors:
            raise RuntimeError(f"{name} expects a non-empty TensorList")
        lifted = [t if t.ndim >= count else lift(B, t) for t in tensors]
        return B.cat(lifted, 0 if dim == 1 and lifted[0].ndim == 1 else dim)
    define.__name__, define.__doc__ = name, f"Tensors joined {meaning}."
    return op(method=False, public=public)(define)


hstack = _stacker("hstack", ("hstack",), 1, 1, "along the second dim (vectors along their only one)")
vstack = _stacker("vstack", ("vstack", "row_stack"), 2, 0, "along the first dim, vectors as rows")
dstack = _stacker("dstack", ("dstack",), 3, 2, "along the third dim")


@op(method=False)
def column_stack(B, tensors: Ts):
    """Tensors joined along the second dim, vectors as columns."""
    if not tensors:
        raise RuntimeError("column_stack expects a non-empty TensorList")
    return B.cat([B.reshape(t, (t.numel(), 1)) if t.ndim <= 1 else t for t in tensors], 1)


# --- broadcasting -------------------------------------------------------------------------------------------------
@publish_function
def broadcast_shapes(*shapes):
    """The shape to which all the shapes broadcast.

    Raises:
        RuntimeError: they don't, or a size is negative.
    """
    result = []
    for shape in shapes:
        shape = [shape] if isinstance(shape, int) else list(shape)
        if any(n < 0 for n in shape):
            raise RuntimeError(f"Trying to create tensor with negative dimension ({min(shape)}): ({min(shape)})")
        result = [1] * (len(shape) - len(result)) + result
        for at, n in zip(range(len(result) - len(shape), len(result)), shape):
            if n != 1 and result[at] not in (1, n):
                raise RuntimeError(f"Shape mismatch: objects cannot be broadcast to a single shape: {[list(s) if not isinstance(s, int) else s for s in shapes]}")
            result[at] = n if n != 1 else result[at]
    return Size(result)


@composes
def broadcast_tensors(*tensors):
    """Views of the tensors in their common shape."""
    tensors = _all_tensors("broadcast_tensors", tensors)
    shape = broadcast_shapes(*[t.shape for t in tensors])
    return tuple([B.expand(t, shape) for t in tensors])


@op()
def broadcast_to(B, input: T, sizes):
    """A view in another shape, dims of size 1 repeated."""
    return B.expand(input, tuple(sizes))


# --- combinations -------------------------------------------------------------------------------------------------
@composes
def meshgrid(*tensors, indexing="ij"):
    """Coordinates of a grid: each vector spread over the dims of all.

    Args:
        indexing: 'ij' (a dim for each vector, in order) or 'xy' (the first two exchanged).
    """
    tensors = _all_tensors("meshgrid", tensors)
    if not tensors:
        raise ValueError("meshgrid expects a non-empty TensorList")
    if indexing not in ("ij", "xy"):
        raise RuntimeError(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    for t in tensors:
        if t.ndim > 1:
            raise RuntimeError(f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {t!r}")
        if t.dtype is not tensors[0].dtype:
            raise RuntimeError("torch.meshgrid expects all tensors to have the same dtype")
    swap = indexing == "xy" and len(tensors) > 1
    if swap:
        tensors[:2] = tensors[1::-1]
    shape = [t.numel() for t in tensors]
    grids = [B.expand(B.reshape(t, [-1 if d == at else 1 for d in range(len(shape))]), shape) for at, t in enumerate(tensors)]
    if swap:
        grids[:2] = grids[1::-1]
    return tuple(grids)


@composes
def cartesian_prod(*tensors):
    """All combinations of one element of each vector, as rows; a single vector as it is."""
    tensors = _all_tensors("cartesian_prod", tensors)
    if not tensors:
        raise RuntimeError("cartesian_prod expects a non-empty TensorList")
    for t in tensors:
        if t.ndim != 1:
            raise RuntimeError(f"Expect a 1D vector, but got shape {list(t.shape)}")
    if len(tensors) == 1:
        return tensors[0]
    return B.stack([B.reshape(g, (-1,)) for g in meshgrid(*tensors)], 1)


@op()
def combinations(B, input: T, r=2, with_replacement=False):
    """All choices of r elements of a vector, in order, as rows."""
    if input.ndim != 1:
        raise RuntimeError(f"Expect a 1D vector, but got shape {list(input.shape)}")
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    if r == 0:
        return B.empty((0,), dtype=input.dtype, device=input.device)
    with allocating("combinations"):
        places = _choices(input.shape[0], r, bool(with_replacement))
    return B.reshape(B.index_select(input, 0, B.tensor(places.reshape(-1), device=input.device)), places.shape)


def _choices(n, r, again):
    """The positions of all choices of r of n, in order, as rows: a start of one goes on with each position that leaves enough for the rest."""
    places = np.empty((math.comb(n + r - 1 if again else n, r), r), np.int64)      # at once, before the first row is made
    if not places.size:
        return places
    rows = np.arange(n if again else n - r + 1)[:, None]
    for at in range(1, r):
        first = rows[:, -1] + (not again)
        counts = (n if again else n - r + at + 1) - first
        ends = np.cumsum(counts)
        rows = np.repeat(rows, counts, axis=0)
        rows = np.column_stack([rows, np.arange(len(rows)) + np.repeat(first - ends + counts, counts)])
    places[:] = rows
    return places


@op(method=False)
def vander(B, x: T, N=None, increasing=False):
    """The Vandermonde matrix of a vector: its powers as columns, the highest first unless `increasing`.

    Args:
        N: how many powers, by default as many as elements.
    """
    if x.ndim != 1:
        raise RuntimeError("x must be a one-dimensional tensor.")
    count = x.shape[0] if N is None else N
    if count < 0:
        raise RuntimeError("N must be non-negative.")
    if x.dtype.name == "bool":
        x = x.long()
    ones = B.ones((x.shape[0], 1), dtype=x.dtype, device=x.device)
    powers = B.cumprod(B.cat([ones, *[B.unsqueeze(x, 1)] * (count - 1)], 1), 1) if count else ones[:, :0]
    return powers if increasing else B.flip(powers, (1,))


@composes
def block_diag(*tensors):
    """A matrix with the matrices (vectors are rows, numbers 1×1) along its diagonal and zeros elsewhere."""
    blocks = [B.reshape(t, (1, -1)) if t.ndim < 2 else t for t in _all_tensors("block_diag", tensors)]
    for t in blocks:
        if t.ndim > 2:
            raise RuntimeError(f"block_diag: Input tensors must have 2 or fewer dimensions, got shape {list(t.shape)}")
    if not blocks:
        return B.empty((1, 0))
    width, at, rows = sum(t.shape[1] for t in blocks), 0, []
    for t in blocks:
        rows.append(B.constant_pad_nd(t, (at, width - at - t.shape[1])))
        at += t.shape[1]
    return B.cat(rows, 0)
