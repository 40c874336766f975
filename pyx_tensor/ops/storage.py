"""The memory of a tensor as an object: `x.storage()`, with the tensor's dtype, and `x.untyped_storage()`, in bytes.

Both are thin: the memory itself is `core.tensor.Storage`, shared by all views of a tensor.
"""
import numpy as np

from ..core.definitions import methods, publish_function
from ..core.dtype import by_name
from ..core.record import namespace as B


class _StorageBase:
    """Elements in one row, over the whole memory of a tensor and its views."""

    def __init__(self, tensor):
        flat = tensor.detach()
        self._flat = B.as_strided(flat, (flat._storage.nbytes // flat.element_size(),), (1,), 0)

    @property
    def _memory(self):
        return self._flat._storage

    def __len__(self):
        return self._flat.numel()

    def size(self):
        """The number of elements."""
        return len(self)

    def nbytes(self):
        """The number of bytes."""
        return self._memory.nbytes

    def data_ptr(self):
        """The address of the first byte."""
        return self._memory.data_ptr()

    def element_size(self):
        """Bytes per element."""
        return self._flat.element_size()

    @property
    def device(self):
        return self._flat.device

    @property
    def is_cuda(self):
        return self._flat.is_cuda

    def __getitem__(self, index):
        if isinstance(index, slice):
            return type(self)(self._flat[index].clone())
        return self._flat[index].item()

    def __setitem__(self, index, value):
        self._flat[index] = value

    def __iter__(self):
        return iter(self.tolist())

    def tolist(self):
        """The elements as Python numbers."""
        return self._flat.tolist()

    def fill_(self, value):
        """Set every element; return the storage."""
        self._flat.fill_(value)
        return self

    def copy_(self, source, non_blocking=False):
        """Write the elements of another storage of the same size; return this one."""
        if len(source) != len(self):
            raise RuntimeError(f"size mismatch: a storage of {len(self)} elements can't take {len(source)}")
        self._flat.copy_(source._flat)
        return self

    def clone(self):
        """A copy, in memory of its own."""
        return type(self)(self._flat.clone())

    def is_shared(self):
        """True where the memory is shared with other processes (see `Tensor.share_memory_`)."""
        return self._flat.is_shared()

    def share_memory_(self):
        """Move the memory, with all tensors on it, to shared memory; return the storage."""
        share_memory_(self._flat)
        return self

    def cpu(self):
        """This storage, or a copy of it on the cpu."""
        return self if self.device.type == "cpu" else type(self)(self._flat.cpu())

    def _as_tensor(self, dtype):
        """A tensor of a dtype on the whole memory, for `Tensor.set_`."""
        return self._flat if dtype is self._flat.dtype else self._flat.view(dtype)

    def __str__(self):
        lines = [f" {value}" for value in self.tolist()]
        return "\n".join([*lines, repr(self)])


class UntypedStorage(_StorageBase):
    """The memory of a tensor as bytes. Two are equal where they are the same memory."""

    def __init__(self, tensor):
        super().__init__(tensor)
        self._flat = self._flat.view(by_name["uint8"])

    def __eq__(self, other):
        return self._memory is other._memory if isinstance(other, UntypedStorage) else NotImplemented

    def __hash__(self):
        return hash(id(self._memory))

    def __repr__(self):
        return f"[torch.storage.UntypedStorage(device={self.device}) of size {len(self)}]"


class TypedStorage(_StorageBase):
    """The memory of a tensor as elements of its dtype."""

    @property
    def dtype(self):
        return self._flat.dtype

    def untyped(self):
        """The same memory as bytes."""
        return UntypedStorage(self._flat)

    def __repr__(self):
        return f"[torch.storage.TypedStorage(dtype={self.dtype}, device={self.device}) of size {len(self)}]"


def storage(self):
    """The tensor's memory, which its views share, as a row of elements.

    >>> import pyx_tensor as torch
    >>> x = torch.tensor([1, 2, 3])
    >>> x[1:].storage().tolist(), x[1:].storage_offset()
    ([1, 2, 3], 1)
    """
    return TypedStorage(self)


def untyped_storage(self):
    """The tensor's memory, which its views share, as bytes."""
    return UntypedStorage(self)


def _sharing():
    from ..core import sharing      # most programs never need it
    return sharing


def _is_shareable(tensor):
    """True for memory of the host; a device's is as shared as it can be."""
    return isinstance(tensor.array, np.ndarray)


def is_shared(self):
    """True where the tensor's memory is shared with other processes; always True on a device with memory of its own."""
    return not _is_shareable(self) or _sharing().segment_of(self._storage) is not None


def share_memory_(self):
    """Move the tensor's memory, with all tensors on it, to memory that other processes can map; return the tensor.

    A second call changes nothing. Memory that is shared can't be resized. Raises OutOfMemoryError, with the sizes, where the
    system has too little.

    >>> import pyx_tensor as torch
    >>> x = torch.ones(3)
    >>> view = x[1:]
    >>> x.share_memory_().is_shared(), view.is_shared()
    (True, True)
    """
    if _is_shareable(self):
        _sharing().share(self._storage)
    return self


methods.update(storage=storage, untyped_storage=untyped_storage, is_shared=is_shared, share_memory_=share_memory_)


@publish_function
def is_storage(obj):
    """True for the storage of a tensor, False for anything else."""
    return isinstance(obj, _StorageBase)
