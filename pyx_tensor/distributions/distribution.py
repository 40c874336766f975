"""What all distributions have."""
from ..autograd import no_grad
from ..core.record import namespace as B
from ..core.size import Size
from ..core.tensor import TensorBase


def as_tensors(*values):
    """Parameters of a distribution, numbers among them, as tensors of one shape."""
    like = next((value for value in values if isinstance(value, TensorBase)), None)
    options = {} if like is None else {"dtype": like.dtype, "device": like.device}
    tensors = [value if isinstance(value, TensorBase) else B.tensor(float(value), **options) for value in values]
    shape = B.broadcast_shapes(*[t.shape for t in tensors])
    return [B.expand(t, tuple(shape)) for t in tensors]


class Distribution:
    """A distribution over values of `event_shape`, one for each place of `batch_shape`.

    `sample(shape)` draws, `log_prob(value)` is the logarithm of the density (or of the probability), `entropy()` is in nats.
    """

    has_rsample = False
    has_enumerate_support = False
    _validate_args = True
    arg_constraints = {}       # name of a parameter -> function(tensor) telling which of its values are possible

    def __init__(self, batch_shape=(), event_shape=(), validate_args=None):
        self._batch_shape, self._event_shape = Size(batch_shape), Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            for name, possible in self.arg_constraints.items():
                value = self.__dict__.get(name)
                if value is not None and not bool(possible(value.detach()).all()):
                    raise ValueError(f"Expected parameter {name} (Tensor of shape {tuple(value.shape)}) of distribution {self!r} to be possible, "
                                     f"but found invalid values:\n{value}")

    @staticmethod
    def set_default_validate_args(value):
        """Whether parameters and values are checked (True)."""
        Distribution._validate_args = bool(value)

    @property
    def batch_shape(self):
        return self._batch_shape

    @property
    def event_shape(self):
        return self._event_shape

    @property
    def stddev(self):
        return B.sqrt(self.variance)

    def _extended_shape(self, sample_shape=()):
        return (*sample_shape, *self._batch_shape, *self._event_shape)

    def sample(self, sample_shape=()):
        """Values of shape sample_shape + batch_shape + event_shape, outside of the graph."""
        with no_grad():
            return self._draw(tuple(sample_shape))

    def rsample(self, sample_shape=()):
        """Values that are differentiable in the parameters; NotImplementedError where that can't be."""
        if not self.has_rsample:
            raise NotImplementedError(f"{type(self).__name__} has no rsample: its values aren't differentiable in its parameters")
        return self._draw(tuple(sample_shape))

    def sample_n(self, n):
        """n values, as `sample((n,))`."""
        return self.sample((n,))

    def _check(self, value):
        if not isinstance(value, TensorBase):
            raise ValueError("The value argument to log_prob must be a Tensor")
        if self._validate_args and not bool(self._supported(value).all()):
            raise ValueError(f"Expected value argument (Tensor of shape {tuple(value.shape)}) to be within the support of the distribution {self!r}, "
                             f"but found invalid values:\n{value}")

    def _supported(self, value):
        """Which values are possible."""
        return B.eq(value, value)

    def log_prob(self, value):
        """The logarithm of the density, or of the probability, of a value."""
        raise NotImplementedError(f"{type(self).__name__} has no log_prob")

    def cdf(self, value):
        """The probability of values up to this one."""
        raise NotImplementedError(f"{type(self).__name__} has no cdf")

    def icdf(self, value):
        """The value up to which lie values of this probability."""
        raise NotImplementedError(f"{type(self).__name__} has no icdf")

    def entropy(self):
        """The entropy in nats."""
        raise NotImplementedError(f"{type(self).__name__} has no entropy")

    def perplexity(self):
        """exp(entropy)"""
        return B.exp(self.entropy())

    def __repr__(self):
        parts = [f"{name}: {value if value.numel() == 1 else value.size()}" for name in self.arg_constraints
                 if (value := self.__dict__.get(name)) is not None]
        return f"{type(self).__name__}({', '.join(parts)})"
