"""The Python array API standard (2024.12) over tensors: what `x.__array_namespace__()` returns.

Names, argument names and results are the standard's, which differ from PyTorch's here and there: `max(x, axis=0)` gives values
alone, `concat`, `permute_dims`, `astype`. Functions take tensors, and Python numbers where the standard has them; gradients flow
through them. Beyond the standard, operands of different kinds (integers and floats) promote as in PyTorch.

One departure is PyTorch's and stays: `x.size` is a method. Array API programs that care use `array_api_compat.size(x)` or
`math.prod(x.shape)`.
"""
from math import e, inf, nan, pi

from ..core.dtype import by_name as _by_name
from ._creation import (arange, asarray, empty, empty_like, eye, from_dlpack, full, full_like, linspace, meshgrid, ones, ones_like, tril, triu,
                        zeros, zeros_like)
from ._elementwise import *  # noqa: F401,F403
from ._info import __array_namespace_info__, astype, can_cast, finfo, iinfo, isdtype, result_type
from ._manipulation import (broadcast_arrays, broadcast_to, concat, expand_dims, flip, matrix_transpose, moveaxis, permute_dims, repeat, reshape, roll,
                            squeeze, stack, tile, unstack)
from ._reductions import (all, any, argmax, argmin, count_nonzero, cumulative_prod, cumulative_sum, diff, max, mean, min, prod, std, sum, var)
from ._search import (argsort, isin, nonzero, searchsorted, sort, take, take_along_axis, unique_all, unique_counts, unique_inverse, unique_values, where)
from ._products import matmul, tensordot, vecdot

__array_api_version__ = "2024.12"
newaxis = None

for _name in ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64", "complex64", "complex128"):
    globals()[_name] = _by_name[_name]


def __getattr__(name):
    if name in ("linalg", "fft"):         # the standard's extensions
        from importlib import import_module
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted(name for name in {*globals(), "linalg", "fft"} if not name.startswith("_") or name.startswith("__array"))
