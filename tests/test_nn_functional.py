"""Layers and losses: known values, invariants and refusals."""
import math

import numpy as np
import pytest

import pyx_tensor as torch
import pyx_tensor.nn.functional as F
from pyx_tensor import nn
from pyx_tensor.autograd import gradcheck, gradgradcheck


def values(tensor):
    return tensor.detach().numpy()


@pytest.mark.parametrize("name, inputs, outputs", [
    ("relu", [-1, 2], [0, 2]),
    ("relu6", [-1, 2, 8], [0, 2, 6]),
    ("hardtanh", [-3, 0.5, 3], [-1, 0.5, 1]),
    ("hardsigmoid", [-4, 0, 4], [0, 0.5, 1]),
    ("hardswish", [-4, 0, 3], [0, 0, 3]),
    ("leaky_relu", [-1, 2], [-0.01, 2]),
    ("elu", [0, 2], [0, 2]),
    ("softsign", [-1, 3], [-0.5, 0.75]),
    ("softshrink", [-1, 0.2, 1], [-0.5, 0, 0.5]),
    ("hardshrink", [-1, 0.2, 1], [-1, 0, 1]),
    ("softplus", [0, 30], [math.log(2), 30]),
    ("logsigmoid", [0, 100, -100], [-math.log(2), 0, -100]),
    ("sigmoid", [0], [0.5]),
    ("silu", [0], [0]),
    ("gelu", [0, 1], [0, 0.8413447]),
    ("mish", [0, 1], [0, 0.8650984]),
    ("selu", [1], [1.0507010]),
    ("celu", [-1, 1], [math.exp(-1) - 1, 1]),
    ("tanhshrink", [1], [1 - math.tanh(1)]),
])
def test_activation(name, inputs, outputs):
    result = getattr(F, name)(torch.tensor(inputs, dtype=torch.float32))
    np.testing.assert_allclose(values(result), outputs, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("shape, weights", [((), 1), ((4,), 1), ((2, 3), 3), ((2, 3, 4), 3), ((2, 3, 4), 1), ((0, 3), 3)])
def test_prelu(shape, weights):
    x = torch.tensor(np.random.default_rng(0).standard_normal(shape), requires_grad=True)
    w = torch.rand(weights, dtype=torch.float64, requires_grad=True)
    y = F.prelu(x, w)
    slopes = values(w).reshape(-1, *[1] * (x.ndim - 2)) if x.ndim > 1 else values(w)
    np.testing.assert_array_equal(values(y), np.where(values(x) > 0, values(x), slopes * values(x)).reshape(shape))
    assert y.grad_fn.name() == "PreluKernelBackward0" and (shape == () or torch.equal(x.detach().prelu(w.detach()), y))
    assert gradcheck(F.prelu, (x, w)) and gradgradcheck(F.prelu, (x, w))
    if x.ndim > 1:
        crosswise = x.detach().transpose(0, -1).contiguous().transpose(0, -1)
        assert torch.equal(F.prelu(crosswise, w), y)


def test_prelu_at_zero_and_what_it_refuses():
    x, w = torch.tensor([0., math.nan, -math.inf], requires_grad=True), torch.tensor([2.], requires_grad=True)
    y = F.prelu(x, w)
    assert y.tolist()[::2] == [0, -math.inf] and y[1].isnan()
    assert torch.autograd.grad(y[0], x)[0].tolist() == [2, 0, 0] and torch.autograd.grad(F.prelu(x[:1], w), w)[0].item() == 0
    for other in (torch.float64, torch.float16):
        with pytest.raises(RuntimeError, match="prelu: Type promoting not supported. Got Float and"):
            F.prelu(x, w.to(other))
    with pytest.raises(NotImplementedError, match="'Int'"):
        F.prelu(x.int(), w.int())


def test_one_hot():
    classes = torch.tensor([[0, 2, 1], [3, 3, 0]])
    expected = np.eye(5, dtype=np.int64)[classes.numpy()]
    assert F.one_hot(classes, 5).dtype is torch.int64 and (F.one_hot(classes, 5).numpy() == expected).all()
    assert (F.one_hot(classes.t()).numpy() == expected[..., :4].swapaxes(0, 1)).all()
    assert F.one_hot(torch.tensor(1), 3).tolist() == [0, 1, 0] and F.one_hot(classes[:0], 3).shape == (0, 3, 3)
    for wrong, count, message in (([-1, 2], 5, "non-negative"), ([1, 2], 2, "smaller than num_classes"), ([], -1, "Can not infer")):
        with pytest.raises(RuntimeError, match=message):
            F.one_hot(torch.tensor(wrong, dtype=torch.int64), count)


def test_softmax_family_is_consistent():
    x = torch.randn(4, 5)
    np.testing.assert_allclose(values(F.softmax(x, 1).sum(1)), np.ones(4), rtol=1e-6)
    np.testing.assert_allclose(values(F.log_softmax(x, 1).exp()), values(F.softmax(x, 1)), rtol=1e-5)
    np.testing.assert_allclose(values(F.softmin(x, 1)), values(F.softmax(-x, 1)), rtol=1e-6)
    assert F.softmax(x, 1, dtype=torch.float64).dtype == torch.float64
    with pytest.warns(UserWarning, match="Implicit dimension"):
        F.softmax(x)


def test_cross_entropy_is_the_sum_of_its_parts():
    x, target = torch.randn(6, 4), torch.tensor([0, 1, 2, 3, -100, 1])
    weight = torch.tensor([1.0, 2.0, 3.0, 4.0])
    log_probs = values(F.log_softmax(x, 1)).astype(np.float64)
    w = values(weight)[[0, 1, 2, 3, 1]]
    picked = -log_probs[[0, 1, 2, 3, 5], [0, 1, 2, 3, 1]] * w
    np.testing.assert_allclose(F.cross_entropy(x, target, weight).item(), picked.sum() / w.sum(), rtol=1e-6)
    np.testing.assert_allclose(F.cross_entropy(x, target, weight, reduction="sum").item(), picked.sum(), rtol=1e-6)
    one_hot = F.one_hot(torch.tensor([0, 1, 2, 3]), 4).float()
    np.testing.assert_allclose(F.cross_entropy(x[:4], one_hot).item(), F.cross_entropy(x[:4], target[:4]).item(), rtol=1e-6)
    smooth = F.cross_entropy(x[:4], target[:4], label_smoothing=0.3).item()
    soft = F.cross_entropy(x[:4], one_hot * 0.7 + 0.3 / 4).item()
    np.testing.assert_allclose(smooth, soft, rtol=1e-6)
    assert math.isnan(F.cross_entropy(x[:1], torch.tensor([-100])).item())


def test_binary_losses_agree():
    x, target = torch.randn(5), torch.rand(5)
    direct, stable = F.binary_cross_entropy(x.sigmoid(), target), F.binary_cross_entropy_with_logits(x, target)
    np.testing.assert_allclose(direct.item(), stable.item(), rtol=1e-5)
    assert F.binary_cross_entropy(torch.tensor([0.0]), torch.tensor([1.0])).item() == 100
    assert math.isfinite(F.binary_cross_entropy_with_logits(torch.tensor([500.0, -500.0]), torch.tensor([0.0, 1.0])).item())


def test_dropout_keeps_the_mean_and_does_nothing_in_evaluation():
    torch.manual_seed(0)
    x = torch.ones(10000)
    dropped = F.dropout(x, 0.25)
    assert set(values(dropped).round(4)) == {0.0, np.float32(1.3333)} and abs(values(dropped).mean() - 1) < 0.05
    assert values(F.dropout(x, 0.25, training=False)).tolist() == values(x).tolist()
    channels = values(F.dropout1d(torch.ones(50, 8, 3), 0.5))
    assert all(len(set(channel)) == 1 for sample in channels for channel in sample)
    assert not values(F.dropout(x, 1.0)).any()


def test_layer_norm_statistics():
    y = values(nn.LayerNorm(64)(torch.randn(5, 64) * 7 + 3))
    np.testing.assert_allclose(y.mean(1), 0, atol=1e-5)
    np.testing.assert_allclose(y.var(1), 1, rtol=1e-3)


def test_batch_norm_tracks_statistics():
    layer, x = nn.BatchNorm1d(3, momentum=0.5), torch.randn(8, 3)
    layer(x)
    np.testing.assert_allclose(values(layer.running_mean), values(x).mean(0) * 0.5, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(values(layer.running_var), 0.5 + values(x).var(0, ddof=1) * 0.5, rtol=1e-4)
    assert layer.num_batches_tracked.item() == 1
    layer.eval()
    expected = (values(x) - values(layer.running_mean)) / np.sqrt(values(layer.running_var) + 1e-5)
    np.testing.assert_allclose(values(layer(x)), expected, rtol=1e-4, atol=1e-5)
    layer.reset_running_stats()
    assert layer.num_batches_tracked.item() == 0


def test_embedding():
    layer = nn.Embedding(5, 3, padding_idx=0)
    assert not values(layer.weight)[0].any()
    layer(torch.tensor([[0, 1], [1, 2]])).sum().backward()
    assert values(layer.weight.grad).tolist() == [[0] * 3, [2] * 3, [1] * 3, [0] * 3, [0] * 3]
    with pytest.raises(IndexError):
        layer(torch.tensor([5]))


def test_deprecated_reduction_arguments():
    x, y = torch.ones(3), torch.zeros(3)
    with pytest.warns(UserWarning, match="reduction='sum'"):
        assert F.mse_loss(x, y, size_average=False).item() == 3
    with pytest.warns(UserWarning, match="reduction='none'"):
        assert nn.MSELoss(reduce=False)(x, y).shape == (3,)


def test_mismatched_target_warns():
    with pytest.warns(UserWarning, match="target size"):
        assert F.mse_loss(torch.ones(2, 3), torch.zeros(3)).item() == 1


@pytest.mark.parametrize("loss", [nn.CrossEntropyLoss(), nn.NLLLoss()])
@pytest.mark.parametrize("target, error", [
    (torch.tensor([0, 4]), IndexError), (torch.tensor([0, -1]), IndexError), (torch.tensor([0]), ValueError),
    (torch.tensor([0.0, 1.0]), RuntimeError)])
def test_bad_targets(loss, target, error):
    with pytest.raises(error):
        loss(torch.zeros(2, 4), target)


def test_initial_values_record_nothing():
    weight = torch.empty(4, 3, requires_grad=True)
    for fill in (nn.init.uniform_, nn.init.normal_, nn.init.trunc_normal_, nn.init.xavier_normal_,
                 nn.init.kaiming_uniform_, nn.init.orthogonal_, nn.init.eye_, nn.init.ones_):
        assert fill(weight) is weight and weight.is_leaf and weight.grad_fn is None
    np.testing.assert_allclose(values(nn.init.orthogonal_(weight)).T @ values(weight), np.eye(3), atol=1e-6)
    torch.manual_seed(0)
    with pytest.warns(UserWarning, match="more than 2 std"):
        wide = nn.init.trunc_normal_(torch.empty(2000), 0, 1, 3, 4)
    assert 3 <= values(wide).min() and values(wide).max() <= 4
    assert (values(nn.init.sparse_(torch.empty(10, 4), 0.35)) == 0).sum(0).tolist() == [4] * 4
    with pytest.warns(UserWarning, match="zero-element"):
        nn.init.kaiming_normal_(torch.empty(0, 3))


def test_clipping():
    p = nn.Parameter(torch.zeros(2))
    p.grad = torch.tensor([3.0, 4.0])
    assert nn.utils.clip_grad_norm_(p, 10.0).item() == 5 and values(p.grad).tolist() == [3, 4]
    nn.utils.clip_grad_norm_([p], 1.0)
    np.testing.assert_allclose(values(p.grad), [0.6, 0.8], rtol=1e-5)
    nn.utils.clip_grad_value_([p], 0.7)
    np.testing.assert_allclose(values(p.grad), [0.6, 0.7], rtol=1e-5)
    assert nn.utils.clip_grad_norm_([], 1.0).item() == 0


def test_vector_of_parameters():
    layer = nn.Linear(2, 3)
    vector = nn.utils.parameters_to_vector(layer.parameters())
    assert vector.shape == (9,)
    nn.utils.vector_to_parameters(torch.arange(9.0), layer.parameters())
    assert values(layer.weight).tolist() == [[0, 1], [2, 3], [4, 5]] and values(layer.bias).tolist() == [6, 7, 8]


def test_an_empty_batch_leaves_the_running_statistics_alone():
    layer = nn.BatchNorm1d(3)
    assert layer(torch.empty(0, 3)).shape == (0, 3)
    assert layer.running_mean.tolist() == [0.0] * 3 and layer.running_var.tolist() == [1.0] * 3


@pytest.mark.parametrize("shape, out", [((2, 3, 4), 0), ((2, 3, 0), 4), ((2, 0, 4), 5), ((0,), 2), ((4,), 0)])
def test_gradients_of_linear_maps_between_nothing(shape, out):
    input, weight, bias = torch.ones(shape, requires_grad=True), torch.ones(out, shape[-1], requires_grad=True), torch.ones(out, requires_grad=True)
    F.linear(input, weight, bias).sum().backward()
    assert all(t.grad.shape == t.shape for t in (input, weight, bias))
    assert input.grad.tolist() == torch.full(shape, float(out)).tolist()
    assert bias.grad.tolist() == [float(np.prod(shape[:-1]))] * out


def test_softshrink_wants_a_number_of_the_dtype():
    x = torch.tensor([1.0, -2.0, 0.25, float("inf"), float("nan")])
    assert F.softshrink(x, 0.5).tolist()[:4] == [0.5, -1.5, 0, float("inf")] and F.softshrink(x, 0.5).isnan().tolist() == [False] * 4 + [True]
    assert F.softshrink(torch.tensor([1.8359375]).bfloat16(), 0.3).item() == 1.5390625
    for dtype, lambd in ((torch.float32, -1), (torch.float32, float("inf")), (torch.float32, float("nan")), (torch.float16, 1e30)):
        with pytest.raises(RuntimeError, match=r"lambda must be in range \[0, "):
            F.softshrink(x.to(dtype), lambd)
