"""PyTorch's flags of the libraries below it, as plain settings: programs may set them and read them back.

The libraries themselves aren't here, so `is_available()` is False for each, and no flag changes a result. The packages that
compute are elsewhere: see `pyx_tensor.core.registry`.
"""
from . import cuda, cudnn, mkl, mkldnn, mps, openmp  # noqa: F401
