"""Adadelta."""
from .optimizer import check_learning_rate, check_not_negative
from .ruled import RuledOptimizer


class Adadelta(RuledOptimizer):
    """Adadelta (Zeiler, 2012): steps in proportion to the size of earlier steps.

    Args:
        params: tensors or groups; see :class:`Optimizer`.
        lr: a factor of the steps.
        rho: how much of the running averages is kept at each step.
        eps: added to the averages of squares.
        weight_decay: this times the parameter is added to the gradient.
        maximize: climb instead of descending.
        foreach, capturable: have no effect. differentiable: record the step, so that gradients go through it.
    """

    rule = "adadelta"

    def __init__(self, params, lr=1.0, rho=0.9, eps=1e-6, weight_decay=0, foreach=None, *, capturable=False, maximize=False,
                 differentiable=False):
        check_learning_rate(lr)
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}")
        check_not_negative("epsilon value", eps)
        check_not_negative("weight_decay value", weight_decay)
        super().__init__(params, dict(lr=lr, rho=rho, eps=eps, weight_decay=weight_decay, maximize=maximize,
                                      capturable=capturable, foreach=foreach, differentiable=differentiable))

    def _remembered(self, group):
        return "square_avg", "acc_delta"

    def _constants(self, group, step, lr):
        return group["rho"], lr
