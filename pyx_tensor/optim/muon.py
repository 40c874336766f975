"""Muon."""
import math

from ..ops import namespace as ops
from ..ops.optim import muon_step_
from .optimizer import check_learning_rate
from .tablewise import TablewiseOptimizer

_MOST_STEPS = 100     # of Newton and Schulz: so many are a mistake
_ADJUST = {
    "original": lambda rows, columns: math.sqrt(max(1, rows / columns)),
    "match_rms_adamw": lambda rows, columns: 0.2 * math.sqrt(max(rows, columns)),
}


class Muon(TablewiseOptimizer):
    """Muon (Jordan et al., 2024), for matrices: the momentum, orthogonalized.

    Args:
        params: tensors of two dims, or groups; see :class:`Optimizer`.
        lr: the learning rate.
        weight_decay: lr times this times the parameter is subtracted from the parameter.
        momentum: how much of the average gradient is kept at each step.
        nesterov: Nesterov's momentum.
        ns_coefficients, ns_steps, eps: of the iteration that orthogonalizes: its polynomial, how often, and the least norm.
        adjust_lr_fn: how the rate follows a matrix's shape: ``"original"`` (None): √max(1, rows / columns), or
            ``"match_rms_adamw"``: 0.2 √max(rows, columns).
    """

    takes_complex = takes_sparse = False

    def __init__(self, params, lr=1e-3, weight_decay=0.1, momentum=0.95, nesterov=True, ns_coefficients=(3.4445, -4.775, 2.0315),
                 eps=1e-7, ns_steps=5, adjust_lr_fn=None):
        check_learning_rate(lr, "Learning rate should be >= 0 but is")
        if not momentum >= 0.0:
            raise ValueError(f"momentum should be >= 0 but is: {momentum}")
        if not weight_decay >= 0.0:
            raise ValueError(f"weight decay should be >= 0 but is: {weight_decay}")
        if adjust_lr_fn is not None and adjust_lr_fn not in _ADJUST:
            raise ValueError(f"Adjust learning rate function {adjust_lr_fn} is not supported")
        super().__init__(params, dict(lr=lr, weight_decay=weight_decay, momentum=momentum, nesterov=nesterov,
                                      ns_coefficients=ns_coefficients, eps=eps, ns_steps=ns_steps, adjust_lr_fn=adjust_lr_fn))
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.ndim != 2:
                    raise ValueError(f"Muon only supports 2D parameters whereas we found a parameter with size: {parameter.size()}")

    def _step(self, group, params):
        steps, coefficients = group["ns_steps"], group["ns_coefficients"]
        if steps >= _MOST_STEPS:
            raise ValueError(f"Number of steps must be less than {_MOST_STEPS} for computational efficiency, got ns_steps={steps}")
        if len(coefficients) != 3:
            raise ValueError(f"ns_coefficients must be three numbers, got {coefficients}")
        adjust = _ADJUST[group["adjust_lr_fn"] or "original"]
        muon_step_(
            params, [parameter.grad for parameter in params], [self._momentum_buffer(parameter) for parameter in params], lr=float(group["lr"]),
            momentum=group["momentum"], nesterov=group["nesterov"], weight_decay=group["weight_decay"], coefficients=coefficients, steps=steps,
            eps=group["eps"], factors=[adjust(*parameter.shape) for parameter in params])

    def _momentum_buffer(self, parameter):
        state = self.state[parameter]
        if "momentum_buffer" not in state:
            state["momentum_buffer"] = ops.zeros_like(parameter.grad)
        return state["momentum_buffer"]
