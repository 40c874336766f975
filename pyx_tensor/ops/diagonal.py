"""Diagonals and triangles of matrices."""
from ..core.definitions import creates, op
from ..core.dtype import by_name
from ..core.record import namespace as B
from ..core.signature import Int, T
from .shape import wrapped


def _embedded(B, input, offset, dim1=-2, dim2=-1):
    if not input.ndim:
        raise RuntimeError("diag_embed expects a tensor with at least 1 dimension")
    ndim = input.ndim + 1
    dim1, dim2 = wrapped(dim1, ndim), wrapped(dim2, ndim)
    if dim1 == dim2:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    size = input.shape[-1] + abs(offset)
    shape = list(input.shape[:-1])
    for d in sorted((dim1, dim2)):
        shape.insert(d, size)
    return B._view_backward(input, tuple(shape), "diagonal", (offset, dim1, dim2))


@op()
def diag_embed(B, input: T, offset: Int = 0, dim1=-2, dim2=-1):
    """Matrices of zeros, in two new dims, with the last dim of the input on a diagonal."""
    return _embedded(B, input, offset, dim1, dim2)


@op(exact_out=True)
def diag(B, input: T, diagonal: Int = 0):
    """A matrix with the vector on a diagonal, or the diagonal of a matrix."""
    if input.ndim == 1:
        return _embedded(B, input, diagonal)
    if input.ndim == 2:
        return B.clone(B.diagonal(input, diagonal))
    raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {input.ndim}D")


@op()
def diagflat(B, input: T, offset: Int = 0):
    """A matrix with all elements of the tensor on a diagonal."""
    return _embedded(B, B.reshape(input, (-1,)), offset)


@op()
def trace(B, input: T):
    """The sum of the main diagonal of a matrix."""
    if input.ndim != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {input.ndim}")
    return B.sum(B.diagonal(input))


# --- triangles ----------------------------------------------------------------------------------------------------
def _below(B, rows, columns, diagonal, device):
    """True on and below a diagonal."""
    row, column = B.arange(rows, device=device), B.arange(columns, device=device)
    return B.le(column, B.add(B.unsqueeze(row, 1), diagonal))


def _needs_matrix(name, input):
    if input.ndim < 2:
        raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions")


@op(inplace=True, vjp=dict(input=lambda B, g, diagonal: B.tril(g, diagonal)))
def tril(B, input: T, diagonal: Int = 0):
    """The matrices of the last two dims, with zeros above a diagonal."""
    _needs_matrix("tril", input)
    zero = B.zeros((), dtype=input.dtype, device=input.device)
    return B.where(_below(B, input.shape[-2], input.shape[-1], diagonal, input.device), input, zero)


@op(inplace=True, vjp=dict(input=lambda B, g, diagonal: B.triu(g, diagonal)))
def triu(B, input: T, diagonal: Int = 0):
    """The matrices of the last two dims, with zeros below a diagonal."""
    _needs_matrix("triu", input)
    zero = B.zeros((), dtype=input.dtype, device=input.device)
    return B.where(_below(B, input.shape[-2], input.shape[-1], diagonal - 1, input.device), zero, input)


def _triangle_indices(name, upper):
    def indices(row, col, offset=0, *, dtype=None, device=None, layout=None):
        if row < 0 or col < 0:
            raise RuntimeError(f"{'row' if row < 0 else 'col'} must be non-negative, got {row if row < 0 else col}")
        below = _below(B, row, col, offset - upper, device)
        found = B.nonzero(B.logical_not(below) if upper else below)
        return B.contiguous(B.transpose(found, 0, 1)).to(dtype or by_name["int64"])
    indices.__name__ = indices.__qualname__ = name
    indices.__doc__ = f"The positions on and {'above' if upper else 'below'} a diagonal of a row × col matrix, as two rows."
    return creates(indices)


tril_indices = _triangle_indices("tril_indices", False)
triu_indices = _triangle_indices("triu_indices", True)
