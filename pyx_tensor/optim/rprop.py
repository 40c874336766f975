"""Resilient backpropagation."""
from ..ops import namespace as ops
from .optimizer import check_learning_rate
from .ruled import RuledOptimizer


class Rprop(RuledOptimizer):
    """Rprop (Riedmiller, Braun, 1993): steps by the signs of gradients, for full batches.

    Each element's step grows while the sign of its gradient stays; where the sign changes, the step shrinks and the
    element rests for once.

    Args:
        params: tensors or groups; see :class:`Optimizer`.
        lr: the first step.
        etas: the factors of shrinking and growing.
        step_sizes: the bounds of steps.
        maximize: climb instead of descending.
        foreach, capturable: have no effect. differentiable: record the step, so that gradients go through it.
    """

    rule = "rprop"

    def __init__(self, params, lr=1e-2, etas=(0.5, 1.2), step_sizes=(1e-6, 50), *, capturable=False, foreach=None,
                 maximize=False, differentiable=False):
        check_learning_rate(lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        super().__init__(params, dict(lr=lr, etas=etas, step_sizes=step_sizes, foreach=foreach, maximize=maximize,
                                      differentiable=differentiable, capturable=capturable))

    def _remembered(self, group):
        return "prev", "step_size"

    def _start(self, parameter, group):
        return {"prev": ops.zeros_like(parameter), "step_size": ops.full_like(parameter, float(group["lr"]))}

    def _constants(self, group, step, lr):
        return *group["etas"], *group["step_sizes"]
