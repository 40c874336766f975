"""Operations of your own: with a kernel per device and a gradient, registered in one call.

`custom_op` takes two kinds of function. One whose first parameter is `B` is a definition as the package's own are
(`core/definitions.py`): its kernels work on the devices' arrays, and its gradient is written in terms of `B`. Any other
is PyTorch's kind: it works on tensors, and its gradient is registered with `register_autograd`.

See docs/extending.md for one worked example of each.
"""
import inspect

import numpy as np

from ..core.device import make_device
from ..core.signature import Bool, Dim, Dims, Int, Ints, Number, Raw, Raws, Sizes, T, Ts, Type
from ..core.tensor import wrap
from ..ops.creation import from_numpy
from ._custom_op_def import CustomOpDef, define_function
from ._definition import define_operation
from ._kernels import add_kernel, kernel_faults, n_kernel_args
from ._names import defined, name_faults, refusal

__all__ = ["custom_op", "register_kernel", "register_autograd", "register_fake", "from_array", "CustomOpDef",
           "Bool", "Dim", "Dims", "Int", "Ints", "Number", "Raw", "Raws", "Sizes", "T", "Ts", "Type"]

_DEFINITION_OPTIONS = {"kernels", "vjp", "nograd", "primitive", "promote", "result", "returns", "nondiff", "aux", "inplace", "method"}
_FUNCTION_OPTIONS = {"mutates_args", "device_types"}


def _option_faults(function, names, options):
    if not names and not inspect.isfunction(function):
        if not callable(function) or not hasattr(function, "__code__"):
            return [f"expected a function, got {type(function).__name__}"]
    is_definition = names[:1] == ("B",)
    known = _DEFINITION_OPTIONS if is_definition else _FUNCTION_OPTIONS
    kind = "a definition (its first parameter is B)" if is_definition else "a function whose first parameter isn't B"
    return [f"{kind} takes no option {option!r}, but: {', '.join(sorted(known))}" for option in options if option not in known]


def custom_op(name, function=None, /, **options):
    """Define an operation; as a decorator, `@custom_op("mylib::name", ...)`, or by a call with the function.

    It is then `torch.ops.mylib.name`, and returned.

    **A definition** has `B`, the namespace of all operations, as first parameter: `def name(B, input: Tensor, limit=1.0)`.
    Parameters annotated `Tensor` (or `T`) are tensors that take part in promotion, `Raw` those that don't, `Ts` lists of
    them, `Dim` a dim to be counted from the front; others are passed as they come. The body is what serves a device
    without a kernel, in terms of `B`.

    Args:
        name: "namespace::name".
        kernels: {device type: function(*arrays, *arguments)}. A kernel gets the arguments in the definition's order,
            tensors as the device's arrays (numpy.ndarray on the cpu, of any strides), and returns a new array, or a tuple
            of them. One with a parameter `out` (None, or an array to write to) serves `out=` and in-place forms without a copy.
        vjp: {parameter, or tuple of parameters: function(B, ...)}: gradients. The function's parameters say what is kept:
            `g` the output's gradient, `y` the output, a parameter's name its value, `needs` which of a tuple are needed.
            Without a vjp, autograd records the body.
        nograd: it has no gradient.
        primitive: there is no body (it holds a docstring alone): devices without a kernel raise NotImplementedError.
        promote: how the tensors' dtypes give the one that kernels get: 'common' (default), 'float' (integers become the
            default float), 'float_only' (integers are refused), 'sum', 'same' (differing ones are refused), None (each as it is).
        result: 'same' (default) where a kernel's result has that dtype, else any other word, such as 'bool'.
        returns: names of several outputs. nondiff: those without a gradient. aux: names of hidden outputs behind them, for vjps.
        inplace: it has a form `name_` too, that writes to its first argument. method: it is a method of Tensor.

    **PyTorch's kind** is a function of tensors: `def name(x: Tensor, limit: float) -> Tensor`. Returns a `CustomOpDef`.

    Args:
        mutates_args: names of the parameters that it writes to; it then has no gradient.
        device_types: the device types that the function serves, a name or several; all by default.

    Raises ValueError that lists all that is wrong.

    >>> import numpy as np
    >>> import pyx_tensor as torch
    >>> @torch.library.custom_op("docs::cube", kernels={"cpu": lambda a: a ** 3},
    ...                          vjp=dict(input=lambda B, g, input: B.mul(g, B.mul(B.square(input), 3))))
    ... def cube(B, input: torch.Tensor):
    ...     return B.mul(B.square(input), input)
    >>> x = torch.tensor([1., 2.], requires_grad=True)
    >>> torch.ops.docs.cube(x)
    tensor([1., 8.], grad_fn=<CubeBackward0>)
    """
    if function is None:
        return lambda function: custom_op(name, function, **options)
    names = getattr(getattr(function, "__code__", None), "co_varnames", ())
    wrong = name_faults(name) + _option_faults(function, names, options)
    if wrong:
        raise refusal(name, wrong)
    if names[:1] == ("B",):
        return define_operation(name, function, **options)
    return define_function(name, function, **options)




def _operation(op):
    """The custom operation that `op`, itself or its name, means."""
    found = defined.get(op) if isinstance(op, str) else op
    if found is None:
        raise ValueError(f"no custom operation {op!r}; there are: {', '.join(sorted(defined)) or 'none'}")
    if not isinstance(found, CustomOpDef) and defined.get(getattr(getattr(found, "op", None), "name", None)) is not found:
        raise ValueError(f"{op!r} is no custom operation")
    return found


def register_kernel(op, device_types, function=None, /):
    """Add a kernel to a custom operation (itself or its name) for a device type, or several; also a decorator.

    The kernel is as the operation's kind wants it: over arrays for a definition, over tensors for PyTorch's kind.
    """
    if function is None:
        return lambda function: register_kernel(op, device_types, function)
    found = _operation(op)
    if isinstance(found, CustomOpDef):
        return found.register_kernel(device_types, function)
    devices = (device_types,) if isinstance(device_types, str) else tuple(device_types)
    wrong = [fault for device in devices for fault in kernel_faults(device, function, n_kernel_args(found.op.signature))]
    if wrong:
        raise ValueError(f"{found.op.name}: " + "; ".join(wrong))
    for device in devices:
        add_kernel(found.op, device, function)
    return function


def _of_tensors(op, what):
    found = _operation(op)
    if not isinstance(found, CustomOpDef):
        raise TypeError(f"{what}: {found.op.name} is a definition in terms of B, whose gradient is its vjp")
    return found


def register_autograd(op, backward, /, *, setup_context=None):
    """Give a custom operation of PyTorch's kind (itself or its name) a gradient: see `CustomOpDef.register_autograd`."""
    _of_tensors(op, "register_autograd").register_autograd(backward, setup_context=setup_context)


def register_fake(op, function=None, /):
    """PyTorch's shape function, which tracing needs; there is no tracing here, so it's never called. Also a decorator."""
    if function is None:
        return lambda function: register_fake(op, function)
    return _of_tensors(op, "register_fake").register_fake(function)


def from_array(array, device):
    """A tensor on a device's own array, which it shares: the way back from `tensor.array`.

    Args:
        array: a numpy.ndarray on the cpu, a cupy.ndarray on cuda, and so on.
        device: where it is.

    Raises TypeError for what isn't an array of that device, or has a dtype that tensors don't; ValueError for memory of NumPy's that
    `from_numpy` refuses.
    """
    device = make_device(device)
    array_type = device.backend.array_type
    if isinstance(array, np.generic) and issubclass(np.ndarray, array_type):
        array = np.asarray(array)
    if not isinstance(array, array_type) or not hasattr(array, "dtype"):
        raise TypeError(f"from_array(): expected an array of device {str(device)!r}, got {type(array).__name__}")
    return wrap(from_numpy(array).array if isinstance(array, np.ndarray) else array, device)
