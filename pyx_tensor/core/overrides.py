"""Who has a say in a call: types with a `__torch_function__`, autocast, a profiler.

Operands that are neither Tensor nor Parameter: `__torch_function__`, and results of a subclass's type.

As in PyTorch, a subclass of Tensor gets its own type back from operations unless it says otherwise; a type with a
`__torch_function__` of its own decides what an operation does with it.
"""
import threading
from contextlib import contextmanager
from operator import attrgetter

from . import autocast
from .mode import MASKS, has_bits
from .record import namespace as B
from .tensor import TensorBase

_thread = threading.local()
_WATCHED, _AUTOCAST = MASKS["intercept"], MASKS["autocast"]
_watch = None


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


def overloaded_types(args, plain):
    """The types among the operands (one level of lists deep) with a `__torch_function__`, subclasses before their bases."""
    found = []
    for arg in args:
        for item in arg if isinstance(arg, (list, tuple)) else (arg,):
            kind = type(item)
            if kind in plain or kind in found or not hasattr(kind, "__torch_function__"):
                continue
            at = next((i for i, other in enumerate(found) if issubclass(kind, other)), len(found))
            found.insert(at, kind)
    return found


def call_form(signature, args):
    """(args, kwargs) as a caller would write them, without defaults at the end."""
    n = signature.n_positional
    positional = list(args[:n])
    while positional and positional[-1] is signature.defaults[len(positional) - 1]:
        positional.pop()
    keywords = {name: value for name, value, default in zip(signature.params[n:], args[n:], signature.defaults[n:]) if value is not default}
    return tuple(positional), keywords


def interceptor(plain):
    """The call path's function for operands whose types aren't among `plain`, and for threads with a bit of the mode word set."""
    def intercept(operation, args, in_place):
        if _watch is not None and has_bits(_WATCHED):
            return _watch(operation.name + "_" * in_place, args, lambda: watched(operation, args, in_place))
        return NotImplemented if in_place else decide(operation, args)

    def watched(operation, args, in_place):
        result = NotImplemented if in_place else decide(operation, args)
        return operation.proceed(list(args), in_place) if result is NotImplemented else result

    def decide(operation, args):
        result = by_types(operation, args)
        if result is NotImplemented and has_bits(_AUTOCAST):
            return autocast.intercept(operation, args)
        return result

    def by_types(operation, args):
        if getattr(_thread, "disabled", False):
            return NotImplemented
        types = overloaded_types(args, plain)
        if not types:
            return NotImplemented
        function = attrgetter(operation.name.replace("::", "."))(B)      # of a custom operation: B.namespace.name
        positional, keywords = call_form(operation.signature, args)
        for kind in types:
            result = kind.__torch_function__(function, tuple(types), positional, keywords)
            if result is not NotImplemented:
                return result
        names = ", ".join(kind.__name__ for kind in types)
        raise TypeError(f"no implementation found for '{operation.name}' on types that implement __torch_function__: [{names}]")
    return intercept


def make_default(plain):
    """`Tensor.__torch_function__`: run the operation as for tensors, and give its results the subclass's type."""
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if not all(issubclass(cls, kind) for kind in types):
            return NotImplemented
        with disabled():
            result = func(*args, **(kwargs or {}))
        return as_type(result, cls, plain, args)
    return classmethod(__torch_function__)


def without_conversion(cls, func, types, args=(), kwargs=None):
    """A `__torch_function__` that leaves results plain tensors, as `Parameter`'s does."""
    with disabled():
        return func(*args, **(kwargs or {}))


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
