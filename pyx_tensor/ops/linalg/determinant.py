"""Determinants."""
import math

from ...core.definitions import op
from ...core.signature import T
from .common import check_square, linalg_op


def _scaled_inverse(B, factor, A):
    """factor · A^-H for each matrix of a batch."""
    return B.mul(B.unsqueeze(B.unsqueeze(factor, -1), -1), B.adjoint(B._inv(A)[0]))


def _cofactors(B, A):
    """The conjugate of the derivative of det A, from A = U S V^H: conj(det U det V^H) U S' V^H, where S' has on its diagonal
    the product of all other singular values. It holds for singular matrices too (N. Higham, What is the adjugate of a matrix?, 2020)."""
    U, S, Vh = B._svd(A, False)[:3]
    ones = B.eye(S.shape[-1], dtype=S.dtype, device=S.device)
    others = B.prod(B.add(B.mul(B.unsqueeze(S, -2), B.sub(1, ones)), ones), -1)
    phase = B.conj(B.mul(B.linalg_det(U), B.linalg_det(Vh)))
    return B.mul(B.unsqueeze(B.unsqueeze(phase, -1), -1), B.matmul(B.mul(U, B.unsqueeze(others, -2)), Vh))


def _det_vjp(B, g, y, A):
    """g conj(det A) A^-H; where A is singular, by way of its singular values. Each formula gets the identity, or a diagonal of
    distinct numbers, in place of the matrices of the other."""
    if not A.shape[-1]:
        return B.zeros_like(A)
    singular = B.unsqueeze(B.unsqueeze(B.eq(y, 0), -1), -1)
    some = bool(B.any(singular))
    regular = B.where(singular, B.eye(A.shape[-1], dtype=A.dtype, device=A.device), A) if some else A
    result = _scaled_inverse(B, B.mul(g, B.conj(y)), regular)
    if not some:
        return result
    distinct = B.diag(B.arange(1, A.shape[-1] + 1, device=A.device)).to(A.dtype)
    cofactors = _cofactors(B, B.where(singular, A, distinct))
    return B.where(singular, B.mul(B.unsqueeze(B.unsqueeze(g, -1), -1), cofactors), result)


def _pivots_sign(B, pivots, dtype):
    """-1 where an odd number of rows was exchanged, else 1."""
    counted = B.arange(1, pivots.shape[-1] + 1, dtype=pivots.dtype, device=pivots.device)
    return B.sub(1, B.mul(B.remainder(B.sum(B.ne(pivots, counted), -1), 2), 2)).to(dtype)


@linalg_op(entry="det", grad_name="LinalgDet", vjp=dict(A=_det_vjp))
def _det(B, A: T):
    """The determinant, by LU."""
    compact, pivots, _ = B._lu_factor(A)
    return B.mul(B.prod(B.diagonal(compact, 0, -2, -1), -1), _pivots_sign(B, pivots, A.dtype))


@op(public=("det",))
def linalg_det(B, A: T):
    """The determinants of square matrices (..., n, n); 1 where n is 0. Its gradient is right for singular matrices too.

    >>> torch.linalg.det(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor(-2.)
    """
    check_square("linalg.det", A)
    return B._det(A)


def _slogdet_vjp(B, g, y, A):
    """d log det A = tr(A^-1 dA): its real part is that of log |det A|, its imaginary part turns the sign."""
    to_sign, to_log = g
    if A.dtype.is_complex:
        to_log = B.complex(B.real(to_log), B.neg(B.imag(B.mul(B.conj(to_sign), y[0]))))
    return _scaled_inverse(B, to_log, A)


@linalg_op(entry="slogdet", grad_name="LinalgSlogdet", returns=("sign", "logabsdet"), vjp=dict(A=_slogdet_vjp))
def _slogdet(B, A: T):
    """The sign and the logarithm of the determinant's absolute value, by LU."""
    compact, pivots, _ = B._lu_factor(A)
    diagonal = B.diagonal(compact, 0, -2, -1)
    return B.mul(B.prod(B.sgn(diagonal), -1), _pivots_sign(B, pivots, A.dtype)), B.sum(B.log(B.abs(diagonal)), -1)


@op(public=("slogdet",), returns=("sign", "logabsdet"))
def linalg_slogdet(B, A: T):
    """(sign, log of the absolute value) of the determinants of square matrices (..., n, n), without overflow.

    The sign is a number of absolute value 1, or 0 for a singular matrix, whose logarithm is -inf.

    >>> torch.linalg.slogdet(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    torch.return_types.linalg_slogdet(
    sign=tensor(-1.),
    logabsdet=tensor(0.6931))
    """
    check_square("linalg.slogdet", A)
    return tuple(B._slogdet(A))


@op()
def logdet(B, input: T):
    """The logarithms of the determinants of square matrices (..., n, n): -inf where they are 0, NaN where they are negative."""
    check_square("logdet", input)
    sign, size = B._slogdet(input)
    if input.dtype.is_complex:
        return B.add(B.log(sign), size)
    return B.masked_fill(size, B.lt(sign, 0), math.nan)
