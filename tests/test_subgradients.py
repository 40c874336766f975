"""Where a function has a kink or a formula divides zero by zero, the gradient is finite if mathematics gives a finite one."""
import math

import pytest

import pyx_tensor as torch


def gradient(function, values, dtype=torch.float64):
    x = torch.tensor(values, dtype=dtype, requires_grad=True)
    out = function(x)
    out = out[0] if isinstance(out, tuple) else out
    return torch.autograd.grad(out.sum(), x)[0]


ZERO = [0.0, 0.0]
CASES = [
    ("norm", lambda x: x.norm(), ZERO, [0.0, 0.0]),
    ("norm 1", lambda x: x.norm(p=1), [0.0, -2.0], [0.0, -1.0]),
    ("norm 3", lambda x: x.norm(p=3), ZERO, [0.0, 0.0]),
    ("norm inf", lambda x: x.norm(p=math.inf), [0.0, 3.0], [0.0, 1.0]),
    ("norm of rows", lambda x: x.norm(dim=1), [[0.0, 0.0], [3.0, 4.0]], [[0.0, 0.0], [0.6, 0.8]]),
    ("norm 1.5", lambda x: x.norm(p=1.5), [0.0, 1.0], [0.0, 1.0]),
    ("std", lambda x: x.std(), [2.0, 2.0, 2.0], [0.0, 0.0, 0.0]),
    ("var", lambda x: x.var(), [2.0, 2.0, 2.0], [0.0, 0.0, 0.0]),
    ("prod, a zero", lambda x: x.prod(), [2.0, 0.0, 3.0], [0.0, 6.0, 0.0]),
    ("prod, two zeros", lambda x: x.prod(), [2.0, 0.0, 0.0], [0.0, 0.0, 0.0]),
    ("prod of rows", lambda x: x.prod(1), [[0.0, 5.0], [2.0, 3.0]], [[5.0, 0.0], [3.0, 2.0]]),
    ("cumprod, a zero", lambda x: x.cumprod(0), [2.0, 0.0, 3.0], [1.0, 8.0, 0.0]),
    ("cumprod, two zeros", lambda x: x.cumprod(0), [0.0, 3.0, 0.0], [4.0, 0.0, 0.0]),
    ("abs", lambda x: x.abs(), [0.0, -1.0], [0.0, -1.0]),
    ("relu", lambda x: x.relu(), [0.0, 1.0, -1.0], [0.0, 1.0, 0.0]),
    ("clamp at its bounds", lambda x: x.clamp(-1, 1), [-1.0, 1.0, 2.0, -2.0, 0.0], [1.0, 1.0, 0.0, 0.0, 1.0]),
    ("clamp_min", lambda x: x.clamp(min=0), [0.0, 1.0, -1.0], [1.0, 1.0, 0.0]),
    ("sign", lambda x: x.sign(), [0.0, 2.0], [0.0, 0.0]),
    ("pow 2 at 0", lambda x: x ** 2, [0.0], [0.0]),
    ("pow 1 at 0", lambda x: x ** 1, [0.0], [1.0]),
    ("pow 0 at 0", lambda x: x ** 0, [0.0], [0.0]),
    ("pow of tensors at 0", lambda x: x ** torch.tensor([0.0, 1.0, 2.0], dtype=torch.float64), [0.0, 0.0, 0.0], [0.0, 1.0, 0.0]),
    ("max, a tie", lambda x: x.max(), [1.0, 1.0], [0.5, 0.5]),
    ("amax, a tie", lambda x: x.amax(0), [1.0, 1.0, 0.0], [0.5, 0.5, 0.0]),
    ("maximum, a tie", lambda x: torch.maximum(x, x.detach()), [1.0], [0.5]),
    ("logsumexp of -inf", lambda x: x.logsumexp(0), [-math.inf, 0.0], [0.0, 1.0]),
    ("softmax of -inf", lambda x: x.softmax(0)[:1], [-math.inf, 0.0], [0.0, 0.0]),
    ("where beside nan", lambda x: torch.where(x > 0, x, x * 0), [0.0, 1.0], [0.0, 1.0]),
    ("hypot", lambda x: torch.hypot(x, torch.ones_like(x)), [0.0], [0.0]),
    ("sqrt beside a mask", lambda x: torch.where(x > 0, x, torch.ones_like(x)).sqrt(), [0.0, 4.0], [0.0, 0.25]),
    ("sinc", lambda x: torch.sinc(x), [0.0], [0.0]),
    ("xlogy", lambda x: torch.xlogy(x, torch.tensor([2.0], dtype=torch.float64)), [0.0], [math.log(2.0)]),
    ("complex abs", lambda x: torch.complex(x, x * 0).abs(), [0.0], [0.0]),
    ("dist", lambda x: torch.dist(x, x.detach()), [1.0, 2.0], [0.0, 0.0]),
]


@pytest.mark.parametrize("name, function, at, expected", [pytest.param(*case, id=case[0]) for case in CASES])
def test_finite_subgradients(name, function, at, expected):
    found = gradient(function, at)
    assert found.reshape(-1).tolist() == pytest.approx(torch.tensor(expected, dtype=torch.float64).reshape(-1).tolist())


@pytest.mark.parametrize("function, at, expected", [
    (lambda x: x.prod(), [2.0, 0.0, 3.0], [[0, 3, 0], [3, 0, 2], [0, 2, 0]]),
    (lambda x: x.prod(), [0.0, 0.0], [[0, 1], [1, 0]]),
    (lambda x: (x ** 2).sum(), [0.0, 1.0], [[2, 0], [0, 2]]),
    (lambda x: x.var(), [2.0, 2.0], [[1, -1], [-1, 1]]),
    (lambda x: x.cumprod(0)[2], [2.0, 0.0, 3.0], [[0, 3, 0], [3, 0, 2], [0, 2, 0]]),
])
def test_second_derivatives_there(function, at, expected):
    x = torch.tensor(at, dtype=torch.float64)
    assert torch.autograd.functional.hessian(function, x).tolist() == expected


@pytest.mark.parametrize("name", ["var", "std"])
def test_spread_of_one_element_is_not_a_number(name):
    x = torch.tensor([[2.0], [3.0]], requires_grad=True)
    getattr(x, name)(1).sum().backward()
    assert x.grad.isnan().all()
    pair = torch.tensor([2.0, 3.0], requires_grad=True)
    spread = getattr(torch, name)(pair, dim=0, correction=2)
    spread.backward()
    assert spread == float("inf") and not pair.grad.isfinite().any()
