"""Convolution by cuDNN, or by lowering: the views of all kernel positions as columns, and products with them."""
import math

import numpy as np

from pyx_tensor.core.protocol import permissions

from .cudnn import packed
from .entries import accumulator, contiguous, element_of, entry, new

SLIDING = np.dtype([(name, np.int32, 3) for name in ("size", "kernel", "grid", "stride", "padding", "dilation")], align=True)
COLUMNS_BYTES = 1 << 29      # memory that the columns of some samples may take


class _Geometry:
    """A convolution of images (samples, channels, *size): how it is lowered to products, and how cuDNN is told of it."""

    def __init__(self, size, kernel, grid, stride, padding, dilation):
        if len(size) > 3:
            raise TypeError(f"convolution has at most 3 spatial dims here, not {len(size)}")
        self.size, self.kernel, self.grid = tuple(size), tuple(kernel), tuple(grid)
        self.taps, self.positions = math.prod(kernel), math.prod(grid)
        # Kernels of size 1 that neither pad nor skip: the image is its own columns.
        self.is_plain = self.taps == 1 and tuple(size) == tuple(grid) and set(stride) == {1} and set(padding) == {0}
        missing = 3 - len(self.size)
        sliding = np.zeros((), SLIDING)
        for name, values, neutral in (("size", size, 1), ("kernel", kernel, 1), ("grid", grid, 1), ("stride", stride, 1), ("padding", padding, 0),
                                      ("dilation", dilation, 1)):
            sliding[name] = (neutral,) * missing + tuple(values)
        self.sliding = sliding[()]
        # cuDNN knows no fewer than two spatial dims.
        self.added = max(0, 2 - len(self.size))
        padding, stride, dilation = (neutral * self.added + tuple(values) for values, neutral in ((padding, (0,)), (stride, (1,)), (dilation, (1,))))
        self.options = dict(pre_padding=padding, post_padding=padding, stride=stride, dilation=dilation)

    def for_cudnn(self, shape):
        """The shape (samples, channels, *) of images, output or weight with as many dims as cuDNN wants."""
        return *shape[:2], *(1,) * self.added, *shape[2:]

    def columns(self, backend, images):
        """(samples, channels · taps, positions)."""
        samples, channels = images.shape[:2]
        shape = samples, channels * self.taps, self.positions
        if self.is_plain:
            return backend.xp.reshape(images, shape)
        columns = new(backend, shape, images.dtype, images)
        if columns.size:
            backend.launch.each("convolution", "im2col", element_of(backend, "im2col", images), columns.size, images, columns, np.int64(samples * channels),
                                self.sliding)
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
                                np.int64(columns.shape[0] * channels), self.sliding)
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


def _lowered(backend, x, weight, shape, geometry, groups):
    matrices, parts = _matrices(backend, weight, groups), []
    for some in geometry.parts(x, x.shape[1]):
        columns = _grouped(backend, geometry.columns(backend, x[some]), groups)
        parts.append(backend.xp.reshape(backend.matmul(matrices, columns), (columns.shape[0], *shape[1:])))
    return _joined(backend, parts or [new(backend, shape, x.dtype, x)])


def _lowered_transposed(backend, y, weight, shape, geometry, groups):
    matrices, parts, channels = _swapped(backend, _matrices(backend, weight, groups)), [], shape[1]
    for some in geometry.parts(y, channels):
        columns = backend.matmul(matrices, _grouped(backend, y[some], groups))
        columns = backend.xp.reshape(columns, (columns.shape[0], channels * geometry.taps, geometry.positions))
        parts.append(geometry.images(backend, columns, channels))
    return _joined(backend, parts or [new(backend, shape, y.dtype, y)])


def _lowered_weight(backend, x, g, shape, geometry, groups):
    """The samples' shares are added up in a kernel's accumulator."""
    total, wide = None, accumulator(backend, backend.dtype_name(x))
    for some in geometry.parts(x, x.shape[1]):
        columns = _grouped(backend, geometry.columns(backend, x[some]), groups)
        products = backend.matmul(_grouped(backend, g[some], groups), _swapped(backend, columns))
        share = backend.sum(products if products.dtype == wide else backend.cast(products, wide), (0,), False)
        total = share if total is None else total + share
    if total is None:
        return backend.full(shape, 0, x.dtype, *backend.place_of(x))
    return backend.xp.reshape(backend.like(total, x), shape)


# Each of the three: cuDNN's operation, its names for the two operands, and the same by lowering.
_CONVOLUTION = "conv_fprop", ("image", "weight"), _lowered
_TRANSPOSED = "conv_dgrad", ("loss", "filter"), _lowered_transposed
_WEIGHT = "conv_wgrad", ("image", "loss"), _lowered_weight


def _convolved(backend, kind, a, b, shape, geometry, groups):
    """The product of two of images, weight and output, of which the third has `shape`."""
    element_of(backend, "convolution", a)
    operation, names, lower = kind
    a, b = packed(backend, a), packed(backend, b, a)
    if backend.cudnn.takes(a, b) and math.prod(shape):
        result = new(backend, geometry.for_cudnn(shape), a.dtype, a)
        inputs = {name: backend.xp.reshape(x, geometry.for_cudnn(x.shape)) for name, x in zip(names, (a, b))}
        if backend.cudnn.run(operation, inputs, (result,), geometry.options, _avoided(backend, a)):
            return backend.xp.reshape(result, shape)
    return lower(backend, a, b, shape, geometry, groups)


def _avoided(backend, array):
    """Numerical notes of the algorithms that cuDNN may not choose."""
    notes = {"DOWN_CONVERT_INPUTS": True, "TENSOR_CORE": backend.dtype_name(array) == "float32" and not permissions.cudnn_tf32,
             "NONDETERMINISTIC": permissions.deterministic or permissions.cudnn_deterministic}
    return tuple([name for name, avoided in notes.items() if avoided])


@entry
def convolve(self, x, weight, bias, grid, stride, padding, dilation, groups):
    """The convolution at `grid` positions."""
    geometry = _Geometry(x.shape[2:], weight.shape[2:], grid, stride, padding, dilation)
    return _biased(self, _convolved(self, _CONVOLUTION, x, weight, (x.shape[0], weight.shape[0], *grid), geometry, groups), bias)


@entry
def convolve_transposed(self, y, weight, bias, size, stride, padding, dilation, groups):
    """What a convolution's input of spatial sizes `size` gets from its output."""
    geometry = _Geometry(size, weight.shape[2:], y.shape[2:], stride, padding, dilation)
    return _biased(self, _convolved(self, _TRANSPOSED, y, weight, (y.shape[0], weight.shape[1] * groups, *size), geometry, groups), bias)


@entry
def convolve_weight(self, g, x, kernel, stride, padding, dilation, groups):
    """What a convolution's weight gets from its output."""
    geometry = _Geometry(x.shape[2:], kernel, g.shape[2:], stride, padding, dilation)
    return _convolved(self, _WEIGHT, x, g, (g.shape[1], x.shape[1] // groups, *kernel), geometry, groups)
