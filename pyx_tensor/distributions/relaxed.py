"""Continuous variables near discrete ones, whose draws are differentiable (Maddison et al. 2017; Jang et al. 2017)."""
import math

from ..core.record import namespace as B
from ..core.tensor import TensorBase
from . import constraints
from .bernoulli import ByChance
from .categorical import Categorical
from .distribution import Distribution
from .transformed_distribution import TransformedDistribution
from .transforms import ExpTransform, SigmoidTransform
from .utils import clamp_probs, part, uniform


class Tempered(Distribution):
    """What relaxed distributions share: one `temperature` for the whole batch, a tensor or a number."""

    has_rsample = True

    def expand(self, batch_shape, _instance=None):
        new = super().expand(batch_shape, _instance)
        new.temperature = self.temperature
        return new

    def _log_temperature(self):
        return self.temperature.log() if isinstance(self.temperature, TensorBase) else math.log(self.temperature)


class LogitRelaxedBernoulli(ByChance, Tempered):
    """The logit of a relaxed Bernoulli variable (Maddison et al. 2017): (logits + logistic noise) / temperature."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.real

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        self.temperature = temperature
        self._set_chance(probs, logits)
        super().__init__(self._given.shape, validate_args=validate_args)

    def _draw(self, sample_shape):
        p = clamp_probs(self.probs)
        noise = clamp_probs(uniform(self._extended_shape(sample_shape), p))
        return (noise.log() - B.log1p(-noise) + p.log() - B.log1p(-p)) / self.temperature

    def _log_prob(self, value):
        left = self.logits - value * self.temperature
        return self._log_temperature() + left + 2 * B.logsigmoid(-left)


class RelaxedBernoulli(TransformedDistribution):
    """Numbers in (0, 1) that tend to a Bernoulli variable as the temperature falls to 0, with gradients (Maddison et al. 2017).

    Args:
        temperature: a tensor, or a number.
        probs, logits: as for Bernoulli, one of them.
        validate_args: as for Distribution.

    >>> import pyx_tensor as torch
    >>> from pyx_tensor.distributions import RelaxedBernoulli
    >>> RelaxedBernoulli(0.5, torch.tensor([0.1, 0.9])).sample().shape
    torch.Size([2])
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        super().__init__(LogitRelaxedBernoulli(temperature, probs, logits), SigmoidTransform(), validate_args=validate_args)

    temperature = part("base_dist.temperature")
    probs = part("base_dist.probs")
    logits = part("base_dist.logits")


class ExpRelaxedCategorical(Tempered):
    """The logarithm of a relaxed one-hot variable (Maddison et al. 2017): log_softmax((logits + Gumbel noise) / temperature)."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.real_vector

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        self._categorical, self.temperature = Categorical(probs, logits), temperature
        shape = self._categorical.param_shape
        super().__init__(shape[:-1], shape[-1:], validate_args=validate_args)

    probs = part("_categorical.probs")
    logits = part("_categorical.logits")
    param_shape = part("_categorical.param_shape")

    def _draw(self, sample_shape):
        noise = clamp_probs(uniform(self._extended_shape(sample_shape), self.logits))
        return B.log_softmax((self.logits - (-noise.log()).log()) / self.temperature, -1)

    def _log_prob(self, value):
        k = self._event_shape[0]
        return B.log_softmax(self.logits - value * self.temperature, -1).sum(-1) + math.lgamma(k) + (k - 1) * self._log_temperature()


class RelaxedOneHotCategorical(TransformedDistribution):
    """Vectors on the simplex that tend to one-hot vectors as the temperature falls to 0, with gradients (Jang et al. 2017).

    Args:
        temperature: a tensor, or a number.
        probs, logits: as for Categorical, one of them.
        validate_args: as for Distribution.

    >>> import pyx_tensor as torch
    >>> from pyx_tensor.distributions import RelaxedOneHotCategorical
    >>> RelaxedOneHotCategorical(0.5, torch.ones(3)).sample().shape
    torch.Size([3])
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.simplex

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        super().__init__(ExpRelaxedCategorical(temperature, probs, logits, validate_args=validate_args), ExpTransform(), validate_args=validate_args)

    temperature = part("base_dist.temperature")
    probs = part("base_dist.probs")
    logits = part("base_dist.logits")
