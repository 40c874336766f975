"""pyx_tensor: PyTorch's API for tensors, autograd, nn and optim, in a small package."""
from math import e, inf, nan, pi

from .core.device import Device as device
from .core.device import get_default_device, set_default_device
from .core.dtype import aliases as _aliases
from .core.dtype import by_name as _by_name
from .core.dtype import DType as dtype
from .core.dtype import can_cast, get_default_dtype, set_default_dtype
from .core.frontend import Parameter, Tensor
from .core.memory_format import (
    channels_last, channels_last_3d, contiguous_format, layout, memory_format, preserve_format, sparse_bsc, sparse_bsr, sparse_coo, sparse_csc,
    sparse_csr, strided)
from .core.registry import register_backend
from .core.size import Size
from .version import __version__
from . import ops
from .ops.random import Generator, default_generator
from .ops.storage import TypedStorage, UntypedStorage
from .ops.storage import storage_types as _storage_types
from .ops.tensor_types import types_of as _types_of
from .core.definitions import functions as _functions

newaxis = None
legacy_contiguous_format = contiguous_format

globals().update(_by_name)
globals().update(_aliases)
globals().update(_functions)
globals().update(_types_of("cpu"))
globals().update(_storage_types)

from . import autograd  # noqa: E402
from .autograd import enable_grad, inference_mode, is_grad_enabled, is_inference_mode_enabled, no_grad, set_grad_enabled  # noqa: E402

# What many programs never use is imported when it is first asked for: `import pyx_tensor` stays quick.
_LAZY = {
    **dict.fromkeys((
        "nn", "optim", "cuda", "serialization", "testing", "utils", "vision", "library", "random", "backends", "multiprocessing",
        "fft", "signal", "special", "linalg", "sparse",
        "safetensors", "distributions", "distributed", "_C", "jit", "compiler", "_dynamo", "hub", "accelerator", "alias", "version", "storage", "masked", "overrides", "return_types",
        "array_api", "func", "cpu", "__config__", "torchvision"), None),
    **dict.fromkeys(("compile", "cond", "while_loop"), "compiler"), "vmap": "func", "get_device_module": "accelerator", "to_dlpack": "utils.dlpack",
    **dict.fromkeys(("amp", "profiler"), None),
    **dict.fromkeys((
        "autocast", "autocast_decrement_nesting", "autocast_increment_nesting", "clear_autocast_cache", "get_autocast_cpu_dtype",
        "get_autocast_dtype", "get_autocast_gpu_dtype", "is_autocast_cache_enabled", "is_autocast_cpu_enabled", "is_autocast_enabled",
        "set_autocast_cache_enabled", "set_autocast_cpu_dtype", "set_autocast_cpu_enabled", "set_autocast_dtype", "set_autocast_enabled",
        "set_autocast_gpu_dtype"), "amp.autocast_mode"),
    "save": "serialization", "load": "serialization", "typename": "core.naming", "finfo": "core.typeinfo", "iinfo": "core.typeinfo",
    "get_num_threads": "core.threads", "set_num_threads": "core.threads",
    **dict.fromkeys(("use_deterministic_algorithms", "are_deterministic_algorithms_enabled", "is_deterministic_algorithms_warn_only_enabled",
                     "set_float32_matmul_precision", "get_float32_matmul_precision", "set_flush_denormal"), "core.settings"),
    **dict.fromkeys(("get_deterministic_debug_mode", "set_deterministic_debug_mode", "is_warn_always_enabled", "set_warn_always"), "core.settings"),
    "get_num_interop_threads": "core.threads", "set_num_interop_threads": "core.threads", "OutOfMemoryError": "core.protocol",
    "is_anomaly_enabled": "autograd.anomaly_mode", "is_anomaly_check_nan_enabled": "autograd.anomaly_mode", "set_anomaly_enabled": "autograd.anomaly_mode",
    **dict.fromkeys(("bilinear", "celu", "celu_", "cosine_similarity", "pairwise_distance", "prelu", "rms_norm", "rrelu", "rrelu_", "selu", "selu_"),
                    "nn.functional"),
    **dict.fromkeys(("alpha_dropout", "alpha_dropout_", "batch_norm", "binary_cross_entropy_with_logits", "cosine_embedding_loss",
                     "feature_alpha_dropout", "feature_alpha_dropout_", "feature_dropout", "group_norm", "hinge_embedding_loss",
                     "instance_norm", "kl_div", "margin_ranking_loss", "native_dropout", "norm_except_dim", "poisson_nll_loss",
                     "triplet_margin_loss"), "_torch_forms"),
    "set_printoptions": "core.printing", "get_printoptions": "core.printing",
}


def _array_namespace(self, /, *, api_version=None):
    """The Python array API standard over tensors, `pyx_tensor.array_api`; ValueError for a version that it isn't."""
    if api_version not in (None, "2021.12", "2022.12", "2023.12", "2024.12"):
        raise ValueError(f"__array_namespace__: version {api_version!r} of the array API standard isn't supported, 2021.12 to 2024.12 are")
    from . import array_api
    return array_api


Tensor.__array_namespace__ = _array_namespace


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

