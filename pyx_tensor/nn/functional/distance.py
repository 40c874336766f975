"""Distances and similarities."""
from ...ops import namespace as ops
from ._arguments import takes_tensors


@takes_tensors(2)
def cosine_similarity(x1, x2, dim=1, eps=1e-8):
    """The cosine of the angle between ``x1`` and ``x2`` along ``dim``; norms below ``eps`` count as ``eps``."""
    if x1.shape != x2.shape:
        x1, x2 = ops.broadcast_tensors(x1, x2)
    norm1 = x1.norm(2, dim, keepdim=True).clamp_min(eps)
    norm2 = x2.norm(2, dim, keepdim=True).clamp_min(eps)
    return (x1 / norm1 * (x2 / norm2)).sum(dim)


@takes_tensors(2)
def pairwise_distance(x1, x2, p=2.0, eps=1e-6, keepdim=False):
    """The ``p``-norm of x1 - x2 + eps over the last dimension."""
    return (x1 - x2 + eps).norm(p, -1, keepdim=keepdim)


@takes_tensors()
def pdist(input, p=2.0):
    """The ``p``-norm distances of all pairs of rows of a matrix (N, M), (0, 1), (0, 2) … (N-2, N-1)."""
    return ops.pdist(input, p)
