"""Layers, losses and what goes with them."""
from . import functional, init, modules, utils  # noqa: F401
from . import utils as _utils
from .modules import *  # noqa: F401,F403
utils = _utils        # not the modules' own
from . import parallel  # noqa: F401,E402
from .parallel import DataParallel  # noqa: F401,E402
from .parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter  # noqa: F401


def factory_kwargs(kwargs):
    """`device`, `dtype` and `memory_format` of a module's keyword arguments, and those in its `factory_kwargs`; TypeError for others."""
    if kwargs is None:
        return {}
    given = dict(kwargs.get("factory_kwargs", {}))
    unexpected = kwargs.keys() - {"device", "dtype", "memory_format", "factory_kwargs"}
    if unexpected:
        raise TypeError(f"unexpected kwargs {unexpected}")
    for key in ("device", "dtype", "memory_format"):
        if key in kwargs:
            if key in given:
                raise TypeError(f"{key} specified twice, in **kwargs and in factory_kwargs")
            given[key] = kwargs[key]
    return given
