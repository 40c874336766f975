"""Reading PyTorch's zip container. What a file may build stands on a list of exact (module, name) pairs."""
import collections
import importlib
import pickle
import sys
from contextlib import contextmanager

import numpy as np

from ..core.device import make_device
from ..core.dtype import aliases, by_name
from ..core.frontend import Parameter
from ..core.memory_format import channels_last, contiguous_format, preserve_format
from ..core.record import namespace as B
from ..core.size import Size
from .names import StorageType, storage_types


# --- what files build ---------------------------------------------------------------------------------------------
def _rebuild_tensor(storage, offset, size, stride, requires_grad=False, hooks=None, metadata=None):
    """A tensor on a storage that was read; RuntimeError where it would reach outside of it."""
    if any(s < 0 for s in (*size, *stride)) or offset < 0:
        raise RuntimeError(f"load: a tensor of size {tuple(size)}, stride {tuple(stride)} and offset {offset} isn't possible")
    result = B.as_strided(storage, tuple(size), tuple(stride), offset).detach()
    result.requires_grad = requires_grad
    return result


def _rebuild_parameter(data, requires_grad, hooks=None):
    return Parameter(data, requires_grad)


def _encode(text, encoding):
    """`_codecs.encode` as pickles of bytes use it."""
    if encoding != "latin1":
        raise pickle.UnpicklingError(f"load: bytes in encoding {encoding!r}")
    return text.encode("latin1")


_TORCH = {
    ("torch._utils", "_rebuild_tensor_v2"): _rebuild_tensor,
    ("torch._utils", "_rebuild_tensor"): _rebuild_tensor,
    ("torch._utils", "_rebuild_parameter"): _rebuild_parameter,
    ("torch", "Size"): Size,
    ("torch", "device"): make_device,
    ("torch", "contiguous_format"): contiguous_format, ("torch", "preserve_format"): preserve_format, ("torch", "channels_last"): channels_last,
    **{("torch", name): kind for name, kind in storage_types.items()},
    **{("torch", name): dtype for name, dtype in {**by_name, **aliases}.items()},
}
_PLAIN = {
    ("collections", "OrderedDict"): collections.OrderedDict, ("collections", "Counter"): collections.Counter,
    ("collections", "defaultdict"): collections.defaultdict, ("_codecs", "encode"): _encode,
    # a pickle of protocol 2 or less calls the builtins by Python 2's name
    **{(module, kind.__name__): kind for module in ("builtins", "__builtin__") for kind in (set, frozenset, complex, bytearray, slice, range)},
}
_user_globals = {}        # (module, name) -> object


def _numpy_globals():
    names = {}
    for core in ("numpy.core.multiarray", "numpy._core.multiarray"):
        multiarray = importlib.import_module("numpy._core.multiarray")
        names[core, "_reconstruct"] = multiarray._reconstruct
        names[core, "scalar"] = multiarray.scalar
    names["numpy", "dtype"] = np.dtype
    names["numpy", "ndarray"] = np.ndarray
    return names


def _own_class(module, name):
    """A class of this library's layers, optimizers or Tensors, which are plain data."""
    if not (module.startswith("pyx_tensor.nn.") or module.startswith("pyx_tensor.optim.")):
        return None
    found = getattr(importlib.import_module(module), name, None)
    return found if isinstance(found, type) and found.__module__ == module else None


def add_safe_globals(items):
    """Let `load(weights_only=True)` build these classes or functions: a list of them, or of pairs (object, 'module.name')."""
    for item in items:
        obj, name = item if isinstance(item, tuple) else (item, f"{item.__module__}.{item.__qualname__}")
        _user_globals[tuple(name.rsplit(".", 1))] = obj


def get_safe_globals():
    """What `add_safe_globals` allowed so far."""
    return list(_user_globals.values())


def clear_safe_globals():
    """Forget what `add_safe_globals` allowed."""
    _user_globals.clear()


@contextmanager
def safe_globals(items):
    """`add_safe_globals` for a block."""
    before = dict(_user_globals)
    add_safe_globals(items)
    try:
        yield
    finally:
        _user_globals.clear()
        _user_globals.update(before)


# --- storages -----------------------------------------------------------------------------------------------------
def _placed(storage, location, map_location):
    """A storage (a 1-d tensor) on the device that the file or the caller names."""
    if map_location is None:
        return storage if location == "cpu" else storage.to(_known(location))
    if callable(map_location):
        moved = map_location(storage, location)
        return _placed(storage, location, None) if moved is None else moved
    if isinstance(map_location, dict):
        return _placed(storage, map_location.get(location, location), None)
    return storage.to(make_device(map_location))


def _known(location):
    try:
        device = make_device(location)
        device.backend
    except RuntimeError as error:
        raise RuntimeError(f"Attempting to deserialize object on device {location!r}, which is not available here ({error}). Pass "
                           "map_location='cpu' to bring its tensors to the cpu.") from error
    return device


class _Reader(pickle.Unpickler):
    def __init__(self, file, archive, prefix, map_location, weights_only, swapped):
        super().__init__(file, encoding="utf-8")
        self.archive, self.prefix, self.map_location, self.weights_only, self.swapped = archive, prefix, map_location, weights_only, swapped
        self.storages = {}

    def persistent_load(self, saved):
        if not (isinstance(saved, tuple) and len(saved) == 5 and saved[0] == "storage" and isinstance(saved[1], StorageType)):
            raise pickle.UnpicklingError(f"load: unknown persistent id {saved!r}")
        _, kind, key, location, numel = saved
        if key not in self.storages:
            self.storages[key] = _placed(self.read(kind.dtype, key, numel), location, self.map_location)
        return self.storages[key]

    def read(self, dtype, key, numel):
        data = bytearray(self.archive.read(f"{self.prefix}/data/{key}"))
        if len(data) != numel * dtype.itemsize:
            raise RuntimeError(f"load: storage {key} has {len(data)} bytes, expected {numel * dtype.itemsize} for {numel} elements of {dtype}")
        array = np.frombuffer(data, dtype.numpy)
        return B.from_numpy(array.byteswap() if self.swapped else array)

    def find_class(self, module, name):
        key = (module, name)
        for known in (_TORCH, _PLAIN, _user_globals):
            if key in known:
                return known[key]
        if module.startswith("numpy"):
            found = _numpy_globals().get(key)
            if found is not None:
                return found
            if module == "numpy.dtypes" and name.endswith("DType") and hasattr(np.dtypes, name):
                return getattr(np.dtypes, name)
        own = _own_class(module, name)
        if own is not None:
            return own
        if self.weights_only:
            raise pickle.UnpicklingError(
                f"Weights only load failed: the file asks for {module}.{name}, which is not on the list of what may be built. If you trust "
                f"it, allow it with pyx_tensor.serialization.add_safe_globals([{name}]), or load the file with weights_only=False, which "
                "runs whatever code the file names.")
        return super().find_class(module, name)


def read_zip(archive, map_location, weights_only):
    """The object in an open zip container."""
    pickles = [name for name in archive.namelist() if name.endswith("/data.pkl")]
    if len(pickles) != 1:
        raise RuntimeError(f"load: a container has one data.pkl, this one has {len(pickles)}")
    prefix = pickles[0][:-len("/data.pkl")]
    swapped = False
    if f"{prefix}/byteorder" in archive.namelist():
        swapped = archive.read(f"{prefix}/byteorder").decode() != sys.byteorder
    with archive.open(pickles[0]) as file:
        import io
        return _Reader(io.BytesIO(file.read()), archive, prefix, map_location, weights_only, swapped).load()
