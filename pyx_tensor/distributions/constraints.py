"""What parameters and values of distributions may be: `constraint.check(value)` tells which are possible.

Events of a constraint span its `event_dim` last dims: `check` answers with one truth for each event.
"""
from ..core.dtype import by_name
from ..core.record import namespace as B
from ..core.typeinfo import finfo

__all__ = ["Constraint", "MixtureSameFamilyConstraint", "boolean", "cat", "corr_cholesky", "dependent", "dependent_property", "greater_than",
           "greater_than_eq", "half_open_interval", "independent", "integer_interval", "interval", "is_dependent", "less_than",
           "lower_cholesky", "lower_triangular", "multinomial", "nonnegative", "nonnegative_integer", "one_hot", "positive", "positive_definite",
           "positive_integer", "positive_semidefinite", "real", "real_vector", "simplex", "square", "stack", "symmetric", "unit_interval"]


class Constraint:
    """A region of possible values. `is_discrete`: it is countable; `event_dim`: how many dims make up one event."""

    is_discrete = False
    event_dim = 0

    def check(self, value):
        """A boolean tensor of shape value.shape[:-event_dim]: which events lie in the region."""
        raise NotImplementedError(f"{type(self).__name__} has no check")

    def __repr__(self):
        """As PyTorch's messages have it: GreaterThan(lower_bound=0.0)."""
        name = "".join(part[0].upper() + part[1:] for part in type(self).__name__.split("_") if part)
        return f"{name}({', '.join(f'{name}={value}' for name, value in vars(self).items())})"


class _Dependent(Constraint):
    """Depends on other parameters, so that it can't be checked by itself."""

    def __init__(self, *, is_discrete=False, event_dim=0):
        self.is_discrete, self.event_dim = is_discrete, event_dim

    def __call__(self, *, is_discrete=None, event_dim=None):
        """The same with other properties."""
        return _Dependent(is_discrete=self.is_discrete if is_discrete is None else is_discrete,
                          event_dim=self.event_dim if event_dim is None else event_dim)

    def check(self, value):
        raise ValueError("Cannot determine validity of dependent constraint")

    def __repr__(self):
        return "Dependent()"


def is_dependent(constraint):
    """Whether a constraint can't be checked without its distribution."""
    return isinstance(constraint, _Dependent)


class dependent_property(property, _Dependent):
    """A property of a distribution that gives a constraint; asked of the class, it is dependent.

    >>> import pyx_tensor as torch
    >>> from pyx_tensor.distributions import Uniform, constraints
    >>> Uniform(0.0, 1.0).support.check(torch.tensor([0.5, 2.0]))
    tensor([ True, False])
    >>> constraints.is_dependent(Uniform.support)
    True
    """

    def __init__(self, fn=None, *, is_discrete=False, event_dim=0):
        property.__init__(self, fn)
        _Dependent.__init__(self, is_discrete=is_discrete, event_dim=event_dim)

    def __call__(self, fn):
        return dependent_property(fn, is_discrete=self.is_discrete, event_dim=self.event_dim)


class _Where(Constraint):
    """The events for which a function holds."""

    def __init__(self, name, holds, is_discrete=False, event_dim=0):
        self._name, self.check, self.is_discrete, self.event_dim = name, holds, is_discrete, event_dim

    def __repr__(self):
        return f"{self._name}()"


class greater_than(Constraint):
    """Values > lower_bound."""

    def __init__(self, lower_bound):
        self.lower_bound = lower_bound

    def check(self, value):
        return value > self.lower_bound


class greater_than_eq(greater_than):
    """Values >= lower_bound."""

    def check(self, value):
        return value >= self.lower_bound


class less_than(Constraint):
    """Values < upper_bound."""

    def __init__(self, upper_bound):
        self.upper_bound = upper_bound

    def check(self, value):
        return value < self.upper_bound


class interval(Constraint):
    """lower_bound <= values <= upper_bound."""

    def __init__(self, lower_bound, upper_bound):
        self.lower_bound, self.upper_bound = lower_bound, upper_bound

    def check(self, value):
        return (value >= self.lower_bound) & (value <= self.upper_bound)


class half_open_interval(interval):
    """lower_bound <= values < upper_bound."""

    def check(self, value):
        return (value >= self.lower_bound) & (value < self.upper_bound)


class integer_interval(interval):
    """Whole numbers from lower_bound to upper_bound, both included."""

    is_discrete = True

    def check(self, value):
        return (value % 1 == 0) & super().check(value)


class _IntegerGreaterThan(greater_than_eq):
    is_discrete = True

    def check(self, value):
        return (value % 1 == 0) & super().check(value)


class independent(Constraint):
    """A constraint whose `reinterpreted_batch_ndims` last batch dims belong to the event: all of them must lie in the region."""

    def __init__(self, base_constraint, reinterpreted_batch_ndims):
        self.base_constraint, self.reinterpreted_batch_ndims = base_constraint, reinterpreted_batch_ndims

    @property
    def is_discrete(self):
        return self.base_constraint.is_discrete

    @property
    def event_dim(self):
        return self.base_constraint.event_dim + self.reinterpreted_batch_ndims

    def check(self, value):
        if value.ndim < self.event_dim:
            raise ValueError(f"Expected value.dim() >= {self.event_dim} but got {value.ndim}")
        found = self.base_constraint.check(value)
        return found.reshape((*found.shape[:found.ndim - self.reinterpreted_batch_ndims], -1)).all(-1)

    def __repr__(self):
        return f"IndependentConstraint({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"


class MixtureSameFamilyConstraint(Constraint):
    """A component's constraint, for values without the dim of components."""

    def __init__(self, base_constraint):
        if not isinstance(base_constraint, Constraint):
            raise ValueError(f"base_constraint: {base_constraint} is not a subtype of Constraint")
        self.base_constraint = base_constraint

    @property
    def is_discrete(self):
        return self.base_constraint.is_discrete

    @property
    def event_dim(self):
        return self.base_constraint.event_dim

    def check(self, value):
        return self.base_constraint.check(value.unsqueeze(-1 - self.event_dim)).all(-1)


class multinomial(Constraint):
    """Vectors of counts whose sum is at most upper_bound, as PyTorch checks them."""

    is_discrete, event_dim = True, 1

    def __init__(self, upper_bound):
        self.upper_bound = upper_bound

    def check(self, x):
        return (x >= 0).all(-1) & (x.sum(-1) <= self.upper_bound)


class _Joined(Constraint):
    def __init__(self, cseq, dim=0):
        if not all(isinstance(c, Constraint) for c in cseq):
            raise AssertionError("All elements of cseq must be Constraint instances")
        self.cseq, self.dim = list(cseq), dim

    def _require_dim(self, value):
        if not -value.ndim <= self.dim < value.ndim:
            raise AssertionError(f"dim {self.dim} out of range for a value of {value.ndim} dims")

    @property
    def is_discrete(self):
        return any(c.is_discrete for c in self.cseq)

    @property
    def event_dim(self):
        return max(c.event_dim for c in self.cseq)


class cat(_Joined):
    """Constraints side by side along a dim, each for as many places as `lengths` says (one each by default)."""

    def __init__(self, cseq, dim=0, lengths=None):
        super().__init__(cseq, dim)
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.cseq):
            raise AssertionError(f"cseq and lengths must have the same length, got {len(self.cseq)} and {len(self.lengths)}")

    def check(self, value):
        self._require_dim(value)
        return B.cat([c.check(part) for c, part in zip(self.cseq, value.split(self.lengths, self.dim))], self.dim)


class stack(_Joined):
    """Constraints for the places of a dim, one each."""

    @property
    def event_dim(self):
        """The dim of places belongs to the event where it lies in it, or next to it."""
        inner = super().event_dim
        return inner + 1 if self.dim + inner < 0 else inner

    def check(self, value):
        self._require_dim(value)
        return B.stack([c.check(value.select(self.dim, i)) for i, c in enumerate(self.cseq)], self.dim)


# --- regions of matrices --------------------------------------------------------------------------------------------
def _is_square(value):
    return B.full(tuple(value.shape[:-2]), value.ndim >= 2 and value.shape[-1] == value.shape[-2], dtype=by_name["bool"], device=value.device)


def _all_entries(truths):
    return truths.flatten(-2).all(-1)


def _is_lower(value):
    return _all_entries(value.tril() == value)


def _has_positive_diagonal(value):
    return (value.diagonal(dim1=-2, dim2=-1) > 0).all(-1)


def _has_unit_rows(value):
    tolerance = finfo(value.dtype).eps * value.shape[-1] * 10          # rounding of a sum of as many squares
    return (((value * value).sum(-1).sqrt() - 1).abs() < tolerance).all(-1)


def _is_symmetric(value):
    return _is_square(value) & (_all_entries(B.isclose(value, value.mT, atol=1e-6)) if value.shape[-1] == value.shape[-2] else False)


def _is_positive_definite(value):
    symmetric = _is_symmetric(value)
    return symmetric & (B.linalg_cholesky_ex(value)[1] == 0) if bool(symmetric.all()) else symmetric


def _is_positive_semidefinite(value):
    symmetric = _is_symmetric(value)
    return symmetric & (B.linalg_eigvalsh(value) >= 0).all(-1) if bool(symmetric.all()) else symmetric


dependent = _Dependent()
boolean = _Where("Boolean", lambda value: (value == 0) | (value == 1), is_discrete=True)
real = _Where("Real", lambda value: value == value)
real_vector = independent(real, 1)
positive, nonnegative = greater_than(0.0), greater_than_eq(0.0)
positive_integer, nonnegative_integer = _IntegerGreaterThan(1), _IntegerGreaterThan(0)
unit_interval = interval(0.0, 1.0)
one_hot = _Where("OneHot", lambda value: ((value == 0) | (value == 1)).all(-1) & (value.sum(-1) == 1), is_discrete=True, event_dim=1)
simplex = _Where("Simplex", lambda value: (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < 1e-6), event_dim=1)
square = _Where("Square", _is_square, event_dim=2)
symmetric = _Where("Symmetric", _is_symmetric, event_dim=2)
lower_triangular = _Where("LowerTriangular", _is_lower, event_dim=2)
lower_cholesky = _Where("LowerCholesky", lambda value: _is_lower(value) & _has_positive_diagonal(value), event_dim=2)
corr_cholesky = _Where("CorrCholesky", lambda value: _is_lower(value) & _has_positive_diagonal(value) & _has_unit_rows(value), event_dim=2)
positive_definite = _Where("PositiveDefinite", _is_positive_definite, event_dim=2)
positive_semidefinite = _Where("PositiveSemidefinite", _is_positive_semidefinite, event_dim=2)
