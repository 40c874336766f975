"""Statistics in terms of other reductions, distances and products of vectors."""
from ..core.definitions import op
from ..core.dtype import by_name
from ..core.signature import Dim, Dims, Int, Raw, T, Type
from .reduce import _spread


@op()
def nansum(B, input: T, dim: Dims = None, keepdim=False, *, dtype: Type = None):
    """The sum of the elements that aren't NaN."""
    if input.dtype.is_complex:
        raise RuntimeError("nansum does not support complex inputs")
    result = input.dtype if dtype is None else dtype
    if not (input.dtype.is_floating_point and result.is_floating_point):
        return B.sum(B.masked_fill(input, B.isnan(input), 0), dim or None, keepdim, dtype=dtype)
    return B._nansum(input.to(result), dim, keepdim)


@op(hidden=True, entry="nansum", grad_name="Nansum", vjp=dict(
    input=lambda B, g, input, dim, keepdim: B.masked_fill(_spread(B, g, tuple(input.shape), dim, keepdim), B.isnan(input), 0)))
def _nansum(B, input: T, dim: Dims = None, keepdim=False):
    """`nansum` of floats in their dtype."""
    return B.sum(B.masked_fill(input, B.isnan(input), 0), dim or None, keepdim)


@op()
def nanmean(B, input: T, dim: Dims = None, keepdim=False, *, dtype: Type = None):
    """The mean of the elements that aren't NaN."""
    if not input.dtype.is_floating_point:
        raise RuntimeError(f"nanmean(): expected input to have floating point dtype but got {input.dtype}")
    nan = B.isnan(input)
    return B.div(B.sum(B.masked_fill(input, nan, 0), dim or None, keepdim, dtype=dtype), B.sum(B.logical_not(nan), dim or None, keepdim))


@op(exact_out=True, returns=("min", "max"))
def aminmax(B, input: T, *, dim=None, keepdim=False):
    """The smallest and the largest element, of all or along a dim."""
    if input.numel() == 0 and dim is None:
        raise RuntimeError("aminmax(): cannot compute aminmax over an empty dimension as the operation has no identity.")
    return tuple(B._aminmax(input, () if dim is None else dim, keepdim))


@op(hidden=True, entry="aminmax")
def _aminmax(B, input: T, dim: Dims = (), keepdim=False):
    """`aminmax` of an input with elements."""
    return B.amin(input, dim, keepdim), B.amax(input, dim, keepdim)


# --- covariance ---------------------------------------------------------------------------------------------------
def _check_weights(name, weights, count, integral):
    if weights.ndim > 1:
        raise RuntimeError(f"cov(): expected {name} to have one or fewer dimensions but got {name} with {weights.ndim} dimensions")
    if integral == weights.dtype.is_floating_point:
        raise RuntimeError(f"cov(): expected {name} to have {'integral' if integral else 'floating point'} dtype but got {name} with {weights.dtype} dtype")
    if weights.numel() != count:
        raise RuntimeError(f"cov(): expected {name} to have the same numel as there are input observations but got {weights.numel()} != {count}")
    if count and bool((weights < 0).any()):
        raise RuntimeError(f"cov(): {name} cannot be negative")


@op()
def cov(B, input: T, *, correction: Int = 1, fweights: Raw = None, aweights: Raw = None):
    """The covariance matrix of variables (rows) from observations (columns).

    Args:
        correction: subtracted from the count of observations. fweights: whole numbers, how often each was seen. aweights: their weights.
    """
    if input.ndim > 2:
        raise RuntimeError(f"cov(): expected input to have two or fewer dimensions but got an input with {input.ndim} dimensions")
    if input.dtype.name == "bool":
        raise RuntimeError("cov(): bool dtype is not supported for input")
    rows = B.reshape(input, (1, -1)) if input.ndim < 2 else input
    weights = None
    for name, given, integral in (("fweights", fweights, True), ("aweights", aweights, False)):
        if given is not None:
            _check_weights(name, given, rows.shape[1], integral)
            weights = given if weights is None else B.mul(weights, given)
    total = rows.shape[1] if weights is None else B.sum(weights)
    average = B.div(B.sum(rows if weights is None else B.mul(rows, weights), 1, True), total)
    if weights is None or aweights is None or not correction:
        freedom = total - correction if weights is None else B.sub(total, correction)
    else:
        freedom = B.sub(total, B.div(B.mul(B.sum(B.mul(weights, aweights)), correction), total))
    freedom = max(freedom, 0) if weights is None else B.clamp(freedom, min=0)
    away = B.sub(rows, average)
    weighted = away if weights is None else B.mul(away, weights)
    turned = B.transpose(away, 0, 1)
    product = B.matmul(weighted, (B.conj(turned) if turned.dtype.is_complex else turned).to(weighted.dtype))
    return B.squeeze(B.div(product, freedom))


@op()
def corrcoef(B, input: T):
    """The correlation coefficients of variables (rows) from observations (columns)."""
    if input.ndim > 2:
        raise RuntimeError(f"corrcoef(): expected input to have two or fewer dimensions but got an input with {input.ndim} dimensions")
    covariance = B.cov(input)
    if not covariance.ndim:
        return B.div(covariance, covariance)
    diagonal = B.diagonal(covariance)
    deviation = B.sqrt(B.real(diagonal) if diagonal.dtype.is_complex else diagonal)
    result = B.div(B.div(covariance, B.unsqueeze(deviation, 1)), B.unsqueeze(deviation, 0))
    if result.dtype.is_complex:
        return B.complex(B.clamp(B.real(result), -1, 1), B.clamp(B.imag(result), -1, 1))
    return B.clamp(result, -1, 1)


# --- vectors ------------------------------------------------------------------------------------------------------
@op(method=False, entry="cdist")
def cdist(B, x1: T, x2: T, p=2.0, compute_mode=None):
    """The p-norm distances of all pairs of rows of two batches of matrices (..., n, m) and (..., k, m)."""
    if x1.ndim < 2 or x2.ndim < 2:
        which = "X1" if x1.ndim < 2 else "X2"
        raise RuntimeError(f"cdist only supports at least 2D tensors, {which} got: {(x1 if x1.ndim < 2 else x2).ndim}D")
    for name, x in (("X1", x1), ("X2", x2)):
        if not x.dtype.is_floating_point:
            raise RuntimeError(f"cdist only supports floating-point dtypes, {name} got: {x.dtype}")
    if x1.shape[-1] != x2.shape[-1]:
        raise RuntimeError(f"X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}")
    if p < 0:
        raise RuntimeError("cdist only supports non-negative p values")
    away = B.sub(B.unsqueeze(x1, -2), B.unsqueeze(x2, -3))
    if not away.shape[-1]:
        return B.sum(away, -1)
    return B._vector_norm(away, float(p), -1, False)


@op(method=False)
def pdist(B, input: T, p=2.0):
    """The p-norm distances of all pairs of rows of a matrix (n, m): the part above the diagonal of `cdist`, row by row."""
    if input.ndim != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {input.ndim}D")
    if not input.dtype.is_floating_point:
        raise RuntimeError("pdist only supports floating-point dtypes")
    if p < 0:
        raise RuntimeError("pdist only supports non-negative p values")
    first, second = B.unbind(B.triu_indices(input.shape[0], input.shape[0], 1, device=input.device), 0)
    return B._vector_norm(B.sub(B.index_select(input, 0, first), B.index_select(input, 0, second)), float(p), -1, False)


@op(out_apart=True, exact_out=True, promote="common")
def cross(B, input: T, other: T, dim: Dim = None):
    """The cross products of vectors of three elements along a dim (by default the first dim of size 3)."""
    if input.ndim != other.ndim:
        raise RuntimeError(f"linalg.cross: inputs must have the same number of dimensions, got {list(input.shape)} and {list(other.shape)}")
    if dim is None:
        dim = next((d for d, n in enumerate(input.shape) if n == 3), None)
        if dim is None:
            raise RuntimeError("no dimension of size 3 in input")
    if input.shape[dim] != 3 or other.shape[dim] != 3:
        raise RuntimeError(f"linalg.cross: inputs dimension {dim} must have length 3. Got {input.shape[dim]} and {other.shape[dim]}")
    if input.shape != other.shape:
        input, other = B.broadcast_tensors(input, other)
    a, b = B.cat([input, input], dim), B.cat([other, other], dim)
    next_a, next_b, last_a, last_b = [B._slice(x, dim, at, at + 3) for at in (1, 2) for x in (a, b)]
    return B.sub(B.mul(next_a, last_b), B.mul(last_a, next_b))


# --- digests ------------------------------------------------------------------------------------------------------
@op(nograd=True, entry=False)
def hash_tensor(B, input: T, dim: Dims = None, *, keepdim=False, mode=0):
    """The exclusive or of all elements' bits (as float64 or int64), of all or along dims, as uint64."""
    if mode != 0:
        raise RuntimeError(f"Unknown hash_tensor mode: {mode}")
    if input.dtype.is_complex:
        raise NotImplementedError(f'"hash_tensor" not implemented for {input.dtype}')
    if not input.numel() and len(dim) == input.ndim:
        raise RuntimeError("hash_tensor: Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the 'dim' argument.")
    bits = B._view_dtype(B.contiguous(input.to(by_name["float64" if input.dtype.is_floating_point else "int64"])), by_name["int64"])
    bits = B._merged(bits, dim) if input.ndim else B.reshape(bits, (1,))
    while bits.shape[-1] > 1:
        half = (bits.shape[-1] + 1) // 2
        rest = B._slice(bits, bits.ndim - 1, half, bits.shape[-1], 1)
        joined = B.bitwise_xor(B._slice(bits, bits.ndim - 1, 0, rest.shape[-1], 1), rest)
        bits = B.cat([joined, B._slice(bits, bits.ndim - 1, rest.shape[-1], half, 1)], -1)
    shape = [1 if d in dim else n for d, n in enumerate(input.shape) if keepdim or d not in dim] if input.ndim else []
    return B._view_dtype(B.reshape(bits, shape) if bits.shape[-1] else B.zeros(shape, dtype=bits.dtype, device=bits.device), by_name["uint64"])
