"""Adam for sparse gradients."""
from ..ops import namespace as ops
from .optimizer import check_betas
from .tensorwise import TensorwiseOptimizer


class SparseAdam(TensorwiseOptimizer):
    """Adam that changes only the places a sparse gradient lists, and remembers averages of those alone.

    Args:
        params: dense tensors or groups, whose gradients are sparse; see :class:`Optimizer`.
        lr: the learning rate.
        betas: how much of the two averages is kept at each step that lists a place.
        eps: added to the root of the second average.
        maximize: climb instead of descending.

    Raises RuntimeError at a step where a gradient is dense.

    >>> table = nn.Embedding(4, 2, sparse=True)
    >>> optimizer = torch.optim.SparseAdam(table.parameters(), lr=0.1)
    >>> before = table.weight.detach().clone()
    >>> table(torch.tensor([1, 3])).sum().backward()
    >>> optimizer.step()
    >>> (table.weight.detach() - before)[:, 0]
    tensor([ 0.0000, -0.1000,  0.0000, -0.1000])
    """

    takes_sparse, takes_dense = True, False

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, maximize=False):
        if not 0 < lr:
            raise ValueError(f"Invalid learning rate: {lr}")
        if not 0 < eps:
            raise ValueError(f"Invalid epsilon value: {eps}")
        check_betas(betas)
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, maximize=maximize))
        sparse = [(g, i) for g, group in enumerate(self.param_groups) for i, p in enumerate(group["params"]) if p.is_sparse]
        if sparse:
            raise ValueError(f"Sparse params at indices {sparse}: SparseAdam requires dense parameter tensors")

    def _start(self, parameter, group):
        return {"exp_avg": ops.zeros_like(parameter), "exp_avg_sq": ops.zeros_like(parameter)}

    def _update(self, parameter, gradient, state, group, step, lr):
        gradient = gradient.coalesce()
        values, (beta1, beta2) = gradient.values(), group["betas"]
        mean = _moved(state["exp_avg"], gradient, values, 1 - beta1)
        square = _moved(state["exp_avg_sq"], gradient, values * values, 1 - beta2)
        size = lr * (1 - beta2 ** step) ** 0.5 / (1 - beta1 ** step)
        parameter.add_(_alike(gradient, mean / (square.sqrt() + group["eps"])), alpha=-size)


def _alike(gradient, values):
    """A sparse tensor with the places of the gradient."""
    return ops.sparse_coo_tensor(gradient.indices(), values, gradient.shape, is_coalesced=True)


def _moved(average, gradient, values, share):
    """A running average, moved by `share` towards values at the gradient's places; returns what it is there."""
    before = average.sparse_mask(gradient).values()
    change = (values - before) * share
    average.add_(_alike(gradient, change))
    return before + change
