"""Reductions (rows S285 - S302): values by NumPy, shapes with and without keepdim, `out=`."""
import numpy as np
import pytest

import pyx_tensor as torch

from .values import check_out, close

A = np.array([[1.0, -2.0, 3.5], [-0.5, 0.25, -4.0]], np.float32)
a = torch.tensor(A)


@pytest.mark.rows("S285", "S286", "S289", "S294", "S296", "S298", "S300", "S302")
@pytest.mark.parametrize("call, expected", [
    (lambda **k: torch.cumprod(a, 1, **k), np.cumprod(A, 1)), (lambda **k: torch.cumprod(a, dim=0, **k), np.cumprod(A, 0)),
    (lambda **k: torch.cumsum(a, 0, **k), np.cumsum(A, 0)), (lambda **k: torch.cumsum(a, -1, **k), np.cumsum(A, 1)),
    (lambda **k: torch.mean(a, 1, **k), A.mean(1)), (lambda **k: torch.mean(a, 0, True, **k), A.mean(0, keepdims=True)),
    (lambda **k: torch.norm(a, 3, 1, **k), (np.abs(A) ** 3).sum(1) ** (1 / 3)), (lambda **k: torch.norm(a, 2, 0, True, **k), np.sqrt((A ** 2).sum(0, keepdims=True))),
    (lambda **k: torch.norm(a, 1, dim=-1, keepdim=True, **k), np.abs(A).sum(1, keepdims=True)), (lambda **k: torch.norm(a, float("inf"), 1, **k), np.abs(A).max(1)),
    (lambda **k: torch.prod(a, 1, **k), A.prod(1)), (lambda **k: torch.prod(a, 0, True, **k), A.prod(0, keepdims=True)),
    (lambda **k: torch.std(a, 1, **k), A.std(1, ddof=1)), (lambda **k: torch.std(a, 1, keepdim=True, **k), A.std(1, ddof=1, keepdims=True)),
    (lambda **k: torch.std(a, 0, unbiased=False, **k), A.std(0)),
    (lambda **k: torch.sum(a, 0, **k), A.sum(0)), (lambda **k: torch.sum(a, 1, keepdim=True, **k), A.sum(1, keepdims=True)),
    (lambda **k: torch.var(a, 1, keepdim=True, **k), A.var(1, ddof=1, keepdims=True)), (lambda **k: torch.var(a, 0, **k), A.var(0, ddof=1)),
])
def test_along_an_axis(call, expected):
    check_out(call, expected, 2e-6)


@pytest.mark.rows("S288", "S293", "S295", "S297", "S299", "S301")
@pytest.mark.parametrize("result, expected", [
    (torch.mean(a), A.mean()), (torch.norm(a), np.sqrt((A ** 2).sum())), (torch.norm(a, 1), np.abs(A).sum()), (torch.norm(a, p=3), (np.abs(A) ** 3).sum() ** (1 / 3)),
    (torch.prod(a), A.prod()), (torch.std(a), A.std(ddof=1)), (torch.std(a, unbiased=False), A.std()), (torch.sum(a), A.sum()),
    (torch.var(a), A.var(ddof=1)), (torch.var(a, unbiased=False), A.var())])
def test_of_all(result, expected):
    close(result, expected, 2e-6, torch.float32)
    assert result.shape == ()


@pytest.mark.rows("S287")
def test_dist():
    b = torch.tensor([[1.0, 0.0, 3.5], [-0.5, 0.25, 0.0]])                          # a - b has the entries -2 and -4
    close(torch.dist(a, b), 20 ** 0.5)
    close(torch.dist(a, b, 2), 20 ** 0.5)
    close(torch.dist(a, b, p=1), 6)
    close(torch.dist(a, b, float("inf")), 4)
    close(torch.dist(a, b, 0), 2)


@pytest.mark.rows("S295", "S299")
def test_small_integers_add_up_in_wide_ones():
    close(torch.sum(torch.tensor([True, True, False])), 2, 0, torch.int64)
    close(torch.sum(torch.ByteTensor([200, 200])), 400, 0, torch.int64)
    close(torch.prod(torch.CharTensor([100, 2])), 200, 0, torch.int64)
    close(torch.sum(torch.ShortTensor([[1, 2], [3, 4]]), 0), [4, 6], 0, torch.int64)


@pytest.mark.rows("S288", "S289", "S297")
def test_means_of_integers_are_refused():
    for call in (lambda: torch.mean(torch.arange(3)), lambda: torch.mean(torch.arange(3), 0), lambda: torch.std(torch.arange(3))):
        with pytest.raises(RuntimeError):
            call()


@pytest.mark.rows("S290")
def test_median():
    m = torch.tensor([[4.0, 1.0, 3.0, 2.0], [1.0, 9.0, 5.0, 7.0]])
    close(torch.median(m), 3)                                                       # 1 1 2 3 | 4 5 7 9: the lower of the two in the middle
    values, indices = torch.median(m, dim=-1)
    close(values, [2, 5])
    close(indices, [3, 2], 0, torch.int64)
    check_out(lambda **k: torch.median(m, 0, **k), ([1, 1, 3, 2], [1, 0, 0, 0]))
    assert torch.median(m, 1, keepdim=True).values.shape == (2, 1)


@pytest.mark.rows("S292")
def test_mode():
    m = torch.tensor([[4.0, 1.0, 4.0, 2.0], [5.0, 1.0, 5.0, 1.0]])
    values, indices = torch.mode(m)                                                 # of equally frequent ones the smallest
    close(values, [4, 1])
    assert indices.dtype is torch.int64 and indices[0] in (0, 2) and indices[1] in (1, 3)
    values, indices = torch.mode(m, 0)
    close(values, [4, 1, 4, 1])
    assert m[indices, torch.arange(4)].tolist() == [4, 1, 4, 1]
    v, i = torch.empty(0), torch.empty(0, dtype=torch.int64)
    torch.mode(m, -1, out=(v, i))
    assert v.tolist() == [4, 1] and m[torch.arange(2), i].tolist() == [4, 1]


@pytest.mark.rows("S291", "S313")
@pytest.mark.parametrize("function, names", [
    (torch.median, ("values", "indices")), (torch.mode, ("values", "indices")), (torch.max, ("max", "max_indices")), (torch.min, ("min", "min_indices"))])
def test_results_by_early_keywords(function, names):
    m = torch.tensor([[4.0, 1.0, 3.0], [0.0, 9.0, 5.0]])
    values, indices = torch.empty(0), torch.empty(0, dtype=torch.int64)
    returned = function(m, 1, **dict(zip(names, (values, indices))))
    expected = {torch.median: [3, 5], torch.mode: [1, 0], torch.max: [4, 9], torch.min: [1, 0]}[function]
    assert values.tolist() == m[torch.arange(2), indices].tolist() == expected
    assert returned[0] is values and returned[1] is indices


@pytest.mark.rows("S289", "S294", "S296", "S298", "S300", "S302")
@pytest.mark.parametrize("name", ["mean", "norm", "prod", "std", "sum", "var"])
def test_the_axis_stays_where_asked(name):
    """keepdim=True gives the shape that the notes describe; an axis that isn't there is refused."""
    function = {"norm": lambda t, dim, **k: torch.norm(t, 2, dim, **k)}.get(name, getattr(torch, name))
    cube = torch.arange(24.0).view(2, 3, 4)
    for dim, dropped, kept in ((0, (3, 4), (1, 3, 4)), (1, (2, 4), (2, 1, 4)), (-1, (2, 3), (2, 3, 1))):
        assert function(cube, dim).shape == dropped and function(cube, dim, keepdim=True).shape == kept
        assert torch.equal(function(cube, dim), function(cube, dim, keepdim=True).squeeze(dim))
    with pytest.raises(IndexError):
        function(cube, 3)
