"""Activations and their gradients, dropout, and sums of products, one kernel each."""
import math

import numpy as np

from .entries import ENTRIES, contiguous, element_of, new
from .launcher import number

# Entry: the names of its numbers, which the kernel gets as p, q, r.
FUNCTIONS = {"relu": 0, "silu": 0, "mish": 0, "logsigmoid": 0, "hardsigmoid": 0, "hardswish": 0, "leaky_relu": 1, "elu": 3, "softplus": 2}
GRADIENTS = ("relu_backward", "sigmoid_backward", "tanh_backward", "silu_backward")


def pointwise(backend, kernel, arrays, numbers, out, count=3):
    """Run a kernel over arrays of one dtype, broadcast, with numbers padded to `count`."""
    xp, element = backend.xp, element_of(backend, kernel, *arrays)
    if len({tuple(a.shape) for a in arrays}) > 1:
        arrays = xp.broadcast_arrays(*arrays)
    shape = tuple(arrays[0].shape)
    direct = out is not None and out.flags.c_contiguous and out.dtype == arrays[0].dtype and tuple(out.shape) == shape
    result = out if direct else new(backend, shape, arrays[0].dtype, arrays[0])
    size = math.prod(shape)
    if size:
        values = [number(element, v) for v in (*numbers, *[0] * (count - len(numbers)))]
        backend.launch.each("pointwise", kernel, element, size, *[contiguous(backend, a) for a in arrays], result, np.int64(size), *values)
    if out is not None and not direct:
        backend.copy_(out, result)
        return out
    return result


def _function(name, count):
    def call(self, a, *numbers, out=None):
        if len(numbers) != count:
            raise TypeError(f"{name}: expected {count} numbers, got {len(numbers)}")
        return pointwise(self, name, (a,), numbers, out)
    call.__name__ = name
    return call


def _gradient(name):
    def call(self, g, a, out=None):
        return pointwise(self, name, (g, a), (), out)
    call.__name__ = name
    return call


ENTRIES.update({name: _function(name, count) for name, count in FUNCTIONS.items()})
ENTRIES.update({name: _gradient(name) for name in GRADIENTS})


def gelu(self, a, tanh, out=None):
    return pointwise(self, "gelu_tanh" if tanh else "gelu", (a,), (), out)


def gelu_backward(self, g, a, tanh, out=None):
    return pointwise(self, "gelu_tanh_backward" if tanh else "gelu_backward", (g, a), (), out)


def _masked_scale(self, a, mask, scale, out=None):
    """Dropout, and its gradient."""
    element = element_of(self, "dropout", a)
    result = new(self, a.shape, a.dtype, a)
    if a.size:
        mask = self.xp.ascontiguousarray(self.xp.broadcast_to(mask, a.shape))
        self.launch.each("pointwise", "masked_scale", element, a.size, contiguous(self, a), mask, result, np.int64(a.size), number(element, scale))
    return result


ENTRIES.update(gelu=gelu, gelu_backward=gelu_backward, _masked_scale=_masked_scale)


def _of_three(name):
    def call(self, a, b, c, value, out=None):
        return pointwise(self, name, (a, b, c), (value,), out, count=1)
    call.__name__ = name
    return call


ENTRIES.update({name: _of_three(name) for name in ("addcmul", "addcdiv")})
