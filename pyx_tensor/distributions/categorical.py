"""Variables of K values: as numbers, as one-hot vectors, and vectors near them."""
import math

from ..core.record import namespace as B
from ..core.typeinfo import finfo
from . import constraints
from .distribution import Distribution
from .utils import lazy_property, logits_to_probs, one_of, part, probs_to_logits


class Categorical(Distribution):
    """0 to K-1, with probabilities proportional to `probs`, or to exp(`logits`), along the last dim.

    Raises ValueError where both or neither are given, or they have no dims.

    >>> import pyx_tensor as torch
    >>> from pyx_tensor.distributions import Categorical
    >>> Categorical(torch.tensor([1.0, 3.0])).probs
    tensor([0.2500, 0.7500])
    """

    has_enumerate_support = True
    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}

    def __init__(self, probs=None, logits=None, validate_args=None):
        name, given = one_of(probs=probs, logits=logits)
        if given.ndim < 1:
            raise ValueError(f"`{name}` parameter must be at least one-dimensional.")
        self.__dict__[name] = given / given.sum(-1, True) if name == "probs" else given - B.logsumexp(given, -1, True)
        self._num_events = given.shape[-1]
        super().__init__(given.shape[:-1], validate_args=validate_args)

    @lazy_property
    def probs(self):
        """The probabilities, of sum 1."""
        return logits_to_probs(self.logits)

    @lazy_property
    def logits(self):
        """Their logarithms."""
        return probs_to_logits(self.probs)

    @property
    def _given(self):
        return self.__dict__["probs"] if "probs" in self.__dict__ else self.logits

    @property
    def param_shape(self):
        """The shape of `probs` and `logits`."""
        return self._given.size()

    @constraints.dependent_property(is_discrete=True)
    def support(self):
        return constraints.integer_interval(0, self._num_events - 1)

    @property
    def mean(self):
        """nan: the values are names."""
        return B.full(tuple(self._batch_shape), math.nan, dtype=self.probs.dtype, device=self.probs.device)

    variance = mean

    @property
    def mode(self):
        return B.argmax(self.probs, -1)

    def _draw(self, sample_shape):
        rows = self.probs.reshape((-1, self._num_events))
        return B.multinomial(rows, math.prod(sample_shape), True).T.reshape(tuple(self._extended_shape(sample_shape)))

    def _log_prob(self, value):
        index = value.long().unsqueeze(-1)
        shape = B.broadcast_shapes(index.shape[:-1], self.logits.shape[:-1])
        return B.gather(self.logits.expand((*shape, self._num_events)), -1, index.expand((*shape, 1))).squeeze(-1)

    def entropy(self):
        return -(self.logits.clamp(min=finfo(self.logits.dtype).min) * self.probs).sum(-1)

    def _values(self):
        return B.arange(self._num_events, device=self._given.device)


class OneHotCategorical(Distribution):
    """The variables of `Categorical` as vectors of zeros with a one at the place drawn.

    >>> import pyx_tensor as torch
    >>> from pyx_tensor.distributions import OneHotCategorical
    >>> OneHotCategorical(torch.tensor([1.0, 3.0])).mode
    tensor([0., 1.])
    """

    has_enumerate_support = True
    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.one_hot

    def __init__(self, probs=None, logits=None, validate_args=None):
        self._categorical = Categorical(probs, logits)
        shape = self._categorical.param_shape
        super().__init__(shape[:-1], shape[-1:], validate_args=validate_args)

    probs = part("_categorical.probs")
    logits = part("_categorical.logits")
    param_shape = part("_categorical.param_shape")

    @property
    def mean(self):
        return self.probs

    @property
    def mode(self):
        return self._one_hot(self._categorical.mode)

    @property
    def variance(self):
        return self.probs * (1 - self.probs)

    def _one_hot(self, places):
        zeros = B.zeros((*places.shape, *self._event_shape), dtype=self.probs.dtype, device=self.probs.device)
        return zeros.scatter(-1, places.unsqueeze(-1), 1.0)

    def _draw(self, sample_shape):
        return self._one_hot(self._categorical.sample(sample_shape))

    def _log_prob(self, value):
        return self._categorical.log_prob(value.argmax(-1))

    def entropy(self):
        return self._categorical.entropy()

    def _values(self):
        return B.eye(self._event_shape[0], dtype=self.probs.dtype, device=self.probs.device)

    def __repr__(self):
        return f"{type(self).__name__}()"


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """`OneHotCategorical` whose draws have the gradient of `probs` (Bengio et al. 2013).

    >>> import pyx_tensor as torch
    >>> from pyx_tensor.distributions import OneHotCategoricalStraightThrough
    >>> OneHotCategoricalStraightThrough(torch.tensor([1.0, 3.0], requires_grad=True)).rsample().requires_grad
    True
    """

    has_rsample = True

    def rsample(self, sample_shape=()):
        return self.sample(sample_shape) + (self.probs - self.probs.detach())
