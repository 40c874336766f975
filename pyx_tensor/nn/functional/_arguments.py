"""What the functions have in common: who is asked before them, and what is said of arguments that aren't tensors."""
from ...core.functions import asking
from ...core.tensor import TensorBase


def takes_tensors(count=1):
    """Decorates a function whose first `count` parameters are tensors: their types are asked first, and it's a TypeError, with the argument's
    name, where one isn't a tensor and that shows."""
    def decorate(function):
        names = getattr(function, "__wrapped__", function).__code__.co_varnames[:count]

        def explain(args, kwargs):
            given = {**dict(zip(names, args)), **kwargs}
            for place, name in enumerate(names, 1):
                if name in given and not isinstance(given[name], TensorBase):
                    raise TypeError(f"{function.__name__}(): argument '{name}' (position {place}) must be Tensor, not "
                                    f"{type(given[name]).__name__}") from None

        return asking(function, names, explain)
    return decorate
