"""What classes with a `__torch_function__` of their own need: who is asked, and for which functions.

    class Meters:
        def __init__(self, value):
            self.value = torch.as_tensor(value)

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            ...

`torch.add(Meters(1), 2)` then calls `Meters.__torch_function__(torch.add, (Meters,), (Meters(1), 2), {})`.
"""
import functools
import inspect
import sys
from contextlib import contextmanager

from . import _torch_forms
from .core import overrides as _overrides
from .core.definitions import functions as _functions
from .core.definitions import methods as _methods
from .core.definitions import operations as _operations
from .core.frontend import Tensor
from .core.overrides import TorchFunctionMode
from .core.signature import TENSOR_KINDS
from .nn import functional

__all__ = ["TorchFunctionMode", "enable_reentrant_dispatch", "get_default_nowrap_functions", "get_ignored_functions", "get_overridable_functions",
           "get_testing_overrides", "handle_torch_function", "has_torch_function", "is_tensor_like", "is_tensor_method_or_property",
           "resolve_name", "wrap_torch_function"]

BaseTorchFunctionMode = TorchFunctionMode


def has_torch_function(relevant_args):
    """True where an operand (other than plain tensors) has a `__torch_function__`, or a mode is on."""
    return _overrides.is_asked(*relevant_args)


def handle_torch_function(public_api, relevant_args, *args, **kwargs):
    """What the first willing handler among `relevant_args` makes of `public_api(*args, **kwargs)`.

    Raises TypeError where all decline.
    """
    result = _overrides.ask(public_api, tuple(relevant_args), args, kwargs)
    if result is NotImplemented:
        raise TypeError(f"no implementation found for '{resolve_name(public_api) or public_api}' on types that implement __torch_function__: "
                        f"{[type(arg) for arg in relevant_args]}")
    return result


def wrap_torch_function(dispatcher):
    """A decorator that makes a function ask the operands which `dispatcher(*args, **kwargs)` names.

    >>> import pyx_tensor as torch
    >>> from pyx_tensor.overrides import wrap_torch_function
    >>> @wrap_torch_function(lambda x: (x,))
    ... def twice(x):
    ...     return x + x
    >>> twice(torch.tensor(2))
    tensor(4)
    """
    def decorate(function):
        @functools.wraps(function)
        def wrapped(*args, **kwargs):
            relevant = dispatcher(*args, **kwargs)
            if has_torch_function(relevant):
                return handle_torch_function(wrapped, relevant, *args, **kwargs)
            return function(*args, **kwargs)
        return wrapped
    return decorate


def is_tensor_like(inp):
    """True for tensors and for objects whose type has a `__torch_function__`."""
    return isinstance(inp, Tensor) or hasattr(type(inp), "__torch_function__")


# --- which functions ----------------------------------------------------------------------------------------------
def _is_function(x):
    return callable(x) and getattr(x, "__hash__", None) is not None


def _takes_tensors(function):
    return hasattr(function, "asks") or hasattr(function, "op") and any(kind in TENSOR_KINDS for kind in function.op.signature.kinds)


@functools.cache
def _overridable():
    """Function -> its name, for all that ask their operands."""
    found = {function: f"torch.{name}" for name, function in _functions.items() if _takes_tensors(function) or name.endswith("_like")}
    for space, prefix in ((_torch_forms, "torch"), (functional, "torch.nn.functional")):
        for name, function in vars(space).items():
            if _is_function(function) and _takes_tensors(function):
                found.setdefault(function, f"{prefix}.{name}")
    for name, function in _methods.items():
        if hasattr(function, "op"):
            found.setdefault(function, f"torch.Tensor.{name}")
    found.update({getattr(Tensor, name): f"torch.Tensor.{name}" for name in ("__getitem__", "__setitem__")})
    return found


@functools.cache
def _attributes():
    """Function -> its name, for methods, getters and setters that classes with a handler of their own are asked for."""
    found = {}
    for name, attribute in _overrides.attributes_to_ask(Tensor):
        if hasattr(attribute, "__set__"):
            found.update({getattr(attribute, form): f"torch.Tensor.{name}.{form}" for form in ("__get__", "__set__")})
        else:
            found[getattr(Tensor, name)] = f"torch.Tensor.{name}"
    return found


def get_overridable_functions():
    """Namespace -> the functions in it that ask their operands' `__torch_function__`."""
    namespace = sys.modules[__package__]
    tensor = [getattr(Tensor, name) for name in dir(Tensor) if is_tensor_method_or_property(getattr(Tensor, name))]
    of = {prefix: [function for function, name in _overridable().items() if name.rpartition(".")[0] == prefix] for prefix in ("torch", "torch.nn.functional")}
    return {namespace: of["torch"], functional: of["torch.nn.functional"], Tensor: tensor}


def resolve_name(f):
    """The name of a function that can be overridden, such as 'torch.add'; None for others."""
    return _overridable().get(f) or _attributes().get(f) if _is_function(f) else None


def is_tensor_method_or_property(func):
    """True for methods and properties of Tensor that ask `__torch_function__`."""
    return _is_function(func) and (hasattr(func, "op") and func is _methods.get(func.__name__) or func in (Tensor.__getitem__, Tensor.__setitem__)
                                   or func in _attributes())


@functools.cache
def get_ignored_functions():
    """The functions that ask nobody: they take no tensor, or answer for the object itself."""
    return {function for function in _functions.values() if function not in _overridable()}


def get_default_nowrap_functions():
    """Functions whose results the default `__torch_function__` leaves as they are: what they give isn't a new tensor."""
    return set(_overrides.unconverted)


@functools.cache
def get_testing_overrides():
    """Function -> a function of the same parameters that returns -1, to be put in its place in tests."""
    made = {}
    for function in _overridable():
        if hasattr(function, "op"):
            made[function] = _stand_in(function.op.name, _operations[function.op.name].signature.bind)
        elif hasattr(function, "asks"):
            signature = inspect.signature(function)
            made[function] = _stand_in(function.__name__, lambda args, kwargs, signature=signature: signature.bind(*args, **kwargs))
    return made


def _stand_in(name, bind):
    def stand_in(*args, out=None, **kwargs):
        bind(args, kwargs)
        return -1
    stand_in.__name__ = name
    return stand_in


@contextmanager
def enable_reentrant_dispatch():
    """Within it, subclasses are asked again, also from inside of a handler that runs with them switched off."""
    before = getattr(_overrides._thread, "disabled", False)
    _overrides._thread.disabled = False
    try:
        yield
    finally:
        _overrides._thread.disabled = before
