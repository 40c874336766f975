"""Stochastic gradient descent."""
from ..ops import namespace as ops
from ..ops.optim import sgd_step_
from .optimizer import check_learning_rate, check_not_negative, check_options
from .tablewise import TablewiseOptimizer


class SGD(TablewiseOptimizer):
    """Stochastic gradient descent with momentum (Sutskever et al., 2013).

    A step makes the buffer b = momentum · b + (1 - dampening) · g (the gradient alone at first) and the parameter
    p - lr · b; with ``nesterov`` p - lr · (g + momentum · b).

    Args:
        params: tensors or groups; see :class:`Optimizer`.
        lr: the learning rate, a number or a tensor of one element.
        momentum, dampening: see above.
        weight_decay: this times the parameter is added to the gradient.
        nesterov: Nesterov's momentum.
        maximize: climb instead of descending.
        foreach, fused: have no effect; a step is one call for each group, device and dtype anyway.
        differentiable: record the step, so that gradients go through it.

    >>> weight = torch.ones(1, requires_grad=True)
    >>> optimizer = torch.optim.SGD([weight], lr=0.1)
    >>> (3 * weight).sum().backward()
    >>> optimizer.step()
    >>> weight
    tensor([0.7000], requires_grad=True)
    """

    def __init__(self, params, lr=1e-3, momentum=0, dampening=0, weight_decay=0, nesterov=False, *, maximize=False,
                 foreach=None, differentiable=False, fused=None):
        check_learning_rate(lr)
        check_not_negative("momentum value", momentum)
        check_not_negative("weight_decay value", weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        check_options(foreach=foreach, fused=fused, differentiable=differentiable)
        super().__init__(params, dict(lr=lr, momentum=momentum, dampening=dampening, weight_decay=weight_decay,
                                      nesterov=nesterov, maximize=maximize, foreach=foreach,
                                      differentiable=differentiable, fused=fused))

    def __setstate__(self, state):
        super().__setstate__(state)
        for group in self.param_groups:
            for name in ("nesterov", "maximize", "differentiable"):
                group.setdefault(name, False)
            group.setdefault("foreach", None)
            group.setdefault("fused", None)

    def _step(self, group, params):
        buffers, first = self._momentum_buffers(params) if group["momentum"] else ([], [False] * len(params))
        sgd_step_(
            params, [parameter.grad for parameter in params], buffers, lr=float(group["lr"]),
            momentum=group["momentum"], dampening=group["dampening"], weight_decay=group["weight_decay"],
            nesterov=group["nesterov"], maximize=group["maximize"], first=first)

    def _momentum_buffers(self, params):
        """The buffers, and which of them have no content yet."""
        buffers, first = [], []
        for parameter in params:
            state = self.state[parameter]
            buffer = state.get("momentum_buffer")
            first.append(buffer is None)
            if buffer is None:
                buffer = state["momentum_buffer"] = ops.empty_like(parameter.grad)      # sparse where that is
            buffers.append(buffer)
        return buffers, first
