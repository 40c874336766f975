"""Making arrays."""
from ..core.tensor import TensorBase
from ..ops import namespace as ops


def asarray(obj, /, *, dtype=None, device=None, copy=None):
    """A tensor of numbers, nested sequences, an ndarray or another array; shares memory where it can, unless `copy`."""
    return ops.asarray(obj, dtype=dtype, device=device, copy=copy)


def from_dlpack(x, /, *, device=None, copy=None):
    """A tensor on the memory of another library's array."""
    result = x if isinstance(x, TensorBase) else ops.from_dlpack(x)
    if copy is False and device is not None and result.device != ops.empty(0, device=device).device:
        raise ValueError("from_dlpack: another device needs a copy")
    result = result if device is None else result.to(device)
    return ops.clone(result) if copy else result


def arange(start, /, stop=None, step=1, *, dtype=None, device=None):
    """Numbers from `start` (0) up to but without `stop`; none where the step leads away from it."""
    if stop is None:
        start, stop = 0, start
    if step and (stop - start) / step <= 0:
        stop = start
    return ops.arange(start, stop, step, dtype=dtype, device=device)


def linspace(start, stop, /, num, *, dtype=None, device=None, endpoint=True):
    """`num` numbers at equal distances, `stop` included unless `endpoint` is False."""
    if dtype is None and (isinstance(start, complex) or isinstance(stop, complex)):
        dtype = ops.get_default_dtype().to_complex()
    if endpoint or not num:
        return ops.linspace(start, stop, num, dtype=dtype, device=device)
    return ops.linspace(start, stop, num + 1, dtype=dtype, device=device)[:-1]


def empty(shape, *, dtype=None, device=None):
    """An uninitialised tensor."""
    return ops.empty(shape, dtype=dtype, device=device)


def zeros(shape, *, dtype=None, device=None):
    """Zeros."""
    return ops.zeros(shape, dtype=dtype, device=device)


def ones(shape, *, dtype=None, device=None):
    """Ones."""
    return ops.ones(shape, dtype=dtype, device=device)


def full(shape, fill_value, *, dtype=None, device=None):
    """One number everywhere, whose kind gives the dtype unless one is given."""
    return ops.full((shape,) if isinstance(shape, int) else tuple(shape), fill_value, dtype=dtype, device=device)


def eye(n_rows, n_cols=None, /, *, k=0, dtype=None, device=None):
    """Ones on the k-th diagonal."""
    n_cols = n_rows if n_cols is None else n_cols
    rows, columns = ops.arange(n_rows, device=device), ops.arange(n_cols, device=device)
    return (columns - rows[:, None] == k).to(ops.get_default_dtype() if dtype is None else dtype)


def _like(name):
    def function(x, /, *, dtype=None, device=None):
        return getattr(ops, name)(x, dtype=dtype, device=device)
    function.__name__ = function.__qualname__ = name
    function.__doc__ = getattr(ops, name).__doc__
    return function


empty_like, zeros_like, ones_like = map(_like, ("empty_like", "zeros_like", "ones_like"))


def full_like(x, /, fill_value, *, dtype=None, device=None):
    """One number everywhere, in the shape of x."""
    return ops.full_like(x, fill_value, dtype=dtype, device=device)


def meshgrid(*arrays, indexing="xy"):
    """Coordinates of a grid; 'xy' by default, as in the standard."""
    if indexing not in ("xy", "ij"):
        raise ValueError(f"indexing must be 'xy' or 'ij', got {indexing!r}")
    return list(ops.meshgrid(*arrays, indexing=indexing)) if arrays else []


def tril(x, /, *, k=0):
    """The elements on and below the k-th diagonal, zeros elsewhere."""
    return ops.tril(x, k)


def triu(x, /, *, k=0):
    """The elements on and above the k-th diagonal, zeros elsewhere."""
    return ops.triu(x, k)
