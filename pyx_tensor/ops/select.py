"""Gathering, scattering, sorting, searching."""
from ..core.definitions import op, primitive
from ..core.signature import Dim, Raw, T


def _check_index(name, index, *dtypes):
    if index.dtype.name not in (dtypes or ("int64", "int32")):
        raise RuntimeError(f"{name}(): Expected dtype int32/int64 for index, got {index.dtype}")


@primitive(vjp=dict(input=lambda B, g, input_shape, dim, index: B.index_add(B.zeros(input_shape, dtype=g.dtype, device=g.device), dim, index, g)))
def index_select(B, input: T, dim: Dim, index: Raw):
    """The slices of a dim at the positions in a 1-d tensor of integers."""


@primitive(vjp=dict(input=lambda B, g, input_shape, dim, index: B.scatter_add(B.zeros(input_shape, dtype=g.dtype, device=g.device), dim, index, g)))
def gather(B, input: T, dim: Dim, index: Raw):
    """Elements at positions along a dim: `out[i][j] = input[i][index[i][j]]` for dim 1."""


@primitive(inplace=True, vjp=dict(input=lambda B, g: g, src=lambda B, g, dim, index: B.gather(g, dim, index)))
def scatter_add(B, input: T, dim: Dim, index: Raw, src: T):
    """A copy of `input` with elements of `src` added at positions along a dim."""


@op(inplace=True, vjp=dict(
    input=lambda B, g, dim, index: B._scatter(g, dim, index, B.zeros_like(index, dtype=g.dtype)),
    src=lambda B, g, dim, index: B.gather(g, dim, index)), hidden=True, entry="scatter", grad_name="Scatter")
def _scatter(B, input: T, dim: Dim, index: Raw, src: T):
    """`scatter` of a tensor."""
    kept = B._scatter_mask(input, dim, index)
    return B.where(kept, input, B.scatter_add(B.zeros_like(input), dim, index, src))


@op(hidden=True, nograd=True)
def _scatter_mask(B, input: T, dim: Dim, index: Raw):
    """True where no index points."""
    return B.eq(B.scatter_add(B.zeros_like(input, dtype=index.dtype), dim, index, B.ones_like(index)), 0)


@op(inplace=True)
def scatter(B, input: T, dim: Dim, index: Raw, src=None, *, value=None, reduce=None):
    """A copy of `input` with elements of `src` (or a number) put at positions along a dim."""
    if value is not None or not hasattr(src, "dtype"):
        src = B.full_like(index, src if value is None else value, dtype=input.dtype)
    if reduce == "add":
        return B.scatter_add(input, dim, index, src)
    if reduce is not None:
        raise NotImplementedError(f"scatter: reduce={reduce!r} isn't available")
    return B._scatter(input, dim, index, src)


@op(inplace=True, alpha=False, vjp=dict(input=lambda B, g: g, source=lambda B, g, dim, index, alpha: B.mul(B.index_select(g, dim, index), alpha)))
def index_add(B, input: T, dim: Dim, index: Raw, source: T, *, alpha=1):
    """A copy of `input` with slices of `source` added at positions along a dim."""
    if not input.ndim:
        return B.add(input, B.mul(B.sum(source), alpha))
    shape = [1] * source.ndim
    shape[dim] = index.numel()
    return B.scatter_add(input, dim, B.expand(B.reshape(index, shape), tuple(source.shape)), B.mul(source, alpha) if alpha != 1 else source)


@primitive(nograd=True, hidden=True, entry="nonzero")
def _nonzero(B, input: T):
    """Positions of the non-zero elements, (n, ndim)."""


@op()
def nonzero(B, input: T, *, as_tuple=False):
    """The positions of the non-zero elements: one row each, or (`as_tuple`) one tensor a dim."""
    found = B._nonzero(input)
    if not as_tuple:
        return found
    if input.ndim == 0:
        return (B._nonzero(B.unsqueeze(input, 0)).reshape(-1),)
    return B.unbind(found, 1)
