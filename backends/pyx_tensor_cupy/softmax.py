"""Softmax and its logarithm, and their gradients."""
import math

import numpy as np

from .entries import ENTRIES, contiguous, element_of, new
from .launcher import threads_for_row

MOST_ROWS = 1 << 16      # blocks of a launch, each of which does several rows where there are more


def along(backend, kernel, arrays, dim):
    """Run a kernel over lines along `dim` of contiguous arrays: a block for each where they are rows, else a thread."""
    element = element_of(backend, kernel, *arrays)
    arrays = [contiguous(backend, a, arrays[0]) for a in backend.xp.broadcast_arrays(*arrays)] if len(arrays) > 1 else [contiguous(backend, arrays[0])]
    shape = tuple(arrays[0].shape)
    result = new(backend, shape, arrays[0].dtype, arrays[0])
    if not arrays[0].size:
        return result
    outer, n, inner = (math.prod(shape[:dim]), shape[dim], math.prod(shape[dim + 1:])) if shape else (1, 1, 1)
    if inner == 1:
        backend.launch("softmax", f"{kernel}_rows", element, (min(outer, MOST_ROWS),), (threads_for_row(n),), *arrays, result, np.int64(outer), np.int64(n))
    else:
        backend.launch.each("softmax", f"{kernel}_lines", element, outer * inner, *arrays, result, np.int64(outer), np.int64(n), np.int64(inner))
    return result


def _forward(name):
    def call(self, a, dim, dtype=None):
        return along(self, name, (a,), dim)
    return call


def _backward(name):
    def call(self, g, y, dim):
        return along(self, name, (g, y), dim)
    return call


for _name in ("softmax", "log_softmax"):
    ENTRIES[_name] = _forward(_name)
    ENTRIES[f"{_name}_backward"] = _backward(f"{_name}_backward")
