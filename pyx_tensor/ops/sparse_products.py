"""Sparse tensors: products with matrices, sums, softmax."""
from ..core.definitions import op
from ..core.record import namespace as B
from ..core.signature import Raw, T
from ..core.tensor import TensorBase
from .pointwise import conjugate
from .shape import wrapped
from .sparse_places import INT64, place_numbers, unique_places
from .sparse_tensor import SparseTensor, as_sparse, coalesced, everywhere, handles, in_graph, made, rebuilt, values_of


def _check_matrix(name, x, what):
    if not isinstance(x, TensorBase):
        raise TypeError(f"{name}(): {what} must be Tensor, not {type(x).__name__}")
    if x.ndim != 2 or isinstance(x, SparseTensor) and x.dense_dim():
        raise RuntimeError(f"{name}: {what} must be a matrix, got {list(x.shape)}" + (f" with {x.dense_dim()} dense dims" if isinstance(x, SparseTensor) else ""))


def _check_product(name, a, b):
    _check_matrix(name, a, "argument 'input'")
    _check_matrix(name, b, "argument 'mat2'")
    if a.shape[1] != b.shape[0]:
        raise RuntimeError(f"{name}: mat1 and mat2 shapes cannot be multiplied ({a.shape[0]}x{a.shape[1]} and {b.shape[0]}x{b.shape[1]})")
    if a.dtype is not b.dtype:
        raise RuntimeError(f"{name}: expected operands to have the same dtype, but got: {a.dtype} != {b.dtype}")


# --- matrix products ----------------------------------------------------------------------------------------------
def _at(B, matrix, rows):
    return B.index_select(matrix, 0, rows)


@op(hidden=True, method=False, promote="same", entry="sparse_mm", vjp=dict(
    values=lambda B, g, rows, columns, matrix: B.sum(B.mul(_at(B, g, rows), conjugate(B, _at(B, matrix, columns))), 1),
    matrix=lambda B, g, values, rows, columns, matrix_shape: B._sparse_mm(conjugate(B, values), columns, rows, g, matrix_shape[0])))
def _sparse_mm(B, values: T, rows: Raw, columns: Raw, matrix: T, n):
    """Values at places of a matrix of n rows, times a dense matrix: every value times a row of that, added to a row of the result."""
    products = B.mul(B.unsqueeze(values, 1), _at(B, matrix, columns))
    return B.index_add(B.zeros((n, matrix.shape[1]), dtype=products.dtype, device=products.device), 0, rows, products)


def _times_dense(a, b):
    """Sparse (n, m) times dense (m, p)."""
    rows, columns = B.unbind(a.array.indices, 0)
    return B._sparse_mm(values_of(a), rows, columns, b, a.shape[0])


def _times_sparse(a, b):
    """Sparse (n, m) times sparse (m, p): every value of `a` meets the values of one row of `b`."""
    a, b = coalesced(a), coalesced(b)
    (rows, inner), (b_rows, columns) = B.unbind(a.array.indices, 0), B.unbind(b.array.indices, 0)
    first = B.searchsorted(b_rows, inner)
    count = B.sub(B.searchsorted(b_rows, inner, right=True), first)
    left = B.repeat_interleave(B.arange(inner.shape[0], device=a.device), count)
    begin = B.sub(B.cumsum(count, 0), count)
    right = B.add(B.index_select(B.sub(first, begin), 0, left), B.arange(left.shape[0], device=a.device))
    indices = B.stack([B.index_select(rows, 0, left), B.index_select(columns, 0, right)])
    values = B.mul(B.index_select(values_of(a), 0, left), B.index_select(values_of(b), 0, right))
    return coalesced(made(values, indices, (a.shape[0], b.shape[1])))


@handles("mm")
def mm(input, mat2, *, out=None):
    """As `torch.mm`, whose gradient of a sparse operand is dense."""
    if in_graph(input) and not isinstance(mat2, SparseTensor) or in_graph(mat2) and not isinstance(input, SparseTensor):
        _check_product("mm", input, mat2)
        return B.mm(*(everywhere(x) if isinstance(x, SparseTensor) else x for x in (input, mat2)), out=out)
    return product(input, mat2, out=out)


def product(input, mat2, *, out=None):
    """As `torch.sparse.mm`: the gradient of a sparse operand is sparse, at the same places."""
    _check_product("mm", input, mat2)
    if isinstance(input, SparseTensor):
        result = _times_sparse(input, mat2) if isinstance(mat2, SparseTensor) else _times_dense(input, mat2)
    else:
        result = B.t(_times_dense(B.t(mat2), B.t(input)))
    if out is None:
        return result
    return out._become_sparse(result) if isinstance(result, SparseTensor) else out.copy_(result)


@handles("mv")
def mv(input, vec):
    if vec.ndim != 1 or isinstance(vec, SparseTensor):
        raise RuntimeError(f"mv: two tensor dim should be 2 and 1, and the vector dense, but got {input.ndim} and {vec.ndim}")
    return B.squeeze(mm(input, B.unsqueeze(vec, 1)), 1)


@handles("matmul")
def matmul(input, other):
    if not isinstance(input, TensorBase) or not isinstance(other, TensorBase):
        _check_matrix("matmul", input, "argument 'input'")
        _check_matrix("matmul", other, "argument 'other'")
    if input.ndim == 2 and other.ndim == 2:
        return mm(input, other)
    if input.ndim == 2 and other.ndim == 1 and not isinstance(other, SparseTensor):
        return mv(input, other)
    if input.ndim == 1 and other.ndim == 2 and not isinstance(input, SparseTensor):
        return mv(B.t(other), input)
    if input.ndim == 3 and other.ndim == 3:
        return bmm(input, other)
    raise NotImplementedError(f"matmul: of sparse tensors only products of matrices, of a matrix and a dense vector, and batches with the sparse one "
                              f"first are available, got shapes {list(input.shape)} and {list(other.shape)}")


@handles("bmm")
def bmm(input, mat2):
    if isinstance(mat2, SparseTensor):
        raise RuntimeError("bmm_sparse: Tensor 'mat2' must be dense")
    if input.ndim != 3 or mat2.ndim != 3 or input.dense_dim():
        raise RuntimeError(f"bmm_sparse: expected batches of matrices without dense dims, got shapes {list(input.shape)} and {list(mat2.shape)}")
    if input.shape[0] != mat2.shape[0] or input.shape[2] != mat2.shape[1]:
        raise RuntimeError(f"bmm_sparse: shapes {list(input.shape)} and {list(mat2.shape)} don't fit")
    batch, rows, columns = B.unbind(input.array.indices, 0)
    (b, n, m), p = input.shape, mat2.shape[2]
    indices = B.stack([B.add(B.mul(batch, n), rows), B.add(B.mul(batch, m), columns)])
    return B.reshape(_times_dense(rebuilt(input, values_of(input), indices, (b * n, b * m)), B.reshape(mat2, (b * m, p))), (b, n, p))


@handles("addmm")
def addmm(input, mat1, mat2, *, beta=1, alpha=1):
    if isinstance(input, SparseTensor):
        raise RuntimeError("addmm_sparse_dense: expected strided result tensor, got tensor with layout torch.sparse_coo")
    return _scaled_sum(input, mm(mat1, mat2), beta, alpha)


def _scaled_sum(input, product, beta, alpha):
    product = product if alpha == 1 else B.mul(product, alpha)
    return product if beta == 0 else B.add(input if beta == 1 else B.mul(input, beta), product)


def sspaddmm(input, mat1, mat2, *, beta=1, alpha=1, out=None):
    as_sparse("sspaddmm", input)
    product = smm(mat1, mat2)
    if input.shape != product.shape:
        raise RuntimeError(f"sspaddmm: expected 'input' of shape {list(product.shape)}, got {list(input.shape)}")
    result = _scaled_sum(input, product, beta, alpha)
    return result if out is None else out._become_sparse(result)


def smm(mat1, mat2):
    from_rows = hspmm(mat1, mat2)
    rows, columns = from_rows.array.indices, mat2.shape[1]
    count = rows.shape[1]
    indices = B.stack([B.repeat_interleave(rows[0], columns), B.arange(columns, device=rows.device).repeat(count)])
    return rebuilt(from_rows, B.reshape(values_of(from_rows), (-1,)), indices)


def hspmm(mat1, mat2, *, out=None):
    as_sparse("hspmm", mat1)
    _check_product("hspmm", mat1, mat2)
    if isinstance(mat2, SparseTensor):
        raise RuntimeError("hspmm: Tensor 'mat2' must be dense")
    rows, places, count = unique_places(mat1.array.indices[:1], mat1.shape[:1])
    compact = rebuilt(mat1, values_of(mat1), B.stack([places, mat1.array.indices[1]]), (count, mat1.shape[1]), is_coalesced=False)
    result = made(_times_dense(compact, mat2), rows, (mat1.shape[0], mat2.shape[1]), True)
    return result if out is None else out._become_sparse(result)


def spmm(input, mat):
    return product(input, mat)


# --- sums ---------------------------------------------------------------------------------------------------------
@handles("sum")
def sum_(input, dim=None, keepdim=False, *, dtype=None):
    if dim is None or isinstance(dim, (tuple, list)) and not dim:
        return B.sum(everywhere(input) if in_graph(input) else values_of(input), dtype=dtype)
    return sum_of_listed(input, dim, keepdim, dtype=dtype)


def sum_of_listed(input, dim=None, keepdim=False, *, dtype=None):
    """As `torch.sparse.sum`: the gradient is sparse, at the same places."""
    values = values_of(input)
    if dim is None or isinstance(dim, (tuple, list)) and not dim:
        return B.sum(values, dtype=dtype)
    dims = sorted({wrapped(d, input.ndim) for d in (dim if isinstance(dim, (tuple, list)) else (dim,))})
    if keepdim:
        raise NotImplementedError("sum: keepdim=True isn't available for sparse tensors")
    split = input.sparse_dim()
    gone = [d - split + 1 for d in dims if d >= split]
    values = B.sum(values, gone, dtype=dtype) if gone else B.sum(B.unsqueeze(values, 0), 0, dtype=dtype)
    kept = [d for d in range(split) if d not in dims]
    shape = [n for d, n in enumerate(input.shape) if d not in dims]
    if not kept:
        return B.sum(values, 0)
    indices = B.index_select(input.array.indices, 0, B.tensor(kept, dtype=INT64, device=input.device))
    return coalesced(made(values, indices, shape, input.array.coalesced and len(kept) == split))


# --- softmax ------------------------------------------------------------------------------------------------------
def _softmax(name, input, dim, dtype):
    """Over the values listed along `dim`: what isn't listed counts as minus infinity."""
    input = coalesced(as_sparse(name, input))
    input = input if dtype is None else input.to(dtype)
    dim, split, values = wrapped(dim, input.ndim), input.sparse_dim(), values_of(input)
    if not values.dtype.is_floating_point:
        raise NotImplementedError(f"{name}: not implemented for {values.dtype}")
    if dim >= split:
        return rebuilt(input, getattr(B, name)(values, dim - split + 1))
    others = B.cat([input.array.indices[:dim], input.array.indices[dim + 1:]], 0)
    group = place_numbers(others, [n for d, n in enumerate(input.shape[:split]) if d != dim])
    _, group = B.unique(group, return_inverse=True)
    count = int(B.amax(group)) + 1 if group.shape[0] else 0
    lowest = B.full((count, *values.shape[1:]), float("-inf"), dtype=values.dtype, device=values.device)
    peaks = B.index_reduce(lowest, 0, group, values.detach(), "amax")
    shifted = B.sub(values, B.index_select(peaks, 0, group))
    total = B.index_add(B.zeros_like(peaks), 0, group, B.exp(shifted))
    if name == "softmax":
        return rebuilt(input, B.div(B.exp(shifted), B.index_select(total, 0, group)))
    return rebuilt(input, B.sub(shifted, B.log(B.index_select(total, 0, group))))


def softmax(input, dim, *, dtype=None):
    """The softmax of the values listed along a dim."""
    return _softmax("softmax", input, dim, dtype)


def log_softmax(input, dim, *, dtype=None):
    """The logarithm of `softmax`."""
    return _softmax("log_softmax", input, dim, dtype)
