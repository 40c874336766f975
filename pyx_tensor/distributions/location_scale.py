"""Distributions of numbers by place and width: Laplace, Cauchy, Gumbel; and von Mises's, of angles."""
import math

from ..core.dtype import by_name
from ..core.record import namespace as B
from ..core.typeinfo import finfo
from . import constraints
from .distribution import Distribution
from .normal import Folded
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, ExpTransform
from .uniform import Uniform
from .utils import EULER, broadcast_all, nan_like, part, uniform


class Laplace(Distribution):
    """The Laplace distribution: density exp(-|x - loc| / scale) / (2 scale).

    >>> import pyx_tensor as torch
    >>> from pyx_tensor.distributions import Laplace
    >>> Laplace(0.0, 1.0).cdf(torch.tensor(0.0))
    tensor(0.5000)
    """

    has_rsample = True
    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real

    def __init__(self, loc, scale, validate_args=None):
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.shape, validate_args=validate_args)

    @property
    def mean(self):
        return self.loc

    mode = mean

    @property
    def variance(self):
        return 2 * self.scale ** 2

    @property
    def stddev(self):
        return math.sqrt(2) * self.scale

    def _draw(self, sample_shape):
        noise = uniform(self._extended_shape(sample_shape), self.loc, finfo(self.loc.dtype).eps - 1)
        return self.loc - self.scale * noise.sign() * B.log1p(-noise.abs())

    def _log_prob(self, value):
        return -B.log(2 * self.scale) - B.abs(value - self.loc) / self.scale

    def _cdf(self, value):
        distance = value - self.loc
        return 0.5 - 0.5 * distance.sign() * B.expm1(-distance.abs() / self.scale)

    def icdf(self, value):
        term = value - 0.5
        return self.loc - self.scale * term.sign() * B.log1p(-2 * term.abs())

    def entropy(self):
        return 1 + B.log(2 * self.scale)


class Cauchy(Distribution):
    """The Cauchy distribution, the ratio of two normal variables: median `loc`, quarter of the values beyond loc + scale. It has no mean.

    >>> import pyx_tensor as torch
    >>> from pyx_tensor.distributions import Cauchy
    >>> Cauchy(1.0, 2.0).cdf(torch.tensor(3.0))
    tensor(0.7500)
    """

    has_rsample = True
    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real

    def __init__(self, loc, scale, validate_args=None):
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.shape, validate_args=validate_args)

    @property
    def mean(self):
        return nan_like(self.loc)

    @property
    def mode(self):
        return self.loc

    @property
    def variance(self):
        return B.full_like(self.loc, math.inf)

    def _draw(self, sample_shape):
        noise = B.empty(tuple(self._extended_shape(sample_shape)), dtype=self.loc.dtype, device=self.loc.device).cauchy_()
        return self.loc + noise * self.scale

    def _log_prob(self, value):
        return -math.log(math.pi) - self.scale.log() - B.log1p(((value - self.loc) / self.scale) ** 2)

    def _cdf(self, value):
        return B.atan((value - self.loc) / self.scale) / math.pi + 0.5

    def icdf(self, value):
        return B.tan(math.pi * (value - 0.5)) * self.scale + self.loc

    def entropy(self):
        return math.log(4 * math.pi) + self.scale.log()


class HalfCauchy(Folded):
    """|x| of a Cauchy variable x of median 0 and width `scale`.

    >>> import pyx_tensor as torch
    >>> from pyx_tensor.distributions import HalfCauchy
    >>> HalfCauchy(2.0).cdf(torch.tensor(2.0))
    tensor(0.5000)
    """

    arg_constraints = {"scale": constraints.positive}

    def __init__(self, scale, validate_args=None):
        super().__init__(Cauchy(0, scale, validate_args=False), validate_args=validate_args)

    @property
    def mean(self):
        return B.full_like(self.scale, math.inf)

    variance = part("base_dist.variance")


class Gumbel(TransformedDistribution):
    """Gumbel's extreme value distribution: P(x < t) = exp(-exp(-(t - loc) / scale)).

    >>> from pyx_tensor.distributions import Gumbel
    >>> Gumbel(0.0, 1.0).mean
    tensor(0.5772)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real

    def __init__(self, loc, scale, validate_args=None):
        self.loc, self.scale = broadcast_all(loc, scale)
        info = finfo(self.loc.dtype)
        base = Uniform(B.full_like(self.loc, info.tiny), B.full_like(self.loc, 1 - info.eps), validate_args=validate_args)
        log, minus = ExpTransform().inv, AffineTransform(0, -B.ones_like(self.scale))
        super().__init__(base, [log, minus, log, AffineTransform(self.loc, -self.scale)], validate_args=validate_args)

    @property
    def mean(self):
        return self.loc + self.scale * EULER

    @property
    def mode(self):
        return self.loc

    @property
    def stddev(self):
        return math.pi / math.sqrt(6) * self.scale

    @property
    def variance(self):
        return self.stddev ** 2

    def _log_prob(self, value):
        y = (self.loc - value) / self.scale
        return y - y.exp() - self.scale.log()

    def _cdf(self, value):
        return (-((self.loc - value) / self.scale).exp()).exp()

    def entropy(self):
        return self.scale.log() + (1 + EULER)


class VonMises(Distribution):
    """Angles, in radians, about `loc`: density exp(concentration cos(x - loc)) / (2 pi I0(concentration)).

    Draws are by rejection from a wrapped Cauchy distribution (Best and Fisher 1979), in float64, and aren't differentiable.

    >>> from pyx_tensor.distributions import VonMises
    >>> VonMises(0.0, 1.0).variance
    tensor(0.5536)
    """

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real

    def __init__(self, loc, concentration, validate_args=None):
        self.loc, self.concentration = broadcast_all(loc, concentration)
        super().__init__(self.loc.shape, validate_args=validate_args)

    @property
    def mean(self):
        """The mean direction."""
        return self.loc

    mode = mean

    @property
    def variance(self):
        """The circular variance, 1 - I1(concentration) / I0(concentration)."""
        return 1 - B.special_i1e(self.concentration) / B.special_i0e(self.concentration)

    def _proposal(self, k):
        """r of the wrapped Cauchy distribution, for concentrations in float64."""
        tau = 1 + (1 + 4 * k * k).sqrt()
        rho = (tau - (2 * tau).sqrt()) / (2 * k)
        return B.where(k < 1e-5, 1 / k + k, (1 + rho * rho) / (2 * rho))         # to first order where rho vanishes

    def _draw(self, sample_shape):
        shape, float64 = tuple(self._extended_shape(sample_shape)), by_name["float64"]
        loc, k = self.loc.to(float64), self.concentration.to(float64)
        r = self._proposal(k)
        angle = B.zeros(shape, dtype=float64, device=loc.device)
        done = angle != 0
        while not bool(done.all()):
            first, second, third = B.rand((3, *shape), dtype=float64, device=loc.device).unbind()
            z = (math.pi * first).cos()
            f = (1 + r * z) / (r + z)
            c = k * (r - f)
            accepted = (c * (2 - c) - second > 0) | ((c / second).log() + 1 - c >= 0)
            angle = B.where(accepted, (third - 0.5).sign() * f.acos(), angle)
            done = done | accepted
        return ((angle + math.pi + loc) % (2 * math.pi) - math.pi).to(self.loc.dtype)

    def _log_prob(self, value):
        k = self.concentration
        return k * (B.cos(value - self.loc) - 1) - math.log(2 * math.pi) - B.special_i0e(k).log()
