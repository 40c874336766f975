"""Elements chosen by a condition, by a mask, by bounds."""
import math

from ..core.definitions import op, primitive
from ..core.operands import check_scalar
from ..core.signature import Raw, T
from ..core.tensor import TensorBase
from .pointwise import WHOLE, takes_any_int


@primitive(promote="common", hidden=True, entry="where", vjp=dict(
    input=lambda B, g, condition: B._where(condition, g, B.zeros((), dtype=g.dtype, device=g.device)),
    other=lambda B, g, condition: B._where(condition, B.zeros((), dtype=g.dtype, device=g.device), g)))
def _where(B, condition: Raw, input: T, other: T):
    """`input` where the condition holds, else `other`."""


@op(exact_out=True)
def where(B, condition: Raw, input=None, other=None):
    """`input` where `condition` holds, else `other`; with the condition alone, its non-zero positions.

    Args:
        condition: a bool tensor (uint8 is taken, as in early PyTorch).
        input, other: tensors or numbers; all three broadcast.
    """
    if input is None and other is None:
        return B.nonzero(condition, as_tuple=True)
    if condition.dtype.name not in ("bool", "uint8"):
        raise RuntimeError(f"where expected condition to be a boolean tensor, but got a tensor with dtype {condition.dtype}")
    _check_choice("input", input, other)
    _check_choice("other", other, input)
    return B._where(condition if condition.dtype.name == "bool" else condition.bool(), input, other)


def _check_choice(argument, value, beside):
    """RuntimeError for an int that the integer tensor beside it can't hold."""
    if isinstance(value, WHOLE) and hasattr(beside, "dtype") and not takes_any_int(beside.dtype):
        check_scalar("where", argument, value, beside.dtype)


def _is_common(value, dtype):
    """A real number that floats of 32 and 64 bits hold, for a tensor of those."""
    return type(value) in (float, int) and dtype.is_floating_point and dtype.itemsize >= 4 and not 1e38 <= abs(value) < math.inf


@op(inplace=True, entry="masked_fill")
def masked_fill(B, input: T, mask: Raw, value):
    """`input` with `value` (a number or 0-dim tensor) where the mask is True."""
    if mask.dtype.name not in ("bool", "uint8"):
        raise RuntimeError(f"masked_fill_ only supports boolean masks, but got mask with dtype {mask.dtype}")
    if isinstance(value, TensorBase) and value.ndim:
        raise RuntimeError(f"masked_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.ndim} dimension(s).")
    if not isinstance(value, TensorBase):
        if mask.dtype.name == "bool" and _is_common(value, input.dtype):
            return B._where(mask, value, input)
        value = B.full((), value, dtype=input.dtype, device=input.device)
    if value.dtype.is_complex and not input.dtype.is_complex:
        raise RuntimeError(f"value cannot be converted to type {input.dtype.name} without overflow: value={value.item()} of masked_fill()")
    return B._where(mask if mask.dtype.name == "bool" else mask.bool(), value.to(input.dtype), input)


def _clamp_vjp(B, g, input, min, max):
    inside = None
    if min is not None:
        inside = B.ge(input, min)
    if max is not None:
        below = B.le(input, max)
        inside = below if inside is None else B.logical_and(inside, below)
    return B.masked_fill(g, B.logical_not(inside), 0)


def _bound_vjp(is_min):
    def vjp(B, g, input, min, max):
        outside = B.lt(input, min) if is_min else B.gt(input, max)
        if is_min and max is not None:
            outside = B.logical_and(outside, B.lt(min, max))
        elif not is_min and min is not None:
            outside = B.logical_or(outside, B.gt(min, max))
        return B.masked_fill(g, B.logical_not(outside), 0)
    return vjp


def _why_not_clamp(input, *bounds):
    """Refuses ints that don't fit an integer tensor, where they would wrap."""
    for bound in bounds:
        if isinstance(bound, WHOLE) and not takes_any_int(input.dtype):
            check_scalar("clamp", "bound", bound, input.dtype)


def _clamp_name(input, min, max):
    """A node's name: bounds that are numbers have one of their own."""
    return f"ClampBackward{int(not (hasattr(min, 'dtype') or hasattr(max, 'dtype')))}"


@op(exact_out=True, promote="common", numbers="second", inplace=True, refuse=_why_not_clamp, grad_name=_clamp_name,
    vjp=dict(input=_clamp_vjp, min=_bound_vjp(True), max=_bound_vjp(False)))
def clamp(B, input: T, min: T = None, max: T = None):
    """`input` limited to [min, max]; bounds are numbers or tensors, one may be missing. The gradient passes at a bound.

    Raises:
        RuntimeError: neither bound is given.
    """
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    if min is not None:
        input = B.maximum(input, _as_operand(B, min, input))
    return input if max is None else B.minimum(input, _as_operand(B, max, input))


def _as_operand(B, number, input):
    """A number as a 0-dim tensor that promotes with `input` as the number does."""
    return number if isinstance(number, TensorBase) else B.full((), number, dtype=B.result_type(input, number), device=input.device)


@op(exact_out=True, numbers="second", promote="common", inplace=True, refuse=_why_not_clamp, entry="maximum")
def clamp_min(B, input: T, min: T):
    """`input`, at least `min`."""
    return B.clamp(input, min, None)


@op(exact_out=True, numbers="second", promote="common", inplace=True, refuse=_why_not_clamp, entry="minimum")
def clamp_max(B, input: T, max: T):
    """`input`, at most `max`."""
    return B.clamp(input, None, max)
