"""The base of optimizers whose step is an operation of the table, over all tensors at once."""
from ..autograd import set_grad_enabled
from ..core.operands import by_device_and_dtype
from .optimizer import Optimizer, evaluate_closure


class TablewiseOptimizer(Optimizer):
    """Makes one call for all tensors of a group on one device and of one dtype; a subclass says which operation."""

    takes_complex = True
    takes_sparse = True       # or says itself what it doesn't take

    def step(self, closure=None):
        """Make one step; returns the loss of ``closure``, if given."""
        loss = evaluate_closure(closure)
        for group in self.param_groups:
            with set_grad_enabled(bool(group.get("differentiable"))):
                for params in by_device_and_dtype(group["params"]):
                    self._check(params)
                    self._step(group, params)
        return loss

    def _check(self, params):
        if not self.takes_sparse and any(parameter.grad.is_sparse for parameter in params):
            raise RuntimeError(f"{type(self).__name__} does not support sparse gradients")
        if not self.takes_complex and params[0].is_complex():
            raise RuntimeError(f"{type(self).__name__} does not support complex parameters")

    def _step(self, group, params):
        """Change ``params``, which have gradients, and what is remembered of them."""
        raise NotImplementedError(f"{type(self).__name__} is missing the method _step")
