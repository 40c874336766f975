"""New tensors by their shape: the sizes as users write them, and a short way for what needs no further care."""
from .conversion cimport dims_in_order
from .device cimport Device, as_device
from .dtype cimport DType, bool_, default_float, int64
from .mode cimport INFERENCE, INTERCEPT, get_mode
from .operands cimport fits_surely, is_plain
from .tensor cimport TensorBase, new_tensor
from .memory_format import preserve_format


cdef tuple plain_sizes(tuple sizes):
    """The shape from `(2, 3)` or `((2, 3),)`, where these are non-negative ints; None for anything else."""
    if len(sizes) == 1 and type(sizes[0]) is not int:
        if not isinstance(sizes[0], (tuple, list)):
            return None
        sizes = tuple(sizes[0])
    for size in sizes:
        if type(size) is not int or size < 0:
            return None
    return sizes


def sizes_of(str name, sizes, keyword):
    """The shape from `f(2, 3)`, `f((2, 3))` or `f(size=(2, 3))`; errors name the function `name`."""
    cdef list shape = []
    plain = plain_sizes(tuple(sizes)) if keyword is None else None
    if plain is not None:
        return plain
    if keyword is not None:
        sizes = keyword
    elif len(sizes) == 1 and not isinstance(sizes[0], int):
        sizes = sizes[0]
    for i, size in enumerate(sizes if isinstance(sizes, (tuple, list)) else (sizes,)):
        try:
            size = size.__index__()
        except (AttributeError, TypeError):
            raise TypeError(f"{name}(): argument 'size' must be tuple of ints, but found element of type {type(size).__name__} at pos {i}") from None
        if size < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {size}: {list(sizes)}")
        shape.append(size)
    return tuple(shape)


cdef TensorBase allocated(tuple shape, object fill, DType dtype, Device device):
    """A tensor of the shape, uninitialised (fill None) or filled with a number; ValueError, MemoryError or KeyError of the backend's."""
    cdef TensorBase result
    backend = device._backend
    native = backend.dtypes[dtype.name]
    if device.index is None:
        array = backend.empty(shape, native) if fill is None else backend.full(shape, fill, native)
    else:
        array = backend.empty(shape, native, device.index) if fill is None else backend.full(shape, fill, native, device.index)
    result = new_tensor(array, dtype, device)
    result.inference = get_mode() & INFERENCE != 0
    return result


def new_filled(shape, fill, DType dtype not None, Device device not None):
    """`allocated`, for Python code."""
    device.resolve()
    return allocated(tuple(shape), fill, dtype, device.canonical)


cdef TensorBase at_once(tuple sizes, object fill, DType dtype, Device device, bint requires_grad):
    """A tensor of the sizes as users write them; None where that can't be, for reasons that the general way tells."""
    cdef TensorBase result
    cdef tuple shape = plain_sizes(sizes)
    if shape is None:
        return None
    try:
        result = allocated(shape, fill, dtype, device)
    except (ValueError, MemoryError, KeyError):
        return None
    if requires_grad:
        result.requires_grad = True
    return result


cdef bint is_known(object device):
    """None, or a device that was used before: reading it can't fail."""
    return device is None or isinstance(device, Device) and (<Device>device).slot >= 0


# --- functions, each with a `general` one that does what the short way can't, and raises the errors ---------------
def maker(fill, general):
    """The function `zeros` and its kin; `general(sizes, options)`."""
    def make(*size, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False, memory_format=None, **names):
        if out is None and layout is None and is_known(device) and not pin_memory and memory_format is None and not names and (dtype is None or isinstance(dtype, DType)):
            result = at_once(size, fill, default_float() if dtype is None else <DType>dtype, as_device(device), requires_grad)
            if result is not None:
                return result
        return general(size, out, dtype, layout, device, requires_grad, pin_memory, memory_format, names)
    return make


def new_maker(fill, general):
    """The method `new_zeros` and its kin; `general(tensor, sizes, options)`."""
    def make(self, *size, dtype=None, device=None, requires_grad=False, layout=None, pin_memory=False, **names):
        if (is_plain(self) and not get_mode() & INTERCEPT and device is None and layout is None and not pin_memory and not names
                and (dtype is None or isinstance(dtype, DType))):
            result = at_once(size, fill, (<TensorBase>self).dtype if dtype is None else <DType>dtype, (<TensorBase>self).device, requires_grad)
            if result is not None:
                return result
        return general(self, size, dtype, device, requires_grad, layout, pin_memory, names)
    return make


def like_maker(fill, general):
    """The function `zeros_like` and its kin; `general(input, options)`."""
    def make(input, *, dtype=None, layout=None, device=None, requires_grad=False, memory_format=preserve_format):
        if dtype is None and layout is None and device is None and not requires_grad and memory_format is preserve_format and dims_in_order(input):
            return allocated((<TensorBase>input).shape_(), fill, (<TensorBase>input).dtype, (<TensorBase>input).device)
        return general(input, dtype, layout, device, requires_grad, memory_format)
    return make


def full_like_maker(general):
    """The function `full_like`; `general(input, fill_value, options)`."""
    def full_like(input, fill_value, *, dtype=None, layout=None, device=None, requires_grad=False, memory_format=preserve_format):
        if (dtype is None and layout is None and device is None and not requires_grad and memory_format is preserve_format and dims_in_order(input)
                and fits_surely(fill_value, (<TensorBase>input).dtype)):
            return allocated((<TensorBase>input).shape_(), fill_value, (<TensorBase>input).dtype, (<TensorBase>input).device)
        return general(input, fill_value, dtype, layout, device, requires_grad, memory_format)
    return full_like


cdef DType dtype_of_number(object value):
    """The dtype of tensors of a Python number; None for other things."""
    return default_float() if type(value) is float else int64 if type(value) is int else bool_ if type(value) is bool else None


def full_maker(general):
    """The function `full`; `general(size, fill_value, options)`."""
    def full(size, fill_value, *, out=None, dtype=None, layout=None, device=None, requires_grad=False):
        cdef DType own = dtype_of_number(fill_value) if dtype is None else dtype if isinstance(dtype, DType) else None
        if own is not None and out is None and layout is None and is_known(device) and fits_surely(fill_value, own):
            result = at_once((size,), fill_value, own, as_device(device), requires_grad)
            if result is not None:
                return result
        return general(size, fill_value, out, dtype, layout, device, requires_grad)
    return full
