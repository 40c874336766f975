"""What PyTorch's files call to build tensors, with arguments that are not to be trusted."""
import operator
from collections import OrderedDict

import numpy as np

from ..core.dtype import DType, by_name
from ..core.frontend import Parameter, Tensor
from ..core.memory_format import sparse_coo
from ..core.record import namespace as B
from ..ops.storage import TypedStorage, UntypedStorage


def _ints(what, values):
    try:
        return tuple(operator.index(value) for value in values)
    except TypeError:
        raise RuntimeError(f"load: a tensor's {what} is {_shown(values)}, expected integers") from None


def _shown(value):
    """A value as a message may show it."""
    text = repr(value) if isinstance(value, (int, str, float, bytes)) else f"of type {type(value).__name__}"
    return text if len(text) < 80 else text[:77] + "..."


def clean_bools(array):
    """Make the bytes of bools 0 and 1, in place: others would count as several where they are added up."""
    if array.size and array.max() > 1:
        np.not_equal(array, 0, out=array.view(np.bool_))


def _on(flat, offset, size, stride, requires_grad, metadata):
    """A tensor in a storage; RuntimeError where it would reach outside of it."""
    size, stride, (offset,) = _ints("size", size), _ints("stride", stride), _ints("storage offset", (offset,))
    if any(number < 0 for number in (*size, *stride, offset)):
        raise RuntimeError(f"load: a tensor of size {size}, stride {stride} and offset {offset} isn't possible")
    if len(size) != len(stride):
        raise RuntimeError(f"load: a tensor of {len(size)} sizes has {len(stride)} strides")
    if any(number >= 1 << 62 for number in (*size, *stride, offset)):
        raise RuntimeError(f"load: a tensor of size {size}, stride {stride} and offset {offset} is out of bounds for any storage")
    result = B.as_strided(flat, size, stride, offset).detach()
    metadata = metadata if isinstance(metadata, dict) else {}
    if metadata.get("conj"):                  # PyTorch's lazy conjugates and negatives: computed here
        result = B.conj(result).resolve_conj() if hasattr(result, "resolve_conj") else B.conj(result)
    if metadata.get("neg"):
        result = B.neg(result)
    result.requires_grad = bool(requires_grad)
    return result


def _typed(storage):
    if not isinstance(storage, TypedStorage):
        raise RuntimeError(f"load: expected a typed storage, found {_shown(storage)}")
    return storage._flat


def rebuild_tensor(storage, offset, size, stride):
    return _on(_typed(storage), offset, size, stride, False, None)


def rebuild_tensor_v2(storage, offset, size, stride, requires_grad=False, hooks=None, metadata=None):
    return _on(_typed(storage), offset, size, stride, requires_grad, metadata)


def rebuild_tensor_v3(storage, offset, size, stride, requires_grad, hooks, dtype, metadata=None):
    """The form of dtypes that have no storage class: the storage holds bytes."""
    if not isinstance(storage, (TypedStorage, UntypedStorage)) or not isinstance(dtype, DType):
        raise RuntimeError(f"load: expected a storage and a dtype, found {_shown(storage)} and {_shown(dtype)}")
    if dtype is by_name["bool"] and storage.device.type == "cpu":
        clean_bools(storage._as_tensor(by_name["uint8"]).numpy())
    return _on(storage._as_tensor(dtype), offset, size, stride, requires_grad, metadata)


def _tensor(data):
    if not isinstance(data, Tensor):
        raise RuntimeError(f"load: expected a tensor, found {_shown(data)}")
    return data


def rebuild_parameter(data, requires_grad, hooks=None):
    return Parameter(_tensor(data), bool(requires_grad))


def rebuild_parameter_with_state(data, requires_grad, hooks, state):
    parameter = rebuild_parameter(data, requires_grad)
    set_attributes(parameter, state)
    return parameter


def rebuild_sparse_tensor(layout, data):
    """A tensor of layout `sparse_coo` from (indices, values, shape) and, in newer files, whether it is coalesced."""
    if layout is not sparse_coo:
        raise NotImplementedError(f"load: the file holds a tensor of layout {_shown(layout)}, which is not supported")
    if not isinstance(data, tuple) or len(data) not in (3, 4):
        raise RuntimeError(f"load: a sparse tensor is made of {_shown(data)}, expected indices, values and a shape")
    indices, values, shape, *rest = data
    return B.sparse_coo_tensor(_tensor(indices), _tensor(values), _ints("size", shape), is_coalesced=bool(rest and rest[0]), check_invariants=True)


def rebuild_from_type(function, kind, args, state):
    """A tensor with attributes, or of a subclass."""
    if function not in TENSOR_BUILDERS or not (isinstance(kind, type) and issubclass(kind, Tensor)):
        raise RuntimeError(f"load: {_shown(function)} doesn't build tensors of {_shown(kind)}")
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
                raise RuntimeError(f"load: a tensor's attribute {_shown(name)} would hide one of its class")
            setattr(tensor, name, value)


def _refused(what):
    def build(*args):
        raise NotImplementedError(f"load: the file holds {what}, which is not supported")
    return build


TENSOR_BUILDERS = (rebuild_tensor, rebuild_tensor_v2, rebuild_tensor_v3, rebuild_parameter, rebuild_parameter_with_state)
BY_NAME = {
    "_rebuild_tensor": rebuild_tensor, "_rebuild_tensor_v2": rebuild_tensor_v2, "_rebuild_tensor_v3": rebuild_tensor_v3,
    "_rebuild_sparse_tensor": rebuild_sparse_tensor, "_rebuild_parameter": rebuild_parameter, "_rebuild_parameter_with_state": rebuild_parameter_with_state,
    "_rebuild_qtensor": _refused("a quantised tensor"), "_rebuild_meta_tensor_no_storage": _refused("a tensor without values (on the device 'meta')"),
    "_rebuild_nested_tensor": _refused("a nested tensor"), "_rebuild_wrapper_subclass": _refused("a tensor that wraps others"),
    "_rebuild_device_tensor_from_numpy": lambda data, dtype, device, requires_grad: B.from_numpy(data).to(dtype).to(device).requires_grad_(requires_grad),
    "_rebuild_device_tensor_from_cpu_tensor": lambda data, dtype, device, requires_grad: _tensor(data).to(dtype).to(device).requires_grad_(requires_grad),
}


def flat_storage(flat, dtype):
    """A storage over a 1-d tensor of bytes, typed."""
    return TypedStorage._over(flat if dtype is by_name["uint8"] else UntypedStorage._over(flat)._as_tensor(dtype))


def ordered_dict(items=()):
    """An OrderedDict of pairs."""
    return OrderedDict(items)
