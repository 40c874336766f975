"""Which build of the kernels runs: one per level of x86-64, chosen by the processor's features.

A kernel module `NAME` exists once per level (`baseline.NAME`, `v3.NAME`, `v4.NAME`). A module that uses
one calls `use_kernels(NAME, bind)`; `bind(module)` is called at once and again whenever the level changes.
"""
from importlib import import_module

from .build_info import levels as LEVELS
from .cpu_features import highest_level

_users = []


def cpu_level():
    """The level in use: 'baseline', 'v3' or 'v4'."""
    return _level


def supported_levels():
    """The levels that this processor has and the compiler could build for, lowest first."""
    return tuple(level for level in LEVELS if level <= highest_level())  # 'baseline' < 'v3' < 'v4'


_level = supported_levels()[-1]


def _bind(name, bind):
    bind(import_module(f".{_level}.{name}", __package__))


def use_kernels(name, bind):
    _users.append((name, bind))
    _bind(name, bind)


def set_cpu_level(name):
    """Run the kernels built for `name`, one of `supported_levels()`."""
    global _level
    if name not in supported_levels():
        raise ValueError(f"CPU level {name!r} is not one of {supported_levels()}, which this processor supports")
    _level = name
    for user in _users:
        _bind(*user)
