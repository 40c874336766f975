"""Parameters and buffers: tensors that a module finds by assignment."""
from ..core.frontend import Parameter, Tensor  # noqa: F401
from ..ops import namespace as ops


class _BufferType(type(Tensor)):
    """A buffer is a plain tensor with a mark, so that operations on it take the plain path."""

    def __instancecheck__(cls, instance):
        return isinstance(instance, Tensor) and getattr(instance, "_is_buffer", False)


class Buffer(Tensor, metaclass=_BufferType):
    """A tensor that becomes one of a module's buffers when it is assigned to an attribute of it.

    Args:
        data: the tensor whose memory the buffer shares; an empty one by default.
        persistent: whether the buffer belongs to the module's ``state_dict``.
    """

    def __new__(cls, data=None, *, persistent=True):
        buffer = _data_of(cls, data).detach().requires_grad_(data is not None and data.requires_grad)
        buffer.persistent = persistent
        buffer._is_buffer = True
        return buffer


def _data_of(cls, data):
    if data is None:
        return ops.empty(0)
    if not isinstance(data, Tensor):
        raise TypeError(f"{cls.__name__}: data must be a Tensor or None, but got {type(data).__name__}")
    return data
