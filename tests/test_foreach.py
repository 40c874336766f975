"""Operations over lists of tensors, against the operation on each."""
import pytest

import pyx_tensor as torch


@pytest.fixture
def lists():
    return [torch.tensor([1.0, 4.0]), torch.tensor([[0.25, 9.0]])], [torch.tensor([2.0, -1.0]), torch.tensor([[0.5, 3.0]])]


def same(results, expected):
    assert isinstance(results, list) and len(results) == len(expected)
    for r, e in zip(results, expected):
        assert torch.allclose(r, e)


@pytest.mark.parametrize("name", "abs neg exp sqrt log reciprocal sigmoid tanh round sign rsqrt".split())
def test_one_operand(lists, name):
    a, _ = lists
    expected = [getattr(torch, name)(t) for t in a]
    same(getattr(torch, f"_foreach_{name}")(a), expected)
    assert getattr(torch, f"_foreach_{name}_")(a) is None
    same(a, expected)


@pytest.mark.parametrize("name", "add sub mul div maximum minimum pow".split())
@pytest.mark.parametrize("operand", ["list", "number", "numbers", "tensor"])
def test_two_operands(lists, name, operand):
    a, b = lists
    operand = dict(list=b, number=2.0, numbers=[2.0, 3.0], tensor=torch.tensor(2.0))[operand]
    each = operand if isinstance(operand, list) else [operand] * 2
    expected = [getattr(torch, name)(t, o if isinstance(o, torch.Tensor) else torch.tensor(o)) for t, o in zip(a, each)]
    same(getattr(torch, f"_foreach_{name}")(a, operand), expected)
    getattr(torch, f"_foreach_{name}_")(a, operand)
    same(a, expected)


def test_others(lists):
    a, b = lists
    same(torch._foreach_add(a, b, alpha=2), [s + 2 * t for s, t in zip(a, b)])
    same(torch._foreach_addcmul(a, b, b, 0.5), [s + 0.5 * t * t for s, t in zip(a, b)])
    same(torch._foreach_addcdiv(a, b, b, [1.0, 2.0]), [a[0] + 1, a[1] + 2])
    same(torch._foreach_lerp(a, b, 0.25), [s + 0.25 * (t - s) for s, t in zip(a, b)])
    same(torch._foreach_norm(b), [t.norm() for t in b])
    same(torch._foreach_max(a), [torch.tensor(4.0), torch.tensor(9.0)])
    same(torch._foreach_pow(2.0, b), [2 ** t for t in b])
    torch._foreach_copy_(a, b)
    same(a, b)
    torch._foreach_zero_(a)
    assert not any(t.any() for t in a)


def test_refusals(lists):
    a, b = lists
    with pytest.raises(RuntimeError, match="same number"):
        torch._foreach_add(a, b[:1])
    with pytest.raises(RuntimeError, match="at least one"):
        torch._foreach_exp([])
    with pytest.raises(TypeError, match="tuple of Tensors"):
        torch._foreach_exp(a[0])
