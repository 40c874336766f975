"""Distributions by their formulas. (Their random streams are compared with PyTorch's in the oracle tests.)"""
import math

import pytest
import pyx_tensor as torch
from pyx_tensor.distributions import Bernoulli, Categorical, Exponential, Normal, Uniform, kl_divergence


def test_densities():
    assert Normal(1.0, 2.0).log_prob(torch.tensor(3.0)).item() == pytest.approx(-0.5 - math.log(2 * math.sqrt(2 * math.pi)))
    assert Uniform(0.0, 4.0).log_prob(torch.tensor(1.0)).item() == pytest.approx(-math.log(4))
    assert Exponential(2.0).log_prob(torch.tensor(1.0)).item() == pytest.approx(math.log(2) - 2)
    assert Bernoulli(0.25).log_prob(torch.tensor([0.0, 1.0])).exp().tolist() == pytest.approx([0.75, 0.25])
    assert Categorical(torch.tensor([1.0, 3.0])).log_prob(torch.tensor([[0], [1]])).exp().tolist() == [pytest.approx([0.25]), pytest.approx([0.75])]


def test_moments_of_draws():
    torch.manual_seed(0)
    for distribution in (Normal(1.0, 2.0), Uniform(-1.0, 3.0), Exponential(0.5), Bernoulli(0.3), Bernoulli(logits=torch.tensor([0.5, -1.0]))):
        x = distribution.sample((20_000,))
        assert x.mean(0).tolist() == pytest.approx(distribution.mean.tolist(), abs=0.06)
        assert x.std(0).tolist() == pytest.approx(distribution.stddev.tolist(), abs=0.06)
    x = Categorical(torch.tensor([[0.1, 0.9], [0.5, 0.5]])).sample((10_000,))
    assert x.shape == (10_000, 2) and x.double().mean(0).tolist() == pytest.approx([0.9, 0.5], abs=0.02)


def test_entropy_and_divergence_are_means_of_log_prob():
    torch.manual_seed(1)
    for p, q in ((Normal(0.0, 1.0), Normal(0.5, 2.0)), (Exponential(1.0), Exponential(0.5)), (Bernoulli(0.2), Bernoulli(0.6)), (Uniform(0.0, 1.0), Uniform(-1.0, 2.0)),
                 (Categorical(torch.tensor([0.2, 0.8])), Categorical(torch.tensor([0.5, 0.5])))):
        x = p.sample((50_000,))
        assert -p.log_prob(x).mean().item() == pytest.approx(p.entropy().item(), abs=0.02)
        assert (p.log_prob(x) - q.log_prob(x)).mean().item() == pytest.approx(kl_divergence(p, q).item(), abs=0.02)
    assert kl_divergence(Bernoulli(0.5), Bernoulli(1.0)).item() == math.inf and kl_divergence(Uniform(0.0, 2.0), Uniform(0.0, 1.0)).item() == math.inf
    with pytest.raises(NotImplementedError, match="p type Normal and q type Uniform"):
        kl_divergence(Normal(0.0, 1.0), Uniform(0.0, 1.0))


def test_gradients_flow_where_they_can():
    loc = torch.tensor(0.5, requires_grad=True)
    Normal(loc, 1.0).rsample((3,)).sum().backward()
    assert loc.grad == 3 and not Normal(loc, 1.0).sample().requires_grad
    with pytest.raises(NotImplementedError, match="rsample"):
        Bernoulli(0.5).rsample()
    logits = torch.zeros(3, requires_grad=True)
    policy = Categorical(logits=logits)
    action = policy.sample()
    policy.log_prob(action).backward()
    assert logits.grad[action].item() == pytest.approx(2 / 3) and logits.grad.sum().item() == pytest.approx(0, abs=1e-6)
