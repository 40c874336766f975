"""The CPU backend's indexed reads and writes against NumPy's."""
import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra import numpy as hnp

from pyx_tensor_cpu import index as I
from pyx_tensor_cpu import masks as M

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
DTYPES = [np.dtype(t) for t in ("?", "u1", "i1", "i2", "i4", "i8", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16")] + [BFLOAT16]
NUMBERS = [t for t in DTYPES if t != np.bool_]
REALS = [t for t in NUMBERS if t.kind != "c"]


def values(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    raw = rng.integers(0, 2 if dtype == np.bool_ else 60, shape)
    return np.asarray(raw + 1j * rng.integers(0, 60, shape) if dtype.kind == "c" else raw).astype(dtype)


def layouts(array):
    """The same values contiguous, transposed in memory, and with gaps."""
    gaps = np.zeros([2 * n for n in array.shape], array.dtype)[(..., *(slice(None, None, 2) for _ in array.shape))]
    gaps[...] = array
    return [array, array.copy("F"), gaps]


def same(got, expected):
    assert type(got) is np.ndarray and got.dtype == expected.dtype and got.shape == expected.shape
    assert got.flags.c_contiguous
    np.testing.assert_array_equal(got, expected)


# ------------------------------------------------------------------------------------------- index_select and its kin

@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("dim", [0, 1, 2])
def test_index_select(dtype, dim):
    a = values((4, 5, 6), dtype)
    at = np.array([3, 0, 0, 2])
    for layout in layouts(a):
        same(I.index_select(layout, dim, at), np.take(a, at, dim))
    same(I.index_select(a, dim, at[:0]), np.take(a, at[:0], dim))
    same(I.take(a, dim, np.array([[-1, 0]])), np.take(a, [[-1, 0]], dim))


def test_index_select_of_large_arrays_uses_threads_rightly():
    a = np.random.default_rng(0).standard_normal((700, 300)).astype("f4")
    at = np.random.default_rng(1).integers(0, 300, 900)
    for dim in (0, 1):
        same(I.index_select(a, dim, at), np.take(a, at, dim))
        same(I.index_select(a.T, dim, at), np.take(a.T, at, dim))


def test_zero_dimensional_input():
    a = np.array(5.0)
    same(I.index_select(a, 0, np.array([0])), a)
    same(I.gather(a, 0, np.array(0)), a)
    same(I.gather(a, 0, np.array([0])), a.reshape(1))
    same(I.scatter(a, 0, np.array(0), np.array(7.0)), np.array(7.0))
    same(I.index_fill(a, 0, np.array([0]), 3.0), np.array(3.0))
    same(I.index_get(a, []), a)


def test_take_flat_and_put():
    a = values((3, 4), np.dtype("f4"))
    at = np.array([[0, -1], [5, 5]])
    for layout in layouts(a):
        same(I.take_flat(layout, at), np.take(a, at))
        written = layout.copy("K")
        assert I.put_(written, at, np.array([[1, 2], [3, 4]], "f4")) is written
        expected = a.copy()
        np.put(expected, at, [1, 2, 3, 4])
        np.testing.assert_array_equal(written, expected)
        added = layout.copy("K")
        I.put_(added, at, np.ones((2, 2), "f4"), True)
        expected = a.copy()
        np.add.at(expected.reshape(-1), at, 1)
        np.testing.assert_array_equal(added, expected)
    I.put_(np.zeros((0, 2)), np.zeros(0, int), np.zeros(0))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_index_copy_fill_and_add(dtype):
    a, at = values((3, 4, 5), dtype), np.array([2, 0, 2])
    source = values((3, 3, 5), dtype, 1)
    for layout in layouts(a):
        expected = a.copy()
        expected[:, at] = source
        same(I.index_copy(layout, 1, at, source), expected)
        expected = a.copy()
        expected[:, at] = 1
        same(I.index_fill(layout, 1, at, 1), expected)
        expected = a.copy().astype("c16" if dtype.kind == "c" else "f8")
        np.add.at(expected, (slice(None), at), source.astype(expected.dtype))
        same(I.index_add(layout, 1, at, source), (expected != 0).astype(dtype) if dtype == np.bool_ else expected.astype(dtype))
    assert not I.index_fill(a, 1, np.array([-1]), 0)[:, -1].any()


def test_index_add_scales_by_alpha_and_wraps():
    same(I.index_add(np.zeros(2, "i8"), 0, np.array([1, 1]), np.array([2, 3]), -2), np.array([0, -10]))
    same(I.index_add(np.full(1, 250, "u1"), 0, np.array([0]), np.array([10], "u1")), np.array([4], "u1"))


@pytest.mark.parametrize("dtype", ["f4", "f2", "i8"], ids=str)
def test_writes_over_the_input(dtype):
    """With `out`: over the array itself, of any layout, or as a copy into another."""
    rng = np.random.default_rng(5)
    source, places = rng.integers(0, 9, (5, 4)).astype(dtype), np.array([2, 0, 2, 5, 1])
    index = rng.integers(0, 6, (5, 4))
    calls = {
        "index_add": lambda a, **out: I.index_add(a, 0, places, source, **out), "scatter": lambda a, **out: I.scatter(a, 0, index, source, **out),
        "scatter_add": lambda a, **out: I.scatter_add(a, 0, index, source, **out),
        "index_put": lambda a, **out: I.index_put(a, [places], source, True, **out),
        "nothing": lambda a, **out: I.scatter(a, 0, index[:0], source, **out)}
    for name, call in calls.items():
        for layout in (lambda a: a, np.asfortranarray, lambda a: np.repeat(a, 2, 1)[:, ::2], lambda a: a[::-1]):
            array = layout(rng.integers(0, 9, (6, 4)).astype(dtype))
            before, expected, other = array.copy(), call(array.copy()), np.zeros((6, 4), dtype)
            assert call(array, out=other) is other, name
            np.testing.assert_array_equal(array, before)
            assert call(array, out=array) is array, name
            np.testing.assert_array_equal(array, expected)
            np.testing.assert_array_equal(other, expected)


def test_half_types_are_accumulated_in_float32():
    for dtype in (BFLOAT16, np.dtype("f2")):
        ones = np.ones(3000, dtype)  # a running bfloat16 sum stops at 256, a float16 one at 2048
        at = np.zeros(3000, int)
        expected = np.array([3000], "f4").astype(dtype)
        same(I.index_add(np.zeros(1, dtype), 0, at, ones), expected)
        same(I.scatter_add(np.zeros(1, dtype), 0, at, ones), expected)
        same(I.index_put_(np.zeros(1, dtype), [at], ones, True), expected)
        same(I.scatter_reduce(np.zeros(1, dtype), 0, at, ones, "mean", False), np.ones(1, dtype))
        third = np.array([1 / 3], dtype)
        same(I.index_add(third, 0, at[:1], third, 0.1), (third.astype("f4") + third.astype("f4") * np.float32(0.1)).astype(dtype))


@pytest.mark.parametrize("dtype", [np.dtype("f4"), BFLOAT16], ids=str)
def test_embedding_and_its_gradient(dtype):
    weight, at = values((6, 3), dtype), np.array([[0, 5], [5, 2]])
    same(I.embedding(weight, at), weight[at])
    same(I.embedding(weight, np.array(4)), weight[4])
    g = values((2, 2, 3), dtype, 1)
    expected = np.zeros((6, 3), dtype)
    np.add.at(expected, at, g)
    same(I.embedding_backward(g, at, 6, -1), expected)
    expected[5] = 0
    same(I.embedding_backward(g, at, 6, 5), expected)


# ---------------------------------------------------------------------------------------------------- gather, scatter

def along(a, dim, at):
    """NumPy indices that mean gather's."""
    return tuple(at if d == dim else grid for d, grid in enumerate(np.indices(at.shape)))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("dim", [0, 1, 2])
def test_gather_and_scatter(dtype, dim):
    a, rng = values((4, 5, 6), dtype), np.random.default_rng(dim)
    shape = [2, 3, 4]
    shape[dim] = 6
    at = rng.integers(0, a.shape[dim], shape)
    src = values((6, 6, 6), dtype, 1)
    used = src[tuple(map(slice, shape))]
    for layout in layouts(a):
        for index in layouts(at):
            same(I.gather(layout, dim, index), a[along(a, dim, at)])
        expected = a.copy()
        for place in np.ndindex(*shape):  # one by one: the last write wins
            target = list(place)
            target[dim] = at[place]
            expected[tuple(target)] = used[place]
        same(I.scatter(layout, dim, at, src), expected)
        wide = a.astype("c16" if dtype.kind == "c" else "f8")
        np.add.at(wide, along(a, dim, at), used.astype(wide.dtype))
        same(I.scatter_add(layout, dim, at, src), (wide != 0).astype(dtype) if dtype == np.bool_ else wide.astype(dtype))
    filled = a.copy()
    filled[along(a, dim, at)] = 1
    same(I.scatter(a, dim, at, np.array(1, dtype)), filled)


def test_scatter_takes_expanded_indices():
    at = np.broadcast_to(np.array([[2], [0]]), (2, 5))
    src = values((2, 5), np.dtype("f4"))
    expected = np.zeros((3, 5), "f4")
    expected[[2, 0]] = src
    same(I.scatter(np.zeros((3, 5), "f4"), 0, at, src), expected)
    same(I.scatter_add(np.zeros((3, 5), "f4"), 0, at, src), expected)


def test_large_scatter_add_is_the_same_with_threads():
    rng = np.random.default_rng(0)
    at, src = rng.integers(0, 50, (400, 300)), rng.integers(-9, 9, (400, 300)).astype("f4")
    for dim, shape in ((0, (50, 300)), (1, (400, 50))):
        expected = np.zeros(shape, "f4")
        np.add.at(expected, along(expected, dim, at), src)
        same(I.scatter_add(np.zeros(shape, "f4"), dim, at, src), expected)


REDUCE = {"sum": np.add, "mean": np.add, "prod": np.multiply, "amax": np.maximum, "amin": np.minimum}


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("reduce", list(REDUCE))
@pytest.mark.parametrize("dtype", [np.dtype("f4"), np.dtype("i4"), np.dtype("u1"), BFLOAT16], ids=str)
def test_scatter_reduce(dtype, reduce, include_self):
    a = np.array([3, 5, 2, 7]).astype(dtype)
    at, src = np.array([0, 0, 2, 2, 2]), np.array([4, 1, 2, 2, 3]).astype(dtype)
    expected = a.astype("f8")
    for place in (0, 2):
        parts = [src[at == place].astype("f8")] + ([a[place:place + 1].astype("f8")] if include_self else [])
        parts = np.concatenate(parts)
        expected[place] = REDUCE[reduce].reduce(parts) / (len(parts) if reduce == "mean" else 1)
    if dtype.kind in "iu":
        expected = np.floor(expected)
    same(I.scatter_reduce(a, 0, at, src, reduce, include_self), expected.astype(dtype))


def test_scatter_reduce_passes_nan_and_floors_means():
    nan = float("nan")
    for reduce in ("amax", "amin"):
        same(I.scatter_reduce(np.array([nan, 1.0, 1.0]), 0, np.array([0, 1, 2]), np.array([1.0, nan, 1.0]), reduce, True),
             np.array([nan, nan, 1.0]))
    same(I.scatter_reduce(np.array([3, 5]), 0, np.array([0, 0]), np.array([-8, 1]), "mean", True), np.array([-2, 5]))


# -------------------------------------------------------------------------------------------------- advanced indexing

@st.composite
def indexing(draw):
    """A shape and PyTorch-style indices: None or broadcastable integer arrays."""
    shape = draw(hnp.array_shapes(min_dims=1, max_dims=4, min_side=1, max_side=4))
    count = draw(st.integers(1, len(shape)))
    shapes = draw(hnp.mutually_broadcastable_shapes(num_shapes=count, max_dims=3, max_side=3)).input_shapes
    indices = []
    for d in range(count):
        if draw(st.booleans()):
            indices.append(draw(hnp.arrays(np.int64, shapes[d], elements=st.integers(-shape[d], shape[d] - 1))))
        else:
            indices.append(None)
    return shape, indices


def as_numpy(indices):
    """NumPy's spelling. A 0-dim array counts as an index array in both."""
    return tuple(slice(None) if i is None else i for i in indices)


@settings(max_examples=300, deadline=None)
@given(indexing(), st.sampled_from(DTYPES), st.integers(0, 2))
def test_index_get(case, dtype, layout):
    shape, indices = case
    a = values(shape, dtype)
    same(I.index_get(layouts(a)[layout], indices), np.ascontiguousarray(a[as_numpy(indices)]).reshape(a[as_numpy(indices)].shape))


@settings(max_examples=300, deadline=None)
@given(indexing(), st.sampled_from(DTYPES), st.integers(0, 2), st.booleans(), st.booleans())
def test_index_put(case, dtype, layout, accumulate, scalar):
    shape, indices = case
    a = values(shape, dtype)
    result = a[as_numpy(indices)]
    new = values((), dtype, 1) if scalar else values(result.shape, dtype, 1)
    expected = a.astype("f4") if accumulate and dtype in (np.float16, BFLOAT16) else a.copy()
    numbers = np.arange(a.size).reshape(shape)[as_numpy(indices)].reshape(-1)
    for number, value in zip(numbers, np.broadcast_to(new, result.shape).reshape(-1)):
        flat = expected.reshape(-1)
        flat[number] = flat[number] + value.astype(expected.dtype) if accumulate else value
    written = layouts(a)[layout]
    assert I.index_put_(written, indices, new, accumulate) is written
    np.testing.assert_array_equal(written, expected.astype(dtype))


def test_index_put_reads_its_operands_before_it_writes():
    a = np.arange(6.0)
    I.index_put_(a, [np.arange(6)], a[::-1])
    np.testing.assert_array_equal(a, np.arange(6.0)[::-1])
    n = np.array([1, 2, 0])
    I.index_put_(n, [n], np.array([7, 8, 9]))
    np.testing.assert_array_equal(n, [9, 7, 8])


# -------------------------------------------------------------------------------------------------------------- masks

@settings(max_examples=100, deadline=None)
@given(hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=9), st.sampled_from(DTYPES), st.floats(0, 1), st.integers(0, 2))
def test_masks(shape, dtype, density, layout):
    a = values(shape, dtype)
    mask = np.asarray(np.random.default_rng(1).random(shape) < density)
    source, mask = layouts(a)[layout], layouts(mask)[layout]
    same(M.masked_select(source, mask), a[mask])
    same(M.nonzero(mask), np.argwhere(mask).reshape(np.count_nonzero(mask), a.ndim))
    same(M.nonzero(source), np.argwhere(a != 0).reshape(np.count_nonzero(a), a.ndim))
    expected = a.copy()
    expected[mask] = 1
    same(np.ascontiguousarray(M.masked_fill(source, mask, 1)).reshape(shape), expected)
    new = values((a.size + 1,), dtype, 2)
    expected = a.copy()
    expected[mask] = new[:np.count_nonzero(mask)]
    same(M.masked_scatter(source, mask, new), expected)


@pytest.mark.parametrize("density", [0.0, 0.01, 0.5, 1.0])
def test_masks_of_large_arrays(density):
    a = np.random.default_rng(0).standard_normal((401, 503)).astype("f4")
    mask = np.random.default_rng(1).random(a.shape) < density
    same(M.masked_select(a, mask), a[mask])
    same(M.nonzero(mask), np.argwhere(mask))
    same(M.nonzero(mask.reshape(-1)), np.argwhere(mask.reshape(-1)))
    same(M.masked_fill(a, mask, np.array(2.0, "f4")), np.where(mask, np.float32(2), a))


def test_masks_broadcast():
    a, row, column = values((3, 4), np.dtype("f4")), np.array([True, False, True, True]), np.array([[True], [False], [True]])
    for mask in (row, row.reshape(1, 4), column, np.array(True)):
        full = np.broadcast_to(mask, a.shape)
        same(M.masked_fill(a, mask, -1), np.where(full, np.float32(-1), a))
        same(M.masked_select(a, mask), a[full])
    same(M.masked_select(a[0], np.ones((2, 4), bool)), np.concatenate([a[0], a[0]]))
    same(M.masked_fill(a[0], np.ones((2, 4), bool), 0), np.zeros((2, 4), "f4"))


def test_masked_fill_in_place_and_what_may_not_fit():
    a, mask = values((3, 4), np.dtype("f4")), np.array([True, False, True, True])
    for x in (a.copy(), a.copy().T.copy().T, np.repeat(a, 2, 1)[:, ::2]):
        assert M.masked_fill(x, mask, np.inf, out=x) is x
        same(np.ascontiguousarray(x), np.where(mask, np.float32("inf"), a))
    other = np.empty_like(a)
    assert M.masked_fill(a, mask, 2, out=other) is other
    same(other, np.where(mask, np.float32(2), a))
    for dtype, value in (("f4", 1e39), ("f2", 0.5), ("i8", 0.5), ("i1", 200), ("u1", -1), ("c8", 0.5), ("f4", "1"), ("f4", None), ("f4", True)):
        with pytest.raises(TypeError, match="may not fit"):
            M.masked_fill(a.astype(dtype), mask, value)
    with pytest.raises(TypeError, match="boolean"):
        M.masked_fill(a, mask.view("u1"), 1)


def test_masks_may_hold_any_true_byte():
    mask = np.arange(64, dtype="u1").view(bool)
    same(M.masked_select(np.arange(64), mask), np.arange(1, 64))
    same(M.masked_fill(np.arange(64), mask, 0), np.zeros(64, int))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("diagonal", [-9, -1, 0, 2, 9])
def test_triangles(dtype, diagonal):
    a = values((2, 3, 5), dtype) | values((2, 3, 5), dtype, 1) if dtype == np.bool_ else values((2, 3, 5), dtype)
    keep = np.tri(3, 5, diagonal, dtype=bool)
    for layout in layouts(a):
        same(M.tril(layout, diagonal), np.where(keep, a, np.zeros((), dtype)))
    keep = ~np.tri(3, 5, diagonal - 1, dtype=bool)
    same(M.triu(a, diagonal), np.where(keep, a, np.zeros((), dtype)))
    assert M.tril(a[:0], 2**62).shape == (0, 3, 5)


# ---------------------------------------------------------------------------------------------------------- bad input

A = np.arange(6.0).reshape(2, 3)
OUT = "index {} is out of bounds for dimension {} with size {}"
BAD = [
    (IndexError, OUT.format(5, 0, 2), lambda a: I.index_get(a, [np.array([0, 5])])),
    (IndexError, OUT.format(-4, 1, 3), lambda a: I.index_get(a, [None, np.array([-4])])),
    (IndexError, OUT.format(0, 0, 0), lambda a: I.index_get(a[:0], [np.array([0])])),
    (IndexError, "could not be broadcast together", lambda a: I.index_get(a, [np.array([0, 1]), np.array([0, 1, 2])])),
    (IndexError, "too many indices", lambda a: I.index_get(a, [None, None, np.array([0])])),
    (IndexError, "integer", lambda a: I.index_get(a, [np.array([0.0])])),
    (IndexError, OUT.format(2, 0, 2), lambda a: I.index_put_(a, [np.array([0, 2])], np.array(9.0))),
    (RuntimeError, "cannot be broadcast", lambda a: I.index_put_(a, [np.array([0, 1])], np.zeros(2))),
    (ValueError, "read-only", lambda a: I.index_put_(np.broadcast_to(a[:, :1], a.shape), [np.array([0])], np.zeros(()))),
    (RuntimeError, "dtype", lambda a: I.index_put_(a, [np.array([0, 1])], np.zeros(3, "f4"))),
    (IndexError, OUT.format(6, 0, 6), lambda a: I.put_(a, np.array([0, 6]), np.ones(2))),
    (IndexError, "same number of elements", lambda a: I.put_(a, np.array([0, 1]), np.ones(1))),
    (IndexError, OUT.format(-7, 0, 6), lambda a: I.take_flat(a, np.array([-7]))),
    (IndexError, OUT.format(-1, 0, 2), lambda a: I.index_select(a, 0, np.array([-1]))),
    (IndexError, OUT.format(3, 1, 3), lambda a: I.index_select(a, 1, np.array([3]))),
    (IndexError, "vector", lambda a: I.index_select(a, 1, np.array([[1]]))),
    (IndexError, OUT.format(2, 0, 2), lambda a: I.embedding(a, np.array([2]))),
    (RuntimeError, OUT.format(5, 0, 2), lambda a: I.gather(a, 0, np.array([[5]]))),
    (RuntimeError, OUT.format(-1, 0, 2), lambda a: I.gather(a, 0, np.array([[-1]]))),
    (RuntimeError, "no larger", lambda a: I.gather(a, 0, np.array([[0, 0, 0, 0]]))),
    (RuntimeError, "number of dimensions", lambda a: I.gather(a, 0, np.array([0]))),
    (RuntimeError, OUT.format(2, 0, 2), lambda a: I.scatter_add(a, 0, np.array([[2]]), a)),
    (RuntimeError, "no larger", lambda a: I.scatter(a, 0, np.array([[0], [0], [0]]), a)),
    (RuntimeError, "dtype", lambda a: I.scatter(a, 0, np.array([[0]]), a.astype("f4"))),
    (RuntimeError, "reduce must be", lambda a: I.scatter_reduce(a, 0, np.array([[0]]), a, "max")),
    (RuntimeError, OUT.format(2, 0, 2), lambda a: I.index_add(a, 0, np.array([2]), a[:1])),
    (RuntimeError, "must match self", lambda a: I.index_add(a, 0, np.array([0, 1]), a[:1])),
    (IndexError, OUT.format(3, 1, 3), lambda a: I.index_copy(a, 1, np.array([3]), a[:, :1])),
    (TypeError, "boolean", lambda a: M.masked_select(a, np.array([1, 0, 1]))),
    (RuntimeError, "number of elements", lambda a: M.masked_scatter(a, a > 0, a[:1])),
    (ValueError, "broadcast", lambda a: M.masked_fill(a, np.ones(2, bool), 0)),
    (IndexError, "Dimension out of range", lambda a: I.index_select(a, 5, np.array([0]))),
    (IndexError, "Dimension out of range", lambda a: I.gather(a, 2, np.array([[0]]))),
    (IndexError, "Dimension out of range", lambda a: I.scatter(a, -1, np.array([[0]]), a)),
    (IndexError, "Dimension out of range", lambda a: I.index_fill(a, 2, np.array([0]), 0)),
    (RuntimeError, "0-dim", lambda a: I.embedding(np.array(1.0), np.array(0))),
    (RuntimeError, "does not fit", lambda a: I.embedding_backward(a, np.array([0, 1, 1]), 4)),
    (TypeError, "expected numpy.ndarray, got NoneType", lambda a: I.gather(None, 0, np.array([0]))),
    (TypeError, "expected numpy.ndarray, got NoneType", lambda a: I.index_put_(a, [np.array([0])], None)),
    (TypeError, "complex", lambda a: I.scatter_reduce(a.astype("c16"), 0, np.array([[0]]), a.astype("c16"), "amax", True)),
]


@pytest.mark.parametrize("error, message, call", BAD)
def test_bad_input_raises_and_leaves_arrays_whole(error, message, call):
    a = A.copy()
    with pytest.raises(error, match=message):
        call(a)
    np.testing.assert_array_equal(a, A)


@pytest.mark.parametrize("bad", [-1, 300, 2 ** 62, -2 ** 63])
@pytest.mark.parametrize("shape, dim", [((300, 200), 0), ((200, 300), 1), ((7, 300, 50), 1), ((300,), 0)])
def test_a_bad_index_is_found_wherever_it_is(shape, dim, bad):
    array, index = np.zeros(shape, np.float32), np.random.default_rng(0).integers(0, 300, shape)
    for place in range(0, index.size, max(1, index.size // 13)):
        for order in ("C", "F"):
            wrong = np.array(index, order=order)
            wrong[np.unravel_index(place, shape)] = bad
            message = f"index {bad} is out of bounds for dimension {dim} with size 300"
            for call in (lambda: I.gather(array, dim, wrong), lambda: I.scatter(array, dim, wrong, array), lambda: I.scatter_add(array, dim, wrong, array),
                         lambda: I.scatter_add(array, dim, wrong, array + 1, array), lambda: I.scatter_reduce(array, dim, wrong, array + 1, "amax")):
                with pytest.raises(RuntimeError, match=message):
                    call()
            assert not array.any()
    np.testing.assert_array_equal(I.gather(index, dim, index), np.take_along_axis(index, index, dim))
    expanded = np.broadcast_to(index.take([3], dim), shape)         # the index stands still along a dimension
    np.testing.assert_array_equal(I.gather(index, dim, expanded), np.take_along_axis(index, expanded, dim))
