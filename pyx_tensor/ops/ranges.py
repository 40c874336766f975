"""Numbers at equal distances: arange, range, linspace, logspace."""
import math

import numpy as np

from ..core.definitions import publish_function as creates
from ..core.dtype import by_name, get_default_dtype, read_dtype
from ..core.host_data import fill_linspace, float_range, from_host, host_array, int_range
from ..core.operands import one_int
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


def _range_dtype(dtype, *values):
    if dtype is not None:
        return read_dtype("arange", dtype)
    return by_name["int64"] if all(isinstance(v, (int, np.integer)) for v in values) else get_default_dtype()


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
        return from_host(int_range(start, end, step), by_name["int64"], device, requires_grad)
    if dtype is None and out is None and get_default_dtype().itemsize >= 4 and _are_usual_floats(start, end, step):
        dtype = get_default_dtype()
        return from_host(float_range(start, step, math.ceil((end - start) / step), dtype), dtype, device, requires_grad)
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
        return from_host(start + np.arange(count, dtype=kind) * kind(step), dtype, device, requires_grad, out)


@creates
def range(start=0, end=None, step=1, *, out=None, dtype=None, device=None, requires_grad=False):
    """Early PyTorch's range, which includes `end`; `arange` is its modern form."""
    if end is None:
        start, end = 0, start
    _check_range_bounds("range", start=start, end=end, step=step)
    count = int((end - start) / step) + 1
    return from_host(start + np.arange(count, dtype=np.float64) * step, read_dtype("range", dtype) or get_default_dtype(), device, requires_grad, out)


@creates
def linspace(start, end, steps=100, *, out=None, dtype=None, layout=None, device=None, requires_grad=False):
    """`steps` numbers at equal distances from `start` to `end`, both included."""
    start, end = (v.item() if isinstance(v, TensorBase) else v for v in (start, end))
    steps = one_int("linspace", "steps", steps)
    if steps < 0:
        raise RuntimeError(f"number of steps must be non-negative, got {steps}")
    dtype = read_dtype("linspace", dtype) or (out.dtype if out is not None else get_default_dtype())
    if dtype.category < 3 and not isinstance(start, complex) and not isinstance(end, complex):
        numbers = host_array("linspace", (steps,), dtype if dtype.name == "float32" else by_name["float64"])
        return from_host(fill_linspace(numbers, start, end), dtype, device, requires_grad, out)
    # Complex numbers the same way: the first half counts from the start, the second from the end, so both ends are exact.
    width, at = (complex(end) - complex(start)) / max(steps - 1, 1), np.arange(steps)
    numbers = np.where(at < steps // 2, start + width * at, end - width * (steps - 1 - at)) if steps > 1 else np.full(steps, start, np.complex128)
    return from_host(numbers, dtype, device, requires_grad, out)


@creates
def logspace(start, end, steps=100, base=10.0, *, out=None, dtype=None, layout=None, device=None, requires_grad=False):
    """`base` to the power of `linspace(start, end, steps)`."""
    start, end = (v.item() if isinstance(v, TensorBase) else v for v in (start, end))
    dtype = read_dtype("logspace", dtype) or (out.dtype if out is not None else get_default_dtype())
    if dtype.category < 2:
        start, end = int(start), int(end)
    powers = linspace(start, end, steps, dtype=by_name["complex128" if dtype.is_complex else "float64"])
    return from_host(np.power(float(base), powers._host_array()), dtype, device, requires_grad, out)
