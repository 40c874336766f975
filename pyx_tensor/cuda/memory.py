"""Memory of CUDA devices: how much is in use, and giving it back. Without CUDA all figures are 0."""
from collections import OrderedDict

from ..core.protocol import OutOfMemoryError
from ._devices import backend, index_of, is_available

__all__ = ["OutOfMemoryError", "empty_cache", "max_memory_allocated", "max_memory_reserved", "mem_get_info", "memory_allocated", "memory_reserved",
           "memory_stats", "memory_summary", "reset_max_memory_allocated", "reset_peak_memory_stats", "set_per_process_memory_fraction"]


def memory_allocated(device=None):
    """Bytes that tensors take on a device; 0 without CUDA."""
    return backend().memory_used(index_of(device, "memory_allocated")) if is_available() else 0


def memory_reserved(device=None):
    """Bytes that the allocator holds on a device, in use or not; 0 without CUDA."""
    return backend().memory_held(index_of(device, "memory_reserved")) if is_available() else 0


def max_memory_allocated(device=None):
    """The most bytes that tensors took at once since `reset_peak_memory_stats`; 0 without CUDA."""
    return backend().memory_peak(index_of(device, "max_memory_allocated"), "used") if is_available() else 0


def max_memory_reserved(device=None):
    """The most bytes that the allocator held since `reset_peak_memory_stats`; 0 without CUDA."""
    return backend().memory_peak(index_of(device, "max_memory_reserved"), "held") if is_available() else 0


def reset_peak_memory_stats(device=None):
    """Let the peaks begin anew at what is in use now. Does nothing without CUDA."""
    if is_available():
        backend().reset_memory_peak(index_of(device, "reset_peak_memory_stats"))


def reset_max_memory_allocated(device=None):
    """As `reset_peak_memory_stats`."""
    reset_peak_memory_stats(device)


def mem_get_info(device=None):
    """(free, total) bytes of a device, as its driver counts for all processes; RuntimeError without CUDA."""
    return backend().memory_info(index_of(device, "mem_get_info"))


def memory_stats(device=None):
    """The figures above by PyTorch's names, such as 'allocated_bytes.all.peak'; none without CUDA."""
    found = OrderedDict()
    if is_available():
        found["allocated_bytes.all.current"] = memory_allocated(device)
        found["allocated_bytes.all.peak"] = max_memory_allocated(device)
        found["allocation.all.allocated"] = backend().memory_requests(index_of(device, "memory_stats"))
        found["reserved_bytes.all.current"] = memory_reserved(device)
        found["reserved_bytes.all.peak"] = max_memory_reserved(device)
    return found


def memory_summary(device=None, abbreviated=False):
    """The figures of `memory_stats` as a table; RuntimeError without CUDA."""
    index = index_of(device, "memory_summary")
    rows = [("Allocated memory", memory_allocated(index), max_memory_allocated(index)), ("GPU reserved memory", memory_reserved(index), max_memory_reserved(index))]
    lines = [f"CUDA memory, device {index}", f"{'Metric':<22}{'Current MiB':>14}{'Peak MiB':>14}"]
    return "\n".join(lines + [f"{name:<22}{now / 2**20:>14.1f}{peak / 2**20:>14.1f}" for name, now, peak in rows])


def set_per_process_memory_fraction(fraction, device=None):
    """Let this process have at most a part (0 to 1) of a device's memory."""
    if not isinstance(fraction, float):
        raise TypeError("Invalid type for fraction argument, must be `float`")
    if not 0 <= fraction <= 1:
        raise ValueError(f"Invalid fraction value: {fraction}. Allowed range: 0.0 to 1.0")
    backend().limit_memory(index_of(device, "set_per_process_memory_fraction"), fraction)


def empty_cache():
    """Give memory that no tensor uses back to the devices. Does nothing without CUDA."""
    if is_available():
        backend().free_memory()
