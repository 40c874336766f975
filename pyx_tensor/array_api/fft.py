"""The standard's Fourier transforms."""
from importlib import import_module

from ..core.dtype import by_name

_fft = import_module("..fft", __package__)


def _transform(name, several):
    function = getattr(_fft, name)
    if several:
        def transform(x, /, *, s=None, axes=None, norm="backward"):
            return function(x, s, axes, norm)
    else:
        def transform(x, /, *, n=None, axis=-1, norm="backward"):
            return function(x, n, axis, norm)
    transform.__name__ = transform.__qualname__ = name
    transform.__doc__ = function.__doc__
    return transform


for _name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
    globals()[_name] = _transform(_name, False)
for _name in ("fftn", "ifftn", "rfftn", "irfftn"):
    globals()[_name] = _transform(_name, True)


def _frequencies(name):
    function = getattr(_fft, name)

    def frequencies(n, /, *, d=1.0, dtype=None, device=None):
        return function(n, d, dtype=dtype or by_name["float32"], device=device)
    frequencies.__name__ = frequencies.__qualname__ = name
    frequencies.__doc__ = function.__doc__
    return frequencies


fftfreq, rfftfreq = _frequencies("fftfreq"), _frequencies("rfftfreq")


def fftshift(x, /, *, axes=None):
    """The zero frequency in the middle."""
    return _fft.fftshift(x, axes)


def ifftshift(x, /, *, axes=None):
    """The inverse of `fftshift`."""
    return _fft.ifftshift(x, axes)
