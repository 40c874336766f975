"""RAdam."""
from .optimizer import check_betas, check_learning_rate, check_not_negative
from .ruled import RuledOptimizer


class RAdam(RuledOptimizer):
    """RAdam (Liu et al., 2019): Adam without the scaling until enough squares are averaged for it, then rectified.

    Args:
        params: tensors or groups; see :class:`Optimizer`.
        lr: the learning rate.
        betas: how much of the averages of the gradient and of its square is kept at each step.
        eps: added to the root of the second average.
        weight_decay: this times the parameter is added to the gradient, or with ``decoupled_weight_decay``
            lr times this times the parameter is subtracted from the parameter.
        maximize: climb instead of descending.
        foreach, capturable: have no effect. differentiable: record the step, so that gradients go through it.
    """

    rule = "radam"

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, decoupled_weight_decay=False, *,
                 foreach=None, maximize=False, capturable=False, differentiable=False):
        check_learning_rate(lr)
        check_not_negative("epsilon value", eps)
        check_betas(betas)
        check_not_negative("weight_decay value", weight_decay)
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, maximize=maximize,
                                      foreach=foreach, capturable=capturable,
                                      decoupled_weight_decay=decoupled_weight_decay, differentiable=differentiable))

    def _remembered(self, group):
        return "exp_avg", "exp_avg_sq"

    def _constants(self, group, step, lr):
        beta1, beta2 = group["betas"]
        correction = 1 - beta2**step
        most = 2 / (1 - beta2) - 1  # the length of the average, in the limit and at this step
        length = most - 2 * step * beta2**step / correction
        size = lr / (1 - beta1**step)
        if length <= 5:
            return 1 - beta1, beta2, 0.0, size
        rectified = ((length - 4) * (length - 2) * most / ((most - 4) * (most - 2) * length)) ** 0.5
        return 1 - beta1, beta2, 1.0, size * rectified * correction**0.5
