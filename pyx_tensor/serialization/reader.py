"""Loading: the object of a pickle, with its storages from a container or a stream."""
import pickle

from ..core.dtype import by_name
from ..core.record import namespace as B
from ..ops.storage import TypedStorage
from . import allowed
from .builders import clean_bools
from .machine import Machine, Source
from .names import StorageType


def is_storage_id(saved):
    """Whether a persistent id refers to a storage: ('storage', type, key, location, number of elements), and before 1.6 a part of it."""
    if not (isinstance(saved, tuple) and len(saved) in (5, 6) and saved[0] == "storage" and isinstance(saved[1], StorageType)):
        return False
    view = saved[5] if len(saved) == 6 else None
    return (isinstance(saved[2], str) and isinstance(saved[3], str) and type(saved[4]) is int and 0 <= saved[4] < 1 << 60
            and (view is None or isinstance(view, tuple) and len(view) == 3 and isinstance(view[0], str)))


class Storages:
    """The storages of a file, each read when it is first asked for and put where it belongs.

    Args:
        read: function(key, bytes, bytes per element) -> a 1-d array of uint8.
        placement: function(storage, location) -> the storage where it is wanted.
        swapped: the file has the other byte order.
    """

    def __init__(self, read, placement, swapped=False):
        self.read, self.placement, self.swapped = read, placement, swapped
        self.found = {}          # (key, view key) -> storage, of the dtype that was asked for first
        self.given = {}          # … and the name of a storage type -> storage of that type

    def __call__(self, saved):
        """The storage, or whatever else, of a persistent id."""
        if isinstance(saved, tuple) and len(saved) == 4 and saved[0] == "module":       # PyTorch before 1.0: a class, and its source
            return saved[1]
        if not is_storage_id(saved):
            raise pickle.UnpicklingError("load: the file refers to something that is no storage")
        _, kind, key, location, numel, *view = saved
        view = view[0] if view else None
        at = (key, view[0] if view else None, kind.name)
        if at not in self.given:
            storage = self._storage(kind.dtype, key, location, numel, view)
            same = isinstance(storage, TypedStorage) and storage.dtype is kind.dtype
            self.given[at] = storage.untyped() if not kind.is_typed else storage if same else TypedStorage._over(storage._as_tensor(kind.dtype))
        return self.given[at]

    def _storage(self, dtype, key, location, numel, view):
        at = (key, view[0] if view else None)
        if at not in self.found:
            array = self.read(key, numel * dtype.itemsize, dtype.itemsize)
            if dtype is by_name["bool"]:
                clean_bools(array)
            array = array.view(dtype.numpy)
            if self.swapped:
                array = array.byteswap(inplace=True)
            if view:
                offset, size = view[1:]
                if not (type(offset) is type(size) is int and 0 <= offset <= offset + size <= numel):
                    raise RuntimeError(f"load: a part of storage {key} reaches outside of it")
                array = array[offset:offset + size]
            self.found[at] = self.placement(TypedStorage._over(B.from_numpy(array)), location)
        return self.found[at]


def unpickle(file, size, persistent, weights_only, pickle_module=pickle, file_size=None, **options):
    """The object of the pickle that begins here in a file with `size` bytes left; `file_size` as for Machine."""
    if weights_only:
        return Machine(Source(file, size), find=allowed.find, call=allowed.call, new=allowed.new, build=allowed.build,
                       persistent=persistent, file_size=file_size, **options).load()
    return _unrestricted(getattr(pickle_module, "Unpickler", pickle.Unpickler))(file, persistent, **options).load()


def _unrestricted(base):
    """An unpickler that finds all that Python finds, and ours where the file says PyTorch's."""
    class Unpickler(base):
        def __init__(self, file, persistent, encoding="utf-8", **options):
            super().__init__(file, encoding=encoding, **options)
            self.persistent = persistent

        def persistent_load(self, saved):
            return self.persistent(saved)

        def find_class(self, module, name):
            found = allowed.resolve(module, name)
            if found is not None:
                return found
            return super().find_class(module.replace("numpy.core", "numpy._core", 1) if module.startswith("numpy.core") else module, name)

    return Unpickler


class Outline:
    """What stands for an object in the outline of a pickle: the name of its class or function, and its arguments."""

    def __init__(self, name, args=()):
        self.name, self.args = name, args
        self.items = []

    def __repr__(self):
        return f"{self.name}(...)"


def _called(function, args):
    return Outline(getattr(function, "name", "?"), args)


class OutlineMachine(Machine):
    """Runs a pickle without building anything of it but containers and plain values.

    `unknown` has the names that aren't on the list of what may be built, `storages` the storages that were met.
    """

    def __init__(self, source, **options):
        super().__init__(source, find=self._name, call=_called, new=lambda cls, args, kwargs: _called(cls, args), build=self._state,
                         persistent=self._persistent, **options)
        self._unknown, self.storages = {}, {}

    @property
    def unknown(self):
        return [*self._unknown]

    def _name(self, module, name):
        found = allowed.known(module, name)
        if found is None:
            self._unknown[f"{module}.{name}"] = None
        return found if isinstance(found, StorageType) else Outline(f"{module}.{name}")

    def _state(self, obj, state):
        if isinstance(obj, Outline) and isinstance(state, dict) and obj.name != "collections.OrderedDict":
            obj.items.extend(state.items())

    def _persistent(self, saved):
        if is_storage_id(saved):
            _, kind, key, location, numel = saved[:5]
            self.storages.setdefault(key, (kind.dtype, numel, location))
        return saved

    def _instance(self, items):
        self.push(_called(items[0], tuple(items[1:])) if items else Outline("?"))

    def extend(self, items):
        target = self.stack[-1]
        target.items.extend(items) if isinstance(target, Outline) else super().extend(items)

    def set_items(self, items):
        target = self.stack[-1]
        target.items.extend(zip(items[::2], items[1::2])) if isinstance(target, Outline) else super().set_items(items)

    def add_items(self, items):
        target = self.stack[-1]
        target.items.extend(items) if isinstance(target, Outline) else super().add_items(items)


def _inst(m):
    module, name = m.source.line().decode(), m.source.line().decode()
    m._instance([m.find(module, name), *m.since_mark()])


# instructions that only an unrestricted unpickler follows: instances of protocol 0, and the registry of extensions
OutlineMachine.steps = {
    **Machine.steps, b"i": _inst, b"o": lambda m: m._instance(m.since_mark()),
    **{code: lambda m, n=n: m.push(Outline(f"extension {int.from_bytes(m.source.read(n), 'little')}"))
       for code, n in ((b"\x82", 1), (b"\x83", 2), (b"\x84", 4))},
}
