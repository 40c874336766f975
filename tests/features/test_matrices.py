"""Matrices (rows S320 - S334, S337, S342, S344 - S346): values by NumPy. LAPACK's factorisations stand in tests/test_linalg_early.py."""
import numpy as np
import pytest

import pyx_tensor as torch

from .values import check_out, close


# --- diagonals, triangles, histograms ------------------------------------------------------------------------------
@pytest.mark.rows("S320")
def test_cross():
    a, b = np.array([[1.0, 2.0, 3.0], [0.0, 1.0, 0.0]]), np.array([[4.0, 5.0, 6.0], [0.0, 0.0, 2.0]])
    check_out(lambda **k: torch.cross(torch.tensor(a), torch.tensor(b), dim=-1, **k), [[-3, 6, -3], [2, 0, 0]])
    check_out(lambda **k: torch.cross(torch.tensor(a.T), torch.tensor(b.T), dim=0, **k), [[-3, 2], [6, 0], [-3, 0]])
    for wrong, dim in ((torch.ones(2, 2), 1), (torch.ones(3, 2), -1)):
        with pytest.raises(RuntimeError, match="size 3|length 3"):
            torch.cross(wrong, wrong, dim=dim)
    with pytest.raises(RuntimeError):
        torch.cross(torch.ones(2, 3), torch.ones(4, 3), dim=1)


@pytest.mark.rows("S320")
@pytest.mark.filterwarnings("ignore:Using torch.cross without specifying the dim")
def test_cross_takes_the_first_axis_of_size_3_unless_told():
    i, j = torch.eye(3)[0], torch.eye(3)[1]
    assert torch.cross(i, j).tolist() == [0, 0, 1]
    square = torch.cross(torch.eye(3), torch.eye(3)[[1, 2, 0]])                     # of columns: e0 x e2, e1 x e0, e2 x e1
    close(square, torch.cross(torch.eye(3), torch.eye(3)[[1, 2, 0]], dim=0).numpy())
    assert square.tolist() == [[0, 0, -1], [-1, 0, 0], [0, -1, 0]]
    with pytest.raises(RuntimeError):
        torch.cross(torch.ones(2, 2), torch.ones(2, 2))


@pytest.mark.rows("S321", "S322")
def test_diag():
    v, m = torch.tensor([1.0, 2.0]), torch.arange(1.0, 7).view(2, 3)
    for diagonal in (-2, -1, 0, 1):
        check_out(lambda **k: torch.diag(v, diagonal, **k), np.diag([1, 2], diagonal))
        check_out(lambda **k: torch.diag(m, diagonal=diagonal, **k), np.diag(m.numpy(), diagonal))
    assert torch.diag(m).tolist() == [1, 5] and torch.diag(m.t(), 1).tolist() == [4] and torch.diag(v, 1).tolist() == [[0, 1, 0], [0, 0, 2], [0, 0, 0]]
    with pytest.raises(RuntimeError):
        torch.diag(torch.ones(2, 2, 2))


@pytest.mark.rows("S323")
def test_histc():
    a = torch.tensor([0.0, 0.5, 1.0, 2.0, 4.0, 9.0, -3.0])
    check_out(lambda **k: torch.histc(a, 4, 0, 4, **k), [2, 1, 1, 1])               # 4 is in the last bin, 9 and -3 in none
    check_out(lambda **k: torch.histc(a, bins=3, **k), [3, 3, 1])                   # -3 … 1 … 5 … 9
    counts = torch.histc(torch.arange(200.0))
    close(counts, [2] * 100, 0, torch.float32)
    close(torch.histc(torch.ones(5), 2), [0, 5])                                    # one value: its range is widened by 1 on both sides
    with pytest.raises(RuntimeError):
        torch.histc(a, 4, 2, 1)


@pytest.mark.rows("S324")
def test_renorm():
    m = torch.tensor([[3.0, 4.0], [0.3, 0.4], [0.0, -5.0]])
    check_out(lambda **k: torch.renorm(m, 2, 0, 1.0, **k), [[0.6, 0.8], [0.3, 0.4], [0, -1]], 1e-5)
    check_out(lambda **k: torch.renorm(m, p=1, dim=1, maxnorm=3.3, **k), [[3, 4 * 3.3 / 9.4], [0.3, 0.4 * 3.3 / 9.4], [0, -5 * 3.3 / 9.4]], 1e-5)


@pytest.mark.rows("S325")
def test_trace():
    close(torch.trace(torch.arange(1.0, 7).view(2, 3)), 6, 0, torch.float32)
    close(torch.trace(torch.arange(4).view(2, 2)), 3, 0, torch.int64)
    for wrong in (torch.ones(3), torch.ones(2, 2, 2)):
        with pytest.raises(RuntimeError):
            torch.trace(wrong)


@pytest.mark.rows("S326", "S327")
@pytest.mark.parametrize("diagonal", [-2, -1, 0, 1, 5])
def test_triangles(diagonal):
    m = torch.arange(1.0, 13).view(3, 4)
    for name in ("tril", "triu"):
        function, expected = getattr(torch, name), getattr(np, name)(m.numpy(), diagonal)
        check_out(lambda **k: function(m, diagonal, **k), expected, 0)
        close(function(m, diagonal=diagonal), expected, 0)
    assert torch.tril(m)[0].tolist() == [1, 0, 0, 0] and torch.triu(m)[2].tolist() == [0, 0, 11, 12]


@pytest.mark.rows("S328")
def test_the_early_keyword_of_triangles():
    m = torch.arange(1.0, 7).view(2, 3)
    assert torch.tril(m, k=1).tolist() == [[1, 2, 0], [4, 5, 6]] and torch.triu(m, k=1).tolist() == [[0, 2, 3], [0, 0, 6]]
    assert m.tril(k=-1).tolist() == [[0, 0, 0], [4, 0, 0]]


# --- products ------------------------------------------------------------------------------------------------------
P, Q, V = np.array([[1.0, -2.0, 3.5], [-0.5, 0.25, -4.0]], np.float32), np.arange(6, dtype=np.float32).reshape(3, 2) - 2, np.array([1.0, -1.0, 2.0], np.float32)
BP, BQ, M = np.stack([P, P + 1]), np.stack([Q, Q - 1]), np.array([[1.0, 2.0], [3.0, -1.0]], np.float32)
W = V[:2]
p, q, v, bp, bq, m, w = (torch.from_numpy(array.copy()) for array in (P, Q, V, BP, BQ, M, W))
ADDED = dict(                                           # the two factors, their product, what it is added to
    addbmm=(bp, bq, (BP @ BQ).sum(0), M), addmm=(p, q, P @ Q, M), addmv=(p, v, P @ V, W), addr=(w, v, np.outer(W, V), P),
    baddbmm=(bp, bq, BP @ BQ, np.stack([M, -M])))


@pytest.mark.rows("S329", "S330", "S331", "S332", "S333")
@pytest.mark.parametrize("name", ADDED)
def test_products_added_to_something(name):
    function = getattr(torch, name)
    one, other, product, array = ADDED[name]
    base = torch.from_numpy(array.copy())
    check_out(lambda **k: function(base, one, other, **k), array + product, 1e-5)
    check_out(lambda **k: function(base, one, other, beta=2, alpha=-3, **k), 2 * array - 3 * product, 1e-5)
    check_out(lambda **k: function(base * float("nan"), one, other, beta=0, **k), product, 1e-5)        # with beta 0 it isn't read
    close(getattr(base, name)(one, other, alpha=0.5), array + 0.5 * product, 1e-5)
    written = base.clone()
    assert getattr(written, name + "_")(one, other, beta=0.5) is written
    close(written, 0.5 * array + product, 1e-5)
    with pytest.raises(RuntimeError):
        function(base, one, one)


@pytest.mark.rows("S329", "S330", "S331", "S332", "S333")
@pytest.mark.parametrize("name", ADDED)
@pytest.mark.filterwarnings("ignore:This overload")
def test_numbers_before_tensors(name):
    """Deprecated, but PyTorch still takes it."""
    one, other, product, array = ADDED[name]
    base = torch.from_numpy(array.copy())
    close(getattr(torch, name)(2, base, 3, one, other), 2 * array + 3 * product, 1e-5)
    close(getattr(torch, name)(2, base, one, other), 2 * array + product, 1e-5)
    close(getattr(base, name)(2, 3, one, other), 2 * array + 3 * product, 1e-5)
    close(getattr(base.clone(), name + "_")(2, 3, one, other), 2 * array + 3 * product, 1e-5)


@pytest.mark.rows("S330", "S331", "S333")
def test_what_is_added_to_broadcasts():
    row = torch.tensor([10.0, 20.0])
    close(torch.addmm(row, p, q), P @ Q + [10, 20], 1e-5)
    close(torch.addmm(torch.tensor(5.0), p, q), P @ Q + 5, 1e-5)
    close(torch.baddbmm(row, bp, bq), BP @ BQ + [10, 20], 1e-5)
    close(torch.addmv(torch.tensor([7.0]), p, v), P @ V + 7, 1e-5)
    with pytest.raises(RuntimeError):
        torch.addmm(torch.ones(3), p, q)


@pytest.mark.rows("S334", "S337", "S342", "S345", "S346")
def test_products():
    check_out(lambda **k: torch.bmm(bp, bq, **k), BP @ BQ, 1e-5)
    check_out(lambda **k: torch.mm(p, q, **k), P @ Q, 1e-5)
    check_out(lambda **k: torch.mv(p, v, **k), P @ V, 1e-5)
    check_out(lambda **k: torch.ger(w, v, **k), np.outer(W, V))
    close(torch.dot(v, v), 6)
    close(torch.dot(torch.tensor([1, 2]), torch.tensor([3, -4])), -5, 0, torch.int64)


@pytest.mark.rows("S329", "S333", "S334", "S337", "S342", "S345", "S346")
@pytest.mark.parametrize("call", [
    lambda: torch.mm(p, p), lambda: torch.mm(p, v), lambda: torch.mm(bp, bq), lambda: torch.mv(p, w), lambda: torch.mv(p, q), lambda: torch.mv(v, v),
    lambda: torch.dot(p, p), lambda: torch.dot(v, w), lambda: torch.dot(v, torch.tensor(1.0)), lambda: torch.bmm(bp, bq[:1]), lambda: torch.bmm(bp, q),
    lambda: torch.ger(p, v), lambda: torch.addbmm(m, bp, bq[:1]), lambda: torch.baddbmm(m, bp, bq[:1])])
def test_products_refuse(call):
    with pytest.raises(RuntimeError):
        call()


@pytest.mark.rows("S344")
def test_inverse():
    for array in ([[2.0, 0.0], [0.0, 4.0]], [[4.0, 2.0, 1.0], [2.0, 5.0, -3.0], [0.5, 1.0, 3.0]]):
        check_out(lambda **k: torch.inverse(torch.tensor(array, dtype=torch.float64), **k), np.linalg.inv(array), 1e-12)
    for wrong in ([[1.0, 2.0], [2.0, 4.0]], [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]):
        with pytest.raises(RuntimeError):
            torch.inverse(torch.tensor(wrong))
