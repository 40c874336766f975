"""The CPU backend's scans against NumPy."""
import itertools

import ml_dtypes
import numpy as np
import pytest

from pyx_tensor_cpu import parallel, scan

INTEGERS = ["u1", "i1", "i2", "i4", "i8", "u2", "u4", "u8"]
HALVES = [np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)]
FLOATS = [np.dtype(np.float32), np.dtype(np.float64)]
SHAPES = [(), (1,), (9,), (0, 3), (3, 0), (5, 4), (3, 5, 4), (3, 7, 300)]


def sample(shape, dtype):
    rng = np.random.default_rng(1)
    dtype = np.dtype(dtype)
    if dtype.kind in "iub" and dtype not in HALVES:
        return np.asarray(rng.integers(0, 5, shape)).astype(dtype)
    values = rng.standard_normal(shape) + (1j * rng.standard_normal(shape) if dtype.kind == "c" else 0)
    return np.asarray(values).astype(dtype)


def cases(dtype):
    for shape in SHAPES:
        a = sample(shape, dtype)
        for array in (a, np.asfortranarray(a)):
            for dim in range(max(1, a.ndim)):
                yield array, dim


def along(f, a, dim):
    return f(a, axis=dim) if a.ndim else f(a.reshape(1)).reshape(())


def check(got, expected, dtype):
    assert type(got) is np.ndarray and got.dtype == dtype and got.shape == expected.shape and got.flags.c_contiguous
    if dtype.kind in "iub" and dtype not in HALVES:
        np.testing.assert_array_equal(got, expected)
    else:
        eps = float(ml_dtypes.finfo(dtype).eps)
        np.testing.assert_allclose(got.astype("c16"), expected.astype("c16"), rtol=2 * eps, atol=eps)


@pytest.mark.parametrize("dtype", [*INTEGERS, *HALVES, *FLOATS, "c8", "c16"], ids=str)
def test_sums_and_products(dtype):
    for a, dim in cases(dtype):
        wide = a.astype("c16" if a.dtype.kind == "c" else "f8") if a.dtype.kind in "fcV" or a.dtype in HALVES else a
        for f, oracle in ((scan.cumsum, np.cumsum), (scan.cumprod, np.cumprod)):
            with np.errstate(over="ignore"):
                expected = np.asarray(along(lambda x, **k: oracle(x, dtype=wide.dtype, **k), wide, dim))
            check(f(a, dim), expected, a.dtype)


def brute_extremum(a, beats):
    """Row by row over the first dim of a 1-dim array, in plain Python."""
    values, positions = [], []
    for i, x in enumerate(a):
        if i == 0 or np.isnan(x) or (not np.isnan(values[-1]) and beats(x, values[-1])):
            values.append(x)
            positions.append(i)
        else:
            values.append(values[-1])
            positions.append(positions[-1])
    return values, positions


@pytest.mark.parametrize("dtype", ["?", *INTEGERS, *HALVES, *FLOATS], ids=str)
def test_extrema(dtype):
    for a, dim in cases(dtype):
        if a.ndim == 0 or a.size == 0 or a.size > 1000:
            continue
        if a.dtype in FLOATS + HALVES:
            a.flat[a.size // 2] = np.nan
        for f, beats in ((scan.cummax, lambda x, y: x >= y), (scan.cummin, lambda x, y: x <= y)):
            values, positions = f(a, dim)
            assert values.dtype == a.dtype and positions.dtype == np.int64 and values.shape == positions.shape == a.shape
            moved = np.moveaxis(a, dim, 0).reshape(a.shape[dim], -1)
            for j in range(moved.shape[1]):
                expected = brute_extremum(moved[:, j].astype("f8"), beats)
                got = [np.moveaxis(x, dim, 0).reshape(a.shape[dim], -1)[:, j] for x in (values, positions)]
                np.testing.assert_array_equal(got[0].astype("f8"), expected[0])
                np.testing.assert_array_equal(got[1], expected[1])


@pytest.mark.parametrize("dtype", [*HALVES, *FLOATS], ids=str)
def test_logcumsumexp(dtype):
    for a, dim in cases(dtype):
        check(scan.logcumsumexp(a, dim), np.asarray(along(np.logaddexp.accumulate, a.astype("f8"), dim)), a.dtype)
    inf = np.inf
    a = np.array([-inf, -inf, 1.0, 1000.0, inf, inf, -inf])
    np.testing.assert_allclose(scan.logcumsumexp(a, 0), [-inf, -inf, 1, 1000, inf, inf, inf])
    assert np.isnan(scan.logcumsumexp(np.array([np.nan, 1.0]), 0)).all()


def test_long_float32_sums_are_rounded_once():
    a = np.random.default_rng(2).random(200_000, np.float32)
    np.testing.assert_array_equal(scan.cumsum(a, 0), np.cumsum(a.astype("f8")).astype("f4"))


@pytest.mark.parametrize("dtype", ["f4", "f8", "i8", "u1"], ids=str)
@pytest.mark.parametrize("shape", [(8223,), (8224,), (20_000,), (5, 1000), (4, 4096)], ids=str)
def test_rows_in_groups_and_long_rows_in_chunks(shape, dtype):
    a = (np.random.default_rng(3).standard_normal(shape) * 50).astype(dtype)
    wide = a.astype("f8") if a.dtype.kind == "f" else a
    results = []
    for threads in (1, 2):
        before = parallel.num_threads()
        parallel.set_num_threads(threads)
        try:
            results.append([scan.cumsum(a, a.ndim - 1), scan.cumprod(a, a.ndim - 1), *scan.cummax(a, a.ndim - 1)])
        finally:
            parallel.set_num_threads(before)
    for one, two in zip(*results):
        np.testing.assert_array_equal(one, two)
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(results[0][0], np.cumsum(wide, -1, dtype=wide.dtype).astype(dtype), rtol=1e-6 if dtype == "f4" else 1e-11)
        np.testing.assert_array_equal(results[0][1], np.cumprod(wide, -1, dtype=wide.dtype).astype(dtype))
    np.testing.assert_array_equal(results[0][2], np.maximum.accumulate(a, -1))


def test_long_sums_that_leave_the_range():
    """What is finite on the way stays so, though the sum of a chunk isn't; NaN and infinity reach what follows them, no more."""
    a = np.zeros(20_000)
    a[3000], a[5000], a[5001], a[9000] = -1.7e308, 1.7e308, 1.7e308, -1.7e308
    np.testing.assert_array_equal(scan.cumsum(a, 0), np.cumsum(a))
    assert np.isfinite(scan.cumsum(a, 0)).all()
    for special in (np.inf, -np.inf, np.nan):
        b = np.ones(20_000, "f4")
        b[12_000] = special
        np.testing.assert_array_equal(scan.cumsum(b, 0), np.cumsum(b, dtype="f8").astype("f4"))


def test_unordered_dtypes_are_refused():
    for f, dtype in itertools.product((scan.cummax, scan.cummin, scan.logcumsumexp), ("c8", "c16")):
        with pytest.raises(TypeError, match="complex"):
            f(np.zeros(3, dtype), 0)
    with pytest.raises(TypeError, match="logcumsumexp.*int64"):
        scan.logcumsumexp(np.zeros(3, "i8"), 0)
