"""Marks and ranges on the timeline of NVIDIA's profilers; without CUDA they raise the reason."""
import contextlib

from ._devices import backend

__all__ = ["mark", "range", "range_pop", "range_push"]

_depth = [0]


def mark(msg):
    """A mark with a text."""
    backend().mark(msg)


def range_push(msg):
    """Begin a range; how many were open before."""
    backend().push_range(msg)
    _depth[0] += 1
    return _depth[0] - 1


def range_pop():
    """End the innermost range; how many are open still."""
    backend().pop_range()
    _depth[0] = max(_depth[0] - 1, 0)
    return _depth[0]


@contextlib.contextmanager
def range(msg, *args, **kwargs):
    """A context, or a decorator, that is a range; the message is formatted with the further arguments."""
    range_push(msg.format(*args, **kwargs))
    try:
        yield
    finally:
        range_pop()
