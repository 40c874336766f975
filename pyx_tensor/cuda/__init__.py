"""CUDA devices: whether there are any, which one is current, streams, events, graphs, memory.

Everything here works without CUDA too, as far as it can: `is_available()` is False, `device_count()` 0, seeding does nothing,
and what needs a device raises RuntimeError with the reason.
"""
import importlib
from types import SimpleNamespace

from ..ops.tensor_types import sparse_types_of, types_of
from ._devices import (
    can_device_access_peer, current_device, device, device_count, device_of, get_arch_list, get_device_capability, get_device_name, get_device_properties,
    init, is_available, is_bf16_supported, is_initialized, is_tf32_supported, set_device, synchronize)
from .graphs import CUDAGraph, graph, graph_pool_handle, is_current_stream_capturing
from .memory import (
    OutOfMemoryError, empty_cache, max_memory_allocated, max_memory_reserved, mem_get_info, memory_allocated, memory_reserved, memory_stats, memory_summary,
    reset_max_memory_allocated, reset_peak_memory_stats, set_per_process_memory_fraction)
from .random import get_rng_state, get_rng_state_all, initial_seed, manual_seed, manual_seed_all, seed, seed_all, set_rng_state, set_rng_state_all
from .streams import Event, ExternalStream, Stream, StreamContext, current_stream, default_stream, set_stream, stream

__all__ = [
    "CUDAGraph", "Event", "ExternalStream", "OutOfMemoryError", "Stream", "StreamContext", "amp", "can_device_access_peer", "current_device", "current_stream",
    "default_stream", "device", "device_count", "device_of", "empty_cache", "get_arch_list", "get_device_capability", "get_device_name",
    "get_device_properties", "get_rng_state", "get_rng_state_all", "graph", "graph_pool_handle", "init", "initial_seed", "is_available", "is_bf16_supported",
    "is_current_stream_capturing", "is_initialized", "is_tf32_supported", "manual_seed", "manual_seed_all", "max_memory_allocated", "max_memory_reserved",
    "mem_get_info", "memory_allocated", "memory_reserved", "memory_stats", "memory_summary", "nvtx", "reset_max_memory_allocated", "reset_peak_memory_stats",
    "seed", "seed_all", "set_device", "set_per_process_memory_fraction", "set_rng_state", "set_rng_state_all", "set_stream", "stream", "synchronize"]

globals().update(types_of("cuda"))
sparse = SimpleNamespace(**sparse_types_of("cuda"))


def __getattr__(name):
    """`amp` and `nvtx`, loaded when first used."""
    if name in ("amp", "nvtx"):
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
