"""The CPU backend's optimizer steps, normalisations and losses against PyTorch's own, to the last digits."""
import itertools

import numpy as np
import pytest

from pyx_tensor_cpu import loss, optim, scan
from pyx_tensor_cpu import normalize as N
from pyx_tensor_cpu import reduce as R

torch = pytest.importorskip("torch")
DTYPES = [np.dtype("f4"), np.dtype("f8")]
SHAPES = [(3, 4), (70_001,), ()]


def sample(shape, dtype, seed=0):
    return np.asarray(np.random.default_rng(seed).standard_normal(shape).astype(dtype))


def tensor(a):
    return torch.from_numpy(a.copy())


def assert_near(got, expected, ulps=4):
    expected = expected.detach().numpy()
    assert got.dtype == expected.dtype and got.shape == expected.shape
    eps = np.finfo(got.dtype).eps
    np.testing.assert_allclose(got, expected, rtol=ulps * eps, atol=ulps * eps)


def parameters(dtype):
    params = [sample(s, dtype) for s in SHAPES]
    return params, [tensor(p).requires_grad_() for p in params]


def give_gradients(tensors, dtype, step):
    grads = [sample(s, dtype, step) for s in SHAPES]
    for t, g in zip(tensors, grads):
        t.grad = tensor(g)
    return grads


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_adam(dtype):
    for maximize, decay, amsgrad, decoupled in itertools.product((False, True), (0, 0.1), (False, True), (False, True)):
        params, tensors = parameters(dtype)
        kind = torch.optim.AdamW if decoupled else torch.optim.Adam
        oracle = kind(tensors, lr=0.01, weight_decay=decay, amsgrad=amsgrad, maximize=maximize, foreach=False)
        avgs, squares, largest = ([np.zeros_like(p) for p in params] for _ in range(3))
        steps = [np.zeros((), np.float32) for _ in params]
        for step in range(1, 5):
            grads = give_gradients(tensors, dtype, step)
            oracle.step()
            optim.adam_step_(params, grads, avgs, squares, largest if amsgrad else None, steps, 0.01, 0.9,
                             0.999, 1e-8, decay, decoupled, amsgrad, maximize)
            for p, t in zip(params, tensors):
                assert_near(p, t)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_sgd(dtype):
    for maximize, decay, momentum, dampening, nesterov in itertools.product(
            (False, True), (0, 0.1), (0, 0.9), (0, 0.3), (False, True)):
        if nesterov and (not momentum or dampening):
            continue
        params, tensors = parameters(dtype)
        oracle = torch.optim.SGD(tensors, lr=0.01, momentum=momentum, dampening=dampening, weight_decay=decay,
                                 nesterov=nesterov, maximize=maximize, foreach=False)
        bufs = [np.zeros_like(p) for p in params]
        for step in range(4):
            grads = give_gradients(tensors, dtype, step)
            oracle.step()
            optim.sgd_step_(params, grads, bufs, 0.01, momentum, dampening, decay, nesterov, maximize, [step == 0] * len(params))
            for p, t in zip(params, tensors):
                assert_near(p, t)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_normalize(dtype):
    for shape in [(), (5,), (4, 7), (3, 10, 4), (20, 3000)]:
        a, g = sample(shape, dtype), sample(shape, dtype, 1)
        for dim in range(max(1, a.ndim)):
            assert_near(N.softmax(a, dim), torch.softmax(tensor(a), dim))
            assert_near(N.log_softmax(a, dim), torch.log_softmax(tensor(a), dim), 64)
            assert_near(N.softmax_backward(g, a, dim),
                        torch.ops.aten._softmax_backward_data(tensor(g), tensor(a), dim, tensor(a).dtype), 2000)
        for k in range(1, a.ndim + 1):
            size = list(shape[-k:])
            weight, bias = sample(size, dtype, 2), sample(size, dtype, 3)
            y, mean, rstd = N.layer_norm(a, k, weight, bias, 1e-5)
            expected = torch.native_layer_norm(tensor(a), size, tensor(weight), tensor(bias), 1e-5)
            for got, value in zip((y, mean, rstd), expected):
                assert_near(got, value, 64)
            gradients = torch.ops.aten.native_layer_norm_backward(
                tensor(g), tensor(a), size, *expected[1:], tensor(weight), tensor(bias), [True] * 3)
            for got, value in zip(N.layer_norm_backward(g, a, mean, rstd, weight, k, (True,) * 3), gradients):
                assert_near(got, value, 256)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_nll_loss(dtype):
    logp, weight = sample((50, 7), dtype), np.abs(sample((7,), dtype, 1))
    target = np.random.default_rng(2).integers(0, 7, 50)
    target[::9] = -100
    for number, reduction in enumerate(("none", "mean", "sum")):
        for w in (None, weight):
            tensor_w = None if w is None else tensor(w)
            got = loss.nll_loss(logp, target, w, reduction, -100)
            expected = torch.ops.aten.nll_loss_forward(tensor(logp), tensor(target), tensor_w, number, -100)
            assert_near(got[0], expected[0], 64)
            assert_near(got[1], expected[1], 64)
            g = sample(got[0].shape, dtype, 3)
            gradient = torch.ops.aten.nll_loss_backward(tensor(g), tensor(logp), tensor(target), tensor_w, number, -100, expected[1])
            assert_near(loss.nll_loss_backward(g, logp, target, w, reduction, -100, got[1]), gradient, 8)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_reductions_and_scans(dtype):
    a = sample((40, 50), dtype)
    a[3, 4:7] = np.nan
    a[5, 6] = np.inf
    a[6] = -0.0
    a[7, 3:] = a[7, 3]
    t = tensor(a)
    for dim in (0, 1):
        assert_near(R.sum(a, (dim,), False), t.sum(dim), 64)
        assert_near(R.logsumexp(a, (dim,), False), t.logsumexp(dim), 16)
        for got, expected in ((R.max_dim(a, dim, False), t.max(dim)), (R.min_dim(a, dim, False), t.min(dim)),
                              (scan.cummax(a, dim), t.cummax(dim)), (scan.cummin(a, dim), t.cummin(dim))):
            for x, y in zip(got, expected):
                np.testing.assert_array_equal(x, y.numpy())
        assert_near(scan.cumsum(a, dim), t.cumsum(dim), 16)
        assert_near(scan.logcumsumexp(a, dim), t.logcumsumexp(dim), 16)
