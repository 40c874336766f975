"""A few extreme eigenvalues of large Hermitian matrices: the method of conjugate gradients in blocks."""
import math

from ...core.definitions import composes
from ...core.mode import is_grad_enabled
from ...core.record import namespace as B
from ...core.typeinfo import finfo
from .common import check_same_dtype, check_square


def _extreme(values, vectors, count, largest):
    """The first `count` pairs from the end that is asked for."""
    n = values.shape[-1]
    if largest:
        values, vectors = B.flip(values, (-1,)), B.flip(vectors, (-1,))
    return B.narrow(values, -1, 0, min(count, n)), B.narrow(vectors, -1, 0, min(count, n))


def _ritz(A, basis, count, largest):
    """The best approximations in the space of orthonormal columns."""
    values, inner = _extreme(*B.linalg_eigh(B.matmul(B.adjoint(basis), B.matmul(A, basis))), count, largest)
    return values, B.matmul(basis, inner)


def _iterate(A, X, k, iK, niter, tol, largest):
    """A. Knyazev, Toward the optimal preconditioned eigensolver (2001), with an orthonormal basis of (X, residuals, last directions)."""
    size = float(B.linalg_matrix_norm(A)) or 1.0
    values, X = _ritz(A, B.linalg_qr(X)[0], X.shape[-1], largest)
    directions, done = None, 0
    while done != niter:
        residual = B.sub(B.matmul(A, X), B.mul(X, B.unsqueeze(values, -2)))
        if not bool(B.any(B.gt(B.narrow(B.linalg_vector_norm(residual, 2, -2), -1, 0, k), tol * size))):
            break
        step = residual if iK is None else B.matmul(iK, residual)
        basis = B.linalg_qr(B.cat([X, step] + [directions] * (directions is not None), -1))[0]
        values, better = _ritz(A, basis, X.shape[-1], largest)
        directions = B.sub(better, B.matmul(X, B.matmul(B.adjoint(X), better)))
        X, done = better, done + 1
    return B.narrow(values, -1, 0, k), B.narrow(X, -1, 0, k)


@composes
def lobpcg(A, k=None, B=None, X=None, n=None, iK=None, niter=None, tol=None, largest=None, method=None, tracker=None, ortho_iparams=None,
           ortho_fparams=None, ortho_bparams=None):
    """(E, X): the k largest (or smallest) eigenvalues of Hermitian matrices (..., m, m), and their vectors in columns, orthonormal (with respect to B).

    Args:
        A: the matrices, m >= 3 n. k: how many pairs; by default as many as X has columns, or 1.
        B: Hermitian positive definite, for A x = λ B x. X: (..., m, n), where to start; at random by default.
        n: how many vectors are iterated, by default k. iK: a preconditioner, nearly the inverse of A.
        niter: at most so many iterations (1000; -1 for no limit). tol: for residuals, relative to A's norm; by default the root of eps.
        largest: False for the smallest eigenvalues. method, tracker, ortho_…: PyTorch's variants, which change nothing here.

    Where gradients are recorded all eigenvalues are computed: `torch.linalg.eigh` has the derivatives.
    """
    return _lobpcg(A, k, B, X, n, iK, niter, tol, largest is None or largest)


def _lobpcg(A, k, metric, X, n, iK, niter, tol, largest):
    check_square("lobpcg", A)
    k = k if k is not None else 1 if X is None else X.shape[-1]
    n = n if n is not None else k if X is None else X.shape[-1]
    m = A.shape[-1]
    if m < 3 * n:
        raise ValueError(f"LPBPCG algorithm is not applicable when the number of A rows (={m}) is smaller than 3 x the number of requested "
                         f"eigenpairs (={n})")
    if not 1 <= k <= n:
        raise ValueError(f"lobpcg: expected 1 <= k <= n, got k={k} and n={n}")
    root = None
    if metric is not None:
        check_same_dtype("lobpcg", A, metric)
        root = B.linalg_cholesky(metric)
        A = B.linalg_solve_triangular(root, B.adjoint(B.linalg_solve_triangular(root, A, upper=False)), upper=False)
        A = B.mul(B.add(A, B.adjoint(A)), 0.5)
        X = None if X is None else B.matmul(B.adjoint(root), X)
        iK = None if iK is None else B.matmul(B.adjoint(root), B.matmul(iK, root))
    if A.requires_grad and is_grad_enabled():
        values, vectors = _extreme(*B.linalg_eigh(A), k, largest)
    else:
        values, vectors = _each(A, X, n, k, iK, 1000 if niter is None else niter, math.sqrt(finfo(A.dtype).eps) if tol is None else tol, largest)
    if root is not None:
        vectors = B.linalg_solve_triangular(B.adjoint(root), vectors, upper=True)
    return values, vectors


def _each(A, X, n, k, iK, niter, tol, largest):
    """Every matrix of a batch by itself."""
    if A.ndim == 2:
        X = B.randn((A.shape[-1], n), dtype=A.dtype, device=A.device) if X is None else X
        return _iterate(A, X, k, iK, niter, tol, largest)
    def part(x, i):
        return x if x is None or x.ndim < A.ndim else B.select(x, 0, i)
    pairs = [_each(part(A, i), part(X, i), n, k, part(iK, i), niter, tol, largest) for i in range(A.shape[0])]
    return B.stack([values for values, _ in pairs]), B.stack([vectors for _, vectors in pairs])
