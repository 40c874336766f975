"""PyTorch's flags of the libraries below it: programs may set them and read them back.

Those of cuBLAS and cuDNN hold on CUDA devices. The other libraries aren't here: `is_available()` is False for each, and no flag changes a
result. The packages that compute are elsewhere: see `pyx_tensor.core.registry`.
"""
from . import cuda, cudnn, mkl, mkldnn, mps, openmp  # noqa: F401
