"""Graphs of any depth are run and dropped without stack overflow, and nothing refers to itself."""
import gc
import threading
import weakref

import pytest

import pyx_tensor as torch


@pytest.fixture(autouse=True)
def collector_off():
    """Without the cyclic collector, which would walk the growing graphs again and again; what is dropped here is dropped by
    reference counts, but where a test collects itself."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def chain(length):
    """A leaf, and what `length` operations made of it: its own value, with a gradient of 1."""
    x = y = torch.ones(1, requires_grad=True)
    for _ in range(length // 2):
        y = y * 1.0 + 0.0
    return x, y


@pytest.mark.rows("S383")
def test_deep_chains_run():
    x, y = chain(100_000)
    y.sum().backward()
    assert x.grad.item() == 1


def test_a_million_nodes_are_dropped_without_being_run():
    y = torch.ones(1, requires_grad=True)
    for _ in range(1_000_000):
        y = -y
    node = weakref.ref(y.grad_fn)
    del y
    assert node() is None


def test_deep_chains_are_dropped_by_the_garbage_collector():
    class Holder:
        pass

    holder = Holder()
    holder.itself = holder
    holder.chain = chain(200_000)[1]
    node = weakref.ref(holder.chain.grad_fn)
    del holder
    gc.collect()
    assert node() is None


def test_deep_chains_are_dropped_from_another_thread():
    box = [chain(200_000)[1]]
    node = weakref.ref(box[0].grad_fn)
    thread = threading.Thread(target=box.clear)
    thread.start()
    thread.join()
    assert node() is None


def test_deep_chains_through_lists_of_saved_values_are_dropped():
    y = torch.ones(1, 2, requires_grad=True)
    for _ in range(30_000):
        y = torch.cat([y, y])[:1]
    node = weakref.ref(y.grad_fn)
    del y
    assert node() is None


def test_deep_chains_of_writes_are_run_and_dropped():
    x = torch.ones(2, requires_grad=True)
    y = x * 1
    for _ in range(20_000):
        y[0].mul_(1.0)
    y.sum().backward()
    assert x.grad.tolist() == [1, 1]
    z = x * 1
    for _ in range(20_000):
        z[0].mul_(1.0)
    del z


def test_deep_chains_of_functions_are_run_and_dropped():
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return g

    x = y = torch.ones(1, requires_grad=True)
    for _ in range(50_000):
        y = Double.apply(y)
    y.backward()
    assert x.grad.item() == 1
    for _ in range(50_000):
        y = Double.apply(y)
    node = weakref.ref(y.grad_fn)
    del y
    assert node() is None


@pytest.mark.rows("S384")
def test_graphs_have_no_reference_cycles():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = (x * x).exp() + 0
    v = y[:1]
    v.mul_(3)
    z = torch.stack([y, y]).sum()
    nodes = [weakref.ref(t.grad_fn) for t in (y, v, z)]
    tensors = [weakref.ref(t) for t in (x, y, v, z)]
    z.backward()
    del x, y, v, z
    assert [r() for r in nodes + tensors] == [None] * 7


def test_deep_chains_of_views_are_dropped():
    y = torch.ones(2)
    for _ in range(200_000):
        y = y.view(-1)
    thread = threading.Thread(target=[y].clear)      # threads have small stacks
    del y
    thread.start()
    thread.join()
