"""Indexing, joining and taking apart (rows S212 - S227). Expected values are worked out by hand."""
import pytest
from .values import check_out, close

import pyx_tensor as torch


def matrix():
    return torch.tensor([[1, 2, 3], [4, 5, 6]])


def shares_memory(view, base):
    """A write to one shows in the other."""
    before = base.clone()
    view.add_(100)
    seen = not torch.equal(base, before)
    view.sub_(100)
    return seen


@pytest.mark.rows("S212")
def test_cat():
    a, b = torch.ones(1, 2), torch.zeros(2, 2)
    check_out(lambda **k: torch.cat((a, b), 0, **k), [[1, 1], [0, 0], [0, 0]])
    check_out(lambda **k: torch.cat([a, b], dim=-2, **k), [[1, 1], [0, 0], [0, 0]])
    check_out(lambda **k: torch.cat((b, 2 + b, b), 1, **k), [[0, 0, 2, 2, 0, 0]] * 2)
    assert not shares_memory(torch.cat((a,)), a)
    with pytest.raises(RuntimeError, match="Sizes of tensors must match"):
        torch.cat((a, b), 1)
    x = torch.arange(7.0)
    for cut in (x.split(3), x.chunk(3)):
        assert torch.equal(torch.cat(cut), x)


@pytest.mark.rows("S213")
def test_the_early_keywords_of_cat():
    a, b = torch.ones(1, 2), torch.zeros(1, 1)
    close(torch.cat(inputs=(a, b), dimension=1), [[1, 1, 0]])
    close(torch.cat((a, a), dimension=0), [[1, 1], [1, 1]])


@pytest.mark.rows("S214", "S220", "S225")
def test_parts_are_views():
    a = torch.arange(10)
    for parts, expected in [
            (torch.chunk(a, 3), [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]), (torch.chunk(a[:5], 4), [[0, 1], [2, 3], [4]]),
            (torch.chunk(a[:2], 9), [[0], [1]]), (torch.split(a, 4), [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]), (torch.split(a[:4], 2), [[0, 1], [2, 3]]),
            (torch.chunk(matrix(), 2, dim=1), [[[1, 2], [4, 5]], [[3], [6]]]), (torch.split(matrix(), 1, -1), [[[1], [4]], [[2], [5]], [[3], [6]]]),
            (torch.unbind(matrix()), [[1, 2, 3], [4, 5, 6]]), (torch.unbind(matrix(), dim=1), [[1, 4], [2, 5], [3, 6]])]:
        assert type(parts) is tuple and [p.tolist() for p in parts] == expected
    for take in (lambda m: torch.chunk(m, 2, 1), lambda m: torch.split(m, 2, 1), lambda m: torch.unbind(m, 1)):
        m = matrix()
        assert all(shares_memory(part, m) for part in take(m))
    for call in (lambda: torch.chunk(a, 0), lambda: torch.split(a, -1)):
        with pytest.raises(RuntimeError):
            call()


@pytest.mark.rows("S215")
def test_gather():
    a = torch.tensor([[1, 2], [3, 4], [5, 6]])
    check_out(lambda **k: torch.gather(a, 0, torch.tensor([[2, 0], [1, 1]]), **k), [[5, 2], [3, 4]])
    check_out(lambda **k: torch.gather(a, 1, torch.tensor([[0, 0, 1], [1, 0, 1]]), **k), [[1, 1, 2], [4, 3, 4]])
    for index in ([[2, 0]], [[0, -1]]):
        with pytest.raises(RuntimeError, match="out of bounds"):
            torch.gather(a, 1, torch.tensor(index))
    with pytest.raises(RuntimeError):
        torch.gather(a, 0, torch.tensor([0, 1]))


@pytest.mark.rows("S216")
def test_index_select():
    a = matrix()
    check_out(lambda **k: torch.index_select(a, 1, torch.tensor([2, 0, 0]), **k), [[3, 1, 1], [6, 4, 4]])
    check_out(lambda **k: torch.index_select(a, 0, torch.LongTensor([1]), **k), [[4, 5, 6]])
    assert not shares_memory(torch.index_select(a, 0, torch.tensor([0, 1])), a)
    with pytest.raises(IndexError):
        torch.index_select(a, 0, torch.tensor([2]))


@pytest.mark.rows("S217")
def test_masked_select():
    a = matrix()
    check_out(lambda **k: torch.masked_select(a, a % 2 == 0, **k), [2, 4, 6])
    check_out(lambda **k: torch.masked_select(a, torch.tensor([True, False, True]), **k), [1, 3, 4, 6])
    check_out(lambda **k: torch.masked_select(a, torch.tensor([[False], [True]]), **k), [4, 5, 6])
    assert not shares_memory(torch.masked_select(a, a > 0), a)
    with pytest.raises(RuntimeError):
        torch.masked_select(a, torch.ones(6, dtype=torch.bool))


@pytest.mark.rows("S218")
def test_masked_select_by_bytes():
    a, mask = matrix(), torch.ByteTensor([[0, 2, 0], [1, 0, 255]])
    assert torch.masked_select(a, mask).tolist() == a.masked_select(mask).tolist() == [2, 4, 6]


@pytest.mark.rows("S219")
def test_nonzero():
    check_out(lambda **k: torch.nonzero(torch.tensor([[0, 5, 0], [6, 0, -1]]), **k), [[0, 1], [1, 0], [1, 2]])
    check_out(lambda **k: torch.nonzero(torch.tensor([0.0, 0.5, -0.0, float("nan")]), **k), [[1], [3]])
    assert torch.nonzero(torch.zeros(2, 3)).shape == (0, 2) and torch.nonzero(torch.ones(1)).dtype is torch.int64


@pytest.mark.rows("S221")
def test_squeeze():
    a = torch.zeros(2, 1, 3, 1)
    for view, shape in ((torch.squeeze(a), (2, 3)), (torch.squeeze(a, 1), (2, 3, 1)), (torch.squeeze(a, -1), (2, 1, 3)), (torch.squeeze(a, dim=0), (2, 1, 3, 1))):
        assert view.shape == shape and shares_memory(view, a)
    with pytest.raises(IndexError):
        torch.squeeze(a, 4)


@pytest.mark.rows("S222")
def test_stack():
    a, b = torch.tensor([1, 2]), torch.tensor([3, 4])
    check_out(lambda **k: torch.stack((a, b), **k), [[1, 2], [3, 4]])
    check_out(lambda **k: torch.stack([a, b], dim=1, **k), [[1, 3], [2, 4]])
    check_out(lambda **k: torch.stack([a, b], -1, **k), [[1, 3], [2, 4]])
    with pytest.raises(RuntimeError, match="equal size"):
        torch.stack((a, torch.ones(3)))


@pytest.mark.rows("S223", "S224")
def test_transposes():
    a = matrix()
    for view in (torch.t(a), torch.transpose(a, 0, 1), torch.transpose(a, -1, -2)):
        assert view.tolist() == [[1, 4], [2, 5], [3, 6]] and shares_memory(view, a)
    cube = torch.arange(24).view(2, 3, 4)
    swapped = torch.transpose(cube, 0, 2)
    assert swapped.shape == (4, 3, 2) and swapped[3, 1, 0] == cube[0, 1, 3] == 7 and shares_memory(swapped, cube)
    with pytest.raises(RuntimeError):
        torch.t(cube)
    with pytest.raises(IndexError):
        torch.transpose(a, 0, 2)


@pytest.mark.rows("S226")
def test_unsqueeze():
    a = matrix()
    for dim, shape in ((0, (1, 2, 3)), (1, (2, 1, 3)), (2, (2, 3, 1)), (-1, (2, 3, 1)), (-3, (1, 2, 3))):
        view = torch.unsqueeze(a, dim)
        assert view.shape == shape and view.flatten().tolist() == [1, 2, 3, 4, 5, 6] and shares_memory(view, a)
    for dim in (3, -4):
        with pytest.raises(IndexError):
            torch.unsqueeze(a, dim)


@pytest.mark.rows("S227")
@pytest.mark.parametrize("call, expected", [
    (lambda a, **k: torch.squeeze(a, **k), [[0, 1, 2], [3, 4, 5]]), (lambda a, **k: torch.squeeze(a, 1, **k), [[0, 1, 2], [3, 4, 5]]),
    (lambda a, **k: torch.unsqueeze(a[0], 0, **k), [[[0, 1, 2]]]), (lambda a, **k: torch.transpose(a, 0, 2, **k), [[[0, 3]], [[1, 4]], [[2, 5]]]),
    (lambda a, **k: torch.t(a[:, 0], **k), [[0, 3], [1, 4], [2, 5]])])
def test_out_of_views(call, expected):
    a = torch.arange(6.0).view(2, 1, 3)
    check_out(lambda **k: call(a, **k), expected)
    out = torch.empty(0)
    assert not shares_memory(call(a, out=out), a)
