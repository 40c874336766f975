"""A backend over any module with the array-API surface: NumPy, CuPy, array_api_strict and the like.

It supplies every mandatory primitive, and of the other operations those that such a module has itself; the front end
has defaults for the rest. A backend of this kind declares what its arrays can do and overrides what it does better.
"""
import math

import numpy as np

from . import host_linalg, host_math
from .derived import contiguous_strides
from .protocol import Backend

CATEGORY = {"bool": "b", "float16": "f", "bfloat16": "f", "float32": "f", "float64": "f", "complex64": "c", "complex128": "c",
            **{f"{sign}int{bits}": "i" for sign in ("", "u") for bits in (8, 16, 32, 64)}}
HALF = ("float16", "bfloat16")      # computed in float32 and rounded once

# Entry: what it accepts, then the names that modules have for it. i, f, c: integers, floats, complex; b: bool, computed as
# the numbers 0 and 1 (modules may refuse arithmetic on bool); B: bool as it is.
POINTWISE = {
    "neg": "ifc negative", "abs": "ifc abs", "square": "ifc square", "reciprocal": "fc reciprocal",
    "sqrt": "fc sqrt", "exp": "fc exp", "exp2": "fc exp2", "expm1": "fc expm1", "log": "fc log", "log2": "fc log2",
    "log10": "fc log10", "log1p": "fc log1p", "sin": "fc sin", "cos": "fc cos", "tan": "fc tan",
    "asin": "fc asin arcsin", "acos": "fc acos arccos", "atan": "fc atan arctan", "sinh": "fc sinh", "cosh": "fc cosh",
    "tanh": "fc tanh", "asinh": "fc asinh arcsinh", "acosh": "fc acosh arccosh", "atanh": "fc atanh arctanh",
    "floor": "if floor", "ceil": "if ceil", "trunc": "if trunc", "round": "if round",
    "signbit": "bif signbit", "isnan": "bifc isnan", "isinf": "bifc isinf", "isfinite": "bifc isfinite",
    "add": "bifc add", "sub": "ifc subtract", "mul": "bifc multiply", "div": "fc divide true_divide",
    "floor_divide": "if floor_divide", "remainder": "if remainder", "fmod": "if fmod",
    "maximum": "bif maximum", "minimum": "bif minimum", "fmax": "bif fmax", "fmin": "bif fmin",
    "atan2": "f atan2 arctan2", "hypot": "f hypot", "copysign": "f copysign", "nextafter": "f nextafter",
    "eq": "bifc equal", "ne": "bifc not_equal", "lt": "bif less", "le": "bif less_equal", "gt": "bif greater",
    "ge": "bif greater_equal",
    "bitwise_not": "Bi bitwise_invert bitwise_not invert", "bitwise_and": "Bi bitwise_and", "bitwise_or": "Bi bitwise_or",
    "bitwise_xor": "Bi bitwise_xor", "bitwise_left_shift": "i bitwise_left_shift left_shift",
    "bitwise_right_shift": "i bitwise_right_shift right_shift",
}
UNCHANGED_INTEGERS = ("floor", "ceil", "trunc", "round")
ON_HOST = ("erf", "erfc", "erfinv", "lgamma", "digamma", "i0", "i0e", "i1", "i1e", "erfcx", "log_ndtr", "ndtri", "gammainc", "gammaincc",
           "zeta")      # no module has these: computed by way of NumPy
# Exponent of 1/n by which a Fourier transform is scaled -> what modules call that.
FORWARD_NORMS = {0: "backward", 0.5: "ortho", 1: "forward"}
INVERSE_NORMS = {0: "forward", 0.5: "ortho", 1: "backward"}
COMPLEX_OF = {"float32": "complex64", "float64": "complex128"}
DIVIDES_INTEGERS = ("floor_divide", "remainder", "fmod")


def module_dtypes(xp):
    """The dtypes that `xp` has, by the names that a Backend's `dtypes` uses."""
    as_dtype = getattr(xp, "dtype", lambda dtype: dtype)
    found = {name: getattr(xp, name, None) or getattr(xp, name + "_", None) for name in CATEGORY}     # bool, or NumPy 1's bool_
    return {name: as_dtype(dtype) for name, dtype in found.items() if dtype is not None}


class ArrayModuleBackend(Backend):
    """The protocol over the module `xp`.

    Args:
        name: the device type.
        xp: the module; names of the array-API standard are preferred, NumPy's older ones are found too.
        dtypes: dtype name -> the module's dtype; by default what `xp` has of the usual names.
        devices: how many devices there are, or a list of the module's device objects (then creation passes `device=`), of
            which NumPy can read the first one's arrays.
        strided: arrays have NumPy's `strides`, and `xp.lib.stride_tricks.as_strided` makes views of them.
        views: slices and reshapes share memory. mutable: `array[...] = value` writes in place.
        out: functions of `xp` take `out=`.
    """

    def __init__(self, name, xp, *, dtypes=None, devices=1, strided=False, views=False, mutable=False, out=False):
        self.name = name
        self.xp = xp
        self.dtypes = module_dtypes(xp) if dtypes is None else dict(dtypes)
        self.devices = None if isinstance(devices, int) else list(devices)
        self.strided, self.views, self.mutable, self.out = strided, views, mutable, out
        self.array_type = getattr(xp, "ndarray", None) or type(xp.empty((0,)))
        self._device_count = devices if self.devices is None else len(self.devices)
        self._names = {dtype: key for key, dtype in self.dtypes.items()}
        self._functions = {}
        for entry, rule in POINTWISE.items():
            accepts, *names = rule.split()
            function = next((getattr(xp, name) for name in names if hasattr(xp, name)), None)
            if function is None and entry == "fmod":
                function = self._fmod_by_remainder
            if function is not None:
                self.bind(entry, accepts, function)
        if not hasattr(getattr(xp, "linalg", None), "qr"):
            self.qr = None
        if not hasattr(xp, "fft"):
            self.fft_c2c = self.fft_r2c = self.fft_c2r = None
        for entry in ON_HOST:
            self.bind(entry, "f", self.on_host(getattr(host_math, entry)))
        for function in host_linalg.ENTRIES:
            setattr(self, function.__name__, self.by_numpy(function))

    def __repr__(self):
        return f"<{type(self).__name__} {self.name!r} over {self.xp.__name__}>"

    def describe(self, load_libraries=False):
        return {"arrays": f"{self.xp.__name__} {getattr(self.xp, '__version__', '')}".strip()}

    # -- pointwise entries
    def bind(self, entry, accepts, function):
        """Make a function of arrays the pointwise entry of that name, unless the class has one; see POINTWISE for `accepts`."""
        self._functions[entry] = function, accepts
        if getattr(type(self), entry, None) is not getattr(Backend, entry, None):
            return
        if self.out:
            def call(*arrays, out=None):
                return self._pointwise(entry, arrays, out)
        else:
            def call(*arrays):
                return self._pointwise(entry, arrays)
        call.__name__ = entry
        setattr(self, entry, call)

    def _pointwise(self, entry, arrays, out=None):
        """Call the bound function in the dtype that suits it, with integers and refusals as PyTorch has them."""
        function, accepts = self._functions[entry]
        name = self.dtype_name(arrays[0])
        category = CATEGORY[name]
        if category not in accepts.lower():
            raise TypeError(f"{entry} isn't defined for {name}")
        if entry == "signbit" and category == "i":
            return self.xp.asarray(arrays[0] < 0)
        if category == "i" and entry in UNCHANGED_INTEGERS:
            return self._written(self.copy(arrays[0]), out)
        if category == "i" and entry in DIVIDES_INTEGERS:
            self._check_divisor(arrays[1])
        lifted = self._lifted(name, "B" in accepts)
        with np.errstate(all="ignore"):
            if lifted is None and out is not None and entry not in ON_HOST:
                return function(*arrays, out=out)
            result = self._lift(function, lifted, arrays)
        return self._written(result, out)

    def _lifted(self, name, native_bool=False):
        """The dtype in which arrays of dtype `name` are computed, None for their own."""
        if name in HALF:
            return "float32"
        return "uint8" if name == "bool" and not native_bool else None

    def _lift(self, function, lifted, arrays):
        """function(*arrays), by way of the dtype `lifted`; a result of that dtype is cast back."""
        if lifted is None:
            return self.xp.asarray(function(*arrays))
        original, lifted = arrays[0].dtype, self.dtypes[lifted]
        result = self.xp.asarray(function(*[self.cast(a, lifted) for a in arrays]))
        return self.cast(result, original) if result.dtype == lifted else result

    def _written(self, result, out):
        if out is None:
            return result
        self.copy_(out, result)
        return out

    def _check_divisor(self, divisor):
        if bool(self.xp.any(divisor == 0)):
            raise ZeroDivisionError("integer division or modulo by zero")

    def _fmod_by_remainder(self, a, b):
        """The remainder with the sign of `a`, from that with the sign of `b`; exact."""
        xp = self.xp
        if CATEGORY[self.dtype_name(a)] == "f":
            size = xp.remainder(xp.abs(a), xp.abs(b))
            return xp.where(a < 0, -size, size)
        rest = xp.remainder(a, b)
        return xp.where((rest != 0) & ((a < 0) != (b < 0)), rest - b, rest)

    def sign(self, a):
        """-1, 0 or 1, 0 for NaN; a / |a| for complex numbers. Modules disagree about both."""
        if CATEGORY[self.dtype_name(a)] != "c":
            sign = self._lift(self.xp.sign, self._lifted(self.dtype_name(a)), (a,))
            return self.where(sign == sign, sign, self.xp.zeros_like(sign))
        size = self.xp.abs(a)
        return self.where(size == 0, a, a / self.cast(self.where(size == 0, self.xp.ones_like(size), size), a.dtype))

    def pow(self, base, exponent):
        """base ** exponent; integers to a negative power are what truncation makes of them: 0 but for bases 1 and -1."""
        name = self.dtype_name(base)
        if not name.startswith("int"):
            return self._lift(self._power, self._lifted(name), (base, exponent))
        negative = exponent < 0
        power = self._power(base, self.xp.where(negative, exponent & 1, exponent))
        vanishes = negative & (base != 1) & (base != -1)
        return self.xp.asarray(self.xp.where(vanishes, self.xp.zeros_like(power), power))

    def _power(self, base, exponent):
        with np.errstate(all="ignore"):
            return (getattr(self.xp, "pow", None) or self.xp.power)(base, exponent)

    def logical_not(self, a):
        return self.xp.asarray(self.xp.logical_not(self._truth(a)))

    def logical_and(self, a, b):
        return self.xp.asarray(self.xp.logical_and(self._truth(a), self._truth(b)))

    def logical_or(self, a, b):
        return self.xp.asarray(self.xp.logical_or(self._truth(a), self._truth(b)))

    def logical_xor(self, a, b):
        return self.xp.asarray(self.xp.logical_xor(self._truth(a), self._truth(b)))

    def _truth(self, a):
        return a if self.dtype_name(a) == "bool" else self.cast(a, self.dtypes["bool"])

    def conj(self, a):
        return self.xp.asarray(self.xp.conj(a)) if CATEGORY[self.dtype_name(a)] == "c" else self.copy(a)

    def real(self, a):
        return self.copy(self.xp.real(a)) if CATEGORY[self.dtype_name(a)] == "c" else self.copy(a)

    def imag(self, a):
        return self.copy(self.xp.imag(a))

    def where(self, condition, a, b):
        return self.xp.asarray(self.xp.where(condition, a, b))

    def on_host(self, function):
        """A function of NumPy arrays as one of this backend's arrays, with results of the first one's dtype."""
        def call(*arrays):
            result = function(*[self.to_numpy(a) for a in arrays])
            return self.from_numpy(result.astype(self.to_numpy(arrays[0]).dtype), self.index_of(arrays[0]))
        return call

    def by_numpy(self, function):
        """A function of NumPy arrays, and of plain arguments behind them, that gives several as a tuple, for this backend's arrays."""
        def call(first, *rest):
            index = self.index_of(first)
            found = function(self.to_numpy(first), *[self.to_numpy(a) if isinstance(a, self.array_type) else a for a in rest])
            return tuple(self.from_numpy(a, index) for a in found) if isinstance(found, tuple) else self.from_numpy(found, index)
        return call

    # -- devices and creation
    def device_count(self):
        return self._device_count

    def current_device(self):
        """The first of several devices; a single one carries no index."""
        return None if self._device_count == 1 else 0

    def create(self, function, *args, index=0, **keywords):
        """Call one of the module's functions that make an array, for device `index`."""
        if self.devices is not None:
            keywords["device"] = self.devices[index]
        return function(*args, **keywords)

    def index_of(self, array):
        """The index of the device on which an array lies."""
        return 0 if self.devices is None else self.devices.index(array.device)

    def from_numpy(self, array, index=0):
        return self.create(self.xp.asarray, array, index=index)

    def to_numpy(self, array):
        return np.asarray(array if self.devices is None else array.to_device(self.devices[0]))

    def dtype_name(self, array):
        return self._names[array.dtype]

    def empty(self, shape, dtype, index=0):
        return self.create(self.xp.empty, shape, dtype=dtype, index=index)

    def full(self, shape, value, dtype, index=0):
        return self.create(self.xp.full, shape, value, dtype=dtype, index=index)

    def arange_like(self, count, array):
        """int64 0 … count - 1 on the device of `array`."""
        return self.create(self.xp.arange, count, dtype=self.dtypes["int64"], index=self.index_of(array))

    # -- copies
    def cast(self, array, dtype):
        xp, source, target = self.xp, CATEGORY[self.dtype_name(array)], CATEGORY[self._names[dtype]]
        if source == "c" and target != "c":
            array = xp.logical_or(xp.real(array) != 0, xp.imag(array) != 0) if target == "b" else xp.real(array)
        with np.errstate(all="ignore"):
            return xp.astype(array, dtype) if hasattr(xp, "astype") else array.astype(dtype)

    def copy(self, array):
        return self.xp.array(array, order="C", copy=True) if self.strided else self.xp.asarray(array, copy=True)

    def copy_(self, array, source):
        if not self.mutable:
            return super().copy_(array, source)
        if source.dtype != array.dtype:
            source = self.cast(source, array.dtype)
        elif self.strided and self.xp.may_share_memory(array, source):
            source = self.copy(source)
        array[...] = source
        return array

    def fill_(self, array, value):
        if not self.mutable:
            return super().copy_(array, value)
        array[...] = value
        return array

    # -- shapes
    def as_strided(self, array, shape, strides, offset):
        shape, strides = tuple(shape), tuple(strides)
        if self.strided:
            return self._strided_view(array, shape, strides, offset)
        flat = self.xp.reshape(array, (-1,))
        count = math.prod(shape)
        if strides == contiguous_strides(shape) and offset + count <= flat.shape[0]:
            return self.xp.reshape(flat[offset:offset + count], shape)
        self._check_extent(shape, strides, offset, flat.shape[0])
        return self.xp.reshape(self.xp.take(flat, self._positions(shape, strides, offset, array), axis=0), shape)

    def _strided_view(self, array, shape, strides, offset):
        as_strided = self.xp.lib.stride_tricks.as_strided
        size = array.dtype.itemsize
        available = 1 + sum((n - 1) * s for n, s in zip(array.shape, self.strides(array))) if array.size else 0
        self._check_extent(shape, strides, offset, available)
        memory = as_strided(array, (available,), (size,))
        return as_strided(memory[min(offset, available):], shape, tuple(s * size for s in strides))

    def _check_extent(self, shape, strides, offset, available):
        last = offset + sum((n - 1) * s for n, s in zip(shape, strides))
        if 0 not in shape and not (0 <= offset <= last < available):
            raise ValueError(f"as_strided: shape {shape}, strides {strides}, offset {offset} reach outside of {available} elements")

    def _positions(self, shape, strides, offset, array):
        """Flat int64 positions of the elements of a strided view, in row-major order."""
        positions = self.arange_like(1, array) + offset
        for size, stride in zip(shape, strides):
            positions = self.xp.reshape(positions, (-1, 1)) + self.xp.reshape(self.arange_like(size, array) * stride, (1, -1))
        return self.xp.reshape(positions, (-1,))

    def strides(self, array):
        return tuple(s // array.dtype.itemsize for s in array.strides)

    def view_dtype(self, array, dtype):
        return array.view(dtype) if self.strided else super().view_dtype(array, dtype)

    def offset(self, array, root):
        return (self.address(array) - self.address(root)) // array.dtype.itemsize

    def address(self, array):
        """Where the memory of a strided array begins."""
        return array.__array_interface__["data"][0]

    def cat(self, arrays, dim):
        arrays = [a for a in arrays if tuple(a.shape) != (0,)] or arrays[:1]      # early PyTorch's empty tensors fit anything
        return (getattr(self.xp, "concat", None) or self.xp.concatenate)(arrays, axis=dim)

    def flip(self, a, dims):
        return self.copy(self.xp.flip(a, axis=dims))

    def roll(self, a, shifts, dims):
        return self.xp.roll(a, shifts, axis=dims)

    # -- reductions
    def _reduce(self, function, a, dims, keepdim, accepts="bifc", **keywords):
        name = self.dtype_name(a)
        if CATEGORY[name] not in accepts:
            raise TypeError(f"{getattr(function, '__name__', function)} isn't implemented for {name}")
        with np.errstate(all="ignore"):
            return self._lift(lambda x: function(x, axis=dims, keepdims=keepdim, **keywords), self._lifted(name), (a,))

    def sum(self, a, dims, keepdim):
        return self._reduce(lambda x, **names: self.xp.sum(x, dtype=x.dtype, **names), a, dims, keepdim)

    def prod(self, a, dims, keepdim):
        return self._reduce(lambda x, **names: self.xp.prod(x, dtype=x.dtype, **names), a, dims, keepdim)

    def mean(self, a, dims, keepdim):
        return self._reduce(self.xp.mean, a, dims, keepdim, "fc")

    def amax(self, a, dims, keepdim):
        return self._reduce(self.xp.max, a, dims, keepdim, "bif")

    def amin(self, a, dims, keepdim):
        return self._reduce(self.xp.min, a, dims, keepdim, "bif")

    def any(self, a, dims, keepdim):
        return self.xp.asarray(self.xp.any(self._truth(a), axis=dims, keepdims=keepdim))

    def all(self, a, dims, keepdim):
        return self.xp.asarray(self.xp.all(self._truth(a), axis=dims, keepdims=keepdim))

    def argmax(self, a, dim, keepdim):
        return self._position(self.xp.argmax, a, dim, keepdim)

    def argmin(self, a, dim, keepdim):
        return self._position(self.xp.argmin, a, dim, keepdim)

    def _position(self, function, a, dim, keepdim):
        result = self._reduce(function, a, dim, keepdim, "bif")
        return result if self.dtype_name(result) == "int64" else self.cast(result, self.dtypes["int64"])

    def cumsum(self, a, dim):
        return self._scan(getattr(self.xp, "cumulative_sum", None) or self.xp.cumsum, a, dim)

    def cumprod(self, a, dim):
        return self._scan(getattr(self.xp, "cumulative_prod", None) or self.xp.cumprod, a, dim)

    def _scan(self, function, a, dim):
        if not a.shape:
            return self.copy(a)
        with np.errstate(all="ignore"):
            return self._lift(lambda x: function(x, axis=dim, dtype=x.dtype), self._lifted(self.dtype_name(a)), (a,))

    # -- products
    def matmul(self, a, b):
        with np.errstate(all="ignore"):
            return self._lift(self.xp.matmul, self._lifted(self.dtype_name(a)), (a, b))

    def qr(self, a, mode):
        q, r = self.xp.linalg.qr(a, mode="complete" if mode == "complete" else "reduced")
        return (self.create(self.xp.empty, (0,), dtype=a.dtype, index=self.index_of(a)) if mode == "r" else q), r

    # -- Fourier transforms: over the dims in their order, scaled by n^-power
    def fft_c2c(self, a, dims, power, forward):
        """Of complex numbers or real ones."""
        a = a if CATEGORY[self.dtype_name(a)] == "c" else self.cast(a, self.dtypes[COMPLEX_OF[self.dtype_name(a)]])
        transform, norm = (self.xp.fft.fft, FORWARD_NORMS[power]) if forward else (self.xp.fft.ifft, INVERSE_NORMS[power])
        for dim in reversed(dims):
            a = transform(a, axis=dim, norm=norm)
        return a

    def fft_r2c(self, a, dims, power):
        """Of the last of the dims the frequencies that aren't negative."""
        return self.fft_c2c(self.xp.fft.rfft(a, axis=dims[-1], norm=FORWARD_NORMS[power]), dims[:-1], power, True)

    def fft_c2r(self, a, dims, power, size):
        """To `size` values along the last of the dims."""
        return self.xp.fft.irfft(self.fft_c2c(a, dims[:-1], power, False), n=size, axis=dims[-1], norm=INVERSE_NORMS[power])

    # -- indexing
    def index_select(self, a, dim, index):
        if not a.shape:
            return self.xp.reshape(self.index_select(self.xp.reshape(a, (1,)), 0, index), ())
        return self.xp.take(a, self._checked_index(index, dim, a.shape[dim]), axis=dim)

    def _checked_index(self, index, dim, size):
        """`index` counted from the front; IndexError where it points outside."""
        self._check_within(index, dim, size, -size, IndexError)
        return self.xp.where(index < 0, index + size, index)

    def _check_within(self, index, dim, size, lowest=0, error=RuntimeError):
        outside = (index >= size) | (index < lowest)
        if bool(self.xp.any(outside)):
            worst = int(self.to_numpy(index)[self.to_numpy(outside)][0])
            raise error(f"index {worst} is out of bounds for dimension {dim} with size {size}")

    def gather(self, a, dim, index):
        if not index.shape:
            return self.xp.reshape(self.gather(a, dim, self.xp.reshape(index, (1,))), ())
        a = self.xp.reshape(a, a.shape or (1,))
        self._check_within(index, dim, a.shape[dim])
        return self._taken_along(a, dim, index)

    def _taken_along(self, a, dim, index):
        """take_along_axis, which some modules lack, for an index that may be smaller than the array."""
        position = index * contiguous_strides(a.shape)[dim]
        for d, stride in enumerate(contiguous_strides(a.shape)):
            if d != dim:
                shape = tuple(-1 if e == d else 1 for e in range(len(a.shape)))
                position = position + self.xp.reshape(self.arange_like(index.shape[d], a) * stride, shape)
        flat = self.xp.take(self.xp.reshape(a, (-1,)), self.xp.reshape(position, (-1,)), axis=0)
        return self.xp.reshape(flat, index.shape)

    def index_get(self, a, indices):
        """a[indices] with NumPy's advanced indexing (None: a whole dim): the indexed dims become one, of which slices are taken."""
        xp = self.xp
        dims = [d for d, index in enumerate(indices) if index is not None]
        if not dims:
            return self.copy(a)
        rest = [d for d in range(len(a.shape)) if d not in dims]
        shape, place = self._joint_index(a.shape, dims, indices)
        merged = xp.reshape(self._permuted(a, dims + rest), (-1 if 0 not in a.shape else math.prod(a.shape[d] for d in dims),
                                                             *[a.shape[d] for d in rest]))
        result = xp.reshape(xp.take(merged, xp.reshape(place, (-1,)), axis=0), (*shape, *[a.shape[d] for d in rest]))
        if dims != list(range(dims[0], dims[-1] + 1)):
            return result                            # not adjacent: their dims come first
        front, order = len(shape), list(range(len(result.shape)))
        return self.copy(self._permuted(result, order[front:front + dims[0]] + order[:front] + order[front + dims[0]:]))

    def _joint_index(self, shape, dims, indices):
        """The broadcast shape of the indices of several dims, and their position in these dims taken as one."""
        place = None
        for d in dims:
            index = self._checked_index(indices[d], d, shape[d])
            place = index if place is None else place * shape[d] + index
        return tuple(place.shape), place

    def _permuted(self, a, order):
        return (getattr(self.xp, "permute_dims", None) or self.xp.transpose)(a, tuple(order))

    def index_put_(self, a, indices, values, accumulate):
        """Put values at indices (as for `index_get`) into `a` itself where arrays can be written, else into a copy."""
        for d, index in enumerate(indices):
            if index is not None:
                self._checked_index(index, d, a.shape[d])
        if not self.mutable:
            host = [None if i is None else self.to_numpy(i) for i in indices]
            return self.from_numpy(_put(np, np.array(self.to_numpy(a)), host, self.to_numpy(values), accumulate), self.index_of(a))
        if accumulate and self._accumulator(self.dtype_name(a)) is not None:
            exact = self.dtypes[self._accumulator(self.dtype_name(a))]
            return self.copy_(a, _put(self.xp, self.cast(a, exact), indices, self.cast(values, exact), True))
        return _put(self.xp, a, indices, values, accumulate)

    def nonzero(self, a):
        if not a.shape:
            return self.nonzero(self.xp.reshape(a, (1,)))[:, :0]
        return self.xp.stack([self.cast(i, self.dtypes["int64"]) for i in self.xp.nonzero(self._truth(a))], axis=1)

    def sort(self, a, dim, descending, stable):
        """Values and their old places; NaN counts as the largest."""
        xp = self.xp
        if not a.shape:
            return self.copy(a), self.full((), 0, self.dtypes["int64"], self.index_of(a))
        key = self.cast(a, self.dtypes[self._lifted(self.dtype_name(a)) or self.dtype_name(a)])
        order = self.stable_order(xp.flip(key, axis=dim) if descending else key, dim)
        if descending:      # sorted backwards from behind, so that equals keep their order
            order = xp.flip(a.shape[dim] - 1 - order, axis=dim)
        return self._taken_along(a, dim, order), order

    def topk(self, a, k, dim, largest, sorted):
        """The first k of `sort`, whether or not their order matters."""
        first = tuple(slice(k) if d == dim else slice(None) for d in range(len(a.shape)))
        return tuple(self.copy(part[first]) if first else part for part in self.sort(a, dim, largest, True))

    def stable_order(self, a, dim):
        """int64 places that sort `a` along dim, equals in their old order."""
        return self.xp.argsort(a, axis=dim, stable=True)

    def scatter_add(self, a, dim, index, src):
        """`a` plus src[i] at the places index[i] along dim."""
        self._check_within(index, dim, a.shape[dim] if a.shape else 1)
        add = self._add_at if hasattr(getattr(self.xp, "add", None), "at") else self._add_at_by_numpy
        return self._lift(lambda x, s: add(x, dim, index, s), self._accumulator(self.dtype_name(a)), (a, src))

    def _accumulator(self, name):
        """The dtype in which scatter_add adds, None for its own."""
        return "float32" if name in HALF else None

    def _add_at(self, a, dim, index, src):
        result, reached = self.xp.reshape(self.copy(a), a.shape or (1,)), index.shape or (1,)
        places = [self.xp.reshape(self.arange_like(n, a), tuple(-1 if d == e else 1 for e in range(len(reached))))
                  for d, n in enumerate(reached)]
        places[dim] = self.xp.reshape(index, reached)
        source = self.xp.reshape(src, src.shape or (1,))[tuple(slice(n) for n in reached)]
        self.xp.add.at(result, tuple(places), source)
        return self.xp.reshape(result, a.shape)

    def _add_at_by_numpy(self, a, dim, index, src):
        """The array API has nothing of the kind."""
        host = ArrayModuleBackend("host", np, strided=True)
        return self.from_numpy(host._add_at(self.to_numpy(a), dim, self.to_numpy(index), self.to_numpy(src)), self.index_of(a))


def _put(xp, a, indices, values, accumulate):
    place = tuple(slice(None) if index is None else index for index in indices)
    if accumulate:
        xp.add.at(a, place, values)
    else:
        a[place] = values
    return a
