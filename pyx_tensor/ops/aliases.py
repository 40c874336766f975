"""Second names of operations: function, method and in-place form alike."""
from ..core.definitions import functions, methods
from ..core.record import namespace as B

_ALIASES = {
    "arccos": "acos", "arccosh": "acosh", "arcsin": "asin", "arcsinh": "asinh", "arctan": "atan", "arctan2": "atan2", "arctanh": "atanh",
    "clip": "clamp", "fix": "trunc", "greater": "gt", "greater_equal": "ge", "less": "lt", "less_equal": "le", "not_equal": "ne",
    "conj_physical": "conj", "concat": "cat", "concatenate": "cat", "unsafe_split_with_sizes": "split_with_sizes",
}

functions["_set_default_tensor_type"] = functions["set_default_tensor_type"]      # as notes on early PyTorch have it

for _alias, _name in _ALIASES.items():
    for _suffix in ("", "_"):
        if _name + _suffix in functions:
            setattr(B, _alias + _suffix, functions.setdefault(_alias + _suffix, functions[_name + _suffix]))
        if _name + _suffix in methods:
            methods.setdefault(_alias + _suffix, methods[_name + _suffix])
