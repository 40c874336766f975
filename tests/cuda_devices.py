"""Two CUDA devices over the stand-in for CuPy: fixtures for the modules that import them."""
import cupy_standin
import pytest

import pyx_tensor.cuda as cuda
from pyx_tensor.core import registry
from pyx_tensor.core.device import make_device
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
