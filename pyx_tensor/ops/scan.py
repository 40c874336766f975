"""Scans along a dim: running sums, products and extremes."""
from ..core.definitions import op
from ..core.signature import Dim, T, Type


def _reverse_cumsum(B, g, dim):
    return B.flip(B.cumsum(B.flip(g, (dim,)), dim), (dim,)) if g.ndim else g


@op(promote="sum", inplace=True, vjp=dict(input=lambda B, g, dim: _reverse_cumsum(B, g, dim)))
def cumsum(B, input: T, dim: Dim, *, dtype: Type = None):
    """The sums of all elements up to each one along a dim."""
    if dtype is not None:
        input = input.to(dtype)
    elif not (input.dtype.is_floating_point or input.dtype.is_complex):
        input = input.long()
    return _scan(B, input, dim, B.add)


def _scan(B, input, dim, combine):
    """Prefix combinations by doubling: log2(n) passes over the tensor."""
    if not input.ndim:
        return B.clone(input)
    n, reach = input.shape[dim], 1
    while reach < n:
        head = B._slice(input, dim, 0, reach, 1)
        tail = combine(B._slice(input, dim, reach, n, 1), B._slice(input, dim, 0, n - reach, 1))
        input = B.cat([head, tail], dim)
        reach *= 2
    return B.clone(input)


def _cumprod_vjp(B, g, y, input, dim):
    """Exact where elements are 0: d y[k] / d x[i] as products of the others, by a masked table, but only then."""
    if not input.ndim:
        return g
    if not bool(B.any(B.eq(input, 0))):
        back = _reverse_cumsum(B, B.mul(g, B.conj(y) if y.dtype.is_complex else y), dim)
        return B.div(back, B.conj(input) if input.dtype.is_complex else input)
    moved, grads = B.movedim(input, dim, -1), B.movedim(g, dim, -1)
    n = moved.shape[-1]
    rows = []
    for i in range(n):
        # the product of all up to k without x[i], for k >= i
        ones = B.ones_like(B._slice(moved, moved.ndim - 1, i, i + 1, 1))
        others = B.cat([B._slice(moved, moved.ndim - 1, 0, i, 1), ones, B._slice(moved, moved.ndim - 1, i + 1, n, 1)], -1)
        partial = B._slice(B.cumprod(others, -1), moved.ndim - 1, i, n, 1)
        partial = B.conj(partial) if partial.dtype.is_complex else partial
        rows.append(B.sum(B.mul(B._slice(grads, moved.ndim - 1, i, n, 1), partial), -1))
    return B.movedim(B.stack(rows, -1), -1, dim)


@op(promote="sum", inplace=True, vjp=dict(input=_cumprod_vjp))
def cumprod(B, input: T, dim: Dim, *, dtype: Type = None):
    """The products of all elements up to each one along a dim."""
    if dtype is not None:
        input = input.to(dtype)
    elif not (input.dtype.is_floating_point or input.dtype.is_complex):
        input = input.long()
    return _scan(B, input, dim, B.mul)


# --- running extremes ---------------------------------------------------------------------------------------------
def _running(B, input, dim, is_better):
    """(values, positions) of the best element so far, the last of equals, by doubling."""
    if not input.ndim:
        return B.clone(input), B.zeros((), dtype=B.argmax(input).dtype, device=input.device)
    n, reach = input.shape[dim], 1
    places = B.expand(B.reshape(B.arange(n, device=input.device), [n if d == dim else 1 for d in range(input.ndim)]), tuple(input.shape))
    while reach < n:
        (late, late_at), (early, early_at) = [[B._slice(x, dim, a, b, 1) for x in (input, places)] for a, b in ((reach, n), (0, n - reach))]
        keep_late = B.logical_or(is_better(late, early), B.isnan(late))
        keep_late = B.logical_and(keep_late, B.logical_or(B.isnan(late), B.logical_not(B.isnan(early))))
        input = B.cat([B._slice(input, dim, 0, reach, 1), B.where(keep_late, late, early)], dim)
        places = B.cat([B._slice(places, dim, 0, reach, 1), B.where(keep_late, late_at, early_at)], dim)
        reach *= 2
    return B.clone(input), B.contiguous(places)


def _running_vjp(B, g, y, input_shape, dim):
    if not input_shape:
        return g[0]
    return B.scatter_add(B.zeros(input_shape, dtype=g[0].dtype, device=g[0].device), dim, y[1], g[0])


def _running_extreme(name, better, meaning):
    def define(B, input: T, dim: Dim):
        if input.dtype.is_complex:
            raise NotImplementedError(f"{name}(): complex tensors have no order, got {input.dtype}")
        return _running(B, input, dim, better(B))
    define.__name__, define.__doc__ = name, f"The {meaning} of all elements up to each one along a dim, and its position; NaN stays."
    return op(returns=("values", "indices"), nondiff=("indices",), vjp=dict(input=_running_vjp))(define)


cummax = _running_extreme("cummax", lambda B: B.ge, "largest")
cummin = _running_extreme("cummin", lambda B: B.le, "smallest")


def _logcumsumexp_vjp(B, g, y, input, dim):
    """The sums of exp(x - y)·g over what follows, in logarithms; positive and negative g apart where they are real."""
    if not input.ndim:
        return g
    finite_y = B.masked_fill(y, B.isinf(y), 0)
    if g.dtype.is_complex:
        input, finite_y = B.conj(input), B.conj(finite_y)

    def part(share):
        none = B.eq(share, 0)
        logs = B.masked_fill(B.log(B.masked_fill(share, none, 1)), none, float("-inf"))
        back = B.flip(B.logcumsumexp(B.flip(B.sub(logs, finite_y), (dim,)), dim), (dim,))
        return B.exp(B.add(back, input))
    return part(g) if g.dtype.is_complex else B.sub(part(B.clamp(g, min=0)), part(B.clamp(B.neg(g), min=0)))


@op(vjp=dict(input=_logcumsumexp_vjp))
def logcumsumexp(B, input: T, dim: Dim):
    """`log(cumsum(exp(input)))` along a dim, without overflow."""
    if not (input.dtype.is_floating_point or input.dtype.is_complex):
        raise NotImplementedError(f'"logcumsumexp" not implemented for {input.dtype}')
    return _scan(B, input, dim, B.logaddexp)
