"""Random indices against PyTorch: what is read, what an assignment leaves, and both gradients."""
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pyx_tensor

torch = pytest.importorskip("torch")
SHAPE = (3, 4, 5)
slices = st.builds(slice, st.one_of(st.none(), st.integers(-6, 6)), st.one_of(st.none(), st.integers(-6, 6)), st.one_of(st.none(), st.integers(1, 3)))
lists = st.lists(st.integers(-3, 2), min_size=1, max_size=3).map(lambda v: ("index", np.array(v)))
grids = st.integers(0, 2).map(lambda v: ("index", np.array([[v], [0]])))
masks = st.integers(0, 2**12 - 1).map(lambda bits: ("mask", bits))
entries = st.one_of(st.integers(-4, 4), slices, st.none(), st.just(Ellipsis), lists, grids, masks, st.booleans())
# Several Ellipsis have no clear meaning: PyTorch takes some, pyx_tensor none, as NumPy.
indices = st.lists(entries, max_size=4).filter(lambda index: sum(i is Ellipsis for i in index) < 2)


def made(lib, index):
    """Masks cover one dim: that which comes next."""
    items, dim = [], 0
    for i in index:
        if isinstance(i, tuple):
            kind, value = i
            if kind == "mask":
                n = SHAPE[min(dim, 2)]
                value = np.array([bool(value >> k & 1) for k in range(n)])
            i = lib.from_numpy(value)
        dim += i is not None and not isinstance(i, bool)
        items.append(i)
    return tuple(items)


def outcome(lib, index, value):
    x = lib.arange(60.0, dtype=lib.float64).reshape(SHAPE).requires_grad_()
    try:
        read = x[made(lib, index)]
        weights = lib.arange(float(read.numel()), dtype=lib.float64).reshape(tuple(read.shape))
        (read * weights).sum().backward()
        y = x * 1
        v = lib.full((), value, dtype=lib.float64, requires_grad=True)
        y[made(lib, index)] = v
        (y * lib.arange(60.0, dtype=lib.float64).reshape(SHAPE)).sum().backward()
        return [t.detach().numpy() for t in (read, x.grad, y, v.grad)]
    except (IndexError, ValueError, TypeError, RuntimeError) as error:
        return error


@settings(max_examples=1200, deadline=None)
@given(indices, st.floats(-2, 2))
def test_any_index(index, value):
    theirs, mine = outcome(torch, index, value), outcome(pyx_tensor, index, value)
    if isinstance(theirs, Exception):
        assert isinstance(mine, Exception), f"accepted, PyTorch raises {theirs!r}"
        return
    assert not isinstance(mine, Exception), repr(mine)
    for m, t in zip(mine, theirs):
        assert m.shape == t.shape
        np.testing.assert_allclose(m, t, atol=1e-9)
