"""C functions by their prototypes: what is read from the source, and how they are called with arrays."""
import ctypes
import inspect
import re

import numpy as np

_C_TYPES = {
    "float": (ctypes.c_float, "float32"), "double": (ctypes.c_double, "float64"), "int8_t": (ctypes.c_int8, "int8"), "uint8_t": (ctypes.c_uint8, "uint8"),
    "int16_t": (ctypes.c_int16, "int16"), "int32_t": (ctypes.c_int32, "int32"), "int64_t": (ctypes.c_int64, "int64"), "uint16_t": (ctypes.c_uint16, "uint16"),
    "uint32_t": (ctypes.c_uint32, "uint32"), "uint64_t": (ctypes.c_uint64, "uint64"), "int": (ctypes.c_int, "int32"), "short": (ctypes.c_short, "int16"),
    "long": (ctypes.c_long, np.dtype(ctypes.c_long).name), "long long": (ctypes.c_longlong, "int64"),
    "signed char": (ctypes.c_byte, "int8"), "unsigned char": (ctypes.c_ubyte, "uint8"), "ptrdiff_t": (ctypes.c_ssize_t, np.dtype(np.intp).name),
    "size_t": (ctypes.c_size_t, np.dtype(np.uintp).name), "ssize_t": (ctypes.c_ssize_t, np.dtype(np.intp).name), "Py_ssize_t": (ctypes.c_ssize_t, np.dtype(np.intp).name),
    "bool": (ctypes.c_bool, "bool"), "_Bool": (ctypes.c_bool, "bool"),
}
_FUNCTION = re.compile(r"(?<![\w.>])(?P<result>(?:\w+[\s*]+)+?)(?P<name>\w+)\s*\((?P<parameters>[^(){};]*)\)\s*\{")
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*|^[ \t]*#[^\n]*", re.DOTALL | re.MULTILINE)


class Parameter:
    """One parameter of a C function."""

    def __init__(self, text):
        words = text.replace("*", " * ").split()
        self.is_pointer, self.is_const = "*" in words, "const" in words
        words = [word for word in words if word not in ("*", "const", "restrict", "__restrict", "__restrict__")]
        self.name = words[-1] if len(words) > 1 else ""
        self.type = " ".join(words[:-1])
        if self.type not in _C_TYPES or not self.name.isidentifier() or text.count("*") > 1:
            raise ValueError(f"parameter {text.strip()!r} isn't a number, or a pointer to numbers, of a known type: {', '.join(_C_TYPES)}")
        self.c_type, self.dtype = _C_TYPES[self.type]


def prototypes(text):
    """name -> (what it returns, text of its parameters), of the functions that a source defines and doesn't keep to itself."""
    found = {}
    for match in _FUNCTION.finditer(_COMMENT.sub(" ", text)):
        result = match["result"].split()
        if "static" not in result and result[-1] not in ("return", "else", "do"):
            found[match["name"]] = (result[-1], match["parameters"])
    return found


class CKernel:
    """A kernel over arrays, from one C function or several of one name, each for a dtype."""

    def __init__(self, name, found, path):
        variants = {full: prototype for full, prototype in found.items() if full == name or full.removeprefix(name + "_") in {d for _, d in _C_TYPES.values()}}
        if not variants:
            raise ValueError(f"cpp_extension: the source defines no function {name!r}; it has: {', '.join(sorted(found)) or 'none'}")
        library = ctypes.CDLL(str(path))
        self.__name__ = name
        self.__doc__ = None
        self.by_dtype = {}
        for full, (result, parameters) in variants.items():
            variant = _Variant(full, result, parameters, getattr(library, full))
            self.by_dtype[variant.dtype] = variant
        first = next(iter(self.by_dtype.values()))
        self.inputs = first.inputs
        self.parameters = [inspect.Parameter(p.name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for p in first.arguments]
        self.__signature__ = inspect.Signature(self.parameters)
        if len({(v.inputs, tuple(p.name for p in v.arguments), len(v.outputs)) for v in self.by_dtype.values()}) > 1:
            raise ValueError(f"cpp_extension: the functions {', '.join(sorted(variants))} have different parameters")

    def __call__(self, *args):
        dtype = next(arg.dtype.name for arg, p in zip(args, self.parameters) if p.name in self.inputs)
        variant = self.by_dtype.get(dtype)
        if variant is None:
            raise TypeError(f"{self.__name__}: expected a tensor of {' or '.join(sorted(self.by_dtype))}, got {dtype}")
        return variant(args)


class _Variant:
    """One C function."""

    def __init__(self, name, result, text, function):
        try:
            self.parameters = [Parameter(part) for part in text.split(",")]
        except ValueError as error:
            raise ValueError(f"cpp_extension: {name}: {error}") from None
        self.inputs = tuple(p.name for p in self.parameters if p.is_pointer and p.is_const)
        self.outputs = [p for p in self.parameters if p.is_pointer and not p.is_const]
        self.arguments = [p for p in self.parameters if not self._is_count(p) and p not in self.outputs]
        if not self.inputs or not self.outputs or result not in ("void", "int"):
            raise ValueError(f"cpp_extension: {name} must return void or int, and have a `const T *` input and a `T *` result")
        self.dtype = next(p.dtype for p in self.parameters if p.name in self.inputs)
        self.name, self.returns, self.function = name, result, function
        self.function.restype = None if result == "void" else ctypes.c_int
        self.function.argtypes = [ctypes.c_void_p if p.is_pointer else p.c_type for p in self.parameters]

    @staticmethod
    def _is_count(parameter):
        return parameter.name == "n" and not parameter.is_pointer and "int" in parameter.dtype

    def __call__(self, args):
        given = dict(zip((p.name for p in self.arguments), args))
        shape = np.broadcast_shapes(*[given[name].shape for name in self.inputs])
        arrays = {p.name: self._input(p, given[p.name], shape) for p in self.parameters if p.name in self.inputs}
        arrays.update({p.name: np.empty(shape, p.dtype) for p in self.outputs})
        size = next(iter(arrays.values())).size
        values = [arrays[p.name].ctypes.data if p.is_pointer else size if self._is_count(p) else given[p.name] for p in self.parameters]
        try:
            status = self.function(*values)
        except ctypes.ArgumentError as error:
            raise TypeError(f"{self.name}: {error}") from None
        if status:
            raise RuntimeError(f"{self.name} returned {status}")
        results = tuple(arrays[p.name] for p in self.outputs)
        return results[0] if len(results) == 1 else results

    def _input(self, parameter, array, shape):
        if array.dtype.name != parameter.dtype:
            raise TypeError(f"{self.name}: argument {parameter.name!r} must be {parameter.dtype}, got {array.dtype.name}")
        return np.asarray(array if array.shape == shape else np.broadcast_to(array, shape), order="C")
