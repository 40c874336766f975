"""Distributions: draws, densities, entropies and divergences as PyTorch's."""
import numpy as np
import pytest
import pyx_tensor
import torch

PARAMETERS = {
    "Normal": [dict(loc=[0.0, 1.0], scale=[1.0, 0.5]), dict(loc=0.5, scale=2.0), dict(loc=[[0.0], [1.0]], scale=[1.0, 2.0, 3.0])],
    "Uniform": [dict(low=[0.0, -1.0], high=[1.0, 3.0]), dict(low=-2.0, high=2.0)], "Exponential": [dict(rate=[0.5, 2.0]), dict(rate=1.0)],
    "Bernoulli": [dict(probs=[0.2, 0.5, 0.9]), dict(logits=[[-1.0, 2.0]]), dict(probs=0.3), dict(probs=[0.0, 1.0])],
    "Categorical": [dict(probs=[0.1, 0.6, 0.3]), dict(probs=[[1.0, 2.0], [0.0, 5.0]]), dict(logits=[[0.5, -1.0, 2.0]])],
}
CASES = [(name, options) for name, several in PARAMETERS.items() for options in several]


def make(module, name, options, requires_grad=False):
    def value(v):
        return module.tensor(v, requires_grad=requires_grad) if isinstance(v, list) else v
    return getattr(module.distributions, name)(**{key: value(v) for key, v in options.items()})


def same(ours, theirs):
    assert tuple(ours.shape) == tuple(theirs.shape) and str(ours.dtype) == str(theirs.dtype)
    np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("name", "options"), CASES)
def test_a_distribution(name, options):
    ours, theirs = make(pyx_tensor, name, options), make(torch, name, options)
    assert ours.batch_shape == tuple(theirs.batch_shape) and ours.event_shape == tuple(theirs.event_shape)
    for shape in ((), (3,), (2, 20)):
        draws = []
        for module, distribution in ((pyx_tensor, ours), (torch, theirs)):
            module.manual_seed(3)
            draws.append(distribution.sample(shape) if shape != (3,) or not theirs.has_rsample else distribution.rsample(shape))
        same(*draws)
        same(ours.log_prob(draws[0]), theirs.log_prob(draws[1]))
    same(ours.entropy(), theirs.entropy())
    same(ours.perplexity(), theirs.perplexity())
    for property in ("mean", "variance", "stddev", "mode"):
        if not (name == "Uniform" and property == "mode"):
            same(getattr(ours, property), getattr(theirs, property))
    if hasattr(theirs, "enumerate_support") and theirs.has_enumerate_support:
        same(ours.enumerate_support(), theirs.enumerate_support())
    if theirs.has_rsample:
        same(ours.cdf(draws[0]), theirs.cdf(draws[1]))
        same(ours.icdf(pyx_tensor.tensor(0.25)), theirs.icdf(torch.tensor(0.25)))


@pytest.mark.parametrize("name", PARAMETERS)
def test_divergences(name):
    shapes = [options for options in PARAMETERS[name] if "probs" in options or "logits" not in options]
    for p, q in [(shapes[0], shapes[0]), (shapes[-1], shapes[0])]:
        try:
            expected = torch.distributions.kl_divergence(make(torch, name, p), make(torch, name, q))
        except RuntimeError:
            continue                         # shapes that don't broadcast
        same(pyx_tensor.distributions.kl_divergence(make(pyx_tensor, name, p), make(pyx_tensor, name, q)), expected)


@pytest.mark.parametrize(("name", "options"), [(name, options) for name, options in CASES if any(isinstance(v, list) for v in options.values())
                                               and 0.0 not in np.ravel(list(options.values())[0])])
def test_gradients(name, options):
    grads = []
    for module in (pyx_tensor, torch):
        module.manual_seed(0)
        parameters = {key: module.tensor(v, requires_grad=True) if isinstance(v, list) else v for key, v in options.items()}
        distribution = getattr(module.distributions, name)(**parameters)
        value = distribution.rsample((4,)) if distribution.has_rsample else distribution.sample((4,))
        (distribution.log_prob(value).sum() + distribution.entropy().sum() + (value * value).sum()).backward()
        grads.append([p.grad.tolist() for p in parameters.values() if isinstance(p, module.Tensor)])
    for ours, theirs in zip(*grads):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("name", "options"), [
    ("Normal", dict(loc=0.0, scale=-1.0)), ("Uniform", dict(low=1.0, high=0.0)), ("Exponential", dict(rate=[-1.0])), ("Bernoulli", dict(probs=[2.0])),
    ("Bernoulli", dict(probs=0.5, logits=0.5)), ("Categorical", dict(probs=[-1.0, 2.0])), ("Bernoulli", {}), ("Categorical", {})])
def test_what_is_refused(name, options):
    for module in (torch, pyx_tensor):
        with pytest.raises(ValueError):
            make(module, name, options)


def test_values_outside_of_the_support():
    for module in (torch, pyx_tensor):
        for distribution, value in ((module.distributions.Bernoulli(probs=0.5), 0.5), (module.distributions.Exponential(1.0), -1.0),
                                    (module.distributions.Categorical(probs=module.ones(3)), 3.0), (module.distributions.Normal(0.0, 1.0), float("nan"))):
            with pytest.raises(ValueError, match="within the support"):
                distribution.log_prob(module.tensor(value))
        assert module.distributions.Normal(0.0, 1.0, validate_args=False).log_prob(module.tensor(float("nan"))).isnan()
