"""Checks of a backend's entries on its arrays, against NumPy in wider precision. Each takes a Subject and raises or returns."""
import itertools
import math

import numpy as np

from ..core import host_math
from ..core.protocol import MANDATORY
from ..core.registry import missing_primitives
from .subject import ALL, COMPLEXES, FLOATS, INTEGERS, numpy_dtype, wide

CHECKS = {}      # name -> function(subject)


def check(function):
    """Enter a function into the kit under its own name."""
    CHECKS[function.__name__.replace("check_", "")] = function
    return function


def enter(names, function):
    """Enter one check per name: function(subject, name)."""
    for name in names:
        CHECKS[name] = lambda subject, name=name: function(subject, name)


SPECIAL = [-math.inf, -2.5, -1.5, -1.0, -0.5, -0.0, 0.0, 0.3, 0.5, 1.0, 1.5, 2.5, 7.0, math.inf, math.nan]
COMPLEX = [0.5 + 0.25j, -1.5 + 2j, 1j, -1.25 - 0.5j, 2.0 + 0j]


def samples(dtype):
    """Values that show where a dtype goes wrong."""
    if dtype == "bool":
        return np.array([True, False, False, True])
    if dtype in COMPLEXES:
        return np.array(COMPLEX, numpy_dtype(dtype))
    if dtype in FLOATS:
        return np.array(SPECIAL).astype(numpy_dtype(dtype))
    info = np.iinfo(dtype)
    around_zero = [] if info.min == 0 else [-7, -1]
    return np.array([info.min, info.min + 1, *around_zero, 0, 1, 2, 7, info.max - 1, info.max], dtype)


# --- devices, arrays in and out -----------------------------------------------------------------------------------
@check
def check_declaration(subject):
    backend = subject.backend
    assert not missing_primitives(backend), f"mandatory primitives missing: {missing_primitives(backend)}"
    assert isinstance(backend.device_count(), int) and backend.device_count() >= 1
    assert backend.current_device() is None or 0 <= backend.current_device() < backend.device_count()
    assert set(backend.dtypes) <= set(ALL), f"unknown dtype names: {set(backend.dtypes) - set(ALL)}"
    assert {"bool", "int64", "float32"} <= set(backend.dtypes), "bool, int64 and float32 are the least that a backend has"
    backend.synchronize(subject.ordinal)
    assert len(MANDATORY) == len(set(MANDATORY))


@check
def check_round_trip(subject):
    for dtype in subject.dtypes():
        for shape in ((), (0,), (5,), (2, 0, 3), (2, 3, 4)):
            values = np.resize(samples(dtype), shape)
            array = subject.array(values)
            assert isinstance(array, subject.backend.array_type)
            assert subject.backend.dtype_name(array) == dtype
            subject.check(array, values, dtype=dtype, zeros=True, what=f"{dtype} {shape}")


@check
def check_creation(subject):
    backend = subject.backend
    for dtype in subject.dtypes():
        own = backend.dtypes[dtype]
        empty = backend.empty((2, 0, 3), own, *subject.place)
        assert tuple(empty.shape) == (2, 0, 3) and backend.dtype_name(empty) == dtype
        for shape in ((), (3,), (2, 3)):
            subject.check(backend.full(shape, 1, own, *subject.place), np.ones(shape), dtype=dtype, what=f"full {dtype}")
        value = samples(dtype)[-1].item() if dtype not in FLOATS else math.nan
        subject.check(backend.full((2,), value, own, *subject.place), np.full(2, value), dtype=dtype, what=f"full {dtype}")


def castable(values, target):
    """Those of the values whose cast to the target dtype is defined."""
    if target not in INTEGERS or values.dtype.kind in "biu":
        return values
    real = values.real.astype(np.float64)
    info = np.iinfo(target)
    return values[np.isfinite(real) & (np.trunc(real) >= info.min) & (np.trunc(real) <= info.max)]


@check
def check_cast(subject):
    dtypes = subject.dtypes()
    for source, target in itertools.product(dtypes, dtypes):
        values = castable(samples(source), target)
        expected = values.real if source in COMPLEXES and target not in COMPLEXES else values
        if target == "bool":
            expected = values != 0
        elif source not in ("bool", *COMPLEXES) and target == "bfloat16":
            expected = expected.astype(np.float32)
        for layout, array in subject.layouts(values[:4].reshape(2, 2) if len(values) >= 4 else values):
            result = subject.call("cast", array, subject.backend.dtypes[target])
            with np.errstate(all="ignore"):
                wanted = expected[:4].reshape(2, 2) if len(values) >= 4 else expected
                subject.check(result, wanted.astype(numpy_dtype(target)), dtype=target, zeros=target in FLOATS,
                              what=f"{source} to {target}, {layout}")
            assert result is not array, f"cast {source} to {target} returned its input"


@check
def check_copy(subject):
    values = np.arange(6, dtype=np.float32).reshape(2, 3)
    for layout, array in subject.layouts(values):
        result = subject.call("copy", array)
        subject.check(result, values, what=layout)
        assert result is not array
        if subject.backend.strided:
            assert subject.backend.strides(result) == (3, 1), "a copy is C-contiguous"
        if subject.backend.mutable:
            subject.backend.copy_(result, subject.array(np.zeros(()), "float32"))
            subject.check(array, values, what="the original after a write to its copy")


@check
def check_as_strided(subject):
    values = np.arange(12, dtype=np.float32)
    base = subject.array(values)
    for shape, strides, offset in (((3, 4), (4, 1), 0), ((4, 3), (1, 4), 0), ((2, 2), (4, 2), 1), ((3, 2), (0, 1), 5), ((), (), 7),
                                   ((0, 3), (3, 1), 12), ((2, 3, 2), (1, 2, 1), 3), ((12,), (1,), 0), ((5,), (1,), 4)):
        item = values.itemsize
        expected = np.lib.stride_tricks.as_strided(values[min(offset, 11):], shape, [s * item for s in strides])
        subject.check(subject.backend.as_strided(base, shape, strides, offset), expected, what=f"{shape} {strides} {offset}")
    try:
        subject.backend.as_strided(base, (3, 4), (4, 1), 1)
    except (ValueError, IndexError, RuntimeError):
        pass
    else:
        raise AssertionError("a view that reaches outside of its memory must be refused")


@check
def check_views(subject):
    backend = subject.backend
    subject.require(backend.strided, "the arrays have no strides")
    base = subject.array(np.arange(12.0), "float32")
    view = backend.as_strided(base, (2, 3), (1, 4), 1)
    assert tuple(backend.strides(view)) == (1, 4)
    assert backend.offset(view, base) == 1
    subject.require(backend.mutable and backend.views, "views can't be written through")
    backend.copy_(view, subject.array(np.full((2, 3), -1.0), "float32"))
    expected = np.arange(12.0)
    expected[[1, 2, 5, 6, 9, 10]] = -1
    subject.check(base, expected, dtype="float32", what="the base after a write to its view")


@check
def check_copy_(subject):
    backend = subject.backend
    subject.require(backend.mutable, "arrays can't be written in place")
    for target, source in itertools.product(subject.dtypes(("float32", "int64", "bool")), repeat=2):
        array = subject.array(np.zeros((2, 3)), target)
        backend.copy_(array, subject.array([0, 1, 2], source))
        values = np.array([0, 1, 2]).astype(numpy_dtype(source)).astype(numpy_dtype(target))
        subject.check(array, np.broadcast_to(values, (2, 3)), dtype=target, what=f"{source} into {target}")
    subject.require(backend.views and backend.strided, "no overlapping views to test")
    array = subject.array(np.arange(6), "int64")
    backend.copy_(backend.as_strided(array, (5,), (1,), 1), backend.as_strided(array, (5,), (1,), 0))
    subject.check(array, np.array([0, 0, 1, 2, 3, 4]), what="overlapping copy")


# --- pointwise ----------------------------------------------------------------------------------------------------
def _half_even(x):
    return np.rint(x) if x.dtype.kind == "f" else x


def _sigmoid(x):
    return 1 / (1 + np.exp(-x))


def _sign(x):
    return np.where((x == 0) | (x != x), 0, np.sign(x))


IFC, FC, IF, F = (*INTEGERS, *FLOATS, *COMPLEXES), (*FLOATS, *COMPLEXES), (*INTEGERS, *FLOATS), FLOATS
B, I = ("bool",), INTEGERS

# entry: (expectation, dtypes, ulps)
UNARY = {
    "neg": (np.negative, IFC, 0), "abs": (np.abs, IFC, 2), "sign": (_sign, IF, 0), "square": (np.square, IFC, 2),
    "reciprocal": (np.reciprocal, FC, 4), "sqrt": (np.sqrt, FC, 4), "rsqrt": (lambda x: 1 / np.sqrt(x), F, 4),
    "exp": (np.exp, FC, 4), "exp2": (np.exp2, F, 4), "expm1": (np.expm1, F, 4), "log": (np.log, FC, 4),
    "log2": (np.log2, F, 4), "log10": (np.log10, F, 4), "log1p": (np.log1p, F, 4), "sin": (np.sin, FC, 4), "cos": (np.cos, FC, 4),
    "tan": (np.tan, F, 4), "asin": (np.arcsin, F, 4), "acos": (np.arccos, F, 4), "atan": (np.arctan, F, 4),
    "sinh": (np.sinh, FC, 4), "cosh": (np.cosh, FC, 4), "tanh": (np.tanh, FC, 4), "asinh": (np.arcsinh, F, 4),
    "acosh": (np.arccosh, F, 4), "atanh": (np.arctanh, F, 4), "sigmoid": (_sigmoid, F, 4), "erf": (host_math.erf, F, 8),
    "erfc": (host_math.erfc, F, 16), "floor": (np.floor, IF, 0), "ceil": (np.ceil, IF, 0),
    "trunc": (np.trunc, IF, 0), "round": (_half_even, IF, 0), "relu": (lambda x: np.where(x <= 0, 0, x), F, 0),
    "silu": (lambda x: x * _sigmoid(x), ("float32", "float64"), 8), "bitwise_not": (np.invert, B + I, 0),
    "logical_not": (np.logical_not, ALL, 0), "isnan": (np.isnan, IFC, 0), "isinf": (np.isinf, IFC, 0),
    "isfinite": (np.isfinite, IFC, 0),
    "signbit": (np.signbit, IF, 0), "lgamma": (host_math.lgamma, ("float32", "float64"), 16),
    "digamma": (host_math.digamma, ("float32", "float64"), 16),
    "erfinv": (host_math.erfinv, ("float32", "float64"), 16),
    "conj": (np.conj, FC, 0), "real": (np.real, COMPLEXES, 0), "imag": (np.imag, COMPLEXES, 0),
}
NEAR_ZEROS = {"lgamma", "digamma"}       # they have zeros where nothing is zero: errors count by ulps of 1 there
FINITE = {"silu"}                       # its limit at -inf is 0, its formula gives NaN there
SIGNLESS_ZERO = {"relu", "silu", "maximum", "minimum", "fmax", "fmin", "remainder", "floor_divide", "sign"}
GIVES_BOOL = {"logical_not", "isnan", "isinf", "isfinite", "signbit", "logical_and", "logical_or", "logical_xor",
              "eq", "ne", "lt", "le", "gt", "ge"}


def result_dtype(entry, dtype):
    if entry in GIVES_BOOL:
        return "bool"
    if entry in ("abs", "real", "imag"):
        return {"complex64": "float32", "complex128": "float64"}.get(dtype, dtype)
    return dtype


def expected_of(function, *values):
    """function(*values) in wide precision; integers in their own dtype, where they wrap."""
    with np.errstate(all="ignore"):
        return np.asarray(function(*[wide(v) for v in values]))


def tolerance(dtype, ulps):
    return min(ulps, 1) if dtype in ("float16", "bfloat16") else ulps


def check_unary(subject, entry):
    function, dtypes, ulps = UNARY[entry]
    for dtype in subject.dtypes(dtypes):
        line = samples(dtype)
        if entry in FINITE:
            line = line[np.isfinite(line)]
        for values in (line, line[:4].reshape(2, 2), line[0].reshape(()), line[:0].reshape(0, 3)):
            options = dict(ulps=tolerance(dtype, ulps), dtype=result_dtype(entry, dtype), least=entry in NEAR_ZEROS,
                           zeros=dtype in FLOATS and entry not in SIGNLESS_ZERO | GIVES_BOOL)
            expected = expected_of(function, values)
            for layout, array in subject.layouts(values):
                subject.check(subject.call(entry, array), expected, what=f"{entry} of {dtype} {values.shape}, {layout}", **options)
            if subject.backend.mutable and subject.takes_out(entry) and result_dtype(entry, dtype) == dtype:
                array = subject.array(values)
                assert subject.call(entry, array, out=array) is array
                subject.check(array, expected, what=f"{entry} of {dtype} {values.shape} in place", **options)


enter(UNARY, check_unary)

BINARY = {
    "add": (np.add, ("bool", *IFC), 1), "sub": (np.subtract, IFC, 1), "mul": (np.multiply, ("bool", *IFC), 2),
    "div": (np.divide, FC, 4), "maximum": (np.maximum, ("bool", *IF), 0), "minimum": (np.minimum, ("bool", *IF), 0),
    "fmax": (np.fmax, IF, 0), "fmin": (np.fmin, IF, 0), "atan2": (np.arctan2, F, 4), "hypot": (np.hypot, F, 4),
    "copysign": (np.copysign, F, 0), "eq": (np.equal, ALL, 0), "ne": (np.not_equal, ALL, 0), "lt": (np.less, ("bool", *IF), 0),
    "le": (np.less_equal, ("bool", *IF), 0), "gt": (np.greater, ("bool", *IF), 0), "ge": (np.greater_equal, ("bool", *IF), 0),
    "logical_and": (np.logical_and, ALL, 0), "logical_or": (np.logical_or, ALL, 0), "logical_xor": (np.logical_xor, ALL, 0),
    "bitwise_and": (np.bitwise_and, B + I, 0), "bitwise_or": (np.bitwise_or, B + I, 0), "bitwise_xor": (np.bitwise_xor, B + I, 0),
}


def check_binary(subject, entry):
    function, dtypes, ulps = BINARY[entry]
    for dtype in subject.dtypes(dtypes):
        line = samples(dtype)
        options = dict(ulps=tolerance(dtype, ulps), dtype=result_dtype(entry, dtype),
                       zeros=dtype in FLOATS and entry not in SIGNLESS_ZERO | GIVES_BOOL)
        for a, b in ((line[:, None], line), (line, line[::-1]), (line[1].reshape(()), line), (line[:4].reshape(2, 2), line[1:2]),
                     (line[:0].reshape(0, 1), line[:3]), (line[0].reshape(()), line[1].reshape(()))):
            if dtype in COMPLEXES and entry == "div":
                b = b[b != 0] if b.ndim else b
                a = a if a.shape == () or a.ndim == 2 else a[:1]
            expected = expected_of(function, a, b)
            for (layout, x), (_, y) in zip(subject.layouts(a), subject.layouts(b)):
                subject.check(subject.call(entry, x, y), expected, what=f"{entry} of {dtype} {a.shape} {b.shape}, {layout}", **options)
        if subject.backend.mutable and subject.takes_out(entry) and result_dtype(entry, dtype) == dtype and dtype not in COMPLEXES:
            x, y = subject.array(line), subject.array(line[::-1])
            assert subject.call(entry, x, y, out=x) is x
            subject.check(x, expected_of(function, line, line[::-1]), what=f"{entry} of {dtype} in place", **options)


enter(BINARY, check_binary)


def check_division(subject, entry):
    function = {"floor_divide": np.floor_divide, "remainder": np.remainder, "fmod": np.fmod}[entry]
    for dtype in subject.dtypes(INTEGERS):
        a, b = samples(dtype)[:, None], samples(dtype)[samples(dtype) != 0]
        result = subject.call(entry, subject.array(a), subject.array(b))
        subject.check(result, expected_of(function, a, b), dtype=dtype, what=f"{entry} of {dtype}")
        try:
            subject.call(entry, subject.array(a), subject.array(np.zeros((), dtype)))
        except ZeroDivisionError:
            pass
        else:
            raise AssertionError(f"{entry} of {dtype} by zero must raise ZeroDivisionError")
    for dtype in subject.dtypes(("float32", "float64")):
        a, b = np.array([7.5, -7.5, 1.0, 0.0], dtype)[:, None], np.array([2.0, -2.0, 0.75], dtype)
        subject.check(subject.call(entry, subject.array(a), subject.array(b)), expected_of(function, a, b), dtype=dtype,
                      what=f"{entry} of {dtype}")


enter(("floor_divide", "remainder", "fmod"), check_division)


@check
def check_pow(subject):
    for dtype in subject.dtypes(FLOATS):
        a, b = samples(dtype)[:, None], np.array([-2, -1, -0.5, 0, 0.5, 1, 2, 3, np.inf, np.nan]).astype(numpy_dtype(dtype))
        subject.check(subject.call("pow", subject.array(a), subject.array(b)), expected_of(np.power, a, b), dtype=dtype,
                      ulps=tolerance(dtype, 8), what=f"pow of {dtype}")
    for dtype in subject.dtypes(INTEGERS):
        a, b = samples(dtype)[:, None], np.array([0, 1, 2, 3, 5], dtype)
        subject.check(subject.call("pow", subject.array(a), subject.array(b)), np.power(a, b), dtype=dtype, what=f"pow of {dtype}")
    result = subject.call("pow", subject.array([-2, -1, 0, 1, 2], "int64"), subject.array([-1], "int64"))
    subject.check(result, np.array([0, -1, 0, 1, 0]), what="integers to a negative power")


def check_shift(subject, entry):
    function = np.left_shift if entry == "bitwise_left_shift" else np.right_shift
    for dtype in subject.dtypes(INTEGERS):
        a, b = samples(dtype)[:, None], np.array([0, 1, 3], dtype)
        subject.check(subject.call(entry, subject.array(a), subject.array(b)), function(a, b), dtype=dtype, what=f"{entry} of {dtype}")


enter(("bitwise_left_shift", "bitwise_right_shift"), check_shift)


@check
def check_where(subject):
    for dtype in subject.dtypes():
        line = samples(dtype)
        condition = np.arange(len(line)) % 2 == 0
        for c, a, b in ((condition, line, line[::-1]), (condition[:, None], line, line[0].reshape(())),
                        (np.array(True), line[0].reshape(()), line[1].reshape(())), (condition[:0], line[:0], line[:1])):
            result = subject.call("where", subject.array(c), subject.array(a), subject.array(b))
            subject.check(result, np.where(c, a, b), dtype=dtype, what=f"where of {dtype}")


@check
def check_clamp(subject):
    for dtype in subject.dtypes(IF):
        line = samples(dtype)
        low, high = np.array(1, line.dtype), np.array(2, line.dtype)
        for lo, hi in ((low, high), (None, high), (low, None), (high, low)):
            expected = line if lo is None else np.maximum(line, lo)
            expected = expected if hi is None else np.minimum(expected, hi)
            bounds = [None if v is None else subject.array(v) for v in (lo, hi)]
            subject.check(subject.call("clamp", subject.array(line), *bounds), expected, dtype=dtype, what=f"clamp of {dtype}")


@check
def check_refusals(subject):
    """Shapes that don't broadcast raise ValueError; what has no meaning for complex numbers raises TypeError."""
    a, b = subject.array(np.zeros(3), "float32"), subject.array(np.zeros(2), "float32")
    for entry in ("add", "mul", "eq", "maximum", "matmul"):
        try:
            getattr(subject.backend, entry)(a, b)
        except (ValueError, RuntimeError):
            continue
        raise AssertionError(f"{entry} of shapes (3,) and (2,) must be refused")
    for dtype in subject.dtypes(COMPLEXES):
        z = subject.array(COMPLEX, dtype)
        for entry in ("lt", "maximum"):
            try:
                getattr(subject.backend, entry)(z, z)
            except TypeError:
                continue
            raise AssertionError(f"{entry} of {dtype} must raise TypeError")
