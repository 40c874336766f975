"""The CPU backend: Cython kernels over NumPy arrays."""
import ml_dtypes
import numpy as np

from pyx_tensor.core.array_module import ArrayModuleBackend, module_dtypes


class CPUBackend(ArrayModuleBackend):
    """NumPy's arrays, with kernels of our own for what must be quick."""

    def __init__(self):
        super().__init__("cpu", np, dtypes={**module_dtypes(np), "bfloat16": np.dtype(ml_dtypes.bfloat16)}, strided=True, views=True,
                         mutable=True, out=True)

    def current_device(self):
        return None


backend = CPUBackend()
