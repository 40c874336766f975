"""How tensors and storages are pickled for another process: as handles to shared memory."""
import math
import operator
import threading
from contextlib import contextmanager
from multiprocessing import reduction
from multiprocessing.context import get_spawning_popen
from multiprocessing.reduction import ForkingPickler

import numpy as np

from ..core import sharing
from ..core.copying import on_storage
from ..core.device import make_device
from ..core.frontend import Parameter, Tensor
from ..core.tensor import wrap

LOADER_THRESHOLD = 1 << 16     # bytes of memory from which a handle is sooner there than a copy, between a loader and its processes

_threshold = 0                 # the same for all else, which the user chooses


def get_sharing_threshold():
    """Bytes of memory from which tensors are sent by handle; smaller ones are copied into the message."""
    return _threshold


def set_sharing_threshold(nbytes):
    """Send what lies on less memory by value from now on: sooner there than a handle, but writes don't show on the other side.

    It holds for what this process puts in queues and pipes, gives to processes and returns from pools, and for the processes that
    it forks later. What is shared already is sent by handle at any size. On Linux a copy of 64 kB was there 5 times as soon as a
    handle, one of 256 kB 1.5 times, one of 1 MB took 3 times as long.

    Args:
        nbytes: a number of bytes, at least 0; 0, the default, lets all tensors go by handle, as PyTorch's do.

    >>> import pyx_tensor as torch
    >>> torch.multiprocessing.set_sharing_threshold(1 << 16)
    >>> queue, x = torch.multiprocessing.SimpleQueue(), torch.zeros(2)
    >>> queue.put(x)
    >>> queue.get().fill_(7)
    tensor([7., 7.])
    >>> x, x.is_shared()
    (tensor([0., 0.]), False)
    >>> torch.multiprocessing.set_sharing_threshold(0)
    """
    global _threshold
    nbytes = operator.index(nbytes)
    if nbytes < 0:
        raise ValueError(f"set_sharing_threshold(): expected nbytes of at least 0, got {nbytes}")
    _threshold = nbytes


def init_reductions():
    """Let the pickler of queues, pipes and process arguments send tensors, and storages as tensors, by handle."""
    for kind in (Tensor, Parameter):
        ForkingPickler.register(kind, reduce_tensor)


_received = threading.local()


@contextmanager
def received(descriptors):
    """Within it, this thread unpickles tensors whose descriptors came beside the pickle."""
    _received.descriptors = descriptors
    try:
        yield
    finally:
        _received.descriptors = None


def _is_small(tensor, threshold):
    """True for a tensor on less memory that isn't shared yet."""
    return tensor._storage.nbytes < threshold and sharing.segment_of(tensor._storage) is None


def reduce_tensor(tensor, descriptors=None):
    """What a tensor is pickled as for another process: its storage's handle and its place there, and its gradient.

    The descriptor is appended to `descriptors`, if given, and the handle holds its place there: the message is for one
    reader, and its sender keeps nothing, so that small tensors go by value. Else the handle is good for whoever unpickles it,
    and what is small is for the user to say. Raises RuntimeError for a tensor in the graph, which can't cross to another process.
    """
    if tensor.requires_grad and not tensor.is_leaf:
        raise RuntimeError("can't send a tensor that requires grad and isn't a leaf to another process, which can't continue its graph: "
                           "send tensor.detach()")
    on_host = isinstance(tensor.array, np.ndarray)
    threshold = _threshold if descriptors is None else LOADER_THRESHOLD
    if not on_host or not sharing.SUPPORTED or _is_small(tensor, threshold):
        make, args = tensor.__reduce_ex__(2)
        return (make, args) if tensor.grad is None else (_with_gradient, (make, args, tensor.grad))
    tensor.share_memory_()
    if tensor.grad is not None:
        tensor.grad.share_memory_()           # a small one too goes by handle, with its tensor
    state = dict(tensor.__dict__)
    return rebuild_tensor, (type(tensor), _handle(tensor._storage, descriptors), str(tensor.device), tensor.dtype, tensor.storage_offset(),
                            tuple(tensor.shape), tensor.stride(), tensor.requires_grad, tensor.grad, state)


def _with_gradient(make, args, grad):
    """A tensor by value, and its gradient."""
    result = make(*args)
    result.grad = grad
    return result


def rebuild_tensor(cls, handle, device, dtype, offset, shape, strides, requires_grad, grad, state):
    """The tensor that `reduce_tensor` wrote down, on the same memory."""
    found = on_storage(_open(handle, make_device(device)), dtype, shape, strides, offset)
    result = found
    if cls is not Tensor:
        result = cls.__new__(cls)
        result._adopt(found)
    if requires_grad:
        result.requires_grad = True
    if grad is not None:
        result.grad = grad
    if state:
        result.__dict__.update(state)
    return result


def _handle(storage, descriptors):
    """(how to open the segment, its size, offset, bytes and dtype of the storage), for the other process."""
    segment = sharing.segment_of(storage)
    if segment.name is not None:
        segment.count(1)                      # for the receiver
        opener = segment.name
    elif segment.fd >= 0 and descriptors is not None:
        opener = len(descriptors)
        descriptors.append(segment.fd)
    elif segment.fd >= 0:
        opener = _duplicated(segment.fd)
    else:
        raise RuntimeError("this tensor came from another process when a quarter of the descriptors that the system allows this one was in "
                           "use, so its own wasn't kept and it can't be sent on: send a clone, raise the limit (ulimit -n), or "
                           "choose set_sharing_strategy('file_system')")
    return opener, segment.size, sharing.offset_in(segment, storage), storage.nbytes, storage.dtype


def _duplicated(fd):
    """What stands for a descriptor in a pickle, and opens it with `detach`."""
    popen = get_spawning_popen()
    if popen is not None and popen.method == "spawn" and fd in popen._fds:       # inherited under its number, once
        return popen.DupFd(fd)
    return reduction.DupFd(fd)


def _segment(opener, size):
    """(segment, key) of what stands for it in a handle."""
    if isinstance(opener, str):
        return sharing.open_name(opener, size)
    return sharing.open_descriptor(_received.descriptors[opener] if isinstance(opener, int) else opener.detach(), size)


def _open(handle, device):
    """The storage of a handle; the one that this process knows already, if it does."""
    opener, size, offset, nbytes, dtype = handle
    try:
        segment, key = _segment(opener, size)
    except (ConnectionError, FileNotFoundError) as error:
        raise RuntimeError("the process that sent this tensor has ended before it was received: keep senders alive (join them after "
                           f"taking what they sent), or send clones by value, as tensor.numpy() ({error})") from error
    storage = sharing.known_storage(key, offset)
    if storage is None:
        storage = wrap(segment.array(dtype, offset, nbytes), device)._storage
        sharing.add_storage(key, offset, storage)
    return storage


def new_shared(shape, dtype):
    """An uninitialised tensor of the host in shared memory."""
    count = math.prod(shape)
    row = wrap(sharing.allocate(count * dtype.itemsize, dtype), make_device("cpu"))
    sharing.remember(row._storage)
    return row.view(tuple(shape))
