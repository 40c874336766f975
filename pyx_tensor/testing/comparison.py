"""assert_close: are two tensors, numbers, or nests of them equal up to rounding?"""
from collections.abc import Mapping, Sequence
from numbers import Number

import numpy as np

from ..core.device import make_device
from ..core.dtype import by_name, of_numpy
from ..core.tensor import TensorBase

# Relative and absolute tolerance by dtype; other dtypes must agree exactly.
TOLERANCES = {"float16": (1e-3, 1e-5), "bfloat16": (1.6e-2, 1e-5), "float32": (1.3e-6, 1e-5), "float64": (1e-7, 1e-7),
              "complex64": (1.3e-6, 1e-5), "complex128": (1e-7, 1e-7)}


def assert_close(actual, expected, *, allow_subclasses=True, rtol=None, atol=None, equal_nan=False, check_device=True,
                 check_dtype=True, check_layout=True, check_stride=False, msg=None):
    """Check that |actual - expected| <= atol + rtol * |expected| for every element.

    Args:
        actual, expected: tensors, arrays or numbers, or sequences or mappings of them (compared part by part); None
            equals None.
        allow_subclasses: if False, both must have exactly the same class.
        rtol, atol: tolerances, both or neither; by default those of the dtype (the looser ones where dtypes differ).
        equal_nan: NaN equals NaN.
        check_device, check_dtype, check_layout, check_stride: whether these must agree too.
        msg: replaces the message; a function gets the message and returns another.

    Raises:
        AssertionError: they aren't close; the message says where and by how much.
        TypeError: the values can't be compared.
        ValueError: only one of rtol and atol is given.
    """
    if (rtol is None) != (atol is None):
        raise ValueError(f"rtol and atol must both be given or both be left out, got rtol={rtol} and atol={atol}")
    comparison = _Comparison(allow_subclasses, rtol, atol, equal_nan, check_device, check_dtype, check_layout, check_stride)
    complaint = comparison.compare(actual, expected, "")
    if complaint is not None:
        raise AssertionError(complaint if msg is None else msg(complaint) if callable(msg) else msg)


def _is_sequence(value):
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))


class _Comparison:
    """Compares by the options of one call; methods return a complaint, or None."""

    def __init__(self, allow_subclasses, rtol, atol, equal_nan, check_device, check_dtype, check_layout, check_stride):
        self.allow_subclasses = allow_subclasses
        self.tolerances = None if rtol is None else (rtol, atol)
        self.equal_nan = equal_nan
        self.check_device, self.check_dtype = check_device, check_dtype
        self.check_layout, self.check_stride = check_layout, check_stride

    def compare(self, actual, expected, where):
        if _is_sequence(actual) and _is_sequence(expected):
            return self._compare_parts(actual, expected, range(len(expected)), where)
        if isinstance(actual, Mapping) and isinstance(expected, Mapping):
            if set(actual) != set(expected):
                return f"The keys of the mappings differ: {sorted(map(str, actual))} and {sorted(map(str, expected))}{where}"
            return self._compare_parts(actual, expected, expected, where)
        if actual is None or expected is None:
            return None if actual is expected else f"None mismatch: {actual} is not {expected}{where}"
        if not self.allow_subclasses and type(actual) is not type(expected):
            raise TypeError(f"allow_subclasses=False, and the classes differ: {type(actual)} and {type(expected)}")
        return self._compare_leaves(actual, expected, where)

    def _compare_parts(self, actual, expected, keys, where):
        if len(actual) != len(expected):
            return f"The length of the sequences mismatch: {len(actual)} != {len(expected)}{where}"
        complaints = (self.compare(actual[k], expected[k], f"{where or chr(10) * 2 + 'The failure occurred for item '}[{k!r}]")
                      for k in keys)
        return next((c for c in complaints if c is not None), None)

    def _compare_leaves(self, actual, expected, where):
        scalars = isinstance(actual, Number) and isinstance(expected, Number)
        a, b = _Leaf(actual), _Leaf(expected)
        complaint = None if scalars else self._compare_attributes(a, b)
        if complaint is None:
            complaint = self._compare_values(a, b, "Scalars" if scalars else "Tensor-likes")
        return None if complaint is None else complaint + where

    def _compare_attributes(self, a, b):
        wanted = [("shape", True), ("device", self.check_device), ("dtype", self.check_dtype), ("layout", self.check_layout),
                  ("stride", self.check_stride)]
        for name, checked in wanted:
            left, right = getattr(a, name), getattr(b, name)
            if checked and left != right and None not in (left, right):
                return f"The values for attribute '{name}' do not match: {left} != {right}."
        return None

    def _compare_values(self, a, b, what):
        rtol, atol = self.tolerances or map(max, zip(a.tolerances, b.tolerances))
        left, right = a.values, b.values
        with np.errstate(all="ignore"):
            distance = np.abs(left - right)
            close = (left == right) | (np.isfinite(right) & (distance <= atol + rtol * np.abs(right)))
            if self.equal_nan:
                close |= np.isnan(left) & np.isnan(right)
            if close.all():
                return None
            relative = distance / np.abs(right)
        if not close.ndim:
            return (f"{what} are not {'close' if rtol or atol else 'equal'}!\n\nExpected {right[()]} but got {left[()]}.\n"
                    f"Absolute difference: {distance[()]} (up to {atol} allowed)\n"
                    f"Relative difference: {relative[()]} (up to {rtol} allowed)")
        count, total = int((~close).sum()), close.size
        return (f"{what} are not {'close' if rtol or atol else 'equal'}!\n\n"
                f"Mismatched elements: {count} / {total} ({100 * count / total:.1f}%)\n"
                f"Greatest absolute difference: {_greatest(distance, close)} (up to {atol} allowed)\n"
                f"Greatest relative difference: {_greatest(relative, close)} (up to {rtol} allowed)")


def _greatest(difference, close):
    """The largest difference among the mismatches, and its index; NaN counts as the largest."""
    ranked = np.where(close, -1.0, np.where(np.isnan(difference), np.inf, difference))
    at = np.unravel_index(int(ranked.argmax()), ranked.shape)
    return f"{difference[at]} at index {tuple(int(i) for i in at)}"


class _Leaf:
    """A tensor, array or number as NumPy values wide enough to subtract, with the attributes to compare."""

    def __init__(self, value):
        if isinstance(value, TensorBase):
            raw = np.asarray(value.device.backend.to_numpy(value.array))
            self.device, self.dtype, self.stride = value.device, value.dtype, value.stride()
        elif isinstance(value, (np.ndarray, Number)):
            raw = np.asarray(value)
            self.device, self.dtype = make_device("cpu"), of_numpy(raw.dtype)
            self.stride = tuple(s // raw.itemsize for s in raw.strides)
        else:
            raise TypeError(f"No comparison pair was able to handle inputs of type {type(value)}")
        self.layout = getattr(value, "layout", None)      # arrays and numbers have none to compare
        self.shape = raw.shape
        self.tolerances = TOLERANCES.get(self.dtype.name, (0.0, 0.0))
        self.values = raw.astype(_wide(self.dtype))


def _wide(dtype):
    """A NumPy dtype that holds the values of `dtype` and their differences."""
    if dtype.is_complex:
        return np.complex128
    if dtype.is_floating_point or dtype is by_name["bool"]:
        return np.float64
    return np.longdouble if dtype is by_name["uint64"] else np.int64
