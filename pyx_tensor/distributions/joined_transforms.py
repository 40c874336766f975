"""Transforms made of transforms, or of shapes."""
import math

from ..core.record import namespace as B
from ..core.size import Size
from . import constraints
from .transforms import Transform
from .utils import sum_rightmost


def _spanning(constraint, event_dim):
    """A constraint whose events have at least `event_dim` dims."""
    more = event_dim - constraint.event_dim
    return constraints.independent(constraint, more) if more > 0 else constraint


class _OfParts(Transform):
    """A transform that keeps others, in a list `parts`, which have its cache size."""

    def __init__(self, parts, cache_size=0):
        super().__init__(cache_size)
        self.parts = self._cached(parts, cache_size)

    @staticmethod
    def _cached(parts, cache_size):
        return [part.with_cache(cache_size) if cache_size else part for part in parts]

    def with_cache(self, cache_size=1):
        new = super().with_cache(cache_size)
        if new is not self:
            new.parts = self._cached(self.parts, cache_size)
        return new

    @property
    def bijective(self):
        return all(part.bijective for part in self.parts)


class ComposeTransform(_OfParts):
    """Transforms one after the other; none at all is the identity.

    >>> import pyx_tensor as torch
    >>> from pyx_tensor.distributions.transforms import AffineTransform, ComposeTransform, ExpTransform
    >>> ComposeTransform([AffineTransform(1.0, 2.0), ExpTransform()])(torch.tensor([-0.5]))
    tensor([1.])
    """

    @property
    def domain(self):
        if not self.parts:
            return constraints.real
        event_dim = self.parts[-1].codomain.event_dim
        for part in reversed(self.parts):
            event_dim = max(event_dim + part.domain.event_dim - part.codomain.event_dim, part.domain.event_dim)
        return _spanning(self.parts[0].domain, event_dim)

    @property
    def codomain(self):
        if not self.parts:
            return constraints.real
        event_dim = self.parts[0].domain.event_dim
        for part in self.parts:
            event_dim = max(event_dim + part.codomain.event_dim - part.domain.event_dim, part.codomain.event_dim)
        return _spanning(self.parts[-1].codomain, event_dim)

    @property
    def sign(self):
        sign = 1
        for part in self.parts:
            sign = sign * part.sign
        return sign

    @property
    def inv(self):
        inverse = ComposeTransform([part.inv for part in reversed(self.parts)])
        inverse._cache_size = self._cache_size
        return inverse

    def __call__(self, x):
        for part in self.parts:
            x = part(x)
        return x

    def _inv_call(self, y):
        for part in reversed(self.parts):
            y = part.inv(y)
        return y

    def log_abs_det_jacobian(self, x, y):
        if not self.parts:
            return B.zeros_like(x)
        values = [x]
        for part in self.parts[:-1]:
            values.append(part(values[-1]))
        event_dim, total = self.domain.event_dim, 0
        for part, before, after in zip(self.parts, values, [*values[1:], y]):
            total = total + sum_rightmost(part.log_abs_det_jacobian(before, after), event_dim - part.domain.event_dim)
            event_dim += part.codomain.event_dim - part.domain.event_dim
        return total

    def forward_shape(self, shape):
        for part in self.parts:
            shape = part.forward_shape(shape)
        return shape

    def inverse_shape(self, shape):
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return shape

    def __eq__(self, other):
        return isinstance(other, ComposeTransform) and self.parts == other.parts

    __hash__ = Transform.__hash__

    def __repr__(self):
        return f"{type(self).__name__}([{', '.join(map(repr, self.parts))}])"


identity_transform = ComposeTransform([])


class IndependentTransform(_OfParts):
    """A transform whose `reinterpreted_batch_ndims` last batch dims belong to the event: log-determinants are summed over them."""

    def __init__(self, base_transform, reinterpreted_batch_ndims, cache_size=0):
        super().__init__([base_transform], cache_size)
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    @property
    def base_transform(self):
        """The transform that it is made of."""
        return self.parts[0]

    @property
    def domain(self):
        return constraints.independent(self.base_transform.domain, self.reinterpreted_batch_ndims)

    @property
    def codomain(self):
        return constraints.independent(self.base_transform.codomain, self.reinterpreted_batch_ndims)

    @property
    def sign(self):
        return self.base_transform.sign

    def _call(self, x):
        if x.ndim < self.domain.event_dim:
            raise ValueError("Too few dimensions on input")
        return self.base_transform(x)

    def _inverse(self, y):
        if y.ndim < self.codomain.event_dim:
            raise ValueError("Too few dimensions on input")
        return self.base_transform.inv(y)

    def log_abs_det_jacobian(self, x, y):
        return sum_rightmost(self.base_transform.log_abs_det_jacobian(x, y), self.reinterpreted_batch_ndims)

    def forward_shape(self, shape):
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape):
        return self.base_transform.inverse_shape(shape)

    def __repr__(self):
        return f"{type(self).__name__}({self.base_transform!r}, {self.reinterpreted_batch_ndims})"


class ReshapeTransform(Transform):
    """Events of one shape as events of another, with as many elements; ValueError where they have not.

    >>> import pyx_tensor as torch
    >>> from pyx_tensor.distributions.transforms import ReshapeTransform
    >>> ReshapeTransform((4,), (2, 2))(torch.zeros(3, 4)).shape
    torch.Size([3, 2, 2])
    """

    bijective = True

    def __init__(self, in_shape, out_shape, cache_size=0):
        super().__init__(cache_size)
        self.in_shape, self.out_shape = Size(in_shape), Size(out_shape)
        if math.prod(self.in_shape) != math.prod(self.out_shape):
            raise ValueError("in_shape, out_shape have different numbers of elements")

    @property
    def domain(self):
        return constraints.independent(constraints.real, len(self.in_shape))

    @property
    def codomain(self):
        return constraints.independent(constraints.real, len(self.out_shape))

    def _call(self, x):
        return x.reshape((*x.shape[:x.ndim - len(self.in_shape)], *self.out_shape))

    def _inverse(self, y):
        return y.reshape((*y.shape[:y.ndim - len(self.out_shape)], *self.in_shape))

    def log_abs_det_jacobian(self, x, y):
        return B.zeros(tuple(x.shape[:x.ndim - len(self.in_shape)]), dtype=x.dtype, device=x.device)

    def forward_shape(self, shape):
        return _exchanged(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape):
        return _exchanged(shape, self.out_shape, self.in_shape)


def _exchanged(shape, old, new):
    """A shape whose end `old` gives way to `new`."""
    if len(shape) < len(old):
        raise ValueError("Too few dimensions on input")
    cut = len(shape) - len(old)
    if tuple(shape[cut:]) != tuple(old):
        raise ValueError(f"Shape mismatch: expected {tuple(old)} but got {tuple(shape[cut:])}")
    return Size((*shape[:cut], *new))


class _Beside(_OfParts):
    """Transforms for parts of a tensor along a dim; a subclass says `_split` and `_join`."""

    def __init__(self, tseq, dim=0, cache_size=0):
        if not all(isinstance(t, Transform) for t in tseq):
            raise AssertionError("All elements of tseq must be Transform instances")
        super().__init__(tseq, cache_size)
        self.dim = dim

    @property
    def transforms(self):
        """The parts' transforms."""
        return self.parts

    def _call(self, x):
        return self._join([t(part) for t, part in zip(self.transforms, self._split(x))])

    def _inverse(self, y):
        return self._join([t.inv(part) for t, part in zip(self.transforms, self._split(y))])


class CatTransform(_Beside):
    """Transforms of pieces of a tensor along `dim`, of the lengths `lengths` (1 each by default).

    >>> import pyx_tensor as torch
    >>> from pyx_tensor.distributions.transforms import AbsTransform, CatTransform, ExpTransform
    >>> CatTransform([ExpTransform(), AbsTransform()])(torch.tensor([0.0, -2.0]))
    tensor([1., 2.])
    """

    def __init__(self, tseq, dim=0, lengths=None, cache_size=0):
        super().__init__(tseq, dim, cache_size)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise AssertionError(f"lengths must have one entry per transform: {len(self.lengths)} for {len(self.transforms)}")

    @property
    def event_dim(self):
        return max(t.event_dim for t in self.transforms)

    @property
    def length(self):
        """The size along `dim`."""
        return sum(self.lengths)

    @property
    def domain(self):
        return constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths)

    @property
    def codomain(self):
        return constraints.cat([t.codomain for t in self.transforms], self.dim, self.lengths)

    def _split(self, value):
        if not -value.ndim <= self.dim < value.ndim or value.shape[self.dim] != self.length:
            raise AssertionError(f"CatTransform: expected {self.length} places along dim {self.dim}, got shape {tuple(value.shape)}")
        return value.split(self.lengths, self.dim)

    def _join(self, parts):
        return B.cat(parts, self.dim)

    def log_abs_det_jacobian(self, x, y):
        found = []
        for t, before, after in zip(self.transforms, self._split(x), self._split(y)):
            part = t.log_abs_det_jacobian(before, after)
            found.append(sum_rightmost(part, self.event_dim - t.event_dim) if t.event_dim < self.event_dim else part)
        dim = (self.dim if self.dim < 0 else self.dim - x.ndim) + self.event_dim
        return B.cat(found, dim) if dim < 0 else sum(found)          # pieces of one event are summed


class StackTransform(_Beside):
    """One transform for each place of `dim`.

    >>> import pyx_tensor as torch
    >>> from pyx_tensor.distributions.transforms import AbsTransform, ExpTransform, StackTransform
    >>> StackTransform([ExpTransform(), AbsTransform()], -1)(torch.tensor([[0.0, -2.0]]))
    tensor([[1., 2.]])
    """

    @property
    def domain(self):
        return constraints.stack([t.domain for t in self.transforms], self.dim)

    @property
    def codomain(self):
        return constraints.stack([t.codomain for t in self.transforms], self.dim)

    def _split(self, value):
        if not -value.ndim <= self.dim < value.ndim or value.shape[self.dim] != len(self.transforms):
            raise AssertionError(f"StackTransform: expected {len(self.transforms)} places along dim {self.dim}, got shape {tuple(value.shape)}")
        return value.unbind(self.dim)

    def _join(self, parts):
        return B.stack(parts, self.dim)

    def log_abs_det_jacobian(self, x, y):
        return self._join([t.log_abs_det_jacobian(before, after) for t, before, after in zip(self.transforms, self._split(x), self._split(y))])
