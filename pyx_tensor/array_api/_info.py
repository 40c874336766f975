"""Dtypes, devices, and what the namespace says of itself."""
import numpy as np

from ..core import dtype as _dtypes
from ..core.device import get_default_device, make_device
from ..core.dtype import DType, by_name, of_numpy
from ..core.registry import get_backend
from ..core.tensor import TensorBase
from ..core.typeinfo import finfo as _finfo
from ..core.typeinfo import iinfo as _iinfo
from ..ops import namespace as ops

_SIGNED, _UNSIGNED = ("int8", "int16", "int32", "int64"), ("uint8", "uint16", "uint32", "uint64")
KINDS = {"bool": ("bool",), "signed integer": _SIGNED, "unsigned integer": _UNSIGNED, "integral": _SIGNED + _UNSIGNED,
         "real floating": ("float32", "float64"), "complex floating": ("complex64", "complex128")}
KINDS["numeric"] = KINDS["integral"] + KINDS["real floating"] + KINDS["complex floating"]


def _dtype_of(x):
    """The dtype of an array, or that a dtype, ours or NumPy's, stands for."""
    if isinstance(x, TensorBase):
        return x.dtype
    return x if isinstance(x, DType) else of_numpy(np.dtype(x))


def astype(x, dtype, /, *, copy=True, device=None):
    """The values as another dtype; a copy, unless `copy` is False and nothing changes."""
    if x.dtype.is_complex and not dtype.is_complex:
        raise TypeError(f"astype: complex numbers can't be cast to {dtype}")
    return x.to(device, dtype, copy=copy) if device is not None else x.to(dtype, copy=copy)


def can_cast(from_, to, /):
    """Whether a dtype (or a tensor's) promotes to another."""
    return _dtypes.promote_types(_dtype_of(from_), to) is to


def result_type(*arrays_and_dtypes):
    """The dtype to which all promote; Python numbers count by their kind alone."""
    known = [_dtype_of(x) for x in arrays_and_dtypes if not isinstance(x, (bool, int, float, complex))]
    if not known:
        raise ValueError("result_type: at least one array or dtype is needed")
    found = known[0]
    for dtype in known[1:]:
        found = _dtypes.promote_types(found, dtype)
    like = ops.empty((1,), dtype=found)
    for number in arrays_and_dtypes:
        if isinstance(number, (bool, int, float, complex)):
            like = ops.empty((1,), dtype=ops.result_type(like, number))
    return like.dtype


def finfo(type, /):
    """Limits of a floating-point dtype; those of its parts for a complex one."""
    dtype = _dtype_of(type)
    return _finfo(dtype.to_real() if dtype.is_complex else dtype)


def iinfo(type, /):
    """Limits of an integer dtype."""
    return _iinfo(_dtype_of(type))


def isdtype(dtype, kind, /):
    """Whether a dtype is another one, or of a kind such as 'integral' or 'real floating', or of any in a tuple."""
    if isinstance(kind, tuple):
        return any(isdtype(dtype, item) for item in kind)
    if isinstance(kind, str):
        if kind not in KINDS:
            raise ValueError(f"isdtype: unknown kind {kind!r}, expected one of {', '.join(KINDS)}")
        return _dtype_of(dtype).name in KINDS[kind]
    return _dtype_of(dtype) is _dtype_of(kind)


class __array_namespace_info__:
    """What the namespace can do: devices, dtypes, capabilities."""

    def capabilities(self):
        """Boolean indexing and shapes that depend on data are there; an array has at most 64 dims."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self):
        """The device on which arrays are made."""
        return get_default_device()

    def default_dtypes(self, *, device=None):
        """The dtypes of arrays made without one."""
        real = ops.get_default_dtype()
        return {"real floating": real, "complex floating": real.to_complex(), "integral": by_name["int64"], "indexing": by_name["int64"]}

    def devices(self):
        """The devices that are there."""
        return [make_device("cpu"), *[make_device("cuda", i) for i in range(_cuda_devices())]]

    def dtypes(self, *, device=None, kind=None):
        """Name -> dtype, of one kind or of several if given."""
        names = KINDS["bool"] + KINDS["numeric"] if kind is None else [
            name for k in (kind if isinstance(kind, tuple) else (kind,)) for name in KINDS[k]]
        return {name: by_name[name] for name in names}


def _cuda_devices():
    try:
        return get_backend("cuda").device_count()
    except (RuntimeError, ImportError):
        return 0
