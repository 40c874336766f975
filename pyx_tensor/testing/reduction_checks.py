"""Checks of reductions, scans, products and indexing on a backend's arrays; see array_checks."""
import numpy as np

from .array_checks import check, enter, tolerance
from .subject import ALL, COMPLEXES, FLOATS, INTEGERS, numpy_dtype, wide

NUMBERS = (*INTEGERS, *FLOATS, *COMPLEXES)
CASES = (((), ()), ((5,), (0,)), ((2, 3), (0,)), ((2, 3), (1,)), ((2, 3), (0, 1)), ((3, 4, 5), (0, 2)), ((3, 4, 5), (1,)),
         ((0, 3), (0,)), ((2, 0), (1,)), ((3, 0), (0,)))


def values_of(dtype, shape):
    """Small numbers of either sign (where there are negative ones), all different in their neighbourhood."""
    count = int(np.prod(shape))
    line = (np.arange(count) * 7 % 13 - (0 if dtype.startswith("u") or dtype == "bool" else 6)) / (4 if dtype in FLOATS else 1)
    if dtype in COMPLEXES:
        line = line + 1j * (np.arange(count) % 3)
    return (line > 3 if dtype == "bool" else line).astype(numpy_dtype(dtype)).reshape(shape)


# entry: (expectation, dtypes, works on nothing)
REDUCTIONS = {
    "sum": (np.sum, NUMBERS, True), "prod": (np.prod, NUMBERS, True), "mean": (np.mean, (*FLOATS, *COMPLEXES), False),
    "amax": (np.max, ("bool", *INTEGERS, *FLOATS), False), "amin": (np.min, ("bool", *INTEGERS, *FLOATS), False),
    "any": (np.any, ALL, True), "all": (np.all, ALL, True),
}


def reduced(function, values, dims, keepdim):
    values = wide(values)
    keywords = dict(dtype=values.dtype) if function in (np.sum, np.prod) else {}
    with np.errstate(all="ignore"):
        return np.asarray(function(values, axis=dims, keepdims=keepdim, **keywords))


def check_reduction(subject, entry):
    function, dtypes, empty = REDUCTIONS[entry]
    for dtype in subject.dtypes(dtypes):
        for shape, dims in CASES:
            values = values_of(dtype, shape)
            if not empty and not np.prod([shape[d] for d in dims], dtype=int):
                continue
            for keepdim in (False, True):
                expected = reduced(function, values, dims, keepdim)
                for layout, array in subject.layouts(values):
                    result = subject.call(entry, array, dims, keepdim)
                    subject.check(result, expected, dtype="bool" if entry in ("any", "all") else dtype, ulps=tolerance(dtype, 64),
                                  what=f"{entry} of {dtype} {shape} over {dims}, {layout}")
    check_nan_spreads(subject, entry, function)


def check_nan_spreads(subject, entry, function):
    if entry not in ("any", "all"):
        array = subject.array([[1, np.nan, 3], [np.inf, 2, 1]], "float32")
        subject.check(subject.call(entry, array, (1,), False), np.array([np.nan, function([np.inf, 2, 1])]), dtype="float32",
                      what=f"{entry} of NaN and infinity")


enter(REDUCTIONS, check_reduction)


@check
def check_sum_is_accurate(subject):
    """A million float32 add up without the error that a single running sum makes."""
    values = np.full(1_000_000, 0.1, np.float32)
    subject.check(subject.call("sum", subject.array(values), (0,), False), values.astype(np.float64).sum(), dtype="float32", ulps=16,
                  what="sum of a million times 0.1")


def check_position(subject, entry):
    function = getattr(np, entry)
    for dtype in subject.dtypes((*INTEGERS, *FLOATS)):
        for shape, dim in (((), None), ((5,), 0), ((3, 4), 0), ((3, 4), 1), ((3, 4), None), ((2, 3, 20), 2)):
            values = values_of(dtype, shape)
            for keepdim in (False, True):
                expected = np.asarray(function(values.astype(np.float64), axis=dim, keepdims=keepdim))
                result = subject.call(entry, subject.array(values), dim, keepdim)
                subject.check(result, expected, dtype="int64", what=f"{entry} of {dtype} {shape} over {dim}")
    result = subject.call(entry, subject.array([[1, np.nan, np.nan], [2, 2, 2]], "float32"), 1, False)
    subject.check(result, np.array([1, 0]), dtype="int64", what=f"{entry}: NaN wins, the first of equals counts")


enter(("argmax", "argmin"), check_position)


def check_scan(subject, entry):
    function = getattr(np, entry)
    for dtype in subject.dtypes(NUMBERS):
        for shape, dim in (((), 0), ((5,), 0), ((3, 4), 0), ((3, 4), 1), ((0, 2), 0)):
            values = values_of(dtype, shape)
            expected = function(wide(values), axis=dim, dtype=wide(values).dtype).reshape(shape)
            subject.check(subject.call(entry, subject.array(values), dim), expected, dtype=dtype, ulps=tolerance(dtype, 64),
                          what=f"{entry} of {dtype} {shape}")


enter(("cumsum", "cumprod"), check_scan)


@check
def check_matmul(subject):
    for dtype in subject.dtypes(NUMBERS):
        for left, right in (((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 3), (3, 4)), ((5, 2, 3), (3, 4)), ((5, 2, 3), (5, 3, 4)),
                            ((5, 1, 2, 3), (4, 3, 2)), ((2, 0), (0, 3)), ((0, 3), (3, 2)), ((33, 17), (17, 40))):
            a, b = values_of(dtype, left), values_of(dtype, right)
            expected = np.asarray(np.matmul(wide(a), wide(b)))
            for (layout, x), (_, y) in zip(subject.layouts(a), subject.layouts(b)):
                result = subject.call("matmul", x, y)
                _check_product(subject, result, expected, a, b, dtype, f"matmul of {dtype} {left} {right}, {layout}")


def _check_product(subject, result, expected, a, b, dtype, what):
    if dtype in INTEGERS:
        return subject.check(result, expected, dtype=dtype, what=what)
    scale = np.matmul(np.abs(wide(a)), np.abs(wide(b)))       # errors go by the size of the terms, not of their sum
    got = wide(subject.numpy(result))
    assert got.shape == expected.shape and subject.backend.dtype_name(result) == dtype, f"{what}: {got.shape} {result.dtype}"
    eps = {"float16": 1e-3, "bfloat16": 8e-3, "float32": 1e-6, "complex64": 1e-6}.get(dtype, 1e-14)
    assert (np.abs(got - expected) <= eps * scale).all(), f"{what}: off by up to {np.max(np.abs(got - expected))}"


@check
def check_qr(subject):
    for dtype in subject.dtypes(("float32", "float64", *COMPLEXES)):
        for shape in ((4, 3), (3, 4), (3, 3)):
            a = values_of(dtype, shape)
            for mode in ("reduced", "complete"):
                q, r = (wide(subject.numpy(part)) for part in subject.call("qr", subject.array(a), mode))
                inner = min(shape) if mode == "reduced" else shape[0]
                assert q.shape == (shape[0], inner) and r.shape == (inner, shape[1]), f"{q.shape} {r.shape}"
                eps = 1e-5 if dtype in ("float32", "complex64") else 1e-12
                assert np.abs(q @ r - a).max() < 10 * eps, f"qr of {dtype} {shape}: the product is off by {np.abs(q @ r - a).max()}"
                assert np.abs(np.conj(q.T) @ q - np.eye(inner)).max() < eps, f"qr of {dtype} {shape}: Q isn't orthonormal"
                assert np.abs(np.tril(r, -1)).max() == 0, f"qr of {dtype} {shape}: R isn't triangular"


# --- indexing -----------------------------------------------------------------------------------------------------
def refused(function, *args):
    """True where the call raises an error that says which index is wrong."""
    try:
        function(*args)
    except (IndexError, RuntimeError) as error:
        return "out of bounds" in str(error)
    return False


@check
def check_index_select(subject):
    for dtype in subject.dtypes():
        for shape, dim, index in (((5,), 0, [0, 4, 2, 2]), ((3, 4), 0, [2, 0]), ((3, 4), 1, [3, 3, 0]), ((2, 3, 4), 1, [1]),
                                  ((3, 4), 1, []), ((0, 4), 1, [1, 2])):
            values = values_of(dtype, shape)
            index = np.array(index, np.int64)
            for layout, array in subject.layouts(values):
                subject.check(subject.call("index_select", array, dim, subject.array(index)), np.take(values, index, axis=dim),
                              dtype=dtype, what=f"index_select of {dtype} {shape} along {dim}, {layout}")
    array = subject.array(np.arange(3.0), "float32")
    for wrong in (3, 1 << 40, -(1 << 40)):
        assert refused(subject.backend.index_select, array, 0, subject.array([0, wrong], "int64")), f"index {wrong} must be refused"


def places(shape, dim, index):
    where = list(np.ogrid[tuple(slice(n) for n in index.shape)])
    where[dim] = index
    return tuple(where)


SCATTERS = (((5,), 0, [0, 4, 0, 0]), ((3, 4), 0, [[0, 1, 2, 0], [0, 0, 2, 1]]), ((3, 4), 1, [[3, 3], [0, 1]]), ((3, 4), 1, [[0] * 6] * 3))


@check
def check_scatter_add(subject):
    for dtype in subject.dtypes(NUMBERS):
        for shape, dim, index in SCATTERS:
            index = np.array(index, np.int64)
            a, src = values_of(dtype, shape), values_of(dtype, tuple(n + 1 for n in index.shape))
            expected = wide(a).copy()
            np.add.at(expected, places(shape, dim, index), wide(src)[tuple(slice(n) for n in index.shape)])
            result = subject.call("scatter_add", subject.array(a), dim, subject.array(index), subject.array(src))
            subject.check(result, expected, dtype=dtype, ulps=tolerance(dtype, 16), what=f"scatter_add of {dtype} {shape} along {dim}")
    assert refused(subject.backend.scatter_add, subject.array(np.zeros(3), "float32"), 0, subject.array([5], "int64"),
                   subject.array(np.ones(1), "float32")), "scatter_add must refuse an index outside"


@check
def check_gather(subject):
    for dtype in subject.dtypes():
        for shape, dim, index in SCATTERS[:3]:
            index = np.array(index, np.int64)
            values = values_of(dtype, shape)
            subject.check(subject.call("gather", subject.array(values), dim, subject.array(index)), values[places(shape, dim, index)],
                          dtype=dtype, what=f"gather of {dtype} {shape} along {dim}")


@check
def check_scatter(subject):
    for dtype in subject.dtypes():
        index = np.array([[2, 0, 1, 2], [0, 1, 0, 1]], np.int64)
        a, src = values_of(dtype, (3, 4)), values_of(dtype, (2, 4))[::-1].copy()
        expected = a.copy()
        expected[places((3, 4), 0, index)] = src
        result = subject.call("scatter", subject.array(a), 0, subject.array(index), subject.array(src))
        subject.check(result, expected, dtype=dtype, what=f"scatter of {dtype}")


# Indices by dim, None for a whole one; the last has no adjacent dims.
ADVANCED = (([[0, 2, -1]],), ([None, [[3, 0], [1, 1]]]), ([[0, 1], [2, 2]]), ([[[0], [1]], [3, -4, 0]]), ([[0, 2], None, [1, 0]]))


def advanced(values):
    """(index as NumPy takes it, index arrays or None) for as many of ADVANCED as fit the shape."""
    for indices in ADVANCED:
        if len(indices) <= values.ndim:
            arrays = [None if i is None else np.array(i, np.int64) for i in indices]
            yield tuple(slice(None) if i is None else i for i in arrays), arrays


@check
def check_index_get(subject):
    for dtype in subject.dtypes():
        for shape in ((3, 4), (3, 4, 2)):
            values = values_of(dtype, shape)
            for place, arrays in advanced(values):
                for layout, array in subject.layouts(values):
                    result = subject.call("index_get", array, [None if i is None else subject.array(i) for i in arrays])
                    subject.check(result, values[place], dtype=dtype, what=f"index_get of {dtype} {shape} at {arrays}, {layout}")
    array = subject.array(np.zeros((3, 4)), "float32")
    assert refused(subject.backend.index_get, array, [None, subject.array([4], "int64")]), "index_get must refuse an index outside"


@check
def check_index_put_(subject):
    subject.require(hasattr(subject.backend, "index_put_"), "the backend leaves this operation to its default")
    for dtype in subject.dtypes(NUMBERS):
        for place, arrays in advanced(values_of(dtype, (3, 4, 2))):
            for accumulate in (False, True):
                values = values_of(dtype, (3, 4, 2))
                array, new = subject.array(values), values_of(dtype, (1,))[0] + values.dtype.type(1)
                index = [None if i is None else subject.array(i) for i in arrays]
                result = subject.backend.index_put_(array, index, subject.array(new), accumulate)
                expected = wide(values).copy()
                if accumulate:
                    np.add.at(expected, place, wide(new))
                else:
                    expected[place] = wide(new)
                what = f"index_put_ of {dtype} at {arrays}, accumulate={accumulate}"
                subject.check(result, expected, dtype=dtype, ulps=tolerance(dtype, 8), what=what)
                subject.check(array, expected if subject.backend.mutable else values, dtype=dtype, ulps=tolerance(dtype, 8), what=what)


@check
def check_nonzero(subject):
    for dtype in subject.dtypes():
        for shape in ((5,), (3, 4), (0, 2)):
            values = values_of(dtype, shape)
            subject.check(subject.call("nonzero", subject.array(values)), np.argwhere(values), dtype="int64", what=f"nonzero of {dtype}")


@check
def check_sort(subject):
    for dtype in subject.dtypes((*INTEGERS, *FLOATS)):
        values = values_of(dtype, (4, 30))
        if dtype in FLOATS:
            values[1, 3] = values[2, 5] = np.nan
        for dim, descending in ((0, False), (1, False), (0, True), (1, True)):
            key = values.astype(np.float64)
            key = np.where(np.isnan(key), np.inf, key)      # NaN counts as the largest
            order = np.argsort(-key if descending else key, axis=dim, stable=True)
            result = subject.call("sort", subject.array(values), dim, descending, True)
            subject.check(result[0], np.take_along_axis(values, order, dim), dtype=dtype, what=f"sort of {dtype}")
            subject.check(result[1], order, dtype="int64", what=f"order of {dtype}")


@check
def check_topk(subject):
    for dtype in subject.dtypes((*INTEGERS, *FLOATS)):
        values = values_of(dtype, (2, 13))      # all different, so that the order is certain
        for largest in (True, False):
            order = np.argsort(values.astype(np.float64), axis=1)
            order = (order[:, ::-1] if largest else order)[:, :4]
            found, places = subject.call("topk", subject.array(values), 4, 1, largest, True)
            subject.check(found, np.take_along_axis(values, order, 1), dtype=dtype, what=f"topk of {dtype}")
            subject.check(places, order, dtype="int64", what=f"places of topk of {dtype}")


@check
def check_joining(subject):
    for dtype in subject.dtypes():
        parts = [values_of(dtype, (2, n)) for n in (3, 0, 1)]
        subject.require(hasattr(subject.backend, "cat"), "the backend leaves this operation to its default")
        subject.check(subject.backend.cat([subject.array(p) for p in parts], 1), np.concatenate(parts, 1), dtype=dtype, what="cat")
        subject.check(subject.call("flip", subject.array(parts[0]), (0, 1)), parts[0][::-1, ::-1], dtype=dtype, what="flip")
