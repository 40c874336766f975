"""Kullback-Leibler divergences, KL(p || q) = E_p[log p - log q]."""
from ..core.record import namespace as B
from .bernoulli import Bernoulli
from .categorical import Categorical
from .exponential import Exponential
from .normal import Normal
from .uniform import Uniform

_formulas = {}


def register_kl(type_p, type_q):
    """A decorator that enters function(p, q) for a pair of classes."""
    def enter(function):
        _formulas[type_p, type_q] = function
        return function
    return enter


def kl_divergence(p, q):
    """KL(p || q); NotImplementedError where there is no formula for the pair."""
    for type_p in type(p).__mro__:
        for type_q in type(q).__mro__:
            if (type_p, type_q) in _formulas:
                return _formulas[type_p, type_q](p, q)
    raise NotImplementedError(f"No KL(p || q) is implemented for p type {type(p).__name__} and q type {type(q).__name__}")


@register_kl(Normal, Normal)
def _(p, q):
    ratio = (p.scale / q.scale) ** 2
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale) ** 2 - 1 - B.log(ratio))


@register_kl(Uniform, Uniform)
def _(p, q):
    outside = B.logical_or(B.gt(q.low, p.low), B.lt(q.high, p.high))
    return B.log((q.high - q.low) / (p.high - p.low)).masked_fill(outside, float("inf"))


@register_kl(Exponential, Exponential)
def _(p, q):
    ratio = q.rate / p.rate
    return ratio - 1 - B.log(ratio)


@register_kl(Bernoulli, Bernoulli)
def _(p, q):
    found = p.probs * (B.softplus(-q.logits) - B.softplus(-p.logits)) + (1 - p.probs) * (B.softplus(q.logits) - B.softplus(p.logits))
    impossible = B.logical_or(B.logical_and(B.eq(q.probs, 0), B.gt(p.probs, 0)), B.logical_and(B.eq(q.probs, 1), B.lt(p.probs, 1)))
    return found.masked_fill(impossible, float("inf"))


@register_kl(Categorical, Categorical)
def _(p, q):
    terms = p.probs * (p.logits - q.logits)
    terms = terms.masked_fill(B.eq(q.probs, 0), float("inf")).masked_fill(B.eq(p.probs, 0), 0)
    return B.sum(terms, -1)
