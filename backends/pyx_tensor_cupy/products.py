"""Matrix products by cuBLAS, on arrays as they lie in memory."""
import math

import numpy as np

from pyx_tensor.core.array_module import ArrayModuleBackend
from pyx_tensor.core.protocol import permissions

from .entries import entry

# cuBLAS's numbers. Dtype: the data's type, how it is computed, the dtype of the factors alpha and beta.
TYPES = {"float16": (2, 68, "float32"), "bfloat16": (14, 68, "float32"), "float32": (0, 68, "float32"), "float64": (1, 70, "float64"),
         "complex64": (4, 68, "complex64"), "complex128": (5, 70, "complex128")}
FAST_TF32 = 77
DEFAULT_ALGORITHM = -1
AS_IT_IS, TRANSPOSED = 0, 1
DEFAULT_MATH, NO_REDUCED_SUMS = 0, 16      # sums of half products in half precision are forbidden
FACTORS = {name: (np.ones(1, name), np.zeros(1, name)) for name in ("float32", "float64", "complex64", "complex128")}


def layout(shape, strides):
    """(operation, leading dimension) by which cuBLAS reads a row-major matrix, whose columns it takes for rows; None where it can't."""
    (rows, columns), (row, column) = shape, strides
    if (column == 1 or columns == 1) and (row >= columns or rows == 1):
        return AS_IT_IS, max(columns, row if rows > 1 else columns, 1)
    if (row == 1 or rows == 1) and (column >= rows or columns == 1):
        return TRANSPOSED, max(rows, column if columns > 1 else rows, 1)
    return None


def batch_stride(sizes, strides):
    """The one stride by which the matrices of a batch of several dims follow one another; None where there is none."""
    kept = [(n, s) for n, s in zip(sizes, strides) if n != 1]
    for (_, outer), (n, inner) in zip(kept, kept[1:]):
        if outer != n * inner:
            return None
    return kept[-1][1] if kept else 0


class _Operand:
    """A batch of matrices, broadcast to `batch`, as cuBLAS can read it: copied if need be."""

    def __init__(self, backend, array, batch):
        missing = len(batch) + 2 - len(array.shape)
        sizes, strides = (1,) * missing + tuple(array.shape[:-2]), (0,) * missing + tuple(backend.strides(array)[:-2])
        strides = tuple(0 if n == 1 else s for n, s in zip(sizes, strides))
        self.layout, self.stride = layout(array.shape[-2:], backend.strides(array)[-2:]), batch_stride(batch, strides)
        if self.layout is None or self.stride is None:
            array = backend.copy(array if self.stride is not None else backend.xp.broadcast_to(array, (*batch, *array.shape[-2:])))
            strides = (0,) * (len(batch) + 2 - len(array.shape)) + tuple(0 if n == 1 else s for n, s in zip(array.shape[:-2], backend.strides(array)[:-2]))
            self.layout, self.stride = layout(array.shape[-2:], backend.strides(array)[-2:]), batch_stride(batch, strides)
        self.array, self.pointer = array, backend.address(array)      # the array lives as long as its address is used


def _compute_type(name):
    return FAST_TF32 if name == "float32" and permissions.tf32 else TYPES[name][1]


def _math_mode(name):
    reduced = {"float16": permissions.reduced_float16, "bfloat16": permissions.reduced_bfloat16}.get(name, True)
    return DEFAULT_MATH if reduced else NO_REDUCED_SUMS


def multiply(backend, a, b, out=None):
    """a @ b for matrices or batches of them; added to `out`, a contiguous array, if given."""
    name = backend.dtype_name(a)
    (m, k), (k2, n) = a.shape[-2:], b.shape[-2:]
    if k != k2:
        raise ValueError(f"matmul: shapes {tuple(a.shape)} and {tuple(b.shape)} don't fit")
    batch = np.broadcast_shapes(tuple(a.shape[:-2]), tuple(b.shape[:-2]))
    count = math.prod(batch)
    add = out is not None
    if out is None:
        out = backend.create(backend.xp.empty, (*batch, m, n), dtype=a.dtype, index=backend.index_of(a))
    if not out.size or not k:
        return out if add else backend.fill_(out, 0)
    data, _, factors = TYPES[name]
    one, zero = FACTORS[factors]
    left, right = _Operand(backend, a, batch), _Operand(backend, b, batch)
    cublas, handle = backend.cuda.cublas, backend.cuda.get_cublas_handle()
    mode = _math_mode(name)
    if mode != DEFAULT_MATH:
        cublas.setMathMode(handle, mode)
    try:      # cuBLAS counts by columns: out^T = b^T a^T
        cublas.gemmStridedBatchedEx(
            handle, right.layout[0], left.layout[0], n, m, k, one.ctypes.data, right.pointer, data, right.layout[1], right.stride,
            left.pointer, data, left.layout[1], left.stride, (one if add else zero).ctypes.data, backend.address(out), data, n, m * n, count,
            _compute_type(name), DEFAULT_ALGORITHM)
    finally:
        if mode != DEFAULT_MATH:
            cublas.setMathMode(handle, DEFAULT_MATH)
    return out


def _as_rows(backend, a):
    """All leading dims as one."""
    return backend.xp.reshape(a, (math.prod(a.shape[:-1]), a.shape[-1]))


@entry
def matmul(self, a, b):
    """The product of vectors, matrices, or batches of matrices."""
    if self.dtype_name(a) not in TYPES:
        return ArrayModuleBackend.matmul(self, a, b)
    xp, row, column = self.xp, len(a.shape) == 1, len(b.shape) == 1
    a = xp.reshape(a, (1, -1)) if row else a
    b = xp.reshape(b, (-1, 1)) if column else b
    if len(b.shape) == 2 and len(a.shape) > 2 and 0 not in a.shape:
        result = xp.reshape(multiply(self, _as_rows(self, a), b), (*a.shape[:-1], b.shape[-1]))
    else:
        result = multiply(self, a, b)
    shape = tuple(result.shape)
    if row:
        shape = shape[:-2] + shape[-1:]
    return xp.reshape(result, shape[:-1] if column else shape)


@entry
def linear(self, a, weight, bias=None):
    """a @ weight.T + bias over the last dim."""
    if self.dtype_name(a) not in TYPES or not a.shape or len(weight.shape) != 2 or a.shape[-1] != weight.shape[-1] or 0 in a.shape:
        raise TypeError("linear: left to the definition")
    shape, out = (*a.shape[:-1], weight.shape[0]), None
    if bias is not None:
        if tuple(bias.shape) not in ((weight.shape[0],), (1,)):
            raise TypeError("linear: left to the definition")
        out = self.create(self.xp.empty, (math.prod(a.shape[:-1]), weight.shape[0]), dtype=a.dtype, index=self.index_of(a))
        out[...] = bias
    return self.xp.reshape(multiply(self, _as_rows(self, a), self.xp.transpose(weight), out), shape)
