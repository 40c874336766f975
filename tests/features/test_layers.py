"""Layers and losses (rows S357 - S364): values by NumPy's formulas, shapes and first values of parameters, use in a graph."""
import importlib
import math
import subprocess
import sys
import types
from collections import OrderedDict

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

import pyx_tensor as torch
import pyx_tensor.nn.functional as F
from pyx_tensor import nn

from .values import close

rng = np.random.default_rng(0)


def normal(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


# --- packages ------------------------------------------------------------------------------------------------------
PACKAGES = ("autograd", "nn", "optim", "nn.functional", "cuda", "utils.data", "multiprocessing")


@pytest.mark.rows("S357")
def test_packages_are_modules_and_attributes():
    """In a process of its own, in which nothing else has imported them."""
    name = torch.__name__
    lines = [f"import {name} as torch", *[f"torch.{package}" for package in PACKAGES]]
    subprocess.run([sys.executable, "-c", "\n".join(lines)], check=True, timeout=60)
    for package in PACKAGES:
        module = importlib.import_module(f"{name}.{package}")
        found = torch
        for part in package.split("."):
            found = getattr(found, part)
        assert found is module and isinstance(module, types.ModuleType)


# --- linear and convolution ----------------------------------------------------------------------------------------
@pytest.mark.rows("S358")
def test_linear():
    layer, x = nn.Linear(3, 2), normal(5, 3)
    assert layer.weight.shape == (2, 3) and layer.bias.shape == (2,) and layer.weight.requires_grad and layer.bias.requires_grad
    weight, bias = layer.weight.detach().numpy(), layer.bias.detach().numpy()
    close(layer(torch.tensor(x)), x @ weight.T + bias, 1e-5)
    close(layer(torch.tensor(x[0])), weight @ x[0] + bias, 1e-5)
    plain = nn.Linear(3, 2, bias=False)
    assert plain.bias is None
    close(plain(torch.tensor(x)), x @ plain.weight.detach().numpy().T, 1e-5)
    with pytest.raises(RuntimeError):
        layer(torch.ones(5, 4))


@pytest.mark.rows("S358")
def test_linear_starts_uniformly():
    """Within 1 / sqrt(in), from the default stream: first the weights, then the bias."""
    torch.manual_seed(3)
    layer = nn.Linear(100, 40)
    torch.manual_seed(3)
    close(layer.weight, (torch.rand(40, 100) * 2 - 1).numpy() / 10)
    close(layer.bias, (torch.rand(40) * 2 - 1).numpy() / 10)
    assert abs(float(layer.weight.std()) - 0.1 / math.sqrt(3)) < 0.002


def convolved(x, weight, bias, stride, padding, dilation, groups):
    """Cross-correlation by its definition."""
    n, kernel = x.ndim - 2, weight.shape[2:]
    x = np.pad(x, [(0, 0), (0, 0)] + [(padding, padding)] * n)
    windows = sliding_window_view(x, [(k - 1) * dilation + 1 for k in kernel], tuple(range(2, n + 2)))
    windows = windows[(slice(None), slice(None)) + (slice(None, None, stride),) * n + (slice(None, None, dilation),) * n]
    letters = "pqr"[:n], "uvw"[:n]
    parts = [np.einsum(f"bc{letters[0]}{letters[1]},oc{letters[1]}->bo{letters[0]}", block, w)
             for block, w in zip(np.split(windows, groups, 1), np.split(weight, groups))]
    return np.concatenate(parts, 1) + bias.reshape(-1, *[1] * n)


@pytest.mark.rows("S359")
@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("options", [{}, dict(stride=2), dict(padding=1), dict(dilation=2), dict(groups=2), dict(stride=2, padding=2, dilation=2, groups=2)], ids=str)
def test_convolution_layers(n, options):
    layer, x = getattr(nn, f"Conv{n}d")(4, 6, kernel_size=2, **options), normal(2, 4, *(5, 6, 7)[:n])
    options = dict(stride=1, padding=0, dilation=1, groups=1) | options
    assert layer.weight.shape == (6, 4 // options["groups"], *[2] * n) and layer.bias.shape == (6,)
    close(layer(torch.tensor(x)), convolved(x, layer.weight.detach().numpy(), layer.bias.detach().numpy(), **options), 1e-5)


@pytest.mark.rows("S359")
def test_convolution_by_hand_and_its_gradients():
    layer = nn.Conv1d(1, 1, 2)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([[[1.0, -2.0]]]))
        layer.bias.fill_(0.5)
    x = torch.tensor([[[1.0, 2.0, 4.0]]], requires_grad=True)
    y = layer(x)
    assert y.tolist() == [[[-2.5, -5.5]]]                           # 1·1 - 2·2 + 0.5: the kernel isn't turned round
    y.sum().backward()
    assert x.grad.tolist() == [[[1, -1, -2]]] and layer.weight.grad.tolist() == [[[3, 6]]] and layer.bias.grad.tolist() == [2]
    for n in (1, 2, 3):
        operands = [torch.tensor(rng.standard_normal(shape), requires_grad=True) for shape in ((1, 2, 4, 4, 3)[:n + 2], (2, 1, 2, 2, 2)[:n + 2], (2,))]
        assert torch.autograd.gradcheck(lambda x, w, b: getattr(F, f"conv{n}d")(x, w, b, 2, 1, 1, 2), operands)


# --- losses --------------------------------------------------------------------------------------------------------
LOGITS, TARGET = normal(4, 3), np.array([2, 0, 1, 1])
LOGS = LOGITS - np.log(np.exp(LOGITS).sum(1, keepdims=True))
P, Q = sigmoid(normal(4, 3)), np.abs(normal(4, 3)) % 1
D = LOGITS - Q
LOSSES = {
    "MSELoss": (LOGITS, Q, D ** 2), "L1Loss": (LOGITS, Q, abs(D)), "SmoothL1Loss": (LOGITS, Q, np.where(abs(D) < 1, D * D / 2, abs(D) - 0.5)),
    "NLLLoss": (LOGS, TARGET, -LOGS[range(4), TARGET]), "CrossEntropyLoss": (LOGITS, TARGET, -LOGS[range(4), TARGET]),
    "BCELoss": (P, Q, -(Q * np.log(P) + (1 - Q) * np.log(1 - P))),
    "BCEWithLogitsLoss": (LOGITS, Q, -(Q * np.log(sigmoid(LOGITS)) + (1 - Q) * np.log(1 - sigmoid(LOGITS)))),
    "KLDivLoss": (LOGS, Q, Q * (np.log(Q) - LOGS)),
}
FUNCTIONS = dict(MSELoss="mse_loss", L1Loss="l1_loss", SmoothL1Loss="smooth_l1_loss", NLLLoss="nll_loss", CrossEntropyLoss="cross_entropy",
                 BCELoss="binary_cross_entropy", BCEWithLogitsLoss="binary_cross_entropy_with_logits", KLDivLoss="kl_div")


@pytest.mark.rows("S360", "S361", "S362")
@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.filterwarnings("ignore:reduction. 'mean' divides")
def test_losses(name):
    input, target, each = LOSSES[name]
    for reduction, expected in dict(none=each, sum=each.sum(), mean=each.mean()).items():
        x = torch.tensor(input, requires_grad=True)
        for loss in (getattr(nn, name)(reduction=reduction), lambda *both: getattr(F, FUNCTIONS[name])(*both, reduction=reduction)):
            close(loss(x, torch.tensor(target)), expected, 1e-5, torch.float32)
    assert getattr(nn, name)()(x, torch.tensor(target)).item() == pytest.approx(each.mean(), rel=1e-5)       # the default
    assert torch.autograd.gradcheck(getattr(nn, name)(), (x.detach().double().requires_grad_(), torch.tensor(target, dtype=None if each.ndim == 1 else torch.float64)))


@pytest.mark.rows("S360", "S361")
def test_losses_by_hand():
    prediction, target = torch.tensor([0.5, 3.0, -2.0], requires_grad=True), torch.tensor([0.0, 1.0, -2.0])
    assert nn.MSELoss()(prediction, target).item() == pytest.approx(4.25 / 3)
    loss = F.smooth_l1_loss(prediction, target)
    assert loss.item() == pytest.approx((0.125 + 1.5 + 0) / 3)
    loss.backward()
    close(prediction.grad, [0.5 / 3, 1 / 3, 0])


# --- other layers --------------------------------------------------------------------------------------------------
@pytest.mark.rows("S363")
def test_non_linearities():
    x = normal(3, 4)
    t, e = torch.tensor(x), np.exp(x)
    for layer, expected in ((nn.ReLU(), x.clip(0)), (nn.Sigmoid(), sigmoid(x)), (nn.Tanh(), np.tanh(x)), (nn.Softmax(dim=1), e / e.sum(1, keepdims=True))):
        close(layer(t), expected)


@pytest.mark.rows("S363")
def test_pooling_layers():
    x = normal(2, 3, 6, 4)
    blocks = x.reshape(2, 3, 3, 2, 2, 2)
    close(nn.MaxPool2d(2)(torch.tensor(x)), blocks.max((3, 5)))
    close(nn.AvgPool2d(2)(torch.tensor(x)), blocks.mean((3, 5)))
    close(nn.MaxPool2d(3, stride=1)(torch.tensor(x)), sliding_window_view(x, (3, 3), (2, 3)).max((-2, -1)))


@pytest.mark.rows("S363")
def test_dropout_layer():
    torch.manual_seed(0)
    layer, x = nn.Dropout(0.25), torch.ones(10000)
    y = layer(x)
    assert set(y.tolist()) == {0.0, float(np.float32(1 / 0.75))} and abs(float((y == 0).float().mean()) - 0.25) < 0.02
    assert torch.equal(layer.eval()(x), x)


@pytest.mark.rows("S363")
@pytest.mark.parametrize("layer, x, axes", [(nn.BatchNorm1d(4), normal(8, 4), (0,)), (nn.BatchNorm2d(3), normal(4, 3, 2, 5), (0, 2, 3))], ids=["1d", "2d"])
def test_batch_norm_layers(layer, x, axes):
    count, shape = x.size // x.shape[1], (1, -1) + (1,) * (x.ndim - 2)
    mean, var = x.mean(axes), x.var(axes)
    with torch.no_grad():
        layer.weight.fill_(2)
        layer.bias.fill_(-1)
    close(layer(torch.tensor(x)), 2 * (x - mean.reshape(shape)) / np.sqrt(var.reshape(shape) + 1e-5) - 1, 1e-5)
    close(layer.running_mean, 0.1 * mean)
    close(layer.running_var, 0.9 + 0.1 * var * count / (count - 1))
    running = layer.running_mean.numpy().reshape(shape), layer.running_var.numpy().reshape(shape)
    close(layer.eval()(torch.tensor(x)), 2 * (x - running[0]) / np.sqrt(running[1] + 1e-5) - 1, 1e-5)


@pytest.mark.rows("S363")
def test_embedding_layer():
    layer, indices = nn.Embedding(5, 2), torch.tensor([[1, 4], [0, 1]])
    y = layer(indices)
    close(y, layer.weight.detach().numpy()[indices.numpy()], 0)
    y.sum().backward()
    assert layer.weight.grad.tolist() == [[1, 1], [2, 2], [0, 0], [0, 0], [1, 1]]
    with pytest.raises(IndexError):
        layer(torch.tensor([5]))


def one_step(cell, x, h, c, w_ih, w_hh, b_ih, b_hh):
    """The next (h, c) by the formulas of the layers' documentation."""
    a, b = x @ w_ih.T + b_ih, h @ w_hh.T + b_hh
    if cell == "RNN":
        return np.tanh(a + b), None
    if cell == "LSTM":
        i, f, g, o = np.split(a + b, 4, 1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        return sigmoid(o) * np.tanh(c), c
    (r, z, n), (hr, hz, hn) = np.split(a, 3, 1), np.split(b, 3, 1)
    z = sigmoid(z + hz)
    return (1 - z) * np.tanh(n + sigmoid(r + hr) * hn) + z * h, None


@pytest.mark.rows("S363")
@pytest.mark.parametrize("cell", ["RNN", "LSTM", "GRU"])
def test_recurrent_layers(cell):
    layer, x = getattr(nn, cell)(3, 5), normal(4, 2, 3)
    weights = [p.detach().numpy() for p in layer.parameters()]
    h, c = np.zeros((2, 5)), np.zeros((2, 5))
    outputs = []
    for step in x:
        h, c = one_step(cell, step, h, c, *weights)
        outputs.append(h)
    y, state = layer(torch.tensor(x))
    close(y, outputs, 1e-5)
    for found, expected in zip(state, (h, c)) if cell == "LSTM" else [(state, h)]:
        close(found, expected[None], 1e-5)


@pytest.mark.rows("S363")
def test_recurrent_cell():
    cell, x, h = nn.RNNCell(3, 5), normal(2, 3), normal(2, 5)
    close(cell(torch.tensor(x), torch.tensor(h)), one_step("RNN", x, h, None, *[p.detach().numpy() for p in cell.parameters()])[0], 1e-5)


@pytest.mark.rows("S363")
def test_layers_in_a_graph_bring_their_parameters():
    model = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.AvgPool2d(2), nn.Flatten(), nn.Dropout(0.1),
                          nn.Linear(16, 8), nn.BatchNorm1d(8), nn.Tanh(), nn.Linear(8, 3), nn.Softmax(dim=1))
    y = model(torch.tensor(normal(5, 1, 8, 8)))
    close(y.sum(1), np.ones(5))
    (y * torch.arange(3)).sum().backward()
    assert len(list(model.parameters())) == 10 and all(p.grad.shape == p.shape and p.grad.isfinite().all() and p.grad.any() for p in model.parameters()
                                                       if p is not model[0].bias and p is not model[7].bias)       # what a batch norm takes away again


# --- containers ----------------------------------------------------------------------------------------------------
@pytest.mark.rows("S364")
def test_sequential():
    a, b = nn.Linear(2, 3), nn.Linear(3, 1)
    model, x = nn.Sequential(a, nn.ReLU(), b), torch.tensor(normal(4, 2))
    assert torch.equal(model(x), b(a(x).clamp(min=0)))
    assert len(model) == 3 and model[0] is a and model[-1] is b and list(model) == [a, model[1], b]
    assert list(model.state_dict()) == ["0.weight", "0.bias", "2.weight", "2.bias"]
    named = nn.Sequential(OrderedDict(first=a, active=nn.ReLU(), last=b))
    assert list(named.state_dict()) == ["first.weight", "first.bias", "last.weight", "last.bias"] and named.last is b and named[2] is b
    assert torch.equal(named(x), model(x))
    with pytest.raises(IndexError):
        model[3]
