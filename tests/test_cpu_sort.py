"""The CPU backend's sorting, selection and counting against NumPy's."""
import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from pyx_tensor_cpu import runs, search, sort as S

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
FLOATS = [np.dtype(t) for t in ("f2", "f4", "f8")] + [BFLOAT16]
INTEGERS = [np.dtype(t) for t in ("u1", "i1", "i2", "i4", "i8", "u2", "u4", "u8")]
REALS = FLOATS + INTEGERS
SORTED = REALS + [np.dtype("?")]


def values(shape, dtype, distinct=1000, seed=0):
    """Random values with ties; for floats NaN, infinities and both zeros among them."""
    rng = np.random.default_rng(seed)
    raw = rng.integers(0, distinct, shape) - (distinct // 2 if dtype.kind != "u" else 0)
    a = raw.astype(dtype)
    if dtype in FLOATS:
        special = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, -np.nan]).astype(dtype)
        a = np.where(rng.random(shape) < 0.2, special[rng.integers(0, 6, shape)], a)
    return np.asarray(a)


def extremes(dtype):
    if dtype.kind in "iu":
        return np.array([np.iinfo(dtype).max, 0, np.iinfo(dtype).min, 1], dtype)
    tiny = ml_dtypes.finfo(dtype).smallest_subnormal
    return np.array([1, -tiny, ml_dtypes.finfo(dtype).max, 0, tiny, ml_dtypes.finfo(dtype).min, -1], dtype)


def reference_order(a, dim, descending):
    """The stable order with NaN as the largest value, by Python's sort on each row."""
    order = np.empty(a.shape, np.int64)
    for place in np.ndindex(*(1 if d == dim else n for d, n in enumerate(a.shape))):
        row = tuple(slice(None) if d == dim else p for d, p in enumerate(place))
        keys = [(x != x, 0 if x != x else x) for x in a[row].tolist()]
        order[row] = sorted(range(len(keys)), key=keys.__getitem__, reverse=descending)
    return order


def same(got, expected):
    assert type(got) is np.ndarray and got.dtype == expected.dtype and got.shape == expected.shape
    if got.dtype == BFLOAT16:  # NumPy's comparison does not know its NaN
        got, expected = got.astype("f4"), expected.astype("f4")
    np.testing.assert_array_equal(got, expected)


def same_bits(got, expected):
    assert type(got) is np.ndarray and got.dtype == expected.dtype and got.shape == expected.shape
    assert got.flags.c_contiguous and got.tobytes() == np.ascontiguousarray(expected).tobytes()


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dtype", SORTED, ids=str)
def test_sort(dtype, descending):
    for shape, distinct in (((3, 50, 2), 8), ((2, 40), 1000), ((1, 700), 3), ((5, 1), 5), ((0, 4), 5), ((4, 0), 5), ((9,), 2)):
        a = values(shape, dtype, min(distinct, 100) if dtype.itemsize == 1 else distinct)
        for dim in range(a.ndim):
            order = reference_order(a, dim, descending)
            for layout in (a, a.copy("F")):
                got, indices = S.sort(layout, dim, descending, True)
                same_bits(indices, order)
                same_bits(got, np.take_along_axis(a, order, dim))
                same_bits(S.argsort(layout, dim, descending), order)


@pytest.mark.parametrize("dtype", REALS, ids=str)
def test_sort_of_extreme_values(dtype):
    a = extremes(dtype)
    got, _ = S.sort(a, 0)
    assert got.tolist() == sorted(a.tolist())
    got, _ = S.sort(a, 0, True)
    assert got.tolist() == sorted(a.tolist(), reverse=True)


@pytest.mark.parametrize("dtype", [np.dtype("f4"), np.dtype("f8"), np.dtype("i8"), np.dtype("i2")], ids=str)
def test_sort_of_large_arrays(dtype):
    """Big enough for threads over rows, and one long row."""
    rng = np.random.default_rng(0)
    for shape in ((40, 5000), (150000,), (30000, 7)):
        a = (rng.standard_normal(shape) * 1000).astype(dtype)
        got, order = S.sort(a, a.ndim - 1)
        same_bits(order, np.argsort(a, -1, kind="stable"))
        same_bits(got, np.take_along_axis(a, order, -1))


@pytest.mark.parametrize("dtype", [np.dtype("f4"), np.dtype("f8"), np.dtype("i8"), np.dtype("u8"), np.dtype("f2")], ids=str)
@pytest.mark.parametrize("length", [256, 257, 700, 3000])
def test_orders_of_long_rows_are_stable(dtype, length):
    """Ties in the whole key, in its upper half and in its lower half; the first of equal elements comes first everywhere."""
    rng = np.random.default_rng(length)
    many = [rng.integers(0, 40, length), rng.integers(0, 2 ** 62, length) // 2 ** 31 * 2 ** 31, rng.integers(-2 ** 62, 2 ** 62, length),
            rng.integers(0, 3, length) * 2 ** 40 + rng.integers(0, 3, length), np.zeros(length, "i8")]
    with np.errstate(over="ignore"):
        a = np.stack([row.astype(dtype) for row in many])
    if dtype.kind == "f":
        a[:, ::50], a[:, 7::60], a[:, 9::70], a[:, 5::80] = np.nan, -np.inf, np.inf, -0.0
    expected = np.argsort(a, -1, kind="stable")
    values, order = S.sort(a, 1)
    same_bits(order, expected)
    same_bits(values, np.take_along_axis(a, expected, 1))
    for k in (1, 5, length // 3, length - 1, length):
        values, order = S.topk(a, k, 1, False)
        same_bits(order, expected[:, :k])
        same_bits(values, np.take_along_axis(a, order, 1))
        values, order = S.kthvalue(a, k, 1)
        same_bits(order, expected[:, k - 1])


def test_sort_takes_a_zero_dimensional_array():
    got, order = S.sort(np.array(5.0), 0)
    same(got, np.array(5.0))
    same(order, np.array(0))
    for found in (S.topk(np.array(5.0), 1, 0), S.kthvalue(np.array(5.0), 1, 0), S.median(np.array(5.0), 0), runs.mode(np.array(5.0), 0)):
        same(found[0], np.array(5.0))
        same(found[1], np.array(0))


@pytest.mark.parametrize("largest", [False, True])
@pytest.mark.parametrize("dtype", REALS, ids=str)
def test_topk(dtype, largest):
    a = values((3, 60, 4), dtype, 100)
    for dim in range(3):
        order = reference_order(a, dim, largest)
        for k in (0, 1, a.shape[dim] // 2, a.shape[dim]):
            got, indices = S.topk(a, k, dim, largest, True)
            same(got, np.take_along_axis(a, np.take(order, range(k), dim), dim))
            same(np.take_along_axis(a, indices, dim), got)
            assert (np.diff(np.sort(indices, dim), axis=dim) > 0).all()  # no index twice


@pytest.mark.parametrize("dtype", REALS, ids=str)
def test_kthvalue(dtype):
    a = values((3, 31), dtype, 100)
    for dim in range(2):
        expected = np.take_along_axis(a, reference_order(a, dim, False), dim)
        for k in range(1, a.shape[dim] + 1):
            got, indices = S.kthvalue(a, k, dim, True)
            same(got, np.take(expected, [k - 1], dim))
            same(np.take_along_axis(a, indices, dim), got)
    assert S.kthvalue(a, 1, 0, False)[0].shape == (31,)


@pytest.mark.parametrize("dtype", SORTED, ids=str)
@pytest.mark.parametrize("length", [7, 8])
def test_median_is_the_lower_one(dtype, length):
    a = np.random.default_rng(0).integers(0, 2 if dtype == np.bool_ else 50, (4, length)).astype(dtype)
    got, indices = S.median(a, 1, True)
    same(got, np.sort(a.astype("f8"), 1)[:, (length - 1) // 2][:, None].astype(dtype))
    same(np.take_along_axis(a, indices, 1), got)
    same(S.median(a, 0)[0], S.median(np.ascontiguousarray(a.T), 1)[0])


@pytest.mark.parametrize("dtype", REALS, ids=str)
@pytest.mark.parametrize("length", [1, 2, 7, 40])
def test_nanmedian_leaves_nan_out(dtype, length):
    a = values((9, length), dtype, seed=length)
    if dtype in FLOATS:
        a[0], a[1] = np.nan, 1.5
    for given in (a, np.asfortranarray(a), a[:, ::-1]):
        got, indices = S.nanmedian(given, 1)
        for row, found, place in zip(given, got, indices):
            numbers = np.sort(row[row == row].astype("f8"))
            assert found.tobytes() == row[place].tobytes()
            assert found == numbers[(len(numbers) - 1) // 2] if len(numbers) else (found != found and place == 0)
    same(S.nanmedian(a, 0, True)[0], S.nanmedian(np.ascontiguousarray(a.T), 1)[0][None])
    assert S.nanmedian(np.array(5.0), 0)[0].shape == () and S.nanmedian(a[:0], 1)[0].shape == (0,)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_median_is_the_first_nan(dtype):
    got, indices = S.median(np.array([[2, np.nan, 1, np.nan], [3, 1, 2, 0]], dtype), 1)
    same(got, np.array([np.nan, 1], dtype))
    same(indices, np.array([1, 1]))


def test_mode():
    a = np.array([[1, 2, 2, 1, 3, 1, 2], [5, 5, 4, 3, 3, 9, 9], [0, 1, 2, 3, 4, 5, 6]])
    got, indices = runs.mode(a, 1)
    same(got, np.array([1, 3, 0]))
    same(indices, np.array([5, 4, 0]))
    same(runs.mode(a.T, 0, True)[0], np.array([[1, 3, 0]]))
    same(runs.mode(np.array([2, np.nan, 1, 1, np.nan, np.nan], BFLOAT16), 0)[0], np.array(1, BFLOAT16))


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(SORTED), st.integers(0, 60), st.integers(1, 20))
def test_unique(dtype, length, distinct):
    a = np.random.default_rng(length).integers(0, distinct, (2, length)).astype(dtype)
    expected, inverse, counts = np.unique(a.astype("f8"), return_inverse=True, return_counts=True)
    got = runs.unique(a, True, True, True)
    for x, y in zip(got, (expected.astype(dtype), inverse.reshape(a.shape), counts)):
        same(x, y)
    same(runs.unique(a)[0], expected.astype(dtype))
    got, inverse, counts = runs.unique_consecutive(a, True, True)
    same(np.repeat(got, counts), a.reshape(-1))
    same(got[inverse], a)
    assert not (got[1:] == got[:-1]).any()


def test_unique_tells_nans_apart():
    got, inverse, counts = runs.unique(np.array([2.0, np.nan, 1, 1, np.nan]), True, True, True)
    same(got, np.array([1, 2, np.nan, np.nan]))
    same(inverse, np.array([1, 2, 0, 0, 3]))
    same(counts, np.array([2, 1, 1, 1]))


@pytest.mark.parametrize("dtype", REALS, ids=str)
def test_searchsorted_and_isin(dtype):
    rng = np.random.default_rng(0)
    rows, wanted = np.sort(rng.integers(0, 40, (3, 20)), -1), rng.integers(0, 45, (3, 7))
    for right in (False, True):
        side = "right" if right else "left"
        same(search.searchsorted(rows[0].astype(dtype), wanted.astype(dtype), right), np.searchsorted(rows[0], wanted, side))
        expected = np.stack([np.searchsorted(r, w, side) for r, w in zip(rows, wanted)])
        same(search.searchsorted(rows.astype(dtype), wanted.astype(dtype), right), expected)
    same(search.searchsorted(rows[0].astype(dtype), np.array(9, dtype)), np.asarray(np.searchsorted(rows[0], 9)))
    same(search.isin(wanted.astype(dtype), rows[0].astype(dtype)), np.isin(wanted, rows[0]))
    same(search.isin(wanted.astype(dtype), rows[0].astype(dtype), True), ~np.isin(wanted, rows[0]))


@pytest.mark.parametrize("dtype", SORTED + [np.dtype("c8")], ids=str)
def test_members(dtype):
    elements = values((7, 30), dtype, 20)
    for members in (values((40,), dtype, 20, 1), values((3, 2), dtype, 20, 2), elements[:, 3], elements[:0], elements[0, 0, None].reshape(())):
        for wanted in (elements, elements.T, elements[::2, ::3], elements[:0], elements[1, :1].reshape(())):
            expected = (wanted[..., None] == members.reshape(-1)).any(-1)
            same(search.isin(wanted, members), np.asarray(expected))
            same(search.isin(wanted, members, True), np.asarray(~expected))
    with pytest.raises(TypeError, match="one dtype"):
        search.isin(elements, np.zeros(2, "M8[s]"))


@pytest.mark.parametrize("dtype", SORTED, ids=str)
def test_modes_of_rows(dtype):
    a = values((5, 4, 9), dtype, 4)
    got, indices = runs.mode(a, 1)
    for i, j in np.ndindex(5, 9):
        column = a[i, :, j].tolist()
        counts = {x: sum(x == y for y in column) or 1 for x in column}
        best = max(counts.values())
        least = min((x for x, n in counts.items() if n == best), key=lambda x: (x != x, x))
        same(got[i, j, None], np.array([least], dtype))
        assert (a[i, indices[i, j], j] == got[i, j]) or got[i, j] != got[i, j]


def test_bincount():
    a = np.array([0, 3, 3, 1], "i4")
    same(search.bincount(a), np.array([1, 1, 0, 2]))
    same(search.bincount(a, None, 6), np.array([1, 1, 0, 2, 0, 0]))
    weights = np.array([0.5, 1, 2, 4], "f4")
    same(search.bincount(a, weights), np.array([0.5, 4, 0, 3], "f4"))
    same(search.bincount(a, np.array([1, 2, 3, 4])), np.array([1.0, 4, 0, 5]))
    same(search.bincount(a[:0], None, 2), np.zeros(2, "i8"))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_histc(dtype):
    a = np.array([[0, 1, 2, 3, 2.5, -1, np.nan, 4]]).astype(dtype)
    same(search.histc(a, 3, 0, 3), np.array([1, 1, 3], dtype))  # 3 belongs to the last bin
    same(search.histc(a[:, :5], 3, 0, 0), np.array([1, 1, 3], dtype))
    same(search.histc(np.ones(4, dtype), 2, 0, 0), np.array([0, 4], dtype))
    same(search.histc(np.ones(0, dtype), 2, 0, 0), np.array([0, 0], dtype))


A = np.arange(6.0).reshape(2, 3)
BAD = [
    (TypeError, "sort is not implemented for complex64", lambda: S.sort(A.astype("c8"), 0)),
    (TypeError, "unique is not implemented for complex128", lambda: runs.unique(A.astype("c16"))),
    (TypeError, "topk is not implemented for bool", lambda: S.topk(A > 0, 1, 0)),
    (RuntimeError, "k out of range", lambda: S.topk(A, 4, 1)),
    (RuntimeError, "k out of range", lambda: S.topk(A, -1, 1)),
    (RuntimeError, "number k out of range", lambda: S.kthvalue(A, 0, 1)),
    (RuntimeError, "number k out of range", lambda: S.kthvalue(A, 4, 1)),
    (IndexError, "non-zero size", lambda: S.median(A[:0], 0)),
    (IndexError, "non-zero size", lambda: S.nanmedian(A[:0], 0)),
    (IndexError, "non-zero size", lambda: runs.mode(A[:0], 0)),
    (RuntimeError, r"\[2, 3\] and values \[3, 1\]", lambda: search.searchsorted(A, np.zeros((3, 1)))),
    (RuntimeError, "non-negative", lambda: search.bincount(np.array([-1]))),
    (RuntimeError, "non-negative", lambda: search.bincount(np.array([1.0]))),
    (RuntimeError, "weights", lambda: search.bincount(np.array([1]), np.zeros(2))),
    (RuntimeError, "minlength", lambda: search.bincount(np.array([1]), None, -1)),
    (RuntimeError, "bins must be", lambda: search.histc(A, 0, 0, 1)),
    (RuntimeError, "max must be larger", lambda: search.histc(A, 2, 3, 1)),
    (RuntimeError, "not finite", lambda: search.histc(np.array([np.nan]), 2, 0, 0)),
    (TypeError, "int64", lambda: search.histc(np.array([1]), 2, 0, 0)),
]


@pytest.mark.parametrize("error, message, call", BAD)
def test_bad_input(error, message, call):
    with pytest.raises(error, match=message):
        call()


def test_inputs_stay_whole():
    a = np.array([[3.0, 1, 2]])
    for call in (lambda: S.sort(a, 1), lambda: S.topk(a, 2, 1), lambda: S.kthvalue(a, 2, 1), lambda: runs.unique(a)):
        call()
        same(a, np.array([[3.0, 1, 2]]))


@pytest.mark.parametrize("dtype", ["u1", "i2", "f2", "f4", "i4", "i8", "f8"])
@pytest.mark.parametrize("k", [1, 3, 50, 400])
def test_topk_of_long_rows_with_ties(dtype, k):
    rows = np.random.default_rng(k).integers(0, 100, (3, 7001)).astype(dtype)
    for largest in (False, True):
        values, places = S.topk(rows, k, 1, largest)
        expected = np.argsort(-rows.astype("f8") if largest else rows, axis=1, kind="stable")[:, :k]
        np.testing.assert_array_equal(places, expected)
        np.testing.assert_array_equal(values, np.take_along_axis(rows, expected, 1))


def test_topk_of_one_row_that_rises_and_falls():
    for row in (np.arange(10_000, dtype="f4"), np.arange(10_000, 0, -1).astype("f4")):
        np.testing.assert_array_equal(S.topk(row, 5, 0)[0], np.sort(row)[:-6:-1])
        np.testing.assert_array_equal(S.topk(row, 5, 0, False)[0], np.sort(row)[:5])
