"""Early PyTorch's names of tensors by dtype and device: `torch.FloatTensor`, `torch.cuda.LongTensor`.

They are not classes that tensors have, but objects that stand for a dtype, a device and a layout: called, they make such a
tensor; `isinstance(x, torch.FloatTensor)` tells whether x is one.
"""
import numpy as np

from ..core.definitions import publish_function
from ..core.device import make_device
from ..core.dtype import by_name, set_default_dtype
from ..core.frontend import Tensor
from ..core.record import namespace as B
from ..core.record import type_name
from ..core.tensor import TensorBase


class tensortype(type):
    """The type of `torch.FloatTensor` and its kin."""

    def __new__(cls, dtype, device_type, is_sparse):
        where = ("torch" if device_type == "cpu" else f"torch.{device_type}") + (".sparse" if is_sparse else "")
        name = type_name(dtype).removeprefix("torch.")
        return super().__new__(cls, name, (), {"__module__": where, "__doc__": f"{'Sparse t' if is_sparse else 'T'}ensors of {dtype} on {device_type}."})

    def __init__(cls, dtype, device_type, is_sparse):
        cls.dtype = dtype
        cls.device_type = device_type
        cls.is_sparse = is_sparse

    def __instancecheck__(cls, obj):
        return (isinstance(obj, TensorBase) and obj.dtype is cls.dtype and obj.device.type == cls.device_type
                and obj.is_sparse == cls.is_sparse)

    @property
    def is_cuda(cls):
        return cls.device_type == "cuda"

    def __call__(cls, *args, device=None):
        """A tensor of that kind: of the sizes given (uninitialised), from nested lists, or on the memory of a tensor; a sparse one
        from indices, values and, unless they tell it, the shape."""
        device = make_device(cls.device_type if device is None else device)
        if device.type != cls.device_type:
            raise RuntimeError(f"legacy constructor expects device type: {cls.device_type} but device type: {device.type} was passed")
        if cls.is_sparse:
            return cls._sparse(args, device)
        data = args[0] if len(args) == 1 else None
        if isinstance(data, TensorBase):
            if not isinstance(data, cls):
                raise TypeError(f"{cls.__module__}.{cls.__name__}() expects a tensor of {cls.dtype} on {cls.device_type}, got one of {data.dtype} "
                                f"on {data.device.type}")
            return B.alias(data)
        if hasattr(data, "_as_tensor"):        # a storage, whose memory the tensor shares
            if getattr(data, "dtype", cls.dtype) is not cls.dtype:
                raise TypeError(f"{cls.__module__}.{cls.__name__}() expects a storage of {cls.dtype}, got one of {data.dtype}")
            return B.alias(data._as_tensor(cls.dtype))
        if isinstance(data, range):
            return Tensor(list(data), dtype=cls.dtype, device=device)
        if data is not None and not isinstance(data, (int, list, tuple, np.ndarray)):
            raise TypeError(f"new(): data must be a sequence (got {type(data).__name__})")
        return Tensor(*args, dtype=cls.dtype, device=device)


    def _sparse(cls, args, device):
        if not args or all(isinstance(size, int) for size in args):
            return B.sparse_coo_tensor(size=args or (0,), dtype=cls.dtype, device=device)
        return B.sparse_coo_tensor(*args, dtype=cls.dtype, device=device)


# what PyTorch has them for
_DTYPES = ("float32", "float64", "float16", "bfloat16", "uint8", "int8", "int16", "int32", "int64", "bool")


_made = {}      # (device type, is sparse) -> {name: tensor type}


def _types(device_type, is_sparse):
    if (device_type, is_sparse) not in _made:
        kinds = (tensortype(by_name[name], device_type, is_sparse) for name in _DTYPES)
        _made[device_type, is_sparse] = {kind.__name__: kind for kind in kinds}
    return _made[device_type, is_sparse]


def types_of(device_type):
    """Name -> tensor type: the one set of them for a device type."""
    return _types(device_type, False)


def sparse_types_of(device_type):
    """Name -> type of sparse tensors: the one set of them for a device type."""
    return _types(device_type, True)


globals().update(types_of("cpu"))


def named_type(name):
    """The tensor type of a name such as 'torch.FloatTensor' or 'torch.cuda.FloatTensor'; ValueError for others."""
    package, _, short = name.rpartition(".")
    root, _, device_type = package.removesuffix(".sparse").partition(".")
    device_type = device_type or "cpu"
    if root == "torch" and device_type.isidentifier() and short in types_of("cpu"):
        return _types(device_type, package.endswith(".sparse"))[short]
    raise ValueError(f"invalid type: {name!r}")


def _as_named_type(x, kind):
    """A tensor as a tensor type or its name says: the tensor itself where it is that already."""
    kind = named_type(kind) if isinstance(kind, str) else kind
    if not isinstance(kind, tensortype):
        raise RuntimeError(f"dtype must be a type, str, or dtype object, got {type(kind).__name__}")
    if isinstance(x, kind):
        return x
    if x.is_sparse != kind.is_sparse:
        raise RuntimeError(f"type(): a tensor of type {x.type()} can't become {kind.__module__}.{kind.__name__}; use to_sparse() or to_dense()")
    return x.to(kind.device_type, kind.dtype)


setattr(B, "_as_named_type", _as_named_type)


@publish_function
def set_default_tensor_type(t):
    """Make a floating tensor type, or its name, the type of what is made without a dtype: `torch.DoubleTensor`.

    Raises TypeError where it isn't one, NotImplementedError for another device than the cpu (`set_default_device` does that).
    """
    if isinstance(t, str):
        t = named_type(t)
    if not isinstance(t, tensortype) or not t.dtype.is_floating_point:
        raise TypeError("invalid type object: only floating-point types are supported as the default type")
    if t.device_type != "cpu":
        raise NotImplementedError(f"set_default_tensor_type: call set_default_device({t.device_type!r}) and set_default_dtype({t.dtype})")
    set_default_dtype(t.dtype)
