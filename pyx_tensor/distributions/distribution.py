"""What all distributions have: shapes, validation and expansion, once.

A distribution keeps its parameters as attributes: tensors whose shape begins with its batch shape, and distributions that it is made of,
whose batch shape does. That is what `expand` goes by. A subclass says `_draw`, `_log_prob`, `_cdf`; their public forms check arguments.
"""
import warnings

from ..autograd import no_grad
from ..core.record import namespace as B
from ..core.size import Size
from ..core.tensor import TensorBase
from . import constraints
from .utils import as_size, lazy_property


class Distribution:
    """A distribution over values of `event_shape`, one for each place of `batch_shape`.

    `sample(shape)` draws, `log_prob(value)` is the logarithm of the density (or of the probability), `entropy()` is in nats.

    Args:
        batch_shape: the shape of independent distributions, () by default.
        event_shape: the shape of one value, () by default.
        validate_args: whether parameters and values are checked; by default as `set_default_validate_args` says.

    Raises ValueError for a parameter outside of its constraint, if it is checked.
    """

    has_rsample = False
    has_enumerate_support = False
    _validate_args = __debug__

    def __init__(self, batch_shape=(), event_shape=(), validate_args=None):
        self._batch_shape, self._event_shape = as_size(batch_shape), as_size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._validate_parameters()

    @staticmethod
    def set_default_validate_args(value):
        """Whether parameters and values are checked (they are, unless Python runs with -O)."""
        if value not in (True, False):
            raise ValueError(f"set_default_validate_args: expected True or False, got {value!r}")
        Distribution._validate_args = value

    # --- shapes -------------------------------------------------------------------------------------------------------
    @property
    def batch_shape(self):
        """The shape of independent distributions."""
        return self._batch_shape

    @property
    def event_shape(self):
        """The shape of one value."""
        return self._event_shape

    def _extended_shape(self, sample_shape=()):
        return Size((*sample_shape, *self._batch_shape, *self._event_shape))

    def expand(self, batch_shape, _instance=None):
        """The same distribution with a larger batch shape, which shares the parameters' memory.

        >>> from pyx_tensor.distributions import Normal
        >>> Normal(0.0, 1.0).expand((2, 3)).batch_shape
        torch.Size([2, 3])
        """
        new = self._get_checked_instance(type(self), _instance)
        own = len(self._batch_shape)
        new.__dict__.update(self.__dict__)
        for name, part in self.__dict__.items():
            if isinstance(part, TensorBase):
                new.__dict__[name] = part.expand((*batch_shape, *part.shape[own:]))
            elif isinstance(part, Distribution):
                new.__dict__[name] = part.expand((*batch_shape, *part.batch_shape[own:]))
        new._batch_shape = Size(batch_shape)
        return new

    def _get_checked_instance(self, cls, _instance=None):
        """The object that an `expand` fills in; subclasses of users call it, by PyTorch's name."""
        if _instance is None and type(self).__init__ is not cls.__init__:
            raise NotImplementedError(f"Subclass {type(self).__name__} of {cls.__name__} that defines a custom __init__ method must also define "
                                      "a custom .expand() method.")
        return type(self).__new__(type(self)) if _instance is None else _instance

    # --- validation ---------------------------------------------------------------------------------------------------
    @property
    def arg_constraints(self):
        """Constraints of the parameters, by name."""
        raise NotImplementedError(f"{type(self).__name__} has no arg_constraints")

    @property
    def support(self):
        """The constraint of values."""
        raise NotImplementedError(f"{type(self).__name__} has no support")

    def _validate_parameters(self):
        try:
            possible = self.arg_constraints
        except NotImplementedError:
            possible = {}
            warnings.warn(f"{type(self)} does not define `arg_constraints`. Please set `arg_constraints = {{}}` or initialize the "
                          "distribution with `validate_args=False` to turn off validation.", stacklevel=4)
        for name, constraint in possible.items():
            if constraints.is_dependent(constraint):
                continue                                 # a check of several parameters is the distribution's own
            if name not in self.__dict__ and isinstance(getattr(type(self), name, None), lazy_property):
                continue                                 # follows from a parameter that is given
            value = getattr(self, name)
            if not bool(constraint.check(value.detach()).all()):
                raise ValueError(f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of distribution {self!r} "
                                 f"to satisfy the constraint {constraint!r}, but found invalid values:\n{value}")

    def _validate_sample(self, value):
        if not isinstance(value, TensorBase):
            raise ValueError("The value argument to log_prob must be a Tensor")
        events = len(self._event_shape)
        if tuple(value.shape[value.ndim - min(events, value.ndim):]) != tuple(self._event_shape):
            raise ValueError(f"The right-most size of value must match event_shape: {value.size()} vs {self._event_shape}.")
        for own, given in zip(reversed(self._extended_shape()), reversed(value.shape)):
            if 1 not in (own, given) and own != given:
                raise ValueError(f"Value is not broadcastable with batch_shape+event_shape: {value.size()} vs {self._extended_shape()}.")
        try:
            support = self.support
        except NotImplementedError:
            warnings.warn(f"{type(self)} does not define `support` to enable sample validation. Please initialize the distribution with "
                          "`validate_args=False` to turn off validation.", stacklevel=4)
            return
        if not bool(support.check(value.detach()).all()):
            raise ValueError(f"Expected value argument ({type(value).__name__} of shape {tuple(value.shape)}) to be within the support ({support!r}) "
                             f"of the distribution {self!r}, but found invalid values:\n{value}")

    # --- values -------------------------------------------------------------------------------------------------------
    def sample(self, sample_shape=()):
        """Values of shape sample_shape + batch_shape + event_shape, outside of the graph."""
        with no_grad():
            return self._draw(as_size(sample_shape))

    def rsample(self, sample_shape=()):
        """Values that are differentiable in the parameters; NotImplementedError where that can't be."""
        if not self.has_rsample:
            raise NotImplementedError(f"{type(self).__name__} has no rsample: its values aren't differentiable in its parameters")
        return self._draw(as_size(sample_shape))

    def _draw(self, sample_shape):
        """Values, differentiable where `has_rsample`."""
        if type(self).rsample is not Distribution.rsample:             # a subclass that defines nothing else
            return self.rsample(sample_shape)
        raise NotImplementedError(f"{type(self).__name__} has no sample")

    def sample_n(self, n):
        """n values, as `sample((n,))`; deprecated in PyTorch."""
        warnings.warn("sample_n will be deprecated. Use .sample((n,)) instead", UserWarning, stacklevel=2)
        return self.sample((n,))

    def log_prob(self, value):
        """The logarithm of the density, or of the probability, of a value."""
        if self._validate_args:
            self._validate_sample(value)
        return self._log_prob(value)

    def _log_prob(self, value):
        raise NotImplementedError(f"{type(self).__name__} has no log_prob")

    def cdf(self, value):
        """The probability of values up to this one."""
        if self._validate_args:
            self._validate_sample(value)
        return self._cdf(value)

    def _cdf(self, value):
        raise NotImplementedError(f"{type(self).__name__} has no cdf")

    def icdf(self, value):
        """The value up to which lie values of this probability."""
        raise NotImplementedError(f"{type(self).__name__} has no icdf")

    def enumerate_support(self, expand=True):
        """All values of a discrete distribution over a first dim, of shape (count, *batch_shape), or (count, 1, …, 1) without `expand`."""
        if not self.has_enumerate_support:
            raise NotImplementedError(f"{type(self).__name__} has no enumerate_support")
        values = self._values()
        values = values.reshape((-1, *[1] * len(self._batch_shape), *self._event_shape))
        return values.expand((-1, *self._batch_shape, *self._event_shape)) if expand else values

    def _values(self):
        """All values, over a first dim."""
        raise NotImplementedError(f"{type(self).__name__} has no enumerate_support")

    # --- properties of the whole --------------------------------------------------------------------------------------
    @property
    def mean(self):
        """The expected value."""
        raise NotImplementedError(f"{type(self).__name__} has no mean")

    @property
    def mode(self):
        """The likeliest value."""
        raise NotImplementedError(f"{type(self).__name__} does not implement mode")

    @property
    def variance(self):
        """The expected square of the distance from the mean."""
        raise NotImplementedError(f"{type(self).__name__} has no variance")

    @property
    def stddev(self):
        """The standard deviation, sqrt(variance)."""
        return B.sqrt(self.variance)

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
