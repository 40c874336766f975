"""Bounds on gradients."""
import warnings

from ...ops import namespace as ops
from ...autograd import no_grad
from ...core.frontend import Tensor


def get_total_norm(tensors, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """The norm of all ``tensors`` taken as one vector.

    Args:
        tensors: an iterable of tensors, or one tensor.
        norm_type: the p of the norm; infinity for the largest absolute value.
        error_if_nonfinite: raise a RuntimeError where the norm is not finite.
    """
    norm_type = float(norm_type)
    tensors = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    if not tensors:
        return ops.tensor(0.0)
    device = tensors[0].device
    norms = [tensor.norm(norm_type).to(device) for tensor in tensors]
    total = ops.stack(norms).norm(norm_type)
    if error_if_nonfinite and not bool(total.isfinite()):
        raise RuntimeError(f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, so it "
                           "cannot be clipped. To disable this error and scale the gradients by the non-finite norm "
                           "anyway, set `error_if_nonfinite=False`")
    return total


def clip_grads_with_norm_(parameters, max_norm, total_norm, foreach=None):
    """Scale the gradients in place by ``max_norm`` / ``total_norm`` where that is less than one."""
    scale = (float(max_norm) / (total_norm + 1e-6)).clamp(max=1.0)
    with no_grad():
        for gradient in _gradients(parameters):
            gradient.mul_(scale.to(gradient.device))


def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """Scale the gradients in place so that their common norm is at most ``max_norm``; returns the norm before.

    Args:
        parameters: an iterable of tensors, or one tensor.
        max_norm: the bound.
        norm_type: the p of the norm; infinity for the largest absolute value.
        error_if_nonfinite: raise a RuntimeError where the norm is not finite.
        foreach: has no effect.
    """
    parameters = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    with no_grad():
        total = get_total_norm(_gradients(parameters), norm_type, error_if_nonfinite)
    clip_grads_with_norm_(parameters, max_norm, total)
    return total


def clip_grad_norm(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """The deprecated name of :func:`clip_grad_norm_`."""
    warnings.warn("`torch.nn.utils.clip_grad_norm` is now deprecated in favor of `torch.nn.utils.clip_grad_norm_`.", FutureWarning, stacklevel=2)
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


def clip_grad_value_(parameters, clip_value, foreach=None):
    """Cut off the gradients in place to [-``clip_value``, ``clip_value``]."""
    clip_value = float(clip_value)
    with no_grad():
        for gradient in _gradients(parameters):
            gradient.clamp_(min=-clip_value, max=clip_value)


def _gradients(parameters):
    parameters = [parameters] if isinstance(parameters, Tensor) else parameters
    return [parameter.grad for parameter in parameters if parameter.grad is not None]


def clip_grad_norm(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """Early PyTorch's name of `clip_grad_norm_`, which warns."""
    warnings.warn("`nn.utils.clip_grad_norm` is now deprecated in favor of `nn.utils.clip_grad_norm_`.", FutureWarning, stacklevel=2)
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)
