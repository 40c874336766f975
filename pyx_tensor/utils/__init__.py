"""Helpers around tensors and modules; its modules are imported when they are first asked for."""
from importlib import import_module as _import_module
from importlib.util import find_spec as _find_spec


def __getattr__(name):
    if name.startswith("_") or _find_spec(f"{__name__}.{name}") is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _import_module(f"{__name__}.{name}")
