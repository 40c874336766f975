"""Elementwise operations of the CPU backend whose operands lie in rows, dense, with gaps or of one number each, against NumPy."""
import ml_dtypes
import numpy as np
import pytest

from pyx_tensor_cpu import level, pointwise as P


@pytest.fixture(params=level.supported_levels(), autouse=True)
def cpu_level(request):
    before = level.cpu_level()
    level.set_cpu_level(request.param)
    yield request.param
    level.set_cpu_level(before)


def sample(dtype, shape, seed=0):
    """Whole numbers, which are exact in every dtype, and so are their sums and products."""
    return np.asarray(np.random.default_rng(seed).integers(-8, 9, shape)).astype(dtype)


@pytest.mark.parametrize("width", [1, 2, 3, 30, 63, 64, 65, 100, 255, 256, 257, 1030])
@pytest.mark.parametrize("dtype", [np.dtype(t) for t in ("f2", "f4", "f8", "c16", "i1", "i8")], ids=str)
def test_rows_of_every_width(dtype, width):
    a, column, row, cube = sample(dtype, (37, width)), sample(dtype, (37, 1), 1), sample(dtype, (width,), 2), sample(dtype, (3, 37, width), 3)
    wider, flipped = sample(dtype, (37, width + 5), 4)[:, 2:-3], np.ascontiguousarray(a[::-1, ::-1])[::-1, ::-1]
    for x, y in [(a, column), (column, a), (a, row), (row, column), (wider, column), (flipped, column), (cube, column), (cube[:, ::2], column[::2]), (a, cube[:, :, :1]),
                 (np.broadcast_to(column, a.shape), a), (cube.transpose(1, 0, 2), column[:, None]), (wider, row), (wider, flipped)]:
        found = P.add(x, y)
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, x + y)
        out = np.zeros((*np.broadcast_shapes(x.shape, y.shape)[:-1], width + 3), dtype)[..., 1:-2]
        assert P.add(x, y, out=out) is out
        np.testing.assert_array_equal(out, found)


@pytest.mark.parametrize("dtype", [np.dtype(t) for t in ("f2", ml_dtypes.bfloat16, "f4", "f8")], ids=str)
def test_slopes_of_rows_and_columns(dtype):
    a = sample(dtype, (6, 70))
    for slope in (sample(dtype, (70,), 1), sample(dtype, (1,), 2), sample(dtype, (6, 1), 3), sample(dtype, (), 4)):
        for x in (a, np.asfortranarray(a), np.repeat(a, 2, 1)[:, ::2]):
            found = P.prelu(x, slope)
            assert found.dtype == dtype
            np.testing.assert_array_equal(found.astype("f8"), np.where(a.astype("f8") > 0, a.astype("f8"), a.astype("f8") * slope.astype("f8")))
