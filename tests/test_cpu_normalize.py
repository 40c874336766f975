"""The CPU backend's softmax, layer normalisation and negative log likelihood against float64 formulas in NumPy."""
import ml_dtypes
import numpy as np
import pytest

from pyx_tensor_cpu import level, loss
from pyx_tensor_cpu import normalize as N

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
DTYPES = [np.dtype("f2"), BFLOAT16, np.dtype("f4"), np.dtype("f8")]
SHAPES = [(), (1,), (6,), (0, 3), (4, 7), (70, 10), (3, 5, 4), (2, 3000), (3, 40, 600)]
ATOL = {np.dtype("f2"): 4e-3, BFLOAT16: 4e-2, np.dtype("f4"): 3e-6, np.dtype("f8"): 1e-13}


def sample(shape, dtype, seed=0):
    return np.asarray(np.random.default_rng(seed).standard_normal(shape) * 2).astype(dtype)


def cases(dtype):
    for shape in SHAPES:
        a = sample(shape, dtype)
        for array in (a, np.asfortranarray(a)):
            for dim in range(max(1, a.ndim)):
                yield array, dim


def exact_log_softmax(a, dim):
    a = a.astype("f8")
    if a.size == 0 or a.ndim == 0:
        return np.zeros(a.shape)
    shifted = a - a.max(dim, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(dim, keepdims=True))


def check(got, expected, dtype, scale=1):
    assert type(got) is np.ndarray and got.dtype == dtype and got.shape == expected.shape and got.flags.c_contiguous
    tolerance = ATOL[np.dtype(dtype)]
    np.testing.assert_allclose(got.astype("f8"), expected, rtol=tolerance, atol=tolerance * scale)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_softmax(dtype):
    for a, dim in cases(dtype):
        log_y = exact_log_softmax(a, dim)
        check(N.softmax(a, dim), np.exp(log_y), dtype)
        check(N.log_softmax(a, dim), log_y, dtype)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_softmax_backward(dtype):
    for a, dim in cases(dtype):
        g = sample(a.shape, dtype, 1)
        y, log_y = N.softmax(a, dim), N.log_softmax(a, dim)
        g8, y8, log_y8 = (x.astype("f8") for x in (g, y, log_y))
        dims = dim if a.ndim else None
        check(N.softmax_backward(g, y, dim), y8 * (g8 - (g8 * y8).sum(dims, keepdims=True)), dtype, 8)
        check(N.log_softmax_backward(g, log_y, dim), g8 - np.exp(log_y8) * g8.sum(dims, keepdims=True), dtype, 50)


def test_softmax_of_extremes():
    inf, nan = np.inf, np.nan
    rows = {(1000, 1000, -1000, -inf): [0.5, 0.5, 0, 0], (inf, 1, 1, 1): [nan] * 4, (-inf,) * 4: [nan] * 4,
            (1, 2, nan, 3): [nan] * 4}
    for shape in ((1, 4), (4, 1)):
        for row, expected in rows.items():
            got = N.softmax(np.array(row, "f4").reshape(shape), shape.index(4)).ravel()
            np.testing.assert_array_equal(got, expected)
    long = np.full(5000, -3e4, "f4")
    np.testing.assert_allclose(N.log_softmax(long, 0), np.full(5000, -np.log(5000)), rtol=1e-6)


def exact_layer_norm(a, k, weight, bias, eps):
    a = a.astype("f8")
    dims = tuple(range(a.ndim - k, a.ndim))
    mean, var = a.mean(dims, keepdims=True), a.var(dims, keepdims=True)
    rstd = 1 / np.sqrt(var + eps)
    return (a - mean) * rstd * weight.astype("f8") + bias.astype("f8"), mean, rstd


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(5,), (4, 7), (3, 5, 4), (2, 3000), (300, 40), (2, 2, 5000)])
def test_layer_norm(dtype, shape):
    for a in (sample(shape, dtype), np.asfortranarray(sample(shape, dtype))):
        for k in range(1, a.ndim + 1):
            weight, bias = sample(shape[-k:], dtype, 1), sample(shape[-k:], dtype, 2)
            statistics = np.float32 if dtype in DTYPES[:2] else dtype
            y, mean, rstd = N.layer_norm(a, k, weight, bias, 1e-5)
            expected = exact_layer_norm(a, k, weight, bias, 1e-5)
            check(y, expected[0], dtype, 4)
            check(mean, expected[1], statistics)
            check(rstd, expected[2], statistics)
            plain = N.layer_norm(a, k, None, None, 1e-5)[0]
            check(plain, exact_layer_norm(a, k, np.ones(1), np.zeros(1), 1e-5)[0], dtype, 4)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(5,), (4, 7), (3, 5, 4), (2, 3000), (300, 40)])
def test_layer_norm_backward(dtype, shape):
    a, g = sample(shape, dtype), sample(shape, dtype, 3)
    for k in range(1, a.ndim + 1):
        weight = sample(shape[-k:], dtype, 1)
        _, mean, rstd = N.layer_norm(a, k, weight, None, 1e-5)
        a8, g8, w8, mean8, rstd8 = (x.astype("f8") for x in (a, g, weight, mean, rstd))
        inner, outer = tuple(range(a.ndim - k, a.ndim)), tuple(range(a.ndim - k))
        hat, gy = (a8 - mean8) * rstd8, g8 * w8
        ga = rstd8 * (gy - gy.mean(inner, keepdims=True) - hat * (gy * hat).mean(inner, keepdims=True))
        got = N.layer_norm_backward(g, a, mean, rstd, weight, k, (True, True, True))
        check(got[0], ga, dtype, 16)
        check(got[1], (g8 * hat).sum(outer), dtype, 64)
        check(got[2], g8.sum(outer), dtype, 64)
        some = N.layer_norm_backward(g, a, mean, rstd, weight, k, (False, True, False))
        assert some[0] is None and some[2] is None
        np.testing.assert_array_equal(some[1], got[1])


def test_layer_norm_of_nothing():
    y, mean, rstd = N.layer_norm(np.zeros((0, 4), "f4"), 1, None, None, 1e-5)
    assert y.shape == (0, 4) and mean.shape == rstd.shape == (0, 1)
    ga, gw, gb = N.layer_norm_backward(y, y, mean, rstd, None, 1, (True, True, True))
    assert ga.shape == (0, 4) and gw.tolist() == gb.tolist() == [0, 0, 0, 0]
    assert np.isnan(N.layer_norm(np.zeros((3, 0), "f4"), 1, None, None, 1e-5)[2]).all()


def test_misfits_are_refused():
    a = np.zeros((3, 4), "f4")
    with pytest.raises(ValueError, match=r"weight of shape \(4,\).*got \(3,\)"):
        N.layer_norm(a, 1, np.zeros(3, "f4"), None, 1e-5)
    with pytest.raises(ValueError, match="cannot normalise 3 dims"):
        N.layer_norm(a, 3, None, None, 1e-5)
    with pytest.raises(TypeError, match="softmax.*int64"):
        N.softmax(np.zeros(3, "i8"), 0)
    with pytest.raises(ValueError, match="gradient has shape"):
        N.softmax_backward(np.zeros((2, 4), "f4"), a, 1)


@pytest.mark.parametrize("name", level.supported_levels())
def test_every_cpu_level(name):
    before = level.cpu_level()
    try:
        level.set_cpu_level(name)
        for dtype in DTYPES[2:]:
            a = sample((33, 130), dtype)
            for dim in (0, 1):
                check(N.log_softmax(a, dim), exact_log_softmax(a, dim), dtype)
            expected = exact_layer_norm(a, 1, np.ones(1), np.zeros(1), 1e-5)[0]
            check(N.layer_norm(a, 1, None, None, 1e-5)[0], expected, dtype, 4)
    finally:
        level.set_cpu_level(before)


# ---- negative log likelihood ------------------------------------------------------------------------------------------

@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_nll_loss(dtype, weighted):
    logp = sample((50, 7), dtype)
    target = np.random.default_rng(1).integers(0, 7, 50)
    target[::9] = -100
    weight = np.abs(sample((7,), dtype, 2)) if weighted else None
    chosen = target >= 0
    w = np.where(chosen, weight.astype("f8")[target * chosen] if weighted else 1.0, 0.0)
    each = -w * logp.astype("f8")[np.arange(50), target * chosen]
    for layout in (logp, np.asfortranarray(logp)):
        value, total = loss.nll_loss(layout, target, weight, "none", -100)
        check(value, each, dtype)
        assert total.shape == () and total.dtype == dtype
        value, total = loss.nll_loss(layout, target, weight, "sum", -100)
        check(value, np.asarray(each.sum()), dtype)
        value, total = loss.nll_loss(layout, target, weight, "mean", -100)
        check(total, np.asarray(w.sum()), dtype)
        check(value, np.asarray(each.sum() / w.sum()), dtype)
    onehot = np.where(chosen[:, None], np.arange(7) == target[:, None], False)
    for reduction, scale in (("none", 1), ("sum", 1), ("mean", 1 / w.sum())):
        g = sample((50,) if reduction == "none" else (), dtype, 4)
        expected = -1.0 * onehot * w[:, None] * scale * g.astype("f8").reshape(-1, 1)
        check(loss.nll_loss_backward(g, logp, target, weight, reduction, -100, total), expected, dtype)


def test_nll_loss_without_targets():
    logp, none = np.zeros((0, 3), "f4"), np.zeros(0, "i8")
    assert np.isnan(loss.nll_loss(logp, none, None, "mean", -100)[0])
    assert loss.nll_loss(logp, none, None, "sum", -100)[0] == 0
    assert np.isnan(loss.nll_loss(np.zeros((2, 3)), np.array([-100, -100]), None, "mean", -100)[0])


@pytest.mark.parametrize("bad", [7, -1])
def test_targets_out_of_range(bad):
    logp, target = np.zeros((2, 3), "f4"), np.array([0, bad])
    with pytest.raises(IndexError, match=f"^Target {bad} is out of bounds.$"):
        loss.nll_loss(logp, target, None, "mean", -100)
    with pytest.raises(IndexError, match=f"^Target {bad} is out of bounds.$"):
        loss.nll_loss_backward(np.zeros((), "f4"), logp, target, None, "mean", -100, np.ones((), "f4"))


def test_nll_loss_misfits():
    logp, target = np.zeros((2, 3), "f4"), np.array([0, 1])
    with pytest.raises(ValueError, match=r"\(N, C\).*got \(2, 3\) and \(3,\)"):
        loss.nll_loss(logp, np.zeros(3, "i8"), None, "mean", -100)
    with pytest.raises(TypeError, match="int64, got int32"):
        loss.nll_loss(logp, target.astype("i4"), None, "mean", -100)
    with pytest.raises(ValueError, match=r"weight of shape \(3,\)"):
        loss.nll_loss(logp, target, np.zeros(2, "f4"), "mean", -100)
    with pytest.raises(ValueError, match="'median' is not one of"):
        loss.nll_loss(logp, target, None, "median", -100)
