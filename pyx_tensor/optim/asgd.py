"""Averaged stochastic gradient descent."""
from ..ops import namespace as ops
from .optimizer import check_learning_rate, check_not_negative
from .ruled import RuledOptimizer


class ASGD(RuledOptimizer):
    """Averaged gradient descent (Polyak, Juditsky, 1992): ``state[p]["ax"]`` is the average of the parameter.

    Args:
        params: tensors or groups; see :class:`Optimizer`.
        lr: the learning rate, which is divided by (1 + lambd · lr · step) ** alpha.
        lambd: decay of the parameters. alpha: see above.
        t0: the step from which on the average is taken; before, it is the parameter.
        weight_decay: this times the parameter is added to the gradient.
        maximize: climb instead of descending.
        foreach, capturable: have no effect. differentiable: record the step, so that gradients go through it.
    """

    rule = "asgd"
    _of_own_dtype = ("step", "eta", "mu")       # float32, in which they are computed: so a resumed run is the same

    def __init__(self, params, lr=1e-2, lambd=1e-4, alpha=0.75, t0=1e6, weight_decay=0, foreach=None, maximize=False,
                 differentiable=False, capturable=False):
        check_learning_rate(lr)
        check_not_negative("weight_decay value", weight_decay)
        super().__init__(params, dict(lr=lr, lambd=lambd, alpha=alpha, t0=t0, weight_decay=weight_decay, foreach=foreach,
                                      maximize=maximize, differentiable=differentiable, capturable=capturable))

    def _remembered(self, group):
        return ("ax",)

    def _start(self, parameter, group):
        return {"eta": ops.tensor(float(group["lr"])).float(), "mu": ops.tensor(1.0).float(), **super()._start(parameter, group)}

    def _constants_of_all(self, group, states, lr):
        found = []
        for state in states:
            step, eta = state["step"].item() + 1, state["eta"].item()
            found.append((1 - group["lambd"] * eta, eta, state["mu"].item()))
            state["eta"].fill_(lr / (1 + group["lambd"] * lr * step) ** group["alpha"])
            if step > group["t0"]:
                state["mu"].fill_(1 / max(1, step - group["t0"]))
        return found
