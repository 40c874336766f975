"""Python's data as `torch.tensor` reads it: nested sequences of numbers, and the dtype that they call for."""
import numpy as np

from ..core.dtype import by_name, get_default_dtype, of_numpy, promote_types
from ..core.host_data import only_python_numbers
from ..core.operands import integer_range
from ..core.tensor import TensorBase

MAX_DIMS = 64      # a list nested deeper may hold itself


def dtype_of_scalar(value):
    if isinstance(value, (bool, np.bool_)):
        return by_name["bool"]
    if isinstance(value, (int, np.integer)):
        return by_name["int64"]
    if isinstance(value, (complex, np.complexfloating)) and not isinstance(value, float):
        return get_default_dtype().to_complex()
    return get_default_dtype()


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
                found = dtype if found is None else promote_types(found, dtype)
        return [p for p, _ in parts], found
    return data, None


def _with_numbers(data, dtype):
    """`dtype` promoted with those of Python's numbers in nested sequences."""
    for item in data:
        if isinstance(item, (list, tuple)):
            dtype = _with_numbers(item, dtype)
        elif isinstance(item, (int, float, complex)) and not isinstance(item, np.generic):
            dtype = promote_types(dtype, dtype_of_scalar(item))
    return dtype


def _check_nesting(data):
    """PyTorch's error where nested sequences are ragged, or hold strings where the first elements say how deep they are."""
    sizes, first = [], data
    while isinstance(first, (list, tuple)) and first and len(sizes) < MAX_DIMS:
        sizes.append(len(first))
        first = first[0]
    if sizes and isinstance(first, str):
        raise ValueError("too many dimensions 'str'")
    _check_sizes(data, sizes, 0)


def _check_sizes(data, sizes, dim):
    nested = isinstance(data, (list, tuple))
    if dim == len(sizes):
        if nested and data:
            raise TypeError(f"expected a number at dim {dim} as in the first place, not {type(data).__name__}")
        return
    if not nested:
        raise TypeError(f"not a sequence: {data!r} at dim {dim}")
    if len(data) != sizes[dim]:
        raise ValueError(f"expected sequence of length {sizes[dim]} at dim {dim} (got {len(data)})")
    for item in data:
        _check_sizes(item, sizes, dim + 1)


def _beyond_int64(numbers, dtype):
    """Numbers of which an int has more than 64 bits, as floats; ValueError where they are to be integers."""
    kinds = {type(v) for v in numbers.ravel()}
    if not (dtype.category >= 2 if dtype is not None else kinds & {float, complex}):
        raise ValueError("Overflow when unpacking long long")
    return numbers.astype(np.complex128 if complex in kinds else np.float64)


def array_of(data, dtype):
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
            if isinstance(bad, (str, bytes)):
                raise TypeError(f"new(): invalid data type '{'str' if isinstance(bad, str) else 'bytes'}'")
            if dtype is not None:
                raise TypeError(f"must be real number, not {type(bad).__name__}")
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


def cast_host(array, dtype):
    """An ndarray cast as tensors are: integers out of range are refused by `tensor`, floats are truncated."""
    if array.dtype == dtype.numpy:
        return array
    with np.errstate(all="ignore"):
        if array.dtype.kind == "c" and dtype.category < 3:
            array = array.real
        return array.astype(dtype.numpy)


def check_range(array, dtype):
    """Refuse Python numbers that the dtype can't hold; values of an ndarray wrap instead."""
    if array.dtype.kind == "c" and not dtype.is_complex:
        raise TypeError(f"tensor(): elements of argument 'data' must be real numbers for dtype {dtype}, not complex")
    if dtype.is_floating_point or dtype.is_complex or array.dtype.kind == "b" or not array.size or dtype.name == "bool":
        return
    low, high = integer_range(dtype)
    if not (array.min() >= low and array.max() < high + 1):       # NaN fails both
        raise RuntimeError(f"value cannot be converted to type {dtype.name} without overflow: elements of argument 'data' from "
                           f"{array.min()} to {array.max()}")
