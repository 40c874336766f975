"""Sparse tensors: dims exchanged, taken out, put in and joined."""
from ..core.record import namespace as B
from ..core.tensor import TensorBase
from .shape import wrapped
from .sparse_places import INT64
from .sparse_tensor import SparseTensor, as_sparse, coalesced, dense, handles, made, rebuilt, values_of


@handles("permute")
def permute(input, dims):
    dims = [wrapped(d, input.ndim) for d in dims]
    split = input.sparse_dim()
    if sorted(dims) != list(range(input.ndim)):
        raise RuntimeError(f"permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired ordering of dimensions "
                           f"or dims repeat: {dims}")
    if any(d >= split for d in dims[:split]):
        raise RuntimeError("permute(sparse_coo): sparse and dense dims can't be exchanged")
    indices = B.index_select(input.array.indices, 0, B.tensor(dims[:split], dtype=INT64, device=input.device)) if split else input.array.indices
    values = B.permute(values_of(input), [0, *(d - split + 1 for d in dims[split:])])
    keeps_order = dims[:split] == list(range(split))
    return rebuilt(input, values, indices, [input.shape[d] for d in dims], is_coalesced=input.array.coalesced and keeps_order)


@handles("transpose")
def transpose(input, dim0, dim1):
    dims = list(range(input.ndim))
    a, b = wrapped(dim0, input.ndim), wrapped(dim1, input.ndim)
    dims[a], dims[b] = b, a
    if (a < input.sparse_dim()) != (b < input.sparse_dim()):
        raise RuntimeError(f"transpose: transposing {a} and {b}: a sparse and a dense dim can't be exchanged")
    return permute(input, dims)


@handles("t")
def t(input):
    if input.sparse_dim() > 2 or input.dense_dim():
        raise RuntimeError(f"t() expects a tensor with <= 2 sparse and 0 dense dimensions, but got {input.sparse_dim()} sparse and {input.dense_dim()} "
                           "dense dimensions")
    return input if input.ndim < 2 else permute(input, (1, 0))


@handles("unsqueeze")
def unsqueeze(input, dim):
    dim, split, parts = wrapped(dim, input.ndim + 1), input.sparse_dim(), input.array
    shape = [*input.shape[:dim], 1, *input.shape[dim:]]
    if dim > split:
        return rebuilt(input, B.unsqueeze(values_of(input), dim - split + 1), shape=shape)
    zeros = B.zeros((1, parts.indices.shape[1]), dtype=INT64, device=input.device)
    return rebuilt(input, values_of(input), B.cat([parts.indices[:dim], zeros, parts.indices[dim:]], 0), shape)


def _without(dims, drop):
    return [n for d, n in enumerate(dims) if d != drop]


@handles("select")
def select(input, dim, index):
    dim, split, parts = wrapped(dim, input.ndim), input.sparse_dim(), input.array
    size = input.shape[dim]
    if not -size <= index < size:
        raise IndexError(f"select(): index {index} out of range for tensor of size {list(input.shape)} at dimension {dim}")
    index, shape = index % size, _without(input.shape, dim)
    if dim >= split:
        return rebuilt(input, B.select(values_of(input), dim - split + 1, index), shape=shape)
    kept = B.reshape(B.nonzero(B.eq(parts.indices[dim], index)), (-1,))
    values = B.index_select(values_of(input), 0, kept)
    if split == 1:
        return B.sum(values, 0, dtype=values.dtype)
    rows = B.cat([parts.indices[:dim], parts.indices[dim + 1:]], 0)
    return rebuilt(input, values, B.index_select(rows, 1, kept), shape)


@handles("unbind")
def unbind(input, dim=0):
    return tuple(select(input, dim, i) for i in range(input.shape[wrapped(dim, input.ndim)]))


@handles("index_select")
def index_select(input, dim, index):
    dim, split, parts = wrapped(dim, input.ndim), input.sparse_dim(), input.array
    if index.ndim > 1 or index.dtype.name not in ("int32", "int64"):
        raise IndexError(f"index_select(): index must be a 1-D int32 or int64 tensor, got {index.dtype} of shape {list(index.shape)}")
    index, size = B.reshape(index.to(INT64), (-1,)), input.shape[dim]
    if index.numel() and not (0 <= int(B.amin(index)) and int(B.amax(index)) < size):
        raise IndexError(f"index_select(): index out of range for dim {dim} of size {size}")
    shape = [index.shape[0] if d == dim else n for d, n in enumerate(input.shape)]
    if dim >= split:
        return rebuilt(input, B.index_select(values_of(input), dim - split + 1, index), shape=shape)
    pairs = B.nonzero(B.eq(B.unsqueeze(index, 1), B.unsqueeze(parts.indices[dim], 0)))
    rows = list(B.unbind(B.index_select(parts.indices, 1, pairs[:, 1]), 0))
    rows[dim] = pairs[:, 0]
    return rebuilt(input, B.index_select(values_of(input), 0, pairs[:, 1]), B.stack(rows), shape, is_coalesced=False)


@handles("cat")
def cat(tensors, dim=0):
    if isinstance(tensors, TensorBase):
        raise TypeError("cat(): argument 'tensors' must be tuple of Tensors, not Tensor")
    tensors = [as_sparse("cat", t) for t in tensors]
    first = tensors[0]
    dim, split = wrapped(dim, first.ndim), first.sparse_dim()
    for t in tensors[1:]:
        if t.ndim != first.ndim or t.sparse_dim() != split or _without(t.shape, dim) != _without(first.shape, dim):
            raise RuntimeError(f"cat: all tensors must have the same sizes but for dim {dim}, and as many sparse dims: {list(first.shape)} with {split} and "
                               f"{list(t.shape)} with {t.sparse_dim()}")
    shape = [sum(t.shape[dim] for t in tensors) if d == dim else n for d, n in enumerate(first.shape)]
    indices, values, start = [], [], 0
    for t in tensors:
        place, value = t.array.indices, values_of(t)
        if dim < split:
            rows = list(B.unbind(place, 0))
            rows[dim] = B.add(rows[dim], start)
            place = B.stack(rows)
        else:
            sides = [B.zeros([n if d == dim - split + 1 else m for d, m in enumerate(value.shape)], dtype=value.dtype, device=value.device)
                     for n in (start, shape[dim] - start - t.shape[dim])]
            value = B.cat([sides[0], value, sides[1]], dim - split + 1)
        start += t.shape[dim]
        indices.append(place)
        values.append(value)
    is_coalesced = dim == 0 and split > 0 and all(t.array.coalesced for t in tensors)
    return made(B.cat(values, 0), B.cat(indices, 1), shape, is_coalesced)


@handles("stack")
def stack(tensors, dim=0):
    if isinstance(tensors, TensorBase):
        raise TypeError("stack(): argument 'tensors' must be tuple of Tensors, not Tensor")
    shapes = {tuple(as_sparse("stack", t).shape) for t in tensors}
    if len(shapes) > 1:
        raise RuntimeError(f"stack expects each tensor to be equal size, but got {' and '.join(str(list(s)) for s in sorted(shapes))}")
    return cat([unsqueeze(t, dim) for t in tensors], wrapped(dim, tensors[0].ndim + 1))


# --- questions about all values -----------------------------------------------------------------------------------
@handles("any")
def any_(input, dim=None, keepdim=False):
    if dim is not None:
        raise NotImplementedError("any: of a sparse tensor only over all dims; use to_dense() first")
    return B.any(coalesced(input).array.values)


@handles("norm")
def norm(input, p="fro", dim=None, keepdim=False, *, dtype=None):
    if dim is not None or keepdim or p not in ("fro", None) and not p > 0:
        raise NotImplementedError("norm: of a sparse tensor only over all dims, with a positive p; use to_dense() first")
    values = B.reshape(values_of(coalesced(input)), (-1,))
    return B.norm(values, 2 if p in ("fro", None) else p, dtype=dtype)


@handles("is_nonzero")
def is_nonzero(input):
    return bool(dense(input)) if isinstance(input, SparseTensor) else bool(input)
