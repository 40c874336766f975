"""The protocol over plain NumPy, in as few lines as it takes: the oracle of the other backends and the template for new ones.

It claims four devices, so that the bookkeeping of devices can be tested anywhere. They share the machine's memory, and
their arrays are plain ndarrays: a Tensor knows its device, a backend has to know it only where data really lies apart.
"""
import ml_dtypes
import numpy as np

from pyx_tensor.core.array_module import ArrayModuleBackend, module_dtypes


class ReferenceBackend(ArrayModuleBackend):
    """NumPy as a device type of its own."""

    def __init__(self):
        super().__init__(
            "reference", np, dtypes={**module_dtypes(np), "bfloat16": np.dtype(ml_dtypes.bfloat16)}, devices=4,
            strided=True, views=True, mutable=True, out=True)


backend = ReferenceBackend
