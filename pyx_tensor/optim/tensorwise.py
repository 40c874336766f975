"""The base of optimizers that change one tensor at a time, by tensor operations."""
from ..autograd import no_grad
from ..ops import namespace as ops
from .optimizer import Optimizer, evaluate_closure


class TensorwiseOptimizer(Optimizer):
    """Goes through all tensors that have a gradient; a subclass says how its state starts and what a step does."""

    takes_sparse, takes_dense = False, True      # which gradients the subclass can use

    def step(self, closure=None):
        """Make one step; returns the loss of ``closure``, if given."""
        loss = evaluate_closure(closure)
        with no_grad():
            for group in self.param_groups:
                for parameter in group["params"]:
                    if parameter.grad is not None:
                        self._step(parameter, group)
        return loss

    def _check_layout(self, gradient):
        name = type(self).__name__
        if gradient.is_sparse and not self.takes_sparse:
            raise RuntimeError(f"{name} does not support sparse gradients")
        if not (gradient.is_sparse or self.takes_dense):
            raise RuntimeError(f"{name} does not support dense gradients, please consider Adam instead")

    def _step(self, parameter, group):
        self._check_layout(parameter.grad)
        state = self.state[parameter]
        if not state:
            state.update(step=ops.tensor(0.0).float(), **self._start(parameter, group))
        state["step"] += 1
        gradient = -parameter.grad if group["maximize"] else parameter.grad
        decay = group.get("weight_decay")
        if decay and group.get("decoupled_weight_decay"):
            parameter.mul_(1 - float(group["lr"]) * decay)
        elif decay:
            gradient = gradient.add(parameter, alpha=decay)
        self._update(parameter, gradient, state, group, float(state["step"]), float(group["lr"]))

    def _start(self, parameter, group):
        """What is remembered of a parameter before its first step, beside ``step``."""
        raise NotImplementedError(f"{type(self).__name__} is missing the method _start")

    def _update(self, parameter, gradient, state, group, step, lr):
        """Change ``parameter`` and ``state``; ``step`` counts from 1, weight decay is in the gradient."""
        raise NotImplementedError(f"{type(self).__name__} is missing the method _update")
