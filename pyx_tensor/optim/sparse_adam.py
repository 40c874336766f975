"""Adam for sparse gradients."""
from ..ops import namespace as ops
from ..ops.optim import sparse_adam_step_
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
        gradients = [parameter.grad for parameter in params]
        if not all(gradient.is_sparse for gradient in gradients):
            raise RuntimeError("SparseAdam does not support dense gradients, please consider Adam instead")
        states = [self.state[parameter] or self._start(parameter) for parameter in params]
        beta1, beta2 = group["betas"]
        sparse_adam_step_(
            params, [gradient._indices() for gradient in gradients], [gradient._values() for gradient in gradients],
            [state["exp_avg"] for state in states], [state["exp_avg_sq"] for state in states], [state["step"] + 1 for state in states],
            lr=float(group["lr"]), beta1=float(beta1), beta2=float(beta2), eps=group["eps"], maximize=group["maximize"])
        for state in states:
            state["step"] += 1

    def _start(self, parameter):
        """The state of a parameter before its first step."""
        state = self.state[parameter]
        state.update(step=0, exp_avg=ops.zeros_like(parameter), exp_avg_sq=ops.zeros_like(parameter))
        return state
