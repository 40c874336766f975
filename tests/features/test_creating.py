"""Creation, random numbers and threads (rows S200 - S211, S228 - S239). Expected values are worked out by hand."""
import numpy as np
import pytest
from .values import check_out, close

import pyx_tensor as torch
from pyx_tensor_cpu.build_info import openmp


# --- creation ------------------------------------------------------------------------------------------------------
@pytest.mark.rows("S200", "S201", "S203", "S205", "S206", "S210", "S211")
@pytest.mark.parametrize(("call", "expected", "dtype"), [
    (lambda **k: torch.eye(2, **k), [[1, 0], [0, 1]], "float32"),
    (lambda **k: torch.eye(2, 3, **k), [[1, 0, 0], [0, 1, 0]], "float32"),
    (lambda **k: torch.eye(3, m=2, **k), [[1, 0], [0, 1], [0, 0]], "float32"),
    (lambda **k: torch.linspace(0, 1, steps=5, **k), [0, 0.25, 0.5, 0.75, 1], "float32"),
    (lambda **k: torch.linspace(3, -3, 3, **k), [3, 0, -3], "float32"),
    (lambda **k: torch.linspace(3, 9, steps=1, **k), [3], "float32"),
    (lambda **k: torch.logspace(0, 2, steps=3, **k), [1, 10, 100], "float32"),
    (lambda **k: torch.logspace(1, -1, 5, **k), [10, 10 ** 0.5, 1, 10 ** -0.5, 0.1], "float32"),
    (lambda **k: torch.ones(2, 3, **k), [[1, 1, 1], [1, 1, 1]], "float32"),
    (lambda **k: torch.ones((2,), **k), [1, 1], "float32"),
    (lambda **k: torch.zeros(1, 2, **k), [[0, 0]], "float32"),
    (lambda **k: torch.zeros(2, 0, **k), np.zeros((2, 0)), "float32"),
    (lambda **k: torch.arange(1, 7, 2, **k), [1, 3, 5], "int64"),
    (lambda **k: torch.arange(1, 8, 2, **k), [1, 3, 5, 7], "int64"),                # a remainder counts: ceil(7 / 2)
    (lambda **k: torch.arange(5, 0, step=-2, **k), [5, 3, 1], "int64"),
    (lambda **k: torch.arange(0, 1.01, 0.25, **k), [0, 0.25, 0.5, 0.75, 1], "float32"),
    (lambda **k: torch.range(1, 4, 1.5, **k), [1, 2.5, 4], "float32"),
    (lambda **k: torch.range(0, 3, **k), [0, 1, 2, 3], "float32"),
    (lambda **k: torch.range(0, 3, 2, **k), [0, 2], "float32"),                     # floor(3 / 2) + 1
    (lambda **k: torch.range(3, 1, -1, **k), [3, 2, 1], "float32"),
])
@pytest.mark.filterwarnings("ignore:torch.range is deprecated")
def test_creation(call, expected, dtype):
    assert call().dtype is getattr(torch, dtype)
    check_out(call, expected)


@pytest.mark.rows("S205", "S206")
def test_out_keeps_its_type():
    out = torch.empty(3, 3, dtype=torch.int16)
    assert torch.ones(3, 3, out=out) is out and out.dtype is torch.int16 and out.tolist() == [[1] * 3] * 3
    assert torch.zeros(3, 3, out=out) is out and not out.any()


@pytest.mark.rows("S200", "S201", "S210", "S211")
@pytest.mark.filterwarnings("ignore:torch.range is deprecated")
def test_creation_refuses():
    for call in (lambda: torch.eye(-1), lambda: torch.linspace(0, 1, -1), lambda: torch.arange(0, 3, 0), lambda: torch.arange(0, 3, -1),
                 lambda: torch.range(0, 3, 0), lambda: torch.range(0, 3, -1)):
        with pytest.raises(RuntimeError):
            call()


@pytest.mark.rows("S202", "S204")
def test_a_hundred_points_unless_told():
    close(torch.linspace(0, 99), np.arange(100), dtype=torch.float32)
    close(torch.logspace(0, 0.99), 10 ** (np.arange(100) / 100), 2e-6, torch.float32)
    check_out(lambda **k: torch.linspace(-1, 98, **k), np.arange(-1, 99))


# --- random numbers ------------------------------------------------------------------------------------------------
@pytest.mark.rows("S207", "S208")
def test_uniform_and_normal():
    torch.manual_seed(3)
    uniform, normal = torch.rand(200, 50), torch.randn(200, 50)
    assert uniform.dtype is normal.dtype is torch.float32 and uniform.shape == (200, 50)
    assert 0 <= uniform.min() and uniform.max() < 1
    counts = np.histogram(uniform.numpy(), 10, (0, 1))[0]
    assert abs(counts - 1000).max() < 130                               # four standard deviations, 4 * sqrt(10000 * 0.09)
    assert abs(normal.mean()) < 0.04 and abs(normal.var() - 1) < 0.06
    assert abs(float((normal.abs() < 1).float().mean()) - 0.6827) < 0.02
    for draw in (torch.rand, torch.randn):
        out = torch.empty(0)
        torch.manual_seed(1)
        assert draw(2, 3, out=out) is out
        torch.manual_seed(1)
        assert torch.equal(out, draw(2, 3))


@pytest.mark.rows("S209")
def test_permutations():
    order = torch.randperm(50)
    assert order.dtype is torch.int64 and sorted(order.tolist()) == list(range(50)) != order.tolist()
    out = torch.empty(0, dtype=torch.int64)
    assert torch.randperm(5, out=out) is out and sorted(out.tolist()) == [0, 1, 2, 3, 4]
    assert torch.randperm(0).shape == (0,)
    with pytest.raises(RuntimeError):
        torch.randperm(-1)


@pytest.mark.rows("S228", "S233")
@pytest.mark.parametrize("draw", [
    lambda: torch.rand(5), lambda: torch.randn(5), lambda: torch.randn(20), lambda: torch.randperm(9), lambda: torch.randint(100, (5,)),
    lambda: torch.bernoulli(torch.full((9,), 0.5)), lambda: torch.multinomial(torch.ones(9), 4), lambda: torch.normal(torch.zeros(5), 1.0),
    lambda: torch.empty(5).uniform_(), lambda: torch.empty(5).exponential_(), lambda: torch.nn.functional.dropout(torch.ones(9))])
def test_one_seed_one_stream(draw):
    """Every sampling function draws from the default generator, which manual_seed returns."""
    assert torch.manual_seed(7) is torch.default_generator and isinstance(torch.default_generator, torch._C.Generator)
    first, second = draw(), draw()
    assert not torch.equal(first, second)
    torch.default_generator.manual_seed(7)
    assert torch.equal(draw(), first) and torch.equal(draw(), second)


@pytest.mark.rows("S229")
def test_the_first_programs_polynomial():
    torch.manual_seed(5000)
    weight, bias = torch.randn(4, 1) * 5, torch.randn(1) * 5
    assert [f"{w:.2f}" for w in weight.view(-1)] == ["6.13", "3.89", "0.86", "8.20"] and f"{bias.item():.2f}" == "-1.62"


@pytest.mark.rows("S230")
def test_initial_seed():
    torch.manual_seed(5000)
    torch.rand(3)
    assert torch.initial_seed() == 5000 and type(torch.initial_seed()) is int


@pytest.mark.rows("S231", "S232")
@pytest.mark.parametrize("skipped", [0, 1, 3, 700])
def test_states(skipped):
    """A state holds the stream's place, also the half of a normal pair that is still to come."""
    torch.manual_seed(11)
    torch.randn(skipped)
    state = torch.get_rng_state()
    assert state.dtype is torch.uint8 and state.ndim == 1 and isinstance(state, torch.ByteTensor)
    first = torch.randn(1), torch.randn(3), torch.rand(2)
    assert not torch.equal(state, torch.get_rng_state())
    torch.set_rng_state(state)
    assert torch.equal(state, torch.get_rng_state())
    assert all(torch.equal(a, b) for a, b in zip(first, (torch.randn(1), torch.randn(3), torch.rand(2))))


@pytest.mark.rows("S234")
def test_bernoulli():
    torch.manual_seed(1)
    p = torch.tensor([[0.0, 1.0], [1.0, 0.0]], dtype=torch.float64)
    drawn = torch.bernoulli(p)
    assert drawn.dtype is torch.float64 and drawn.tolist() == p.tolist()
    assert abs(float(torch.bernoulli(torch.full((10000,), 0.3)).mean()) - 0.3) < 0.02
    out = torch.empty(0, dtype=torch.float64)
    assert torch.bernoulli(p, out=out) is out and torch.equal(out, p)
    for wrong in (1.5, -0.1):
        with pytest.raises(RuntimeError):
            torch.bernoulli(torch.tensor([0.5, wrong]))


@pytest.mark.rows("S235")
def test_multinomial():
    torch.manual_seed(1)
    weights = torch.tensor([[0.0, 3.0, 7.0], [1.0, 0.0, 1.0]])
    drawn = torch.multinomial(weights, 2)
    assert drawn.dtype is torch.int64 and [sorted(row) for row in drawn.tolist()] == [[1, 2], [0, 2]]
    assert torch.multinomial(torch.tensor([0.0, 2.0]), 5, replacement=True).tolist() == [1] * 5
    often = torch.multinomial(weights, 5000, True)
    assert often.shape == (2, 5000) and abs(float((often[0] == 2).float().mean()) - 0.7) < 0.03 and not (often[1] == 1).any()
    out = torch.empty(0, dtype=torch.int64)
    assert torch.multinomial(weights, 1, out=out) is out and out.shape == (2, 1)
    for call in (lambda: torch.multinomial(torch.ones(2), 3), lambda: torch.multinomial(torch.tensor([1.0, -1.0]), 1)):
        with pytest.raises(RuntimeError):
            call()


@pytest.mark.rows("S236")
def test_normal():
    means, zeros = torch.arange(3.0), torch.zeros(3)
    assert torch.normal(means, zeros).tolist() == torch.normal(mean=means, std=0.0).tolist() == [0, 1, 2]
    assert torch.normal(2.0, zeros).tolist() == [2, 2, 2]
    torch.manual_seed(2)
    drawn = torch.normal(torch.tensor([-5.0, 5.0]).expand(4000, 2), torch.tensor([1.0, 3.0]).expand(4000, 2))
    close(drawn.mean(0), [-5, 5], 0.15)
    close(drawn.std(0), [1, 3], 0.05)
    out = torch.empty(0)
    assert torch.normal(means, zeros, out=out) is out and out.tolist() == [0, 1, 2]
    assert torch.normal(means.double(), torch.ones(3)).dtype is torch.float64 and torch.normal(means, torch.ones(3).double()).dtype is torch.float32
    nan = float("nan")
    for mean, std in ((means, -1.0), (means, nan), (means, torch.tensor([1.0, -1.0, 0.0])), (0.0, torch.tensor([nan])), (means, torch.ones(2))):
        with pytest.raises(RuntimeError, match="expects|match"):
            torch.normal(mean, std)


@pytest.mark.rows("S237")
def test_the_early_keyword_of_normal():
    means, stds = torch.arange(3.0), torch.ones(3)
    torch.manual_seed(4)
    drawn = torch.normal(means=means, std=stds)
    torch.manual_seed(4)
    assert torch.equal(drawn, torch.normal(means, stds))


# --- threads -------------------------------------------------------------------------------------------------------
@pytest.mark.rows("S238", "S239")
def test_threads():
    before = torch.get_num_threads()
    assert type(before) is int and before >= 1
    try:
        a = torch.rand(300, 300)
        torch.set_num_threads(1)
        assert torch.get_num_threads() == 1
        one = a.exp().sum(0), a @ a
        torch.set_num_threads(2)
        assert torch.get_num_threads() == (2 if openmp else 1)
        assert torch.equal(a.exp().sum(0), one[0]) and torch.allclose(a @ a, one[1], rtol=1e-6)
        with pytest.raises(RuntimeError):
            torch.set_num_threads(0)
        assert torch.get_num_threads() == (2 if openmp else 1)
    finally:
        torch.set_num_threads(before)
