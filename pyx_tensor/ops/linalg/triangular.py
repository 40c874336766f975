"""Triangular systems, and the Cholesky factor."""
from ...core.definitions import op
from ...core.signature import T
from .common import check_equations, check_info, check_square, linalg_op, linalg_primitive, zero_on_diagonal


# --- triangular systems -------------------------------------------------------------------------------------------
def _triangular_vjp(B, g, y, A, upper, transpose, unitriangular, needs):
    """From A dX = dB - dA X; the transpose of it where the system is A^T X = B."""
    to_right = B._triangular_solve(B.conj(A), g, upper, not transpose, unitriangular)
    if not needs[0]:
        return None, to_right
    to_matrix = B.matmul(to_right, B.adjoint(y))
    if transpose:
        to_matrix = B.transpose(to_matrix, -2, -1)
    offset = int(unitriangular)
    return B.neg(B.triu(to_matrix, offset) if upper else B.tril(to_matrix, -offset)), to_right


@linalg_primitive(entry="triangular_solve", grad_name="LinalgSolveTriangular", vjp={("A", "right"): _triangular_vjp})
def _triangular_solve(B, A: T, right: T, upper, transpose, unitriangular):
    """X of A X = B, or of A^T X = B with `transpose`; of A only one triangle is read, without its diagonal if `unitriangular`."""


@linalg_op()
def linalg_solve_triangular(B, input: T, other: T, *, upper, left=True, unitriangular=False):
    """X of A X = B with a triangular A, or of X A = B.

    Args:
        input: A, (..., n, n). other: B, (..., n, k), or (..., k, n) unless `left`.
        upper: which triangle of A is read; the other one may hold anything.
        left: A stands on the left of X. unitriangular: take A's diagonal for ones.

    >>> A = torch.tensor([[2.0, 0.0], [1.0, 4.0]])
    >>> torch.linalg.solve_triangular(A, torch.tensor([[2.0], [5.0]]), upper=False)
    tensor([[1.],
            [1.]])
    """
    check_square("linalg.solve_triangular", input)
    check_equations("linalg.solve_triangular", input, other, left)
    if left:
        return B._triangular_solve(input, other, upper, False, unitriangular)
    return B.transpose(B._triangular_solve(input, B.transpose(other, -2, -1), upper, True, unitriangular), -2, -1)


@op(returns=("solution", "cloned_coefficient"))
def triangular_solve(B, input: T, A: T, upper=True, transpose=False, unitriangular=False):
    """(X, a copy of A), with X of A X = b for the right-hand side `input` and a triangular A; of A^T X = b with `transpose`.

    `torch.linalg.solve_triangular` is today's name for it.
    """
    for which, x in (("b", input), ("A", A)):
        if x.ndim < 2:
            raise RuntimeError(f"torch.triangular_solve: Expected {which} to have at least 2 dimensions, but it has {x.ndim} dimensions instead")
    check_square("triangular_solve", A)
    check_equations("triangular_solve", A, input, names=("A", "b"))
    return B._triangular_solve(A, input, upper, transpose, unitriangular), B.clone(A)


# --- Cholesky -----------------------------------------------------------------------------------------------------
def _cholesky_vjp(B, g, y, upper):
    """I. Murray, Differentiation of the Cholesky decomposition (2016), eq. 10, symmetrised: the matrix is taken for Hermitian."""
    factor, to_factor = (B.adjoint(y[0]), B.adjoint(g[0])) if upper else (y[0], g[0])
    inner = B.matmul(B.adjoint(factor), to_factor)
    inner = B.mul(B.add(B.tril(inner), B.adjoint(B.tril(inner, -1))), 0.5)
    conjugate = B.conj(factor)
    half = B._triangular_solve(conjugate, inner, False, True, False)                        # L^-H inner
    return B.adjoint(B._triangular_solve(conjugate, B.adjoint(half), False, True, False))   # that times L^-1


@linalg_primitive(entry="cholesky", grad_name="LinalgCholeskyEx", returns=("L", "info"), nondiff=("info",),
           vjp=dict(input=_cholesky_vjp))
def _cholesky(B, input: T, upper):
    """The factor and LAPACK's info: the order of the first leading minor that isn't positive, or 0."""


def _not_positive(number):
    return ("The factorization could not be completed because the input is not positive-definite (the leading minor of order "
            f"{number} is not positive-definite).")


@linalg_op(returns=("L", "info"))
def linalg_cholesky_ex(B, input: T, *, upper=False, check_errors=False):
    """(L, info) as `torch.linalg.cholesky` gives L, with an int32 for each matrix instead of an error.

    `info` is 0, or the order of the leading minor that isn't positive-definite. check_errors: raise then after all.
    """
    check_square("linalg.cholesky", input)
    factor, info = B._cholesky(input, upper)
    if check_errors:
        check_info("linalg.cholesky_ex", info, _not_positive)
    return factor, info


@linalg_op()
def linalg_cholesky(B, input: T, *, upper=False):
    """The lower triangular L with a positive diagonal of which A = L L^H, for Hermitian positive definite matrices.

    Args:
        input: A, (..., n, n); its lower triangle is read (the upper one if `upper`). upper: give U of A = U^H U instead.

    Raises:
        LinAlgError: a matrix isn't positive definite.

    >>> torch.linalg.cholesky(torch.tensor([[4.0, 2.0], [2.0, 5.0]]))
    tensor([[2., 0.],
            [1., 2.]])
    """
    check_square("linalg.cholesky", input)
    factor, info = B._cholesky(input, upper)
    check_info("linalg.cholesky", info, _not_positive)
    return factor


@op()
def cholesky(B, input: T, upper=False):
    """The factor L of A = L L^H, or U of A = U^H U with `upper`. `torch.linalg.cholesky` is today's name for it."""
    check_square("cholesky", input)
    factor, info = B._cholesky(input, upper)
    check_info("cholesky", info, _not_positive)
    return factor


@op()
def cholesky_solve(B, input: T, input2: T, upper=False):
    """X of A X = `input` from A's Cholesky factor `input2`: L of A = L L^H, or U of A = U^H U with `upper`.

    One triangle of the factor is read, and its gradient stays in it (PyTorch's doesn't).

    >>> L = torch.linalg.cholesky(torch.tensor([[4.0, 2.0], [2.0, 5.0]]))
    >>> torch.cholesky_solve(torch.tensor([[6.0], [7.0]]), L)
    tensor([[1.],
            [1.]])
    """
    for which, x in (("b", input), ("u", input2)):
        if x.ndim < 2:
            raise RuntimeError(f"{which} should have at least 2 dimensions, but has {x.ndim} dimensions instead")
    check_square("cholesky_solve", input2)
    check_equations("cholesky_solve", input2, input, names=("A", "b"))
    for conjugated in (upper, not upper):
        input = B._triangular_solve(B.conj(input2) if conjugated else input2, input, upper, conjugated, False)
    return input


@op()
def cholesky_inverse(B, input: T, upper=False):
    """The inverse of A from its Cholesky factor: L of A = L L^H, or U of A = U^H U with `upper`.

    One triangle of the factor is read, and its gradient stays in it (PyTorch's doesn't).

    Raises:
        LinAlgError: the factor has a zero on its diagonal.
    """
    check_square("cholesky_inverse", input)
    zero = B.eq(B.diagonal(input, 0, -2, -1), 0)
    if bool(B.any(zero)):
        check_info("cholesky_inverse", B.mul(B.add(B.argmax(zero.long(), -1), 1), B.any(zero, -1)), zero_on_diagonal)
    return B.cholesky_solve(B.eye(input.shape[-1], dtype=input.dtype, device=input.device), input, upper)
