"""Flags that are attributes of a module, and a block of code under other flags."""
import contextlib
import types

from ..core.protocol import permissions


class Permission:
    """An attribute that stands for a field of what backends heed (`core.protocol.permissions`).

    Args:
        field: its name there. setter: PyTorch's name for its function, which messages tell.
    """

    def __init__(self, field, setter):
        self.field, self.setter = field, setter

    def __get__(self, owner, kind=None):
        return getattr(permissions, self.field)

    def __set__(self, owner, value):
        if not isinstance(value, bool):
            raise RuntimeError(f"{self.setter} expects a bool, but got {type(value).__name__}")
        setattr(permissions, self.field, value)


def with_attributes(module, **attributes):
    """Give a module attributes that compute (`Permission`)."""
    module.__class__ = type("FlagsModule", (types.ModuleType,), attributes)


@contextlib.contextmanager
def changed(module, **values):
    """Set a module's flags (None: leave as it is) and put them back afterwards."""
    values = {name: value for name, value in values.items() if value is not None}
    before = {name: getattr(module, name) for name in values}
    try:
        for name, value in values.items():
            setattr(module, name, value)
        yield
    finally:
        for name, value in before.items():
            setattr(module, name, value)
