import math

from ..core.record import namespace as B
from .distribution import Distribution, as_tensors


class Normal(Distribution):
    """The normal distribution of mean `loc` and standard deviation `scale`."""

    has_rsample = True
    arg_constraints = {"loc": lambda loc: B.eq(loc, loc), "scale": lambda scale: B.gt(scale, 0)}

    def __init__(self, loc, scale, validate_args=None):
        self.loc, self.scale = as_tensors(loc, scale)
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
        shape = self._extended_shape(sample_shape)
        return B.normal(B.expand(self.loc.detach(), shape), B.expand(self.scale.detach(), shape))

    def _draw(self, sample_shape):
        shape = self._extended_shape(sample_shape)
        noise = B.normal(B.zeros(shape, dtype=self.loc.dtype, device=self.loc.device), B.ones(shape, dtype=self.loc.dtype, device=self.loc.device))
        return self.loc + noise * self.scale

    def log_prob(self, value):
        self._check(value)
        return -((value - self.loc) ** 2) / (2 * self.variance) - B.log(self.scale) - math.log(math.sqrt(2 * math.pi))

    def cdf(self, value):
        self._check(value)
        return 0.5 * (1 + B.erf((value - self.loc) * self.scale.reciprocal() / math.sqrt(2)))

    def icdf(self, value):
        return self.loc + self.scale * B.erfinv(2 * value - 1) * math.sqrt(2)

    def entropy(self):
        return 0.5 + 0.5 * math.log(2 * math.pi) + B.log(self.scale)
