"""Modules whose parameters nobody has drawn."""
import inspect

from ...ops.random import default_generator
from ..modules.module import Module


def skip_init(module_cls, *args, **kwargs):
    """A module whose parameters and buffers are uninitialised memory, for those that are loaded anyway.

    Args:
        module_cls: a class of modules that takes `device`. The others are its arguments; `device` is where the parameters go.

    >>> nn.utils.skip_init(nn.Linear, 5, 1)
    Linear(in_features=5, out_features=1, bias=True)
    """
    if not (isinstance(module_cls, type) and issubclass(module_cls, Module)):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    state = default_generator.get_state()
    try:
        return module_cls(*args, **kwargs)
    finally:
        default_generator.set_state(state)      # as if nothing had been drawn
