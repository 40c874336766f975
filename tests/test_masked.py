"""Reductions under a mask, against NumPy's masked arrays."""
import numpy as np
import pytest

import pyx_tensor as torch
from pyx_tensor import masked

X = np.array([[1.0, -2.0, 3.0, 0.5], [4.0, 0.25, -1.0, 2.0], [-3.0, 1.5, 2.5, -0.75]])
KEEP = np.array([[True, False, True, True], [True, True, False, False], [False, True, True, True]])
x, keep = torch.from_numpy(X), torch.from_numpy(KEEP)
M = np.ma.masked_array(X, ~KEEP)


@pytest.mark.parametrize("dim", [None, 0, 1, -1])
@pytest.mark.parametrize("name, expected", [
    ("sum", M.sum), ("prod", M.prod), ("mean", M.mean), ("amax", M.max), ("amin", M.min),
    ("var", lambda axis: M.var(axis, ddof=1)), ("std", lambda axis: M.std(axis, ddof=1)),
    ("norm", lambda axis: np.sqrt((M ** 2).sum(axis))), ("logsumexp", lambda axis: np.log(np.exp(M).sum(axis)))])
def test_reductions(name, expected, dim):
    np.testing.assert_allclose(getattr(masked, name)(x, dim=dim, mask=keep).numpy(), np.asarray(expected(axis=dim)), rtol=1e-12)
    kept = getattr(masked, name)(x, dim=dim, mask=keep, keepdim=True)
    assert kept.ndim == 2


def test_positions_and_median():
    assert masked.argmax(x, 1, mask=keep).tolist() == [2, 0, 2] and masked.argmin(x, 1, mask=keep).tolist() == [3, 1, 3]
    assert masked.median(x, 1, mask=keep).tolist() == [1.0, 0.25, 1.5]


def test_along_a_dim():
    np.testing.assert_allclose(masked.cumsum(x, 1, mask=keep).numpy(), np.cumsum(np.where(KEEP, X, 0), 1))
    np.testing.assert_allclose(masked.cumprod(x, 1, mask=keep).numpy(), np.cumprod(np.where(KEEP, X, 1), 1))
    soft = masked.softmax(x, 1, mask=keep)
    assert (soft[~keep] == 0).all() and torch.allclose(soft.sum(1), torch.ones(3, dtype=torch.float64))
    np.testing.assert_allclose(soft[0, [0, 2]].div(soft[0, 3]).numpy(), np.exp(X[0, [0, 2]] - X[0, 3]))
    np.testing.assert_allclose(masked.log_softmax(x, 1, mask=keep)[keep].numpy(), soft.log()[keep].numpy())
    np.testing.assert_allclose(masked.softmin(x, 1, mask=keep).numpy(), masked.softmax(-x, 1, mask=keep).numpy())
    np.testing.assert_allclose(masked.normalize(x, 2.0, 1, mask=keep).norm(dim=1).numpy(), 1)


def test_logaddexp_counts_what_is_left():
    result = masked.logaddexp(x[0], x[1], input_mask=keep[0], other_mask=keep[1])
    expected = [np.logaddexp(1, 4), 0.25, 3.0, 0.5]
    np.testing.assert_allclose(result.numpy(), expected)


def test_what_is_masked_gets_no_gradient():
    a = x.clone().requires_grad_()
    masked.mean(a, mask=keep).backward()
    np.testing.assert_allclose(a.grad.numpy(), KEEP / KEEP.sum())


def test_nothing_left():
    nothing = torch.zeros(3, dtype=torch.bool)
    one = torch.ones(3)
    assert masked.sum(one, mask=nothing) == 0 and masked.prod(one, mask=nothing) == 1 and masked.amax(one, mask=nothing) == -float("inf")
    assert masked.mean(one, mask=nothing).isnan() and masked.amin(one.long(), mask=nothing) == 2**63 - 1


def test_dtypes_and_refusals():
    whole = torch.tensor([1, 2, 4])
    assert masked.sum(whole.int()).dtype is torch.int64 and masked.mean(whole).dtype is torch.float32
    assert masked.sum(whole, dtype=torch.float64).dtype is torch.float64
    with pytest.raises(ValueError, match="floating-point"):
        masked.median(whole)
    with pytest.raises(ValueError, match="one of unbiased and correction"):
        masked.var(x, unbiased=True, correction=0)
    with pytest.raises(IndexError, match="broadcast"):
        masked.sum(whole, mask=torch.ones(2, 3, dtype=torch.bool))
