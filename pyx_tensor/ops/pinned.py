"""Pinned memory of the host, which devices read and write on their own, and the memory of CUDA devices that others made."""
from ..core.definitions import methods
from ..core.device import make_device
from ..core.registry import get_backend, registered_backends
from ..core.tensor import TensorBase, wrap

DLPACK_CUDA = (2, 13)      # DLPack's numbers for CUDA's own and its managed memory


def is_pinned(self, device=None):
    """True where the tensor lies in pinned memory."""
    return self.device.type == "cpu" and "cuda" in registered_backends() and get_backend("cuda").is_pinned(self.array)


def pinned(self, device=None):
    """The values in pinned memory, from which copies to CUDA devices need no help of the processor; the tensor itself if it lies there.

    Raises:
        RuntimeError: the tensor isn't on the cpu, or there is no CUDA device.
    """
    if self.device.type != "cpu":
        raise RuntimeError(f"cannot pin '{self.type()}' only dense CPU tensors can be pinned")
    if is_pinned(self):
        return self
    memory = get_backend("cuda").pinned_empty(tuple(self.shape), self.dtype.numpy)
    memory[...] = self.array
    return wrap(memory, make_device("cpu"))


def on_cuda_memory(owner):
    """A tensor on the memory of an object on a CUDA device that has `__cuda_array_interface__` or `__dlpack__`."""
    if isinstance(owner, TensorBase):
        return owner.detach()
    backend = get_backend("cuda")
    array = backend.same_memory(owner)
    return wrap(array, make_device("cuda", backend.index_of(array)))


methods.update(pin_memory=pinned, is_pinned=is_pinned)
