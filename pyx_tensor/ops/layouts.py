"""Dense and sparse: the functions and methods that lead from one layout to the other. What they do to sparse tensors stands in
sparse_*.py, which is imported when the first one is made."""
from importlib import import_module

from ..core.definitions import composes, methods, properties, publish_function
from ..core.memory_format import sparse_coo, sparse_csr, strided


def _sparse(module="sparse_math"):
    return import_module(f".{module}", __package__)


@publish_function
def sparse_coo_tensor(indices=None, values=None, size=None, *, dtype=None, device=None, pin_memory=False, requires_grad=False,
                      check_invariants=None, is_coalesced=None):
    """A sparse tensor: zero but for `values` at `indices`; values at the same place add up.

    Args:
        indices: (sparse dims, n) integers, or the shape alone for a tensor without values.
        values: (n, *dense dims).
        size: the shape; by default the smallest that has room for the indices, and the values' dense dims.
        dtype, device, requires_grad: as everywhere. check_invariants: check that the indices are within `size` (and, with
            `is_coalesced`, sorted and unique) where that costs a pass over them; negative ones are always found.
        is_coalesced: says that the indices are sorted and unique.

    Raises:
        RuntimeError: shapes that don't fit together, or indices outside of `size`.

    >>> import pyx_tensor as torch
    >>> torch.sparse_coo_tensor([[0, 1, 1], [2, 0, 2]], [3.0, 4.0, 5.0], (2, 3))
    tensor(indices=tensor([[0, 1, 1],
                           [2, 0, 2]]),
           values=tensor([3., 4., 5.]),
           size=(2, 3), nnz=3, layout=torch.sparse_coo)
    """
    return _sparse().from_parts(indices, values, size, dtype, device, requires_grad, check_invariants, is_coalesced)


def to_sparse(self, sparse_dim=None, *, layout=None, blocksize=None, dense_dim=None):
    """The tensor with its zeros left out, in layout `sparse_coo`.

    Args:
        sparse_dim: the number of leading dims whose slices are left out where they are all zero; all dims by default.
    """
    if layout not in (None, sparse_coo, sparse_csr, strided):
        raise NotImplementedError(f"to_sparse: layout {layout} isn't available; torch.sparse_coo and torch.sparse_csr are")
    if layout is strided:
        return self.to_dense()
    if layout is sparse_csr:
        return to_sparse_csr(self)
    return _sparse().from_dense(self, sparse_dim)


def to_sparse_csr(self, dense_dim=None):
    """A matrix in layout `sparse_csr`."""
    return _sparse("sparse_rows").to_sparse_csr(self)


@publish_function
def sparse_csr_tensor(crow_indices, col_indices, values, size=None, *, dtype=None, device=None, pin_memory=False, requires_grad=False, check_invariants=None):
    """A sparse matrix by rows.

    Args:
        crow_indices: (rows + 1): where in the list of values each row begins, and the end.
        col_indices, values: (n): row by row.
        size: the shape; by default with as many columns as the indices need.

    Raises:
        RuntimeError: lengths that don't fit together, or columns outside of `size`.

    >>> import pyx_tensor as torch
    >>> torch.sparse_csr_tensor([0, 1, 3], [2, 0, 2], [9.0, 4.0, 5.0], (2, 3)).to_dense()
    tensor([[0., 0., 9.],
            [4., 0., 5.]])
    """
    return _sparse("sparse_rows").from_rows(crow_indices, col_indices, values, size, dtype, device, requires_grad)


def to_dense(self, dtype=None, *, masked_grad=None):
    """The tensor in layout `strided`: itself where it is dense."""
    return self if dtype is None else self.to(dtype)


def sparse_mask(self, mask):
    """The values at the places that the sparse tensor `mask` lists, as a sparse tensor."""
    return _sparse().masked(self, mask)


def _refused(name, kind="coordinate "):
    def method(self):
        raise RuntimeError(f"{name} expected sparse {kind}tensor layout but got {str(self.layout).removeprefix('torch.').capitalize()}")
    method.__name__ = name
    method.__doc__ = f"`{name}` of a sparse tensor; RuntimeError for a dense one."
    return method


def _refused_rows(name):
    def method(self):
        raise RuntimeError(f"{name} expected sparse row compressed tensor layout but got {str(self.layout).removeprefix('torch.').capitalize()}")
    method.__name__ = name
    method.__doc__ = f"`{name}` of a sparse matrix by rows; RuntimeError for others."
    return method


def _nnz(self):
    """The number of places that a sparse tensor lists; NotImplementedError for a dense one."""
    raise NotImplementedError("Could not run 'aten::_nnz' with arguments from the 'CPU' backend: the tensor isn't sparse")


def sparse_dim(self):
    """The number of dims that a sparse tensor's places have; 0 for a dense one."""
    return 0


def dense_dim(self):
    """The number of dims that are dense; all of a dense tensor."""
    return self.ndim


methods.update(
    to_sparse=to_sparse, to_sparse_csr=to_sparse_csr, to_sparse_coo=lambda self: to_sparse(self), to_dense=to_dense, sparse_mask=sparse_mask, _nnz=_nnz, sparse_dim=sparse_dim,
    dense_dim=dense_dim, values=_refused("values", ""), _values=_refused("values", ""),
    crow_indices=_refused_rows("crow_indices"), col_indices=_refused_rows("col_indices"),
    **{name: _refused(name.strip("_")) for name in ("coalesce", "is_coalesced", "indices", "_indices")})


def rows_gradient(g, indices, rows, padding_idx):
    """The sparse gradient of a table whose rows were looked up."""
    return _sparse().rows_gradient(g, indices, rows, padding_idx)


properties["is_sparse_csr"] = (lambda self: False), None


def zeros_of_layout(name, shape, fill, layout, dtype, device, requires_grad):
    """What `zeros` and `empty` make for a layout other than strided."""
    if layout not in (sparse_coo, sparse_csr):
        raise NotImplementedError(f"{name}: layout {layout} isn't available; torch.strided, torch.sparse_coo and torch.sparse_csr are")
    if fill:
        raise RuntimeError(f"{name}(...) is not implemented for sparse layout")
    if layout is sparse_csr:
        return to_sparse_csr(zeros_of_layout(name, shape, fill, sparse_coo, dtype, device, False)).requires_grad_(requires_grad)
    return _sparse("sparse_tensor").empty(shape, len(shape), dtype, device).requires_grad_(requires_grad)


def _public(name, doc):
    def function(*args, **kwargs):
        return getattr(_sparse("sparse_products"), name)(*args, **kwargs)
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    composes(function)


_public("hspmm", "The product of a sparse matrix and a dense one, as a sparse matrix with dense rows.")
_public("smm", "The product of a sparse matrix and a dense one, as a sparse matrix.")
_public("spmm", "The product of a sparse matrix and a matrix: an early name of `torch.sparse.mm`.")
_public("sspaddmm", "`beta * input + alpha * (mat1 @ mat2)` for sparse `input` and `mat1` and a dense `mat2`: a sparse matrix.")
methods.update(smm=lambda self, mat: _sparse("sparse_products").smm(self, mat),
               sspaddmm=lambda self, mat1, mat2, **options: _sparse("sparse_products").sspaddmm(self, mat1, mat2, **options))
