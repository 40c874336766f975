"""What a file may name where `weights_only=True`, and what may be called: exact pairs of module and name, and guarded builders."""
import collections
import importlib
from contextlib import contextmanager
from pickle import UnpicklingError

from ..core.device import make_device
from ..core.dtype import aliases, by_name
from ..core.frontend import Parameter, Tensor
from ..core.memory_format import memory_format, sparse_coo, sparse_csr, strided
from ..core import memory_format as formats
from ..core.size import Size
from ..ops.tensor_types import types_of
from . import builders
from .machine import checked, shown
from .names import by_storage_name, own_module, public_module
from .numpy_globals import CALLS as NUMPY_CALLS
from .numpy_globals import NAMES as NUMPY_NAMES
from .numpy_globals import set_state as set_numpy_state

_user_globals = {}        # (module, name) -> object


# --- guarded calls ------------------------------------------------------------------------------------------------
def _encode(text, encoding="utf-8"):
    """`_codecs.encode` as pickles of bytes use it."""
    if not isinstance(text, str) or encoding not in ("latin1", "latin-1"):
        raise UnpicklingError("load: bytes in an encoding that isn't latin1")
    return text.encode("latin1")


def _bytearray(data=b"", encoding=None):
    if not isinstance(data, (bytes, str) if encoding else bytes):
        raise UnpicklingError(f"load: a bytearray of a {type(data).__name__}")
    return bytearray(_encode(data, encoding) if encoding else data)


def _pairs(cls):
    def build(items=()):
        if isinstance(items, dict):
            return cls(items)
        if not isinstance(items, (list, tuple)) or not all(isinstance(pair, (list, tuple)) and len(pair) == 2 for pair in items):
            raise UnpicklingError(f"load: {cls.__name__} of what aren't pairs")
        checked([key for key, _ in items])
        return cls(items)
    return build


def _default_dict(factory=None, items=()):
    if factory is not None and factory not in _EMPTY and factory not in (collections.OrderedDict, set, frozenset):
        raise UnpicklingError("load: a defaultdict of a factory that isn't on the list of what may be built")
    return collections.defaultdict(factory, _pairs(dict)(items))


def _numbers(function):
    """A builtin that takes a few numbers or None."""
    def build(*args):
        if not all(isinstance(arg, (int, float, complex, type(None))) for arg in args):
            raise UnpicklingError(f"load: {function.__name__} of what isn't a number")
        return function(*args)
    return build


def _empty(cls):
    def build(*args):
        if args:
            raise UnpicklingError(f"load: {cls.__name__} may only be called without arguments")
        return cls()
    return build


def _size(numbers=()):
    if not isinstance(numbers, (list, tuple)):
        raise UnpicklingError("load: a Size of what isn't a list of numbers")
    return Size(numbers)


def _layout(name):
    known = {repr(layout): layout for layout in (strided, sparse_coo, sparse_csr)}
    if not isinstance(name, str) or name not in known:
        raise NotImplementedError(f"load: tensors of layout {shown(name)} are not supported")
    return known[name]


_EMPTY = (list, dict, tuple, int, float, str, bool)
_CALLS = {
    **{function: function for function in (*builders.BY_NAME.values(), *builders.UNINITIALIZED.values())}, builders.rebuild_from_type: builders.rebuild_from_type,
    **NUMPY_CALLS, **{cls: _empty(cls) for cls in _EMPTY},
    Size: _size, make_device: make_device, _layout: _layout, _encode: _encode, bytearray: _bytearray,
    collections.OrderedDict: _pairs(collections.OrderedDict), collections.Counter: _pairs(collections.Counter), collections.defaultdict: _default_dict,
    set: lambda items=(): set(checked(items)), frozenset: lambda items=(): frozenset(checked(items)),
    complex: _numbers(complex), range: _numbers(range), slice: _numbers(slice),
}

# --- names --------------------------------------------------------------------------------------------------------
TORCH = {
    **{("torch._utils", name): function for name, function in builders.BY_NAME.items()},
    ("torch._tensor", "_rebuild_from_type_v2"): builders.rebuild_from_type, ("torch.serialization", "_get_layout"): _layout,
    ("torch", "Size"): Size, ("torch", "device"): make_device, ("torch", "Tensor"): Tensor, ("torch._tensor", "Tensor"): Tensor,
    **{("torch.nn.parameter", name): function for name, function in builders.UNINITIALIZED.items()},
    ("torch.nn.parameter", "Parameter"): Parameter, ("torch", "strided"): strided, ("torch", "sparse_coo"): sparse_coo,
    ("torch", "sparse_csr"): sparse_csr,
    **{("torch", name): value for name, value in vars(formats).items() if isinstance(value, memory_format)},
    **{(module, name): kind for module in ("torch", "torch.storage", "torch.cuda") for name, kind in by_storage_name.items()},
    **{("torch", name): dtype for name, dtype in {**by_name, **aliases}.items()},
    **{(f"torch{where}", name): kind for where in ("", ".cuda") for name, kind in types_of("cpu").items()},
}
_PLAIN = {
    ("_codecs", "encode"): _encode,
    **{("collections", cls.__name__): cls for cls in (collections.OrderedDict, collections.Counter, collections.defaultdict)},
    # a pickle of protocol 2 or less calls the builtins by Python 2's name
    **{(module, cls.__name__): cls for module in ("builtins", "__builtin__")
       for cls in (set, frozenset, complex, bytearray, slice, range, *_EMPTY)},
}


def add_safe_globals(safe_globals):
    """Let `load(weights_only=True)` build these classes or functions: a list of them, or of pairs (object, 'module.name')."""
    added = {}
    for item in safe_globals:
        obj, name = item if isinstance(item, tuple) else (item, f"{item.__module__}.{item.__qualname__}")
        if not callable(obj) or not isinstance(name, str) or "." not in name:
            raise TypeError(f"add_safe_globals: expected classes, functions or pairs of one and its 'module.name', got {item!r}")
        added[tuple(name.rsplit(".", 1))] = obj
    _user_globals.update(added)


def get_safe_globals():
    """What `add_safe_globals` allowed so far."""
    return list(_user_globals.values())


def clear_safe_globals():
    """Forget what `add_safe_globals` allowed."""
    _user_globals.clear()


@contextmanager
def safe_globals(safe_globals):
    """`add_safe_globals` for a block."""
    before = dict(_user_globals)
    add_safe_globals(safe_globals)
    try:
        yield
    finally:
        _user_globals.clear()
        _user_globals.update(before)


def known(module, name):
    """What a file may mean by a name, or None."""
    key = (module, name)
    for table in (TORCH, _PLAIN, _user_globals, NUMPY_NAMES):
        if key in table:
            return table[key]
    return _user_globals.get((own_module(module), name)) or _user_globals.get((public_module(module), name))


def refuse_unsupported(module, name):
    """NotImplementedError for what PyTorch has and we don't."""
    if module in ("torch", "torch.storage") and name.startswith(("QInt", "QUInt")) and name.endswith("Storage"):
        raise NotImplementedError(f"load: the file holds a quantised tensor ({module}.{name}), which is not supported")
    if module == "torch" and name.startswith(("float8", "float4", "qint", "quint", "per_tensor_", "per_channel_", "bits", "complex32")):
        raise NotImplementedError(f"load: the file holds tensors of {module}.{name}, which is not supported")


def refusal(module, name):
    """The error for a name that isn't on the list."""
    if own_module(module).startswith(("pyx_tensor.nn.", "pyx_tensor.optim.")):
        return UnpicklingError(
            f"Weights only load failed: the file holds a whole object of {module}.{name}, not its weights alone. If you trust the file, load it "
            "with weights_only=False, which runs whatever code it names; a state_dict() loads without that.")
    return UnpicklingError(
        f"Weights only load failed: the file asks for {module}.{name}, which is not on the list of what may be built. If you trust it, allow it "
        f"with pyx_tensor.serialization.add_safe_globals([{name}]), where {name} is imported from {module}, or load the file with "
        "weights_only=False, which runs whatever code the file names.")


# --- what the unpickler does --------------------------------------------------------------------------------------
def find(module, name):
    found = known(module, name)
    if found is None:
        refuse_unsupported(module, name)
        raise refusal(module, name)
    return found


def _is_users(obj):
    return any(obj is allowed for allowed in _user_globals.values())


def call(function, args):
    try:
        guarded = _CALLS.get(function)
    except TypeError:
        guarded = None
    if guarded is not None:
        return guarded(*args)
    if _is_users(function):
        return function(*args)
    raise UnpicklingError(f"load: the file calls {_shown(function)}, which isn't a function or class that may be called")


def new(cls, args, kwargs):
    if isinstance(cls, type) and _is_users(cls):
        return cls.__new__(cls, *args, **kwargs)
    if kwargs:
        raise UnpicklingError(f"load: the file makes {_shown(cls)} by keyword arguments")
    return call(cls, args)


def build(obj, state):
    """Give an object its state: attributes of OrderedDicts and tensors, and what classes allowed by the user want."""
    if isinstance(obj, Tensor):
        builders.set_attributes(obj, state)
    elif set_numpy_state(obj, state):
        pass
    elif type(obj) is collections.OrderedDict or _is_users(type(obj)):
        custom = getattr(obj, "__setstate__", None)
        if custom is not None:
            custom(state)
        else:
            _set_attributes(obj, state)
    else:
        raise UnpicklingError(f"load: the file gives a state to a {type(obj).__name__}, which may not have one")


def _set_attributes(obj, state):
    plain, slots = state if isinstance(state, tuple) and len(state) == 2 else (state, None)
    for attributes in (plain, slots):
        for name, value in (attributes or {}).items():
            if not isinstance(name, str) or (type(obj) is collections.OrderedDict and hasattr(collections.OrderedDict, name)):
                raise UnpicklingError("load: the file sets an attribute that would hide one of the class")
            setattr(obj, name, value)


def _shown(obj):
    return f"{obj.__module__}.{obj.__qualname__}" if hasattr(obj, "__qualname__") else f"a {type(obj).__name__}"


def resolve(module, name):
    """The object of a name without restrictions, where it isn't what Python finds: PyTorch's names mean ours."""
    for table in (TORCH, _user_globals):
        if (module, name) in table:
            return table[module, name]
    own = own_module(module)
    if own == module:
        return None
    refuse_unsupported(module, name)
    while own:
        try:
            return getattr(importlib.import_module(own), name)
        except (ImportError, AttributeError):
            own = own.rpartition(".")[0]        # our class may stand in another file than PyTorch's
    raise UnpicklingError(f"load: {module}.{name} isn't available here")
