"""A batch over several devices, and results from them: by operations, so that gradients find their way back."""
import warnings

from ...core.device import make_device
from ...core.frontend import Tensor
from ...ops import namespace as ops


def device_of(device, kind="cuda"):
    """The device that is meant: a device, its name, or an index among those of `kind`."""
    return make_device(kind, device) if isinstance(device, int) else make_device(device)


def _rebuilt(like, items):
    """`items` as a sequence of the class of `like`."""
    return type(like)(*items) if hasattr(like, "_fields") else type(like)(items)


def scatter(inputs, target_gpus, dim=0):
    """Parts of tensors, one for each device: a list of what `inputs` is, with each tensor cut along `dim`.

    Args:
        inputs: a tensor, or a tuple, list or dict with tensors somewhere inside; other objects go to all devices.
        target_gpus: devices, their names, or indices of CUDA devices. Where a tensor is too short there are fewer parts.
    """
    devices = [device_of(device) for device in target_gpus]

    def parts(value):
        if isinstance(value, Tensor):
            return [part.to(device) for part, device in zip(ops.chunk(value, len(devices), dim), devices)]
        if isinstance(value, (tuple, list)) and value:
            return [_rebuilt(value, items) for items in zip(*map(parts, value))]
        if isinstance(value, dict) and value:
            return [type(value)(zip(value, items)) for items in zip(*map(parts, value.values()))]
        return [value for _ in devices]

    return parts(inputs)


def scatter_kwargs(inputs, kwargs, target_gpus, dim=0):
    """`scatter` of positional and of keyword arguments, as two tuples of the same length."""
    inputs = scatter(inputs, target_gpus, dim) if inputs else []
    kwargs = scatter(kwargs, target_gpus, dim) if kwargs else []
    inputs.extend(() for _ in range(len(kwargs) - len(inputs)))
    kwargs.extend({} for _ in range(len(inputs) - len(kwargs)))
    return tuple(inputs), tuple(kwargs)


def gather(outputs, target_device, dim=0):
    """Results of several devices joined on one, along `dim`.

    Args:
        outputs: a list of tensors, or of tuples, lists or dicts of them that are alike.
        target_device: a device, its name, or the index of a CUDA device (-1 or "cpu": the cpu).
    """
    target = make_device("cpu") if target_device == -1 else device_of(target_device)

    def join(values):
        first = values[0]
        if isinstance(first, Tensor):
            if all(value.ndim == 0 for value in values) and dim == 0:
                warnings.warn("Was asked to gather along dimension 0, but all input tensors were scalars; will instead unsqueeze and "
                              "return a vector.", stacklevel=4)
                values = [value.view(1) for value in values]
            return ops.cat([value.to(target) for value in values], dim)
        if first is None:
            return None
        if isinstance(first, dict):
            if any(len(value) != len(first) for value in values):
                raise ValueError("All dicts must have the same number of keys")
            return type(first)((key, join([value[key] for value in values])) for key in first)
        return _rebuilt(first, map(join, zip(*values)))

    return join(list(outputs))
