"""Parameters, optimizers and whole programs (rows S365 - S377): steps worked out by hand or by NumPy."""
import math

import numpy as np
import pytest

import pyx_tensor as torch
import pyx_tensor.nn.functional as F
from pyx_tensor import nn, optim
from pyx_tensor.autograd import Variable

from .values import close


# --- parameters ----------------------------------------------------------------------------------------------------
@pytest.mark.rows("S365")
def test_parameters_come_once_each():
    shared = nn.Linear(2, 2)
    model = nn.Sequential(shared, nn.Tanh(), shared, nn.Linear(2, 1, bias=False))
    parameters = model.parameters()
    assert iter(parameters) is parameters
    found = list(parameters)
    assert len(found) == 3 and found[0] is shared.weight and found[1] is shared.bias and found[2] is model[3].weight
    assert all(isinstance(p, nn.Parameter) and isinstance(p, Variable) and p.requires_grad and p.is_leaf for p in found)
    model.register_buffer("constant", torch.ones(1))
    assert len(list(model.parameters())) == 3 and [name for name, _ in model.named_parameters()] == ["0.weight", "0.bias", "3.weight"]


@pytest.mark.rows("S366")
def test_gradients_add_up_until_they_are_reset():
    layer = nn.Linear(1, 1, bias=False)
    optimizer = optim.SGD(layer.parameters(), lr=0.1)
    layer(torch.tensor([[3.0]])).sum().backward()
    layer(torch.tensor([[4.0]])).sum().backward()
    assert layer.weight.grad.tolist() == [[7]]
    for reset in (layer.zero_grad, optimizer.zero_grad, lambda: layer.zero_grad(set_to_none=False), lambda: optimizer.zero_grad(set_to_none=False)):
        reset()
        assert layer.weight.grad is None or not layer.weight.grad.any()
        layer(torch.tensor([[5.0]])).sum().backward()
        assert layer.weight.grad.tolist() == [[5]]


@pytest.mark.rows("S367")
def test_updates_by_hand():
    layer, x = nn.Linear(2, 1), torch.tensor([[1.0, -2.0]])
    weight, bias = layer.weight.detach().clone(), layer.bias.detach().clone()
    pointers = [p.data_ptr() for p in layer.parameters()]
    layer(x).sum().backward()
    for p in layer.parameters():
        p.data.add_(-0.1 * p.grad.data)
    close(layer.weight, weight.numpy() - 0.1 * x.numpy())
    close(layer.bias, bias.numpy() - 0.1)
    assert [p.data_ptr() for p in layer.parameters()] == pointers
    assert all(p.is_leaf and p.requires_grad and p.grad_fn is None for p in layer.parameters())
    close(layer(x), (x @ layer.weight.t() + layer.bias).detach().numpy())


# --- optimizers ----------------------------------------------------------------------------------------------------
GRADIENTS = [np.array([1.0, -2.0]), np.array([0.5, 3.0]), np.array([-4.0, 0.25])]


def stepped(make, start=(1.0, 2.0)):
    """The parameter after each step of the optimizer under GRADIENTS."""
    p = torch.tensor(start, dtype=torch.float64, requires_grad=True)
    optimizer, places = make([p]), []
    for gradient in GRADIENTS:
        p.grad = torch.tensor(gradient)
        optimizer.step()
        places.append(p.detach().numpy().copy())
    return places


@pytest.mark.rows("S368")
@pytest.mark.parametrize("momentum, decay, nesterov", [(0, 0, False), (0, 0.1, False), (0.9, 0, False), (0.9, 0.1, False), (0.9, 0.1, True)])
def test_sgd(momentum, decay, nesterov):
    p, v, expected = np.array([1.0, 2.0]), None, []
    for gradient in GRADIENTS:
        g = gradient + decay * p
        v = g if v is None else momentum * v + g
        p = p - 0.1 * (g + momentum * v if nesterov else v)
        expected.append(p)
    np.testing.assert_allclose(stepped(lambda ps: optim.SGD(ps, lr=0.1, momentum=momentum, weight_decay=decay, nesterov=nesterov)), expected, rtol=1e-12)


@pytest.mark.rows("S369")
@pytest.mark.parametrize("options", [{}, dict(lr=0.1), dict(lr=0.01, betas=(0.5, 0.7), eps=1e-3)], ids=str)
def test_adam(options):
    given = dict(lr=1e-3, betas=(0.9, 0.999), eps=1e-8) | options
    p, m, v, expected = np.array([1.0, 2.0]), 0, 0, []
    for t, g in enumerate(GRADIENTS, 1):
        first, second = given["betas"]
        m, v = first * m + (1 - first) * g, second * v + (1 - second) * g * g
        p = p - given["lr"] * (m / (1 - first ** t)) / (np.sqrt(v / (1 - second ** t)) + given["eps"])
        expected.append(p)
    np.testing.assert_allclose(stepped(lambda ps: optim.Adam(ps, **options)), expected, rtol=1e-12)


@pytest.mark.rows("S370")
@pytest.mark.parametrize("options", [{}, dict(lr=0.1, alpha=0.5, eps=1e-2)], ids=str)
def test_rmsprop(options):
    given = dict(lr=0.01, alpha=0.99, eps=1e-8) | options
    p, mean, expected = np.array([1.0, 2.0]), 0, []
    for g in GRADIENTS:
        mean = given["alpha"] * mean + (1 - given["alpha"]) * g * g
        p = p - given["lr"] * g / (np.sqrt(mean) + given["eps"])
        expected.append(p)
    np.testing.assert_allclose(stepped(lambda ps: optim.RMSprop(ps, **options)), expected, rtol=1e-12)


@pytest.mark.rows("S371")
@pytest.mark.parametrize("make", [
    lambda ps: optim.Adagrad(ps, lr=0.5), lambda ps: optim.Adadelta(ps, lr=20), lambda ps: optim.Adamax(ps, lr=0.1), lambda ps: optim.ASGD(ps, lr=0.05),
    lambda ps: optim.Rprop(ps, lr=0.05), lambda ps: optim.LBFGS(ps)], ids=["Adagrad", "Adadelta", "Adamax", "ASGD", "Rprop", "LBFGS"])
def test_every_optimizer_descends_a_quadratic(make):
    p = nn.Parameter(torch.tensor([3.0, -2.0]))
    optimizer, scales, losses = make([p]), torch.tensor([1.0, 4.0]), []

    def closure():
        optimizer.zero_grad()
        loss = (scales * (p - 1) ** 2).sum()
        loss.backward()
        return loss
    for _ in range(150):
        losses.append(float(optimizer.step(closure)))
    assert losses[0] == 40 and losses[10] < 40 and losses[-1] < 0.4
    assert float(closure().detach()) < 0.4


FIRST_STEPS = {                                         # from 1 under the gradient 2, by the formulas of the documentation
    "Adagrad": (lambda ps: optim.Adagrad(ps, lr=0.1), 1 - 0.1 * 2 / (2 + 1e-10)),
    "Adadelta": (lambda ps: optim.Adadelta(ps, lr=0.5, rho=0.9, eps=1e-6), 1 - 0.5 * 2 * math.sqrt(1e-6) / math.sqrt(0.4 + 1e-6)),
    "Adamax": (lambda ps: optim.Adamax(ps, lr=0.1), 1 - 0.1 * 2 / (2 + 1e-8)),
    "ASGD": (lambda ps: optim.ASGD(ps, lr=0.1, lambd=1e-2), 1 * (1 - 1e-3) - 0.1 * 2),
    "Rprop": (lambda ps: optim.Rprop(ps, lr=0.1), 1 - 0.1),
    "LBFGS": (lambda ps: optim.LBFGS(ps, lr=0.1, max_iter=1), 1 - 0.1 * min(1, 1 / 2) * 2),
}


@pytest.mark.rows("S371")
@pytest.mark.parametrize("name", FIRST_STEPS)
def test_the_first_step(name):
    make, expected = FIRST_STEPS[name]
    p = nn.Parameter(torch.tensor([1.0], dtype=torch.float64))
    optimizer = make([p])

    def closure():
        p.grad = torch.tensor([2.0], dtype=torch.float64)
        return (2 * p).sum()
    closure()
    optimizer.step(closure)
    assert p.item() == pytest.approx(expected, rel=1e-7)           # ASGD keeps its rate in float32


@pytest.mark.rows("S372")
def test_a_step_changes_in_place_what_has_a_gradient():
    used, unused, other = (nn.Parameter(torch.ones(2)) for _ in range(3))
    optimizer = optim.SGD([dict(params=[used, unused]), dict(params=[other], lr=1.0)], lr=0.1)
    pointers = [p.data_ptr() for p in (used, unused, other)]
    (used.sum() * 2 + other.sum()).backward()
    optimizer.step()
    close(used, [0.8, 0.8])
    assert unused.tolist() == [1, 1] and other.tolist() == [0, 0] and [p.data_ptr() for p in (used, unused, other)] == pointers
    assert [group["lr"] for group in optimizer.param_groups] == [0.1, 1.0]
    optimizer.zero_grad()
    assert used.grad is None or not used.grad.any()


@pytest.mark.rows("S373", "S372")
def test_two_layers_learn():
    torch.manual_seed(0)
    x = torch.linspace(-1, 1, 64).unsqueeze(1)
    y = x ** 2 - 0.5 * x
    model = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer, criterion, losses = optim.Adam(model.parameters(), lr=0.02), nn.MSELoss(), []
    for _ in range(400):
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    means = np.reshape(losses, (8, 50)).mean(1)
    assert (np.diff(means) < 0).all() and losses[0] > 0.1 and losses[-1] < 1e-3


# --- the first program ---------------------------------------------------------------------------------------------
DEGREE = 4


def powers(x):
    return torch.cat([x.unsqueeze(1) ** i for i in range(1, DEGREE + 1)], 1)


def described(W, b):
    return "y=" + "".join("{:+.2f} x^{}".format(w, len(W) - i) for i, w in enumerate(W)) + "{:+.2f}".format(b[0])


@pytest.mark.rows("S374", "S375")
def test_polynomial_regression():
    """As the notes have it; docs/examples/demo/polynomial.py is the same program of today."""
    torch.manual_seed(5000)
    W_target, b_target = torch.randn(DEGREE, 1) * 5, torch.randn(1) * 5
    model = nn.Linear(W_target.size(0), 1)
    batches = 0
    while True:
        x = powers(torch.from_numpy(np.sort(torch.randn(32))))
        batch_x, batch_y = Variable(x), Variable(x.mm(W_target) + b_target[0])
        model.zero_grad()
        output = F.smooth_l1_loss(model(batch_x), batch_y)
        loss = output.data
        output.backward()
        for param in model.parameters():
            param.data.add_(-0.1 * param.grad.data)
        batches += 1
        if loss < 1e-3:
            break
        assert batches < 2000
    assert "Loss: {:.6f} after {} batches".format(loss, batches) == "Loss: 0.000518 after 760 batches"
    assert described(model.weight.data.view(-1), model.bias.data) == "y=+6.07 x^4+3.91 x^3+0.90 x^2+8.19 x^1-1.64"
    assert described(W_target.view(-1), b_target) == "y=+6.13 x^4+3.89 x^3+0.86 x^2+8.20 x^1-1.62"
    close(model.weight.data.view(-1), W_target.view(-1).numpy(), 0.1)
    assert isinstance(model(x).data.numpy(), np.ndarray)


@pytest.mark.rows("S376")
def test_iterating_a_vector():
    W = torch.tensor([1.5, -2.25])
    assert ["{:+.2f} x^{}".format(w, len(W) - i) for i, w in enumerate(W)] == ["+1.50 x^2", "-2.25 x^1"]
    assert all(isinstance(w, torch.Tensor) and w.shape == () for w in W) and type(len(W)) is int and len(W) == 2


@pytest.mark.rows("S377")
def test_a_loss_in_a_condition():
    loss = torch.tensor(5e-4)
    below = loss < 1e-3
    assert below.dtype is torch.bool and below.shape == () and (True if loss < 1e-3 else False) and not loss > 1e-3
    assert (True if loss <= 5e-4 and loss != 0 else False) and (1e-3 > loss)
    for several in (torch.ones(2) < 2, torch.ones(2)):
        with pytest.raises(RuntimeError, match="ambiguous"):
            bool(several)
