"""`x[index]` and `x[index] = value` in all forms that NumPy and PyTorch share."""
import warnings

import numpy as np

from ..core import overrides
from ..core.definitions import op, operations, primitive
from ..core.dtype import by_name
from ..core.mode import is_grad_enabled
from ..core.operands import check_scalar, prepare_write
from ..core.record import namespace as B
from ..core.signature import Raw, Raws, T
from ..core.tensor import TensorBase

_INDEX_DTYPES = ("int64", "int32", "int16", "int8")


def _is_basic(item):
    return item is None or item is Ellipsis or isinstance(item, slice) or (isinstance(item, int) and not isinstance(item, bool))


def _as_slice(item):
    """A slice whose bounds are ints or None."""
    parts = [p if p is None or isinstance(p, int) else p.__index__() for p in (item.start, item.stop, item.step)]
    return slice(*parts)


def _read_item(item, device):
    """One entry of an index: int, slice, None, Ellipsis, or a tensor."""
    if item is None or item is Ellipsis or type(item) is int:
        return item
    if isinstance(item, slice):
        return _as_slice(item)
    if isinstance(item, (bool, np.bool_)):
        return B.tensor(bool(item), device=device)
    if isinstance(item, TensorBase):
        if item.ndim == 0 and item.dtype.name in _INDEX_DTYPES:
            return item.item()
        if item.dtype.name not in ("bool", "uint8", *_INDEX_DTYPES):
            raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
        return item
    if isinstance(item, np.ndarray):
        return _read_item(B.from_numpy(item), device)
    if isinstance(item, (list, tuple, range)):
        return B.tensor(list(item), dtype=None if len(item) else _long(), device=device)
    if hasattr(item, "__index__"):
        return item.__index__()
    raise IndexError(f"only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got {type(item).__name__})")


def _long():
    return by_name["int64"]


def _read(index, device):
    """The index as a tuple of such entries."""
    if isinstance(index, list) and any(isinstance(i, (slice, list, tuple, type(None), TensorBase)) or i is Ellipsis for i in index):
        index = tuple(index)              # early NumPy's rule, which PyTorch keeps
    if not isinstance(index, tuple):
        index = (index,)
    items = [_read_item(item, device) for item in index]
    if sum(item is Ellipsis for item in items) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    return tuple(items)


def _deprecate_bytes(mask):
    if mask.dtype.name == "uint8":
        warnings.warn("indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead.")


def _split(x, items):
    """Apply the basic entries as one view; return it and the index tensors by dim of that view (None: whole dim)."""
    basic, tensors = [], []
    used = sum(1 if not isinstance(i, TensorBase) else (i.ndim if i.dtype.name in ("bool", "uint8") else 1)
               for i in items if i is not None and i is not Ellipsis)
    if used > x.ndim:
        raise IndexError(f"too many indices for tensor of dimension {x.ndim}")
    for item in items:
        if item is Ellipsis:
            fill = x.ndim - used
            basic += [slice(None)] * fill
            tensors += [None] * fill
        elif not isinstance(item, TensorBase):
            basic.append(item)
            if not isinstance(item, int):
                tensors.append(None)
        elif item.dtype.name in ("bool", "uint8"):
            _deprecate_bytes(item)
            if item.ndim == 0:
                basic.append(None)        # a mask of one element: a new dim of size 1, taken or not
                tensors.append(B.nonzero(B.unsqueeze(item, 0))[:, 0])
                continue
            basic += [slice(None)] * item.ndim
            tensors += [(item, d) for d in range(item.ndim)]
        else:
            basic.append(slice(None))
            tensors.append(item.long())
    view = operations["_index_basic"].replay(x, (tuple(basic),)) if any(not (isinstance(b, slice) and b == slice(None)) for b in basic) else x
    return view, _positions(view, tensors)


def _positions(view, tensors):
    """Masks as the indices of their non-zero elements."""
    masks, result = {}, []
    for dim, item in enumerate(tensors):
        if isinstance(item, tuple):
            mask, d = item
            start = dim - d
            if id(mask) not in masks:
                wanted = tuple(view.shape[start:start + mask.ndim])
                if tuple(mask.shape) != wanted:
                    bad = next(i for i, (a, b) in enumerate(zip(mask.shape, wanted)) if a != b)
                    raise IndexError(f"The shape of the mask {list(mask.shape)} at index {bad} does not match the shape of the indexed tensor "
                                     f"{list(view.shape)} at index {start + bad}")
                masks[id(mask)] = B.nonzero(mask)
            item = B.select(masks[id(mask)], 1, d)
        result.append(item)
    return result


def getitem(x, index):
    """`x[index]`: a view for integers, slices, None and Ellipsis, else a copy of the elements gathered."""
    if overrides.is_asked(x, index):
        result = overrides.ask(TensorBase.__getitem__, (x, index), (x, index), {})
        if result is not NotImplemented:
            return result
    if type(index) is int:
        if x.ndim == 0:
            raise IndexError("invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a 0-dim "
                             "tensor to a number")
        return operations["select"].replay(x, (0, index))
    if type(index) in overrides.plain_types and index.dtype.name == "bool" and index.shape == x.shape and not (x.requires_grad and is_grad_enabled()):
        return B.masked_select(x, index)        # without the positions, which only a gradient needs
    if type(index) is list and x.ndim and index and all([type(i) is int for i in index]):                   # a usual one, sooner
        return B.index(x, [B.tensor(index, dtype=_long(), device=x.device), *[None] * (x.ndim - 1)])
    items = _read(index, x.device)
    if not any(isinstance(item, TensorBase) for item in items):
        return operations["_index_basic"].replay(x, (items,)) if items != (Ellipsis,) else B.alias(x)
    view, tensors = _split(x, items)
    return B.index(view, tensors)


def setitem(x, index, value):
    """`x[index] = value`: in place, with broadcasting; recorded like any in-place operation."""
    if overrides.is_asked(x, index, value) and overrides.ask(TensorBase.__setitem__, (x, index, value), (x, index, value), {}) is not NotImplemented:
        return
    items = _read(index, x.device)
    if not isinstance(value, TensorBase):
        if value is None or isinstance(value, (complex, str)) or isinstance(value, (int, float)) and x.dtype.itemsize > 2:
            check_scalar("__setitem__", "value", value, x.dtype)
        value = B.tensor(value, dtype=x.dtype, device=x.device) if not isinstance(value, np.ndarray) else B.from_numpy(value).to(x.device)
    if not any(isinstance(item, TensorBase) for item in items):
        target = operations["_index_basic"].replay(x, (items,)) if items != (Ellipsis,) else x
        target.copy_(_without_leading_ones(value, target.ndim))
        return
    view, tensors = _split(x, items)
    if value.dtype is not x.dtype:
        value = value.to(x.dtype)
    recorded = is_grad_enabled() and (view.requires_grad or value.requires_grad)
    if not recorded and view.device.backend.mutable and operations["_index_put_into"].has_entry(view.device):
        _write_at(view, tensors, value)
    else:
        B._index_put_(view, tensors, value)


def _write_at(view, tensors, value):
    """An assignment that nothing records: only the elements named are touched."""
    if value._storage is view._storage:
        value = value.clone()
    prepare_write(view)
    B._index_put_into(view, tensors, value, False)


def _without_leading_ones(value, ndim):
    """PyTorch drops leading dims of size 1 of an assigned value."""
    while value.ndim > ndim and value.shape[0] == 1:
        value = B.squeeze(value, 0)
    return value


# --- the operations behind ----------------------------------------------------------------------------------------
@primitive(entry="index_get", vjp=dict(
    input=lambda B, g, input_shape, indices: B._index_put(B.zeros(input_shape, dtype=g.dtype, device=g.device), indices, g, True)))
def index(B, input: T, indices: Raws):
    """The elements at index tensors (None: a whole dim), as `input[indices]`."""


def _put_input_vjp(B, g, indices, accumulate):
    if accumulate:
        return g
    return B._index_put(g, indices, B.zeros((), dtype=g.dtype, device=g.device), False)


@op(inplace=True, hidden=True, grad_name="IndexPut", entry="index_put", over_input=True, vjp=dict(
    input=_put_input_vjp, values=lambda B, g, indices, values_shape: B.sum_to_size(B.index(g, indices), values_shape)))
def _index_put(B, input: T, indices: Raws, values: T, accumulate=False):
    """`index_put` with positions only."""
    return B._index_put_into(B.clone(input), indices, values.to(input.dtype), accumulate)


def _put(B, put, input, indices, values, accumulate):
    """`index_put` by an operation that puts at positions."""
    if input.dtype is not values.dtype:
        raise RuntimeError(f"Index put requires the source and destination dtypes match, got {input.dtype} for the destination and {values.dtype} "
                           "for the source.")
    return put(input, _without_masks(input, indices), values, bool(accumulate))


@op(inplace=lambda B, *arguments: _put(B, B._index_put_, *arguments))
def index_put(B, input: T, indices: Raws, values: T, accumulate=False):
    """A copy of `input` with `values` at index tensors or masks; with `accumulate` they are added, repeated positions too."""
    return _put(B, B._index_put, input, indices, values, accumulate)


def _without_masks(x, indices):
    """Index tensors in which masks have become the positions of their non-zero elements."""
    items = []
    for index in indices:
        is_mask = index is not None and index.dtype.name in ("bool", "uint8")
        if is_mask:
            _deprecate_bytes(index)
        items += [(index, d) for d in range(index.ndim)] if is_mask else [index]
    if len(items) > x.ndim:
        raise IndexError(f"too many indices for tensor of dimension {x.ndim} (got {len(items)})")
    return _positions(x, items)


@primitive(nograd=True, hidden=True, entry="index_put_")
def _index_put_into(B, input: Raw, indices: Raws, values: Raw, accumulate):
    """Write values at index tensors into `input` itself."""
