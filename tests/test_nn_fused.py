"""Fused operations: their gradients and gradients of gradients by finite differences, and the kernels against their definitions' bodies."""
import numpy as np
import pytest

import pyx_tensor as torch
from pyx_tensor.autograd import gradcheck, gradgradcheck
from pyx_tensor.nn import functional as F

TARGET = torch.tensor([2, 0, -100, 1])


def normal(*shape, seed=0, dtype=np.float64):
    return torch.tensor(np.random.default_rng(seed).standard_normal(shape).astype(dtype))


def operands(*shapes):
    return [normal(*shape, seed=i).requires_grad_() for i, shape in enumerate(shapes)]


FUSED = {
    "linear": (F.linear, operands((5, 3), (4, 3), (4,))),
    "linear of a vector": (F.linear, operands((3,), (4, 3), (4,))),
    "linear of many dims": (F.linear, operands((2, 3, 2, 3), (4, 3), (4,))),
    "linear of no rows": (F.linear, operands((0, 3), (4, 3), (4,))),
    "linear to one output": (F.linear, operands((5, 3), (3,))),
    "linear without bias": (F.linear, operands((5, 3), (4, 3))),
    "mse_loss": (F.mse_loss, operands((4, 3), (4, 3))),
    "mse_loss, sum": (lambda x, y: F.mse_loss(x, y, reduction="sum"), operands((4, 3), (4, 3))),
    "mse_loss, none": (lambda x, y: F.mse_loss(x, y, reduction="none"), operands((4, 3), (4, 3))),
    "mse_loss of transposed": (lambda x, y: F.mse_loss(x.T, y), operands((4, 3), (3, 4))),
    "cross_entropy": (lambda x: F.cross_entropy(x, TARGET), operands((4, 3))),
    "cross_entropy, sum": (lambda x: F.cross_entropy(x, TARGET, reduction="sum"), operands((4, 3))),
    "cross_entropy, none": (lambda x: F.cross_entropy(x, TARGET, reduction="none"), operands((4, 3))),
    "cross_entropy, weights": (lambda x: F.cross_entropy(x, TARGET, torch.tensor([1., 2, 3]).double()), operands((4, 3))),
    "cross_entropy of one sample": (lambda x: F.cross_entropy(x, torch.tensor(1)), operands((3,))),
    "cross_entropy of positions": (lambda x: F.cross_entropy(x, TARGET.reshape(2, 2)), operands((2, 3, 2))),
    "layer_norm": (lambda x, w, b: F.layer_norm(x, (5,), w, b), operands((4, 5), (5,), (5,))),
    "batch_norm": (lambda x, w, b: F.batch_norm(x, None, None, w, b, True), operands((5, 3), (3,), (3,))),
    "batch_norm of images": (lambda x, w, b: F.batch_norm(x, None, None, w, b, True), operands((2, 3, 2, 2), (3,), (3,))),
    "batch_norm, evaluated": (lambda x, w, b: F.batch_norm(x, torch.zeros(3).double(), torch.full((3,), 2.).double(), w, b),
                              operands((4, 3, 2), (3,), (3,))),
    "group_norm": (lambda x, w, b: F.group_norm(x, 2, w, b), operands((2, 4, 3), (4,), (4,))),
    "group_norm of channels": (lambda x, w: F.group_norm(x, 2, w), operands((3, 4), (4,))),
    "group_norm without parameters": (lambda x: F.group_norm(x, 1), operands((2, 2, 2, 2))),
    "tanh": (torch.tanh, operands((4, 3))),
    "sigmoid": (torch.sigmoid, operands((4, 3))),
    "tanh of complex numbers": (torch.tanh, [torch.complex(*[x.detach() for x in operands((4,), (4,))]).requires_grad_()]),
    "sigmoid of complex numbers": (torch.sigmoid, [torch.complex(*[x.detach() for x in operands((4,), (4,))]).requires_grad_()]),
}


@pytest.mark.parametrize("name", FUSED)
def test_gradients(name):
    function, inputs = FUSED[name]
    assert gradcheck(function, inputs)
    assert gradgradcheck(function, inputs)


def test_frozen_parameters_get_nothing():
    x, weight, bias = operands((5, 3), (4, 3), (4,))
    for frozen in (weight, bias):
        frozen.requires_grad_(False)
        F.linear(x, weight, bias).sum().backward()
        assert weight.grad is None or weight.requires_grad
        frozen.requires_grad_(True)
    assert torch.equal(bias.grad, torch.full((4,), 5.).double())


def test_linear_backward_refuses_other_rows():
    from pyx_tensor_cpu import linear
    for g in (np.ones((4, 2)), np.ones(2), np.ones((1, 5, 2))):
        with pytest.raises(ValueError, match="shape"):
            linear.linear_backward(g, np.ones((5, 3)), (True, True))


@pytest.mark.parametrize("reduction", ["mean", "sum"])
@pytest.mark.parametrize("shape", [(0,), (), (1,), (17,), (300, 200)], ids=str)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_squared_error(shape, reduction, dtype):
    a, b = normal(*shape, dtype=dtype).requires_grad_(), normal(*shape, seed=1, dtype=dtype)
    loss = F.mse_loss(a, b, reduction=reduction)
    square = (a.detach().numpy().astype("f8") - b.numpy()) ** 2
    with np.errstate(all="ignore"):
        expected = square.mean() if reduction == "mean" and square.size else square.sum() if square.size or reduction == "sum" else np.nan
    np.testing.assert_allclose(float(loss.detach()), expected, rtol=1e-5)
    loss.backward()
    factor = 2 / max(square.size, 1) if reduction == "mean" else 2
    np.testing.assert_allclose(a.grad.numpy(), factor * (a.detach().numpy() - b.numpy()), rtol=1e-5, atol=1e-7)


def batch_norm_by_numpy(x, g, weight, eps):
    """(y, gradient of x, of weight, of bias) in training."""
    axes, along = (0, *range(2, x.ndim)), (1, -1) + (1,) * (x.ndim - 2)
    rstd = 1 / np.sqrt(x.var(axes, keepdims=True) + eps)
    normal = (x - x.mean(axes, keepdims=True)) * rstd
    to_x = g - g.mean(axes, keepdims=True) - normal * (g * normal).mean(axes, keepdims=True)
    return normal * weight.reshape(along), to_x * rstd * weight.reshape(along), (g * normal).sum(axes), g.sum(axes)


@pytest.mark.parametrize("shape", [(7, 1), (40, 1100), (3, 5, 1), (4, 600, 3), (2, 3, 40, 70), (2, 64, 33, 40)], ids=str)
@pytest.mark.parametrize("dtype, tolerance", [("float32", 1e-5), ("float64", 1e-12), ("float16", 5e-3), ("bfloat16", 5e-2)])
def test_batch_norm_kernels(shape, dtype, tolerance):
    x, g, weight = [normal(*s, seed=i).to(getattr(torch, dtype)) for i, s in enumerate((shape, shape, shape[1:2]))]
    x.requires_grad_()
    weight.requires_grad_()
    bias = torch.zeros(shape[1], dtype=weight.dtype, requires_grad=True)
    y = F.batch_norm(x, None, None, weight, bias, True)
    y.backward(g)
    expected = batch_norm_by_numpy(*[t.detach().double().numpy() for t in (x, g, weight)], 1e-5)
    for got, value in zip((y.detach(), x.grad, weight.grad, bias.grad), expected):
        np.testing.assert_allclose(got.double().numpy(), value, rtol=tolerance, atol=tolerance * max(1, np.abs(value).max()))


def group_norm_by_numpy(x, g, groups, weight, bias):
    """The output, and the gradients of the input, weight and bias."""
    (n, c), along = x.shape[:2], (1, -1, *[1] * (x.ndim - 2))
    grouped, dims = x.reshape(n, groups, -1), (0, *range(2, x.ndim))
    rstd = 1 / np.sqrt(grouped.var(2, keepdims=True) + 1e-5)
    normal = (grouped - grouped.mean(2, keepdims=True)) * rstd
    scaled, plain = (g * weight.reshape(along)).reshape(grouped.shape), normal.reshape(x.shape)
    gx = (scaled - scaled.mean(2, keepdims=True) - normal * (scaled * normal).mean(2, keepdims=True)) * rstd
    return plain * weight.reshape(along) + bias.reshape(along), gx.reshape(x.shape), (g * plain).sum(dims), g.sum(dims)


@pytest.mark.parametrize("level", ["highest", "baseline"])
@pytest.mark.parametrize("dtype, tolerance", [("float32", 2e-5), ("float64", 1e-12), ("float16", 4e-3), ("bfloat16", 3e-2)])
@pytest.mark.parametrize("shape, groups", [((3, 6), 2), ((2, 4, 5), 4), ((2, 4, 17, 19), 1), ((1, 600, 3), 300), ((5, 6, 2, 3, 2), 3)], ids=str)
def test_group_norm_kernels(shape, groups, dtype, tolerance, level):
    from pyx_tensor_cpu.level import cpu_level, set_cpu_level
    shapes = shape[::-1], shape[1:2], shape[1:2], shape
    x, weight, bias, g = ((3 * normal(*s, seed=i) + 1).to(getattr(torch, dtype)) for i, s in enumerate(shapes))
    x = x.permute(*range(len(shape) - 1, -1, -1))                               # its memory isn't in a row
    leaves = [t.detach().requires_grad_() for t in (x, weight, bias)]
    before = cpu_level()
    set_cpu_level("baseline" if level == "baseline" else before)
    y = F.group_norm(leaves[0], groups, *leaves[1:])
    grads = torch.autograd.grad(y, leaves, g)
    set_cpu_level(before)
    for found, exact in zip((y, *grads), group_norm_by_numpy(*[t.double().numpy() for t in (x, g)], groups, *[t.double().numpy() for t in (weight, bias)])):
        assert found.dtype is x.dtype
        np.testing.assert_allclose(found.detach().double().numpy(), exact, rtol=tolerance, atol=tolerance * np.abs(exact).max())


def test_group_norm_of_single_numbers_and_of_none():
    """A group of one number is 0, whatever the number is; groups of the smaller types may have parameters in float32."""
    x = torch.randn(3, 4, requires_grad=True)
    y = F.group_norm(x, 4, torch.randn(4))
    y.sum().backward()
    assert (y == 0).all() and (x.grad == 0).all()
    for shape in ((0, 4, 3), (2, 4, 0)):
        x, weight = torch.zeros(shape, requires_grad=True), torch.ones(4, requires_grad=True)
        F.group_norm(x, 2, weight, weight).sum().backward()
        assert x.grad.shape == shape and (weight.grad == 0).all()
    half = torch.randn(2, 4, 3).half()
    assert torch.equal(F.group_norm(half, 2, torch.ones(4)), F.group_norm(half.float(), 2).half())
    for message, weight in (("vector of size equal to the number of channels", torch.ones(3)), ("takes a weight of its dtype", torch.ones(4).double())):
        with pytest.raises(RuntimeError, match=message):
            F.group_norm(torch.zeros(2, 4, 3), 2, weight)
    with pytest.raises(NotImplementedError, match="group_norm"):
        F.group_norm(torch.zeros(2, 4, 3).long(), 2)


def test_group_norm_kernels_refuse_what_does_not_fit():
    from pyx_tensor_cpu import channels
    x = np.zeros((2, 4, 3))
    for call in (lambda: channels.group_norm(x, 3, None, None, 1e-5), lambda: channels.group_norm(x, 2, np.ones(3), None, 1e-5),
                 lambda: channels.group_norm_backward(x[:1], x, np.zeros(4), np.zeros(4), None, 2, (True, True, True)),
                 lambda: channels.group_norm_backward(x, x, np.zeros(3), np.zeros(4), None, 2, (True, True, True))):
        with pytest.raises(ValueError, match="group_norm"):
            call()


def test_batch_norm_on_every_cpu_level():
    from pyx_tensor_cpu import channels, level
    x, g, weight = [normal(*s, seed=i, dtype="f4").numpy() for i, s in enumerate(((5, 20, 33), (5, 20, 33), (20,)))]
    expected = batch_norm_by_numpy(x.astype("f8"), g.astype("f8"), weight, 1e-5)
    before = level.cpu_level()
    for name in level.supported_levels():
        level.set_cpu_level(name)
        try:
            y, mean, var, *_ = channels.batch_norm(x, None, None, weight, None, True, 1e-5)
            grads = channels.batch_norm_backward(g, x, mean, var, weight, True, 1e-5, (True, True, True))
        finally:
            level.set_cpu_level(before)
        for got, value in zip((y, *grads), expected):
            np.testing.assert_allclose(got, value, rtol=1e-4, atol=1e-4)


def test_the_result_of_batch_norm_may_be_written_to():
    x, weight, bias = operands((5, 3), (3,), (3,))
    F.relu(F.batch_norm(x, None, None, weight, bias, True), inplace=True).sum().backward()
    expected = torch.autograd.grad(F.relu(F.batch_norm(x, None, None, weight, bias, True)).sum(), (x, weight, bias))
    assert all(torch.equal(t.grad, e) for t, e in zip((x, weight, bias), expected))


def test_batch_norm_of_strided_input():
    x = normal(3, 4, 5, 6)
    turned = x.permute(0, 3, 1, 2).contiguous().permute(0, 2, 3, 1)
    assert torch.equal(F.batch_norm(x, None, None, training=True), F.batch_norm(turned, None, None, training=True))


def test_running_statistics():
    x, mean, var = normal(6, 3), torch.zeros(3).double(), torch.ones(3).double()
    F.batch_norm(x, mean, var, training=True, momentum=0.25)
    np.testing.assert_allclose(mean.numpy(), 0.25 * x.numpy().mean(0), rtol=1e-12)
    np.testing.assert_allclose(var.numpy(), 0.75 + 0.25 * x.numpy().var(0, ddof=1), rtol=1e-12)
    assert mean._version == var._version == 1


def test_bodies_agree_with_kernels():
    for name, (function, inputs) in FUSED.items():
        if "cross" in name or "evaluated" in name or "complex" in name:
            continue                       # targets and statistics are tensors of the CPU; a loss is real
        results = []
        for device in ("cpu", "reference"):
            moved = [x.detach().to(device).requires_grad_() for x in inputs]
            y = function(*moved)
            grads = torch.autograd.grad(y.sum() if name.startswith("mse") else (y * y).sum(), moved)
            results.append([t.detach().cpu().numpy() for t in (y, *grads)])
        for kernel, body in zip(*results):
            np.testing.assert_allclose(kernel, body, rtol=1e-9, atol=1e-9, err_msg=name)


def test_cross_entropy_body_agrees_with_the_kernel():
    x, weight = normal(4, 3), torch.tensor([1., 2, 3]).double()
    for reduction in ("none", "mean", "sum"):
        results = []
        for device in ("cpu", "reference"):
            scores = x.detach().to(device).requires_grad_()
            loss = F.cross_entropy(scores, TARGET.to(device), weight.to(device), reduction=reduction)
            loss.sum().backward()
            results.append((loss.detach().cpu().numpy(), scores.grad.cpu().numpy()))
        for kernel, body in zip(*results):
            np.testing.assert_allclose(kernel, body, rtol=1e-12, atol=1e-12)


def test_adam_counts_steps_once():
    weight = torch.ones(3, requires_grad=True)
    optimizer = torch.optim.Adam([weight])
    for step in range(1, 4):
        weight.sum().backward()
        optimizer.step()
        assert float(optimizer.state[weight]["step"]) == step


@pytest.mark.parametrize("shape", [(4,), (2, 4), (2, 3, 4)])
@pytest.mark.parametrize("bias_shape", [(), (1,)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.int32])
def test_a_linear_map_takes_one_number_as_its_bias(shape, bias_shape, dtype):
    bias = torch.full(bias_shape, 2, dtype=dtype)
    for rows in (1, 3):
        out = torch.nn.functional.linear(torch.ones(shape, dtype=dtype), torch.ones(rows, 4, dtype=dtype), bias)
        assert out.shape == (*shape[:-1], rows) and out.unique().tolist() == [6]
    if dtype.is_floating_point:
        bias.requires_grad = True
        torch.nn.functional.linear(torch.ones(shape), torch.ones(3, 4), bias).sum().backward()
        assert bias.grad.shape == bias_shape and bias.grad.item() == out.numel()
