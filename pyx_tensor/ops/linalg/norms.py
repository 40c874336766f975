"""Norms of vectors and matrices, and the condition number."""
import math

from ...core.definitions import op
from ...core.signature import T
from ..shape import wrapped
from .common import check_floating, check_matrices, linalg_op, title

STRINGS = ("fro", "nuc")
ORDERS = (1, -1, 2, -2, math.inf, -math.inf)


def _wide_dtype(name, x, dtype):
    """x in the dtype to compute in, which mustn't be narrower in kind."""
    if dtype is None:
        return x
    if not (dtype.is_floating_point or dtype.is_complex):
        raise RuntimeError(f"{name}: dtype should be floating point or complex. Got {title(dtype)}")
    if dtype.is_complex != x.dtype.is_complex:
        raise RuntimeError(f"{name}: dtype should be {'complex' if x.dtype.is_complex else 'real'} for "
                           f"{'complex' if x.dtype.is_complex else 'real'} inputs, but got {title(dtype)}")
    if dtype.itemsize < x.dtype.itemsize:
        raise RuntimeError(f"{name}: the dtype of the input ({title(x.dtype)}) should be convertible without narrowing to the specified dtype "
                           f"({title(dtype)})")
    return x.to(dtype)


@linalg_op()
def linalg_vector_norm(B, input: T, ord=2, dim=None, keepdim=False, *, dtype=None):
    """The norm (sum |x|^ord)^(1 / ord) of all elements, or along dims.

    Args:
        ord: a number; inf and -inf give the largest and the smallest absolute value, 0 the count of elements that aren't 0.
        dim: an int, several, or None for all. dtype: to compute in.

    >>> torch.linalg.vector_norm(torch.tensor([3.0, -4.0]))
    tensor(5.)
    """
    return _of_vectors(B, input, ord, dim, keepdim, dtype)


def _of_vectors(B, input, ord, dim, keepdim, dtype):
    check_floating("linalg.vector_norm", input)
    if isinstance(ord, (str, complex)):
        raise TypeError(f"linalg_vector_norm(): argument 'ord' must be Number, not {type(ord).__name__}")
    input = _wide_dtype("linalg.vector_norm", input, dtype)
    if (ord < 0 or ord == math.inf) and input.ndim:
        dims = range(input.ndim) if dim is None or dim == () or dim == [] else [dim] if isinstance(dim, int) else dim
        if any(not input.shape[d] for d in dims):
            raise RuntimeError(f"linalg.vector_norm cannot compute the {ord} norm on an empty tensor because the operation does not have "
                               "an identity")
    return B._vector_norm(input, float(ord), dim, keepdim)


def _two_dims(x, dim):
    """Two different dims, counted from the front."""
    dims = [dim] if isinstance(dim, int) else list(dim)
    if len(dims) != 2:
        raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {' '.join(map(str, dims))}")
    wrapped_dims = [wrapped(d, x.ndim) for d in dims]
    if wrapped_dims[0] == wrapped_dims[1]:
        raise RuntimeError(f"linalg.matrix_norm: dims must be different. Got ({dims[0]}, {dims[1]})")
    return wrapped_dims


@linalg_op()
def linalg_matrix_norm(B, input: T, ord="fro", dim=(-2, -1), keepdim=False, *, dtype=None):
    """A norm of the matrices in two dims.

    Args:
        ord: 'fro' (root of the sum of squares), 'nuc' (sum of the singular values), inf and -inf (largest and smallest sum of
            absolute values of a row), 1 and -1 (of a column), 2 and -2 (largest and smallest singular value).
        dim: the two dims. dtype: to compute in.

    >>> torch.linalg.matrix_norm(torch.tensor([[3.0, 0.0], [0.0, 4.0]]), "nuc").round(decimals=4)
    tensor(7.)
    """
    if input.ndim < 2:
        raise RuntimeError("linalg.matrix_norm: The input tensor A must have at least 2 dimensions.")
    check_floating("linalg.matrix_norm", input)
    dims = _two_dims(input, dim)
    x = _wide_dtype("linalg.matrix_norm", input, dtype)
    if ord == "fro":
        return B._vector_norm(x, 2.0, dims, keepdim)
    if not (ord == "nuc" or (not isinstance(ord, str) and abs(ord) in (1, 2, math.inf))):
        raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported.")
    if ord == "nuc" or abs(ord) == 2:
        return _by_singular_values(B, x, ord, dims, keepdim)
    rows, columns = dims if abs(ord) == 1 else reversed(dims)
    sums = B._vector_norm(x, 1.0, rows, True)
    result = _extreme(B, sums, ord, columns, True)
    return result if keepdim else B.squeeze(result, tuple(dims))


def _extreme(B, sizes, ord, dim, keepdim):
    """The largest (0 of nothing) or, for a negative order, the smallest along a dim."""
    if sizes.shape[dim]:
        return B.amax(sizes, dim, keepdim) if ord > 0 else B.amin(sizes, dim, keepdim)
    if ord > 0 or 0 in [n for d, n in enumerate(sizes.shape) if d != dim % sizes.ndim]:
        return B.sum(sizes, dim, keepdim)
    raise IndexError(f"amin(): Expected reduction dim {dim} to have non-zero size.")


def _by_singular_values(B, x, ord, dims, keepdim):
    values = B.linalg_svdvals(B.movedim(x, dims, (-2, -1)))
    result = B.sum(values, -1) if ord == "nuc" else _extreme(B, values, ord, -1, False)
    for d in sorted(dims) if keepdim else ():
        result = B.unsqueeze(result, d)
    return result


@linalg_op()
def linalg_norm(B, input: T, ord=None, dim=None, keepdim=False, *, dtype=None):
    """The norm of a vector or a matrix: `vector_norm` along one dim, `matrix_norm` in two.

    Args:
        ord: as for `vector_norm` or `matrix_norm`; None for the root of the sum of squares over all of `dim`.
        dim: one dim, or two; None for all of a tensor of one or two dims (of any where `ord` is None).

    >>> torch.linalg.norm(torch.tensor([[3.0, 0.0], [0.0, 4.0]]))
    tensor(5.)
    """
    if ord is None:
        return _of_vectors(B, input, 2, dim, keepdim, dtype)
    dims = None if dim is None else (dim,) if isinstance(dim, int) else tuple(dim)
    if dims is not None and len(dims) not in (1, 2):
        raise RuntimeError(f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {list(dims)}")
    if dims is None and input.ndim not in (1, 2):
        raise RuntimeError("linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. "
                           f"Got {input.ndim}D.")
    if (input.ndim if dims is None else len(dims)) == 1:
        if isinstance(ord, str):
            raise RuntimeError(f"linalg.norm: Order {ord} is for matrices, but there is one dim: dim={dim}, input of shape {list(input.shape)}")
        return _of_vectors(B, input, ord, dims, keepdim, dtype)
    return B.linalg_matrix_norm(input, ord, (0, 1) if dims is None else dims, keepdim, dtype=dtype)


@op(method=False)
def nuclear_norm(B, input: T, dim=None, keepdim=False):
    """The sum of the singular values of matrices. `torch.linalg.matrix_norm` with 'nuc' is today's name for it."""
    return B.linalg_matrix_norm(input, "nuc", (-2, -1) if dim is None else dim, keepdim)


@op(method=False)
def frobenius_norm(B, input: T, dim=None, keepdim=False):
    """The root of the sum of squares. `torch.linalg.matrix_norm` is today's name for it."""
    return _of_vectors(B, input, 2, dim, keepdim, None)


# --- condition number ---------------------------------------------------------------------------------------------
@linalg_op()
def linalg_cond(B, input: T, p=None):
    """The condition numbers of matrices (..., n, n) with respect to a norm; inf for singular ones.

    Args:
        p: as `ord` of `matrix_norm`. None, 2 and -2, quotients of singular values, take matrices of any shape.

    >>> torch.linalg.cond(torch.tensor([[4.0, 0.0], [0.0, 2.0]])).round(decimals=4)
    tensor(2.)
    """
    check_matrices("linalg.cond", input)
    if p is None or (not isinstance(p, str) and abs(p) == 2):
        values = B.linalg_svdvals(input)
        if not values.shape[-1]:
            return B.sum(values, -1)
        large, small = B.select(values, -1, 0), B.select(values, -1, -1)
        return B.div(small, large) if p == -2 else B.div(large, small)
    if p not in STRINGS and p not in ORDERS:
        raise RuntimeError(f"linalg.cond got an invalid norm type: {p}")
    if input.shape[-1] != input.shape[-2] and (input.numel() or isinstance(p, str)):
        raise RuntimeError(f"linalg.cond(ord={p}): A must be batches of square matrices, but they are {input.shape[-2]} by "
                           f"{input.shape[-1]} matrices")
    if not input.numel():
        return B.sum(B.abs(input), (-2, -1))
    inverse, info = B._inv(input)
    singular = B.ne(info, 0)
    if bool(B.any(singular)):
        identity = B.eye(input.shape[-1], dtype=input.dtype, device=input.device)
        inverse = B._inv(B.where(B.unsqueeze(B.unsqueeze(singular, -1), -1), identity, input))[0]
    product = B.mul(B.linalg_matrix_norm(input, p), B.linalg_matrix_norm(inverse, p))
    return B.masked_fill(product, singular, math.inf)
