"""Windows by the names of `torch.signal.windows`: symmetric unless `sym` is False.

>>> import pyx_tensor as torch
>>> torch.signal.windows.hann(5)
tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
"""
import numpy as np

from ..core.dtype import get_default_dtype
from ..core.host_data import from_host
from ..ops.windows import bartlett_shape, cosine_sum, kaiser_shape, sampled

__all__ = ["bartlett", "blackman", "cosine", "exponential", "gaussian", "general_cosine", "general_hamming", "hamming", "hann", "kaiser", "nuttall"]


def _made(name, M, shape, dtype, layout, device, requires_grad, sym):
    """A window by its shape, a function of where from 0 to 1 along it."""
    dtype = dtype or get_default_dtype()
    if isinstance(M, bool) or not hasattr(M, "__index__"):
        raise TypeError(f"{name}(): argument 'M' must be int, not {type(M).__name__}")
    if M < 0:
        raise ValueError(f"{name} requires non-negative window length, got M={M}")
    if layout is not None and layout.name != "strided":
        raise ValueError(f"{name} is implemented for strided tensors only, got: {layout}")
    if dtype.name not in ("float32", "float64"):
        raise ValueError(f"{name} expects float32 or float64 dtypes, got: {dtype}")
    return from_host(sampled(shape, M, not sym), dtype, device, requires_grad)


def _steps(M, sym):
    """How many steps from one value to the next there are along a window."""
    return max(M - 1 if sym else M, 1)


def _check_positive(what, value):
    if value <= 0:
        raise ValueError(f"{what} must be positive, got: {value} instead.")


def exponential(M, *, center=None, tau=1.0, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """exp(-|n - center| / tau), centred in the middle; a `center` can be given where `sym` is False."""
    _check_positive("Tau", tau)
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")
    steps = _steps(M, sym)
    center = steps / 2 if center is None else center
    return _made("exponential", M, lambda at: np.exp(-np.abs(at * steps - center) / tau), dtype, layout, device, requires_grad, sym)


def cosine(M, *, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """The first half wave of a sine, sampled in the middles of M equal parts (M + 1 where `sym` is False)."""
    steps = _steps(M, sym)
    return _made("cosine", M, lambda at: np.sin(np.pi * (at * steps + 0.5) / (steps + 1)), dtype, layout, device, requires_grad, sym)


def gaussian(M, *, std=1.0, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """exp(-x² / 2), x the distance from the middle in units of `std`."""
    _check_positive("Standard deviation", std)
    steps = _steps(M, sym)
    return _made("gaussian", M, lambda at: np.exp(-0.5 * ((at - 0.5) * steps / std) ** 2), dtype, layout, device, requires_grad, sym)


def kaiser(M, *, beta=12.0, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """Kaiser's window, I0(beta sqrt(1 - x²)) / I0(beta) for x from -1 to 1, I0 a Bessel function."""
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")
    return _made("kaiser", M, kaiser_shape(beta), dtype, layout, device, requires_grad, sym)


def bartlett(M, *, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """Bartlett's window, a triangle."""
    return _made("bartlett", M, bartlett_shape, dtype, layout, device, requires_grad, sym)


def general_cosine(M, *, a, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """a[0] - a[1] cos(x) + a[2] cos(2x) - …"""
    if not isinstance(a, (list, tuple)):
        raise TypeError("Coefficients must be a list/tuple")
    if not a:
        raise ValueError("Coefficients cannot be empty")
    return _made("general_cosine", M, cosine_sum(a), dtype, layout, device, requires_grad, sym)


def general_hamming(M, *, alpha=0.54, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """alpha - (1 - alpha) cos(x)."""
    return general_cosine(M, a=[alpha, 1 - alpha], sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad)


def hamming(M, *, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """Hamming's window, 0.54 - 0.46 cos(x)."""
    return general_hamming(M, sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad)


def hann(M, *, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """Hann's window, (1 - cos(x)) / 2."""
    return general_hamming(M, alpha=0.5, sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad)


def blackman(M, *, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """Blackman's window, 0.42 - cos(x) / 2 + 0.08 cos(2x)."""
    return general_cosine(M, a=[0.42, 0.5, 0.08], sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad)


def nuttall(M, *, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """Nuttall's window of minimum side lobes, a sum of four cosines (Nuttall, 1981)."""
    return general_cosine(M, a=[0.3635819, 0.4891775, 0.1365995, 0.0106411], sym=sym, dtype=dtype, layout=layout, device=device,
                          requires_grad=requires_grad)
