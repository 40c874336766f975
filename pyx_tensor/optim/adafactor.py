"""Adafactor."""
from ..core.typeinfo import finfo
from ..ops import namespace as ops
from ..ops.optim import adafactor_step_
from .optimizer import check_learning_rate
from .tablewise import TablewiseOptimizer


class Adafactor(TablewiseOptimizer):
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

    takes_complex = takes_sparse = False

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

    def _step(self, group, params):
        for parameter in params:
            if not self.state[parameter]:
                self._start(parameter)
        for several, names in (([p for p in params if p.ndim > 1], ("row_var", "col_var")), ([p for p in params if p.ndim < 2], ("variance",))):
            if several:
                self._step_of(group, several, *names)

    def _step_of(self, group, params, first, second=None):
        """The step of tensors of which the entries `first` and `second` are remembered."""
        states = [self.state[parameter] for parameter in params]
        least_square, least_size = group["eps"]
        adafactor_step_(
            params, [parameter.grad for parameter in params], [state[first] for state in states],
            [state[second] for state in states] if second else [], [state["step"] for state in states], lr=float(group["lr"]),
            beta2_decay=group["beta2_decay"], least_square=finfo(params[0].dtype).eps if least_square is None else least_square,
            least_size=least_size, most=group["d"], weight_decay=group["weight_decay"], maximize=group["maximize"])

    def _start(self, parameter):
        """The state of a parameter before its first step."""
        state = self.state[parameter]
        state["step"] = ops.tensor(0.0).float()
        if parameter.ndim < 2:
            state["variance"] = ops.zeros_like(parameter)
        else:
            *rest, rows, columns = parameter.shape
            state.update(row_var=parameter.new_zeros((*rest, rows, 1)), col_var=parameter.new_zeros((*rest, 1, columns)))
