"""Weighted sums of places along a dim: the CPU's kernel, the operations that any backend has instead, and their gradients."""
import numpy as np
import pytest

import pyx_tensor as torch
from pyx_tensor.autograd import gradcheck, gradgradcheck
from pyx_tensor.nn import functional as F
from pyx_tensor.ops import namespace as ops
from pyx_tensor.ops.sliding import Taps
from pyx_tensor_cpu import resample as kernel

FLOATS = [torch.float32, torch.float64, torch.complex64, torch.complex128, torch.bfloat16, torch.float16]
PLACES = np.array([[0, 2, 1, 2], [1, 2, 0, 0]])
WEIGHTS = np.array([[0.5, 1, 0, 2], [0.25, 0, 1, -1]])


def matrix(taps, size):
    """What the taps multiply a dim of `size` elements with."""
    m = np.zeros((taps.places.shape[1], size))
    for place, weight in zip(taps.places, np.ones(taps.places.shape) if taps.weights is None else taps.weights):
        np.add.at(m, (np.arange(m.shape[0]), place), weight)
    return m


@pytest.mark.parametrize("taps", [Taps(PLACES, WEIGHTS), Taps(np.array(PLACES, order="F"), WEIGHTS[:, ::-1]), Taps(PLACES[:1], None)],
                         ids=["weighted", "strided", "copied"])
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("dim", [0, 1, 2])
def test_the_kernel_and_its_adjoint_are_a_matrix(taps, dtype, dim):
    shape = [3 if d == dim else d + 2 for d in range(3)]
    x = torch.randn(shape, dtype=torch.complex128 if dtype.is_complex else torch.float64).to(dtype)
    g = torch.randn([4 if d == dim else d + 2 for d in range(3)]).to(dtype)
    m = matrix(taps, 3)
    wide = np.complex128 if dtype.is_complex else np.float64
    tolerance = dict(rtol=0, atol=0.03 if dtype.itemsize == 2 else 1e-6)
    for layout in (x, x.transpose(0, 2).contiguous().transpose(0, 2)):
        y = ops._resample(layout, dim, taps)
        assert y.dtype == dtype
        np.testing.assert_allclose(y.to(torch.complex128).numpy(), np.moveaxis(np.tensordot(m, np.array(x.tolist(), wide), (1, dim)), 0, dim), **tolerance)
    back = ops._resample_backward(g, dim, 3, taps)
    assert back.dtype == dtype
    np.testing.assert_allclose(back.to(torch.complex128).numpy(), np.moveaxis(np.tensordot(m.T, np.array(g.tolist(), wide), (1, dim)), 0, dim), **tolerance)


@pytest.mark.parametrize("taps", [Taps(PLACES, WEIGHTS), Taps(PLACES[:1], None)], ids=["weighted", "copied"])
def test_gradients(taps):
    x = torch.randn(2, 3, 2, dtype=torch.float64, requires_grad=True)
    assert gradcheck(lambda x: ops._resample(x, 1, taps), (x,)) and gradgradcheck(lambda x: ops._resample(x, 1, taps), (x,))


def test_other_backends_have_operations_instead(monkeypatch):
    x, g = torch.randn(2, 3, 2), torch.randn(2, 4, 2)
    for taps in (Taps(PLACES, WEIGHTS), Taps(PLACES[:1], None)):
        expected = ops._resample(x, 1, taps), ops._resample_backward(g, 1, 3, taps)
        found = ops._resample(x.to("reference"), 1, taps), ops._resample_backward(g.to("reference"), 1, 3, taps)
        for a, b in zip(expected, found):
            assert b.device.type == "reference" and torch.allclose(a, b.cpu())


@pytest.mark.parametrize("dtype", [torch.bool, torch.uint8, torch.int16, torch.int32, torch.int64, torch.complex128], ids=str)
def test_copies_of_every_dtype(dtype):
    x = torch.arange(24).reshape(2, 3, 4).to(dtype)
    for dim, places in ((0, [1, 1, 0]), (1, [2, 0, 0, 1]), (2, [3, 3, 3, 0, 1])):
        y = ops._resample(x, dim, Taps(np.array([places]), None))
        assert y.dtype == dtype and torch.equal(y, x.index_select(dim, torch.tensor(places)))


def test_a_weight_of_zero_keeps_infinity_away():
    x = torch.tensor([[[1.0, float("inf"), 3.0]]])
    assert F.interpolate(x, size=3, mode="linear", align_corners=True).tolist() == [[[1, float("inf"), 3]]]
    assert F.interpolate(x, size=5, mode="linear", align_corners=True)[0, 0, [0, 4]].tolist() == [1, 3]


@pytest.mark.parametrize("shape", [(0, 2, 4, 4), (2, 3, 1, 1), (1, 1, 7, 5)])
@pytest.mark.parametrize("mode", ["nearest", "bilinear", "bicubic"])
def test_sizes(shape, mode):
    x = torch.randn(shape, requires_grad=True)
    y = F.interpolate(x, size=(6, 3), mode=mode)
    assert y.shape == (*shape[:2], 6, 3)
    y.sum().backward()
    assert x.grad.shape == x.shape and abs(x.grad.sum().item() - y.numel()) < 1e-3


def test_bytes_are_whole_after_every_dim():
    """What a filter overshoots along one dim is cut off before the next."""
    x = (torch.arange(35) * 97 % 256).reshape(1, 1, 5, 7).to(torch.uint8)
    for mode, antialias in (("bicubic", False), ("bicubic", True), ("bilinear", False)):
        wide = F.interpolate(x, size=(5, 16), mode=mode, antialias=antialias)
        assert wide.dtype == torch.uint8
        assert torch.equal(F.interpolate(x, size=(11, 16), mode=mode, antialias=antialias),
                           F.interpolate(wide, size=(11, 16), mode=mode, antialias=antialias))


def test_halves_of_bytes_are_rounded_up():
    x = torch.tensor([[[[0, 1, 4, 5]]]], dtype=torch.uint8)
    assert F.interpolate(x, size=(1, 7), mode="bilinear", align_corners=True).tolist() == [[[[0, 1, 1, 3, 4, 5, 5]]]]


def test_areas_without_windows():
    assert F.interpolate(torch.ones(1, 2, 3, 1), scale_factor=0.7, mode="area").shape == (1, 2, 2, 0)
    with pytest.raises(RuntimeError, match="greater than 0"):
        F.interpolate(torch.ones(1, 2, 3, 1), scale_factor=0.7, mode="bilinear")


def test_wrong_arguments():
    a = np.ones((2, 3), np.float32)
    with pytest.raises(IndexError, match="place 3 is out of range for 3 elements"):
        kernel.resample(a, 1, (np.array([[0, 3]]), np.ones((1, 2))))
    with pytest.raises(IndexError, match="place -1 is out of range for 2 elements"):
        kernel.resample(a, 0, (np.array([[0, -1]]), None))
    with pytest.raises(ValueError, match=r"as many weights as places, \(1, 2\), got shape \(1, 3\)"):
        kernel.resample(a, 1, (np.array([[0, 1]]), np.ones((1, 3))))
    with pytest.raises(ValueError, match=r"expected places \(taps, 3\) of int64, got shape \(1, 2\)"):
        kernel.resample_backward(a, 1, 5, (np.array([[0, 1]]), None))
    with pytest.raises(TypeError, match="floating-point or complex"):
        kernel.resample(np.ones((2, 3), np.int64), 1, (np.array([[0, 1]]), np.ones((1, 2))))
