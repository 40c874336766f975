"""QR, and products of Householder reflections."""
from ...core.definitions import op
from ...core.signature import T
from .common import check_matrices, check_same_dtype, linalg_op, linalg_primitive


# --- QR -----------------------------------------------------------------------------------------------------------
def _needs_unique(Q, R, mode):
    if mode == "r":
        raise RuntimeError("linalg.qr: the derivative isn't defined for mode='r', which computes no Q; use mode='reduced'")
    m, n = Q.shape[-2], R.shape[-1]
    if mode == "complete" and m > n:
        raise RuntimeError("linalg.qr: the derivative isn't defined for mode='complete' where matrices have more rows than columns, whose "
                           f"last columns of Q are arbitrary: got {m} by {n} matrices")


def _qr_vjp(B, g, y, mode):
    """S. Walter & L. Lehmann, Algorithmic differentiation of linear algebra functions (2010). Where the matrix is wide, the first
    columns make Q, and the others are Q R's."""
    Q, R = y
    _needs_unique(Q, R, mode)
    m, n = Q.shape[-2], R.shape[-1]
    to_q, to_r = g
    k = min(m, n)
    triangle, to_triangle = B.narrow(R, -1, 0, k), B.narrow(to_r, -1, 0, k)
    inner = B.matmul(B.adjoint(Q), to_q)
    if n > k:
        inner = B.add(inner, B.matmul(B.narrow(R, -1, k, n - k), B.adjoint(B.narrow(to_r, -1, k, n - k))))
    difference = B.sub(B.matmul(to_triangle, B.adjoint(triangle)), inner)
    strict = B.triu(difference, 1)
    diagonal = B.diagonal(difference, 0, -2, -1)
    if difference.dtype.is_complex:      # R's diagonal is real
        diagonal = B.real(diagonal).to(difference.dtype)
    both = B.add(B.add(strict, B.adjoint(strict)), B.diag_embed(diagonal))
    rest = to_q if m > k else B.matmul(Q, inner)
    result = B.add(B.matmul(Q, both), rest)
    result = B.adjoint(B._triangular_solve(triangle, B.adjoint(result), True, False, False))
    return B.cat([result, B.matmul(Q, B.narrow(to_r, -1, k, n - k))], -1) if n > k else result


@linalg_primitive(entry="qr", grad_name="LinalgQr", returns=("Q", "R"), vjp=dict(A=_qr_vjp))
def _qr(B, A: T, mode):
    """Q and R; mode as for `linalg.qr`."""


@linalg_op(returns=("Q", "R"))
def linalg_qr(B, A: T, mode="reduced"):
    """(Q, R) with A = Q R, where Q has orthonormal columns and R is an upper triangle.

    Args:
        A: (..., m, n).
        mode: 'reduced': Q is (..., m, k) and R (..., k, n), with k the smaller of m and n. 'complete': Q is (..., m, m) and
            R (..., m, n). 'r': R of 'reduced', and an empty Q.

    >>> Q, R = torch.linalg.qr(torch.tensor([[3.0, 1.0], [4.0, 2.0]]))
    >>> (Q @ R).round(decimals=4)
    tensor([[3., 1.],
            [4., 2.]])
    """
    check_matrices("linalg.qr", A)
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or 'complete'")
    return tuple(B._qr(A, mode))


@op(returns=("Q", "R"))
def qr(B, input: T, some=True):
    """(Q, R) with input = Q R; a square Q unless `some`. `torch.linalg.qr` is today's name for it."""
    check_matrices("qr", input)
    return tuple(B._qr(input, "reduced" if some else "complete"))


# --- reflections --------------------------------------------------------------------------------------------------
@linalg_primitive(entry="geqrf", nograd=True, returns=("a", "tau"))
def _geqrf(B, input: T):
    """LAPACK's geqrf."""


@op(nograd=True, entry=False, returns=("a", "tau"))
def geqrf(B, input: T):
    """(a, tau): R in a's upper triangle, and below it the reflections whose product is Q, as LAPACK stores them. There is no gradient.

    The i-th reflection is 1 - tau[i] v v^H, where v is 0 above row i, 1 there, and a's column i below.
    """
    check_matrices("geqrf", input, "input")
    return tuple(B._geqrf(input))


def _reflected(B, a, tau, x, left, order):
    """x times reflections one after the other, from the left or the right."""
    column = B.arange(a.shape[-2], device=a.device)
    for i in order:
        v = B.where(B.gt(column, i), B.select(a, -1, i), B.eq(column, i).to(a.dtype))
        scaled = B.unsqueeze(B.mul(v, B.unsqueeze(B.select(tau, -1, i), -1)), -1)
        v = B.unsqueeze(v, -1)
        if left:
            x = B.sub(x, B.matmul(scaled, B.matmul(B.adjoint(v), x)))
        else:
            x = B.sub(x, B.matmul(B.matmul(x, scaled), B.adjoint(v)))
    return x


def _check_reflections(name, a, tau):
    check_matrices(name, a, "input")
    check_same_dtype(name, a, tau, ("input", "tau"))
    m, n = a.shape[-2:]
    if m < n:
        raise RuntimeError(f"{name}: input.shape[-2] must be greater than or equal to input.shape[-1], but got {m} by {n} matrices")
    if not tau.ndim or n < tau.shape[-1]:
        raise RuntimeError(f"{name}: input.shape[-1] must be greater than or equal to tau.shape[-1], but got shapes {list(a.shape)} and "
                           f"{list(tau.shape)}")
    if tuple(tau.shape[:-1]) != tuple(a.shape[:-2]):
        raise RuntimeError(f"{name}: Expected batch dimensions of tau to be equal to input.shape[:-2], but got {list(tau.shape)} for "
                           f"matrices of shape {list(a.shape)}")


@linalg_op(entry="householder_product")
def _householder_product(B, input: T, tau: T):
    """The first columns of a product of reflections."""
    m, n = input.shape[-2:]
    columns = B.eye(m, n, dtype=input.dtype, device=input.device)
    columns = B.where(B.isfinite(columns), columns, input)       # of input's shape, and its function even without reflections
    return _reflected(B, input, tau, columns, True, reversed(range(tau.shape[-1])))


@op(public=("orgqr",))
def linalg_householder_product(B, input: T, tau: T):
    """The first columns of the product of Householder reflections: Q from what `torch.geqrf` gives.

    Args:
        input: (..., m, n) with m >= n. tau: (..., k) with k <= n.

    Returns:
        (..., m, n): orthonormal columns where the reflections are geqrf's.
    """
    _check_reflections("linalg.householder_product", input, tau)
    return B._householder_product(input, tau)


@linalg_op(entry="ormqr")
def _ormqr(B, input: T, tau: T, other: T, left, transpose):
    """Q times matrices."""
    order = range(tau.shape[-1])
    if transpose:
        tau = B.conj(tau)
    return _reflected(B, input, tau, other, left, reversed(order) if left != transpose else order)


@op()
def ormqr(B, input: T, input2: T, input3: T, left=True, transpose=False):
    """Q @ input3 for the Q that `input` and tau (`input2`) from `torch.geqrf` stand for, without forming it.

    Args:
        left: False for input3 @ Q. transpose: take Q^H in place of Q.
    """
    check_matrices("torch.ormqr", input, "input")
    check_matrices("torch.ormqr", input3, "other")
    check_same_dtype("torch.ormqr", input, input2, ("input", "tau"))
    check_same_dtype("torch.ormqr", input, input3, ("input", "other"))
    if input3.shape[-2 if left else -1] != input.shape[-2]:
        raise RuntimeError(f"torch.ormqr: other.shape[{-2 if left else -1}] must be equal to input.shape[-2], but got shapes "
                           f"{list(input3.shape)} and {list(input.shape)}")
    if not input2.ndim or input2.shape[-1] != min(input.shape[-2:]):
        raise RuntimeError(f"torch.ormqr: tau.shape[-1] must be equal to min(input.shape[-2:]), but got shapes {list(input2.shape)} and "
                           f"{list(input.shape)}")
    if not input.shape[:-2] == input2.shape[:-1] == input3.shape[:-2]:
        raise RuntimeError(f"torch.ormqr: batch dimensions of tau and other must be those of input, but got shapes {list(input.shape)}, "
                           f"{list(input2.shape)} and {list(input3.shape)}")
    return B._ormqr(input, input2, input3, left, transpose)
