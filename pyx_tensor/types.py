"""Names for annotations, as PyTorch's `torch.types` has them."""
import os
from builtins import bool as _bool, complex as _complex, float as _float, int as _int
from collections.abc import Sequence
from typing import IO, Union

from .core.device import Device as _device
from .core.dtype import DType as _dtype
from .core.frontend import Tensor
from .core.memory_format import layout as _layout
from .core.size import Size
from .ops.storage import TypedStorage, UntypedStorage

__all__ = ["Device", "FileLike", "Number", "Storage"]

Number = Union[_int, _float, _bool]
Device = Union[_device, str, _int, None]
FileLike = Union[str, os.PathLike, IO[bytes]]
Storage = Union[TypedStorage, UntypedStorage]
_size = Union[Size, list, tuple]
_TensorOrTensors = Union[Tensor, Sequence[Tensor]]
