"""Shares of a whole: the Dirichlet distribution, the beta distribution, and Kumaraswamy's, which resembles it."""
import math

from ..core.record import namespace as B
from . import constraints
from .exp_family import ExponentialFamily
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, PowerTransform
from .uniform import Uniform
from .utils import EULER, broadcast_all


class Dirichlet(ExponentialFamily):
    """The Dirichlet distribution of `concentration` along the last dim: density proportional to the product of x_i^(a_i - 1) on the simplex.

    Draws are differentiable by implicit reparameterisation (Figurnov et al. 2018), once.

    Raises ValueError for a `concentration` without dims.

    >>> import pyx_tensor as torch
    >>> from pyx_tensor.distributions import Dirichlet
    >>> Dirichlet(torch.tensor([1.0, 3.0])).mean
    tensor([0.2500, 0.7500])
    """

    has_rsample = True
    arg_constraints = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    _mean_carrier_measure = 0

    def __init__(self, concentration, validate_args=None):
        if concentration.ndim < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args=validate_args)

    @property
    def _total(self):
        return self.concentration.sum(-1, True)

    @property
    def mean(self):
        return self.concentration / self._total

    @property
    def mode(self):
        """The likeliest value; a corner where no concentration is 1 or more."""
        above = (self.concentration - 1).clamp(min=0)
        mode = above / above.sum(-1, True)
        corner = B.zeros_like(mode).scatter(-1, mode.argmax(-1, True), 1.0)
        return B.where((self.concentration < 1).all(-1, True), corner, mode)

    @property
    def variance(self):
        total = self._total
        return self.concentration * (total - self.concentration) / (total ** 2 * (total + 1))

    def _draw(self, sample_shape):
        return B._sample_dirichlet(self.concentration.expand(tuple(self._extended_shape(sample_shape))))

    def _log_prob(self, value):
        a = self.concentration
        return B.xlogy(a - 1, value).sum(-1) + a.sum(-1).lgamma() - a.lgamma().sum(-1)

    def entropy(self):
        a, total = self.concentration, self.concentration.sum(-1)
        return a.lgamma().sum(-1) - total.lgamma() - (a.shape[-1] - total) * total.digamma() - ((a - 1) * a.digamma()).sum(-1)

    @property
    def _natural_params(self):
        return (self.concentration,)

    def _log_normalizer(self, x):
        return x.lgamma().sum(-1) - x.sum(-1).lgamma()


class Beta(ExponentialFamily):
    """The beta distribution: density proportional to x^(concentration1 - 1) (1 - x)^(concentration0 - 1).

    >>> from pyx_tensor.distributions import Beta
    >>> Beta(1.0, 3.0).mean
    tensor(0.2500)
    """

    has_rsample = True
    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    _mean_carrier_measure = 0

    def __init__(self, concentration1, concentration0, validate_args=None):
        both = B.stack(broadcast_all(concentration1, concentration0), -1)
        self._dirichlet = Dirichlet(both, validate_args=validate_args)
        super().__init__(both.shape[:-1], validate_args=validate_args)

    @property
    def concentration1(self):
        return self._dirichlet.concentration[..., 0]

    @property
    def concentration0(self):
        return self._dirichlet.concentration[..., 1]

    @property
    def mean(self):
        return self.concentration1 / (self.concentration1 + self.concentration0)

    @property
    def mode(self):
        return self._dirichlet.mode[..., 0]

    @property
    def variance(self):
        return self._dirichlet.variance[..., 0]

    def _draw(self, sample_shape):
        return self._dirichlet.rsample(sample_shape).select(-1, 0)

    def _log_prob(self, value):
        return self._dirichlet.log_prob(B.stack([value, 1 - value], -1))

    def entropy(self):
        return self._dirichlet.entropy()

    @property
    def _natural_params(self):
        return self.concentration1, self.concentration0

    def _log_normalizer(self, x, y):
        return x.lgamma() + y.lgamma() - (x + y).lgamma()

    def __repr__(self):
        return f"{type(self).__name__}()"


class Kumaraswamy(TransformedDistribution):
    """Kumaraswamy's distribution: with a = concentration1 and b = concentration0, density a b x^(a-1) (1 - x^a)^(b-1).

    >>> from pyx_tensor.distributions import Kumaraswamy
    >>> Kumaraswamy(1.0, 3.0).mean
    tensor(0.2500)
    """

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval

    def __init__(self, concentration1, concentration0, validate_args=None):
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        base = Uniform(B.zeros_like(self.concentration0), B.ones_like(self.concentration0), validate_args=validate_args)
        transforms = [PowerTransform(self.concentration0.reciprocal()), AffineTransform(1.0, -1.0), PowerTransform(self.concentration1.reciprocal())]
        super().__init__(base, transforms, validate_args=validate_args)

    def _moment(self, n):
        """E[x^n] = b Beta(1 + n/a, b)"""
        a, b = self.concentration1, self.concentration0
        first = 1 + n / a
        return B.exp(b.log() + first.lgamma() + b.lgamma() - (first + b).lgamma())

    @property
    def mean(self):
        return self._moment(1)

    @property
    def mode(self):
        """((a - 1) / (a b - 1))^(1/a); nan where a or b is below 1."""
        a, b = self.concentration1, self.concentration0
        return (((a - 1) / (a * b - 1)) ** (1 / a)).masked_fill((a < 1) | (b < 1), math.nan)

    @property
    def variance(self):
        return self._moment(2) - self._moment(1) ** 2

    def entropy(self):
        a, b = self.concentration1, self.concentration0
        return 1 - 1 / b + (1 - 1 / a) * ((b + 1).digamma() + EULER) - a.log() - b.log()
