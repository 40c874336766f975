"""The CPU backend's reductions against NumPy, with math.fsum where accuracy is the question."""
import itertools
import math

import ml_dtypes
import numpy as np
import pytest

from pyx_tensor_cpu import level, parallel
from pyx_tensor_cpu import reduce as R

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
HALVES = [np.dtype(np.float16), BFLOAT16]
FLOATS = [np.dtype(np.float32), np.dtype(np.float64)]
COMPLEXES = [np.dtype(np.complex64), np.dtype(np.complex128)]
INTEGERS = [np.dtype(t) for t in ("u1", "i1", "i2", "i4", "i8", "u2", "u4", "u8")]
BOOL = np.dtype(bool)
REALS = [BOOL, *INTEGERS, *HALVES, *FLOATS]
ALL = [*REALS, *COMPLEXES]
SHAPES = [(), (1,), (7,), (3, 5), (2, 3, 4), (4, 1, 6), (70, 33), (33, 5, 70), (2, 3, 2, 3, 2)]


def sample(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    if dtype == BOOL:
        return np.asarray(rng.random(shape) < 0.6)
    if dtype in INTEGERS:
        info = np.iinfo(dtype)
        return np.asarray(rng.integers(max(info.min, -100), min(info.max, 100), shape, dtype="i8").astype(dtype))
    values = rng.standard_normal(shape)
    if dtype in COMPLEXES:
        values = values + 1j * rng.standard_normal(shape)
    return np.asarray(np.asarray(values).astype(dtype))


def dim_sets(ndim):
    return itertools.chain.from_iterable(itertools.combinations(range(ndim), k) for k in range(ndim + 1))


def layouts(a):
    """a and arrays of the same values with other strides."""
    yield a
    yield np.asfortranarray(a)
    if a.ndim:
        wide = np.empty((*a.shape[:-1], 2 * a.shape[-1]), a.dtype)
        wide[..., ::2] = a
        yield wide[..., ::2]
        yield np.broadcast_to(a[:1], a.shape)
    if a.ndim > 2:
        yield np.ascontiguousarray(np.moveaxis(a, 0, 1)).swapaxes(0, 1)


def wide(a):
    return a.astype(np.float32) if a.dtype in HALVES else a


def check(got, expected, dtype, rtol=None):
    assert type(got) is np.ndarray
    assert got.dtype == dtype and got.shape == np.shape(expected) and got.flags.c_contiguous
    if dtype == BOOL or dtype in INTEGERS:
        np.testing.assert_array_equal(got, expected)
        return
    eps = float(ml_dtypes.finfo(dtype).eps)
    loose, absolute = (1, 0.02) if dtype in HALVES else (8, 64)     # halves are rounded once, from float32
    got, expected = (np.asarray(v).astype(np.complex128) for v in (got, expected))
    np.testing.assert_allclose(got, expected, rtol=rtol or loose * eps, atol=absolute * eps)


def sweep(dtype):
    for shape in SHAPES:
        for a in layouts(sample(shape, dtype)):
            for dims in dim_sets(a.ndim):
                for keepdim in (False, True):
                    yield a, dims, keepdim


@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_sum(dtype):
    for a, dims, keepdim in sweep(dtype):
        exact = wide(a) if dtype in INTEGERS or dtype == BOOL else a.astype(np.result_type(wide(a), "f8"))
        expected = np.sum(exact, axis=dims, keepdims=keepdim, dtype=dtype if dtype in INTEGERS else None)
        if dtype == BOOL:
            expected = expected > 0
        check(R.sum(a, dims, keepdim), expected, dtype)


@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_prod(dtype):
    for shape, keepdim in itertools.product([(), (5,), (3, 4), (2, 3, 4)], (False, True)):
        for a in layouts(sample(shape, dtype)):
            for dims in dim_sets(a.ndim):
                exact = a if dtype in INTEGERS or dtype == BOOL else a.astype(np.result_type(wide(a), "f8"))
                expected = np.prod(exact, axis=dims, keepdims=keepdim, dtype=dtype if dtype in INTEGERS else None)
                check(R.prod(a, dims, keepdim), expected.astype(bool) if dtype == BOOL else expected, dtype)


@pytest.mark.parametrize("dtype", REALS, ids=str)
def test_amax_amin(dtype):
    for a, dims, keepdim in sweep(dtype):
        check(R.amax(a, dims, keepdim), np.max(wide(a), axis=dims, keepdims=keepdim), dtype)
        check(R.amin(a, dims, keepdim), np.min(wide(a), axis=dims, keepdims=keepdim), dtype)


@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_any_all_count(dtype):
    for a, dims, keepdim in sweep(dtype):
        a = a * (np.arange(a.size).reshape(a.shape) % 3 != 0).astype(dtype) if a.ndim else a
        truth = a != 0
        check(R.any(a, dims, keepdim), np.any(truth, axis=dims, keepdims=keepdim), BOOL)
        check(R.all(a, dims, keepdim), np.all(truth, axis=dims, keepdims=keepdim), BOOL)
        check(R.count_nonzero(a, dims, keepdim), np.sum(truth, axis=dims, keepdims=keepdim), np.dtype("i8"))


@pytest.mark.parametrize("dtype", HALVES + FLOATS + COMPLEXES, ids=str)
def test_mean_and_var(dtype):
    for a, dims, keepdim in sweep(dtype):
        exact = a.astype(np.result_type(wide(a), "f8"))
        n = int(np.prod([a.shape[d] for d in dims]))
        real = a.real.dtype if dtype in COMPLEXES else dtype
        check(R.mean(a, dims, keepdim), np.mean(exact, axis=dims, keepdims=keepdim), dtype)
        var, mean = R.var_mean(a, dims, 0, keepdim)
        check(mean, np.mean(exact, axis=dims, keepdims=keepdim), dtype)
        check(var, np.var(exact, axis=dims, keepdims=keepdim), real)
        if n > 1:
            check(R.var_mean(a, dims, 1, keepdim)[0], np.var(exact, axis=dims, keepdims=keepdim, ddof=1), real)


def test_var_correction_above_the_count():
    one = np.ones(1, np.float32)
    assert math.isnan(R.var_mean(one, (0,), 1, False)[0])
    assert R.var_mean(np.array([1.0, 2.0]), (0,), 5, False)[0] == math.inf
    assert R.var_mean(np.array([1.0, 2.0, 6.0]), (0,), 0.5, False)[0] == pytest.approx(14 / 2.5)


@pytest.mark.parametrize("dtype", REALS, ids=str)
def test_positions(dtype):
    for shape in SHAPES:
        for a in layouts(sample(shape, dtype)):
            for keepdim in (False, True):
                check(R.argmax(a, None, keepdim), np.argmax(wide(a), keepdims=keepdim), np.dtype("i8"))
                check(R.argmin(a, None, keepdim), np.argmin(wide(a), keepdims=keepdim), np.dtype("i8"))
            for dim in range(a.ndim):
                for f, oracle, extreme in ((R.max_dim, np.argmax, np.max), (R.min_dim, np.argmin, np.min)):
                    values, positions = f(a, dim, True)
                    check(values, extreme(wide(a), axis=dim, keepdims=True), dtype)
                    check(positions, oracle(wide(a), axis=dim, keepdims=True), np.dtype("i8"))
                check(R.argmax(a, dim, False), np.argmax(wide(a), axis=dim), np.dtype("i8"))
                check(R.argmin(a, dim, False), np.argmin(wide(a), axis=dim), np.dtype("i8"))


@pytest.mark.parametrize("dtype", HALVES + FLOATS + COMPLEXES, ids=str)
@pytest.mark.parametrize("p", [0, 0.5, 1, 2, 3, math.inf, -math.inf])
def test_norm(dtype, p):
    result = a_real = dtype if dtype not in COMPLEXES else sample((), dtype).real.dtype
    for shape in [(), (7,), (70, 33), (3, 4, 5)]:
        for a in layouts(sample(shape, dtype)):
            for dims in dim_sets(a.ndim):
                size = np.abs(a.astype(np.result_type(wide(a), "f8")))
                if p == 0:
                    expected = np.sum(size != 0, axis=dims)
                elif math.isinf(p):
                    expected = (np.max if p > 0 else np.min)(size, axis=dims)
                else:
                    expected = np.sum(size ** p, axis=dims) ** (1 / p)
                with np.errstate(over="ignore"):            # beyond float16 both are infinite
                    expected = np.asarray(expected).astype(result)
                check(R.norm(a, p, dims, False), expected, result, rtol=64 * float(ml_dtypes.finfo(a_real).eps))


@pytest.mark.parametrize("dtype", HALVES + FLOATS, ids=str)
def test_logsumexp(dtype):
    for a, dims, keepdim in sweep(dtype):
        a = (a * np.asarray(30).astype(dtype)) if a.ndim else a
        expected = np.log(np.sum(np.exp(a.astype("f8")), axis=dims, keepdims=keepdim))
        check(R.logsumexp(a, dims, keepdim), expected, dtype)


def test_logsumexp_of_infinities():
    inf = math.inf
    assert R.logsumexp(np.array([inf, 1.0]), (0,), False) == inf
    assert R.logsumexp(np.array([-inf, -inf]), (0,), False) == -inf
    assert math.isnan(R.logsumexp(np.array([math.nan, 1.0]), (0,), False))
    assert R.logsumexp(np.array([1000.0, 1000.0]), (0,), False) == pytest.approx(1000 + math.log(2))


LONG = [((200_000,), (0,)), ((3, 10_001), (1,)), ((10_001, 3), (0,)), ((700, 600), (0,)), ((700, 600), (0, 1))]      # more than a leaf


@pytest.mark.parametrize("dtype", HALVES + FLOATS, ids=str)
@pytest.mark.parametrize("shape,dims", LONG)
def test_logsumexp_of_several_leaves(dtype, shape, dims):
    a = sample(shape, dtype) * np.asarray(5).astype(dtype)
    check(R.logsumexp(a, dims, False), np.log(np.sum(np.exp(a.astype("f8")), axis=dims)), dtype)


@pytest.mark.parametrize("where", [0, 150_000])
def test_logsumexp_of_infinities_in_other_leaves(where):
    inf = math.inf
    for fill, value, expected in [(-inf, -1000.0, -1000.0), (1000.0, inf, inf), (-1000.0, inf, inf), (-inf, inf, inf), (-inf, -inf, -inf), (-inf, 1000.0, 1000.0)]:
        a = np.full(200_000, fill)
        a[where] = value
        assert R.logsumexp(a, (0,), False) == expected
    a[where] = math.nan
    assert math.isnan(R.logsumexp(a, (0,), False))


@pytest.mark.parametrize("dtype", REALS, ids=str)
def test_aminmax(dtype):
    for a, dims, keepdim in itertools.chain(sweep(dtype), [(sample(shape, dtype), dims, False) for shape, dims in LONG]):
        low, high = R.aminmax(a, dims, keepdim)
        check(low, a.min(axis=dims, keepdims=keepdim), dtype)
        check(high, a.max(axis=dims, keepdims=keepdim), dtype)


@pytest.mark.parametrize("dtype", HALVES + FLOATS, ids=str)
def test_nansum(dtype):
    for a, dims, keepdim in itertools.chain(sweep(dtype), [(sample(shape, dtype), dims, False) for shape, dims in LONG]):
        a = np.where(a > 1, np.asarray(np.nan, dtype), a)
        check(R.nansum(a, dims, keepdim), np.nansum(a.astype(np.longdouble), axis=dims, keepdims=keepdim).astype(dtype), dtype)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_long_products(dtype):
    a = (1 + sample((300_000,), dtype) / 1000).astype(dtype)
    exact = math.exp(math.fsum(np.log(a.astype("f8"))))
    assert R.prod(a, (0,), False) == pytest.approx(exact, rel=2e3 * float(np.finfo(dtype).eps))     # roundings add up like a random walk
    a[123_456] = 0
    assert R.prod(a, (0,), False) == 0
    a[7] = np.nan
    assert np.isnan(R.prod(a, (0,), False))


@pytest.mark.parametrize("dtype", HALVES + FLOATS, ids=str)
@pytest.mark.parametrize("shape", [(5,), (300,), (10_000,), (40, 300), (300, 40)])
def test_nan_wins_wherever_it_is(dtype, shape):
    for place in range(0, math.prod(shape), max(1, math.prod(shape) // 97)):
        a = sample(shape, dtype)
        a.flat[place] = np.nan
        every = tuple(range(a.ndim))
        assert np.isnan(R.amax(a, every, False)) and np.isnan(R.amin(a, every, False)) and np.isnan(R.aminmax(a, every, False)).all()
        assert np.isnan(R.sum(a, every, False)) and np.isnan(R.mean(a, every, False))
        assert R.argmax(a, None, False) == place and R.argmin(a, None, False) == place
        for dim in every:
            index = list(np.unravel_index(place, shape))
            row = index.pop(dim)
            assert R.argmax(a, dim, False)[tuple(index)] == row
            assert np.isnan(R.max_dim(a, dim, False)[0]).sum() == 1


@pytest.mark.parametrize("name", level.supported_levels())
def test_runs_of_every_length_at_every_level(name):
    before = level.cpu_level()
    level.set_cpu_level(name)
    try:
        for dtype in (*FLOATS, *INTEGERS, BOOL):
            rows = sample((3, 300), dtype)
            for n in range(1, 301):
                a = rows[:, :n]
                same = lambda got, expected: np.testing.assert_array_equal(got, expected, f"{dtype} {n}")
                same(R.amax(a, (1,), False), a.max(1))
                same(R.amin(a, (1,), False), a.min(1))
                if dtype in FLOATS:
                    np.testing.assert_allclose(R.sum(a, (1,), False), a.sum(1, dtype="f8"), atol=n * np.finfo(dtype).eps)
                    holed = a.copy()
                    holed[np.arange(3), [0, n // 2, n - 1]] = np.nan
                    assert np.isnan(R.amax(holed, (1,), False)).all() and np.isnan(R.amin(holed, (1,), False)).all()
                elif dtype != BOOL:
                    same(R.sum(a, (1,), False), a.sum(1, dtype=dtype))
                    same(R.prod(a, (1,), False), a.prod(1, dtype=dtype))
    finally:
        level.set_cpu_level(before)


def test_the_first_of_several_equals_or_nans_is_found():
    for n in (2, 100, 5000, 300_000):
        a = np.zeros(n, np.float32)
        assert R.argmax(a, 0, False) == 0
        a[n // 2:] = 1
        assert R.argmax(a, None, False) == n // 2
        a[n - 2:] = np.nan
        assert R.argmin(a, 0, False) == n - 2
        columns = np.ascontiguousarray(np.stack([a, a]).T)
        assert R.argmax(columns, 0, False).tolist() == [n - 2, n - 2]


@pytest.mark.parametrize("shape, dims", [
    ((1 << 20,), (0,)), ((1 << 10, 1 << 10), (0,)), ((1 << 10, 1 << 10), (1,)), ((1 << 18, 3), (0,)), ((3, 1 << 18), (1,)),
    ((64, 30, 500), (0, 2)), ((500, 30, 64), (1,)), ((1 << 16, 2, 2), (0, 2)), ((2, 1 << 17, 2), (0, 2)),
])
def test_float32_sums_are_accurate(shape, dims):
    a = np.random.default_rng(3).random(shape, np.float32) + np.float32(1)
    kept = [d for d in range(a.ndim) if d not in dims]
    rows = a.transpose(*kept, *dims).reshape(math.prod(a.shape[d] for d in kept), -1)
    exact = np.array([math.fsum(row.tolist()) for row in rows[:8]])
    got = R.sum(a, dims, False).reshape(-1)[:8].astype("f8")
    np.testing.assert_allclose(got, exact, rtol=4 * 2.0 ** -24)
    mean = R.mean(a, dims, False).reshape(-1)[:8].astype("f8")
    np.testing.assert_allclose(mean, exact / rows.shape[1], rtol=4 * 2.0 ** -24)


@pytest.mark.parametrize("shape, dims", [((1 << 18,), (0,)), ((4000, 40), (0,)), ((40, 4000), (1,)), ((20, 30, 400), (0, 2))])
def test_variance_survives_a_large_mean(shape, dims):
    a = (np.random.default_rng(4).standard_normal(shape) * 0.5 + 1000).astype(np.float32)
    var, mean = R.var_mean(a, dims, 1, False)
    np.testing.assert_allclose(var, np.var(a.astype("f8"), axis=dims, ddof=1), rtol=1e-6)
    np.testing.assert_allclose(mean, np.mean(a.astype("f8"), axis=dims), rtol=2.0 ** -23)


def test_results_do_not_depend_on_the_number_of_threads():
    rng = np.random.default_rng(5)
    arrays = [rng.standard_normal(shape).astype(np.float32) for shape in ((1 << 19,), (700, 700), (30, 40, 500))]
    before = parallel.num_threads()
    results = []
    try:
        for threads in (1, 2, 3):
            parallel.set_num_threads(threads)
            results.append([f(a, dims, False) for a in arrays for dims in dim_sets(a.ndim) for f in (R.sum, R.amax)]
                           + [R.var_mean(a, dims, 1, False)[0] for a in arrays for dims in dim_sets(a.ndim) if dims]
                           + [R.argmax(a, d, False) for a in arrays for d in (None, 0, a.ndim - 1)])
    finally:
        parallel.set_num_threads(before)
    for other in results[1:]:
        for one, two in zip(results[0], other):
            np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("name", level.supported_levels())
def test_every_cpu_level(name):
    before = level.cpu_level()
    a = sample((700, 130), np.dtype(np.float32))
    try:
        level.set_cpu_level(name)
        for dims in ((0,), (1,), (0, 1)):
            check(R.sum(a, dims, False), a.astype("f8").sum(dims), a.dtype)
            check(R.amax(a, dims, False), a.max(dims), a.dtype)
            check(R.var_mean(a, dims, 0, False)[0], a.astype("f8").var(dims), a.dtype)
        for dim in (None, 0, 1):
            check(R.argmin(a, dim, False), a.argmin(dim), np.dtype("i8"))
    finally:
        level.set_cpu_level(before)


def test_nothing_to_reduce():
    empty = np.zeros((0, 3), np.float32)
    assert R.sum(empty, (0,), False).tolist() == [0, 0, 0]
    assert R.prod(empty, (0,), True).tolist() == [[1, 1, 1]]
    assert R.any(empty, (0, 1), False) == False and R.all(empty, (0,), False).tolist() == [True] * 3  # noqa: E712
    assert np.isnan(R.mean(empty, (0,), False)).all() and np.isnan(R.var_mean(empty, (0,), 0, False)).all()
    assert R.norm(empty, 2, (0,), False).tolist() == [0, 0, 0]
    assert R.logsumexp(empty, (0,), False).tolist() == [-math.inf] * 3
    for f in (R.sum, R.amax, R.mean):
        assert f(empty, (1,), False).shape == (0,) and f(empty, (1,), True).shape == (0, 1)
    assert R.argmax(empty, 1, False).shape == (0,)


@pytest.mark.parametrize("f", [R.amax, R.amin])
def test_extrema_of_nothing_name_the_dim(f):
    with pytest.raises(IndexError, match="reduction dim 1 to have non-zero size"):
        f(np.zeros((2, 0)), (1,), False)


@pytest.mark.parametrize("f", [R.argmax, R.argmin, R.max_dim, R.min_dim])
def test_positions_in_nothing_name_the_dim(f):
    with pytest.raises(IndexError, match="reduction dim 0 to have non-zero size"):
        f(np.zeros((0, 2)), 0, False)


def test_dtypes_without_an_order_or_a_mean_are_refused():
    with pytest.raises(TypeError, match="amax.*complex64"):
        R.amax(np.zeros(2, np.complex64), (0,), False)
    with pytest.raises(TypeError, match="argmin.*complex128"):
        R.argmin(np.zeros(2, np.complex128), 0, False)
    with pytest.raises(TypeError, match="mean.*int64"):
        R.mean(np.zeros(2, np.int64), (0,), False)
    with pytest.raises(ValueError, match="dim 2 is out of range"):
        R.sum(np.zeros((2, 2)), (2,), False)


def test_float16_is_widened_exactly():
    bits = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    np.testing.assert_array_equal(R.sum(bits[:, None], (1,), False), bits)
    every = np.arange(1 << 16, dtype=np.uint16).view(BFLOAT16)
    with np.errstate(invalid="ignore"):     # NumPy reports signalling NaN
        np.testing.assert_array_equal(R.amax(every[:, None], (1,), False).astype("f4"), every.astype("f4"))


def test_sums_of_negative_zeros_are_positive():
    for shape, dims in (((3,), (0,)), ((3, 4), (0,)), ((100,), (0,))):
        total = R.sum(np.full(shape, -0.0, np.float32), dims, False)
        assert not np.signbit(total).any()
