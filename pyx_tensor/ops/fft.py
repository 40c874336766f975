"""The Fourier transforms of `torch.fft`: sizes, norms and dims brought down to the three in spectral.py.

There are six kinds (complex, real to half spectrum, Hermitian to real, each forward and inverse), and each comes over one
dim, over two and over several.
"""
from collections import namedtuple

import numpy as np

from ..core.definitions import define, op
from ..core.dtype import get_default_dtype
from ..core.host_data import from_host
from ..core.record import namespace
from ..core.signature import Signature, T
from .shape import wrapped
from .spectral import resized, transformable

# norm -> exponents of 1/n by which forward and inverse transforms are scaled.
_POWERS = {None: (0, 1), "backward": (0, 1), "ortho": (0.5, 0.5), "forward": (1, 0)}


# --- operands -----------------------------------------------------------------------------------------------------
def _power(name, norm, forward):
    if norm is not None and not isinstance(norm, str):
        raise TypeError(f"{name}(): argument 'norm' must be str, not {type(norm).__name__}")
    if norm not in _POWERS:
        raise RuntimeError(f'Invalid normalization mode: "{norm}"')
    return _POWERS[norm][not forward]


def _as_it_is(name, x):
    return transformable(x)


def _as_complex(name, x):
    x = transformable(x)
    return x if x.dtype.is_complex else x.to(x.dtype.to_complex())


def _as_real(name, x):
    if x.dtype.is_complex:
        raise RuntimeError(f"{name} expects a real input tensor, but got {x.dtype}")
    return transformable(x)


def _whole(name, argument, value):
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name}(): argument '{argument}' must be int, not {type(value).__name__}")
    return value.__index__()


def _several(name, argument, values):
    return [_whole(name, argument, value) for value in (values if isinstance(values, (tuple, list)) else (values,))]


def _sizes_by_dim(name, x, s, dim):
    """{dim: size, None for its own} from the arguments of a transform over several dims."""
    s = None if s is None else _several(name, "s", s)
    if dim is not None:
        dims = [wrapped(d, x.ndim or 1) for d in _several(name, "dim", dim)]
        if len(set(dims)) != len(dims):
            raise RuntimeError("FFT dims must be unique")
        if s is not None and len(s) != len(dims):
            raise RuntimeError("When given, dim and shape arguments must have the same length")
    else:
        count = x.ndim if s is None else len(s)
        if count > x.ndim:
            raise RuntimeError(f"Got shape with {count} values but input tensor only has {x.ndim} dimensions.")
        dims = range(x.ndim - count, x.ndim)
    return dict(zip(dims, [None] * len(dims) if s is None else [None if n == -1 else n for n in s]))


# --- the kinds: each takes {dim: size or None}, in order, and the exponent of the scale ----------------------------
def _check_points(size):
    if size < 1:
        raise RuntimeError(f"Invalid number of data points ({size}) specified")


def _fitted(B, x, sizes):
    """`x` with the sizes that are given, and its dims."""
    for dim, size in sizes.items():
        _check_points(x.shape[dim] if size is None else size)
    return resized(B, x, {dim: size for dim, size in sizes.items() if size is not None}), tuple(sizes)


def _complex(forward):
    def transform(B, name, x, sizes, power):
        x, dims = _fitted(B, x, sizes)
        return B._fft_c2c(x, dims, power, forward) if dims else B.clone(_as_complex(name, x))
    return transform


def _check_some_dim(name, sizes):
    if not sizes:
        raise RuntimeError(f"{name.replace('2', 'n')} must transform at least one axis")


def _to_half(B, name, x, sizes, power):
    _check_some_dim(name, sizes)
    return B._fft_r2c(*_fitted(B, x, sizes), power)


def _to_half_conjugate(B, name, x, sizes, power):
    return B.conj(_to_half(B, name, x, sizes, power))


def _from_half(B, name, x, sizes, power):
    _check_some_dim(name, sizes)
    last = list(sizes)[-1]
    size = 2 * (x.shape[last] - 1) if sizes[last] is None else sizes[last]
    _check_points(size)
    return B._fft_c2r(*_fitted(B, x, {**sizes, last: size // 2 + 1}), power, size)


def _from_half_conjugate(B, name, x, sizes, power):
    return _from_half(B, name, B.conj(x), sizes, power)


Kind = namedtuple("Kind", "operand transform forward meaning sizes")
_ALL, _TO_HALF, _FROM_HALF = "n complex values from n", "n // 2 + 1 complex values from n real ones", "n real values from n // 2 + 1 complex ones"
KINDS = {
    "fft": Kind(_as_it_is, _complex(True), True, "The discrete Fourier transform", _ALL),
    "ifft": Kind(_as_it_is, _complex(False), False, "The inverse discrete Fourier transform", _ALL),
    "rfft": Kind(_as_real, _to_half, True, "The Fourier transform of real values, without negative frequencies in the last dim", _TO_HALF),
    "irfft": Kind(_as_complex, _from_half, False, "The inverse of `rfft`: real values from half of a Hermitian spectrum", _FROM_HALF),
    "hfft": Kind(_as_complex, _from_half_conjugate, True, "The real spectrum of a Hermitian signal of which half is given", _FROM_HALF),
    "ihfft": Kind(_as_real, _to_half_conjugate, False, "The inverse of `hfft`: half of a Hermitian signal from its real spectrum", _TO_HALF),
}
_COMMON = """norm: 'backward' (the default: inverse transforms are divided by n), 'forward' (forward ones are), 'ortho' (both by sqrt(n)).

    Raises:
        RuntimeError: no points, an unknown norm, or a dtype other than float32, float64, their complex ones and integers.
        IndexError: a dim that the input doesn't have.
    """


# --- the public functions -----------------------------------------------------------------------------------------
def _over_one(name, kind):
    def body(B, input: T, n=None, dim=-1, norm=None):
        input, dim = kind.operand(name, input), _whole(f"fft_{name}", "dim", dim)
        if not input.ndim:
            raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
        sizes = {wrapped(dim, input.ndim): None if n is None else _whole(f"fft_{name}", "n", n)}
        return kind.transform(B, name, input, sizes, _power(f"fft_{name}", norm, kind.forward))
    body.__doc__ = f"""{kind.meaning}, over one dim.

    Args:
        n: points of the transform ({kind.sizes}), for which the input is cut off or filled up with zeros; by default the input's.
        dim: the last one unless given. {_COMMON}"""
    return body


def _over_several(name, kind, default):
    def body(B, input: T, s=None, dim=None, norm=None):
        input = kind.operand(name, input)
        sizes = _sizes_by_dim(f"fft_{name}", input, s, dim)
        return kind.transform(B, name, input, sizes, _power(f"fft_{name}", norm, kind.forward))
    body.__defaults__ = (None, default, None)
    body.__doc__ = f"""{kind.meaning}, over {'two' if default else 'several'} dims.

    Args:
        s: points along each dim (in the last {kind.sizes}), -1 for the input's.
        dim: {'the last two unless given' if default else 'the last len(s), or all, unless given'}. {_COMMON}"""
    return body


def _publish(name, body):
    body.__name__ = f"fft_{name}"
    define(Signature(body), primitive=False, hidden=True, method=False)


for _kind, _how in KINDS.items():
    _publish(_kind, _over_one(_kind, _how))
    _publish(f"{_kind}2", _over_several(f"{_kind}2", _how, (-2, -1)))
    _publish(f"{_kind}n", _over_several(f"{_kind}n", _how, None))


# --- frequencies --------------------------------------------------------------------------------------------------
def _shifted(B, x, dim, share):
    dims = list(range(x.ndim)) if dim is None else [wrapped(d, x.ndim or 1) for d in _several("fft_fftshift", "dim", dim)]
    return B.roll(x, [share(x.shape[d]) for d in dims], dims) if x.ndim else B.clone(x)


@op(hidden=True, method=False)
def fft_fftshift(B, input: T, dim=None):
    """A spectrum with its zero frequency moved to the middle of the dims (all unless given).

    >>> import pyx_tensor as torch
    >>> torch.fft.fftshift(torch.fft.fftfreq(4))
    tensor([-0.5000, -0.2500,  0.0000,  0.2500])
    """
    return _shifted(B, input, dim, lambda n: n // 2)


@op(hidden=True, method=False)
def fft_ifftshift(B, input: T, dim=None):
    """The inverse of `fftshift`."""
    return _shifted(B, input, dim, lambda n: -(n // 2))


def _frequencies(name, places, n, d, dtype, device, requires_grad, out):
    if _whole(f"fft_{name}", "n", n) < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {n}: [{n}]")
    dtype = dtype or (out.dtype if out is not None else get_default_dtype())
    if not dtype.is_floating_point:
        raise RuntimeError(f"{name} requires a floating point dtype, got {dtype}")
    with np.errstate(all="ignore"):
        values = places(n) * np.float64(1) / (n * np.float64(d)) if n else np.zeros(places(n).shape)
    return from_host(values, dtype, device, requires_grad, out)


def fftfreq(n, d=1.0, *, out=None, dtype=None, layout=None, device=None, requires_grad=False):
    """The frequencies of the n values of `fft`, in cycles per unit, for samples `d` units apart: [0, 1, …, -2, -1] / (n d).

    >>> import pyx_tensor as torch
    >>> torch.fft.fftfreq(5)
    tensor([ 0.0000,  0.2000,  0.4000, -0.4000, -0.2000])
    """
    return _frequencies("fftfreq", lambda n: (np.arange(n) + n // 2) % max(n, 1) - n // 2, n, d, dtype, device, requires_grad, out)


def rfftfreq(n, d=1.0, *, out=None, dtype=None, layout=None, device=None, requires_grad=False):
    """The frequencies of the values of `rfft` of n samples `d` units apart: [0, 1, …, n // 2] / (n d).

    >>> import pyx_tensor as torch
    >>> torch.fft.rfftfreq(5)
    tensor([0.0000, 0.2000, 0.4000])
    """
    return _frequencies("rfftfreq", lambda n: np.arange(n // 2 + 1), n, d, dtype, device, requires_grad, out)


functions = {name: getattr(namespace, f"fft_{name}") for kind in KINDS for name in (kind, f"{kind}2", f"{kind}n")}
functions.update(fftshift=namespace.fft_fftshift, ifftshift=namespace.fft_ifftshift, fftfreq=fftfreq, rfftfreq=rfftfreq)
