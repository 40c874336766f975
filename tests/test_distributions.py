"""Distributions by their formulas. (Their random streams are compared with PyTorch's in the oracle tests.)"""
import copy
import math
import pickle

import pytest
import pyx_tensor as torch
from pyx_tensor import distributions as D
from pyx_tensor.distributions import Bernoulli, Categorical, Exponential, Normal, Uniform, constraints, kl_divergence


def test_densities():
    assert Normal(1.0, 2.0).log_prob(torch.tensor(3.0)).item() == pytest.approx(-0.5 - math.log(2 * math.sqrt(2 * math.pi)))
    assert Uniform(0.0, 4.0).log_prob(torch.tensor(1.0)).item() == pytest.approx(-math.log(4))
    assert Exponential(2.0).log_prob(torch.tensor(1.0)).item() == pytest.approx(math.log(2) - 2)
    assert Bernoulli(0.25).log_prob(torch.tensor([0.0, 1.0])).exp().tolist() == pytest.approx([0.75, 0.25])
    assert D.Laplace(1.0, 2.0).log_prob(torch.tensor(5.0)).item() == pytest.approx(-2 - math.log(4))
    assert D.Gamma(3.0, 2.0).log_prob(torch.tensor(1.0)).item() == pytest.approx(math.log(8 / 2) - 2)             # 2³ x² exp(-2x) / 2!
    assert D.Beta(2.0, 3.0).log_prob(torch.tensor(0.5)).exp().item() == pytest.approx(12 * 0.5 * 0.25)            # 4! / (1! 2!)
    assert D.Dirichlet(torch.tensor([2.0, 1.0, 1.0])).log_prob(torch.tensor([0.5, 0.25, 0.25])).exp().item() == pytest.approx(6 * 0.5)
    assert D.Binomial(4, torch.tensor(0.25)).log_prob(torch.tensor(2.0)).exp().item() == pytest.approx(6 * 0.25 ** 2 * 0.75 ** 2)
    assert D.Multinomial(3, torch.tensor([0.5, 0.25, 0.25])).log_prob(torch.tensor([1.0, 1.0, 1.0])).exp().item() == pytest.approx(6 / 32)
    assert D.Poisson(2.0).log_prob(torch.tensor(3.0)).exp().item() == pytest.approx(8 / 6 * math.exp(-2))
    assert D.Geometric(0.25).log_prob(torch.tensor(2.0)).exp().item() == pytest.approx(0.75 ** 2 * 0.25)
    assert D.NegativeBinomial(2, torch.tensor(0.5)).log_prob(torch.tensor(2.0)).exp().item() == pytest.approx(3 / 16)
    assert D.Cauchy(0.0, 1.0).log_prob(torch.tensor(1.0)).exp().item() == pytest.approx(1 / (2 * math.pi))
    assert D.StudentT(1.0).log_prob(torch.tensor(1.0)).exp().item() == pytest.approx(1 / (2 * math.pi))           # Cauchy's, too
    assert D.Pareto(1.0, 2.0).log_prob(torch.tensor(2.0)).exp().item() == pytest.approx(2 / 8)
    assert D.Weibull(2.0, 2.0).log_prob(torch.tensor(2.0)).exp().item() == pytest.approx(math.exp(-1))
    assert D.Gumbel(0.0, 1.0).log_prob(torch.tensor(0.0)).item() == pytest.approx(-1)
    assert D.Kumaraswamy(2.0, 3.0).log_prob(torch.tensor(0.5)).exp().item() == pytest.approx(6 * 0.5 * 0.75 ** 2)
    assert D.FisherSnedecor(2.0, 2.0).log_prob(torch.tensor(1.0)).exp().item() == pytest.approx(0.25)             # 1 / (1 + x)²
    assert D.GeneralizedPareto(0.0, 1.0, 1.0).log_prob(torch.tensor(1.0)).exp().item() == pytest.approx(0.25)
    assert D.MultivariateNormal(torch.zeros(2), torch.tensor([[2.0, 1.0], [1.0, 1.0]])).log_prob(torch.tensor([1.0, 0.0])).item() == pytest.approx(
        -0.5 - math.log(2 * math.pi))                                  # of determinant 1 and inverse [[1, -1], [-1, 2]]
    assert D.LKJCholesky(2, 1.0).log_prob(torch.eye(2)).exp().item() == pytest.approx(0.5)                        # uniform over (-1, 1)
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
    for p, q in ((Normal(0.0, 1.0), Normal(0.5, 2.0)), (Exponential(1.0), Exponential(0.5)), (Bernoulli(0.2), Bernoulli(0.6)),
                 (Uniform(0.0, 1.0), Uniform(-1.0, 2.0)),
                 (Categorical(torch.tensor([0.2, 0.8])), Categorical(torch.tensor([0.5, 0.5])))):
        x = p.sample((50_000,))
        assert -p.log_prob(x).mean().item() == pytest.approx(p.entropy().item(), abs=0.02)
        assert (p.log_prob(x) - q.log_prob(x)).mean().item() == pytest.approx(kl_divergence(p, q).item(), abs=0.02)
    assert kl_divergence(Bernoulli(0.5), Bernoulli(1.0)).item() == math.inf and kl_divergence(Uniform(0.0, 2.0), Uniform(0.0, 1.0)).item() == math.inf
    assert kl_divergence(Normal(0.0, 1.0), Uniform(0.0, 1.0)).item() == math.inf
    with pytest.raises(NotImplementedError, match="p type Uniform and q type Bernoulli"):
        kl_divergence(Uniform(0.0, 1.0), Bernoulli(0.5))


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


def test_modes():
    assert D.Kumaraswamy(2.0, 3.0).mode.item() == pytest.approx(math.sqrt(1 / 5))
    assert D.Kumaraswamy(0.5, 3.0).mode.isnan()
    assert D.Dirichlet(torch.tensor([2.0, 3.0, 1.0])).mode.tolist() == pytest.approx([1 / 3, 2 / 3, 0])
    assert D.Dirichlet(torch.tensor([0.25, 0.5])).mode.sum() == 1
    assert D.Binomial(4, torch.tensor([0.5, 1.0])).mode.tolist() == [2, 4]


def test_gamma_draws_move_with_their_shape_as_their_distribution_function_says():
    """dx/da = -(dF/da) / p, with dF/da by central differences."""
    torch.manual_seed(0)
    for a in (0.1, 0.5, 1.0, 4.0, 200.0):
        shape = torch.full((50,), a, dtype=torch.float64, requires_grad=True)
        x = D.Gamma(shape, 1.0).rsample()
        x.sum().backward()
        with torch.no_grad():
            h = 1e-4 * a
            difference = (torch.igamma(shape + h, x) - torch.igamma(shape - h, x)) / (2 * h)
            expected = -difference / D.Gamma(shape, 1.0).log_prob(x).exp()
        assert torch.allclose(shape.grad, expected, rtol=1e-3)


def test_beta_draws_move_with_their_shapes():
    """F = x^a where b = 1, so that dx/da = -x log(x) / a; and mirrored."""
    torch.manual_seed(0)
    for a in (0.25, 1.0, 7.0):
        shape = torch.full((50,), a, dtype=torch.float64, requires_grad=True)
        x = D.Beta(shape, torch.ones_like(shape)).rsample()
        grad, = torch.autograd.grad(x.sum(), shape)
        assert torch.allclose(grad, (-x * x.log() / a).detach(), rtol=1e-6)
        x = D.Beta(torch.ones_like(shape), shape).rsample()
        grad, = torch.autograd.grad(x.sum(), shape)
        assert torch.allclose(grad, ((1 - x) * (1 - x).log() / a).detach(), rtol=1e-6)


def test_gradients_of_draws_are_those_of_means():
    torch.manual_seed(0)
    shape = torch.tensor([0.5, 1.5, 3.0], dtype=torch.float64, requires_grad=True)
    for family in (lambda: D.Gamma(shape, 2.0), lambda: D.Dirichlet(shape), lambda: D.Beta(shape, 2.0), lambda: D.FisherSnedecor(2.0, 2 * shape + 5)):
        weights = torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64)
        found, = torch.autograd.grad((family().rsample((60_000,)).mean(0) * weights).sum(), shape)
        expected, = torch.autograd.grad((family().mean * weights).sum(), shape)
        assert found.tolist() == pytest.approx(expected.tolist(), abs=0.03)
    slope, = torch.autograd.grad(D.Gamma(shape, 1.0).rsample().sum(), shape, create_graph=True)
    with pytest.raises(NotImplementedError, match="isn't differentiable itself"):
        slope.sum().backward()


def test_draws_of_matrices():
    torch.manual_seed(0)
    scale = torch.tensor([[2.0, 0.5], [0.5, 1.0]])
    wishart = D.Wishart(torch.tensor(4.0), scale)
    x = wishart.sample((20_000,))
    assert torch.allclose(x.mean(0), wishart.mean, atol=0.15) and torch.allclose(x.var(0), wishart.variance, rtol=0.1)
    assert (-wishart.log_prob(x)).mean().item() == pytest.approx(wishart.entropy().item(), abs=0.05)
    other = D.Wishart(torch.tensor(5.0), 2 * scale)
    assert (wishart.log_prob(x) - other.log_prob(x)).mean().item() == pytest.approx(kl_divergence(wishart, other).item(), abs=0.05)
    factors = D.LKJCholesky(3, 1.5).sample((5,))
    assert constraints.corr_cholesky.check(factors).all()


def test_wishart_divergences_of_a_batch_are_those_of_its_parts():
    scale = torch.tensor([[2.0, 0.5], [0.5, 1.0]])
    df, other = torch.tensor([4.0, 6.0]), torch.tensor([5.0, 3.0])
    parts = [kl_divergence(D.Wishart(a, scale), D.Wishart(b, 2 * scale)).item() for a, b in zip(df, other)]
    assert kl_divergence(D.Wishart(df, scale), D.Wishart(other, 2 * scale)).tolist() == pytest.approx(parts)


def test_user_defined_ones():
    class Twice(D.Distribution):
        arg_constraints, support, has_rsample = {}, constraints.real, True

        def rsample(self, sample_shape=()):
            return 2 * torch.ones(sample_shape)

        def log_prob(self, value):
            self._validate_sample(value)
            return -value

    class Named(Normal):
        def __init__(self, loc, scale, name):
            super().__init__(loc, scale)
            self.name = name

    assert Twice().sample((2,)).tolist() == [2, 2]
    with pytest.raises(ValueError, match="within the support"):
        Twice().log_prob(torch.tensor(math.nan))
    wide = Named(0.0, 1.0, "wide").expand((3,))
    assert type(wide) is Named and wide.name == "wide" and wide.loc.shape == (3,) and wide.sample().shape == (3,)
    with pytest.raises(NotImplementedError):
        D.Distribution().sample()
    with pytest.raises(TypeError, match="Distribution subclasses"):
        D.register_kl(Normal, int)

    @D.register_kl(Twice, Twice)
    def _(p, q):
        return 0.0
    assert kl_divergence(Twice(), Twice()) == 0


def test_transforms_keep_what_they_were_given():
    x = torch.tensor([30.0, -30.0])
    once = D.TanhTransform(cache_size=1)
    assert once.inv(once(x)) is x
    assert torch.isinf(D.TanhTransform().inv(D.TanhTransform()(x))).all()
    with pytest.raises(ValueError, match="cache_size must be 0 or 1"):
        D.ExpTransform(cache_size=2)
    assert D.ExpTransform().inv.inv == D.ExpTransform() and D.ExpTransform() != D.AbsTransform()
    with pytest.raises(NotImplementedError, match="Cannot transform"):
        D.biject_to(constraints.boolean)


def test_copies():
    x = torch.tensor([0.5, 0.25])
    for distribution in (D.Independent(Normal(torch.zeros(2), 1.0), 1), D.Weibull(1.0, torch.ones(2)), D.Multinomial(2, torch.ones(2)),
                         D.LogNormal(0.0, 1.0)):
        for again in (copy.deepcopy(distribution), pickle.loads(pickle.dumps(distribution))):
            assert repr(again) == repr(distribution) and again.mean.tolist() == distribution.mean.tolist()
    squashed = D.ComposeTransform([D.AffineTransform(0.0, 2.0), D.SigmoidTransform()], cache_size=1)
    y = squashed(x)
    assert pickle.loads(pickle.dumps(squashed)).inv(y).tolist() == pytest.approx(x.tolist())


def test_validation_can_be_turned_off():
    D.Distribution.set_default_validate_args(False)
    try:
        assert D.Gamma(-1.0, 1.0).concentration == -1
    finally:
        D.Distribution.set_default_validate_args(True)
    with pytest.raises(ValueError, match="satisfy the constraint GreaterThan"):
        D.Gamma(-1.0, 1.0)
    with pytest.raises(ValueError, match="dependent constraint"):
        constraints.dependent.check(torch.ones(1))
