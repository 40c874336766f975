"""Losses and layers that are seldom used, against PyTorch: CTC, bags of embeddings, adaptive softmax, linear cross entropy."""
import numpy as np
import pytest
import torch
from nn_support import LIBRARIES, assert_close, assert_same_error, both, pair

import pyx_tensor as pt

RNG = np.random.default_rng(0)
LOG_PROBS = np.log(RNG.dirichlet(np.ones(5), (7, 3))).astype(np.float32)
TARGETS = np.array([[1, 1, 2, 4], [3, 4, 0, 0], [2, 0, 0, 0]])


def gradients(run, *arrays):
    """Result and gradients of `run(library, *tensors)` in both libraries; float arrays need gradients."""
    outcomes = []
    for i, library in enumerate(LIBRARIES):
        tensors = [pair(array, np.issubdtype(array.dtype, np.floating))[i] for array in arrays]
        result = run(library, *tensors)
        factors = library.from_numpy(np.random.default_rng(1).standard_normal(tuple(result.shape)).astype(np.float32))
        (result * factors).sum().backward()
        outcomes.append([result, *(t.grad for t in tensors if t.requires_grad)])
    for ours, theirs in zip(*outcomes, strict=True):
        assert (ours is None) == (theirs is None)
        if ours is not None:
            assert_close(ours, theirs, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("lengths", [([7, 5, 6], [4, 2, 1]), ([7, 7, 7], [4, 0, 1]), ([7, 2, 1], [3, 2, 1])])
def test_ctc(reduction, lengths):
    gradients(lambda t, x, y: t.nn.functional.ctc_loss(x, y, *lengths, reduction=reduction), LOG_PROBS, TARGETS)
    gradients(lambda t, x, y: t.nn.functional.ctc_loss(x, y, t.tensor(lengths[0]), t.tensor(lengths[1]), blank=4, reduction=reduction),
              LOG_PROBS, TARGETS.clip(0, 3))


def test_ctc_forms():
    gradients(lambda t, x, y: t.nn.CTCLoss()(x, y, (7, 6, 7), (4, 2, 1)), LOG_PROBS, np.array([1, 1, 2, 4, 3, 4, 2]))
    gradients(lambda t, x, y: t.nn.CTCLoss()(x[:, 0], y[0], t.tensor(7), t.tensor(4)), LOG_PROBS, TARGETS)
    gradients(lambda t, x, y: t.nn.CTCLoss(zero_infinity=True, reduction="none")(x, y, [4, 5, 6], [4, 2, 1]), LOG_PROBS, TARGETS)
    gradients(lambda t, x, y: t.nn.CTCLoss(zero_infinity=True, reduction="none")(x, y, [4, 0, 0], [4, 2, 0]), LOG_PROBS, TARGETS)
    for t in LIBRARIES:
        x, y = (t.from_numpy(a) for a in (LOG_PROBS, TARGETS))
        assert t.nn.functional.ctc_loss(x, y, [4, 5, 6], [4, 2, 1], reduction="none").isinf().tolist() == [True, False, False]


INDICES = np.array([1, 2, 4, 4, 0, 3, 2])
WEIGHT = RNG.standard_normal((5, 3)).astype(np.float32)
BAGS = {
    "rows": (dict(), INDICES[:6].reshape(2, 3), None), "offsets": (dict(), INDICES, [0, 2, 2, 5]), "no indices": (dict(), INDICES[:0], [0, 0]),
    "last offset": (dict(include_last_offset=True), INDICES, [0, 2, 7]), "padding": (dict(padding_idx=2), INDICES, [0, 2, 6]),
    "padding from the end": (dict(padding_idx=-1), INDICES, [0, 2, 3]),
}


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("name", BAGS)
def test_embedding_bag(name, mode):
    options, indices, offsets = BAGS[name]
    gradients(lambda t, w, i: t.nn.functional.embedding_bag(i, w, None if offsets is None else t.tensor(offsets), mode=mode, **options), WEIGHT, indices)


def test_weights_of_samples():
    gradients(lambda t, w, s: t.nn.functional.embedding_bag(t.from_numpy(INDICES), w, t.tensor([0, 3]), mode="sum", per_sample_weights=s, padding_idx=2),
              WEIGHT, RNG.standard_normal(7).astype(np.float32))


def test_bag_modules():
    for options in (dict(padding_idx=1, mode="max", max_norm=1.0), dict(mode="sum", norm_type=1.0, max_norm=0.5)):
        ours, theirs = both(lambda t: t.nn.EmbeddingBag(5, 3, **options))
        assert repr(ours) == repr(theirs)
        for i, module in enumerate((ours, theirs)):
            LIBRARIES[i].manual_seed(0)
        results = [m(t.from_numpy(INDICES), t.tensor([0, 2, 5])) for m, t in ((ours, pt), (theirs, torch))]
        assert_close(*results)
        assert_close(ours.weight, theirs.weight)
    for t in LIBRARIES:
        assert not t.nn.EmbeddingBag.from_pretrained(t.from_numpy(WEIGHT)).weight.requires_grad


@pytest.mark.parametrize("options", [{}, dict(head_bias=True, div_value=2.0)])
def test_adaptive_softmax(options):
    models = both(lambda t: t.nn.AdaptiveLogSoftmaxWithLoss(8, 20, [4, 9, 15], **options))
    assert repr(models[0]) == repr(models[1])
    x, y = RNG.standard_normal((6, 8)).astype(np.float32), np.array([0, 3, 4, 19, 9, 5])
    outcomes = []
    for t, model in zip(LIBRARIES, models):
        inputs = t.from_numpy(x.copy()).requires_grad_()
        output, loss = model(inputs, t.from_numpy(y))
        loss.backward()
        single = model(inputs[0], t.tensor(7))
        outcomes.append([output, loss, inputs.grad, *(p.grad for p in model.parameters()), model.log_prob(inputs), model.predict(inputs), *single])
    for ours, theirs in zip(*outcomes, strict=True):
        assert_close(ours, theirs, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("options", [{}, dict(out_features=(2, 3), bias=True), dict(label_smoothing=0.2, reduction="sum", ignore_index=1)])
def test_linear_cross_entropy(options):
    models = both(lambda t: t.nn.LinearCrossEntropyLoss(4, 5, **options))
    assert repr(models[0]) == repr(models[1])
    x = RNG.standard_normal((6, 4)).astype(np.float32)
    y = RNG.integers(0, 5, (6, *options.get("out_features", ())))
    losses = [model(t.from_numpy(x), t.from_numpy(y)) for t, model in zip(LIBRARIES, models)]
    assert_close(*losses)
    for loss in losses:
        loss.backward()
    for p, q in zip(models[0].parameters(), models[1].parameters()):
        assert_close(p.grad, q.grad)


def test_others():
    gradients(lambda t, x: t.nn.functional.pdist(x), RNG.standard_normal((4, 3)).astype(np.float32))
    gradients(lambda t, x: t.nn.functional.pdist(x, 1.0), RNG.standard_normal((4, 3)).astype(np.float32))
    models = both(lambda t: t.nn.SyncBatchNorm.convert_sync_batchnorm(t.nn.Sequential(t.nn.Linear(3, 4), t.nn.BatchNorm1d(4))))
    assert repr(models[0]) == repr(models[1])
    assert_close(*(m(t.from_numpy(np.eye(5, 3, dtype=np.float32))) for t, m in zip(LIBRARIES, models)))


def bag(t, indices, offsets=None, **options):
    return t.nn.functional.embedding_bag(t.tensor(indices), t.from_numpy(WEIGHT), None if offsets is None else t.tensor(offsets), **options)


def ctc(t, targets, inputs=(7, 7, 7), lengths=(4, 2, 1), **options):
    return t.nn.functional.ctc_loss(t.from_numpy(LOG_PROBS), t.tensor(targets), t.tensor(inputs), t.tensor(lengths), **options)


ERRORS = {
    "targets too few": lambda t: ctc(t, [1, 2, 3]), "inputs too long": lambda t: ctc(t, TARGETS.tolist(), (8, 7, 7)),
    "targets too long": lambda t: ctc(t, TARGETS.tolist(), lengths=(5, 1, 1)), "number of lengths": lambda t: ctc(t, TARGETS.tolist(), (7, 7)),
    "number of target lengths": lambda t: ctc(t, TARGETS.tolist(), lengths=(4, 2)), "blank": lambda t: ctc(t, TARGETS.tolist(), blank=5),
    "fractions": lambda t: ctc(t, TARGETS.tolist(), (7.0, 7.0, 7.0)), "negative length": lambda t: ctc(t, TARGETS.tolist(), (-1, 7, 7)),
    "offsets of rows": lambda t: bag(t, [[0, 1]], [0]), "no offsets": lambda t: bag(t, [0, 1]), "first offset": lambda t: bag(t, [0, 1], [1]),
    "last offset": lambda t: bag(t, [0, 1], [0, 3]), "dims": lambda t: bag(t, [[[0]]]), "index": lambda t: bag(t, [0, 9], [0]),
    "mode": lambda t: bag(t, [0, 1], [0], mode="min"), "weights of a mean": lambda t: bag(t, [0, 1], [0], per_sample_weights=t.ones(2)),
    "number of weights": lambda t: bag(t, [0, 1], [0], per_sample_weights=t.ones(3), mode="sum"), "padding": lambda t: bag(t, [0, 1], [0], padding_idx=5),
    "frequency of maxima": lambda t: bag(t, [0, 1], [0], mode="max", scale_grad_by_freq=True), "fractions as indices": lambda t: bag(t, [0.0, 1.0], [0]),
    "no cutoffs": lambda t: t.nn.AdaptiveLogSoftmaxWithLoss(4, 10, []), "order of cutoffs": lambda t: t.nn.AdaptiveLogSoftmaxWithLoss(4, 10, [5, 3]),
    "large cutoff": lambda t: t.nn.AdaptiveLogSoftmaxWithLoss(4, 10, [3, 10]),
    "number of targets": lambda t: t.nn.AdaptiveLogSoftmaxWithLoss(4, 10, [3])(t.zeros(3, 4), t.zeros(2).long()),
    "class": lambda t: t.nn.AdaptiveLogSoftmaxWithLoss(4, 10, [3])(t.zeros(2, 4), t.tensor([0, 10])),
    "features": lambda t: t.nn.LinearCrossEntropyLoss(4, 5)(t.zeros(3, 5), t.tensor([0, 1, 2])),
    "pdist of a vector": lambda t: t.nn.functional.pdist(t.zeros(3)), "pdist of integers": lambda t: t.nn.functional.pdist(t.zeros(3, 2).long()),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    def call(t):
        try:
            return ERRORS[name](t)
        except Exception as error:
            raise type(error)(str(error).split("\n")[0]) from None      # PyTorch's may go on with a dump of the argument
    assert_same_error(call)


def test_labels_beyond_the_classes_are_refused():
    """PyTorch reads memory that isn't the input's."""
    for wrong in (-1, 5):
        with pytest.raises(RuntimeError, match="targets must be classes"):
            ctc(pt, [[1, wrong, 2, 3], [1, 1, 0, 0], [1, 0, 0, 0]])
