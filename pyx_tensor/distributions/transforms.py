"""Invertible maps of random variables, with the logarithm of how much they stretch space.

A transform says its `domain` and `codomain` (constraints), `_call`, `_inverse` and `log_abs_det_jacobian`. An event of the domain may be
a number, a vector or a matrix: the log-determinant has one value for each event. Maps of numbers stand here, those that join other
transforms in `joined_transforms`, those of vectors and matrices in `vector_transforms`; all have their names here.
"""
import math
from copy import copy

from ..core.record import namespace as B
from ..core.tensor import TensorBase
from ..core.typeinfo import finfo
from . import constraints
from .utils import sum_rightmost

__all__ = ["AbsTransform", "AffineTransform", "CatTransform", "ComposeTransform", "CorrCholeskyTransform", "CumulativeDistributionTransform",
           "ExpTransform", "IndependentTransform", "LowerCholeskyTransform", "PositiveDefiniteTransform", "PowerTransform", "ReshapeTransform",
           "SigmoidTransform", "SoftmaxTransform", "SoftplusTransform", "StackTransform", "StickBreakingTransform", "TanhTransform", "Transform",
           "identity_transform"]


class Transform:
    """A map y = transform(x), x = transform.inv(y).

    Args:
        cache_size: 1 keeps the last pair, so that the inverse of a result just computed is what it was computed from; 0, the default, keeps none.

    `bijective` tells whether `inv` undoes the map, `sign` is that of the derivative of a monotone map.
    """

    bijective = False
    domain: constraints.Constraint
    codomain: constraints.Constraint

    def __init__(self, cache_size=0):
        if cache_size not in (0, 1):
            raise ValueError("cache_size must be 0 or 1")
        self._cache_size, self._pair = cache_size, (None, None)

    @property
    def event_dim(self):
        """How many dims an event of the domain has; ValueError where the codomain's have another number."""
        if self.domain.event_dim == self.codomain.event_dim:
            return self.domain.event_dim
        raise ValueError("Please use either .domain.event_dim or .codomain.event_dim")

    @property
    def sign(self):
        """1 or -1 (or a tensor of them): whether a map of numbers grows or falls."""
        raise NotImplementedError(f"{type(self).__name__} has no sign")

    @property
    def inv(self):
        """The inverse map, a transform too."""
        return _InverseTransform(self)

    def with_cache(self, cache_size=1):
        """The same transform with another cache."""
        if cache_size == self._cache_size:
            return self
        new = copy(self)
        Transform.__init__(new, cache_size)
        return new

    def __call__(self, x):
        return self._kept(x, 0, self._call)

    def _inv_call(self, y):
        return self._kept(y, 1, self._inverse)

    def _kept(self, given, side, compute):
        """The other half of the pair whose half `side` is given."""
        if self._cache_size == 0:
            return compute(given)
        if self._pair[side] is not given:
            found = compute(given)
            self._pair = (found, given) if side else (given, found)
        return self._pair[1 - side]

    def _call(self, x):
        raise NotImplementedError(f"{type(self).__name__} has no forward map")

    def _inverse(self, y):
        raise NotImplementedError(f"{type(self).__name__} has no inverse")

    def log_abs_det_jacobian(self, x, y):
        """log |det dy/dx|, one for each event."""
        raise NotImplementedError(f"{type(self).__name__} has no log_abs_det_jacobian")

    def forward_shape(self, shape):
        """The shape of results for inputs of this shape."""
        return shape

    def inverse_shape(self, shape):
        """The shape of inputs that give results of this shape."""
        return shape

    def __eq__(self, other):
        return self is other

    def __ne__(self, other):
        return not self == other

    __hash__ = object.__hash__

    def __getstate__(self):
        return {**self.__dict__, "_pair": (None, None)}

    def __repr__(self):
        return f"{type(self).__name__}()"


class _InverseTransform(Transform):
    def __init__(self, transform):
        super().__init__(transform._cache_size)
        self._inv = transform

    @property
    def domain(self):
        return self._inv.codomain

    @property
    def codomain(self):
        return self._inv.domain

    @property
    def bijective(self):
        return self._inv.bijective

    @property
    def sign(self):
        return self._inv.sign

    @property
    def inv(self):
        return self._inv

    def with_cache(self, cache_size=1):
        return self._inv.with_cache(cache_size).inv

    def __call__(self, x):
        return self._inv._inv_call(x)

    def _inv_call(self, y):
        return self._inv(y)

    def log_abs_det_jacobian(self, x, y):
        return -self._inv.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape):
        return self._inv.inverse_shape(shape)

    def inverse_shape(self, shape):
        return self._inv.forward_shape(shape)

    def __eq__(self, other):
        return isinstance(other, _InverseTransform) and self._inv == other._inv

    __hash__ = Transform.__hash__

    def __repr__(self):
        return f"{type(self).__name__}({self._inv!r})"


class _OfNumbers(Transform):
    """A growing bijection of numbers without parameters; two of a kind are equal."""

    domain = codomain = constraints.real
    bijective, sign = True, 1

    def __eq__(self, other):
        return type(other) is type(self)

    __hash__ = Transform.__hash__


class ExpTransform(_OfNumbers):
    """y = exp(x)

    >>> import pyx_tensor as torch
    >>> from pyx_tensor.distributions.transforms import ExpTransform
    >>> ExpTransform().inv(torch.tensor([1.0]))
    tensor([0.])
    """

    codomain = constraints.positive

    def _call(self, x):
        return B.exp(x)

    def _inverse(self, y):
        return B.log(y)

    def log_abs_det_jacobian(self, x, y):
        return x


class SigmoidTransform(_OfNumbers):
    """y = 1 / (1 + exp(-x)); results are kept off 0 and 1 by the dtype's precision.

    >>> import pyx_tensor as torch
    >>> from pyx_tensor.distributions.transforms import SigmoidTransform
    >>> SigmoidTransform()(torch.zeros(2))
    tensor([0.5000, 0.5000])
    """

    codomain = constraints.unit_interval

    def _call(self, x):
        info = finfo(x.dtype)
        return B.sigmoid(x).clamp(info.tiny, 1 - info.eps)

    def _inverse(self, y):
        info = finfo(y.dtype)
        y = y.clamp(info.tiny, 1 - info.eps)
        return B.log(y) - B.log1p(-y)

    def log_abs_det_jacobian(self, x, y):
        return -B.softplus(-x) - B.softplus(x)


class SoftplusTransform(_OfNumbers):
    """y = log(1 + exp(x)), x itself above 20.

    >>> import pyx_tensor as torch
    >>> from pyx_tensor.distributions.transforms import SoftplusTransform
    >>> SoftplusTransform()(torch.zeros(1))
    tensor([0.6931])
    """

    codomain = constraints.positive

    def _call(self, x):
        return B.softplus(x)

    def _inverse(self, y):
        return B.log(-B.expm1(-y)) + y

    def log_abs_det_jacobian(self, x, y):
        return -B.softplus(-x)


class TanhTransform(_OfNumbers):
    """y = tanh(x); for numbers far out in `inv`, use a cache.

    >>> import pyx_tensor as torch
    >>> from pyx_tensor.distributions.transforms import TanhTransform
    >>> TanhTransform()(torch.tensor([0.0, 1.0]))
    tensor([0.0000, 0.7616])
    """

    codomain = constraints.interval(-1.0, 1.0)

    def _call(self, x):
        return B.tanh(x)

    def _inverse(self, y):
        return B.atanh(y)

    def log_abs_det_jacobian(self, x, y):
        return 2 * (math.log(2) - x - B.softplus(-2 * x))            # log(1 - tanh(x)²) without cancellation


class AbsTransform(Transform):
    """y = |x|, whose inverse takes the positive root.

    >>> import pyx_tensor as torch
    >>> from pyx_tensor.distributions.transforms import AbsTransform
    >>> AbsTransform()(torch.tensor([-2.0]))
    tensor([2.])
    """

    domain, codomain = constraints.real, constraints.positive

    def _call(self, x):
        return B.abs(x)

    def _inverse(self, y):
        return y

    def __eq__(self, other):
        return isinstance(other, AbsTransform)

    __hash__ = Transform.__hash__


def _sign_of(value):
    return value.sign() if isinstance(value, TensorBase) else (value > 0) - (value < 0)


def _same(a, b):
    return a is b or bool(B.all(B.eq(a, b) if isinstance(a, TensorBase) else B.eq(b, a) if isinstance(b, TensorBase) else B.tensor(a == b)))


class PowerTransform(Transform):
    """y = x ** exponent, of positive numbers; the exponent is a tensor or a number, not 0.

    >>> import pyx_tensor as torch
    >>> from pyx_tensor.distributions.transforms import PowerTransform
    >>> PowerTransform(2.0).inv(torch.tensor([9.0]))
    tensor([3.])
    """

    domain = codomain = constraints.positive
    bijective = True

    def __init__(self, exponent, cache_size=0):
        super().__init__(cache_size)
        self.exponent = exponent

    @property
    def sign(self):
        return _sign_of(self.exponent)

    def _call(self, x):
        return x ** self.exponent

    def _inverse(self, y):
        return y ** (1 / self.exponent)

    def log_abs_det_jacobian(self, x, y):
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape):
        return B.broadcast_shapes(shape, getattr(self.exponent, "shape", ()))

    inverse_shape = forward_shape

    def __eq__(self, other):
        return isinstance(other, PowerTransform) and _same(self.exponent, other.exponent)

    __hash__ = Transform.__hash__


class AffineTransform(Transform):
    """y = loc + scale * x

    Args:
        loc, scale: tensors or numbers.
        event_dim: how many last dims make up an event; 0 by default.
        cache_size: as for Transform.

    >>> import pyx_tensor as torch
    >>> from pyx_tensor.distributions.transforms import AffineTransform
    >>> AffineTransform(1.0, 2.0)(torch.ones(1))
    tensor([3.])
    """

    bijective = True

    def __init__(self, loc, scale, event_dim=0, cache_size=0):
        super().__init__(cache_size)
        self.loc, self.scale, self._event_dim = loc, scale, event_dim

    @property
    def event_dim(self):
        return self._event_dim

    @property
    def domain(self):
        return constraints.real if self._event_dim == 0 else constraints.independent(constraints.real, self._event_dim)

    codomain = domain

    @property
    def sign(self):
        return _sign_of(self.scale)

    def _call(self, x):
        return self.loc + self.scale * x

    def _inverse(self, y):
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x, y):
        scale = self.scale if isinstance(self.scale, TensorBase) else B.full_like(x, self.scale)
        stretch = B.log(B.abs(scale)).expand(tuple(B.broadcast_shapes(x.shape, scale.shape)))
        return sum_rightmost(stretch, self._event_dim).expand(tuple(x.shape[:x.ndim - self._event_dim])) if self._event_dim else stretch

    def forward_shape(self, shape):
        return B.broadcast_shapes(shape, getattr(self.loc, "shape", ()), getattr(self.scale, "shape", ()))

    inverse_shape = forward_shape

    def __eq__(self, other):
        return isinstance(other, AffineTransform) and _same(self.loc, other.loc) and _same(self.scale, other.scale)

    __hash__ = Transform.__hash__


class CumulativeDistributionTransform(Transform):
    """y = distribution.cdf(x), of a continuous distribution of numbers: uniform where x is drawn from it."""

    bijective, sign = True, 1
    codomain = constraints.unit_interval

    def __init__(self, distribution, cache_size=0):
        super().__init__(cache_size)
        self.distribution = distribution

    @property
    def domain(self):
        return self.distribution.support

    def _call(self, x):
        return self.distribution.cdf(x)

    def _inverse(self, y):
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x, y):
        return self.distribution.log_prob(x)


from .joined_transforms import (  # noqa: E402  (they build on Transform)
    CatTransform, ComposeTransform, IndependentTransform, ReshapeTransform, StackTransform, identity_transform)
from .vector_transforms import (  # noqa: E402
    CorrCholeskyTransform, LowerCholeskyTransform, PositiveDefiniteTransform, SoftmaxTransform, StickBreakingTransform)
