"""`torch.vmap` and the transforms of `torch.func`: values by hand, nesting, gradients through them, what they refuse."""
import pytest

import pyx_tensor as torch
from pyx_tensor import func, nn

x23 = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


def test_vmap_maps_stacks_and_nests():
    assert torch.vmap is func.vmap
    assert torch.equal(torch.vmap(lambda row: row.sum())(x23), torch.tensor([6.0, 15.0]))
    assert torch.equal(torch.vmap(lambda column: column.sum(), in_dims=1)(x23), torch.tensor([5.0, 7.0, 9.0]))
    assert torch.equal(torch.vmap(lambda row, s: row * s, in_dims=(0, None), out_dims=1)(x23, 2), 2 * x23.T)
    products = torch.vmap(torch.vmap(torch.mul, in_dims=(None, 0)), in_dims=(0, None))(torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0, 5.0]))
    assert torch.equal(products, torch.tensor([[3.0, 4.0, 5.0], [6.0, 8.0, 10.0]]))
    nested = torch.vmap(lambda batch: {"a": batch["x"] + batch["y"][0], "b": (batch["x"].sum(),)}, in_dims=({"x": 0, "y": [None]},))(
        {"x": x23, "y": [torch.ones(3)]})
    assert torch.equal(nested["a"], x23 + 1) and torch.equal(nested["b"][0], torch.tensor([6.0, 15.0]))


def test_gradients_flow_through_vmap():
    x = x23.clone().requires_grad_()
    torch.vmap(lambda row: row.prod())(x).sum().backward()
    assert torch.equal(x.grad, torch.tensor([[6.0, 3.0, 2.0], [30.0, 24.0, 20.0]]))


def test_random_numbers_within_vmap():
    zeros = torch.zeros(3)
    state = torch.get_rng_state()
    with pytest.raises(RuntimeError, match="randomness error mode"):
        torch.vmap(lambda t: t + torch.rand(()))(zeros)
    assert torch.equal(torch.get_rng_state(), state)
    same = torch.vmap(lambda t: t + torch.rand(()), randomness="same")(zeros)
    torch.set_rng_state(state)
    assert same.unique().tolist() == [torch.rand(()).item()]
    assert torch.vmap(lambda t: t + torch.rand(()), randomness="different")(zeros).unique().numel() == 3
    with pytest.raises(RuntimeError, match="randomness"):
        torch.vmap(torch.sin, randomness="none")


def test_what_vmap_refuses():
    for in_dims, args, message in ((0, (), "no inputs"), ([0], (x23,), "expected `in_dims` to be int"), ((0, 0), (x23,), "structure of inputs"),
                                   ((None,), (x23,), "all None"), (0, (3,), "type <class 'int'>"), (2, (x23,), "dimensionality 2"),
                                   (0, (x23, x23.T), r"sizes \[2, 3\]")):
        with pytest.raises(ValueError, match=message):
            torch.vmap(lambda *args: args[0], in_dims=in_dims)(*args)
    with pytest.raises(ValueError, match="must only return Tensors"):
        torch.vmap(lambda t: 1)(x23)
    with pytest.raises(ValueError, match="structure of the outputs"):
        torch.vmap(lambda t: t, out_dims=(0, 0))(x23)
    with pytest.raises(ValueError, match="differs between samples"):
        torch.vmap(lambda t: t, out_dims=None)(x23)
    with pytest.raises(IndexError, match="out of range"):
        torch.vmap(lambda t: t, out_dims=5)(x23)
    with pytest.raises(ValueError, match="chunk_size"):
        torch.vmap(torch.sin, chunk_size=0)
    with pytest.raises(NotImplementedError, match="size 0"):
        torch.vmap(torch.sin)(torch.zeros(0, 2))


def test_gradients_and_their_nesting():
    x = torch.tensor(2.0)
    assert func.grad(lambda t: t ** 3)(x) == 12 and func.grad(func.grad(lambda t: t ** 3))(x) == 12 and not func.grad(lambda t: t ** 3)(x).requires_grad
    assert func.grad(lambda t: func.grad(lambda u: t * u ** 2)(t))(x) == 4 * x          # d/dt 2t², where t is held by the inner function too
    g, (value, aux) = func.grad_and_value(lambda t: (t ** 2, "aux"), has_aux=True)(x)
    assert (g, value, aux) == (4, 4, "aux")
    gx, gy = func.grad(lambda x, y: (x * y ** 2).sum(), argnums=(0, 1))(torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]))
    assert gx.tolist() == [9, 16] and gy.tolist() == [6, 16]
    assert func.grad(lambda p: p["w"] * p["b"][0])({"w": x, "b": [3 * x]})["b"][0] == 2


def test_gradients_flow_through_a_gradient():
    weight, scale = torch.tensor(2.0, requires_grad=True), torch.tensor(5.0, requires_grad=True)
    g = func.grad(lambda w: scale * w ** 3)(weight)
    g.backward()
    assert g == 60 and weight.grad == 60 and scale.grad == 12
    with torch.no_grad():
        assert not func.grad(lambda w: scale * w ** 3)(weight).requires_grad


def test_jacobians_and_products():
    x = torch.tensor([1.0, 2.0])
    expected = torch.tensor([[2.0, 0.0], [2.0, 1.0]])       # of (x0², x0·x1)

    def f(x):
        return torch.stack([x[0] ** 2, x[0] * x[1]])
    assert torch.equal(func.jacrev(f)(x), expected) and torch.equal(func.jacfwd(f)(x), expected)
    value, pullback = func.vjp(f, x)
    assert value.tolist() == [1, 2] and pullback(torch.tensor([1.0, 1.0]))[0].tolist() == [4, 1] and pullback(torch.tensor([0.0, 1.0]))[0].tolist() == [2, 1]
    assert [t.tolist() for t in func.jvp(f, (x,), (torch.tensor([1.0, 1.0]),))] == [[1, 2], [2, 3]]
    value, pushforward = func.linearize(f, x)
    assert value.tolist() == [1, 2] and pushforward(torch.tensor([1.0, 0.0])).tolist() == [2, 2] and pushforward(torch.tensor([0.0, 1.0])).tolist() == [0, 1]
    assert func.hessian(lambda x: x[0] ** 2 * x[1])(x).tolist() == [[4, 2], [2, 0]]
    assert torch.equal(torch.vmap(func.hessian(lambda x: (x ** 3).sum()))(x[:, None]), torch.tensor([[[6.0]], [[12.0]]]))


def test_what_derivatives_refuse():
    x = torch.ones(2)
    for call, error, message in (
            (lambda: func.grad(lambda x: x)(x), RuntimeError, "scalar tensor"), (lambda: func.grad(lambda x: 3)(x), RuntimeError, "return a Tensor"),
            (lambda: func.grad(torch.sum, argnums=1)(x), RuntimeError, "argnum=1"), (lambda: func.grad(torch.sum, argnums=(0, 0))(x), RuntimeError, "unique"),
            (lambda: func.grad(torch.sum)(3), ValueError, "Tensors"), (lambda: func.vjp(torch.sin, x)[1](torch.ones(3)), RuntimeError, r"shape \[2\]"),
            (lambda: func.jvp(torch.sin, x, x), RuntimeError, "tuples"), (lambda: func.jacrev(lambda x: 3)(x), RuntimeError, "only return Tensors")):
        with pytest.raises(error, match=message):
            call()


def test_batch_norms_that_keep_no_statistics():
    model = func.replace_all_batch_norm_modules_(nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3)))
    assert model[1].running_mean is None and not model[1].track_running_stats
    model.eval()
    assert torch.allclose(model(torch.tensor([[1.0, 2.0], [5.0, 1.0]])).mean(0), torch.zeros(3), atol=1e-6)
