"""float16 and bfloat16: every operation gives what float32 gives of the same numbers, rounded."""
import numpy as np
import pytest

import pyx_tensor as torch
from op_samples import RANDOM, Maker, S, calls
from pyx_tensor.core.definitions import functions

ULP = dict(float16=2.0**-10, bfloat16=2.0**-7)
NAMES = sorted(n for n in S if n in functions and n not in RANDOM)

# What isn't a rounded value of the same numbers: the neighbour, the bits, parts of a number, positions in sorted halves, whole counts.
OTHER_NUMBERS = {"nextafter", "hash_tensor", "frexp", "histogramdd", "view", "complex", "polar", "imag", "view_as_real", "view_as_complex"}
# Differences of nearly equal rounded numbers: the result is as large as the rounding.
CANCELS = {"cov", "corrcoef", "var", "std", "var_mean", "std_mean", "digamma", "lgamma", "remainder", "fmod", "floor_divide", "polygamma", "mvlgamma"}


def flat(result):
    if isinstance(result, torch.Tensor):
        return [result]
    return [t for item in result for t in flat(item)] if isinstance(result, (tuple, list)) else []


def widened(item):
    if isinstance(item, torch.Tensor):
        return item.float() if item.dtype.name in ULP else item
    return type(item)(map(widened, item)) if isinstance(item, (list, tuple)) else item


def outcome(name, args, kwargs):
    try:
        return functions[name](*args, **kwargs)
    except (NotImplementedError, RuntimeError, TypeError) as error:
        return error


@pytest.mark.parametrize("kind", ULP)
@pytest.mark.parametrize("name", [n for n in NAMES if n not in OTHER_NUMBERS])
def test_rounded(name, kind):
    for c in calls(name, Maker(torch, kind)):
        half = outcome(name, c.args, c.kwargs)
        full = outcome(name, tuple(map(widened, c.args)), {k: widened(v) for k, v in c.kwargs.items()})
        if isinstance(half, Exception):
            assert isinstance(half, NotImplementedError) or isinstance(full, Exception) or name in REFUSED, repr(half)
            continue
        for h, f in zip(flat(half), flat(full)):
            assert h.shape == f.shape
            if h.dtype.name not in ULP:
                continue
            expected = f.detach().double().numpy()
            scale = np.abs(expected[np.isfinite(expected)]).max(initial=0.0)
            slack = ULP[kind] * (16 if name in CANCELS else 4)
            np.testing.assert_allclose(h.detach().double().numpy(), expected, rtol=slack, atol=slack * max(scale, 1e-3))


# Refused for half types as in PyTorch.
REFUSED = {"quantile", "nanquantile", "stft"}


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("factors", [{}, dict(beta=0.5, alpha=3), dict(beta=0)], ids=str)
def test_sums_with_products_round_once(dtype, factors):
    batch, vector, row, many = torch.randn(3, 20, 40).to(dtype), torch.randn(40).to(dtype), torch.randn(50).to(dtype), torch.randn(3, 20, 50).to(dtype)
    other = torch.randn(3, 40, 50).to(dtype)
    for name, operands in (("addmm", (row, batch[0], other[0])), ("addmm", (many[0], batch[0], other[0])), ("addmv", (many[0, :, 0], batch[0], vector)),
                           ("baddbmm", (many, batch, other)), ("addbmm", (many[0], batch, other))):
        found = getattr(torch, name)(*operands, **factors)
        exact = getattr(torch, name)(*[t.double() for t in operands], **factors)
        assert found.dtype == dtype
        unit = 2.0**-11 if dtype == torch.float16 else 2.0**-8
        assert ((found.double() - exact).abs() <= unit * exact.abs() + 1e-5 * 40).all(), name
        leaves = [t.detach().clone().requires_grad_() for t in operands]
        wide = [t.double().detach().requires_grad_() for t in operands]
        for a, b in zip(torch.autograd.grad(getattr(torch, name)(*leaves, **factors).sum(), leaves, allow_unused=True),
                        torch.autograd.grad(getattr(torch, name)(*wide, **factors).sum(), wide, allow_unused=True)):
            assert (a is None) == (b is None) and (a is None or torch.allclose(a.double(), b, rtol=0.02, atol=0.1))
