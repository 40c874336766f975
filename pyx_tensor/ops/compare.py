"""Whole tensors compared, and predicates in terms of others."""
from ..core.definitions import op
from ..core.dtype import by_name
from ..core.signature import Raw, T


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


@op(nograd=True, entry=False)
def equal(B, input: Raw, other: Raw):
    """Whether both have the same shape and elements (a Python bool)."""
    _same_dtype(input, other)
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
