"""RAdam."""
from ..ops import namespace as ops
from .optimizer import check_betas, check_learning_rate, check_not_negative
from .tensorwise import TensorwiseOptimizer, kept


class RAdam(TensorwiseOptimizer):
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

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, decoupled_weight_decay=False, *,
                 foreach=None, maximize=False, capturable=False, differentiable=False):
        check_learning_rate(lr)
        check_not_negative("epsilon value", eps)
        check_betas(betas)
        check_not_negative("weight_decay value", weight_decay)
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, maximize=maximize,
                                      foreach=foreach, capturable=capturable,
                                      decoupled_weight_decay=decoupled_weight_decay, differentiable=differentiable))

    def _start(self, parameter, group):
        return {name: ops.zeros_like(parameter) for name in ("exp_avg", "exp_avg_sq")}

    def _update(self, parameter, gradient, state, group, step, lr):
        beta1, beta2 = group["betas"]
        mean = state["exp_avg"].lerp_(gradient, 1 - beta1)
        square = state["exp_avg_sq"].mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
        correction = 1 - beta2**step
        most = 2 / (1 - beta2) - 1  # the length of the average, in the limit and at this step
        length = most - 2 * step * beta2**step / correction
        size = lr / (1 - beta1**step)
        if length <= 5:
            parameter.add_(mean, alpha=-size)
            return
        rectified = ((length - 4) * (length - 2) * most / ((most - 4) * (most - 2) * length)) ** 0.5
        parameter.addcdiv_(kept(mean), kept(square.sqrt()).add_(group["eps"]), value=-size * rectified * correction**0.5)
