"""What a backend without kernels of its own computes for layers, losses and optimizer steps: the same as the CPU's."""
import numpy as np
import pytest

import pyx_tensor as torch
import pyx_tensor.nn.functional as F
from pyx_tensor import nn

DEVICES = ("cpu", "reference")
ACTIVATIONS = ("relu", "gelu", "silu", "mish", "elu", "selu", "leaky_relu", "softplus", "logsigmoid", "hardtanh", "hardswish",
               "hardsigmoid", "hardshrink", "softshrink", "sigmoid", "tanh")
TARGET = torch.tensor([1, 0, -100, 2])


def run(compute, *shapes):
    """Results and gradients of ``compute(*tensors)`` on both devices."""
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(shape) for shape in shapes]
    found = []
    for device in DEVICES:
        inputs = [torch.from_numpy(array).to(device).requires_grad_() for array in arrays]
        result = compute(*inputs)
        assert result.device.type == device
        (result * result).sum().backward()
        found.append([tensor.detach().cpu().numpy() for tensor in (result, *(x.grad for x in inputs))])
    return found


def assert_equal(ours, theirs):
    for a, b in zip(ours, theirs):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations(name):
    assert_equal(*run(getattr(F, name), (4, 5)))


@pytest.mark.parametrize("compute, shapes", [
    (F.linear, [(3, 4), (5, 4), (5,)]),
    (F.linear, [(2, 3, 4), (5, 4), (5,)]),
    (F.linear, [(4,), (5, 4)]),
    (lambda x: F.softmax(x, 1), [(3, 4)]),
    (lambda x: F.log_softmax(x, 0), [(3, 4)]),
    (lambda x, w, b: F.layer_norm(x, (4,), w, b), [(3, 4), (4,), (4,)]),
    (lambda x: F.layer_norm(x, (3, 4)), [(2, 3, 4)]),
    (lambda x, w, b: F.batch_norm(x, None, None, w, b, True), [(3, 4, 2), (4,), (4,)]),
    (lambda w: F.embedding(torch.tensor([[0, 2], [2, 1]], device=w.device), w), [(3, 4)]),
    (lambda w: F.embedding(torch.tensor([0, 2, 2], device=w.device), w, padding_idx=0, scale_grad_by_freq=True), [(3, 4)]),
    (lambda x, y: F.mse_loss(x, y), [(3, 4), (3, 4)]),
    (lambda x, y: F.huber_loss(x, y, reduction="none"), [(3, 4), (3, 4)]),
    (lambda x, y: F.l1_loss(x, y, reduction="sum"), [(3, 4), (3, 4)]),
    (lambda x, y: F.binary_cross_entropy_with_logits(x, y), [(3, 4), (3, 4)]),
    (lambda x: F.cross_entropy(x, TARGET.to(x.device), torch.arange(1.0, 4.0).to(x)), [(4, 3)]),
    (lambda x: F.cross_entropy(x, TARGET.to(x.device), reduction="none"), [(4, 3)]),
])
def test_layers_and_losses(compute, shapes):
    assert_equal(*run(compute, *shapes))


@pytest.mark.parametrize("make", [
    lambda p: torch.optim.SGD(p, lr=0.1),
    lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.1),
    lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, dampening=0.5, maximize=True),
    lambda p: torch.optim.Adam(p, weight_decay=0.1, maximize=True),
    lambda p: torch.optim.AdamW(p, amsgrad=True),
])
def test_optimizer_steps(make):
    found = []
    for device in DEVICES:
        layer = nn.Linear(3, 2).double()
        layer.load_state_dict({"weight": torch.arange(6.0).reshape(2, 3), "bias": torch.ones(2)})
        layer.to(device)
        optimizer = make(layer.parameters())
        x = torch.arange(12.0, dtype=torch.float64).reshape(4, 3).to(device)
        for _ in range(4):
            optimizer.zero_grad()
            layer(x).square().mean().backward()
            optimizer.step()
        found.append([p.detach().cpu().numpy() for p in layer.parameters()])
    assert_equal(*found)


def test_bad_calls_say_the_same_without_kernels():
    for device in DEVICES:
        x = torch.zeros(2, 4, device=device)
        with pytest.raises(RuntimeError, match="mat1 and mat2 shapes cannot be multiplied"):
            F.linear(x, torch.zeros(3, 3, device=device))
        with pytest.raises(RuntimeError, match="Expected weight to be of same shape"):
            F.layer_norm(x, (4,), torch.zeros(3, device=device))
        with pytest.raises(IndexError, match="Target 4 is out of bounds"):
            F.nll_loss(x, torch.tensor([0, 4], device=device))
        with pytest.raises(IndexError, match="index out of range in self"):
            F.embedding(torch.tensor([2], device=device), x)
