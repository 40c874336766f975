"""Numbers at equal distances: arange, range, linspace, logspace."""
import math

import numpy as np

from ..core.definitions import creates
from ..core.dtype import by_name, get_default_dtype, read_dtype
from ..core.host_data import fill_linspace, float_range, from_host, host_array, int_range
from ..core.operands import check_scalar, one_int
from ..core.protocol import allocating
from ..core.tensor import TensorBase


def _are_usual_floats(start, end, step):
    """Python's numbers, one of them a float at least, that are exact as floats and need none of the checks below."""
    kinds = {type(start), type(end), type(step)}
    return (float in kinds and kinds <= {int, float} and abs(start) < 2**53 and abs(end) < 2**53 and 0 < abs(step) < 2**53
            and 0 <= (end - start) / step < 2**40)


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


def _range_dtype(name, dtype, out, default):
    """The dtype of a range, which has an order."""
    dtype = read_dtype(name, dtype) or (out.dtype if out is not None else default)
    if dtype.name == "bool" or dtype.is_complex:
        raise NotImplementedError(f"{name}(): not implemented for dtype {dtype}")
    return dtype


def _are_whole(*values):
    return all(isinstance(v, (int, np.integer)) for v in values)


def _numbers(*values):
    """Python's numbers, also of 0-dim tensors."""
    return [v.item() if isinstance(v, TensorBase) else v for v in values]


@creates
def arange(start=None, end=None, step=1, *, out=None, dtype=None, layout=None, device=None, requires_grad=False):
    """Numbers from `start` (0) up to but without `end`, `step` apart: ceil((end - start) / step) of them.

    An integer dtype takes the whole parts of `start` and `step`: int64 before the numbers are counted, narrower ones after that.

    Raises:
        RuntimeError: step is 0, or leads away from `end`. ValueError: its whole part is 0, for int64.
        NotImplementedError: the dtype is bool or complex.
    """
    if end is None or start is None:
        start, end = 0, start if end is None else end
    if end is None:
        raise TypeError('arange() missing 1 required positional argument: "end"')
    if type(start) is type(end) is type(step) is int and dtype is None and out is None and step > 0 and -2**62 < start <= end < 2**62 and step < 2**62:
        return from_host(int_range(start, end, step), by_name["int64"], device, requires_grad)
    if dtype is None and out is None and get_default_dtype().itemsize >= 4 and _are_usual_floats(start, end, step):
        dtype = get_default_dtype()
        return from_host(float_range(start, step, math.ceil((end - start) / step), dtype), dtype, device, requires_grad)
    start, end, step = _numbers(start, end, step)
    _check_range_bounds("arange", start=start, end=end, step=step)
    dtype = _range_dtype("arange", dtype, out, by_name["int64"] if _are_whole(start, end, step) else get_default_dtype())
    if dtype.name == "int64":
        start, end, step = int(start), int(end), int(step)
        if step == 0:
            raise ValueError("step must be nonzero")
    whole = _are_whole(start, end, step)
    count = -((start - end) // step) if whole else int(np.ceil((end - start) / step))
    if dtype.category < 2:
        start, step, whole = int(start), int(step), True
    kind = np.int64 if whole else np.float64
    with allocating("arange"):
        return from_host(start + np.arange(count, dtype=kind) * kind(step), dtype, device, requires_grad, out)


@creates
def range(start=0, end=None, step=1, *, out=None, dtype=None, layout=None, device=None, requires_grad=False):
    """Early PyTorch's range, which includes `end`; `arange` is its modern form. An integer dtype takes the whole parts of all three."""
    if end is None:
        start, end = 0, start
    start, end, step = _numbers(start, end, step)
    _check_range_bounds("range", start=start, end=end, step=step)
    dtype = _range_dtype("range", dtype, out, get_default_dtype())
    if dtype.category < 2:
        start, end, step = int(start), int(end), int(step)
        _check_range_bounds("range", start=start, end=end, step=step)
    real = np.float32 if dtype.is_floating_point and dtype.itemsize < 4 else np.float64        # half types count in single precision, as in PyTorch
    count = int((real(end) - real(start)) / real(step) + real(1))
    return from_host(start + np.arange(count, dtype=np.float64) * step, dtype, device, requires_grad, out)


def _spacing_dtype(name, dtype, out, start, end):
    """The dtype of numbers between `start` and `end`, which must fit it."""
    complex_ends = isinstance(start, complex) or isinstance(end, complex)
    dtype = read_dtype(name, dtype) or (out.dtype if out is not None else get_default_dtype().to_complex() if complex_ends else get_default_dtype())
    if dtype.name == "bool":
        raise NotImplementedError(f"{name}(): not implemented for dtype {dtype}")
    if complex_ends and not dtype.is_complex:
        raise RuntimeError(f"{name}(): complex ends can't be safely cast to dtype {dtype}")
    if dtype.category != 2 or dtype.itemsize < 4 or not (abs(start) <= 1e38 and abs(end) <= 1e38):
        check_scalar(name, "start", start, dtype)
        check_scalar(name, "end", end, dtype)
    return dtype


def _zero_dim_numbers(name, start, end):
    """The ends as Python's numbers."""
    for argument, value in (("start", start), ("end", end)):
        if isinstance(value, TensorBase) and value.ndim:
            raise RuntimeError(f"{name}(): argument '{argument}' must be a number or a 0-dim tensor, not one of shape {list(value.shape)}")
    return _numbers(start, end)


def _spaced(start, end, steps, kind):
    """`linspace` in NumPy's arithmetic of a dtype: the first half counts from the start, the second from the end, so both ends are exact."""
    at, start, end = np.arange(steps), kind(start), kind(end)
    width = (end - start) / kind(max(steps - 1, 1))
    return np.where(at < (steps + (steps == 1)) // 2, start + width * at.astype(kind), end - width * (steps - 1 - at).astype(kind))


@creates
def linspace(start, end, steps=100, *, out=None, dtype=None, layout=None, device=None, requires_grad=False):
    """`steps` numbers at equal distances from `start` to `end`, both included, in the arithmetic of the dtype.

    An integer dtype takes the whole parts of both ends, and of the numbers between them.

    Raises:
        RuntimeError: `steps` is negative, or an end doesn't fit the dtype.
    """
    if isinstance(start, TensorBase) or isinstance(end, TensorBase):
        start, end = _zero_dim_numbers("linspace", start, end)
    steps = one_int("linspace", "steps", steps)
    if steps < 0:
        raise RuntimeError(f"number of steps must be non-negative, got {steps}")
    dtype = _spacing_dtype("linspace", dtype, out, start, end)
    if dtype.is_complex or dtype.itemsize < 4 and dtype.is_floating_point:
        with np.errstate(all="ignore"):
            return from_host(_spaced(start, end, steps, np.complex128 if dtype.is_complex else dtype.numpy.type), dtype, device, requires_grad, out)
    if dtype.category < 2:
        start, end = (int(np.array(int(v)).astype(dtype.numpy)) for v in (start, end))      # of unsigned ones, negative numbers wrap
    numbers = host_array("linspace", (steps,), dtype if dtype.name == "float32" else by_name["float64"])
    return from_host(fill_linspace(numbers, start, end), dtype, device, requires_grad, out)


@creates
def logspace(start, end, steps=100, base=10.0, *, out=None, dtype=None, layout=None, device=None, requires_grad=False):
    """`base` to the power of `linspace(start, end, steps)`."""
    start, end = _zero_dim_numbers("logspace", start, end)
    dtype = _spacing_dtype("logspace", dtype, out, start, end)
    if dtype.category < 2:
        start, end = int(start), int(end)
    powers = linspace(start, end, steps, dtype=by_name["complex128" if dtype.is_complex else "float64"])
    return from_host(np.power(float(base), powers._host_array()), dtype, device, requires_grad, out)
