"""Gathering, scattering, sorting, searching."""
from ..core.definitions import op, primitive
from ..core.signature import Dim, Raw, T


def _check_index(name, index, *dtypes):
    if index.dtype.name not in (dtypes or ("int64", "int32")):
        raise RuntimeError(f"{name}(): Expected dtype int32/int64 for index, got {index.dtype}")


@primitive(vjp=dict(input=lambda B, g, input_shape, dim, index: B.index_add(B.zeros(input_shape, dtype=g.dtype, device=g.device), dim, index, g)))
def index_select(B, input: T, dim: Dim, index: Raw):
    """The slices of a dim at the positions in a 1-d tensor of integers."""


@primitive(vjp=dict(input=lambda B, g, input_shape, dim, index: B.scatter_add(B.zeros(input_shape, dtype=g.dtype, device=g.device), dim, index, g)))
def gather(B, input: T, dim: Dim, index: Raw):
    """Elements at positions along a dim: `out[i][j] = input[i][index[i][j]]` for dim 1."""


@primitive(inplace=True, vjp=dict(input=lambda B, g: g, src=lambda B, g, dim, index: B.gather(g, dim, index)))
def scatter_add(B, input: T, dim: Dim, index: Raw, src: T):
    """A copy of `input` with elements of `src` added at positions along a dim."""


@op(inplace=True, vjp=dict(
    input=lambda B, g, dim, index: B._scatter(g, dim, index, B.zeros_like(index, dtype=g.dtype)),
    src=lambda B, g, dim, index: B.gather(g, dim, index)), hidden=True, entry="scatter", grad_name="Scatter")
def _scatter(B, input: T, dim: Dim, index: Raw, src: T):
    """`scatter` of a tensor."""
    kept = B._scatter_mask(input, dim, index)
    return B.where(kept, input, B.scatter_add(B.zeros_like(input), dim, index, src))


@op(hidden=True, nograd=True)
def _scatter_mask(B, input: T, dim: Dim, index: Raw):
    """True where no index points."""
    return B.eq(B.scatter_add(B.zeros_like(input, dtype=index.dtype), dim, index, B.ones_like(index)), 0)


@op(inplace=True)
def scatter(B, input: T, dim: Dim, index: Raw, src=None, *, value=None, reduce=None):
    """A copy of `input` with elements of `src` (or a number) put at positions along a dim."""
    if value is not None or not hasattr(src, "dtype"):
        src = B.full_like(index, src if value is None else value, dtype=input.dtype)
    if reduce == "add":
        return B.scatter_add(input, dim, index, src)
    if reduce is not None:
        raise NotImplementedError(f"scatter: reduce={reduce!r} isn't available")
    return B._scatter(input, dim, index, src)


@op(inplace=True, alpha=False, vjp=dict(input=lambda B, g: g, source=lambda B, g, dim, index, alpha: B.mul(B.index_select(g, dim, index), alpha)))
def index_add(B, input: T, dim: Dim, index: Raw, source: T, *, alpha=1):
    """A copy of `input` with slices of `source` added at positions along a dim."""
    if not input.ndim:
        return B.add(input, B.mul(B.sum(source), alpha))
    shape = [1] * source.ndim
    shape[dim] = index.numel()
    return B.scatter_add(input, dim, B.expand(B.reshape(index, shape), tuple(source.shape)), B.mul(source, alpha) if alpha != 1 else source)


@primitive(nograd=True, hidden=True, entry="nonzero")
def _nonzero(B, input: T):
    """Positions of the non-zero elements, (n, ndim)."""


@op(nograd=True, entry=False)
def nonzero(B, input: T, *, as_tuple=False):
    """The positions of the non-zero elements: one row each, or (`as_tuple`) one tensor a dim."""
    found = B._nonzero(input)
    if not as_tuple:
        return found
    if input.ndim == 0:
        return (B._nonzero(B.unsqueeze(input, 0)).reshape(-1),)
    return B.unbind(found, 1)


# --- by positions -------------------------------------------------------------------------------------------------
def _flat_positions(B, input, dim, index):
    """Positions in the flattened `input` of the elements that gather(input, dim, index) takes."""
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


@op()
def take(B, input: T, index: Raw):
    """Elements at positions in the flattened tensor, in the shape of `index`."""
    return B.reshape(B.index_select(B.reshape(input, (-1,)), 0, B.reshape(index, (-1,))), tuple(index.shape))


@op()
def take_along_dim(B, input: T, indices: Raw, dim: Dim = None):
    """`gather` in which input and indices broadcast; without a dim, on the flattened tensor."""
    if dim is None:
        return B.gather(B.reshape(input, (-1,)), 0, B.reshape(indices, (-1,)))
    if input.ndim != indices.ndim:
        raise RuntimeError(f"torch.take_along_dim(): input and indices should have the same number of dimensions, but got {input.ndim} dimensions "
                           f"for input, and {indices.ndim} dimensions for indices")
    shape = [max(a, b) if d != dim else a for d, (a, b) in enumerate(zip(input.shape, indices.shape))]
    index_shape = [n if d != dim else indices.shape[d] for d, n in enumerate(shape)]
    return B.gather(B.expand(input, shape), dim, B.expand(indices, index_shape))


@op(inplace=True)
def put(B, input: T, index: Raw, source: T, accumulate=False):
    """A copy of `input` with elements of `source` at positions in the flattened tensor."""
    flat = B.reshape(input, (-1,))
    return B.reshape(B.index_put(flat, [B.reshape(index, (-1,))], B.reshape(source, (-1,)), accumulate), tuple(input.shape))


@op(inplace=True)
def index_copy(B, input: T, dim: Dim, index: Raw, source: T):
    """A copy of `input` with slices of `source` at positions along a dim."""
    if input.dtype is not source.dtype:
        raise RuntimeError(f"index_copy_(): self and source expected to have the same dtype, but got (self) {input.dtype} and (source) {source.dtype}")
    if not input.ndim:
        return B.clone(B.reshape(source, ()))
    return B.index_put(input, [None] * dim + [index], _index_put_order(B, source, dim, input), False)


def _index_put_order(B, source, dim, input):
    return B.reshape(source, (1,)) if source.ndim == 0 else source


@op(inplace=True)
def index_fill(B, input: T, dim: Dim, index: Raw, value):
    """A copy of `input` with a number in the slices at positions along a dim."""
    if hasattr(value, "dtype"):
        if value.ndim:
            raise RuntimeError(f"index_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.ndim} dimension(s).")
    else:
        value = B.full((), value, dtype=input.dtype, device=input.device)
    if not input.ndim:
        return B.reshape(B.index_fill(B.reshape(input, (1,)), 0, B.reshape(index, (-1,)), value), ())
    return B.index_put(input, [None] * dim + [B.reshape(index, (-1,))], value.to(input.dtype), False)


@op()
def masked_select(B, input: T, mask: Raw):
    """The elements where the mask is True, as a 1-d tensor; both broadcast."""
    if mask.dtype.name != "bool":
        raise RuntimeError(f"masked_select: expected BoolTensor for mask, but got {mask.dtype}")
    shape = B.broadcast_shapes(input.shape, mask.shape)
    flat = B.reshape(B.expand(mask, shape), (-1,))
    return B.index_select(B.reshape(B.expand(input, shape), (-1,)), 0, B.reshape(B._nonzero(flat), (-1,)))


@op(inplace=True)
def masked_scatter(B, input: T, mask: Raw, source: T):
    """A copy of `input` with elements of `source`, in order, where the mask is True."""
    if mask.dtype.name != "bool":
        raise RuntimeError(f"masked_scatter_ only supports boolean masks, but got mask with dtype {mask.dtype}")
    if input.dtype is not source.dtype:
        raise RuntimeError(f"masked_scatter: expected self and source to have same dtypes but got {input.dtype} and {source.dtype}")
    shape = B.broadcast_shapes(input.shape, mask.shape)
    flat = B.reshape(B.expand(input, shape), (-1,))
    positions = B.reshape(B._nonzero(B.reshape(B.expand(mask, shape), (-1,))), (-1,))
    if source.numel() < positions.numel():
        raise RuntimeError(f"masked_scatter: Number of elements of source < number of ones in mask ({source.numel()} < {positions.numel()})")
    values = B.narrow(B.reshape(source, (-1,)), 0, 0, positions.numel())
    return B.reshape(B.index_put(flat, [positions], values, False), shape)


@op()
def repeat_interleave(B, input: T, repeats, dim=None, *, output_size=None):
    """Each element (or slice of a dim) repeated in place: `[1, 2]` twice is `[1, 1, 2, 2]`."""
    if dim is None:
        input, dim = B.reshape(input, (-1,)), 0
    dim = dim % max(input.ndim, 1)
    n = input.shape[dim]
    if not hasattr(repeats, "dtype"):
        if repeats < 0:
            raise RuntimeError("Repeats must be non-negative")
        index = B.arange(n * repeats, device=input.device) // max(repeats, 1)
    else:
        counts = repeats.tolist() if repeats.ndim else [repeats.item()] * n
        if len(counts) == 1:
            counts *= n
        if len(counts) != n:
            raise RuntimeError(f"repeats must have the same size as input along dim, but got repeats.size(0) = {len(counts)} and input.size({dim}) = {n}")
        if any(c < 0 for c in counts):
            raise RuntimeError("repeats can not be negative")
        index = B.tensor([i for i, c in enumerate(counts) for _ in range(c)], dtype=B.promote_types(repeats.dtype, repeats.dtype), device=input.device).long()
    return B.index_select(input, dim, index)


# --- sorting ------------------------------------------------------------------------------------------------------
def _picked_vjp(B, g, y, input_shape, dim):
    zeros = B.zeros(input_shape, dtype=g[0].dtype, device=g[0].device)
    return B.scatter_add(zeros, dim, y[1], g[0]) if input_shape else g[0]


def _picked_kept_vjp(B, g, y, input_shape, dim, keepdim):
    grad, index = g[0], y[1]
    if not keepdim and input_shape:
        grad, index = B.unsqueeze(grad, dim), B.unsqueeze(index, dim)
    zeros = B.zeros(input_shape, dtype=grad.dtype, device=grad.device)
    return B.scatter_add(zeros, dim, index, grad) if input_shape else grad


_PAIR = dict(returns=("values", "indices"), nondiff=("indices",))


@primitive(hidden=True, entry="sort", grad_name="Sort", vjp=dict(input=_picked_vjp), **_PAIR)
def _sort(B, input: T, dim: Dim, descending, stable):
    """Values in order, and where they were."""


@op(returns=("values", "indices"))
def sort(B, input: T, dim=-1, descending=False, stable=False):
    """The elements of a dim in rising order (or falling), and their positions; NaN counts as the largest.

    >>> import pyx_tensor as torch
    >>> torch.sort(torch.tensor([3, 1, 2])).indices
    tensor([1, 2, 0])
    """
    return tuple(B._sort(input, dim, bool(descending), True))


@op(nograd=True)
def argsort(B, input: T, dim=-1, descending=False, stable=False):
    """The positions of the elements of a dim in rising order (or falling)."""
    return B._sort(input, dim, bool(descending), True)[1]


@op()
def msort(B, input: T):
    """The elements in rising order along the first dim."""
    return B._sort(input, 0, False, True)[0]


@primitive(hidden=True, entry="topk", grad_name="Topk", vjp=dict(input=_picked_vjp), **_PAIR)
def _topk(B, input: T, k, dim: Dim, largest, sorted):
    """`topk` with checked arguments."""


@op(returns=("values", "indices"))
def topk(B, input: T, k, dim=-1, largest=True, sorted=True):
    """The k largest (or smallest) elements of a dim and their positions."""
    size = input.shape[dim] if input.ndim else 1
    if not 0 <= k <= size:
        raise RuntimeError("selected index k out of range")
    return tuple(B._topk(input, k, dim, largest, sorted))
