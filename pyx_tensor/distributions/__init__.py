"""Probability distributions, with PyTorch's names, parameters and random stream.

Families stand together in a module; `constraints` says what parameters and values may be, `transforms` maps variables, `kl` has divergences.
"""
import sys as _sys

from . import constraints, transforms
from .bernoulli import Bernoulli, ContinuousBernoulli
from .categorical import Categorical, OneHotCategorical, OneHotCategoricalStraightThrough
from .constraint_registry import biject_to, transform_to
from .counts import Binomial, Geometric, Multinomial, NegativeBinomial, Poisson
from .dirichlet import Beta, Dirichlet, Kumaraswamy
from .distribution import Distribution
from .exp_family import ExponentialFamily
from .exponential import Exponential, GeneralizedPareto, Pareto, Weibull
from .gamma import Chi2, FisherSnedecor, Gamma, InverseGamma, StudentT
from .independent import Independent
from .kl import kl_divergence, register_kl
from .location_scale import Cauchy, Gumbel, HalfCauchy, Laplace, VonMises
from .matrices import LKJCholesky, Wishart
from .mixture_same_family import MixtureSameFamily
from .multivariate_normal import LowRankMultivariateNormal, MultivariateNormal
from .normal import HalfNormal, LogisticNormal, LogNormal, Normal
from .relaxed import RelaxedBernoulli, RelaxedOneHotCategorical
from .transformed_distribution import TransformedDistribution
from .transforms import *  # noqa: F401, F403 (its __all__)
from .uniform import Uniform

__all__ = ["Bernoulli", "Beta", "Binomial", "Categorical", "Cauchy", "Chi2", "ContinuousBernoulli", "Dirichlet", "Distribution", "Exponential",
           "ExponentialFamily", "FisherSnedecor", "Gamma", "GeneralizedPareto", "Geometric", "Gumbel", "HalfCauchy", "HalfNormal", "Independent",
           "InverseGamma", "Kumaraswamy", "LKJCholesky", "Laplace", "LogNormal", "LogisticNormal", "LowRankMultivariateNormal",
           "MixtureSameFamily", "Multinomial", "MultivariateNormal", "NegativeBinomial", "Normal", "OneHotCategorical",
           "OneHotCategoricalStraightThrough", "Pareto", "Poisson", "RelaxedBernoulli", "RelaxedOneHotCategorical", "StudentT",
           "TransformedDistribution", "Uniform", "VonMises", "Weibull", "Wishart", "biject_to", "constraints", "kl_divergence", "register_kl",
           "transform_to", "transforms", *transforms.__all__]

# Modules by PyTorch's names, for programs that import from them; here a family stands with its kin.
_HOMES = {"bernoulli": "continuous_bernoulli", "categorical": "one_hot_categorical", "relaxed": "relaxed_bernoulli relaxed_categorical",
          "counts": "binomial multinomial geometric poisson negative_binomial", "dirichlet": "beta kumaraswamy",
          "exponential": "weibull pareto generalized_pareto", "gamma": "chi2 inverse_gamma studentT fishersnedecor",
          "location_scale": "laplace cauchy half_cauchy gumbel von_mises", "matrices": "wishart lkj_cholesky",
          "multivariate_normal": "lowrank_multivariate_normal", "normal": "log_normal half_normal logistic_normal"}
for _home, _names in _HOMES.items():
    for _name in _names.split():
        globals()[_name] = _sys.modules[f"{__name__}.{_name}"] = globals()[_home]
