"""Saving without PyTorch: a pickle that names PyTorch's functions, and the bytes of the storages that it refers to."""
import copyreg
import io
import pickle
import sys
import warnings
from collections import OrderedDict
from functools import lru_cache

import numpy as np

from ..core.device import Device
from ..core.dtype import DType, by_name
from ..core.duplication import whole_memory
from ..core.frontend import Parameter, Tensor
from ..core.memory_format import layout, memory_format, sparse_csr, strided
from ..core.size import Size
from ..ops.storage import TypedStorage, UntypedStorage
from .archive import ArchiveWriter
from .legacy import write_stream
from .location import location_tag
from .names import STORAGE_OF, public_module

_LARGE = 1 << 20           # bytes of a storage from which on a warning says that little of it is seen

_ATOMS = frozenset((str, int, float, bool, type(None)))
_PLAIN = frozenset((*_ATOMS, bytes, tuple, list, dict, OrderedDict))
_OURS = (Tensor, TypedStorage, UntypedStorage, Size, Device, DType, memory_format, layout)
_NO_HOOKS = OrderedDict()  # which files have at each tensor


class _Global:
    """A function or class of PyTorch, written by name alone."""

    made = {}

    def __init__(self, module, name):
        self.code = pickle.GLOBAL + f"{module}\n{name}\n".encode()


def _global(module, name):
    return _Global.made.setdefault((module, name), _Global(module, name))


class _Arguments:
    """What a tensor is built of, in the place of a tuple: a storage's memory and the dtype of its elements, None for bytes; offset, size,
    strides, whether it requires grad, and the tensor's dtype where the storage is one of bytes."""

    def __init__(self, *args):
        self.args = args


class _Call:
    """A call that builds a tensor, in the place of an argument."""

    def __init__(self, function, arguments):
        self.function, self.arguments = function, arguments


_REBUILD_V2, _REBUILD_V3 = (_global("torch._utils", f"_rebuild_tensor_{version}") for version in ("v2", "v3"))


def _int(number):
    """The instruction for a number that isn't negative."""
    if number <= 0xff:
        return pickle.BININT1 + number.to_bytes(1, "little")
    if number <= 0xffff:
        return pickle.BININT2 + number.to_bytes(2, "little")
    return pickle.BININT + number.to_bytes(4, "little") if number < 1 << 31 else pickle.LONG1 + b"\x09" + number.to_bytes(9, "little")


@lru_cache(1 << 10)
def _ints(numbers):
    """The instructions for a shape, or strides."""
    return b"".join((pickle.MARK, *map(_int, numbers), pickle.TUPLE))


def _text(text):
    """The instruction for a short text."""
    data = text.encode()
    return pickle.BINUNICODE + len(data).to_bytes(4, "little") + data


class Memories:
    """The memories that an object's tensors lie in, each with its key, and what is seen of it.

    compact: write of each memory only what lies between the first and the last element that is seen.
    """

    def __init__(self, compact):
        self.compact = compact
        self.found = {}          # id of a memory -> [key, the memory, first byte seen, byte behind the last, sum of bytes seen, one of its tensors]

    def see(self, tensor):
        """Note a tensor."""
        memory, size = tensor._storage, tensor.element_size()
        first, seen = tensor.storage_offset() * size, tensor.numel() * size
        if tensor.is_contiguous() or not seen:
            last = first + seen
        else:
            last = first + size * (1 + sum((n - 1) * step for n, step in zip(tensor.shape, tensor.stride())))
        entry = self.found.get(id(memory))
        if entry is None:
            entry = self.found[id(memory)] = [str(len(self.found)), memory, first, last, 0, tensor]
        entry[2], entry[3], entry[4] = min(entry[2], first), max(entry[3], last), entry[4] + seen

    def start(self, memory):
        """The byte of a memory that the file begins with."""
        return self.found[id(memory)][2] // 16 * 16 if self.compact else 0

    def warn(self):
        for _, memory, first, last, seen, tensor in self.found.values():
            if not self.compact and memory.nbytes >= _LARGE and 2 * seen < memory.nbytes:
                warnings.warn(f"save: a tensor of shape {list(tensor.shape)} is a view, and with it {memory.nbytes} bytes are written, of which "
                              f"{seen} are seen. Save it with compact=True, or a clone() of it, to write those alone.", stacklevel=5)

    def written(self):
        """(key, bytes) of each memory."""
        for key, memory, _, last, _, tensor in self.found.values():
            data = _bytes(memory, tensor)
            yield key, data[self.start(memory):last] if self.compact else data


def _bytes(memory, tensor):
    """A memory's bytes, in order."""
    flat = whole_memory(tensor)
    array = np.ascontiguousarray(flat.device.backend.to_numpy(flat.array))
    return memoryview(array.reshape(-1).view(np.uint8))


class _Writing:
    """What a pickler does for files: PyTorch's names for our objects, and storages kept aside. Mixed into Python's own pickler."""

    def __init__(self, file, protocol, memories, legacy):
        super().__init__(file, protocol)
        self.memories, self.legacy = memories, legacy
        self.dtypes = {}             # id of a memory -> the dtype that the pickle gives it
        self.again = {}              # _Global or text -> the instruction that recalls it

    def save(self, obj, save_persistent_id=True):
        kind = type(obj)
        if kind in _ATOMS:
            known = self.memo.get(id(obj))
            return self.dispatch[kind](self, obj) if known is None else self.write(self.get(known[0]))
        if kind in _PLAIN:
            return super().save(obj, False)
        if kind is _Global:
            return self.write(self._once(obj, obj.code))
        if kind is _Call:
            return self._write_call(obj.function, obj.arguments)
        if kind is _Arguments:
            return self._write_arguments(*obj.args)
        if isinstance(obj, _OURS) and id(obj) not in self.memo:
            return self._save_ours(obj)
        return super().save(obj, False)

    def save_reduce(self, func, args, *rest, **options):
        if not isinstance(func, _Global):
            return super().save_reduce(func, args, *rest, **options)
        self.save(func)
        self.save(args)
        self.write(pickle.REDUCE)
        obj = options.get("obj")
        if obj is not None:
            self.memoize(obj)

    def save_global(self, obj, name=None):
        module = getattr(obj, "__module__", None) or ""
        name = name or getattr(obj, "__qualname__", None) or obj.__name__
        if module.partition(".")[0] != "pyx_tensor" or "." in name or "<" in name:
            return super().save_global(obj, name)
        self.save(_global(public_module(module, name), name))

    def _save_ours(self, obj):
        if isinstance(obj, Tensor):
            return self._save_tensor(obj)
        if isinstance(obj, (TypedStorage, UntypedStorage)):
            self.memories.see(obj._flat)
            return self.write(self._reference(obj._memory, getattr(obj, "dtype", None)))
        if isinstance(obj, (DType, memory_format)):
            return self.save(_global("torch", obj.name))
        if isinstance(obj, layout):
            return self.save_reduce(_global("torch.serialization", "_get_layout"), (repr(obj),), obj=obj)
        if isinstance(obj, Size):
            return self.save_reduce(_global("torch", "Size"), (tuple(obj),), obj=obj)
        return self.save_reduce(_global("torch", "device"), (obj.type,) if obj.index is None else (obj.type, obj.index), obj=obj)

    def _save_sparse(self, tensor):
        if tensor.layout is sparse_csr:
            data = (tensor.crow_indices(), tensor.col_indices(), tensor.values(), Size(tensor.shape))
        else:
            data = (tensor._indices(), tensor._values(), Size(tensor.shape), tensor.is_coalesced())
        return self.save_reduce(_global("torch._utils", "_rebuild_sparse_tensor"), (tensor.layout, data), obj=tensor)

    def _save_tensor(self, tensor):
        if tensor.layout is not strided:
            return self._save_sparse(tensor)
        if type(tensor).__reduce_ex__ not in (Tensor.__reduce_ex__, Parameter.__reduce_ex__):     # a class that has a way of its own
            return super().save(tensor)
        self.framer.commit_frame()
        self.memories.see(tensor)
        attributes = tensor.__dict__
        if type(tensor) is Parameter:
            data = _Call(*self._built(tensor, False))
            name, state = ("_rebuild_parameter_with_state", (attributes,)) if attributes else ("_rebuild_parameter", ())
            return self.save_reduce(_global("torch._utils", name), (data, tensor.requires_grad, _NO_HOOKS, *state), obj=tensor)
        function, arguments = self._built(tensor, tensor.requires_grad)
        if type(tensor) is Tensor and not attributes:
            self._write_call(function, arguments)
            return self.memoize(tensor)
        kind = _global("torch", "Tensor") if type(tensor) is Tensor else type(tensor)
        return self.save_reduce(_global("torch._tensor", "_rebuild_from_type_v2"), (function, kind, arguments, attributes), obj=tensor)

    # What stands in a file once per tensor is written instruction by instruction, without the look-ups of what it might be.
    def _write_call(self, function, arguments):
        self.save(function)
        self._write_arguments(*arguments.args)
        self.write(pickle.REDUCE)

    def _write_arguments(self, memory, storage_dtype, offset, size, stride, requires_grad, *dtype):
        self.write(b"".join((pickle.MARK, self._reference(memory, storage_dtype), _int(offset), _ints(size), _ints(stride),
                             pickle.NEWTRUE if requires_grad else pickle.NEWFALSE)))
        self.save(_NO_HOOKS)
        for item in dtype:
            self.save(item)
        self.write(pickle.TUPLE)

    def _reference(self, memory, dtype):
        """The instructions for the persistent id of a storage, as elements of a dtype; None: as bytes."""
        memories = self.memories
        key, _, _, last, _, _ = memories.found[id(memory)]
        nbytes = last - memories.start(memory) if memories.compact else memory.nbytes
        self.dtypes.setdefault(id(memory), dtype or by_name["uint8"])
        kind = _global("torch.storage", "UntypedStorage") if dtype is None else _global("torch", STORAGE_OF[dtype])
        return b"".join((pickle.MARK, self._text("storage"), self._once(kind, kind.code), _text(key), self._text(location_tag(memory)),
                         _int(nbytes if dtype is None else nbytes // dtype.itemsize), pickle.NONE if self.legacy else b"", pickle.TUPLE + pickle.BINPERSID))

    def _text(self, text):
        return self.again.get(text) or self._once(text, _text(text))

    def _once(self, item, code):
        """`code`, which makes an item, and then remembers it; from the second time on, what recalls it."""
        again = self.again.get(item)
        if again is not None:
            return again
        known = self.memo.get(id(item))
        if known is None:
            known = self.memo[id(item)] = len(self.memo), item
            code += self.put(known[0])
        else:
            code = self.get(known[0])
        self.again[item] = self.get(known[0])
        return code

    def _built(self, tensor, requires_grad):
        """(function, arguments) that build a tensor: on a typed storage, or on bytes where the storage has another dtype."""
        memory, dtype = tensor._storage, tensor.dtype
        offset = tensor.storage_offset() - self.memories.start(memory) // dtype.itemsize
        geometry = offset, tensor.shape, tensor.stride(), requires_grad
        if dtype in STORAGE_OF and self.dtypes.get(id(memory), dtype) is dtype:
            return _REBUILD_V2, _Arguments(memory, dtype, *geometry)
        return _REBUILD_V3, _Arguments(memory, None, *geometry, dtype)


def _pickler(pickle_module):
    """A class of pickler that writes our objects, and all others as `pickle_module` does."""
    base = getattr(pickle_module, "_Pickler", pickle_module.Pickler)
    if pickle_module is pickle or issubclass(base, pickle._Pickler):
        return type("Pickler", (_Writing, pickle._Pickler if pickle_module is pickle else base), {})

    class Pickler(_Writing, pickle._Pickler):
        """Asks the module's compiled pickler how an object is reduced."""

        def __init__(self, file, protocol, *args, **options):
            super().__init__(file, protocol, *args, **options)
            self.helper = base(io.BytesIO(), protocol)
            self.dispatch_table = getattr(self.helper, "dispatch_table", copyreg.dispatch_table)

        def reducer_override(self, obj):
            override = getattr(self.helper, "reducer_override", None)
            return NotImplemented if override is None else override(obj)

    return Pickler


class _Nowhere(io.RawIOBase):
    """A file that forgets what is written to it."""

    def writable(self):
        return True

    def write(self, data):
        return len(data)


def _dump(obj, pickle_module, protocol, compact, legacy):
    """(pickle, Memories, dtypes). For a compact file the object is pickled twice: the first time tells what is seen of each memory."""
    memories = Memories(compact)
    make = _pickler(pickle_module)
    if compact:
        make(_Nowhere(), protocol, memories, legacy).dump(obj)
    buffer = io.BytesIO()
    pickler = make(buffer, protocol, memories, legacy)
    pickler.dump(obj)
    memories.warn()
    return buffer.getvalue(), memories, pickler.dtypes


def write_zip(obj, file, pickle_module, protocol, compact):
    """Write `obj` as a zip container to a binary file."""
    data, memories, _ = _dump(obj, pickle_module, protocol, compact, False)
    with ArchiveWriter(file) as archive:
        archive.write("data.pkl", data)
        archive.write(".format_version", b"1")
        archive.write(".storage_alignment", b"64")
        archive.write("byteorder", sys.byteorder.encode())
        for key, memory in memories.written():
            archive.write(f"data/{key}", memory)
        archive.write("version", b"3\n")


def write_legacy(obj, file, pickle_module, protocol, compact):
    """Write `obj` as the stream of PyTorch before 1.6."""
    def dump():
        data, memories, dtypes = _dump(obj, pickle_module, protocol, compact, True)
        itemsizes = {key: dtypes[at].itemsize for at, (key, *_) in memories.found.items()}
        return data, [(key, memory, len(memory) // itemsizes[key]) for key, memory in sorted(memories.written(), key=lambda item: item[0])]

    write_stream(dump, lambda value, target: pickle.dump(value, target, 2), file)
