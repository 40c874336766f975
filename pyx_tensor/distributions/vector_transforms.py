"""Transforms of vectors and matrices."""
import math

from ..core.record import namespace as B
from ..core.size import Size
from ..core.typeinfo import finfo
from . import constraints
from .transforms import Transform


class _OfEvents(Transform):
    """A transform without parameters; two of a kind are equal."""

    def __eq__(self, other):
        return type(other) is type(self)

    __hash__ = Transform.__hash__


class SoftmaxTransform(_OfEvents):
    """Vectors to the simplex by y = exp(x) / sum, x = log(y). It is not bijective: a constant more in x changes nothing.

    >>> import pyx_tensor as torch
    >>> from pyx_tensor.distributions.transforms import SoftmaxTransform
    >>> SoftmaxTransform()(torch.zeros(2))
    tensor([0.5000, 0.5000])
    """

    domain, codomain = constraints.real_vector, constraints.simplex

    def _call(self, x):
        return B.softmax(x, -1)

    def _inverse(self, y):
        return B.log(y)

    def forward_shape(self, shape):
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        return shape

    inverse_shape = forward_shape


class StickBreakingTransform(_OfEvents):
    """Vectors of K-1 numbers to the simplex of K parts: each breaks its part off what the ones before have left.

    The broken fraction is sigmoid(x_k - log(K - k)) for k = 0 … K-2, so that x = 0 gives equal parts.

    >>> import pyx_tensor as torch
    >>> from pyx_tensor.distributions.transforms import StickBreakingTransform
    >>> StickBreakingTransform()(torch.zeros(1))
    tensor([0.5000, 0.5000])
    """

    domain, codomain, bijective = constraints.real_vector, constraints.simplex, True

    def _offsets(self, x):
        return B.log(B.arange(x.shape[-1], 0, -1, dtype=x.dtype, device=x.device))

    def _call(self, x):
        fractions = B.sigmoid(x - self._offsets(x)).clamp(finfo(x.dtype).tiny, 1 - finfo(x.dtype).eps)
        ones = B.ones_like(x[..., :1])
        left = B.cat([ones, B.cumprod(1 - fractions, -1)], -1)
        return B.cat([fractions, ones], -1) * left

    def _inverse(self, y):
        parts = y[..., :-1]
        left = (1 - B.cumsum(parts, -1)).clamp(min=finfo(y.dtype).tiny)
        return B.log(parts) - B.log(left) + self._offsets(parts)

    def log_abs_det_jacobian(self, x, y):
        shifted = x - self._offsets(x)                               # dy_k/dx_k = y_k (1 - fraction_k), and the Jacobian is triangular
        return (-B.softplus(shifted) + B.log(y[..., :-1])).sum(-1)

    def forward_shape(self, shape):
        return _last_changed(shape, 1)

    def inverse_shape(self, shape):
        return _last_changed(shape, -1)


def _last_changed(shape, by):
    if len(shape) < 1:
        raise ValueError("Too few dimensions on input")
    return Size((*shape[:-1], shape[-1] + by))


class LowerCholeskyTransform(_OfEvents):
    """Square matrices to lower triangular ones with a positive diagonal: exp of the diagonal, the part below as it is.

    >>> import pyx_tensor as torch
    >>> from pyx_tensor.distributions.transforms import LowerCholeskyTransform
    >>> LowerCholeskyTransform()(torch.zeros(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """

    domain, codomain = constraints.independent(constraints.real, 2), constraints.lower_cholesky

    def _call(self, x):
        return x.tril(-1) + B.diag_embed(B.exp(x.diagonal(dim1=-2, dim2=-1)))

    def _inverse(self, y):
        return y.tril(-1) + B.diag_embed(B.log(y.diagonal(dim1=-2, dim2=-1)))


class PositiveDefiniteTransform(_OfEvents):
    """Square matrices to positive definite ones: L @ L.T of their `LowerCholeskyTransform` L.

    >>> import pyx_tensor as torch
    >>> from pyx_tensor.distributions.transforms import PositiveDefiniteTransform
    >>> PositiveDefiniteTransform()(torch.zeros(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """

    domain, codomain = constraints.independent(constraints.real, 2), constraints.positive_definite

    def _call(self, x):
        lower = LowerCholeskyTransform()(x)
        return lower @ lower.mT

    def _inverse(self, y):
        return LowerCholeskyTransform().inv(B.linalg_cholesky(y))


class CorrCholeskyTransform(Transform):
    """Vectors of D(D-1)/2 numbers to Cholesky factors of D x D correlation matrices (Lewandowski, Kurowicka and Joe, 2009).

    tanh(x) are the partial correlations below the diagonal, row by row. Each takes its part of what the row's squares have left to 1.

    >>> import pyx_tensor as torch
    >>> from pyx_tensor.distributions.transforms import CorrCholeskyTransform
    >>> CorrCholeskyTransform()(torch.zeros(1))
    tensor([[1., 0.],
            [0., 1.]])
    """

    domain, codomain, bijective = constraints.real_vector, constraints.corr_cholesky, True

    def _call(self, x):
        x = B.tanh(x).clamp(-1 + finfo(x.dtype).eps, 1 - finfo(x.dtype).eps)
        r = _matrix_below_diagonal(x)
        left = B.cumprod(B.sqrt(1 - r * r), -1)                      # the root of what is left after each column
        before = B.cat([B.ones_like(left[..., :1]), left[..., :-1]], -1)
        return (r + B.eye(r.shape[-1], dtype=r.dtype, device=r.device)) * before

    def _inverse(self, y):
        left = 1 - B.cumsum(y * y, -1)
        before = B.cat([B.ones_like(left[..., :1]), left[..., :-1]], -1)
        r = _below_diagonal(y) / B.sqrt(_below_diagonal(before))
        return (B.log1p(r) - B.log1p(-r)) / 2                        # atanh

    def log_abs_det_jacobian(self, x, y):
        left = _below_diagonal(1 - B.cumsum(y * y, -1), -2)          # 1 - the squares up to each entry that has another one after it
        tanh_part = -2 * (x + B.softplus(-2 * x) - math.log(2)).sum(-1)
        return 0.5 * B.log(left).sum(-1) + tanh_part

    def forward_shape(self, shape):
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        size = round((0.25 + 2 * shape[-1]) ** 0.5 + 0.5)
        if size * (size - 1) // 2 != shape[-1]:
            raise ValueError("Input is not a flattened lower-diagonal number")
        return Size((*shape[:-1], size, size))

    def inverse_shape(self, shape):
        if len(shape) < 2:
            raise ValueError("Too few dimensions on input")
        if shape[-2] != shape[-1]:
            raise ValueError("Input is not square")
        return Size((*shape[:-2], shape[-1] * (shape[-1] - 1) // 2))


def _below_diagonal(matrix, offset=-1):
    """The entries of a matrix below the diagonal as a vector, row by row."""
    rows, columns = B.tril_indices(matrix.shape[-2], matrix.shape[-1], offset, device=matrix.device)
    return matrix[..., rows, columns]


def _matrix_below_diagonal(vector):
    """The lower triangular matrix with zeros on the diagonal whose entries a vector gives, row by row."""
    shape = CorrCholeskyTransform().forward_shape(vector.shape)
    rows, columns = B.tril_indices(shape[-1], shape[-1], -1, device=vector.device)
    flat = B.zeros((*shape[:-2], shape[-1] * shape[-1]), dtype=vector.dtype, device=vector.device)
    places = (rows * shape[-1] + columns).expand(vector.shape)
    return B.scatter(flat, -1, places, vector).reshape(tuple(shape))
