"""Variables of two values, and continuous ones near them."""
import math

from ..core.record import namespace as B
from . import constraints
from .exp_family import ExponentialFamily
from .utils import broadcast_all, clamp_probs, lazy_property, logits_to_probs, one_of, probs_to_logits, uniform


class ByChance:
    """What distributions of two outcomes share: `probs`, or else `logits` = log(probs / (1 - probs)), and the other one computed from it."""

    def _set_chance(self, probs, logits, *others):
        """Keep the one that is given, broadcast with `others`, which are returned."""
        name, value = one_of(probs=probs, logits=logits)
        self.__dict__[name], *others = broadcast_all(value, *others)
        return others

    @lazy_property
    def probs(self):
        """The probability of 1."""
        return logits_to_probs(self.logits, is_binary=True)

    @lazy_property
    def logits(self):
        """log(probs / (1 - probs))"""
        return probs_to_logits(self.probs, is_binary=True)

    @property
    def _given(self):
        return self.__dict__["probs"] if "probs" in self.__dict__ else self.logits

    @property
    def param_shape(self):
        """The shape of `probs` and `logits`."""
        return self._given.size()


def cross_entropy(logits, value):
    """-(value log p + (1 - value) log(1 - p)), from the logits alone."""
    return -B.logsigmoid(-logits) - logits * value


class Bernoulli(ByChance, ExponentialFamily):
    """1 with probability `probs`, else 0; given by `probs` or by `logits` = log(probs / (1 - probs)).

    Raises ValueError where both or neither are given.

    >>> import pyx_tensor as torch
    >>> from pyx_tensor.distributions import Bernoulli
    >>> Bernoulli(probs=torch.tensor([0.0, 1.0])).sample()
    tensor([0., 1.])
    """

    has_enumerate_support = True
    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.boolean
    _mean_carrier_measure = 0

    def __init__(self, probs=None, logits=None, validate_args=None):
        self._set_chance(probs, logits)
        super().__init__(self._given.shape, validate_args=validate_args)

    @property
    def mean(self):
        return self.probs

    @property
    def mode(self):
        return (self.probs >= 0.5).to(self.probs).masked_fill(self.probs == 0.5, math.nan)

    @property
    def variance(self):
        return self.probs * (1 - self.probs)

    def _draw(self, sample_shape):
        return B.bernoulli(self.probs.expand(tuple(self._extended_shape(sample_shape))))

    def _log_prob(self, value):
        return -cross_entropy(self.logits, value)

    def entropy(self):
        return cross_entropy(self.logits, self.probs)

    def _values(self):
        return B.arange(2, dtype=self._given.dtype, device=self._given.device)

    @property
    def _natural_params(self):
        return (self.logits,)

    def _log_normalizer(self, x):
        return -B.logsigmoid(-x)


class ContinuousBernoulli(ByChance, ExponentialFamily):
    """Numbers of [0, 1] of density C(p) p^x (1 - p)^(1 - x) (Loaiza-Ganem and Cunningham 2019).

    Args:
        probs, logits: as for Bernoulli, one of them.
        lims: where p lies between them, around 1/2, the formulas' Taylor series are taken.
        validate_args: as for Distribution.

    >>> from pyx_tensor.distributions import ContinuousBernoulli
    >>> ContinuousBernoulli(0.25).mean
    tensor(0.4102)
    """

    has_rsample = True
    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    _mean_carrier_measure = 0

    def __init__(self, probs=None, logits=None, lims=(0.499, 0.501), validate_args=None):
        self._lims = lims
        self._set_chance(probs, logits)
        if "probs" in self.__dict__:
            if validate_args and not bool(constraints.unit_interval.check(self.probs.detach()).all()):
                raise ValueError("The parameter probs has invalid values")
            self.probs = clamp_probs(self.probs)
        super().__init__(self._given.shape, validate_args=validate_args)

    def _outside(self):
        """Where the exact formulas hold, and probabilities for them, off 1/2."""
        outside = (self.probs <= self._lims[0]) | (self.probs > self._lims[1])
        return outside, B.where(outside, self.probs, self._lims[0])

    def _log_constant(self):
        """log C: C = (log(1 - p) - log p) / (1 - 2 p)"""
        outside, p = self._outside()
        exact = (B.log1p(-p) - p.log()).abs().log() - (1 - 2 * p).abs().log()
        x2 = (self.probs - 0.5) ** 2
        return B.where(outside, exact, math.log(2) + (4 / 3 + 104 / 45 * x2) * x2)

    @property
    def mean(self):
        outside, p = self._outside()
        x = self.probs - 0.5
        return B.where(outside, p / (2 * p - 1) + 1 / (B.log1p(-p) - p.log()), 0.5 + (1 / 3 + 16 / 45 * x ** 2) * x)

    @property
    def variance(self):
        outside, p = self._outside()
        x2 = (self.probs - 0.5) ** 2
        return B.where(outside, p * (p - 1) / (1 - 2 * p) ** 2 + 1 / (B.log1p(-p) - p.log()) ** 2, 1 / 12 - (1 / 15 - 128 / 945 * x2) * x2)

    def _draw(self, sample_shape):
        return self.icdf(uniform(self._extended_shape(sample_shape), self.probs))

    def _log_prob(self, value):
        return -cross_entropy(self.logits, value) + self._log_constant()

    def _cdf(self, value):
        outside, p = self._outside()
        exact = (p ** value * (1 - p) ** (1 - value) + p - 1) / (2 * p - 1)
        found = B.where(outside, exact, value)
        return B.where(value <= 0, 0.0, B.where(value >= 1, 1.0, found))

    def icdf(self, value):
        outside, p = self._outside()
        return B.where(outside, (B.log1p(-p + value * (2 * p - 1)) - B.log1p(-p)) / (p.log() - B.log1p(-p)), value)

    def entropy(self):
        """-log(1 - p) - mean logit(p) - log C"""
        return -self.mean * self.logits - B.log1p(-self.probs) - self._log_constant()

    @property
    def _natural_params(self):
        return (self.logits,)

    def _log_normalizer(self, x):
        """log((exp(x) - 1) / x)"""
        outside = (x <= self._lims[0] - 0.5) | (x > self._lims[1] - 0.5)
        safe = B.where(outside, x, self._lims[0] - 0.5)
        return B.where(outside, B.expm1(safe).abs().log() - safe.abs().log(), 0.5 * x + x ** 2 / 24 - x ** 4 / 2880)
