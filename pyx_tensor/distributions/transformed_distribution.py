"""Distributions of transformed variables."""
from ..autograd import no_grad
from . import constraints
from .distribution import Distribution
from .independent import Independent
from .transforms import ComposeTransform, Transform
from .utils import part, sum_rightmost


class TransformedDistribution(Distribution):
    """The distribution of y = transforms(x), with x of a base distribution.

    Args:
        base_distribution: that of x.
        transforms: a Transform, or several, the first applied first.
        validate_args: as for Distribution.

    Raises:
        ValueError: `transforms` is something else, or needs events of more dims than x has dims.

    The density is p(x) / |det dy/dx|.

    >>> import pyx_tensor as torch
    >>> from pyx_tensor.distributions import AffineTransform, TransformedDistribution, Uniform
    >>> TransformedDistribution(Uniform(0.0, 1.0), AffineTransform(1.0, 4.0)).cdf(torch.tensor(2.0))
    tensor(0.2500)
    """

    arg_constraints = {}

    def __init__(self, base_distribution, transforms, validate_args=None):
        self.transforms = [transforms] if isinstance(transforms, Transform) else transforms
        if not isinstance(self.transforms, list) or not all(isinstance(t, Transform) for t in self.transforms):
            raise ValueError(f"transforms must be a Transform or list, but was {transforms}")
        transform = ComposeTransform(self.transforms)
        base_shape = base_distribution.batch_shape + base_distribution.event_shape
        needed = transform.domain.event_dim
        if len(base_shape) < needed:
            raise ValueError(f"base_distribution needs to have shape with size at least {needed}, but got {base_shape}.")
        shape = transform.forward_shape(base_shape)
        wider, events = transform.inverse_shape(shape), len(base_distribution.event_shape)
        if tuple(wider) != tuple(base_shape):
            base_distribution = base_distribution.expand(wider[:len(wider) - events])
        if needed > events:
            base_distribution = Independent(base_distribution, needed - events)
        self.base_dist = base_distribution
        cut = len(shape) - (transform.codomain.event_dim + max(events - needed, 0))
        super().__init__(shape[:cut], shape[cut:], validate_args=validate_args)

    has_rsample = part("base_dist.has_rsample")

    @constraints.dependent_property
    def support(self):
        if not self.transforms:
            return self.base_dist.support
        found = self.transforms[-1].codomain
        more = len(self._event_shape) - found.event_dim
        return constraints.independent(found, more) if more > 0 else found

    def sample(self, sample_shape=()):
        with no_grad():
            return self._transformed(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape=()):
        return self._transformed(self.base_dist.rsample(sample_shape))

    def _transformed(self, x):
        for transform in self.transforms:
            x = transform(x)
        return x

    def _restored(self, y):
        for transform in reversed(self.transforms):
            y = transform.inv(y)
        return y

    def _log_prob(self, value):
        event_dim, total = len(self._event_shape), 0.0
        for transform in reversed(self.transforms):
            x = transform.inv(value)
            event_dim += transform.domain.event_dim - transform.codomain.event_dim
            total = total - sum_rightmost(transform.log_abs_det_jacobian(x, value), event_dim - transform.domain.event_dim)
            value = x
        return total + sum_rightmost(self.base_dist.log_prob(value), event_dim - len(self.base_dist.event_shape))

    def _turned(self, probability):
        """A probability of values up to x as one of values up to y: the complement where y falls as x grows."""
        sign = 1
        for transform in self.transforms:
            sign = sign * transform.sign
        return probability if isinstance(sign, int) and sign == 1 else sign * (probability - 0.5) + 0.5

    def _cdf(self, value):
        return self._turned(self.base_dist.cdf(self._restored(value)))

    def icdf(self, value):
        return self._transformed(self.base_dist.icdf(self._turned(value)))

    def __repr__(self):
        return f"{type(self).__name__}()" if not self.arg_constraints else super().__repr__()
