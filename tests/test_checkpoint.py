"""Checkpointed parts compute the same gradients, with the same random numbers, and keep less."""
import gc
import weakref

import pytest

import pyx_tensor as torch
from pyx_tensor.core import random
from pyx_tensor.utils.checkpoint import CheckpointError, checkpoint, checkpoint_sequential


def leaf(*values):
    return torch.tensor(values, dtype=torch.float64, requires_grad=True)


def function(x, y=None):
    z = (x * x).exp().sin()
    return z if y is None else z * y


def expected(x):
    x = x.detach().requires_grad_()
    function(x).sum().backward()
    return x.grad


@pytest.mark.parametrize("use_reentrant", [True, False])
def test_same_gradients(use_reentrant):
    x = leaf(0.5, 1.0)
    checkpoint(function, x, use_reentrant=use_reentrant).sum().backward()
    assert x.grad.tolist() == expected(x).tolist()


@pytest.mark.parametrize("use_reentrant", [True, False])
def test_function_runs_once_in_forward_and_once_in_backward(use_reentrant):
    calls = []

    def counting(x):
        calls.append(torch.is_grad_enabled())
        return function(x), x * 2
    a, b = checkpoint(counting, leaf(0.5), use_reentrant=use_reentrant)
    assert len(calls) == 1
    (a + b).sum().backward()
    assert calls == [not use_reentrant, True]


@pytest.mark.parametrize("use_reentrant", [True, False])
@pytest.mark.parametrize("preserve", [True, False])
def test_random_numbers(use_reentrant, preserve):
    drawn = []

    def noisy(x):
        drawn.append(torch.rand(2, dtype=torch.float64))
        return (x * drawn[-1]).exp()
    torch.manual_seed(0)
    x = leaf(0.5, 1.0)
    y = checkpoint(noisy, x, use_reentrant=use_reentrant, preserve_rng_state=preserve)
    after = torch.rand(3)
    state = random.get_rng_state()
    y.sum().backward()
    assert (drawn[0].tolist() == drawn[1].tolist()) is preserve
    if preserve:
        assert (random.get_rng_state() == state).all()
        assert x.grad.tolist() == pytest.approx((drawn[0] * y.detach()).tolist())
    torch.manual_seed(0)
    torch.rand(2, dtype=torch.float64)
    assert torch.rand(3).tolist() == after.tolist()


def test_keyword_arguments():
    x, y = leaf(0.5), leaf(2.0)
    checkpoint(function, x, y=y, use_reentrant=False).sum().backward()
    assert y.grad.item() == function(x).item()
    with pytest.raises(ValueError, match="Unexpected keyword arguments: y"):
        checkpoint(function, x, y=y, use_reentrant=True)


def test_not_reentrant_works_under_grad_and_for_closures():
    x, w = leaf(0.5), leaf(2.0)
    y = checkpoint(lambda t: function(t) * w, x, use_reentrant=False)
    gx, gw = torch.autograd.grad(y, [x, w], create_graph=True)
    reference = torch.autograd.grad(function(x) * w, x, create_graph=True)[0]
    assert torch.autograd.grad(gx, x)[0].item() == pytest.approx(torch.autograd.grad(reference, x)[0].item())
    assert gw.item() == function(x).item()


def test_retained_graphs_compute_again():
    x = leaf(0.5)
    y = checkpoint(function, x, use_reentrant=False)
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.item() == pytest.approx(2 * expected(x).item())


def test_reentrant_limits():
    x = leaf(0.5)
    with pytest.raises(RuntimeError, match="use_reentrant=True"):
        torch.autograd.grad(checkpoint(function, x, use_reentrant=True), x)
    with pytest.warns(UserWarning, match="use_reentrant parameter should be passed explicitly"):
        checkpoint(function, x).sum().backward()
    first = torch.autograd.Variable(x, requires_grad=True)
    (checkpoint(function, first * 1, use_reentrant=True) * first).backward(create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        first.grad.backward()


def test_nested():
    x = leaf(0.5)

    def inner(t):
        return checkpoint(function, t * 1, use_reentrant=False) * t
    checkpoint(inner, x, use_reentrant=False).sum().backward()
    reference = leaf(0.5)
    (function(reference) * reference).sum().backward()
    assert x.grad.item() == pytest.approx(reference.grad.item())


def test_another_computation_is_noticed():
    state = []

    def changing(x):
        state.append(1)
        return x.exp() if len(state) == 1 else x.exp().exp()
    with pytest.raises(CheckpointError, match="different number of tensors"):
        checkpoint(changing, leaf(0.5), use_reentrant=False).backward()

    def reshaping(x):
        state.append(1)
        return x.exp() if len(state) == 3 else x.view(-1, 1).exp()
    with pytest.raises(CheckpointError, match="different metadata"):
        checkpoint(reshaping, leaf(0.5), use_reentrant=False).backward()


def test_changed_arguments_are_noticed():
    x = leaf(0.5) * 1
    y = checkpoint(function, x, use_reentrant=False)
    x.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_intermediate_values_are_not_kept():
    kept = []

    def watched(x):
        y = x.exp()
        kept.append(weakref.ref(y))
        return y.sin()
    gc.disable()
    try:
        x = leaf(0.5, 1.0)
        z = checkpoint(watched, x, use_reentrant=False)
        saved = z.grad_fn
        assert kept[0]() is None
        z.sum().backward()
        node = weakref.ref(saved)
        del z, saved
        assert node() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("segments", [1, 2, 3])
@pytest.mark.parametrize("use_reentrant", [True, False])
def test_sequential(segments, use_reentrant):
    functions = [torch.exp, torch.sin, lambda t: t * 2, torch.cos]
    x = leaf(0.5, 1.0)
    checkpoint_sequential(functions, segments, x, use_reentrant=use_reentrant).sum().backward()
    reference = leaf(0.5, 1.0)
    (reference.exp().sin() * 2).cos().sum().backward()
    assert x.grad.tolist() == pytest.approx(reference.grad.tolist())
