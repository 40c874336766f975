"""The uniform distribution."""
from ..core.record import namespace as B
from . import constraints
from .distribution import Distribution
from .utils import broadcast_all, nan_like, uniform


class Uniform(Distribution):
    """The uniform distribution over [low, high).

    Raises ValueError where low >= high.

    >>> from pyx_tensor.distributions import Uniform
    >>> Uniform(1.0, 4.0).mean
    tensor(2.5000)
    """

    has_rsample = True

    def __init__(self, low, high, validate_args=None):
        self.low, self.high = broadcast_all(low, high)
        super().__init__(self.low.shape, validate_args=validate_args)

    @property
    def arg_constraints(self):
        return {"low": constraints.less_than(self.high), "high": constraints.greater_than(self.low)}

    @constraints.dependent_property
    def support(self):
        return constraints.interval(self.low, self.high)

    @property
    def mean(self):
        return (self.high + self.low) / 2

    @property
    def mode(self):
        """nan: all values are as likely."""
        return nan_like(self.high)

    @property
    def variance(self):
        return (self.high - self.low) ** 2 / 12

    def _draw(self, sample_shape):
        return self.low + uniform(self._extended_shape(sample_shape), self.low) * (self.high - self.low)

    def _log_prob(self, value):
        inside = (value >= self.low) & (value < self.high)
        return B.log(inside.type_as(self.low)) - B.log(self.high - self.low)

    def _cdf(self, value):
        return ((value - self.low) / (self.high - self.low)).clamp(0, 1)

    def icdf(self, value):
        return value * (self.high - self.low) + self.low

    def entropy(self):
        return B.log(self.high - self.low)
