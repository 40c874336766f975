"""Early PyTorch's names, with the arguments and results that they had. Each docstring names what replaced it."""
from ...core.definitions import composes, methods, op
from ...core.dtype import by_name
from ...core.record import namespace
from ...core.signature import Raw, T
from ...core.typeinfo import finfo
from .common import check_info, check_square
from .lu import zero_pivot


# --- systems of equations: the right-hand side came first -----------------------------------------------------------
@op(public=("gesv", "solve"), returns=("solution", "LU"))
def gesv(B, other: T, A: T):
    """(X, LU) with A X = B: the right-hand side B (`other`) comes first. `torch.linalg.solve(A, B)` is today's name for it."""
    solution = B.linalg_solve(A, other)
    return solution, B._lu_factor(A)[0]


@op(returns=("solution", "cloned_coefficient"))
def trtrs(B, input: T, A: T, upper=True, transpose=False, unitriangular=False):
    """(X, a copy of A) with A X = `input` for a triangular A. `torch.linalg.solve_triangular` is today's name for it."""
    return tuple(B.triangular_solve(input, A, upper, transpose, unitriangular))


@op(public=("gels", "lstsq"), nograd=True, entry=False, returns=("solution", "QR"))
def gels(B, other: T, A: T):
    """(X, QR): the X that minimise |A X - B|, those of least norm where A has more columns than rows.

    The right-hand side B (`other`) comes first. The solution stands in the first rows of X; where A has more rows than columns, the rows
    below hold what is left: the sum of their squares is that of the residuals. A must have full rank. There is no gradient;
    `torch.linalg.lstsq(A, B)`, which is today's name for it, has one.
    """
    other, A = other.detach(), A.detach()
    solution = B.linalg_lstsq(A, other, driver="gels").solution
    compact, tau = B.geqrf(A)
    m, n = A.shape[-2:]
    if m > n:
        right = B.unsqueeze(other, -1) if other.ndim == 1 else other
        rest = B.narrow(B.ormqr(compact, tau, right, True, True), 0, n, m - n)
        solution = B.cat([solution, B.squeeze(rest, -1) if other.ndim == 1 else rest], 0)
    return solution, compact


# --- Cholesky: upper by default -------------------------------------------------------------------------------------
@op()
def potrf(B, input: T, upper=True):
    """U of input = U^H U, or L of input = L L^H unless `upper`. `torch.linalg.cholesky` is today's name for it."""
    return B.cholesky(input, upper)


@op()
def potri(B, input: T, upper=True):
    """The inverse of A from its Cholesky factor U (L unless `upper`). `torch.cholesky_inverse` is today's name for it."""
    return B.cholesky_inverse(input, upper)


@op()
def potrs(B, input: T, input2: T, upper=True):
    """X of A X = `input` from A's Cholesky factor U (L unless `upper`). `torch.cholesky_solve` is today's name for it."""
    return B.cholesky_solve(input, input2, upper)


@op(nograd=True, entry=False, returns=("u", "piv"))
def pstrf(B, a: T, upper=True, tol=None):
    """(U, piv) with a[piv][:, piv] = U^T U, and a falling diagonal of U, for positive semidefinite a; U^T unless `upper`.

    Args:
        tol: stop where what is left of the diagonal doesn't exceed it; by default n · eps · the largest element of the diagonal.

    Returns:
        piv: int32, counted from 0. Rows of U beyond the rank are 0. Nothing replaced this function, and it has no gradient.
    """
    check_square("pstrf", a)
    a = a.detach()
    n = a.shape[-1]
    if a.ndim != 2:
        raise RuntimeError(f"pstrf: expected a matrix, but got a tensor of shape {list(a.shape)}")
    rest, factor, order = B.clone(a), B.zeros_like(a), list(range(n))
    diagonal = B.clone(B.diagonal(rest))
    bound = tol if tol is not None and tol >= 0 else n * finfo(a.dtype).eps * (float(B.amax(B.abs(diagonal))) if n else 0.0)
    for k in range(n):
        rest_of_diagonal = B.diagonal(rest).tolist()
        best = max((i for i in order if i not in order[:k]), key=lambda i: abs(rest_of_diagonal[i]))
        at = order.index(best)
        order[k], order[at] = order[at], order[k]
        pivot = abs(rest_of_diagonal[best])
        if not pivot > bound:
            break
        row = B.div(B.select(rest, 0, best), pivot ** 0.5)
        factor = B.select_scatter(factor, row, 0, k)
        rest = B.sub(rest, B.mul(B.unsqueeze(B.conj(row), 1), row))
    piv = B.tensor(order, dtype=by_name["int32"], device=a.device)
    factor = B.triu(B.index_select(factor, 1, piv.long()))
    return factor if upper else B.adjoint(factor), piv


# --- LU of batches --------------------------------------------------------------------------------------------------
@composes
def btrifact(A, info=None, pivot=True):
    """(LU, pivots) of a batch of matrices; pivots are int32, counted from 1.

    Args:
        info: an int32 tensor that receives 0 for each matrix, or the position of a zero on U's diagonal; without it a singular
            matrix is an error.

    `torch.linalg.lu_factor` is today's name for it.
    """
    compact, pivots, found = namespace.linalg_lu_factor_ex(A, pivot=pivot)
    if info is None:
        check_info("btrifact", found, zero_pivot)
    else:
        info.resize_(found.shape).copy_(found)
    return compact, pivots


@composes
def btrifact_with_info(A, pivot=True):
    """(LU, pivots, info) of a batch of matrices. `torch.linalg.lu_factor_ex` is today's name for it."""
    return tuple(namespace.linalg_lu_factor_ex(A, pivot=pivot))


methods.update(btrifact=btrifact, btrifact_with_info=btrifact_with_info)


@op()
def btrisolve(B, input: T, LU_data: T, LU_pivots: Raw):
    """x with A[i] x[i] = `input`[i] from `btrifact`'s results, for a batch of vectors (b, n) or of matrices (b, n, k).

    `torch.linalg.lu_solve` is today's name for it.
    """
    vectors = input.ndim == LU_data.ndim - 1
    right = B.unsqueeze(input, -1) if vectors else input
    solution = B.linalg_lu_solve(LU_data, LU_pivots, right)
    return B.squeeze(solution, -1) if vectors else solution


@composes
def btriunpack(LU_data, LU_pivots, unpack_data=True, unpack_pivots=True):
    """(P, L, U) from `btrifact`'s results. `torch.lu_unpack` is today's name for it."""
    return tuple(namespace.lu_unpack(LU_data, LU_pivots, unpack_data, unpack_pivots))


# --- eigenvalues ----------------------------------------------------------------------------------------------------
@op(returns=("eigenvalues", "eigenvectors"))
def symeig(B, input: T, eigenvectors=False, upper=True):
    """(e, V) of symmetric or Hermitian matrices, e ascending; V is empty unless `eigenvectors`.

    Args:
        upper: read the upper triangle, else the lower one.

    `torch.linalg.eigh`, which reads the lower triangle unless told otherwise, is today's name for it.
    """
    letter = "U" if upper else "L"
    if eigenvectors:
        return tuple(B.linalg_eigh(input, letter))
    return B.linalg_eigvalsh(input, letter), B.empty((0,), dtype=input.dtype, device=input.device)


def _as_pairs(B, values, vectors):
    """LAPACK's real form: the vectors of a pair of conjugate eigenvalues as real and imaginary part, in two columns."""
    imaginary = B.imag(values)
    earlier = B.roll(B.imag(vectors), 1, -1)
    return B.where(B.lt(imaginary, 0), earlier, B.real(vectors))


@op(returns=("eigenvalues", "eigenvectors"))
def eig(B, input: T, eigenvectors=False):
    """(e, V) of a real square matrix: e is (n, 2), real and imaginary parts; V is empty unless `eigenvectors`.

    V's columns belong to e's rows; of a pair of conjugate eigenvalues the first column is the vectors' real part, the second
    the imaginary part of the first vector. `torch.linalg.eig`, whose results are complex, is today's name for it.
    """
    check_square("eig", input)
    if input.dtype.is_complex:
        raise RuntimeError("eig: expected a real matrix; torch.linalg.eig takes complex ones")
    if not eigenvectors:
        return B.view_as_real(B.linalg_eigvals(input)), B.empty((0,), dtype=input.dtype, device=input.device)
    values, vectors = B.linalg_eig(input)
    return B.view_as_real(values), _as_pairs(B, values, vectors)


# --- the rest -------------------------------------------------------------------------------------------------------
@op(nograd=True, entry=False)
def matrix_rank(B, input: T, tol=None, symmetric=False):
    """The rank of matrices. `torch.linalg.matrix_rank` is today's name for it."""
    return B.linalg_matrix_rank(input, tol, symmetric)
