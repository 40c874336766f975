"""Distributions: draws, densities, entropies and divergences as PyTorch's."""
import numpy as np
import pytest
import pyx_tensor
import torch

MATRIX = [[2.0, 0.5], [0.5, 1.0]]
LOWER = [[1.0, 0.0], [0.5, 2.0]]
PARAMETERS = {
    "Normal": [dict(loc=[0.0, 1.0], scale=[1.0, 0.5]), dict(loc=0.5, scale=2.0), dict(loc=[[0.0], [1.0]], scale=[1.0, 2.0, 3.0])],
    "Uniform": [dict(low=[0.0, -1.0], high=[1.0, 3.0]), dict(low=-2.0, high=2.0)], "Exponential": [dict(rate=[0.5, 2.0]), dict(rate=1.0)],
    "Bernoulli": [dict(probs=[0.2, 0.5, 0.9]), dict(logits=[[-1.0, 2.0]]), dict(probs=0.3), dict(probs=[0.0, 1.0])],
    "Categorical": [dict(probs=[0.1, 0.6, 0.3]), dict(probs=[[1.0, 2.0], [0.0, 5.0]]), dict(logits=[[0.5, -1.0, 2.0]])],
    "OneHotCategorical": [dict(probs=[0.1, 0.6, 0.3]), dict(logits=[[0.5, -1.0, 2.0]])],
    "OneHotCategoricalStraightThrough": [dict(probs=[0.1, 0.6, 0.3]), dict(logits=[[0.5, -1.0, 2.0]])],
    "Laplace": [dict(loc=[0.0, 1.0], scale=[1.0, 0.5]), dict(loc=0.5, scale=2.0)],
    "Gamma": [dict(concentration=[0.5, 3.0], rate=[1.0, 2.0]), dict(concentration=2.0, rate=0.5)],
    "Beta": [dict(concentration1=[0.5, 3.0], concentration0=[1.5, 2.0]), dict(concentration1=2.0, concentration0=3.0)],
    "Dirichlet": [dict(concentration=[0.5, 3.0, 2.0]), dict(concentration=[[0.5, 0.25], [2.0, 1.0]])],
    "Multinomial": [dict(total_count=5, probs=[0.2, 0.3, 0.5]), dict(total_count=3, logits=[[0.5, -1.0], [0.0, 2.0]])],
    "Binomial": [dict(total_count=5, probs=[0.2, 0.7]), dict(total_count=3, logits=[[0.5], [-1.0]]),
                 dict(total_count=[40.0, 40.0], probs=[0.5, 0.9])],
    "Poisson": [dict(rate=[0.5, 4.0, 30.0]), dict(rate=2.0)],
    "Geometric": [dict(probs=[0.2, 0.7]), dict(logits=[0.5, -1.0]), dict(probs=0.5)],
    "LogNormal": [dict(loc=[0.0, 1.0], scale=[1.0, 0.5]), dict(loc=0.5, scale=0.25)],
    "Cauchy": [dict(loc=[0.0, 1.0], scale=[1.0, 0.5]), dict(loc=0.5, scale=2.0)],
    "HalfNormal": [dict(scale=[1.0, 0.5]), dict(scale=2.0)], "HalfCauchy": [dict(scale=[1.0, 0.5]), dict(scale=2.0)],
    "StudentT": [dict(df=[0.5, 1.5, 5.0], loc=[0.0, 1.0, 2.0], scale=[1.0, 0.5, 2.0]), dict(df=3.0)],
    "Chi2": [dict(df=[1.0, 5.0]), dict(df=[2.5])],
    "MultivariateNormal": [dict(loc=[0.0, 1.0], covariance_matrix=MATRIX), dict(loc=[[0.0, 1.0], [2.0, 3.0]], precision_matrix=MATRIX),
                           dict(loc=[0.0, 1.0], scale_tril=LOWER)],
    "LowRankMultivariateNormal": [dict(loc=[0.0, 1.0, -1.0], cov_factor=[[1.0], [0.5], [2.0]], cov_diag=[0.5, 1.0, 2.0]),
                                  dict(loc=[[0.5, 1.0]], cov_factor=[[1.0], [0.5]], cov_diag=[0.5, 1.0])],
    "Gumbel": [dict(loc=[0.0, 1.0], scale=[1.0, 0.5]), dict(loc=0.5, scale=2.0)],
    "Weibull": [dict(scale=[1.0, 0.5], concentration=[2.0, 1.5]), dict(scale=2.0, concentration=3.0)],
    "Pareto": [dict(scale=[1.0, 0.5], alpha=[0.5, 3.0]), dict(scale=2.0, alpha=4.0)],
    "Kumaraswamy": [dict(concentration1=[0.5, 3.0], concentration0=[1.5, 2.0]), dict(concentration1=2.0, concentration0=3.0)],
    "LogisticNormal": [dict(loc=[0.0, 1.0], scale=[1.0, 0.5]), dict(loc=[[0.5, -1.0, 2.0]], scale=[[1.0, 0.5, 0.25]])],
    "VonMises": [dict(loc=[0.0, 1.0], concentration=[1.0, 30.0])],
    "NegativeBinomial": [dict(total_count=5, probs=[0.2, 0.7]), dict(total_count=[2.5, 1.0], logits=[0.5, -1.0])],
    "ContinuousBernoulli": [dict(probs=[0.2, 0.5, 0.9]), dict(logits=[0.5, -1.0, 0.001])],
    "RelaxedBernoulli": [dict(temperature=[0.5], probs=[0.2, 0.7]), dict(temperature=[2.0], logits=[0.5, -1.0])],
    "RelaxedOneHotCategorical": [dict(temperature=[0.5], probs=[0.2, 0.3, 0.5]), dict(temperature=[2.0], logits=[[0.5, -1.0]])],
    "FisherSnedecor": [dict(df1=[3.0, 5.0], df2=[2.0, 6.0]), dict(df1=4.0, df2=8.0)],
    "InverseGamma": [dict(concentration=[0.5, 3.0], rate=[1.0, 2.0]), dict(concentration=2.5, rate=0.5)],
    "Wishart": [dict(df=[4.0], covariance_matrix=MATRIX), dict(df=[5.0], precision_matrix=MATRIX), dict(df=[2.5], scale_tril=LOWER)],
    "LKJCholesky": [dict(dim=3, concentration=[0.5, 2.0]), dict(dim=2), dict(dim=4, concentration=1.5)],
    "GeneralizedPareto": [dict(loc=[0.0, 1.0, 2.0], scale=[1.0, 0.5, 2.0], concentration=[0.25, -0.5, 0.0]),
                          dict(loc=0.5, scale=2.0, concentration=1.5)],
}
CASES = [(name, options) for name, several in PARAMETERS.items() for options in several]
# PyTorch's own formula gives nan there for all shapes above 1, where there is a mode.
OTHER_THAN_PYTORCH = {("Kumaraswamy", "mode")}
# PyTorch draws Wishart's matrices twice where the first are good, and can't differentiate the second.
OTHER_DRAWS = {"Wishart"}


def make(module, name, options, requires_grad=False, dtype="float32", **more):
    def value(v):
        return module.tensor(v, requires_grad=requires_grad, dtype=getattr(module, dtype)) if isinstance(v, list) else v
    return getattr(module.distributions, name)(**{key: value(v) for key, v in options.items()}, **more)


def same(ours, theirs, rtol=1e-5, atol=1e-6):
    assert tuple(ours.shape) == tuple(theirs.shape) and str(ours.dtype) == str(theirs.dtype)
    np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), rtol=rtol, atol=atol)


def both(compute, *arguments):
    """What both libraries' distributions give; where PyTorch has nothing, neither have ours."""
    try:
        expected = compute(arguments[0][1], *[a[1] for a in arguments[1:]])
    except NotImplementedError:
        with pytest.raises(NotImplementedError):
            compute(arguments[0][0], *[a[0] for a in arguments[1:]])
        return None
    return compute(arguments[0][0], *[a[0] for a in arguments[1:]]), expected


def drawn(distributions, shape, method="sample"):
    draws = []
    for module, distribution in zip((pyx_tensor, torch), distributions):
        module.manual_seed(3)
        draws.append(getattr(distribution, method)(shape))
    return draws


@pytest.mark.parametrize(("name", "options"), CASES)
def test_a_distribution(name, options):
    pair = make(pyx_tensor, name, options), make(torch, name, options)
    ours, theirs = pair
    assert ours.batch_shape == tuple(theirs.batch_shape) and ours.event_shape == tuple(theirs.event_shape)
    assert ours.has_rsample == theirs.has_rsample and ours.has_enumerate_support == theirs.has_enumerate_support
    for shape in ((), (3,), (2, 20)):
        draws = drawn(pair, shape, "rsample" if shape == (3,) and theirs.has_rsample else "sample")
        if name not in OTHER_DRAWS:
            same(*draws, rtol=1e-4)                      # functions of draws in float32, whose errors the tails multiply
        value = draws[1].numpy().copy()
        values = pyx_tensor.tensor(value), torch.tensor(value)
        same(ours.log_prob(values[0]), theirs.log_prob(values[1]), rtol=1e-4, atol=2e-5)
    for property in ("mean", "variance", "stddev", "mode"):
        found = both(lambda d: getattr(d, property), pair)
        if found and (name, property) not in OTHER_THAN_PYTORCH:
            same(*found, rtol=1e-4 if name == "VonMises" else 1e-5)      # PyTorch's Bessel functions are polynomials of short coefficients
    for compute in (lambda d: d.entropy(), lambda d: d.perplexity(), lambda d: d.enumerate_support(), lambda d: d.enumerate_support(expand=False)):
        found = both(compute, pair)
        if found:
            same(*found, rtol=2e-5)
    found = both(lambda d, x: d.cdf(x), pair, values)
    if found:
        same(*found, rtol=1e-4)
    found = both(lambda d, x: d.icdf(x), pair, (pyx_tensor.tensor(0.25), torch.tensor(0.25)))
    if found:
        same(*found)


@pytest.mark.parametrize(("name", "options"), CASES)
def test_expansions(name, options):
    pair = make(pyx_tensor, name, options), make(torch, name, options)
    ours, theirs = [d.expand((4, *d.batch_shape)) for d in pair]
    assert type(ours) is type(pair[0]) and ours.batch_shape == tuple(theirs.batch_shape) and ours.event_shape == tuple(theirs.event_shape)
    draws = drawn((ours, theirs), (2,))
    if name not in OTHER_DRAWS:
        same(*draws, rtol=1e-4)
    same(ours.log_prob(pyx_tensor.tensor(draws[1].numpy())), theirs.log_prob(draws[1]), rtol=1e-4, atol=2e-5)
    for compute in (lambda d: d.mean, lambda d: d.variance):
        found = both(compute, (ours, theirs))
        if found:
            same(*found, rtol=2e-5)
    if name == "Multinomial":                            # PyTorch's fails
        assert ours.entropy().tolist() == [pair[0].entropy().tolist()] * 4
        return
    found = both(lambda d: d.entropy(), (ours, theirs))
    if found:
        same(*found, rtol=2e-5)


def known_pairs():
    from torch.distributions.kl import _KL_REGISTRY
    return [(p.__name__, q.__name__) for p, q in _KL_REGISTRY if p.__name__ in PARAMETERS and q.__name__ in PARAMETERS]


@pytest.mark.parametrize(("name", "other"), [*known_pairs(), ("Chi2", "Gamma"), ("Gamma", "Chi2"), ("LogNormal", "LogNormal"), ("Wishart", "Wishart"),
                                             ("Weibull", "Weibull"), ("Chi2", "Gumbel"), ("OneHotCategoricalStraightThrough", "OneHotCategorical")])
def test_divergences(name, other):
    tried = 0
    for p in PARAMETERS[name]:
        for q in PARAMETERS[other]:
            pairs = [[make(module, n, options, dtype="float64") for module in (pyx_tensor, torch)] for n, options in ((name, p), (other, q))]
            try:
                expected = torch.distributions.kl_divergence(pairs[0][1], pairs[1][1])
            except NotImplementedError:
                with pytest.raises(NotImplementedError):
                    pyx_tensor.distributions.kl_divergence(pairs[0][0], pairs[1][0])
                continue
            except (RuntimeError, ValueError, IndexError):                           # shapes that don't broadcast
                continue
            ours = pyx_tensor.distributions.kl_divergence(pairs[0][0], pairs[1][0])
            same(ours.broadcast_to(tuple(expected.shape)) if ours.ndim < expected.ndim else ours, expected)
            tried += 1
    assert tried or (name, other) == ("Weibull", "Weibull")


GRADIENTS = [(name, options) for name, options in CASES if any(isinstance(v, list) for v in options.values())
             and 0.0 not in np.ravel(list(options.values())[0]) and name != "LKJCholesky"]


@pytest.mark.parametrize(("name", "options"), GRADIENTS)
def test_gradients(name, options):
    """Of densities at PyTorch's draws, of entropies, and of the draws themselves."""
    grads = []
    theirs = make(torch, name, options, dtype="float64")
    torch.manual_seed(0)
    fixed = theirs.sample((4,)).numpy()
    for module in (pyx_tensor, torch):
        module.manual_seed(0)
        parameters = {key: module.tensor(v, requires_grad=True, dtype=module.float64) if isinstance(v, list) else v for key, v in options.items()}
        distribution = getattr(module.distributions, name)(**parameters)
        total = distribution.log_prob(module.tensor(fixed)).sum()
        try:
            total = total + distribution.entropy().sum()
        except NotImplementedError:
            pass
        if distribution.has_rsample and name not in OTHER_DRAWS:
            value = distribution.rsample((4,))
            total = total + (value * value).sum()
        leaves = [p for p in parameters.values() if isinstance(p, module.Tensor)]
        grads.append([g if g is None else g.tolist() for g in module.autograd.grad(total, leaves, allow_unused=True)])
    for ours, theirs in zip(*grads):
        if theirs is None:
            assert ours is None
        elif "scale_tril" in options:                    # PyTorch's Wishart has a gradient above the diagonal too, where no entry is read
            np.testing.assert_allclose(np.tril(ours), np.tril(theirs), rtol=1e-5, atol=1e-6)
        else:                                            # PyTorch's gradients of gamma and beta draws are approximations of three digits
            np.testing.assert_allclose(ours, theirs, rtol=2e-3 if name in IMPLICIT else 1e-5, atol=1e-6)


IMPLICIT = {"Gamma", "Chi2", "Beta", "Dirichlet", "StudentT", "FisherSnedecor", "InverseGamma", "Wishart"}


@pytest.mark.parametrize(("name", "options"), [
    ("Normal", dict(loc=0.0, scale=-1.0)), ("Uniform", dict(low=1.0, high=0.0)), ("Exponential", dict(rate=[-1.0])), ("Bernoulli", dict(probs=[2.0])),
    ("Bernoulli", dict(probs=0.5, logits=0.5)), ("Categorical", dict(probs=[-1.0, 2.0])), ("Bernoulli", {}), ("Categorical", {}),
    ("Normal", dict(loc="0", scale=1.0)), ("Gamma", dict(concentration=0.0, rate=1.0)), ("Beta", dict(concentration1=-1.0, concentration0=1.0)),
    ("Dirichlet", dict(concentration=[0.0, 1.0])), ("Binomial", dict(total_count=1.5, probs=[0.5])), ("Geometric", dict(probs=[0.0])),
    ("Poisson", dict(rate=-1.0)), ("MultivariateNormal", dict(loc=[0.0, 1.0], covariance_matrix=[[1.0, 2.0], [2.0, 1.0]])),
    ("MultivariateNormal", dict(loc=[0.0, 1.0])), ("MultivariateNormal", dict(loc=[0.0, 1.0], scale_tril=[[1.0, 1.0], [0.0, 1.0]])),
    ("LowRankMultivariateNormal", dict(loc=[0.0], cov_factor=[1.0], cov_diag=[1.0])), ("LKJCholesky", dict(dim=1)),
    ("Wishart", dict(df=[0.5], covariance_matrix=MATRIX)), ("NegativeBinomial", dict(total_count=1, probs=[1.0])), ("HalfNormal", dict(scale=0.0)),
    ("LogNormal", dict(loc=0.0, scale=0.0)), ("Pareto", dict(scale=-1.0, alpha=1.0)), ("Weibull", dict(scale=1.0, concentration=0.0))])
def test_what_is_refused(name, options):
    for module in (torch, pyx_tensor):
        with pytest.raises(ValueError):
            make(module, name, options)


def test_the_message_of_a_parameter():
    messages = []
    for module in (torch, pyx_tensor):
        with pytest.raises(ValueError) as refused:
            module.distributions.Normal(module.zeros(2), module.tensor([1.0, -1.0]))
        messages.append(str(refused.value))
    assert messages[0] == messages[1]


def test_names_of_constraints():
    for ours, theirs in zip(regions(pyx_tensor), regions(torch)):
        if "tensor" not in repr(theirs) and type(theirs).__name__ not in ("_Cat", "_Stack", "_Multinomial"):
            assert repr(ours) == repr(theirs)


def test_modules_by_pytorchs_names():
    import importlib
    for name in torch.distributions.__all__:
        home = getattr(torch.distributions, name)
        if isinstance(home, type):
            module = importlib.import_module(home.__module__.replace("torch.", "pyx_tensor.", 1))
            assert getattr(module, name) is getattr(pyx_tensor.distributions, name)


def test_values_outside_of_the_support():
    for module in (torch, pyx_tensor):
        d = module.distributions
        for distribution, value in ((d.Bernoulli(probs=0.5), 0.5), (d.Exponential(1.0), -1.0), (d.Categorical(probs=module.ones(3)), 3.0),
                                    (d.Normal(0.0, 1.0), float("nan")), (d.Beta(1.0, 1.0), 1.5), (d.Poisson(1.0), 0.5),
                                    (d.Binomial(3, module.tensor(0.5)), 4.0),
                                    (d.Dirichlet(module.ones(2)), [0.5, 0.6]), (d.OneHotCategorical(module.ones(2)), [1.0, 1.0]),
                                    (d.Multinomial(2, module.ones(2)), [2.0, 1.0]), (d.Uniform(0.0, 1.0), 2.0), (d.LogNormal(0.0, 1.0), -1.0)):
            with pytest.raises(ValueError, match="within the support"):
                distribution.log_prob(module.tensor(value))
        assert d.Normal(0.0, 1.0, validate_args=False).log_prob(module.tensor(float("nan"))).isnan()
        for distribution, shape in ((d.Dirichlet(module.ones(2)), (3,)), (d.Normal(module.zeros(2), 1.0), (3,))):
            with pytest.raises(ValueError, match="match event_shape|not broadcastable"):
                distribution.log_prob(module.ones(shape))


# --- distributions of distributions -----------------------------------------------------------------------------------
def composed(module):
    d, tensor = module.distributions, module.tensor
    two = d.Normal(tensor([0.0, 1.0]), tensor([1.0, 0.5]))
    grid = d.Normal(module.zeros(3, 2), module.ones(3, 2))
    return [d.Independent(grid, 1), d.Independent(grid, 2), d.Independent(d.Bernoulli(tensor([0.2, 0.7])), 0),
            d.MixtureSameFamily(d.Categorical(tensor([0.3, 0.7])), two),
            d.MixtureSameFamily(d.Categorical(module.ones(3, 2)), grid),
            d.MixtureSameFamily(d.Categorical(module.ones(3)), d.Independent(grid, 1)),
            d.TransformedDistribution(two, [d.AffineTransform(1.0, -2.0), d.ExpTransform()]),
            d.TransformedDistribution(two, d.StickBreakingTransform()),
            d.TransformedDistribution(two, [d.SigmoidTransform(), d.AffineTransform(-1.0, 2.0)]),
            d.TransformedDistribution(d.Uniform(0.0, 1.0), [d.SigmoidTransform().inv, d.AffineTransform(module.zeros(2), 2.0)]),
            d.TransformedDistribution(two, d.TanhTransform(cache_size=1)), d.TransformedDistribution(grid, d.ReshapeTransform((3, 2), (6,)))]


@pytest.mark.parametrize("index", range(12))
def test_made_of_others(index):
    pair = composed(pyx_tensor)[index], composed(torch)[index]
    ours, theirs = pair
    assert ours.batch_shape == tuple(theirs.batch_shape) and ours.event_shape == tuple(theirs.event_shape)
    assert ours.has_rsample == theirs.has_rsample
    assert ours.support.event_dim == theirs.support.event_dim and ours.support.is_discrete == theirs.support.is_discrete
    for distributions in (pair, [d.expand((2, *d.batch_shape)) for d in pair]):
        draws = drawn(distributions, (5,))
        same(*draws, rtol=1e-4)
        value = pyx_tensor.tensor(draws[1].numpy())
        same(distributions[0].log_prob(draws[0]), distributions[1].log_prob(draws[1]), rtol=1e-4, atol=2e-5)
        for compute in (lambda d, x: d.mean, lambda d, x: d.variance, lambda d, x: d.entropy(), lambda d, x: d.cdf(x)):
            found = both(compute, distributions, (value, draws[1]))
            if found:
                same(*found, rtol=1e-4, atol=1e-5)


def test_divergences_of_made_ones():
    for p, q in ((0, 0), (1, 1), (6, 6)):
        ours, theirs = composed(pyx_tensor), composed(torch)
        same(pyx_tensor.distributions.kl_divergence(ours[p], ours[q]), torch.distributions.kl_divergence(theirs[p], theirs[q]))
    for module in (pyx_tensor, torch):
        distributions = composed(module)
        for p, q in ((0, 1), (6, 7), (0, 6)):
            with pytest.raises(NotImplementedError):
                module.distributions.kl_divergence(distributions[p], distributions[q])


# --- transforms and constraints ---------------------------------------------------------------------------------------
def transforms(module):
    d, tensor = module.distributions.transforms, module.tensor
    return [d.AbsTransform(), d.AffineTransform(tensor([1.0, 2.0, 3.0]), tensor([1.0, -2.0, 0.5])), d.AffineTransform(0.5, 2.0, event_dim=1),
            d.CatTransform([d.ExpTransform(), d.TanhTransform()], dim=-1, lengths=[1, 2]),
            d.ComposeTransform([d.AffineTransform(0.0, 2.0), d.SigmoidTransform()]),
            d.ComposeTransform([d.StickBreakingTransform(), d.AffineTransform(0.0, 2.0)]),
            d.CorrCholeskyTransform(), d.CumulativeDistributionTransform(module.distributions.Normal(0.5, 2.0)), d.ExpTransform(),
            d.IndependentTransform(d.ExpTransform(), 1), d.PowerTransform(tensor(2.0)), d.ReshapeTransform((3,), (1, 3)), d.SigmoidTransform(),
            d.SoftmaxTransform(), d.SoftplusTransform(), d.TanhTransform(),
            d.StackTransform([d.ExpTransform(), d.SigmoidTransform(), d.TanhTransform()], dim=-1),
            d.StickBreakingTransform(), d.identity_transform, d.SigmoidTransform().inv.inv]


@pytest.mark.parametrize("index", range(20))
def test_transforms(index):
    ours, theirs = transforms(pyx_tensor)[index], transforms(torch)[index]
    assert ours.bijective == theirs.bijective
    assert ours.domain.event_dim == theirs.domain.event_dim and ours.codomain.event_dim == theirs.codomain.event_dim
    x = np.random.default_rng(index).normal(size=(4, 3)).astype("float32")
    x = abs(x) if "Power" in type(ours).__name__ else x
    y = ours(pyx_tensor.tensor(x)), theirs(torch.tensor(x))
    same(*y)
    same(ours.inv(y[0]), theirs.inv(y[1]), rtol=1e-4, atol=1e-5)
    found = both(lambda t, x, y: t.log_abs_det_jacobian(x, y), (ours, theirs), (pyx_tensor.tensor(x), torch.tensor(x)), y)
    if found:
        same(*found, rtol=1e-4, atol=1e-5)
        same(ours.inv.log_abs_det_jacobian(y[0], pyx_tensor.tensor(x)), theirs.inv.log_abs_det_jacobian(y[1], torch.tensor(x)), rtol=1e-4, atol=1e-5)
    assert tuple(ours.forward_shape((4, 3))) == tuple(theirs.forward_shape((4, 3))) == tuple(y[0].shape)
    assert tuple(ours.inverse_shape(y[0].shape)) == tuple(theirs.inverse_shape(y[1].shape))
    assert (ours == transforms(pyx_tensor)[index]) == (theirs == transforms(torch)[index])


def regions(module):
    c, tensor = module.distributions.constraints, module.tensor
    return [c.real, c.positive, c.nonnegative, c.unit_interval, c.interval(-1.0, tensor([1.0, 2.0])), c.half_open_interval(0.0, 2.0),
            c.less_than(1.0),
            c.greater_than(tensor(0.5)), c.greater_than_eq(-1.0), c.simplex, c.real_vector, c.lower_cholesky, c.corr_cholesky, c.positive_definite,
            c.independent(c.positive, 1), c.cat([c.positive, c.real], -1), c.stack([c.positive, c.unit_interval], -1),
            c.boolean, c.integer_interval(0, 2), c.nonnegative_integer, c.positive_integer, c.one_hot, c.multinomial(2), c.symmetric, c.square,
            c.lower_triangular, c.positive_semidefinite]


@pytest.mark.parametrize("index", range(27))
@pytest.mark.parametrize("registry", ["biject_to", "transform_to"])
def test_regions_and_maps_to_them(index, registry):
    ours, theirs = regions(pyx_tensor)[index], regions(torch)[index]
    assert ours.is_discrete == theirs.is_discrete and ours.event_dim == theirs.event_dim
    samples = [np.array(v, "float32") for v in ([[0.0, 1.0], [1.0, 0.0]], [[2.0, -1.0], [-1.0, 3.0]], [[0.5, 0.5], [0.25, 0.75]],
                                                [[1.0, 0.0], [0.6, 0.8]],
                                                [[np.nan, 0.5], [1.5, 2.0]], [[1.0, 1.0], [1.0, 1.0]])]
    for value in samples:
        if not (np.isnan(value).any() and ours.event_dim == 2):
            assert ours.check(pyx_tensor.tensor(value)).tolist() == theirs.check(torch.tensor(value)).tolist()
    found = both(lambda module, c: getattr(module.distributions, registry)(c), (pyx_tensor, torch), (ours, theirs))
    if found:
        x = np.random.default_rng(index).normal(size=(2, 1) if index == 12 else (2, 2)).astype("float32")
        y = found[0](pyx_tensor.tensor(x)), found[1](torch.tensor(x))
        same(*y)
        assert ours.check(y[0]).all()
