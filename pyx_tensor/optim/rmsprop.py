"""RMSprop."""
from .optimizer import check_learning_rate, check_not_negative
from .ruled import RuledOptimizer


class RMSprop(RuledOptimizer):
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

    rule = "rmsprop"

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

    def _remembered(self, group):
        return "square_avg", "momentum_buffer" if group["momentum"] > 0 else None, "grad_avg" if group["centered"] else None

    def _constants(self, group, step, lr):
        return group["alpha"], lr, group["momentum"]
