"""The names of PyTorch's compiled module that programs ask for: `torch._C.Generator`."""
from .core.overrides import disabled as DisableTorchFunctionSubclass  # noqa: F401
from .core.overrides import unasked as _disabled_torch_function_impl  # noqa: F401
from .core.tensor import TensorBase  # noqa: F401
from .ops.random import Generator  # noqa: F401


def _log_api_usage_once(event):
    """Nothing is logged."""
