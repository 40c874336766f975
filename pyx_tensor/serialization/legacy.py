"""PyTorch's formats before 1.6: a stream of pickles followed by the storages, and, before 0.2, a tar of three files."""
import io
import os
import pickle
import struct
import sys
import tarfile

from ..core.dtype import by_name
from ..core.record import namespace as B
from ..ops.storage import TypedStorage
from . import builders
from .allowed import refuse_unsupported
from .archive import filled, new_memory
from .machine import Source, shown
from .names import StorageType
from .reader import OutlineMachine, Storages, unpickle

MAGIC = 0x1950A86A20F9469CFC6C
PROTOCOL = 1001
SYS_INFO = {"protocol_version": PROTOCOL, "little_endian": sys.byteorder == "little", "type_sizes": {"short": 2, "int": 4, "long": 4}}


class NotLegacy(Exception):
    """The file doesn't begin as the stream does."""


def _no_storages(saved):
    raise pickle.UnpicklingError("load: the file is damaged: a storage in its header")


class _Stream:
    """The stream of pickles, at a place in a file that can seek."""

    def __init__(self, file, options):
        self.file, self.options = file, options
        self.start = file.tell()
        self.end = file.seek(0, os.SEEK_END)
        file.seek(self.start)

    def left(self):
        return self.end - self.file.tell()

    def value(self):
        """A plain value of the header."""
        return unpickle(self.file, self.left(), _no_storages, True)

    def header(self):
        try:
            if self.value() != MAGIC:
                raise NotLegacy
        except pickle.UnpicklingError as error:
            raise NotLegacy from error
        protocol, info = self.value(), self.value()
        if protocol != PROTOCOL:
            raise RuntimeError(f"load: invalid protocol version {shown(protocol)}, expected {PROTOCOL}")
        little = info.get("little_endian", True) if isinstance(info, dict) else True
        return bool(little) != (sys.byteorder == "little")

    def outline(self):
        """(OutlineMachine, the object's outline); the file stands behind the object's pickle then."""
        machine = OutlineMachine(Source(self.file, self.left()), **self.options)
        return machine, machine.load()

    def outline_to_load(self):
        """The machine of the outline, where all that the object holds is supported."""
        machine, _ = self.outline()
        for name in machine.unknown:
            refuse_unsupported(*name.rpartition(".")[::2])
        return machine

    def storages(self, expected):
        """key -> bytes, of the storages behind the pickles."""
        keys = self.value()
        if not isinstance(keys, list):
            raise pickle.UnpicklingError("load: the file is damaged: no list of storages")
        found = {}
        for key in keys:
            if not isinstance(key, str) or key not in expected or key in found:
                raise RuntimeError(f"load: the file is damaged: storage {shown(key)} isn't one of its object's")
            dtype, numel, _ = expected[key]
            found[key] = self.storage(key, dtype, numel)
        return found

    def storage(self, key, dtype, numel):
        at = self.file.tell()
        count = self.file.read(8)
        if len(count) < 8 or struct.unpack("<q", count)[0] != numel:
            raise RuntimeError(f"load: the file is damaged or cut short at byte {at}: storage {key} should begin there, with its {numel} elements")
        nbytes = numel * dtype.itemsize
        if nbytes > self.left():
            raise RuntimeError(f"load: the file is cut short: storage {key} has {nbytes} bytes, of which {self.left()} are there")
        return _read(self.file, nbytes)


def _read(file, nbytes):
    data = new_memory(nbytes)
    done = sum(map(len, filled(file, memoryview(data))))
    if done < nbytes:
        raise RuntimeError(f"load: the file is cut short, {done} bytes into a storage of {nbytes}")
    return data


def _from(found):
    """function(key, nbytes, itemsize) over storages that are read."""
    def read(key, nbytes, itemsize):
        if key not in found:
            raise RuntimeError(f"load: the file is damaged: it has no storage {shown(key)}")
        if len(found[key]) != nbytes:
            raise RuntimeError(f"load: storage {key} has {len(found[key])} bytes, expected {nbytes}")
        return found[key]
    return read


def read_stream(file, placement, weights_only, pickle_module, options):
    """The object at this place of the file, which stands behind it afterwards. NotLegacy where there is none."""
    stream = _Stream(file, options)
    swapped = stream.header()
    start = file.tell()
    expected = stream.outline_to_load().storages
    found = stream.storages(expected)
    end = file.tell()
    file.seek(start)
    result = unpickle(file, end - start, Storages(_from(found), placement, swapped), weights_only, pickle_module, **options)
    file.seek(end)
    return result


def outline_of_stream(file):
    """(OutlineMachine, the object's outline) of a stream, whose storages aren't read."""
    stream = _Stream(file, {})
    stream.header()
    return stream.outline()


def write_stream(dump, write_plain, file):
    """Write the stream: `dump` gives the object's pickle and [(key, storage's bytes, number of elements)]."""
    for value in (MAGIC, PROTOCOL, SYS_INFO):
        write_plain(value, file)
    data, storages = dump()
    file.write(data)
    write_plain([key for key, _, _ in storages], file)
    for _, memory, numel in storages:
        file.write(struct.pack("<q", numel))
        file.write(memory)


# --- the tar of PyTorch before 0.2 --------------------------------------------------------------------------------
class _Tar:
    """The three members of a tar: 'storages', 'tensors' and 'pickle'. Nothing is unpacked to the disk."""

    def __init__(self, file):
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
        try:
            self.tar = tarfile.open(fileobj=file, mode="r:")
            members = {member.name.removeprefix("./"): member for member in self.tar.getmembers()}
        except (tarfile.TarError, ValueError, OverflowError, RecursionError) as error:
            raise RuntimeError(f"load: the tar can't be read: {error}") from error
        self.members = {name: members.get(name) for name in ("storages", "tensors", "pickle")}
        for name, member in self.members.items():
            if member is None or not member.isfile() or member.issparse() or member.offset_data + member.size > size:
                raise RuntimeError(f"load: the tar has no whole file {name!r}, as PyTorch's early files have")

    def open(self, name):
        data = self.tar.extractfile(self.members[name]).read()
        return io.BytesIO(data), len(data)


def _numbers(file, form):
    size = struct.calcsize(form)
    data = file.read(size)
    if len(data) < size:
        raise RuntimeError("load: the file is cut short, in the description of a tensor")
    return struct.unpack(form, data)


def _count(value):
    if type(value) is not int or value < 0:
        raise pickle.UnpicklingError("load: the file is damaged: expected a number of items")
    return value


def _key(value):
    """The name of a storage or tensor: a number, in some files as text."""
    if not isinstance(value, str) and not (isinstance(value, int) and value.bit_length() <= 64):
        raise pickle.UnpicklingError(f"load: the file is damaged: the key of a storage or tensor is {shown(value)}")
    return str(value)


def _described(value, n):
    if not isinstance(value, tuple) or len(value) != n:
        raise pickle.UnpicklingError("load: the file is damaged: expected a description of a storage or tensor")
    return value


def read_tar(file, placement, weights_only, pickle_module, options):
    """The object of a tar."""
    tar = _Tar(file)
    known = _tar_storages(*tar.open("storages"), placement)
    known.update(_tar_tensors(*tar.open("tensors"), known))

    def persistent(saved):
        if isinstance(saved, tuple) and saved:
            return saved[0]
        if _key(saved) not in known:
            raise pickle.UnpicklingError(f"load: the file is damaged: it has no tensor {shown(saved)}")
        return known[_key(saved)]

    stream, size = tar.open("pickle")
    return unpickle(stream, size, persistent, weights_only, pickle_module, **options)


def _tar_storages(file, size, placement):
    """key -> storage"""
    def value():
        return unpickle(file, size - file.tell(), _no_storages, True)

    found = {}
    for _ in range(_count(value())):
        key, location, kind = _described(value(), 3)
        key = _key(key)
        if not isinstance(kind, StorageType) or not isinstance(location, str):
            raise pickle.UnpicklingError("load: the file is damaged: expected a storage")
        numel, = _numbers(file, "<q")
        nbytes = numel * kind.dtype.itemsize
        if not 0 <= nbytes <= size - file.tell():
            raise RuntimeError(f"load: the file is cut short: storage {key} has {nbytes} bytes, of which {size - file.tell()} are there")
        data = _read(file, nbytes)
        if kind.dtype is by_name["bool"]:
            builders.clean_bools(data)
        found[key] = placement(TypedStorage._over(B.from_numpy(data.view(kind.dtype.numpy))), location)
    views = value() or []
    if not isinstance(views, list):
        raise pickle.UnpicklingError("load: the file is damaged: expected a list of parts of storages")
    for view in views:
        target, root, offset, length = _described(view, 4)
        if _key(root) not in found:
            raise pickle.UnpicklingError("load: the file is damaged: a part of a storage that isn't there")
        flat = builders._on(found[_key(root)]._flat, offset, (length,), (1,), False)
        found[_key(target)] = TypedStorage._over(B.from_numpy(flat.numpy())) if flat.device.type == "cpu" else TypedStorage._of(flat.clone())
    return found


def _tar_tensors(file, size, storages):
    """key -> tensor"""
    found = {}
    for _ in range(_count(unpickle(file, size, _no_storages, True))):
        key, storage, _ = _described(unpickle(file, size - file.tell(), _no_storages, True), 3)
        if _key(storage) not in storages:
            raise pickle.UnpicklingError("load: the file is damaged: a tensor of a storage that isn't there")
        ndim, = _numbers(file, "<i4x")
        if not 0 <= ndim <= 64:
            raise RuntimeError(f"load: the file is damaged: a tensor of {ndim} dims")
        shape, strides, (offset,) = _numbers(file, f"<{ndim}q"), _numbers(file, f"<{ndim}q"), _numbers(file, "<q")
        found[_key(key)] = builders.rebuild_tensor(storages[_key(storage)], offset, shape, strides)
    return found
