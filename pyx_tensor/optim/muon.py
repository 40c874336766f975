"""Muon."""
import math

from ..core.dtype import by_name
from ..ops import namespace as ops
from .optimizer import check_learning_rate
from .tensorwise import TensorwiseOptimizer

_MOST_STEPS = 100     # of Newton and Schulz: so many are a mistake
_ADJUST = {
    "original": lambda rows, columns: math.sqrt(max(1, rows / columns)),
    "match_rms_adamw": lambda rows, columns: 0.2 * math.sqrt(max(rows, columns)),
}


def _orthogonalized(matrix, coefficients, steps, eps):
    """The orthogonal matrix next to one, nearly, by the iteration of Newton and Schulz in bfloat16."""
    if steps >= _MOST_STEPS:
        raise ValueError(f"Number of steps must be less than {_MOST_STEPS} for computational efficiency, got ns_steps={steps}")
    if len(coefficients) != 3:
        raise ValueError(f"ns_coefficients must be three numbers, got {coefficients}")
    a, b, c = coefficients
    x = _rounded(matrix)
    tall = x.shape[0] > x.shape[1]
    if tall:
        x = x.t()
    x = _rounded(x / _rounded(x.norm()).clamp(min=eps))
    for _ in range(steps):
        gram = _rounded(x @ x.t())
        polynomial = _rounded((gram * b).add_(gram @ gram, alpha=c))
        x = _rounded((x * a).add_(polynomial @ x))
    return x.t() if tall else x


def _rounded(matrix):
    """A float32 matrix of bfloat16's values: products of them are computed in float32 anyway, and rounded once."""
    return matrix.to(by_name["bfloat16"]).to(by_name["float32"])


class Muon(TensorwiseOptimizer):
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

    takes_complex = False

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

    def _step(self, parameter, group):
        state, gradient, lr = self.state[parameter], parameter.grad, float(group["lr"])
        if "momentum_buffer" not in state:
            state["momentum_buffer"] = ops.zeros_like(gradient)
        average = state["momentum_buffer"].lerp_(gradient, 1 - group["momentum"])
        direction = gradient.lerp(average, group["momentum"]) if group["nesterov"] else average
        direction = _orthogonalized(direction, group["ns_coefficients"], group["ns_steps"], group["eps"])
        rate = lr * _ADJUST[group["adjust_lr_fn"] or "original"](*parameter.shape)
        parameter.mul_(1 - lr * group["weight_decay"]).add_(direction.to(parameter.dtype), alpha=-rate)
