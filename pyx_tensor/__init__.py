"""pyx_tensor: PyTorch's API for tensors, autograd, nn and optim, in a small package."""
from .core.device import Device as device
from .core.device import get_default_device, set_default_device
from .core.dtype import aliases as _aliases
from .core.dtype import by_name as _by_name
from .core.dtype import DType as dtype
from .core.dtype import can_cast, get_default_dtype, set_default_dtype
from .core.frontend import Parameter, Tensor
from .core.memory_format import channels_last, channels_last_3d, contiguous_format, memory_format, preserve_format
from .core.registry import register_backend
from .core.size import Size
from . import ops
from .ops.random import Generator, default_generator
from .core.definitions import functions as _functions

globals().update(_by_name)
globals().update(_aliases)
globals().update(_functions)

from . import autograd  # noqa: E402
from .autograd import enable_grad, inference_mode, is_grad_enabled, no_grad, set_grad_enabled  # noqa: E402

__version__ = "0.1.0"
