"""Making tensors: from shapes, from Python data, from arrays."""
from contextlib import nullcontext

import numpy as np

from ..core import overrides
from ..core.definitions import creates, methods, publish_function
from ..core.device import get_default_device
from ..core.dtype import get_default_dtype, of_numpy
from ..core.dtype import promote_types as _promote_types
from ..core.dtype import read_dtype, result_dtype
from ..core.functions import shown
from ..core.host_data import array_of_numbers, diagonal_of_ones, from_host
from ..core.making import full_like_maker, full_maker, like_maker, maker, new_filled, new_maker, sizes_of
from ..core.memory_format import strided, strides_in
from ..core.operands import check_scalar, one_number
from ..core.protocol import OutOfMemoryError
from ..core.record import namespace as B
from ..core.tensor import TensorBase, wrap
from .layouts import zeros_of_layout
from .pinned import DLPACK_CUDA, on_cuda_memory, pinned
from .placement import CPU, device_or_default, laid_out, strides_for
from .python_data import array_of, cast_host, check_range, dtype_of_scalar


def _size_keyword(name, names):
    """The value of `size=`, the one keyword that stands for positional sizes."""
    unknown = next((key for key in names if key != "size"), None)
    if unknown is not None:
        raise TypeError(f"{name}() got an unexpected keyword argument '{unknown}'")
    return names.get("size")


def _check_like(name, input):
    if not isinstance(input, TensorBase):
        raise TypeError(f"{name}(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")


def _new(name, shape, fill, dtype, device, requires_grad, out=None, layout=None, strides=None):
    if strides is not None:
        result = laid_out(shape, strides, lambda sizes: _new(name, sizes, fill, dtype, device, False))
        result.requires_grad = requires_grad
        return result
    dtype = read_dtype(name, dtype)
    if layout is not None and layout is not strided:
        return zeros_of_layout(name, shape, fill, layout, dtype or get_default_dtype(), device_or_default(device), requires_grad)
    if out is not None:
        if tuple(out.shape) != shape:
            out.resize_(shape)
        return out if fill is None else out.fill_(fill)
    dtype = dtype or get_default_dtype()
    device = device_or_default(device)
    try:
        result = new_filled(shape, fill, dtype, device)
    except KeyError:
        raise TypeError(f"{name}(): device {device} has no dtype {dtype}") from None
    except (MemoryError, ValueError) as error:
        kind = OutOfMemoryError if isinstance(error, OutOfMemoryError) else RuntimeError
        raise kind(f"{name}(): can't allocate a tensor of shape {list(shape)} and dtype {dtype}: {error}") from None
    if requires_grad:
        result.requires_grad = True
    return result


def _named(function, name, doc):
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


def _maker(name, fill, meaning):
    def general(sizes, out, dtype, layout, device, requires_grad, pin_memory, memory_format, names):
        shape = sizes_of(name, sizes, _size_keyword(name, names))
        strides = None if memory_format is None else strides_in(shape, memory_format)
        result = _new(name, shape, fill, dtype, device, requires_grad, out, layout, strides)
        return pinned(result) if pin_memory else result
    return creates(_named(maker(fill, general), name, f"""A tensor of the given shape{meaning}.

    Args:
        size: ints, or one sequence of them.
        dtype: the default floating type unless given. device, requires_grad, out: as everywhere.
        memory_format: row-major unless given.

    Raises:
        RuntimeError: a size is negative, memory doesn't suffice, or the format needs another number of dims.
    """))


empty = _maker("empty", None, ", uninitialised")
zeros = _maker("zeros", 0, " full of zeros")
ones = _maker("ones", 1, " full of ones")


def _full(size, fill_value, out, dtype, layout, device, requires_grad):
    dtype = read_dtype("full", dtype)
    if isinstance(fill_value, TensorBase):
        dtype = dtype or fill_value.dtype
        fill_value = fill_value.item()
    if dtype is None:
        dtype = dtype_of_scalar(fill_value)
    check_scalar("full", "fill_value", fill_value, dtype)
    return _new("full", sizes_of("full", (size,), None), fill_value, dtype, device, requires_grad, out)


full = creates(_named(full_maker(_full), "full", "A tensor of shape `size` with every element `fill_value`, whose type gives the dtype unless one is given."))


@creates
def empty_strided(size, stride, *, dtype=None, layout=None, device=None, requires_grad=False):
    """An uninitialised tensor of the given shape and strides (in elements)."""
    room = 1 + sum((n - 1) * s for n, s in zip(size, stride)) if all(size) else 0
    result = B.as_strided(empty((room,), dtype=dtype, device=device), tuple(size), tuple(stride), 0).detach()
    result.requires_grad = requires_grad
    return result


@creates
def empty_permuted(size, physical_layout, *, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """An uninitialised tensor of shape `size` whose dims lie in memory in the order `physical_layout`, the outermost first."""
    size, order = tuple(size), tuple(physical_layout)
    if len(size) != len(order):
        raise RuntimeError("Number of dimensions in size does not match the length of the physical_layout; i.e. "
                           f"len(size) = {len(size)} is not equal to len(physical_layout) = {len(order)}")
    for d in order:
        if not 0 <= d < len(size):
            raise RuntimeError(f"Dimension out of range (expected to be between 0 and {len(size) - 1}, but got {d})")
    if len(set(order)) < len(order):
        raise RuntimeError("Duplicate dim not allowed")
    result = empty([size[d] for d in order], dtype=dtype, device=device).permute([order.index(d) for d, _ in enumerate(size)]).detach()
    result.requires_grad = requires_grad
    return result


def _like_maker(name, fill, meaning):
    def general(input, dtype, layout, device, requires_grad, memory_format):
        if overrides.is_asked_about(input):
            return overrides.ask(make, (input,), (input,), dict(dtype=dtype, layout=layout, device=device, requires_grad=requires_grad))
        _check_like(name, input)
        strides = strides_for(input, memory_format) if (layout or input.layout) is strided else None
        return _new(name, tuple(input.shape), fill, dtype or input.dtype, device or input.device, requires_grad, None, layout or input.layout, strides)
    make = creates(_named(like_maker(fill, general), name, f"A tensor of the shape, dtype and device of `input`{meaning}; with its strides too, unless it "
                                                           "has gaps or another memory format is given."))
    return make


empty_like = _like_maker("empty_like", None, ", uninitialised")
zeros_like = _like_maker("zeros_like", 0, ", full of zeros")
ones_like = _like_maker("ones_like", 1, ", full of ones")


def _full_like(input, fill_value, dtype, layout, device, requires_grad, memory_format):
    if overrides.is_asked_about(input):
        return overrides.ask(full_like, (input,), (input, fill_value), dict(dtype=dtype, device=device, requires_grad=requires_grad))
    _check_like("full_like", input)
    fill_value = one_number("full_like", "fill_value", fill_value)
    dtype = read_dtype("full_like", dtype)
    check_scalar("full_like", "fill_value", fill_value, dtype or input.dtype)
    return _new("full_like", tuple(input.shape), fill_value, dtype or input.dtype, device or input.device, requires_grad,
                strides=strides_for(input, memory_format))


full_like = creates(_named(full_like_maker(_full_like), "full_like", "A tensor of the shape, dtype and device of `input`, every element `fill_value`."))


def _is_asked_for_example(t):
    """Whether somebody wants to see a `new_` method of t; sparse tensors, a subclass, give just their layout."""
    return overrides.is_asked_about(t) and t.layout is strided


def _shown_method(function):
    """Enter a method that makes tensors."""
    method = methods[function.__name__] = shown(function)
    return method


def _new_method(name, fill):
    def general(self, sizes, dtype, device, requires_grad, layout, pin_memory, names):
        if _is_asked_for_example(self):
            return overrides.ask(methods[name], (self,), (self, *sizes), dict(names, dtype=dtype, device=device, requires_grad=requires_grad))
        return _new(name, sizes_of(name, sizes, _size_keyword(name, names)), fill, dtype or self.dtype, device or self.device, requires_grad, None,
                    layout or self.layout)
    _shown_method(_named(new_maker(fill, general), name, "A new tensor of the given shape, with this one's dtype and device unless others are given."))


for _name, _fill in dict(new_empty=None, new_zeros=0, new_ones=1).items():
    _new_method(_name, _fill)


@_shown_method
def new_full(self, size, fill_value, *, dtype=None, device=None, requires_grad=False, layout=None, pin_memory=False):
    """A new tensor filled with a number, with this one's dtype and device unless others are given."""
    if _is_asked_for_example(self):
        return overrides.ask(new_full, (self,), (self, size, fill_value), dict(dtype=dtype, device=device, requires_grad=requires_grad))
    fill_value = one_number("new_full", "fill_value", fill_value)
    dtype = read_dtype("new_full", dtype)
    check_scalar("new_full", "fill_value", fill_value, dtype or self.dtype)
    return _new("new_full", sizes_of("new_full", (size,), None), fill_value, dtype or self.dtype, device or self.device, requires_grad)


@_shown_method
def new_tensor(self, data, *, dtype=None, device=None, requires_grad=False):
    """A copy of data, with this tensor's dtype and device unless others are given."""
    if _is_asked_for_example(self):
        return overrides.ask(new_tensor, (self,), (self, data), dict(dtype=dtype, device=device, requires_grad=requires_grad))
    return tensor(data, dtype=dtype or self.dtype, device=device or self.device, requires_grad=requires_grad)


@_shown_method
def new_empty_strided(self, size, stride, *, dtype=None, device=None, requires_grad=False, layout=None, pin_memory=False):
    """An uninitialised tensor of the given shape and strides, with this one's dtype and device unless others are given."""
    return empty_strided(size, stride, dtype=dtype or self.dtype, device=device or self.device, requires_grad=requires_grad)



@creates
def eye(n, m=None, *, out=None, dtype=None, layout=None, device=None, requires_grad=False):
    """An n×m matrix (square unless m is given) with ones on the diagonal."""
    if n < 0 or (m is not None and m < 0):
        raise RuntimeError(f"n must be greater or equal to 0, got {n if n < 0 else m}")
    dtype = read_dtype("eye", dtype) or get_default_dtype()
    return from_host(diagonal_of_ones(n, n if m is None else m, dtype), dtype, device, requires_grad, out)


# --- from data ----------------------------------------------------------------------------------------------------
@publish_function
def from_numpy(ndarray):
    """A tensor on the memory of an ndarray: a change in either shows in the other.

    Raises:
        TypeError: it isn't an ndarray, or of a dtype that tensors don't have (foreign byte order, objects, strings).
        ValueError: its strides are negative or no multiples of the element size.
    """
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(ndarray).__name__})")
    array = np.asarray(ndarray)
    if not array.dtype.isnative:
        raise ValueError("given numpy array has byte order different from the native byte order. Conversion between byte orders is "
                         "currently not supported.")
    of_numpy(array.dtype)
    for stride in array.strides if not array.flags.c_contiguous else ():
        if stride < 0:
            raise ValueError("At least one stride in the given numpy array is negative, and tensors with negative strides are not "
                             "currently supported. (You can probably work around this by making a copy of your array  with array.copy().) ")
        if stride % array.itemsize:
            raise ValueError("given numpy array strides not a multiple of the element byte size. Copy the numpy array to reallocate the memory.")
    if not array.flags.aligned:
        raise ValueError("given numpy array isn't aligned to its element size. Copy the numpy array to reallocate the memory.")
    return wrap(array.view(), CPU)


@creates
def tensor(data, *, dtype=None, device=None, requires_grad=False, pin_memory=False):
    """A new tensor with a copy of the data.

    Args:
        data: a number, nested sequences of numbers, an ndarray or a tensor.
        dtype: by default from the data: bool, int64, the default floating or complex type, or the array's own.

    >>> import pyx_tensor as torch
    >>> torch.tensor([[1, 2], [3, 4]])
    tensor([[1, 2],
            [3, 4]])

    Raises:
        ValueError: nested sequences of unequal lengths. TypeError, RuntimeError: elements that aren't numbers.
    """
    dtype = read_dtype("tensor", dtype)
    if isinstance(data, TensorBase):
        with overrides.disabled():
            dense = data.layout is strided
        with overrides.disabled() if dense else nullcontext():      # of a subclass too a plain tensor is made
            result = data.detach().clone().to(dtype=dtype, device=device)
        return result.requires_grad_() if requires_grad else result
    numbers = array_of_numbers(data, dtype)
    if numbers is not None:
        return from_host(*numbers, device, requires_grad)
    array, found = array_of(data, dtype)
    if dtype is not None and not isinstance(data, np.ndarray):
        check_range(array, dtype)
    return from_host(cast_host(array, dtype or found), dtype or found, device, requires_grad)


@creates
def as_tensor(data, dtype=None, device=None):
    """A tensor of the data, sharing memory with an ndarray or tensor where dtype and device allow that."""
    if isinstance(data, np.ndarray):
        data = from_numpy(data)
    if isinstance(data, TensorBase):
        return data.to(dtype=dtype, device=device)
    if hasattr(data, "__dlpack__") and not isinstance(data, np.generic):
        return from_dlpack(data).to(dtype=dtype, device=device)
    if hasattr(data, "__cuda_array_interface__"):
        return on_cuda_memory(data).to(dtype=dtype, device=device)
    return tensor(data, dtype=dtype, device=device)


@creates
def asarray(obj, *, dtype=None, device=None, copy=None, requires_grad=False):
    """A tensor of the object: shared where `copy` isn't True, refused where `copy=False` and sharing can't be."""
    result = as_tensor(obj, dtype, device)
    shared = isinstance(obj, TensorBase) and result is obj or isinstance(obj, np.ndarray) and np.may_share_memory(result.array, obj)
    if copy is False and not shared:
        raise ValueError("can't alias the given object: dtype, device or kind don't allow it")
    result = result.detach().clone() if copy and shared else result
    return result.requires_grad_() if requires_grad else result


@publish_function
def frombuffer(buffer, *, dtype, count=-1, offset=0, requires_grad=False):
    """A 1-d tensor on the memory of a Python buffer.

    Args:
        count: elements to take, -1 for all. offset: bytes to skip.
    """
    view = memoryview(buffer)
    if offset < 0 or offset >= max(view.nbytes, 1):
        raise ValueError(f"offset ({offset} bytes) must be non-negative and no greater than buffer length ({view.nbytes} bytes) minus 1")
    if count == 0 or count < -1:
        raise ValueError(f"count must be positive or -1, got {count}")
    if count == -1 and (view.nbytes - offset) % dtype.itemsize:
        raise ValueError(f"buffer length ({view.nbytes} bytes) after offset ({offset} bytes) must be a multiple of element size ({dtype.itemsize})")
    if count > 0 and offset + count * dtype.itemsize > view.nbytes:
        raise ValueError(f"requested buffer length ({count} * {dtype.itemsize} bytes) after offset ({offset} bytes) must not be greater than "
                         f"actual buffer length ({view.nbytes} bytes)")
    result = from_numpy(np.frombuffer(buffer, dtype=dtype.numpy, count=count, offset=offset))
    return result.requires_grad_() if requires_grad else result


class _Exported:
    """A capsule of host memory as an object that gives it. NumPy takes memory from the first version of the protocol, which says nothing
    about writing, for read-only; `writable` hands it on as it is."""

    def __init__(self, capsule):
        self.capsule = capsule

    def __dlpack__(self, **options):
        if '"used_' in repr(self.capsule):
            raise RuntimeError("from_dlpack received an invalid capsule: capsules can be consumed only once")
        return self.capsule

    def __dlpack_device__(self):
        return 1, 0

    def writable(self):
        first = '"dltensor"' in repr(self.capsule)
        self.array = np.from_dlpack(self)       # kept: NumPy's next array holds this object
        if not first:
            return self.array
        self.__array_interface__ = {**self.array.__array_interface__, "data": (self.array.ctypes.data, False)}
        return np.asarray(self)


@publish_function
def from_dlpack(ext_tensor):
    """A tensor on the memory of any object with `__dlpack__`, or of the capsule that this gave, on the cpu or a CUDA device.

    Raises:
        BufferError: a tensor that requires grad. RuntimeError: a capsule that was taken before; what has no `__dlpack__`.
    """
    if isinstance(ext_tensor, TensorBase):
        if ext_tensor.requires_grad:
            raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
        return ext_tensor.detach()
    if type(ext_tensor).__name__ == "PyCapsule":
        return from_numpy(_Exported(ext_tensor).writable())
    if not hasattr(ext_tensor, "__dlpack_device__"):
        raise RuntimeError(f"from_dlpack(): argument 'ext_tensor' must have __dlpack__, got {type(ext_tensor).__name__}")
    if ext_tensor.__dlpack_device__()[0] in DLPACK_CUDA:
        return on_cuda_memory(ext_tensor)
    return from_numpy(np.from_dlpack(ext_tensor))


@creates
def scalar_tensor(value, *, dtype=None, device=None, requires_grad=False):
    """A 0-dim tensor of the default floating type."""
    return full((), value, dtype=dtype or get_default_dtype(), device=device, requires_grad=requires_grad)


# --- types of results ---------------------------------------------------------------------------------------------
@publish_function
def promote_types(type1, type2):
    """The smallest dtype that both can be promoted to."""
    return _promote_types(type1, type2)


@publish_function
def result_type(tensor1, tensor2):
    """The dtype that an operation on two tensors or numbers has."""
    return result_dtype(tensor1, tensor2)


def _is_integral(x):
    return not (x.dtype.is_floating_point or x.dtype.is_complex) if isinstance(x, TensorBase) else not isinstance(x, (float, complex))


B._result_is_integral = lambda *operands: all(map(_is_integral, operands))
B.get_default_device = get_default_device
B.get_default_dtype = get_default_dtype
