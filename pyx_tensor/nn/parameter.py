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


_UNINITIALIZED = ("Attempted to use an uninitialized parameter in {}. This error happens when you are using a `LazyModule` or explicitly "
                  "manipulating `torch.nn.parameter.{}` objects. When using LazyModules Call `forward` with a dummy batch to initialize the "
                  "parameters before calling torch functions")


class _Uninitialized:
    """A tensor whose shape isn't known yet: it can be moved and cast, and nothing else, until it is materialized."""

    _allowed = ("_to", "_convert", "alias")
    attributes_ask = False

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        name = getattr(func, "__name__", str(func))
        if name in cls._allowed:
            return Parameter.__torch_function__(func, types, args, kwargs)
        raise ValueError(_UNINITIALIZED.format(name, cls.__name__))

    @property
    def shape(self):
        raise RuntimeError("Can't access the shape of an uninitialized parameter or buffer. This error usually happens in `load_state_dict` when "
                           "trying to load an uninitialized parameter into an initialized one. Call `forward` to initialize the parameters before "
                           "accessing their attributes.")

    def materialize(self, shape, device=None, dtype=None):
        """Become a tensor of this shape, with the dtype and device that it has unless told otherwise; the values are undefined."""
        device, dtype = self.device if device is None else device, self.dtype if dtype is None else dtype
        self.__class__ = self.cls_to_become
        self.data = ops.empty(tuple(shape), device=device, dtype=dtype)

    def detach(self):
        """The tensor itself: it has neither values nor a graph."""
        return self

    def share_memory_(self):
        raise RuntimeError("Can't share memory on an uninitialized parameter or buffer. Call `forward` to initialize the parameters before calling "
                           "`module.share_memory()`.")

    def __repr__(self):
        return f"<{type(self).__name__}>"

    def __reduce_ex__(self, protocol):
        return type(self), (self.requires_grad,)

    def __deepcopy__(self, memo):
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.requires_grad, self.device, self.dtype)
        return memo[id(self)]


class UninitializedParameter(_Uninitialized, Parameter):
    """A parameter whose shape follows from the first input; see the lazy modules.

    Args:
        requires_grad, device, dtype: those of the parameter that it becomes.
    """

    cls_to_become = Parameter

    def __init__(self, requires_grad=True, device=None, dtype=None):
        Parameter.__init__(self, ops.empty(0, device=device, dtype=dtype), requires_grad)


class UninitializedBuffer(_Uninitialized, Tensor):
    """A buffer whose shape follows from the first input; see the lazy modules."""

    cls_to_become = Tensor

    def __init__(self, requires_grad=False, device=None, dtype=None, persistent=True):
        self._adopt(ops.empty(0, device=device, dtype=dtype))
        self.requires_grad = requires_grad
        self.persistent, self._is_buffer = persistent, True


def is_lazy(tensor):
    """Whether a parameter or buffer has no shape yet."""
    return isinstance(tensor, _Uninitialized)
