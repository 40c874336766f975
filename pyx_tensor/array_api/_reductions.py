"""Reductions and running sums."""
import builtins

from ..core.dtype import by_name
from ..ops import namespace as ops


def _accumulator(x, dtype):
    """The dtype of sums: unsigned integers and bool sum as the widest of their kind."""
    if dtype is None and x.dtype.name.startswith("uint"):
        return by_name["uint64"]
    return dtype


def sum(x, /, *, axis=None, dtype=None, keepdims=False):
    """The sum of all elements, or along axes."""
    return x.clone() if axis == () and dtype is None else _folded(ops.sum, x, axis, _accumulator(x, dtype), keepdims)


def prod(x, /, *, axis=None, dtype=None, keepdims=False):
    """The product of all elements, or along axes."""
    return x.clone() if axis == () and dtype is None else _folded(ops.prod, x, axis, _accumulator(x, dtype), keepdims)


def _folded(reduction, x, axis, dtype, keepdims):
    if dtype is not None and dtype.name == "uint64":      # computed as int64, whose bits are the same
        return ops._view_dtype(reduction(x.to(by_name["int64"]), axis, keepdims), dtype)
    return reduction(x, axis, keepdims, dtype=dtype)


def mean(x, /, *, axis=None, keepdims=False):
    """The mean of all elements, or along axes."""
    return x.clone() if axis == () else ops.mean(x, axis, keepdims)


def var(x, /, *, axis=None, correction=0.0, keepdims=False):
    """The variance, over the count minus `correction`."""
    return x - x if axis == () else ops.var(x, axis, correction=correction, keepdim=keepdims)


def std(x, /, *, axis=None, correction=0.0, keepdims=False):
    """The square root of the variance."""
    return x - x if axis == () else ops.std(x, axis, correction=correction, keepdim=keepdims)


def _extreme(name, reduction):
    def function(x, /, *, axis=None, keepdims=False):
        if not x.numel() and (axis is None or not builtins.all(x.shape[a] for a in ((axis,) if isinstance(axis, int) else axis))):
            raise ValueError(f"{name}: nothing to choose from in shape {tuple(x.shape)} along axis {axis}")
        return x.clone() if axis == () else getattr(ops, reduction)(x, () if axis is None else axis, keepdims)
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"The {name}imum of all elements, or along axes: values alone."
    return function


max, min = _extreme("max", "amax"), _extreme("min", "amin")


def all(x, /, *, axis=None, keepdims=False):
    """True where all elements (along axes) are non-zero."""
    return x != 0 if axis == () else ops.all(x != 0, axis, keepdims)


def any(x, /, *, axis=None, keepdims=False):
    """True where any element (along axes) is non-zero."""
    return x != 0 if axis == () else ops.any(x != 0, axis, keepdims)


def count_nonzero(x, /, *, axis=None, keepdims=False):
    """How many elements aren't zero."""
    return sum((x != 0).to(by_name["int64"]), axis=axis, keepdims=keepdims)


def _position(name):
    def function(x, /, *, axis=None, keepdims=False):
        found = getattr(ops, name)(x, axis, keepdims and axis is not None)
        return found.reshape((1,) * x.ndim) if keepdims and axis is None else found
    function.__name__ = function.__qualname__ = name
    function.__doc__ = getattr(ops, name).__doc__
    return function


argmax, argmin = _position("argmax"), _position("argmin")


# --- along one axis -----------------------------------------------------------------------------------------------
def _only_axis(name, x, axis):
    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"{name}: axis must be given for an array of {x.ndim} dims")
        return 0
    return axis


def _running(name, scan, start):
    def function(x, /, *, axis=None, dtype=None, include_initial=False):
        axis = _only_axis(name, x, axis)
        wide = _accumulator(x, dtype)
        if wide is not None and wide.name == "uint64":
            result = ops._view_dtype(getattr(ops, scan)(x.to(by_name["int64"]), axis), wide)
        else:
            result = getattr(ops, scan)(x, axis, dtype=wide)
        if not include_initial:
            return result
        shape = [1 if d == axis % x.ndim else n for d, n in enumerate(x.shape)]
        return ops.cat([ops.full(shape, start, dtype=result.dtype, device=x.device), result], axis)
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"The {'sums' if start == 0 else 'products'} of all elements up to each one; `include_initial` puts {start} before them."
    return function


cumulative_sum, cumulative_prod = _running("cumulative_sum", "cumsum", 0), _running("cumulative_prod", "cumprod", 1)


def diff(x, /, *, axis=-1, n=1, prepend=None, append=None):
    """The n-th differences of neighbours."""
    return ops.diff(x, n, axis, prepend, append)
