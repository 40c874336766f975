"""CUDA devices: whether there are any, which one is current, streams and events.

Everything here works without CUDA too, as far as it can: `is_available()` is False, `device_count()` 0, seeding does nothing,
and what needs a device raises RuntimeError with the reason.
"""
from types import SimpleNamespace

from ..core import random as _random
from ..core.device import make_device
from ..core.registry import get_backend
from ..ops.tensor_types import sparse_types_of, types_of
from .streams import Event, Stream, current_stream, default_stream, stream

__all__ = ["Event", "Stream", "can_device_access_peer", "current_device", "current_stream", "default_stream", "device", "device_count",
           "empty_cache", "get_device_capability", "get_device_name", "init", "is_available", "is_initialized", "manual_seed",
           "manual_seed_all", "memory_allocated", "memory_reserved", "set_device", "stream", "synchronize"]

globals().update(types_of("cuda"))
sparse = SimpleNamespace(**sparse_types_of("cuda"))


def _backend():
    """The backend of CUDA devices; RuntimeError with the reason where there is none."""
    return get_backend("cuda")


def is_available():
    """True where tensors can be put on a CUDA device. Never raises."""
    return device_count() > 0


def device_count():
    """The number of CUDA devices; 0 where CUDA isn't available."""
    try:
        return _backend().device_count()
    except RuntimeError:
        return 0


def is_initialized():
    """True once a CUDA device has been used, or asked for."""
    return is_available()


def init():
    """Find the CUDA devices now rather than on first use; RuntimeError where there are none."""
    _backend()


def current_device():
    """The index of the device that "cuda" means at present."""
    return _backend().current_device()


def _index(device, name):
    """The index that a `device` argument means: an int, "cuda:1", a device, or None for the current one."""
    if device is None:
        return current_device()
    if isinstance(device, int):
        index = device
    else:
        found = make_device(device)
        if found.type != "cuda":
            raise ValueError(f"{name}: expected a cuda device, but got {found}")
        index = current_device() if found.index is None else found.index
    if not 0 <= index < _backend().device_count():
        raise RuntimeError(f"{name}: invalid device ordinal {index}: there are {_backend().device_count()} CUDA devices")
    return index


def set_device(device):
    """Make "cuda" without an index mean another device (an int, a name or a device; negative ints are ignored)."""
    if isinstance(device, int) and device < 0:
        return
    _backend().set_device(_index(device, "set_device"))
    make_device("cuda").forget()


class device:
    """A context in which "cuda" without an index means another device.

    >>> with device(1):                                          # doctest: +SKIP
    ...     x = torch.zeros(2, device="cuda")                    # on cuda:1

    None and negative ints change nothing.
    """

    def __init__(self, device):
        self.idle = device is None or (isinstance(device, int) and device < 0)
        self.idx = -1 if self.idle else _index(device, "device")

    def __enter__(self):
        if not self.idle:
            self.before = current_device()
            set_device(self.idx)
        return self

    def __exit__(self, *exc):
        if not self.idle:
            set_device(self.before)
        return False


def synchronize(device=None):
    """Wait until the device has done all that it was asked."""
    _backend().synchronize(_index(device, "synchronize"))


def can_device_access_peer(device, peer_device):
    """True where `device` can read the memory of `peer_device` directly."""
    return _backend().can_access_peer(_index(device, "can_device_access_peer"), _index(peer_device, "can_device_access_peer"))


def get_device_name(device=None):
    """The product name of a device."""
    name = _backend().device_properties(_index(device, "get_device_name"))["name"]
    return name.decode() if isinstance(name, bytes) else name


def get_device_capability(device=None):
    """The compute capability of a device, as (major, minor)."""
    properties = _backend().device_properties(_index(device, "get_device_capability"))
    return properties["major"], properties["minor"]


# --- memory -------------------------------------------------------------------------------------------------------
def memory_allocated(device=None):
    """Bytes that tensors take on a device; 0 without CUDA."""
    return _backend().memory_used(_index(device, "memory_allocated")) if is_available() else 0


def memory_reserved(device=None):
    """Bytes that the allocator holds on a device, in use or not; 0 without CUDA."""
    return _backend().memory_held(_index(device, "memory_reserved")) if is_available() else 0


def empty_cache():
    """Give memory that no tensor uses back to the devices. Does nothing without CUDA."""
    if is_available():
        _backend().free_memory()


# --- random numbers -----------------------------------------------------------------------------------------------
def manual_seed(seed):
    """Seed the random numbers of CUDA tensors. Does nothing without CUDA.

    One generator serves all devices, so that a script gives the same numbers wherever it runs: this is `torch.manual_seed`.
    """
    seed = int(seed)
    if is_available():
        _random.manual_seed(seed)


def manual_seed_all(seed):
    """As `manual_seed`, for all devices."""
    manual_seed(seed)


def __getattr__(name):
    if name != "amp":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module      # mixed precision is imported when it is first asked for
    return import_module(f"{__name__}.amp")
