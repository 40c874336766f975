"""Discrete Fourier transforms, with gradients: `torch.fft`.

>>> import pyx_tensor as torch
>>> torch.fft.rfft(torch.tensor([1.0, 2.0, 3.0, 4.0]))
tensor([10.+0.j, -2.+2.j, -2.+0.j])
"""
from .ops.fft import functions as _functions

globals().update(_functions)
__all__ = sorted(_functions)
