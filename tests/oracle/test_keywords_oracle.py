"""Every name that PyTorch's schemas have for an argument is taken by our operation of that name."""
import pytest

import pyx_tensor as torch
from pyx_tensor.core.signature import ALIASES

oracle = pytest.importorskip("torch")

COMMON = {"out", "dtype", "layout", "device", "pin_memory", "requires_grad", "generator", "memory_format", "alpha"}
OTHERWISE = {                                           # in Python these have other names, or Python's own
    "einsum": "equation and operands", "tensordot": "a, b and dims", "atleast_1d": "any number of tensors", "atleast_2d": "any number of tensors",
    "atleast_3d": "any number of tensors", "eq": "the overload b is not Python's", "ne": "the overload b is not Python's", "sort": "reverse is not Python's",
}
MISSING = {                                             # what isn't supported
    ("addmm", "out_dtype"), ("baddbmm", "out_dtype"), ("bmm", "out_dtype"), ("mm", "out_dtype"), ("gather", "sparse_grad"), ("split", "split_sizes"),
}


def operations():
    """(name of the schemas, our signature) of each public operation of a fixed signature."""
    for namespace in ("", "linalg", "fft", "special"):
        ours, theirs = (getattr(t, namespace) if namespace else t for t in (torch, oracle))
        for name in dir(theirs):
            signature = getattr(getattr(getattr(ours, name, None), "op", None), "signature", None)
            if signature is not None and not name.startswith("_"):
                yield f"{namespace}_{name}" if namespace else name, signature


def takes(signature, name):
    alias = ALIASES.get(name)
    return name in signature.params or alias in signature.params or alias == "dim" and "dims" in signature.params


def test_names_of_arguments():
    missing, seen = set(), 0
    for name, signature in operations():
        try:
            schemas = oracle._C._jit_get_schemas_for_operator(f"aten::{name}")
        except RuntimeError:                            # a function written in Python
            continue
        for schema in schemas:
            tensors = [a for a in schema.arguments if "Tensor" in str(a.type)]
            if name in OTHERWISE or not tensors or "Dimname" in str(schema) or any(a.is_out for a in schema.arguments):
                continue
            seen += 1
            names = {"input" if a.name == "self" else a.name for a in schema.arguments} - COMMON
            missing |= {(name, argument) for argument in names if not takes(signature, argument)}
    assert seen > 500 and missing == MISSING
