"""Sparse matrices by rows, layout `sparse_csr`: coordinates that are coalesced, shown as where each row begins and its columns.

They compute as those of layout `sparse_coo` do, by the same handlers, as far as `AVAILABLE` goes; what gives a sparse matrix gives
one by rows.
"""
from ..core.memory_format import sparse_csr
from ..core.record import namespace as B
from .sparse_places import INT64
from .sparse_tensor import SparseTensor, check_shape, coalesced, handler, made, rebuilt, values_of

# What is available beside functions that are 0 at 0, and keeps the layout; the forms in place too.
KEEPS = {"add", "sub", "mul", "div", "true_divide", "_div_rounded", "mm", "matmul", "clone", "alias", "_to", "zeros_like", "empty_like", "zero_", "copy_",
         "neg", "conj", "_convert", "abs", "sign", "sgn", "sin", "sinh", "tan", "tanh", "asin", "asinh", "atan", "atanh", "sqrt", "square", "expm1",
         "log1p", "erf", "erfinv", "floor", "ceil", "trunc", "round", "frac", "relu", "angle", "isnan", "isinf", "signbit", "deg2rad", "rad2deg", "pow"}
AVAILABLE = {*KEEPS, *(name + "_" for name in KEEPS), "mv", "addmm", "sum", "select", "t", "transpose"}


class SparseRowsTensor(SparseTensor):
    """A matrix of layout `sparse_csr`. Made by `sparse_csr_tensor` or `to_sparse_csr`."""

    _handler = staticmethod(lambda name: handler(name) if name in AVAILABLE else None)

    @classmethod
    def _result_of(cls, name, result):
        if name in KEEPS and isinstance(result, SparseTensor) and not isinstance(result, SparseRowsTensor):
            return by_rows(result)
        return result

    @property
    def layout(self):
        return sparse_csr

    @property
    def is_sparse(self):
        return False

    @property
    def is_sparse_csr(self):
        return True

    def crow_indices(self):
        """Where in the list of values each row begins, and the end: (rows + 1)."""
        return B.searchsorted(self.array.indices[0].contiguous(), B.arange(self.shape[0] + 1, device=self.device))

    def col_indices(self):
        """The columns of the values, row by row."""
        return self.array.indices[1]

    def _shown_parts(self):
        return dict(crow_indices=self.crow_indices(), col_indices=self.col_indices(), values=self.array.values)

    def _refused(self, *args):
        raise RuntimeError("expected sparse coordinate tensor layout but got SparseCsr")

    coalesce = is_coalesced = indices = _indices = _refused

    def to_sparse(self, sparse_dim=None, *, layout=None, blocksize=None, dense_dim=None):
        """The same matrix in layout `sparse_coo`, or in the one given."""
        if layout is sparse_csr:
            return self
        plain = rebuilt(self, values_of(self))
        return plain if layout is None else plain.to_sparse(sparse_dim, layout=layout)

    def type(self, dtype=None, non_blocking=False):
        if dtype is None:
            return super().type().replace(".sparse.", ".sparse_csr.")
        return super().type(dtype)


def by_rows(tensor):
    """A sparse matrix as one by rows."""
    if tensor.ndim != 2 or tensor.sparse_dim() != 2:
        raise NotImplementedError(f"sparse_csr: only matrices without dense dims can be kept by rows, got shape {list(tensor.shape)} with "
                                  f"{tensor.sparse_dim()} sparse dims")
    tensor = coalesced(tensor)
    return made(values_of(tensor), tensor.array.indices, tensor.shape, True, SparseRowsTensor)


def to_sparse_csr(tensor):
    """`Tensor.to_sparse_csr`."""
    return tensor if isinstance(tensor, SparseRowsTensor) else by_rows(tensor.to_sparse())


def _vector(name, values, dtype, device):
    result = values.detach() if hasattr(values, "detach") and dtype is not None else values
    result = result.to(device=device) if hasattr(result, "to") else B.tensor(result, dtype=dtype, device=device)
    if result.ndim != 1:
        raise RuntimeError(f"sparse_csr_tensor: {name} must be a vector, got shape {list(result.shape)}")
    return result if dtype is None else result.to(dtype)


def from_rows(crow_indices, col_indices, values, size, dtype, device, requires_grad):
    """`sparse_csr_tensor`."""
    values = _vector("values", values, None, device)
    values = values if dtype is None else values.to(dtype)
    crow, col = (_vector(name, x, INT64, values.device) for name, x in (("crow_indices", crow_indices), ("col_indices", col_indices)))
    if col.shape != values.shape:
        raise RuntimeError(f"sparse_csr_tensor: {col.shape[0]} column indices and {values.shape[0]} values don't fit")
    rows = crow.shape[0] - 1
    size = check_shape((rows, int(B.amax(col)) + 1 if col.numel() else 0) if size is None else tuple(size))
    if len(size) != 2 or size[0] != rows:
        raise RuntimeError(f"sparse_csr_tensor: {rows + 1} row indices don't fit the size {list(size)}: batches and dense dims aren't available")
    count = crow[1:] - crow[:-1]
    if crow[0] != 0 or crow[-1] != values.shape[0] or bool((count < 0).any()):
        raise RuntimeError("sparse_csr_tensor: `crow_indices` must rise from 0 to the number of values")
    if bool(((col < 0) | (col >= size[1])).any()):
        raise RuntimeError("`0 <= col_indices < ncols` is not satisfied.")
    indices = B.stack([B.repeat_interleave(B.arange(rows, device=values.device), count), col])
    result = by_rows(made(values, indices, size))
    return result.detach().requires_grad_() if requires_grad else result


# --- products -----------------------------------------------------------------------------------------------------
def sampled_addmm(input, mat1, mat2, *, beta=1.0, alpha=1.0, out=None):
    """`beta * input + alpha * (mat1 @ mat2)` at the places of a sparse matrix by rows, and only there."""
    if not isinstance(input, SparseRowsTensor):
        raise RuntimeError(f"sampled_addmm: Expected input to have sparse csr layout, but got {input.layout}")
    if mat1.ndim < 2 or mat2.ndim < 2 or mat1.shape[-1] != mat2.shape[-2] or (mat1.shape[-2], mat2.shape[-1]) != tuple(input.shape):
        raise RuntimeError(f"sampled_addmm: shapes {list(input.shape)}, {list(mat1.shape)} and {list(mat2.shape)} don't fit")
    rows, columns = B.unbind(input.array.indices, 0)
    products = B.sum(B.mul(B.index_select(mat1, 0, rows), B.index_select(B.t(mat2), 0, columns)), 1)
    values = B.mul(products, alpha) if beta == 0 else B.add(B.mul(values_of(input), beta), B.mul(products, alpha))
    result = made(values, input.array.indices, input.shape, True, SparseRowsTensor)
    return result if out is None else out._become_sparse(result)


def reduced_product(mat1, mat2, reduce):
    """The product of a sparse matrix by rows and a dense one with another reduction than the sum: 'mean', 'amax', 'amin'."""
    if reduce not in ("sum", "mean", "amax", "amin"):
        raise RuntimeError(f"sparse_mm_reduce: reduce type of {reduce} has not been enabled.")
    if not isinstance(mat1, SparseRowsTensor):
        raise RuntimeError(f"sparse_mm_reduce: expected a matrix of layout torch.sparse_csr, got {mat1.layout}")
    rows, columns = B.unbind(mat1.array.indices, 0)
    products = B.mul(B.unsqueeze(values_of(mat1), 1), B.index_select(mat2, 0, columns))
    zeros = B.zeros((mat1.shape[0], mat2.shape[1]), dtype=products.dtype, device=products.device)
    return B.index_add(zeros, 0, rows, products) if reduce == "sum" else B.index_reduce(zeros, 0, rows, products, reduce, include_self=False)
