"""Convolution: one form, linear in the input, in the weight and in the gradient, as three operations.

For images x (samples, channels, *), weights w (out_channels, channels / groups, *kernel) and y (samples, out_channels, *grid) let
<y, w * x> be the sum of all products. Leaving out y gives the convolution, leaving out x the transposed one, leaving out w what
the weight's gradient is: so each has the other two as its derivatives, of any order.
"""
import math
from functools import lru_cache

from ..core.definitions import op
from ..core.signature import T
from .sliding import cached, each, extent, grid_of, named_sizes


def _conj(B, x):
    return B.conj(x) if x.dtype.is_complex else x


def _to_bias(B, g):
    return B.sum(g, (0, *range(2, g.ndim)))


def _as_columns(B, x, groups):
    """(samples, channels, *) as (samples, groups, channels of a group, positions)."""
    return B.reshape(x, (x.shape[0], groups, x.shape[1] // groups, math.prod(x.shape[2:])))


def _as_matrices(B, weight, groups):
    """A matrix for each group, with a row for each of its output channels."""
    return B.reshape(weight, (groups, weight.shape[0] // groups, math.prod(weight.shape[1:])))


def _biased(B, y, bias):
    return y if bias is None else B.add(y, B.reshape(bias, (-1,) + (1,) * (y.ndim - 2)))


@op(promote="same", method=False, hidden=True, entry="convolve", grad_name="Convolution", vjp=dict(
    input=lambda B, g, input_shape, weight, stride, padding, dilation, groups:
        B._convolve_transposed(g, _conj(B, weight), None, input_shape[2:], stride, padding, dilation, groups),
    weight=lambda B, g, input, weight_shape, stride, padding, dilation, groups:
        B._convolve_weight(g, _conj(B, input), weight_shape[2:], stride, padding, dilation, groups),
    bias=lambda B, g: _to_bias(B, g)))
def _convolve(B, input: T, weight: T, bias: T, grid, stride, padding, dilation, groups):
    """The convolution at `grid` positions, zeros outside of the input."""
    samples, kernel = input.shape[0], tuple(weight.shape[2:])
    columns = B._im2col(input, kernel, grid, stride, padding, dilation)
    columns = B.reshape(columns, (samples, groups, columns.shape[1] // groups, columns.shape[2]))
    y = B.matmul(_as_matrices(B, weight, groups), columns)
    return _biased(B, B.reshape(y, (samples, weight.shape[0], *grid)), bias)


@op(promote="same", method=False, hidden=True, entry="convolve_transposed", grad_name="Convolution", vjp=dict(
    input=lambda B, g, input_shape, weight, stride, padding, dilation, groups:
        B._convolve(g, _conj(B, weight), None, input_shape[2:], stride, padding, dilation, groups),
    weight=lambda B, g, input, weight_shape, stride, padding, dilation, groups:
        B._convolve_weight(_conj(B, input), g, weight_shape[2:], stride, padding, dilation, groups),
    bias=lambda B, g: _to_bias(B, g)))
def _convolve_transposed(B, input: T, weight: T, bias: T, size, stride, padding, dilation, groups):
    """The transposed convolution to spatial sizes `size`: what the convolution's input gets from its output."""
    samples, kernel, grid = input.shape[0], tuple(weight.shape[2:]), tuple(input.shape[2:])
    matrices = B.transpose(_as_matrices(B, weight, groups), 1, 2)
    columns = B.matmul(matrices, _as_columns(B, input, groups))
    columns = B.reshape(columns, (samples, groups * columns.shape[2], columns.shape[3]))
    return _biased(B, B._col2im(columns, tuple(size), kernel, grid, stride, padding, dilation), bias)


@op(promote="same", method=False, hidden=True, entry="convolve_weight", grad_name="ConvolutionBackward", vjp=dict(
    grad=lambda B, g, grad_shape, input, stride, padding, dilation, groups:
        B._convolve(_conj(B, input), g, None, grad_shape[2:], stride, padding, dilation, groups),
    input=lambda B, g, grad, input_shape, stride, padding, dilation, groups:
        B._convolve_transposed(_conj(B, grad), g, None, input_shape[2:], stride, padding, dilation, groups)))
def _convolve_weight(B, grad: T, input: T, kernel, stride, padding, dilation, groups):
    """What the convolution's weight gets from its output."""
    columns = B._im2col(input, kernel, tuple(grad.shape[2:]), stride, padding, dilation)
    columns = B.reshape(columns, (input.shape[0], groups, columns.shape[1] // groups, columns.shape[2]))
    products = B.matmul(_as_columns(B, grad, groups), B.transpose(columns, 2, 3))
    return B.reshape(B.sum(products, (0,)), (grad.shape[1], input.shape[1] // groups, *kernel))


# --- arguments ----------------------------------------------------------------------------------------------------
_TITLES = {"float32": "float", "float64": "double", "float16": "c10::Half", "bfloat16": "c10::BFloat16", "int64": "long long", "int32": "int",
           "complex64": "c10::complex<float>", "complex128": "c10::complex<double>"}


def _check_dtypes(input, weight, bias):
    if input.dtype.is_floating_point and input.dtype is weight.dtype and (bias is None or bias.dtype is input.dtype):
        return
    if input.dtype.name == "bool":
        raise NotImplementedError("\"convolution\" not implemented for 'Bool'")
    for what, other in (("weight", weight), ("bias", bias)):
        if other is not None and other.dtype is not input.dtype:
            raise RuntimeError(f"Input type ({_TITLES.get(input.dtype.name, input.dtype)}) and {what} type "
                               f"({_TITLES.get(other.dtype.name, other.dtype)}) should be the same")


def _check_numbers(weight_shape, stride, padding, dilation, output_padding, groups):
    if min(padding) < 0:
        raise RuntimeError("negative padding is not supported")
    if min(output_padding) < 0:
        raise RuntimeError("negative output_padding is not supported")
    if min(stride) <= 0:
        raise RuntimeError("non-positive stride is not supported")
    if min(dilation) <= 0:
        raise RuntimeError(f"dilation should be greater than zero, but got {list(dilation)}")
    if groups <= 0:
        raise RuntimeError("non-positive groups is not supported")
    if min(weight_shape[2:]) <= 0:
        raise RuntimeError(f"kernel size should be greater than zero, but got {named_sizes('kernel', weight_shape[2:])}")


def _check_channels(input_shape, sizes, bias_shape, transposed, groups):
    expected, outputs = (sizes[0], sizes[1] * groups) if transposed else (sizes[1] * groups, sizes[0])
    if sizes[0] >= groups and sizes[0] % groups == 0 and input_shape[1] == expected and bias_shape in (None, (outputs,)):
        return
    sizes = list(sizes)
    if sizes[0] < groups:
        raise RuntimeError(f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, but got weight of size {sizes} instead")
    if sizes[0] % groups:
        raise RuntimeError(f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, but got weight of size [{sizes}] instead")
    given = f"Given transposed={int(transposed)}" if transposed else f"Given groups={groups}"
    if input_shape[1] != expected:
        raise RuntimeError(f"{given}, weight of size {sizes}, expected input{list(input_shape)} to have {expected} channels, but got "
                           f"{input_shape[1]} channels instead")
    given = f"{given}, weight" if transposed else "Given weight"
    raise RuntimeError(f"{given} of size {sizes}, expected bias to be 1-dimensional with {outputs} elements, but got bias of size "
                       f"{list(bias_shape)} instead")


def _grid(size, kernel, stride, padding, dilation):
    grid = grid_of(size, kernel, stride, padding, dilation)
    if min(grid) < 1:
        padded, reach = [n + 2 * p for n, p in zip(size, padding)], extent(kernel, dilation)
        raise RuntimeError(f"Calculated padded input size per channel: ({' x '.join(map(str, padded))}). Kernel size: "
                           f"({' x '.join(map(str, reach))}). Kernel size can't be greater than actual input size")
    return grid


def _transposed_size(size, kernel, stride, padding, dilation, output_padding):
    if any(o >= max(s, d) for o, s, d in zip(output_padding, stride, dilation)):
        raise RuntimeError("output padding must be smaller than either stride or dilation, but got "
                           f"{named_sizes('output_padding', output_padding)} {named_sizes('stride', stride)} {named_sizes('dilation', dilation)}")
    result = tuple([(n - 1) * s - 2 * p + e + o for n, s, p, e, o in zip(size, stride, padding, extent(kernel, dilation), output_padding)])
    if min(result) < 1:
        raise RuntimeError(f"Given input size per channel: ({' x '.join(map(str, size))}). Calculated output size per channel: "
                           f"({' x '.join(map(str, result))}). Output size is too small")
    return result


def _numbers(name, value, count):
    """A number for each spatial dim."""
    return each(value, count, lambda: f"expected {name} to be a single integer value or a list of {count} values to match the convolution "
                                      f"dimensions, but got {name}={list(value) if isinstance(value, (tuple, list)) else value}")


@lru_cache(256, typed=True)
def _plan(input_shape, weight_shape, bias_shape, stride, padding, dilation, transposed, output_padding, groups):
    """(size of the result, stride, padding, dilation) with a number for each spatial dim; RuntimeError where something doesn't fit."""
    spatial = len(input_shape) - 2
    if len(weight_shape) != len(input_shape) or spatial < 1:
        raise RuntimeError(f"Expected {len(weight_shape)}-dimensional input for {len(weight_shape)}-dimensional weight {list(weight_shape)}, but got "
                           f"{len(input_shape)}-dimensional input of size {list(input_shape)} instead")
    stride, padding = _numbers("stride", stride, spatial), _numbers("padding", padding, spatial)
    dilation, output_padding = _numbers("dilation", dilation, spatial), _numbers("output_padding", output_padding, spatial)
    _check_numbers(weight_shape, stride, padding, dilation, output_padding, groups)
    _check_channels(input_shape, weight_shape, bias_shape, transposed, groups)
    size, kernel = input_shape[2:], weight_shape[2:]
    size = _transposed_size(size, kernel, stride, padding, dilation, output_padding) if transposed else _grid(size, kernel, stride, padding, dilation)
    return size, stride, padding, dilation


def _convolved(B, input, weight, bias, stride, padding, dilation, transposed, output_padding, groups):
    size, stride, padding, dilation = cached(
        _plan, input.shape, weight.shape, None if bias is None else bias.shape, stride, padding, dilation, transposed, output_padding, groups)
    _check_dtypes(input, weight, bias)
    return (B._convolve_transposed if transposed else B._convolve)(input, weight, bias, size, stride, padding, dilation, groups)


@op(method=False)
def convolution(B, input: T, weight: T, bias: T, stride, padding, dilation, transposed, output_padding, groups):
    """The convolution of images with a weight, or the transposed convolution, in any number of spatial dims.

    Args:
        input: (samples, channels, *spatial).
        weight: (out_channels, channels / groups, *kernel), transposed (channels, out_channels / groups, *kernel).
        bias: (out_channels) or None.
        stride, padding, dilation: a number for each spatial dim, or one for all.
        output_padding: what is added to the size at one end, only where transposed.
        groups: into how many parts the channels are divided, each with its own outputs.

    Raises:
        RuntimeError: sizes that don't fit, of which the message tells.
    """
    return _convolved(B, input, weight, bias, stride, padding, dilation, bool(transposed), output_padding, groups)


def _batched(name, input, spatial):
    """The input with a dim of samples, and whether it was added."""
    if input.ndim not in (spatial + 1, spatial + 2):
        raise RuntimeError(f"Expected {spatial + 1}D (unbatched) or {spatial + 2}D (batched) input to {name}, but got input of size: "
                           f"{list(input.shape)}")
    return (input.unsqueeze(0), True) if input.ndim == spatial + 1 else (input, False)


def _padding_by_name(B, input, weight, stride, padding, dilation):
    """(input, padding) for padding 'same' or 'valid'."""
    if padding == "valid":
        return input, 0
    if padding != "same":
        raise RuntimeError(f"Invalid padding string: '{padding}'")
    spatial = input.ndim - 2
    stride, dilation = _numbers("stride", stride, spatial), _numbers("dilation", dilation, spatial)
    if any(s != 1 for s in stride):
        raise RuntimeError("padding='same' is not supported for strided convolutions")
    total = [e - 1 for e in extent(weight.shape[2:], dilation)]
    if any(n % 2 for n in total):      # what is odd comes at the end
        input = B.constant_pad_nd(input, [n for t in reversed(total) for n in (0, t % 2)], 0)
    return input, [t // 2 for t in total]


def _define(spatial):
    dims = {1: "L", 2: "H, W", 3: "D, H, W"}[spatial]
    name, transposed_name = f"conv{spatial}d", f"conv_transpose{spatial}d"

    def forward(B, input: T, weight: T, bias: T = None, stride=1, padding=0, dilation=1, groups=1):
        input, added = _batched(name, input, spatial)
        if isinstance(padding, str):
            input, padding = _padding_by_name(B, input, weight, stride, padding, dilation)
        y = _convolved(B, input, weight, bias, stride, padding, dilation, False, 0, groups)
        return B.squeeze(y, 0) if added else y

    def backward(B, input: T, weight: T, bias: T = None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
        input, added = _batched(transposed_name, input, spatial)
        y = _convolved(B, input, weight, bias, stride, padding, dilation, True, output_padding, groups)
        return B.squeeze(y, 0) if added else y

    forward.__name__, backward.__name__ = name, transposed_name
    forward.__doc__ = f"""The convolution (cross-correlation) of (N, C, {dims}) or (C, {dims}) with a weight.

    Args:
        weight: (out_channels, C / groups, *kernel). bias: (out_channels), optional.
        stride: the distance of windows. dilation: the distance of a window's elements.
        padding: zeros at both ends of every spatial dim; 'valid' for none, 'same' for a result of the input's size.
        groups: into how many parts the channels are divided.

    The result has floor((n + 2 padding - dilation (kernel - 1) - 1) / stride) + 1 elements in each spatial dim.

    Raises:
        RuntimeError: channels, kernel, padding or groups don't fit.
    """
    backward.__doc__ = f"""The transposed convolution of (N, C, {dims}) or (C, {dims}): the adjoint of `conv{spatial}d` in its input.

    Args:
        weight: (C, out_channels / groups, *kernel). bias: (out_channels), optional.
        stride, padding, dilation, groups: of the convolution whose adjoint it is.
        output_padding: added to the size of the result at one end; less than stride or dilation.

    The result has (n - 1) stride - 2 padding + dilation (kernel - 1) + output_padding + 1 elements in each spatial dim.

    Raises:
        RuntimeError: channels, kernel, padding or groups don't fit.
    """
    return op(method=False)(forward), op(method=False)(backward)


conv1d, conv_transpose1d = _define(1)
conv2d, conv_transpose2d = _define(2)
conv3d, conv_transpose3d = _define(3)


@op(method=False)
def conv_tbc(B, input: T, weight: T, bias: T, pad=0):
    """A 1-d convolution of (time, samples, channels) with a weight (kernel, channels, out_channels)."""
    if input.ndim != 3 or weight.ndim != 3 or bias.ndim != 1:
        raise RuntimeError(f"Input and weight must have 3 dims and bias 1: time, batch, in_channel, but got {input.ndim}, {weight.ndim}, {bias.ndim}")
    y = B.convolution(B.permute(input, (1, 2, 0)), B.permute(weight, (2, 1, 0)), bias, 1, pad, 1, False, 0, 1)
    return B.permute(y, (2, 0, 1))
