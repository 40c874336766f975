"""nn.utils: normalised, pruned and parametrized weights, fusion, calls with other parameters."""
import copy

import numpy as np
import pytest

import pyx_tensor as torch
from pyx_tensor import nn
from pyx_tensor.nn.utils import parametrize, parametrizations, prune, stateless


@pytest.mark.filterwarnings("ignore:.*weight_norm:FutureWarning")
@pytest.mark.parametrize("wrap", [nn.utils.weight_norm, parametrizations.weight_norm])
def test_weight_norm_learns_norms_apart(wrap):
    layer = nn.Linear(3, 4)
    weight = layer.weight.detach().clone()
    layer = wrap(layer)
    x = torch.randn(2, 3)
    torch.testing.assert_close(layer(x), x @ weight.T + layer.bias)
    assert len(list(layer.parameters())) == 3
    norm = next(p for p in layer.parameters() if p.shape == (4, 1))
    norm.data.mul_(2)
    torch.testing.assert_close(layer(x), 2 * x @ weight.T + layer.bias)


@pytest.mark.parametrize("wrap", [nn.utils.spectral_norm, parametrizations.spectral_norm])
def test_spectral_norm_divides_by_the_largest_singular_value(wrap):
    layer = nn.Linear(5, 4)
    largest = np.linalg.svd(layer.weight.detach().numpy())[1][0]
    expected = layer.weight.detach().numpy() / largest
    layer = wrap(layer)
    for _ in range(200):
        layer(torch.zeros(1, 5))
    np.testing.assert_allclose(layer.eval().weight.detach().numpy() if wrap is parametrizations.spectral_norm else
                               (layer(torch.eye(5)) - layer.bias).detach().numpy().T, expected, rtol=1e-4, atol=1e-5)


def test_pruning_keeps_zeros():
    layer = prune.l1_unstructured(nn.Linear(4, 3), "weight", amount=0.5)
    assert int((layer.weight == 0).sum()) == 6
    kept = layer.weight_orig.detach().abs()[layer.weight_mask.bool()].min()
    assert kept >= layer.weight_orig.detach().abs()[~layer.weight_mask.bool()].max()
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    layer(torch.ones(1, 4)).sum().backward()
    optimizer.step()
    layer(torch.ones(1, 4))
    assert int((layer.weight == 0).sum()) == 6
    prune.remove(layer, "weight")
    assert int((layer.weight == 0).sum()) == 6 and isinstance(layer.weight, nn.Parameter) and not prune.is_pruned(layer)


def test_a_failed_pruning_changes_nothing():
    layer = nn.Linear(4, 3)
    with pytest.raises(ValueError):
        prune.l1_unstructured(layer, "weight", 13)
    assert sorted(layer.state_dict()) == ["bias", "weight"] and len(layer._forward_pre_hooks) == 0


class Positive(nn.Module):
    def forward(self, x):
        return x.exp()

    def right_inverse(self, x):
        return x.log()


def test_parametrization_follows_assignments_and_copies():
    layer = nn.Linear(2, 2)
    layer.weight.data.abs_()
    before = layer.weight.detach().clone()
    parametrize.register_parametrization(layer, "weight", Positive())
    torch.testing.assert_close(layer.weight, before)
    twin = copy.deepcopy(layer)
    layer.weight = torch.full((2, 2), 3.0)
    torch.testing.assert_close(layer.weight, torch.full((2, 2), 3.0))
    torch.testing.assert_close(twin.weight, before)
    twin.load_state_dict(layer.state_dict())
    torch.testing.assert_close(twin.weight, layer.weight)
    parametrize.remove_parametrizations(layer, "weight")
    assert type(layer) is nn.Linear and list(layer.state_dict()) == ["bias", "weight"]


def test_parametrization_may_not_change_the_shape():
    class Half(nn.Module):
        def forward(self, x):
            return x[:1]

    with pytest.raises(ValueError, match="may not change the shape"):
        parametrize.register_parametrization(nn.Linear(2, 2), "weight", Half())


@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5)])
@pytest.mark.parametrize("map_", ["matrix_exp", "cayley", "householder"])
def test_orthogonal_weights_stay_orthogonal(shape, map_):
    layer = parametrizations.orthogonal(nn.Linear(shape[1], shape[0]), orthogonal_map=map_)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    before = layer.weight.detach().clone()
    for _ in range(3):
        optimizer.zero_grad()
        layer(torch.randn(6, shape[1])).square().sum().backward()
        (layer.weight * torch.arange(float(before.numel())).reshape(shape)).sum().backward()
        optimizer.step()
        q = layer.weight if shape[0] >= shape[1] else layer.weight.T
        torch.testing.assert_close(q.T @ q, torch.eye(min(shape)), atol=1e-4, rtol=1e-4)
    assert not torch.allclose(layer.weight, before, atol=1e-3)


def test_functional_call_leaves_the_module_alone():
    layer = nn.Linear(2, 1)
    own = layer.weight
    weight = torch.ones(1, 2, requires_grad=True)
    stateless.functional_call(layer, {"weight": weight}, (torch.ones(3, 2),)).sum().backward()
    assert layer.weight is own and own.grad is None
    np.testing.assert_allclose(weight.grad.numpy(), [[3, 3]])
    with pytest.raises(RuntimeError):
        stateless.functional_call(layer, {"weight": torch.ones(1, 3)}, torch.ones(3, 2))
    assert layer.weight is own
    with pytest.raises(AttributeError, match="wight"):
        stateless.functional_call(layer, {"wight": weight}, torch.ones(3, 2))


def test_functional_call_with_shared_weights():
    model = nn.Sequential(nn.Linear(2, 2, bias=False), nn.Linear(2, 2, bias=False))
    model[1].weight = model[0].weight
    given = {"0.weight": torch.full((2, 2), 2.0)}
    np.testing.assert_allclose(stateless.functional_call(model, given, torch.ones(1, 2)).detach().numpy(), [[16, 16]])
    apart = stateless.functional_call(model, given, torch.ones(1, 2), tie_weights=False)
    torch.testing.assert_close(apart, torch.full((1, 2), 4.0) @ model[1].weight.T)
    with pytest.raises(ValueError, match="tied"):
        stateless.functional_call(model, {**given, "1.weight": torch.zeros(2, 2)}, torch.ones(1, 2))


def test_fusion():
    linear, norm = nn.Linear(4, 3, bias=False), nn.BatchNorm1d(3)
    for _ in range(3):
        norm(linear(torch.randn(8, 4)))
    x = torch.randn(2, 4)
    fused = nn.utils.fuse_linear_bn_eval(linear.eval(), norm.eval())
    torch.testing.assert_close(fused(x), norm(linear(x)))
