"""The base of optimizers that change one tensor at a time, by tensor operations."""
from ..autograd import set_grad_enabled
from ..core.frontend import Tensor
from ..ops import namespace as ops
from .optimizer import Optimizer, evaluate_closure


class TensorwiseOptimizer(Optimizer):
    """Goes through all tensors that have a gradient; a subclass says how its state starts and what a step does.

    A complex tensor is treated as the real one of its parts, and so is what is remembered of it.
    """

    takes_complex = True
    takes_sparse = False

    def step(self, closure=None):
        """Make one step; returns the loss of ``closure``, if given."""
        loss = evaluate_closure(closure)
        for group in self.param_groups:
            with set_grad_enabled(bool(group.get("differentiable"))):
                for parameter in group["params"]:
                    if parameter.grad is not None:
                        self._check(parameter)
                        self._step(parameter, group)
        return loss

    def _check(self, parameter):
        name = type(self).__name__
        if parameter.grad.is_sparse and not self.takes_sparse:
            raise RuntimeError(f"{name} does not support sparse gradients")
        if parameter.is_complex() and not self.takes_complex:
            raise RuntimeError(f"{name} does not support complex parameters")

    def _step(self, parameter, group):
        state = self.state[parameter]
        values, gradient = _parts(parameter), _parts(parameter.grad)
        if not state:
            state["step"] = ops.tensor(0.0).float()
            for name, start in self._start(values, group).items():
                state[name] = ops.view_as_complex(start) if values is not parameter and start.shape == values.shape else start
        state["step"] += 1
        if group.get("maximize"):
            gradient = -gradient
        gradient = self._decay(values, gradient, group)
        remembered = state if values is parameter else {name: _parts(value) for name, value in state.items()}
        self._update(values, gradient, remembered, group, float(state["step"]), float(group["lr"]))

    def _decay(self, parameter, gradient, group):
        """Weight decay: the gradient with it, or where it is decoupled, the parameter changed."""
        decay = group.get("weight_decay")
        if decay and group.get("decoupled_weight_decay"):
            parameter.mul_(1 - float(group["lr"]) * decay)
        elif decay:
            gradient = gradient.add(parameter, alpha=decay)
        return gradient

    def _start(self, parameter, group):
        """What is remembered of a parameter before its first step, beside ``step``."""
        raise NotImplementedError(f"{type(self).__name__} is missing the method _start")

    def _update(self, parameter, gradient, state, group, step, lr):
        """Change ``parameter`` and the tensors of ``state``; ``step`` counts from 1, weight decay is in the gradient."""
        raise NotImplementedError(f"{type(self).__name__} is missing the method _update")


def _parts(value):
    """A complex tensor as the view of its real and imaginary parts; anything else as it is."""
    return ops.view_as_real(value) if isinstance(value, Tensor) and value.is_complex() else value
