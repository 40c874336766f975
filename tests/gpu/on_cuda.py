"""pyx_tensor with its tensors on the CUDA device, for programs that bring them from NumPy and back: the run of PyTorch's own database of operators."""
import os
import sys
from pathlib import Path

import pyx_tensor
from pyx_tensor import *  # noqa: F403 (all of it, under this module's name)

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
if os.environ.get("PYX_TENSOR_STANDIN"):
    import cupy_standin
    from pyx_tensor.core import registry
    from pyx_tensor_cupy.backend import CupyBackend
    cupy_standin.N_DEVICES = 1
    registry.register_backend("cuda", CupyBackend(cupy_standin))

_to_numpy, _from_numpy = pyx_tensor.Tensor.numpy, pyx_tensor.from_numpy


def from_numpy(array):
    """A tensor on the device."""
    return _from_numpy(array).to("cuda")


def _numpy(self, *args, **kwargs):
    return _to_numpy(self.cpu() if self.is_cuda else self, *args, **kwargs)


pyx_tensor.Tensor.numpy = _numpy
pyx_tensor.set_default_device("cuda")
pyx_tensor.backends.cudnn.allow_tf32 = False


def __getattr__(name):
    return getattr(pyx_tensor, name)
