"""Copies of a module on several devices, which lead their gradients back to it."""
from collections import OrderedDict

from ...autograd import no_grad
from .scatter_gather import device_of


def _copy_of(module):
    """A module object with the attributes of another, and tables of its own."""
    replica = module.__new__(type(module))
    replica.__dict__ = module.__dict__.copy()
    for table in ("_parameters", "_buffers", "_modules"):
        replica.__dict__[table] = module.__dict__[table].copy()
    replica.__dict__["_is_replica"] = True
    return replica


def _moved(tensor, device, detach):
    return tensor.detach().to(device) if detach else tensor.to(device)


def replicate(network, devices, detach=False):
    """Copies of a module, one on each device.

    Their parameters are tensors computed from those of `network`, so that gradients end there; `parameters()` of a copy is
    empty for that reason. A copy on the module's own device shares its buffers.

    Args:
        devices: devices, their names, or indices of CUDA devices.
        detach: copies without a way back for gradients.
    """
    devices = [device_of(device) for device in devices]
    modules = list(network.modules())
    replicas = []
    for device in devices:
        moved = {}                      # tensors that are shared stay shared
        copies = {id(module): _copy_of(module) for module in modules}
        for module in modules:
            copy = copies[id(module)].__dict__
            for name, child in module._modules.items():
                copy["_modules"][name] = None if child is None else copies[id(child)]
            copy["_former_parameters"] = OrderedDict()
            for name, parameter in module._parameters.items():
                if parameter is None:
                    continue
                if id(parameter) not in moved:
                    moved[id(parameter)] = _moved(parameter, device, detach)
                if moved[id(parameter)] is not parameter or detach:
                    del copy["_parameters"][name]
                    copy[name] = copy["_former_parameters"][name] = moved[id(parameter)]
            for name, buffer in module._buffers.items():
                if buffer is not None:
                    with no_grad():
                        copy["_buffers"][name] = buffer.to(device)
        replicas.append(copies[id(network)])
    return replicas
