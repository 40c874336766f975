"""Where a new tensor stands: its device, and the order of its elements in memory."""
import math

import numpy as np

from ..core.device import get_default_device, make_device, resolved_device
from ..core.memory_format import contiguous_format, preserve_format, strides_in, strides_like
from ..core.record import namespace as B
from ..core.tensor import wrap

CPU = make_device("cpu")


def device_or_default(device):
    """The device that an argument names, None naming the default; RuntimeError where there is none."""
    return get_default_device() if device is None else resolved_device(device)


def from_host(array, dtype, device, requires_grad, out=None):
    """A tensor on a device from an ndarray that nobody else holds."""
    if array.dtype != dtype.numpy:
        array = array.astype(dtype.numpy)
    result = wrap(np.asarray(array, order="C"), CPU)
    device = device_or_default(device)
    if device is not CPU:
        result = result.to(device)
    if out is not None:
        if out.shape != result.shape:
            out.resize_(tuple(result.shape))
        return out.copy_(result)
    if requires_grad:
        result.requires_grad = True
    return result


def laid_out(shape, strides, make):
    """What `make(shape)` gives, with these strides in memory (None: row-major)."""
    if strides is None or tuple(strides) == strides_in(shape, contiguous_format):
        return make(shape)
    flat = make((math.prod(shape),))
    return B.as_strided(flat, shape, strides, 0).detach() if flat.device.backend.strided else flat.reshape(shape)


def strides_for(input, memory_format):
    """The strides of a new tensor like `input`."""
    shape = tuple(input.shape)
    return strides_like(shape, input.stride()) if memory_format in (None, preserve_format) else strides_in(shape, memory_format)
