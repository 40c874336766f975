"""The standard's linear algebra."""
from collections import namedtuple
from importlib import import_module

from ..ops import namespace as ops
from ._manipulation import matrix_transpose  # noqa: F401
from ._products import matmul, tensordot, vecdot  # noqa: F401
from ._reductions import sum as _sum

_linalg = import_module("..linalg", __package__)
_Eigh = namedtuple("eigh_result", "eigenvalues eigenvectors")
_QR = namedtuple("qr_result", "Q R")
_Slogdet = namedtuple("slogdet_result", "sign logabsdet")
_SVD = namedtuple("svd_result", "U S Vh")


def cholesky(x, /, *, upper=False):
    """The triangular factor of positive definite matrices."""
    return _linalg.cholesky(x, upper=upper)


def cross(x1, x2, /, *, axis=-1):
    """The cross products of vectors of three elements."""
    return _linalg.cross(x1, x2, dim=axis)


def det(x, /):
    """Determinants."""
    return _linalg.det(x)


def diagonal(x, /, *, offset=0):
    """The diagonals of matrices."""
    return _linalg.diagonal(x, offset=offset)


def eigh(x, /):
    """Eigenvalues, rising, and eigenvectors of symmetric matrices."""
    return _Eigh(*_linalg.eigh(x))


def eigvalsh(x, /):
    """Eigenvalues of symmetric matrices, rising."""
    return _linalg.eigvalsh(x)


def inv(x, /):
    """Inverses."""
    return _linalg.inv(x)


def matrix_norm(x, /, *, keepdims=False, ord="fro"):
    """Norms of matrices."""
    return _linalg.matrix_norm(x, ord, keepdim=keepdims)


def matrix_power(x, n, /):
    """Powers of matrices."""
    return _linalg.matrix_power(x, n)


def matrix_rank(x, /, *, rtol=None):
    """How many singular values exceed `rtol` times the largest."""
    return _linalg.matrix_rank(x, rtol=rtol)


def outer(x1, x2, /):
    """The outer product of vectors."""
    return ops.outer(x1, x2)


def pinv(x, /, *, rtol=None):
    """Pseudo-inverses."""
    return _linalg.pinv(x, rtol=rtol)


def qr(x, /, *, mode="reduced"):
    """Orthonormal and triangular factors."""
    return _QR(*_linalg.qr(x, mode))


def slogdet(x, /):
    """The signs and the logarithms of the sizes of determinants."""
    return _Slogdet(*_linalg.slogdet(x))


def solve(x1, x2, /):
    """The solutions of systems of linear equations. x2 is a vector only where it has one dim."""
    if x2.ndim == 1:
        return _linalg.solve(x1, x2.unsqueeze(-1)).squeeze(-1)
    batch = ops.broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
    return _linalg.solve(x1, x2.expand(*batch, *x2.shape[-2:]))


def svd(x, /, *, full_matrices=True):
    """Singular values, falling, and both sides' vectors."""
    return _SVD(*_linalg.svd(x, full_matrices))


def svdvals(x, /):
    """Singular values, falling."""
    return _linalg.svdvals(x)


def trace(x, /, *, offset=0, dtype=None):
    """The sums of diagonals."""
    return _sum(diagonal(x, offset=offset), axis=-1, dtype=dtype)


def vector_norm(x, /, *, axis=None, keepdims=False, ord=2):
    """Norms of vectors along axes, or of all elements."""
    return _linalg.vector_norm(x, ord, axis, keepdims)
