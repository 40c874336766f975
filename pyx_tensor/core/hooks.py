"""The handle by which a registered hook is removed again."""
import itertools
import weakref

_next_id = itertools.count()


class RemovableHandle:
    """Removes one hook from the dictionary that it was registered in.

    Works as a context manager too: the hook is removed on leaving the block.

    Args:
        hooks_dict: where the hook stands, under the handle's `id`; not kept alive if it can be referred to weakly.
        hook: entered there, if given.
        extra_dict: dictionaries (or one) that hold further facts about the hook under the same id.
    """

    def __init__(self, hooks_dict, hook=None, *, extra_dict=None):
        self.id = next(_next_id)
        self.hooks_dict_ref = _reference(hooks_dict)
        extras = extra_dict if isinstance(extra_dict, list) else [] if extra_dict is None else [extra_dict]
        self.extra_dict_ref = tuple(_reference(extra) for extra in extras)
        if hook is not None:
            hooks_dict[self.id] = hook

    def remove(self):
        """Remove the hook; a second call does nothing."""
        for ref in (self.hooks_dict_ref, *self.extra_dict_ref):
            table = ref()
            if table is not None:
                table.pop(self.id, None)

    def __getstate__(self):
        return self.hooks_dict_ref(), self.id, tuple(ref() for ref in self.extra_dict_ref)

    def __setstate__(self, state):
        hooks_dict, self.id, extras = state
        self.hooks_dict_ref, *rest = (_reference(_Table() if table is None else table) for table in (hooks_dict, *extras))
        self.extra_dict_ref = tuple(rest)

    def __enter__(self):
        return self

    def __exit__(self, kind, value, traceback):
        self.remove()


class _Table(dict):
    """Stands in for a table of hooks that no longer exists."""


def _reference(table):
    """A function that gives the table: weak where that can be, which a plain dict can't."""
    try:
        return weakref.ref(table)
    except TypeError:
        return lambda: table
