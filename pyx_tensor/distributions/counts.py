"""Numbers of events: of successes, of failures, of arrivals."""
import math

from ..core.record import namespace as B
from ..core.typeinfo import finfo
from . import constraints
from .bernoulli import ByChance
from .categorical import Categorical
from .distribution import Distribution
from .exp_family import ExponentialFamily
from .gamma import Gamma
from .utils import broadcast_all, part, uniform


class Binomial(ByChance, Distribution):
    """How many of `total_count` trials succeed, each with probability `probs` (or by `logits`, as Bernoulli).

    >>> import pyx_tensor as torch
    >>> from pyx_tensor.distributions import Binomial
    >>> Binomial(4, torch.tensor(0.5)).log_prob(torch.tensor(2.0)).exp()
    tensor(0.3750)
    """

    has_enumerate_support = True
    arg_constraints = {"total_count": constraints.nonnegative_integer, "probs": constraints.unit_interval, "logits": constraints.real}

    def __init__(self, total_count=1, probs=None, logits=None, validate_args=None):
        count, = self._set_chance(probs, logits, total_count)
        self.total_count = count.type_as(self._given)
        super().__init__(self._given.shape, validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True)
    def support(self):
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self):
        return self.total_count * self.probs

    @property
    def mode(self):
        return B.minimum(((self.total_count + 1) * self.probs).floor(), self.total_count)

    @property
    def variance(self):
        return self.total_count * self.probs * (1 - self.probs)

    def _draw(self, sample_shape):
        shape = tuple(self._extended_shape(sample_shape))
        return B.binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def _log_prob(self, value):
        n = self.total_count
        choices = (n + 1).lgamma() - (value + 1).lgamma() - (n - value + 1).lgamma()
        return choices + value * self.logits + n * B.logsigmoid(-self.logits)

    def _most(self, what):
        """The number of trials, the same for all; NotImplementedError where it isn't."""
        most = int(self.total_count.max())
        if int(self.total_count.min()) != most:
            raise NotImplementedError(f"Inhomogeneous total count not supported by `{what}`.")
        return most

    def entropy(self):
        self._most("entropy")
        logs = self.log_prob(self.enumerate_support(False))
        return -(logs.exp() * logs).sum(0)

    def _values(self):
        return B.arange(self._most("enumerate_support") + 1, dtype=self._given.dtype, device=self._given.device)


class Multinomial(Distribution):
    """How often each of K outcomes comes in `total_count` trials; probabilities along the last dim as for Categorical.

    Raises NotImplementedError for a `total_count` that isn't one int.

    >>> import pyx_tensor as torch
    >>> from pyx_tensor.distributions import Multinomial
    >>> Multinomial(4, torch.tensor([1.0, 3.0])).mean
    tensor([1., 3.])
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}

    def __init__(self, total_count=1, probs=None, logits=None, validate_args=None):
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count, self._categorical = total_count, Categorical(probs, logits)
        self._binomial = Binomial(total_count, probs=self.probs)
        shape = self._categorical.param_shape
        super().__init__(shape[:-1], shape[-1:], validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self):
        return constraints.multinomial(self.total_count)

    probs = part("_categorical.probs")
    logits = part("_categorical.logits")
    param_shape = part("_categorical.param_shape")

    @property
    def mean(self):
        return self.probs * self.total_count

    @property
    def variance(self):
        return self.total_count * self.probs * (1 - self.probs)

    def _draw(self, sample_shape):
        outcomes = self._categorical.sample((self.total_count, *sample_shape)).movedim(0, -1)
        zeros = B.zeros(tuple(self._extended_shape(sample_shape)), dtype=self.probs.dtype, device=self.probs.device)
        return zeros.scatter_add(-1, outcomes, B.ones(tuple(outcomes.shape), dtype=zeros.dtype, device=zeros.device))

    def _log_prob(self, value):
        logits = self.logits.masked_fill((value == 0) & (self.logits == -math.inf), 0)
        return (value.sum(-1) + 1).lgamma() - (value + 1).lgamma().sum(-1) + (logits * value).sum(-1)

    def entropy(self):
        """n H - log n! + the sum over outcomes of E[log count!], each count being binomial."""
        n = self.total_count
        counts = self._binomial.enumerate_support(False)[1:]
        factorials = (self._binomial.log_prob(counts).exp() * (counts + 1).lgamma()).sum((0, -1))
        return n * self._categorical.entropy() - math.lgamma(n + 1) + factorials

    def __repr__(self):
        return f"{type(self).__name__}()"


class Geometric(ByChance, Distribution):
    """How many trials fail before the first success, each of probability `probs` (or by `logits`, as Bernoulli).

    >>> from pyx_tensor.distributions import Geometric
    >>> Geometric(0.25).mean
    tensor(3.)
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.nonnegative_integer

    def __init__(self, probs=None, logits=None, validate_args=None):
        self._set_chance(probs, logits)
        super().__init__(self._given.shape, validate_args=validate_args)
        if self._validate_args and "probs" in self.__dict__ and not bool((self.probs > 0).all()):
            raise ValueError(f"Expected parameter probs (Tensor of shape {tuple(self.probs.shape)}) of distribution {self!r} to be positive "
                             f"but found invalid values:\n{self.probs}")

    @property
    def mean(self):
        return 1 / self.probs - 1

    @property
    def mode(self):
        return B.zeros_like(self.probs)

    @property
    def variance(self):
        return (1 / self.probs - 1) / self.probs

    def _draw(self, sample_shape):
        noise = uniform(self._extended_shape(sample_shape), self.probs, finfo(self.probs.dtype).tiny)
        return (noise.log() / B.log1p(-self.probs)).floor()

    def _log_prob(self, value):
        return B.xlog1py(value, -self.probs) + self.probs.log()

    def entropy(self):
        """That of each trial, times how many there are."""
        p = self.probs
        return -(B.xlogy(p, p) + B.xlog1py(1 - p, -p)) / p


class Poisson(ExponentialFamily):
    """How many events come in a time in which `rate` are expected.

    >>> import pyx_tensor as torch
    >>> from pyx_tensor.distributions import Poisson
    >>> Poisson(2.0).log_prob(torch.tensor(0.0))
    tensor(-2.)
    """

    arg_constraints = {"rate": constraints.nonnegative}
    support = constraints.nonnegative_integer

    def __init__(self, rate, validate_args=None):
        self.rate, = broadcast_all(rate)
        super().__init__(self.rate.shape, validate_args=validate_args)

    @property
    def mean(self):
        return self.rate

    variance = mean

    @property
    def mode(self):
        return self.rate.floor()

    def _draw(self, sample_shape):
        return B.poisson(self.rate.expand(tuple(self._extended_shape(sample_shape))))

    def _log_prob(self, value):
        return B.xlogy(value, self.rate) - self.rate - (value + 1).lgamma()

    @property
    def _natural_params(self):
        return (self.rate.log(),)

    def _log_normalizer(self, x):
        return x.exp()


class NegativeBinomial(ByChance, Distribution):
    """How many trials succeed, each with probability `probs` (or by `logits`), before `total_count` have failed.

    `total_count` may be any number > 0.

    >>> import pyx_tensor as torch
    >>> from pyx_tensor.distributions import NegativeBinomial
    >>> NegativeBinomial(2, torch.tensor(0.75)).mean
    tensor(6.)
    """

    arg_constraints = {"total_count": constraints.nonnegative, "probs": constraints.half_open_interval(0.0, 1.0), "logits": constraints.real}
    support = constraints.nonnegative_integer

    def __init__(self, total_count, probs=None, logits=None, validate_args=None):
        count, = self._set_chance(probs, logits, total_count)
        self.total_count = count.type_as(self._given)
        super().__init__(self._given.shape, validate_args=validate_args)

    @property
    def mean(self):
        return self.total_count * B.exp(self.logits)

    @property
    def mode(self):
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0)

    @property
    def variance(self):
        return self.mean / B.sigmoid(-self.logits)

    def _draw(self, sample_shape):
        """Poisson variables of gamma distributed rates."""
        rates = Gamma(self.total_count, B.exp(-self.logits), validate_args=False)
        return B.poisson(rates.sample(sample_shape))

    def _log_prob(self, value):
        n = self.total_count
        chances = n * B.logsigmoid(-self.logits) + value * B.logsigmoid(self.logits)
        choices = (n + value).lgamma() - (1 + value).lgamma() - n.lgamma()
        return chances + choices.masked_fill(n + value == 0, 0)
