"""The decorators by which an operation is defined, once, for all devices.

    @primitive(promote="float", vjp=dict(input=lambda B, g, y: B.mul(g, y)))
    def exp(B, input: T):
        "Docstring for users."

    @op(promote="float")
    def sigmoid_like(B, input: T):
        "..."
        return B.reciprocal(B.add(B.exp(B.neg(input)), 1))

A definition gives the function, the methods (`x.exp()`, `x.exp_()`), `out=` and the gradient. `B` holds every operation
by its name. A vjp's parameters say what is kept for it: see docs/architecture.md.
"""
from collections import namedtuple

from . import op as _op
from .geometry import VIEW_KINDS
from .record import namespace
from .signature import Signature, T

PROMOTE = {None: 0, "common": 1, "float": 2, "sum": 3, "float_only": 4}

operations = {}      # name -> Op: the table
functions = {}       # name -> the function that users call
in_place = {}        # 'name_' -> its in-place form


def _camel(name):
    return "".join(part[:1].upper() + part[1:] for part in name.strip("_").split("_"))


def _returns(name, fields):
    """The named tuple class of an operation with several outputs."""
    base = namedtuple(name, fields)
    return type(name, (base,), {
        "__slots__": (), "__new__": lambda cls, items: tuple.__new__(cls, items),
        "__repr__": lambda self: f"torch.return_types.{name}(\n" + ",\n".join(f"{f}={v}" for f, v in zip(fields, self)) + ")",
        "__reduce__": lambda self: (tuple, (tuple(self),)), "__module__": "pyx_tensor.return_types"})


def _call_shape(signature):
    """The compiled parser for the commonest signatures, else the general one."""
    if signature.params == ("input",) and signature.kinds[0] == T:
        return _op.unary_function
    if signature.params == ("input", "other") and signature.kinds == (T, T):
        return _op.binary_function
    if signature.params[:3] == ("input", "dim", "keepdim") and signature.params[3:] in ((), ("dtype",)) and signature.defaults[1] is None:
        return _op.reduction_function
    return _op.general_function


def _publish(operation, function, *, method, inplace, hidden):
    name = operation.name
    if name in operations:
        raise ValueError(f"operation {name!r} is defined already")
    definition = operation.definition
    function.__name__ = function.__qualname__ = name
    function.__doc__ = definition.__doc__
    function.__module__ = "pyx_tensor"
    function.op = operation
    operations[name] = operation
    functions[name] = function
    setattr(namespace, name, function)
    operation.is_method, operation.is_hidden = method, hidden
    if inplace:
        written = _op.in_place_function(operation)
        written.__name__ = written.__qualname__ = name + "_"
        written.__doc__ = f"In-place form of `{name}`."
        written.__module__ = "pyx_tensor"
        in_place[name + "_"] = written
        setattr(namespace, name + "_", written)
    return function


def _define(function, *, primitive, vjp=None, promote=None, result="same", returns=None, nondiff=(), aux=(), nograd=False,
            inplace=False, method=True, hidden=False, grad_name=None):
    signature = Signature(function)
    outputs = tuple(returns) if returns else ("y",)
    if primitive and not vjp and not nograd:
        raise TypeError(f"{signature.name}: a primitive operation without a vjp says nograd=True")
    operation = Operation(
        signature, primitive=primitive, vjp=vjp or {}, aux=tuple(aux), nograd=nograd, promote=PROMOTE[promote], result=result,
        returns=_returns(signature.name, outputs) if returns else None,
        differentiable=tuple(o not in nondiff for o in outputs), grad_name=grad_name or _camel(signature.name))
    return _publish(operation, _call_shape(signature)(operation), method=method, inplace=inplace, hidden=hidden)


class Operation(_op.Op):
    """An Op with room for notes."""


class ViewOperation(_op.ViewOp):
    """A ViewOp with room for notes."""


def op(**options):
    """An operation whose body is its default, in terms of other operations.

    Args:
        vjp: {parameter or tuple of parameters: function(B, ...)}; without one the operation is composite, and the body is
            what autograd sees.
        promote: None, 'common', 'float', 'sum' or 'float_only': how the operands' dtypes give the compute dtype.
        result: 'same' where a kernel's result has the compute dtype.
        returns: names of several outputs. nondiff: those without a gradient. aux: names of hidden outputs behind them.
        nograd: the operation has no gradient. inplace: it has a form `name_`. method: it is a method of Tensor too.
        hidden: it isn't part of the public namespace.
    """
    return lambda function: _define(function, primitive=False, **options)


def primitive(**options):
    """An operation that only backends can do; the body is empty but for its docstring. Options as for `op`."""
    return lambda function: _define(function, primitive=True, **options)


def view(kind, vjp, *, hidden=False, grad_name=None):
    """An operation that gives a view; `kind` names its rule in core/geometry.pyx."""
    def decorate(function):
        signature = Signature(function)
        operation = ViewOperation(signature, primitive=True, vjp=dict(input=vjp), aux=(), nograd=False, promote=0, result="same",
                                  returns=None, differentiable=(True,), grad_name=grad_name or _camel(signature.name))
        operation.set_kind(VIEW_KINDS[kind])
        return _publish(operation, _op.general_function(operation), method=True, inplace=False, hidden=hidden)
    return decorate
