from ..core.record import namespace as B
from .distribution import Distribution, as_tensors


class Uniform(Distribution):
    """The uniform distribution over [low, high)."""

    has_rsample = True
    arg_constraints = {"low": lambda low: B.eq(low, low), "high": lambda high: B.eq(high, high)}

    def __init__(self, low, high, validate_args=None):
        self.low, self.high = as_tensors(low, high)
        super().__init__(self.low.shape, validate_args=validate_args)
        if self._validate_args and not bool((self.low < self.high).all()):
            raise ValueError("Uniform is not defined when low>= high")

    @property
    def mean(self):
        return (self.high + self.low) / 2

    @property
    def variance(self):
        return (self.high - self.low) ** 2 / 12

    def _draw(self, sample_shape):
        noise = B.rand(self._extended_shape(sample_shape), dtype=self.low.dtype, device=self.low.device)
        return self.low + noise * (self.high - self.low)

    def _supported(self, value):
        return B.logical_and(B.ge(value, self.low), B.le(value, self.high))

    def log_prob(self, value):
        self._check(value)
        inside = B.logical_and(B.ge(value, self.low), B.lt(value, self.high))
        return B.log(inside.type_as(self.low)) - B.log(self.high - self.low)

    def cdf(self, value):
        self._check(value)
        return ((value - self.low) / (self.high - self.low)).clamp(0, 1)

    def icdf(self, value):
        return value * (self.high - self.low) + self.low

    def entropy(self):
        return B.log(self.high - self.low)
