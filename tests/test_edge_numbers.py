"""Numbers beside tensors whose dtype can't hold them, and values at the ends of their dtypes: right, or refused; never wrapped silently."""
import math

import numpy as np
import pytest

import pyx_tensor as torch

T = torch.tensor
inf, nan = math.inf, math.nan


def byte(*values):
    return T(list(values), dtype=torch.uint8)


# (what is computed, what it gives)
VALUES = [
    (lambda: torch.addmm(torch.ones(2), torch.full((2, 2), nan), torch.ones(2, 2), alpha=0), torch.ones(2, 2)),      # as in BLAS
    (lambda: torch.addmv(torch.full((2,), inf), torch.ones(2, 2), torch.ones(2), beta=0), T([2., 2.])),
    (lambda: torch.addr(torch.ones(1), T([inf]), torch.ones(1), alpha=0), T([[nan]])),
    (lambda: torch.arange(1, 4, 0.5, dtype=torch.int32), torch.ones(6, dtype=torch.int32)),        # the step's whole part is 0
    (lambda: torch.linspace(1.9, 4.9, 7, dtype=torch.int64), T([1, 1, 2, 2, 3, 3, 4])),
    (lambda: torch.all(T([[3, 0], [1, 1]]), dim=()), T([[True, False], [True, True]])),
    (lambda: torch.div(byte(5, 250), -1), T([-5., -250.])),
    (lambda: torch.div(-1, byte(5)), T([-0.2])),
    (lambda: torch.float_power(byte(5), -1), T([0.2], dtype=torch.float64)),
    (lambda: torch.float_power(-1, byte(5)), T([-1.], dtype=torch.float64)),
    (lambda: torch.logit(byte(200)), T([nan])),
    (lambda: torch.logit(T([-2**63, 1])), T([nan, inf])),
    (lambda: torch.relu(T([2**53 + 1, 2**63 - 1, -1])), T([2**53 + 1, 2**63 - 1, 0])),
    (lambda: torch.bucketize(2.5, T([1, 2, 3])), T(2)),
    (lambda: torch.bucketize(T([2.5]), T([1, 2, 3])), T([2])),
    (lambda: torch.searchsorted(byte(1, 5), 300), T(2)),
    (lambda: torch.searchsorted(byte(1, 5), -1), T(0)),
    (lambda: torch.searchsorted(T([0.1, 0.2]), 0.2, right=True), T(2)),
    (lambda: torch.gcd(byte(6), T(4)), byte(2)),
    (lambda: torch.gcd(T([6]), T([True])), T([1])),
    (lambda: torch.logaddexp(T([0.]), T([0])), T([math.log(2)])),
    (lambda: torch.add(T([True]), T([True]), alpha=2), T([True])),
    (lambda: torch.add(T([1.], dtype=torch.float16), T([1]), alpha=0.5), T([1.5], dtype=torch.float16)),
    (lambda: torch.ldexp(T([1e-30]), T([140])), T([1e-30 * 2.**140])),
    (lambda: torch.ldexp(T([-0., inf]), T([2**40, -2**40])), T([-0., inf])),
    (lambda: torch.sinc(T([60000.], dtype=torch.float16)), T([0.], dtype=torch.float16)),
    (lambda: torch.pow(T([0j, complex(inf, 0), 2j]), 0), T([1 + 0j, 1, 1])),
    (lambda: torch.pow(T([complex(inf, 0), -2j]), 1), T([complex(inf, 0), -2j])),
    (lambda: T([1]) + np.int64(3), T([4])),
    (lambda: T([1]) + np.bool_(True), T([2])),
    (lambda: np.int32(7) // T([2]), T([3])),
]


@pytest.mark.parametrize("case", range(len(VALUES)))
def test_values(case):
    compute, expected = VALUES[case]
    found = compute()
    assert found.dtype is expected.dtype
    torch.testing.assert_close(found, expected, equal_nan=True)


REFUSED = [
    (RuntimeError, "uint8 without overflow", lambda: torch.clamp(byte(5), 0, 300)),
    (RuntimeError, "int8 without overflow", lambda: torch.clamp_max(T([5], dtype=torch.int8), 300)),
    (RuntimeError, "uint8 without overflow", lambda: torch.where(T([True]), 300, byte(5))),
    (RuntimeError, "uint8 without overflow", lambda: byte(5) ** 300),
    (RuntimeError, "complex", lambda: torch.add(T([1.]), T([1.]), alpha=1j)),
    (NotImplementedError, "complex", lambda: torch.hypot(T([1.]), T([1j]))),
    (NotImplementedError, "gcd", lambda: torch.gcd(T([True]), T([True]))),
]


@pytest.mark.parametrize("case", range(len(REFUSED)))
def test_refused(case):
    exception, word, call = REFUSED[case]
    with pytest.raises(exception, match=word):
        call()


def test_complex_keeps_both_parts():
    real, imag = T([inf, nan, -inf, -0., 1.]), T([1., inf, nan, -0., -inf])
    parts = torch.view_as_real(torch.complex(real, imag))
    torch.testing.assert_close(parts, torch.stack((real, imag), -1), rtol=0, atol=0, equal_nan=True)
    assert torch.signbit(parts[3]).all()


def test_complex_has_gradients_of_both_parts():
    real, imag = T([1., 2.], requires_grad=True), T([3., 4.], requires_grad=True)
    torch.complex(real, imag).abs().square().sum().backward()
    torch.testing.assert_close(real.grad, 2 * real.detach())
    torch.testing.assert_close(imag.grad, 2 * imag.detach())


@pytest.mark.parametrize("device", ["cpu", "reference"])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "int64"])
def test_common_divisors(dtype, device):
    """Of all pairs of small numbers, zeros, powers of 2, the largest ones, and their opposites."""
    info = np.iinfo(dtype)
    numbers = np.unique(np.array([0, 1, 2, 3, 6, 8, 12, 35, 64, 97, 120, info.max, info.max - 1, info.max // 2 + 1, info.max // 3], dtype))
    numbers = numbers if info.min == 0 else np.concatenate([numbers, -numbers])
    a, b = np.meshgrid(numbers, numbers)
    x, y = torch.from_numpy(a).to(device), torch.from_numpy(b).to(device)
    np.testing.assert_array_equal(torch.gcd(x, y).cpu().numpy(), np.gcd(a, b))
    np.testing.assert_array_equal(torch.gcd(x.t(), y[:1]).cpu().numpy(), np.gcd(a.T, b[:1]))
    small = numbers[np.abs(numbers.astype("f8")) <= 10]
    u, v = np.meshgrid(small, small)
    np.testing.assert_array_equal(torch.lcm(torch.from_numpy(u).to(device), torch.from_numpy(v).to(device)).cpu().numpy(), np.lcm(u, v))
    assert torch.gcd(x[:0], y[:0]).shape == (0, len(numbers)) and torch.gcd(x[0, 0], y[0, 0]).shape == ()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_nextafter_of_all_kinds(dtype):
    info = np.finfo(dtype)
    kinds = np.array([0.0, 1, 1.5, np.inf, info.max, info.tiny, info.smallest_subnormal, np.nextafter(info.tiny, info.dtype.type(0))], dtype)
    kinds = np.concatenate([kinds, -kinds, [np.nan]]).astype(dtype)
    a, b = (m.ravel() for m in np.meshgrid(kinds, kinds))
    with np.errstate(all="ignore"):
        expected = np.nextafter(a, b)
    found = torch.nextafter(torch.from_numpy(a), torch.from_numpy(b)).numpy()
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(np.signbit(found)[found == found], np.signbit(expected)[found == found])


@pytest.mark.parametrize("dtype, step, smallest", [(torch.float16, 2**-10, 2.**-24), (torch.bfloat16, 2**-7, 2.**-133)])
def test_nextafter_of_16_bits(dtype, step, smallest):
    start, towards = T([1., 0., -0., 2., 3., nan, inf]).to(dtype), T([2., -1., 1., 0., 3., 1., 0.]).to(dtype)
    found = torch.nextafter(start, towards).tolist()
    assert found[:5] == [1 + step, -smallest, smallest, 2 - step, 3] and math.isnan(found[5]) and found[6] == torch.finfo(dtype).max


def test_ldexp_where_the_power_overflows():
    mantissas = np.array([1.5, -3., 5e-324, 1.7e308])
    for exponent in (2000, 1100, 1, 0, -1, -1100, -2000):
        with np.errstate(over="ignore"):
            expected = np.ldexp(mantissas, exponent)
        np.testing.assert_array_equal(torch.ldexp(T(mantissas), T(exponent)).numpy(), expected)


def test_equal_compares_promoted_values():
    assert torch.equal(T([1, 2]), T([1., 2.])) and not torch.equal(T([1]), T([1.5])) and not torch.equal(T([1]), T([1., 1.]))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_nan_to_num_and_its_gradient(dtype):
    largest = torch.finfo(dtype).max
    x = torch.tensor([math.nan, math.inf, -math.inf, 1, largest, -0.0], dtype=dtype, requires_grad=True)
    y = x.nan_to_num()
    assert y.tolist() == [0, largest, -largest, 1, largest, 0] and math.copysign(1, y[5].item()) == -1
    assert torch.autograd.grad(y.sum(), x)[0].tolist() == [0, 0, 0, 1, 1, 1]
    assert x.nan_to_num(nan=math.inf).tolist() == [math.inf, largest, -largest, 1, largest, 0]
    assert x.nan_to_num(posinf=2.0).tolist() == [0, 2, -largest, 1, largest, 0]
    assert x.nan_to_num(1, 2, 3).tolist() == [1, 2, 3, 1, largest, 0]
    assert x.detach().nan_to_num(1, 2, 3).tolist() == [1, 2, 3, 1, largest, 0]
    z = torch.complex(x, x.detach().flip(0))
    assert torch.equal(z.nan_to_num(posinf=5), torch.complex(x.nan_to_num(posinf=5), x.detach().flip(0).nan_to_num(posinf=5)))
    assert torch.autograd.grad(z.nan_to_num().real.sum(), x)[0].tolist() == [0, 0, 0, 1, 1, 1]
    kept = x.detach().clone()
    assert kept.nan_to_num_(3) is kept and kept.tolist() == [3, largest, -largest, 1, largest, 0]
    with pytest.raises(TypeError, match="'nan' must be Number, not str"):
        x.nan_to_num("1")


def test_one_bound_gives_what_two_do():
    x, nan = torch.tensor([1., -2., math.nan, 0.]), torch.tensor([math.nan, 0., 1., -0.])
    for bound in (0, 0.5, math.nan, math.inf, nan, torch.tensor(0.5, dtype=torch.float64)):
        for one, both in ((x.clamp_min(bound), x.clamp(bound)), (x.clamp_max(bound), x.clamp(None, bound)), (x.clone().clamp_min_(bound), x.clamp(bound))):
            assert one.dtype is both.dtype is torch.float32 and one.isnan().tolist() == both.isnan().tolist() and torch.equal(one.nan_to_num(), both.nan_to_num())
    y = torch.tensor([1., 0., -1.], requires_grad=True)
    assert torch.autograd.grad(y.clamp_min(0).sum(), y)[0].tolist() == [1, 1, 0] and torch.autograd.grad(y.clamp_max(0).sum(), y)[0].tolist() == [0, 1, 1]
    assert torch.tensor([1, 5]).clamp_min(2.5).tolist() == [2.5, 5] and torch.tensor([1, 5]).clamp_max(3).dtype is torch.int64
    with pytest.raises(RuntimeError):
        torch.tensor([1, 5], dtype=torch.uint8).clamp_max(300)
