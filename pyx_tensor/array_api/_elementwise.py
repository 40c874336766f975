"""Functions element by element."""
from ..core.tensor import TensorBase
from ..ops import namespace as ops

# the standard's name: the operation's, where it differs
_UNARY = dict(
    acos="", acosh="", asin="", asinh="", atan="", atanh="", bitwise_invert="bitwise_not", ceil="", conj="", cos="", cosh="", exp="", expm1="", floor="",
    imag="", isfinite="", isinf="", isnan="", log="", log1p="", log2="", log10="", logical_not="", negative="neg", positive="", real="", reciprocal="",
    round="", sign="sgn", signbit="", sin="", sinh="", square="", sqrt="", tan="", tanh="", trunc="", abs="")
_BINARY = dict(
    add="", atan2="", bitwise_and="", bitwise_left_shift="", bitwise_or="", bitwise_right_shift="", bitwise_xor="", copysign="", divide="div", equal="eq",
    floor_divide="", greater="gt", greater_equal="ge", hypot="", less="lt", less_equal="le", logaddexp="", logical_and="", logical_or="", logical_xor="",
    maximum="", minimum="", multiply="mul", nextafter="", not_equal="ne", pow="", remainder="", subtract="sub")

__all__ = ["clip", *_UNARY, *_BINARY]


def operand(x, other):
    """A Python number as a 0-dim tensor beside `other`, of its dtype unless the number is of a higher kind."""
    if isinstance(x, TensorBase):
        return x
    if not isinstance(x, (bool, int, float, complex)):
        raise TypeError(f"expected a tensor or a Python number, got {type(x).__name__}")
    of_higher_kind = (isinstance(x, complex) and not other.dtype.is_complex
                      or isinstance(x, float) and not (other.dtype.is_floating_point or other.dtype.is_complex)
                      or type(x) is int and other.dtype.name == "bool")
    return ops.tensor(x, dtype=None if of_higher_kind else other.dtype, device=other.device)


def pair(x1, x2):
    """Two operands as tensors; TypeError where both are numbers."""
    if not isinstance(x1, TensorBase) and not isinstance(x2, TensorBase):
        raise TypeError("at least one operand must be a tensor")
    return operand(x1, x2), operand(x2, x1)


def _unary(name, operation):
    def function(x, /):
        if not isinstance(x, TensorBase):
            raise TypeError(f"{name}: expected a tensor, got {type(x).__name__}")
        return getattr(ops, operation)(x)
    function.__name__ = function.__qualname__ = name
    function.__doc__ = getattr(ops, operation).__doc__
    return function


def _binary(name, operation):
    def function(x1, x2, /):
        return getattr(ops, operation)(*pair(x1, x2))
    function.__name__ = function.__qualname__ = name
    function.__doc__ = getattr(ops, operation).__doc__
    return function


globals().update({name: _unary(name, operation or name) for name, operation in _UNARY.items()})
globals().update({name: _binary(name, operation or name) for name, operation in _BINARY.items()})


def clip(x, /, min=None, max=None):
    """The elements cut off to [min, max]; bounds are numbers or tensors, or None. The dtype is the input's."""
    for bound, cut in ((min, ops.maximum), (max, ops.minimum)):
        if bound is not None:
            x = cut(*ops.broadcast_tensors(x, operand(bound, x).to(x.dtype)))
    return ops.clone(x) if min is None and max is None else x
