"""The three discrete Fourier transforms that all others are made of.

`power` says how a transform over n points is scaled: by n^-power. A transform's adjoint is the opposite transform with
the same scale, which is all that the gradients need.
"""
from ..core.definitions import primitive
from ..core.dtype import get_default_dtype
from ..core.signature import T

_SPECTRAL = dict(hidden=True, method=False, promote="float")


@primitive(**_SPECTRAL, grad_name="FftC2C", vjp=dict(
    input=lambda B, g, dims, power, forward: B._fft_c2c(g, dims, power, not forward)), entry="fft_c2c")
def _fft_c2c(B, input: T, dims, power, forward):
    """Complex or real numbers over several dims, forward (e^-ikx) or inverse (e^ikx), to complex ones."""


@primitive(**_SPECTRAL, grad_name="FftR2C", entry="fft_r2c", vjp=dict(
    input=lambda B, g, input_shape, dims, power: B.real(B._fft_c2c(resized(B, g, {dims[-1]: input_shape[dims[-1]]}), dims, power, False))))
def _fft_r2c(B, input: T, dims, power):
    """Real numbers forward over several dims; of the last one the frequencies that aren't negative."""


def _c2r_vjp(B, g, input_shape, dims, power, size):
    half = B._fft_r2c(g, dims, power)
    n, last = input_shape[dims[-1]], dims[-1]
    counts = [1 if k == 0 or 2 * k == size else 2 for k in range(n)]      # how often a frequency counts, with its negative one
    weights = B.tensor(counts, dtype=g.dtype, device=g.device).reshape((n,) + (1,) * (g.ndim - 1 - last))
    return B.mul(half, weights)


@primitive(**_SPECTRAL, grad_name="FftC2R", entry="fft_c2r", vjp=dict(input=_c2r_vjp))
def _fft_c2r(B, input: T, dims, power, size):
    """The inverse of `_fft_r2c`, to `size` real numbers along the last of the dims."""


def transformable(x):
    """`x`, as floating point where it has whole numbers."""
    if x.dtype.name in ("float16", "bfloat16"):
        raise RuntimeError(f"Unsupported dtype {x.dtype}: Fourier transforms take float32, float64 and their complex dtypes")
    return x if x.dtype.is_floating_point or x.dtype.is_complex else x.to(get_default_dtype())


def resized(B, x, sizes):
    """`x` cut off or filled up with zeros at the end of dims: {dim: size}."""
    for dim, size in sizes.items():
        missing = size - x.shape[dim]
        if missing < 0:
            x = B.narrow(x, dim, 0, size)
        elif missing:
            shape = [missing if d == dim else n for d, n in enumerate(x.shape)]
            x = B.cat([x, B.zeros(shape, dtype=x.dtype, device=x.device)], dim)
    return x
