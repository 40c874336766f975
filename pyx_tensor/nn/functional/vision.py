"""Sampling at places of a grid, blocks of images, and channels rearranged."""
import math
import warnings
from functools import lru_cache

from ...core.naming import needs_floating
from ...ops import namespace as ops
from ...ops.sliding import cached, each, grid_of, named_sizes
from ._arguments import takes_tensors

pixel_shuffle, pixel_unshuffle, channel_shuffle = ops.pixel_shuffle, ops.pixel_unshuffle, ops.channel_shuffle
native_channel_shuffle = ops.channel_shuffle

_DEFAULT_CHANGED = ("Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. Please specify "
                    "align_corners=True if the old behavior is desired. See the documentation of grid_sample for details.")


# --- grids --------------------------------------------------------------------------------------------------------
@takes_tensors()
def affine_grid(theta, size, align_corners=None):
    """The places, for :func:`grid_sample`, that affine maps give to a regular grid of an image of shape ``size``.

    Args:
        theta: matrices (N, 2, 3) for images, (N, 3, 4) for volumes.
        size: (N, C, H, W) or (N, C, D, H, W).
        align_corners: whether -1 and 1 are the centres of the outer elements, or their outer edges.

    Shapes: output (N, H, W, 2) or (N, D, H, W, 3), the coordinates in the order x, y, z.
    """
    if align_corners is None:
        warnings.warn(_DEFAULT_CHANGED, stacklevel=2)
    size = tuple(size)
    if not theta.is_floating_point():
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    if len(size) not in (4, 5):
        raise NotImplementedError("affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively. "
                                  f"Got size {size}.")
    n = len(size) - 2
    if theta.dim() != 3 or tuple(theta.shape[1:]) != (n, n + 1):
        raise ValueError(f"Expected a batch of {n}D affine matrices of shape Nx{n}x{n + 1} for size {size}. Got {theta.shape}.")
    if min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {size}")
    if theta.size(0) != size[0]:
        raise RuntimeError(f"Expected theta of {size[0]} matrices for size {size}, but got shape {list(theta.shape)}")
    axes = []
    for d in range(n - 1, -1, -1):       # x is the last dim
        count = size[2 + d]
        at = ops.linspace(-1, 1, count, dtype=theta.dtype, device=theta.device) if count > 1 else theta.new_zeros(1)
        at = at if align_corners else at * ((count - 1) / count)
        axes.append(at.reshape([-1 if e == d else 1 for e in range(n)]).expand(size[2:]))
    points = ops.stack([*axes, ops.ones_like(axes[0])], -1).reshape(1, -1, n + 1)
    return (points @ theta.transpose(1, 2)).reshape(size[0], *size[2:], n)


@takes_tensors(2)
def grid_sample(input, grid, mode="bilinear", padding_mode="zeros", align_corners=None):
    """Images at the places of a grid.

    Args:
        input: (N, C, H, W) or (N, C, D, H, W).
        grid: (N, H', W', 2) or (N, D', H', W', 3): places as x, y(, z), from -1 to 1.
        mode: ``'bilinear'``, ``'nearest'``, or for images ``'bicubic'``.
        padding_mode: what lies outside: ``'zeros'``, the nearest element (``'border'``), or the image mirrored (``'reflection'``).
        align_corners: whether -1 and 1 are the centres of the outer elements, or their outer edges.

    Shapes: output (N, C, H', W') or (N, C, D', H', W').
    """
    if mode not in ("bilinear", "nearest", "bicubic"):
        raise ValueError(f"nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: '{mode}'")
    if padding_mode not in ("zeros", "border", "reflection"):
        raise ValueError("nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', but got: "
                         f"'{padding_mode}'")
    if align_corners is None:
        warnings.warn(_DEFAULT_CHANGED, stacklevel=2)
    needs_floating("grid_sampler", input)
    modes, paddings = ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection")
    return ops.grid_sampler(input, grid, modes.index(mode), paddings.index(padding_mode), bool(align_corners))


# --- blocks of images ---------------------------------------------------------------------------------------------
@lru_cache(256, typed=True)
def _block_arguments(name, kernel_size, dilation, padding, stride):
    numbers = [each(value, 2, lambda: f"{name}(): expected {what} to be an int or two, but got {value}") for what, value in
               (("kernel_size", kernel_size), ("dilation", dilation), ("padding", padding), ("stride", stride))]
    for what, value in zip(("kernel", "dilation", "pad", "stride"), numbers):
        if min(value) < (what != "pad"):
            raise RuntimeError(f"{'kernel size' if what == 'kernel' else 'padding' if what == 'pad' else what} should be "
                               f"{'non-negative' if what == 'pad' else 'greater than zero'}, but got {named_sizes(what, value)}")
    return tuple(numbers)


@takes_tensors()
def unfold(input, kernel_size, dilation=1, padding=0, stride=1):
    """The windows of images (N, C, H, W) or (C, H, W) as columns: (N, C * elements of a window, windows).

    >>> nn.functional.unfold(torch.arange(9.).reshape(1, 1, 3, 3), 2)[0, :, 0]
    tensor([0., 1., 3., 4.])
    """
    kernel, dilation, padding, stride = cached(_block_arguments, "unfold", kernel_size, dilation, padding, stride)
    if input.dim() not in (3, 4) or 0 in input.shape[input.dim() - 3:]:
        raise RuntimeError("Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input, but got: "
                           f"{list(input.shape)}")
    batch = input if input.dim() == 4 else input.unsqueeze(0)
    size = tuple(batch.shape[2:])
    grid = grid_of(size, kernel, stride, padding, dilation)
    if min(grid) < 1:
        raise RuntimeError(f"Given input with spatial size {size}, kernel_size={kernel}, dilation={dilation}, padding={padding}, calculated shape of "
                           f"the array of sliding blocks as {grid}, but its components must be at least one.")
    columns = ops._im2col(batch, kernel, grid, stride, padding, dilation)
    return columns if batch is input else columns.squeeze(0)


@takes_tensors()
def fold(input, output_size, kernel_size, dilation=1, padding=0, stride=1):
    """The adjoint of :func:`unfold`: images of size ``output_size`` whose elements are the sums of their copies in the columns."""
    kernel, dilation, padding, stride = cached(_block_arguments, "fold", kernel_size, dilation, padding, stride)
    size = each(output_size, 2, lambda: f"fold(): expected output_size to be an int or two, but got {output_size}")
    if input.dim() not in (2, 3) or 0 in input.shape[input.dim() - 2:]:
        raise RuntimeError("Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero dimensions for input, but got: "
                           f"{list(input.shape)}")
    batch = input if input.dim() == 3 else input.unsqueeze(0)
    if batch.size(1) % math.prod(kernel):
        raise RuntimeError("Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got "
                           f"input.size(1)={batch.size(1)} and kernel_size={kernel}.")
    grid = grid_of(size, kernel, stride, padding, dilation)
    given = f"Given output_size={size}, kernel_size={kernel}, dilation={dilation}, padding={padding}, stride={stride}, "
    if min(grid) < 1:
        raise RuntimeError(f"{given}calculated shape of the array of sliding blocks as {grid}, which is too small (non-positive)")
    if batch.size(2) != math.prod(grid):
        raise RuntimeError(f"{given}expected size of input's dimension 2 to match the calculated number of sliding blocks "
                           f"{' * '.join(map(str, grid))} = {math.prod(grid)}, but got input.size(2)={batch.size(2)}.")
    images = ops._col2im(batch, size, kernel, grid, stride, padding, dilation)
    return images if batch is input else images.squeeze(0)
