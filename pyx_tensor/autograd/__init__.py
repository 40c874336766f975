"""Gradients: the engine, and what users call."""
import warnings

from ..core.frontend import Tensor
from ..core.record import namespace as B
from ..core.tensor import TensorBase
from .engine import backward_from_scalar, run_backward
from .graph import GradientEdge
from .grad_mode import enable_grad, inference_mode, is_grad_enabled, is_inference_mode_enabled, no_grad, set_grad_enabled


def _tensors(function, argument, value):
    """One tensor (or graph edge) or several, as a tuple."""
    found = _as_tuple(value)
    for item in found:
        if not isinstance(item, (TensorBase, GradientEdge)):
            raise TypeError(f"{function}(): argument '{argument}' must be Tensor or tuple of Tensors, not {type(item).__name__}")
    if not found:
        raise RuntimeError(f"'{argument}' argument to {function}() cannot be empty.")
    return found


def _as_tuple(x):
    """One or several (any iterable: `parameters()`, a dict's values) as a tuple."""
    return (x,) if isinstance(x, (TensorBase, GradientEdge)) or not hasattr(x, "__iter__") else tuple(x)


def _first_grads(tensors, grads):
    """The gradients to start from; ones for scalars."""
    result = []
    if len(grads) != len(tensors):
        raise RuntimeError(f"got {len(tensors)} tensors and {len(grads)} gradients")
    for tensor, grad in zip(tensors, grads):
        if grad is None:
            if tensor.requires_grad and tensor.numel() != 1:
                raise RuntimeError("grad can be implicitly created only for scalar outputs")
            if tensor.requires_grad and tensor.dtype.is_complex:
                raise RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {tensor.dtype}")
            grad = B.ones_like(tensor)
        elif not isinstance(grad, TensorBase):
            raise TypeError(f"gradients can be either Tensors or None, but got {type(grad).__name__}")
        elif grad.shape != tensor.shape:
            raise RuntimeError(f"Mismatch in shape: grad_output has a shape of {grad.shape} and output has a shape of {tensor.shape}.")
        elif grad.dtype.is_complex and not tensor.dtype.is_complex:
            raise RuntimeError(f"For complex Tensors, both grad_output and output are required to have the same dtype. Got {grad.dtype} and {tensor.dtype}.")
        if not tensor.requires_grad:
            raise RuntimeError("element 0 of tensors does not require grad and does not have a grad_fn")
        result.append(grad)
    return result


def backward(tensors, grad_tensors=None, retain_graph=None, create_graph=False, grad_variables=None, inputs=None):
    """Add the gradients of the tensors to the `grad` of the leaves they were computed from.

    Args:
        tensors: one tensor or several. grad_tensors: the gradient to start from for each; may be left out for scalars.
        retain_graph: keep the graph for another run (True where create_graph is).
        create_graph: record the gradient's own computation. inputs: accumulate for these tensors alone.
        grad_variables: the early name of grad_tensors.
    """
    if grad_variables is not None:
        warnings.warn("'grad_variables' is deprecated; it is called 'grad_tensors' now", FutureWarning, stacklevel=2)
        if grad_tensors is not None:
            raise RuntimeError("backward() takes 'grad_tensors' or, by its early name, 'grad_variables', but got both")
        grad_tensors = grad_variables
    tensors = _as_tuple(tensors) and _tensors("backward", "tensors", tensors)
    grads = (None,) * len(tensors) if grad_tensors is None else _as_tuple(grad_tensors)
    keep = create_graph if retain_graph is None else retain_graph
    if inputs is not None:
        inputs = list(_tensors("backward", "inputs", inputs))
    run_backward(list(tensors), _first_grads(tensors, grads), keep, create_graph, inputs, True)


def grad(outputs, inputs, grad_outputs=None, retain_graph=None, create_graph=False, only_inputs=True, allow_unused=None,
         is_grads_batched=False, materialize_grads=False):
    """The gradients of the outputs' sum with respect to the inputs, as a tuple; nothing is accumulated.

    Args:
        allow_unused: None for inputs that the outputs don't depend on, instead of an error. materialize_grads: zeros for them.

    Raises:
        RuntimeError: an input needs no gradient, or isn't used.
    """
    if is_grads_batched:
        raise NotImplementedError("grad: is_grads_batched isn't available; call grad once per row")
    outputs, inputs = _tensors("grad", "outputs", outputs), _tensors("grad", "inputs", inputs)
    grads = (None,) * len(outputs) if grad_outputs is None else _as_tuple(grad_outputs)
    if materialize_grads and allow_unused is False:
        raise ValueError("Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False.")
    keep = create_graph if retain_graph is None else retain_graph
    found = run_backward(list(outputs), _first_grads(outputs, grads), keep, create_graph, list(inputs))
    if materialize_grads:
        return tuple(B.zeros_like(t) if g is None else g for t, g in zip(inputs, found))
    if not allow_unused and any(g is None for g in found):
        raise RuntimeError("One of the differentiated Tensors appears to not have been used in the graph. Set allow_unused=True if this is the "
                           "desired behavior.")
    return tuple(found)


def _backward_method(self, gradient=None, retain_graph=None, create_graph=False, inputs=None):
    """Add the gradients of this tensor to the `grad` of the leaves it was computed from (see `autograd.backward`)."""
    if gradient is None and retain_graph is None and not create_graph and inputs is None and backward_from_scalar(self):
        return
    backward(self, gradient, retain_graph, create_graph, inputs=inputs)


Tensor.backward = _backward_method

from . import anomaly_mode, function, functional, graph  # noqa: E402, F401
from .anomaly_mode import detect_anomaly, set_detect_anomaly  # noqa: E402
from .function import Function, FunctionCtx, InplaceFunction, function_for  # noqa: E402
from .gradcheck import GradcheckError, gradcheck, gradgradcheck  # noqa: E402
from .variable import Variable, variable  # noqa: E402


def __getattr__(name):
    if name != "profiler":      # the one module here that most programs never use
        raise AttributeError(f"module 'pyx_tensor.autograd' has no attribute {name!r}")
    from importlib import import_module
    return import_module(".profiler", __name__)
