"""Waiting times: the exponential distribution, and those with heavier or lighter tails that are made from it."""
import math

from ..core.record import namespace as B
from . import constraints
from .distribution import Distribution
from .exp_family import ExponentialFamily
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, ExpTransform, PowerTransform
from .utils import EULER, broadcast_all, uniform


class Exponential(ExponentialFamily):
    """The exponential distribution of density rate * exp(-rate * x).

    >>> from pyx_tensor.distributions import Exponential
    >>> Exponential(4.0).mean
    tensor(0.2500)
    """

    has_rsample = True
    arg_constraints = {"rate": constraints.positive}
    support = constraints.nonnegative
    _mean_carrier_measure = 0

    def __init__(self, rate, validate_args=None):
        self.rate, = broadcast_all(rate)
        super().__init__(self.rate.shape, validate_args=validate_args)

    @property
    def mean(self):
        return self.rate.reciprocal()

    stddev = mean

    @property
    def mode(self):
        return B.zeros_like(self.rate)

    @property
    def variance(self):
        return self.rate.pow(-2)

    def _draw(self, sample_shape):
        noise = B.empty(tuple(self._extended_shape(sample_shape)), dtype=self.rate.dtype, device=self.rate.device).exponential_()
        return noise / self.rate

    def _log_prob(self, value):
        return B.log(self.rate) - self.rate * value

    def _cdf(self, value):
        return 1 - B.exp(-self.rate * value)

    def icdf(self, value):
        return -B.log1p(-value) / self.rate

    def entropy(self):
        return 1.0 - B.log(self.rate)

    @property
    def _natural_params(self):
        return (-self.rate,)

    def _log_normalizer(self, x):
        return -B.log(-x)


class Weibull(TransformedDistribution):
    """The Weibull distribution: P(x > t) = exp(-(t / scale)^concentration).

    >>> from pyx_tensor.distributions import Weibull
    >>> Weibull(2.0, 1.0).mean
    tensor(2.)
    """

    arg_constraints = {"scale": constraints.positive, "concentration": constraints.positive}
    support = constraints.positive

    def __init__(self, scale, concentration, validate_args=None):
        self.scale, self.concentration = broadcast_all(scale, concentration)
        base = Exponential(B.ones_like(self.scale), validate_args=validate_args)
        super().__init__(base, [PowerTransform(self.concentration.reciprocal()), AffineTransform(0, self.scale)], validate_args=validate_args)

    def _moment(self, n):
        """E[(x / scale)^n] = Gamma(1 + n / concentration)"""
        return B.exp((1 + n * self.concentration.reciprocal()).lgamma())

    @property
    def mean(self):
        return self.scale * self._moment(1)

    @property
    def mode(self):
        k = self.concentration
        return self.scale * ((k - 1) / k) ** k.reciprocal()

    @property
    def variance(self):
        return self.scale ** 2 * (self._moment(2) - self._moment(1) ** 2)

    def entropy(self):
        k = self.concentration
        return EULER * (1 - k.reciprocal()) + B.log(self.scale / k) + 1


class Pareto(TransformedDistribution):
    """The Pareto distribution: P(x > t) = (scale / t)^alpha, for t >= scale.

    >>> from pyx_tensor.distributions import Pareto
    >>> Pareto(1.0, 3.0).mean
    tensor(1.5000)
    """

    arg_constraints = {"alpha": constraints.positive, "scale": constraints.positive}

    def __init__(self, scale, alpha, validate_args=None):
        self.scale, self.alpha = broadcast_all(scale, alpha)
        base = Exponential(self.alpha, validate_args=validate_args)
        super().__init__(base, [ExpTransform(), AffineTransform(0, self.scale)], validate_args=validate_args)

    @constraints.dependent_property
    def support(self):
        return constraints.greater_than_eq(self.scale)

    @property
    def mean(self):
        a = self.alpha.clamp(min=1)                                  # infinite for less, too
        return a * self.scale / (a - 1)

    @property
    def mode(self):
        return self.scale

    @property
    def variance(self):
        a = self.alpha.clamp(min=2)
        return self.scale ** 2 * a / ((a - 1) ** 2 * (a - 2))

    def entropy(self):
        return (self.scale / self.alpha).log() + (1 + self.alpha.reciprocal())


class GeneralizedPareto(Distribution):
    """The generalised Pareto distribution, of what exceeds a threshold: P(x > t) = (1 + concentration z)^(-1 / concentration), z = (t - loc) / scale.

    At concentration 0 it is an exponential distribution; below 0 values end at loc - scale / concentration (Pickands 1975).

    >>> from pyx_tensor.distributions import GeneralizedPareto
    >>> GeneralizedPareto(0.0, 1.0, 0.5).mean
    tensor(2.)
    """

    has_rsample = True
    arg_constraints = {"loc": constraints.real, "scale": constraints.positive, "concentration": constraints.real}

    def __init__(self, loc, scale, concentration, validate_args=None):
        self.loc, self.scale, self.concentration = broadcast_all(loc, scale, concentration)
        super().__init__(self.loc.shape, validate_args=validate_args)

    @constraints.dependent_property
    def support(self):
        end = B.where(self.concentration < 0, self.loc - self.scale / self.concentration, math.inf)
        return constraints.interval(self.loc, end)

    def _bent(self, c):
        """Where concentrations differ from 0, and concentrations to divide by."""
        bent = ~B.isclose(c, B.zeros_like(c))
        return bent, B.where(bent, c, 1.0)

    def _log_survival(self, value):
        z = (value - self.loc) / self.scale
        bent, c = self._bent(self.concentration)
        return B.where(bent, -B.log1p(c * z) / c, -z)

    @property
    def mean(self):
        """nan where there is none, as PyTorch has it."""
        c = self.concentration
        return B.where(c < 1, self.loc + self.scale / (1 - c), math.nan)

    @property
    def mode(self):
        return self.loc

    @property
    def variance(self):
        c = self.concentration
        return B.where(c < 0.5, self.scale ** 2 / ((1 - c) ** 2 * (1 - 2 * c)), math.nan)

    def _draw(self, sample_shape):
        return self.icdf(uniform(self._extended_shape(sample_shape), self.loc))

    def _log_prob(self, value):
        return (1 + self.concentration) * self._log_survival(value) - self.scale.log()

    def log_survival_function(self, value):
        """log P(x > value)"""
        return self._log_survival(value)

    def log_cdf(self, value):
        """log P(x <= value)"""
        return B.log1p(-self._log_survival(value).exp())

    def _cdf(self, value):
        return -B.expm1(self._log_survival(value))

    def icdf(self, value):
        waited = -B.log1p(-value)
        bent, c = self._bent(self.concentration)
        return self.loc + self.scale * B.where(bent, B.expm1(c * waited) / c, waited)

    def entropy(self):
        return self.scale.log() + self.concentration + 1
