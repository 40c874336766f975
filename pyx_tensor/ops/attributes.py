"""What a tensor says about itself, and methods of early PyTorch that no operation stands behind."""
import warnings

import numpy as np

from ..core.definitions import composes, functions, methods, properties, publish_function
from ..core.frontend import Tensor
from ..core.record import namespace as B
from .tensor_types import types_of


# --- kinds of tensors that don't exist here -----------------------------------------------------------------------
def _never(meaning):
    def answer(input):
        return False
    answer.__doc__ = f"False: {meaning}."
    return answer


for _name, _meaning in dict(is_meta="tensors have memory", is_mkldnn="the layout is strided or sparse", is_nested="tensors aren't nested",
                            is_quantized="tensors aren't quantized", is_xpu="there is no such device", is_mps="there is no such device",
                            is_mtia="there is no such device", is_xla="there is no such device", is_ipu="there is no such device",
                            is_maia="there is no such device", is_vulkan="there is no such device").items():
    properties[_name] = _never(_meaning), None

for _name, _meaning in dict(is_conj="conjugates are computed at once", is_neg="negatives are computed at once",
                            is_distributed="tensors lie on one device").items():
    _answer = _never(_meaning)
    _answer.__name__ = _answer.__qualname__ = _name
    methods[_name] = publish_function(_answer)

properties["name"] = (lambda self: None), None
properties["grad_dtype"] = (lambda self: self.dtype if self.is_leaf else None), None


# --- memory -------------------------------------------------------------------------------------------------------
@composes
def get_device(input):
    """The index of the tensor's device, -1 on the cpu."""
    return input.get_device()


def dim_order(self):
    """The dims from the outermost to the innermost in memory."""
    return tuple(sorted(range(self.ndim), key=lambda d: (-self.stride(d), d)))


def is_set_to(self, tensor):
    """Whether both are the same elements of the same memory: storage, offset, shape and strides."""
    return (self.untyped_storage() == tensor.untyped_storage() and self.storage_offset() == tensor.storage_offset()
            and self.shape == tensor.shape and self.stride() == tensor.stride())


def to_device(self, device, /, *, stream=None):
    """The array API standard's name of `to(device)`."""
    return self.to(device)


def is_same_size(self, other):
    """Whether two tensors have the same shape."""
    return self.shape == other.shape


def record_stream(self, stream):
    """Let the memory be used again only after what a stream of a CUDA device has been given so far is done."""
    self.device.backend.hold(self.array, getattr(stream, "_native", stream))


def resize(self, *sizes):
    """Early PyTorch's copying form of `resize_`; deprecated, as there."""
    warnings.warn("non-inplace resize is deprecated", stacklevel=2)
    sizes = tuple(sizes[0]) if len(sizes) == 1 and not isinstance(sizes[0], int) else sizes
    return B.reshape(self, sizes)


def resize_as(self, tensor):
    """Early PyTorch's copying form of `resize_as_`; deprecated, as there."""
    return resize(self, tuple(tensor.shape))


methods.update(to_device=to_device, dim_order=dim_order, is_set_to=is_set_to, is_same_size=is_same_size, record_stream=record_stream, resize=resize, resize_as=resize_as,
               const_data_ptr=lambda self: self.data_ptr(), module_load=lambda self, other, assign=False: other.detach() if assign else other.detach().to(self))


# --- early ways to make and write ---------------------------------------------------------------------------------
def new(self, *args, device=None):
    """Early PyTorch's constructor by example: of the sizes given (uninitialised), of data, or on the memory of a tensor.

    The dtype and the device are this tensor's; `new_empty`, `new_tensor` are its modern forms.
    """
    return types_of(self.device.type)[self.type().rpartition(".")[2]](*args, device=device if device is not None else self.device)


def _written(self, function, others):
    """Set every element to `function` of it and of the elements of the others; for few elements, as it calls Python for each."""
    if self.requires_grad:
        raise RuntimeError(f"Can't call {function.__name__} on a tensor that requires grad. Use detach() first.")
    operands = [x.expand(self.shape).reshape(-1).tolist() for x in (self, *others)]
    values = np.array(list(map(function, *operands)), dtype=object)
    return self.copy_(B.tensor(values.tolist(), dtype=self.dtype, device=self.device).reshape(tuple(self.shape)))


def apply_(self, callable):
    """Set every element to `callable(element)`; slow, and on the cpu only."""
    return _written(self, callable, ())


def map_(self, tensor, callable):
    """Set every element to `callable(element, element of tensor)`; slow."""
    return _written(self, callable, (tensor,))


def map2_(self, x, y, callable):
    """Set every element to `callable(element, element of x, element of y)`; slow."""
    return _written(self, callable, (x, y))


def reinforce(self, reward):
    """Was removed from PyTorch; the surrogate loss is `-(distribution.log_prob(action) * reward)`."""
    raise RuntimeError("reinforce() was removed. Differentiate -log_prob(action) * reward instead.")


def where(self, condition, other):
    """This tensor's elements where the condition is True, those of `other` elsewhere: `torch.where(condition, self, other)`."""
    return B.where(condition, self, other)


def polygamma(self, n):
    """`torch.polygamma(n, self)`."""
    return B.polygamma(n, self)


def polygamma_(self, n):
    """In-place form of `polygamma`."""
    return self.copy_(B.polygamma(n, self))


def float_power_(self, exponent):
    """In-place form of `float_power`; the tensor is of double precision."""
    result = B.float_power(self, exponent)
    if result.dtype is not self.dtype:
        raise RuntimeError(f"the base given to float_power_ has dtype {self.dtype} but the operation's result requires dtype {result.dtype}")
    return self.copy_(result)


def conj_physical_(self):
    """In-place form of `conj`."""
    return self.copy_(B.conj(self)) if self.dtype.is_complex else self


def prelu(self, weight):
    """The elements where positive, else `weight` times them: one weight, or one for each index of dim 1."""
    if weight.numel() != 1 and self.ndim > 1:
        weight = B.reshape(weight, (1, -1) + (1,) * (self.ndim - 2))
    return B.prelu(self, weight)


def logical_not_(self):
    """In-place form of `logical_not`."""
    return self.copy_(B.logical_not(self))


methods.update(where=where, new=new, apply_=apply_, map_=map_, map2_=map2_, reinforce=reinforce, polygamma=polygamma, polygamma_=polygamma_,
               float_power_=float_power_, logical_not_=logical_not_, conj_physical_=conj_physical_, prelu=prelu, narrow_copy=functions["narrow_copy"])
methods.update(__div__=lambda self, other: self / other, __rdiv__=lambda self, other: other / self, __idiv__=lambda self, other: self.div_(other),
               __long__=Tensor.__int__, __nonzero__=Tensor.__bool__)


def _array_wrap(self, array, context=None, return_scalar=False):
    """An ndarray that NumPy made of this tensor, as a tensor."""
    return B.from_numpy(np.asarray(array))


methods["__array_wrap__"] = _array_wrap


# --- methods as functions -----------------------------------------------------------------------------------------
for _name in ("fill_", "zero_", "resize_as_", "as_strided_", "conj_physical_"):
    functions[_name] = methods[_name]


@composes
def detach(input):
    """The same memory outside of the graph."""
    return input.detach()


@composes
def detach_(input):
    """Leave the graph, in place."""
    return input.detach_()


@composes
def detach_copy(input):
    """A copy outside of the graph."""
    return input.detach().clone()


@composes
def slice_copy(input, dim=0, start=None, end=None, step=1):
    """A copy of a range of indices of a dim."""
    return B.clone(B._slice(input, dim, start, end, step))

