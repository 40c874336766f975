"""The public classes `Tensor` and `Parameter`.

What a tensor can compute is attached by `pyx_tensor.ops` (one definition gives function and method) and by
`pyx_tensor.autograd`; here stands what makes it a Python object: conversion, printing, copying, NumPy's protocols.
"""
import numpy as np

from . import op as _op
from . import overrides, printing
from .device import make_device
from .dtype import DType, by_name, get_default_dtype
from .duplication import deep_copied, rebuild, reduced
from .functions import shown
from .memory_format import strided
from .mode import is_grad_enabled
from .record import namespace as B
from .record import tensor_node, type_name
from .tensor import TensorBase, register_classes


_BFLOAT16 = by_name["bfloat16"]
_CPU = make_device("cpu")


def _needs_detach(tensor):
    return RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")


class _TensorMeta(type):
    """Shows a class under PyTorch's name, which its `__module__` can't give: pickles would look for it there."""

    def __repr__(cls):
        shown = cls.__dict__.get("_torch_name")
        return super().__repr__() if shown is None else f"<class '{shown}'>"


class Tensor(TensorBase, metaclass=_TensorMeta):
    """A multi-dimensional array on a device that records what is computed from it.

    Make one with `tensor`, `zeros`, `from_numpy` and so on. `Tensor(2, 3)` is PyTorch's early constructor: an uninitialised
    tensor of that shape and the default dtype; `Tensor([1, 2])` copies data into the default dtype.
    """

    _torch_name = "torch.Tensor"

    def __init_subclass__(cls, **options):
        super().__init_subclass__(**options)
        overrides.let_attributes_ask(cls)

    def __init__(self, *args, dtype=None, device=None):
        if len(args) == 1 and isinstance(args[0], TensorBase):
            self._adopt(args[0])
        elif len(args) == 1 and not isinstance(args[0], int):
            data = args[0]
            if type(data).__name__ == "Size":
                self._adopt(B.empty(tuple(data), dtype=dtype, device=device))
            else:
                self._adopt(B.tensor(data, dtype=dtype or get_default_dtype(), device=device))
        else:
            for size in args:
                if not isinstance(size, int):
                    raise TypeError(f"new(): argument 'size' must be tuple of ints, but found element of type {type(size).__name__}")
            self._adopt(B.empty(args or (0,), dtype=dtype, device=device))

    # -- to Python and NumPy
    def numpy(self, *, force=False):
        """An ndarray of the same values, sharing memory on the cpu.

        Raises RuntimeError where the tensor requires grad and grad mode is on, TypeError where it is on another device
        (`force` detaches and copies).
        """
        source = self
        if self.requires_grad:
            if not force and is_grad_enabled():
                raise _needs_detach(self)
            source = self.detach()
        if not isinstance(source.array, np.ndarray) or self.device.type != "cpu":
            if not force:
                raise TypeError(f"can't convert {self.device} device type tensor to numpy. Use Tensor.cpu() to copy the tensor to "
                                "host memory first.")
            return source.device.backend.to_numpy(source.array)
        source._storage       # the memory is shared from now on: alias it, never hand it over
        return source.array.view()

    def _host_array(self):
        """The values as an ndarray, wherever the tensor is; not for writing."""
        return self.device.backend.to_numpy(self.array)

    def tolist(self):
        """The values as nested lists of Python numbers (a number for a 0-dim tensor)."""
        array = self.array if type(self.array) is np.ndarray else self._host_array()
        return (array.astype(np.float32) if self.dtype is _BFLOAT16 else array).tolist()

    def __iter__(self):
        if self.ndim == 0:
            raise TypeError("iteration over a 0-d tensor")
        return iter(B.unbind(self, 0))

    def __contains__(self, element):
        if isinstance(element, (TensorBase, int, float, complex)):
            return bool(B.any(B.eq(self, element)))
        raise RuntimeError(f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}.")

    def __reversed__(self):
        return B.flip(self, (0,)) if self.ndim else self

    def __array__(self, dtype=None, copy=None):
        array = self.numpy()
        if dtype is not None and array.dtype != dtype:
            if copy is False:
                raise ValueError(f"can't give a tensor of {self.dtype} as an array of {np.dtype(dtype)} without a copy")
            return array.astype(dtype)
        return array.copy() if copy else array

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        """Operators with an ndarray or NumPy's number are tensor operations; other ufuncs work on the values, and give tensors back."""
        name = _UFUNC_OPERATORS.get(ufunc.__name__)
        if method == "__call__" and name is not None and not kwargs and any(isinstance(x, (np.ndarray, np.generic)) for x in inputs):
            return B.__dict__[name](*[B.from_numpy(x) if isinstance(x, np.ndarray) else x for x in inputs])
        plain = [x.numpy() if isinstance(x, TensorBase) else x for x in inputs]
        if "out" in kwargs:
            out = kwargs["out"]
            getattr(ufunc, method)(*plain, **kwargs | {"out": tuple(x.numpy() if isinstance(x, TensorBase) else x for x in out)})
            return out[0] if len(out) == 1 else out
        result = getattr(ufunc, method)(*plain, **kwargs)
        wrap = lambda r: B.from_numpy(np.asarray(r)) if isinstance(r, (np.ndarray, np.generic)) else r
        return tuple(map(wrap, result)) if isinstance(result, tuple) else wrap(result)

    def __delitem__(self, index):
        raise TypeError("Tensor does not support deleting items")

    def __dlpack__(self, *, stream=None, **kwargs):
        if self.requires_grad:
            raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
        return self.array.__dlpack__(**kwargs) if stream is None else self.array.__dlpack__(stream=stream, **kwargs)

    @property
    def __cuda_array_interface__(self):
        """Where the memory lies, for other users of CUDA (version 3 of the interface); AttributeError on other devices."""
        if self.device.type != "cuda":
            raise AttributeError(f"Can't get __cuda_array_interface__ on non-CUDA tensor type: {self.type()}")
        if self.requires_grad:
            raise RuntimeError("Can't get __cuda_array_interface__ on Variable that requires grad. If gradients aren't required, use var.detach() to "
                               "get Variable that doesn't require grad.")
        return self.array.__cuda_array_interface__

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def __format__(self, spec):
        return format(self.item(), spec) if self.ndim == 0 else object.__format__(self, spec)

    def _source_name(self):
        """The name of `grad_fn`, to print; 'Invalid' for a view that lost its history by a write to its base."""
        try:
            node = self.grad_fn
        except RuntimeError:
            return "Invalid"
        return node.name() if node is not None else None

    def __repr__(self, *, tensor_contents=None):
        default = get_default_dtype()
        return printing.format_tensor(
            self._host_array(), dtype_name=self.dtype.name, is_default_dtype=self.dtype in (default, default.to_complex()),
            device=None if self.device.type == "cpu" else str(self.device), requires_grad=self.requires_grad,
            grad_fn_name=self._source_name(), tensor_contents=tensor_contents,
            prefix="tensor(" if type(self) in overrides.plain_types else f"{type(self).__name__}(")

    def __dir__(self):
        return sorted({*super().__dir__(), *type(self).__dict__})

    # -- copies
    def __deepcopy__(self, memo):
        if id(self) in memo:
            return memo[id(self)]
        if not self.is_leaf:
            raise RuntimeError("Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment.")
        from copy import deepcopy
        result = self._like(deep_copied(self, memo))
        result.requires_grad = self.requires_grad
        memo[id(self)] = result
        if self.grad is not None:
            result.grad = deepcopy(self.grad, memo)
        result.__dict__.update(deepcopy(self.__dict__, memo))
        return result

    def _like(self, tensor):
        """`tensor` as an object of this one's class."""
        if type(self) is Tensor:
            return tensor
        result = type(self).__new__(type(self))
        result._adopt(tensor)
        return result

    def __reduce_ex__(self, protocol):
        if not self.is_leaf:
            raise RuntimeError("only leaf tensors can be pickled: call detach() first")
        return reduced(self)

    @property
    def real(self):
        """The real part; the tensor itself where it is real."""
        return B.real(self)

    @property
    def imag(self):
        """The imaginary part of a complex tensor; RuntimeError for others."""
        if not self.dtype.is_complex:
            raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
        return B.imag(self)

    # -- autograd
    def requires_grad_(self, requires_grad=True):
        """Set `requires_grad` in place and return the tensor."""
        self.requires_grad = requires_grad
        return self

    @shown
    def detach(self):
        """The same memory outside of the graph; writes through it are noticed by the graph."""
        plain = self._detached()
        return plain if type(self) is Tensor or overrides.leaves_plain(type(self)) else self._like(plain)

    def detach_(self):
        """Leave the graph, in place."""
        if self._is_view():
            raise RuntimeError("Can't detach views in-place. Use detach() instead.")
        self._leave_graph()
        return self

    def retain_grad(self):
        """Keep the gradient of this non-leaf in `grad` too."""
        if not self.requires_grad:
            raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
        if not self.is_leaf:
            node, nr = tensor_node(self)
            node.retain(nr, self.grad_slot())

    @property
    def retains_grad(self):
        return not self.is_leaf and self.requires_grad and tensor_node(self)[0].retains(self.output_nr)

    def register_hook(self, hook):
        """Call `hook(grad)` whenever this tensor's gradient is computed; it may return another gradient.

        Returns a handle with `remove()`.
        """
        if not self.requires_grad:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        node, nr = tensor_node(self)
        return node.add_tensor_hook(nr, hook)

    def register_post_accumulate_grad_hook(self, hook):
        """Call `hook(leaf)` after this leaf's `grad` has been accumulated."""
        from .hooks import RemovableHandle
        if not self.requires_grad:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        if not self.is_leaf:
            raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
        node, _ = tensor_node(self)
        if node.accumulate_hooks is None:
            node.accumulate_hooks = {}
        return RemovableHandle(node.accumulate_hooks, hook)

    # -- type and place
    def type(self, dtype=None, non_blocking=False):
        """The type's name such as 'torch.FloatTensor', or this tensor as another type."""
        if dtype is None:
            return type_name(self.dtype) if self.device.type == "cpu" else type_name(self.dtype).replace("torch.", f"torch.{self.device.type}.")
        if isinstance(dtype, DType):
            return self.to(dtype)
        return B._as_named_type(self, dtype)

    def type_as(self, other):
        """This tensor as `other`'s dtype and device."""
        return self.to(other)

    def cpu(self, memory_format=None):
        """This tensor on the cpu."""
        return self.to(_CPU, memory_format=memory_format)

    def cuda(self, device=None, non_blocking=False, memory_format=None, **early):
        """This tensor on a CUDA device (the current one). `non_blocking` was `async` early on, a keyword of Python since: `cuda(**{"async": True})`."""
        if early:
            if set(early) != {"async"}:
                raise TypeError(f"cuda() got an unexpected keyword argument {next(iter(early))!r}")
            non_blocking = early["async"]
        device = make_device("cuda" if device is None else device) if not isinstance(device, int) else make_device("cuda", device)
        if device.type != "cuda":
            raise RuntimeError(f"Invalid device, must be cuda device: got {device}")
        return self.to(device, non_blocking=non_blocking, memory_format=memory_format)

    def is_floating_point(self):
        return self.dtype.is_floating_point

    def is_complex(self):
        return self.dtype.is_complex

    def is_signed(self):
        return self.dtype.is_signed

    def element_size(self):
        """Bytes per element."""
        return self.dtype.itemsize

    itemsize = property(element_size)

    @property
    def nbytes(self):
        return self.numel() * self.dtype.itemsize

    nelement = TensorBase.numel
    ndimension = TensorBase.dim

    @property
    def is_cpu(self):
        return self.device.type == "cpu"

    @property
    def is_cuda(self):
        return self.device.type == "cuda"

    @property
    def layout(self):
        return strided

    @property
    def is_sparse(self):
        return False

    def get_device(self):
        """The device's index, -1 on the cpu."""
        return -1 if self.device.index is None else self.device.index


class Parameter(Tensor):
    """A tensor that a Module lists among its parameters.

    Args:
        data: a tensor (shared, not copied); an empty one by default.
        requires_grad: True by default.
    """

    _torch_name = "torch.nn.parameter.Parameter"

    def __init__(self, data=None, requires_grad=True):
        self._adopt(B.empty((0,)) if data is None else data.detach() if isinstance(data, TensorBase) else B.tensor(data))
        self.requires_grad = requires_grad

    def __repr__(self):
        return "Parameter containing:\n" + super().__repr__()

    @shown
    def detach(self):
        """The same memory outside of the graph, as a tensor that is no parameter."""
        return self._detached()

    def __deepcopy__(self, memo):
        if id(self) not in memo:
            copied = type(self)(B.clone(self.detach()), self.requires_grad)
            memo[id(self)] = copied
        return memo[id(self)]


_UFUNC_OPERATORS = {
    "add": "add", "subtract": "sub", "multiply": "mul", "divide": "div", "true_divide": "div", "floor_divide": "floor_divide",
    "remainder": "remainder", "power": "pow", "matmul": "matmul", "equal": "eq", "not_equal": "ne", "less": "lt", "less_equal": "le",
    "greater": "gt", "greater_equal": "ge", "bitwise_and": "bitwise_and", "bitwise_or": "bitwise_or", "bitwise_xor": "bitwise_xor",
    "left_shift": "bitwise_left_shift", "right_shift": "bitwise_right_shift"}


_rebuild = rebuild        # the name that pickles of release 0.1.0 have


# --- subclasses ---------------------------------------------------------------------------------------------------
register_classes(Tensor, Parameter)
overrides.plain_types = (Tensor, Parameter)
_op.set_interceptor(overrides.intercept)
Tensor.__torch_function__ = overrides.make_default(Tensor)
Tensor.as_subclass = overrides.as_subclass
Tensor._make_subclass = staticmethod(overrides.make_subclass)
Parameter.__torch_function__ = classmethod(overrides.without_conversion)
