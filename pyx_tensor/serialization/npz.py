"""NumPy's .npz: tensors by name, for programs that know nothing of tensors."""
import os

import numpy as np

from ..core.record import namespace as B
from .atomic import replacing


def save_npz(tensors, f, *, compressed=False):
    """Write a dict of tensors to an .npz file (a path, or a binary file object), which `numpy.load` reads.

    Raises TypeError for bfloat16, which NumPy's format doesn't have: convert with `float()` first.
    """
    arrays = {}
    for name, tensor in tensors.items():
        if tensor.dtype.name == "bfloat16":
            raise TypeError(f"save_npz: {name!r} is bfloat16, which .npz files don't have; save {name}.float()")
        arrays[name] = np.asarray(tensor.detach()._host_array())
    write = np.savez_compressed if compressed else np.savez
    if hasattr(f, "write"):
        write(f, **arrays)
        return
    with replacing(f) as file:
        write(file, **arrays)


def load_npz(f):
    """A dict of the tensors in an .npz file. Files that need `allow_pickle` are refused with a ValueError."""
    with np.load(os.fspath(f) if not hasattr(f, "read") else f, allow_pickle=False) as arrays:
        return {name: B.from_numpy(np.ascontiguousarray(arrays[name].astype(arrays[name].dtype.newbyteorder("="), copy=False)).reshape(arrays[name].shape))
                for name in arrays.files}
