"""The CPU backend's elementwise operations, against NumPy (in extended precision where an error bound is claimed)."""
import math

import ml_dtypes
import numpy as np
import pytest

from pyx_tensor_cpu import level, pointwise as P

BF16 = np.dtype(ml_dtypes.bfloat16)
INTEGERS = [np.dtype(t) for t in ("u1", "i1", "i2", "i4", "i8", "u2", "u4", "u8")]
HALVES = [np.dtype("f2"), BF16]
REALS = [np.dtype("f4"), np.dtype("f8")]
FLOATS = HALVES + REALS
COMPLEX = [np.dtype("c8"), np.dtype("c16")]
BOOL = [np.dtype("?")]
EXTENDED = np.longdouble


@pytest.fixture(params=level.supported_levels(), autouse=True)
def cpu_level(request):
    before = level.cpu_level()
    level.set_cpu_level(request.param)
    yield request.param
    level.set_cpu_level(before)


def sample(dtype, shape=(3, 5), seed=0, nonzero=False):
    return np.asarray(sample_values(dtype, shape, seed, nonzero))


def sample_values(dtype, shape, seed, nonzero):
    rng = np.random.default_rng(seed)
    if dtype.kind == "b":
        return np.asarray(rng.integers(0, 2, shape)).astype(bool)
    if dtype.kind in "iu":
        low = -20 if dtype.kind == "i" else 0
        a = rng.integers(low, 21, shape)
        return np.where((np.asarray(a) == 0) & nonzero, 3, a).astype(dtype)
    a = np.asarray(rng.normal(size=shape)) * 2
    if dtype.kind == "c":
        a = a + 1j * rng.normal(size=shape)
    return a.astype(dtype)


def wide(a):
    """The type in which the reference is computed."""
    return np.asarray(a.astype("f8") if a.dtype in HALVES else a)


def close(got, expected, dtype, ulps=4):
    assert got.dtype == dtype and got.shape == np.shape(expected)
    if dtype.kind in "biu":
        np.testing.assert_array_equal(got, expected)
    else:
        eps = float(ml_dtypes.finfo(dtype).eps)
        np.testing.assert_allclose(got.astype("c16" if dtype.kind == "c" else "f8"), expected, rtol=ulps * eps, atol=ulps * eps)


def layouts(a):
    """The same values, laid out in memory in different ways."""
    yield a
    yield np.asfortranarray(a)
    big = np.zeros(tuple(2 * n for n in a.shape), a.dtype)
    big[tuple(slice(None, None, 2) for _ in a.shape)] = a
    yield big[tuple(slice(None, None, 2) for _ in a.shape)]


UNARY_EXACT = [
    ("neg", np.negative, INTEGERS + FLOATS + COMPLEX), ("abs", np.abs, INTEGERS + FLOATS + COMPLEX), ("square", lambda a: a * a, INTEGERS + FLOATS + COMPLEX),
    ("sign", np.sign, INTEGERS + FLOATS), ("logical_not", np.logical_not, BOOL + INTEGERS + FLOATS + COMPLEX),
    ("bitwise_not", np.invert, BOOL + INTEGERS), ("isnan", np.isnan, INTEGERS + FLOATS + COMPLEX), ("isinf", np.isinf, INTEGERS + FLOATS + COMPLEX),
    ("isfinite", np.isfinite, INTEGERS + FLOATS + COMPLEX), ("signbit", np.signbit, [t for t in INTEGERS if t.kind == "i"] + FLOATS),
    ("conj", np.conj, INTEGERS + FLOATS + COMPLEX), ("floor", np.floor, INTEGERS + FLOATS), ("ceil", np.ceil, INTEGERS + FLOATS),
    ("round", np.rint, FLOATS), ("trunc", np.trunc, INTEGERS + FLOATS), ("frac", lambda a: a - np.trunc(a), FLOATS),
    ("relu", lambda a: np.maximum(a, 0), INTEGERS + FLOATS), ("real", np.real, REALS + COMPLEX), ("imag", np.imag, COMPLEX), ("angle", np.angle, REALS + COMPLEX),
    ("reciprocal", lambda a: 1 / a, FLOATS + COMPLEX),
]
UNARY_EXACT = [pytest.param(name, reference, dtype, id=f"{name}-{dtype}") for name, reference, dtypes in UNARY_EXACT for dtype in dtypes]


@pytest.mark.parametrize("dtype", BOOL + INTEGERS + FLOATS, ids=str)
def test_heaviside(dtype):
    a, b = sample(dtype), sample(dtype, seed=1)
    a[::2, ::2] = 0
    for x, y in zip(layouts(a), layouts(b)):
        close(P.heaviside(x, y), np.where(wide(a) == 0, wide(b), wide(a) > 0), dtype)
    close(P.heaviside(a, b[0]), np.where(wide(a) == 0, wide(b)[0], wide(a) > 0), dtype)
    if dtype.kind == "f":
        assert P.heaviside(np.array([np.nan, -0.0], dtype), np.array(7, dtype)).tolist() == [0, 7]


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_nan_to_num(dtype):
    a = np.tile(sample(dtype), (7, 3))
    a[0], a[:, 1], a[2:, 4] = np.nan, np.inf, -np.inf
    largest = float(ml_dtypes.finfo(dtype).max)
    for x in layouts(a):
        np.testing.assert_array_equal(wide(P.nan_to_num(x, None, None, None)), np.nan_to_num(wide(a), posinf=largest, neginf=-largest))
        np.testing.assert_array_equal(wide(P.nan_to_num(x, 1, None, 3)), np.nan_to_num(wide(a), nan=1, posinf=largest, neginf=3))
    assert P.nan_to_num(a[:0], 1, 2, 3).shape == (0, 15) and P.nan_to_num(a[0, :1].reshape(()), None, None, None) == 0
    for refused in (INTEGERS[0], COMPLEX[0]):
        with pytest.raises(TypeError, match="nan_to_num is not implemented"):
            P.nan_to_num(np.zeros(2, refused), None, None, None)


@pytest.mark.parametrize("name, reference, dtype", UNARY_EXACT)
def test_unary(name, reference, dtype):
    a = sample(dtype)
    with np.errstate(over="ignore"):
        expected = reference(wide(a))
    result = {"b": np.dtype(bool), "c": dtype}.get(expected.dtype.kind, dtype)
    if dtype.kind == "c" and expected.dtype.kind == "f":
        result = np.dtype(f"f{dtype.itemsize // 2}")
    for x in layouts(a):
        close(getattr(P, name)(x), expected, result)


def erf_extended(x):
    return np.array([math.erf(v) for v in x.ravel()]).reshape(x.shape)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def erfinv_extended(x):
    """Newton's steps in double precision, on erf or on erfc where it is the smaller."""
    def root(y):
        guess = float(P.erfinv(np.array(abs(float(y)))))
        for _ in range(3):
            error = math.erf(guess) - abs(y) if abs(y) < 0.5 else (1 - abs(y)) - np.longdouble(math.erfc(guess))
            guess -= float(error) / (2 / math.sqrt(math.pi) * math.exp(-guess * guess))
        return math.copysign(guess, y)
    return np.array([root(v) for v in x.ravel()], EXTENDED).reshape(x.shape)


def lgamma_extended(x):
    return np.array([math.lgamma(v) for v in x.ravel()]).reshape(x.shape)


# name, reference, domain, claimed error in ulp of float32 and of float64
FUNCTIONS = [
    ("exp", np.exp, (-110, 95), 1, 1), ("exp2", np.exp2, (-152, 130), 1.5, 1.5), ("expm1", np.expm1, (-20, 95), 2, 2), ("log", np.log, (0, 1e3), 1, 1),
    ("log2", np.log2, (0, 1e3), 2, 2), ("log10", np.log10, (0, 1e3), 1, 2), ("log1p", np.log1p, (-1, 1e2), 1, 1), ("sin", np.sin, (-1e5, 1e5), 2, 2),
    ("cos", np.cos, (-1e5, 1e5), 2, 2), ("tan", np.tan, (-1e5, 1e5), 1, 4), ("asin", np.arcsin, (-1, 1), 2, 3), ("acos", np.arccos, (-1, 1), 1.5, 3),
    ("atan", np.arctan, (-50, 50), 2, 3), ("sinh", np.sinh, (-90, 90), 1, 3), ("cosh", np.cosh, (-90, 90), 1, 2), ("tanh", np.tanh, (-10, 10), 2, 3),
    ("asinh", np.arcsinh, (-1e3, 1e3), 1, 3), ("acosh", np.arccosh, (1, 1e3), 1, 3), ("atanh", np.arctanh, (-1, 1), 1, 3), ("sigmoid", sigmoid, (-100, 100), 2, 3),
    ("sqrt", np.sqrt, (0, 1e3), 0.5, 0.5), ("rsqrt", lambda x: 1 / np.sqrt(x), (0, 1e3), 1.5, 1.5), ("erf", erf_extended, (-5, 5), 2, None),
    ("erfc", lambda x: 1 - erf_extended(x), (-5, 2), 1, None), ("silu", lambda x: x * sigmoid(x), (-100, 100), 3, 3),
    ("erfinv", erfinv_extended, (-1, 1), 2.5, None), ("lgamma", lgamma_extended, (0, 100), 1, None),
]


def ulp_error(got, exact):
    rounded = exact.astype(got.dtype)
    return np.abs(got.astype(EXTENDED) - exact) / np.spacing(np.abs(rounded)).astype(EXTENDED)


@pytest.mark.parametrize("name, reference, domain, bound32, bound64", FUNCTIONS, ids=[f[0] for f in FUNCTIONS])
def test_function_error(name, reference, domain, bound32, bound64):
    rng = np.random.default_rng(1)
    for dtype, bound in (("f4", bound32), ("f8", bound64)):
        if bound is None or np.finfo(EXTENDED).eps >= np.finfo("f8").eps and dtype == "f8":
            continue
        near = np.abs(rng.normal(size=5000)) if domain[0] == 0 else rng.normal(size=5000)
        x = np.concatenate([rng.uniform(*domain, 20000), near, near * 1e-3]).astype(dtype)
        x = x[(x > domain[0]) & (x < domain[1])]
        with np.errstate(over="ignore", under="ignore"):
            exact = reference(x.astype(EXTENDED))
            fits = np.abs(exact) <= np.finfo(dtype).max
            assert ulp_error(getattr(P, name)(x), exact)[fits].max() <= bound


def test_erf_of_doubles():
    """Against the C library's, which is good to an ulp."""
    x = np.concatenate([np.linspace(-6.5, 6.5, 4001), np.geomspace(1e-300, 1, 500)])
    exact = np.array([math.erf(v) for v in x])
    assert (np.abs(P.erf(x) - exact) <= 2 * np.spacing(np.abs(exact))).all()


def test_atan2_of_floats():
    """In all directions, at all magnitudes, and with every pair of special values."""
    rng = np.random.default_rng(2)
    y, x = ((rng.normal(size=20000) * 10.0 ** rng.integers(-44, 38, 20000)).astype("f4") for _ in range(2))
    near = rng.normal(size=(2, 5000)).astype("f4")
    for a, b in ((y, x), near):
        assert ulp_error(P.atan2(a, b), np.arctan2(a.astype(EXTENDED), b.astype(EXTENDED))).max() <= 2
    special = np.array([0.0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 3e38, -3e38], "f4")
    a, b = (m.ravel() for m in np.meshgrid(special, special))
    got, expected = P.atan2(a, b), np.arctan2(a, b)
    np.testing.assert_allclose(got, expected, rtol=3e-7)
    np.testing.assert_array_equal(np.signbit(got)[got == got], np.signbit(expected)[got == got])


def test_power_of_floats():
    rng = np.random.default_rng(3)
    x, y = np.exp(rng.uniform(-20, 20, 20000)).astype("f4"), rng.uniform(-4, 4, 20000).astype("f4")
    assert ulp_error(P.pow(x, y), np.power(x.astype(EXTENDED), y.astype(EXTENDED))).max() <= 1
    special = np.array([0.0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 2, -2, 3, -3, 0.5, -0.5, 1e-40, 1e38, -1e38], "f4")
    a, b = (m.ravel() for m in np.meshgrid(special, special))
    with np.errstate(all="ignore"):
        got, expected = P.pow(a, b), np.power(a, b)
    np.testing.assert_allclose(got, expected, rtol=3e-7)
    np.testing.assert_array_equal(np.signbit(got)[got == got], np.signbit(expected)[got == got])
    np.testing.assert_array_equal(P.pow(x, np.array(3, "f4")), x * x * x)


SPECIAL = {
    "exp": (1, 1, np.inf, 0, np.nan), "expm1": (0.0, -0.0, np.inf, -1, np.nan), "exp2": (1, 1, np.inf, 0, np.nan), "log": (-np.inf, -np.inf, np.inf, np.nan, np.nan),
    "log2": (-np.inf, -np.inf, np.inf, np.nan, np.nan), "log10": (-np.inf, -np.inf, np.inf, np.nan, np.nan), "log1p": (0.0, -0.0, np.inf, np.nan, np.nan),
    "sin": (0.0, -0.0, np.nan, np.nan, np.nan), "cos": (1, 1, np.nan, np.nan, np.nan), "tan": (0.0, -0.0, np.nan, np.nan, np.nan),
    "asin": (0.0, -0.0, np.nan, np.nan, np.nan), "acos": (np.pi / 2, np.pi / 2, np.nan, np.nan, np.nan), "atan": (0.0, -0.0, np.pi / 2, -np.pi / 2, np.nan),
    "sinh": (0.0, -0.0, np.inf, -np.inf, np.nan), "cosh": (1, 1, np.inf, np.inf, np.nan), "tanh": (0.0, -0.0, 1, -1, np.nan),
    "asinh": (0.0, -0.0, np.inf, -np.inf, np.nan), "acosh": (np.nan, np.nan, np.inf, np.nan, np.nan), "atanh": (0.0, -0.0, np.nan, np.nan, np.nan),
    "sigmoid": (0.5, 0.5, 1, 0, np.nan), "silu": (0.0, -0.0, np.inf, -0.0, np.nan), "mish": (0.0, -0.0, np.inf, -0.0, np.nan), "erf": (0.0, -0.0, 1, -1, np.nan),
    "erfc": (1, 1, 0, 2, np.nan), "erfinv": (0.0, -0.0, np.nan, np.nan, np.nan), "sqrt": (0.0, -0.0, np.inf, np.nan, np.nan), "rsqrt": (np.inf, -np.inf, 0.0, np.nan, np.nan),
    "reciprocal": (np.inf, -np.inf, 0.0, -0.0, np.nan), "neg": (-0.0, 0.0, -np.inf, np.inf, np.nan), "abs": (0.0, 0.0, np.inf, np.inf, np.nan),
    "floor": (0.0, -0.0, np.inf, -np.inf, np.nan), "ceil": (0.0, -0.0, np.inf, -np.inf, np.nan), "round": (0.0, -0.0, np.inf, -np.inf, np.nan),
    "trunc": (0.0, -0.0, np.inf, -np.inf, np.nan), "lgamma": (np.inf, np.inf, np.inf, np.inf, np.nan), "digamma": (-np.inf, np.inf, np.inf, np.nan, np.nan),
    "relu": (0.0, 0.0, np.inf, 0.0, np.nan),
}


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("name", SPECIAL)
def test_special_values(name, dtype):
    """±0, ±infinity and NaN, in every lane of a vector."""
    x = np.tile(np.array([0.0, -0.0, np.inf, -np.inf, np.nan], dtype), 17)
    expected = np.tile(np.array(SPECIAL[name], dtype), 17).astype("f8")
    got = getattr(P, name)(x).astype("f8")
    np.testing.assert_array_max_ulp(np.where(expected == expected, got, 0), np.where(expected == expected, expected, 0), 0 if dtype not in HALVES else 1)
    np.testing.assert_array_equal(np.isnan(got), np.isnan(expected))
    zero = expected == 0
    np.testing.assert_array_equal(np.signbit(got[zero]), np.signbit(expected[zero]))


@pytest.mark.parametrize("dtype", REALS, ids=str)
def test_subnormals(dtype):
    tiny = np.finfo(dtype).smallest_subnormal
    x = (np.arange(1, 40) * tiny).astype(dtype)
    for name in ("sin", "tan", "tanh", "expm1", "log1p", "asinh", "atanh", "sinh", "asin", "atan"):
        np.testing.assert_array_equal(getattr(P, name)(x), x, err_msg=name)
    assert ulp_error(P.log(x), np.log(x.astype(EXTENDED))).max() <= 1
    low = np.linspace(np.log(float(tiny)) + 1, np.log(float(np.finfo(dtype).tiny)), 50).astype(dtype)
    assert ulp_error(P.exp(low), np.exp(low.astype(EXTENDED))).max() <= 1


def test_activations():
    x = np.linspace(-20, 20, 4001)
    cdf = np.array([0.5 * math.erfc(-v / math.sqrt(2)) for v in x])
    u = math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3)
    expected = {
        "gelu": (lambda a: P.gelu(a, False), x * cdf), "gelu tanh": (lambda a: P.gelu(a, True), 0.5 * x * (1 + np.tanh(u))),
        "mish": (P.mish, x * np.tanh(np.log1p(np.exp(x)))), "leaky_relu": (lambda a: P.leaky_relu(a, 0.01), np.where(x > 0, x, 0.01 * x)),
        "softplus": (lambda a: P.softplus(a, 2, 20), np.where(2 * x > 20, x, np.log1p(np.exp(2 * x)) / 2)),
        "elu": (lambda a: P.elu(a, 1.5, 1.2, 0.7), np.where(x > 0, 1.2 * x, 1.8 * np.expm1(0.7 * x))),
    }
    for name, (function, reference) in expected.items():
        for dtype, tolerance in (("f8", 1e-14), ("f4", 1e-6), ("f2", 2e-3), (BF16, 1e-2)):
            a = x.astype(dtype)
            if np.dtype(dtype) not in REALS:        # the rounding of the operand is not the function's
                a, keep = a[::100], slice(None, None, 100)
            else:
                keep = slice(None)
            np.testing.assert_allclose(function(a).astype("f8"), reference[keep], rtol=tolerance, atol=tolerance * 2, err_msg=f"{name} {dtype}")


def numeric_slope(function, x):
    h = 1e-6
    return (function(x + h) - function(x - h)) / (2 * h)


@pytest.mark.parametrize("name, forward", [("gelu", lambda a: P.gelu(a, False)), ("gelu_tanh", lambda a: P.gelu(a, True)), ("silu", P.silu)])
def test_backward_of_operand(name, forward):
    x, g = np.linspace(-6, 6, 301), np.linspace(1, 2, 301)
    expected = g * numeric_slope(forward, x)
    backward = P.silu_backward if name == "silu" else lambda g, a: P.gelu_backward(g, a, name == "gelu_tanh")
    np.testing.assert_allclose(backward(g, x), expected, atol=1e-8)
    np.testing.assert_allclose(backward(g.astype("f4"), x.astype("f4")), expected, atol=2e-6)


def test_backward_of_result():
    x, g = np.linspace(-6, 6, 301), np.linspace(1, 2, 301)
    np.testing.assert_allclose(P.sigmoid_backward(g, P.sigmoid(x)), g * numeric_slope(P.sigmoid, x), atol=1e-8)
    np.testing.assert_allclose(P.tanh_backward(g, P.tanh(x)), g * numeric_slope(P.tanh, x), atol=1e-8)
    np.testing.assert_array_equal(P.relu_backward(g, P.relu(x)), np.where(x > 0, g, 0))


def test_gamma_functions():
    x = np.concatenate([np.linspace(0.05, 30, 300), np.linspace(-3.95, -0.15, 39)])
    np.testing.assert_allclose(P.lgamma(x), [math.lgamma(v) for v in x], rtol=1e-13)
    h = 1e-5
    slope = np.array([(math.lgamma(v + h) - math.lgamma(v - h)) / (2 * h) for v in x])
    np.testing.assert_allclose(P.digamma(x), slope, rtol=1e-5, atol=1e-5)
    assert P.digamma(np.array(1.0)) == pytest.approx(-0.57721566490153286, rel=1e-15)
    y = np.linspace(-0.999999, 0.999999, 401)
    np.testing.assert_allclose([math.erf(v) for v in P.erfinv(y)], y, rtol=1e-14)
    np.testing.assert_array_equal(P.erfinv(np.array([1.0, -1.0, 1.5])), [np.inf, -np.inf, np.nan])


RING = INTEGERS + FLOATS + COMPLEX
BINARY = [
    ("add", np.add, RING), ("sub", np.subtract, RING), ("mul", np.multiply, RING), ("div", np.divide, FLOATS + COMPLEX),
    ("floor_divide", np.floor_divide, INTEGERS + FLOATS), ("remainder", np.remainder, INTEGERS + FLOATS), ("fmod", np.fmod, INTEGERS + FLOATS),
    ("maximum", np.maximum, BOOL + INTEGERS + FLOATS), ("minimum", np.minimum, BOOL + INTEGERS + FLOATS), ("fmax", np.fmax, INTEGERS + FLOATS),
    ("fmin", np.fmin, INTEGERS + FLOATS), ("atan2", np.arctan2, FLOATS), ("hypot", np.hypot, FLOATS), ("copysign", np.copysign, FLOATS),
    ("nextafter", np.nextafter, REALS), ("eq", np.equal, BOOL + RING), ("ne", np.not_equal, BOOL + RING), ("lt", np.less, BOOL + INTEGERS + FLOATS),
    ("le", np.less_equal, INTEGERS + FLOATS), ("gt", np.greater, INTEGERS + FLOATS), ("ge", np.greater_equal, INTEGERS + FLOATS),
    ("logical_and", np.logical_and, BOOL + RING), ("logical_or", np.logical_or, BOOL + RING), ("logical_xor", np.logical_xor, BOOL + RING),
    ("bitwise_and", np.bitwise_and, BOOL + INTEGERS), ("bitwise_or", np.bitwise_or, BOOL + INTEGERS), ("bitwise_xor", np.bitwise_xor, BOOL + INTEGERS),
]
BINARY = [pytest.param(name, reference, dtype, id=f"{name}-{dtype}") for name, reference, dtypes in BINARY for dtype in dtypes]


@pytest.mark.parametrize("name, reference, dtype", BINARY)
def test_binary(name, reference, dtype):
    a, b = sample(dtype, seed=1), sample(dtype, seed=2, nonzero=True)
    b[0] = a[0] if name in ("eq", "ne", "le", "ge") else b[0]
    operation = getattr(P, name)
    with np.errstate(over="ignore"):
        for x in layouts(a):
            for y, z in ((b, b), (b[1], b[1]), (b[:, :1], b[:, :1]), (b[0, 0], np.array(b[0, 0]))):
                expected = reference(wide(x), wide(np.asarray(y)))
                result = np.dtype(bool) if expected.dtype == bool else dtype
                close(operation(x, z), expected, result)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_nan_and_zero_in_binary(dtype):
    nan, one, zero = (np.array([v] * 40, dtype) for v in (np.nan, 1, 0))
    for name in ("maximum", "minimum"):
        assert np.isnan(getattr(P, name)(nan, one)).all() and np.isnan(getattr(P, name)(one, nan)).all()
    for name in ("fmax", "fmin"):
        assert (getattr(P, name)(nan, one) == 1).all() and (getattr(P, name)(one, nan) == 1).all()
    assert np.isinf(P.floor_divide(one, zero)).all() and np.isnan(P.remainder(one, zero)).all() and np.isnan(P.div(zero, zero)).all()
    assert np.isnan(P.clamp(nan, zero, one)).all() and np.isnan(P.clamp(one, nan, None)).all()


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_integer_edges(dtype):
    info = np.iinfo(dtype)
    low, minus, two = np.array([info.min, info.max], dtype), np.array(-1).astype(dtype), np.array(2, dtype)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(P.add(low, two), low + two)
        np.testing.assert_array_equal(P.mul(low, low), low * low)
        np.testing.assert_array_equal(P.sub(low, two), low - two)
    if dtype.kind == "i":
        np.testing.assert_array_equal(P.floor_divide(low, minus), [info.min, -info.max])
        np.testing.assert_array_equal(P.remainder(low, minus), [0, 0])
    out = np.full(2, 7, dtype)
    for name in ("floor_divide", "remainder", "fmod"):
        with pytest.raises(ZeroDivisionError, match=name):
            getattr(P, name)(low, np.array([1, 0], dtype), out)
        getattr(P, name)(low[:0], np.array(0, dtype))
    np.testing.assert_array_equal(out, 7)
    width = dtype.itemsize * 8
    shifts = np.array([0, 1, width - 1, width, width + 3]).astype(dtype)
    ones = np.full(5, 1, dtype)
    np.testing.assert_array_equal(P.bitwise_left_shift(ones, shifts), np.array([1 << int(s) if s < width else 0 for s in shifts]).astype(np.uint64).astype(dtype))
    np.testing.assert_array_equal(P.bitwise_right_shift(np.full(5, info.max, dtype), shifts), [int(info.max) >> int(s) for s in shifts])
    np.testing.assert_array_equal(P.pow(np.array([2, 3, 0], dtype), np.array([3, 2, 0], dtype)), [8, 9, 1])


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_pow(dtype):
    values = np.array([0.0, -0.0, 0.5, 1, -1, 2, -3, np.inf, -np.inf, np.nan, 1e-3])
    exponents = np.array([0.0, 1, 2, 3, -1, -2, 0.5, -0.5, np.inf, -np.inf, np.nan, 2.5, 7])
    a, b = (v.astype(dtype) for v in np.meshgrid(values, exponents))
    with np.errstate(all="ignore"):
        expected = np.power(wide(a), wide(b)).astype(dtype).astype("f8")
    got = P.pow(a, b).astype("f8")
    np.testing.assert_allclose(got, expected, rtol=4 * float(ml_dtypes.finfo(dtype).eps))
    np.testing.assert_array_equal(np.signbit(got) & (got == got), np.signbit(expected) & (expected == expected))
    for e in (2, 3, -1, 0.5, -0.5, 1.7):
        x = np.abs(sample(dtype))
        np.testing.assert_allclose(P.pow(x, np.array(e, dtype)).astype("f8"), np.power(wide(x), float(np.array(e, dtype))), rtol=6 * float(ml_dtypes.finfo(dtype).eps))


@pytest.mark.parametrize("dtype", BOOL + INTEGERS + FLOATS + COMPLEX, ids=str)
def test_where(dtype):
    condition, a, b = sample(np.dtype("?"), seed=3), sample(dtype, seed=4), sample(dtype, seed=5)
    for x in layouts(a):
        np.testing.assert_array_equal(P.where(condition, x, b), np.where(condition, a, b))
        np.testing.assert_array_equal(P.where(condition[:1], x, np.array(b[0, 0])), np.where(condition[:1], a, b[0, 0]))


@pytest.mark.parametrize("dtype", INTEGERS + FLOATS, ids=str)
def test_clamp_and_addcmul(dtype):
    a, b, c = (sample(dtype, seed=s) for s in (6, 7, 8))
    lo, hi = np.array(1, dtype), np.array(2, dtype)
    np.testing.assert_array_equal(P.clamp(a, lo, hi), np.clip(a, lo, hi))
    np.testing.assert_array_equal(P.clamp(a, None, hi), np.minimum(a, hi))
    np.testing.assert_array_equal(P.clamp(a, lo, None), np.maximum(a, lo))
    close(P.addcmul(a, b, c, 2), wide(a) + (2 * wide(b) * wide(c)).astype(wide(a).dtype), dtype, ulps=16)
    with pytest.raises(ValueError, match="at least one"):
        P.clamp(a, None, None)


@pytest.mark.parametrize("dtype", FLOATS + COMPLEX, ids=str)
def test_addcdiv_and_lerp(dtype):
    a, b, c = (sample(dtype, seed=s, nonzero=True) for s in (6, 7, 8))
    c = P.add(c, np.array(10, dtype))
    close(P.addcdiv(a, b, c, 0.5), wide(a) + 0.5 * wide(b) / wide(c), dtype, ulps=8)
    for w in (0.25, 0.75, 1):
        close(P.lerp(a, b, np.array(w, dtype)), wide(a) + w * (wide(b) - wide(a)), dtype, ulps=8)


@pytest.mark.parametrize("dtype", COMPLEX, ids=str)
@pytest.mark.parametrize("name, numpy_name", [(n, n) for n in ("sqrt", "exp", "log", "log2", "log10", "sin", "cos", "tan", "sinh", "cosh", "tanh")] + [
    ("asin", "arcsin"), ("acos", "arccos"), ("atan", "arctan"), ("asinh", "arcsinh"), ("acosh", "arccosh"), ("atanh", "arctanh")])
def test_complex_functions(name, numpy_name, dtype):
    a = sample(dtype)
    np.testing.assert_allclose(getattr(P, name)(a), getattr(np, numpy_name)(a.astype("c16")), rtol=64 * np.finfo(dtype).eps, atol=8 * np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", COMPLEX, ids=str)
def test_complex_powers(dtype):
    a, b = sample(dtype), sample(dtype, seed=9)
    tolerance = dict(rtol=64 * np.finfo(dtype).eps)
    np.testing.assert_allclose(P.pow(a, b), a.astype("c16") ** b, **tolerance)
    np.testing.assert_allclose(P.rsqrt(a), 1 / np.sqrt(a), **tolerance)
    np.testing.assert_allclose(P.sign(a), a / np.abs(a), **tolerance)
    np.testing.assert_allclose(P.sigmoid(a), 1 / (1 + np.exp(-a)), **tolerance)
    big = np.array([np.finfo(dtype).max / 2 * (1 + 1j)], dtype)
    np.testing.assert_allclose(P.div(big, big), 1, **tolerance)
    assert P.sign(np.zeros(1, dtype)) == 0


# ---- the driver ----

@pytest.mark.parametrize("dtype", [np.dtype("f4"), np.dtype("f2"), np.dtype("i1"), np.dtype("c16")], ids=str)
@pytest.mark.parametrize("shapes", [((70, 90), (90,)), ((70, 1), (1, 90)), ((40, 30, 3), (3,)), ((40, 30, 3), (30, 1)), ((5000, 2), (5000, 1)), ((), (7,)), ((1,), ()),
                                    ((2, 3, 4, 5, 6), (4, 1, 6)), ((300, 300), (300, 300)), ((0, 3), (1, 3)), ((3, 0), ())], ids=str)
def test_broadcasting(shapes, dtype):
    a, b = (sample(dtype, shape, seed) for seed, shape in enumerate(shapes))
    with np.errstate(over="ignore"):
        expected = np.asarray(wide(a) + wide(b)).astype(dtype)
        close(P.add(a, b), expected, dtype, ulps=1)
        close(P.add(b, a), expected, dtype, ulps=1)
        if a.ndim > 1:
            close(P.add(a.T, a.T), wide(a.T) + wide(a.T), dtype, ulps=1)
            close(P.sub(a[::2, ::-1], a[::2]), (wide(a[::2, ::-1]) - wide(a[::2])).astype(dtype), dtype, ulps=1)


def test_result_layout():
    a = np.ones((3, 4, 5), "f4")
    assert P.add(a, a).flags.c_contiguous
    for order in ((2, 1, 0), (1, 0, 2), (0, 2, 1)):
        t = a.transpose(order)
        assert P.exp(t).strides == t.strides and P.add(t, t[:1]).strides == t.strides and P.lt(t, t).strides == tuple(s // 4 for s in t.strides)
    assert P.exp(np.broadcast_to(a[:1], (6, 4, 5))).flags.c_contiguous
    assert P.exp(np.array(1.0)).shape == () and type(P.exp(np.array(1.0))) is np.ndarray


def test_out():
    a, b = sample(np.dtype("f4"), (50, 60)), sample(np.dtype("f4"), (60,), seed=1)
    expected = a + b
    out = np.empty((50, 60), "f4")
    assert P.add(a, b, out) is out
    np.testing.assert_array_equal(out, expected)
    strided = np.zeros((100, 120), "f4")
    P.add(a, b, strided[::2, ::2])
    np.testing.assert_array_equal(strided[::2, ::2], expected)
    assert strided[1::2].sum() == 0 and strided[:, 1::2].sum() == 0
    for dtype in FLOATS:
        x = sample(dtype, (7, 300))
        expected = P.exp(x)
        assert P.exp(x, x) is x
        np.testing.assert_array_equal(x, expected)
    mask = np.empty((50, 60), bool)
    np.testing.assert_array_equal(P.lt(a, b, mask), a < b)


def test_errors():
    f4, i8 = np.ones(3, "f4"), np.ones(3, "i8")
    with pytest.raises(ValueError, match="do not broadcast"):
        P.add(f4, np.ones(4, "f4"))
    with pytest.raises(TypeError, match="operand 1 has dtype int64, expected float32"):
        P.add(f4, i8)
    with pytest.raises(TypeError, match="exp is not implemented for int64"):
        P.exp(i8)
    with pytest.raises(TypeError, match="lt is not implemented for complex64"):
        P.lt(f4.astype("c8"), f4.astype("c8"))
    with pytest.raises(ValueError, match="out has shape"):
        P.add(f4, f4, np.ones(4, "f4"))
    with pytest.raises(ValueError, match="out has shape"):
        P.add(f4, f4, np.ones(3, "f8"))
    locked = np.ones(3, "f4")
    locked.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        P.add(f4, f4, locked)
    with pytest.raises(TypeError, match="imag"):
        P.imag(f4)
    with pytest.raises(TypeError):
        P.exp(f4.astype("f16"))
    with pytest.raises(TypeError):
        P.exp([1.0])


def test_large_parallel():
    """Above every threshold: several threads, large blocks, rows that threads split."""
    a = sample(np.dtype("f4"), (1000, 777))
    np.testing.assert_array_equal(P.add(a, a[0]), a + a[0])
    np.testing.assert_array_equal(P.mul(a[:, ::2], a[:, 1:776:2].copy()[:, [0]]), a[:, ::2] * a[:, [1]])
    half = a.astype("f2")
    np.testing.assert_array_equal(P.add(half, half.T.copy().T), half + half)
    x = a.copy()
    assert P.exp(x, x) is x
    np.testing.assert_allclose(x, np.exp(a), rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.dtype("f4"), np.dtype("f2"), np.dtype("u1")], ids=str)
@pytest.mark.parametrize("side", [64, 77, 333])
def test_transposed_operand(side, dtype):
    a = sample(dtype, (side, side))
    np.testing.assert_array_equal(P.add(a, a.T), a + a.T)
    np.testing.assert_array_equal(P.where(a.T > a, a.T, a), np.where(a.T > a, a.T, a))
    b = sample(dtype, (3, side, side + 5))
    np.testing.assert_array_equal(P.sub(b.transpose(0, 2, 1).copy(), b.transpose(0, 2, 1)), np.zeros_like(b).transpose(0, 2, 1))
    np.testing.assert_array_equal(P.maximum(b[:, ::2], b[:, ::2].transpose(1, 0, 2).copy().transpose(1, 0, 2)), b[:, ::2])


@pytest.mark.parametrize("dtype", REALS, ids=str)
@pytest.mark.parametrize("name, reference", [("fmod", np.fmod), ("remainder", np.remainder), ("floor_divide", np.floor_divide)])
def test_division_of_all_magnitudes(name, reference, dtype):
    rng = np.random.default_rng(11)
    a, b = ((rng.normal(size=40000) * 2.0 ** rng.integers(-40, 40, 40000)).astype(dtype) for _ in range(2))
    a[:20000] = (np.round(a[:20000] / b[:20000]) * b[:20000]).astype(dtype)         # quotients next to whole numbers
    a[-4:], b[-4:] = [0, -0.0, np.inf, 5], [3, 3, 2, np.inf]
    near = slice(1000, 1256)                                                        # a block without large quotients
    b[near] = a[near] * 0.37
    with np.errstate(all="ignore"):
        expected = reference(a, b)
    np.testing.assert_array_equal(getattr(P, name)(a, b), expected)
    if name == "fmod":
        np.testing.assert_array_equal(np.signbit(P.fmod(a, b)[:-2]), np.signbit(expected[:-2]))


@pytest.mark.parametrize("dtype", ["i4", "u4", "i8", "u8"])
def test_division_of_integers_of_all_sizes(dtype):
    """Small ones, by way of double, and those too large for it, in one array and in blocks of their own; quotients next to integers."""
    limits, rng = np.iinfo(dtype), np.random.default_rng(4)
    edges = [v for p in (31, 32, 51, 52, 53, 63, 64) for d in (-1, 0, 1) for v in (2 ** p + d, -2 ** p + d) if limits.min <= v <= limits.max]
    x = np.concatenate([np.array(edges, dtype), rng.integers(limits.min, limits.max, 700, dtype), rng.integers(0, 9999, 700).astype(dtype)])
    y = rng.permutation(x)
    y[y == 0] = 1
    small = rng.integers(1, 1000, x.size).astype(dtype)
    large = small.astype("f8") * rng.integers(0, 2 ** (52 - 10 if x.itemsize == 8 else 20), x.size)
    near = large.astype(dtype) + rng.integers(0, 2, x.size).astype(dtype) - np.array(limits.min < 0, dtype)
    for a, b in ((x, y), (x, small), (near, small), (near, y)):
        for name, reference in (("floor_divide", np.floor_divide), ("remainder", np.remainder), ("fmod", np.fmod)):
            with np.errstate(over="ignore"):
                np.testing.assert_array_equal(getattr(P, name)(a, b), reference(a, b), err_msg=name)


def test_boolean_arithmetic():
    a, b = np.array([True, True, False, False]), np.array([True, False, True, False])
    np.testing.assert_array_equal(P.add(a, b), a | b)
    np.testing.assert_array_equal(P.mul(a, b), a & b)
    with pytest.raises(TypeError, match="sub is not implemented for bool"):
        P.sub(a, b)


@pytest.mark.parametrize("dtype", ["u1", "f2", "f4", "f8", "c16"])
@pytest.mark.parametrize("length", [1, 63, 64, 255, 256, 257, 1023, 1025, 3000])
def test_one_number_for_a_row(dtype, length):
    rng = np.random.default_rng(length)
    rows, column = (rng.integers(0, 9, shape).astype(dtype) for shape in ((70, length), (70, 1)))
    np.testing.assert_array_equal(P.add(rows, column), rows + column)
    np.testing.assert_array_equal(P.mul(column, np.ascontiguousarray(rows[0])), column * rows[0])
    np.testing.assert_array_equal(P.add(rows[:, ::-1], column), rows[:, ::-1] + column)
    wide = np.zeros((70, 2 * length), dtype)
    P.add(rows, column, out=wide[:, ::2])
    np.testing.assert_array_equal(wide[:, ::2], rows + column)
    assert not wide[:, 1::2].any()


def test_one_number_for_a_row_on_several_threads():
    rows, column = np.arange(300_000, dtype="f4").reshape(3, 100_000), np.array([[1], [2], [3]], "f4")
    np.testing.assert_array_equal(P.sub(rows, column), rows - column)         # a thread begins amid a row


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_add_scaled(dtype):
    a, b = np.random.default_rng(0).standard_normal((2, 5000)).astype(dtype)
    exact = a.astype("g") + np.asarray(0.3, dtype).astype("g") * b.astype("g")
    product = np.abs(0.3 * b).max()
    np.testing.assert_allclose(P.add_scaled(a, b, 0.3), exact, rtol=0, atol=2 * np.finfo(dtype).eps * (np.abs(a).max() + product))
    strided = a.copy()
    P.add_scaled(strided[::2], b[:1], -2, out=strided[::2])
    np.testing.assert_allclose(strided[::2], a[::2] - 2 * b[0], rtol=4 * np.finfo(dtype).eps, atol=4 * np.finfo(dtype).eps)
    np.testing.assert_array_equal(strided[1::2], a[1::2])


def test_add_scaled_rounds_halves_once():
    a, b = np.random.default_rng(0).standard_normal((2, 5000)).astype("f2")
    exact, twice = a + b.astype("f8") * float(np.float32(0.3)), a + b * np.float16(0.3)
    half_ulp = 0.501 * np.spacing(np.abs(exact).astype("f2")).astype("f8")      # a little more, as the float was rounded before
    assert (np.abs(P.add_scaled(a, b, 0.3) - exact) <= half_ulp).all() and (np.abs(twice - exact) > half_ulp).any()
