"""Who has a say in a call: types with a `__torch_function__`, modes, autocast, a profiler.

As in PyTorch, a subclass of Tensor gets its own type back from operations unless it says otherwise; a type with a
`__torch_function__` of its own decides what an operation does with it. A `TorchFunctionMode` is asked before any type.
"""
import threading
from contextlib import contextmanager
from functools import wraps
from operator import attrgetter

from . import autocast
from .dtype import DType
from .mode import MASKS, has_bits, swap_bits
from .record import namespace as B
from .tensor import TensorBase

_thread = threading.local()
_WATCHED, _AUTOCAST = MASKS["profile"], MASKS["autocast"]
_watch = None         # the profiler's function
plain_types = ()      # Tensor and Parameter: what no handler is asked for


def set_watcher(function):
    """Let `function(name, args, run)` see the calls of threads whose mode word has the bit for it; `run()` gives the result."""
    global _watch
    _watch = function


@contextmanager
def disabled():
    """Within it this thread's operations take subclasses for tensors and give plain ones."""
    before = getattr(_thread, "disabled", False)
    _thread.disabled = True
    try:
        yield
    finally:
        _thread.disabled = before


def as_type(result, cls, plain, args):
    """New tensors of type `plain` in an operation's result, as `cls`."""
    if isinstance(result, (tuple, list)):
        items = [as_type(item, cls, plain, args) for item in result]
        return type(result)(items)
    if type(result) is plain and not any(result is arg for arg in args):
        result.__class__ = cls
    return result


def overloaded_types(args):
    """The types among the operands (one level of lists deep) with a `__torch_function__`, subclasses before their bases."""
    found = []
    for arg in args:
        for item in arg if isinstance(arg, (list, tuple)) else (arg,):
            kind = type(item)
            if kind in plain_types or kind in found or not hasattr(kind, "__torch_function__"):
                continue
            at = next((i for i, other in enumerate(found) if issubclass(kind, other)), len(found))
            found.insert(at, kind)
    return found


def call_form(signature, args):
    """(args, kwargs) as a caller would write them, without defaults at the end."""
    n, sizes = signature.n_positional, signature.sizes_at
    positional = list(args[:n])
    if sizes >= 0 and len(positional[sizes]) == 1 and isinstance(positional[sizes][0], DType):       # view(dtype)
        positional[sizes] = positional[sizes][0]
    while positional and positional[-1] is signature.defaults[len(positional) - 1]:
        positional.pop()
    keywords = {name: value for name, value, default in zip(signature.params[n:], args[n:], signature.defaults[n:]) if value is not default}
    return tuple(positional), keywords


# --- who is asked -------------------------------------------------------------------------------------------------
def _modes():
    """This thread's modes, the innermost last."""
    if not hasattr(_thread, "modes"):
        _thread.modes = []
    return _thread.modes


def has_modes():
    """Whether this thread has modes, be they hidden for now."""
    return bool(_modes())


def _show_modes():
    """Tell the call path whether there is a mode to ask."""
    swap_bits(MASKS["intercept"], MASKS["intercept"] if _modes() else 0)


class TorchFunctionMode:
    """A context in which `__torch_function__(func, types, args, kwargs)` of this object is asked for every operation of the thread.

    A subclass overrides the method, which calls `func(*args, **kwargs)` where it wants the operation to go on. While it runs, the
    mode is off.
    """

    def __torch_function__(self, func, types, args=(), kwargs=None):
        raise NotImplementedError("a TorchFunctionMode defines __torch_function__(self, func, types, args=(), kwargs=None)")

    def __enter__(self):
        _modes().append(self)
        _show_modes()
        return self

    def __exit__(self, *exc_info):
        _modes().pop()
        _show_modes()


def _ask_mode(function, types, args, kwargs):
    mode = _modes().pop()
    _show_modes()
    try:
        return mode.__torch_function__(function, types, args, kwargs)
    finally:
        _modes().append(mode)
        _show_modes()


def ask(function, relevant, args, kwargs):
    """What a mode or a type among the `relevant` operands makes of the call; NotImplemented where nobody is asked, TypeError where all decline."""
    off = getattr(_thread, "disabled", False)
    types = () if off else tuple(overloaded_types(relevant))
    asked = [type(mode) for mode in _modes()[-1:]] if has_bits(MASKS["intercept"]) else []
    if asked:
        result = _ask_mode(function, types, args, kwargs)
        if result is not NotImplemented:
            return result
    for kind in types:
        result = kind.__torch_function__(function, types, args, kwargs)
        if result is not NotImplemented:
            return result
    if not asked and not types:
        return NotImplemented
    names = ", ".join(kind.__name__ for kind in (*asked, *types))
    raise TypeError(f"no implementation found for '{getattr(function, '__name__', function)}' on types that implement __torch_function__: [{names}]")


def is_asked(*relevant):
    """Whether somebody wants to see a call with these operands."""
    return has_bits(MASKS["intercept"]) or not getattr(_thread, "disabled", False) and bool(overloaded_types(relevant))


def is_asked_about(operand):
    """Whether an operand's type wants to see a call; modes have seen it."""
    return type(operand) not in plain_types and not getattr(_thread, "disabled", False) and bool(overloaded_types((operand,)))


def intercept(operation, args, form, out):
    """The call path's function for operands whose types aren't plain, and for threads whose mode word says so.

    A profiler sees what is run in the end, once. NotImplemented: the operation is to be run as it is.
    """
    result = _asked(operation, args, form, out)
    if result is not NotImplemented:
        return result
    if has_bits(_WATCHED) and _watch is not None:
        return _watch(operation.name + form, args, lambda: _watched(operation, args, form, out))
    return _cast(operation, args, form, out)


def ask_first(function, body, args, kwargs):
    """The result of a function behind which no operation stands: of the modes, the types that want more than operations, or its body."""
    names = getattr(function, "tensors", ())
    while len(args) < len(names) and names[len(args)] in kwargs:       # handlers find them by their places
        args, kwargs = (*args, kwargs[names[len(args)]]), {name: value for name, value in kwargs.items() if name != names[len(args)]}
    relevant = (*args, *kwargs.values())
    result = NotImplemented
    if has_bits(MASKS["intercept"]) or any(getattr(kind, "attributes_ask", True) for kind in overloaded_types(relevant)):
        result = ask(function, relevant, args, kwargs)
    return body(*args, **kwargs) if result is NotImplemented else result


def intercept_function(function, body, args, kwargs):
    """What modes and a profiler make of a function that makes tensors, and whose body asks types itself."""
    if has_bits(MASKS["intercept"]):
        return ask(function, args, args, kwargs)
    if has_bits(_WATCHED) and _watch is not None:
        return _watch(function.__name__, args, lambda: body(*args, **kwargs))
    return body(*args, **kwargs)


def _watched(operation, args, form, out):
    result = _cast(operation, args, form, out)
    return operation.proceed(list(args), form, out) if result is NotImplemented else result


def _cast(operation, args, form, out):
    """What autocast makes of the call."""
    return autocast.intercept(operation, args) if out is None and not form and has_bits(_AUTOCAST) else NotImplemented


def _asked(operation, args, form, out):
    """What a mode or an operand's type makes of the call."""
    relevant = args if out is None else [*args, *(out if isinstance(out, (list, tuple)) else (out,))]
    if not is_asked(*relevant):
        return NotImplemented
    function = attrgetter(operation.name.replace("::", ".") + form)(B)      # of a custom operation: B.namespace.name
    positional, keywords = call_form(operation.signature, args)
    if out is not None:
        keywords["out"] = out
    return ask(function, relevant, positional, keywords)


# --- the handlers of tensors --------------------------------------------------------------------------------------
def make_default(plain):
    """`Tensor.__torch_function__`: run the operation as for tensors, and give its results the subclass's type."""
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if not all(issubclass(cls, kind) for kind in types):
            return NotImplemented
        with disabled():
            result = func(*args, **(kwargs or {}))
        return result if func in unconverted else as_type(result, cls, plain, args)
    unconverted.update(getattr(plain, name).__get__ for name in ("grad", "_base"))
    _defaults.add(__torch_function__)
    return classmethod(__torch_function__)


def unasked(func, types, args=(), kwargs=None):
    """What a class sets as its `__torch_function__` that wants no say: results are plain tensors."""
    with disabled():
        return func(*args, **(kwargs or {}))


def leaves_plain(cls):
    """Whether results on operands of a subclass are plain tensors: its handler is switched off, or wants no say."""
    handler = cls.__torch_function__
    return getattr(_thread, "disabled", False) or getattr(handler, "__func__", handler) in (unasked, without_conversion)


def without_conversion(cls, func, types, args=(), kwargs=None):
    """A `__torch_function__` that leaves results plain tensors, as `Parameter`'s does."""
    return unasked(func, types, args, kwargs)


_defaults = {unasked, without_conversion}
unconverted = set()       # functions whose results the default handler leaves as they are: they are no new tensors


# --- attributes ---------------------------------------------------------------------------------------------------
# Of Tensor's attributes these are special, or private, and asked for in PyTorch too; of the others all but those that follow.
_SPECIAL = ("__array__", "__array_wrap__", "__bool__", "__complex__", "__contains__", "__cuda_array_interface__", "__deepcopy__", "__dlpack__",
            "__dlpack_device__", "__float__", "__format__", "__index__", "__int__", "__len__", "__long__", "__nonzero__", "__reduce_ex__", "__repr__",
            "__reversed__", "__setstate__", "_base", "_indices", "_is_view", "_nnz", "_values", "_version")
_SILENT = ("array", "as_subclass", "grad_slot", "record_stream", "reinforce")


def _asking(function):
    """A method, a getter or a setter that asks the object's type first."""
    @wraps(function)
    def asked(self, *args, **kwargs):
        if getattr(_thread, "disabled", False):
            return function(self, *args, **kwargs)
        return ask(function, (self, *args, *kwargs.values()), (self, *args), kwargs)
    return asked


def attributes_to_ask(cls):
    """(name, attribute) of the methods and properties that a class has from Tensor and that handlers are asked for, but for operations, which ask
    by themselves."""
    for name in dir(cls):
        if name in _SILENT or name.startswith("_") and name not in _SPECIAL:
            continue
        owner = next(base for base in cls.__mro__ if name in base.__dict__)
        attribute = owner.__dict__[name]
        of_tensor = issubclass(plain_types[0], owner) or owner in plain_types
        if of_tensor and not hasattr(attribute, "op") and (callable(attribute) or hasattr(attribute, "__set__")):
            yield name, attribute


def let_attributes_ask(cls):
    """Give a new subclass of Tensor with a `__torch_function__` of its own methods and properties that ask it before Tensor's answer.

    So plain tensors, of whose attributes nobody is asked, pay nothing. A class whose handler is for operations alone says so by
    `attributes_ask = False`.
    """
    handler = getattr(cls, "__torch_function__", None)
    if handler is None or getattr(handler, "__func__", handler) in _defaults or not getattr(cls, "attributes_ask", True):
        return
    for name, attribute in attributes_to_ask(cls):
        if hasattr(attribute, "__set__"):
            setattr(cls, name, property(_asking(attribute.__get__), _asking(attribute.__set__), doc=attribute.__doc__))
        else:
            setattr(cls, name, _asking(attribute))


# --- other classes ------------------------------------------------------------------------------------------------
def as_subclass(self, cls):
    """The same tensor, in the graph, as an object of a subclass of Tensor."""
    if not (isinstance(cls, type) and issubclass(cls, TensorBase)):
        raise TypeError(f"as_subclass(): argument 'cls' must be a subclass of Tensor, not {cls!r}")
    with disabled():
        result = B.alias(self)
    result.__class__ = cls
    return result


def make_subclass(cls, data, require_grad=False):
    """An object of class `cls` on the memory of `data`, outside of the graph."""
    with disabled():
        result = data.detach()
    result.__class__ = cls
    if require_grad:
        result.requires_grad = True
    return result
