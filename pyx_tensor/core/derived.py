"""Entries that a backend has without writing them: made of the mandatory primitives, on arrays.

They serve a backend written from scratch; one that can do better overrides them. What can't be made well of the primitives
(integer division, powers, inverse functions, sorting) a backend supplies, or takes from the CPU by `fallback_to_cpu`.
"""
import math

import numpy as np

FLOATING = ("float16", "bfloat16", "float32", "float64")
COMPLEX = ("complex64", "complex128")


def contiguous_strides(shape):
    """Strides, in elements, of a row-major array."""
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))


class DerivedEntries:
    """The part of a Backend that follows from its primitives."""

    # -- constants, and what kind of numbers an array holds
    def index_of(self, array):
        """The index of the device on which an array lies; of interest where there are several."""
        return 0

    def place_of(self, array):
        """The last argument of functions that make an array, for one beside `array`; nothing where devices carry no index."""
        return () if self.current_device() is None else (self.index_of(array),)

    def scalar_like(self, array, value):
        """A 0-dim array of the dtype and on the device of `array`."""
        return self.full((), value, self.dtypes[self.dtype_name(array)], *self.place_of(array))

    def _is_floating(self, array):
        return self.dtype_name(array) in FLOATING

    def _refuse_complex(self, entry, array):
        if self.dtype_name(array) in COMPLEX:
            raise TypeError(f"{entry} isn't defined for {self.dtype_name(array)}")

    # -- comparison and logic
    def ne(self, a, b):
        return self.bitwise_not(self.eq(a, b))

    def gt(self, a, b):
        return self.lt(b, a)

    def le(self, a, b):
        return self.bitwise_or(self.lt(a, b), self.eq(a, b))

    def ge(self, a, b):
        return self.le(b, a)

    def logical_not(self, a):
        return self.eq(a, self.scalar_like(a, 0))

    def logical_and(self, a, b):
        return self.bitwise_not(self.bitwise_or(self.logical_not(a), self.logical_not(b)))

    def logical_or(self, a, b):
        return self.bitwise_not(self.bitwise_and(self.logical_not(a), self.logical_not(b)))

    def logical_xor(self, a, b):
        return self.bitwise_xor(self.logical_not(a), self.logical_not(b))

    def isnan(self, a):
        return self.ne(a, a)

    def isinf(self, a):
        if not self._is_floating(a):
            self._refuse_complex("isinf", a)
            return self.ne(a, a)
        return self.eq(self.abs(a), self.scalar_like(a, math.inf))

    def isfinite(self, a):
        return self.bitwise_not(self.bitwise_or(self.isnan(a), self.isinf(a)))

    def signbit(self, a):
        negative = self.lt(a, self.scalar_like(a, 0))
        if not self._is_floating(a):
            return negative
        one = self.scalar_like(a, 1)
        pole = self.div(one, self.where(self.logical_not(a), a, one))      # -inf at a negative zero
        return self.bitwise_or(negative, self.lt(pole, self.scalar_like(a, 0)))

    # -- arithmetic
    def sub(self, a, b):
        return self.add(a, self.neg(b))

    def abs(self, a):
        self._refuse_complex("abs", a)
        zero = self.scalar_like(a, 0)
        return self.where(self.lt(a, zero), self.neg(a), self.add(a, zero))      # -0 + 0 is 0

    def sign(self, a):
        zero, dtype = self.scalar_like(a, 0), self.dtypes[self.dtype_name(a)]
        return self.sub(self.cast(self.lt(zero, a), dtype), self.cast(self.lt(a, zero), dtype))

    def copysign(self, a, b):
        return self.where(self.bitwise_xor(self.signbit(a), self.signbit(b)), self.neg(a), a)

    def ceil(self, a):
        return self.neg(self.floor(self.neg(a))) if self._is_floating(a) else self.copy(a)

    def trunc(self, a):
        return self.where(self.signbit(a), self.ceil(a), self.floor(a)) if self._is_floating(a) else self.copy(a)

    def round(self, a):
        """The nearest integer, halves to the even one."""
        if not self._is_floating(a):
            return self.copy(a)
        low, half, dtype = self.floor(a), self.scalar_like(a, 0.5), self.dtypes[self.dtype_name(a)]
        rest = self.sub(a, low)
        odd = self.ne(self.floor(self.mul(low, half)), self.mul(low, half))
        up = self.bitwise_or(self.lt(half, rest), self.bitwise_and(self.eq(rest, half), odd))
        return self.copysign(self.abs(self.add(low, self.cast(up, dtype))), a)

    def _reversed(self, a):
        """Numbers in the opposite order."""
        return self.neg(a) if self._is_floating(a) else self.bitwise_not(a)

    def minimum(self, a, b):
        return self._reversed(self.maximum(self._reversed(a), self._reversed(b)))

    # -- reductions
    def amin(self, a, dims, keepdim):
        return self._reversed(self.amax(self._reversed(a), dims, keepdim))

    def mean(self, a, dims, keepdim):
        count = math.prod(a.shape[d] for d in dims)
        return self.div(self.sum(a, dims, keepdim), self.scalar_like(a, count))

    # -- indexing
    def gather(self, a, dim, index):
        size = a.shape[dim] if a.shape else 1
        numbers = self.to_numpy(index)
        if numbers.size and not (0 <= numbers.min() and numbers.max() < size):
            wrong = numbers[(numbers < 0) | (numbers >= size)][0]
            raise RuntimeError(f"index {wrong} is out of bounds for dimension {dim} with size {size}")
        position = np.zeros(numbers.shape, np.int64)
        for d, stride in enumerate(contiguous_strides(a.shape)):
            position += (numbers if d == dim else np.indices(numbers.shape, sparse=True)[d]) * stride
        flat = self.as_strided(self.copy(a), (math.prod(a.shape),), (1,), 0)
        taken = self.index_select(flat, 0, self.from_numpy(position.reshape(-1), *self.place_of(a)))
        return self.as_strided(taken, numbers.shape, contiguous_strides(numbers.shape), 0)
