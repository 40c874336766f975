"""Normalisation over the last dimensions, or over groups of channels."""
import numbers

from .. import functional as F
from .. import init
from ...ops import namespace as ops
from ..parameter import Parameter
from .module import Module


def _affine_parameter(module, name, wanted, shape, device, dtype):
    """Register a parameter of this shape, or None if it is not wanted."""
    module.register_parameter(name, Parameter(ops.empty(shape, device=device, dtype=dtype)) if wanted else None)


def _reset_affine(module):
    """Make a layer's weight ones and its bias zeros, where it has them."""
    if module.weight is not None:
        init.ones_(module.weight)
    if getattr(module, "bias", None) is not None:
        init.zeros_(module.bias)


def _shape_tuple(shape):
    return (shape,) if isinstance(shape, numbers.Integral) else tuple(shape)


class LayerNorm(Module):
    """Normalises each sample over its last dimensions to mean 0 and variance 1 (Ba et al., 2016).

    Args:
        normalized_shape: the sizes of these dimensions, or one number for the last alone.
        eps: added to the variance.
        elementwise_affine: whether the result is scaled by ``weight`` and shifted by ``bias``.
        bias: whether there is a ``bias``.

    Shapes: input and output (*, *normalized_shape).

    >>> nn.LayerNorm(4)(torch.randn(2, 3, 4)).size()
    torch.Size([2, 3, 4])
    """

    def __init__(self, normalized_shape, eps=1e-5, elementwise_affine=True, bias=True, device=None, dtype=None):
        super().__init__()
        self.normalized_shape = _shape_tuple(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        _affine_parameter(self, "weight", elementwise_affine, self.normalized_shape, device, dtype)
        _affine_parameter(self, "bias", elementwise_affine and bias, self.normalized_shape, device, dtype)
        self.reset_parameters()

    def reset_parameters(self):
        """Start with scale one and shift zero."""
        _reset_affine(self)

    def forward(self, input):
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self):
        return (f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}, "
                f"bias={self.bias is not None}")


class RMSNorm(Module):
    """Divides each sample by the root of the mean of its squares over the last dimensions (Zhang, Sennrich, 2019).

    Args:
        normalized_shape: the sizes of these dimensions, or one number for the last alone.
        eps: added to the mean; by default the machine epsilon of the input's dtype.
        elementwise_affine: whether the result is scaled by ``weight``.

    >>> nn.RMSNorm([2, 3])(torch.randn(2, 2, 3)).size()
    torch.Size([2, 2, 3])
    """

    def __init__(self, normalized_shape, eps=None, elementwise_affine=True, device=None, dtype=None):
        super().__init__()
        self.normalized_shape = _shape_tuple(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        _affine_parameter(self, "weight", elementwise_affine, self.normalized_shape, device, dtype)
        self.reset_parameters()

    def reset_parameters(self):
        """Start with scale one."""
        _reset_affine(self)

    def forward(self, input):
        return F.rms_norm(input, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self):
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class GroupNorm(Module):
    """Normalises over groups of channels and all positions (Wu, He, 2018).

    Args:
        num_groups: number of groups; it divides ``num_channels``.
        num_channels: size of dimension 1.
        eps: added to the variance.
        affine: whether each channel is scaled by ``weight`` and shifted by ``bias``.

    Shapes: input and output (N, num_channels, *).

    >>> nn.GroupNorm(3, 6)(torch.randn(20, 6, 10, 10)).size()
    torch.Size([20, 6, 10, 10])
    """

    def __init__(self, num_groups, num_channels, eps=1e-5, affine=True, device=None, dtype=None, *, bias=True):
        super().__init__()
        if num_channels % num_groups:
            raise ValueError(f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups, self.num_channels, self.eps, self.affine = num_groups, num_channels, eps, affine
        _affine_parameter(self, "weight", affine, num_channels, device, dtype)
        _affine_parameter(self, "bias", affine and bias, num_channels, device, dtype)
        self.reset_parameters()

    def reset_parameters(self):
        """Start with scale one and shift zero."""
        _reset_affine(self)

    def forward(self, input):
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self):
        return (f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, "
                f"bias={self.bias is not None}")


class LocalResponseNorm(Module):
    """Divides (N, C, *) by (k + alpha · mean square over ``size`` neighbouring channels) ** beta."""

    def __init__(self, size, alpha=1e-4, beta=0.75, k=1.0):
        super().__init__()
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def forward(self, input):
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self):
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class CrossMapLRN2d(LocalResponseNorm):
    """:class:`LocalResponseNorm` of (N, C, H, W) under its older name."""

    def __init__(self, size, alpha=1e-4, beta=0.75, k=1):
        super().__init__(size, alpha, beta, k)

    def extra_repr(self):
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"
