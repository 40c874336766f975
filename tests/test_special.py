"""Special functions: values by hand, by recurrences and identities, and by SciPy where that is installed."""
import math

import numpy as np
import pytest

import pyx_tensor as torch
from pyx_tensor.autograd import gradcheck, gradgradcheck

S = torch.special
DEVICES = ("cpu", "reference")
# Worked out with 30 digits.
KNOWN = {
    "i0": {0.0: 1, 1.0: 1.2660658777520083, -8.0: 427.56411572180474, 30.0: 781672297823.9775},
    "i0e": {0.0: 1, 1.0: 0.4657596075936404, -100.0: 0.03994437929909668},
    "i1": {0.0: 0, 1.0: 0.5651591039924850, -8.0: -399.8731367825601},
    "i1e": {0.0: 0, 1.0: 0.2079104153497085, -100.0: -0.03974415302513025},
    "erfcx": {0.0: 1, 1.0: 0.42758357615580700, -1.0: 5.0089800807622835, 30.0: 0.018795888861416751},
    "ndtr": {0.0: 0.5, 1.0: 0.8413447460685429, -10.0: 7.619853024160527e-24},
    "log_ndtr": {0.0: -0.6931471805599453, -50.0: -1254.8313611394194, 5.0: -2.866516129637636e-07},
    "ndtri": {0.5: 0, 0.975: 1.959963984540054, 1e-10: -6.361340902404056},
    "entr": {0.0: 0, 1.0: 0, 0.5: 0.34657359027997264, -1.0: -math.inf},
    "spherical_bessel_j0": {0.0: 1, 1.0: 0.8414709848078965, math.inf: 0},
    "modified_bessel_i0": {1.0: 1.2660658777520083}, "modified_bessel_i1": {1.0: 0.5651591039924850},
    "expit": {0.0: 0.5}, "psi": {1.0: -0.5772156649015329}, "gammaln": {5.0: 3.1780538303479458},
}


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", KNOWN)
def test_known_values(name, device):
    x = torch.tensor(list(KNOWN[name]), dtype=torch.float64, device=device)
    expected = list(KNOWN[name].values())
    np.testing.assert_allclose(getattr(S, name)(x).cpu().numpy(), expected, rtol=1e-13, atol=1e-16)
    np.testing.assert_allclose(getattr(S, name)(x.float()).cpu().numpy(), expected, rtol=1e-5, atol=1e-6)


EDGES = {"i0": (math.inf, math.inf), "i0e": (0, 0), "i1": (math.inf, -math.inf), "i1e": (0, 0), "erfcx": (0, math.inf), "log_ndtr": (0, -math.inf),
         "ndtr": (1, 0), "entr": (-math.inf, -math.inf)}


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", EDGES)
def test_infinities_and_nan(name, device):
    result = getattr(S, name)(torch.tensor([math.inf, -math.inf, math.nan], device=device)).tolist()
    assert tuple(result[:2]) == EDGES[name] and math.isnan(result[2])


def ulps(found, exact):
    """How far a float32 tensor is from float64 values, in units of its last place."""
    return np.abs(found.double().numpy() - exact) / np.spacing(np.abs(exact).astype("f4")).astype("f8")


def test_lgamma_left_of_zero():
    """Where it is reflected: between the poles, close to them and to its zeros, and far out, where all numbers are whole."""
    rng = np.random.default_rng(4)
    x = np.concatenate([-rng.uniform(0, 10, 5000), -rng.uniform(0, 200, 5000), -np.exp(rng.uniform(-100, 17, 5000)), rng.normal(size=5000)]).astype("f4")
    exact = np.array([math.lgamma(v) if v != round(v) else math.inf for v in x.tolist()])
    finite = exact < math.inf
    found = torch.lgamma(torch.from_numpy(x))
    assert ulps(found[finite], exact[finite]).max() <= 0.51 and (found.numpy()[~finite] == math.inf).all()
    near_zero = (-2.4570247382208006 + 1e-7 * np.arange(-20, 21)).astype("f4")
    np.testing.assert_allclose(torch.lgamma(torch.from_numpy(near_zero)).numpy(), [math.lgamma(v) for v in near_zero.tolist()], rtol=1e-6)
    for dtype in (torch.float32, torch.float64):
        assert (torch.lgamma(torch.tensor([0.0, -0.0, -1, -2, -77, -2.0 ** 24, -3e38, -math.inf], dtype=dtype)) == math.inf).all()
    tiny = 2.0 ** -149
    assert torch.lgamma(torch.tensor([1, 2, -tiny, -5])).tolist() == torch.tensor([0, 0, math.lgamma(tiny), math.inf]).tolist()
    assert torch.lgamma(torch.tensor([math.nan, -1.5])).isnan().tolist() == [True, False]


def test_ndtri_of_floats():
    """Against the one of doubles: in the middle, at the seam and down to the smallest numbers."""
    rng = np.random.default_rng(5)
    low = np.exp(rng.uniform(-103, 0, 20000))
    p = np.concatenate([rng.uniform(0, 1, 20000), low, 1 - low, 0.5 + 1e-4 * rng.normal(size=2000)]).astype("f4")
    p = torch.from_numpy(p[(p > 0) & (p < 1)])
    assert ulps(S.ndtri(p), S.ndtri(p.double()).numpy()).max() <= 0.7
    assert S.ndtri(torch.tensor([0, -0.0, 1, 0.5])).tolist() == [-math.inf, -math.inf, math.inf, 0]
    assert S.ndtri(torch.tensor([-math.inf, math.inf, -1e-45, 1 + 2.0 ** -23, math.nan])).isnan().all()


def test_quantiles_of_doubles():
    """Back through the C library's erfc, whose relative error (and slope) they are held against, down to the smallest numbers; and by symmetry."""
    rng = np.random.default_rng(6)
    p = np.concatenate([rng.uniform(0, 0.5, 20000), np.exp(rng.uniform(-700, -1, 20000)), 0.5 - np.exp(rng.uniform(-35, -1, 5000))])
    x = S.ndtri(torch.from_numpy(p)).numpy()
    back = np.array([0.5 * math.erfc(-v / math.sqrt(2)) for v in x.tolist()])
    density = np.exp(-x * x / 2) / math.sqrt(2 * math.pi)
    slack = 4e-16 * np.maximum(p, density * np.abs(x)) + 1e-17 * (p > 0.1)
    assert (np.abs(back - p) <= slack * np.maximum(1, x * x / 8)).all()
    upper = p[(p > 0.25) & (1 - (1 - p) == p)]
    assert torch.equal(S.ndtri(torch.from_numpy(1 - upper)), -S.ndtri(torch.from_numpy(upper)))
    y = torch.from_numpy(np.concatenate([rng.uniform(-1, 1, 20000), np.exp(rng.uniform(-700, -1, 5000))]))
    x = torch.erfinv(y).numpy()
    back = np.array([math.erf(v) for v in x.tolist()])
    assert (np.abs(back - y.numpy()) <= 4e-16 * np.maximum(np.abs(y.numpy()), 2 / math.sqrt(math.pi) * np.exp(-x * x) * np.abs(x))).all()
    assert torch.equal(torch.erfinv(-y), -torch.erfinv(y))
    assert torch.erfinv(torch.tensor([1.0, -1.0, 0.0]).double()).tolist() == [math.inf, -math.inf, 0]
    assert torch.erfinv(torch.tensor([1.5, -math.inf, math.nan]).double()).isnan().all()
    close = torch.tensor([1 - 2.0 ** -53, 2.0 ** -1074], dtype=torch.float64)
    np.testing.assert_allclose(torch.erfinv(close).numpy(), [5.863584748755167, 2.0 ** -1074], rtol=1e-15)
    np.testing.assert_allclose(S.ndtri(close[1:]).item(), -38.46740561714434, rtol=1e-15)


def test_domain_of_ndtri():
    assert S.ndtri(torch.tensor([0.0, 1.0])).tolist() == [-math.inf, math.inf]
    assert S.ndtri(torch.tensor([-0.1, 1.1, math.nan])).isnan().all()


@pytest.mark.parametrize("device", DEVICES)
def test_incomplete_gamma(device):
    """For whole a: Q(a, x) = e^-x (1 + x + … + x^(a-1) / (a-1)!)."""
    a, x = np.meshgrid([1.0, 2.0, 5.0, 12.0], [0.1, 1.0, 4.0, 11.0, 30.0])
    upper = np.array([math.exp(-v) * sum(v ** k / math.factorial(k) for k in range(int(n))) for n, v in zip(a.ravel(), x.ravel())]).reshape(a.shape)
    ours = S.gammaincc(torch.from_numpy(a).to(device), torch.from_numpy(x).to(device))
    np.testing.assert_allclose(ours.cpu().numpy(), upper, rtol=1e-11)
    np.testing.assert_allclose(torch.igamma(torch.from_numpy(a), torch.from_numpy(x)).numpy(), 1 - upper, rtol=1e-11, atol=1e-15)
    edges = torch.tensor([[0.0, 0.0], [0.0, 1.0], [-1.0, 1.0], [1.0, -1.0], [math.inf, 1.0], [1.0, math.inf], [2.0, 0.0]], device=device).T
    np.testing.assert_array_equal(torch.igamma(*edges).cpu().numpy(), [np.nan, 1, np.nan, np.nan, 0, 1, 0])
    np.testing.assert_array_equal(torch.igammac(*edges).cpu().numpy(), [np.nan, 0, np.nan, np.nan, 1, 0, 1])


def test_incomplete_gamma_forms_and_dtypes():
    x = torch.tensor([1.0, 2.0])
    assert torch.igamma is S.gammainc and torch.igammac is S.gammaincc
    assert torch.allclose(x.igamma(x), torch.igamma(x, x)) and x.clone().igamma_(x).equal(x.igamma(x))
    assert torch.igamma(x.half(), x.half()).dtype is torch.float16
    for call in (lambda: torch.igamma(x.long(), x.long()), lambda: torch.igammac(x + 0j, x + 0j)):
        with pytest.raises(NotImplementedError, match="igamma"):
            call()
    with pytest.raises(TypeError, match="must be Tensor"):
        torch.igamma(x, 2.0)


def test_large_shape_of_the_gamma_distribution():
    """Where a is large, a gamma variable is nearly normal, with a skewness of 2 / sqrt(a)."""
    for a in (1e6, 1e8, 1e10, 1e12):
        at = torch.tensor(a, dtype=torch.float64)
        assert abs(S.gammainc(at, at).item() - (0.5 + 1 / (3 * math.sqrt(2 * math.pi * a)))) < 1e-11
        assert abs(S.gammainc(at, at).item() + S.gammaincc(at, at).item() - 1) < 1e-12


@pytest.mark.parametrize("device", DEVICES)
def test_zeta(device):
    q = torch.tensor([1.0, 1.0, 0.5, 3.0, 1.0, 1.0, -1.0, -0.5, -0.5], dtype=torch.float64, device=device)
    s = torch.tensor([2.0, 4.0, 2.0, 2.0, 1.0, 0.5, 2.0, 2.5, 2.0], dtype=torch.float64, device=device)
    square = math.pi ** 2
    expected = [square / 6, square ** 2 / 90, square / 2, square / 6 - 1.25, np.inf, np.nan, np.inf, np.nan, square / 2 + 4]
    np.testing.assert_allclose(S.zeta(s, q).cpu().numpy(), expected, rtol=1e-14)
    assert S.zeta(2, q[:1]).item() == S.zeta(s[:1], 1.0).item() == pytest.approx(square / 6)


def test_polygamma():
    x = torch.tensor([1.0, 0.5], dtype=torch.float64)
    np.testing.assert_allclose(torch.polygamma(1, x).numpy(), [math.pi ** 2 / 6, math.pi ** 2 / 2], rtol=1e-14)
    np.testing.assert_allclose(x.polygamma(2).numpy(), [-2.4041138063191886, -16.828796644234320], rtol=1e-14)
    np.testing.assert_allclose(x.clone().polygamma_(0).numpy(), torch.digamma(x).numpy())
    with pytest.raises(RuntimeError, match="negative n"):
        torch.polygamma(-1, x)
    with pytest.raises(TypeError, match="must be int, not float"):
        torch.polygamma(1.5, x)


def test_expm1_of_complex_numbers():
    z = (np.linspace(-3, 3, 25).reshape(5, 5) + 1j * np.linspace(-30, 30, 25).reshape(5, 5))
    for device in DEVICES:
        np.testing.assert_allclose(torch.expm1(torch.from_numpy(z).to(device)).cpu().numpy(), np.expm1(z), rtol=1e-12)
    tiny = torch.tensor([1e-12 + 1e-12j], dtype=torch.complex128)
    assert torch.expm1(tiny).item() == pytest.approx(1e-12 + 1e-12j, rel=1e-9)
    assert gradcheck(torch.expm1, (torch.from_numpy(z[1:4]).requires_grad_(),))


# --- gradients ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ("i0", "i0e", "i1", "i1e", "erfcx", "ndtr", "log_ndtr", "expit", "exp2", "sinc"))
def test_gradient(name):
    x = torch.tensor([-9.0, -1.3, -0.2, 0.4, 1.7, 8.5], dtype=torch.float64, requires_grad=True)
    function = getattr(S, name)
    assert gradcheck(function, (x,)) and gradgradcheck(lambda x: function(x / 2), (x,))


@pytest.mark.parametrize("name", ("ndtri", "entr", "logit"))
def test_gradient_between_0_and_1(name):
    x = torch.tensor([0.05, 0.3, 0.5, 0.9], dtype=torch.float64, requires_grad=True)
    assert gradcheck(getattr(S, name), (x,)) and gradgradcheck(getattr(S, name), (x,))


@pytest.mark.parametrize("name", ("i0", "i0e", "i1", "i1e"))
def test_gradient_at_0(name):
    x = torch.zeros(1, requires_grad=True)
    getattr(S, name)(x).backward()
    assert x.grad.item() == {"i0": 0, "i0e": 0, "i1": 0.5, "i1e": 0.5}[name]


@pytest.mark.parametrize("name", ("gammainc", "gammaincc", "zeta"))
def test_gradient_of_one_operand(name):
    a = torch.tensor([1.5, 2.0, 4.0], dtype=torch.float64)
    x = torch.tensor([0.5, 3.0, 2.5], dtype=torch.float64, requires_grad=True)
    assert gradcheck(lambda x: getattr(S, name)(a, x), (x,)) and gradgradcheck(lambda x: getattr(S, name)(a, x), (x,))
    with pytest.raises(NotImplementedError, match="derivative for '.*' is not implemented"):
        getattr(S, name)(a.requires_grad_(), x).sum().backward()


# --- polynomials --------------------------------------------------------------------------------------------------
NUMPYS = {
    "chebyshev_polynomial_t": np.polynomial.chebyshev.chebval, "hermite_polynomial_h": np.polynomial.hermite.hermval,
    "hermite_polynomial_he": np.polynomial.hermite_e.hermeval, "laguerre_polynomial_l": np.polynomial.laguerre.lagval,
    "legendre_polynomial_p": np.polynomial.legendre.legval,
    "shifted_chebyshev_polynomial_t": lambda x, c: np.polynomial.chebyshev.chebval(2 * x - 1, c)}


@pytest.mark.parametrize("name", NUMPYS)
def test_polynomials(name):
    x, n = np.linspace(-1.5, 1.5, 7).reshape(7, 1), np.arange(9)
    expected = np.concatenate([NUMPYS[name](x, [0.0] * k + [1.0]) for k in n], axis=1)
    np.testing.assert_allclose(getattr(S, name)(torch.from_numpy(x), torch.from_numpy(n)).numpy(), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kind, numerator, denominator", [
    ("u", lambda n, t: np.sin((n + 1) * t), lambda t: np.sin(t)), ("v", lambda n, t: np.cos((n + 0.5) * t), lambda t: np.cos(t / 2)),
    ("w", lambda n, t: np.sin((n + 0.5) * t), lambda t: np.sin(t / 2))])
def test_other_chebyshev_polynomials(kind, numerator, denominator):
    t, n = np.linspace(0.3, 2.8, 6).reshape(6, 1), np.arange(12.0)
    expected = numerator(n, t) / denominator(t)
    x = torch.from_numpy(np.cos(t))
    np.testing.assert_allclose(getattr(S, f"chebyshev_polynomial_{kind}")(x, torch.from_numpy(n)).numpy(), expected, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(getattr(S, f"shifted_chebyshev_polynomial_{kind}")((x + 1) / 2, torch.from_numpy(n)).numpy(), expected, rtol=1e-11, atol=1e-11)


def test_degrees():
    x = torch.tensor([2.0, math.nan])
    assert S.chebyshev_polynomial_t(2.0, torch.tensor([-1.0, 0.0, 1.7, 3.0])).tolist() == [0, 1, 2, 26]
    assert S.legendre_polynomial_p(x, 0)[1] == 1 and S.legendre_polynomial_p(x, 2)[1].isnan()
    assert S.hermite_polynomial_h(torch.zeros(0), 3).shape == (0,)
    assert S.laguerre_polynomial_l(torch.tensor([1, 2]), 1).dtype is torch.float32
    with pytest.raises(NotImplementedError, match="legendre_polynomial_p.* not implemented for torch.float16"):
        S.legendre_polynomial_p(x.half(), 2)


# --- by SciPy -----------------------------------------------------------------------------------------------------
BY_SCIPY = {"airy_ai": 0.1352924163128814, "bessel_j0": 0.7651976865579666, "bessel_j1": 0.4400505857449335, "bessel_y0": 0.08825696421567697,
            "bessel_y1": -0.7812128213002887, "modified_bessel_k0": 0.4210244382407083, "modified_bessel_k1": 0.6019072301972346,
            "scaled_modified_bessel_k0": 1.1444630798068949, "scaled_modified_bessel_k1": 1.6361534862632582}


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", BY_SCIPY)
def test_by_scipy(name, device):
    pytest.importorskip("scipy")
    function = getattr(S, name)
    x = torch.tensor([1.0], dtype=torch.float64, device=device, requires_grad=True)
    result = function(x)
    assert result.item() == pytest.approx(BY_SCIPY[name], rel=1e-14) and result.device == x.device and not result.requires_grad
    assert function(torch.ones((), dtype=torch.int64)).dtype is torch.float32 and function(torch.ones(2, 0)).shape == (2, 0)
    out = torch.empty(1)
    assert function(torch.ones(1), out=out) is out and out.item() == pytest.approx(BY_SCIPY[name], rel=1e-5)
    for bad in (torch.float16, torch.complex64):
        with pytest.raises(NotImplementedError, match=name):
            function(torch.ones(1, dtype=bad))


def test_without_scipy(monkeypatch):
    import sys
    monkeypatch.setitem(sys.modules, "scipy", None)
    with pytest.raises(ImportError, match=r"torch.special.airy_ai needs SciPy.*pyx-tensor\[scipy\]"):
        S.airy_ai(torch.ones(1))


def test_names():
    assert set(S.__all__) == {name for name in dir(S) if not name.startswith("_")} and len(S.__all__) == 56
    assert S.softmax(torch.zeros(2, 2), 1, dtype=torch.float64).tolist() == [[0.5, 0.5]] * 2
    assert S.log_softmax(torch.zeros(2), 0)[0].item() == pytest.approx(-math.log(2))
    assert S.round(torch.tensor([1.26]), decimals=1).item() == pytest.approx(1.3)
    with pytest.raises(TypeError, match="dim"):
        S.softmax(torch.zeros(2))


@pytest.mark.parametrize("device", DEVICES)
def test_products_with_logarithms_of_integers_are_as_exact_as_their_dtype(device):
    n = torch.tensor([2, 3], device=device)
    for function, x in ((torch.xlogy, n), (S.xlog1py, n - 1)):
        exact = function(torch.ones(2, dtype=torch.float64, device=device), x)
        assert exact.dtype is torch.float64 and np.allclose(exact.tolist(), [math.log(2), math.log(3)], rtol=1e-15, atol=0)
        assert function(torch.ones(2, dtype=torch.bfloat16, device=device), x).dtype is torch.bfloat16
        assert function(n, x).dtype is torch.float32
