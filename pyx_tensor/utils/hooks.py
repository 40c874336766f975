"""Registering hooks, and the handle by which one is removed again."""
from ..core.hooks import RemovableHandle


def add_hook(hooks, hook, *, prepend=False, flags=()):
    """Register ``hook`` in the ordered dictionary ``hooks`` and return its :class:`RemovableHandle`.

    ``flags`` are (dictionary, value) pairs: each true value is noted under the hook's id.
    """
    handle = RemovableHandle(hooks, extra_dict=[table for table, _ in flags])
    hooks[handle.id] = hook
    for table, value in flags:
        if value:
            table[handle.id] = True
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle
