"""RMSprop."""
from ..ops import namespace as ops
from .optimizer import check_learning_rate, check_not_negative
from .tensorwise import TensorwiseOptimizer, kept


class RMSprop(TensorwiseOptimizer):
    """RMSprop (Hinton, 2012): the gradient divided by the root of a running average of its square.

    Args:
        params: tensors or groups; see :class:`Optimizer`.
        lr: the learning rate.
        alpha: how much of the average is kept at each step.
        eps: added to the root.
        weight_decay: this times the parameter is added to the gradient.
        momentum: of the steps.
        centered: divide by the standard deviation, the square less that of a running average of the gradient.
        maximize: climb instead of descending.
        foreach, capturable: have no effect. differentiable: record the step, so that gradients go through it.
    """

    def __init__(self, params, lr=1e-2, alpha=0.99, eps=1e-8, weight_decay=0, momentum=0, centered=False, capturable=False,
                 foreach=None, maximize=False, differentiable=False):
        check_learning_rate(lr)
        check_not_negative("epsilon value", eps)
        check_not_negative("momentum value", momentum)
        check_not_negative("weight_decay value", weight_decay)
        check_not_negative("alpha value", alpha)
        super().__init__(params, dict(lr=lr, momentum=momentum, alpha=alpha, eps=eps, centered=centered,
                                      weight_decay=weight_decay, capturable=capturable, foreach=foreach,
                                      maximize=maximize, differentiable=differentiable))

    def _start(self, parameter, group):
        names = ["square_avg"] + ["momentum_buffer"] * (group["momentum"] > 0) + ["grad_avg"] * bool(group["centered"])
        return {name: ops.zeros_like(parameter) for name in names}

    def _update(self, parameter, gradient, state, group, step, lr):
        square = state["square_avg"].mul_(group["alpha"]).addcmul_(gradient, gradient, value=1 - group["alpha"])
        if group["centered"]:
            mean = state["grad_avg"].lerp_(gradient, 1 - group["alpha"])
            square = square.addcmul(kept(mean), kept(mean), value=-1)
        root = kept(square.sqrt()).add_(group["eps"])
        if group["momentum"] > 0:
            buffer = state["momentum_buffer"].mul_(group["momentum"]).addcdiv_(gradient, root)
            parameter.add_(buffer, alpha=-lr)
        else:
            parameter.addcdiv_(gradient, root, value=-lr)
