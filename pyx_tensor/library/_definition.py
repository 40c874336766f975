"""Custom operations from a definition (its first parameter is `B`), as the package's own are."""
import inspect
import types
import typing

from ..core.definitions import PROMOTE, define
from ..core.frontend import Tensor
from ..core.record import Rule
from ..core.signature import PLAIN, Bool, Dim, Dims, Int, Ints, Number, Raw, Raws, Signature, Sizes, T, TENSOR_KINDS, Ts, Type
from ..core.tensor import TensorBase
from ._kernels import add_kernel, as_tuple, kernel_faults, n_kernel_args, refuse_tensors
from ._names import defined, refusal, scope_of, title

MAX_PARAMS = 32
_KINDS = {T, Raw, Ts, Raws, Dim, Dims, Type, Sizes, Int, Number, Bool, Ints}
_MEANINGS = {Tensor: T, list[Tensor]: Ts, tuple[Tensor, ...]: Ts}     # annotations of Python's own, as kinds


def _kinds(function, wrong):
    """The kind of each parameter of a definition, from its annotations."""
    kinds = {}
    try:
        annotations = inspect.get_annotations(function, eval_str=True)
    except NameError as error:
        wrong.append(f"an annotation can't be read: {error}")
        return kinds
    for parameter, annotation in annotations.items():
        kind = _kind(annotation)
        if kind is None:
            wrong.append(f"parameter {parameter!r}: {annotation!r} is no kind of parameter")
        kinds[parameter] = kind or PLAIN
    return kinds


def _kind(annotation):
    """The kind that an annotation means, None for an unknown one."""
    if type(annotation) is int:
        return annotation if annotation in _KINDS else None
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):       # Tensor | None
        annotation = next((a for a in typing.get_args(annotation) if a in _MEANINGS), annotation)
    return next((kind for meaning, kind in _MEANINGS.items() if meaning == annotation), PLAIN)


def _vjp_faults(signature, vjp, aux):
    kinds = dict(zip(signature.params, signature.kinds))
    for targets, rule in vjp.items():
        for target in (targets,) if isinstance(targets, str) else targets:
            if target not in kinds:
                yield f"vjp for {target!r}, which is no parameter; these are: {', '.join(signature.params)}"
            elif kinds[target] not in TENSOR_KINDS:
                yield f"vjp for {target!r}, which isn't annotated as a tensor"
        code = getattr(rule, "__code__", None)
        if code is None or code.co_varnames[:1] != ("B",):
            yield f"the vjp for {targets!r} must be a function whose first parameter is B"
            continue
        sources = code.co_varnames[1:code.co_argcount]
        if len(sources) > MAX_PARAMS:
            yield f"the vjp for {targets!r} names {len(sources)} things, more than {MAX_PARAMS}"
        for source in sources:
            try:
                Rule.meaning(source, signature.params, aux)
            except TypeError as error:
                yield f"the vjp for {targets!r}: {error}"


def _definition_faults(signature, *, kernels, vjp, nograd, primitive, promote, aux, nondiff, returns):
    yield from _vjp_faults(signature, vjp, aux)
    for device, kernel in kernels.items():
        yield from kernel_faults(device, kernel, n_kernel_args(signature))
    if len(signature.params) > MAX_PARAMS:
        yield f"at most {MAX_PARAMS} parameters are possible, got {len(signature.params)}"
    if not any(kind in TENSOR_KINDS for kind in signature.kinds):
        yield "no parameter is annotated as a tensor"
    if vjp and nograd:
        yield "vjp and nograd exclude each other"
    if aux and not vjp:
        yield "hidden outputs (aux) are for a vjp, and there is none"
    if promote not in PROMOTE:
        yield f"promote must be one of {', '.join(map(repr, PROMOTE))}, got {promote!r}"
    for output in nondiff:
        if output not in returns:
            yield f"nondiff names {output!r}, which isn't among the outputs ({', '.join(returns) or 'unnamed'})"
    if primitive and not (vjp or nograd):
        yield "without a body it needs a vjp, or nograd=True"
    if primitive and not kernels:
        yield "without a body it needs kernels"


def _reraise(*args):
    """Called while an entry's exception is handled: a custom kernel's own message is the best there is."""
    raise


_reraise.reraises = True


def define_operation(name, function, *, kernels=None, vjp=None, nograd=False, primitive=False, promote="common", result="same", returns=(),
                      nondiff=(), aux=(), inplace=False, method=False):
    kernels, vjp, returns, aux = dict(kernels or {}), dict(vjp or {}), tuple(returns), tuple(aux)
    wrong = []
    signature = Signature(function, name, _kinds(function, wrong))
    wrong += _definition_faults(signature, kernels=kernels, vjp=vjp, nograd=nograd, primitive=primitive, promote=promote, aux=aux,
                                nondiff=nondiff, returns=returns)
    short = name.partition("::")[2]
    attributes = [short + suffix for suffix in ("", "_")[:1 + bool(inplace)]] if method else []
    wrong += [f"Tensor has an attribute {attribute!r} already" for attribute in attributes if hasattr(Tensor, attribute)]
    if wrong:
        raise refusal(name, wrong)
    n_results = max(len(returns), 1) + len(aux)
    if vjp or nograd:          # a composite body is recorded as it is
        signature.function = _apart_from_arguments(signature, n_results)
    scope = scope_of(name)
    call = define(signature, primitive=primitive, vjp=vjp, nograd=nograd, promote=promote, result=result, returns=returns, nondiff=nondiff,
                  aux=aux, inplace=inplace, hidden=True, entry=False, named=short, grad_name=title(short), explain=_reraise, scope=scope)
    for attribute in attributes:
        setattr(Tensor, attribute, getattr(scope, attribute))
    defined[name] = call
    for device, kernel in kernels.items():
        add_kernel(call.op, device, kernel)
    return call


def _numbers_as_tensors(B, args, kinds):
    """Numbers in the place of tensors as 0-dim tensors of the dtype that they promote to, as kernels get them."""
    numbers = [at for at, kind in enumerate(kinds) if kind == T and isinstance(args[at], (bool, int, float, complex))]
    given = list(args)
    if numbers:
        like = next(tensor for arg in args for tensor in (arg if isinstance(arg, (list, tuple)) else (arg,)) if isinstance(tensor, TensorBase))
        for at in numbers:
            given[at] = B.full((), args[at], dtype=B.result_type(like, args[at]), device=like.device)
    return given


def _apart_from_arguments(signature, n_results):
    """The body of an operation with a gradient of its own: what it returns becomes the output of a node, so it must be a
    tensor of its own, not an argument and not a view of one."""
    function, name = signature.function, signature.name
    plain = tuple((at, p) for at, (p, kind) in enumerate(zip(signature.params, signature.kinds)) if kind == PLAIN)

    def body(B, *args, **kwargs):
        given = _numbers_as_tensors(B, (*args, *kwargs.values()), signature.kinds)      # in the order of the parameters
        refuse_tensors(name, plain, given)
        results = function(B, *given[:len(args)], **dict(zip(kwargs, given[len(args):])))
        items = as_tuple(name, results, n_results)
        for item in items:
            if not isinstance(item, TensorBase):
                raise TypeError(f"{name}: the body must return tensors, not {type(item).__name__}")
        items = tuple([B.clone(item) if item._is_view() or any(item is arg for arg in given) else item for item in items])
        return items if isinstance(results, (tuple, list)) else items[0]

    body.__doc__ = function.__doc__
    return body
