"""Kullback-Leibler divergences, KL(p || q) = E_p[log p - log q]: of two distributions of one family here, across families in `kl_across`."""
import math

from ..core.record import namespace as B
from .bernoulli import Bernoulli, ContinuousBernoulli
from .categorical import Categorical, OneHotCategorical
from .counts import Binomial, Geometric, Poisson
from .dirichlet import Beta, Dirichlet
from .distribution import Distribution
from .exp_family import ExponentialFamily
from .exponential import Exponential, Pareto
from .gamma import Gamma
from .independent import Independent
from .location_scale import Cauchy, Gumbel, Laplace
from .multivariate_normal import LowRankMultivariateNormal, MultivariateNormal
from .normal import HalfNormal, Normal
from .transformed_distribution import TransformedDistribution
from .uniform import Uniform
from .utils import EULER, sum_rightmost

_formulas = {}


def register_kl(type_p, type_q):
    """A decorator that enters function(p, q) for a pair of classes of distributions, and for their subclasses.

    Raises TypeError for anything else.
    """
    for kind in (type_p, type_q):
        if not (isinstance(kind, type) and issubclass(kind, Distribution)):
            raise TypeError(f"Expected type_p and type_q to be Distribution subclasses but got {kind}")

    def enter(function):
        _formulas[type_p, type_q] = function
        return function
    return enter


def kl_divergence(p, q):
    """KL(p || q), of the batch's shape; NotImplementedError where there is no formula for the pair.

    >>> from pyx_tensor.distributions import Normal, kl_divergence
    >>> kl_divergence(Normal(0.0, 1.0), Normal(1.0, 1.0))
    tensor(0.5000)
    """
    for type_p in type(p).__mro__:
        for type_q in type(q).__mro__:
            if (type_p, type_q) in _formulas:
                return _formulas[type_p, type_q](p, q)
    raise NotImplementedError(f"No KL(p || q) is implemented for p type {type(p).__name__} and q type {type(q).__name__}")


# --- by a part ------------------------------------------------------------------------------------------------------
@register_kl(Independent, Independent)
def _(p, q):
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError("KL(p || q) of Independent distributions with different reinterpreted_batch_ndims")
    return sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(TransformedDistribution, TransformedDistribution)
def _(p, q):
    """A bijection changes nothing."""
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError("KL(p || q) of TransformedDistributions with different transforms")
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(HalfNormal, HalfNormal)
def _(p, q):
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(OneHotCategorical, OneHotCategorical)
def _(p, q):
    return kl_divergence(p._categorical, q._categorical)


@register_kl(Beta, Beta)
def _(p, q):
    return kl_divergence(p._dirichlet, q._dirichlet)


@register_kl(ExponentialFamily, ExponentialFamily)
def _(p, q):
    """The Bregman divergence of the log normaliser (Nielsen and Nock, 2010)."""
    if type(p) is not type(q):
        raise NotImplementedError("The cross KL-divergence between different exponential families cannot be computed using Bregman divergences")
    eta, normalizer, expected = p._expected_statistics()
    result = q._log_normalizer(*q._natural_params) - normalizer
    for of_q, of_p, statistic in zip(q._natural_params, eta, expected):
        result = result - sum_rightmost((of_q - of_p) * statistic, of_q.ndim - len(q.batch_shape))
    return result


# --- discrete ones --------------------------------------------------------------------------------------------------
@register_kl(Bernoulli, Bernoulli)
def _(p, q):
    found = p.probs * (B.logsigmoid(p.logits) - B.logsigmoid(q.logits)) + (1 - p.probs) * (B.logsigmoid(-p.logits) - B.logsigmoid(-q.logits))
    return found.masked_fill(((q.probs == 0) & (p.probs > 0)) | ((q.probs == 1) & (p.probs < 1)), math.inf)


@register_kl(Categorical, Categorical)
def _(p, q):
    terms = p.probs * (p.logits - q.logits)
    return terms.masked_fill(q.probs == 0, math.inf).masked_fill(p.probs == 0, 0).sum(-1)


@register_kl(Binomial, Binomial)
def _(p, q):
    if bool((p.total_count < q.total_count).any()):
        raise NotImplementedError("KL between Binomials where q.total_count > p.total_count is not implemented")
    found = p.total_count * (p.probs * (p.logits - q.logits) + B.log1p(-p.probs) - B.log1p(-q.probs))
    return found.masked_fill(p.total_count > q.total_count, math.inf)


@register_kl(Geometric, Geometric)
def _(p, q):
    return -p.entropy() - B.log1p(-q.probs) / p.probs - q.logits


@register_kl(Poisson, Poisson)
def _(p, q):
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


# --- continuous ones ------------------------------------------------------------------------------------------------
@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _(p, q):
    of_p, of_q = (d._log_constant() + B.log1p(-d.probs) for d in (p, q))
    return p.mean * (p.logits - q.logits) + of_p - of_q


@register_kl(Normal, Normal)
def _(p, q):
    ratio = (p.scale / q.scale) ** 2
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale) ** 2 - 1 - B.log(ratio))


@register_kl(Uniform, Uniform)
def _(p, q):
    return B.log((q.high - q.low) / (p.high - p.low)).masked_fill((q.low > p.low) | (q.high < p.high), math.inf)


@register_kl(Exponential, Exponential)
def _(p, q):
    ratio = q.rate / p.rate
    return ratio - 1 - B.log(ratio)


@register_kl(Gamma, Gamma)
def _(p, q):
    a, b = p.concentration, q.concentration
    return b * (p.rate / q.rate).log() + b.lgamma() - a.lgamma() + (a - b) * a.digamma() + (q.rate - p.rate) * (a / p.rate)


@register_kl(Dirichlet, Dirichlet)
def _(p, q):
    a, b = p.concentration, q.concentration
    total = a.sum(-1)
    return (total.lgamma() - b.sum(-1).lgamma() - (a.lgamma() - b.lgamma()).sum(-1)
            + ((a - b) * (a.digamma() - total.digamma().unsqueeze(-1))).sum(-1))


@register_kl(Gumbel, Gumbel)
def _(p, q):
    ratio, distance = p.scale / q.scale, (p.loc - q.loc) / q.scale
    return distance - ratio.log() + ratio * EULER + ((1 + ratio).lgamma() - distance).exp() - (1 + EULER)


@register_kl(Laplace, Laplace)
def _(p, q):
    ratio, distance = p.scale / q.scale, (p.loc - q.loc).abs()
    return ratio * (-distance / p.scale).exp() + distance / q.scale - ratio.log() - 1


@register_kl(Cauchy, Cauchy)
def _(p, q):
    """Chyzak and Nielsen, 2019."""
    return (((p.scale + q.scale) ** 2 + (p.loc - q.loc) ** 2) / (4 * p.scale * q.scale)).log()


@register_kl(Pareto, Pareto)
def _(p, q):
    ratio = q.alpha / p.alpha
    return (q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1).masked_fill(p.scale < q.scale, math.inf)


# --- normal vectors -------------------------------------------------------------------------------------------------
def _of_vectors(p, q):
    """Half of log det(q) - log det(p) + trace(q^-1 p) + distance of the means under q - n."""
    if p.event_shape != q.event_shape:
        raise ValueError("KL-divergence between two normal distributions of vectors with different event shapes cannot be computed")
    if isinstance(p, LowRankMultivariateNormal):
        trace = q._trace(p.cov_factor) + q._trace(B.diag_embed(p.cov_diag.sqrt()))
    else:
        trace = q._trace(p._scale_tril)
    return 0.5 * (q._log_det() - p._log_det() + trace + q._squared_distance(p.loc - q.loc) - p.event_shape[0])


for _p in (MultivariateNormal, LowRankMultivariateNormal):
    for _q in (MultivariateNormal, LowRankMultivariateNormal):
        register_kl(_p, _q)(_of_vectors)

from . import kl_across  # noqa: E402, F401 (enters the rest)
