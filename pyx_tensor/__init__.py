"""pyx_tensor: PyTorch's API for tensors, autograd, nn and optim, in a small package."""
from .core.device import Device as device
from .core.device import get_default_device, set_default_device
from .core.dtype import aliases as _aliases
from .core.dtype import by_name as _by_name
from .core.dtype import DType as dtype
from .core.dtype import can_cast, get_default_dtype, set_default_dtype
from .core.frontend import Parameter, Tensor
from .core.memory_format import channels_last, channels_last_3d, contiguous_format, layout, memory_format, preserve_format, strided
from .core.registry import register_backend
from .core.size import Size
from .version import __version__
from . import ops
from .ops.random import Generator, default_generator
from .ops.storage import TypedStorage, UntypedStorage
from .ops.storage import storage_types as _storage_types
from .ops.tensor_types import types_of as _types_of
from .core.definitions import functions as _functions

globals().update(_by_name)
globals().update(_aliases)
globals().update(_functions)
globals().update(_types_of("cpu"))
globals().update(_storage_types)

from . import autograd  # noqa: E402
from .autograd import enable_grad, inference_mode, is_grad_enabled, is_inference_mode_enabled, no_grad, set_grad_enabled  # noqa: E402

# What many programs never use is imported when it is first asked for: `import pyx_tensor` stays quick.
_LAZY = {
    **dict.fromkeys(("nn", "optim", "cuda", "serialization", "testing", "utils", "vision", "library", "random", "backends", "fft", "signal",
                     "__config__"), None),
    **dict.fromkeys(("safetensors", "distributions", "jit", "compiler", "_dynamo", "hub", "alias", "version", "storage"), None), "compile": "compiler",
    "save": "serialization", "load": "serialization", "typename": "core.naming", "finfo": "core.typeinfo", "iinfo": "core.typeinfo",
    "get_num_threads": "core.threads", "set_num_threads": "core.threads",
    **dict.fromkeys(("use_deterministic_algorithms", "are_deterministic_algorithms_enabled", "is_deterministic_algorithms_warn_only_enabled",
                     "set_float32_matmul_precision", "get_float32_matmul_precision", "set_flush_denormal"), "core.settings"),
    "set_printoptions": "core.printing", "get_printoptions": "core.printing",
}


def __getattr__(name):
    if name not in _LAZY:
        raise AttributeError(f"module 'pyx_tensor' has no attribute {name!r}")
    from importlib import import_module
    where = _LAZY[name]
    found = import_module(f"{__name__}.{name}") if where is None else getattr(import_module(f"{__name__}.{where}"), name)
    globals()[name] = found
    return found


def __dir__():
    return sorted({*globals(), *_LAZY})

