"""Writing to a tensor's memory, and moving it."""
from ..core.copying import resize
from ..core.definitions import methods, op
from ..core.memory_format import strides_in
from ..core.operands import check_scalar
from ..core.record import namespace as B
from ..core.signature import Raw, T
from ..core.tensor import TensorBase
from ..core.writing import copy_method, fill_method


@op(hidden=True, inplace=True, grad_name=lambda *_: "CopyBackwards", vjp=dict(input=lambda B, g: B.zeros_like(g), src=lambda B, g: g))
def _assign(B, input: T, src: T):
    """`src`, broadcast to the shape of `input`."""
    return B.expand(src, tuple(input.shape))


def _copy_(self, src, non_blocking):
    if isinstance(src, (int, float, complex)):
        return fill_(self, src)
    if not isinstance(src, TensorBase):
        raise TypeError(f"copy_(): argument 'other' must be Tensor, not {type(src).__name__}")
    return B._assign_(self, B._to(src, self.dtype, self.device, False, bool(non_blocking)))


copy_ = copy_method(_copy_)
copy_.__doc__ = """Write the values of `src` (any dtype and device, broadcast) into this tensor's memory, and return it.

Args:
    non_blocking: a copy from pinned memory to a CUDA device needn't be waited for.

Raises:
    RuntimeError: the shapes don't broadcast, or this tensor's memory overlaps itself.
"""


@op(hidden=True, inplace=True, grad_name="Fill", vjp=dict(input=lambda B, g: B.zeros_like(g), value=lambda B, g: B.sum(g)))
def _filled(B, input: T, value: Raw):
    """`value` in the shape of `input`."""
    return B.expand(value, tuple(input.shape))


def _fill_(self, value):
    if not isinstance(value, TensorBase):
        check_scalar("fill_", "value", value, self.dtype)
        value = B.full((), value, dtype=self.dtype, device=self.device)
    if value.ndim:
        raise RuntimeError(f"fill_ only supports 0-dimension value tensor but got tensor with {value.ndim} dimensions.")
    return B._filled_(self, B._to(value, self.dtype, self.device, False))


fill_ = fill_method(_fill_)
fill_.__doc__ = "Set every element to a number or a 0-dim tensor; return the tensor."


def zero_(self):
    """Set every element to 0; return the tensor."""
    return fill_(self, 0)


def fill_diagonal_(self, fill_value, wrap=False):
    """Set the elements of the main diagonal; return the tensor."""
    if self.ndim < 2:
        raise RuntimeError("dimensions must larger than 1")
    if self.ndim > 2 and len(set(self.shape)) > 1:
        raise RuntimeError(f"fill_diagonal_(): all dimensions of input must be of equal length, got shape {list(self.shape)}")
    B.diagonal(self, 0, 0, 1).fill_(fill_value)
    return self


methods.update(copy_=copy_, fill_=fill_, zero_=zero_, fill_diagonal_=fill_diagonal_)
B._assign_.__name__, B._filled_.__name__ = "copy_", "fill_"      # as a `__torch_function__` sees them


@op()
def fill(B, input: T, value):
    """A copy of the tensor with every element `value`."""
    return B.clone(input).fill_(value)


# --- moving memory ------------------------------------------------------------------------------------------------
def resize_(self, *sizes, memory_format=None):
    """Change the shape in place; the memory grows where it must, and all tensors on it move along.

    Raises:
        RuntimeError: the tensor requires grad, or its memory belongs to somebody else (an ndarray, a buffer).
    """
    sizes = tuple(sizes[0]) if len(sizes) == 1 and not isinstance(sizes[0], int) else sizes
    if any(size < 0 for size in sizes):
        raise RuntimeError(f"Trying to create tensor with negative dimension in {list(sizes)}")
    if self.requires_grad:
        raise RuntimeError("cannot resize variables that require grad")
    if tuple(self.shape) != sizes:
        resize(self, sizes)
    if memory_format is not None:
        self._adopt(B.as_strided(self.detach(), sizes, strides_in(sizes, memory_format), self.storage_offset()))
    return self


def resize_as_(self, other):
    """Change the shape in place to that of another tensor."""
    return resize_(self, tuple(other.shape))


def set_(self, source=None, storage_offset=0, size=None, stride=None):
    """Become a tensor on the memory of `source`, at an offset and with sizes and strides if given."""
    if self.requires_grad:
        raise RuntimeError("set_: a tensor that requires grad can't be moved to other memory")
    if source is None:
        source = B.empty((0,), dtype=self.dtype, device=self.device)
    if not isinstance(source, TensorBase) and not hasattr(source, "_as_tensor"):
        raise TypeError(f"set_(): argument 'source' must be Tensor or Storage, not {type(source).__name__}")
    if not isinstance(source, TensorBase):
        source = source._as_tensor(self.dtype)
    if source.dtype is not self.dtype:
        raise RuntimeError(f"Could not set tensor of type {source.dtype} to a tensor of type {self.dtype}")
    if size is not None:
        steps = stride
        if steps is None:
            steps, step = [], 1
            for n in reversed(size):
                steps.insert(0, step)
                step *= max(n, 1)
        source = B.as_strided(source.detach(), tuple(size), tuple(steps), storage_offset)
    self._adopt(source.detach())
    return self


methods.update(resize_=resize_, resize_as_=resize_as_, set_=set_)
