"""Sparse tensors: `torch.sparse`.

>>> import pyx_tensor as torch
>>> s = torch.eye(2).to_sparse()
>>> torch.sparse.mm(s, torch.ones(2, 2))
tensor([[1., 1.],
        [1., 1.]])
"""
from functools import wraps as _wraps

from ..core.record import namespace as _B
from ..ops import sparse_math as _math  # noqa: F401  (enters what sparse tensors can do)
from ..ops import sparse_products as _products
from ..ops import sparse_rows as _rows
from ..ops.sparse_products import log_softmax, softmax  # noqa: F401
from ..ops.sparse_rows import sampled_addmm  # noqa: F401
from ..ops.sparse_tensor import as_sparse as _as_sparse
from ..ops.tensor_types import sparse_types_of as _types_of

globals().update(_types_of("cpu"))


def mm(mat1, mat2, reduce="sum"):
    """The product of two matrices, one or both sparse: dense where one is, else sparse.

    Args:
        reduce: for a sparse matrix by rows and a dense one, what takes the place of the sum: 'mean', 'amax' or 'amin' of the products listed.

    Raises RuntimeError where shapes or dtypes don't fit.
    """
    if reduce != "sum":
        return _rows.reduced_product(mat1, mat2, reduce)
    return _products.product(mat1, mat2)


def addmm(mat, mat1, mat2, beta=1.0, alpha=1.0):
    """`beta * mat + alpha * (mat1 @ mat2)` for a sparse `mat1` and dense matrices."""
    return _B.addmm(mat, mat1, mat2, beta=beta, alpha=alpha)


def sum(input, dim=None, dtype=None):
    """The sum over all dims (dense), or over some: sparse where a sparse dim is left.

    >>> import pyx_tensor as torch
    >>> torch.sparse.sum(torch.eye(2).to_sparse(), 0).to_dense()
    tensor([1., 1.])
    """
    return _products.sum_of_listed(_as_sparse("sum", input), dim, dtype=dtype)


def spdiags(diagonals, offsets, shape, layout=None):
    """A sparse matrix with the rows of `diagonals` as its diagonals: element j of a row stands in column j.

    Args:
        diagonals: (count, length). offsets: (count), above the main diagonal positive; each occurs once. shape: of the matrix.
    """
    diagonals, offsets = (t.reshape(1, -1) if t.ndim == 1 and diagonals is t else t for t in (diagonals, offsets.reshape(-1)))
    if len(shape) != 2 or diagonals.ndim != 2 or diagonals.shape[0] != offsets.shape[0]:
        raise RuntimeError(f"spdiags: {list(diagonals.shape)} diagonals, {offsets.shape[0]} offsets and shape {list(shape)} don't fit")
    if _B.unique(offsets).shape[0] != offsets.shape[0]:
        raise RuntimeError("spdiags: Offset tensor contains duplicate values")
    columns = _B.arange(diagonals.shape[1], device=diagonals.device).expand(tuple(diagonals.shape))
    rows = columns - offsets.reshape(-1, 1).to(columns.device)
    inside = (rows >= 0) & (rows < shape[0]) & (columns < shape[1])
    return _B.sparse_coo_tensor(_B.stack([rows[inside], columns[inside]]), diagonals[inside], tuple(shape))


class check_sparse_tensor_invariants:
    """PyTorch's switch for checks of indices where sparse tensors are made. Here indices are always checked to lie within the shape;
    the switch is kept, as a context manager, a decorator and by `enable` and `disable`, and changes nothing.
    """

    _enabled = False

    def __init__(self, enable=True):
        self.state = enable

    @classmethod
    def enable(cls):
        cls._enabled = True

    @classmethod
    def disable(cls):
        cls._enabled = False

    @classmethod
    def is_enabled(cls):
        return cls._enabled

    def __enter__(self):
        self.before, check_sparse_tensor_invariants._enabled = self._enabled, self.state

    def __exit__(self, *exc_info):
        check_sparse_tensor_invariants._enabled = self.before

    def __call__(self, function):
        @_wraps(function)
        def call(*args, **kwargs):
            with type(self)(self.state):
                return function(*args, **kwargs)
        return call
