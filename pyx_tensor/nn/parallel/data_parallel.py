"""Data parallelism: a module on several devices, each of which gets a part of the batch."""
import itertools

from ...core.registry import get_backend
from ..modules.module import Module
from .parallel_apply import parallel_apply
from .replicate import replicate
from .scatter_gather import device_of, gather, scatter_kwargs


def _kind_of(module):
    """The kind of devices a module is for: its parameters', or CUDA where they are on the cpu."""
    for tensor in itertools.chain(module.parameters(), module.buffers()):
        if tensor.device.type != "cpu":
            return tensor.device.type
    return "cuda"


def _all_devices(kind):
    """All devices of a kind; none where it isn't there."""
    try:
        return [device_of(index, kind) for index in range(get_backend(kind).device_count())]
    except RuntimeError:
        return []


class DataParallel(Module):
    """Splits a batch over devices, applies a copy of a module on each, and joins the results on one.

    Gradients are summed into the module's parameters, which must lie on the first device. Without a device other than the cpu
    it just calls the module.

    Args:
        module: the module, also of any backend that has several devices.
        device_ids: devices, their names or indices; all of the module's kind by default.
        output_device: where results are joined; the first device.
        dim: along which inputs are split and outputs joined.
    """

    def __init__(self, module, device_ids=None, output_device=None, dim=0):
        super().__init__()
        kind = _kind_of(module)
        self.module = module
        self.dim = dim
        devices = _all_devices(kind) if device_ids is None else [device_of(device, kind) for device in device_ids]
        if not devices or not _all_devices(devices[0].type):
            self.device_ids = []
            return
        self._devices = devices
        self.device_ids = [device.index or 0 for device in devices]
        self.output_device = devices[0] if output_device is None else device_of(output_device, devices[0].type)
        self.src_device_obj = devices[0]
        if len(devices) == 1:
            module.to(devices[0])

    def forward(self, *inputs, **kwargs):
        """What the module gives for the batch. Raises RuntimeError where a parameter isn't on the first device."""
        if not self.device_ids:
            return self.module(*inputs, **kwargs)
        for tensor in itertools.chain(self.module.parameters(), self.module.buffers()):
            if tensor.device != self.src_device_obj:
                raise RuntimeError(f"module must have its parameters and buffers on device {self.src_device_obj} (device_ids[0]) but found "
                                   f"one of them on device: {tensor.device}")
        inputs, kwargs = self.scatter(inputs, kwargs, self._devices)
        if not inputs and not kwargs:
            inputs, kwargs = ((),), ({},)
        if len(self._devices) == 1:
            return self.module(*inputs[0], **kwargs[0])
        devices = self._devices[:len(inputs)]
        outputs = self.parallel_apply(self.replicate(self.module, devices), inputs, kwargs)
        return self.gather(outputs, self.output_device)

    def replicate(self, module, device_ids):
        """The module's copies."""
        return replicate(module, device_ids)

    def scatter(self, inputs, kwargs, device_ids):
        """The arguments of each copy."""
        return scatter_kwargs(inputs, kwargs, device_ids, self.dim)

    def parallel_apply(self, replicas, inputs, kwargs):
        """What the copies give."""
        return parallel_apply(replicas, inputs, kwargs, self._devices[:len(replicas)])

    def gather(self, outputs, output_device):
        """The results together."""
        return gather(outputs, output_device, self.dim)


def data_parallel(module, inputs, device_ids=None, output_device=None, dim=0, module_kwargs=None):
    """`DataParallel(module, device_ids, output_device, dim)(*inputs, **module_kwargs)`, as a function."""
    inputs = inputs if isinstance(inputs, tuple) else () if inputs is None else (inputs,)
    return DataParallel(module, device_ids, output_device, dim)(*inputs, **(module_kwargs or {}))
