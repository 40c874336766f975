"""Files that are written whole or not at all."""
import os
import secrets
import stat
from contextlib import contextmanager


@contextmanager
def replacing(path):
    """A binary file to write to, which takes the place of `path` when the block ends without an exception.

    Until then, and after an exception, what was there stays as it was. What isn't an ordinary file (a pipe, a device), or is in a
    folder where nothing may be made, is written to as it is. RuntimeError where there is no such folder.
    """
    path = os.path.realpath(os.fspath(path))         # of a link: what it leads to
    folder = os.path.dirname(path)
    if not os.path.isdir(folder):
        raise RuntimeError(f"Parent directory {folder} does not exist.")
    present = os.stat(path) if os.path.exists(path) else None
    handle, part = _beside(path, present)
    if part is None:
        with open(path, "wb") as file:
            yield file
        return
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
        if present is not None:
            os.chmod(part, stat.S_IMODE(present.st_mode))
        os.replace(part, path)
    except BaseException:
        os.unlink(part)
        raise


def _beside(path, present):
    """(handle, name) of a new file in the same folder; None for both where the file itself has to be written to."""
    if present is not None and not stat.S_ISREG(present.st_mode):
        return None, None
    try:
        return _new_file(path)
    except PermissionError:
        if present is None:
            raise
        return None, None               # a file that may be written, in a folder that may not


def _new_file(path):
    """(handle, name) of a file that wasn't there, with the permissions of any new file."""
    folder, name = os.path.split(path)
    part = os.path.join(folder, f"{name[:200]}.{secrets.token_hex(8)}.part")
    return os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0), 0o666), part
