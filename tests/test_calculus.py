"""Numerical derivatives, histograms in several dims and other statistics, against NumPy."""
import numpy as np
import pytest

import pyx_tensor as torch

RNG = np.random.default_rng(3)
Y = RNG.normal(size=(5, 6))


@pytest.mark.parametrize("edge_order", [1, 2])
@pytest.mark.parametrize("dim", [None, 0, -1, (1, 0)])
def test_gradient_at_equal_distances(dim, edge_order):
    axes = (0, 1) if dim is None else dim
    expected = np.gradient(Y, 0.5, axis=axes, edge_order=edge_order)
    result = torch.gradient(torch.from_numpy(Y), spacing=0.5, dim=dim, edge_order=edge_order)
    for r, e in zip(result, expected if isinstance(expected, (list, tuple)) else [expected]):
        np.testing.assert_allclose(r.numpy(), e)


@pytest.mark.parametrize("edge_order", [1, 2])
def test_gradient_at_coordinates(edge_order):
    at = np.array([0.0, 0.5, 2.0, 2.25, 4.0]), np.array([-1.0, 0.0, 0.5, 3.0, 3.5, 5.0])
    expected = np.gradient(Y, *at, edge_order=edge_order)
    result = torch.gradient(torch.from_numpy(Y), spacing=[torch.from_numpy(a) for a in at], edge_order=edge_order)
    for r, e in zip(result, expected):
        np.testing.assert_allclose(r.numpy(), e)


@pytest.mark.parametrize("call, message", [
    (lambda x: torch.gradient(x, edge_order=3), "edge_order"), (lambda x: torch.gradient(x, dim=(0, 0)), "multiple times"),
    (lambda x: torch.gradient(x, spacing=[1.0, 2.0, 3.0]), "list of length"), (lambda x: torch.gradient(x[:1]), "at least edge_order"),
    (lambda x: torch.gradient(x, spacing=(torch.arange(3.0), torch.arange(4.0))), "coordinates")])
def test_gradient_refuses(call, message):
    with pytest.raises(RuntimeError, match=message):
        call(torch.from_numpy(Y))


@pytest.mark.parametrize("density", [False, True])
def test_histogramdd(density):
    points, weights = RNG.uniform(0, 4, (40, 2)), RNG.uniform(size=40)
    edges = [np.array([0.0, 1.0, 3.0]), np.array([0.5, 1.0, 2.0, 3.5])]
    expected, _ = np.histogramdd(points, edges, weights=weights, density=density)
    result = torch.histogramdd(torch.from_numpy(points), [torch.from_numpy(e) for e in edges], weight=torch.from_numpy(weights), density=density)
    np.testing.assert_allclose(result.hist.numpy(), expected)
    counted, found = torch.histogramdd(torch.from_numpy(points), [2, 3], range=[0.0, 4.0, 0.0, 4.0])
    np.testing.assert_allclose(counted.numpy(), np.histogramdd(points, (2, 3), [(0, 4), (0, 4)])[0])
    assert found[0].tolist() == [0, 2, 4] and found[1].shape == (4,)
    with pytest.raises(RuntimeError, match="innermost dimension"):
        torch.histogramdd(torch.from_numpy(points), [2])


def test_pdist_is_the_upper_part_of_cdist():
    x = torch.from_numpy(Y)
    rows, columns = np.triu_indices(5, 1)
    for p in (0.0, 1.0, 2.0, 3.5, np.inf):
        np.testing.assert_allclose(torch.pdist(x, p).numpy(), torch.cdist(x, x, p).numpy()[rows, columns])
    assert torch.nn.functional.pdist(x[:1]).shape == (0,)
    with pytest.raises(RuntimeError, match="2D"):
        torch.pdist(x[0])


def test_sum_to_size():
    x = torch.arange(6.0).view(2, 3)
    assert x.sum_to_size(1, 3).tolist() == [[3, 5, 7]] and x.sum_to_size((3,)).tolist() == [3, 5, 7] and x.sum_to_size(2, 3).equal(x)
    with pytest.raises(RuntimeError, match="not expandable"):
        x.sum_to_size(2, 2)


def test_hash_of_bits():
    assert torch.hash_tensor(torch.tensor([1, 2, 7])).item() == 1 ^ 2 ^ 7
    x = np.array([[1.5, -2.0], [0.25, 8.0], [3.0, 4.0]])
    bits = np.bitwise_xor.reduce(x.view(np.uint64), 0)
    assert torch.hash_tensor(torch.from_numpy(x), 0).tolist() == bits.tolist()
    assert torch.hash_tensor(torch.from_numpy(x), 0, keepdim=True).shape == (1, 2)
    with pytest.raises(RuntimeError, match="mode"):
        torch.hash_tensor(torch.ones(2), mode=1)


def test_memory_order():
    x = torch.empty_permuted((2, 3, 4), (2, 0, 1))
    assert x.shape == (2, 3, 4) and x.stride() == (3, 1, 6)
    assert torch.ones(1, dtype=torch.float64).new_empty_strided((2, 2), (1, 2)).stride() == (1, 2)
    with pytest.raises(RuntimeError, match="Duplicate"):
        torch.empty_permuted((2, 3), (0, 0))


def test_complex_logarithms_of_sums():
    a, b = np.array([1 + 2j, -3.0 + 0.5j, 20.0 - 1j]), np.array([0.5 - 1j, 2.0 + 3j, -20.0 + 2j])
    result = torch.logaddexp(torch.from_numpy(a), torch.from_numpy(b)).numpy()
    np.testing.assert_allclose(np.exp(result), np.exp(a) + np.exp(b))
    scanned = torch.logcumsumexp(torch.from_numpy(a[:2]), 0).numpy()
    np.testing.assert_allclose(np.exp(scanned), np.cumsum(np.exp(a[:2])))
    far = np.array([1e-9 + 20j, -8 + 4j, 0.3 - 7j])
    np.testing.assert_allclose(torch.expm1(torch.from_numpy(far)).numpy(), np.expm1(far), rtol=1e-13)


def test_normalisations_tell_their_statistics():
    x = torch.from_numpy(RNG.normal(size=(2, 4, 3)))
    _, mean, rstd = torch.native_layer_norm(x, [3], None, None, 1e-5)
    np.testing.assert_allclose(mean.numpy(), x.numpy().mean(-1, keepdims=True))
    np.testing.assert_allclose(rstd.numpy(), 1 / np.sqrt(x.numpy().var(-1, keepdims=True) + 1e-5))
    y, mean, rstd = torch.native_group_norm(x, None, None, 2, 4, 3, 2, 1e-5)
    assert mean.shape == rstd.shape == (2, 2) and torch.allclose(y, torch.nn.functional.group_norm(x, 2))
    running = torch.zeros(4, dtype=torch.float64), torch.ones(4, dtype=torch.float64)
    _, mean, _ = torch.native_batch_norm(x, None, None, *running, True, 0.5, 1e-5)
    np.testing.assert_allclose(mean.numpy(), x.numpy().mean((0, 2)))
    np.testing.assert_allclose(running[0].numpy(), mean.numpy() / 2)
    assert torch.native_batch_norm(x, None, None, *running, False, 0.5, 1e-5)[1].shape == (0,)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16])
@pytest.mark.parametrize("p", [0, 0.5, 1, 2, 3, float("inf")])
def test_cdist_by_differences(p, dtype):
    """Against NumPy: sizes that fill no block, batches that broadcast, no points, no coordinates."""
    for left, right in (((3, 5), (4, 5)), ((70, 8), (130, 8)), ((2, 1, 9, 3), (5, 66, 3)), ((13, 70), (101, 70)), ((1030, 2), (5, 2)), ((0, 3), (4, 3)), ((3, 3), (0, 3)), ((2, 0), (3, 0))):
        a, b = (torch.randint(-4, 5, shape).to(dtype) for shape in (left, right))
        away = np.abs(a.double().numpy()[..., :, None, :] - b.double().numpy()[..., None, :, :])
        expected = {0: lambda: (away != 0).sum(-1), float("inf"): lambda: away.max(-1, initial=0)}.get(p, lambda: (away ** p).sum(-1) ** (1 / p))()
        np.testing.assert_allclose(torch.cdist(a, b, p).double().numpy(), expected, rtol=2e-3 if dtype is torch.float16 else 3e-6)


def test_cdist_of_many_coordinates():
    """Errors don't grow with their number."""
    a, b = torch.rand(5, 20000, dtype=torch.float64), torch.rand(7, 20000, dtype=torch.float64)
    exact = np.sqrt(((a.numpy()[:, None] - b.numpy()) ** 2).sum(-1))
    np.testing.assert_allclose(torch.cdist(a, b).numpy(), exact, rtol=1e-14)
    single, turned = torch.cdist(a.float(), b.float()), torch.cdist(a.float().t().contiguous().t(), b.float())
    np.testing.assert_allclose(single.numpy(), exact, rtol=1e-6)
    np.testing.assert_array_equal(single.numpy(), turned.numpy())


def test_cdist_of_close_points_is_exact():
    x = torch.full((40, 3), 1000.0)
    x[1:, 0] += 2.0 ** -12 * torch.arange(39)
    assert (torch.cdist(x, x)[0, 1:] == 2.0 ** -12 * torch.arange(39)).all()
    assert torch.cdist(torch.tensor([[float("nan"), 0.0]]), torch.zeros(2, 2)).isnan().all()
    assert torch.cdist(torch.tensor([[float("inf"), 0.0]]), torch.zeros(1, 2), float("inf")).item() == float("inf")
