"""Differences, numerical derivatives and integrals along dims."""
from ..core.definitions import op
from ..core.signature import Dim, Int, Ints, T
from ..core.tensor import TensorBase
from .shape import wrapped


def _neighbours(B, x, dim):
    """All elements of a dim but the last, and all but the first."""
    n = x.shape[dim]
    return B._slice(x, dim, 0, max(n - 1, 0), 1), B._slice(x, dim, 1, n, 1)


@op()
def diff(B, input: T, n=1, dim: Dim = -1, prepend=None, append=None):
    """The n-th differences of neighbours along a dim, with values put before or behind if given."""
    if not input.ndim:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    for extra in (prepend, append):
        if extra is not None and extra.ndim != input.ndim:
            raise RuntimeError("diff expects prepend or append to be the same dimension as input")
    if n == 0:
        return B.clone(input)
    parts = [x for x in (prepend, input, append) if x is not None]
    result = B.cat(parts, dim) if len(parts) > 1 else input
    for _ in range(min(n, result.shape[dim])):
        before, behind = _neighbours(B, result, dim)
        result = B.logical_xor(behind, before) if result.dtype.name == "bool" else B.sub(behind, before)
    return result


def _steps(B, name, x, y, dim):
    """Distances of the points along a dim, in a shape that broadcasts against areas under y."""
    if not isinstance(x, TensorBase):
        raise TypeError(f"{name}(): argument 'x' must be Tensor, not {type(x).__name__}")
    if x.ndim == 1 and x.shape[0] != y.shape[dim]:
        raise RuntimeError(f"There must be one `x` value for each sample point, got {x.shape[0]} for {y.shape[dim]}")
    if x.ndim == 1:
        return B.reshape(B.sub(x[1:], x[:-1]), [-1 if d == dim else 1 for d in range(y.ndim)])
    at = x.ndim - (y.ndim - dim)
    before, behind = _neighbours(B, x, at)
    return B.sub(behind, before)


def _trapezoids(B, name, y, x, dx, dim):
    """The sums of neighbours, twice the heights of trapezoids, and the widths."""
    if x is not None and dx is not None:
        raise TypeError(f"{name}() takes x or dx, not both")
    if y.dtype.name == "bool":
        raise RuntimeError(f"{name}: received a bool input for `y`, but bool is not supported")
    dim = dim % max(y.ndim, 1)
    before, behind = _neighbours(B, y, dim)
    return B.add(before, behind), _steps(B, name, x, y, dim) if x is not None else 1 if dx is None else dx


@op(public=("trapezoid", "trapz"), method=False)
def trapezoid(B, y: T, x=None, *, dx=None, dim=-1):
    """The integral along a dim by trapezoids; points are at `x`, or `dx` (1) apart."""
    if y.ndim and not y.shape[dim]:
        return B.sum(B.mul(y, 0.5), dim)
    heights, steps = _trapezoids(B, "trapezoid", y, x, dx, dim)
    if x is None:           # of one width, which the sum takes
        return B.mul(B.mul(B.sum(heights, dim), steps), 0.5)
    return B.mul(B.sum(B.mul(heights, steps), dim), 0.5)


@op(method=False)
def cumulative_trapezoid(B, y: T, x=None, *, dx=None, dim=-1):
    """The integrals up to each point along a dim by trapezoids."""
    heights, steps = _trapezoids(B, "cumulative_trapezoid", y, x, dx, dim)
    return B.cumsum(B.mul(B.mul(heights, steps), 0.5), dim)


# --- derivatives --------------------------------------------------------------------------------------------------
def _gradient_dims(input, dim):
    """The dims to differentiate along, counted from the front."""
    if dim is None:
        return list(range(input.ndim))
    dims = [wrapped(d, max(input.ndim, 1)) for d in ([dim] if isinstance(dim, int) else dim)]
    for d in dims:
        if dims.count(d) > 1:
            raise RuntimeError(f"dim {d} appears multiple times in the list of dims")
    return dims


def _spacings(spacing, dims, given):
    """A distance or a tensor of coordinates for each dim."""
    if spacing is None or isinstance(spacing, (int, float, complex)) or not getattr(spacing, "ndim", 1):
        return [1 if spacing is None else spacing] * len(dims)
    if isinstance(spacing, TensorBase):
        raise RuntimeError("gradient(): argument 'spacing' must be a number or a list, with one number or tensor for each dim")
    if len(spacing) != len(dims):
        expected = f"'dim' = {len(dims)}, since dim argument was given" if given else f"'self.dim() = {len(dims)}', since dim argument was not given"
        raise RuntimeError(f"torch.gradient expected spacing to be unspecified, a scalar, or a list of length equal to {expected}, but got a list of "
                           f"length {len(spacing)}")
    return list(spacing)


def _part(B, x, dim, start, end):
    """The indices from `start` to the size plus `end`."""
    return B._slice(x, dim, start, x.shape[dim] + end, 1)


def _even_gradient(B, x, dim, step, edge_order):
    """Central differences at equal distances, one-sided ones of the given order at both ends."""
    inner = B.div(B.sub(_part(B, x, dim, 2, 0), _part(B, x, dim, 0, -2)), B.mul(step, 2) if isinstance(step, TensorBase) else 2 * step)
    n = x.shape[dim]
    points = [B._slice(x, dim, i, i + 1, 1) for i in ((0, 1, 2) if edge_order == 2 else (0, 1))]
    ends = [B._slice(x, dim, n - 1 - i, n - i, 1) for i in range(len(points))]
    if edge_order == 1:
        first, last = B.sub(points[1], points[0]), B.sub(ends[0], ends[1])
    else:
        first = B.sub(B.add(B.mul(points[0], -1.5), B.mul(points[1], 2)), B.mul(points[2], 0.5))
        last = B.add(B.sub(B.mul(ends[0], 1.5), B.mul(ends[1], 2)), B.mul(ends[2], 0.5))
    return B.cat([B.div(first, step), inner, B.div(last, step)], dim)


def _uneven_gradient(B, x, dim, where, edge_order):
    """Second-order differences between points at the coordinates `where`: B. Fornberg, Math. Comp. 51 (1988)."""
    shape = [-1 if d == dim else 1 for d in range(x.ndim)]
    steps = B.sub(where[1:], where[:-1])
    before, behind = B.reshape(steps[:-1], shape), B.reshape(steps[1:], shape)
    both = B.add(before, behind)
    left, middle, right = _part(B, x, dim, 0, -2), _part(B, x, dim, 1, -1), _part(B, x, dim, 2, 0)
    inner = B.add(B.sub(B.mul(right, B.div(before, B.mul(behind, both))), B.mul(left, B.div(behind, B.mul(before, both)))),
                  B.mul(middle, B.div(B.sub(behind, before), B.mul(before, behind))))
    n = x.shape[dim]
    at = [B._slice(x, dim, i, i + 1, 1) for i in range(edge_order + 1)]
    back = [B._slice(x, dim, n - 1 - i, n - i, 1) for i in range(edge_order + 1)]
    if edge_order == 1:
        return B.cat([B.div(B.sub(at[1], at[0]), steps[0]), inner, B.div(B.sub(back[0], back[1]), steps[-1])], dim)
    first = _edge(B, at, steps[0], steps[1])
    last = B.neg(_edge(B, back, steps[-1], steps[-2]))
    return B.cat([first, inner, last], dim)


def _edge(B, points, near, far):
    """The derivative at the first of three points, whose distances are `near` and `far`."""
    both = B.add(near, far)
    ahead = B.sub(B.mul(points[1], B.div(both, B.mul(near, far))), B.mul(points[2], B.div(near, B.mul(far, both))))
    return B.sub(ahead, B.mul(points[0], B.div(B.add(near, both), B.mul(near, both))))


@op()
def gradient(B, input: T, *, spacing=None, dim: Ints = None, edge_order: Int = 1):
    """Derivatives of sampled values along dims, one tensor a dim: second-order central differences.

    Args:
        spacing: the distance of neighbours (1), one for each dim, or a 1-d tensor of coordinates for each dim.
        dim: an int or several; all by default.
        edge_order: 1 or 2, the order of the one-sided differences at both ends.

    >>> import pyx_tensor as torch
    >>> torch.gradient(torch.tensor([1.0, 4.0, 9.0, 16.0]))
    (tensor([3., 4., 6., 7.]),)
    """
    dims = _gradient_dims(input, dim)
    if input.dtype.name.startswith("uint"):        # differences would wrap
        raise RuntimeError(f"torch.gradient does not support {input.dtype.name} input.")
    if edge_order not in (1, 2):
        raise RuntimeError("torch.gradient only supports edge_order=1 and edge_order=2.")
    if any(input.shape[d] <= edge_order for d in dims if input.ndim):
        raise RuntimeError("torch.gradient expected each dimension size to be at least edge_order+1")
    results = []
    for d, step in zip(dims, _spacings(spacing, dims, dim is not None)):
        if isinstance(step, TensorBase) and step.ndim:
            if step.shape[0] != input.shape[d]:
                raise RuntimeError(f"torch.gradient expected each dimension's coordinates to match the dimension, got {step.shape[0]} for {input.shape[d]}")
            results.append(_uneven_gradient(B, input, d, step, edge_order))
        else:
            results.append(_even_gradient(B, input, d, step, edge_order))
    return tuple(results)
