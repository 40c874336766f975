"""Files that are written whole or not at all."""
import os
import secrets
import stat
from contextlib import contextmanager, suppress


@contextmanager
def replacing(path):
    """A binary file to write to, which takes the place of `path` when the block ends without an exception.

    Until then, and after an exception or the end of the process, what was there stays as it was. What isn't an ordinary file (a pipe, a
    device), or is in a folder where nothing may be made, is written to as it is. RuntimeError where there is no such folder.
    """
    path = os.path.realpath(os.fspath(path))         # of a link: what it leads to
    folder, name = os.path.split(path)
    if not os.path.isdir(folder):
        raise RuntimeError(f"Parent directory {folder} does not exist.")
    present = os.stat(path) if os.path.exists(path) else None
    part = os.path.join(folder, f"{name[:200]}.{secrets.token_hex(8)}.part")
    handle = _beside(part, present)
    if handle is None:
        with open(path, "wb") as file:
            yield file
        return
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            if not os.path.exists(part):
                os.link(_open_file(handle), part, src_dir_fd=handle, follow_symlinks=True)       # with src_dir_fd Python follows
        if present is not None:
            os.chmod(part, stat.S_IMODE(present.st_mode))
        os.replace(part, path)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(part)
        raise


def _beside(part, present):
    """The handle of a new file that is, or can be, called `part`; None where the present file itself has to be written to."""
    if present is not None and not stat.S_ISREG(present.st_mode):
        return None
    try:
        return _new_file(part)
    except PermissionError:
        if present is None:
            raise
        return None                     # a file that may be written, in a folder that may not


def _new_file(part):
    """The handle of a new file, with the permissions of any. Where the system can, it has no name yet: such a file goes with its process."""
    if hasattr(os, "O_TMPFILE"):
        with suppress(OSError):         # not on every file system
            handle = os.open(os.path.dirname(part), os.O_TMPFILE | os.O_WRONLY, 0o666)
            if os.path.exists(_open_file(handle)):
                return handle
            os.close(handle)
    return os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0), 0o666)


def _open_file(handle):
    """The name under which Linux has an open file that has no other."""
    return f"/proc/self/fd/{handle}"
