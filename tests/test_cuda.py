"""CUDA: what holds without it, and the CuPy backend and `pyx_tensor.cuda` over a stand-in for CuPy with two devices."""
import subprocess
import sys
import unittest

import cupy_standin
import numpy as np
import pytest

import pyx_tensor as torch
import pyx_tensor.cuda as cuda
from pyx_tensor.core import registry
from pyx_tensor.core.device import make_device
from pyx_tensor.testing import backend_suite
from pyx_tensor_cupy.backend import CupyBackend


@pytest.fixture(scope="module")
def devices():
    """Two CUDA devices for this module."""
    if cuda.is_available():
        pytest.skip("there is a real CUDA device")
    registry.register_backend("cuda", CupyBackend(cupy_standin))
    yield
    del registry._backends["cuda"]
    for name in ("cuda", "cuda:0", "cuda:1"):
        make_device(name).forget()


@pytest.fixture(autouse=True)
def first_device():
    cupy_standin._current[0] = 0
    cupy_standin.asked.clear()
    yield
    cupy_standin._current[0] = 0
    make_device("cuda").forget()


# --- without CUDA -------------------------------------------------------------------------------------------------
WITHOUT = """
import sys
sys.modules["cupy"] = None                # as if CuPy weren't installed
import pyx_tensor as torch
import pyx_tensor.cuda as cuda
"""


def without_cuda(code):
    done = subprocess.run([sys.executable, "-c", WITHOUT + code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_without_cuda_nothing_raises_that_need_not():
    assert without_cuda("""
print(cuda.is_available(), cuda.device_count(), cuda.is_initialized(), cuda.memory_allocated(), cuda.memory_reserved())
cuda.empty_cache(); cuda.manual_seed(1); cuda.manual_seed_all(2)
cuda.set_device(-1)
with cuda.device(None), cuda.device(-1), cuda.stream(None): pass
""") == "False 0 False 0 0\n"


def test_without_cuda_the_reason_is_given():
    out = without_cuda("""
for use in (cuda.current_device, cuda.synchronize, cuda.init, cuda.Stream, cuda.Event, cuda.current_stream, cuda.get_device_name,
            lambda: cuda.set_device(0), lambda: torch.zeros(2, device="cuda"), lambda: torch.zeros(2).cuda(), lambda: torch.zeros(2).to("cuda:0")):
    try:
        use()
    except RuntimeError as error:
        print(error)
""").splitlines()
    assert len(out) == 11
    for line in out:
        assert line.startswith("device 'cuda' is not available: CuPy isn't installed")
        assert "pip install 'pyx-tensor[cuda12]'" in line


def test_without_a_driver_the_reason_is_given():
    out = without_cuda("""
import types
class CUDARuntimeError(RuntimeError): pass
def count(): raise CUDARuntimeError("cudaErrorInsufficientDriver")
runtime = types.SimpleNamespace(getDeviceCount=count, CUDARuntimeError=CUDARuntimeError)
sys.modules["cupy"] = types.SimpleNamespace(__version__="13", cuda=types.SimpleNamespace(runtime=runtime))
print(cuda.is_available())
try:
    torch.zeros(2, device="cuda")
except RuntimeError as error:
    print(error)
""")
    assert out == "False\ndevice 'cuda' is not available: CuPy 13 finds no usable CUDA driver or device: cudaErrorInsufficientDriver\n"


# --- the backend --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("check", backend_suite.CHECKS)
def test_backend(devices, check):
    try:
        backend_suite.run_check("cuda", check)
    except unittest.SkipTest as skip:
        pytest.skip(str(skip))


def test_the_standin_refuses_the_wrong_device():
    with cupy_standin.Device(1):
        array = cupy_standin.ones(3)
    with pytest.raises(RuntimeError, match="the array is on device 1, but device 0 is current"):
        array + 1


# --- devices ------------------------------------------------------------------------------------------------------
def test_counting(devices):
    assert cuda.is_available() and cuda.device_count() == 2 and cuda.current_device() == 0
    assert cuda.get_device_name(0) == "Stand-in" and cuda.get_device_capability(1) == (9, 1)
    assert cuda.can_device_access_peer(0, 1) and not cuda.can_device_access_peer(1, 1)


def test_a_device_without_index_is_the_current_one(devices):
    assert str(torch.zeros(2, device="cuda").device) == "cuda:0"
    cuda.set_device(1)
    assert str(torch.zeros(2, device="cuda").device) == "cuda:1"
    assert str(torch.zeros(2, device="cuda:0").device) == "cuda:0"
    assert str(torch.zeros(2).cuda().device) == "cuda:1"
    assert str(torch.zeros(2).cuda(0).device) == "cuda:0"


def test_the_context_restores_the_device(devices):
    with pytest.raises(KeyError):
        with cuda.device(1):
            assert cuda.current_device() == 1
            with cuda.device("cuda:0"), cuda.device(None), cuda.device(-1):
                assert cuda.current_device() == 0
            assert cuda.current_device() == 1
            raise KeyError
    assert cuda.current_device() == 0


def test_operations_follow_their_operands(devices):
    x = torch.ones(2, 3, device="cuda:1")
    y = (x * 2 + x.sum(0)).exp().t() @ x
    assert str(y.device) == "cuda:1" and cuda.current_device() == 0
    assert y.cpu().numpy().shape == (3, 3)
    x[:, 1] = 5
    assert x.cpu().tolist() == [[1, 5, 1], [1, 5, 1]]


def test_gradients_flow_back_to_the_cpu(devices):
    leaf = torch.ones(3, requires_grad=True)
    (leaf.cuda(1) * 3).sum().backward()
    assert str(leaf.grad.device) == "cpu" and leaf.grad.tolist() == [3, 3, 3]


def test_devices_do_not_mix(devices):
    on0, on1, number = torch.ones(2, device="cuda:0"), torch.ones(2, device="cuda:1"), torch.tensor(2.0)
    for a, b in ((on0, on1), (on0, torch.ones(2)), (torch.ones(2), on1)):
        with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
            a + b
    assert (on1 * number).tolist() == [2, 2]
    on1.copy_(on0 * 7)
    assert str(on1.device) == "cuda:1" and on1.tolist() == [7, 7]


@pytest.mark.parametrize("wrong", [2, "cuda:5"])
def test_a_device_that_is_not_there(devices, wrong):
    with pytest.raises(RuntimeError, match="invalid device ordinal"):
        cuda.set_device(wrong)
    with pytest.raises(ValueError, match="expected a cuda device, but got cpu"):
        cuda.set_device("cpu")


# --- streams ------------------------------------------------------------------------------------------------------
def test_streams(devices):
    first, second = cuda.Stream(), cuda.Stream(1)
    assert second._native.device_id == 1 and first != second
    with cuda.stream(first):
        assert cuda.current_stream() == first
        with cuda.stream(None):
            assert cuda.current_stream() == first
    assert cuda.current_stream() == cuda.default_stream()
    second.wait_stream(first)
    (recorded, event, where), (waited, who, what) = cupy_standin.asked
    assert (recorded, where, waited, who, what) == ("record", first._native, "wait", second._native, event)
    assert first.query()


def test_events(devices):
    start, end = cuda.Event(enable_timing=True), cuda.Event(enable_timing=True)
    start.record()
    end.record()
    end.synchronize()
    assert start._native.timed and start.query() and start.elapsed_time(end) == 1.5
    assert not cuda.Event()._native.timed


def test_synchronize_and_memory(devices):
    cuda.synchronize(1)
    cuda.empty_cache()
    assert cupy_standin.asked == [("synchronize", 1), "free"]
    assert cuda.memory_allocated(1) == 101 and cuda.memory_reserved() == 200


def test_numpy_comes_back(devices):
    assert isinstance(torch.ones(2, device="cuda").cpu().numpy(), np.ndarray)
    with pytest.raises(TypeError, match="can't convert cuda:0 device type tensor to numpy"):
        torch.ones(2, device="cuda").numpy()
