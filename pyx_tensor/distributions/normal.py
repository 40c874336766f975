"""The normal distribution of numbers, and those that are made from it."""
import math

from ..core.record import namespace as B
from . import constraints
from .exp_family import ExponentialFamily
from .transformed_distribution import TransformedDistribution
from .transforms import AbsTransform, ExpTransform, StickBreakingTransform
from .utils import HALF_LOG_TWO_PI, broadcast_all, part, standard_normal


class Normal(ExponentialFamily):
    """The normal distribution of mean `loc` and standard deviation `scale`.

    >>> import pyx_tensor as torch
    >>> from pyx_tensor.distributions import Normal
    >>> Normal(0.0, 2.0).log_prob(torch.tensor(0.0))
    tensor(-1.6121)
    """

    has_rsample = True
    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    _mean_carrier_measure = 0

    def __init__(self, loc, scale, validate_args=None):
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.shape, validate_args=validate_args)

    @property
    def mean(self):
        return self.loc

    mode = mean

    @property
    def stddev(self):
        return self.scale

    @property
    def variance(self):
        return B.square(self.scale)

    def sample(self, sample_shape=()):
        shape = tuple(self._extended_shape(sample_shape))
        return B.normal(B.expand(self.loc.detach(), shape), B.expand(self.scale.detach(), shape))

    def _draw(self, sample_shape):
        return self.loc + standard_normal(self._extended_shape(sample_shape), self.loc) * self.scale

    def _log_prob(self, value):
        return -((value - self.loc) ** 2) / (2 * self.variance) - B.log(self.scale) - HALF_LOG_TWO_PI

    def _cdf(self, value):
        return 0.5 * (1 + B.erf((value - self.loc) * self.scale.reciprocal() / math.sqrt(2)))

    def icdf(self, value):
        return self.loc + self.scale * B.erfinv(2 * value - 1) * math.sqrt(2)

    def entropy(self):
        return 0.5 + HALF_LOG_TWO_PI + B.log(self.scale)

    @property
    def _natural_params(self):
        return self.loc / self.variance, -0.5 / self.variance

    def _log_normalizer(self, x, y):
        return -0.25 * x * x / y + 0.5 * B.log(-math.pi / y)


class LogNormal(TransformedDistribution):
    """exp(x) of a normal x of mean `loc` and standard deviation `scale`.

    >>> from pyx_tensor.distributions import LogNormal
    >>> LogNormal(0.0, 1.0).mode
    tensor(0.3679)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.positive

    def __init__(self, loc, scale, validate_args=None):
        super().__init__(Normal(loc, scale, validate_args=validate_args), ExpTransform(), validate_args=validate_args)

    loc = part("base_dist.loc")
    scale = part("base_dist.scale")

    @property
    def mean(self):
        return B.exp(self.loc + self.scale ** 2 / 2)

    @property
    def mode(self):
        return B.exp(self.loc - self.scale ** 2)

    @property
    def variance(self):
        return B.expm1(self.scale ** 2) * B.exp(2 * self.loc + self.scale ** 2)

    def entropy(self):
        return self.base_dist.entropy() + self.loc


class Folded(TransformedDistribution):
    """|x| of an x whose distribution is symmetric about 0."""

    support = constraints.nonnegative

    def __init__(self, base, validate_args=None):
        super().__init__(base, AbsTransform(), validate_args=validate_args)

    scale = part("base_dist.scale")

    @property
    def mode(self):
        return B.zeros_like(self.scale)

    def _log_prob(self, value):
        found = self.base_dist.log_prob(value) + math.log(2)
        return B.where(value >= 0, found, -math.inf)

    def _cdf(self, value):
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, value):
        return self.base_dist.icdf((value + 1) / 2)

    def entropy(self):
        return self.base_dist.entropy() - math.log(2)


class HalfNormal(Folded):
    """|x| of a normal x of mean 0 and standard deviation `scale`.

    >>> from pyx_tensor.distributions import HalfNormal
    >>> HalfNormal(2.0).mean
    tensor(1.5958)
    """

    arg_constraints = {"scale": constraints.positive}

    def __init__(self, scale, validate_args=None):
        super().__init__(Normal(0, scale, validate_args=False), validate_args=validate_args)

    @property
    def mean(self):
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def variance(self):
        return self.scale ** 2 * (1 - 2 / math.pi)


class LogisticNormal(TransformedDistribution):
    """The simplex of K parts that K - 1 normal variables break up (`StickBreakingTransform`).

    >>> import pyx_tensor as torch
    >>> from pyx_tensor.distributions import LogisticNormal
    >>> LogisticNormal(torch.zeros(2), torch.ones(2)).sample().shape
    torch.Size([3])
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.simplex

    def __init__(self, loc, scale, validate_args=None):
        base = Normal(loc, scale, validate_args=validate_args)
        super().__init__(base if base.batch_shape else base.expand((1,)), StickBreakingTransform(), validate_args=validate_args)

    loc = part("base_dist.base_dist.loc")
    scale = part("base_dist.base_dist.scale")
