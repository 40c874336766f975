"""The pseudoinverse, and the rank."""
from ...core.definitions import op
from ...core.signature import T
from ...core.tensor import TensorBase
from ...core.typeinfo import finfo
from .common import check_matrices, check_square, linalg_op, title


def _tolerances(B, name, A, atol, rtol):
    """Both tolerances; the relative one is by default eps · max(m, n), or 0 where an absolute one is given."""
    for which, x in (("atol", atol), ("rtol", rtol)):
        if isinstance(x, TensorBase) and x.dtype.is_complex:
            raise RuntimeError(f"{name}: {which} tensor of complex type is not supported. Got {title(x.dtype)}")
    default = finfo(A.dtype).eps * max(A.shape[-2:])
    if rtol is None:
        if isinstance(atol, TensorBase):
            rtol = B.where(B.gt(atol, 0), B.zeros_like(atol), B.full_like(atol, default))
        else:
            rtol = 0.0 if atol else default
    return 0.0 if atol is None else atol, rtol


def _is_significant(B, sizes, atol, rtol):
    """Which singular values (or absolute values of eigenvalues) exceed both tolerances, the relative one times the largest."""
    if not sizes.shape[-1]:
        return B.gt(sizes, 0)
    relative = B.mul(B.amax(sizes, -1), rtol)
    bound = B.maximum(*B.broadcast_tensors(relative, atol)) if isinstance(atol, TensorBase) else B.clamp(relative, min=atol)
    return B.gt(sizes, B.unsqueeze(bound, -1))


def pinv_vjp(B, g, y, A):
    """G. Golub & V. Pereyra, The differentiation of pseudo-inverses and nonlinear least squares problems (1973), eq. 4.12."""
    P, Ph, gh = y, B.adjoint(y), B.adjoint(g)
    rows, columns = [B.eye(n, dtype=A.dtype, device=A.device) for n in A.shape[-2:]]
    outside_rows, outside_columns = B.sub(rows, B.matmul(A, P)), B.sub(columns, B.matmul(P, A))
    result = B.neg(B.matmul(Ph, B.matmul(g, Ph)))
    result = B.add(result, B.matmul(B.matmul(outside_rows, gh), B.matmul(P, Ph)))
    return B.add(result, B.matmul(B.matmul(Ph, P), B.matmul(gh, outside_columns)))


@linalg_op(grad_name="LinalgPinv", entry=False, vjp=dict(A=pinv_vjp))
def _pinv(B, A: T, atol, rtol, hermitian):
    """V diag(1 / S) U^H, without the singular values that the tolerances count as 0."""
    if hermitian:
        values, V = B.linalg_eigh(A)
        left, right, sizes = V, B.adjoint(V), B.abs(values)
    else:
        U, values, Vh = B.linalg_svd(A, False)
        left, right, sizes = B.adjoint(Vh), B.adjoint(U), values
    kept = _is_significant(B, sizes, atol, rtol)
    inverted = B.masked_fill(B.reciprocal(values), B.logical_not(kept), 0)
    return B.matmul(B.mul(left, B.unsqueeze(inverted, -2)), right)


@linalg_op()
def linalg_pinv(B, input: T, rcond=None, hermitian=False, *, atol=None, rtol=None):
    """The Moore-Penrose inverses of matrices (..., m, n): (..., n, m).

    Args:
        atol, rtol: singular values up to the larger of atol and rtol times the largest count as 0; numbers, or tensors with one
            for each matrix. rtol is by default eps · max(m, n), or 0 where atol is given. rcond: an older name of rtol.
        hermitian: take the matrices for Hermitian and read their lower triangles.

    >>> torch.linalg.pinv(torch.tensor([[2.0, 0.0], [0.0, 0.0]])).round(decimals=4)
    tensor([[0.5000, 0.0000],
            [0.0000, 0.0000]])
    """
    (check_square if hermitian else check_matrices)("linalg.pinv", input)
    if not input.numel():
        return B.clone(B.adjoint(input))
    return B._pinv(input, *_tolerances(B, "torch.linalg.pinv", input, atol, rcond if rtol is None else rtol), hermitian)


@op()
def pinverse(B, input: T, rcond=1e-15):
    """The Moore-Penrose inverse. `torch.linalg.pinv` is today's name for it."""
    return B.linalg_pinv(input, rcond)


@linalg_op(nograd=True, entry=False)
def linalg_matrix_rank(B, input: T, tol=None, hermitian=False, *, atol=None, rtol=None):
    """How many singular values of matrices (..., m, n) aren't 0, as int64.

    Args:
        atol, rtol: as for `pinv`. tol: an older name of atol, next to which rtol is 0.
        hermitian: take the matrices for Hermitian and read their lower triangles.

    >>> torch.linalg.matrix_rank(torch.tensor([[1.0, 2.0], [2.0, 4.0]]))
    tensor(1)
    """
    (check_square if hermitian else check_matrices)("linalg.matrix_rank", input)
    if tol is not None:
        atol, rtol = tol, 0.0
    atol, rtol = _tolerances(B, "torch.linalg.matrix_rank", input, atol, rtol)
    sizes = B.abs(B.linalg_eigvalsh(input)) if hermitian else B.linalg_svdvals(input)
    return B.sum(_is_significant(B, sizes, atol, rtol), -1)
