"""The backend under test, as the checks of the conformance kit see it."""
import unittest

import numpy as np

from ..core.dtype import by_name
from ..core.registry import get_backend

EPS = {"float16": 2.0 ** -10, "bfloat16": 2.0 ** -7, "float32": 2.0 ** -23, "float64": 2.0 ** -52,
       "complex64": 2.0 ** -23, "complex128": 2.0 ** -52}
INTEGERS = tuple(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))
FLOATS = ("float16", "bfloat16", "float32", "float64")
COMPLEXES = ("complex64", "complex128")
ALL = ("bool", *INTEGERS, *FLOATS, *COMPLEXES)


def numpy_dtype(name):
    """The NumPy dtype with the name of one of ours."""
    return by_name[name].numpy


def wide(values):
    """NumPy values in a dtype of at least twice the precision where there is one, to compute expectations in."""
    values = np.asarray(values)
    if values.dtype.kind == "c":
        return values.astype(np.clongdouble)
    return values if values.dtype.kind in "biu" else values.astype(np.longdouble)


class Subject:
    """A backend with what the checks need around it."""

    def __init__(self, name):
        self.name = name
        self.backend = get_backend(name)
        self.ordinal = self.backend.current_device() or 0
        self.place = () if self.backend.current_device() is None else (self.ordinal,)      # what functions that make arrays get

    def dtypes(self, wanted=ALL):
        """Those of the wanted dtypes that the backend has; the check is skipped where it has none."""
        found = [d for d in wanted if d in self.backend.dtypes]
        if not found:
            raise unittest.SkipTest(f"the backend has none of the dtypes {', '.join(wanted)}")
        return found

    def require(self, condition, what):
        if not condition:
            raise unittest.SkipTest(what)

    def array(self, values, dtype=None):
        """A fresh array of the backend."""
        values = np.array(values, dtype=None if dtype is None else numpy_dtype(dtype), order="C")
        return self.backend.from_numpy(values, self.ordinal)

    def layouts(self, values, dtype=None):
        """The same values in every memory layout that the backend has: (name, array) pairs."""
        yield "contiguous", self.array(values, dtype)
        values = np.asarray(values)
        if self.backend.strided and values.ndim >= 2 and values.size:
            turned = self.array(values.T, dtype)
            strides = tuple(reversed(self.backend.strides(turned)))
            yield "transposed", self.backend.as_strided(turned, values.shape, strides, 0)
            spaced = self.array(np.repeat(values.reshape(-1), 3), dtype)
            strides = tuple(3 * s // values.itemsize for s in np.ascontiguousarray(values).strides)
            yield "spaced", self.backend.as_strided(spaced, values.shape, strides, 1)

    def numpy(self, array):
        return np.asarray(self.backend.to_numpy(array))

    def call(self, entry, *args, **keywords):
        """Call an entry; check that it leaves its inputs alone and returns proper arrays of the backend."""
        function = getattr(self.backend, entry, None)
        self.require(callable(function), "the backend leaves this operation to its default")
        arrays = [a for a in args if isinstance(a, self.backend.array_type)]
        before = [self.numpy(a).tobytes() for a in arrays]
        result = function(*args, **keywords)
        written = {id(k) for k in keywords.values()}
        for array, content in zip(arrays, before):
            assert id(array) in written or self.numpy(array).tobytes() == content, f"{entry} changed one of its inputs"
        for part in result if isinstance(result, (tuple, list)) else (result,):
            kind = self.backend.array_type
            assert isinstance(part, kind), f"{entry} returned {type(part).__name__}, not {kind.__name__}"
        return result

    def takes_out(self, entry):
        code = getattr(getattr(self.backend, entry, None), "__code__", None)
        return code is not None and "out" in code.co_varnames[:code.co_argcount + code.co_kwonlyargcount]

    def check(self, result, expected, *, ulps=0, dtype=None, least=0, zeros=False, what=""):
        """Compare an array with NumPy values: shape, dtype, and values to `ulps` (by the size of the expected value).

        NaN must meet NaN, infinity infinity; with `zeros` zeros must agree in sign. Values below `least` count as that large.
        """
        expected = np.asarray(expected)
        dtype = dtype or by_name[np.dtype(expected.dtype).name].name
        found = self.backend.dtype_name(result)
        assert found == dtype, f"{what}: dtype {found}, expected {dtype}"
        assert tuple(result.shape) == expected.shape, f"{what}: shape {tuple(result.shape)}, expected {expected.shape}"
        got = self.numpy(result)
        with np.errstate(all="ignore"):
            expected = expected.astype(numpy_dtype(dtype))
            if dtype not in EPS:
                good = got == expected
            else:
                good = _close(wide(got), wide(expected), ulps * EPS[dtype], self._smallest(dtype), least)
                if zeros and dtype in FLOATS:
                    good &= (expected != 0) | (np.signbit(wide(got)) == np.signbit(wide(expected)))
        if not np.all(good):
            at = tuple(int(i) for i in np.argwhere(~good)[0])
            raise AssertionError(f"{what}: {got[at]} at {at}, expected {expected[at]} ({int((~good).sum())} of {good.size} are wrong)")

    @staticmethod
    def _smallest(dtype):
        return np.longdouble(2.0) ** {"float16": -24, "bfloat16": -133, "float32": -149, "complex64": -149}.get(dtype, -1074)


def _close(got, expected, eps, smallest, least):
    size = np.maximum(np.abs(expected), least)
    if got.dtype.kind == "c":      # each part may be off by some ulps of the whole
        return _close_by(got.real, expected.real, eps, size, smallest) & _close_by(got.imag, expected.imag, eps, size, smallest)
    return _close_by(got, expected, eps, size, smallest)


def _close_by(got, expected, eps, size, smallest):
    return ((got == expected) | (np.isnan(got) & np.isnan(expected))
            | (np.isfinite(expected) & np.isfinite(got) & (np.abs(got - expected) <= eps * size + (smallest if eps else 0))))
