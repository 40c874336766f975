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
