"""Special functions, by the names of `torch.special`.

>>> import pyx_tensor as torch
>>> torch.special.chebyshev_polynomial_t(torch.tensor([0.5, 2.0]), 3)
tensor([-1., 26.])
"""
from .core.record import namespace as _B
from .ops.special_rare import functions as _rare

# Name here -> name in the table, where they differ from `special_…` or are public elsewhere too.
_ELSEWHERE = {
    **{name: name for name in ("digamma", "erf", "erfc", "erfinv", "exp2", "expm1", "i0", "log1p", "logit", "logsumexp", "polygamma", "round",
                               "sinc", "xlog1py", "xlogy")},
    "expit": "sigmoid", "gammainc": "igamma", "gammaincc": "igammac", "gammaln": "lgamma", "multigammaln": "mvlgamma", "psi": "digamma"}

_functions = {name: getattr(_B, found) for name, found in _ELSEWHERE.items()}
_functions.update({name: getattr(_B, f"special_{name}") for name in ("entr", "erfcx", "i0e", "i1", "i1e", "log_ndtr", "ndtr", "ndtri", "zeta")})
_functions.update(_rare)
globals().update(_functions)


def softmax(input, dim, *, dtype=None):
    """`exp(input)` over its sum along `dim`."""
    return _B.softmax(input, dim, dtype=dtype)


def log_softmax(input, dim, *, dtype=None):
    """The logarithm of `softmax`."""
    return _B.log_softmax(input, dim, dtype=dtype)


__all__ = sorted([*_functions, "softmax", "log_softmax"])
