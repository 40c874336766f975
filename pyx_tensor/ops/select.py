"""Taking elements by position or mask."""
import numpy as np

from ..core.definitions import op, primitive
from ..core.operands import one_int
from ..core.signature import Dim, Int, Raw, T
from ..core.tensor import TensorBase
from .scatter import check_range, flat_positions, from_front


def _needs_integers(name, index, dtypes=("int64", "int32"), error=RuntimeError):
    if index.dtype.name not in dtypes:
        raise error(f"{name}(): Expected dtype int32/int64 for index, got {index.dtype}")


@primitive(out_apart=True, vjp=dict(input=lambda B, g, input_shape, dim, index: B.index_add(B.zeros(input_shape, dtype=g.dtype, device=g.device), dim, index, g)))
def index_select(B, input: T, dim: Dim, index: Raw):
    """The slices of a dim at the positions in a 1-d tensor of integers."""


@op(out_apart=True, vjp=dict(input=lambda B, g, input_shape, dim, index: B.scatter_add(B.zeros(input_shape, dtype=g.dtype, device=g.device), dim, index, g)))
def gather(B, input: T, dim: Dim, index: Raw):
    """Elements at positions along a dim: `out[i][j] = input[i][index[i][j]]` for dim 1.

    Raises:
        RuntimeError: index has other dims than the input or is larger in one of the others, or points outside.
    """
    _needs_integers("gather", index)
    if not index.numel():
        return B.empty(tuple(index.shape), dtype=input.dtype, device=input.device)
    if max(index.ndim, 1) != max(input.ndim, 1):
        raise RuntimeError(f"gather(): Index tensor must have the same number of dimensions as input tensor, got {list(index.shape)} and {list(input.shape)}")
    for d, (n, own) in enumerate(zip(index.shape, input.shape)):
        if d != dim and n > own:
            raise RuntimeError(f"gather(): Size does not match at dimension {d} expected index {list(index.shape)} to be no larger than self "
                               f"{list(input.shape)} apart from dimension {dim}")
    check_range(B, "gather", index, dim, input.shape[dim] if input.ndim else 1)
    positions = B.reshape(flat_positions(B, input, dim, index), (-1,))
    return B.reshape(B.index_select(B.reshape(input, (-1,)), 0, positions), tuple(index.shape))


@primitive(nograd=True, hidden=True, entry="nonzero")
def _nonzero(B, input: T):
    """Positions of the non-zero elements, (n, ndim)."""


@op(nograd=True, entry=False)
def nonzero(B, input: T, *, as_tuple=False):
    """The positions of the non-zero elements: one row each, or (`as_tuple`) one tensor a dim."""
    if not as_tuple:
        return B._nonzero(input)
    if input.ndim == 0:
        return (B._nonzero(B.unsqueeze(input, 0)).reshape(-1),)
    return B.unbind(B._nonzero(input), 1)


@op(nograd=True, entry=False)
def argwhere(B, input: T):
    """The positions of the non-zero elements, one row each."""
    return B._nonzero(input)


@op(nograd=True, entry=False)
def nonzero_static(B, input: T, *, size, fill_value=-1):
    """`nonzero` with exactly `size` rows: cut off, or filled up with a number."""
    found = B._nonzero(input)[:size]
    missing = B.full((size - found.shape[0], found.shape[1]), fill_value, dtype=found.dtype, device=found.device)
    return B.cat([found, missing], 0) if missing.shape[0] else found


# --- by positions -------------------------------------------------------------------------------------------------
@op(out_apart=True, exact_out=True, entry="take_flat")
def take(B, input: T, index: Raw):
    """Elements at positions in the flattened tensor, in the shape of `index`; negative ones count from the end."""
    if index.dtype.name != "int64":
        raise RuntimeError(f"take(): Expected a long tensor for index, but got {index.dtype}")
    if not input.numel() and index.numel():
        raise IndexError("take(): tried to take from an empty tensor")
    places = from_front(B, B.reshape(index, (-1,)), input.numel())
    return B.reshape(B.index_select(B.reshape(input, (-1,)), 0, places), tuple(index.shape))


@op(out_apart=True, exact_out=True)
def take_along_dim(B, input: T, indices: Raw, dim: Dim = None):
    """`gather` in which input and indices broadcast; without a dim, on the flattened tensor."""
    if indices.dtype.name != "int64":
        raise RuntimeError(f"torch.take_along_dim(): dtype of indices should be Long but got {indices.dtype}")
    if dim is None:
        return B.gather(B.reshape(input, (-1,)), 0, from_front(B, B.reshape(indices, (-1,)), input.numel()))
    if input.ndim != indices.ndim:
        raise RuntimeError(f"torch.take_along_dim(): input and indices should have the same number of dimensions, but got {input.ndim} dimensions "
                           f"for input, and {indices.ndim} dimensions for indices")
    if not input.ndim:
        return B.gather(input, 0, from_front(B, indices, 1))
    others = [d for d in range(input.ndim) if d != dim]
    common = B.broadcast_shapes([input.shape[d] for d in others], [indices.shape[d] for d in others])
    shapes = [list(common[:dim]) + [t.shape[dim]] + list(common[dim:]) for t in (input, indices)]
    return B.gather(B.expand(input, shapes[0]), dim, from_front(B, B.expand(indices, shapes[1]), input.shape[dim]))


@op(inplace=True)
def put(B, input: T, index: Raw, source: T, accumulate=False):
    """A copy of `input` with elements of `source` at positions in the flattened tensor."""
    if input.dtype is not source.dtype:
        raise RuntimeError(f"put_(): self and source expected to have the same dtype, but got self.dtype = {input.dtype} and source.dtype = {source.dtype}")
    if index.numel() != source.numel():
        raise RuntimeError(f"put_(): Expected source and index to have the same number of elements, but got source.numel() = {source.numel()}, "
                           f"index.numel() = {index.numel()}")
    flat = B.reshape(input, (-1,))
    return B.reshape(B._index_put(flat, [B.reshape(index, (-1,))], B.reshape(source, (-1,)), accumulate), tuple(input.shape))


@op(nograd=True, method=False)
def unravel_index(B, indices: Raw, shape):
    """Flat positions as a tuple of positions, one tensor a dim of `shape`."""
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    if indices.dtype.is_floating_point or indices.dtype.is_complex or indices.dtype.name == "bool":
        raise ValueError(f"expected 'indices' to be integer dtype, but got {indices.dtype}")
    places = []
    for n in reversed(shape):
        places.insert(0, B.remainder(indices, n))
        indices = B.floor_divide(indices, n)
    return tuple(places)


# --- by masks -----------------------------------------------------------------------------------------------------
def _needs_mask(name, mask):
    if mask.dtype.name != "bool":
        raise RuntimeError(f"{name}: expected BoolTensor for mask, but got {mask.dtype}")


@op(out_apart=True, exact_out=True, entry="masked_select")
def masked_select(B, input: T, mask: Raw):
    """The elements where the mask is True, as a 1-d tensor; both broadcast."""
    if mask.dtype.name == "uint8":        # as comparisons gave them in early PyTorch
        mask = B.ne(mask, 0)
    _needs_mask("masked_select", mask)
    shape = B.broadcast_shapes(input.shape, mask.shape)
    flat = B.reshape(B.expand(mask, shape), (-1,))
    return B.index_select(B.reshape(B.expand(input, shape), (-1,)), 0, B.reshape(B._nonzero(flat), (-1,)))


@op(inplace=True)
def masked_scatter(B, input: T, mask: Raw, source: T):
    """A copy of `input` with elements of `source`, in order, where the mask is True."""
    _needs_mask("masked_scatter_", mask)
    if input.dtype is not source.dtype:
        raise RuntimeError(f"masked_scatter: expected self and source to have same dtypes but got {input.dtype} and {source.dtype}")
    shape = B.broadcast_shapes(input.shape, mask.shape)
    flat = B.reshape(B.expand(input, shape), (-1,))
    positions = B.reshape(B._nonzero(B.reshape(B.expand(mask, shape), (-1,))), (-1,))
    if source.numel() < positions.numel():
        raise RuntimeError(f"masked_scatter: Number of elements of source < number of ones in mask ({source.numel()} < {positions.numel()})")
    values = B.narrow(B.reshape(source, (-1,)), 0, 0, positions.numel())
    return B.reshape(B._index_put(flat, [positions], values, False), shape)


# --- repeated -----------------------------------------------------------------------------------------------------
def _repeat_counts(repeats, n, dim):
    """`repeats` as a list of one count for each of n slices."""
    if not isinstance(repeats, TensorBase):
        repeats = one_int("repeat_interleave", "repeats", repeats)
        if repeats < 0:
            raise RuntimeError("Repeats must be non-negative")
        return [repeats] * n
    if repeats.dtype.name not in ("int64", "int32"):
        raise RuntimeError(f"repeats has to be Long or Int tensor, got {repeats.dtype}")
    if repeats.ndim > 1:
        raise RuntimeError("repeat_interleave: repeats must be 0-dim or 1-dim tensor")
    counts = repeats.tolist() if repeats.ndim else [repeats.item()]
    counts = counts * n if len(counts) == 1 else counts
    if len(counts) != n:
        raise RuntimeError(f"repeats must have the same size as input along dim, but got repeats.size(0) = {len(counts)} and input.size({dim}) = {n}")
    if any(c < 0 for c in counts):
        raise RuntimeError("repeats can not be negative")
    return counts


@op()
def repeat_interleave(B, input: T, repeats=None, dim: Dim = None, *, output_size: Int = None):
    """Each element (or slice of a dim) repeated in place: `[1, 2]` twice is `[1, 1, 2, 2]`.

    With one tensor alone, its elements are the counts, and the result the positions repeated that often.
    """
    if repeats is None:
        input, repeats, dim = B.arange(input.shape[0], device=input.device), input, 0
    if dim is None:
        input, dim = B.reshape(input, (-1,)), 0
    counts = _repeat_counts(repeats, input.shape[dim] if input.ndim else 1, dim)
    if output_size is not None and output_size != sum(counts):
        raise RuntimeError(f"repeat_interleave(): argument 'output_size' must be the sum of the repeats, {sum(counts)}, got {output_size}")
    if sum(counts) >= 2**60:
        raise RuntimeError(f"repeat_interleave(): {sum(counts)} slices are more than a tensor can hold")
    places = B.from_numpy(np.repeat(np.arange(len(counts)), counts)).to(input.device)
    return B.index_select(B.reshape(input, (-1,)) if not input.ndim else input, dim, places)
