"""Losses and layers that are seldom used: values by enumeration or NumPy, gradients, both backends."""
import itertools

import numpy as np
import pytest

import pyx_tensor as torch
from pyx_tensor import nn
from pyx_tensor.autograd import gradcheck
from pyx_tensor.nn import functional as F

RNG = np.random.default_rng(0)


def likelihood(probabilities, labels, blank=0):
    """The sum over all paths that give the labels when repeats and blanks are dropped."""
    steps, classes = probabilities.shape
    total = 0.0
    for path in itertools.product(range(classes), repeat=steps):
        read = [c for i, c in enumerate(path) if c != blank and (i == 0 or path[i - 1] != c)]
        if read == list(labels):
            total += np.prod([probabilities[t, c] for t, c in enumerate(path)])
    return total


@pytest.mark.parametrize("device", ["cpu", "reference"])
@pytest.mark.parametrize("labels", [[1], [2, 1], [1, 1], [], [2, 2, 1]])
@pytest.mark.parametrize("steps", [1, 3, 5])
def test_ctc_counts_all_paths(labels, steps, device):
    probabilities = RNG.dirichlet(np.ones(3), steps)
    expected = likelihood(probabilities, labels)
    padded = torch.tensor([labels + [0] * (3 - len(labels))], device=device)
    log_probs = torch.from_numpy(np.log(np.concatenate([probabilities, RNG.dirichlet(np.ones(3), 2)])))[:, None].to(device)
    loss = F.ctc_loss(log_probs, padded, [steps], [len(labels)], reduction="none")
    np.testing.assert_allclose(loss.cpu().numpy(), -np.log(expected) if expected else np.inf, rtol=1e-9)


@pytest.mark.parametrize("device", ["cpu", "reference"])
def test_ctc_gradient_of_scores(device):
    scores = torch.from_numpy(RNG.standard_normal((5, 2, 4))).to(device).requires_grad_()
    targets = torch.tensor([[1, 1, 3], [2, 3, 0]], device=device)
    assert gradcheck(lambda x: F.ctc_loss(x.log_softmax(2), targets, [5, 4], [3, 2], reduction="sum"), (scores,))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_ctc_of_rows_of_all_lengths(dtype):
    """The kernel against the definition: labels again and again, no labels, no steps, inputs too short, classes that can't be."""
    rng = np.random.default_rng(6)
    given = np.log(rng.dirichlet(np.ones(5), (30, 7)))
    given[2, 0, 1] = given[:3, 1, 2] = -np.inf
    targets, input_lengths, target_lengths = rng.integers(1, 5, (7, 12)), [30, 30, 25, 3, 0, 0, 12], [12, 5, 12, 6, 0, 2, 1]
    targets[2] = 3
    results = []
    for device in ("cpu", "reference"):
        log_probs = torch.tensor(given, dtype=dtype, device=device).requires_grad_()
        losses = F.ctc_loss(log_probs, torch.tensor(targets, device=device), input_lengths, target_lengths, reduction="none")
        losses.backward(torch.arange(7, dtype=dtype, device=device))
        results.append((losses.detach().cpu().numpy(), log_probs.grad.cpu().numpy()))
    for kernel, body in zip(*results):
        np.testing.assert_allclose(kernel, body, rtol=2e-5 if dtype is torch.float32 else 1e-12, atol=2e-5 if dtype is torch.float32 else 1e-12)


def test_second_derivatives_of_ctc_are_refused():
    scores = torch.zeros(4, 1, 3, requires_grad=True)
    loss = F.ctc_loss(scores.log_softmax(2), torch.tensor([[1]]), [4], [1])
    first, = torch.autograd.grad(loss, scores, create_graph=True)
    with pytest.raises(RuntimeError, match="derivative for ctc_loss_backward is not implemented"):
        first.square().sum().backward()


def test_ctc_in_pieces_and_alone():
    log_probs = torch.from_numpy(RNG.standard_normal((6, 2, 4))).log_softmax(2)
    together = F.ctc_loss(log_probs, torch.tensor([[1, 2, 3], [3, 3, 0]]), [6, 6], [3, 2], reduction="none")
    torch.testing.assert_close(F.ctc_loss(log_probs, torch.tensor([1, 2, 3, 3, 3]), [6, 6], [3, 2], reduction="none"), together)
    torch.testing.assert_close(F.ctc_loss(log_probs[:, 0], torch.tensor([1, 2, 3]), torch.tensor(6), torch.tensor(3), reduction="none"), together[0])
    torch.testing.assert_close(F.ctc_loss(log_probs, torch.tensor([[1, 2, 3], [3, 3, 0]]), [6, 6], [3, 2]), (together / torch.tensor([3.0, 2.0])).mean())


def test_infinite_losses_can_count_as_nothing():
    scores = torch.zeros(2, 2, 3, requires_grad=True)
    loss = F.ctc_loss(scores.log_softmax(2), torch.tensor([[1, 1], [1, 2]]), [2, 2], [2, 2], reduction="sum", zero_infinity=True)
    loss.backward()
    assert loss.isfinite() and (scores.grad[:, 0] == 0).all() and scores.grad.isfinite().all() and scores.grad.any()


@pytest.mark.parametrize("device", ["cpu", "reference"])
@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_embedding_bag(mode, device):
    weight, indices, bags = RNG.standard_normal((5, 3)), [4, 0, 4, 2, 1], [[4, 0], [], [4, 2, 1]]
    reduce = {"sum": np.sum, "mean": np.mean, "max": np.max}[mode]
    expected = [reduce(weight[bag], 0) if bag else np.zeros(3) for bag in bags]
    table = torch.from_numpy(weight).to(device).requires_grad_()
    given = torch.tensor(indices, device=device), table, torch.tensor([0, 2, 2], device=device)
    np.testing.assert_allclose(F.embedding_bag(*given, mode=mode).detach().cpu().numpy(), expected)
    assert gradcheck(lambda w: F.embedding_bag(given[0], w, given[2], mode=mode, padding_idx=2), (table,))
    rows = torch.tensor([[4, 0], [2, 2]], device=device)
    np.testing.assert_allclose(F.embedding_bag(rows, table, mode=mode).detach().cpu().numpy(), [reduce(weight[r], 0) for r in ([4, 0], [2, 2])])


def test_frequency_divides_the_gradient():
    bag = nn.EmbeddingBag(4, 2, mode="sum", scale_grad_by_freq=True)
    bag(torch.tensor([[1, 1, 2], [1, 3, 2]])).sum().backward()
    np.testing.assert_allclose(bag.weight.grad.numpy(), np.repeat([[0], [1], [1], [1]], 2, 1), rtol=1e-6)


def test_long_rows_are_shortened():
    bag = nn.EmbeddingBag.from_pretrained(torch.tensor([[3.0, 4.0], [0.3, 0.4], [6.0, 8.0]]), max_norm=1.0, mode="sum")
    np.testing.assert_allclose(bag(torch.tensor([[0, 1]])).numpy(), [[0.9, 1.2]], rtol=1e-5)
    np.testing.assert_allclose(bag.weight.numpy(), [[0.6, 0.8], [0.3, 0.4], [6.0, 8.0]], rtol=1e-5)


def test_adaptive_softmax_is_a_softmax():
    model, x = nn.AdaptiveLogSoftmaxWithLoss(6, 12, [3, 7], div_value=2.0), torch.randn(12, 6)
    log_probs = model.log_prob(x)
    np.testing.assert_allclose(log_probs.exp().sum(1).detach().numpy(), np.ones(12), rtol=1e-5)
    output, loss = model(x, torch.arange(12))
    torch.testing.assert_close(output, log_probs.diagonal())
    torch.testing.assert_close(loss, -output.mean())
    assert (model.predict(x) == log_probs.argmax(1)).all()


def test_linear_cross_entropy_is_both_in_one():
    model, x, y = nn.LinearCrossEntropyLoss(3, 4, bias=True), torch.randn(5, 3), torch.tensor([0, 3, 1, 2, 2])
    torch.testing.assert_close(model(x, y), F.cross_entropy(model.linear(x), y))


def test_scores_may_change_after_their_cross_entropy():
    """Only what the loss computed is kept, so that logits can be written to before the backward."""
    x = torch.randn(4, 5, dtype=torch.float64, requires_grad=True)
    target, results = torch.tensor([0, 3, 1, 4]), []
    for spoil in (False, True):
        scores = x * 2
        loss = F.cross_entropy(scores, target)
        if spoil:
            scores.detach().zero_()
            scores.mul_(3)
        first, = torch.autograd.grad(loss, x, create_graph=True)
        results.append((first, *torch.autograd.grad((first * first).sum(), x)))
    for ours, expected in zip(*results):
        torch.testing.assert_close(ours, expected)
    assert torch.autograd.gradgradcheck(lambda s: F.cross_entropy(s, target), (x,))


def test_arguments_that_are_no_tensors():
    x = torch.ones(2, 3)
    for call, name in ((lambda: F.mse_loss(x, 5), "target"), (lambda: F.mse_loss("a", x), "input"), (lambda: F.glu("a"), "input"),
                       (lambda: F.cross_entropy(x, [0, 1]), "target"), (lambda: F.softmax(3.0, 0), "input")):
        with pytest.raises(TypeError, match=f"argument '{name}'.* must be Tensor, not"):
            call()


def test_the_ctc_kernel_itself():
    """Called as the operation calls it: a TypeError would send the work to the definition, unseen."""
    from pyx_tensor_cpu import ctc
    log_probs, targets = np.full((4, 2, 3), -np.log(3), np.float32), np.array([[1, 2], [2, 0]])
    losses, alpha = ctc.ctc_loss(log_probs, targets, [4, 3], [2, 1], 0)
    assert ctc.ctc_loss_backward(losses, log_probs, targets, [4, 3], [2, 1], 0, losses, alpha).shape == log_probs.shape
