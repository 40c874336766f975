"""The CPU backend's indexing and sorting against PyTorch's own."""
import numpy as np
import pytest
import torch

from pyx_tensor_cpu import index, masks, runs, search, sort

NAN = float("nan")


def arrays(*tensors):
    return [t.numpy() if isinstance(t, torch.Tensor) else t for t in tensors]


def same(got, expected):
    expected = expected if isinstance(expected, tuple) else (expected,)
    got = got if isinstance(got, tuple) else (got,)
    assert len(got) == len(expected)
    for x, y in zip(got, expected):
        y = y.numpy()
        assert x.dtype == y.dtype and x.shape == y.shape
        np.testing.assert_array_equal(x, y)


@pytest.fixture
def a():
    return torch.randn(5, 6, 7, generator=torch.Generator().manual_seed(0))


I0, I1, I2 = torch.tensor([[0, 4], [2, -1]]), torch.tensor([5, -6]), torch.tensor([[[3]], [[0]]])


@pytest.mark.parametrize("indices", [
    (I0,), (None, I1), (None, None, I2), (I0, I1), (None, I0, I1), (I0, None, I1), (I0, I1, I2), (torch.tensor(3), None, I0),
    (None, torch.zeros(0, dtype=torch.long))])
def test_advanced_indexing(a, indices):
    expected = torch.ops.aten.index(a, list(indices))
    same(index.index_get(a.numpy(), arrays(*indices)), expected)
    values = torch.round(expected * 8)
    whole = torch.round(a)
    want = torch.ops.aten.index_put(whole, list(indices), values, True)
    same(index.index_put_(whole.numpy().copy(), arrays(*indices), values.numpy(), True), want)


@pytest.mark.parametrize("include_self", [False, True])
@pytest.mark.parametrize("reduce", ["sum", "prod", "mean", "amax", "amin"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.int32, torch.int64, torch.uint8])
def test_scatter_reduce(reduce, dtype, include_self):
    g = torch.Generator().manual_seed(1)
    base, src = (torch.randint(1, 6, (4, 5), generator=g).to(dtype) for _ in range(2))
    at = torch.randint(0, 4, (4, 5), generator=g)
    expected = base.scatter_reduce(0, at, src, reduce, include_self=include_self)
    got = index.scatter_reduce(base.numpy(), 0, at.numpy(), src.numpy(), reduce, include_self)
    if dtype == torch.float32 and reduce == "mean":
        np.testing.assert_allclose(got, expected.numpy(), rtol=1e-6)
    else:
        same(got, expected)


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.int64, torch.uint8, torch.bool])
def test_sort(a, dtype, descending):
    t = (a * 2).to(dtype)
    for dim in range(3):
        same(sort.sort(t.numpy(), dim, descending, True), tuple(torch.sort(t, stable=True, dim=dim, descending=descending)))
    if t.is_floating_point():
        t[0, 0, :4] = torch.tensor([NAN, -0.0, 0.0, NAN])
        same(sort.sort(t.numpy(), 2, descending, True), tuple(torch.sort(t, stable=True, dim=2, descending=descending)))


def test_selection(a):
    same(sort.topk(a.numpy(), 3, 1, True, True), tuple(a.topk(3, 1)))
    same(sort.topk(a.numpy(), 3, 1, False, True), tuple(a.topk(3, 1, largest=False)))
    same(sort.kthvalue(a.numpy(), 2, 2, True), tuple(a.kthvalue(2, 2, keepdim=True)))
    same(sort.median(a.numpy(), 1), tuple(a.median(1)))
    n = torch.randint(0, 3, (5, 9), generator=torch.Generator().manual_seed(2))
    same(runs.mode(n.numpy(), 1)[0], n.mode(1).values)
    same(runs.unique(n.numpy(), True, True, True), torch.unique(n, return_inverse=True, return_counts=True))
    same(runs.unique_consecutive(n.numpy(), True, True), torch.unique_consecutive(n, return_inverse=True, return_counts=True))


@pytest.mark.parametrize("right", [False, True])
def test_searchsorted(right):
    rows = torch.tensor([[0.0, 1, 1, NAN], [1, 2, 3, 4]])
    values = torch.tensor([[1.0, NAN, -1], [4, 5, 0]])
    same(search.searchsorted(rows.numpy(), values.numpy(), right), torch.searchsorted(rows, values, right=right))


def test_counting():
    n, w = torch.tensor([1, 3, 3, 0]), torch.tensor([0.5, 1, 2, 3])
    same(search.bincount(n.numpy()), n.bincount())
    same(search.bincount(n.numpy(), w.numpy(), 6), n.bincount(w, 6))
    x = torch.tensor([0.1, 0.2, 0.9, 1.0, 1.2, NAN])
    same(search.histc(x.numpy(), 4, 0, 1), x.histc(4, 0, 1))
    same(search.histc(x[:5].numpy(), 7, 0, 0), x[:5].histc(7))
    same(search.isin(x.numpy(), x[1:].numpy()), torch.isin(x, x[1:]))


def test_masks(a):
    mask = a > 0
    same(masks.nonzero(mask.numpy()), mask.nonzero())
    same(masks.masked_scatter(a.numpy(), mask.numpy(), -a.numpy()), a.masked_scatter(mask, -a))
    same(masks.tril(a.numpy(), -1), a.tril(-1))
    same(masks.triu(a.numpy(), 2), a.triu(2))


@pytest.mark.parametrize("ours, theirs", [
    (lambda a: index.index_get(a, [np.array([9])]), lambda t: t[torch.tensor([9])]),
    (lambda a: index.gather(a, 0, np.array([[[9]]])), lambda t: t.gather(0, torch.tensor([[[9]]]))),
    (lambda a: index.gather(a, 0, np.array([9])), lambda t: t.gather(0, torch.tensor([9]))),
    (lambda a: index.index_select(a, 0, np.array([9])), lambda t: t.index_select(0, torch.tensor([9]))),
    (lambda a: index.scatter_add(a, 0, np.array([[[9]]]), a), lambda t: t.scatter_add(0, torch.tensor([[[9]]]), t)),
    (lambda a: index.index_add(a, 0, np.array([9]), a[:1]), lambda t: t.index_add(0, torch.tensor([9]), t[:1])),
    (lambda a: index.index_copy(a, 0, np.array([9]), a[:1]), lambda t: t.index_copy(0, torch.tensor([9]), t[:1])),
    (lambda a: index.index_fill(a, 0, np.array([9]), 1), lambda t: t.index_fill(0, torch.tensor([9]), 1)),
    (lambda a: index.index_put_(a, [np.array([0, 1])], a), lambda t: t.index_put_([torch.tensor([0, 1])], t)),
    (lambda a: index.put_(a, np.array([0]), a), lambda t: t.put_(torch.tensor([0]), t)),
    (lambda a: masks.masked_scatter(a, a == a, a[:1]), lambda t: t.masked_scatter(t == t, t[:1])),
    (lambda a: sort.topk(a, 9, 0), lambda t: t.topk(9, 0)),
    (lambda a: sort.kthvalue(a, 9, 0), lambda t: t.kthvalue(9, 0)),
    (lambda a: sort.median(a[:0], 0), lambda t: t[:0].median(0)),
    (lambda a: search.histc(a * NAN, 3, 0, 0), lambda t: (t * NAN).histc(3)),
])
def test_errors_have_the_same_class(a, ours, theirs):
    with pytest.raises((RuntimeError, IndexError, ValueError)) as expected:
        theirs(a.clone())
    with pytest.raises((RuntimeError, IndexError, ValueError)) as got:
        ours(a.numpy().copy())
    assert got.type is expected.type
