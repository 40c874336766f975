"""Layers, losses and initial values against PyTorch: same seed, same weights, outputs, gradients and texts."""
import copy
import pickle
import warnings

import numpy as np
import pytest
import torch
from nn_support import LIBRARIES, array, assert_close, assert_same_error, backward, both, pair

import pyx_tensor as pt

RNG = np.random.default_rng(0)
FLOATS = RNG.standard_normal((3, 4)).astype(np.float32)
EDGES = np.array([-7.0, -3.0, -1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 3.0, 6.0, 7.0, 25.0, -25.0], np.float32)

LAYERS = {
    "Linear": (lambda t: t.nn.Linear(4, 5), (3, 4)),
    "Linear without bias": (lambda t: t.nn.Linear(4, 5, bias=False), (2, 3, 4)),
    "Linear of a vector": (lambda t: t.nn.Linear(4, 5), (4,)),
    "Identity": (lambda t: t.nn.Identity(1, a=2), (3, 4)),
    "Flatten": (lambda t: t.nn.Flatten(), (2, 3, 4)),
    "Flatten partly": (lambda t: t.nn.Flatten(0, 1), (2, 3, 4)),
    "Unflatten": (lambda t: t.nn.Unflatten(1, (2, 3)), (2, 6)),
    "ReLU": (lambda t: t.nn.ReLU(), (3, 4)),
    "ReLU6": (lambda t: t.nn.ReLU6(), (3, 4)),
    "LeakyReLU": (lambda t: t.nn.LeakyReLU(0.2), (3, 4)),
    "ELU": (lambda t: t.nn.ELU(1.5), (3, 4)),
    "CELU": (lambda t: t.nn.CELU(1.5), (3, 4)),
    "SELU": (lambda t: t.nn.SELU(), (3, 4)),
    "GELU": (lambda t: t.nn.GELU(), (3, 4)),
    "GELU by tanh": (lambda t: t.nn.GELU(approximate="tanh"), (3, 4)),
    "SiLU": (lambda t: t.nn.SiLU(), (3, 4)),
    "Mish": (lambda t: t.nn.Mish(), (3, 4)),
    "Hardtanh": (lambda t: t.nn.Hardtanh(-0.5, 0.7), (3, 4)),
    "Hardsigmoid": (lambda t: t.nn.Hardsigmoid(), (3, 4)),
    "Hardswish": (lambda t: t.nn.Hardswish(), (3, 4)),
    "Hardshrink": (lambda t: t.nn.Hardshrink(), (3, 4)),
    "Softshrink": (lambda t: t.nn.Softshrink(0.3), (3, 4)),
    "Softplus": (lambda t: t.nn.Softplus(2.0, 3.0), (3, 4)),
    "Softsign": (lambda t: t.nn.Softsign(), (3, 4)),
    "Sigmoid": (lambda t: t.nn.Sigmoid(), (3, 4)),
    "LogSigmoid": (lambda t: t.nn.LogSigmoid(), (3, 4)),
    "Tanh": (lambda t: t.nn.Tanh(), (3, 4)),
    "Tanhshrink": (lambda t: t.nn.Tanhshrink(), (3, 4)),
    "Threshold": (lambda t: t.nn.Threshold(0.1, 20.0), (3, 4)),
    "PReLU": (lambda t: t.nn.PReLU(), (3, 4)),
    "PReLU per channel": (lambda t: t.nn.PReLU(4, 0.1), (3, 4, 2)),
    "RReLU": (lambda t: t.nn.RReLU(), (3, 4)),
    "RReLU in evaluation": (lambda t: t.nn.RReLU().eval(), (3, 4)),
    "GLU": (lambda t: t.nn.GLU(), (3, 4)),
    "Softmax": (lambda t: t.nn.Softmax(dim=1), (3, 4)),
    "Softmin": (lambda t: t.nn.Softmin(dim=0), (3, 4)),
    "LogSoftmax": (lambda t: t.nn.LogSoftmax(dim=-1), (3, 4)),
    "Softmax2d": (lambda t: t.nn.Softmax2d(), (2, 3, 2, 2)),
    "Dropout": (lambda t: t.nn.Dropout(0.3), (5, 7)),
    "Dropout in evaluation": (lambda t: t.nn.Dropout(0.3).eval(), (5, 7)),
    "Dropout1d": (lambda t: t.nn.Dropout1d(0.3), (5, 7, 2)),
    "Dropout2d": (lambda t: t.nn.Dropout2d(0.3), (5, 7, 2, 2)),
    "Dropout3d": (lambda t: t.nn.Dropout3d(0.3), (5, 3, 2, 2, 2)),
    "AlphaDropout": (lambda t: t.nn.AlphaDropout(0.3), (5, 7)),
    "FeatureAlphaDropout": (lambda t: t.nn.FeatureAlphaDropout(0.3), (5, 7, 2)),
    "LayerNorm": (lambda t: t.nn.LayerNorm(4), (3, 4)),
    "LayerNorm of two dims": (lambda t: t.nn.LayerNorm([3, 4], bias=False), (2, 3, 4)),
    "LayerNorm alone": (lambda t: t.nn.LayerNorm(4, elementwise_affine=False), (3, 4)),
    "RMSNorm": (lambda t: t.nn.RMSNorm(4), (3, 4)),
    "GroupNorm": (lambda t: t.nn.GroupNorm(2, 4), (3, 4, 5)),
    "LocalResponseNorm": (lambda t: t.nn.LocalResponseNorm(3), (2, 5, 4)),
    "BatchNorm1d": (lambda t: t.nn.BatchNorm1d(4), (3, 4)),
    "BatchNorm1d of sequences": (lambda t: t.nn.BatchNorm1d(4, momentum=None), (3, 4, 5)),
    "BatchNorm1d in evaluation": (lambda t: t.nn.BatchNorm1d(4).eval(), (3, 4)),
    "BatchNorm1d without statistics": (lambda t: t.nn.BatchNorm1d(4, track_running_stats=False).eval(), (3, 4)),
    "BatchNorm2d": (lambda t: t.nn.BatchNorm2d(4, affine=False), (2, 4, 3, 2)),
    "BatchNorm3d": (lambda t: t.nn.BatchNorm3d(2), (2, 2, 3, 2, 2)),
    "InstanceNorm1d": (lambda t: t.nn.InstanceNorm1d(4), (3, 4, 5)),
    "InstanceNorm1d of one": (lambda t: t.nn.InstanceNorm1d(4), (4, 5)),
    "InstanceNorm2d": (lambda t: t.nn.InstanceNorm2d(3, affine=True, track_running_stats=True), (2, 3, 4, 2)),
    "Sequential": (lambda t: t.nn.Sequential(t.nn.Linear(4, 8), t.nn.ReLU(), t.nn.Linear(8, 2)), (3, 4)),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layer(name):
    """Same representation, state, output, gradients and state after the call."""
    make, shape = LAYERS[name]
    (ours, x), (theirs, y) = both(lambda t: (make(t), t.randn(shape, requires_grad=True)))
    assert repr(ours) == repr(theirs)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    for key, value in ours.state_dict().items():
        assert_close(value, theirs.state_dict()[key])
    outputs = both(lambda t: (ours if t is pt else theirs)(x if t is pt else y))
    assert_close(*outputs)
    for output in outputs:
        backward(output)
    assert_close(x.grad, y.grad, rtol=1e-4, atol=1e-5)
    for (key, p), q in zip(ours.named_parameters(), theirs.parameters()):
        assert_close(p.grad, q.grad, rtol=1e-4, atol=1e-5), key
    for (key, p), q in zip(ours.named_buffers(), theirs.buffers()):
        assert_close(p, q), key


@pytest.mark.parametrize("name", [
    "relu", "relu6", "elu", "selu", "celu", "leaky_relu", "gelu", "silu", "mish", "hardtanh", "hardsigmoid", "hardswish",
    "hardshrink", "softshrink", "softplus", "softsign", "logsigmoid", "tanhshrink", "sigmoid", "tanh"])
def test_activation_at_edges(name):
    """The kinks of the function and of its gradient, and NaN and infinities."""
    values = np.concatenate([EDGES, np.array([np.nan, np.inf, -np.inf], np.float32)])
    if name in ("softsign", "tanhshrink", "hardswish", "gelu", "silu", "mish"):
        values = values[:-2]  # infinite arguments give NaN by different paths
    x, y = pair(values, requires_grad=True)
    ours, theirs = getattr(pt.nn.functional, name)(x), getattr(torch.nn.functional, name)(y)
    assert_close(ours, theirs, rtol=2e-6, atol=1e-6 if name == "gelu" else 1e-7)  # PyTorch's gelu(-3) loses digits
    ours.sum().backward()
    theirs.sum().backward()
    assert_close(x.grad, y.grad, rtol=2e-6, atol=1e-7)


@pytest.mark.parametrize("name", ["relu", "relu6", "elu", "selu", "celu", "leaky_relu", "silu", "mish", "hardtanh",
                                  "hardsigmoid", "hardswish"])
def test_activation_in_place(name):
    results = []
    for library, x in zip(LIBRARIES, pair(FLOATS, requires_grad=True)):
        inner = x * 2
        output = getattr(library.nn.functional, name)(inner, inplace=True)
        assert output is inner
        backward(output)
        results.append((output, x.grad))
    assert_close(results[0][0], results[1][0])
    assert_close(results[0][1], results[1][1])


TWICE = {
    **{name: (lambda f, x, y, name=name: getattr(f, name)(x)) for name in (
        "relu", "elu", "selu", "celu", "leaky_relu", "gelu", "silu", "mish", "hardtanh", "hardswish", "softplus",
        "logsigmoid", "softsign", "tanhshrink", "softshrink", "hardshrink", "sigmoid", "tanh")},
    "gelu by tanh": lambda f, x, y: f.gelu(x, approximate="tanh"),
    "softmax": lambda f, x, y: f.softmax(x, 1),
    "log_softmax": lambda f, x, y: f.log_softmax(x, 0),
    "layer_norm": lambda f, x, y: f.layer_norm(x, (4,), y[0], y[1]),
    "group_norm": lambda f, x, y: f.group_norm(x.reshape(3, 2, 2), 1, y[0, :2]),
    "batch_norm": lambda f, x, y: f.batch_norm(x, None, None, y[0], y[1], True),
    "batch_norm in evaluation": lambda f, x, y: f.batch_norm(x, y[2].detach(), y[2].detach().square(), y[0], y[1]),
    "linear": lambda f, x, y: f.linear(x, y, y[:, 0]),
    "mse_loss": lambda f, x, y: f.mse_loss(x, y),
    "huber_loss": lambda f, x, y: f.huber_loss(x, y, delta=0.7),
    "smooth_l1_loss": lambda f, x, y: f.smooth_l1_loss(x, y, reduction="sum"),
    "bce": lambda f, x, y: f.binary_cross_entropy(x.sigmoid(), y.sigmoid()),
    "bce with logits": lambda f, x, y: f.binary_cross_entropy_with_logits(x, y.sigmoid()),
    "cross_entropy": lambda f, x, y: f.cross_entropy(x, y.abs().detach().argmax(1)),
    "cross_entropy of probabilities": lambda f, x, y: f.cross_entropy(x, y.softmax(1)),
    "normalize": lambda f, x, y: f.normalize(x),
}


@pytest.mark.parametrize("name", TWICE)
def test_gradients_of_gradients(name):
    results = []
    for t, x, y in zip(LIBRARIES, pair(FLOATS.astype(np.float64), True), pair(TARGETS["like"].astype(np.float64), True)):
        output = TWICE[name](t.nn.functional, x, y)
        first = t.autograd.grad((output * output).sum(), (x, y), create_graph=True, allow_unused=True)
        total = sum(((g * g).sum() for g in first if g is not None), t.zeros((), dtype=t.float64))
        second = t.autograd.grad(total, (x, y), allow_unused=True) if total.requires_grad else (None, None)
        results.append([output, *first, *second])
    for ours, theirs in zip(*results):
        if ours is None or theirs is None:  # no gradient is a gradient of zeros
            assert all(r is None or not array(r).any() for r in (ours, theirs))
        else:
            assert_close(ours, theirs, rtol=1e-6, atol=1e-9)


LOSSES = {
    "mse": (lambda t, x, y, **k: t.nn.MSELoss(**k)(x, y), "like"),
    "l1": (lambda t, x, y, **k: t.nn.L1Loss(**k)(x, y), "like"),
    "smooth l1": (lambda t, x, y, **k: t.nn.SmoothL1Loss(beta=0.7, **k)(x, y), "like"),
    "smooth l1 with beta 0": (lambda t, x, y, **k: t.nn.SmoothL1Loss(beta=0.0, **k)(x, y), "like"),
    "huber": (lambda t, x, y, **k: t.nn.HuberLoss(delta=0.7, **k)(x, y), "like"),
    "bce": (lambda t, x, y, **k: t.nn.BCELoss(**k)(x.sigmoid(), y), "unit"),
    "bce with weight": (lambda t, x, y, **k: t.nn.BCELoss(t.arange(4.0), **k)(x.sigmoid(), y), "unit"),
    "bce with logits": (lambda t, x, y, **k: t.nn.BCEWithLogitsLoss(**k)(x, y), "unit"),
    "bce with logits and weights": (
        lambda t, x, y, **k: t.nn.BCEWithLogitsLoss(t.arange(4.0), pos_weight=t.tensor(3.0), **k)(x, y), "unit"),
    "kl": (lambda t, x, y, **k: t.nn.KLDivLoss(**k)(x, y), "unit"),
    "kl of logarithms": (lambda t, x, y, **k: t.nn.KLDivLoss(log_target=True, **k)(x, y), "like"),
    "poisson": (lambda t, x, y, **k: t.nn.PoissonNLLLoss(full=True, **k)(x, y * 5), "unit"),
    "gaussian": (lambda t, x, y, **k: t.nn.GaussianNLLLoss(full=True, **k)(x, y, y + 0.1), "unit"),
    "hinge": (lambda t, x, y, **k: t.nn.HingeEmbeddingLoss(0.3, **k)(x, y), "sign"),
    "soft margin": (lambda t, x, y, **k: t.nn.SoftMarginLoss(**k)(x, y), "sign"),
    "ranking": (lambda t, x, y, **k: t.nn.MarginRankingLoss(0.1, **k)(x, x.detach().flip(0), y), "sign"),
    "multilabel soft margin": (lambda t, x, y, **k: t.nn.MultiLabelSoftMarginLoss(**k)(x, y), "unit"),
    "nll": (lambda t, x, y, **k: t.nn.NLLLoss(**k)(x, y), "class"),
    "nll with weight": (lambda t, x, y, **k: t.nn.NLLLoss(t.arange(1.0, 5.0), ignore_index=1, **k)(x, y), "class"),
    "cross entropy": (lambda t, x, y, **k: t.nn.CrossEntropyLoss(**k)(x, y), "class"),
    "cross entropy smoothed": (
        lambda t, x, y, **k: t.nn.CrossEntropyLoss(t.arange(1.0, 5.0), ignore_index=1, label_smoothing=0.2, **k)(x, y),
        "class"),
    "cross entropy smoothed without weight": (
        lambda t, x, y, **k: t.nn.CrossEntropyLoss(ignore_index=1, label_smoothing=0.2, **k)(x, y), "class"),
    "cross entropy of probabilities": (
        lambda t, x, y, **k: t.nn.CrossEntropyLoss(t.arange(1.0, 5.0), label_smoothing=0.2, **k)(x, y), "unit"),
    "multi margin": (lambda t, x, y, **k: t.nn.MultiMarginLoss(2, 0.5, t.arange(1.0, 5.0), **k)(x, y), "class"),
    "multilabel margin": (
        lambda t, x, y, **k: t.nn.MultiLabelMarginLoss(**k)(x, t.tensor([[3, 0, -1, 1], [1, -1, 2, 0], [-1, 0, 1, 2]])), "class"),
    "cosine embedding": (
        lambda t, x, y, **k: t.nn.CosineEmbeddingLoss(0.1, **k)(x, x.detach().flip(0), t.tensor([1, -1, 1])), "like"),
    "triplet": (lambda t, x, y, **k: t.nn.TripletMarginLoss(swap=True, **k)(x, y, y.flip(0)), "like"),
    "triplet with distance": (
        lambda t, x, y, **k: t.nn.TripletMarginWithDistanceLoss(
            distance_function=t.nn.PairwiseDistance(1.0), **k)(x, y, y.flip(0)), "like"),
}
TARGETS = {
    "like": RNG.standard_normal((3, 4)).astype(np.float32),
    "unit": RNG.random((3, 4)).astype(np.float32),
    "sign": np.where(RNG.random((3, 4)) < 0.5, 1, -1).astype(np.float32),
    "class": np.array([3, 1, 0]),
}


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("name", LOSSES)
def test_loss(name, reduction):
    call, kind = LOSSES[name]
    inputs, targets = pair(FLOATS, requires_grad=True), pair(TARGETS[kind])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours, theirs = (call(t, x, y, reduction=reduction) for t, x, y in zip(LIBRARIES, inputs, targets))
    assert_close(ours, theirs)
    backward(ours)
    backward(theirs)
    assert_close(inputs[0].grad, inputs[1].grad)


@pytest.mark.parametrize("shape", [(4,), (2, 4, 3), (2, 4, 3, 2)])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_cross_entropy_of_other_dimensions(shape, smoothing):
    classes = np.array(2) if len(shape) == 1 else RNG.integers(0, 4, (shape[0], *shape[2:]))
    inputs, targets = pair(RNG.standard_normal(shape), requires_grad=True), pair(classes)
    for reduction in ("mean", "sum", "none"):
        ours, theirs = (t.nn.functional.cross_entropy(x, y, reduction=reduction, label_smoothing=smoothing)
                        for t, x, y in zip(LIBRARIES, inputs, targets))
        assert_close(ours, theirs, rtol=1e-10)
        backward(ours)
        backward(theirs)
    assert_close(inputs[0].grad, inputs[1].grad, rtol=1e-10)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("call", [
    lambda f, x, w: f.batch_norm(x, None, None, w[0], w[1], True), lambda f, x, w: f.layer_norm(x, (4,), w[0], w[1]),
    lambda f, x, w: f.softmax(x, 1), lambda f, x, w: f.mse_loss(x, w), lambda f, x, w: f.gelu(x), lambda f, x, w: f.linear(x, w)])
def test_half_precision(call, dtype):
    """Results and gradients within a few units of the last place."""
    found = []
    for t, x, w in zip(LIBRARIES, pair(FLOATS), pair(TARGETS["like"])):
        x, w = (v.to(getattr(t, dtype)) for v in (x, w))
        x.requires_grad_()
        output = call(t.nn.functional, x, w)
        (output * w.mean()).sum().backward()
        assert str(output.dtype) == "torch." + dtype
        found.append((output.float(), x.grad.float()))
    for ours, theirs in zip(*found):
        assert_close(ours, theirs, rtol=0.02, atol=0.02)


def test_kl_div_batchmean():
    (x, y), (p, q) = pair(FLOATS), pair(TARGETS["unit"])
    ours = pt.nn.functional.kl_div(x, p, reduction="batchmean")
    assert_close(ours, torch.nn.functional.kl_div(y, q, reduction="batchmean"))


def test_bilinear_embedding_and_distances():
    def run(t):
        bilinear, embedding = t.nn.Bilinear(3, 4, 5), t.nn.Embedding(6, 3, padding_idx=-2, max_norm=1.5)
        index = t.tensor([[0, 4, 5], [4, 0, 0]])
        rows = embedding(index)
        output = bilinear(rows, t.randn(2, 3, 4))
        backward(output)
        return (bilinear, embedding), [
            output, rows, embedding.weight.grad, bilinear.weight.grad, bilinear.bias.grad, embedding.weight,
            t.nn.CosineSimilarity()(t.arange(6.0).reshape(2, 3), t.ones(2, 3)),
            t.nn.PairwiseDistance(keepdim=True)(t.arange(6.0).reshape(2, 3), t.ones(2, 3)),
            t.nn.functional.normalize(t.arange(6.0).reshape(2, 3)),
            t.nn.functional.one_hot(t.tensor([0, 2, 1]))]

    (our_layers, ours), (their_layers, theirs) = both(run)
    assert repr(our_layers) == repr(their_layers)
    for a, b in zip(ours, theirs):
        assert_close(a, b)


def test_embedding_divides_gradients_by_frequency():
    def run(t):
        embedding = t.nn.Embedding.from_pretrained(t.ones(4, 2), freeze=False, scale_grad_by_freq=True)
        backward(embedding(t.tensor([1, 1, 2])))
        return embedding.weight.grad

    assert_close(*both(run))


def test_gumbel_softmax():
    def run(t):
        logits = t.randn(3, 4, requires_grad=True)
        soft, hard = t.nn.functional.gumbel_softmax(logits, tau=0.5), t.nn.functional.gumbel_softmax(logits, hard=True)
        backward(soft + hard)
        return soft, hard, logits.grad

    for a, b in zip(*both(run)):
        assert_close(a, b)


INITS = {
    "uniform_": lambda i, w: i.uniform_(w, -1, 2),
    "normal_": lambda i, w: i.normal_(w, 1, 2),
    "trunc_normal_": lambda i, w: i.trunc_normal_(w, 0.5, 2, -1, 1.5),
    "constant_": lambda i, w: i.constant_(w, 0.3),
    "ones_": lambda i, w: i.ones_(w),
    "zeros_": lambda i, w: i.zeros_(w),
    "eye_": lambda i, w: i.eye_(w),
    "xavier_uniform_": lambda i, w: i.xavier_uniform_(w, 2.0),
    "xavier_normal_": lambda i, w: i.xavier_normal_(w),
    "kaiming_uniform_": lambda i, w: i.kaiming_uniform_(w, a=0.1),
    "kaiming_normal_": lambda i, w: i.kaiming_normal_(w, mode="fan_out", nonlinearity="relu"),
    "orthogonal_": lambda i, w: i.orthogonal_(w, 2.0),
    "sparse_": lambda i, w: i.sparse_(w, 0.3),
}


@pytest.mark.parametrize("shape", [(5, 7), (7, 5), (3, 3)])
@pytest.mark.parametrize("name", INITS)
def test_initial_values(name, shape):
    def run(t):
        weight = t.empty(shape, requires_grad=True)
        result = INITS[name](t.nn.init, weight)
        assert result is weight
        return weight

    assert_close(*both(run, seed=3), rtol=1e-5, atol=1e-6)


def test_initial_values_of_convolutions():
    for groups in (1, 2):
        assert_close(*both(lambda t: t.nn.init.dirac_(t.empty(4, 2, 3, 3), groups)))
    assert_close(*both(lambda t: t.nn.init.kaiming_uniform_(t.empty(4, 2, 3, 3))))
    assert_close(*both(lambda t: t.nn.init.orthogonal_(t.empty(4, 2, 3, 3))), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("call", [
    lambda t: t.nn.init.calculate_gain("nonsense"),
    lambda t: t.nn.init.calculate_gain("leaky_relu", "a"),
    lambda t: t.nn.init.eye_(t.empty(3)),
    lambda t: t.nn.init.dirac_(t.empty(3)),
    lambda t: t.nn.init.dirac_(t.empty(3, 3, 3), 2),
    lambda t: t.nn.init.sparse_(t.empty(3), 0.1),
    lambda t: t.nn.init.orthogonal_(t.empty(3)),
    lambda t: t.nn.init.xavier_normal_(t.empty(3)),
    lambda t: t.nn.init.kaiming_normal_(t.empty(3, 3), mode="fan"),
    lambda t: t.nn.Hardtanh(1, 0),
    lambda t: t.nn.Unflatten(1, 2),
    lambda t: t.nn.Unflatten(1, (2, 0.5)),
    lambda t: t.nn.Dropout(1.5),
    lambda t: t.nn.Sigmoid(1),
    lambda t: t.nn.Sigmoid(a=1),
    lambda t: t.nn.Embedding(3, 4, padding_idx=3),
    lambda t: t.nn.GroupNorm(3, 4),
    lambda t: t.nn.BatchNorm1d(3)(t.zeros(3)),
    lambda t: t.nn.BatchNorm2d(3)(t.zeros(3, 3)),
    lambda t: t.nn.BatchNorm1d(3)(t.zeros(1, 3)),
    lambda t: t.nn.BatchNorm1d(3)(t.zeros(2, 4)),
    lambda t: t.nn.functional.batch_norm(t.zeros(2, 4), None, None),
    lambda t: t.nn.Softmax2d()(t.zeros(3, 3)),
    lambda t: t.nn.Linear(3, 2)(t.zeros(2, 4)),
    lambda t: t.nn.LayerNorm(3)(t.zeros(2, 4)),
    lambda t: t.nn.Embedding(3, 4)(t.tensor([3])),
    lambda t: t.nn.Embedding(3, 4)(t.tensor([1.0])),
    lambda t: t.nn.PReLU(3)(t.zeros(2, 4)),
    lambda t: t.nn.GLU()(t.zeros(3)),
    lambda t: t.nn.MSELoss(reduction="middle")(t.zeros(3), t.zeros(3)),
    lambda t: t.nn.functional.mse_loss(t.zeros(3), t.zeros(3), weight=t.zeros(2)),
    lambda t: t.nn.functional.huber_loss(t.zeros(3), t.zeros(3), delta=0),
    lambda t: t.nn.functional.smooth_l1_loss(t.zeros(3), t.zeros(3), beta=-1),
    lambda t: t.nn.BCELoss()(t.ones(3) * 2, t.ones(3)),
    lambda t: t.nn.BCELoss()(t.ones(3), t.ones(2)),
    lambda t: t.nn.BCEWithLogitsLoss()(t.ones(3), t.ones(2)),
    lambda t: t.nn.CrossEntropyLoss()(t.zeros(3, 4), t.tensor([0, 1])),
    lambda t: t.nn.CrossEntropyLoss()(t.zeros(3, 4), t.tensor([0, 1, 9])),
    lambda t: t.nn.CrossEntropyLoss()(t.zeros(3, 4), t.tensor([0.0, 1.0, 2.0])),
    lambda t: t.nn.CrossEntropyLoss()(t.zeros(3, 4), t.zeros(3, 4).long()),
    lambda t: t.nn.CrossEntropyLoss(t.ones(3))(t.zeros(3, 4), t.tensor([0, 1, 2])),
    lambda t: t.nn.CrossEntropyLoss(label_smoothing=2)(t.zeros(3, 4), t.tensor([0, 1, 2])),
    lambda t: t.nn.CrossEntropyLoss()(t.zeros(4), t.tensor([0, 1])),
    lambda t: t.nn.CrossEntropyLoss()(t.zeros(2, 4, 3), t.zeros(2, 5).long()),
    lambda t: t.nn.functional.one_hot(t.tensor([0, 3]), 3),
    lambda t: t.nn.functional.one_hot(t.tensor([-1, 3])),
    lambda t: t.nn.functional.dropout(t.zeros(3), -0.5),
])
def test_errors(call):
    assert_same_error(call)


class OurNet:
    """Builds the same tree of modules in both libraries."""

    def __new__(cls, t):
        class Net(t.nn.Module):
            def __init__(self):
                super().__init__()
                self.first = t.nn.Linear(2, 3)
                self.scale = t.nn.Parameter(t.ones(2))
                self.register_buffer("steps", t.zeros(1))
                self.register_buffer("scratch", t.zeros(1), persistent=False)
                self.register_parameter("absent", None)
                self.block = t.nn.Sequential(t.nn.ReLU(), t.nn.ModuleList([t.nn.Linear(3, 3) for _ in range(3)]),
                                             t.nn.ModuleDict({"a": t.nn.Dropout(0.1), "b": t.nn.Identity()}))
                self.tied = self.first
                self.weights = t.nn.ParameterList([t.zeros(2), t.ones(1, 2), 5])
                self.table = t.nn.ParameterDict({"x": t.zeros(2), "y": 5})

            def extra_repr(self):
                return "one=1\ntwo=2"

        return Net()


def test_tree():
    ours, theirs = both(OurNet)
    assert repr(ours) == repr(theirs)
    for listing in (lambda m: [name for name, _ in m.named_parameters()],
                    lambda m: [name for name, _ in m.named_parameters(prefix="p", remove_duplicate=False)],
                    lambda m: [name for name, _ in m.named_parameters(recurse=False)],
                    lambda m: [name for name, _ in m.named_buffers()],
                    lambda m: [name for name, _ in m.named_modules()],
                    lambda m: [name for name, _ in m.named_modules(remove_duplicate=False)],
                    lambda m: [name for name, _ in m.named_children()],
                    lambda m: [type(child).__name__ for child in m.modules()],
                    lambda m: list(m.state_dict()),
                    lambda m: list(m.state_dict(prefix="a.")),
                    lambda m: list(m.state_dict()._metadata.items()),
                    lambda m: [name for name in vars(m) if name != "_has_hooks"],
                    lambda m: list(vars(m.first))):
        assert listing(ours) == listing(theirs)


@pytest.mark.parametrize("change", [
    lambda t, d: d.pop("first.weight"),
    lambda t, d: d.update({"more": t.zeros(1), "block.9.x": t.zeros(1)}),
    lambda t, d: d.update({"first.weight": t.zeros(5, 5)}),
    lambda t, d: (d.pop("scale"), d.update({"z": t.zeros(1), "steps": t.zeros(2, 2)})),
    lambda t, d: d.update({"first.weight": 5}),
])
def test_errors_of_load_state_dict(change):
    def load(t):
        net = OurNet(t)
        state = net.state_dict()
        change(t, state)
        net.load_state_dict(state)

    assert_same_error(load)


@pytest.mark.parametrize("change", [lambda t, d: None, lambda t, d: d.pop("scale"),
                                    lambda t, d: d.update(more=t.zeros(1))])
def test_load_state_dict_without_strict(change):
    def load(t):
        net = OurNet(t)
        state = net.state_dict()
        change(t, state)
        return repr(net.load_state_dict(state, strict=False))

    ours, theirs = both(load)
    assert ours == theirs


def _module(t):
    return OurNet(t)


@pytest.mark.parametrize("call", [
    lambda t, m: setattr(m, "scale", t.zeros(2)),
    lambda t, m: setattr(m, "first", 5),
    lambda t, m: setattr(m, "steps", 5),
    lambda t, m: m.register_parameter("a.b", None),
    lambda t, m: m.register_parameter("", None),
    lambda t, m: m.register_parameter(3, None),
    lambda t, m: m.register_parameter("forward", None),
    lambda t, m: m.register_parameter("w", t.zeros(1)),
    lambda t, m: m.register_parameter("w", 3),
    lambda t, m: m.register_buffer("a.b", None),
    lambda t, m: m.register_buffer("", None),
    lambda t, m: m.register_buffer(3, None),
    lambda t, m: m.register_buffer("scale", None),
    lambda t, m: m.register_buffer("w", 3),
    lambda t, m: m.add_module("a.b", None),
    lambda t, m: m.add_module("", None),
    lambda t, m: m.add_module(3, None),
    lambda t, m: m.add_module("scale", None),
    lambda t, m: m.add_module("w", 3),
    lambda t, m: m.absent_attribute,
    lambda t, m: delattr(m, "absent_attribute"),
    lambda t, m: m.get_submodule("block.9"),
    lambda t, m: m.get_submodule("scale"),
    lambda t, m: m.get_parameter("steps"),
    lambda t, m: m.get_parameter("nothing"),
    lambda t, m: m.get_buffer("scale"),
    lambda t, m: m.get_buffer("nothing"),
    lambda t, m: m.set_submodule("", m),
    lambda t, m: m.train(1),
    lambda t, m: m(t.zeros(1)),
    lambda t, m: m.to(t.int64),
    lambda t, m: m.load_state_dict(5),
    lambda t, m: t.nn.Sequential(t.nn.ReLU())[1],
    lambda t, m: t.nn.Sequential(3),
    lambda t, m: t.nn.Sequential(t.nn.ReLU()) + 3,
    lambda t, m: t.nn.Sequential(t.nn.ReLU()) * 0,
    lambda t, m: t.nn.Sequential(t.nn.ReLU()) * 0.5,
    lambda t, m: t.nn.ModuleList([t.nn.ReLU()])[1],
    lambda t, m: t.nn.ModuleList([3]),
    lambda t, m: t.nn.ModuleList(3),
    lambda t, m: t.nn.ModuleDict([("a",)]),
    lambda t, m: t.nn.ModuleDict({3: t.nn.ReLU()}),
    lambda t, m: t.nn.ParameterList([3])[1],
    lambda t, m: t.nn.ParameterList(3),
    lambda t, m: t.nn.ParameterList([])(3),
    lambda t, m: t.nn.ParameterDict({3: t.zeros(1)}),
])
def test_errors_of_modules(call):
    assert_same_error(lambda t: call(t, _module(t)))


def test_values_are_kept_by_pickle_and_deepcopy():
    layer = pt.nn.Sequential(pt.nn.Linear(3, 2), pt.nn.BatchNorm1d(2)).double()
    for other in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert repr(other) == repr(layer)
        for (name, p), q in zip(layer.state_dict().items(), other.state_dict().values()):
            assert array(p).tobytes() == array(q).tobytes(), name
        assert all(p is not q for p, q in zip(layer.parameters(), other.parameters()))
        assert all(isinstance(p, pt.nn.Parameter) and p.requires_grad for p in other.parameters())


@pytest.mark.parametrize("full", [True, False])
def test_backward_hooks(full):
    """What the hooks see, and what they change."""
    def run(t):
        layer = t.nn.Linear(3, 2)
        x = t.randn(4, 3, requires_grad=True)
        seen = []

        def hook(module, grad_input, grad_output):
            seen.extend(grad_input + grad_output)
            return tuple(None if g is None else g * 2 for g in grad_input)

        if full:
            layer.register_full_backward_hook(hook)
            layer.register_full_backward_pre_hook(lambda module, grad_output: (grad_output[0] * 3,))
            layer(x).sum().backward()
            return seen + [x.grad, layer.weight.grad]
        frozen = t.nn.ReLU()
        frozen.register_full_backward_hook(lambda module, *grads: seen.extend(grads[1]) or seen.append(grads[0]))
        frozen(layer(x.detach())).sum().backward()
        return seen[:1] + list(seen[1])

    for a, b in zip(*both(run)):
        assert_close(a, b)


def test_clip_grad():
    def run(t):
        params = [t.nn.Parameter(t.zeros(3)), t.nn.Parameter(t.zeros(2, 2)), t.nn.Parameter(t.zeros(1))]
        for p in params[:2]:
            p.grad = t.randn(p.shape)
        norms = [t.nn.utils.clip_grad_norm_(params, 0.7, norm_type=kind) for kind in (2.0, 1.0, float("inf"))]
        t.nn.utils.clip_grad_value_(params, 0.1)
        return [*norms, *(p.grad for p in params[:2]), t.nn.utils.parameters_to_vector(params)]

    for a, b in zip(*both(run)):
        assert_close(a, b)
    assert_same_error(lambda t: t.nn.utils.vector_to_parameters(5, []))
    nan = lambda t: t.nn.Parameter(t.zeros(1))

    def clip_nan(t):
        p = nan(t)
        p.grad = t.tensor([float("nan")])
        t.nn.utils.clip_grad_norm_(p, 1.0, error_if_nonfinite=True)

    assert_same_error(clip_nan)
