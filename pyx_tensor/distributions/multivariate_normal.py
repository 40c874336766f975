"""Normal distributions of vectors, by covariance matrices or by factors of low rank."""
import math

from ..core.record import namespace as B
from . import constraints
from .distribution import Distribution
from .utils import lazy_property, standard_normal


def times_vector(matrix, vector):
    """matrix @ vector, over batches of both."""
    return (matrix @ vector.unsqueeze(-1)).squeeze(-1)


def squared_norm_in(lower, matrix):
    """The squared Frobenius norm of L^-1 M for lower triangular L: of one column, its squared Mahalanobis distance under L L^T."""
    return B.linalg_solve_triangular(lower, matrix, upper=False).square().sum((-2, -1))


def half_log_det(lower):
    """log det L, half the log-determinant of L L^T."""
    return lower.diagonal(dim1=-2, dim2=-1).log().sum(-1)


def inverse_lower(lower):
    """L^-1"""
    return B.linalg_solve_triangular(lower, B.eye(lower.shape[-1], dtype=lower.dtype, device=lower.device), upper=False)


def precision_to_scale_tril(precision):
    """The lower Cholesky factor of the inverse of a precision matrix P.

    With rows and columns turned round, P has the lower factor F; turned back, F is an upper factor U of P = U U^T, and U^-T is lower.
    """
    upper = B.linalg_cholesky(precision.flip((-2, -1))).flip((-2, -1))
    return inverse_lower(upper.mT)


class ByCovariance:
    """What distributions with a covariance matrix share: one of three ways to give it, from which the others are computed."""

    def _set_covariance(self, covariance_matrix, precision_matrix, scale_tril):
        """The name of the one that is given; ValueError where several are, or it is no matrix."""
        given = {name: value for name, value in (("covariance_matrix", covariance_matrix), ("precision_matrix", precision_matrix),
                                                 ("scale_tril", scale_tril)) if value is not None}
        if len(given) != 1:
            raise ValueError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        (name, matrix), = given.items()
        if matrix.ndim < 2:
            raise ValueError(f"{name} must be at least two-dimensional, with optional leading batch dimensions")
        return name, matrix

    def _set_scale(self, name, matrix):
        """The Cholesky factor of the matrix that was given and, by now, checked."""
        self._scale_tril = (matrix if name == "scale_tril" else B.linalg_cholesky(matrix) if name == "covariance_matrix" else
                            precision_to_scale_tril(matrix))

    @lazy_property
    def scale_tril(self):
        """The lower triangular L of the covariance L L^T."""
        return self._scale_tril

    @lazy_property
    def covariance_matrix(self):
        """The covariance matrix."""
        return self._scale_tril @ self._scale_tril.mT

    @lazy_property
    def precision_matrix(self):
        """The inverse of the covariance matrix."""
        return B.cholesky_inverse(self._scale_tril)


class NormalVectors(Distribution):
    """What normal distributions of vectors share; they say `_log_det` of the covariance, and the squared distance from the mean under it."""

    has_rsample = True
    support = constraints.real_vector

    @property
    def mean(self):
        return self.loc

    mode = mean

    def _log_prob(self, value):
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + self._log_det() + self._squared_distance(value - self.loc))

    def entropy(self):
        return 0.5 * (self._event_shape[0] * (1 + math.log(2 * math.pi)) + self._log_det())

    def _log_det(self):
        """The log-determinant of the covariance matrix."""
        raise NotImplementedError

    def _trace(self, matrix):
        """The trace of matrix^T covariance^-1 matrix, over batches of both."""
        raise NotImplementedError

    def _squared_distance(self, x):
        """x^T covariance^-1 x"""
        return self._trace(x.unsqueeze(-1))


class MultivariateNormal(ByCovariance, NormalVectors):
    """The normal distribution of vectors, of mean `loc` and a covariance.

    Args:
        loc: the mean, of shape (…, n).
        covariance_matrix, precision_matrix, scale_tril: one of them, (…, n, n): the covariance, its inverse, or its lower Cholesky factor.
        validate_args: as for Distribution.

    >>> import pyx_tensor as torch
    >>> from pyx_tensor.distributions import MultivariateNormal
    >>> MultivariateNormal(torch.zeros(2), torch.eye(2)).log_prob(torch.zeros(2))
    tensor(-1.8379)
    """

    arg_constraints = {"loc": constraints.real_vector, "covariance_matrix": constraints.positive_definite,
                       "precision_matrix": constraints.positive_definite, "scale_tril": constraints.lower_cholesky}

    def __init__(self, loc, covariance_matrix=None, precision_matrix=None, scale_tril=None, validate_args=None):
        if loc.ndim < 1:
            raise ValueError("loc must be at least one-dimensional.")
        name, matrix = self._set_covariance(covariance_matrix, precision_matrix, scale_tril)
        batch = B.broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        self.loc = loc.expand((*batch, *loc.shape[-1:]))
        self.__dict__[name] = matrix.expand((*batch, *matrix.shape[-2:]))
        super().__init__(batch, loc.shape[-1:], validate_args=validate_args)
        self._set_scale(name, self.__dict__[name])

    @property
    def variance(self):
        return self._scale_tril.square().sum(-1)

    def _draw(self, sample_shape):
        return self.loc + times_vector(self._scale_tril, standard_normal(self._extended_shape(sample_shape), self.loc))

    def _log_det(self):
        return 2 * half_log_det(self._scale_tril)

    def _trace(self, matrix):
        return squared_norm_in(self._scale_tril, matrix)


class LowRankMultivariateNormal(NormalVectors):
    """The normal distribution of covariance W W^T + diag(d), computed with matrices of W's few columns by Woodbury's identity.

    Args:
        loc: the mean, of shape (…, n).
        cov_factor: W, of shape (…, n, rank).
        cov_diag: d, of shape (…, n).
        validate_args: as for Distribution.

    >>> import pyx_tensor as torch
    >>> from pyx_tensor.distributions import LowRankMultivariateNormal
    >>> LowRankMultivariateNormal(torch.zeros(2), torch.ones(2, 1), torch.ones(2)).covariance_matrix
    tensor([[2., 1.],
            [1., 2.]])
    """

    arg_constraints = {"loc": constraints.real_vector, "cov_factor": constraints.independent(constraints.real, 2),
                       "cov_diag": constraints.independent(constraints.positive, 1)}

    def __init__(self, loc, cov_factor, cov_diag, validate_args=None):
        if loc.ndim < 1:
            raise ValueError("loc must be at least one-dimensional.")
        n = loc.shape[-1]
        if cov_factor.ndim < 2:
            raise ValueError("cov_factor must be at least two-dimensional, with optional leading batch dimensions")
        if cov_factor.shape[-2] != n:
            raise ValueError(f"cov_factor must be a batch of matrices with shape {n} x m")
        if cov_diag.shape[-1:] != loc.shape[-1:]:
            raise ValueError(f"cov_diag must be a batch of vectors with shape {tuple(loc.shape[-1:])}")
        batch = B.broadcast_shapes(loc.shape[:-1], cov_factor.shape[:-2], cov_diag.shape[:-1])
        self.loc, self.cov_diag = loc.expand((*batch, n)), cov_diag.expand((*batch, n))
        self.cov_factor = cov_factor.expand((*batch, *cov_factor.shape[-2:]))
        super().__init__(batch, loc.shape[-1:], validate_args=validate_args)
        self._capacitance_tril = capacitance_tril(self.cov_factor, self.cov_diag)

    @lazy_property
    def variance(self):
        """The diagonal of the covariance matrix."""
        return self.cov_factor.square().sum(-1) + self.cov_diag

    @lazy_property
    def covariance_matrix(self):
        """W W^T + diag(d)"""
        return self.cov_factor @ self.cov_factor.mT + B.diag_embed(self.cov_diag)

    @lazy_property
    def scale_tril(self):
        """The lower Cholesky factor of the covariance matrix."""
        return B.linalg_cholesky(self.covariance_matrix)

    @lazy_property
    def precision_matrix(self):
        """D^-1 - D^-1 W C^-1 W^T D^-1, with C = I + W^T D^-1 W"""
        part = B.linalg_solve_triangular(self._capacitance_tril, self.cov_factor.mT / self.cov_diag.unsqueeze(-2), upper=False)
        return B.diag_embed(self.cov_diag.reciprocal()) - part.mT @ part

    def _draw(self, sample_shape):
        shape = self._extended_shape(sample_shape)
        in_factor = standard_normal((*shape[:-1], self.cov_factor.shape[-1]), self.loc)
        alone = standard_normal(shape, self.loc)
        return self.loc + times_vector(self.cov_factor, in_factor) + self.cov_diag.sqrt() * alone

    def _log_det(self):
        return 2 * half_log_det(self._capacitance_tril) + self.cov_diag.log().sum(-1)

    def _trace(self, matrix):
        scaled = matrix / self.cov_diag.unsqueeze(-1)
        return (matrix * scaled).sum((-2, -1)) - squared_norm_in(self._capacitance_tril, self.cov_factor.mT @ scaled)


def capacitance_tril(factor, diag):
    """The lower Cholesky factor of I + W^T D^-1 W."""
    inner = factor.mT @ (factor / diag.unsqueeze(-1))
    return B.linalg_cholesky(inner + B.eye(inner.shape[-1], dtype=inner.dtype, device=inner.device))
