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

from . import functions as _shapes
from .viewop import ViewOp, sizes_function, view_function
from .writing import WritableOp
from .geometry import VIEW_KINDS
from .record import namespace
from .signature import Signature, Sizes, T

NUMBERS = {"none": 0, "second": 1, "any": 2, "kept": 3}
PROMOTE = {None: 0, "common": 1, "float": 2, "sum": 3, "float_only": 4, "same": 5}

# One result of all elements, several along a dim: the parser of reductions isn't for them.
SEVERAL_BY_DIM = ("median", "nanmedian")

operations = {}      # name -> Op: the table
functions = {}       # public name -> the function that users call, in-place forms ('name_') among them
methods = {}         # those that are methods of Tensor too
properties = {}      # name -> (getter, setter or None): properties of Tensor


def publish_function(function):
    """Enter a plain function that takes no tensors, or asks their types itself."""
    functions[function.__name__] = function
    setattr(namespace, function.__name__, function)
    function.__module__ = "pyx_tensor"
    return function


def composes(function):
    """Enter a plain function over operations, for what no definition can say (any number of tensors, a Python answer)."""
    return publish_function(_shapes.asking(function))


def creates(function):
    """Enter a plain function that makes tensors: modes and profilers see the calls of users, not those of the library (`B`)."""
    public = publish_function(_shapes.shown(function))
    setattr(namespace, function.__name__, function)
    return public


def _camel(name):
    return "".join(part[:1].upper() + part[1:] for part in name.strip("_").split("_"))


def _returns(name, fields):
    """The named tuple class of an operation with several outputs."""
    base = namedtuple(name, fields)
    return type(name, (base,), {
        "__slots__": (), "__new__": lambda cls, items: tuple.__new__(cls, items),
        "__repr__": lambda self: f"torch.return_types.{name}(\n" + ",\n".join(f"{f}={v!r}" for f, v in zip(fields, self)) + ")",
        "__reduce__": lambda self: (tuple, (tuple(self),)), "__module__": "pyx_tensor.return_types"})


def _call_shape(signature, several):
    """The compiled parser for the commonest signatures of operations with one result, else the general one."""
    if several or signature.name in SEVERAL_BY_DIM:
        return _shapes.general_function
    if signature.params == ("input",) and signature.kinds[0] == T:
        return _shapes.unary_function
    if signature.params == ("input", "other") and signature.kinds == (T, T):
        return _shapes.binary_function
    if signature.params == ("input", "exponent") and signature.kinds == (T, T):
        return _shapes.power_function
    if signature.params[:3] == ("input", "dim", "keepdim") and signature.params[3:] in ((), ("dtype",)) and signature.defaults[1] is None:
        return _shapes.reduction_function
    if signature.params == ("input", "weight", "bias") and signature.kinds == (T, T, T):
        return _shapes.affine_function
    return _shapes.general_function


def _named(function, name, doc):
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    function.__module__ = "pyx_tensor"
    return function


def _publish(operation, function, *, method, inplace, hidden, public, scope=namespace):
    """Enter an operation in the table, in `B` (or the part of it for its namespace), and under its public names."""
    if operation.name in operations:
        raise ValueError(f"operation {operation.name!r} is defined already")
    operations[operation.name] = operation
    name = operation.name.rpartition("::")[2]
    doc = operation.definition.__doc__
    public = () if hidden else (name,) if public is None else public
    forms = [("", _named(function, public[0] if public else name, doc))]
    function.op = operation
    if inplace:
        written = _shapes.in_place_function(operation)
        forms.append(("_", _named(written, forms[0][1].__name__ + "_", f"In-place form of `{forms[0][1].__name__}`.\n\n{doc or ''}")))
    for suffix, form in forms:
        setattr(scope, name + suffix, form)
        for alias in public:
            functions[alias + suffix] = form
            if method:
                methods[alias + suffix] = form
    return function


def define(signature, *, primitive, vjp=None, promote=None, result="same", returns=None, nondiff=(), aux=(), nograd=False,
           inplace=False, method=True, hidden=False, public=None, grad_name=None, alpha=False, explain=None, entry=None, named=None,
           numbers="any", scope=namespace, refuse=None, exact_out=None, out_apart=False, over_input=False, call=None):
    """Make and publish the operation of a Signature; options as for `op`. Returns the function that users call."""
    outputs = tuple(returns) if returns else ("y",)
    if primitive and not vjp and not nograd:
        raise TypeError(f"{signature.name}: a primitive operation without a vjp says nograd=True")
    if entry is None and (primitive or vjp or nograd):     # composites are left to their body unless they say otherwise
        entry = signature.name
    entry = entry or None
    operation = WritableOp(
        signature, entry=entry, primitive=primitive, vjp=vjp or {}, aux=tuple(aux), nograd=nograd, promote=PROMOTE[promote], result=result,
        returns=_returns(named or signature.name, outputs) if returns else None,
        differentiable=tuple(o not in nondiff for o in outputs), grad_name=grad_name or _camel(signature.name), alpha=alpha, explain=explain)
    operation.numbers = NUMBERS[numbers]
    operation.refuse = refuse
    keeps_dtype = promote in (None, "same") and result == "same" and bool(vjp or nograd)
    operation.over_input = over_input
    operation.writer = inplace if callable(inplace) else None
    signature.out_apart = out_apart
    operation.exact_out = keeps_dtype if exact_out is None else exact_out
    parser = call or _call_shape(signature, bool(returns or aux))
    return _publish(operation, parser(operation), method=method, inplace=inplace, hidden=hidden, public=public,
                    scope=scope)


def op(**options):
    """An operation whose body is its default, in terms of other operations.

    Args:
        vjp: {parameter or tuple of parameters: function(B, ...)}; without one the operation is composite, and the body is
            what autograd sees.
        promote: None, 'common', 'float', 'sum', 'float_only' or 'same': how the operands' dtypes give the compute dtype.
        result: 'same' where a kernel's result has the compute dtype.
        returns: names of several outputs (`named`: the tuple's own name). nondiff: those without a gradient. aux: names of hidden outputs behind them.
            'name@parameter' stands in for the parameter in gradients of gradients, which then needn't be kept: they flow to it.
        nograd: the operation has no gradient. inplace: it has a form `name_`; a function(B, *arguments) does it where several operations do, the last in place. method: it is a method of Tensor too.
        hidden: it isn't part of the public namespace. public: its names there, where they differ from the definition's.
        entry: the name of the backends' method, where it isn't the definition's; False for none, as a composite operation has
            unless named.
        numbers: which operands may be Python numbers where dtypes are promoted: 'any' (but not all), 'second' (those after the first), 'none',
            or 'kept': any, as they are, for a body that computes in another dtype than the promoted one.
        refuse: function(*arguments) giving the reason where values are refused that a kernel would take, or None.
        explain: function(*arguments) giving the message for arguments that a kernel refused, or None.
        grad_name: what nodes are called: a name without the ending 'Backward0' ('Addmm'); two whole names, for a reduction of all elements and along
            dims; three, for two tensors, and where the second or the first is a number; or a function of a call's arguments that gives the whole name.
        alpha: the second operand can be scaled by a keyword `alpha`.
        out_apart: `out=` may not be an operand's own memory, as results are written while operands are still read elsewhere.
        over_input: the result is the input but for some elements, and an entry that is given the input as `out` writes these alone.
        call: makes the function that users call from the operation, where the signature's usual parser is too slow.
        exact_out: `out=` must have the result's dtype, not one that it can be cast to. By default so where operands aren't promoted.
    """
    return lambda function: define(Signature(function), primitive=False, **options)


def primitive(**options):
    """An operation that only backends can do; the body is empty but for its docstring. Options as for `op`."""
    return lambda function: define(Signature(function), primitive=True, **options)


def view(kind, vjp, *, hidden=False, public=None, inplace=False, grad_name=None):
    """An operation that gives a view; `kind` names its rule in core/geometry.pyx."""
    def decorate(function):
        signature = Signature(function)
        operation = ViewOp(signature, entry=None, primitive=True, vjp=dict(input=vjp), aux=(), nograd=False, promote=0, result="same",
                                  returns=None, differentiable=(True,), grad_name=grad_name or _camel(signature.name), alpha=False, explain=None)
        operation.set_kind(VIEW_KINDS[kind])
        shape = sizes_function if signature.kinds == (T, Sizes) else view_function
        return _publish(operation, shape(operation), method=True, inplace=inplace, hidden=hidden, public=public)
    return decorate
