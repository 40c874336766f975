"""Attention: the formula by NumPy, the kernel against the definition, gradients, what is refused."""
import numpy as np
import pytest

import pyx_tensor as torch
from pyx_tensor.autograd import gradcheck, gradgradcheck
from pyx_tensor.core.definitions import operations
from pyx_tensor.core.record import namespace as B

attention = torch.nn.functional.scaled_dot_product_attention
FORWARD = operations["attention"].definition


def by_numpy(q, k, v, mask, scale, causal):
    scores = q @ np.swapaxes(k, -1, -2) * scale
    if causal:
        scores = np.where(np.tri(q.shape[-2], k.shape[-2], dtype=bool), scores, -np.inf)
    scores = scores if mask is None else scores + mask
    raised = np.exp(scores - np.where(np.isinf(m := scores.max(-1, keepdims=True)), 0, m))
    total = raised.sum(-1, keepdims=True)
    return raised / np.where(total == 0, 1, total) @ v


def operands(batch, length, keys, width, columns, dtype="float64", device="cpu"):
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal((*batch, *shape)).astype(dtype) for shape in ((length, width), (keys, width), (keys, columns))]
    return arrays, [torch.from_numpy(a).to(device).requires_grad_() for a in arrays]


def masks(batch, length, keys, dtype):
    rng = np.random.default_rng(1)
    some = np.where(rng.random((length, keys)) < 0.7, rng.standard_normal((length, keys)), -np.inf).astype(dtype)
    some[0] = -np.inf               # sees nothing
    return {"none": None, "one": np.broadcast_to(some, (*batch, length, keys)), "of keys": np.broadcast_to(some[-1:], (*batch, length, keys))}


SHAPES = [((), 3, 5, 4, 2), ((2, 3), 7, 7, 8, 8), ((2,), 130, 70, 16, 24), ((1, 2), 64, 128, 33, 32), ((2,), 70, 200, 40, 36), ((2,), 3, 1, 1, 1)]


@pytest.mark.parametrize("device", ["cpu", "reference"])
@pytest.mark.parametrize("mask", ["none", "one", "of keys", "causal"])
@pytest.mark.parametrize("shape", SHAPES)
def test_formula(shape, mask, device):
    arrays, tensors = operands(*shape, device=device)
    given = masks(*shape[:3], "float64").get(mask)
    result = B.attention(*tensors, None if given is None else torch.from_numpy(given.copy()).to(device), 0.3, mask == "causal")
    np.testing.assert_allclose(result.detach().cpu().numpy(), by_numpy(*arrays, given, 0.3, mask == "causal"), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("mask", ["none", "one", "of keys", "causal"])
@pytest.mark.parametrize("shape", SHAPES)
def test_kernel_is_the_definition(shape, mask, dtype):
    """Result and gradients, on one thread and several, for operands that lie in memory in other orders."""
    _, tensors = operands(*shape, dtype=dtype)
    given = masks(*shape[:3], dtype).get(mask)
    given = None if given is None else torch.from_numpy(given.copy())
    before, outcomes = torch.get_num_threads(), []
    turned = [t.detach().transpose(-1, -2).contiguous().transpose(-1, -2).requires_grad_() for t in tensors]
    try:
        for threads, inputs in ((1, tensors), (3, tensors), (2, turned)):
            torch.set_num_threads(threads)
            result = B.attention(*inputs, given, 0.3, mask == "causal")
            outcomes.append([result, *torch.autograd.grad((result * result).sum() + result.sum(), inputs)])
    finally:
        torch.set_num_threads(before)
    result = FORWARD(B, *tensors, given, 0.3, mask == "causal")[0]
    expected = [result, *torch.autograd.grad((result * result).sum() + result.sum(), tensors)]
    tolerance = 1e-4 if dtype == "float32" else 1e-10
    for outcome in outcomes:
        for ours, wanted in zip(outcome, expected, strict=True):
            np.testing.assert_allclose(ours.detach().numpy(), wanted.detach().numpy(), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("device", ["cpu", "reference"])
@pytest.mark.parametrize("causal", [False, True])
def test_gradients(causal, device):
    _, tensors = operands((2,), 3, 4, 2, 3, device=device)
    assert gradcheck(lambda *x: B.attention(*x, None, 0.5, causal), tensors)
    assert gradgradcheck(lambda *x: B.attention(*x, None, 0.5, causal), tensors)
    mask = torch.randn(2, 3, 4, dtype=torch.float64, device=device, requires_grad=True)
    assert gradcheck(lambda *x: B.attention(*x, 0.5, False), (*tensors, mask))


def test_a_query_that_sees_nothing():
    q = torch.randn(2, 3, 4, requires_grad=True)
    seen = torch.tensor([[True, False, True], [False, False, False], [True, True, True]])
    result = attention(q, q, q, seen)
    assert (result[:, 1] == 0).all() and not result.isnan().any()
    result.sum().backward()
    assert not q.grad.isnan().any()


def test_the_result_may_be_written_to():
    q = torch.randn(2, 3, 4, requires_grad=True)
    grads = [torch.autograd.grad((attention(q, q, q).relu() if new else attention(q, q, q).relu_()).sum(), q)[0] for new in (True, False)]
    torch.testing.assert_close(*grads)


def test_nan_shows():
    q = torch.ones(1, 2, 3)
    q[0, 1, 0] = float("nan")
    assert attention(torch.ones(1, 2, 3), q, torch.ones(1, 2, 3)).isnan().all()


@pytest.mark.parametrize("shapes", [((2, 0, 4), (2, 3, 4)), ((2, 3, 4), (2, 0, 4)), ((0, 3, 4), (0, 3, 4)), ((2, 3, 0), (2, 3, 0))])
def test_nothing(shapes):
    q, k = (torch.ones(shape, requires_grad=True) for shape in shapes)
    v = torch.ones(*shapes[1][:-1], 2, requires_grad=True)
    result = attention(q, k, v)
    assert result.shape == (*shapes[0][:-1], 2)
    if shapes[1][1] == 0:
        assert (result == 0).all()
    result.sum().backward()
    assert q.grad.shape == q.shape and v.grad.shape == v.shape


def test_half_precision_is_computed():
    q = torch.randn(2, 5, 8)
    for dtype in (torch.float16, torch.bfloat16):
        half = q.to(dtype)
        torch.testing.assert_close(attention(half, half, half).float(), attention(q, q, q), rtol=0.05, atol=0.05)


def test_what_does_not_fit_is_refused():
    q = torch.zeros(2, 3, 4)
    for wrong in ((q, q[:, :, :3], q), (q, q, q[:, :2]), (q, torch.zeros(3, 3, 4), q)):
        with pytest.raises(RuntimeError):
            attention(*wrong)
    with pytest.raises(RuntimeError, match="expanded size"):
        attention(q, q, q, torch.zeros(3, 2))


def test_the_kernel_itself():
    """Called as the operation calls it: a TypeError would send the work to the definition, unseen."""
    from pyx_tensor_cpu import attention as kernel
    q = np.ones((2, 3, 4), np.float32)
    for mask in (None, np.zeros((2, 3, 3), np.float32)):
        result, total, output = kernel.attention(q, q, q, mask, 0.5, False)
        grads = kernel.attention_backward(result, q, q, q, mask, total, output, 0.5, False, (True, True, True, False))
        assert [g.shape for g in grads[:3]] == [q.shape] * 3 and grads[3] is None
