"""autograd.functional against derivatives written down by hand."""
import pytest

import pyx_tensor as torch
from pyx_tensor.autograd.functional import hessian, hvp, jacobian, jvp, vhp, vjp


def tensor(*values):
    return torch.tensor(values, dtype=torch.float64)


X, Y = tensor(1.0, 2.0), tensor(3.0, 4.0, 5.0)


def outer(x, y):
    return x[:, None] * y * y, x.sum()


def cubes(x):
    return (x ** 3).sum() + x[0] * x[1]


HESSIAN = [[6.0, 1.0], [1.0, 12.0]]


def test_jacobian_of_one_tensor():
    assert jacobian(lambda x: x * x, X).tolist() == [[2.0, 0.0], [0.0, 4.0]]
    assert jacobian(lambda x: x.sum(), X).tolist() == [1.0, 1.0]
    assert not X.requires_grad


def test_jacobian_of_tuples():
    (by_x, by_y), (sum_x, sum_y) = jacobian(outer, (X, Y))
    assert by_x.shape == (2, 3, 2) and by_y.shape == (2, 3, 3)
    assert by_x[1].tolist() == [[0.0, 9.0], [0.0, 16.0], [0.0, 25.0]]
    assert by_y[1].tolist() == [[12.0, 0.0, 0.0], [0.0, 16.0, 0.0], [0.0, 0.0, 20.0]]
    assert sum_x.tolist() == [1.0, 1.0] and sum_y.tolist() == [0.0, 0.0, 0.0]


def test_jacobian_with_create_graph():
    x = tensor(2.0).requires_grad_()
    j = jacobian(lambda x: x ** 3, x, create_graph=True)
    j.sum().backward()
    assert x.grad.tolist() == [12.0]


def test_strict_refuses_independence():
    with pytest.raises(RuntimeError, match="independent"):
        jacobian(lambda x: torch.ones(2), X, strict=True)
    with pytest.raises(RuntimeError, match="independent of input 1"):
        jacobian(lambda x, y: x * 2, (X, Y), strict=True)
    assert jacobian(lambda x: torch.ones(2), X).tolist() == [[0.0, 0.0], [0.0, 0.0]]


def test_hessian():
    assert hessian(cubes, X).tolist() == HESSIAN
    (xx, xy), (yx, yy) = hessian(lambda x, y: (x.sum() * y * y).sum(), (X, Y))
    assert xx.tolist() == [[0.0, 0.0]] * 2 and xy.tolist() == [[6.0, 8.0, 10.0]] * 2
    assert yx.shape == (3, 2) and yy.tolist() == [[6.0, 0.0, 0.0], [0.0, 6.0, 0.0], [0.0, 0.0, 6.0]]
    with pytest.raises(RuntimeError, match="single element"):
        hessian(lambda x: x, X)


def test_vjp_and_jvp():
    out, product = vjp(lambda x: x * x, X, tensor(1.0, 10.0))
    assert out.tolist() == [1.0, 4.0] and product.tolist() == [2.0, 40.0] and not product.requires_grad
    (_, total), (by_x, by_y) = vjp(outer, (X, Y), (torch.ones(2, 3, dtype=torch.float64), torch.tensor(1.0, dtype=torch.float64)))
    assert total.item() == 3.0 and by_x.tolist() == [51.0, 51.0] and by_y.tolist() == [18.0, 24.0, 30.0]
    out, product = jvp(lambda x: x * x, X, tensor(1.0, 10.0))
    assert product.tolist() == [2.0, 40.0]
    assert vjp(lambda x: x.sum(), X)[1].tolist() == [1.0, 1.0]
    with pytest.raises(RuntimeError, match="can only be None"):
        vjp(lambda x: x, X)
    with pytest.raises(RuntimeError, match="invalid size"):
        vjp(lambda x: x, X, Y)


def test_products_with_the_hessian():
    v = tensor(1.0, 10.0)
    for function in (hvp, vhp):
        value, product = function(cubes, X, v)
        assert value.item() == 11.0 and product.tolist() == [16.0, 121.0]


def test_arguments_must_be_tensors():
    with pytest.raises(TypeError, match="must be either a Tensor or a tuple of Tensors"):
        jacobian(lambda x: x, 3.0)
    with pytest.raises(TypeError, match="outputs of the user-provided function"):
        jacobian(lambda x: 3.0, X)
