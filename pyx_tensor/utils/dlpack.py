"""Tensors on the memory of other libraries' arrays, and the other way round, by the DLPack protocol.

>>> import numpy as np
>>> import pyx_tensor as torch
>>> array = np.zeros(2)
>>> torch.utils.dlpack.from_dlpack(array).add_(1)
tensor([1., 1.], dtype=torch.float64)
>>> array
array([1., 1.])
"""
from ..ops.creation import from_dlpack

__all__ = ["from_dlpack", "to_dlpack"]


def to_dlpack(tensor):
    """A capsule of the protocol, which another library's `from_dlpack` takes once; BufferError for a tensor that requires grad."""
    return tensor.__dlpack__()
