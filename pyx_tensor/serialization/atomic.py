"""Files that are written whole or not at all."""
import os
import stat
import tempfile
from contextlib import contextmanager


@contextmanager
def replacing(path):
    """A binary file to write to, which takes the place of `path` when the block ends without an exception.

    Until then, and after an exception, what was there stays as it was. What isn't an ordinary file (a pipe, a device) is
    written to as it is. RuntimeError where there is no such folder.
    """
    path = os.path.realpath(os.fspath(path))         # of a link: what it leads to
    folder = os.path.dirname(path)
    if not os.path.isdir(folder):
        raise RuntimeError(f"Parent directory {folder} does not exist.")
    present = os.stat(path) if os.path.exists(path) else None
    if present is not None and not stat.S_ISREG(present.st_mode):
        with open(path, "wb") as file:
            yield file
        return
    handle, part = tempfile.mkstemp(dir=folder, prefix=os.path.basename(path)[:200] + ".", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
        os.chmod(part, _usual_mode() if present is None else stat.S_IMODE(present.st_mode))
        os.replace(part, path)
    except BaseException:
        os.unlink(part)
        raise


def _usual_mode():
    """The permissions of a new file (mkstemp's are for the owner alone)."""
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
