"""What is in a checkpoint, told without loading it: `python -m pyx_tensor inspect FILE`."""
import itertools
import math
import os

from ..core.dtype import DType, by_name
from . import _opened, outline
from .allowed import refuse_unsupported
from .machine import shown
from .reader import Outline, is_storage_id

_MAX_TEXT, _MAX_KEY = 60, 500
_MAX_PARTS, _MAX_DEPTH = 100_000, 100      # of what is walked: a hostile file may hold one list in itself in ever so many ways


def listing(f):
    """(rows, notes) of a file: rows are (key, shape, dtype, device, bytes) of tensors, or (key, value, "", "", 0) of what else there is.

    Nothing of the file is run, and no storage is read.
    """
    with _opened(f) as file:
        machine, obj, archive = outline(file, f)
        size = file.seek(0, os.SEEK_END)
    rows = list(_rows("", obj, (), itertools.count()))
    memory = sum(dtype.itemsize * numel for dtype, numel, _ in machine.storages.values())
    kind = "zip container" if archive is not None else "stream of PyTorch before 1.6"
    notes = [f"{kind}, {size:,} bytes; {sum(1 for row in rows if row[2]):,} tensors in {len(machine.storages):,} storages of {memory:,} bytes"]
    unsupported, unsafe = _of_unknown(machine.unknown)
    if unsupported:
        notes.append("isn't supported: " + ", ".join(unsupported))
    if unsafe:
        notes.append("needs weights_only=False, or add_safe_globals, for: " + ", ".join(unsafe))
    return rows, notes


def _of_unknown(names):
    """Those names that stand for what `load` doesn't support, and the others."""
    unsupported = []
    for name in names:
        try:
            refuse_unsupported(*name.rpartition(".")[::2])
        except NotImplementedError:
            unsupported.append(name)
    return unsupported, [name for name in names if name not in unsupported]


def _rows(key, obj, above, count):
    if next(count) > _MAX_PARTS:
        raise RuntimeError(f"inspect: the file has more than {_MAX_PARTS} values")
    if isinstance(obj, Outline):
        tensor = _tensor(obj)
        if tensor is not None:
            yield (key, *tensor)
            return
    if id(obj) in above or len(above) > _MAX_DEPTH:
        yield key, "(itself)" if id(obj) in above else "...", "", "", 0
        return
    items = _items(obj)
    if items is None:
        yield key, _text(obj), "", "", 0
        return
    for name, value in items:
        yield from _rows(_below(key, name), value, (*above, id(obj)), count)


def _below(key, name):
    """The key of what has a name in what has a key."""
    name = _cut(name if isinstance(name, str) else shown(name))
    if len(key) > _MAX_KEY:
        return key
    return f"{key}.{name}" if key else name


def _text(obj):
    """A plain value as it is printed."""
    if isinstance(obj, (set, frozenset)):       # their elements could be large, as a whole
        return f"({len(obj)} values)"
    return _cut(repr(obj) if obj is None or isinstance(obj, Outline) else shown(obj))


def _cut(text):
    return text if len(text) <= _MAX_TEXT else text[:_MAX_TEXT - 3] + "..."


def _items(obj):
    """(name, value) pairs of a container, None for anything else."""
    if isinstance(obj, dict):
        return obj.items()
    if isinstance(obj, (list, tuple)):
        return enumerate(obj)
    if isinstance(obj, Outline) and (obj.items or obj.name == "collections.OrderedDict"):
        return [item if isinstance(item, tuple) and len(item) == 2 else (i, item) for i, item in enumerate(obj.items)]
    return None


def _tensor(call):
    """(shape, dtype, device, bytes) of a call that builds a tensor, or None, also where its arguments aren't what they should be."""
    name, args = call.name.rpartition(".")[2], call.args
    if name.startswith("_rebuild_parameter"):
        return _tensor(args[0]) if args and isinstance(args[0], Outline) else None
    if name == "_rebuild_sparse_tensor":
        return _sparse(*args) if len(args) == 2 and isinstance(args[1], tuple) else None
    if name == "_rebuild_from_type_v2":
        built = len(args) > 2 and isinstance(args[0], Outline) and isinstance(args[2], tuple)
        return _tensor(Outline(args[0].name, args[2])) if built else None
    if not name.startswith("_rebuild_tensor") or len(args) < (7 if name.endswith("_v3") else 4) or not is_storage_id(args[0]):
        return None
    _, kind, _, location, _ = args[0][:5]
    dtype, shape = _dtype(args[6]) if name.endswith("_v3") else kind.dtype, args[2]
    if not _is_shape(shape) or not isinstance(dtype, (DType, str)):
        return None
    return str(list(shape)), str(dtype).removeprefix("torch."), _cut(location), math.prod(shape) * getattr(dtype, "itemsize", 0)


def _sparse(layout, data):
    """What `_tensor` tells of a sparse tensor, which is made of tensors and a shape."""
    parts = [part for item in data if isinstance(item, Outline) and (part := _tensor(item))]
    shape = next((item.args[0] for item in data if isinstance(item, Outline) and item.name == "torch.Size" and item.args), None)
    if not parts or not _is_shape(shape):
        return None
    _, dtype, location, _ = parts[-1]
    return str(list(shape)), f"{dtype}, sparse", location, sum(nbytes for _, _, _, nbytes in parts)


def _is_shape(value):
    return isinstance(value, tuple) and len(value) <= 64 and all(type(n) is int and 0 <= n < 1 << 62 for n in value)


def _dtype(named):
    return by_name.get(named.name.removeprefix("torch."), named.name) if isinstance(named, Outline) else named


def print_listing(path):
    """Print what is in a file, one tensor a line."""
    rows, notes = listing(path)
    table = [("key", "shape", "dtype", "device", "bytes")]
    table += [(key or "(the object)", shape, dtype, device, f"{nbytes:,}" if dtype else "") for key, shape, dtype, device, nbytes in rows]
    widths = [max(len(row[i]) for row in table if i != 1 or row[2]) for i in range(5)]
    for row in table:
        cells = [*(cell.ljust(width) for cell, width in zip(row[:4], widths)), row[4].rjust(widths[4])]
        print("  ".join(cells).rstrip())
    for note in notes:
        print(note)
