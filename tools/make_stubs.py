"""Writes pyx_tensor/__init__.pyi and pyx_tensor/return_types.pyi from the table of operations.

    python tools/make_stubs.py           # writes them
    python tools/make_stubs.py --check   # exit status 1 where what stands there isn't what would be written
"""
import importlib.util
import inspect
import re
import sys
from pathlib import Path

import pyx_tensor
from pyx_tensor.core.definitions import functions, methods, operations, properties
from pyx_tensor.core.signature import Bool, Dim, Dims, Int, Ints, Number, Raw, Raws, Signature, Sizes, T, Ts, Type
from pyx_tensor.core.writing import WritableOp

HERE = Path(__file__).parent
PACKAGE = HERE.parent / "pyx_tensor"
BINARY = ("add sub mul truediv floordiv mod pow matmul and or xor lshift rshift").split()
COMPARISONS = "eq ne lt le gt ge".split()
KEYWORDS = {"from", "lambda", "is", "in", "not", "and", "or"}

# What no annotation of a definition says: plain parameters by name, and results that aren't one tensor.
PLAIN = dict(dim="int", dim0="int", dim1="int", dim2="int", start_dim="int", end_dim="int", offset="int", diagonal="int", k="int", n="int", p="Number | str | None",
             step="int", start="Number | Tensor", end="Number | Tensor | None", length="int", chunks="int", r="int", bins="int | Tensor | Sequence[Any]", decimals="int", size="int | Ints",
             stride="Ints", shape="int | Ints", sizes="int | Ints", dims="int | Ints", index="Any", indices="Any", value="Scalar", fill_value="Scalar", min="Scalar | None",
             max="Scalar | None", beta="Number", alpha="Number", weight="Scalar", repeats="int | Tensor", equation="str", rounding_mode="str | None",
             reduce="str", mode="str", dtype="dtype | None", device="DeviceLike", requires_grad="bool", out="Tensor | tuple[Tensor, ...] | None", correction="Number | None",
             generator="Generator | None", split_size="int | Ints", split_size_or_sections="int | Ints", split_sizes="Ints", indices_or_sections="int | Ints | Tensor",
             normalized_shape="Ints", dimension="int", memory_format="memory_format | None", layout="layout | None", pin_memory="bool", steps="int", base="Number",
             fill_diagonal="Number", q="float | Tensor", interpolation="str", spacing="Any", edge_order="int", prepend="Tensor | None", append="Tensor | None", eps="float",
             physical_layout="Ints", ndarray="np.ndarray[Any, Any]", tensors="Any", num_classes="int", low="int", high="int | None", source="int | Ints | Tensor",
             destination="int | Ints", shifts="int | Ints", driver="str | None", hermitian="bool", upper="bool", left="bool", UPLO="str", vmax="Number")
# One number or several, in layers and their functions.
SEVERAL = dict.fromkeys(("padding", "dilation", "output_padding", "stride", "kernel_size", "reduce", "size_average", "normalized_shape", "output_size", "size",
                         "groups", "upscale_factor", "downscale_factor", "scale_factor", "p", "target", "dim"), "Any")
TUPLES = set("split chunk unbind tensor_split hsplit vsplit dsplit split_with_sizes unsafe_chunk unsafe_split unsafe_split_with_sizes split_copy "
             "split_with_sizes_copy unbind_copy broadcast_tensors meshgrid gradient var_mean std_mean native_layer_norm native_group_norm native_batch_norm "
             "unravel_index".split())
RESULTS = {**dict.fromkeys(TUPLES, "tuple[Tensor, ...]"), **dict.fromkeys(("allclose", "equal", "is_nonzero", "is_tensor", "is_storage", "is_floating_point",
           "is_complex", "is_signed", "is_inference", "is_same_size", "is_conj", "is_neg", "is_distributed", "is_set_to"), "bool"),
           **dict.fromkeys(("max", "min", "median", "nanmedian", "nonzero", "unique", "unique_consecutive", "atleast_1d", "atleast_2d", "atleast_3d"), "Any"),
           "numel": "int", "initial_seed": "int", "seed": "int", "get_device": "int", "manual_seed": "Generator", "broadcast_shapes": "Size", "set_rng_state": "None",
           "set_default_tensor_type": "None", "record_stream": "None", "reinforce": "NoReturn", "dim_order": "tuple[int, ...]", "const_data_ptr": "int",
           "storage": "TypedStorage", "untyped_storage": "UntypedStorage", "result_type": "dtype", "promote_types": "dtype", "__long__": "int", "__nonzero__": "bool",
           "is_shared": "bool", "is_pinned": "bool"}
BUILTINS = ("int", "bool", "float", "complex")       # in a namespace with dtypes of these names


def qualified(text):
    """Builtin types by their full name: `int` is a dtype here."""
    for name in BUILTINS:
        text = " | ".join(f"builtins.{name}" if part == name else part for part in text.split(" | "))
        text = text.replace(f"[{name},", f"[builtins.{name},").replace(f"[{name}]", f"[builtins.{name}]")
    return re.sub(r"\b(dtype|layout|memory_format)\b", r"_\1", text)      # Tensor has attributes of these names


of_layers = False      # whether the module at hand is one of nn


def of_default(name, default):
    """The type of a plain parameter."""
    own = {bool: "bool", int: "int", float: "float", str: "str", type(None): "None"}.get(type(default))
    names = {**PLAIN, **SEVERAL} if of_layers else PLAIN
    if name not in names:
        return "Any" if own in (None, "None") else own
    known = names[name]
    if own is None or known == "Any" or own in known.split(" | ") or (own in ("int", "float", "bool") and ("Number" in known or "Scalar" in known or own == "int" and "float" in known)):
        return known
    return f"{known} | {own}"


def of_kind(kind, name, default, number):
    optional = " | None" if default is None else ""
    if kind in (T, Raw):
        return ("Scalar" if number and kind == T else "Tensor") + optional
    return {Ts: "Sequence[Tensor]", Raws: "Sequence[Tensor | None]", Dim: "int", Dims: "int | Ints | None", Type: "dtype | None", Int: "int",
            Number: "Number", Bool: "bool", Ints: "int | Ints"}.get(kind) + (
        optional if kind in (Ts, Raws, Dim, Int, Number, Bool, Ints) else "")


def shown(default):
    return "" if default is Signature.REQUIRED else " = ..." if not isinstance(default, (int, float, str, type(None))) or default != default or default in (
        float("inf"), float("-inf")) else f" = {default!r}"


def parameters(operation):
    """The parameters of an operation as text, with what its compiled parser adds."""
    signature, written = operation.signature, []
    numbers = operation.numbers and operation.promote not in (0, 5)
    several = signature.n_positional
    for at, (name, kind, default) in enumerate(zip(signature.params, signature.kinds, signature.defaults)):
        if at == several:
            written.append("*")
        if kind == Sizes:
            written.append(f"*{name}: {qualified('int | Ints')}")
            several = -1
            continue
        type_of = of_default(name, default) if kind not in (T, Raw, Ts, Raws, Dim, Dims, Type, Int, Number, Bool, Ints) else of_kind(kind, name, default, numbers and (
            at > 0 or operation.numbers == 2))
        written.append(f"{name}: {qualified(type_of)}{shown(default)}")
    if operation.takes_alpha:
        written += ["*"] * ("*" not in written) + ["alpha: Number = 1"]
    if isinstance(operation, WritableOp):
        starred = any(p.startswith("*") for p in written)
        written += ["*"] * (not starred) + [f"out: {PLAIN['out']} = None"]
    return written


def plain_parameters(function):
    """The parameters of a Python function as text."""
    try:
        given = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return ["*args: Any", "**kwargs: Any"]
    written = []
    for p in given:
        if p.kind is p.VAR_POSITIONAL:
            written.append(f"*{p.name}: Any")
        elif p.kind is p.VAR_KEYWORD:
            written.append(f"**{p.name}: Any")
        else:
            if p.kind is p.KEYWORD_ONLY and not any(w.startswith("*") for w in written):
                written.append("*")
            default = Signature.REQUIRED if p.default is p.empty else p.default
            type_of = "Tensor" + " | None" * (default is None) if p.name in ("input", "tensor", "other", "src") else of_default(p.name, default)
            type_of = type_of if p.name != "self" else ""
            written.append(p.name + (f": {qualified(type_of)}" if type_of else "") + shown(default))
    return written


def in_order(written):
    """Parameters without a default behind one with one get `...`, so that the text is Python."""
    seen, result, keywords = False, [], False
    for p in written:
        keywords = keywords or p.startswith("*")
        seen = seen or " = " in p
        result.append(p if " = " in p or not seen or keywords or p.startswith("*") else p + " = ...")
    return result


def result_of(name, operation):
    if name in RESULTS:
        return qualified(RESULTS[name])
    if of_layers and (name.endswith("_with_indices") or "max_pool" in name or name == "multi_head_attention_forward"):
        return "Any"
    if operation is not None and operation.returns is not None:
        return f"return_types.{operation.returns.__name__}"
    return "Tensor"


def line(name, written, result, indent=""):
    return f"{indent}def {name}({', '.join(in_order(written))}) -> {result}: ..."


def function_lines(table, handwritten, method):
    lines = []
    for name, function in sorted(table.items()):
        if name in handwritten or not name.isidentifier() or name in KEYWORDS:
            continue
        operation = getattr(function, "op", None)
        if operation is None and name.endswith("_") and not inspect.isfunction(function):
            operation = getattr(table.get(name[:-1]), "op", None)
        if operation is not None:
            written = parameters(operation)
            if name.endswith("_") and not name.endswith("__"):
                written = [p for p in written if not p.startswith("out:")]
                written = written[:-1] if written and written[-1] == "*" else written
        else:
            written = plain_parameters(function)
        if method:
            written = ["self", *written[1:]] if written and not written[0].startswith("*") else ["self", *written]
        lines.append(line(name, written, result_of(name.removesuffix("_") if not name.endswith("__") else name, operation), "    " if method else ""))
    return lines


def handwritten_names(text, indent):
    return {part.strip().split()[1].split("(")[0].rstrip(":") for part in text.splitlines()
            if part.startswith((f"{indent}def ", f"{indent}class "))} | {part.strip().split(":")[0] for part in text.splitlines()
                                                                       if part.startswith(indent) and not part.startswith(indent + " ") and ":" in part
                                                                       and part.strip().split(":")[0].isidentifier()}


def lazy_lines(known):
    """What the package imports when it is first asked for."""
    lines = ["from . import autograd as autograd"]
    for name, where in sorted(pyx_tensor._LAZY.items()):
        module = f"pyx_tensor.{where or name}"
        if name not in known and importlib.util.find_spec(module) is not None:
            lines.append(f"from .{where or ''} import {name} as {name}")
    return lines


def stub():
    global of_layers
    of_layers = False
    head = (HERE / "stubs_head.pyi").read_text()
    top, _, tensor = head.partition("class Tensor:")
    members = handwritten_names(tensor, "    ")
    body = [head.rstrip()]
    for name in BINARY:
        body += [f"    def __{form}{name}__(self, other: Any) -> Tensor: ..." for form in ("", "r") + (("i",) if name not in ("matmul",) else ())]
    body += [f"    def __{name}__(self, other: Any) -> Tensor: ...  {'# type: ignore[override]' if name in ('eq', 'ne') else ''}".rstrip() for name in COMPARISONS]
    for name, (_, setter) in sorted(properties.items()):
        if name not in members:
            kind = "builtins.bool" if name.startswith("is_") else "Any" if name in ("name", "creator", "volatile") else "_dtype | None" if name == "grad_dtype" else "Tensor"
            body += ["    @property", f"    def {name}(self) -> {kind}: ..."]
    body += function_lines({n: f for n, f in methods.items() if n not in properties}, members, True)
    body += ["", "class Parameter(Tensor):", "    def __init__(self, data: Tensor | None = None, requires_grad: builtins.bool = True) -> None: ...", ""]
    types = sorted(n for n in vars(pyx_tensor) if n.endswith("Tensor") and n != "Tensor")
    body += [f"class {name}(Tensor): ..." for name in types] + [""]
    body += [f"{name}: dtype" for name, value in sorted(vars(pyx_tensor).items()) if isinstance(value, pyx_tensor.dtype)] + [""]
    body += [f"{name}: {kind.__name__}" for kind in (pyx_tensor.layout, pyx_tensor.memory_format) for name, value in sorted(vars(pyx_tensor).items())
             if isinstance(value, kind)] + [""]
    body += function_lines(functions, handwritten_names(top, ""), False)
    body += [""] + lazy_lines({*functions, *handwritten_names(top, "")})
    return "\n".join(body) + "\n"


def return_types():
    found = sorted({o.returns.__name__: o.returns for o in operations.values() if o.returns is not None}.items())
    body = ["# Generated by tools/make_stubs.py.", "from typing import NamedTuple", "", "from . import Tensor", ""]
    for name, cls in found:
        body += [f"class {name}(NamedTuple):", *[f"    {field}: {'tuple[Tensor, ...]' if field == 'bin_edges' and name == 'histogramdd' else 'Tensor'}" for field in cls._fields], ""]
    return "\n".join(body)


# --- other modules ------------------------------------------------------------------------------------------------
HEAD = """# Generated by tools/make_stubs.py.
import builtins
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Self, TypeAlias

import numpy as np
{imports}
Number: TypeAlias = builtins.int | builtins.float | builtins.complex | builtins.bool
Scalar: TypeAlias = Number | Tensor
Ints: TypeAlias = Sequence[builtins.int]
DeviceLike: TypeAlias = device | str | builtins.int | None
"""


def head(dots):
    return HEAD.format(imports=f"from {dots} import Generator, Tensor, device, return_types\n"
                               f"from {dots} import dtype as _dtype, layout as _layout, memory_format as _memory_format\n")


def public(module):
    return {name: value for name, value in sorted(vars(module).items()) if not name.startswith("_") and callable(value)}


def functions_of(module, dots):
    """A module of functions of tensors."""
    global of_layers
    of_layers = ".nn" in module.__name__
    table = {name: value for name, value in public(module).items() if not isinstance(value, type)}
    classes = [f"class {name}({value.__bases__[0].__name__ if issubclass(value, Exception) else 'object'}): ..."
               for name, value in public(module).items() if isinstance(value, type)]
    return "\n".join([head(dots), *classes, *function_lines(table, (), False)]) + "\n"


def class_lines(name, cls, known):
    base = next((b.__name__ for b in cls.__mro__[1:] if b.__name__ in known), "object")
    lines = [f"class {name}({base}):"]
    for member, function in sorted(vars(cls).items()):
        wanted = not member.startswith("_") or member in ("__init__", "__len__", "__getitem__", "__setitem__", "__iter__", "__contains__")
        if inspect.isfunction(function) and wanted and member not in ("extra_repr", "training"):
            result = {"__init__": "None", "__len__": "builtins.int", "__contains__": "builtins.bool"}.get(member, "Any")
            lines.append(line(member, plain_parameters(function), result, "    ") + "  # type: ignore[override]" * (base != "object" and member != "__init__"))
    return lines if len(lines) > 1 else [lines[0] + " ..."]


def modules_of(nn, dots):
    """`nn`: the base class by hand, the layers by their signatures."""
    global of_layers
    of_layers = True
    classes = {name: value for name, value in public(nn).items() if isinstance(value, type) and name not in ("Module", "Parameter")}
    known = {"Module", *classes}
    body = [head(dots), "from . import functional as functional, init as init, utils as utils", f"from {dots} import Parameter as Parameter", "", (HERE / "stubs_module.pyi").read_text().rstrip()]
    written = set()
    while classes.keys() - written:       # a base before what derives from it
        for name, cls in classes.items():
            bases = {b.__name__ for b in cls.__mro__[1:] if b.__name__ in classes} - {name}
            if name not in written and bases <= written:
                body += class_lines(name, cls, known)
                written.add(name)
    return "\n".join(body) + "\n"


FILES = {PACKAGE / "__init__.pyi": stub, PACKAGE / "return_types.pyi": return_types,
         PACKAGE / "linalg.pyi": lambda: functions_of(importlib.import_module("pyx_tensor.linalg"), "."),
         PACKAGE / "masked" / "__init__.pyi": lambda: functions_of(importlib.import_module("pyx_tensor.masked"), ".."),
         PACKAGE / "nn" / "functional" / "__init__.pyi": lambda: functions_of(importlib.import_module("pyx_tensor.nn.functional"), "..."),
         PACKAGE / "nn" / "init.pyi": lambda: functions_of(importlib.import_module("pyx_tensor.nn.init"), ".."),
         PACKAGE / "nn" / "__init__.pyi": lambda: modules_of(importlib.import_module("pyx_tensor.nn"), "..")}


def main():
    stale = [path for path, make in FILES.items() if not path.exists() or path.read_text() != make()]
    if "--check" not in sys.argv:
        for path in stale:
            path.write_text(FILES[path]())
        return 0
    for path in stale:
        print(f"{path} isn't what tools/make_stubs.py writes", file=sys.stderr)
    return bool(stale)


if __name__ == "__main__":
    sys.exit(main())
