"""Containers that need fields of 64 bits."""
import io
import os
import pickle

import numpy as np
import pyx_tensor
from pyx_tensor.serialization.archive import ArchiveWriter


class _Sparse(io.FileIO):
    """A file in which huge pieces, of zeros, are left out."""

    def write(self, data):
        return self.seek(len(data), os.SEEK_CUR) and len(data) if len(data) > 1 << 30 else super().write(data)


def huge_file(path):
    """Write a list of more than 4 GiB of zeros and a 7."""
    with _Sparse(path, "w") as file:
        pyx_tensor.save([pyx_tensor.from_numpy(np.zeros((1 << 32) + 8, np.uint8)), pyx_tensor.tensor(7.0)], file)


def many_entries():
    """A container of 70,002 entries, whose object is "x"."""
    buffer = io.BytesIO()
    with ArchiveWriter(buffer) as archive:
        archive.write("data.pkl", pickle.dumps("x", 2))
        for i in range(70_000):
            archive.write(f"data/{i}", str(i).encode())
        archive.write("version", b"3\n")
    return buffer.getvalue()
