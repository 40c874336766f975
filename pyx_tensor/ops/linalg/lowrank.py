"""Decompositions of matrices that are nearly of low rank, by random projection (N. Halko, P. Martinsson & J. Tropp, 2009)."""
from ...core.definitions import composes
from ...core.record import namespace as B


def _range_basis(A, q, niter, mean):
    """Orthonormal columns that nearly span A's columns: their algorithm 4.4, with `mean` subtracted from A."""
    def times(x):
        return B.matmul(A, x) if mean is None else B.sub(B.matmul(A, x), B.matmul(mean, x))

    def adjoint_times(x):
        return B.matmul(B.adjoint(A), x) if mean is None else B.sub(B.matmul(B.adjoint(A), x), B.matmul(B.adjoint(mean), x))
    Q = B.linalg_qr(times(B.randn((A.shape[-1], q), dtype=A.dtype, device=A.device)))[0]
    for _ in range(niter):
        Q = B.linalg_qr(adjoint_times(Q))[0]
        Q = B.linalg_qr(times(Q))[0]
    return Q


@composes
def svd_lowrank(A, q=6, niter=2, M=None):
    """(U, S, V) with A (less M) nearly U diag(S) V^H, of q columns, for matrices (..., m, n) of nearly that rank.

    Args:
        q: a few more than the rank. niter: how many iterations make the subspace more accurate. M: subtracted from A.
    """
    if M is not None:
        M = B.expand(M, tuple(A.shape))
    wide = A.shape[-2] < A.shape[-1]
    if wide:
        A, M = B.adjoint(A), None if M is None else B.adjoint(M)
    Q = _range_basis(A, q, niter, M)
    small = B.matmul(B.adjoint(Q), A if M is None else B.sub(A, M))
    U, S, Vh = B.linalg_svd(small, False)
    U, V = B.matmul(Q, U), B.adjoint(Vh)
    return (V, S, U) if wide else (U, S, V)


@composes
def pca_lowrank(A, q=None, center=True, niter=2):
    """(U, S, V) of the q principal components of the rows of A (..., m, n): V has their directions in columns.

    Args:
        q: min(6, m, n) by default. center: subtract the mean of the rows first. niter: as for `svd_lowrank`.
    """
    m, n = A.shape[-2:]
    q = min(6, m, n) if q is None else q
    if not 0 <= q <= min(m, n):
        raise ValueError(f"q(={q}) must be non-negative integer and not greater than min(m, n)={min(m, n)}")
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    return svd_lowrank(B.sub(A, B.mean(A, -2, True)) if center else A, q, niter)
