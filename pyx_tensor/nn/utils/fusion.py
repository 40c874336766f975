"""One layer for a linear map or convolution and the batch norm behind it, in evaluation."""
import copy

from ...ops import namespace as ops
from ..parameter import Parameter


def _fused(weight, bias, mean, var, eps, scale, shift, shape):
    """Weight and bias of the map with the normalisation; `shape` lays a vector along the weight's outputs."""
    bias = ops.zeros_like(mean) if bias is None else bias
    scale = ops.ones_like(mean) if scale is None else scale
    shift = ops.zeros_like(mean) if shift is None else shift
    factor = scale * ops.rsqrt(var + eps)
    fused = (weight * factor.reshape(shape)).to(weight.dtype), ((bias - mean) * factor + shift).to(bias.dtype)
    return tuple(Parameter(new.detach(), old.requires_grad) for new, old in zip(fused, (weight, bias)))


def fuse_conv_bn_weights(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, transpose=False):
    """(weight, bias) of a convolution that does what one with `conv_w` and `conv_b` and a batch norm with the others do."""
    shape = (1, -1) if transpose else (-1, 1)
    return _fused(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, (*shape, *(1 for _ in conv_w.shape[2:])))


def fuse_linear_bn_weights(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b):
    """(weight, bias) of a linear map that does what one with `linear_w` and `linear_b` and a batch norm with the others do."""
    return _fused(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, (-1, 1))


def _check_evaluation(*modules):
    if any(module.training for module in modules):
        raise AssertionError("Fusion only for eval!")


def fuse_conv_bn_eval(conv, bn, transpose=False):
    """A copy of the convolution that does what both do in evaluation.

    Raises:
        AssertionError: one of them is in training mode, or the batch norm has no running statistics.
    """
    _check_evaluation(conv, bn)
    fused = copy.deepcopy(conv)
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("bn.running_mean and bn.running_var must not be None")
    fused.weight, fused.bias = fuse_conv_bn_weights(fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias, transpose)
    return fused


def fuse_linear_bn_eval(linear, bn):
    """A copy of the linear map that does what both do in evaluation.

    Raises:
        AssertionError: one of them is in training mode, or the batch norm has neither 1 nor as many features as the map.

    >>> linear, norm = nn.Linear(3, 4).eval(), nn.BatchNorm1d(4).eval()
    >>> x = torch.randn(2, 3)
    >>> torch.allclose(nn.utils.fuse_linear_bn_eval(linear, norm)(x), norm(linear(x)), atol=1e-5)
    True
    """
    _check_evaluation(linear, bn)
    if bn.num_features not in (1, linear.out_features):
        raise AssertionError("To fuse, linear.out_features == bn.num_features or bn.num_features == 1, got "
                             f"linear.out_features={linear.out_features} and bn.num_features={bn.num_features}")
    fused = copy.deepcopy(linear)
    fused.weight, fused.bias = fuse_linear_bn_weights(fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias)
    return fused
