"""Calls in early PyTorch's spelling (0.1 to 0.4): old keywords, and a factor before the operand that it scales.

Each rule rewrites the arguments of one operation; `Op.early` is asked only for calls that aren't today's. The page
docs/early_names.md lists all early names and what they are called now.
"""
from ..core.definitions import operations
from ..core.tensor import TensorBase
from .pointwise import EarlyFactor


def _renamed(**names):
    """Old keywords by today's."""
    def rewrite(args, kwargs):
        return args, {names.get(key, key): value for key, value in kwargs.items()}
    return rewrite


def _outputs(*names):
    """Keywords for the result tensors, now a pair `out`."""
    def rewrite(args, kwargs):
        if names[0] not in kwargs:
            return args, kwargs
        kwargs = dict(kwargs)
        kwargs["out"] = tuple([kwargs.pop(name) for name in names])
        return args, kwargs
    return rewrite


def _factor_first(count):
    """`f(tensor, value, a, b)` as `f(tensor, a, b, value=value)`."""
    def rewrite(args, kwargs):
        if len(args) != count + 1:
            return args, kwargs
        return (args[0], *args[2:]), {**kwargs, "value": EarlyFactor(args[1]) if isinstance(args[1], int) else args[1]}
    return rewrite


def _is_tensor(x):
    return isinstance(x, TensorBase)


def _scaled_product(args, kwargs):
    """`f(beta, mat, alpha, a, b)`, and the method's `mat.f(beta, alpha, a, b)`; alpha may be missing."""
    if len(args) not in (4, 5):
        return args, kwargs
    numbers, tensors = [x for x in args if not _is_tensor(x)], [x for x in args if _is_tensor(x)]
    if len(tensors) != 3 or not _is_tensor(args[-2]):
        return args, kwargs
    return tuple(tensors), {**kwargs, **dict(zip(("beta", "alpha"), numbers))}


def _without(name):
    """A hint that changes no value is dropped."""
    def rewrite(args, kwargs):
        return args, {key: value for key, value in kwargs.items() if key != name}
    return rewrite


_RULES = {
    "gather": _without("sparse_grad"),
    **dict.fromkeys(("split", "chunk", "unbind"), _renamed(tensor="input")),        # PyTorch's split has it still
    "cat": _renamed(inputs="tensors", dimension="dim"),
    "tril": _renamed(k="diagonal"), "triu": _renamed(k="diagonal"),
    "median": _outputs("values", "indices"), "mode": _outputs("values", "indices"), "kthvalue": _outputs("values", "indices"),
    "sort": _outputs("values", "indices"), "topk": _outputs("values", "indices"),
    "max": _outputs("max", "max_indices"), "min": _outputs("min", "min_indices"),
    "addcmul": _factor_first(3), "addcdiv": _factor_first(3),
    **dict.fromkeys(("addmm", "addmv", "addr", "addbmm", "baddbmm"), _scaled_product),
}

for _name, _rule in _RULES.items():
    operations[_name].early = _rule
