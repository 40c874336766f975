"""Where a new tensor stands: its device, and the order of its elements in memory."""
import math

from ..core.device import get_default_device, make_device, resolved_device
from ..core.memory_format import contiguous_format, preserve_format, strides_in, strides_like
from ..core.record import namespace as B

CPU = make_device("cpu")


def device_or_default(device):
    """The device that an argument names, None naming the default; RuntimeError where there is none."""
    return get_default_device() if device is None else resolved_device(device)


def laid_out(shape, strides, make):
    """What `make(shape)` gives, with these strides in memory (None: row-major)."""
    if strides is None or tuple(strides) == strides_in(shape, contiguous_format):
        return make(shape)
    flat = make((math.prod(shape),))
    return B.as_strided(flat, shape, strides, 0).detach() if flat.device.backend.strided else flat.reshape(shape)


def strides_for(input, memory_format):
    """The strides of a new tensor like `input`; None for row-major ones."""
    if memory_format in (None, preserve_format) and input.is_contiguous():
        return None
    shape = tuple(input.shape)
    return strides_like(shape, input.stride()) if memory_format in (None, preserve_format) else strides_in(shape, memory_format)
