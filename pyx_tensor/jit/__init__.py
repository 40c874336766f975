"""TorchScript's decorators, as pass-throughs: there is no compiler, functions and modules run as the Python that they are.

What asks for a compiled program itself (`jit.save`, `jit.load`, a graph) raises NotImplementedError.
"""
from contextlib import contextmanager
from typing import Final  # noqa: F401

from ..core.passing import passed_through
from ..nn import Module as ScriptModule  # noqa: F401

ScriptFunction = type(lambda: None)


def script(obj, optimize=None, _frames_up=0, _rcb=None, example_inputs=None):
    """The function, class or module itself."""
    return passed_through(obj)


def trace(func, example_inputs=None, *options, **named_options):
    """The function or module itself; it isn't called."""
    return passed_through(func)


def trace_module(mod, inputs, *options, **named_options):
    """The module itself."""
    return mod


def freeze(mod, preserved_attrs=None, optimize_numerics=True):
    """The module itself; it must be in evaluation mode, as PyTorch wants it."""
    if getattr(mod, "training", False):
        raise RuntimeError("Freezing module in training mode is not yet supported: call eval() first")
    return mod


def optimize_for_inference(mod, other_methods=None):
    """The module itself."""
    return mod


def ignore(drop=False, **kwargs):
    """The function itself, also where it is called with options."""
    return drop if callable(drop) else passed_through(None)


def unused(fn):
    """The function itself."""
    return fn


def export(fn):
    """The function itself."""
    return fn


def script_method(fn):
    """The method itself."""
    return fn


def script_if_tracing(fn):
    """The function itself."""
    return fn


def interface(obj):
    """The class itself."""
    return obj


def annotate(the_type, the_value):
    """The value itself."""
    return the_value


def Attribute(value, type):
    """The value itself."""
    return value


def is_scripting():
    """False."""
    return False


def is_tracing():
    """False."""
    return False


def isinstance(obj, target_type):
    """Python's isinstance; of a generic type, its origin counts."""
    from builtins import isinstance as is_of
    from typing import get_origin
    kinds = target_type if is_of(target_type, tuple) else (target_type,)
    return is_of(obj, tuple(get_origin(kind) or kind for kind in kinds))


@contextmanager
def optimized_execution(should_optimize):
    """A block that runs as any other."""
    yield


def fork(func, *args, **kwargs):
    """The result of the function, which runs at once; `wait` gives it back."""
    return _Done(func(*args, **kwargs))


class _Done:
    def __init__(self, value):
        self._value = value

    def value(self):
        return self._value

    wait = value


def wait(future):
    """The result of what `fork` started."""
    return future.wait()


def enable_onednn_fusion(enabled):
    """Nothing to enable."""


def set_fusion_strategy(strategy):
    """Nothing to set."""
    return []


def save(m, f, _extra_files=None):
    raise NotImplementedError("jit.save: there is no TorchScript program to save; save the state_dict() with pyx_tensor.save")


def load(f, map_location=None, _extra_files=None, **options):
    raise NotImplementedError("jit.load: TorchScript programs can't be run; save a state_dict() with torch.save where the program is at home")
