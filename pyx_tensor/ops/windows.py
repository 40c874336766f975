"""Window functions: weights that fall off towards both ends of a frame."""
import numpy as np

from ..core.definitions import creates
from ..core.dtype import get_default_dtype, read_dtype
from ..core.host_data import from_host


def cosine_sum(coefficients):
    """The window a0 - a1 cos(x) + a2 cos(2x) - …, as a function of where from 0 to 1 along the frame."""
    return lambda at: sum((-1) ** k * a * np.cos(2 * np.pi * k * at) for k, a in enumerate(coefficients))


def bartlett_shape(at):
    return 1 - np.abs(2 * at - 1)


def kaiser_shape(beta):
    return lambda at: np.i0(beta * np.sqrt(np.maximum(1 - (2 * at - 1) ** 2, 0))) / np.i0(float(beta))


def sampled(shape, count, periodic):
    """`count` float64 values of a window; a periodic one leaves out the last of one more."""
    if count < 2:
        return np.ones(count)
    return shape(np.arange(count) / (count if periodic else count - 1))


_BODY = """

    Args:
        window_length: the number of values, at least 0.
        periodic: True for a window to repeat, whose last value is left out; False for a symmetric one.
        dtype: a floating-point one, the default unless given. layout: dense only.

    Raises:
        RuntimeError: the length is negative, or the dtype isn't a floating-point one.
    """


def _window(name, count, periodic, shape, dtype, layout, device, requires_grad):
    if isinstance(count, bool) or not hasattr(count, "__index__"):
        raise TypeError(f"{name}(): argument 'window_length' (position 1) must be int, not {type(count).__name__}")
    dtype = read_dtype(name, dtype) or get_default_dtype()
    if layout is not None and layout.name != "strided":
        raise RuntimeError(f"{name} is not implemented for sparse types, got: {layout}")
    if not dtype.is_floating_point:
        raise RuntimeError(f"{name} expects floating point dtypes, got: {dtype}")
    if count < 0:
        raise RuntimeError(f"{name} requires non-negative window_length, got window_length={count}")
    return from_host(sampled(shape, count, periodic), dtype, device, requires_grad)


@creates
def hann_window(window_length, periodic=True, *, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False):
    """Hann's window, (1 - cos(x)) / 2."""
    return _window("hann_window", window_length, periodic, cosine_sum((0.5, 0.5)), dtype, layout, device, requires_grad)


@creates
def hamming_window(window_length, periodic=True, alpha=0.54, beta=0.46, *, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False):
    """Hamming's window, alpha - beta cos(x)."""
    return _window("hamming_window", window_length, periodic, cosine_sum((alpha, beta)), dtype, layout, device, requires_grad)


@creates
def blackman_window(window_length, periodic=True, *, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False):
    """Blackman's window, 0.42 - cos(x) / 2 + 0.08 cos(2x)."""
    return _window("blackman_window", window_length, periodic, cosine_sum((0.42, 0.5, 0.08)), dtype, layout, device, requires_grad)


@creates
def bartlett_window(window_length, periodic=True, *, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False):
    """Bartlett's window, a triangle."""
    return _window("bartlett_window", window_length, periodic, bartlett_shape, dtype, layout, device, requires_grad)


@creates
def kaiser_window(window_length, periodic=True, beta=12.0, *, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False):
    """Kaiser's window, I0(beta sqrt(1 - x²)) / I0(beta) for x from -1 to 1, I0 a Bessel function."""
    return _window("kaiser_window", window_length, periodic, kaiser_shape(beta), dtype, layout, device, requires_grad)


for _function in (hann_window, hamming_window, blackman_window, bartlett_window, kaiser_window):
    _function.__doc__ += _BODY
