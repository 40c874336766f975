"""The numerical limits of dtypes."""
import functools
import math

import ml_dtypes
import numpy as np

from .dtype import PYTHON_NUMBERS, DType, get_default_dtype

__all__ = ["finfo", "iinfo"]

_DEFAULT = object()      # stands for the default dtype of the moment
_REAL_PARTS = {"complex32": "float16", "complex64": "float32", "complex128": "float64"}


class _TypeInfo:
    """Read-only attributes, equality by dtype, and a repr that lists ``_shown`` with six digits. There is one object for each dtype."""

    __slots__ = ()
    _shown = ()

    def _fill(self, **facts):
        for name, value in facts.items():
            object.__setattr__(self, name, value)

    def __setattr__(self, name, value):
        raise AttributeError(f"attribute {name!r} of {type(self).__name__!r} objects is not writable")

    def __delattr__(self, name):
        raise AttributeError(f"attribute {name!r} of {type(self).__name__!r} objects is not deletable")

    def __eq__(self, other):
        return self.dtype == other.dtype if type(other) is type(self) else NotImplemented

    def __hash__(self):
        return hash((type(self), self.dtype))

    def __repr__(self):
        shown = (f"{name}={getattr(self, name):g}" for name in self._shown)
        return f"{type(self).__name__}({', '.join(shown)}, dtype={self.dtype})"

    def __reduce__(self):
        return type(self), (self.dtype,)


class finfo(_TypeInfo):
    """The limits of a floating-point dtype; of a complex dtype, those of its real part.

    Args:
        type: a dtype, its name, or Python's ``float`` or ``complex``; the default dtype by default.

    Attributes:
        bits: size of a value.
        eps: the smallest number such that 1 + eps differs from 1.
        max, min: the largest and the smallest finite value.
        tiny, smallest_normal: the smallest positive normal value.
        resolution: 10 to the minus the number of decimal digits that every value keeps.
        dtype: the dtype's name.
    """

    __slots__ = ("bits", "eps", "max", "min", "tiny", "smallest_normal", "resolution", "dtype")
    _shown = ("resolution", "min", "max", "eps", "smallest_normal", "tiny")

    def __new__(cls, type=_DEFAULT):
        return _finfo(cls, _dtype_name("finfo", get_default_dtype() if type is _DEFAULT else type))


@functools.cache
def _finfo(cls, name):
    try:
        limits = ml_dtypes.finfo(_REAL_PARTS.get(name, name))
    except (TypeError, ValueError):
        raise TypeError(f"finfo() requires a floating-point or complex dtype, got {name}; "
                        "iinfo() has the limits of integer dtypes") from None
    eps, smallest_normal = float(limits.eps), float(limits.smallest_normal)
    info = object.__new__(cls)
    info._fill(bits=limits.bits, eps=eps, max=float(limits.max), min=float(limits.min), tiny=smallest_normal,
               smallest_normal=smallest_normal, resolution=10.0 ** -_decimal_digits(eps), dtype=str(limits.dtype))
    return info


class iinfo(_TypeInfo):
    """The limits of an integer dtype.

    Args:
        type: a dtype, its name, or Python's ``int``.

    Attributes:
        bits: size of a value.
        max, min: the largest and the smallest value.
        dtype: the dtype's name.
    """

    __slots__ = ("bits", "max", "min", "dtype")
    _shown = ("min", "max")

    def __new__(cls, type):
        return _iinfo(cls, _dtype_name("iinfo", type))


@functools.cache
def _iinfo(cls, name):
    try:
        limits = np.iinfo(name)
    except (TypeError, ValueError):
        raise TypeError(f"iinfo() requires an integer dtype, got {name}; "
                        "finfo() has the limits of floating-point dtypes") from None
    info = object.__new__(cls)
    info._fill(bits=limits.bits, max=int(limits.max), min=int(limits.min), dtype=str(limits.dtype))
    return info


def _dtype_name(caller, dtype):
    if isinstance(dtype, DType):
        return dtype.name
    if isinstance(dtype, type):
        name = getattr(PYTHON_NUMBERS.get(dtype), "name", None)
    else:
        name = dtype if isinstance(dtype, str) else getattr(dtype, "name", None)
    if not isinstance(name, str):
        raise TypeError(f"{caller}(): argument 'type' must be a dtype or its name, got {dtype!r}")
    return name


def _decimal_digits(eps):
    """How many decimal digits survive a trip through a binary format whose spacing at 1 is ``eps``."""
    return math.floor(-math.log10(eps))
