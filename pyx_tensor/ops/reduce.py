"""Reductions over none (all), one or several dims."""
import builtins
import math

from ..core.definitions import op, operations, primitive
from ..core.dtype import by_name
from ..core.functions import extremum_function, reduction_function
from ..core.signature import Bool, Dim, Dims, Number, T, Type
from ..core.tensor import TensorBase


def _kept(B, x, input_shape, dim, keepdim):
    """A reduced value or gradient with its reduced dims back as size 1."""
    if keepdim or not input_shape:
        return x
    return B.view(x, [1 if d in dim else n for d, n in enumerate(input_shape)]) if x.is_contiguous() else B.reshape(
        x, [1 if d in dim else n for d, n in enumerate(input_shape)])


def _spread(B, g, input_shape, dim, keepdim):
    """The gradient of a sum: the same for every element that went in."""
    if not keepdim and len(dim) == len(input_shape):
        return B.expand(g, input_shape)
    return B.expand(_kept(B, g, input_shape, dim, keepdim), input_shape)


def _count(input_shape, dim):
    n = 1
    for d in dim:
        n *= input_shape[d] if input_shape else 1
    return n


def _sum_names(kind):
    """A node's names: of all elements, and along dims."""
    return f"{kind}Backward0", f"{kind}Backward1"


@primitive(promote="sum", grad_name=_sum_names("Sum"), vjp=dict(input=_spread))
def sum(B, input: T, dim: Dims = None, keepdim=False, *, dtype: Type = None):
    """The sum of all elements, or along dims.

    Args:
        dim: an int, several, or None for all. keepdim: leave reduced dims with size 1.
        dtype: to compute in; integers and bools sum as int64 unless given.
    """


@primitive(promote="float_only", grad_name=_sum_names("Mean"), vjp=dict(
    input=lambda B, g, input_shape, dim, keepdim: B.div(_spread(B, g, input_shape, dim, keepdim), builtins.max(_count(input_shape, dim), 1))))
def mean(B, input: T, dim: Dims = None, keepdim=False, *, dtype: Type = None):
    """The mean of all elements, or along dims; NaN of nothing. Floating-point and complex tensors only."""


def _prod_vjp(B, g, y, input, dim, keepdim):
    """Products of all the other elements, right where elements are 0: exclusive products from both sides."""
    if not input.ndim:
        return g
    flat = B._merged(input, dim)                 # kept dims, then one reduced dim
    before = B._shifted(B.cumprod(flat, -1), 1, 1)
    after = B.flip(B._shifted(B.cumprod(B.flip(flat, (-1,)), -1), 1, 1), (-1,))
    others = B._unmerged(B.mul(before, after), input.shape, dim)
    others = B.conj(others) if others.dtype.is_complex else others
    return B.mul(_spread(B, g, tuple(input.shape), dim, keepdim), others)


@primitive(promote="sum", grad_name=_sum_names("Prod"), vjp=dict(input=_prod_vjp))
def prod(B, input: T, dim: Dims = None, keepdim=False, *, dtype: Type = None):
    """The product of all elements, or along a dim."""


@op(hidden=True)
def _merged(B, input: T, dim):
    """The reduced dims as one last dim."""
    kept = [d for d in range(input.ndim) if d not in dim]
    moved = B.permute(input, kept + list(dim))
    return B.reshape(moved, [input.shape[d] for d in kept] + [_count(tuple(input.shape), dim)])


@op(hidden=True)
def _unmerged(B, input: T, shape, dim):
    """The inverse of `_merged`."""
    kept = [d for d in range(len(shape)) if d not in dim]
    order = kept + list(dim)
    back = [0] * len(order)
    for at, d in enumerate(order):
        back[d] = at
    return B.permute(B.reshape(input, [shape[d] for d in order]), back)


@op(hidden=True)
def _shifted(B, input: T, by, fill):
    """Moved by some places along the last dim, `fill` coming in."""
    n = input.shape[-1]
    edge = B.full([*input.shape[:-1], builtins.min(by, n)], fill, dtype=input.dtype, device=input.device)
    return B.cat([edge, B._slice(input, input.ndim - 1, 0, builtins.max(n - by, 0), 1)], -1)


def _extreme_vjp(B, g, y, input, dim, keepdim):
    """Shared equally by the elements that are the extreme (or NaN where that is the result)."""
    shape = tuple(input.shape)
    top = _kept(B, y, shape, dim, keepdim)
    mask = B.logical_or(B.eq(input, top), B.logical_and(B.isnan(input), B.isnan(top)))
    share = B.div(_kept(B, g, shape, dim, keepdim), B.sum(mask, dim or None, True) if input.ndim else 1)
    return B.mul(share, mask)


def _extreme_function(operation):
    return reduction_function(operation, of_elements=True)


@primitive(exact_out=True, promote="common", call=_extreme_function, vjp=dict(input=_extreme_vjp))
def amax(B, input: T, dim: Dims = (), keepdim=False):
    """The largest element of all, or along dims; elements that are equally large share the gradient."""


@primitive(exact_out=True, promote="common", call=_extreme_function, vjp=dict(input=_extreme_vjp))
def amin(B, input: T, dim: Dims = (), keepdim=False):
    """The smallest element of all, or along dims."""


def _of_all(name, kind):
    """`amax` or `amin` of all elements, as the form of max or min without a dim."""
    def define(B, input: T, dim: Dims = (), keepdim=False):
        pass
    define.__name__, define.__doc__ = f"_{kind.lower()}_of_all", f"`{name}` of all elements."
    return primitive(hidden=True, entry=name, promote="common", grad_name=lambda *_: f"{kind}Backward1", vjp=dict(input=_extreme_vjp))(define)


_max_of_all, _min_of_all = _of_all("amax", "Max"), _of_all("amin", "Min")


@primitive(exact_out=True, promote="common", result="int64", nograd=True)
def argmax(B, input: T, dim: Dim = None, keepdim=False):
    """The index of the largest element along a dim, or in the flattened tensor; the first where several are equal."""


@op(exact_out=True, promote="common", result="int64", nograd=True)
def argmin(B, input: T, dim: Dim = None, keepdim=False):
    """The index of the smallest element along a dim, or in the flattened tensor."""
    if input.dtype.is_floating_point or input.dtype.is_signed:
        return B.argmax(B.neg(input), dim, keepdim)
    return B.argmax(B.bitwise_not(input), dim, keepdim)


def _picked_vjp(B, g, y, input_shape, dim, keepdim):
    grad, indices = g[0], y[1]
    if not keepdim and input_shape:
        grad, indices = B.unsqueeze(grad, dim), B.unsqueeze(indices, dim)
    zeros = B.zeros(input_shape, dtype=grad.dtype, device=grad.device)
    return B.scatter(zeros, dim, indices, grad) if input_shape else grad


def _with_index(name, choose, meaning):
    def define(B, input: T, dim: Dim, keepdim=False):
        index = choose(B)(input, dim, True)
        values = B.gather(input, dim, index) if input.ndim else B.clone(input)
        return (values, index) if keepdim or not input.ndim else (B.squeeze(values, dim), B.squeeze(index, dim))
    define.__name__, define.__doc__ = name, f"The {meaning} along a dim and its index."
    return op(promote="common", entry=name, named=name[:3], returns=("values", "indices"), nondiff=("indices",), hidden=True, grad_name=name[:3].capitalize(),
              vjp=dict(input=_picked_vjp))(define)


max_dim = _with_index("max_dim", lambda B: B.argmax, "maximum")
min_dim = _with_index("min_dim", lambda B: B.argmin, "minimum")


def _max_or_min(name, pair, all_, elementwise, meaning):
    def define(B, input: T, dim=None, keepdim=False, *, other=None):
        if isinstance(dim, TensorBase):
            other, dim = dim, None
        if other is not None:
            return elementwise(B)(input, other)
        if dim is None:
            if input.numel() == 0:
                raise RuntimeError(f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with "
                                   "the 'dim' argument.")
            return all_(B)(input)
        if input.ndim and input.shape[dim] == 0:
            raise IndexError(f"{name}(): Expected reduction dim {dim} to have non-zero size.")
        return pair(B)(input, dim, keepdim)
    define.__name__ = name
    define.__doc__ = f"""The {meaning} of all elements; with `dim` a pair (values, indices) along it; with another tensor element by element."""
    return op(call=lambda operation: extremum_function(operation, operations[f"_{name}_of_all"]))(define)


max = _max_or_min("max", lambda B: B.max_dim, lambda B: B._max_of_all, lambda B: B.maximum, "largest")
min = _max_or_min("min", lambda B: B.min_dim, lambda B: B._min_of_all, lambda B: B.minimum, "smallest")


def _names_dims(dim):
    """False for an empty sequence of dims."""
    return not isinstance(dim, (tuple, list)) or bool(dim)


@op(result="bool", nograd=True, hidden=True, entry="any")
def _any(B, input: T, dim: Dims = None, keepdim=False):
    """`any` as bool."""
    return B.ne(B.sum(B.ne(input, 0), dim or None, keepdim), 0) if input.ndim else B.ne(input, 0)


@op(nograd=True, entry=False, call=lambda operation: reduction_function(operation, operations["_any"], by_name["uint8"]))
def any(B, input: T, dim=None, keepdim=False):
    """True where any element (along dims) is non-zero; False of nothing. No dims at all, `()`, leave every element apart. uint8 gives uint8."""
    found = B._any(input, dim, keepdim) if _names_dims(dim) else B.ne(input, 0)
    return found.to(input.dtype) if input.dtype.name == "uint8" else found


@op(result="bool", nograd=True, hidden=True, entry="all")
def _all(B, input: T, dim: Dims = None, keepdim=False):
    """`all` as bool."""
    return B.eq(B.sum(B.eq(input, 0), dim or None, keepdim), 0) if input.ndim else B.ne(input, 0)


@op(nograd=True, entry=False, call=lambda operation: reduction_function(operation, operations["_all"], by_name["uint8"]))
def all(B, input: T, dim=None, keepdim=False):
    """True where all elements (along dims) are non-zero; True of nothing. No dims at all, `()`, leave every element apart. uint8 gives uint8."""
    found = B._all(input, dim, keepdim) if _names_dims(dim) else B.ne(input, 0)
    return found.to(input.dtype) if input.dtype.name == "uint8" else found


@op(nograd=True)
def count_nonzero(B, input: T, dim: Dims = None):
    """How many elements (along dims) aren't zero."""
    return B.sum(B.ne(input, 0), dim or None)


# --- statistics ---------------------------------------------------------------------------------------------------
def _correction(unbiased, correction):
    if unbiased is not None and correction is not None:
        raise TypeError("var() received both unbiased and correction")
    if correction is not None:
        return correction
    return 1 if unbiased is None or unbiased else 0


@op(promote="float_only", hidden=True, entry="var_mean", aux=("average",), grad_name="Var", vjp=dict(
    input=lambda B, g, input, dim, correction, keepdim: B.mul(      # the mean again: second derivatives pass through it
        B.mul(_kept(B, g, tuple(input.shape), dim, keepdim), _var_slope(tuple(input.shape), dim, correction)),
        B.sub(input, B.mean(input, dim, True)))))
def _var(B, input: T, dim: Dims, correction, keepdim):
    """The variance along dims, and the mean as a hidden output."""
    average = B.mean(input, dim or None, True) if input.ndim else B.clone(input)
    away = B.sub(input, average)
    square = B.real(B.mul(away, B.conj(away))) if input.dtype.is_complex else B.mul(away, away)
    freedom = _freedom(tuple(input.shape), dim, correction)
    if not keepdim and input.ndim:
        average = B.squeeze(average, dim)
    return B.div(B.sum(square, dim or None, keepdim), freedom), average


def _freedom(shape, dim, correction):
    freedom = _count(shape, dim) - correction
    return freedom if freedom > 0 else 0.0 if _count(shape, dim) else math.nan


def _var_slope(shape, dim, correction):
    """What the distance from the mean is multiplied by in the gradient: without freedom it is infinite, as the variance is."""
    freedom = _freedom(shape, dim, correction)
    return 2 / freedom if freedom else math.inf


def _read_var_arguments(dim, unbiased, correction):
    if isinstance(dim, bool):        # var(unbiased) of early PyTorch
        dim, unbiased = None, dim
    return dim, _correction(unbiased, correction)


@op()
def var(B, input: T, dim=None, unbiased: Bool = None, keepdim=False, *, correction: Number = None):
    """The variance of all elements, or along dims: squared distances from the mean over (count - correction).

    Args:
        correction: 1 by default (Bessel's); `unbiased=False` is PyTorch's older word for 0.
    """
    dim, correction = _read_var_arguments(dim, unbiased, correction)
    return B._var(input, dim, correction, keepdim)


@op()
def std(B, input: T, dim=None, unbiased: Bool = None, keepdim=False, *, correction: Number = None):
    """The square root of `var`. Its gradient where all elements are equal is 0."""
    dim, correction = _read_var_arguments(dim, unbiased, correction)
    return B._root(B._var(input, dim, correction, keepdim))


@op(promote="float", hidden=True, entry="sqrt", grad_name="Sqrt", vjp=dict(input=lambda B, g, y: B.masked_fill(B.div(g, B.mul(y, 2)), B.eq(y, 0), 0)))
def _root(B, input: T):
    """A square root whose gradient at 0 is taken as 0, for distances."""
    return B.sqrt(input)


@op()
def var_mean(B, input: T, dim=None, unbiased: Bool = None, keepdim=False, *, correction: Number = None):
    """The pair (var, mean)."""
    dim, correction = _read_var_arguments(dim, unbiased, correction)
    return B._var(input, dim, correction, keepdim), B.mean(input, dim, keepdim)


@op()
def std_mean(B, input: T, dim=None, unbiased: Bool = None, keepdim=False, *, correction: Number = None):
    """The pair (std, mean)."""
    dim, correction = _read_var_arguments(dim, unbiased, correction)
    return B._root(B._var(input, dim, correction, keepdim)), B.mean(input, dim, keepdim)


@op(promote="float", vjp=dict(
    input=lambda B, g, y, input, dim, keepdim: B.mul(
        _kept(B, g, tuple(input.shape), dim, keepdim),
        _conj_exp(B, B.sub(input, _finite(B, _kept(B, y, tuple(input.shape), dim, keepdim)))))))
def logsumexp(B, input: T, dim: Dims, keepdim=False):
    """`log(sum(exp(input)))` along dims, without overflow."""
    if input.numel() == 0:
        return B.log(B.sum(B.exp(input), dim or None, keepdim))
    top = B.amax(input, dim, True) if input.ndim else B.clone(input)
    top = _finite(B, top)
    total = B.log(B.sum(B.exp(B.sub(input, top)), dim or None, keepdim))
    return B.add(total, top if keepdim or not input.ndim else B.squeeze(top, dim))


def _finite(B, x):
    return B.masked_fill(x, B.isinf(x), 0)


def _conj_exp(B, x):
    return B.conj(B.exp(x)) if x.dtype.is_complex else B.exp(x)


# --- norms --------------------------------------------------------------------------------------------------------
def _norm_vjp(B, g, y, input, p, dim, keepdim):
    """Finite wherever mathematics gives a finite subgradient: 0 where the norm is 0."""
    shape = tuple(input.shape)
    g, y = _kept(B, g, shape, dim, keepdim), _kept(B, y, shape, dim, keepdim)
    if p == 0:
        return B.zeros_like(input)
    if p == 1:
        return B.mul(g, B.sgn(input))
    if p == 2:
        return B.mul(input, B.masked_fill(B.div(g, y), B.eq(y, 0), 0))
    size = B.abs(input)
    if math.isinf(p):
        hit = B.eq(size, y)
        share = B.div(g, B.sum(hit, dim or None, True) if input.ndim else 1)
        return B.mul(B.mul(B.sgn(input), hit), share)
    safe = B.masked_fill(size, B.eq(size, 0), 1)
    ratio = B.pow(B.div(safe, B.masked_fill(y, B.eq(y, 0), 1)), p - 1)
    return B.mul(B.masked_fill(B.mul(g, ratio), B.logical_or(B.eq(size, 0), B.eq(y, 0)), 0), B.sgn(input))


@op(promote="float", hidden=True, entry="norm", grad_name="LinalgVectorNorm", vjp=dict(input=_norm_vjp))
def _vector_norm(B, input: T, p, dim: Dims, keepdim):
    """The p-norm along dims."""
    size = B.abs(input)
    if p == 0:
        return B.sum(B.ne(size, 0), dim or None, keepdim, dtype=size.dtype) if input.ndim else B.ne(size, 0).to(size.dtype)
    if not input.ndim:
        return size
    if p == math.inf:
        return B.amax(size, dim, keepdim)
    if p == -math.inf:
        return B.amin(size, dim, keepdim)
    if p == 1:
        return B.sum(size, dim or None, keepdim)
    if p == 2:
        return B.sqrt(B.sum(B.mul(size, size), dim or None, keepdim))
    return B.pow(B.sum(B.pow(size, p), dim or None, keepdim), 1 / p)


@op(exact_out=True)
def norm(B, input: T, p="fro", dim=None, keepdim=False, *, dtype=None):
    """The p-norm of all elements, or along dims.

    Args:
        p: a number, inf, -inf, 'fro' (2, of all elements or along dims), None (the same), or 'nuc': the sum of a matrix's singular values.
    """
    if not (input.dtype.is_floating_point or input.dtype.is_complex):
        raise RuntimeError(f"linalg.vector_norm: Expected a floating point or complex tensor as input. Got {input.dtype}")
    if dtype is not None:
        input = input.to(dtype)
    if p == "nuc":
        return B.linalg_matrix_norm(input, "nuc", range(input.ndim) if dim is None else dim, keepdim)
    return B._vector_norm(input, 2.0 if p in ("fro", None) else float(p), dim, keepdim)


@op(promote="common")
def dist(B, input: T, other: T, p: Number = 2):
    """The p-norm of `input - other`."""
    return B.norm(B.sub(input, other), p)
