from ..core.record import namespace as B
from .distribution import Distribution, as_tensors


class Exponential(Distribution):
    """The exponential distribution of density rate * exp(-rate * x)."""

    has_rsample = True
    arg_constraints = {"rate": lambda rate: B.gt(rate, 0)}

    def __init__(self, rate, validate_args=None):
        self.rate, = as_tensors(rate)
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
        noise = B.empty(self._extended_shape(sample_shape), dtype=self.rate.dtype, device=self.rate.device).exponential_()
        return noise / self.rate

    def _supported(self, value):
        return B.ge(value, 0)

    def log_prob(self, value):
        self._check(value)
        return B.log(self.rate) - self.rate * value

    def cdf(self, value):
        self._check(value)
        return 1 - B.exp(-self.rate * value)

    def icdf(self, value):
        return -B.log1p(-value) / self.rate

    def entropy(self):
        return 1.0 - B.log(self.rate)
