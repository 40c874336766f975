"""The registry: finds a backend by its device's name, and is the only code that loads one."""
import importlib
import itertools
import threading

from . import device as _device
from .protocol import MANDATORY, Backend

# Backends of this distribution, so that the usual devices are found without reading package metadata.
BUILT_IN = {"cpu": "pyx_tensor_cpu", "reference": "pyx_tensor_reference", "cuda": "pyx_tensor_cupy"}
ENTRY_POINT_GROUP = "pyx_tensor.backends"

_lock = threading.RLock()
_backends = {}      # name -> Backend
_slots = {}         # name -> column in the tables of operations
_free_slots = itertools.count()
_failures = {}      # name -> why a plugin could not be loaded
_listeners = []     # called with (slot, backend) after a registration


def missing_primitives(backend):
    """Names of the mandatory primitives that `backend` doesn't supply."""
    def supplied(name):
        method = getattr(backend, name, None)
        return callable(method) and getattr(method, "__func__", method) is not getattr(Backend, name, None)

    return [name for name in MANDATORY if not supplied(name)]


def register_backend(name, backend):
    """Make `device(name)` mean `backend`.

    Args:
        name: the device type, matched exactly.
        backend: an instance of a `Backend` subclass with all of `MANDATORY`.

    Raises:
        TypeError: it is not a Backend.
        ValueError: the name is taken, isn't an identifier, or primitives are missing (all are listed).
    """
    if not isinstance(backend, Backend):
        raise TypeError(f"backend for device {name!r} must be a Backend, not {type(backend).__name__}")
    if not isinstance(name, str) or not name.isidentifier():
        raise ValueError(f"a device type must be an identifier, got {name!r}")
    missing = missing_primitives(backend)
    if missing:
        raise ValueError(f"backend {name!r} lacks the primitives: {', '.join(missing)}")
    with _lock:
        if name in _backends:
            raise ValueError(f"a backend for device {name!r} is registered already: {_backends[name]!r}")
        _slots[name] = next(_free_slots)      # never reused: operations keep what they found for a slot
        _backends[name] = backend
        _failures.pop(name, None)
        for listener in _listeners:
            listener(_slots[name], backend)


def on_registration(listener):
    """Call `listener(slot, backend)` for every backend, registered or to come."""
    with _lock:
        _listeners.append(listener)
        for name, backend in _backends.items():
            listener(_slots[name], backend)


def _load(name):
    """Import the backend that the device type `name` asks for; leave the reason in `_failures` if that fails."""
    try:
        if name in BUILT_IN:
            backend = importlib.import_module(BUILT_IN[name]).backend
        else:
            from importlib.metadata import entry_points
            found = list(entry_points(group=ENTRY_POINT_GROUP, name=name))
            if not found:
                return
            backend = found[0].load()
        if isinstance(backend, type):
            backend = backend()
        if name not in _backends:         # a plugin may register itself when it is imported
            register_backend(name, backend)
    except Exception as error:            # a broken plugin must not break its user: its device says why
        _failures[name] = error


def get_backend(name):
    """The backend for a device type, loaded on first use.

    Raises:
        RuntimeError: there is none, or it could not be loaded (then with the reason).
    """
    backend = _backends.get(name)
    if backend is not None:
        return backend
    with _lock:
        if name not in _backends:
            _load(name)
        if name in _backends:
            return _backends[name]
    if name in _failures:
        raise RuntimeError(f"device {name!r} is not available: {_failures[name]}") from _failures[name]
    known = ", ".join(sorted({*BUILT_IN, *_backends}))
    raise RuntimeError(
        f"no backend for device type {name!r}: known are {known}; others are found through the entry-point group "
        f"{ENTRY_POINT_GROUP!r} or made known by register_backend")


def registered_backends():
    """Names of the backends loaded so far."""
    return tuple(_backends)


def _resolve(device):
    backend = get_backend(device.type)
    index = device.index
    if index is None:
        index = backend.current_device()
    count = backend.device_count()
    if index is not None and index >= count:
        raise RuntimeError(f"invalid device ordinal: {device} asked for, but backend {device.type!r} has {count} device(s)")
    if backend.current_device() is None:  # devices of this backend carry no index
        index = None
    return backend, _slots[device.type], index


_device.set_resolver(_resolve)
