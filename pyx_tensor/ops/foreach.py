"""One operation over lists of tensors: `torch._foreach_add(a, b)` gives `[a[0] + b[0], a[1] + b[1], …]`.

In PyTorch these save launches on a GPU; here they are for programs that call them (optimizers of their own).
"""
from ..core.definitions import functions
from ..core.record import namespace as B
from ..core.tensor import TensorBase

_UNARY = ("abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p log2 neg reciprocal round rsqrt sigmoid sign sin sinh "
          "sqrt tan tanh trunc").split()
_BINARY = dict(add="add", sub="sub", mul="mul", div="div", pow="pow", maximum="maximum", minimum="minimum", clamp_min="clamp_min", clamp_max="clamp_max")


def _check_list(name, tensors):
    if not isinstance(tensors, (list, tuple)):
        raise TypeError(f"{name}(): argument 'self' must be tuple of Tensors, not {type(tensors).__name__}")
    if not tensors:
        raise RuntimeError("Tensor list must have at least one tensor.")


def _each(name, count, operand):
    """An operand for each of `count` tensors: of a list one each, else the same for all."""
    if not isinstance(operand, (list, tuple)):
        return [operand] * count
    if len(operand) != count:
        raise RuntimeError(f"Tensor lists must have the same number of tensors, got {count} and {len(operand)} in {name}()")
    return operand


def _publish(name, call, meaning):
    def apart(self, *args, **kwargs):
        return call("", self, *args, **kwargs)

    def in_place(self, *args, **kwargs):
        call("_", self, *args, **kwargs)
    for function, suffix in ((apart, ""), (in_place, "_")):
        function.__name__ = function.__qualname__ = f"_foreach_{name}{suffix}"
        function.__doc__ = f"{meaning} each tensor of a list{', in place' if suffix else ''}."
        function.__module__ = "pyx_tensor"
        functions[function.__name__] = function


def _unary(name):
    def call(suffix, self):
        _check_list(f"_foreach_{name}", self)
        operation = getattr(B, name + suffix)
        return [operation(t) for t in self]
    return call


def _operation(name, operand):
    """Extremes with a number are clamps."""
    if name in ("maximum", "minimum") and not isinstance(operand, TensorBase):
        return "clamp_min" if name == "maximum" else "clamp_max"
    return name


def _written(t, result, suffix):
    return t.copy_(result) if suffix else result


def _binary(name):
    def call(suffix, self, other, *, alpha=None):
        if name == "pow" and not isinstance(self, (list, tuple)):
            return [B.pow(self, exponent) for exponent in other]
        _check_list(f"_foreach_{name}", self)
        results = []
        for t, operand in zip(self, _each(f"_foreach_{name}", len(self), other)):
            extra = {} if alpha is None else {"alpha": alpha}
            results.append(_written(t, getattr(B, _operation(name, operand))(t, operand, **extra), suffix))
        return results
    return call


def _scaled(name):
    def call(suffix, self, tensor1, tensor2, value=1, *, scalars=None):
        _check_list(f"_foreach_{name}", self)
        values = value if scalars is None else scalars
        values = values.tolist() if isinstance(values, TensorBase) and values.ndim else values
        rows = zip(self, _each(name, len(self), tensor1), _each(name, len(self), tensor2), _each(name, len(self), values))
        return [_written(t, getattr(B, name)(t, a, b, value=v), suffix) for t, a, b, v in rows]
    return call


def _lerp(suffix, self, tensors1, weight):
    _check_list("_foreach_lerp", self)
    return [_written(t, B.lerp(t, end, w), suffix) for t, end, w in zip(self, _each("lerp", len(self), tensors1), _each("lerp", len(self), weight))]


def _zero(suffix, self):
    _check_list("_foreach_zero", self)
    return [t.zero_() if suffix else B.zeros_like(t) for t in self]


def _copy(suffix, self, src, non_blocking=False):
    _check_list("_foreach_copy", self)
    return [t.copy_(s) if suffix else B.clone(s).to(t.dtype) for t, s in zip(self, _each("copy", len(self), src))]


def _foreach_norm(self, ord=2, dtype=None):
    """The norm of each tensor of a list."""
    _check_list("_foreach_norm", self)
    return [B.norm(t, ord, dtype=dtype) for t in self]


def _foreach_max(self):
    """The largest element of each tensor of a list."""
    _check_list("_foreach_max", self)
    return [B.amax(t) for t in self]


for _name in _UNARY:
    _publish(_name, _unary(_name), f"`{_name}` of")
for _name in _BINARY:
    _publish(_name, _binary(_name), f"`{_name}` with an operand, or one of a list, of")
for _name in ("addcmul", "addcdiv"):
    _publish(_name, _scaled(_name), f"`{_name}` of")
_publish("lerp", _lerp, "`lerp` of")
_publish("zero", _zero, "Zeros for")
_publish("copy", _copy, "The values of another list in")
functions.update(_foreach_norm=_foreach_norm, _foreach_max=_foreach_max)
