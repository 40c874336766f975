"""`save` and `load`: PyTorch's files, read by an unpickler that knows what it may build."""
import io
import mmap as _mmap
import os
import pickle
from contextlib import contextmanager

from .archive import Archive, Damaged, get_crc32_options, set_crc32_options
from .atomic import replacing
from .legacy import NotLegacy, outline_of_stream, read_stream, read_tar
from .location import default_restore_location, location_tag, make_placement, register_package
from .machine import Source
from .npz import load_npz, save_npz
from .reader import OutlineMachine, Storages, unpickle
from .allowed import add_safe_globals, clear_safe_globals, get_safe_globals, safe_globals
from .writer import write_legacy, write_zip

__all__ = ["add_safe_globals", "clear_safe_globals", "default_restore_location", "get_crc32_options", "get_safe_globals", "get_unsafe_globals_in_checkpoint", "load", "load_npz",
           "location_tag", "register_package", "safe_globals", "save", "save_npz", "set_crc32_options"]

DEFAULT_PROTOCOL = 2
_OTHERS = (      # what else is taken for a checkpoint: first bytes, what it is, what to do
    (b"\x1f\x8b", "compressed by gzip", "uncompress it first"), (b"BZh", "compressed by bzip2", "uncompress it first"),
    (b"\xfd7zXZ", "compressed by xz", "uncompress it first"), (b"\x28\xb5\x2f\xfd", "compressed by zstd", "uncompress it first"),
    (b"version https://git-lfs", "a pointer of Git LFS", "fetch the file itself by `git lfs pull`"), (b"<!DOCTYPE", "a web page", "download the file itself"),
    (b"<html", "a web page", "download the file itself"), (b"\x89HDF", "an HDF5 file", "read it with h5py"),
    (b"\x93NUMPY", "an .npy file", "read it with numpy.load"),
)


def save(obj, f, pickle_module=pickle, pickle_protocol=DEFAULT_PROTOCOL, _use_new_zipfile_serialization=True, *, compact=False):
    """Write an object (a state dict, a tensor, a model) to a file that `load` and PyTorch's `torch.load` read.

    Args:
        f: a path, written to whole or not at all, or a binary file object (which needn't be able to seek).
        pickle_module: says how objects that aren't ours are pickled: `pickle` by default, or a module like it (cloudpickle, dill).
        pickle_protocol: of the pickle inside, 1 to 5, 2 by default.
        _use_new_zipfile_serialization: False for the format of PyTorch before 1.6.
        compact: of a tensor that is a view, write only the memory between its first and its last element, not all that it lies in.

    Tensors that share memory share it in the file too, and so again when loaded. A small view of large memory therefore makes a
    large file; a warning says so, unless `compact`.

    >>> import io
    >>> import pyx_tensor as torch
    >>> file = io.BytesIO()
    >>> torch.save({"w": torch.ones(2)}, file)
    >>> _ = file.seek(0)
    >>> torch.load(file)
    {'w': tensor([1., 1.])}
    """
    if pickle_protocol is not None and not 1 <= pickle_protocol <= pickle.HIGHEST_PROTOCOL:
        raise pickle.PicklingError(f"save: pickle_protocol must be 1 to {pickle.HIGHEST_PROTOCOL}, which can refer to storages, got {pickle_protocol}")
    write = write_zip if _use_new_zipfile_serialization else write_legacy
    arguments = (pickle_module or pickle, pickle_protocol, compact)
    if hasattr(f, "write"):
        write(obj, f, *arguments)
        return
    if not isinstance(f, (str, os.PathLike)):
        raise AttributeError(f"save: expected a path or a binary file object with write(), got {type(f).__name__}")
    with replacing(f) as file:
        write(obj, file, *arguments)


def load(f, map_location=None, pickle_module=None, *, weights_only=None, mmap=None, **pickle_load_args):
    """Read what `save` or PyTorch's `torch.save` wrote, of any release of PyTorch.

    Args:
        f: a path or a binary file object that can seek.
        map_location: None (where each tensor was), a device or its name, a dict from old to new device names, or a function of
            (storage, old device name) that gives a storage, or None for where it was.
        pickle_module: what unpickles where `weights_only=False`; `pickle` by default.
        weights_only: True by default: only tensors, containers, numbers and what `add_safe_globals` allowed are built. False runs
            whatever the file says: for files that you trust.
        mmap: map the file (a path) into memory rather than read it: tensors are read when they are used, and writes to them stay
            in memory.
        encoding: of the strings that Python 2 pickled, 'utf-8' by default.

    Raises:
        pickle.UnpicklingError: the file asks for something that isn't on the list, which the message names, or isn't a whole pickle.
        RuntimeError: it isn't a file that can be read, or it is damaged; the message says where.
    """
    weights_only = (pickle_module is None) if weights_only is None else weights_only
    if weights_only and pickle_module is not None:
        raise RuntimeError("load: a pickle_module runs what the file says, so it needs weights_only=False")
    placement = make_placement(map_location)
    with _opened(f) as file:
        kind = _kind(file, f)
        if mmap and (kind != "zip" or not isinstance(f, (str, os.PathLike))):
            raise RuntimeError("load: mmap=True needs the path of a file in the zip container, as PyTorch writes it since 1.6")
        try:
            if kind == "zip":
                return _load_zip(file, mmap, placement, weights_only, pickle_module or pickle, pickle_load_args)
            read = read_tar if kind == "tar" else read_stream
            return read(file, placement, weights_only, pickle_module or pickle, pickle_load_args)
        except Damaged as error:
            raise RuntimeError(f"load: {_name(f)} is damaged, or no file of tensors: {error}") from error
        except NotLegacy as error:
            raise RuntimeError(f"load: {_name(f)} is neither a zip container nor one of PyTorch's older files: {_what(file)}") from error
        except EOFError as error:
            raise RuntimeError(f"load: {_name(f)} is cut short: {error}") from error


def _load_zip(file, mmap, placement, weights_only, pickle_module, options):
    mapped = _mmap.mmap(file.fileno(), 0, access=_mmap.ACCESS_COPY) if mmap else None
    archive = Archive(file, mapped)
    storages = Storages(archive.storage, placement, archive.swapped)
    data = archive.read("data.pkl")
    return unpickle(io.BytesIO(data), len(data), storages, weights_only, pickle_module, file_size=archive.size, **options)


def get_unsafe_globals_in_checkpoint(f):
    """The names, as 'module.name', that a file (a path or a binary file object) asks for and that `load(weights_only=True)` refuses.

    Nothing of the file is run.
    """
    with _opened(f) as file:
        return outline(file, f)[0].unknown


def outline(file, f):
    """(OutlineMachine that ran the pickle, the object's outline, Archive or None) of an open file."""
    kind = _kind(file, f)
    if kind == "tar":
        raise NotImplementedError("only loading is supported of the tar files of PyTorch before 0.2")
    if kind != "zip":
        try:
            return *outline_of_stream(file), None
        except NotLegacy as error:
            raise RuntimeError(f"load: {_name(f)} is neither a zip container nor one of PyTorch's older files: {_what(file)}") from error
    try:
        archive = Archive(file)
        data = archive.read("data.pkl")
    except Damaged as error:
        raise RuntimeError(f"load: {_name(f)} is damaged, or no file of tensors: {error}") from error
    machine = OutlineMachine(Source(io.BytesIO(data), len(data)))
    return machine, machine.load(), archive


@contextmanager
def _opened(f):
    """A binary file that can seek."""
    if isinstance(f, (str, os.PathLike)):
        with open(f, "rb") as file:
            yield file
        return
    if not hasattr(f, "read"):
        raise AttributeError(f"load: expected a path or a binary file object with read(), got {type(f).__name__}")
    if not (hasattr(f, "seek") and hasattr(f, "tell")) or (hasattr(f, "seekable") and not f.seekable()):
        raise io.UnsupportedOperation("load: the file object can't seek. Read it into a buffer first, as in load(io.BytesIO(f.read()))")
    yield f


def _kind(file, f):
    """'zip', 'tar' or 'stream', by the first bytes from where the file stands."""
    start = file.tell()
    head = file.read(265)
    file.seek(start)
    if not isinstance(head, bytes):
        raise TypeError(f"load: {_name(f)} is open as text; open it with 'rb'")
    if not head:
        raise RuntimeError(f"load: {_name(f)} has nothing to read, neither a zip container nor one of PyTorch's older files, at byte {start} "
                           + ("(seek(0) goes back to its beginning)" if start else "(it is empty)"))
    if head.startswith(b"PK\3\4"):
        return "zip"
    return "tar" if head[257:262] == b"ustar" or head.startswith((b"storages\0", b"tensors\0", b"pickle\0")) else "stream"


def _what(file):
    """What a file is that isn't ours."""
    file.seek(0)
    head = file.read(64)
    for start, what, advice in _OTHERS:
        if head.startswith(start):
            return f"it is {what}; {advice}"
    if head[8:9] == b"{":
        return "it looks like a safetensors file; read it with pyx_tensor.safetensors.load_file"
    return f"it begins with {head[:16]!r}"


def _name(f):
    return os.fspath(f) if isinstance(f, (str, os.PathLike)) else getattr(f, "name", None) or f"the {type(f).__name__}"
