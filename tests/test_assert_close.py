"""pyx_tensor.testing.assert_close."""
import numpy as np
import pytest

import pyx_tensor as torch
from pyx_tensor.testing import assert_close


def fails(actual, expected, match, **options):
    with pytest.raises(AssertionError, match=match):
        assert_close(actual, expected, **options)


def test_tolerances_go_by_dtype():
    one = torch.ones(3)
    assert_close(one * (1 + 1e-6), one)
    fails(one * (1 + 1e-4), one, "Tensor-likes are not close!")
    assert_close(one.double() * (1 + 1e-8), one.double())
    fails(one.double() * (1 + 1e-6), one.double(), "up to 1e-07 allowed")
    assert_close(one.half() * 1.0009, one.half())
    assert_close(one.bfloat16() * 1.01, one.bfloat16())
    fails(torch.tensor([1, 2]), torch.tensor([1, 3]), "Tensor-likes are not equal!")


def test_the_message_says_where_and_how_much():
    with pytest.raises(AssertionError) as caught:
        assert_close(torch.tensor([[1.0, 2.0], [3.0, 5.0]]), torch.tensor([[1.0, 2.0], [3.5, 4.0]]))
    assert str(caught.value).splitlines() == [
        "Tensor-likes are not close!", "", "Mismatched elements: 2 / 4 (50.0%)",
        "Greatest absolute difference: 1.0 at index (1, 1) (up to 1e-05 allowed)",
        "Greatest relative difference: 0.25 at index (1, 1) (up to 1.3e-06 allowed)"]


def test_one_tolerance_alone_is_refused():
    with pytest.raises(ValueError, match="rtol and atol must both be given"):
        assert_close(1.0, 1.0, rtol=1e-3)
    assert_close(1.0, 1.1, rtol=0, atol=0.2)
    fails(1.0, 1.1, "Scalars are not close!", rtol=0, atol=0.05)


def test_nan_and_infinity():
    nan, inf = float("nan"), float("inf")
    fails(torch.tensor([nan]), torch.tensor([nan]), "not close")
    assert_close(torch.tensor([nan, inf, -inf]), torch.tensor([nan, inf, -inf]), equal_nan=True)
    fails(torch.tensor([inf]), torch.tensor([-inf]), "not close", rtol=1.0, atol=1e9)
    fails(torch.tensor([1.0]), torch.tensor([inf]), "not close")


@pytest.mark.parametrize("actual, expected, name, option", [
    (torch.zeros(2), torch.zeros(3), "shape", None), (torch.zeros(2), torch.zeros(2, 1), "shape", None),
    (torch.zeros(2), torch.zeros(2).double(), "dtype", "check_dtype"),
    (torch.zeros(2), torch.zeros(2, device="reference"), "device", "check_device")])
def test_attributes_must_agree(actual, expected, name, option):
    fails(actual, expected, f"The values for attribute '{name}' do not match")
    if option is not None:
        assert_close(actual, expected, **{option: False})


def test_strides_are_compared_on_request():
    a = torch.arange(6.0).reshape(2, 3)
    b = a.t().contiguous().t()
    assert_close(a, b)
    fails(a, b, "attribute 'stride' do not match", check_stride=True)


def test_nests_are_compared_part_by_part():
    assert_close({"a": [torch.ones(2), 1.0], "b": None}, {"b": None, "a": (torch.ones(2), 1.0)})
    fails({"a": [torch.ones(2), 1.0]}, {"a": [torch.ones(2), 2.0]}, r"The failure occurred for item \['a'\]\[1\]")
    fails([1, 2], [1], "length")
    fails({"a": 1}, {"b": 1}, "keys")
    fails(None, 1, "None mismatch")


def test_what_can_not_be_compared():
    with pytest.raises(TypeError, match="No comparison pair"):
        assert_close("a", "a")
    with pytest.raises(TypeError, match="allow_subclasses=False"):
        assert_close(torch.Parameter(torch.ones(2)), torch.ones(2), allow_subclasses=False)


def test_arrays_numbers_and_wide_integers():
    assert_close(torch.ones(2), np.ones(2, np.float32))
    assert_close(True, True)
    fails(True, False, "not equal")
    big = np.array([2 ** 64 - 1], np.uint64)
    assert_close(big, big.copy())
    fails(big, big - np.uint64(1), "not equal")
    fails(torch.tensor([2 ** 53 + 1]), torch.tensor([2 ** 53]), "not equal")
    fails(torch.tensor([1 + 1j]), torch.tensor([1 + 2j]), "not close")


def test_the_message_can_be_replaced():
    fails(1, 2, "^mine$", msg="mine")
    fails(1, 2, "^mine: Scalars are not equal", msg=lambda text: f"mine: {text}")
