"""What is said of arguments that aren't tensors."""
from functools import wraps

from ...core.tensor import TensorBase


def takes_tensors(count=1):
    """Decorates a function whose first `count` parameters are tensors: TypeError, with the argument's name, where one isn't and that shows."""
    def decorate(function):
        names = function.__code__.co_varnames[:count]

        @wraps(function)
        def checked(*args, **kwargs):
            try:
                return function(*args, **kwargs)
            except AttributeError:
                given = {**dict(zip(names, args)), **kwargs}
                for place, name in enumerate(names, 1):
                    if name in given and not isinstance(given[name], TensorBase):
                        raise TypeError(f"{function.__name__}(): argument '{name}' (position {place}) must be Tensor, not "
                                        f"{type(given[name]).__name__}") from None
                raise

        return checked
    return decorate
