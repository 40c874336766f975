"""Gradients of and by sparse tensors, tables of rows, optimizers that take sparse gradients."""
import numpy as np
import pytest

import pyx_tensor as torch
from pyx_tensor import nn
from pyx_tensor.autograd import gradcheck, gradgradcheck
from sparse_samples import DENSE, VALUES, is_dense, is_sparse, made_from, sample


OF_VALUES = {
    "to_dense": lambda s, d: s.to_dense() ** 2, "sparse.mm": lambda s, d: torch.sparse.mm(s, d.t()), "mm": lambda s, d: s @ d.t(),
    "dense @ sparse": lambda s, d: d @ s.t(), "sparse @ sparse": lambda s, d: torch.sparse.mm(s, s.t()).to_dense(), "mv": lambda s, d: s @ d[0],
    "sum": lambda s, d: s.sum() ** 2, "sparse.sum": lambda s, d: torch.sparse.sum(s, 1).to_dense() ** 2, "values": lambda s, d: s.coalesce().values() ** 2,
    "dense + sparse": lambda s, d: (d + s) ** 2, "sparse + sparse": lambda s, d: (s + s.coalesce()).to_dense() ** 2, "neg": lambda s, d: (-s).to_dense() ** 2,
    "mul": lambda s, d: (s * s).to_dense(), "mul dense": lambda s, d: (s * d).to_dense(), "mul number": lambda s, d: (s * 3).to_dense() ** 2,
    "div": lambda s, d: (s / 3).to_dense() ** 2, "pow": lambda s, d: (s ** 3).to_dense(), "sin": lambda s, d: s.sin().to_dense(),
    "softmax": lambda s, d: torch.sparse.softmax(s, 1).to_dense(), "log_softmax": lambda s, d: torch.sparse.log_softmax(s, 0).values(),
    "t": lambda s, d: s.t().to_dense() ** 2, "select": lambda s, d: s[0].to_dense() ** 2, "element": lambda s, d: s[0, 2] ** 2,
    "index_select": lambda s, d: s.index_select(1, torch.tensor([2, 2, 0])).to_dense() ** 2, "cat": lambda s, d: torch.cat([s, s], 1).to_dense() ** 2,
    "stack": lambda s, d: torch.stack([s, s]).to_dense() ** 2, "hspmm": lambda s, d: torch.hspmm(s, d.t()).to_dense(), "smm": lambda s, d: torch.smm(s, d.t()).to_dense(),
    "addmm": lambda s, d: torch.addmm(d[:, :2], s, d.t()), "sparse_mask": lambda s, d: (d ** 2).sparse_mask(s).coalesce().values() + s.coalesce().values(),
    "dtype": lambda s, d: s.to(torch.complex128).to_dense().real ** 2, "norm": lambda s, d: torch.norm(s), "clone": lambda s, d: s.clone().to_dense() ** 2,
}


@pytest.mark.parametrize("name", OF_VALUES)
def test_gradient_of_values(name):
    v = torch.tensor(VALUES, dtype=torch.float64, requires_grad=True)
    d = torch.tensor([[1.0, 2, 3], [4, 5, 6]], dtype=torch.float64, requires_grad=True)
    if name == "sparse_mask":
        assert gradcheck(lambda v, d: OF_VALUES[name](made_from(v), d), (v, d)) and gradgradcheck(lambda v, d: OF_VALUES[name](made_from(v), d), (v, d))
        return
    assert gradcheck(lambda v, d: OF_VALUES[name](made_from(v), d) + 0 * d.sum(), (v, d))
    assert gradgradcheck(lambda v, d: OF_VALUES[name](made_from(v), d) + 0 * d.sum(), (v, d))


def test_gradients_through_to_sparse():
    x = torch.tensor(DENSE, requires_grad=True)
    (x.to_sparse().to_dense() ** 2).sum().backward()
    is_dense(x.grad, 2 * DENSE)
    x.grad = None
    torch.sparse.mm(x.to_sparse(), torch.ones(3, 2, dtype=torch.float64)).sum().backward()
    is_dense(x.grad, 2 * (DENSE != 0))


@pytest.mark.parametrize("coalesce", (False, True))
def test_gradient_of_a_sparse_leaf(coalesce):
    def leaf():
        s = sample(dtype=torch.float64)
        return (s.coalesce() if coalesce else s).detach().requires_grad_()
    d = torch.tensor([[0.0, 1], [2, 3], [4, 5]], dtype=torch.float64)
    s = leaf()
    torch.sparse.mm(s, d).sum().backward()
    is_sparse(s.grad, [[0, 0, 9], [1, 0, 9]])
    assert s.is_leaf and s.grad_fn is None and s.grad.is_coalesced()
    s.to_dense().sum().backward()
    is_sparse(s.grad, [[0, 0, 10], [2, 0, 10]])
    s.grad = None
    (s @ d).sum().backward()
    is_dense(s.grad, [[1, 5, 9], [1, 5, 9]])
    s.to_dense().sum().backward()
    is_dense(s.grad, [[1, 5, 10], [2, 5, 10]])
    s = leaf()
    got, = torch.autograd.grad((torch.ones(2, 3, dtype=torch.float64) + s).sum(), s)
    is_dense(got, np.ones((2, 3)))
    got, = torch.autograd.grad(s.to_dense(masked_grad=False).sum(), s)
    is_dense(got, np.ones((2, 3)))
    seen = []
    s.register_hook(seen.append)
    product = s * 2
    assert not product.is_leaf and product.requires_grad and "Backward" in repr(product)
    product.to_dense().sum().backward()
    is_sparse(seen[0], [[0, 0, 2], [2, 0, 2]])
    with pytest.raises(RuntimeError, match="leaf Variable"):
        s.mul_(2)
    with torch.no_grad():
        s.mul_(2)
    assert s.requires_grad and not s.detach().requires_grad
    with pytest.raises(RuntimeError, match="implicitly created only for scalar"):
        s.backward()


# --- tables of rows and optimizers --------------------------------------------------------------------------------
def test_embedding():
    layer = nn.Embedding(5, 2, sparse=True)
    layer(torch.tensor([1, 1, 3])).sum().backward()
    assert layer.weight.grad._nnz() == 3 and layer.weight.grad.sparse_dim() == 1
    is_sparse(layer.weight.grad, [[0, 0], [2, 2], [0, 0], [1, 1], [0, 0]])
    layer(torch.tensor([[0], [1]])).sum().backward()
    is_sparse(layer.weight.grad, [[1, 1], [3, 3], [0, 0], [1, 1], [0, 0]])
    (layer.weight * 1).sum().backward()
    is_dense(layer.weight.grad, [[2, 2], [4, 4], [1, 1], [2, 2], [1, 1]])
    same = layer.weight.grad
    layer(torch.tensor([0])).sum().backward()
    assert layer.weight.grad is same
    is_dense(same, [[3, 3], [4, 4], [1, 1], [2, 2], [1, 1]])
    padded = nn.Embedding(5, 2, padding_idx=1, sparse=True)
    padded(torch.tensor([1, 2])).sum().backward()
    is_sparse(padded.weight.grad, [[0, 0], [0, 0], [1, 1], [0, 0], [0, 0]])
    weight = torch.ones(3, 2, requires_grad=True)
    (nn.functional.embedding(torch.tensor([1]), weight, sparse=True).sum() + (weight * 2).sum()).backward()
    is_dense(weight.grad, [[2, 2], [3, 3], [2, 2]])
    with pytest.raises(RuntimeError, match="scale_grad_by_freq"):
        nn.Embedding(3, 2, sparse=True, scale_grad_by_freq=True)(torch.tensor([0])).sum().backward()
    grad, = torch.autograd.grad((nn.functional.embedding(torch.tensor([1]), weight, sparse=True) ** 2).sum(), weight, create_graph=True)
    is_sparse(grad, [[0, 0], [2, 2], [0, 0]])
    grad.to_dense().sum().backward()


def trained(optimizer, sparse, **options):
    weight = torch.tensor(np.random.default_rng(0).standard_normal((4, 2)), requires_grad=True)
    steps = getattr(torch.optim, optimizer)([weight], lr=0.1, **options)
    for picked in ([1, 1, 2], [2, 0], [1]):
        steps.zero_grad()
        (nn.functional.embedding(torch.tensor(picked), weight, sparse=sparse) ** 2).sum().backward()
        steps.step()
    return weight.detach().numpy()


@pytest.mark.parametrize("optimizer, options", [("SGD", {}), ("SGD", dict(momentum=0.9)), ("SGD", dict(momentum=0.9, nesterov=True)), ("SGD", dict(maximize=True)),
                                                ("Adagrad", {}), ("Adagrad", dict(lr_decay=0.1, initial_accumulator_value=0.5))])
def test_optimizers_take_sparse_gradients(optimizer, options):
    np.testing.assert_allclose(trained(optimizer, True, **options), trained(optimizer, False, **options), rtol=1e-12)


def test_sparse_adam():
    """Its first step on a place is Adam's; later ones pass over places that the gradient doesn't list."""
    weight = torch.ones(3, 1, requires_grad=True)
    steps = torch.optim.SparseAdam([weight], lr=0.1)
    for rows, expected in (([0], [0.9, 1, 1]), ([1], [0.9, 1 - 0.1 * (0.1 / 0.19) / np.sqrt(0.001 / 0.001999), 1])):
        steps.zero_grad()
        nn.functional.embedding(torch.tensor(rows), weight, sparse=True).sum().backward()
        steps.step()
        np.testing.assert_allclose(weight.detach().numpy()[:, 0], expected, rtol=1e-6)
    weight.grad = torch.ones(3, 1)
    with pytest.raises(RuntimeError, match="dense gradients, please consider Adam"):
        steps.step()
    for wrong in (dict(lr=0), dict(eps=0), dict(betas=(1, 0.9))):
        with pytest.raises(ValueError, match="Invalid"):
            torch.optim.SparseAdam([weight], **wrong)
    with pytest.raises(ValueError, match="requires dense parameter"):
        torch.optim.SparseAdam([sample().requires_grad_()])


@pytest.mark.parametrize("optimizer", ("Adam", "AdamW", "RMSprop", "Adadelta", "Adamax", "NAdam", "RAdam", "ASGD", "Rprop"))
def test_other_optimizers_refuse(optimizer):
    weight = torch.ones(3, 1, requires_grad=True)
    nn.functional.embedding(torch.tensor([0]), weight, sparse=True).sum().backward()
    with pytest.raises(RuntimeError, match="does not support sparse gradients"):
        getattr(torch.optim, optimizer)([weight], lr=0.1).step()


def test_clipping_and_zeroing():
    weight = torch.ones(3, 2, requires_grad=True)
    nn.functional.embedding(torch.tensor([0, 0, 1]), weight, sparse=True).sum().backward()
    assert nn.utils.clip_grad_norm_([weight], 1.0).item() == pytest.approx(10 ** 0.5)
    assert torch.norm(weight.grad).item() == pytest.approx(1, rel=1e-4)
    steps = torch.optim.SGD([weight], lr=0.1)
    steps.zero_grad(set_to_none=False)
    is_sparse(weight.grad, np.zeros((3, 2)))
