"""Modules that hold other modules, or parameters."""
import operator
from collections import OrderedDict
from collections.abc import Mapping
from itertools import chain, islice

from ...core.frontend import Tensor
from ...core.naming import typename
from ..parameter import Parameter
from .module import Module, _indent


class _Indexed(Module):
    """Children that are counted: named "0", "1", …"""

    def _key(self, index):
        """The name of the child at ``index``, which may be negative."""
        index, size = operator.index(index), len(self)
        if not -size <= index < size:
            raise IndexError(f"index {index} is out of range")
        return next(islice(self._modules, index % size, None))

    def _renumber(self, modules):
        self._modules = {str(index): module for index, module in enumerate(modules)}

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules.values())

    def __dir__(self):
        return [name for name in super().__dir__() if not name.isdigit()]

    def __setitem__(self, index, module):
        setattr(self, self._key(index), module)

    def insert(self, index, module):
        """Put ``module`` before the child at ``index``."""
        modules = list(self)
        modules.insert(index, module)
        self._renumber(modules)
        return self

    def append(self, module):
        """Add ``module`` at the end; returns self."""
        self.add_module(str(len(self)), module)
        return self

    def pop(self, key):
        """Remove a child and return it."""
        module = self[key]
        del self[key]
        return module


class Sequential(_Indexed):
    """Modules of which each gets what the one before has returned.

    Args: the modules, or one ordered dictionary of names and modules.

    >>> nn.Sequential(nn.Linear(1, 2), nn.ReLU())
    Sequential(
      (0): Linear(in_features=1, out_features=2, bias=True)
      (1): ReLU()
    )
    """

    def __init__(self, *args):
        super().__init__()
        named = args[0].items() if len(args) == 1 and isinstance(args[0], OrderedDict) else enumerate(args)
        for name, module in named:
            self.add_module(str(name), module)

    def forward(self, input):
        for module in self._modules.values():
            input = module(input)
        return input

    def __getitem__(self, index):
        if isinstance(index, slice):
            return type(self)(OrderedDict(list(self._modules.items())[index]))
        return self._modules[self._key(index)]

    def __delitem__(self, index):
        keys = list(self._modules)[index] if isinstance(index, slice) else [self._key(index)]
        for key in keys:
            delattr(self, key)
        self._renumber(list(self))

    def __add__(self, other):
        _check_sequential("add operator", other)
        return Sequential(*self, *other)

    def __iadd__(self, other):
        _check_sequential("add operator", other)
        return self.extend(other)

    def __mul__(self, times):
        _check_times(times)
        return Sequential(*(module for _ in range(times) for module in self))

    __rmul__ = __mul__

    def __imul__(self, times):
        _check_times(times)
        return self.extend([module for _ in range(times - 1) for module in self])

    def insert(self, index, module):
        """Put ``module`` before the child at ``index``; returns self."""
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        if not -len(self) <= index <= len(self):
            raise IndexError(f"Index out of range: {index}")
        return super().insert(index, module)

    def extend(self, sequential):
        """Add all modules of ``sequential`` at the end; returns self."""
        for module in list(sequential):
            self.append(module)
        return self


class ModuleList(_Indexed):
    """A list of modules, whose parameters belong to whoever holds it.

    >>> nn.ModuleList([nn.ReLU(), nn.ReLU()])
    ModuleList(
      (0-1): 2 x ReLU()
    )
    """

    def __init__(self, modules=None):
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def __getitem__(self, index):
        if isinstance(index, slice):
            return type(self)(list(self)[index])
        return self._modules[self._key(index)]

    def __delitem__(self, index):
        modules = list(self)
        if not isinstance(index, slice):
            self._key(index)  # raises where the index is out of range
        del modules[index]
        self._renumber(modules)

    def __add__(self, other):
        return type(self)(chain(self, other))

    def __iadd__(self, modules):
        return self.extend(modules)

    def insert(self, index, module):
        """Put ``module`` before the child at ``index``."""
        super().insert(index, module)

    def extend(self, modules):
        """Add all ``modules`` of an iterable at the end; returns self."""
        if not hasattr(modules, "__iter__"):
            raise TypeError("ModuleList.extend should be called with an iterable, but got " + type(modules).__name__)
        for module in list(modules):
            self.append(module)
        return self

    def __repr__(self):
        if not len(self):
            return self._get_name() + "()"
        lines = [f"({first}): {text}" if first == last else f"({first}-{last}): {last - first + 1} x {text}"
                 for first, last, text in _runs([repr(module) for module in self])]
        return self._get_name() + "(\n  " + "\n  ".join(_indent(line) for line in lines) + "\n)"


class ModuleDict(Module):
    """A dictionary of modules, whose parameters belong to whoever holds it; its keys are strings.

    >>> nn.ModuleDict({"act": nn.ReLU()})
    ModuleDict(
      (act): ReLU()
    )
    """

    def __init__(self, modules=None):
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key):
        return self._modules[key]

    def __setitem__(self, key, module):
        self.add_module(key, module)

    def __delitem__(self, key):
        del self._modules[key]

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules)

    def __contains__(self, key):
        return key in self._modules

    def clear(self):
        """Remove all."""
        self._modules.clear()

    def pop(self, key):
        """Remove a child and return it."""
        return self._modules.pop(key)

    def keys(self):
        """The names."""
        return self._modules.keys()

    def items(self):
        """(name, module) pairs."""
        return self._modules.items()

    def values(self):
        """The modules."""
        return self._modules.values()

    def update(self, modules):
        """Add or replace by the pairs of a mapping or an iterable."""
        for key, module in _pairs("ModuleDict", modules):
            self[key] = module


class _Attributes(Module):
    """Entries that are kept as attributes: tensors become parameters, anything else stays what it is."""

    def _set(self, name, value):
        if isinstance(value, Tensor) and not isinstance(value, Parameter):
            value = Parameter(value)
        setattr(self, name, value)

    def __call__(self, *args, **kwargs):
        raise RuntimeError(f"{type(self).__name__} should not be called.")

    def extra_repr(self):
        return "\n".join(f"  ({name}): {self._described(value)}" for name, value in self._entries())

    def _described(self, value):
        """One line about an entry."""
        if not isinstance(value, Tensor):
            return "Object of type: " + type(value).__name__
        size = "x".join(map(str, value.size()))
        device = "" if value.device.index is None else f" (GPU {value.device.index})"
        return f"Parameter containing: [{self._type_text(value)} of size {size}{device}]"


class ParameterList(_Attributes):
    """A list of parameters, which belong to whoever holds it.

    >>> nn.ParameterList([torch.zeros(2)])
    ParameterList(  (0): Parameter containing: [torch.float32 of size 2])
    """

    def __init__(self, values=None):
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    def _key(self, index):
        index = operator.index(index)
        if not -len(self) <= index < len(self):
            raise IndexError(f"index {index} is out of range")
        return str(index % len(self))

    def _entries(self):
        return enumerate(self)

    @staticmethod
    def _type_text(parameter):
        return str(parameter.dtype)

    def __getitem__(self, index):
        if isinstance(index, slice):
            return type(self)([self[place] for place in range(*index.indices(len(self)))])
        return getattr(self, self._key(index))

    def __setitem__(self, index, value):
        self._set(self._key(index), value)

    def __len__(self):
        return self._size

    def __iter__(self):
        return (self[place] for place in range(len(self)))

    def __iadd__(self, values):
        return self.extend(values)

    def __dir__(self):
        return [name for name in super().__dir__() if not name.isdigit()]

    def append(self, value):
        """Add ``value`` at the end; returns self."""
        place = len(self)
        self._size += 1
        self[place] = value
        return self

    def extend(self, values):
        """Add all ``values`` of an iterable at the end; returns self."""
        if not hasattr(values, "__iter__") or isinstance(values, Tensor):
            raise TypeError(f"ParameterList.extend should be called with an iterable, but got {type(values).__name__}")
        for value in list(values):
            self.append(value)
        return self


class ParameterDict(_Attributes):
    """A dictionary of parameters, which belong to whoever holds it; its keys are strings."""

    def __init__(self, parameters=None):
        super().__init__()
        self._keys = {}
        if parameters is not None:
            self.update(parameters)

    def _entries(self):
        return self.items()

    _type_text = staticmethod(typename)

    def __getitem__(self, key):
        return getattr(self, self._attribute(key))

    def __setitem__(self, key, value):
        self._keys[key] = None
        self._set(self._attribute(key), value)

    def __delitem__(self, key):
        del self._keys[key]
        delattr(self, self._attribute(key))

    @staticmethod
    def _attribute(key):
        if not isinstance(key, str):
            raise TypeError("Index given to ParameterDict cannot be used as a key as it is not a string "
                            f"(type is '{type(key).__name__}'). Open an issue on github if you need non-string keys.")
        return key

    def __len__(self):
        return len(self._keys)

    def __iter__(self):
        return iter(self._keys)

    def __reversed__(self):
        return reversed(list(self._keys))

    def __contains__(self, key):
        return key in self._keys

    def copy(self):
        """A new dictionary of the same entries."""
        return type(self)(dict(self.items()))

    def clear(self):
        """Remove all."""
        for key in list(self._keys):
            del self[key]

    def get(self, key, default=None):
        """The entry, or ``default`` where there is none."""
        return self[key] if key in self else default

    def setdefault(self, key, default=None):
        """The entry, which becomes ``default`` where there is none."""
        if key not in self:
            self[key] = default
        return self[key]

    def pop(self, key):
        """Remove an entry and return it."""
        value = self[key]
        del self[key]
        return value

    def popitem(self):
        """Remove the last entry and return it with its name."""
        key, _ = self._keys.popitem()
        value = getattr(self, key)
        delattr(self, key)
        return key, value

    def fromkeys(self, keys, default=None):
        """A new dictionary with one value for all ``keys``."""
        return type(self)((key, default) for key in keys)

    def keys(self):
        """The names."""
        return self._keys.keys()

    def items(self):
        """(name, value) pairs."""
        return ((key, self[key]) for key in self._keys)

    def values(self):
        """The values."""
        return (self[key] for key in self._keys)

    def update(self, parameters):
        """Add or replace by the pairs of a mapping or an iterable."""
        for key, value in _pairs("ParameterDict", parameters):
            self[key] = value

    def __or__(self, other):
        copy = self.copy()
        copy.update(other)
        return copy

    def __ior__(self, other):
        self.update(other)
        return self


def _pairs(kind, entries):
    """The (key, value) pairs of a mapping or of an iterable of pairs."""
    if not hasattr(entries, "__iter__"):
        raise TypeError(f"{kind}.update should be called with an iterable of key/value pairs, "
                        f"but got {type(entries).__name__}")
    if isinstance(entries, (Mapping, ModuleDict)) or hasattr(entries, "items"):
        return list(entries.items())
    pairs = list(entries)
    for place, pair in enumerate(pairs):
        if not hasattr(pair, "__iter__"):
            raise TypeError(f"{kind} update sequence element #{place} should be Iterable; is {type(pair).__name__}")
        if len(pair) != 2:
            raise ValueError(f"{kind} update sequence element #{place} has length {len(pair)}; 2 is required")
    return pairs


def _runs(texts):
    """(first, last, text) of each run of equal texts."""
    first = 0
    for place in range(1, len(texts) + 1):
        if place == len(texts) or texts[place] != texts[first]:
            yield first, place - 1, texts[first]
            first = place


def _check_sequential(what, other):
    if not isinstance(other, Sequential):
        raise ValueError(f"{what} supports only objects of Sequential class, but {type(other)} is given.")


def _check_times(times):
    if not isinstance(times, int):
        raise TypeError(f"unsupported operand type(s) for *: {Sequential} and {type(times)}")
    if times <= 0:
        raise ValueError(f"Non-positive multiplication factor {times} for {Sequential}")
