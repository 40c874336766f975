"""Sparse tensors: making them from parts and from dense ones, and arithmetic element by element."""
from ..core.dtype import can_cast
from ..core.memory_format import sparse_csr, strided
from ..core.record import namespace as B
from ..core.tensor import TensorBase
from . import sparse_products, sparse_shape  # noqa: F401  (they enter their handlers)
from .optim import _sgd_step
from .sparse_places import INT64, matches, place_numbers
from .sparse_tensor import (
    HANDLERS, SparseTensor, as_sparse, check_shape, coalesced, dense, empty, everywhere, handles, in_graph, made, rebuilt, values_at, values_of)


# --- from parts and from dense tensors ----------------------------------------------------------------------------
def _as_values(values, dtype, device):
    if not isinstance(values, TensorBase):
        return B.tensor(values, dtype=dtype, device=device)
    return values.to(dtype=dtype, device=device)


def _as_indices(indices, device):
    indices = indices if isinstance(indices, TensorBase) else B.tensor(indices)
    indices = indices.detach().to(device)
    if indices.dtype.is_complex:
        raise RuntimeError(f"indices must be integers, but got {indices.dtype}")
    indices = indices.to(INT64)
    if indices.ndim != 2:
        raise RuntimeError(f"indices must be sparse_dim x nnz, but got: {list(indices.shape)}")
    return indices


def _checked_size(indices, values, size, check_invariants):
    sparse_dims, dense_shape = indices.shape[0], tuple(values.shape[1:])
    if indices.shape[1] and bool(B.any(B.lt(indices, 0))):
        dim = int(B.any(B.lt(indices, 0), 1).tolist().index(True))
        raise RuntimeError(f"found negative index {B.amin(indices[dim]).item()} for dim {dim}")
    needed = (B.amax(indices, 1) + 1).tolist() if indices.shape[1] else [0] * sparse_dims
    if size is None:
        return (*needed, *dense_shape)
    size = tuple(size)
    if len(size) != sparse_dims + len(dense_shape):
        raise RuntimeError(f"'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {len(size)}, sparse_dim = {sparse_dims}, "
                           f"dense_dim = {len(dense_shape)}")
    for dim, (found, room) in enumerate(zip(needed, size)):
        if found > room:
            raise RuntimeError(f"size is inconsistent with indices: for dim {dim}, size is {room} but found index {found - 1}")
    if size[sparse_dims:] != dense_shape:
        raise RuntimeError(f"values has incorrect size, expected {[values.shape[0], *size[sparse_dims:]]}, got {list(values.shape)}")
    return size


def from_parts(indices, values, size, dtype, device, requires_grad, check_invariants, is_coalesced):
    """`sparse_coo_tensor`. Indices outside of the size are always refused: what would be done with them is no tensor."""
    if values is None:
        shape = check_shape(indices if size is None else size)
        result = empty(shape, len(shape), dtype or B.get_default_dtype(), B.get_default_device() if device is None else B.zeros(0, device=device).device)
        return result.requires_grad_(requires_grad)
    values = _as_values(values, dtype, device)
    indices = _as_indices(indices, values.device)
    if not values.ndim:
        raise RuntimeError("values must have at least one dim, that of the indices' columns")
    if values.shape[0] != indices.shape[1]:
        raise RuntimeError(f"indices and values must have same nnz, but got nnz from indices: {indices.shape[1]}, nnz from values: {values.shape[0]}")
    shape = check_shape(_checked_size(indices, values, size, check_invariants))
    if is_coalesced and check_invariants:
        numbers = place_numbers(indices, shape)
        if bool(B.any(B.le(numbers[1:], numbers[:-1]))):
            raise RuntimeError("cannot set is_coalesced to true if indices correspond to uncoalesced COO tensor")
    result = made(values, indices, shape, bool(is_coalesced) or values.shape[0] < 2)
    if requires_grad:
        result = result.detach().requires_grad_()
    return result


def from_dense(tensor, sparse_dims):
    """`to_sparse`."""
    ndim = tensor.ndim
    if isinstance(tensor, SparseTensor):
        if sparse_dims not in (None, tensor.sparse_dim()):
            raise RuntimeError("to_sparse: conversion from Sparse to Sparse with sparse_dim argument !=self.sparse_dim() is not supported")
        return tensor
    sparse_dims = ndim if sparse_dims is None else sparse_dims
    if not 0 <= sparse_dims <= ndim or ndim and not sparse_dims:
        raise RuntimeError(f"dense_to_sparse: sparse_dim argument must be in [1,{ndim}] range, but {sparse_dims} is given")
    mask = B.ne(tensor.detach(), 0)
    if sparse_dims < ndim:
        mask = B.any(mask, tuple(range(sparse_dims, ndim)))
    indices = B.nonzero(mask).t().contiguous() if ndim else B.zeros((0, int(bool(mask))), dtype=INT64, device=tensor.device)
    values = values_at(tensor, indices) if ndim else B.reshape(tensor, (1,))[:indices.shape[1]]
    return made(values, indices, tensor.shape, True)


def masked(tensor, mask):
    """`sparse_mask`."""
    mask = as_sparse("sparse_mask", mask)
    if tensor.shape != mask.shape:
        raise RuntimeError(f"sparse_mask(): operands have incompatible sizes; self has size {list(tensor.shape)} but mask has size {list(mask.shape)}")
    parts = mask.array
    return made(values_at(tensor, parts.indices), parts.indices, parts.shape, parts.coalesced, type(mask))


# --- one operand --------------------------------------------------------------------------------------------------
# Functions that are 0 at 0. Where they aren't linear, values at the same place are added up first.
LINEAR = ("neg", "conj", "real", "imag", "_real", "_imag", "_conj_physical", "positive", "_convert")
ZERO_AT_ZERO = (
    "abs", "sign", "sgn", "sin", "sinh", "tan", "tanh", "asin", "asinh", "atan", "atanh", "sqrt", "square", "expm1", "log1p", "erf", "erfinv", "floor",
    "ceil", "trunc", "round", "_round", "frac", "relu", "nan_to_num", "angle", "isnan", "isinf", "isposinf", "isneginf", "signbit", "deg2rad", "rad2deg")


def _on_values(name, linear):
    def function(input, *args, **kwargs):
        if not isinstance(input, SparseTensor):
            raise TypeError(f"{name}(): argument 'input' must be Tensor, not {type(input).__name__}")
        out = kwargs.pop("out", None)
        input = input if linear else coalesced(input)
        result = rebuilt(input, getattr(B, name)(values_of(input), *args, **kwargs))
        return result if out is None else written(out, result)
    handles(name)(function)


for _name in LINEAR:
    _on_values(_name, True)
for _name in ZERO_AT_ZERO:
    _on_values(_name, False)


def written(out, result):
    """`result` as the new contents of `out`, as `out=` asks."""
    if not isinstance(out, SparseTensor):
        raise RuntimeError("out=: a sparse result needs a sparse tensor to be written to")
    return out._become_sparse(result.to(out.dtype))


@handles("clone")
def _clone(input, *, memory_format=None):
    parts = input.array
    return rebuilt(input, B.clone(values_of(input)), indices=B.clone(parts.indices))


@handles("zeros_like", "empty_like")
def _zeros_like(input, *, dtype=None, layout=None, device=None, requires_grad=False):
    options = dict(dtype=dtype or input.dtype, device=device or input.device)
    if layout is strided:
        return B.zeros(tuple(input.shape), **options, requires_grad=requires_grad)
    place = B.zeros(0, **options)
    return empty(input.shape, input.sparse_dim(), place.dtype, place.device).requires_grad_(requires_grad)


@handles("alias")
def _alias(input):
    return rebuilt(input, values_of(input))


@handles("_to")
def _to(input, dtype, device, copy, non_blocking=False):
    values = values_of(input)
    moved = B._to(values, dtype, device, copy, non_blocking)
    if moved is values:
        return input
    return rebuilt(input, moved, indices=input.array.indices.to(moved.device))


# --- sums and products --------------------------------------------------------------------------------------------
def _check_same_shape(name, a, b):
    if tuple(a.shape) != tuple(b.shape):
        raise RuntimeError(f"{name}: expected 'self' and 'other' to have same size, but self has size {list(a.shape)} while other has size "
                           f"{list(b.shape)} (tensors of sparse layout don't broadcast)")


@handles("add")
def add(input, other, *, out=None):
    if not isinstance(other, SparseTensor):
        if input.layout is sparse_csr and isinstance(other, TensorBase):
            return add(other, input, out=out)
        raise RuntimeError("add(sparse, dense) is not supported. Use add(dense, sparse) instead.")
    _check_same_shape("add", input, other)
    if isinstance(input, SparseTensor):
        result = _joined(input, other)
        return result if out is None else written(out, result)
    result = _dense_plus(input, other)
    return result if out is None else out.copy_(result)


def _joined(a, b):
    """The sum of two sparse tensors: coalesced where both are."""
    x, y = a.array, b.array
    if x.indices.shape[0] != y.indices.shape[0]:
        raise RuntimeError(f"cadd operands have incompatible desnitities: {x.indices.shape[0]} and {y.indices.shape[0]} sparse dims")
    if x.indices is y.indices or x.indices.shape == y.indices.shape and B.equal(x.indices, y.indices):
        return rebuilt(a, B.add(values_of(a), values_of(b)), is_coalesced=x.coalesced and y.coalesced)
    result = rebuilt(a, B.cat([values_of(a), values_of(b)], 0), indices=B.cat([x.indices, y.indices], 1), is_coalesced=False)
    return coalesced(result) if x.coalesced and y.coalesced else result


def _dense_plus(input, other):
    if in_graph(other):
        return B.add(input, everywhere(other))
    dtype = B.result_type(input, other)
    parts, values = other.array, values_of(other).to(dtype)
    if not parts.indices.shape[0] or not parts.indices.shape[1]:
        return B.add(input, dense(other))
    return B.index_put(input.to(dtype), list(B.unbind(parts.indices, 0)), values, True)


@handles("add_")
def _add_in_place(input, other):
    if isinstance(input, SparseTensor) or other.requires_grad or input.requires_grad or not other.array.indices.shape[0]:
        return replaced(input, add(input, other))
    _check_same_shape("add_", input, other)
    parts = other.array
    return B.index_put_(input, list(B.unbind(parts.indices, 0)), parts.values.to(input.dtype), True)


def replaced(input, result):
    """`input` with its contents replaced by the result of an operation, as in place."""
    if not can_cast(result.dtype, input.dtype):
        raise RuntimeError(f"result type {result.dtype} can't be cast to the desired output type {input.dtype}")
    if isinstance(input, SparseTensor):
        return input._become_sparse(as_sparse("in place", result).to(input.dtype))
    return input.copy_(dense(result) if isinstance(result, SparseTensor) else result)


@handles("sub")
def sub(input, other, *, out=None):
    return add(input, B.neg(other), out=out)


@handles("sub_")
def _sub_in_place(input, other):
    return _add_in_place(input, B.neg(other))


def _is_number(x):
    return not isinstance(x, TensorBase) or x.ndim == 0 and not isinstance(x, SparseTensor)


@handles("mul")
def mul(input, other, *, out=None):
    result = _product(input, other)
    return result if out is None else written(out, result)


def _product(a, b):
    if not isinstance(a, SparseTensor):
        a, b = b, a
    if _is_number(b):
        return rebuilt(a, B.mul(values_of(a), b))
    if isinstance(b, SparseTensor):
        _check_same_shape("mul", a, b)
        return _common(a, coalesced(b))
    shape = tuple(b.shape)
    if len(shape) > a.ndim or any(n not in (1, m) for n, m in zip(reversed(shape), reversed(a.shape))):
        raise RuntimeError(f"mul(sparse, dense): the dense operand of shape {list(shape)} doesn't broadcast to the sparse one's {list(a.shape)}")
    return rebuilt(a, B.mul(values_of(a), values_at(B.expand(b, tuple(a.shape)), a.array.indices)))


def _common(a, b):
    """The product of two sparse tensors: at the places that both have."""
    if a.sparse_dim() != b.sparse_dim():
        raise RuntimeError(f"mul operands have incompatible sparse dims: {a.sparse_dim()} and {b.sparse_dim()}")
    indices = a.array.indices
    found, _ = matches(b.array.indices, indices, b.shape)
    kept = B.reshape(B.nonzero(found), (-1,))
    indices = B.index_select(indices, 1, kept)
    return rebuilt(a, B.mul(B.index_select(values_of(a), 0, kept), values_at(b, indices)), indices=indices)


DIVISIONS = ("div", "_div_rounded", "floor_divide")


def _check_divisor(name, other):
    if other == 0:
        raise NotImplementedError(f"{name}: a sparse tensor by 0 isn't 0 where the tensor is; use to_dense() first")


def _divided(name, linear):
    def function(input, other, *args, out=None, **kwargs):
        if not isinstance(input, SparseTensor) or not _is_number(other):
            shape = list(other.shape) if isinstance(other, TensorBase) else []
            raise RuntimeError(f"Sparse division requires a scalar or zero-dim dense tensor divisor (got shape {shape} for divisor)")
        _check_divisor(name, other)
        input = input if linear and kwargs.get("rounding_mode") is None else coalesced(input)
        result = rebuilt(input, getattr(B, name)(values_of(input), other, *args, **kwargs))
        return result if out is None else written(out, result)
    handles(name)(function)


_divided("div", True)
_divided("_div_rounded", True)
_divided("floor_divide", False)
HANDLERS["true_divide"] = HANDLERS["div"]


@handles("pow")
def _pow(input, exponent, *, out=None):
    if not isinstance(input, SparseTensor) or not _is_number(exponent):
        raise RuntimeError("pow: of sparse tensors only powers with a number as exponent are available")
    power = exponent.item() if isinstance(exponent, TensorBase) else exponent
    if power == 0:
        raise RuntimeError("pow: cannot raise to zeroth power on sparse tensor; it would make the result tensor dense")
    if isinstance(power, complex) or not power > 0:
        raise NotImplementedError(f"pow: a sparse tensor to the power {power} isn't 0 where the tensor is; use to_dense() first")
    input = coalesced(input)
    result = rebuilt(input, B.pow(values_of(input), exponent))
    return result if out is None else written(out, result)


# --- in place -----------------------------------------------------------------------------------------------------
def _in_place(name, linear):
    """The form in place: of the values, whose memory others may share, where nothing needs recording or adding up first."""
    def function(input, *args, **kwargs):
        plain = all(_is_number(other) for other in args)
        if plain and name in DIVISIONS:
            _check_divisor(name, *args)
        if isinstance(input, SparseTensor) and plain and not input.requires_grad and (linear or input.array.coalesced):
            getattr(B, name + "_")(input.array.values, *args, **kwargs)
            return input
        return replaced(input, HANDLERS[name](input, *args, **kwargs))
    handles(name + "_")(function)


for _name in ("neg", "mul", "div", "_div_rounded"):
    _in_place(_name, True)
for _name in (*(n for n in ZERO_AT_ZERO if hasattr(B, n + "_")), "floor_divide", "pow"):
    _in_place(_name, False)
HANDLERS["true_divide_"] = HANDLERS["div_"]


@handles("zero_")
def _zero(input):
    return input._become_sparse(empty(input.shape, input.sparse_dim(), input.dtype, input.device))


@handles("copy_", "_assign_")
def _copy(input, src, non_blocking=False):
    if not isinstance(src, TensorBase):
        raise TypeError(f"copy_(): argument 'other' must be Tensor, not {type(src).__name__}")
    if not (isinstance(input, SparseTensor) and isinstance(src, SparseTensor)):
        raise RuntimeError(f"copy_() between dense and sparse Tensors is not implemented! Found self type = {input.type()} and src type = {src.type()}")
    _check_same_shape("copy_", input, src)
    return input._become_sparse(B.clone(src).to(dtype=input.dtype, device=input.device))


# --- steps of optimizers ------------------------------------------------------------------------------------------
@handles("_sgd_step")
def _sgd_step_by_operations(*args):
    return _sgd_step.op.definition(B, *args)


@handles("_adam_step")
def _no_adam_step(*args):
    raise RuntimeError("Adam does not support sparse gradients, please consider SparseAdam instead")


# --- gradients of tables of rows ----------------------------------------------------------------------------------
def rows_gradient(g, indices, rows, padding_idx):
    """The gradient of a table: g (*indices, columns) at the rows of the indices, but for the row `padding_idx`."""
    indices, g = B.reshape(indices, (1, -1)), B.reshape(g, (-1, g.shape[-1]))
    if padding_idx >= 0:
        kept = B.reshape(B.nonzero(B.ne(indices[0], padding_idx)), (-1,))
        indices, g = B.index_select(indices, 1, kept), B.index_select(g, 0, kept)
    return made(g, indices, (rows, g.shape[1]))
