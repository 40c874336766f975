"""Adam and AdamW."""
from ..ops import namespace as ops
from ..ops.optim import adam_step_
from .optimizer import check_betas, check_learning_rate, check_not_negative, check_options
from .tablewise import TablewiseOptimizer


class Adam(TablewiseOptimizer):
    """Adam (Kingma, Ba, 2014): steps scaled by running averages of the gradient and its square.

    Args:
        params: tensors or groups; see :class:`Optimizer`.
        lr: the learning rate, a number or a tensor of one element.
        betas: how much of the two averages is kept at each step.
        eps: added to the root of the second average.
        weight_decay: this times the parameter is added to the gradient, or with ``decoupled_weight_decay``
            lr times this times the parameter is subtracted from the parameter (Loshchilov, Hutter, 2017).
        amsgrad: scale by the largest second average so far (Reddi et al., 2018).
        maximize: climb instead of descending.
        foreach, fused: have no effect; a step is one call for each group, device and dtype anyway.
        capturable: count steps on the parameters' device, so that a CUDA graph of a step counts them too.
        differentiable: record the step, so that gradients go through it.

    >>> weight = torch.ones(1, requires_grad=True)
    >>> optimizer = torch.optim.Adam([weight], lr=0.1)
    >>> (3 * weight).sum().backward()
    >>> optimizer.step()
    >>> weight
    tensor([0.9000], requires_grad=True)
    """

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, amsgrad=False, *, foreach=None,
                 maximize=False, capturable=False, differentiable=False, fused=None, decoupled_weight_decay=False):
        check_learning_rate(lr)
        check_not_negative("epsilon value", eps)
        check_betas(betas)
        check_not_negative("weight_decay value", weight_decay)
        check_options(foreach=foreach, fused=fused, differentiable=differentiable)
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, amsgrad=amsgrad,
                                      maximize=maximize, foreach=foreach, capturable=capturable,
                                      differentiable=differentiable, fused=fused,
                                      decoupled_weight_decay=decoupled_weight_decay))

    def __setstate__(self, state):
        super().__setstate__(state)
        for group in self.param_groups:
            for name in ("amsgrad", "maximize", "capturable", "differentiable", "decoupled_weight_decay"):
                group.setdefault(name, False)
            group.setdefault("foreach", None)
            group.setdefault("fused", None)
        for entry in self.state.values():
            if isinstance(entry, dict) and "step" in entry:
                entry["step"] = ops.as_tensor(entry["step"]).float()

    def _step(self, group, params):
        amsgrad = group["amsgrad"]
        states = [self.state[parameter] or self._start(parameter, group) for parameter in params]
        beta1, beta2 = group["betas"]
        adam_step_(
            params, [parameter.grad for parameter in params], [state["exp_avg"] for state in states],
            [state["exp_avg_sq"] for state in states], [state["max_exp_avg_sq"] for state in states] if amsgrad else [],
            [state["step"] for state in states], lr=float(group["lr"]), beta1=float(beta1), beta2=float(beta2),
            eps=group["eps"], weight_decay=group["weight_decay"], decoupled=group["decoupled_weight_decay"],
            amsgrad=amsgrad, maximize=group["maximize"])

    def _start(self, parameter, group):
        """The state of a parameter before its first step."""
        state = self.state[parameter]
        state["step"] = ops.tensor(0.0, device=parameter.device if group["capturable"] else "cpu").float()
        for name in ("exp_avg", "exp_avg_sq", *(("max_exp_avg_sq",) if group["amsgrad"] else ())):
            state[name] = ops.zeros_like(parameter)
        return state


class AdamW(Adam):
    """:class:`Adam` with ``decoupled_weight_decay=True`` and a decay of 0.01 by default."""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=1e-2, amsgrad=False, *,
                 maximize=False, foreach=None, capturable=False, differentiable=False, fused=None):
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, foreach=foreach, maximize=maximize,
                         capturable=capturable, differentiable=differentiable, fused=fused,
                         decoupled_weight_decay=True)

    def __setstate__(self, state):
        super().__setstate__(state)
        for group in self.param_groups:
            group["decoupled_weight_decay"] = True
