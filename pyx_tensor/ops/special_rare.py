"""Rarer special functions: polynomials by their recurrences, Bessel functions by SciPy (without gradients, as in PyTorch)."""
import numpy as np

from ..core.definitions import define
from ..core.dtype import by_name, get_default_dtype
from ..core.record import namespace
from ..core.signature import Signature, T
from .creation import from_numpy, result_type


def _define(name, body, doc, **options):
    body.__name__, body.__doc__ = f"special_{name}", doc
    define(Signature(body), primitive=False, promote="float", hidden=True, method=False, **options)


def _floating(name, *operands):
    """The operands in their common dtype, float32 or float64; integers in the default one."""
    dtype = result_type(*operands) if len(operands) == 2 else operands[0].dtype
    if not (dtype.is_floating_point or dtype.is_complex):
        dtype = get_default_dtype()
    if dtype.name not in ("float32", "float64"):
        raise NotImplementedError(f'"{name}_cpu" not implemented for {dtype}')
    return [x.to(dtype) for x in operands]


# --- polynomials --------------------------------------------------------------------------------------------------
# name -> what it is, p1(x), and p(k+1) from x, k, p(k), p(k-1); p0 is 1.
def _double(x, k, p, q):
    return 2 * x * p - q


POLYNOMIALS = {
    "chebyshev_polynomial_t": ("Chebyshev polynomials of the first kind", lambda x: x, _double),
    "chebyshev_polynomial_u": ("Chebyshev polynomials of the second kind", lambda x: 2 * x, _double),
    "chebyshev_polynomial_v": ("Chebyshev polynomials of the third kind", lambda x: 2 * x - 1, _double),
    "chebyshev_polynomial_w": ("Chebyshev polynomials of the fourth kind", lambda x: 2 * x + 1, _double),
    "hermite_polynomial_h": ("Hermite polynomials of the physicists", lambda x: 2 * x, lambda x, k, p, q: 2 * x * p - 2 * k * q),
    "hermite_polynomial_he": ("Hermite polynomials of the statisticians", lambda x: x, lambda x, k, p, q: x * p - k * q),
    "laguerre_polynomial_l": ("Laguerre polynomials", lambda x: 1 - x, lambda x, k, p, q: ((2 * k + 1 - x) * p - k * q) / (k + 1)),
    "legendre_polynomial_p": ("Legendre polynomials", lambda x: x, lambda x, k, p, q: ((2 * k + 1) * x * p - k * q) / (k + 1)),
}


def _by_recurrence(B, x, n, first, step):
    """p_n(x) of tensors: n is cut off to an integer; 0 where it is negative. Computed in double precision."""
    x, n = B.broadcast_tensors(x, n)
    wide, degree = x.to(by_name["float64"]), n.trunc()
    result = B.ge(degree, 0).to(wide.dtype)
    highest = int(degree.nan_to_num(0.0).amax().item()) if degree.numel() else 0
    before, now = B.ones_like(wide), first(wide)
    for k in range(1, highest + 1):
        result = B.where(B.eq(degree, k), now, result)
        before, now = now, step(wide, k, now, before)
    return result.to(x.dtype)


def _polynomial(name, what, first, step, shifted):
    def body(B, input: T, n: T):
        input, n = _floating(name, input, n)
        return _by_recurrence(B, 2 * input - 1 if shifted else input, n, first, step)
    _define(name, body, f"""{what}{', of 2 input - 1' if shifted else ''}, element by element.

    Args:
        input: where; n: the degrees, cut off to integers (the result is 0 where negative). One of them may be a number.
    """)


for _name, (_what, _first, _step) in POLYNOMIALS.items():
    _polynomial(_name, _what, _first, _step, False)
    if _name.startswith("chebyshev"):
        _polynomial(f"shifted_{_name}", _what, _first, _step, True)


# --- Bessel functions ---------------------------------------------------------------------------------------------
def _scipy_special(name):
    try:
        import scipy.special
    except ImportError as error:
        raise ImportError(f"torch.special.{name} needs SciPy, which can't be imported ({error}); pip install 'pyx-tensor[scipy]'") from error
    return scipy.special


# name -> what it is, and the function of SciPy's module.
BY_SCIPY = {
    "airy_ai": ("The Airy function Ai", lambda scipy, x: scipy.airy(x)[0]),
    "bessel_j0": ("The Bessel function of the first kind and order 0", lambda scipy, x: scipy.j0(x)),
    "bessel_j1": ("The Bessel function of the first kind and order 1", lambda scipy, x: scipy.j1(x)),
    "bessel_y0": ("The Bessel function of the second kind and order 0", lambda scipy, x: scipy.y0(x)),
    "bessel_y1": ("The Bessel function of the second kind and order 1", lambda scipy, x: scipy.y1(x)),
    "modified_bessel_k0": ("The modified Bessel function of the second kind and order 0", lambda scipy, x: scipy.k0(x)),
    "modified_bessel_k1": ("The modified Bessel function of the second kind and order 1", lambda scipy, x: scipy.k1(x)),
    "scaled_modified_bessel_k0": ("exp(input) times `modified_bessel_k0`", lambda scipy, x: scipy.k0e(x)),
    "scaled_modified_bessel_k1": ("exp(input) times `modified_bessel_k1`", lambda scipy, x: scipy.k1e(x)),
}


def _through_scipy(name, what, function):
    def body(B, input: T):
        input, = _floating(name, input)
        values = function(_scipy_special(name), input._host_array())
        return from_numpy(np.asarray(values, input.dtype.numpy)).to(input.device)
    _define(name, body, f"""{what}, element by element, computed by SciPy.

    Raises:
        ImportError: SciPy isn't installed; the extra `scipy` has it.
    """, nograd=True)


for _name, (_what, _function) in BY_SCIPY.items():
    _through_scipy(_name, _what, _function)


def _same_as(name, what, original):
    def body(B, input: T):
        return original(B)(*_floating(name, input))
    _define(name, body, what)


_same_as("modified_bessel_i0", "The modified Bessel function of the first kind and order 0.", lambda B: B.i0)
_same_as("modified_bessel_i1", "The modified Bessel function of the first kind and order 1.", lambda B: B.special_i1)


def _spherical_bessel_j0(B, input: T):
    input, = _floating("spherical_bessel_j0", input)
    result = B.masked_fill(B.div(B.sin(input), input), B.eq(input, 0), 1)
    return B.masked_fill(result, B.isinf(input), 0)


_define("spherical_bessel_j0", _spherical_bessel_j0, "The spherical Bessel function of order 0, `sin(input) / input`.")

functions = {name: getattr(namespace, f"special_{name}") for name in
             (*POLYNOMIALS, *(f"shifted_{name}" for name in POLYNOMIALS if name.startswith("chebyshev")), *BY_SCIPY,
              "modified_bessel_i0", "modified_bessel_i1", "spherical_bessel_j0")}
