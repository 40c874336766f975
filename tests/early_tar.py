"""Writes the tar files of PyTorch before 0.2 byte by byte: what no present PyTorch writes any more."""
import io
import pickle
import struct
import tarfile


class _Name:
    """Something of PyTorch in a pickle, by name alone."""

    def __init__(self, module, name):
        self.module, self.name = module, name


class _Pickler(pickle._Pickler):
    def save(self, obj, save_persistent_id=True):
        if isinstance(obj, _Name):
            self.write(pickle.GLOBAL + f"{obj.module}\n{obj.name}\n".encode())
        else:
            super().save(obj, save_persistent_id)

    def persistent_id(self, obj):
        return obj.key if isinstance(obj, Reference) else None


class Reference:
    """A tensor in the object that is pickled."""

    def __init__(self, key):
        self.key = key


def _dump(obj, file):
    _Pickler(file, 2).dump(obj)


def early_tar(storages, views, tensors, obj):
    """A tar's bytes.

    storages: [(key, location, storage type, ndarray)], views: [(key, root, offset, size)], tensors: [(key, storage, type, shape, strides, offset)],
    obj: what is pickled, with References.
    """
    files = {name: io.BytesIO() for name in ("storages", "tensors", "pickle")}
    file = files["storages"]
    _dump(len(storages), file)
    for key, location, kind, array in storages:
        _dump((key, location, _Name("torch", kind)), file)
        file.write(struct.pack("<q", array.size) + array.tobytes())
    _dump(views, file)
    file = files["tensors"]
    _dump(len(tensors), file)
    for key, storage, kind, shape, strides, offset in tensors:
        _dump((key, storage, _Name("torch", kind)), file)
        file.write(struct.pack(f"<i4x{len(shape)}q{len(shape)}qq", len(shape), *shape, *strides, offset))
    _dump(obj, files["pickle"])
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w") as tar:
        for name, file in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(file.getvalue())
            file.seek(0)
            tar.addfile(info, file)
    return target.getvalue()
