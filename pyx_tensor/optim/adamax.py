"""Adamax."""
from .optimizer import check_betas, check_learning_rate, check_not_negative
from .ruled import RuledOptimizer


class Adamax(RuledOptimizer):
    """Adamax (Kingma, Ba, 2014): Adam with the largest decayed gradient in the place of the root of squares.

    Args:
        params: tensors or groups; see :class:`Optimizer`.
        lr: the learning rate.
        betas: how much of the average and of the maximum is kept at each step.
        eps: added to the size of the gradient.
        weight_decay: this times the parameter is added to the gradient.
        maximize: climb instead of descending.
        foreach, capturable: have no effect. differentiable: record the step, so that gradients go through it.
    """

    rule = "adamax"

    def __init__(self, params, lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, foreach=None, *, maximize=False,
                 differentiable=False, capturable=False):
        check_learning_rate(lr)
        check_not_negative("epsilon value", eps)
        check_betas(betas)
        check_not_negative("weight_decay value", weight_decay)
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, foreach=foreach,
                                      maximize=maximize, differentiable=differentiable, capturable=capturable))

    def _remembered(self, group):
        return "exp_avg", "exp_inf"

    def _constants(self, group, step, lr):
        beta1, beta2 = group["betas"]
        return 1 - beta1, beta2, lr / (1 - beta1**step)
