"""Copies of tensors by `copy.deepcopy` and by pickles. Tensors that share memory share it among the copies too."""
import copyreg

import numpy as np

from .dtype import by_name
from .record import namespace as B
from .storage import Storage


def whole_memory(tensor):
    """A 1-d tensor of the same dtype over all of a tensor's memory, outside of the graph."""
    flat = tensor.detach()
    return B.as_strided(flat, (flat._storage.nbytes // flat.element_size(),), (1,), 0).detach()


def retyped(flat, dtype):
    """A 1-d tensor's memory as elements of another dtype; bytes at the end that make no element are left out."""
    if flat.dtype is dtype:
        return flat
    data = flat if flat.dtype.itemsize == 1 else flat.view(by_name["uint8"])
    return data[:data.numel() // dtype.itemsize * dtype.itemsize].view(dtype).detach()


def shares_memory(tensor):
    """Whether a tensor's backend has views of memory, so that a copy of the memory serves all tensors on it."""
    return tensor.device.backend.strided and tensor.device.backend.views


def placed(flat, tensor):
    """What `tensor` is in its own memory, in the memory of `flat`."""
    flat = retyped(flat, tensor.dtype)
    return B.as_strided(flat, tuple(tensor.shape), tensor.stride(), tensor.storage_offset()).detach()


def deep_copied(tensor, memo):
    """The values in memory of their own, which copies made with the same memo share as the originals do."""
    if not shares_memory(tensor):
        return B.clone(tensor.detach())
    memory = tensor._storage
    if id(memory) not in memo:
        memo[id(memory)] = whole_memory(tensor).clone()
    return placed(memo[id(memory)], tensor)


def reduced(tensor):
    """(function, arguments) that make the tensor again: what `__reduce_ex__` gives."""
    if not shares_memory(tensor):
        array = tensor.device.backend.to_numpy(tensor.array)
        return rebuild, (_class_name(type(tensor)), np.ascontiguousarray(array).tobytes(), tensor.dtype.name, tuple(tensor.shape), tensor.requires_grad,
                         tensor.device, tensor.__dict__)
    return rebuild_view, (_class_name(type(tensor)), tensor._storage, tensor.dtype.name, tuple(tensor.shape), tensor.stride(), tensor.storage_offset(),
                          tensor.requires_grad, tensor.__dict__)


def _class_name(cls):
    """A class as pickles have it: our own by a word, since they may be known as PyTorch's (pyx_tensor.alias)."""
    from . import frontend
    return cls.__name__ if cls in (frontend.Tensor, frontend.Parameter) else cls


def _reduced_memory(memory):
    """A Storage travels as bytes under its dtype's name, so that bfloat16 needs nothing from NumPy."""
    flat = whole_memory(memory.tensors[0])
    array = np.ascontiguousarray(flat.device.backend.to_numpy(flat.array))
    return rebuild_memory, (array.tobytes(), flat.dtype.name, memory.device)


copyreg.pickle(Storage, _reduced_memory)


# --- named in pickles: these keep their names and arguments -------------------------------------------------------
def rebuild_memory(data, dtype_name, device):
    """Memory as a 1-d tensor."""
    return B.from_numpy(np.frombuffer(bytearray(data), by_name[dtype_name].numpy)).to(device)


def rebuild_view(cls, memory, dtype_name, shape, stride, offset, requires_grad, attributes):
    """A tensor on memory: a 1-d tensor that was read, or, for `copy.copy`, the Storage itself."""
    flat = whole_memory(memory.tensors[0]) if isinstance(memory, Storage) else memory
    view = B.as_strided(retyped(flat, by_name[dtype_name]), shape, stride, offset).detach()
    return _finished(cls, view, requires_grad, attributes)


def rebuild(cls, data, dtype_name, shape, requires_grad, device, attributes):
    """A tensor from its values in row-major order: of backends without views, and in pickles of release 0.1.0."""
    array = np.frombuffer(bytearray(data), dtype=by_name[dtype_name].numpy).reshape(shape)
    return _finished(cls, B.from_numpy(array).to(device), requires_grad, attributes)


def _finished(cls, tensor, requires_grad, attributes):
    from . import frontend
    cls = getattr(frontend, cls) if cls in ("Tensor", "Parameter") else cls
    result = cls.__new__(cls)
    result._adopt(tensor)
    result.requires_grad = requires_grad
    result.__dict__.update(attributes)
    return result
