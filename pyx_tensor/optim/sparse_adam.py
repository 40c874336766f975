"""Adam for sparse gradients."""
from ..ops import namespace as ops
from .optimizer import check_betas, check_learning_rate
from .tablewise import TablewiseOptimizer


class SparseAdam(TablewiseOptimizer):
    """:class:`Adam` for sparse gradients: only the rows that a gradient names change, and their averages.

    Args:
        params: dense tensors or groups; see :class:`Optimizer`.
        lr: the learning rate, positive.
        betas: how much of the averages of the gradient and of its square is kept at each step.
        eps: added to the root of the second average.
        maximize: climb instead of descending.
    """

    takes_complex = False

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, maximize=False):
        check_learning_rate(lr)
        if not 0.0 < lr:
            raise ValueError(f"Invalid learning rate: {lr}")
        if not 0.0 < eps:
            raise ValueError(f"Invalid epsilon value: {eps}")
        check_betas(betas)
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, maximize=maximize))
        for what, wrong, why in (("Sparse", lambda p: p.is_sparse, "requires dense parameter tensors"),
                                 ("Complex", lambda p: p.is_complex(), "does not support complex parameters")):
            found = [[i, j] for i, group in enumerate(self.param_groups) for j, p in enumerate(group["params"]) if wrong(p)]
            if found:
                raise ValueError(f"{what} params at indices {found}: SparseAdam {why}")

    def _step(self, group, params):
        for parameter in params:
            self._step_of(parameter, group)

    def _step_of(self, parameter, group):
        gradient, state = parameter.grad, self.state[parameter]
        if not gradient.is_sparse:
            raise RuntimeError("SparseAdam does not support dense gradients, please consider Adam instead")
        if not state:
            state.update(step=0, exp_avg=ops.zeros_like(parameter), exp_avg_sq=ops.zeros_like(parameter))
        state["step"] += 1
        gradient = gradient.coalesce()
        values = -gradient.values() if group["maximize"] else gradient.values()
        if values.numel() == 0:
            return
        at = tuple(gradient.indices().unbind(0))
        (beta1, beta2), step = group["betas"], state["step"]
        mean, square = state["exp_avg"][at].lerp_(values, 1 - beta1), state["exp_avg_sq"][at].lerp_(values.square(), 1 - beta2)
        state["exp_avg"][at], state["exp_avg_sq"][at] = mean, square
        size = float(group["lr"]) * (1 - beta2**step) ** 0.5 / (1 - beta1**step)
        parameter[at] = parameter[at].addcdiv_(mean, square.sqrt().add_(group["eps"]), value=-size)
