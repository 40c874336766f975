"""cuDNN, by which CUDA devices convolve, and attend in half types, where the package nvidia-cudnn-frontend is installed (docs/cuda.md).

Attributes:
    enabled: whether it may be used; where not, all is done as where it isn't installed.
    allow_tf32: whether convolutions of float32 may round their factors to 10 bits. As in PyTorch they may, unlike matrix products.
    deterministic: whether only algorithms are chosen that give the same bits in every run, as under `use_deterministic_algorithms`.
    benchmark, benchmark_limit: kept, and change nothing: cuDNN's own heuristics choose the algorithm, none are timed.
"""
import sys

from ..cuda import is_available as _cuda_is_available
from ..core.registry import get_backend
from ._flags import Permission, changed, with_attributes

_DTYPES = ("float32", "float16", "bfloat16")

benchmark = False
benchmark_limit = 10


def is_available():
    """True where a CUDA device has cuDNN. Never raises."""
    return version() is not None


def version():
    """cuDNN's version as a number (91900 for 9.19.0); None where there is none."""
    if not _cuda_is_available():
        return None
    return getattr(get_backend("cuda"), "cudnn_version", lambda: None)()


def is_acceptable(tensor):
    """Whether cuDNN is used for tensors of this device and dtype."""
    return tensor.device.type == "cuda" and tensor.dtype.name in _DTYPES and sys.modules[__name__].enabled and is_available()


def flags(enabled=None, benchmark=None, benchmark_limit=None, deterministic=None, allow_tf32=None):
    """In this block the flags given have other values."""
    return changed(sys.modules[__name__], enabled=enabled, benchmark=benchmark, benchmark_limit=benchmark_limit, deterministic=deterministic,
                   allow_tf32=allow_tf32)


with_attributes(sys.modules[__name__], enabled=Permission("cudnn", "set_enabled_cudnn"), allow_tf32=Permission("cudnn_tf32", "set_allow_tf32_cudnn"),
                deterministic=Permission("cudnn_deterministic", "set_deterministic_cudnn"))
