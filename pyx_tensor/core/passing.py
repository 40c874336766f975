"""Decorators of PyTorch's that have nothing to do here."""


def passed_through(function):
    """The function itself; where a decorator was called with options alone (None), a decorator that leaves its function as it is."""
    if function is None:
        return lambda function: function
    if not callable(function):
        raise TypeError(f"expected a function, a class or a module, got {type(function).__name__}")
    return function
