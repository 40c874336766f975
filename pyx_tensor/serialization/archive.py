"""PyTorch's zip container: `data.pkl`, and one entry of raw bytes per storage, each at a multiple of 64 bytes.

The standard library reads the directory; the bytes of storages go straight between the file and their memory.
"""
import os
import struct
import sys
import zipfile

import numpy as np

from ..core.device import make_device
from .checksum import crc32

ALIGNMENT = 64
_LOCAL_HEADER = struct.Struct("<4s22xHH")      # signature, lengths of the name and the extra field
_CHUNK = 1 << 20
_MAX_SMALL = 1 << 31                           # of an entry that is read whole into bytes
_check = True


def set_crc32_options(compute_crc32):
    """Whether checksums are checked (True by default): PyTorch too can write files without them. What is written here has them."""
    global _check
    _check = bool(compute_crc32)


def get_crc32_options():
    """Whether checksums are checked."""
    return _check


class Damaged(RuntimeError):
    """A container that can't be read, with the reason."""


class Archive:
    """A container that is read: its entries stand uncompressed, inside of the file and apart from each other.

    Args:
        file: a binary file that can seek.
        mapped: the file's memory map, of which storages are views; None to read them.
    """

    def __init__(self, file, mapped=None):
        self.file, self.mapped = file, mapped
        try:
            with zipfile.ZipFile(file) as directory:
                entries = directory.infolist()
        except (zipfile.BadZipFile, struct.error, EOFError, NotImplementedError, UnicodeDecodeError, ValueError, OverflowError) as error:
            raise Damaged(f"its directory can't be read ({error}): the file is cut short, or damaged") from error
        self.size = file.seek(0, os.SEEK_END)
        self.entries = {}
        for entry in entries:
            if entry.filename in self.entries:
                raise Damaged(f"it has two entries of the name {entry.filename!r}")
            self.entries[entry.filename] = entry
        self.prefix = self._prefix()
        self._refuse_overlaps()
        self.swapped = self._byte_order() != sys.byteorder

    def _prefix(self):
        """The name of the folder that everything in the container is in."""
        pickles = [name for name in self.entries if name.endswith("/data.pkl")]
        if len(pickles) != 1:
            raise Damaged(f"a container has one data.pkl, this one has {len(pickles)}")
        prefix = pickles[0].removesuffix("data.pkl")
        if prefix + "constants.pkl" in self.entries:
            raise NotImplementedError("load: the file is a TorchScript archive, which holds code; only files of torch.save are supported")
        return prefix

    def _refuse_overlaps(self):
        """Entries that lie over each other would give more memory than the file has."""
        end = 0
        for entry in sorted(self.entries.values(), key=lambda entry: entry.header_offset):
            if entry.header_offset < end:
                raise Damaged(f"entry {entry.filename!r} at byte {entry.header_offset} lies over the one before it")
            end = entry.header_offset + entry.compress_size

    def _byte_order(self):
        order = self.read("byteorder").decode("latin1") if self.prefix + "byteorder" in self.entries else "little"
        if order not in ("little", "big"):
            raise Damaged(f"its byte order is {order!r}, expected 'little' or 'big'")
        return order

    def _locate(self, name):
        """(entry, position of its first byte)"""
        entry = self.entries.get(self.prefix + name)
        if entry is None:
            raise Damaged(f"it has no entry {self.prefix + name!r}")
        if entry.compress_type != zipfile.ZIP_STORED or entry.compress_size != entry.file_size:
            raise Damaged(f"entry {entry.filename!r} is compressed, which files of tensors never are: write it anew without compression")
        if entry.flag_bits & 1:
            raise Damaged(f"entry {entry.filename!r} is encrypted")
        self.file.seek(entry.header_offset)
        header = self.file.read(_LOCAL_HEADER.size)
        if len(header) < _LOCAL_HEADER.size or not header.startswith(b"PK\3\4"):
            raise Damaged(f"entry {entry.filename!r} doesn't begin at byte {entry.header_offset}, where the directory has it")
        _, n_name, n_extra = _LOCAL_HEADER.unpack(header)
        start = entry.header_offset + _LOCAL_HEADER.size + n_name + n_extra
        if start + entry.file_size > self.size:
            raise Damaged(f"entry {entry.filename!r} is cut short: its {entry.file_size} bytes from byte {start} on end behind the file's {self.size}")
        return entry, start

    def read(self, name):
        """A small entry as bytes."""
        entry, start = self._locate(name)
        if entry.file_size > _MAX_SMALL:
            raise Damaged(f"entry {entry.filename!r} has {entry.file_size} bytes")
        data = bytearray(entry.file_size)
        self._read_into(entry, start, memoryview(data))
        return bytes(data)

    def _read_into(self, entry, start, target):
        """Fill a buffer, and check its sum."""
        self.file.seek(start)
        crc = done = 0
        for piece in filled(self.file, target):
            done += len(piece)
            if _check:
                crc = crc32(piece, crc)
        if done < len(target):
            raise Damaged(f"entry {entry.filename!r} is cut short, at its byte {done} of {len(target)}")
        if _check and crc != entry.CRC:
            raise Damaged(f"entry {entry.filename!r} (bytes {start} to {start + len(target)}) has another checksum than it was written with")

    def storage(self, key, nbytes, itemsize):
        """The bytes of a storage as a 1-d array of uint8 that may be written to, in this machine's byte order."""
        if not isinstance(key, str) or "/" in key or "\\" in key:
            raise Damaged(f"{key!r} is no name of a storage")
        entry, start = self._locate(f"data/{key}")
        if entry.file_size != nbytes:
            raise Damaged(f"storage {key} (entry {entry.filename!r}) has {entry.file_size} bytes, expected {nbytes}")
        if self.mapped is not None and not self.swapped and start % itemsize == 0:
            return np.frombuffer(self.mapped, np.uint8, nbytes, start)
        data = new_memory(nbytes)
        self._read_into(entry, start, memoryview(data))
        return data


def new_memory(nbytes):
    """Memory for a storage, as its backend sets it aside: a 1-d array of uint8 without values."""
    return make_device("cpu").backend.empty((nbytes,), np.dtype(np.uint8))


def filled(file, target):
    """Read a file into a buffer, piece by piece: each may be looked at while it is in the cache. Ends early where the file does."""
    done = 0
    while done < len(target):
        piece = target[done:done + _CHUNK]
        n = file.readinto(piece) if hasattr(file, "readinto") else _copied(file.read(len(piece)), piece)
        if not n:
            return
        yield piece[:n]
        done += n


def _copied(data, target):
    target[:len(data)] = data
    return len(data)


# Of an entry, both before it and in the directory: version, flags, method, time, date, sum, both sizes, the name's length
_ENTRY, _LENGTH, _LISTED, _VERSION = struct.Struct("<5H3LH"), struct.Struct("<H"), struct.Struct("<4H2L"), struct.pack("<H", 45)
# extra fields of no meaning, with which the data are aligned that would begin so many bytes behind a multiple of it
_PADDING = [b"FB" + _LENGTH.pack(-(at + 4) % ALIGNMENT) + b"Z" * (-(at + 4) % ALIGNMENT) for at in range(ALIGNMENT)]
_DATE = 1 << 5 | 1          # the first of January 1980, so that the same tensors make the same file
_MOST = 0xffffffff          # where a field of 32 bits has this, the number stands in an extra field


def _wide(*numbers):
    """The extra field of numbers that 32 bits don't hold; the sizes go together."""
    wide = [number for number in numbers if number >= _MOST]
    return struct.pack(f"<2H{len(wide)}Q", 1, 8 * len(wide), *wide) if wide else b""


class ArchiveWriter:
    """Writes a container to a binary file, which needn't be able to seek: entry by entry, and the directory at the end.

    The standard library's writer takes several times as long for an entry. The format is PKWARE's (APPNOTE.TXT, version 6.3.10).
    """

    def __init__(self, file, name="archive"):
        self.file, self.name = file, name
        self.at = 0                         # bytes written
        self.directory = []

    def write(self, name, data):
        """Add an entry: any contiguous buffer."""
        name, data, first = f"{self.name}/{name}".encode(), memoryview(data).cast("B"), self.at
        size = len(data)
        before, listed = (_wide(size, size), _wide(size, size, first)) if first + size >= _MOST else (b"", b"")
        described = _ENTRY.pack(45 if listed else 20, 0, 0, 0, _DATE, crc32(data), min(size, _MOST), min(size, _MOST), len(name))
        before += _PADDING[(first + 4 + _ENTRY.size + 2 + len(name) + len(before)) % ALIGNMENT]
        self._put(b"".join((b"PK\3\4", described, _LENGTH.pack(len(before)), name, before)))
        self._put(data)
        self.directory.append(b"".join((b"PK\1\2", _VERSION, described, _LISTED.pack(len(listed), 0, 0, 0, 0, min(first, _MOST)), name, listed)))

    def _put(self, data):
        self.at += len(data)
        done = self.file.write(data)
        while type(done) is int and done < len(data):       # an unbuffered file may take less
            if not done:
                raise OSError("save: the file takes no more bytes")
            data = memoryview(data)[done:]
            done = self.file.write(data)

    def __enter__(self):
        return self

    def __exit__(self, kind, *exception):
        """Write the directory, unless there was an exception."""
        if kind is not None:
            return
        first, n = self.at, len(self.directory)
        self._put(b"".join(self.directory))
        size, end = self.at - first, self.at
        if n >= 0xffff or self.at >= _MOST:
            self._put(b"PK\6\6" + struct.pack("<Q2H2L4Q", 44, 45, 45, 0, 0, n, n, size, first) + b"PK\6\7" + struct.pack("<LQL", 0, end, 1))
        n = min(n, 0xffff)
        self._put(b"PK\5\6" + struct.pack("<4H2LH", 0, 0, n, n, min(size, _MOST), min(first, _MOST), 0))
