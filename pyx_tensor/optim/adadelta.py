"""Adadelta."""
from ..ops import namespace as ops
from .optimizer import check_learning_rate, check_not_negative
from .tensorwise import TensorwiseOptimizer, kept


class Adadelta(TensorwiseOptimizer):
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

    def __init__(self, params, lr=1.0, rho=0.9, eps=1e-6, weight_decay=0, foreach=None, *, capturable=False, maximize=False,
                 differentiable=False):
        check_learning_rate(lr)
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}")
        check_not_negative("epsilon value", eps)
        check_not_negative("weight_decay value", weight_decay)
        super().__init__(params, dict(lr=lr, rho=rho, eps=eps, weight_decay=weight_decay, maximize=maximize,
                                      capturable=capturable, foreach=foreach, differentiable=differentiable))

    def _start(self, parameter, group):
        return {name: ops.zeros_like(parameter) for name in ("square_avg", "acc_delta")}

    def _update(self, parameter, gradient, state, group, step, lr):
        rho, eps = group["rho"], group["eps"]
        square = state["square_avg"].mul_(rho).addcmul_(gradient, gradient, value=1 - rho)
        root = kept(state["acc_delta"].add(eps).sqrt_())
        delta = kept(root.div_(square.add(eps).sqrt_())).mul_(gradient)
        state["acc_delta"].mul_(rho).addcmul_(delta, delta, value=1 - rho)
        parameter.add_(delta, alpha=-lr)
