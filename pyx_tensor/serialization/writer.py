"""Writing PyTorch's zip container without PyTorch: `data.pkl`, and one entry of raw bytes per storage."""
import pickle
import sys
import zipfile
from collections import OrderedDict

import numpy as np

from ..core.device import Device
from ..core.dtype import DType
from ..core.frontend import Parameter, Tensor
from ..core.memory_format import memory_format
from ..core.size import Size
from .names import STORAGE_OF


class _Global:
    """A function or class of PyTorch, written by name alone."""

    def __init__(self, module, name):
        self.module, self.name = module, name


_REBUILD_TENSOR = _Global("torch._utils", "_rebuild_tensor_v2")
_REBUILD_PARAMETER = _Global("torch._utils", "_rebuild_parameter")
_SIZE = _Global("torch", "Size")
_DEVICE = _Global("torch", "device")


class _Call:
    """`function(*args)` in the pickle."""

    def __init__(self, function, args):
        self.function, self.args = function, args


class _Writer(pickle._Pickler):
    """Python's own pickler with PyTorch's names for our objects, and storages kept aside."""

    def __init__(self, file, protocol):
        super().__init__(file, protocol)
        self.storages = {}           # id of a Storage -> (key, the Storage)

    def persistent_id(self, obj):
        if not isinstance(obj, _StorageRef):
            return None
        key, _ = self.storages.setdefault(id(obj.storage), (str(len(self.storages)), obj.storage))
        numel = obj.storage.nbytes // obj.storage.dtype.itemsize
        return ("storage", _Global("torch", STORAGE_OF[obj.storage.dtype.name]), key, str(obj.storage.device), numel)

    def save(self, obj, save_persistent_id=True):
        if isinstance(obj, _Global):
            return self._save_name(obj)
        if isinstance(obj, _Call):
            return self.save_reduce(obj.function, obj.args, obj=obj)
        if isinstance(obj, (Tensor, Size, Device, DType, memory_format)) and id(obj) not in self.memo:
            return self._save_ours(obj)
        return super().save(obj, save_persistent_id)

    def save_reduce(self, func, args, *rest, **options):
        if not isinstance(func, _Global):
            return super().save_reduce(func, args, *rest, **options)
        self.save(func)
        self.save(args)
        self.write(pickle.REDUCE)
        obj = options.get("obj")
        if obj is not None and not isinstance(obj, _Call):
            self.memoize(obj)

    def _save_name(self, item):
        self.write(pickle.GLOBAL + f"{item.module}\n{item.name}\n".encode())

    def _save_ours(self, obj):
        if isinstance(obj, DType):
            return self._save_name(_Global("torch", obj.name))
        if isinstance(obj, memory_format):
            return self._save_name(_Global("torch", obj.name))
        if isinstance(obj, Size):
            return self.save_reduce(_SIZE, (tuple(obj),), obj=obj)
        if isinstance(obj, Device):
            return self.save_reduce(_DEVICE, (obj.type,) if obj.index is None else (obj.type, obj.index), obj=obj)
        if isinstance(obj, Parameter):
            return self.save_reduce(_REBUILD_PARAMETER, (_Call(_REBUILD_TENSOR, _tensor_args(obj, False)), obj.requires_grad, OrderedDict()), obj=obj)
        return self.save_reduce(_REBUILD_TENSOR, _tensor_args(obj, obj.requires_grad), obj=obj)


class _StorageRef:
    def __init__(self, storage):
        self.storage = storage


def _tensor_args(tensor, requires_grad):
    if tensor.dtype.name not in STORAGE_OF:
        raise NotImplementedError(f"save: tensors of {tensor.dtype} can't be written to PyTorch's format")
    return (_StorageRef(tensor._storage), tensor.storage_offset(), tuple(tensor.shape), tensor.stride(), requires_grad, OrderedDict())


def _bytes(storage):
    """The storage's memory, in order."""
    array = storage.device.backend.to_numpy(storage.array)
    if not array.flags.c_contiguous:         # a strided array from outside: all that lies between its first and last element
        array = np.lib.stride_tricks.as_strided(array, (storage.nbytes // array.itemsize,), (array.itemsize,))
    return memoryview(np.ascontiguousarray(array).reshape(-1).view(np.uint8))


def write_zip(obj, file, protocol):
    """Write `obj` as a zip container to a binary file."""
    import io
    buffer = io.BytesIO()
    writer = _Writer(buffer, protocol)
    writer.dump(obj)
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("archive/data.pkl", buffer.getvalue())
        archive.writestr("archive/byteorder", sys.byteorder)
        for key, storage in writer.storages.values():
            with archive.open(f"archive/data/{key}", "w", force_zip64=storage.nbytes >= 1 << 31) as entry:
                entry.write(_bytes(storage))
        archive.writestr("archive/version", "3\n")
