"""Comparing gradients with finite differences."""
import warnings

import numpy as np

from ..core.record import namespace as B
from ..core.tensor import TensorBase
from . import grad as grad_of

__all__ = ["gradcheck", "gradgradcheck", "GradcheckError"]


class GradcheckError(RuntimeError):
    """A gradient differs from what finite differences say."""


def _tensors(x):
    return [t for t in (x if isinstance(x, (tuple, list)) else (x,)) if isinstance(t, TensorBase)]


def _as_tuple(x):
    return tuple(x) if isinstance(x, (tuple, list)) else (x,)


def _differentiable(t):
    return t.dtype.is_floating_point or t.dtype.is_complex


def _outputs(function, inputs):
    return [o for o in _tensors(function(*inputs)) if _differentiable(o)]


# --- Jacobians ----------------------------------------------------------------------------------------------------
# A complex tensor counts as two real ones, its real and its imaginary parts: a Jacobian has a row for each part of each
# element of the input and a column for each part of each element of the output.
def _parts(t):
    """The elements as a flat real array, the two parts of a complex one side by side."""
    array = np.ascontiguousarray(t.detach()._host_array()).reshape(-1)
    return array.view(array.real.dtype).copy() if t.dtype.is_complex else array.copy()


def _from_parts(parts, like):
    array = parts.view(like.dtype.numpy) if like.dtype.is_complex else parts
    return B.from_numpy(array.reshape(tuple(like.shape)).copy()).to(like.device)


def numerical_jacobian(function, inputs, target, eps=1e-6):
    """The Jacobian of each output with respect to `inputs[target]`, by central differences: (input parts, output parts) each."""
    inputs = list(inputs)
    at = inputs[target]
    parts = _parts(at)
    columns = []
    for i in range(len(parts)):
        sides = []
        for step in (eps, -eps):
            moved = parts.copy()
            moved[i] += step
            inputs[target] = _from_parts(moved, at).requires_grad_(at.requires_grad)
            sides.append([_parts(o).astype(np.float64) for o in _outputs(function, inputs)])
        columns.append([(up - down) / (2 * eps) for up, down in zip(*sides)])
    return [np.stack(rows) for rows in zip(*columns)] if columns else []


def analytical_jacobian(inputs, output, check_grad_dtypes=False):
    """The same for one output by backward passes, one for each part of each of its elements: one Jacobian per input."""
    n = len(_parts(output))
    jacobians = [np.zeros((len(_parts(t)), n)) for t in inputs]
    for j in range(n):
        one = np.zeros(n, _parts(output).dtype)
        one[j] = 1
        grads = _grad(output, inputs, _from_parts(one, output))
        for jacobian, grad, t in zip(jacobians, grads, inputs):
            if grad is not None:
                if grad.dtype is not t.dtype and check_grad_dtypes:
                    raise GradcheckError(f"Gradient has dtype {grad.dtype}, but its input has {t.dtype}")
                jacobian[:, j] = _parts(grad)
    return jacobians


def _grad(output, inputs, seed, create_graph=False):
    if not output.requires_grad:
        return [None] * len(inputs)
    return grad_of(output, inputs, seed, retain_graph=True, create_graph=create_graph, allow_unused=True)


# --- checks -------------------------------------------------------------------------------------------------------
def _check_inputs(inputs):
    """The positions of the inputs to differentiate by; ValueError where there is none."""
    positions = [i for i, t in enumerate(inputs) if isinstance(t, TensorBase) and t.requires_grad]
    if not positions:
        raise ValueError("gradcheck expects at least one input tensor to require gradient, but none of the them have requires_grad=True.")
    for i in positions:
        t = inputs[i]
        if t.dtype.name not in ("float64", "complex128"):
            warnings.warn(f"Input #{i} requires gradient and is not a double precision floating point or complex. This check will likely "
                          "fail if all the inputs are not of double precision floating point or complex.", stacklevel=3)
        if t._overlaps_itself():
            raise RuntimeError(f"The {i}th input has a dimension with stride 0. gradcheck only supports inputs that are non-overlapping to "
                               "be able to compute the numerical gradients correctly. You should call .contiguous on the input before passing "
                               "it to gradcheck.")
    return positions


def _compare(analytical, numerical, which, atol, rtol):
    if analytical.shape != numerical.shape or not np.allclose(analytical, numerical, rtol, atol):
        raise GradcheckError(f"Jacobian mismatch for {which},\nnumerical:{numerical}\nanalytical:{analytical}\n")


def _check_repeatable(output, wanted, nondet_tol, first):
    again = analytical_jacobian(wanted, output)
    for a, b in zip(first, again):
        if np.abs(a - b).max(initial=0.0) > nondet_tol:
            raise GradcheckError("Backward is not reentrant, i.e., running backward with same input and grad_output multiple times gives "
                                 f"different values, although analytical gradient matches numerical gradient. The tolerance for nondeterminism "
                                 f"was {nondet_tol}.")


def _check_zero_and_none(outputs, wanted, check_undefined):
    """Backward of a zero gradient gives zeros; where a gradient is missing, it counts as zeros."""
    for output in outputs:
        for grad in _grad(output, wanted, B.zeros_like(output.detach())):
            if grad is not None and not np.all(_parts(grad) == 0):
                raise GradcheckError("backward not multiplied by grad_output")
    if check_undefined and len(outputs) > 1:
        for output in outputs:
            _grad(output, wanted, B.ones_like(output.detach()))


def _check(function, inputs, eps, atol, rtol, nondet_tol, check_undefined, check_grad_dtypes):
    positions = _check_inputs(inputs)
    wanted = [inputs[i] for i in positions]
    outputs = _outputs(function, inputs)
    numerical = [numerical_jacobian(function, inputs, i, eps) for i in positions]
    for j, output in enumerate(outputs):
        analytical = analytical_jacobian(wanted, output, check_grad_dtypes)
        for place, jacobian, by_output in zip(positions, analytical, numerical):
            expected = by_output[j] if by_output else np.zeros(jacobian.shape)
            _compare(jacobian, expected, f"output {j} with respect to input {place}", atol, rtol)
        _check_repeatable(output, wanted, nondet_tol, analytical)
    _check_zero_and_none(outputs, wanted, check_undefined)


def gradcheck(func, inputs, *, eps=1e-6, atol=1e-5, rtol=1e-3, raise_exception=True, nondet_tol=0.0, check_undefined_grad=True,
              check_grad_dtypes=False, check_batched_grad=False, check_batched_forward_grad=False, check_forward_ad=False,
              check_backward_ad=True, fast_mode=False, masked=None):
    """Compare a function's gradients with central differences, for the inputs that require grad.

    Args:
        func: takes the inputs, gives a tensor or a tuple of them. inputs: a tensor or a tuple; double precision is needed.
        eps: the step of the differences. atol, rtol: tolerances. nondet_tol: how much two backward passes may differ.
        raise_exception: False returns False instead of raising. fast_mode: checks every element all the same.

    Raises:
        GradcheckError (a RuntimeError): a gradient is wrong.

    >>> import pyx_tensor as torch
    >>> torch.autograd.gradcheck(torch.sin, torch.ones(3, dtype=torch.float64, requires_grad=True))
    True
    """
    if check_forward_ad or check_batched_grad or check_batched_forward_grad:
        raise NotImplementedError("gradcheck: forward-mode derivatives and batched gradients aren't available")
    try:
        if check_backward_ad:
            _check(func, _as_tuple(inputs), eps, atol, rtol, nondet_tol, check_undefined_grad, check_grad_dtypes)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def _random_like(t):
    rng = np.random.default_rng(t.numel())
    return _from_parts(rng.standard_normal(len(_parts(t))).astype(_parts(t).dtype), t)


def gradgradcheck(func, inputs, grad_outputs=None, *, eps=1e-6, atol=1e-5, rtol=1e-3, gen_non_contig_grad_outputs=False,
                  raise_exception=True, nondet_tol=0.0, check_undefined_grad=True, check_grad_dtypes=False, check_batched_grad=False,
                  check_fwd_over_rev=False, check_rev_over_rev=True, fast_mode=False, masked=False):
    """Compare a function's second derivatives with central differences of its first; arguments as for `gradcheck`.

    Args:
        grad_outputs: the gradients to start from; random ones by default.
    """
    if check_fwd_over_rev:
        raise NotImplementedError("gradgradcheck: forward-mode derivatives aren't available")
    inputs = _as_tuple(inputs)
    if grad_outputs is None:
        grad_outputs = tuple(_random_like(o).requires_grad_() for o in _outputs(func, inputs))
    else:
        grad_outputs = _as_tuple(grad_outputs)

    def first_derivative(*args):
        args, seeds = args[:-len(grad_outputs)], args[-len(grad_outputs):]
        wanted = [t for t in args if isinstance(t, TensorBase) and t.requires_grad]
        outputs = _outputs(func, args)
        pairs = [(o, s) for o, s in zip(outputs, seeds) if o.requires_grad]
        grads = grad_of([o for o, _ in pairs], wanted, [s for _, s in pairs], create_graph=True, allow_unused=True)
        return tuple(g for g in grads if g is not None)

    return gradcheck(first_derivative, inputs + grad_outputs, eps=eps, atol=atol, rtol=rtol, raise_exception=raise_exception,
                     nondet_tol=nondet_tol, check_undefined_grad=check_undefined_grad, check_grad_dtypes=check_grad_dtypes,
                     check_batched_grad=check_batched_grad)
