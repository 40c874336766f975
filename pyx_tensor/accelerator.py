"""The accelerator of this machine, whichever it is: CUDA devices where there are any, else none.

>>> device = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else torch.device("cpu")
>>> torch.ones(2, device=device).sum().item()
2.0
"""
from functools import wraps

from . import cpu, cuda
from .core.device import make_device

__all__ = ["current_accelerator", "current_device_idx", "current_device_index", "current_stream", "device_count", "device_index", "empty_cache",
           "get_memory_info", "is_available", "max_memory_allocated", "max_memory_reserved", "memory_allocated", "memory_reserved",
           "memory_stats", "reset_peak_memory_stats", "set_device_idx", "set_device_index", "set_stream", "synchronize"]


def is_available():
    """Whether there is an accelerator that can be used."""
    return cuda.is_available()


def device_count():
    """How many devices the accelerator has; 0 without one."""
    return cuda.device_count()


def current_accelerator(check_available=False):
    """The accelerator as a device without an index; None without one."""
    return make_device("cuda") if cuda.is_available() else None


def _of_cuda(function, meaning):
    """A function of `torch.cuda` under its name here; RuntimeError without an accelerator."""
    @wraps(function)
    def call(*args):
        if not cuda.is_available():
            raise RuntimeError("Cannot access accelerator device when none is available.")
        return function(*args)
    call.__doc__ = f"{meaning}\n\nRaises:\n    RuntimeError: there is no accelerator."
    call.__module__ = __name__
    return call


current_device_index = current_device_idx = _of_cuda(cuda.current_device, "The index of the device on which tensors are made.")
set_device_index = set_device_idx = _of_cuda(cuda.set_device, "Let tensors be made on the device of this index.")
synchronize = _of_cuda(cuda.synchronize, "Wait until a device (the current one) has done all that it was given.")
current_stream = _of_cuda(cuda.current_stream, "The stream of a device (the current one) to which operations are given.")
set_stream = _of_cuda(cuda.set_stream, "Give operations to this stream from now on.")
empty_cache = _of_cuda(cuda.empty_cache, "Give memory that nobody uses back to the device.")
get_memory_info = _of_cuda(cuda.mem_get_info, "(free bytes, all bytes) of a device's memory.")
memory_allocated = _of_cuda(cuda.memory_allocated, "Bytes in use by tensors.")
memory_reserved = _of_cuda(cuda.memory_reserved, "Bytes taken from the device.")
max_memory_allocated = _of_cuda(cuda.max_memory_allocated, "The most bytes that were in use by tensors.")
max_memory_reserved = _of_cuda(cuda.max_memory_reserved, "The most bytes that were taken from the device.")
memory_stats = _of_cuda(cuda.memory_stats, "Counts of the allocator, by name.")
reset_peak_memory_stats = _of_cuda(cuda.reset_peak_memory_stats, "Let the peaks begin anew at what is in use now.")


def get_device_module(device=None):
    """`torch.cuda` or `torch.cpu`: the module of a device's type, or of the accelerator's; RuntimeError for other devices."""
    kind = (make_device(device) if device is not None else current_accelerator() or make_device("cpu")).type
    if kind not in ("cpu", "cuda"):
        raise RuntimeError(f"Invalid value for device {device!r}: there is a module for cpu and cuda only")
    return cuda if kind == "cuda" else cpu


class device_index:
    """A context in which tensors are made on the device of this index; None changes nothing."""

    def __init__(self, device, /):
        self.index = device

    def __enter__(self):
        if self.index is not None:
            self.before = current_device_index()
            set_device_index(self.index)

    def __exit__(self, *exception):
        if self.index is not None:
            set_device_index(self.before)
