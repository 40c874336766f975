"""The conformance kit on the backends of this distribution, on a strict array-API module, and on broken backends."""
import subprocess
import sys

import numpy as np
import pytest

import pyx_tensor as torch
from pyx_tensor.core import registry
from pyx_tensor.core.array_module import ArrayModuleBackend
from pyx_tensor.core.protocol import MANDATORY, Backend
from pyx_tensor.testing import backend_suite

STRICT = "array_api_strict"
try:
    import array_api_strict
except ImportError:      # it comes with the extra `test`
    NAMES = ("cpu", "reference")
else:
    NAMES = ("cpu", "reference", STRICT)
    if STRICT not in registry.registered_backends():
        devices = [array_api_strict.Device(name) for name in ("CPU_DEVICE", "device1", "device2")]
        registry.register_backend(STRICT, ArrayModuleBackend(STRICT, array_api_strict, devices=devices))


class Primitives(Backend):
    """Nothing but the mandatory primitives and what strided, mutable arrays take."""

    name = "primitives"
    array_type = np.ndarray
    strided = views = mutable = fallback_to_cpu = True

    def __init__(self):
        source = ArrayModuleBackend(self.name, np, strided=True, views=True, mutable=True)
        self.dtypes = {name: dtype for name, dtype in source.dtypes.items() if not name.startswith("complex")}
        for entry in (*MANDATORY, "copy_", "strides", "offset"):
            setattr(self, entry, getattr(source, entry))


if Primitives.name not in registry.registered_backends():
    registry.register_backend(Primitives.name, Primitives())

test_backend = pytest.mark.filterwarnings("ignore:operation .* runs on the CPU")(backend_suite.pytest_cases(*NAMES, Primitives.name))


def test_a_trip_through_the_cpu_is_told():
    x = torch.tensor([4.0, 9.0], device=Primitives.name, requires_grad=True)
    with pytest.warns(UserWarning, match="operation 'pow' runs on the CPU: backend 'primitives' has no kernel for it"):
        y = x ** 0.5
    y.sum().backward()
    assert y.device.type == x.grad.device.type == Primitives.name
    assert y.tolist() == [2, 3] and x.grad.tolist() == [0.25, pytest.approx(1 / 6)]


class Broken(ArrayModuleBackend):
    """Wrong in three ways, each of which a check must find."""

    def __init__(self):
        super().__init__("broken_here", np)

    def exp(self, a):
        return np.asarray(np.exp(a) * 1.0001)

    def neg(self, a):
        np.negative(a, out=a)
        return a

    def sum(self, a, dims, keepdim):
        return a.sum(axis=dims)


@pytest.fixture(scope="module")
def broken():
    if "broken_here" not in registry.registered_backends():
        registry.register_backend("broken_here", Broken())
    return backend_suite.run("broken_here")


def test_faults_are_found(broken):
    assert {"arrays/exp", "arrays/neg", "arrays/sum"} <= set(broken.failed)
    assert "arrays/log" in broken.passed


def test_the_report_says_what_failed(broken):
    assert not broken.ok
    assert "FAILED   arrays/neg: AssertionError: neg changed one of its inputs" in str(broken)


def test_command_line():
    command = [sys.executable, "-m", "pyx_tensor.testing.backend_suite", "reference", "arrays/exp"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("backend 'reference': 3 checks passed, 0 skipped, 0 failed")


def test_command_line_without_such_a_backend():
    command = [sys.executable, "-m", "pyx_tensor.testing.backend_suite", "nosuchdevice"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert done.stderr.startswith("no backend for device type 'nosuchdevice'")
