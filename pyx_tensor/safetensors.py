"""The safetensors format: a JSON header of names, dtypes, shapes and places, and the bytes. It can hold nothing but tensors.

https://huggingface.co/docs/safetensors describes it: eight bytes with the header's length, the header, the data without gaps.
"""
import json
import math
import mmap
import os
import struct
from contextlib import contextmanager

import numpy as np

from .core.device import make_device
from .core.dtype import by_name
from .core.record import namespace as B
from .core.tensor import TensorBase
from .serialization.atomic import replacing
from .serialization.builders import clean_bools

__all__ = ["load", "load_file", "safe_open", "save", "save_file"]

_DTYPES = {"BOOL": "bool", "U8": "uint8", "I8": "int8", "I16": "int16", "I32": "int32", "I64": "int64", "U16": "uint16", "U32": "uint32",
           "U64": "uint64", "F16": "float16", "BF16": "bfloat16", "F32": "float32", "F64": "float64", "C64": "complex64"}
_NAMES = {name: code for code, name in _DTYPES.items()}
_MAX_HEADER = 100_000_000


# --- writing ------------------------------------------------------------------------------------------------------
def _arrays(tensors):
    """(name, code, array) in the order in which they are written: the widest elements first, which keeps all aligned."""
    if not isinstance(tensors, dict):
        raise TypeError(f"safetensors: expected a dict of tensors, got {type(tensors).__name__}")
    for name, tensor in tensors.items():
        if not isinstance(name, str) or name == "__metadata__":
            raise ValueError(f"safetensors: {name!r} can't be the name of a tensor")
        if not isinstance(tensor, TensorBase):
            raise ValueError(f"safetensors: {name!r} must be a Tensor, got {type(tensor).__name__}")
        if tensor.dtype.name not in _NAMES:
            raise ValueError(f"safetensors: {name!r} is {tensor.dtype}, which the format doesn't have")
    memories = {}
    for name, tensor in tensors.items():
        memories.setdefault(id(tensor._storage), []).append(name)
    shared = [names for names in memories.values() if len(names) > 1 and tensors[names[0]].numel()]
    if shared:
        raise RuntimeError(f"safetensors: some tensors share memory, which the format can't express: {shared}. Save a clone() of all but one.")
    for name in sorted(tensors, key=lambda name: (-tensors[name].element_size(), name)):
        yield name, _NAMES[tensors[name].dtype.name], np.asarray(tensors[name].detach()._host_array(), order="C")


def _header(arrays, metadata):
    entries, end = {}, 0
    if metadata is not None:
        if not all(isinstance(text, str) for pair in metadata.items() for text in pair):
            raise TypeError("safetensors: metadata must be a dict from strings to strings")
        entries["__metadata__"] = dict(metadata)
    for name, code, array in arrays:
        entries[name] = {"dtype": code, "shape": list(array.shape), "data_offsets": [end, end + array.nbytes]}
        end += array.nbytes
    text = json.dumps(entries, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text


def _write(tensors, metadata, write):
    arrays = list(_arrays(tensors))
    write(_header(arrays, metadata))
    for _, _, array in arrays:
        write(memoryview(array.reshape(-1).view(np.uint8)))


def save_file(tensors, filename, metadata=None):
    """Write a dict of tensors to a file, whole or not at all.

    Args:
        metadata: a dict of strings that goes along.

    Raises RuntimeError where tensors share memory, which the format can't express.
    """
    with replacing(filename) as file:
        _write(tensors, metadata, file.write)


def save(tensors, metadata=None):
    """The bytes that `save_file` would write."""
    parts = []
    _write(tensors, metadata, lambda part: parts.append(bytes(part)))
    return b"".join(parts)


# --- reading ------------------------------------------------------------------------------------------------------
def _unique(pairs):
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name stands twice in the header")
    return found


def _parsed(data, size):
    """(entries, metadata, start of the tensors' bytes) of a header; ValueError where anything is wrong with it."""
    if size < 8:
        raise ValueError(f"it has {size} bytes, fewer than a header's length takes")
    length, = struct.unpack("<Q", bytes(data[:8]))
    if length > min(_MAX_HEADER, size - 8):
        raise ValueError(f"its header is said to have {length} bytes, and {size - 8} follow")
    try:
        entries = json.loads(bytes(data[8:8 + length]).decode("utf-8"), object_pairs_hook=_unique)
    except (UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"its header can't be read: {error}") from None
    if not isinstance(entries, dict):
        raise ValueError("its header isn't a JSON object")
    metadata = entries.pop("__metadata__", None)
    if metadata is not None and not (isinstance(metadata, dict) and all(isinstance(value, str) for value in metadata.values())):
        raise ValueError("its metadata aren't strings")
    _check_places(entries, size - 8 - length)
    return entries, metadata, 8 + length


def _is_count(value):
    return type(value) is int and value >= 0


def _check_places(entries, available):
    """Every tensor as long as its shape says, one behind the other, and nothing left over."""
    places = []
    for name, entry in entries.items():
        if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
            raise ValueError(f"{name!r} isn't described by a dtype, a shape and offsets")
        shape, offsets = entry["shape"], entry["data_offsets"]
        if not isinstance(entry["dtype"], str) or entry["dtype"] not in _DTYPES:
            raise ValueError(f"{name!r} is of dtype {entry['dtype']!r}, which isn't supported")
        if not (isinstance(shape, list) and len(shape) <= 64 and all(map(_is_count, shape))):
            raise ValueError(f"{name!r} has no possible shape")
        if not (isinstance(offsets, list) and len(offsets) == 2 and all(map(_is_count, offsets))):
            raise ValueError(f"{name!r} has no possible offsets")
        nbytes = math.prod(shape) * by_name[_DTYPES[entry["dtype"]]].itemsize
        if offsets[1] - offsets[0] != nbytes:
            raise ValueError(f"{name!r} of shape {shape} takes {nbytes} bytes, its offsets {offsets} say {offsets[1] - offsets[0]}")
        places.append((*offsets, name))
    end = 0
    for first, last, name in sorted(places):
        if first != end:
            raise ValueError(f"{name!r} begins at byte {first} of the data, where byte {end} is expected: tensors overlap, or there is a gap")
        end = last
    if end != available:
        raise ValueError(f"its tensors take {end} bytes, and {available} follow the header")


class _File:
    """An open file: its header, and its bytes as one writable buffer."""

    def __init__(self, data, name):
        self.data = data
        try:
            self.entries, self.metadata, self.start = _parsed(data, len(data))
        except ValueError as error:
            raise RuntimeError(f"safetensors: {name} is no safetensors file, or damaged: {error}") from None

    def tensor(self, name, device):
        if name not in self.entries:
            raise KeyError(f"safetensors: the file has no tensor {name!r}")
        entry = self.entries[name]
        dtype, first = by_name[_DTYPES[entry["dtype"]]], self.start + entry["data_offsets"][0]
        array = np.frombuffer(self.data, np.uint8, entry["data_offsets"][1] - entry["data_offsets"][0], first)
        if first % dtype.itemsize:
            array = array.copy()
        if dtype is by_name["bool"]:
            clean_bools(array)
        array = array.view(dtype.numpy) if array.size else np.empty(0, dtype.numpy)
        tensor = B.from_numpy(array.reshape(entry["shape"]))
        return tensor if device.type == "cpu" else tensor.to(device)


def _mapped(filename):
    filename = os.fspath(filename)
    with open(filename, "rb") as file:
        if not os.fstat(file.fileno()).st_size:
            raise RuntimeError(f"safetensors: {filename} is empty")
        return _File(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY), filename)


def load_file(filename, device="cpu"):
    """A dict of the tensors in a file. They are views of the file mapped into memory: each is read when it is used, and
    writes to it stay in memory."""
    file = _mapped(filename)
    device = make_device(device)
    return {name: file.tensor(name, device) for name in file.entries}


def load(data, device="cpu"):
    """A dict of the tensors in bytes."""
    file = _File(bytearray(data), f"the {type(data).__name__}")
    device = make_device(device)
    return {name: file.tensor(name, device) for name in file.entries}


class _Slice:
    """A tensor of a file of which parts are read by indexing."""

    def __init__(self, tensor):
        self._tensor = tensor

    def get_shape(self):
        return list(self._tensor.shape)

    def get_dtype(self):
        return _NAMES[self._tensor.dtype.name]

    def __getitem__(self, index):
        return self._tensor[index].clone()


class _Opened:
    def __init__(self, file, device):
        self._file, self._device = file, device

    def keys(self):
        """The tensors' names."""
        return sorted(self._file.entries)

    def metadata(self):
        """The strings that were saved along, or None."""
        return self._file.metadata

    def get_tensor(self, name):
        return self._file.tensor(name, self._device)

    def get_slice(self, name):
        """A tensor of which only what is indexed is read."""
        return _Slice(self._file.tensor(name, make_device("cpu")))


@contextmanager
def safe_open(filename, framework="pt", device="cpu"):
    """A file whose tensors are asked for one by one: `keys()`, `get_tensor(name)`, `get_slice(name)[2:5]`, `metadata()`."""
    if framework not in ("pt", "torch", "pyx_tensor"):
        raise ValueError(f"safe_open: framework must be 'pt', got {framework!r}")
    yield _Opened(_mapped(filename), make_device(device))
