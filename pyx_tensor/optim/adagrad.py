"""Adagrad."""
from ..autograd import no_grad
from ..ops import namespace as ops
from .optimizer import check_learning_rate, check_not_negative, check_options
from .ruled import RuledOptimizer


class Adagrad(RuledOptimizer):
    """Adagrad (Duchi et al., 2011): the gradient divided by the root of the sum of all its squares.

    Args:
        params: tensors or groups; see :class:`Optimizer`.
        lr: the learning rate, which is divided by 1 + (step - 1) · ``lr_decay``.
        weight_decay: this times the parameter is added to the gradient.
        initial_accumulator_value: where the sums start.
        eps: added to the root.
        maximize: climb instead of descending.
        foreach, fused: have no effect. differentiable: record the step, so that gradients go through it.
    """

    rule = "adagrad"

    def __init__(self, params, lr=1e-2, lr_decay=0, weight_decay=0, initial_accumulator_value=0, eps=1e-10, foreach=None, *,
                 maximize=False, differentiable=False, fused=None):
        check_learning_rate(lr)
        check_not_negative("lr_decay value", lr_decay)
        check_not_negative("weight_decay value", weight_decay)
        check_not_negative("initial_accumulator_value value", initial_accumulator_value)
        check_not_negative("epsilon value", eps)
        check_options(foreach=foreach, fused=fused, differentiable=differentiable)
        super().__init__(params, dict(lr=lr, lr_decay=lr_decay, eps=eps, weight_decay=weight_decay,
                                      initial_accumulator_value=initial_accumulator_value, foreach=foreach,
                                      maximize=maximize, differentiable=differentiable, fused=fused))

    def add_param_group(self, param_group):
        """Add a group, and begin what is remembered of its tensors."""
        super().add_param_group(param_group)
        group = self.param_groups[-1]
        with no_grad():
            for parameter in group["params"]:
                self._begin(parameter, group)

    def share_memory(self):
        """Move the sums to shared memory, for processes that train together; each counts its own steps."""
        for group in self.param_groups:
            for parameter in group["params"]:
                self.state[parameter]["sum"].share_memory_()

    def _remembered(self, group):
        return ("sum",)

    def _start(self, parameter, group):
        return {"sum": ops.full_like(parameter, group["initial_accumulator_value"])}

    def _constants(self, group, step, lr):
        return (lr / (1 + (step - 1) * group["lr_decay"]),)

    def _sparse_step(self, parameter, group, lr):
        """The step where a coalesced gradient has places."""
        if any(some["weight_decay"] for some in self.param_groups):
            raise RuntimeError("weight_decay option is not compatible with sparse gradients")
        state = self.state[parameter] or self._begin(parameter, group)
        state["step"] += 1
        gradient = parameter.grad.coalesce()
        if group["maximize"]:
            gradient = -gradient
        total = state["sum"].add_(gradient.square())
        root = total.sparse_mask(gradient).values().sqrt().add_(group["eps"])
        size = self._constants(group, float(state["step"]), lr)[0]
        parameter.add_(ops.sparse_coo_tensor(gradient.indices(), gradient.values() / root, gradient.shape, is_coalesced=True), alpha=-size)
