"""The CPU backend: Cython kernels over NumPy arrays."""
import ml_dtypes
import numpy as np

from pyx_tensor.core.array_module import ArrayModuleBackend, module_dtypes

from . import (
    attention, blas, channels, columns, convolution, copying, ctc, description, distance, index, linalg, linear, loss, masks, memory,
    newton_schulz, normalize, optim, parallel, pointwise, pooling, recurrent, recurrent_cells, reduce, resample, runs, sampling, scan, search,
    sort, sparse)
from .fourier import FourierMethods

# Modules whose public functions are entries of the backend, by their names.
KERNELS = (
    pointwise, copying, reduce, scan, normalize, attention, channels, columns, convolution, loss, ctc, pooling, optim, newton_schulz, blas, linear,
    linalg, recurrent, recurrent_cells, index, masks, search, sort, runs, sparse, distance, resample, sampling)
# Functions in them that serve the modules themselves.
INTERNAL = {"bind", "check_lengths", "op_name", "use_kernels"}


class CPUBackend(FourierMethods, ArrayModuleBackend):
    """NumPy's arrays with kernels of our own; the rest is what any array module can do."""

    def __init__(self):
        super().__init__("cpu", np, dtypes={**module_dtypes(np), "bfloat16": np.dtype(ml_dtypes.bfloat16)}, strided=True, views=True,
                         mutable=True, out=True)
        for module in KERNELS:
            for name, function in vars(module).items():
                if not name.startswith("_") and name not in INTERNAL and callable(function) and getattr(function, "__module__", "") == module.__name__:
                    setattr(self, name, function)
        self.empty = memory.empty
        self.recycler = memory.recycler()
        self.memory_stats, self.reset_memory_peak, self.empty_cache = memory.memory_stats, memory.reset_memory_peak, memory.empty_cache
        self.num_threads, self.set_num_threads = parallel.num_threads, parallel.set_num_threads

    def current_device(self):
        return None       # there is one CPU, and its tensors carry no index

    def describe(self, load_libraries=False):
        return {**super().describe(load_libraries), **description.describe(load_libraries)}

    def to_numpy(self, array):
        return array

    def from_numpy(self, array, index=0):
        return array


backend = CPUBackend()
