"""Making tensors: from shapes, from Python data, from arrays."""
import math

import numpy as np

from ..core import overrides
from ..core.copying import new_like
from ..core.definitions import methods
from ..core.definitions import publish_function as creates
from ..core.device import get_default_device, make_device, resolved_device
from ..core.dtype import by_name, get_default_dtype, of_numpy
from ..core.dtype import promote_types as _promote_types
from ..core.dtype import read_dtype, result_dtype
from ..core.making import fill_linspace, maker, new_filled, only_python_numbers, sizes_of
from ..core.memory_format import contiguous_format, preserve_format, strided, strides_in, strides_like
from ..core.protocol import OutOfMemoryError, allocating
from ..core.record import namespace as B
from ..core.operands import check_scalar, integer_range, one_int, one_number
from ..core.tensor import TensorBase, wrap
from .layouts import zeros_of_layout
from .pinned import DLPACK_CUDA, on_cuda_memory, pinned


_CPU = make_device("cpu")


def _device(device):
    if device is None:
        return get_default_device()
    return resolved_device(device)        # raises where there is none


def _size_keyword(name, names):
    """The value of `size=`, the one keyword that stands for positional sizes."""
    unknown = next((key for key in names if key != "size"), None)
    if unknown is not None:
        raise TypeError(f"{name}() got an unexpected keyword argument '{unknown}'")
    return names.get("size")


def _check_like(name, input):
    if not isinstance(input, TensorBase):
        raise TypeError(f"{name}(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")


def laid_out(shape, strides, make):
    """What `make(shape)` gives, with these strides in memory (None: row-major)."""
    if strides is None or tuple(strides) == strides_in(shape, contiguous_format):
        return make(shape)
    flat = make((math.prod(shape),))
    return B.as_strided(flat, shape, strides, 0).detach() if flat.device.backend.strided else flat.reshape(shape)


def _new(name, shape, fill, dtype, device, requires_grad, out=None, layout=None, strides=None):
    if strides is not None:
        result = laid_out(shape, strides, lambda sizes: _new(name, sizes, fill, dtype, device, False))
        result.requires_grad = requires_grad
        return result
    dtype = read_dtype(name, dtype)
    if layout is not None and layout is not strided:
        return zeros_of_layout(name, shape, fill, layout, dtype or get_default_dtype(), _device(device), requires_grad)
    if out is not None:
        if tuple(out.shape) != shape:
            out.resize_(shape)
        return out if fill is None else out.fill_(fill)
    dtype = dtype or get_default_dtype()
    device = _device(device)
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


def _maker(name, fill, meaning):
    def general(sizes, out, dtype, layout, device, requires_grad, pin_memory, memory_format, names):
        shape = sizes_of(name, sizes, _size_keyword(name, names))
        strides = None if memory_format is None else strides_in(shape, memory_format)
        result = _new(name, shape, fill, dtype, device, requires_grad, out, layout, strides)
        return pinned(result) if pin_memory else result
    make = maker(fill, general)
    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"""A tensor of the given shape{meaning}.

    Args:
        size: ints, or one sequence of them.
        dtype: the default floating type unless given. device, requires_grad, out: as everywhere.
        memory_format: row-major unless given.

    Raises:
        RuntimeError: a size is negative, memory doesn't suffice, or the format needs another number of dims.
    """
    return creates(make)


empty = _maker("empty", None, ", uninitialised")
zeros = _maker("zeros", 0, " full of zeros")
ones = _maker("ones", 1, " full of ones")


@creates
def full(size, fill_value, *, out=None, dtype=None, layout=None, device=None, requires_grad=False):
    """A tensor of shape `size` with every element `fill_value`, whose type gives the dtype unless one is given."""
    dtype = read_dtype("full", dtype)
    if isinstance(fill_value, TensorBase):
        dtype = dtype or fill_value.dtype
        fill_value = fill_value.item()
    if dtype is None:
        dtype = _dtype_of_scalar(fill_value)
    check_scalar("full", "fill_value", fill_value, dtype)
    return _new("full", sizes_of("full", (size,), None), fill_value, dtype, device, requires_grad, out)


def _dtype_of_scalar(value):
    if isinstance(value, (bool, np.bool_)):
        return by_name["bool"]
    if isinstance(value, (int, np.integer)):
        return by_name["int64"]
    if isinstance(value, (complex, np.complexfloating)) and not isinstance(value, float):
        return get_default_dtype().to_complex()
    return get_default_dtype()


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


def strides_for(input, memory_format):
    """The strides of a new tensor like `input`."""
    shape = tuple(input.shape)
    return strides_like(shape, input.stride()) if memory_format in (None, preserve_format) else strides_in(shape, memory_format)


def _like_maker(name, fill, meaning):
    def make(input, *, dtype=None, layout=None, device=None, requires_grad=False, memory_format=preserve_format):
        if overrides.is_asked_about(input):
            return overrides.ask(make, (input,), (input,), dict(dtype=dtype, layout=layout, device=device, requires_grad=requires_grad))
        _check_like(name, input)
        row_major = memory_format is preserve_format and input.is_contiguous()
        if row_major and dtype is None and device is None and layout is None and not requires_grad:
            return new_like(input, fill)
        strides = None if row_major or (layout or input.layout) is not strided else strides_for(input, memory_format)
        return _new(name, tuple(input.shape), fill, dtype or input.dtype, device or input.device, requires_grad, None, layout or input.layout, strides)
    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"A tensor of the shape, dtype and device of `input`{meaning}; with its strides too, unless it has gaps or another memory format is given."
    return creates(make)


empty_like = _like_maker("empty_like", None, ", uninitialised")
zeros_like = _like_maker("zeros_like", 0, ", full of zeros")
ones_like = _like_maker("ones_like", 1, ", full of ones")


@creates
def full_like(input, fill_value, *, dtype=None, layout=None, device=None, requires_grad=False, memory_format=preserve_format):
    """A tensor of the shape, dtype and device of `input`, every element `fill_value`."""
    if overrides.is_asked_about(input):
        return overrides.ask(full_like, (input,), (input, fill_value), dict(dtype=dtype, device=device, requires_grad=requires_grad))
    _check_like("full_like", input)
    fill_value = one_number("full_like", "fill_value", fill_value)
    dtype = read_dtype("full_like", dtype)
    check_scalar("full_like", "fill_value", fill_value, dtype or input.dtype)
    return _new("full_like", tuple(input.shape), fill_value, dtype or input.dtype, device or input.device, requires_grad,
                strides=strides_for(input, memory_format))


def _new_method(name, fill):
    def make(self, *size, dtype=None, device=None, requires_grad=False, layout=None, pin_memory=False, **names):
        return _new(name, sizes_of(name, size, _size_keyword(name, names)), fill, dtype or self.dtype, device or self.device, requires_grad, None,
                    layout or self.layout)
    make.__name__ = make.__qualname__ = name
    make.__doc__ = "A new tensor of the given shape, with this one's dtype and device unless others are given."
    methods[name] = make


for _name, _fill in dict(new_empty=None, new_zeros=0, new_ones=1).items():
    _new_method(_name, _fill)


def new_full(self, size, fill_value, *, dtype=None, device=None, requires_grad=False, layout=None, pin_memory=False):
    """A new tensor filled with a number, with this one's dtype and device unless others are given."""
    fill_value = one_number("new_full", "fill_value", fill_value)
    dtype = read_dtype("new_full", dtype)
    check_scalar("new_full", "fill_value", fill_value, dtype or self.dtype)
    return _new("new_full", sizes_of("new_full", (size,), None), fill_value, dtype or self.dtype, device or self.device, requires_grad)


def new_tensor(self, data, *, dtype=None, device=None, requires_grad=False):
    """A copy of data, with this tensor's dtype and device unless others are given."""
    return tensor(data, dtype=dtype or self.dtype, device=device or self.device, requires_grad=requires_grad)


def new_empty_strided(self, size, stride, *, dtype=None, device=None, requires_grad=False, layout=None, pin_memory=False):
    """An uninitialised tensor of the given shape and strides, with this one's dtype and device unless others are given."""
    return empty_strided(size, stride, dtype=dtype or self.dtype, device=device or self.device, requires_grad=requires_grad)


methods.update(new_full=new_full, new_tensor=new_tensor, new_empty_strided=new_empty_strided)


# --- ranges -------------------------------------------------------------------------------------------------------
def _check_range_bounds(name, **bounds):
    for argument, value in bounds.items():
        whole = isinstance(value, (int, np.integer))
        if not whole and not isinstance(value, (float, np.floating)):
            raise TypeError(f"{name}(): argument '{argument}' must be a real Number, not {type(value).__name__}")
        if not -2**63 <= value < 2**63:        # NaN and infinities fail too
            raise RuntimeError(f"{name}(): unsupported range, {argument}={value}")
    start, end, step = bounds.values()
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    if (end - start) / step >= 2**60:
        raise RuntimeError(f"{name}(): invalid size, {(end - start) / step:.3g} elements from {start} to {end} by {step}")


def _range_dtype(dtype, *values):
    if dtype is not None:
        return read_dtype("arange", dtype)
    return by_name["int64"] if all(isinstance(v, (int, np.integer)) for v in values) else get_default_dtype()


def _from_host(array, dtype, device, requires_grad, out=None):
    """A tensor on a device from an ndarray that nobody else holds."""
    if array.dtype != dtype.numpy:
        array = array.astype(dtype.numpy)
    result = wrap(np.asarray(array, order="C"), _CPU)
    device = _device(device)
    if device is not _CPU:
        result = result.to(device)
    if out is not None:
        if out.shape != result.shape:
            out.resize_(tuple(result.shape))
        return out.copy_(result)
    if requires_grad:
        result.requires_grad = True
    return result


@creates
def arange(start=None, end=None, step=1, *, out=None, dtype=None, layout=None, device=None, requires_grad=False):
    """Numbers from `start` (0) up to but without `end`, `step` apart: ceil((end - start) / step) of them.

    Raises:
        RuntimeError: step is 0, or leads away from `end`.
    """
    if end is None or start is None:
        start, end = 0, start if end is None else end
    if end is None:
        raise TypeError('arange() missing 1 required positional argument: "end"')
    if type(start) is type(end) is type(step) is int and dtype is None and out is None and step > 0 and -2**62 < start <= end < 2**62 and step < 2**62:
        with allocating("arange"):
            return _from_host(np.arange(start, end, step), by_name["int64"], device, requires_grad)
    start, end, step = (v.item() if isinstance(v, TensorBase) else v for v in (start, end, step))
    _check_range_bounds("arange", start=start, end=end, step=step)
    dtype = out.dtype if out is not None and dtype is None else _range_dtype(dtype, start, end, step)
    if dtype.name == "int64":       # whole numbers before they are counted, as PyTorch
        start, end, step = int(start), int(end), int(step)
        _check_range_bounds("arange", start=start, end=end, step=step)
    whole = all(isinstance(v, (int, np.integer)) for v in (start, end, step))
    count = -((start - end) // step) if whole else int(np.ceil((end - start) / step))
    kind = np.int64 if whole else np.float64
    with allocating("arange"):
        return _from_host(start + np.arange(count, dtype=kind) * kind(step), dtype, device, requires_grad, out)


@creates
def range(start=0, end=None, step=1, *, out=None, dtype=None, device=None, requires_grad=False):
    """Early PyTorch's range, which includes `end`; `arange` is its modern form."""
    if end is None:
        start, end = 0, start
    _check_range_bounds("range", start=start, end=end, step=step)
    count = int((end - start) / step) + 1
    return _from_host(start + np.arange(count, dtype=np.float64) * step, read_dtype("range", dtype) or get_default_dtype(), device, requires_grad, out)


@creates
def linspace(start, end, steps=100, *, out=None, dtype=None, layout=None, device=None, requires_grad=False):
    """`steps` numbers at equal distances from `start` to `end`, both included."""
    start, end = (v.item() if isinstance(v, TensorBase) else v for v in (start, end))
    steps = one_int("linspace", "steps", steps)
    if steps < 0:
        raise RuntimeError(f"number of steps must be non-negative, got {steps}")
    dtype = read_dtype("linspace", dtype) or (out.dtype if out is not None else get_default_dtype())
    if dtype.category < 3 and not isinstance(start, complex) and not isinstance(end, complex):
        with allocating("linspace"):
            numbers = np.empty(steps, np.float32 if dtype.name == "float32" else np.float64)
        return _from_host(fill_linspace(numbers, start, end), dtype, device, requires_grad, out)
    # Complex numbers the same way: the first half counts from the start, the second from the end, so both ends are exact.
    width, at = (complex(end) - complex(start)) / max(steps - 1, 1), np.arange(steps)
    numbers = np.where(at < steps // 2, start + width * at, end - width * (steps - 1 - at)) if steps > 1 else np.full(steps, start, np.complex128)
    return _from_host(numbers, dtype, device, requires_grad, out)


@creates
def logspace(start, end, steps=100, base=10.0, *, out=None, dtype=None, layout=None, device=None, requires_grad=False):
    """`base` to the power of `linspace(start, end, steps)`."""
    start, end = (v.item() if isinstance(v, TensorBase) else v for v in (start, end))
    dtype = read_dtype("logspace", dtype) or (out.dtype if out is not None else get_default_dtype())
    if dtype.category < 2:
        start, end = int(start), int(end)
    powers = linspace(start, end, steps, dtype=by_name["complex128" if dtype.is_complex else "float64"])
    return _from_host(np.power(float(base), powers._host_array()), dtype, device, requires_grad, out)


@creates
def eye(n, m=None, *, out=None, dtype=None, layout=None, device=None, requires_grad=False):
    """An n×m matrix (square unless m is given) with ones on the diagonal."""
    if n < 0 or (m is not None and m < 0):
        raise RuntimeError(f"n must be greater or equal to 0, got {n if n < 0 else m}")
    dtype = read_dtype("eye", dtype) or get_default_dtype()
    with allocating("eye"):
        return _from_host(np.eye(n, m, dtype=dtype.numpy), dtype, device, requires_grad, out)


# --- from data ----------------------------------------------------------------------------------------------------
@creates
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
    return wrap(array.view(), _CPU)


def _plain(data):
    """Data without tensors in it, and the dtype of those (numbers, of one element each) and of NumPy's numbers in it."""
    if isinstance(data, TensorBase):
        if data.numel() != 1:
            raise ValueError(f"only one element tensors can be converted to Python scalars, but a sequence holds one of shape {list(data.shape)}")
        return data.detach()._host_array().reshape(()), data.dtype
    if isinstance(data, np.generic) and data.dtype.kind in "biufc":
        return data, of_numpy(data.dtype)
    if isinstance(data, (list, tuple)):
        parts = [_plain(item) for item in data]
        found = None
        for _, dtype in parts:
            if dtype is not None:
                found = dtype if found is None else _promote_types(found, dtype)
        return [p for p, _ in parts], found
    return data, None


def _with_numbers(data, dtype):
    """`dtype` promoted with those of Python's numbers in nested sequences."""
    for item in data:
        if isinstance(item, (list, tuple)):
            dtype = _with_numbers(item, dtype)
        elif isinstance(item, (int, float, complex)) and not isinstance(item, np.generic):
            dtype = _promote_types(dtype, _dtype_of_scalar(item))
    return dtype


def _check_nesting(data, path=0):
    """ValueError where nested sequences are ragged."""
    if isinstance(data, (list, tuple)) and data and isinstance(data[0], (list, tuple)):
        n = len(data[0])
        for item in data:
            if not isinstance(item, (list, tuple)):
                raise TypeError(f"not a sequence: {item!r} at dim {path + 1}")
            if len(item) != n:
                raise ValueError(f"expected sequence of length {n} at dim {path + 1} (got {len(item)})")
            _check_nesting(item, path + 1)


def _beyond_int64(numbers, dtype):
    """Numbers of which an int has more than 64 bits, as floats; ValueError where they are to be integers."""
    kinds = {type(v) for v in numbers.ravel()}
    if not (dtype.category >= 2 if dtype is not None else kinds & {float, complex}):
        raise ValueError("Overflow when unpacking long long")
    return numbers.astype(np.complex128 if complex in kinds else np.float64)


def _array_of(data, dtype):
    """An ndarray (a copy) and dtype for nested sequences of numbers, as `torch.tensor` reads them."""
    if isinstance(data, np.ndarray):
        return data.copy(), of_numpy(data.dtype)
    data, found = (data, None) if only_python_numbers(data) else _plain(data)
    try:
        array = np.array(data)
    except ValueError:
        _check_nesting(data)
        raise
    if array.dtype == object or array.dtype.kind in "USV":
        _check_nesting(data)
        for bad in (v for v in array.ravel() if not isinstance(v, (int, float, complex))):
            if isinstance(bad, str):
                raise TypeError("new(): invalid data type 'str'")
            raise RuntimeError(f"Could not infer dtype of {type(bad).__name__}")
        array = _beyond_int64(array, dtype)
    if found is not None:
        return array, _with_numbers(data, found) if isinstance(data, list) else found
    if isinstance(data, np.generic):
        return array, of_numpy(array.dtype)
    if array.dtype == np.float64:
        return array, get_default_dtype()
    if array.dtype == np.complex128:
        return array, get_default_dtype().to_complex()
    if array.dtype == np.uint64 and dtype is None:
        raise ValueError("Overflow when unpacking long long")
    return array, of_numpy(array.dtype)


def _cast_host(array, dtype):
    """An ndarray cast as tensors are: integers out of range are refused by `tensor`, floats are truncated."""
    if array.dtype == dtype.numpy:
        return array
    with np.errstate(all="ignore"):
        if array.dtype.kind == "c" and dtype.category < 3:
            array = array.real
        return array.astype(dtype.numpy)


def _check_range(array, dtype):
    """Refuse Python numbers that the dtype can't hold; values of an ndarray wrap instead."""
    if array.dtype.kind == "c" and not dtype.is_complex:
        raise TypeError(f"tensor(): elements of argument 'data' must be real numbers for dtype {dtype}, not complex")
    if dtype.is_floating_point or dtype.is_complex or dtype.itemsize == 1 and array.dtype.kind == "b" or not array.size or dtype.name == "bool":
        return
    low, high = integer_range(dtype)
    if not (array.min() >= low and array.max() < high + 1):       # NaN fails both
        raise RuntimeError(f"value cannot be converted to type {dtype.name} without overflow: elements of argument 'data' from "
                           f"{array.min()} to {array.max()}")


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
    if type(data) is float and dtype is None and device is None and not requires_grad:
        return new_filled((), data, get_default_dtype(), get_default_device())
    if isinstance(data, TensorBase):
        result = data.detach().clone().to(dtype=dtype, device=device)
        return result.requires_grad_() if requires_grad else result
    array, found = _array_of(data, dtype)
    if dtype is not None and not isinstance(data, np.ndarray):
        _check_range(array, dtype)
    return _from_host(_cast_host(array, dtype or found), dtype or found, device, requires_grad)


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


@creates
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


@creates
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
@creates
def promote_types(type1, type2):
    """The smallest dtype that both can be promoted to."""
    return _promote_types(type1, type2)


@creates
def result_type(tensor1, tensor2):
    """The dtype that an operation on two tensors or numbers has."""
    return result_dtype(tensor1, tensor2)


def _is_integral(x):
    return not (x.dtype.is_floating_point or x.dtype.is_complex) if isinstance(x, TensorBase) else not isinstance(x, (float, complex))


B._result_is_integral = lambda *operands: all(map(_is_integral, operands))
B.get_default_device = get_default_device
B.get_default_dtype = get_default_dtype
