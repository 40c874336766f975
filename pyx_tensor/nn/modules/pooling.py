"""Pooling layers."""
from .. import functional as F
from .module import Module
from .utils import _ntuple


class _MaxPoolNd(Module):
    def __init__(self, kernel_size, stride=None, padding=0, dilation=1, return_indices=False, ceil_mode=False):
        super().__init__()
        self.kernel_size, self.stride = kernel_size, kernel_size if stride is None else stride
        self.padding, self.dilation = padding, dilation
        self.return_indices, self.ceil_mode = return_indices, ceil_mode

    def forward(self, input):
        return self._function(input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode, self.return_indices)

    def extra_repr(self):
        return (f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, dilation={self.dilation}, "
                f"ceil_mode={self.ceil_mode}")


class MaxPool1d(_MaxPoolNd):
    """The greatest element of each window of (N, C, L) or (C, L).

    Args:
        kernel_size, stride, dilation: the windows' size, distance (by default their size) and the distance of their elements.
        padding: how far windows reach beyond the input, at most half of their size; what lies there counts as nothing.
        return_indices: return also where in its plane each greatest element stands, for :class:`MaxUnpool1d`.
        ceil_mode: windows that are partly beyond the end count too.

    >>> nn.MaxPool1d(3, stride=2)(torch.randn(20, 16, 50)).size()
    torch.Size([20, 16, 24])
    """

    _function = staticmethod(F.max_pool1d)


class MaxPool2d(_MaxPoolNd):
    """:class:`MaxPool1d` for (N, C, H, W) or (C, H, W)."""

    _function = staticmethod(F.max_pool2d)


class MaxPool3d(_MaxPoolNd):
    """:class:`MaxPool1d` for (N, C, D, H, W) or (C, D, H, W)."""

    _function = staticmethod(F.max_pool3d)


class _MaxUnpoolNd(Module):
    def __init__(self, kernel_size, stride=None, padding=0):
        super().__init__()
        self.kernel_size = _ntuple(self._dims)(kernel_size)
        self.stride, self.padding = self.kernel_size if stride is None else _ntuple(self._dims)(stride), _ntuple(self._dims)(padding)

    def forward(self, input, indices, output_size=None):
        return self._function(input, indices, self.kernel_size, self.stride, self.padding, output_size)

    def extra_repr(self):
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpoolNd):
    """Puts what :class:`MaxPool1d` returned back to its places, among zeros.

    >>> pooled, places = nn.MaxPool1d(2, return_indices=True)(torch.tensor([[[1., 3., 2., 0.]]]))
    >>> nn.MaxUnpool1d(2)(pooled, places)
    tensor([[[0., 3., 2., 0.]]])
    """

    _dims, _function = 1, staticmethod(F.max_unpool1d)


class MaxUnpool2d(_MaxUnpoolNd):
    """:class:`MaxUnpool1d` for (N, C, H, W) or (C, H, W)."""

    _dims, _function = 2, staticmethod(F.max_unpool2d)


class MaxUnpool3d(_MaxUnpoolNd):
    """:class:`MaxUnpool1d` for (N, C, D, H, W) or (C, D, H, W)."""

    _dims, _function = 3, staticmethod(F.max_unpool3d)


class AvgPool1d(Module):
    """The mean of each window of (N, C, L) or (C, L).

    Args:
        kernel_size, stride: the windows' size and distance (by default their size).
        padding: zeros at both ends, at most half of a window.
        ceil_mode: windows that are partly beyond the end count too.
        count_include_pad: the zeros of the padding count as elements.

    >>> nn.AvgPool1d(3, stride=2)(torch.tensor([[[1., 2., 3., 4., 5., 6., 7.]]]))
    tensor([[[2., 4., 6.]]])
    """

    def __init__(self, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True):
        super().__init__()
        self.kernel_size, self.stride = _ntuple(1)(kernel_size), _ntuple(1)(kernel_size if stride is None else stride)
        self.padding, self.ceil_mode, self.count_include_pad = _ntuple(1)(padding), ceil_mode, count_include_pad

    def forward(self, input):
        return F.avg_pool1d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad)

    def extra_repr(self):
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class _AvgPoolNd(Module):
    def __init__(self, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
        super().__init__()
        self.kernel_size, self.stride, self.padding = kernel_size, kernel_size if stride is None else stride, padding
        self.ceil_mode, self.count_include_pad, self.divisor_override = ceil_mode, count_include_pad, divisor_override

    def forward(self, input):
        return self._function(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad, self.divisor_override)

    def extra_repr(self):
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool2d(_AvgPoolNd):
    """:class:`AvgPool1d` for (N, C, H, W) or (C, H, W); ``divisor_override``: what sums are divided by instead."""

    _function = staticmethod(F.avg_pool2d)


class AvgPool3d(_AvgPoolNd):
    """:class:`AvgPool2d` for (N, C, D, H, W) or (C, D, H, W)."""

    _function = staticmethod(F.avg_pool3d)


class _FractionalMaxPoolNd(Module):
    def __init__(self, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None):
        super().__init__()
        n, name = self._dims, type(self).__name__
        self.kernel_size, self.return_indices = _ntuple(n)(kernel_size), return_indices
        self.output_size = None if output_size is None else _ntuple(n)(output_size)
        self.output_ratio = None if output_ratio is None else _ntuple(n)(output_ratio)
        self.register_buffer("_random_samples", _random_samples)
        if output_size is None and output_ratio is None:
            raise ValueError(f"{name} requires specifying either an output size, or a pooling ratio")
        if output_size is not None and output_ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        if self.output_ratio is not None and not all(0 < ratio < 1 for ratio in self.output_ratio):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")

    def forward(self, input):
        return self._function(input, self.kernel_size, self.output_size, self.output_ratio, self.return_indices, self._random_samples)


class FractionalMaxPool2d(_FractionalMaxPoolNd):
    """The greatest elements of windows of (N, C, H, W) or (C, H, W) at places drawn anew each time (Graham, 2015).

    Args:
        kernel_size: the windows' size.
        output_size, output_ratio: how many windows there are along each dim, or which part of the input's size that is.
        return_indices: return also where in its plane each greatest element stands.
    """

    _dims, _function = 2, staticmethod(F.fractional_max_pool2d)


class FractionalMaxPool3d(_FractionalMaxPoolNd):
    """:class:`FractionalMaxPool2d` for (N, C, D, H, W) or (C, D, H, W)."""

    _dims, _function = 3, staticmethod(F.fractional_max_pool3d)


class _LPPoolNd(Module):
    def __init__(self, norm_type, kernel_size, stride=None, ceil_mode=False):
        super().__init__()
        self.norm_type, self.kernel_size, self.stride, self.ceil_mode = norm_type, kernel_size, stride, ceil_mode

    def forward(self, input):
        return self._function(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)

    def extra_repr(self):
        return f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, ceil_mode={self.ceil_mode}"


class LPPool1d(_LPPoolNd):
    """The ``norm_type``-norm of each window of (N, C, L) or (C, L): (Σ xᵖ)^(1/p)."""

    _function = staticmethod(F.lp_pool1d)


class LPPool2d(_LPPoolNd):
    """:class:`LPPool1d` for (N, C, H, W) or (C, H, W)."""

    _function = staticmethod(F.lp_pool2d)


class LPPool3d(_LPPoolNd):
    """:class:`LPPool1d` for (N, C, D, H, W) or (C, D, H, W)."""

    _function = staticmethod(F.lp_pool3d)


class _AdaptiveAvgPoolNd(Module):
    def __init__(self, output_size):
        super().__init__()
        self.output_size = output_size

    def forward(self, input):
        return self._function(input, self.output_size)

    def extra_repr(self):
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd):
    """The means of ``output_size`` windows that together cover (N, C, L) or (C, L).

    >>> nn.AdaptiveAvgPool1d(5)(torch.randn(1, 64, 8)).size()
    torch.Size([1, 64, 5])
    """

    _function = staticmethod(F.adaptive_avg_pool1d)


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd):
    """:class:`AdaptiveAvgPool1d` for (N, C, H, W) or (C, H, W); None in ``output_size`` keeps a dim's size."""

    _function = staticmethod(F.adaptive_avg_pool2d)


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd):
    """:class:`AdaptiveAvgPool2d` for (N, C, D, H, W) or (C, D, H, W)."""

    _function = staticmethod(F.adaptive_avg_pool3d)


class _AdaptiveMaxPoolNd(_AdaptiveAvgPoolNd):
    def __init__(self, output_size, return_indices=False):
        super().__init__(output_size)
        self.return_indices = return_indices

    def forward(self, input):
        return self._function(input, self.output_size, self.return_indices)


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    """The greatest elements of ``output_size`` windows that together cover (N, C, L) or (C, L)."""

    _function = staticmethod(F.adaptive_max_pool1d)


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    """:class:`AdaptiveMaxPool1d` for (N, C, H, W) or (C, H, W); None in ``output_size`` keeps a dim's size."""

    _function = staticmethod(F.adaptive_max_pool2d)


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    """:class:`AdaptiveMaxPool2d` for (N, C, D, H, W) or (C, D, H, W)."""

    _function = staticmethod(F.adaptive_max_pool3d)
