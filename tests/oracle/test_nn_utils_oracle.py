"""nn.utils against PyTorch: normalised and pruned weights, parametrizations, fusion, calls with other parameters."""
import copy
import warnings

import numpy as np
import pytest
import torch
from nn_support import LIBRARIES, assert_close, assert_same_error, both

import pyx_tensor as pt

X = np.random.default_rng(0).standard_normal((5, 4)).astype(np.float32)


def compare(make, calls=2):
    """The same text, state, outputs, gradients, and state after calls in training and evaluation."""
    models = both(make)
    assert repr(models[0]) == repr(models[1])
    outcomes = []
    for t, model in zip(LIBRARIES, models):
        states, outputs = [copy.deepcopy(dict(model.state_dict()))], []
        for _ in range(calls):
            outputs.append(model(t.from_numpy(X)))
        outputs.append(model.eval()(t.from_numpy(X)))
        sum((o * o).sum() for o in outputs).backward()
        states.append(model.state_dict())
        outcomes.append((states, outputs + [p.grad for p in model.parameters()]))
    for ours, theirs in zip(outcomes[0][0], outcomes[1][0]):
        assert list(ours) == list(theirs)
        for key in ours:
            assert_close(ours[key], theirs[key], rtol=1e-5, atol=1e-6)
    for ours, theirs in zip(outcomes[0][1], outcomes[1][1], strict=True):
        assert_close(ours, theirs, rtol=1e-4, atol=1e-5)
    return models


NORMS = {
    "spectral_norm of a transposed convolution": lambda t: t.nn.Sequential(
        t.nn.Unflatten(1, (2, 2)), t.nn.utils.spectral_norm(t.nn.ConvTranspose1d(2, 3, 2)), t.nn.utils.parametrizations.spectral_norm(t.nn.Conv1d(3, 2, 2))),
    "weight_norm": lambda t: t.nn.utils.weight_norm(t.nn.Linear(4, 3)),
    "weight_norm along 1": lambda t: t.nn.utils.weight_norm(t.nn.Linear(4, 3), dim=1),
    "weight_norm over all": lambda t: t.nn.utils.weight_norm(t.nn.Linear(4, 3), dim=None),
    "spectral_norm": lambda t: t.nn.utils.spectral_norm(t.nn.Linear(4, 3)),
    "spectral_norm along 1": lambda t: t.nn.utils.spectral_norm(t.nn.Linear(4, 3), n_power_iterations=3, dim=1),
    "parametrized weight_norm": lambda t: t.nn.utils.parametrizations.weight_norm(t.nn.Linear(4, 3)),
    "parametrized spectral_norm": lambda t: t.nn.utils.parametrizations.spectral_norm(t.nn.Linear(4, 3)),
    "parametrized spectral_norm along 1": lambda t: t.nn.utils.parametrizations.spectral_norm(t.nn.Linear(4, 3), dim=1, n_power_iterations=2),
}


@pytest.mark.filterwarnings("ignore:.*weight_norm:FutureWarning")
@pytest.mark.parametrize("name", NORMS)
def test_norms(name):
    models = compare(NORMS[name])
    for t, model in zip(LIBRARIES, models):
        utils = t.nn.utils
        if "convolution" in name:
            utils.remove_spectral_norm(model[1])
            utils.parametrize.remove_parametrizations(model[2], "weight")
        elif "parametrized" in name:
            utils.parametrize.remove_parametrizations(model, "weight")
        else:
            (utils.remove_weight_norm if "weight_norm" in name else utils.remove_spectral_norm)(model)
    assert list(models[0].state_dict()) == list(models[1].state_dict())
    assert_close(*(model(t.from_numpy(X)) for t, model in zip(LIBRARIES, models)), rtol=1e-4, atol=1e-5)


def test_state_dict_of_the_older_weight_norm():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        state = {k: pt.from_numpy(v.numpy()) for k, v in torch.nn.utils.weight_norm(torch.nn.Linear(4, 3)).state_dict().items()}
    model = pt.nn.utils.parametrizations.weight_norm(pt.nn.Linear(4, 3))
    model.load_state_dict(state)
    assert_close(model.parametrizations.weight.original0, torch.from_numpy(state["weight_g"].numpy()))


PRUNING = {
    "identity": lambda t, p, m: p.identity(m, "weight"),
    "random": lambda t, p, m: p.random_unstructured(m, "weight", 0.4),
    "l1": lambda t, p, m: p.l1_unstructured(m, "weight", 5),
    "l1 by scores": lambda t, p, m: p.l1_unstructured(m, "bias", 1, importance_scores=t.tensor([2.0, 1.0, 3.0])),
    "random rows": lambda t, p, m: p.random_structured(m, "weight", 1, 0),
    "columns of least norm": lambda t, p, m: p.ln_structured(m, "weight", 0.5, 2, 1),
    "mask": lambda t, p, m: p.custom_from_mask(m, "bias", t.tensor([1, 0, 1])),
    "twice": lambda t, p, m: p.l1_unstructured(p.l1_unstructured(m, "weight", 3), "weight", 0.5),
    "rows, then elements": lambda t, p, m: p.l1_unstructured(p.ln_structured(m, "weight", 1, 1, 0), "weight", 2),
    "elements, then columns": lambda t, p, m: p.ln_structured(p.l1_unstructured(m, "weight", 4), "weight", 1, 2, 1),
    "globally": lambda t, p, m: p.global_unstructured([(m, "weight"), (m, "bias")], p.L1Unstructured, amount=6) or m,
}


@pytest.mark.parametrize("name", PRUNING)
def test_pruning(name):
    import torch.nn.utils.prune  # noqa: F401
    models = compare(lambda t: PRUNING[name](t, t.nn.utils.prune, t.nn.Linear(4, 3)))
    for t, model in zip(LIBRARIES, models):
        assert t.nn.utils.prune.is_pruned(model)
        t.nn.utils.prune.remove(model, "bias" if name in ("l1 by scores", "mask") else "weight")
    assert [n for n, _ in models[0].named_parameters()] == [n for n, _ in models[1].named_parameters()]


def symmetric(t):
    class Symmetric(t.nn.Module):
        def forward(self, x):
            return x.triu() + x.triu(1).transpose(0, 1)

        def right_inverse(self, x):
            return x.triu()

    return Symmetric()


def doubled(t):
    class Doubled(t.nn.Module):
        def forward(self, x):
            return 2 * x

    return Doubled()


def pair_of(t):
    class Product(t.nn.Module):
        def forward(self, x, y):
            return x * y

        def right_inverse(self, x):
            return x, t.ones_like(x)

    return Product()


@pytest.mark.parametrize("what", [symmetric, doubled, pair_of])
def test_parametrizations(what):
    def make(t):
        model = t.nn.utils.parametrize.register_parametrization(t.nn.Linear(4, 4), "weight", what(t))
        return t.nn.utils.parametrize.register_parametrization(model, "weight", doubled(t))

    models = compare(make)
    for t, model in zip(LIBRARIES, models):
        parametrize = t.nn.utils.parametrize
        assert parametrize.is_parametrized(model) and parametrize.is_parametrized(model, "weight") and not parametrize.is_parametrized(model, "bias")
        assert parametrize.type_before_parametrizations(model) is t.nn.Linear
        with parametrize.cached():
            assert model.weight is model.weight
        assert model.weight is not model.weight
        other = copy.deepcopy(model)
        assert (other.weight == model.weight).all()
        parametrize.remove_parametrizations(model, "weight", leave_parametrized=True)
        assert type(model) is t.nn.Linear
    assert_close(models[0].weight, models[1].weight)


def test_assignment_goes_through_the_inverse():
    for t in LIBRARIES:
        model = t.nn.utils.parametrize.register_parametrization(t.nn.Linear(3, 3), "weight", symmetric(t))
        model.weight = t.ones(3, 3)
        assert (model.parametrizations.weight.original == t.ones(3, 3).triu()).all() and (model.weight == 1).all()


def test_transfer():
    results = []
    for t in LIBRARIES:
        t.manual_seed(0)
        source = t.nn.utils.parametrize.register_parametrization(t.nn.Linear(3, 3), "weight", symmetric(t))
        target = t.nn.utils.parametrize.transfer_parametrizations_and_params(source, t.nn.Linear(3, 3))
        results.append(target.weight)
    assert_close(*results)


@pytest.mark.parametrize("shape", [(4, 4), (4, 3), (3, 4)])
@pytest.mark.parametrize("map_", ["matrix_exp", "cayley", "householder"])
@pytest.mark.parametrize("around", [True, False])
def test_orthogonal(shape, map_, around):
    models = both(lambda t: t.nn.utils.parametrizations.orthogonal(t.nn.Linear(shape[1], shape[0]), orthogonal_map=map_, use_trivialization=around))
    weights = [m.weight for m in models]
    assert_close(*weights, rtol=1e-4, atol=1e-5)
    for w in weights:
        (w * w.new_tensor(np.arange(w.numel()).reshape(shape))).sum().backward()
    assert_close(*(m.parametrizations.weight.original.grad for m in models), rtol=1e-3, atol=1e-3)


def test_fusion():
    results = []
    for t in LIBRARIES:
        t.manual_seed(0)
        linear, norm = t.nn.Linear(4, 3), t.nn.BatchNorm1d(3)
        norm(linear(t.from_numpy(X)))
        fused = t.nn.utils.fuse_linear_bn_eval(linear.eval(), norm.eval())
        results.append((fused.weight, fused.bias, fused(t.from_numpy(X)), norm(linear(t.from_numpy(X)))))
    for ours, theirs in zip(*results):
        assert_close(ours, theirs)
    assert_close(results[0][2], results[1][3], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("transposed", [False, True])
def test_fusion_of_convolutions(transposed):
    results = []
    for t in LIBRARIES:
        t.manual_seed(0)
        make = t.nn.ConvTranspose2d if transposed else t.nn.Conv2d
        conv, norm, x = make(2, 3, 3, bias=False), t.nn.BatchNorm2d(3), t.randn(2, 2, 5, 5)
        norm(conv(x))
        fused = t.nn.utils.fuse_conv_bn_eval(conv.eval(), norm.eval(), transpose=transposed)
        results.append((fused.weight, fused.bias, fused(x), norm(conv(x))))
    for ours, theirs in zip(*results):
        assert_close(ours, theirs, rtol=1e-4, atol=1e-5)
    assert_close(results[0][2], results[1][3], rtol=1e-4, atol=1e-5)


def test_functional_call():
    results = []
    for t in LIBRARIES:
        t.manual_seed(0)
        model = t.nn.Sequential(t.nn.Linear(4, 3), t.nn.BatchNorm1d(3))
        given = {"0.weight": t.full((3, 4), 0.5).requires_grad_(), "1.running_mean": t.ones(3)}
        output = t.nn.utils.stateless.functional_call(model, given, t.from_numpy(X))
        output.square().sum().backward()
        results.append((output, given["0.weight"].grad, given["1.running_mean"], model[1].running_mean, model[1].num_batches_tracked))
        assert model[0].weight.grad is None
    for ours, theirs in zip(*results):
        assert_close(ours, theirs, rtol=1e-4, atol=1e-5)


def test_skip_init_draws_nothing():
    drawn = []
    for t in LIBRARIES:
        t.manual_seed(3)
        assert t.nn.utils.skip_init(t.nn.Linear, 3, 2).weight.shape == (2, 3)
        drawn.append(t.rand(2))
    assert_close(*drawn)


def parametrized(t, **options):
    return t.nn.utils.parametrize.register_parametrization(t.nn.Linear(3, 3), "weight", symmetric(t), **options)


ERRORS = {
    "amount of a wrong type": lambda t: t.nn.utils.prune.l1_unstructured(t.nn.Linear(2, 2), "weight", "a"),
    "negative amount": lambda t: t.nn.utils.prune.l1_unstructured(t.nn.Linear(2, 2), "weight", -1),
    "large amount": lambda t: t.nn.utils.prune.l1_unstructured(t.nn.Linear(2, 2), "weight", 5),
    "not pruned": lambda t: t.nn.utils.prune.remove(t.nn.Linear(2, 2), "weight"),
    "structured vector": lambda t: t.nn.utils.prune.random_structured(t.nn.Linear(2, 2), "bias", 1, 0),
    "no such parameter": lambda t: t.nn.utils.parametrize.register_parametrization(t.nn.Linear(2, 2), "wight", symmetric(t)),
    "not parametrized": lambda t: t.nn.utils.parametrize.remove_parametrizations(t.nn.Linear(2, 2), "weight"),
    "two spectral norms": lambda t: t.nn.utils.spectral_norm(t.nn.utils.spectral_norm(t.nn.Linear(2, 2))),
    "no spectral norm": lambda t: t.nn.utils.remove_spectral_norm(t.nn.Linear(2, 2)),
    "power iterations": lambda t: t.nn.utils.parametrizations.spectral_norm(t.nn.Linear(2, 2), n_power_iterations=0),
    "orthogonal map": lambda t: t.nn.utils.parametrizations.orthogonal(t.nn.Linear(2, 2), orthogonal_map="exp"),
    "orthogonal vector": lambda t: t.nn.utils.parametrizations.orthogonal(t.nn.Linear(2, 2), "bias"),
    "fusion in training": lambda t: t.nn.utils.fuse_linear_bn_eval(t.nn.Linear(2, 2), t.nn.BatchNorm1d(2)),
    "fusion of sizes": lambda t: t.nn.utils.fuse_linear_bn_eval(t.nn.Linear(2, 2).eval(), t.nn.BatchNorm1d(3).eval()),
    "skip_init of a function": lambda t: t.nn.utils.skip_init(t.nn.ReLU),
    "twice the same name": lambda t: t.func.functional_call(t.nn.Linear(2, 2), [{"bias": t.ones(2)}, {"bias": t.ones(2)}], t.ones(2)),
    "no models": lambda t: t.func.stack_module_state([]),
    "models of two classes": lambda t: t.func.stack_module_state([t.nn.Linear(2, 2), t.nn.ReLU()]),
    "strict call": lambda t: t.nn.utils.stateless.functional_call(t.nn.Linear(2, 2), {"weight": t.ones(2, 2)}, t.ones(2), strict=True),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    import torch.nn.utils.prune  # noqa: F401
    assert_same_error(ERRORS[name])


def test_func():
    results = []
    for t in LIBRARIES:
        t.manual_seed(0)
        models = [t.nn.Sequential(t.nn.Linear(4, 3), t.nn.BatchNorm1d(3)) for _ in range(2)]
        parameters, buffers = t.func.stack_module_state(models)
        given = [{name: p[1] for name, p in parameters.items()}, {name: b[1] for name, b in buffers.items()}]
        results.append([*parameters.values(), *buffers.values(), t.func.functional_call(models[0].eval(), given, t.from_numpy(X))])
    for ours, theirs in zip(*results, strict=True):
        assert ours.requires_grad == theirs.requires_grad
        assert_close(ours, theirs)
