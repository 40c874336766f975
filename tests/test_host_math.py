"""Special functions that NumPy lacks: values from tables, and identities."""
import math

import numpy as np
import pytest

from pyx_tensor.core import host_math

INF, NAN = math.inf, math.nan


@pytest.mark.parametrize("function, x, y", [
    ("erf", 0.5, 0.5204998778130465), ("erfc", 2.0, 0.004677734981047266), ("lgamma", 5.0, math.log(24)), ("lgamma", 0.5, math.log(math.pi) / 2),
    ("lgamma", -1.5, 0.8600470153764810), ("digamma", 1.0, -0.5772156649015329), ("digamma", 0.5, -1.9635100260214235),
    ("digamma", 10.0, 2.2517525890667211), ("digamma", -0.5, 0.03648997397857652), ("erfinv", 0.5, 0.4769362762044699),
    ("erfinv", -0.99, -1.8213863677184496)])
def test_values(function, x, y):
    assert getattr(host_math, function)(x) == pytest.approx(y, rel=1e-14)


@pytest.mark.parametrize("function, x, y", [
    ("erf", INF, 1), ("erfc", -INF, 2), ("erfinv", 1.0, INF), ("erfinv", -1.0, -INF), ("erfinv", 1.5, NAN), ("lgamma", 0.0, INF),
    ("lgamma", -3.0, INF), ("lgamma", -INF, INF), ("digamma", 0.0, -INF), ("digamma", -0.0, INF), ("digamma", -2.0, NAN), ("digamma", INF, INF),
    ("erf", NAN, NAN), ("erfinv", NAN, NAN), ("lgamma", NAN, NAN), ("digamma", NAN, NAN)])
def test_limits(function, x, y):
    np.testing.assert_equal(getattr(host_math, function)(x), np.float64(y))


def test_erfinv_inverts_erf():
    x = np.concatenate([np.linspace(-4, 4, 401), 10.0 ** np.arange(-300, 0, 10)])
    np.testing.assert_allclose(host_math.erfinv(host_math.erf(x))[np.abs(x) < 2], x[np.abs(x) < 2], rtol=1e-13)
    y = 1 - 10.0 ** -np.arange(1.0, 16)      # in the tail, where erf is flat
    np.testing.assert_allclose(host_math.erfc(host_math.erfinv(y)), 1 - y, rtol=1e-12)


def test_digamma_recurs():
    x = np.concatenate([np.linspace(0.01, 30, 300), np.linspace(-9.9, -0.05, 50)])
    np.testing.assert_allclose(host_math.digamma(x + 1), host_math.digamma(x) + 1 / x, rtol=1e-10, atol=1e-10)


def test_shapes_are_kept():
    assert host_math.erf(np.zeros((2, 0, 3))).shape == (2, 0, 3)
    assert host_math.digamma(np.ones((), np.float32)).shape == ()
