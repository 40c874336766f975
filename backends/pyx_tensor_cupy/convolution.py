"""Convolution by lowering: the views of all kernel positions as columns, and products with them."""
import math

import numpy as np

from .entries import accumulator, contiguous, element_of, entry, new

SLIDING = np.dtype([(name, np.int32, 3) for name in ("size", "kernel", "grid", "stride", "padding", "dilation")], align=True)
COLUMNS_BYTES = 1 << 29      # memory that the columns of some samples may take


class _Lowering:
    """The geometry of a convolution of images (samples, channels, *size)."""

    def __init__(self, size, kernel, grid, stride, padding, dilation):
        if len(size) > 3:
            raise TypeError(f"convolution has at most 3 spatial dims here, not {len(size)}")
        self.size, self.kernel, self.grid = tuple(size), tuple(kernel), tuple(grid)
        self.taps, self.positions = math.prod(kernel), math.prod(grid)
        # Kernels of size 1 that neither pad nor skip: the image is its own columns.
        self.is_plain = self.taps == 1 and tuple(size) == tuple(grid) and set(stride) == {1} and set(padding) == {0}
        missing = 3 - len(self.size)
        packed = np.zeros((), SLIDING)
        for name, values, neutral in (("size", size, 1), ("kernel", kernel, 1), ("grid", grid, 1), ("stride", stride, 1), ("padding", padding, 0),
                                      ("dilation", dilation, 1)):
            packed[name] = (neutral,) * missing + tuple(values)
        self.packed = packed[()]

    def columns(self, backend, images):
        """(samples, channels · taps, positions)."""
        samples, channels = images.shape[:2]
        shape = samples, channels * self.taps, self.positions
        if self.is_plain:
            return backend.xp.reshape(images, shape)
        columns = new(backend, shape, images.dtype, images)
        if columns.size:
            backend.launch.each("convolution", "im2col", element_of(backend, "im2col", images), columns.size, images, columns, np.int64(samples * channels),
                                self.packed)
        return columns

    def images(self, backend, columns, channels):
        """What each pixel gets from its columns."""
        shape = columns.shape[0], channels, *self.size
        columns = contiguous(backend, columns)
        if self.is_plain:
            return backend.xp.reshape(columns, shape)
        images = new(backend, shape, columns.dtype, columns)
        if images.size:
            backend.launch.each("convolution", "col2im", element_of(backend, "col2im", columns), images.size, columns, images,
                                np.int64(columns.shape[0] * channels), self.packed)
        return images

    def parts(self, array, channels):
        """Slices of samples whose columns fit the memory."""
        each = max(1, channels * self.taps * self.positions * array.dtype.itemsize)
        count = max(1, COLUMNS_BYTES // each)
        return [slice(begin, min(begin + count, array.shape[0])) for begin in range(0, array.shape[0], count)]


def _grouped(backend, array, groups):
    """(samples, channels, n) as (samples, groups, channels of a group, n)."""
    samples, channels, *rest = array.shape
    return backend.xp.reshape(array, (samples, groups, channels // groups, math.prod(rest)))


def _matrices(backend, weight, groups):
    return backend.xp.reshape(contiguous(backend, weight), (1, groups, weight.shape[0] // groups, math.prod(weight.shape[1:])))


def _biased(backend, y, bias):
    return y if bias is None else backend.add(y, backend.xp.broadcast_to(backend.xp.reshape(bias, (-1,) + (1,) * (len(y.shape) - 2)), y.shape))


def _joined(backend, parts):
    return parts[0] if len(parts) == 1 else backend.xp.concatenate(parts)


def _swapped(backend, a):
    return backend.xp.swapaxes(a, -1, -2)


@entry
def convolve(self, x, weight, bias, grid, stride, padding, dilation, groups):
    """The convolution at `grid` positions."""
    element_of(self, "convolution", x)
    x, lowering = contiguous(self, x), _Lowering(x.shape[2:], weight.shape[2:], grid, stride, padding, dilation)
    matrices, parts = _matrices(self, weight, groups), []
    for some in lowering.parts(x, x.shape[1]):
        columns = _grouped(self, lowering.columns(self, x[some]), groups)
        y = self.matmul(matrices, columns)
        parts.append(self.xp.reshape(y, (columns.shape[0], weight.shape[0], *grid)))
    if not parts:
        parts = [new(self, (0, weight.shape[0], *grid), x.dtype, x)]
    return _biased(self, _joined(self, parts), bias)


@entry
def convolve_transposed(self, y, weight, bias, size, stride, padding, dilation, groups):
    """What a convolution's input of spatial sizes `size` gets from its output."""
    element_of(self, "convolution", y)
    y, channels = contiguous(self, y), weight.shape[1] * groups
    lowering = _Lowering(size, weight.shape[2:], y.shape[2:], stride, padding, dilation)
    matrices, parts = _swapped(self, _matrices(self, weight, groups)), []
    for some in lowering.parts(y, channels):
        columns = self.matmul(matrices, _grouped(self, y[some], groups))
        parts.append(lowering.images(self, self.xp.reshape(columns, (columns.shape[0], channels * lowering.taps, lowering.positions)), channels))
    if not parts:
        parts = [new(self, (0, channels, *size), y.dtype, y)]
    return _biased(self, _joined(self, parts), bias)


@entry
def convolve_weight(self, g, x, kernel, stride, padding, dilation, groups):
    """What a convolution's weight gets from its output; the samples' shares are added up in a kernel's accumulator."""
    element = element_of(self, "convolution", x)
    g, x = contiguous(self, g, x), contiguous(self, x)
    lowering = _Lowering(x.shape[2:], kernel, g.shape[2:], stride, padding, dilation)
    shape = g.shape[1], x.shape[1] // groups, *kernel
    total = None
    for some in lowering.parts(x, x.shape[1]):
        columns = _grouped(self, lowering.columns(self, x[some]), groups)
        products = self.matmul(_grouped(self, g[some], groups), _swapped(self, columns))
        share = self.sum(products if products.dtype == accumulator(self, element) else self.cast(products, accumulator(self, element)), (0,), False)
        total = share if total is None else total + share
    if total is None:
        return self.full(shape, 0, x.dtype, *self.place_of(x))
    return self.xp.reshape(self.like(total, x), shape)
