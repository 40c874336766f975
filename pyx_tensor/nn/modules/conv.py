"""Convolutions."""
import math

from .. import functional as F
from .. import init
from ...ops import namespace as ops
from ..parameter import Parameter
from .module import Module
from .utils import _ntuple, _reverse_repeat_tuple

_PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


class _ConvNd(Module):
    _dims = None
    _transposed = False

    def __init__(self, in_channels, out_channels, kernel_size, stride, padding, dilation, output_padding, groups, bias, padding_mode, device, dtype):
        super().__init__()
        numbers = _ntuple(self._dims)
        self._check(in_channels, out_channels, stride, padding, groups, padding_mode)
        self.in_channels, self.out_channels = in_channels, out_channels
        self.kernel_size, self.stride = numbers(kernel_size), numbers(stride)
        self.padding = padding if isinstance(padding, str) else numbers(padding)
        self.dilation = numbers(dilation)
        self.transposed, self.output_padding = self._transposed, numbers(output_padding)
        self.groups, self.padding_mode = groups, padding_mode
        self._reversed_padding_repeated_twice = self._border()
        self._make_parameters(bias, device, dtype)

    def _check(self, in_channels, out_channels, stride, padding, groups, padding_mode):
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        if in_channels % groups:
            raise ValueError("in_channels must be divisible by groups")
        if out_channels % groups:
            raise ValueError("out_channels must be divisible by groups")
        if isinstance(padding, str):
            if padding not in ("same", "valid"):
                raise ValueError(f"Invalid padding string {padding!r}, should be one of {{'same', 'valid'}}")
            if padding == "same" and any(s != 1 for s in _ntuple(self._dims)(stride)):
                raise ValueError("padding='same' is not supported for strided convolutions")
        if padding_mode not in _PADDING_MODES:
            raise ValueError(f"padding_mode must be one of {set(_PADDING_MODES)}, but got padding_mode='{padding_mode}'")

    def _border(self):
        """`functional.pad`'s argument for the padding."""
        if not isinstance(self.padding, str):
            return _reverse_repeat_tuple(self.padding, 2)
        if self.padding == "valid":
            return [0] * (2 * self._dims)
        totals = [d * (k - 1) for d, k in zip(self.dilation, self.kernel_size)]
        return [n for total in reversed(totals) for n in (total // 2, total - total // 2)]

    def _make_parameters(self, bias, device, dtype):
        lead = (self.in_channels, self.out_channels // self.groups) if self.transposed else (self.out_channels, self.in_channels // self.groups)
        self.weight = Parameter(ops.empty((*lead, *self.kernel_size), device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(ops.empty(self.out_channels, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self):
        """Draw new initial weights, even in ±1/√fan_in."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        fan_in = self.weight.size(1) * math.prod(self.weight.shape[2:])
        if self.bias is not None and fan_in:
            init.uniform_(self.bias, -1 / math.sqrt(fan_in), 1 / math.sqrt(fan_in))

    def extra_repr(self):
        zeros, ones = (0,) * self._dims, (1,) * self._dims
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        parts = [("padding", self.padding, zeros), ("dilation", self.dilation, ones), ("output_padding", self.output_padding, zeros),
                 ("groups", self.groups, 1), ("bias", self.bias is not None, True), ("padding_mode", self.padding_mode, "zeros")]
        return text + "".join([f", {name}={value}" for name, value, default in parts if value != default])


class _Conv(_ConvNd):
    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True, padding_mode="zeros",
                 device=None, dtype=None):
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, dilation, 0, groups, bias, padding_mode, device, dtype)

    def forward(self, input):
        return self._conv_forward(input, self.weight, self.bias)

    def _conv_forward(self, input, weight, bias):
        if self.padding_mode != "zeros":
            input = F.pad(input, self._reversed_padding_repeated_twice, self.padding_mode)
            return self._function(input, weight, bias, self.stride, 0, self.dilation, self.groups)
        return self._function(input, weight, bias, self.stride, self.padding, self.dilation, self.groups)


class Conv1d(_Conv):
    """The convolution (cross-correlation) of (N, C, L) or (C, L) with a learned weight.

    Args:
        in_channels, out_channels: sizes of the channel dim before and after.
        kernel_size: how many elements a window has.
        stride: the distance of windows. dilation: the distance of a window's elements.
        padding: what is put at both ends; 'valid' for nothing, 'same' for a result of the input's size.
        groups: into how many parts the channels are divided, each with its own outputs.
        bias: whether a number is added to each output channel.
        padding_mode: 'zeros', or how ``functional.pad`` makes the padding: 'reflect', 'replicate', 'circular'.

    Shapes: ``weight`` (out_channels, in_channels / groups, *kernel_size), ``bias`` (out_channels); output sizes are
    floor((n + 2 padding - dilation (kernel_size - 1) - 1) / stride) + 1.

    >>> nn.Conv1d(16, 33, 3, stride=2)(torch.randn(20, 16, 50)).size()
    torch.Size([20, 33, 24])
    """

    _dims, _function = 1, staticmethod(F.conv1d)


class Conv2d(_Conv):
    """:class:`Conv1d` for (N, C, H, W) or (C, H, W); sizes are pairs, or one number for both dims.

    >>> nn.Conv2d(16, 33, (3, 5), stride=(2, 1), padding=(4, 2))(torch.randn(2, 16, 50, 10)).size()
    torch.Size([2, 33, 28, 10])
    """

    _dims, _function = 2, staticmethod(F.conv2d)


class Conv3d(_Conv):
    """:class:`Conv1d` for (N, C, D, H, W) or (C, D, H, W); sizes are triples, or one number for all dims."""

    _dims, _function = 3, staticmethod(F.conv3d)


class _ConvTransposeNd(_ConvNd):
    _transposed = True

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, output_padding=0, groups=1, bias=True, dilation=1,
                 padding_mode="zeros", device=None, dtype=None):
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, dilation, output_padding, groups, bias, padding_mode, device, dtype)

    def forward(self, input, output_size=None):
        """``output_size``: the sizes of the result, where the stride leaves several; else ``output_padding`` tells."""
        output_padding = self.output_padding if output_size is None else self._output_padding(input, list(output_size))
        return self._function(input, self.weight, self.bias, self.stride, self.padding, output_padding, self.groups, self.dilation)

    def _output_padding(self, input, output_size):
        n = self._dims
        lead = input.dim() - n
        if len(output_size) == lead + n:
            output_size = output_size[lead:]
        if len(output_size) != n:
            raise ValueError(f"ConvTranspose{n}D: for {input.dim()}D input, output_size must have {n} or {lead + n} elements (got {len(output_size)})")
        least = [(size - 1) * s - 2 * p + d * (k - 1) + 1 for size, s, p, k, d in
                 zip(input.shape[lead:], self.stride, self.padding, self.kernel_size, self.dilation)]
        most = [size + s - 1 for size, s in zip(least, self.stride)]
        if any(not low <= size <= high for low, size, high in zip(least, output_size, most)):
            raise ValueError(f"requested an output size of {tuple(output_size)}, but valid sizes range from {least} to {most} (for an input of "
                             f"{input.size()[lead:]})")
        return tuple([size - low for size, low in zip(output_size, least)])


class ConvTranspose1d(_ConvTransposeNd):
    """The transposed convolution of (N, C, L) or (C, L): the adjoint of a :class:`Conv1d` with the same arguments.

    Args: see :class:`Conv1d`, and
        output_padding: added to the size of the result at one end; less than stride or dilation.

    Shapes: ``weight`` (in_channels, out_channels / groups, *kernel_size); output sizes are
    (n - 1) stride - 2 padding + dilation (kernel_size - 1) + output_padding + 1.

    >>> nn.ConvTranspose1d(16, 33, 3, stride=2)(torch.randn(20, 16, 50)).size()
    torch.Size([20, 33, 101])
    """

    _dims, _function = 1, staticmethod(F.conv_transpose1d)


class ConvTranspose2d(_ConvTransposeNd):
    """:class:`ConvTranspose1d` for (N, C, H, W) or (C, H, W).

    >>> nn.ConvTranspose2d(16, 16, 3, stride=2, padding=1)(torch.randn(1, 16, 6, 6), output_size=(12, 12)).size()
    torch.Size([1, 16, 12, 12])
    """

    _dims, _function = 2, staticmethod(F.conv_transpose2d)


class ConvTranspose3d(_ConvTransposeNd):
    """:class:`ConvTranspose1d` for (N, C, D, H, W) or (C, D, H, W)."""

    _dims, _function = 3, staticmethod(F.conv_transpose3d)
