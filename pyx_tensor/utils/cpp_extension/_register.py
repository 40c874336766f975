"""From compiled functions to operations."""
import importlib.machinery
import importlib.util
import inspect

from ...core.signature import T
from ...library import custom_op
from ._prototypes import CKernel, prototypes


def cython_module(name, path):
    loader = importlib.machinery.ExtensionFileLoader(name, str(path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_file_location(name, str(path), loader=loader))
    loader.exec_module(module)
    return module


def kernels(module, functions, texts, path, is_cython):
    """{function: (kernel, definition, options for custom_op)}"""
    if isinstance(functions, str):
        functions = [functions]
    wanted = {name: {} for name in functions or ()} if not isinstance(functions, dict) else functions
    if not is_cython:
        found = prototypes("\n".join(texts))
        if not wanted:
            raise ValueError("cpp_extension: say which functions become operations: functions=['name', ...]")
    result = {}
    for name, options in wanted.items():
        options = dict(options) if isinstance(options, dict) else {}      # PyTorch has the docstring here
        if is_cython:
            kernel, parameters, tensors = _cython_kernel(module, name, options.pop("tensors", None))
        else:
            kernel = CKernel(name, found, path)
            parameters, tensors = kernel.parameters, kernel.inputs
        definition = options.pop("definition", None) or _primitive(name, parameters, tensors, kernel.__doc__)
        if "definition" not in (wanted[name] if isinstance(wanted[name], dict) else ()):
            options = {"primitive": True, "nograd": not options.get("vjp"), **options}
        result[name] = kernel, definition, options
    return result


def _cython_kernel(module, name, tensors):
    kernel = getattr(module, name, None)
    if not callable(kernel):
        raise ValueError(f"cpp_extension: the module has no function {name!r} (a `def` or `cpdef` one)")
    parameters = list(inspect.signature(kernel).parameters.values())
    names = [p.name for p in parameters if p.name != "out"]
    if not names:
        raise ValueError(f"cpp_extension: {name} has no parameters")
    tensors = (names[0],) if tensors is None else (tensors,) if isinstance(tensors, str) else tuple(tensors)
    unknown = [tensor for tensor in tensors if tensor not in names]
    if unknown:
        raise ValueError(f"cpp_extension: {name} has no parameter {unknown[0]!r}; there are: {', '.join(names)}")
    return kernel, [p for p in parameters if p.name != "out"], tensors


def _primitive(name, parameters, tensors, doc):
    """A definition without a body: function(B, parameters...)."""
    names = ", ".join(p.name for p in parameters)
    scope = {}
    exec(f"def {name}(B, {names}):\n    pass\n", scope)       # names are identifiers: of Python's parameters, or of C's
    definition = scope[name]
    definition.__defaults__ = tuple(p.default for p in parameters if p.default is not p.empty) or None
    definition.__annotations__ = {tensor: T for tensor in tensors}
    definition.__doc__ = doc or f"{name}, a compiled function."
    return definition


def operation(name, kernel, definition, options):
    return custom_op(name, definition, kernels={"cpu": kernel}, **options)
