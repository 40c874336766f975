"""Comparing, extremes and order (rows S303 - S319). Expected values are worked out by hand or by NumPy."""
import numpy as np
import pytest

import pyx_tensor as torch

from .values import check_out, close

A = np.array([[1.0, 5.0, 2.0], [7.0, 0.0, 7.0]], np.float32)
a = torch.tensor(A)


@pytest.mark.rows("S303", "S305", "S306", "S308", "S309", "S310")
@pytest.mark.parametrize("name, numpys", dict(eq="equal", ge="greater_equal", gt="greater", le="less_equal", lt="less", ne="not_equal").items())
def test_comparisons(name, numpys):
    function, numpys, nan = getattr(torch, name), getattr(np, numpys), float("nan")
    p, q = torch.tensor([1, 2, 3]), torch.tensor([3, 2, 1])
    for other in (q, 2, 2.5, torch.tensor(2), q.view(3, 1), torch.tensor([1.5, 2, nan])):
        expected = numpys(p.numpy(), np.asarray(other))
        check_out(lambda **k: function(p, other, **k), expected, 0)
        close(getattr(p, name)(other), expected, 0, torch.bool)
    out = torch.ByteTensor(3)
    assert function(p, q, out=out) is out and out.dtype is torch.uint8 and out.tolist() == numpys([1, 2, 3], [3, 2, 1]).astype(int).tolist()
    with pytest.raises(RuntimeError):
        function(p, torch.ones(2))


@pytest.mark.rows("S304")
def test_equal():
    assert torch.equal(a, torch.tensor(A)) is True and torch.equal(a, a + 1) is False
    assert torch.equal(torch.ones(2), torch.ones(2, 1)) is False and torch.equal(torch.ones(2), torch.ones(3)) is False
    assert torch.equal(torch.tensor([float("nan")]), torch.tensor([float("nan")])) is False


@pytest.mark.rows("S307")
def test_kthvalue():
    m = torch.tensor([[3.0, 1.0, 2.0], [5.0, 9.0, 7.0]])
    check_out(lambda **k: torch.kthvalue(m, 2, **k), ([2, 7], [2, 2]))
    check_out(lambda **k: torch.kthvalue(m, 1, 0, **k), ([3, 1, 2], [0, 0, 0]))
    check_out(lambda **k: torch.kthvalue(m, 3, dim=1, keepdim=True, **k), ([[3], [9]], [[0], [1]]))
    for k in (0, 4):
        with pytest.raises(RuntimeError):
            torch.kthvalue(m, k)


@pytest.mark.rows("S311", "S315")
def test_extremes_of_all():
    close(torch.max(a), 7, 0, torch.float32)
    close(torch.min(a), 0, 0, torch.float32)
    close(torch.max(torch.tensor([[-3, -5]])), -3, 0, torch.int64)
    assert torch.max(torch.tensor([1.0, float("nan"), 2.0])).isnan()
    for function in (torch.max, torch.min):
        with pytest.raises(RuntimeError):
            function(torch.empty(0))


@pytest.mark.rows("S312", "S316")
def test_extremes_along_an_axis():
    check_out(lambda **k: torch.max(a, 0, **k), ([7, 5, 7], [1, 0, 1]), 0)
    check_out(lambda **k: torch.max(a[:1], dim=-1, keepdim=True, **k), ([[5]], [[1]]), 0)
    check_out(lambda **k: torch.min(a, 1, **k), ([1, 0], [0, 1]), 0)
    check_out(lambda **k: torch.min(a, 0, True, **k), ([[1, 0, 2]], [[0, 1, 0]]), 0)
    values, indices = torch.max(a, 1)
    assert values.tolist() == [5, 7] and indices.dtype is torch.int64 and a[1, indices[1]] == 7


@pytest.mark.rows("S314", "S317")
def test_extremes_of_two():
    other = torch.tensor([[6.0, 6.0, 1.0]])
    check_out(lambda **k: torch.max(a, other, **k), [[6, 6, 2], [7, 6, 7]], 0)
    check_out(lambda **k: torch.min(a, other, **k), [[1, 5, 1], [6, 0, 1]], 0)
    check_out(lambda **k: torch.min(a, a.flip(1), **k), [[1, 5, 1], [7, 0, 7]], 0)


@pytest.mark.rows("S318")
def test_sort():
    m = torch.tensor([[3.0, 1.0, 2.0], [5.0, 9.0, 7.0]])
    check_out(lambda **k: torch.sort(m, **k), ([[1, 2, 3], [5, 7, 9]], [[1, 2, 0], [0, 2, 1]]), 0)
    check_out(lambda **k: torch.sort(m, descending=True, **k), ([[3, 2, 1], [9, 7, 5]], [[0, 2, 1], [1, 2, 0]]), 0)
    check_out(lambda **k: torch.sort(m, 0, True, **k), ([[5, 9, 7], [3, 1, 2]], [[1, 1, 1], [0, 0, 0]]), 0)
    assert torch.sort(m).indices.dtype is torch.int64 and m.tolist() == [[3, 1, 2], [5, 9, 7]]


@pytest.mark.rows("S319")
def test_topk():
    m = torch.tensor([[3.0, 1.0, 2.0], [5.0, 9.0, 7.0]])
    check_out(lambda **k: torch.topk(m, 2, **k), ([[3, 2], [9, 7]], [[0, 2], [1, 2]]), 0)
    check_out(lambda **k: torch.topk(m, 2, largest=False, **k), ([[1, 2], [5, 7]], [[1, 2], [0, 2]]), 0)
    check_out(lambda **k: torch.topk(m, 1, 0, **k), ([[5, 9, 7]], [[1, 1, 1]]), 0)
    values, indices = torch.topk(m, 2, sorted=False)
    assert sorted(values[1].tolist()) == [7, 9] and sorted(indices[1].tolist()) == [1, 2] and indices.dtype is torch.int64
    for call in (lambda: torch.topk(m, 4), lambda: torch.topk(m, 3, 0), lambda: torch.topk(m, -1)):
        with pytest.raises(RuntimeError):
            call()
