"""Mixtures of distributions of one family."""
from ..core.record import namespace as B
from . import constraints
from .categorical import Categorical
from .distribution import Distribution


class MixtureSameFamily(Distribution):
    """A mixture: a component is drawn first, then a value from it.

    Args:
        mixture_distribution: a Categorical of K components, with the mixture's batch shape.
        component_distribution: a distribution whose last batch dim, of size K, is that of components.
        validate_args: as for Distribution.

    Raises ValueError where the two don't fit, or aren't such distributions.

    >>> import pyx_tensor as torch
    >>> from pyx_tensor.distributions import Categorical, MixtureSameFamily, Normal
    >>> MixtureSameFamily(Categorical(torch.tensor([0.5, 0.5])), Normal(torch.tensor([-1.0, 3.0]), torch.ones(2))).mean
    tensor(1.)
    """

    arg_constraints = {}

    def __init__(self, mixture_distribution, component_distribution, validate_args=None):
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(" The Mixture distribution needs to be an  instance of torch.distributions.Categorical")
        if not isinstance(component_distribution, Distribution):
            raise ValueError("The Component distribution need to be an instance of torch.distributions.Distribution")
        mixed, batch = mixture_distribution.batch_shape, component_distribution.batch_shape
        for own, others in zip(reversed(mixed), reversed(batch[:-1])):
            if 1 not in (own, others) and own != others:
                raise ValueError(f"`mixture_distribution.batch_shape` ({mixed}) is not compatible with "
                                 f"`component_distribution.batch_shape` ({batch})")
        if mixture_distribution.param_shape[-1] != batch[-1]:
            raise ValueError(f"`mixture_distribution component` ({mixture_distribution.param_shape[-1]}) does not equal "
                             f"`component_distribution.batch_shape[-1]` ({batch[-1]})")
        self._num_component = batch[-1]
        self._component_distribution = component_distribution
        self._mixture_distribution = mixture_distribution.expand(batch[:-1])
        super().__init__(batch[:-1], component_distribution.event_shape, validate_args=validate_args)

    @property
    def mixture_distribution(self):
        return self._mixture_distribution

    @property
    def component_distribution(self):
        return self._component_distribution

    @constraints.dependent_property
    def support(self):
        return constraints.MixtureSameFamilyConstraint(self._component_distribution.support)

    def _over_events(self, x):
        """(…) -> (…, 1, …, 1), with as many dims more as events have."""
        return x.reshape((*x.shape, *[1] * len(self._event_shape)))

    def _averaged(self, values):
        """The mean over components, of shape batch + (K,) + event."""
        return (self._over_events(self._mixture_distribution.probs) * values).sum(-1 - len(self._event_shape))

    @property
    def mean(self):
        return self._averaged(self._component_distribution.mean)

    @property
    def variance(self):
        """The mean of variances and the variance of means."""
        means = self._component_distribution.mean
        return self._averaged(self._component_distribution.variance) + self._averaged((means - self.mean.unsqueeze(-1 - len(self._event_shape))) ** 2)

    def _for_each_component(self, x):
        return x.unsqueeze(-1 - len(self._event_shape))

    def _cdf(self, value):
        return (self._component_distribution.cdf(self._for_each_component(value)) * self._mixture_distribution.probs).sum(-1)

    def _log_prob(self, value):
        found = self._component_distribution.log_prob(self._for_each_component(value))
        return B.logsumexp(found + B.log_softmax(self._mixture_distribution.logits, -1), -1)

    def _draw(self, sample_shape):
        chosen = self._mixture_distribution.sample(sample_shape)
        values = self._component_distribution.sample(sample_shape)
        places = self._over_events(chosen.unsqueeze(-1)).expand((*chosen.shape, 1, *self._event_shape))
        dim = chosen.ndim
        return values.gather(dim, places).squeeze(dim)

    def __repr__(self):
        return f"{type(self).__name__}(\n  {self._mixture_distribution},\n  {self._component_distribution})"
