"""Parameters and buffers: tensors that a module finds by assignment."""
from collections import OrderedDict

from ..core import Tensor
from .. import ops


class Parameter(Tensor):
    """A tensor that becomes one of a module's parameters when it is assigned to an attribute of it.

    Args:
        data: the tensor whose memory the parameter shares; an empty one by default.
        requires_grad: whether gradients are recorded, also for a parameter made under ``no_grad``.

    >>> nn.Parameter(torch.zeros(2))
    Parameter containing:
    tensor([0., 0.], requires_grad=True)
    """

    def __new__(cls, data=None, requires_grad=True):
        return Tensor._make_subclass(cls, _data_of(cls, data), requires_grad)

    def __deepcopy__(self, memo):
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.detach().clone(), self.requires_grad)
        return memo[id(self)]

    def __repr__(self):
        return "Parameter containing:\n" + super().__repr__()

    def __reduce_ex__(self, protocol):
        return _rebuild_parameter, (self.data, self.requires_grad, OrderedDict())


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


def _rebuild_parameter(data, requires_grad, backward_hooks):
    parameter = Parameter(data, requires_grad)
    parameter._backward_hooks = backward_hooks
    return parameter
