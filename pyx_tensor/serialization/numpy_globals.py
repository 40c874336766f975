"""NumPy's scalars, dtypes and arrays in files that are not to be trusted, under the names of NumPy 1 and 2."""
import math
import operator
import re
from pickle import UnpicklingError

import numpy as np

KINDS = "biufcSU"        # plain values: no objects, structures or times
_SPELLING = re.compile(r"[<>|=]?([?]|[biufcSU][0-9]{1,9})")


def _dtype(spelling, align=False, copy=True):
    if isinstance(spelling, bytes):
        spelling = spelling.decode("latin1")
    if not isinstance(spelling, str) or not _SPELLING.fullmatch(spelling):
        raise UnpicklingError("load: a NumPy dtype that isn't a plain number or string type")
    return np.dtype(spelling, False, True)       # a copy: its state may set the byte order


def _plain(dtype):
    if not isinstance(dtype, np.dtype) or dtype.kind not in KINDS or dtype.hasobject or dtype.itemsize == 0:
        raise UnpicklingError("load: NumPy values that aren't plain numbers or strings")
    return dtype


def _scalar(dtype, data):
    dtype = _plain(dtype)
    if not isinstance(data, bytes) or len(data) != dtype.itemsize:
        raise UnpicklingError(f"load: a NumPy scalar of {dtype} isn't {dtype.itemsize} bytes long")
    return np.frombuffer(_clean(data, dtype), dtype)[0]


_ZERO_OR_ONE = bytes([0, *[1] * 255])


def _clean(data, dtype):
    """The bytes of values, those of bools made 0 and 1."""
    return data.translate(_ZERO_OR_ONE) if dtype.kind == "b" else data


def _reconstruct(cls, shape, kind):
    """An empty array that gets its values as a state."""
    if cls is not np.ndarray:
        raise UnpicklingError("load: a NumPy array of another class than numpy.ndarray")
    return np.ndarray.__new__(np.ndarray, (0,), "b")


def _checked_shape(shape, dtype, data):
    shape = tuple(operator.index(n) for n in shape) if isinstance(shape, (list, tuple)) else (-1,)
    if any(n < 0 for n in shape) or len(shape) > 32 or not isinstance(data, (bytes, bytearray)) or math.prod(shape) * dtype.itemsize != len(data):
        raise UnpicklingError(f"load: a NumPy array of shape {shape} and {dtype} doesn't fit its data")
    return shape


def _frombuffer(data, dtype, shape, order, axis_order=None):
    dtype = _plain(dtype)
    if axis_order is not None or order not in ("C", "F"):
        raise UnpicklingError("load: a NumPy array in an unknown order")
    return np.frombuffer(bytearray(_clean(data, dtype)), dtype).reshape(_checked_shape(shape, dtype, data), order=order)


NAMES = {
    ("numpy", "dtype"): np.dtype, ("numpy", "ndarray"): np.ndarray,
    **{(f"numpy.{core}.multiarray", "_reconstruct"): _reconstruct for core in ("core", "_core")},
    **{(f"numpy.{core}.multiarray", "scalar"): _scalar for core in ("core", "_core")},
    **{(f"numpy.{core}.numeric", "_frombuffer"): _frombuffer for core in ("core", "_core")},
    **{("numpy.dtypes", name): kind for name, kind in vars(np.dtypes).items()
       if isinstance(kind, type) and issubclass(kind, np.dtype) and name.startswith(("Bool", "Int", "UInt", "Float", "Complex"))},
}
CALLS = {np.dtype: _dtype, **{function: function for function in (_reconstruct, _scalar, _frombuffer)},
         **{kind: lambda *, kind=kind: np.dtype(kind(), False, True) for (module, _), kind in NAMES.items() if module == "numpy.dtypes"}}


def set_state(obj, state):
    """Give an array or a dtype its state; False where it is neither."""
    if type(obj) is np.ndarray:
        _, shape, dtype, is_fortran, data = state
        _checked_shape(shape, _plain(dtype), data)
        obj.__setstate__((1, tuple(shape), dtype, bool(is_fortran), bytes(_clean(data, dtype))))
        return True
    if isinstance(obj, np.dtype):
        _, order, subdtype, names, fields, size, alignment, flags = state[:8]
        same_size = size in (-1, obj.itemsize) and alignment in (-1, obj.alignment)
        if len(state) != 8 or (subdtype, names, fields) != (None, None, None) or not same_size or order not in ("<", ">", "|", "=") or flags != obj.flags:
            raise UnpicklingError("load: a NumPy dtype with a state that isn't a byte order")
        obj.__setstate__((3, order, None, None, None, size, alignment, flags))
        return True
    return False
