"""The gamma distribution, and those made from it: inverse gamma, chi-squared, Student's t, Fisher and Snedecor's F."""
import math

from ..core.record import namespace as B
from ..core.typeinfo import finfo
from . import constraints
from .distribution import Distribution
from .exp_family import ExponentialFamily
from .transformed_distribution import TransformedDistribution
from .transforms import PowerTransform
from .utils import broadcast_all, lbeta, part, standard_normal


class Gamma(ExponentialFamily):
    """The gamma distribution of shape `concentration` and `rate`: density rate^a x^(a-1) exp(-rate x) / Gamma(a).

    Draws are differentiable in the shape by implicit reparameterisation (Figurnov et al. 2018), once.

    >>> import pyx_tensor as torch
    >>> from pyx_tensor.distributions import Gamma
    >>> Gamma(3.0, 2.0).mean
    tensor(1.5000)
    """

    has_rsample = True
    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.nonnegative
    _mean_carrier_measure = 0

    def __init__(self, concentration, rate, validate_args=None):
        self.concentration, self.rate = broadcast_all(concentration, rate)
        super().__init__(self.concentration.shape, validate_args=validate_args)

    @property
    def mean(self):
        return self.concentration / self.rate

    @property
    def mode(self):
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    @property
    def variance(self):
        return self.concentration / self.rate ** 2

    def _draw(self, sample_shape):
        shape = tuple(self._extended_shape(sample_shape))
        return (B._standard_gamma(self.concentration.expand(shape)) / self.rate.expand(shape)).clamp(min=finfo(self.rate.dtype).tiny)

    def _log_prob(self, value):
        a = self.concentration
        return B.xlogy(a, self.rate) + B.xlogy(a - 1, value) - self.rate * value - a.lgamma()

    def _cdf(self, value):
        return B.igamma(self.concentration, self.rate * value)

    def entropy(self):
        a = self.concentration
        return a - self.rate.log() + a.lgamma() + (1 - a) * a.digamma()

    @property
    def _natural_params(self):
        return self.concentration - 1, -self.rate

    def _log_normalizer(self, x, y):
        return (x + 1).lgamma() - (x + 1) * (-y).log()


class Chi2(Gamma):
    """The sum of the squares of `df` standard normal variables: a gamma distribution of shape df / 2 and rate 1/2.

    >>> import pyx_tensor as torch
    >>> from pyx_tensor.distributions import Chi2
    >>> Chi2(torch.tensor(3.0)).mean
    tensor(3.)
    """

    arg_constraints = {"df": constraints.positive}

    def __init__(self, df, validate_args=None):
        super().__init__(0.5 * df, 0.5, validate_args=validate_args)

    @property
    def df(self):
        return self.concentration * 2


class InverseGamma(TransformedDistribution):
    """1 / x of a gamma variable x of shape `concentration` and `rate`.

    >>> from pyx_tensor.distributions import InverseGamma
    >>> InverseGamma(3.0, 4.0).mean
    tensor(2.)
    """

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.positive

    def __init__(self, concentration, rate, validate_args=None):
        base = Gamma(concentration, rate, validate_args=validate_args)
        super().__init__(base, PowerTransform(B.tensor(-1, dtype=base.rate.dtype, device=base.rate.device)), validate_args=validate_args)

    concentration = part("base_dist.concentration")
    rate = part("base_dist.rate")

    @property
    def mean(self):
        return B.where(self.concentration > 1, self.rate / (self.concentration - 1), math.inf)

    @property
    def mode(self):
        return self.rate / (self.concentration + 1)

    @property
    def variance(self):
        a = self.concentration
        return B.where(a > 2, self.rate ** 2 / ((a - 1) ** 2 * (a - 2)), math.inf)

    def entropy(self):
        a = self.concentration
        return a + self.rate.log() + a.lgamma() - (1 + a) * a.digamma()


class StudentT(Distribution):
    """Student's t of `df` degrees of freedom, scaled by `scale` and moved by `loc`: a normal variable over the root of Chi2(df) / df.

    >>> from pyx_tensor.distributions import StudentT
    >>> StudentT(4.0).variance
    tensor(2.)
    """

    has_rsample = True
    arg_constraints = {"df": constraints.positive, "loc": constraints.real, "scale": constraints.positive}
    support = constraints.real

    def __init__(self, df, loc=0.0, scale=1.0, validate_args=None):
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        self._chi2 = Chi2(self.df)
        super().__init__(self.df.shape, validate_args=validate_args)

    @property
    def mean(self):
        return self.loc.masked_fill(self.df <= 1, math.nan)

    @property
    def mode(self):
        return self.loc

    @property
    def variance(self):
        finite = self.scale ** 2 * self.df / (self.df - 2)
        return finite.masked_fill(self.df <= 2, math.inf).masked_fill(self.df <= 1, math.nan)

    def _draw(self, sample_shape):
        x = standard_normal(self._extended_shape(sample_shape), self.df)
        z = self._chi2.rsample(sample_shape)
        return self.loc + self.scale * (x * B.rsqrt(z / self.df))

    def _log_normalizer(self):
        return self.scale.log() + 0.5 * self.df.log() + 0.5 * math.log(math.pi) + (0.5 * self.df).lgamma() - (0.5 * (self.df + 1)).lgamma()

    def _log_prob(self, value):
        y = (value - self.loc) / self.scale
        return -0.5 * (self.df + 1) * B.log1p(y ** 2 / self.df) - self._log_normalizer()

    def entropy(self):
        half = 0.5 * (self.df + 1)
        return self._log_normalizer() + half * (half.digamma() - (0.5 * self.df).digamma())


class FisherSnedecor(Distribution):
    """The F distribution: the ratio of Chi2(df1) / df1 and Chi2(df2) / df2.

    >>> from pyx_tensor.distributions import FisherSnedecor
    >>> FisherSnedecor(2.0, 4.0).mean
    tensor(2.)
    """

    has_rsample = True
    arg_constraints = {"df1": constraints.positive, "df2": constraints.positive}
    support = constraints.positive

    def __init__(self, df1, df2, validate_args=None):
        self.df1, self.df2 = broadcast_all(df1, df2)
        self._gamma1, self._gamma2 = Gamma(self.df1 * 0.5, self.df1), Gamma(self.df2 * 0.5, self.df2)
        super().__init__(self.df1.shape, validate_args=validate_args)

    @property
    def mean(self):
        return (self.df2 / (self.df2 - 2)).masked_fill(self.df2 <= 2, math.nan)

    @property
    def mode(self):
        return ((self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)).masked_fill(self.df1 <= 2, math.nan)

    @property
    def variance(self):
        m, n = self.df1, self.df2
        return (2 * n ** 2 * (m + n - 2) / (m * (n - 2) ** 2 * (n - 4))).masked_fill(n <= 4, math.nan)

    def _draw(self, sample_shape):
        tiny = finfo(self.df1.dtype).tiny
        above, below = self._gamma1.rsample(sample_shape), self._gamma2.rsample(sample_shape)
        return (above / below.clamp(min=tiny)).clamp(min=tiny)

    def _log_prob(self, value):
        m, n = self.df1, self.df2
        return 0.5 * m * (m / n).log() + (0.5 * m - 1) * value.log() - 0.5 * (m + n) * B.log1p(m / n * value) - lbeta(0.5 * m, 0.5 * n)
