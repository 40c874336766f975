"""The memory of a tensor as an object: `x.storage()`, with the tensor's dtype, and `x.untyped_storage()`, in bytes.

Both are thin: the memory itself is `core.storage.Storage`, shared by all views of a tensor.
"""
import operator
import os

import numpy as np

from ..core.copying import resize
from ..core.definitions import methods, publish_function
from ..core.dtype import by_name, get_default_dtype, read_dtype
from ..core.device import make_device
from ..core.duplication import retyped, whole_memory
from ..core.record import namespace as B
from ..core.record import type_name
from ..core.tensor import TensorBase


def _filled(name, args, dtype, device):
    """A 1-d tensor for a constructor's arguments: none, a size, or a sequence of values."""
    if len(args) > 1:
        raise RuntimeError(f"{name}() takes a size or a sequence of values, got {len(args)} arguments")
    given = args[0] if args else 0
    if isinstance(given, (TensorBase, _StorageBase)) or not hasattr(given, "__len__"):
        try:
            size = operator.index(given)
        except TypeError:
            raise TypeError(f"{name}() takes a size or a sequence of values, not {type(given).__name__}") from None
        if size < 0:
            raise RuntimeError(f"{name}(): size {size} is negative")
        return B.empty((size,), dtype=dtype, device=device)
    if isinstance(given, str):
        raise TypeError(f"{name}(): invalid data type 'str'")
    return B.tensor(list(given), dtype=dtype, device=device)


class _StorageBase:
    """Elements in one row, over the whole memory of a tensor and its views."""

    @classmethod
    def _of(cls, tensor):
        """The storage of a tensor."""
        return cls._over(whole_memory(tensor))

    @classmethod
    def _over(cls, flat):
        """A storage that a 1-d tensor over its whole memory stands for."""
        result = cls.__new__(cls)
        result._tensor = flat
        return result

    @property
    def _memory(self):
        return self._tensor._storage

    @property
    def _flat(self):
        """The memory as it is now: a resize may have moved it."""
        size = self._memory.nbytes // self._tensor.element_size()
        return self._tensor if len(self._tensor) == size else B.as_strided(self._tensor, (size,), (1,), 0)

    def __len__(self):
        return self._memory.nbytes // self._tensor.element_size()

    def size(self):
        """The number of elements."""
        return len(self)

    def nbytes(self):
        """The number of bytes."""
        return self._memory.nbytes

    def data_ptr(self):
        """The address of the first byte."""
        return self._memory.data_ptr()

    def element_size(self):
        """Bytes per element."""
        return self._tensor.element_size()

    @property
    def device(self):
        return self._tensor.device

    @property
    def is_cuda(self):
        return self._tensor.is_cuda

    def get_device(self):
        """The device's index, -1 on the cpu."""
        return self._tensor.get_device()

    def __getitem__(self, index):
        if isinstance(index, slice):
            return self._over(self._flat[index].clone())
        if not -len(self) <= index < len(self):
            raise IndexError(f"index {index} out of range for storage of size {len(self)}")
        return self._flat[index].item()

    def __setitem__(self, index, value):
        self._flat[index] = value

    def __iter__(self):
        return iter(self.tolist())

    def tolist(self):
        """The elements as Python numbers."""
        return self._flat.tolist()

    def fill_(self, value):
        """Set every element; return the storage."""
        self._flat.fill_(value)
        return self

    def copy_(self, source, non_blocking=None):
        """Write the elements of another storage of the same size; return this one."""
        if len(source) != len(self):
            raise RuntimeError(f"size mismatch: a storage of {len(self)} elements can't take {len(source)}")
        self._flat.copy_(source._flat)
        return self

    def clone(self):
        """A copy, in memory of its own."""
        return self._over(self._flat.clone())

    def resize_(self, size):
        """Grow the memory to `size` elements, with all tensors on it. Making it smaller isn't supported."""
        if size < len(self):
            raise NotImplementedError(f"resize_: a storage of {len(self)} elements can't be made smaller, to {size}")
        resize(self._tensor, (size,))
        return self

    def to(self, device):
        """This storage, or a copy of it on another device."""
        moved = self._flat.to(make_device(device))
        return self if moved is self._tensor else self._over(moved)

    def pin_memory(self, device=None):
        """A copy of this storage in pinned memory (see `Tensor.pin_memory`); itself if it lies there."""
        return self if self.is_pinned() else self._over(self._flat.pin_memory())

    def is_pinned(self, device=None):
        """True where the memory is pinned."""
        return self._flat.is_pinned()

    def is_shared(self):
        """True where the memory is shared with other processes (see `Tensor.share_memory_`)."""
        return self._flat.is_shared()

    def share_memory_(self):
        """Move the memory, with all tensors on it, to shared memory; return the storage."""
        share_memory_(self._flat)
        return self

    def cpu(self):
        """This storage, or a copy of it on the cpu."""
        return self.to("cpu")

    def cuda(self, device=None, non_blocking=False):
        """A copy of this storage on a CUDA device (the current one)."""
        return self.to(make_device("cuda", device) if isinstance(device, int) else device or "cuda")

    def _as_tensor(self, dtype):
        """A tensor of a dtype on the whole memory."""
        return retyped(self._flat, dtype)

    def __copy__(self):
        return self.clone()

    def __deepcopy__(self, memo):
        from copy import deepcopy
        if id(self) not in memo:
            memo[id(self)] = self._over(deepcopy(self._flat, memo))
        return memo[id(self)]

    def __reduce__(self):
        return type(self)._over, (self._flat,)

    def __str__(self):
        lines = [f" {value}" for value in self.tolist()]
        return "\n".join([*lines, repr(self)])

    @staticmethod
    def _buffer(buffer, byte_order, count, offset, dtype):
        array = np.frombuffer(buffer, dtype.numpy, count, offset).copy()
        if byte_order not in ("native", "little", "big"):
            raise ValueError(f"byte_order must be 'native', 'little' or 'big', got {byte_order!r}")
        native = np.dtype(np.int16).newbyteorder(byte_order[0]).isnative if byte_order != "native" else True
        return B.from_numpy(array if native else array.byteswap())

    @staticmethod
    def _mapped(filename, shared, size, dtype):
        """A file as a 1-d tensor: `shared` writes to the tensor go to the file, which is made or grown where it is too short."""
        nbytes = size * dtype.itemsize
        present = os.path.getsize(filename) if os.path.exists(filename) else 0
        if shared and present < nbytes:
            with open(filename, "ab") as file:
                file.truncate(nbytes)
        elif present < nbytes:
            raise RuntimeError(f"from_file: {os.fspath(filename)} has {present} bytes, {nbytes} are needed for {size} elements of {dtype}")
        if nbytes == 0:
            return B.empty((0,), dtype=dtype)
        return B.from_numpy(np.memmap(filename, np.uint8, "r+" if shared else "c", 0, (nbytes,)).view(np.ndarray).view(dtype.numpy))


@publish_function
def from_file(filename, shared=False, size=0, *, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False):
    """A 1-d tensor of `size` elements on the memory of a file that is mapped.

    Args:
        shared: what is written to the tensor stands in the file, which is made or made longer if it lacks bytes. Else the file stays as it is.

    Raises:
        RuntimeError: the file is too short and not shared.
    """
    result = _StorageBase._mapped(filename, bool(shared), size, read_dtype("from_file", dtype) or get_default_dtype())
    return result.to(device if device is not None else "cpu").requires_grad_(requires_grad)


class UntypedStorage(_StorageBase):
    """The memory of a tensor as bytes. Two are equal where they are the same memory.

    `UntypedStorage(n)` has n uninitialised bytes, `UntypedStorage([1, 2])` those given.
    """

    def __init__(self, *args, device=None):
        self._tensor = _filled("UntypedStorage", args, by_name["uint8"], device)

    @classmethod
    def _of(cls, tensor):
        return cls._over(retyped(whole_memory(tensor), by_name["uint8"]))

    @classmethod
    def from_buffer(cls, buffer, byte_order="native", count=-1, offset=0, *, dtype=None):
        """A copy of the bytes of a buffer that holds elements of `dtype` (uint8 by default) in a byte order."""
        return cls._of(cls._buffer(buffer, byte_order, count, offset, dtype or by_name["uint8"]))

    @classmethod
    def from_file(cls, filename, shared=False, nbytes=0):
        """A mapping of a file."""
        return cls._over(cls._mapped(filename, shared, nbytes, by_name["uint8"]))

    def type(self):
        return "torch.storage.UntypedStorage" if self.device.type == "cpu" else f"torch.{self.device.type}.UntypedStorage"

    def untyped(self):
        return self

    def __eq__(self, other):
        return self._memory is other._memory if isinstance(other, UntypedStorage) else NotImplemented

    def __hash__(self):
        return hash(id(self._memory))

    def __repr__(self):
        return f"[torch.storage.UntypedStorage(device={self.device}) of size {len(self)}]"


class TypedStorage(_StorageBase):
    """The memory of a tensor as elements of its dtype; `TypedStorage(n, dtype=...)` has n uninitialised ones."""

    def __init__(self, *args, dtype=None, device=None, wrap_storage=None):
        dtype = dtype or get_default_dtype()
        if wrap_storage is None:
            self._tensor = _filled("TypedStorage", args, dtype, device)
        elif isinstance(wrap_storage, UntypedStorage):
            self._tensor = wrap_storage._as_tensor(dtype)
        else:
            raise TypeError(f"TypedStorage(): argument 'wrap_storage' must be UntypedStorage, not {type(wrap_storage).__name__}")

    @property
    def dtype(self):
        return self._tensor.dtype

    def untyped(self):
        """The same memory as bytes."""
        return UntypedStorage._of(self._tensor)

    def pickle_storage_type(self):
        """The name of its class in files: 'FloatStorage'."""
        return type_name(self.dtype).removeprefix("torch.").replace("Tensor", "Storage")

    def type(self, dtype=None, non_blocking=False):
        """The name of its type, or a copy of another type: 'torch.LongStorage', `torch.LongStorage` or a dtype."""
        if dtype is None:
            where = "torch" if self.device.type == "cpu" else f"torch.{self.device.type}"
            return f"{where}.{self.pickle_storage_type()}"
        if isinstance(dtype, str):
            name = dtype.removeprefix("torch.")
            if name not in storage_types:
                raise RuntimeError(f"type(): {dtype!r} is no storage type")
            dtype = storage_types[name]
        return self._over(self._flat.to(getattr(dtype, "dtype", dtype)))

    def __repr__(self):
        return f"[torch.storage.TypedStorage(dtype={self.dtype}, device={self.device}) of size {len(self)}]"


def _converter(name):
    def convert(self):
        return self._over(self._flat.to(by_name[name]))
    convert.__doc__ = f"A copy of the elements as {name}."
    return convert


for _method, _name in dict(float="float32", double="float64", half="float16", bfloat16="bfloat16", int="int32", long="int64", short="int16",
                           char="int8", byte="uint8", bool="bool", complex_float="complex64", complex_double="complex128").items():
    setattr(TypedStorage, _method, _converter(_name))


class _StorageType(type):
    """The type of `torch.FloatStorage` and its kin: each stands for the typed storages of one dtype on the cpu."""

    def __instancecheck__(cls, obj):
        return type(obj) is TypedStorage and obj.dtype is cls.dtype and obj.device.type == "cpu"

    def __call__(cls, *args, wrap_storage=None):
        return TypedStorage(*args, dtype=cls.dtype, wrap_storage=wrap_storage)


class _LegacyStorage(TypedStorage, metaclass=_StorageType):
    @classmethod
    def from_buffer(cls, buffer, byte_order="native", count=-1, offset=0):
        """A copy of the elements of a buffer in a byte order."""
        return TypedStorage._over(cls._buffer(buffer, byte_order, count, offset, cls.dtype))

    @classmethod
    def from_file(cls, filename, shared=False, size=0):
        """A mapping of a file of `size` elements."""
        return TypedStorage._over(cls._mapped(filename, shared, size, cls.dtype))


def _storage_type(dtype):
    name = type_name(dtype).removeprefix("torch.").replace("Tensor", "Storage")
    return _StorageType(name, (_LegacyStorage,), {
        "__module__": "pyx_tensor", "dtype": dtype, "__doc__": f"Storages of {dtype} on the cpu: `{name}(n)`, `{name}([1, 2])`."})


# name -> the type: `torch.FloatStorage` and so on, of the dtypes that early PyTorch's files know
storage_types = {kind.__name__: kind for kind in map(_storage_type, (by_name[name] for name in (
    "float32", "float64", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool", "complex64", "complex128")))}


def storage(self):
    """The tensor's memory, which its views share, as a row of elements.

    >>> import pyx_tensor as torch
    >>> x = torch.tensor([1, 2, 3])
    >>> x[1:].storage().tolist(), x[1:].storage_offset()
    ([1, 2, 3], 1)
    """
    return TypedStorage._of(self)


def untyped_storage(self):
    """The tensor's memory, which its views share, as bytes."""
    return UntypedStorage._of(self)


def storage_type(self):
    """The type of its storage: `torch.FloatStorage`."""
    return storage_types[type_name(self.dtype).removeprefix("torch.").replace("Tensor", "Storage")]


def _sharing():
    from ..core import sharing      # most programs never need it
    return sharing


def _is_shareable(tensor):
    """True for memory of the host; a device's is as shared as it can be."""
    return isinstance(tensor.array, np.ndarray)


def is_shared(self):
    """True where the tensor's memory is shared with other processes; always True on a device with memory of its own."""
    return not _is_shareable(self) or _sharing().segment_of(self._storage) is not None


def share_memory_(self):
    """Move the tensor's memory, with all tensors on it, to memory that other processes can map; return the tensor.

    A second call changes nothing. Memory that is shared can't be resized. Raises OutOfMemoryError, with the sizes, where the
    system has too little.

    >>> import pyx_tensor as torch
    >>> x = torch.ones(3)
    >>> view = x[1:]
    >>> x.share_memory_().is_shared(), view.is_shared()
    (True, True)
    """
    if _is_shareable(self):
        _sharing().share(self._storage)
    return self


methods.update(storage=storage, untyped_storage=untyped_storage, storage_type=storage_type, is_shared=is_shared, share_memory_=share_memory_)


@publish_function
def is_storage(obj):
    """True for the storage of a tensor, False for anything else."""
    return isinstance(obj, _StorageBase)
