"""Where shared memory comes from: new segments, those that other processes made, and small tensors in one of them.

Two strategies make a segment. `file_descriptor`: an anonymous file, whose descriptor is handed from process to process; the
system frees it with its last user, however that one ends. `file_system`: a named one, found by its name without any descriptor
left open; what a crash leaves behind is removed by Python's resource tracker when the processes have ended.
Descriptors are scarce: beyond a quarter of a process's limit new segments are named ones, and received ones aren't kept open.
"""
import errno
import importlib.util
import itertools
import os
import secrets
import weakref

import numpy as np

from . import shared_memory
from .copying import move
from .dtype import by_name
from .protocol import OutOfMemoryError
from .shared_memory import Segment

STRATEGIES = ("file_descriptor", "file_system")
FOLDER = "/dev/shm"            # where named segments can be seen, on Linux
ALIGNMENT = 64
SMALL = 1 << 14                # bytes of the largest storage that shares a segment with others,
ARENA = 1 << 20                # and of such a segment: one descriptor does for all of them
CHUNK = 1 << 30                # bytes that one system call writes at most
SUPPORTED = importlib.util.find_spec("_posixshmem") is not None      # elsewhere tensors are sent by copying

_strategy = "file_descriptor" if hasattr(os, "memfd_create") else "file_system"
_segments = weakref.WeakValueDictionary()     # key -> Segment: each is mapped once in a process
_storages = weakref.WeakValueDictionary()     # (key, offset) -> Storage: tensors that come back find the others
_arena = None                                 # (segment, iterator of free offsets) for small storages
_serial = itertools.count()


def get_strategy():
    return _strategy


def set_strategy(strategy):
    global _strategy, _arena
    if strategy == "file_system":
        _tracker().ensure_running()       # before processes are forked: they all tell the same one
    _strategy, _arena = strategy, None


# --- segments --------------------------------------------------------------------------------------------------------
def key_of(segment):
    """What a segment is found by in this process."""
    if segment.name is not None:
        return segment.name
    status = os.fstat(segment.fd) if segment.fd >= 0 else None
    return None if status is None else (status.st_dev, status.st_ino)


def _descriptor_limit():
    import resource
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return soft // 4 if soft != resource.RLIM_INFINITY else 1 << 20


def is_scarce(fd):
    """True where a quarter of the descriptors is used (one more each may wait in the server); the system gives out the lowest free one."""
    return fd > _descriptor_limit()


def _space(name):
    """How much a full place for shared memory holds, for an error's text."""
    if name is None or not os.path.isdir(FOLDER):
        return ""
    mount = os.statvfs(FOLDER)
    return f": {FOLDER} has {mount.f_bavail * mount.f_frsize} bytes free of {mount.f_blocks * mount.f_frsize}"


def _fill(fd, size, name, source):
    """Give a new file all its memory now (never a bus error later), with the bytes of `source` or zeros. False where they aren't there yet."""
    header = shared_memory.HEADER if name is not None else 0
    try:
        if not hasattr(os, "posix_fallocate"):
            os.ftruncate(fd, header + size)
            return False
        if source is None:
            os.posix_fallocate(fd, 0, header + size)
            return True
        if header:
            os.pwrite(fd, bytes(header), 0)
        written = 0
        while written < source.nbytes:
            written += os.pwrite(fd, source[written:written + CHUNK], header + written)
        if source.nbytes < size:
            os.posix_fallocate(fd, header, size)
        return True
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EFBIG, errno.ENOMEM):
            raise
        raise OutOfMemoryError(f"can't allocate {size} bytes of shared memory ({os.strerror(error.errno)}){_space(name)}") from None


def _open_new(strategy):
    """(descriptor, name or None) of a new empty file."""
    if strategy == "file_descriptor":
        fd = os.memfd_create("pyx_tensor", os.MFD_CLOEXEC) if hasattr(os, "memfd_create") else _unnamed()
        if not is_scarce(fd) or not _can_track():
            return fd, None
        os.close(fd)
    name = f"/pyx_tensor_{os.getpid()}_{next(_serial)}_{secrets.token_hex(2)}"      # macOS takes 31 characters
    fd = _posixshmem().shm_open(name, os.O_CREAT | os.O_EXCL | os.O_RDWR, mode=0o600)
    _tracker().register(name, "shared_memory")
    return fd, name


def _unnamed():
    """A file of shared memory that has lost its name already, where the system knows no anonymous ones."""
    name = f"/pyx_tensor_{os.getpid()}_{secrets.token_hex(4)}"
    fd = _posixshmem().shm_open(name, os.O_CREAT | os.O_EXCL | os.O_RDWR, mode=0o600)
    _posixshmem().shm_unlink(name)
    return fd


def _posixshmem():
    try:
        import _posixshmem
    except ImportError:
        raise NotImplementedError("tensors in shared memory need POSIX shared memory, which this system lacks") from None
    return _posixshmem


def _tracker():
    from multiprocessing import resource_tracker
    return resource_tracker


def _can_track():
    """False in a forked process whose parent had no resource tracker: one of its own would end, and clean up, too early."""
    from multiprocessing import parent_process
    return parent_process() is None or getattr(_tracker()._resource_tracker, "_fd", None) is not None


def new_segment(size, source=None):
    """A segment of `size` bytes, zeros or beginning with the bytes of `source` (a memoryview).

    Raises OutOfMemoryError, with the sizes, where the memory doesn't suffice.
    """
    fd, name = _open_new(_strategy)
    try:
        filled = _fill(fd, size, name, source)
        segment = Segment(fd, size, name, name is None)
        if source is not None and not filled:
            segment.array(by_name["uint8"], 0, source.nbytes)[:] = source
    except BaseException:
        os.close(fd)
        if name is not None:
            _unlink(name)
        raise
    if name is not None:
        os.close(fd)
        segment.count(1)
        _release_at_exit()
    _segments[key_of(segment)] = segment
    return segment


def open_descriptor(fd, size):
    """The segment of a descriptor that another process handed over."""
    status = os.fstat(fd)
    key = status.st_dev, status.st_ino
    segment = _segments.get(key)
    if segment is not None:
        if fd != segment.fd:              # a spawned process inherits one descriptor for all tensors on a segment
            os.close(fd)
        return segment, key
    keep = not is_scarce(fd)
    try:
        segment = Segment(fd, size, None, keep)
    except BaseException:
        os.close(fd)
        raise
    if not keep:
        os.close(fd)
    _segments[key] = segment
    return segment, key


def open_name(name, size):
    """The segment of a name that another process sent; the user that the sender counted in for it is this one."""
    segment = _segments.get(name)
    if segment is not None:
        segment.count(-1)
        return segment, name
    fd = _posixshmem().shm_open(name, os.O_RDWR, mode=0o600)
    try:
        segment = Segment(fd, size, name, False)
    finally:
        os.close(fd)
    _release_at_exit()
    _segments[name] = segment
    return segment, name


def _unlink(name):
    """Remove the name of a segment that nobody uses any more."""
    try:
        _posixshmem().shm_unlink(name)
    except FileNotFoundError:
        return
    _tracker().unregister(name, "shared_memory")


shared_memory.set_unlink(_unlink)


# --- processes that fork and end ---------------------------------------------------------------------------------------
_watched = None         # the process that lets go of its named segments at its end


def _release_at_exit():
    """Processes of `multiprocessing` end without freeing their objects: let go of named segments before."""
    if _watched is None:
        from multiprocessing import util
        util.register_after_fork(_segments, _watch)       # a new process forgets what is to be done at the end
    if _watched != os.getpid():
        _watch(_segments)


def _watch(_):
    global _watched
    from multiprocessing import util
    util.Finalize(None, _release_all, exitpriority=-100)
    _watched = os.getpid()


def _release_all():
    for segment in list(_segments.values()):
        segment.release()


def _after_fork():
    """In the child: it uses the named segments too, and must not hand out the same small pieces as its parent."""
    global _arena
    _arena = None
    for segment in list(_segments.values()):
        if segment.name is not None:
            segment.count(1)
            _release_at_exit()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


# --- storages ----------------------------------------------------------------------------------------------------------
def segment_of(storage):
    """The segment that a storage lies in, or None."""
    base = storage.array.base if isinstance(storage.array, np.ndarray) else None
    return base if isinstance(base, Segment) else None


def offset_in(segment, storage):
    """Bytes from the beginning of a segment to a storage in it."""
    return storage.data_ptr() - segment.address()


def _piece_of_arena(nbytes):
    """(segment, offset) for a small storage."""
    global _arena
    step = max(-(-nbytes // ALIGNMENT), 1) * ALIGNMENT
    if _arena is None or _arena[1] + step > ARENA:
        _arena = (new_segment(ARENA), 0)
    segment, offset = _arena
    _arena = (segment, offset + step)
    return segment, offset


def allocate(nbytes, dtype):
    """An uninitialised row of `nbytes` bytes of a dtype in shared memory, as an ndarray."""
    segment, offset = _piece_of_arena(nbytes) if nbytes <= SMALL else (new_segment(nbytes), 0)
    return segment.array(dtype, offset, nbytes)


def _bytes(storage):
    """The memory of a storage as bytes, the gaps of a strided array from outside included."""
    array = storage.array
    row = np.lib.stride_tricks.as_strided(array, (storage.nbytes // array.itemsize,), (array.itemsize,))
    return row.view(np.uint8)


def share(storage):
    """Move a storage of the host, with all its tensors, to shared memory, unless it is there. Returns the storage then."""
    if segment_of(storage) is not None:
        return storage
    if storage.nbytes > SMALL:
        root = new_segment(storage.nbytes, memoryview(_bytes(storage))).array(storage.dtype, 0, storage.nbytes)
    else:
        root = allocate(storage.nbytes, storage.dtype)
        if storage.nbytes:
            root.view(np.uint8)[:] = _bytes(storage)
    return remember(move(storage, root))


def remember(storage):
    """Let a storage in shared memory be found when a handle to it comes back."""
    segment = segment_of(storage)
    key = key_of(segment)
    if key is not None:
        _storages[key, offset_in(segment, storage)] = storage
    return storage


def known_storage(key, offset):
    """The storage of this process at an offset of a segment, or None."""
    return _storages.get((key, offset))


def add_storage(key, offset, storage):
    _storages[key, offset] = storage
