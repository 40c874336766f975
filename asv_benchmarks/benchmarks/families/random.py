"""Random fills of a million elements, from the stream that PyTorch's seed gives."""
from .base import _Family


class Random(_Family):
    """A million random numbers of each distribution."""
    prepare = """
x, p, wide = torch.empty(1_000_000), torch.rand(1_000_000), torch.empty(1_000_000, dtype=torch.float64)
weights, dropout = torch.rand(10_000), torch.nn.functional.dropout
"""
    cases = {
        "rand": "torch.rand(1_000_000)", "randn": "torch.randn(1_000_000)", "rand double": "wide.uniform_()", "randn double": "wide.normal_()",
        "randint": "torch.randint(0, 1000, (1_000_000,))", "randperm": "torch.randperm(1_000_000)", "bernoulli of a number": "x.bernoulli_(0.3)",
        "bernoulli of a tensor": "torch.bernoulli(p)", "dropout": "dropout(x, 0.1)", "exponential": "x.exponential_()", "uniform": "x.uniform_(-1, 1)",
        "normal": "x.normal_(1, 2)", "cauchy": "x.cauchy_()", "geometric": "x.geometric_(0.3)", "log_normal": "x.log_normal_()",
        "multinomial": "torch.multinomial(weights, 1000)", "multinomial, replaced": "torch.multinomial(weights, 1000, True)",
        "poisson": "torch.poisson(p)",
    }
    numpy_prepare = "generator = np.random.default_rng()"
    numpy_cases = {"rand": "generator.random(1_000_000, np.float32)", "randn": "generator.standard_normal(1_000_000, np.float32)",
                   "randperm": "generator.permutation(1_000_000)"}
