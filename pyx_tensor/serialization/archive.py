"""PyTorch's zip container: `data.pkl`, and one entry of raw bytes per storage, each at a multiple of 64 bytes.

The standard library reads and writes the directory; the bytes of storages go straight between the file and their memory.
"""
import os
import struct
import sys
import zipfile
import zlib

import numpy as np

ALIGNMENT = 64
_LOCAL_HEADER = struct.Struct("<4s22xHH")      # signature, lengths of the name and the extra field
_CHUNK = 1 << 20
_MAX_SMALL = 1 << 31                           # of an entry that is read whole into bytes
_check = True


def set_crc32_options(compute_crc32):
    """Whether checksums are written and checked (True by default); PyTorch too can write files without them."""
    global _check
    _check = bool(compute_crc32)


def get_crc32_options():
    """Whether checksums are written and checked."""
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
        """Fill a buffer, checking the sum of each piece while it is in the cache."""
        self.file.seek(start)
        crc = done = 0
        while done < len(target):
            piece = target[done:done + _CHUNK]
            n = self.file.readinto(piece) if hasattr(self.file, "readinto") else _copied(self.file.read(len(piece)), piece)
            if not n:
                raise Damaged(f"entry {entry.filename!r} is cut short, at its byte {done} of {len(target)}")
            if _check:
                crc = zlib.crc32(piece[:n], crc)
            done += n
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
        data = np.empty(nbytes, np.uint8)
        self._read_into(entry, start, memoryview(data))
        return data


def _copied(data, target):
    target[:len(data)] = data
    return len(data)


class _Forward:
    """A file that is only written forward, and takes each piece whole: sums and sizes follow their entries, as PyTorch has them."""

    def __init__(self, file):
        self.file = file
        self.flush = getattr(file, "flush", lambda: None)

    def write(self, data):
        view = memoryview(data).cast("B")
        done = self.file.write(view)
        while type(done) is int and 0 < done < len(view):       # an unbuffered file may take less
            view = view[done:]
            done = self.file.write(view)
        return len(data)


class ArchiveWriter:
    """Writes a container to a binary file, which needn't be able to seek."""

    def __init__(self, file, name="archive"):
        self.archive = zipfile.ZipFile(_Forward(file), "w", zipfile.ZIP_STORED, allowZip64=True)
        self.name = name

    def write(self, name, data):
        """Add an entry: any contiguous buffer."""
        data = memoryview(data).cast("B")
        info = zipfile.ZipInfo(f"{self.name}/{name}")
        info.file_size = info.compress_size = len(data)
        zip64 = len(data) >= 1 << 31
        header = _LOCAL_HEADER.size + len(info.filename.encode()) + (20 if zip64 else 0)
        padding = -(self.archive.fp.tell() + header + 4) % ALIGNMENT
        info.extra = b"FB" + struct.pack("<H", padding) + b"Z" * padding       # an extra field of no meaning
        with self.archive.open(info, "w", force_zip64=zip64) as entry:
            for start in range(0, len(data), _CHUNK):
                entry.write(data[start:start + _CHUNK])

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        """Write the directory."""
        self.archive.close()
