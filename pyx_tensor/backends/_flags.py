"""A block of code under other flags."""
import contextlib


@contextlib.contextmanager
def changed(module, **values):
    """Set a module's flags (None: leave as it is) and put them back afterwards."""
    before = {name: getattr(module, name) for name, value in values.items() if value is not None}
    vars(module).update({name: values[name] for name in before})
    try:
        yield
    finally:
        vars(module).update(before)
