"""Kernels of custom operations: checked when they are registered, and what they return with every call."""
import inspect

import numpy as np

from ..core.device import make_device
from ..core.registry import on_registration
from ..core.signature import PLAIN, Type
from ..core.tensor import TensorBase

_waiting = {}       # device type -> [(operation, kernel)]: until the device's backend is loaded
_loaded = set()     # device types
_devices_of = {}    # operation name -> device types with a kernel


def n_kernel_args(signature):
    """How many arguments a kernel gets, `out` aside."""
    return sum(kind != Type for kind in signature.kinds)


def kernel_faults(device, kernel, n_args):
    """What is wrong with a kernel that is to be registered."""
    if not isinstance(device, str) or not device.isidentifier():
        yield f"a kernel's device must be a device type such as 'cpu', got {device!r}"
    if not callable(kernel):
        yield f"the kernel for {device!r} must be a function, not {type(kernel).__name__}"
        return
    try:
        inspect.signature(kernel).bind(*[None] * n_args)
    except ValueError:        # it doesn't tell
        pass
    except TypeError as error:
        yield f"the kernel for {device!r} must take {n_args} argument{'s' * (n_args != 1)}: {error}"



def add_kernel(operation, device, kernel):
    """Register a kernel now, or when the device's backend is loaded: naming a device loads nothing."""
    registered = _devices_of.setdefault(operation.name, set())
    if device in registered:
        raise ValueError(f"{operation.name} has a kernel for device {device!r} already")
    registered.add(device)
    if device in _loaded:
        _enter(operation, device, kernel)
    else:
        _waiting.setdefault(device, []).append((operation, kernel))


def _enter(operation, device, kernel):
    device = make_device(device)
    operation.register(device, _checked(operation, kernel, device.backend))


def _on_registration(slot, backend):
    name = backend.name
    _loaded.add(name)
    for operation, kernel in _waiting.pop(name, ()):
        _enter(operation, name, kernel)


def as_tuple(name, results, n_results):
    """An entry's results; ValueError where their number is wrong."""
    items = tuple(results) if isinstance(results, (tuple, list)) else (results,)
    if len(items) != n_results:
        raise ValueError(f"{name}: expected {n_results} result{'s' * (n_results != 1)}, got {len(items)}")
    return items


def plain_parameters(signature):
    """(position among a kernel's arguments, name) of the parameters that aren't tensors."""
    passed = [(p, k) for p, k in zip(signature.params, signature.kinds) if k != Type]
    return tuple((at, param) for at, (param, kind) in enumerate(passed) if kind == PLAIN)


def refuse_tensors(name, plain, values):
    """TypeError for a tensor where the definition has no tensor parameter: it would get no gradient."""
    for at, param in plain:
        if isinstance(values[at], TensorBase):
            raise TypeError(f"{name}(): argument {param!r} is a tensor, but the definition doesn't annotate it as one")


def _usual(array):
    """The array, or a copy where it lies in memory as no tensor does: turned round, askew, or of foreign byte order."""
    if array.dtype.isnative and array.flags.aligned and all(step >= 0 and step % array.itemsize == 0 for step in array.strides):
        return array
    return np.array(array, array.dtype.newbyteorder("="), order="C")


def _owned(value, args, backend, name):
    """One result as an array of the backend that shares no memory with an operand."""
    if type(value) is np.ndarray and value.base is None and value.dtype.isnative and backend.array_type is np.ndarray:
        for a in args:
            if value is a:
                return backend.copy(value)
        return value
    shared = False
    if isinstance(value, (np.ndarray, np.generic)) and issubclass(np.ndarray, backend.array_type):
        value = _usual(np.asarray(value))           # of a 0-dim array, NumPy's functions make a scalar
        shared = value.base is not None and any(isinstance(a, np.ndarray) and np.may_share_memory(a, value) for a in args)
    if not isinstance(value, backend.array_type) or not hasattr(value, "dtype"):
        raise TypeError(f"{name}: the kernel for {backend.name!r} must return arrays of the device, not {type(value).__name__}")
    return backend.copy(value) if shared or any(value is a for a in args) else value


def _checked(operation, kernel, backend):
    """The kernel with its results checked: arrays of the backend, as many as there are outputs, in memory of their own."""
    signature, name, returns = operation.signature, operation.name, operation.returns
    n_args, plain = n_kernel_args(signature), plain_parameters(signature)
    n_results = (1 if returns is None else len(returns._fields)) + operation.n_aux
    single = n_results == 1 and returns is None

    def run(*args):
        refuse_tensors(name, plain, args)
        results = kernel(*args)
        if single and not isinstance(results, (tuple, list)):
            return _owned(results, args, backend, name)
        items = tuple([_owned(item, args, backend, name) for item in as_tuple(name, results, n_results)])
        return items[0] if single else items

    def run_with_out(*args, out=None):
        if len(args) > n_args:                 # `out` comes by position where there are two operands
            *args, out = args
        if out is None:
            return run(*args)
        refuse_tensors(name, plain, args)
        kernel(*args, out=out)

    return run_with_out if _takes_out(kernel) else run


def _takes_out(kernel):
    try:
        return "out" in inspect.signature(kernel).parameters
    except ValueError:
        return False


on_registration(_on_registration)
