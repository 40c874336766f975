"""NAdam."""
from ..ops import namespace as ops
from .optimizer import check_betas, check_learning_rate, check_not_negative
from .ruled import RuledOptimizer

_MOMENTUM_BASE = 0.96  # the base of the momentum's schedule (Dozat, 2016)


class NAdam(RuledOptimizer):
    """NAdam (Dozat, 2016): Adam with Nesterov's momentum.

    Args:
        params: tensors or groups; see :class:`Optimizer`.
        lr: the learning rate.
        betas: how much of the averages of the gradient and of its square is kept at each step.
        eps: added to the root of the second average.
        weight_decay: this times the parameter is added to the gradient, or with ``decoupled_weight_decay``
            lr times this times the parameter is subtracted from the parameter.
        momentum_decay: how fast the momentum comes to its full value.
        maximize: climb instead of descending.
        foreach, capturable: have no effect. differentiable: record the step, so that gradients go through it.
    """

    rule = "nadam"

    def __init__(self, params, lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, momentum_decay=4e-3,
                 decoupled_weight_decay=False, *, foreach=None, maximize=False, capturable=False, differentiable=False):
        check_learning_rate(lr)
        check_not_negative("epsilon value", eps)
        check_betas(betas)
        check_not_negative("weight_decay value", weight_decay)
        check_not_negative("momentum_decay value", momentum_decay)
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay,
                                      momentum_decay=momentum_decay, decoupled_weight_decay=decoupled_weight_decay,
                                      maximize=maximize, foreach=foreach, capturable=capturable,
                                      differentiable=differentiable))

    _of_own_dtype = ("step", "mu_product")      # float32, in which it is computed: so a resumed run is the same

    def _remembered(self, group):
        return "exp_avg", "exp_avg_sq"

    def _start(self, parameter, group):
        return {"mu_product": ops.tensor(1.0).float(), **super()._start(parameter, group)}

    def _constants_of_all(self, group, states, lr):
        beta1, beta2 = group["betas"]
        found = []
        for state in states:
            step = state["step"].item() + 1
            momentum, next_momentum = (beta1 * (1 - 0.5 * _MOMENTUM_BASE ** (at * group["momentum_decay"]))
                                       for at in (step, step + 1))
            state["mu_product"] *= momentum
            product = state["mu_product"].item()
            found.append((1 - beta1, beta2, 1 - beta2**step, lr * (1 - momentum) / (1 - product),
                          lr * next_momentum / (1 - product * next_momentum)))
        return found
