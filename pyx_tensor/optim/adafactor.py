"""Adafactor."""
from ..core.typeinfo import finfo
from ..ops import namespace as ops
from .optimizer import check_learning_rate
from .tensorwise import TensorwiseOptimizer


def _root_mean_square(tensor):
    return (tensor * tensor).mean().item() ** 0.5


class Adafactor(TensorwiseOptimizer):
    """Adafactor (Shazeer, Stern, 2018): of a matrix's squared gradients only the averages of rows and columns are kept.

    The step is relative to the parameter: its size is min(lr, 1 / √step) times the root mean square of the parameter.

    Args:
        params: tensors or groups; see :class:`Optimizer`.
        lr: bound of the relative step size.
        beta2_decay: the averages keep 1 - step ** beta2_decay.
        eps: two numbers: the least squared gradient (None: the square of the dtype's ``eps``), and the least root mean square.
        d: the update's root mean square is cut to this.
        weight_decay: lr times this times the parameter is subtracted from the parameter.
        maximize: climb instead of descending.
        foreach: has no effect.
    """

    takes_complex = False

    def __init__(self, params, lr=1e-2, beta2_decay=-0.8, eps=(None, 1e-3), d=1.0, weight_decay=0.0, *, foreach=None,
                 maximize=False):
        check_learning_rate(lr, "Learning rate should be >= 0 but is")
        if not beta2_decay <= 0.0:
            raise ValueError(f"beta2_decay should be <= 0 but is: {beta2_decay}")
        for place, value in enumerate(eps, 1):
            if not (place == 1 and value is None) and not value >= 0.0:
                raise ValueError(f"epsilon{place} should be >= 0 but is: {value}")
        if not d >= 1.0:
            raise ValueError(f"Clipping threshold d should be >= 1 but is: {d}")
        if not weight_decay >= 0.0:
            raise ValueError(f"weight_decay should be >= 0 but is: {weight_decay}")
        super().__init__(params, dict(lr=lr, beta2_decay=beta2_decay, eps=eps, d=d, weight_decay=weight_decay, foreach=foreach,
                                      maximize=maximize))

    def __setstate__(self, state):
        super().__setstate__(state)
        for group in self.param_groups:
            group.setdefault("foreach", None)

    def _start(self, parameter, group):
        if parameter.ndim < 2:
            return {"variance": ops.zeros_like(parameter)}
        *rest, rows, columns = parameter.shape
        return {"row_var": parameter.new_zeros((*rest, rows, 1)), "col_var": parameter.new_zeros((*rest, 1, columns))}

    def _decay(self, parameter, gradient, group):
        return gradient              # the step is relative to the parameter before it decays

    def _update(self, parameter, gradient, state, group, step, lr):
        least_square, least_size = group["eps"]
        if least_square is None:
            least_square = finfo(parameter.dtype).eps
        new = step ** group["beta2_decay"]
        size = max(least_size, _root_mean_square(parameter)) * min(lr, step**-0.5)
        if group["weight_decay"]:
            parameter.mul_(1 - lr * group["weight_decay"])
        squares = gradient * gradient
        if parameter.ndim < 2:
            variance = state["variance"].lerp_(squares, new)
        else:
            rows = state["row_var"].lerp_(squares.mean(-1, keepdim=True), new)
            columns = state["col_var"].lerp_(squares.mean(-2, keepdim=True), new)
            variance = (rows @ columns).div_(rows.mean(-2, keepdim=True).clamp_(min=least_square))
        update = variance.clamp(min=least_square * least_square).rsqrt_().mul_(gradient)
        parameter.add_(update, alpha=-size / max(1.0, _root_mean_square(update) / group["d"]))
