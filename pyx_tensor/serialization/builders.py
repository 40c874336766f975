"""What PyTorch's files call to build tensors, with arguments that are not to be trusted."""
import operator
from collections import OrderedDict

import numpy as np

from ..core.dtype import DType, by_name
from ..core.frontend import Parameter, Tensor
from ..core.memory_format import sparse_coo, sparse_csr
from ..core.record import namespace as B
from ..ops.storage import TypedStorage, UntypedStorage
from .machine import shown


def _ints(what, values):
    try:
        if not isinstance(values, (list, tuple)):
            raise TypeError
        return tuple(operator.index(value) for value in values)
    except TypeError:
        raise RuntimeError(f"load: a tensor's {what} is {shown(values)}, expected integers") from None


def clean_bools(array):
    """Make the bytes of bools 0 and 1, in place: others would count as several where they are added up."""
    if array.size and array.max() > 1:
        np.not_equal(array, 0, out=array.view(np.bool_))


def _on(flat, offset, size, stride, requires_grad):
    """A tensor in a storage; RuntimeError where it would reach outside of it."""
    size, stride, (offset,) = _ints("size", size), _ints("stride", stride), _ints("storage offset", (offset,))
    if any(number < 0 for number in (*size, *stride, offset)):
        raise RuntimeError(f"load: a tensor of size {size}, stride {stride} and offset {offset} isn't possible")
    if len(size) != len(stride):
        raise RuntimeError(f"load: a tensor of {len(size)} sizes has {len(stride)} strides")
    if any(number >= 1 << 62 for number in (*size, *stride, offset)):
        raise RuntimeError(f"load: a tensor of size {size}, stride {stride} and offset {offset} is out of bounds for any storage")
    result = B.as_strided(flat, size, stride, offset).detach()
    result.requires_grad = bool(requires_grad)
    return result


_LAZY = {"conj": lambda flat: B.conj(flat).resolve_conj(), "neg": lambda flat: B.neg(flat)}


def _computed(storage, flat, metadata):
    """A storage's elements with PyTorch's lazy conjugation and negation done, once for all tensors on it."""
    wanted = tuple(name for name in _LAZY if isinstance(metadata, dict) and metadata.get(name))
    if not wanted:
        return flat
    known = storage.__dict__.setdefault("_computed", {})
    if (flat.dtype, wanted) not in known:
        key = flat.dtype, wanted
        for name in wanted:
            flat = _LAZY[name](flat)
        known[key] = flat
    return known[flat.dtype, wanted]


def _within(tensor):
    """A tensor of no more elements than its memory has: one that repeats them would be written out to be far larger than its file."""
    tensor = _tensor(tensor)
    if tensor.numel() * tensor.element_size() > tensor._storage.nbytes:
        raise RuntimeError(f"load: a tensor of shape {tuple(tensor.shape)} repeats the elements of its storage, where they are to be copied")
    return tensor


def _typed(storage):
    if not isinstance(storage, TypedStorage):
        raise RuntimeError(f"load: expected a typed storage, found {shown(storage)}")
    return storage._flat


def rebuild_tensor(storage, offset, size, stride):
    return _on(_typed(storage), offset, size, stride, False)


def rebuild_tensor_v2(storage, offset, size, stride, requires_grad=False, hooks=None, metadata=None):
    return _on(_computed(storage, _typed(storage), metadata), offset, size, stride, requires_grad)


def rebuild_tensor_v3(storage, offset, size, stride, requires_grad, hooks, dtype, metadata=None):
    """The form of dtypes that have no storage class: the storage holds bytes."""
    if not isinstance(storage, (TypedStorage, UntypedStorage)) or not isinstance(dtype, DType):
        raise RuntimeError(f"load: expected a storage and a dtype, found {shown(storage)} and {shown(dtype)}")
    if dtype is by_name["bool"] and storage.device.type == "cpu" and "_is_clean" not in storage.__dict__:
        clean_bools(storage._as_tensor(by_name["uint8"]).numpy())
        storage._is_clean = True
    return _on(_computed(storage, storage._as_tensor(dtype), metadata), offset, size, stride, requires_grad)


def _tensor(data):
    if not isinstance(data, Tensor):
        raise RuntimeError(f"load: expected a tensor, found {shown(data)}")
    return data


def rebuild_parameter(data, requires_grad, hooks=None):
    return Parameter(_tensor(data), bool(requires_grad))


def rebuild_parameter_with_state(data, requires_grad, hooks, state):
    parameter = rebuild_parameter(data, requires_grad)
    set_attributes(parameter, state)
    return parameter


def rebuild_sparse_tensor(layout, data):
    """A tensor of layout `sparse_coo` from (indices, values, shape) and, in newer files, whether it is coalesced; one of layout
    `sparse_csr` from (where rows begin, columns, values, shape)."""
    if layout is not sparse_coo and layout is not sparse_csr:
        raise NotImplementedError(f"load: the file holds a tensor of layout {shown(layout)}, which is not supported")
    if not isinstance(data, tuple) or len(data) not in ((4,) if layout is sparse_csr else (3, 4)):
        raise RuntimeError(f"load: a sparse tensor is made of {shown(data)}, expected indices, values and a shape")
    if layout is sparse_csr:
        rows, columns, values, shape = data
        return B.sparse_csr_tensor(_within(rows), _within(columns), _within(values), _ints("size", shape), check_invariants=True)
    indices, values, shape, *rest = data
    return B.sparse_coo_tensor(_within(indices), _within(values), _ints("size", shape), is_coalesced=bool(rest and rest[0]), check_invariants=True)


def rebuild_device_tensor(data, dtype, device, requires_grad):
    """A tensor whose device's files hold it as one of the cpu."""
    if _within(data).dtype is not dtype:
        raise RuntimeError(f"load: a tensor of {shown(dtype)} is made of one of {data.dtype}")
    return data.to(device).requires_grad_(bool(requires_grad))


def rebuild_from_type(function, kind, args, state):
    """A tensor with attributes, or of a subclass."""
    if function not in TENSOR_BUILDERS or not (isinstance(kind, type) and issubclass(kind, Tensor)):
        raise RuntimeError(f"load: {shown(function)} doesn't build tensors of {shown(kind)}")
    tensor = function(*args)
    if type(tensor) is not kind:
        tensor = tensor.as_subclass(kind)
    set_attributes(tensor, state)
    return tensor


def set_attributes(tensor, state):
    """A tensor's own attributes: a dict, or a pair of it and those of `__slots__`."""
    if getattr(type(tensor), "__setstate__", None) is not getattr(Tensor, "__setstate__", None):
        tensor.__setstate__(state)
        return
    plain, slots = state if isinstance(state, tuple) and len(state) == 2 else (state, None)
    for attributes in (plain, slots):
        for name, value in (attributes or {}).items():
            if not isinstance(name, str) or hasattr(type(tensor), name):
                raise RuntimeError(f"load: a tensor's attribute {shown(name)} would hide one of its class")
            setattr(tensor, name, value)


def _refused(what):
    def build(*args):
        raise NotImplementedError(f"load: the file holds {what}, which is not supported")
    return build


def _uninitialized(name):
    def build(requires_grad):
        from ..nn import parameter
        return getattr(parameter, name)(bool(requires_grad))
    return build


UNINITIALIZED = {name: _uninitialized(name) for name in ("UninitializedParameter", "UninitializedBuffer")}      # of lazy layers
TENSOR_BUILDERS = (rebuild_tensor, rebuild_tensor_v2, rebuild_tensor_v3, rebuild_parameter, rebuild_parameter_with_state)
BY_NAME = {
    "_rebuild_tensor": rebuild_tensor, "_rebuild_tensor_v2": rebuild_tensor_v2, "_rebuild_tensor_v3": rebuild_tensor_v3,
    "_rebuild_sparse_tensor": rebuild_sparse_tensor, "_rebuild_parameter": rebuild_parameter, "_rebuild_parameter_with_state": rebuild_parameter_with_state,
    "_rebuild_qtensor": _refused("a quantised tensor"), "_rebuild_meta_tensor_no_storage": _refused("a tensor without values (on the device 'meta')"),
    "_rebuild_nested_tensor": _refused("a nested tensor"), "_rebuild_wrapper_subclass": _refused("a tensor that wraps others"),
    "_rebuild_device_tensor_from_numpy": lambda data, dtype, device, requires_grad: B.from_numpy(data).to(dtype).to(device).requires_grad_(requires_grad),
    "_rebuild_device_tensor_from_cpu_tensor": rebuild_device_tensor,
}


def flat_storage(flat, dtype):
    """A storage over a 1-d tensor of bytes, typed."""
    return TypedStorage._over(flat if dtype is by_name["uint8"] else UntypedStorage._over(flat)._as_tensor(dtype))


def ordered_dict(items=()):
    """An OrderedDict of pairs."""
    return OrderedDict(items)
