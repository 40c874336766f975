"""New tensors by their shape: the sizes as users write them, and a short way for what needs no further care."""
cimport numpy as cnp

from .device cimport Device, default_device
from .dtype cimport DType, default_float
from .mode cimport INFERENCE, get_mode
from .tensor cimport TensorBase, new_tensor

cnp.import_array()

ctypedef fused real:
    float
    double


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


def only_python_numbers(data):
    """True for ints, floats and bools, and for lists and tuples of them and of one another."""
    if type(data) is not list and type(data) is not tuple:
        return type(data) is float or type(data) is int or type(data) is bool
    for item in data:
        if not (type(item) is float or type(item) is int or type(item) is bool or (type(item) is list or type(item) is tuple) and only_python_numbers(item)):
            return False
    return True


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


cdef void space(real* values, Py_ssize_t n, real start, real end) noexcept nogil:
    """As PyTorch: the first half counts from the start, the second from the end, so that both ends are exact."""
    cdef real step = (end - start) / <real>(n - 1) if n > 1 else 0
    cdef Py_ssize_t i
    for i in range(n):
        values[i] = start + step * <real>i if i < n // 2 or n == 1 else end - step * <real>(n - 1 - i)


def fill_linspace(cnp.ndarray out not None, double start, double end):
    """Numbers at equal distances from `start` to `end` into a row of float32 or float64."""
    if cnp.PyArray_TYPE(out) == cnp.NPY_FLOAT32:
        space(<float*>cnp.PyArray_DATA(out), cnp.PyArray_SIZE(out), <float>start, <float>end)
    else:
        space(<double*>cnp.PyArray_DATA(out), cnp.PyArray_SIZE(out), start, end)
    return out


def maker(fill, general):
    """The function `zeros` and its kin; `general(sizes, options)` does what the short way can't, and raises the errors."""
    def make(*size, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False, memory_format=None, **names):
        cdef TensorBase result
        cdef tuple shape
        if out is None and layout is None and device is None and not pin_memory and memory_format is None and not names and (dtype is None or isinstance(dtype, DType)):
            shape = plain_sizes(size)
            if shape is not None:
                try:
                    result = allocated(shape, fill, default_float() if dtype is None else <DType>dtype, default_device())
                except (ValueError, MemoryError, KeyError):
                    pass            # said better below
                else:
                    if requires_grad:
                        result.requires_grad = True
                    return result
        return general(size, out, dtype, layout, device, requires_grad, pin_memory, memory_format, names)
    return make
