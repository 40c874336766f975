"""Distributions of matrices: covariances (Wishart), and Cholesky factors of correlations (Lewandowski, Kurowicka and Joe)."""
import math
import warnings

from ..core.record import namespace as B
from ..core.typeinfo import finfo
from . import constraints
from .dirichlet import Beta
from .distribution import Distribution
from .exp_family import ExponentialFamily
from .gamma import Chi2
from .multivariate_normal import ByCovariance, half_log_det
from .utils import broadcast_all, standard_normal


class Wishart(ByCovariance, ExponentialFamily):
    """The distribution of X X^T, the columns of X being `df` normal vectors of mean 0 and one covariance; `df` may be any number > n - 1.

    Args:
        df: degrees of freedom.
        covariance_matrix, precision_matrix, scale_tril: one of them, (…, n, n), as for MultivariateNormal.
        validate_args: as for Distribution.

    Draws are by Bartlett's decomposition.

    >>> import pyx_tensor as torch
    >>> from pyx_tensor.distributions import Wishart
    >>> Wishart(torch.tensor(3.0), torch.eye(2)).mean
    tensor([[3., 0.],
            [0., 3.]])
    """

    has_rsample = True
    support = constraints.positive_definite
    _mean_carrier_measure = 0

    def __init__(self, df, covariance_matrix=None, precision_matrix=None, scale_tril=None, validate_args=None):
        name, matrix = self._set_covariance(covariance_matrix, precision_matrix, scale_tril)
        df = df if hasattr(df, "shape") else B.tensor(float(df), dtype=matrix.dtype, device=matrix.device)
        batch = B.broadcast_shapes(matrix.shape[:-2], df.shape)
        n = matrix.shape[-1]
        self.df, self.__dict__[name] = df.expand(tuple(batch)), matrix.expand((*batch, n, n))
        if bool((self.df <= n - 1).any()):
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = {n - 1}.")
        super().__init__(batch, matrix.shape[-2:], validate_args=validate_args)
        if bool((self.df < n).any()):
            warnings.warn("Low df values detected. Singular samples are highly likely to occur for ndim - 1 < df < ndim.", stacklevel=2)
        self._set_scale(name, self.__dict__[name])
        self._chi2 = Chi2(self.df.unsqueeze(-1) - B.arange(n, dtype=matrix.dtype, device=matrix.device))

    @property
    def arg_constraints(self):
        return {"covariance_matrix": constraints.positive_definite, "precision_matrix": constraints.positive_definite,
                "scale_tril": constraints.lower_cholesky, "df": constraints.greater_than(self._event_shape[-1] - 1)}

    @property
    def _nu(self):
        return self.df.reshape((*self.df.shape, 1, 1))

    @property
    def mean(self):
        return self._nu * self.covariance_matrix

    @property
    def mode(self):
        factor = self._nu - self._event_shape[-1] - 1
        return factor.masked_fill(factor <= 0, math.nan) * self.covariance_matrix

    @property
    def variance(self):
        v = self.covariance_matrix
        diagonal = v.diagonal(dim1=-2, dim2=-1)
        return self._nu * (v ** 2 + diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2))

    def _draw(self, sample_shape):
        n = self._event_shape[-1]
        diagonal = self._chi2.rsample(sample_shape).sqrt()
        below = standard_normal((*sample_shape, *self._batch_shape, n * (n - 1) // 2), diagonal)
        rows, columns = B.tril_indices(n, n, -1, device=diagonal.device)
        places = (rows * n + columns).expand(below.shape)
        factor = B.zeros((*below.shape[:-1], n * n), dtype=below.dtype, device=below.device).scatter(-1, places, below)
        chol = self._scale_tril @ (factor.reshape((*below.shape[:-1], n, n)) + B.diag_embed(diagonal))
        return chol @ chol.mT

    def _log_prob(self, value):
        nu, n = self.df, self._event_shape[-1]
        trace = (self.precision_matrix * value).sum((-2, -1))
        return (-nu * (n * math.log(2) / 2 + half_log_det(self._scale_tril)) - B.mvlgamma(nu / 2, n)
                + (nu - n - 1) / 2 * B.linalg_slogdet(value)[1] - trace / 2)

    def entropy(self):
        nu, n = self.df, self._event_shape[-1]
        return ((n + 1) * (n * math.log(2) / 2 + half_log_det(self._scale_tril)) + B.mvlgamma(nu / 2, n)
                - (nu - n - 1) / 2 * mvdigamma(nu / 2, n) + nu * n / 2)

    @property
    def _natural_params(self):
        return -self.precision_matrix / 2, (self.df - self._event_shape[-1] - 1) / 2

    def _log_normalizer(self, x, y):
        n = self._event_shape[-1]
        half = y + (n + 1) / 2
        return half * (n * math.log(2) - B.linalg_slogdet(-2 * x)[1]) + B.mvlgamma(half, n)


def mvdigamma(x, n):
    """The derivative of mvlgamma(x, n)."""
    return (x.unsqueeze(-1) - B.arange(n, dtype=x.dtype, device=x.device) / 2).digamma().sum(-1)


class LKJCholesky(Distribution):
    """Cholesky factors L of correlation matrices, whose density is proportional to det(L L^T)^(concentration - 1): uniform at 1.

    Args:
        dim: the size of the matrices, 2 or more; ValueError for less.
        concentration: above 1, draws are nearer to the identity; 1 by default.
        validate_args: as for Distribution.

    Draws are by the onion method (Lewandowski, Kurowicka and Joe 2009): row after row, how long its part left of the diagonal is, and where
    it points.

    >>> from pyx_tensor.distributions import LKJCholesky
    >>> LKJCholesky(3).sample().shape
    torch.Size([3, 3])
    """

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky

    def __init__(self, dim, concentration=1.0, validate_args=None):
        if dim < 2:
            raise ValueError(f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.")
        self.dim, (self.concentration,) = dim, broadcast_all(concentration)
        before = B.arange(dim - 1, dtype=self.concentration.dtype, device=self.concentration.device)
        offset = B.cat([before[:1], before])
        marginal = self.concentration + 0.5 * (dim - 2)
        self._beta = Beta(offset + 0.5, marginal.unsqueeze(-1) - 0.5 * offset)
        super().__init__(self.concentration.size(), (dim, dim), validate_args=validate_args)

    def _draw(self, sample_shape):
        squared_length = self._beta.sample(sample_shape).unsqueeze(-1)
        direction = standard_normal(self._extended_shape(sample_shape), self.concentration).tril(-1)
        length = direction.square().sum(-1, True).sqrt()
        direction = B.where(length > 0, direction / length, 0.0)     # the first row has nothing left of the diagonal
        left = squared_length.sqrt() * direction
        diagonal = (1 - left.square().sum(-1)).clamp(min=finfo(left.dtype).tiny).sqrt()
        return left + B.diag_embed(diagonal)

    def _log_prob(self, value):
        n, c = self.dim, self.concentration
        diagonal = value.diagonal(dim1=-1, dim2=-2)[..., 1:]
        powers = 2 * (c - 1).unsqueeze(-1) + n - B.arange(2, n + 1, dtype=diagonal.dtype, device=diagonal.device)
        alpha = c + 0.5 * (n - 1)
        normalizer = 0.5 * (n - 1) * math.log(math.pi) + B.mvlgamma(alpha - 0.5, n - 1) - alpha.lgamma() * (n - 1)
        return (powers * diagonal.log()).sum(-1) - normalizer
