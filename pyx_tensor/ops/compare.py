"""Comparison, logic and bits, element by element; whole tensors compared."""
from ..core.definitions import op, operations, primitive
from ..core.dtype import by_name
from ..core.functions import equal_function
from ..core.signature import Raw, T
from . import reduce  # noqa: F401  (equal is made of `all`)


def _comparison(name, meaning, numbers="second"):
    def define(B, input: T, other: T):
        pass
    define.__name__, define.__doc__ = name, f"True where {meaning}, element by element (a bool tensor)."
    define.__code__ = define.__code__.replace(co_name=name)
    return primitive(promote="common", result="bool", nograd=True, inplace=True, numbers=numbers)(define)


eq = _comparison("eq", "`input == other`")
ne = _comparison("ne", "`input != other`")
lt = _comparison("lt", "`input < other`")
le = _comparison("le", "`input <= other`")
gt = _comparison("gt", "`input > other`")
ge = _comparison("ge", "`input >= other`")
logical_and = _comparison("logical_and", "both operands are non-zero", "none")
logical_or = _comparison("logical_or", "either operand is non-zero", "none")
logical_xor = _comparison("logical_xor", "one operand is zero and the other isn't", "none")


def _predicate(name, meaning):
    def define(B, input: T):
        pass
    define.__name__, define.__doc__ = name, f"True where {meaning} (a bool tensor)."
    return primitive(promote="common", result="bool", nograd=True)(define)


logical_not = _predicate("logical_not", "the element is zero")
isnan = _predicate("isnan", "the element is NaN")
isinf = _predicate("isinf", "the element is infinite")
isfinite = _predicate("isfinite", "the element is finite")
signbit = _predicate("signbit", "the sign bit is set")


def _bitwise(name, meaning):
    def define(B, input: T, other: T):
        pass
    define.__name__, define.__doc__ = name, f"{meaning} of integers or bools, element by element."
    return primitive(promote="common", nograd=True, inplace=True)(define)


bitwise_and = _bitwise("bitwise_and", "Bitwise and")
bitwise_or = _bitwise("bitwise_or", "Bitwise or")
bitwise_xor = _bitwise("bitwise_xor", "Bitwise exclusive or")
bitwise_left_shift = _bitwise("bitwise_left_shift", "Left shift")
bitwise_right_shift = _bitwise("bitwise_right_shift", "Arithmetic right shift")


@primitive(exact_out=True, promote="common", nograd=True, inplace=True)
def bitwise_not(B, input: T):
    """Bitwise not of integers, logical not of bools."""


# --- in terms of others -------------------------------------------------------------------------------------------
def _same_dtype(input, other):
    if input.dtype is not other.dtype:
        raise RuntimeError(f"{str(input.dtype).removeprefix('torch.')} did not match {str(other.dtype).removeprefix('torch.')}")


def _is_inexact(dtype):
    return dtype.is_floating_point or dtype.is_complex


@op(nograd=True, entry=False)
def isclose(B, input: T, other: T, rtol=1e-05, atol=1e-08, equal_nan=False):
    """True where `|input - other| <= atol + rtol * |other|`, or both are the same infinity (`equal_nan`: or both NaN)."""
    _same_dtype(input, other)
    if rtol < 0 or atol < 0:
        raise RuntimeError(f"rtol and atol must be greater than or equal to zero, but got {rtol} and {atol}")
    close = B.eq(input, other)
    if equal_nan and _is_inexact(input.dtype):
        close = B.logical_or(close, B.logical_and(B.isnan(input), B.isnan(other)))
    if rtol == 0 and atol == 0:
        return close
    if not _is_inexact(input.dtype):
        input, other = input.double(), other.double()
    error = B.abs(B.sub(input, other))
    allowed = B.add(B.mul(B.abs(other), rtol), atol)
    return B.logical_or(close, B.logical_and(B.isfinite(error), B.le(error, allowed)))


@op(nograd=True, entry=False)
def allclose(B, input: T, other: T, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Whether `isclose` holds for all elements (a Python bool)."""
    return bool(B.all(B.isclose(input, other, rtol, atol, equal_nan)))


@op(nograd=True, entry=False, call=lambda operation: equal_function(operation, operations["eq"], operations["_all"]))
def equal(B, input: Raw, other: Raw):
    """Whether both have the same shape and, once promoted, the same elements (a Python bool)."""
    return input.shape == other.shape and bool(B.all(B.eq(input, other)))


@op(nograd=True, entry=False)
def is_nonzero(B, input: Raw):
    """Whether the only element isn't zero (a Python bool)."""
    if input.numel() != 1:
        raise RuntimeError("Boolean value of Tensor with " + ("more than one value" if input.numel() else "no values") + " is ambiguous")
    return bool(input)


def _infinite(name, compare, meaning):
    def define(B, input: T):
        if input.dtype.is_complex:
            raise RuntimeError(f"{name} does not support complex inputs.")
        if not input.dtype.is_floating_point:
            return B.zeros_like(input, dtype=by_name["bool"])
        return compare(B)(input, float("inf") if meaning == "plus" else float("-inf"))
    define.__name__, define.__doc__ = name, f"True where the element is {meaning} infinity."
    return op(nograd=True, entry=False)(define)


isposinf = _infinite("isposinf", lambda B: B.eq, "plus")
isneginf = _infinite("isneginf", lambda B: B.eq, "minus")


@op(nograd=True, entry=False)
def isreal(B, input: T):
    """True where the imaginary part is zero."""
    return B.eq(B.imag(input), 0) if input.dtype.is_complex else B.ones_like(input, dtype=by_name["bool"])
