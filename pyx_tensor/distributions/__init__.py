"""The distributions that programs draw from most, as PyTorch has them: same parameters, same random stream."""
from .bernoulli import Bernoulli
from .categorical import Categorical
from .distribution import Distribution
from .exponential import Exponential
from .kl import kl_divergence, register_kl
from .normal import Normal
from .uniform import Uniform

__all__ = ["Bernoulli", "Categorical", "Distribution", "Exponential", "Normal", "Uniform", "kl_divergence", "register_kl"]
