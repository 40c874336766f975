"""The library's own layers and models in files. They are plain data: a file may have them built, without a call of their `__init__`, from
parameters, buffers, other layers and settings, and none of its own code runs.

Two things would make a layer more than data, and are refused: hooks, which are called, and an attribute under the name of a method, which would
be called in its place. A function of `nn.functional` may be a setting (a Transformer's activation); a file can't call it.
"""
from importlib import import_module
from pickle import UnpicklingError

from .names import own_module

_PACKAGES = ("pyx_tensor.nn.", "pyx_tensor.vision.models.")


def find_own(own, name):
    """An object of one of our modules, or None. It may stand in another file than PyTorch's, so the packages around are asked too."""
    while own:
        try:
            return getattr(import_module(own), name)
        except (ImportError, AttributeError):
            own = own.rpartition(".")[0]
    return None


def is_layer(kind):
    """Whether it is a class of the library's own layers and models."""
    return isinstance(kind, type) and kind.__module__.startswith(_PACKAGES) and issubclass(kind, import_module("pyx_tensor.nn").Module)


def known_layer(module, name):
    """What the name of a layer of ours, or of a function of `nn.functional`, means; None for other names."""
    own = own_module(module)
    if not own.startswith(_PACKAGES):
        return None
    found = find_own(own, name)
    is_function = own.startswith("pyx_tensor.nn.functional") and callable(found) and not isinstance(found, type)
    return found if is_function or is_layer(found) else None


def set_state(layer, state):
    """Give a layer its state; UnpicklingError where that isn't plain data."""
    kind = type(layer).__name__
    if not isinstance(state, dict) or not all(isinstance(name, str) for name in state):
        raise UnpicklingError(f"load: the state of a {kind} isn't a dict of attributes")
    for name, value in state.items():
        if "_hooks" in name and value:
            raise UnpicklingError(f"load: the file holds a {kind} with hooks ({name}), which run. If you trust it, load it with weights_only=False.")
        if callable(getattr(type(layer), name, None)):
            raise UnpicklingError(f"load: the file sets an attribute {name!r} that would hide a method of {kind}")
    package = import_module("pyx_tensor")
    for name, expected in (("_parameters", package.Tensor), ("_buffers", package.Tensor), ("_modules", package.nn.Module)):
        members = state.get(name)
        if not isinstance(members, dict) or not all(value is None or isinstance(value, expected) for value in members.values()):
            raise UnpicklingError(f"load: {name} of a {kind} isn't a dict of {expected.__name__}s")
    layer.__setstate__(state)
