"""The handle by which a registered hook is removed again."""
import itertools
import weakref

_next_id = itertools.count()


class RemovableHandle:
    """Removes one hook from the dictionary that it was registered in.

    Works as a context manager too: the hook is removed on leaving the block. ``extra_dict`` names
    dictionaries (or a list of them) that hold further facts about the hook under the same id.
    """

    def __init__(self, hooks_dict, *, extra_dict=None):
        self.id = next(_next_id)
        self.hooks_dict_ref = weakref.ref(hooks_dict)
        extras = extra_dict if isinstance(extra_dict, list) else [] if extra_dict is None else [extra_dict]
        self.extra_dict_ref = tuple(weakref.ref(extra) for extra in extras)

    def remove(self):
        """Remove the hook; a second call does nothing."""
        for ref in (self.hooks_dict_ref, *self.extra_dict_ref):
            table = ref()
            if table is not None:
                table.pop(self.id, None)

    def __getstate__(self):
        return self.hooks_dict_ref(), self.id, tuple(ref() for ref in self.extra_dict_ref)

    def __setstate__(self, state):
        def refer(table):
            return weakref.ref(_HookDict() if table is None else table)

        hooks_dict, self.id, extras = state
        self.hooks_dict_ref = refer(hooks_dict)
        self.extra_dict_ref = tuple(refer(extra) for extra in extras)

    def __enter__(self):
        return self

    def __exit__(self, kind, value, traceback):
        self.remove()


class _HookDict(dict):
    """Stands in for a table of hooks that no longer exists (a plain dict has no weak references)."""


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
