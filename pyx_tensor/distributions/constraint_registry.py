"""Transforms from unconstrained numbers to what a constraint allows.

`biject_to(constraint)` gives a bijection, for variables whose density matters; `transform_to(constraint)` may give a simpler map onto the
region, for parameters that are to be optimised.
"""
from functools import partial

from . import constraints, transforms

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]


class ConstraintRegistry:
    """A table of functions from constraints to transforms, by the constraint's class.

    >>> import pyx_tensor as torch
    >>> from pyx_tensor.distributions import constraints, transform_to
    >>> transform_to(constraints.positive)(torch.tensor([0.0]))
    tensor([1.])
    """

    def __init__(self):
        self._registry = {}

    def register(self, constraint, factory=None):
        """Enter function(constraint) -> Transform for a constraint or its class; without a function, a decorator that does."""
        if factory is None:
            return lambda factory: self.register(constraint, factory)
        key = _key(constraint)
        if not (isinstance(constraint, constraints.Constraint) or isinstance(constraint, type) and issubclass(constraint, constraints.Constraint)):
            raise TypeError(f"Expected constraint to be either a Constraint subclass or instance, but got {constraint}")
        self._registry[key] = factory
        return factory

    def __call__(self, constraint):
        factory = self._registry.get(_key(constraint))
        if factory is None:
            raise NotImplementedError(f"Cannot transform {type(constraint).__name__} constraints")
        return factory(constraint)


def _key(constraint):
    """The class of a constraint; those that are one of a kind (`simplex` …) stand for themselves."""
    return constraint if isinstance(constraint, (type, constraints._Where)) else type(constraint)


biject_to, transform_to = ConstraintRegistry(), ConstraintRegistry()


def _in_both(*several):
    def enter(factory):
        for constraint in several:
            biject_to.register(constraint, factory)
            transform_to.register(constraint, factory)
        return factory
    return enter


_in_both(constraints.real)(lambda constraint: transforms.identity_transform)
biject_to.register(constraints.simplex, lambda constraint: transforms.StickBreakingTransform())
transform_to.register(constraints.simplex, lambda constraint: transforms.SoftmaxTransform())
transform_to.register(constraints.lower_cholesky, lambda constraint: transforms.LowerCholeskyTransform())
transform_to.register(constraints.positive_definite, lambda constraint: transforms.PositiveDefiniteTransform())
transform_to.register(constraints.positive_semidefinite, lambda constraint: transforms.PositiveDefiniteTransform())
_in_both(constraints.corr_cholesky)(lambda constraint: transforms.CorrCholeskyTransform())


def _independent(registry, constraint):
    return transforms.IndependentTransform(registry(constraint.base_constraint), constraint.reinterpreted_batch_ndims)


def _cat(registry, constraint):
    return transforms.CatTransform([registry(c) for c in constraint.cseq], constraint.dim, constraint.lengths)


def _stack(registry, constraint):
    return transforms.StackTransform([registry(c) for c in constraint.cseq], constraint.dim)


for _registry in (biject_to, transform_to):
    for _kind, _make in ((constraints.independent, _independent), (constraints.cat, _cat), (constraints.stack, _stack)):
        _registry.register(_kind, partial(_make, _registry))


@_in_both(constraints.greater_than, constraints.greater_than_eq)
def _above(constraint):
    exp, bound = transforms.ExpTransform(), constraint.lower_bound
    return exp if isinstance(bound, (int, float)) and bound == 0 else transforms.ComposeTransform([exp, transforms.AffineTransform(bound, 1)])


@_in_both(constraints.less_than)
def _below(constraint):
    return transforms.ComposeTransform([transforms.ExpTransform(), transforms.AffineTransform(constraint.upper_bound, -1)])


@_in_both(constraints.interval, constraints.half_open_interval)
def _between(constraint):
    low, high, sigmoid = constraint.lower_bound, constraint.upper_bound, transforms.SigmoidTransform()
    if isinstance(low, (int, float)) and isinstance(high, (int, float)) and (low, high) == (0, 1):
        return sigmoid
    return transforms.ComposeTransform([sigmoid, transforms.AffineTransform(low, high - low)])
