"""Channels of images rearranged."""
import math

from ..core.definitions import op
from ..core.signature import T


def _check_pixels(name, input, word, factor):
    if input.ndim < 3:
        raise RuntimeError(f"{name} expects input to have at least 3 dimensions, but got input with {input.ndim} dimension(s)")
    if factor <= 0:
        raise RuntimeError(f"{name} expects a positive {word}, but got {factor}")


@op(method=False)
def pixel_shuffle(B, input: T, upscale_factor):
    """(*, C r², H, W) as (*, C, H r, W r): groups of r² channels become blocks of pixels (Shi et al., 2016).

    Raises:
        RuntimeError: the channels aren't a multiple of r².
    """
    r = upscale_factor
    _check_pixels("pixel_shuffle", input, "upscale_factor", r)
    *lead, channels, height, width = input.shape
    if channels % (r * r):
        raise RuntimeError("pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, but "
                           f"input.size(-3)={channels} is not divisible by {r * r}")
    n = len(lead)
    x = B.permute(B.reshape(input, (*lead, channels // (r * r), r, r, height, width)), (*range(n + 1), n + 3, n + 1, n + 4, n + 2))
    return B.reshape(x, (*lead, channels // (r * r), height * r, width * r))


@op(method=False)
def pixel_unshuffle(B, input: T, downscale_factor):
    """The inverse of `pixel_shuffle`: (*, C, H r, W r) as (*, C r², H, W).

    Raises:
        RuntimeError: height or width isn't a multiple of r.
    """
    r = downscale_factor
    _check_pixels("pixel_unshuffle", input, "downscale_factor", r)
    *lead, channels, height, width = input.shape
    for what, size, at in (("height", height, -2), ("width", width, -1)):
        if size % r:
            raise RuntimeError(f"pixel_unshuffle expects {what} to be divisible by downscale_factor, but input.size({at})={size} is not divisible by {r}")
    n = len(lead)
    x = B.permute(B.reshape(input, (*lead, channels, height // r, r, width // r, r)), (*range(n + 1), n + 2, n + 4, n + 1, n + 3))
    return B.reshape(x, (*lead, channels * r * r, height // r, width // r))


@op(method=False, public=("channel_shuffle", "native_channel_shuffle"))
def channel_shuffle(B, input: T, groups):
    """Channels (dim 1) of g groups in the order in which one of each group follows the other (Zhang et al., 2018).

    Raises:
        RuntimeError: the channels aren't a multiple of the groups.
    """
    if input.ndim < 3:
        raise RuntimeError(f"channel_shuffle expects input with > 2 dims, but got input with sizes {list(input.shape)}")
    if groups <= 0:
        raise RuntimeError(f"Number of groups to divide channels in must be positive. Value of groups:{groups}")
    samples, channels, *size = input.shape
    if channels % groups:
        raise RuntimeError(f"Number of channels must be divisible by groups. Got {channels} channels and {groups} groups.")
    x = B.transpose(B.reshape(input, (samples, groups, channels // groups, math.prod(size))), 1, 2)
    return B.reshape(x, tuple(input.shape))
