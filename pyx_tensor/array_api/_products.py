"""Products of arrays."""
from ..ops import namespace as ops


def _promoted(x1, x2):
    dtype = ops.result_type(x1, x2)
    return x1.to(dtype), x2.to(dtype)


def matmul(x1, x2, /):
    """The matrix product, over batches of matrices."""
    return ops.matmul(*_promoted(x1, x2))


def tensordot(x1, x2, /, *, axes=2):
    """Sums of products over pairs of axes."""
    return ops.tensordot(*_promoted(x1, x2), axes)


def vecdot(x1, x2, /, *, axis=-1):
    """The dot products of vectors along an axis, the first conjugated."""
    x1, x2 = _promoted(x1, x2)
    if x1.shape[axis] != x2.shape[axis]:
        raise ValueError(f"vecdot: sizes {x1.shape[axis]} and {x2.shape[axis]} along axis {axis} differ")
    return ops.sum(ops.mul(ops.conj(x1) if x1.dtype.is_complex else x1, x2), axis, dtype=x1.dtype)
