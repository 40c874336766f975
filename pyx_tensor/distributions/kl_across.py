"""Divergences of distributions of different families: KL(p || q) = -E_p[log q] - entropy of p.

E_p[log q] follows from a few moments of p, one formula for each q; where p may fall outside of q's support it is infinite.
"""
import math

from ..core.record import namespace as B
from .bernoulli import Bernoulli, ContinuousBernoulli
from .counts import Binomial, Poisson
from .dirichlet import Beta
from .exponential import Exponential, Pareto
from .gamma import Gamma
from .kl import register_kl
from .location_scale import Gumbel, Laplace
from .normal import Normal
from .uniform import Uniform
from .utils import EULER, HALF_LOG_TWO_PI


# --- moments of p ---------------------------------------------------------------------------------------------------
def _mean_log_uniform(low, high):
    """E[log x] of a uniform x."""
    return (B.xlogy(high, high) - B.xlogy(low, low)) / (high - low) - 1


MEAN_LOG = {
    Beta: lambda p: p.concentration1.digamma() - (p.concentration1 + p.concentration0).digamma(),
    Exponential: lambda p: -EULER - p.rate.log(),
    Pareto: lambda p: p.scale.log() + p.alpha.reciprocal(),
    Uniform: lambda p: _mean_log_uniform(p.low, p.high),
}
MEAN_LOG_OF_REST = {                                     # E[log(1 - x)]
    Uniform: lambda p: _mean_log_uniform(1 - p.high, 1 - p.low),
}
MEAN_EXP = {                                             # E[exp(-t x)]
    Exponential: lambda p, t: p.rate / (p.rate + t),
    Gamma: lambda p, t: (1 + t / p.rate) ** -p.concentration,
    Normal: lambda p, t: (-p.loc * t + 0.5 * (p.scale * t) ** 2).exp(),
    Uniform: lambda p, t: ((-t * p.low).exp() - (-t * p.high).exp()) / (t * (p.high - p.low)),
}


def _moment(table, p):
    """The entry of p's class, or of the class that it extends."""
    return next(table[kind] for kind in type(p).__mro__ if kind in table)


def _mean_distance(p, x):
    """E|y - x| of a normal y."""
    distance = (p.loc - x) / p.scale
    return p.scale * (math.sqrt(2 / math.pi) * (-0.5 * distance ** 2).exp() + distance * B.erf(distance / math.sqrt(2)))


# --- -E[log q], and where values of p are impossible under q ----------------------------------------------------------
CROSS_ENTROPY = {
    Normal: lambda p, q: HALF_LOG_TWO_PI + q.scale.log() + 0.5 * (p.variance + (p.mean - q.loc) ** 2) / q.variance,
    Exponential: lambda p, q: q.rate * p.mean - q.rate.log(),
    Gamma: lambda p, q: (q.concentration.lgamma() - q.concentration * q.rate.log() - (q.concentration - 1) * _moment(MEAN_LOG, p)(p)
                         + q.rate * p.mean),
    Beta: lambda p, q: (q._log_normalizer(q.concentration1, q.concentration0) - (q.concentration1 - 1) * _moment(MEAN_LOG, p)(p)
                        - (q.concentration0 - 1) * _moment(MEAN_LOG_OF_REST, p)(p)),
    Uniform: lambda p, q: (q.high - q.low).log(),
    ContinuousBernoulli: lambda p, q: -p.mean * q.logits - B.log1p(-q.probs) - q._log_constant(),
    Gumbel: lambda p, q: q.scale.log() + (p.mean - q.loc) / q.scale + (q.loc / q.scale).exp() * _moment(MEAN_EXP, p)(p, q.scale.reciprocal()),
    Laplace: lambda p, q: (2 * q.scale).log() + _mean_distance(p, q.loc) / q.scale,
    Pareto: lambda p, q: (q.alpha + 1) * _moment(MEAN_LOG, p)(p) - q.alpha * q.scale.log() - q.alpha.log(),
    Poisson: lambda p, q: q.rate - p.mean * q.rate.log(),             # of values 0 and 1, whose factorials are 1
}
OUTSIDE = {
    (Beta, Uniform): lambda p, q: (q.low > 0) | (q.high < 1),
    (ContinuousBernoulli, Uniform): lambda p, q: (q.low > 0) | (q.high < 1),
    (Uniform, Beta): lambda p, q: (p.low < 0) | (p.high > 1),
    (Uniform, ContinuousBernoulli): lambda p, q: (p.low < 0) | (p.high > 1),
    (Uniform, Exponential): lambda p, q: p.low < 0,
    (Uniform, Gamma): lambda p, q: p.low < 0,
    (Uniform, Pareto): lambda p, q: p.low < q.scale,
}
PAIRS = {
    Bernoulli: (Poisson,),
    Beta: (ContinuousBernoulli, Exponential, Gamma, Normal, Uniform),
    ContinuousBernoulli: (Exponential, Normal, Uniform),
    Exponential: (Gamma, Gumbel, Normal),
    Gamma: (Exponential, Gumbel, Normal),
    Gumbel: (Normal,),
    Laplace: (Normal,),
    Normal: (Gumbel, Laplace),
    Pareto: (Exponential, Gamma, Normal),
    Uniform: (Beta, ContinuousBernoulli, Exponential, Gamma, Gumbel, Normal, Pareto),
}
INFINITE = {                                             # values of p always may fall outside of q's support
    Beta: (Pareto,),
    ContinuousBernoulli: (Pareto,),
    Exponential: (Beta, ContinuousBernoulli, Pareto, Uniform),
    Gamma: (Beta, ContinuousBernoulli, Pareto, Uniform),
    Gumbel: (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform),
    Laplace: (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform),
    Normal: (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform),
    Pareto: (Beta, ContinuousBernoulli, Uniform),
    Poisson: (Bernoulli, Binomial),
}


def _enter(type_p, type_q):
    cross_entropy, outside = CROSS_ENTROPY[type_q], OUTSIDE.get((type_p, type_q))

    @register_kl(type_p, type_q)
    def divergence(p, q):
        found = cross_entropy(p, q) - p.entropy()
        return found if outside is None else found.masked_fill(outside(p, q), math.inf)


for _p, _several in PAIRS.items():
    for _q in _several:
        _enter(_p, _q)
for _p, _several in INFINITE.items():
    for _q in _several:
        register_kl(_p, _q)(lambda p, q: B.full_like(p.mean, math.inf))
