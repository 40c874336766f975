"""`save` and `load`: PyTorch's zip container, read by an unpickler that knows what it may build."""
import os
import pickle
import tempfile
import zipfile

from .reader import add_safe_globals, clear_safe_globals, get_safe_globals, read_zip, safe_globals
from .writer import write_zip

__all__ = ["add_safe_globals", "clear_safe_globals", "get_safe_globals", "load", "safe_globals", "save"]


def save(obj, f, pickle_module=None, pickle_protocol=2):
    """Write an object (a state dict, a tensor, a model) to a file that `load` and PyTorch's `torch.load` read.

    Args:
        f: a path, written to whole or not at all, or a binary file object.
        pickle_protocol: of the pickle inside, 2 by default.

    Tensors that share memory share it in the file too, and so again when loaded.
    """
    if hasattr(f, "write"):
        write_zip(obj, f, pickle_protocol)
        return
    path = os.fspath(f)
    folder = os.path.dirname(os.path.abspath(path))
    if not os.path.isdir(folder):
        raise RuntimeError(f"Parent directory {folder} does not exist.")
    handle, part = tempfile.mkstemp(dir=folder, prefix=os.path.basename(path) + ".", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            write_zip(obj, file, pickle_protocol)
        os.chmod(part, _usual_mode())
        os.replace(part, path)
    except BaseException:
        os.unlink(part)
        raise


def _usual_mode():
    """The permissions of a new file (mkstemp's are for the owner alone)."""
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def load(f, map_location=None, pickle_module=None, *, weights_only=None, mmap=None):
    """Read what `save` or PyTorch's `torch.save` wrote (the zip container).

    Args:
        f: a path or a binary file object that can seek.
        map_location: None (where each tensor was), a device, a dict from old to new device names, or a function of
            (tensor, old device name) that gives a tensor.
        weights_only: True by default: only tensors, containers, numbers and classes on the list of `add_safe_globals` are
            built. False runs whatever the file says: for files that you trust.

    Raises:
        pickle.UnpicklingError: the file asks for something that isn't on the list; the message names it.
        RuntimeError: it isn't a file that can be read, or it is damaged.
    """
    weights_only = True if weights_only is None else weights_only
    opened = None if hasattr(f, "read") else open(f, "rb")
    file = f if opened is None else opened
    try:
        if not zipfile.is_zipfile(file):
            raise RuntimeError(f"load: {_name(f)} isn't a zip container: it is damaged, or of a format that isn't supported (PyTorch before 1.6)")
        file.seek(0)
        try:
            with zipfile.ZipFile(file) as archive:
                return read_zip(archive, map_location, weights_only)
        except (zipfile.BadZipFile, KeyError, EOFError) as error:
            raise RuntimeError(f"load: {_name(f)} is damaged: {error}") from error
    finally:
        if opened is not None:
            opened.close()


def _name(f):
    return getattr(f, "name", None) or (repr(f) if not isinstance(f, (str, os.PathLike)) else os.fspath(f))
