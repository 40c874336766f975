"""The CUDA kernels' values: the kernels run on the host (tests/cuda_on_host), by way of the backend, beside the cpu backend's results."""
import cuda_on_host
import cupy_standin
import numpy as np
import pytest

import pyx_tensor as torch
from op_samples import RANDOM, Maker, S, calls
from pyx_tensor.core import registry
from pyx_tensor.core.definitions import functions
from pyx_tensor.core.device import make_device
from pyx_tensor_cupy import launcher
from pyx_tensor_cupy.backend import CupyBackend

NAMES = sorted(set(S) - RANDOM)
TOLERANCE = {"float32": 2e-5, "float64": 1e-11, "float16": 4e-3, "bfloat16": 3e-2}


@pytest.fixture(scope="module", autouse=True)
def device():
    """A CUDA device whose kernels run on the host."""
    assert not torch.cuda.is_available(), "these tests register a stand-in for CUDA"
    registry.register_backend("cuda", CupyBackend(cupy_standin))
    yield
    del registry._backends["cuda"]
    for name in ("cuda", "cuda:0", "cuda:1"):
        make_device(name).forget()


@pytest.fixture(params=[False, True], ids=["forwards", "backwards"])
def order(request):
    """The order of threads and blocks: where a barrier is missing, the results differ."""
    cuda_on_host.backwards[0] = request.param
    yield
    cuda_on_host.backwards[0] = False


def moved(x, requires_grad=True):
    """Arguments on the CUDA device, as leaves of their own where they can have gradients."""
    if isinstance(x, torch.Tensor):
        x = x.detach().to("cuda")
        return x.requires_grad_() if requires_grad and x.dtype.is_floating_point else x
    if isinstance(x, (list, tuple)):
        return type(x)(moved(item, requires_grad) for item in x) if type(x) in (list, tuple) else x
    return {k: moved(v, requires_grad) for k, v in x.items()} if isinstance(x, dict) else x


def leaves(x):
    if isinstance(x, torch.Tensor):
        return [x] if x.requires_grad else []
    items = x.values() if isinstance(x, dict) else x if isinstance(x, (list, tuple)) else []
    return [leaf for item in items for leaf in leaves(item)]


def on_cpu(x):
    if isinstance(x, torch.Tensor):
        x = x.detach().clone()
        return x.requires_grad_() if x.dtype.is_floating_point else x
    if isinstance(x, (list, tuple)):
        return type(x)(map(on_cpu, x)) if type(x) in (list, tuple) else x
    return {k: on_cpu(v) for k, v in x.items()} if isinstance(x, dict) else x


def tensors(result):
    if isinstance(result, torch.Tensor):
        return [result]
    return [t for item in result for t in tensors(item)] if isinstance(result, (tuple, list)) else []


def assert_same(found, expected, tolerance):
    assert found.dtype is expected.dtype and found.shape == expected.shape
    found, expected = (t.detach().cpu().to(torch.float64).numpy() if t.dtype.is_floating_point else t.detach().cpu().numpy() for t in (found, expected))
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


def run(function, args, kwargs):
    """Results, and the gradients of all leaves for weights that differ from element to element."""
    results = tensors(function(*args, **kwargs))
    goals = [r for r in results if r.requires_grad and r.numel()]
    for goal in goals:
        weights = torch.arange(goal.numel(), dtype=torch.float32).reshape(goal.shape).remainder(5).sub(1.7).to(goal.device, goal.dtype)
        goal.backward(weights, retain_graph=True)
    return results, [leaf.grad for leaf in leaves([args, kwargs])]


def compare(function, args, kwargs, tolerance):
    expected, wanted = run(function, on_cpu(list(args)), on_cpu(kwargs))
    found, got = run(function, moved(list(args)), moved(kwargs))
    assert len(found) == len(expected) and len(got) == len(wanted)
    for a, b in zip(found, expected):
        assert_same(a, b, tolerance)
    for a, b in zip(got, wanted):
        assert (a is None) == (b is None)
        if a is not None:
            assert a.is_cuda
            assert_same(a, b, tolerance)


@pytest.mark.parametrize("name", NAMES)
def test_operations(name):
    for c in calls(name, Maker(torch)):
        compare(functions[name], c.args, c.kwargs, 1e-4)
