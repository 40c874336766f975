"""The CPU as a device: what its allocator holds, and PyTorch's questions that have one answer here.

>>> torch.cpu.empty_cache()
>>> torch.cpu.memory_stats()["cached_bytes"]
0
"""
import importlib

from ..core.registry import get_backend

__all__ = ["amp", "current_device", "device_count", "empty_cache", "is_available", "is_initialized", "memory_stats", "reset_peak_memory_stats", "set_device",
           "synchronize"]


def __getattr__(name):
    """`amp`, loaded when first used."""
    if name == "amp":
        return importlib.import_module(".amp", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def memory_stats():
    """Bytes and counts of the allocator's blocks, of 128 KB and more, by name.

    `allocated_bytes` are in use, `peak_bytes` the most that were since `reset_peak_memory_stats`; `cached_bytes` in `cached_blocks` wait
    to be used again, `limit_bytes` at most; `hits` and `misses` count the requests that a waiting block served, and those that the
    system had to serve.
    """
    return get_backend("cpu").memory_stats()


def reset_peak_memory_stats():
    """Let `peak_bytes` begin anew at what is in use now."""
    get_backend("cpu").reset_memory_peak()


def empty_cache():
    """Give the blocks that nobody uses back to the operating system."""
    get_backend("cpu").empty_cache()


def is_available():
    """True."""
    return True


def is_initialized():
    """True."""
    return True


def device_count():
    """1: there is one CPU, of any number of cores."""
    return 1


def current_device():
    """'cpu'."""
    return "cpu"


def set_device(device):
    """Nothing to choose; taken for programs that ask for it on any device."""


def synchronize(device=None):
    """Nothing to wait for: an operation on the CPU is done when its function returns."""
