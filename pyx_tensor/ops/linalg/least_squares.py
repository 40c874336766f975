"""Least squares."""
from ...core.signature import T
from ...core.typeinfo import finfo
from .common import LinAlgError, check_batches, check_info, check_matrices, check_same_dtype, linalg_op
from .inverses import pinv_vjp

DRIVERS = ("gels", "gelsy", "gelsd", "gelss")
WITH_VALUES = ("gelsd", "gelss")        # those that compute singular values


def _lstsq_vjp(B, g, A, right, needs):
    """By way of X = A^+ B."""
    inverse = B.linalg_pinv(A)
    to_matrix = pinv_vjp(B, B.matmul(g[0], B.adjoint(right)), inverse, A) if needs[0] else None
    return to_matrix, B.matmul(B.adjoint(inverse), g[0])


@linalg_op(entry="lstsq", grad_name="LinalgLstsq", returns=("solution", "rank", "singular_values", "info"),
    nondiff=("rank", "singular_values", "info"), vjp={("A", "right"): _lstsq_vjp})
def _lstsq(B, A: T, right: T, rcond, driver):
    """The solution of least norm, by singular values."""
    batch = B.broadcast_shapes(A.shape[:-2], right.shape[:-2])
    U, S, Vh, info = B._svd(B.expand(A, (*batch, *A.shape[-2:])), False)
    kept = B.gt(S, B.mul(B.amax(S, -1, True), rcond)) if S.shape[-1] else B.gt(S, 0)
    scaled = B.mul(B.unsqueeze(B.masked_fill(B.reciprocal(S), B.logical_not(kept), 0), -1), B.matmul(B.adjoint(U), right))
    return B.matmul(B.adjoint(Vh), scaled), B.sum(kept, -1), S, info


def _read(name, A, right, driver):
    check_matrices(name, A, "input")
    if not right.ndim:
        raise RuntimeError(f"{name}: other must have at least 1 dimension.")
    check_same_dtype(name, A, right, ("input", "other"))
    driver = "gelsy" if driver is None else driver
    if driver not in DRIVERS:
        raise RuntimeError(f"{name}: parameter `driver` should be one of (gels, gelsy, gelsd, gelss), got {driver!r}")
    vector = right.ndim == 1 or (A.ndim - 1 == right.ndim and tuple(right.shape) == tuple(A.shape[:-1]))
    rows = right.shape[-1 if vector else -2]
    if rows != A.shape[-2]:
        raise RuntimeError(f"{name}: input.size(-2) should match other.size({-1 if vector else -2}), got shapes {list(A.shape)} and {list(right.shape)}")
    return driver, vector


@linalg_op(returns=("solution", "residuals", "rank", "singular_values"))
def linalg_lstsq(B, input: T, b: T, rcond=None, *, driver=None):
    """(solution, residuals, rank, singular_values): the X that minimise |A X - B|, those of least norm.

    Args:
        input: A, (..., m, n). b: B, (..., m, k), or (..., m) for one right-hand side. Batches broadcast.
        rcond: singular values up to it, times the largest, count as 0. By default eps · max(m, n).
        driver: LAPACK's method: 'gelsy' (the default), 'gelsd', 'gelss', or 'gels', which needs an A of full rank.

    Returns:
        solution, (..., n, k). residuals, (..., k): |A X - B|² by columns; empty for 'gelsy', and unless m > n and all ranks are n. rank: of each
        matrix; empty for 'gels'. singular_values: of 'gelsd' and 'gelss'; else empty.

    Raises:
        LinAlgError: a matrix isn't of full rank, for 'gels'; or singular values weren't found.

    >>> A = torch.tensor([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]])
    >>> torch.linalg.lstsq(A, torch.tensor([1.0, 3.0, 5.0])).solution.round(decimals=4)
    tensor([1., 2.])
    """
    driver, vector = _read("torch.linalg.lstsq", input, b, driver)
    m, n = input.shape[-2:]
    right = B.unsqueeze(b, -1) if vector else b
    check_batches("torch.linalg.lstsq", input, right)
    tolerance = finfo(input.dtype).eps * max(m, n) if rcond is None or driver == "gels" else rcond
    solution, rank, values, info = B._lstsq(input, right, tolerance, "gelsd" if driver in WITH_VALUES else "gelsy")
    check_info("torch.linalg.lstsq", info, lambda number: f"The algorithm failed to converge (error code: {number}).")
    full = m > n and driver != "gelsy" and bool(B.all(B.eq(rank, n)))
    if driver == "gels" and bool(B.any(B.lt(rank, min(m, n)))):
        raise LinAlgError("torch.linalg.lstsq: The least squares solution could not be computed because the input matrix does not have full rank.")
    away = B.abs(B.sub(B.matmul(input, solution), right) if full else B.narrow(B.ravel(solution), 0, 0, 0))
    residuals = B.mul(away, away)
    if full:
        residuals = B.sum(residuals, -2)
    return (B.squeeze(solution, -1) if vector else solution, B.squeeze(residuals, -1) if vector and full else residuals,
            B.empty((0,), dtype=rank.dtype, device=rank.device) if driver == "gels" else rank,
            values if driver in WITH_VALUES else B.empty((0,), dtype=values.dtype, device=values.device))
