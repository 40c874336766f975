"""Padding, resampling, sampling at grids, blocks of images and channels rearranged."""
import numpy as np
import pytest

import pyx_tensor as torch
from pyx_tensor import nn
from pyx_tensor.autograd import gradcheck, gradgradcheck
from pyx_tensor.nn import functional as F
from pyx_tensor_cpu.level import cpu_level, set_cpu_level, supported_levels


def normal(*shape, seed=0):
    return torch.tensor(np.random.default_rng(seed).standard_normal(shape))


# --- padding ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("mode, numpy_mode", [("constant", "constant"), ("reflect", "reflect"), ("replicate", "edge"), ("circular", "wrap")])
@pytest.mark.parametrize("shape, pad", [((2, 5), (3, 1)), ((2, 3, 5), (0, 2)), ((2, 3, 4, 5), (3, 1, 0, 2)), ((1, 2, 3, 4, 5), (1, 2, 3, 0, 2, 1))])
def test_pad(mode, numpy_mode, shape, pad):
    x = normal(*shape)
    widths = [(0, 0)] * (x.ndim - len(pad) // 2) + [tuple(pad[i:i + 2]) for i in range(len(pad) - 2, -1, -2)]
    assert (F.pad(x, pad, mode).numpy() == np.pad(x.numpy(), widths, numpy_mode)).all()


def test_negative_pads_take_away():
    x = torch.arange(12.).reshape(1, 3, 4)
    assert F.pad(x, (-1, -2, 1, 0), value=7).tolist() == [[[7.], [1.], [5.], [9.]]]
    assert F.pad(x, (-1, 2), "replicate")[0, 0].tolist() == [1., 2., 3., 3., 3.]
    assert F.pad(x, (-1, 2), "circular")[0, 0].tolist() == [1., 2., 3., 1., 2.]
    assert F.pad(torch.tensor([[1, 2]]), (1, 0), value=9).tolist() == [[9, 1, 2]]


def test_pads_are_whole_numbers_of_any_kind():
    x = torch.arange(12.).reshape(1, 3, 4)
    for pad in ([1, 2], np.array([1, 2]), torch.tensor([1, 2]), [np.int8(1), torch.tensor(2)]):
        assert torch.equal(F.pad(x, pad, "reflect"), F.pad(x, (1, 2), "reflect"))
    changed = torch.tensor([1, 1])
    first = F.pad(x, changed, "replicate")
    changed += 1
    assert first.shape == (1, 3, 6) and F.pad(x, changed, "replicate").shape == (1, 3, 8)
    assert F.pad(x, (0, 0), "reflect").data_ptr() != x.data_ptr()
    with pytest.raises(TypeError):
        F.pad(x, (1.5, 1), "reflect")


@pytest.mark.parametrize("mode", ["constant", "reflect", "replicate", "circular"])
def test_pad_derivatives(mode):
    assert gradcheck(lambda x: F.pad(x, (2, -1, 0, 1), mode), (normal(1, 2, 3, 4).requires_grad_(),))
    assert gradgradcheck(lambda x: F.pad(x, (2, -1, 0, 1), mode) ** 2, (normal(1, 2, 3, 4).requires_grad_(),))


@pytest.mark.parametrize("error, message, call", [
    (RuntimeError, "divisible by 2", lambda x: F.pad(x, (1,))),
    (RuntimeError, "less than or equal to two times the input dimension", lambda x: F.pad(x, (1,) * 10)),
    (RuntimeError, "negative output size", lambda x: F.pad(x, (-3, -2))),
    (RuntimeError, r"got: padding \(4, 2\) at dimension 3 of input \[2, 3, 4, 4\]", lambda x: F.pad(x, (4, 2, 1, 1), "reflect")),
    (RuntimeError, "wrapping around more than once", lambda x: F.pad(x, (5, 2, 1, 1), "circular")),
    (RuntimeError, "doesn't take in value", lambda x: F.pad(x, (1, 2, 1, 1), "reflect", 1)),
    (NotImplementedError, "Unrecognised padding mode foo", lambda x: F.pad(x, (1, 2), "foo")),
    (NotImplementedError, "Padding size 2 is not supported for 4D", lambda x: F.pad(x, (1, 2), "reflect")),
    (RuntimeError, r"non-zero dimensions for input, but got: \[2, 3, 0, 4\]", lambda x: F.pad(x[:, :, :0], (1, 2, 1, 1), "replicate")),
])
def test_pad_refuses(error, message, call):
    with pytest.raises(error, match=message):
        call(torch.zeros(2, 3, 4, 4))


def test_padding_layers():
    x = torch.tensor([[[1., 2., 3.]]])
    assert nn.ConstantPad1d((1, 2), 5.)(x).tolist() == [[[5., 1., 2., 3., 5., 5.]]]
    assert nn.ReflectionPad1d(2)(x).tolist() == [[[3., 2., 1., 2., 3., 2., 1.]]]
    assert nn.ZeroPad2d((1, 0, 0, 1))(x).shape == (1, 2, 4)
    assert repr(nn.ConstantPad2d(1, 3.5)) == "ConstantPad2d(padding=(1, 1, 1, 1), value=3.5)"
    assert repr(nn.CircularPad3d(1)) == "CircularPad3d((1, 1, 1, 1, 1, 1))"


# --- resampling ---------------------------------------------------------------------------------------------------
def by_matrix(x, matrices):
    """Each spatial dim of x through a matrix (new, old)."""
    for dim, matrix in enumerate(matrices, 2):
        x = np.moveaxis(np.moveaxis(x, dim, -1) @ matrix.T, -1, dim)
    return x


def linear_matrix(size, count, align):
    matrix = np.zeros((count, size))
    for o in range(count):
        at = o * (size - 1) / (count - 1) if align and count > 1 else 0 if align else max((o + 0.5) * size / count - 0.5, 0)
        low = min(int(at), size - 1)
        matrix[o, low] += 1 - (at - low)
        matrix[o, min(low + 1, size - 1)] += at - low
    return matrix


def cubic_matrix(size, count, align):
    def weight(x, a=-0.75):
        x = abs(x)
        return (a + 2) * x**3 - (a + 3) * x**2 + 1 if x < 1 else a * x**3 - 5 * a * x**2 + 8 * a * x - 4 * a if x < 2 else 0
    matrix = np.zeros((count, size))
    for o in range(count):
        at = o * (size - 1) / (count - 1) if align else (o + 0.5) * size / count - 0.5
        for i in range(int(np.floor(at)) - 1, int(np.floor(at)) + 3):
            matrix[o, min(max(i, 0), size - 1)] += weight(at - i)
    return matrix


@pytest.mark.parametrize("align", [False, True])
@pytest.mark.parametrize("mode, matrix, size, grid", [
    ("linear", linear_matrix, (5,), (8,)), ("linear", linear_matrix, (5,), (1,)), ("bilinear", linear_matrix, (4, 6), (7, 3)),
    ("trilinear", linear_matrix, (2, 3, 4), (3, 5, 2)), ("bicubic", cubic_matrix, (5, 4), (9, 3))])
def test_interpolate(mode, matrix, size, grid, align):
    x = normal(2, 3, *size)
    expected = by_matrix(x.numpy(), [matrix(n, g, align) for n, g in zip(size, grid)])
    np.testing.assert_allclose(F.interpolate(x, grid, mode=mode, align_corners=align).numpy(), expected, rtol=1e-12, atol=1e-12)


def test_nearest():
    x = torch.arange(5.).reshape(1, 1, 5)
    assert F.interpolate(x, 3)[0, 0].tolist() == [0., 1., 3.]
    assert F.interpolate(x, 3, mode="nearest-exact")[0, 0].tolist() == [0., 2., 4.]
    assert F.interpolate(x, scale_factor=2)[0, 0].tolist() == [0., 0., 1., 1., 2., 2., 3., 3., 4., 4.]
    assert F.interpolate(x, scale_factor=1.5)[0, 0].tolist() == [0., 0., 1., 2., 2., 3., 4.]
    assert F.interpolate(x.byte(), 2).dtype is torch.uint8


def test_area_is_the_mean():
    assert F.interpolate(torch.arange(6.).reshape(1, 1, 6), 2, mode="area").tolist() == [[[1., 4.]]]


def test_antialiasing_keeps_the_mean():
    x = torch.ones(1, 1, 9, 7)
    for mode in ("bilinear", "bicubic", "lanczos"):
        np.testing.assert_allclose(F.interpolate(x, (4, 3), mode=mode, antialias=True).numpy(), 1, rtol=1e-6)
    x = torch.arange(8.).reshape(1, 1, 1, 8)
    np.testing.assert_allclose(F.interpolate(x, (1, 2), mode="bilinear", antialias=True).numpy().ravel(), [53 / 28, 143 / 28], rtol=1e-6)       # a triangle over 3.5 elements on either side


@pytest.mark.parametrize("names", [dict(scale_factor=2), dict(size=3, mode="nearest-exact"), dict(scale_factor=1.7, mode="bilinear"),
                                   dict(size=(3, 5), mode="bicubic", align_corners=True), dict(size=2, mode="bilinear", antialias=True), dict(size=3, mode="area")])
def test_interpolate_derivatives(names):
    assert gradcheck(lambda x: F.interpolate(x, **names), (normal(1, 2, 4, 5).requires_grad_(),))


@pytest.mark.parametrize("error, message, names", [
    (ValueError, "either size or scale_factor", {}), (ValueError, "only one of size", dict(size=2, scale_factor=2)),
    (ValueError, "same number of spatial dimensions", dict(size=(2, 2, 2))), (NotImplementedError, "got foo", dict(size=2, mode="foo")),
    (NotImplementedError, "Got 4D input, but linear mode needs 3D", dict(size=2, mode="linear")),
    (ValueError, "align_corners option", dict(size=2, align_corners=True)), (RuntimeError, r"output \(H: 0, W: 0\)", dict(size=0)),
    (ValueError, "Anti-alias", dict(size=2, antialias=True)), (TypeError, "size", dict(size=2.5))])
def test_interpolate_refuses(error, message, names):
    with pytest.raises(error, match=message):
        F.interpolate(torch.zeros(1, 3, 4, 4), **names)


def test_upsample_layers():
    x = torch.tensor([[[[1., 2.]]]])
    assert nn.UpsamplingNearest2d(scale_factor=2)(x).tolist() == [[[[1., 1., 2., 2.]] * 2]]
    np.testing.assert_allclose(nn.UpsamplingBilinear2d(size=(1, 3))(x).numpy().ravel(), [1, 1.5, 2])
    assert repr(nn.Upsample(scale_factor=2)) == "Upsample(scale_factor=2.0, mode='nearest')"


# --- grids --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("align", [False, True])
def test_the_identity_grid_samples_the_image(align):
    x = normal(2, 3, 4, 5)
    grid = F.affine_grid(torch.eye(2, 3).double().expand(2, 2, 3), x.shape, align_corners=align)
    for mode in ("bilinear", "nearest", "bicubic"):
        np.testing.assert_allclose(F.grid_sample(x, grid, mode, align_corners=align).numpy(), x.numpy(), rtol=1e-9, atol=1e-9)
    volume = normal(1, 2, 3, 4, 5)
    grid = F.affine_grid(torch.eye(3, 4).double().unsqueeze(0), volume.shape, align_corners=align)
    np.testing.assert_allclose(F.grid_sample(volume, grid, align_corners=align).numpy(), volume.numpy(), rtol=1e-9, atol=1e-9)


def test_what_lies_outside():
    x = torch.tensor([[[[1., 2., 3., 4.]]]])
    grid = torch.tensor([[[[-2., 0.], [1.5, 0.]]]])

    def at(mode):
        return F.grid_sample(x, grid, "nearest", mode, align_corners=False).ravel().tolist()
    assert at("zeros") == [0., 0.] and at("border") == [1., 4.] and at("reflection") == [3., 3.]


@pytest.mark.parametrize("mode", ["bilinear", "bicubic", "nearest"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("align", [False, True])
def test_grid_sample_derivatives(mode, padding, align):
    def sample(x, grid):
        return F.grid_sample(x, grid, mode, padding, align)
    x, grid = normal(1, 2, 4, 3).requires_grad_(), (normal(1, 2, 3, 2, seed=1) * 0.6).requires_grad_()
    assert gradcheck(sample, (x, grid)) and gradgradcheck(sample, (x, grid))
    if mode != "bicubic":
        x, grid = normal(1, 2, 3, 2, 3).requires_grad_(), (normal(1, 1, 2, 2, 3, seed=1) * 0.6).requires_grad_()
        assert gradcheck(sample, (x, grid)) and gradgradcheck(sample, (x, grid))


@pytest.fixture(params=supported_levels())
def level(request):
    before = cpu_level()
    set_cpu_level(request.param)
    yield
    set_cpu_level(before)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode, size, places", [
    (mode, size, places) for mode in ("bilinear", "bicubic", "nearest")
    for size, places in (((5, 4), (9, 17)), ((1, 3), (8, 8)), ((4, 4), (0, 3)), ((3, 2, 5), (3, 7, 4))) if mode != "bicubic" or len(size) == 2], ids=str)
def test_the_kernel_is_what_other_backends_compute(level, dtype, mode, padding, size, places):
    torch.manual_seed(0)
    x, g = torch.randn(2, 3, *size, dtype=dtype), torch.randn(2, 3, *places, dtype=dtype)
    grid = (torch.rand(2, *places, len(size), dtype=torch.float64) * 4 - 2).to(dtype)
    found = []
    for place in (lambda t: t, lambda t: t.to("reference"), lambda t: t.transpose(0, -1).contiguous().transpose(0, -1)):
        leaves = [place(t).requires_grad_() for t in (x, grid)]
        y = F.grid_sample(*leaves, mode, padding, align_corners=False)
        found.append([t.cpu().double() for t in (y, *torch.autograd.grad(y, leaves, place(g)))])
    for kernel, body, strided in zip(*found):
        assert kernel.shape == body.shape and torch.equal(kernel, strided)
        torch.testing.assert_close(kernel, body, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_half_types_are_sampled_in_float32_and_rounded_once(dtype):
    x, grid, g = normal(2, 3, 5, 4).to(dtype), normal(2, 6, 7, 2, seed=1).to(dtype), normal(2, 3, 6, 7, seed=2).to(dtype)
    found = []
    for leaves in ((x, grid), (x.float(), grid.float())):
        leaves = [t.requires_grad_() for t in leaves]
        y = F.grid_sample(*leaves, "bicubic", "reflection", align_corners=False)
        found.append([t.to(dtype) for t in (y, *torch.autograd.grad(y, leaves, g.to(y.dtype)))])
    assert all(a.dtype == dtype and torch.equal(a, b) for a, b in zip(*found))


def test_points_that_are_no_numbers():
    x = torch.arange(1.0, 5.0).reshape(1, 1, 1, 4)
    grid = torch.tensor([[[[float("nan"), 0.0], [float("inf"), 0.0], [-float("inf"), 0.0], [1e30, 0.0]]]])
    for place in (lambda t: t, lambda t: t.to("reference")):
        border, mirrored, zeros = (F.grid_sample(place(x), place(grid), "nearest", padding, align_corners=False).ravel().tolist()
                                   for padding in ("border", "reflection", "zeros"))
        assert border == [1, 4, 1, 4] and mirrored[:3] == [1, 1, 1] and zeros == [0] * 4
        assert F.grid_sample(place(x), place(grid), align_corners=False).ravel().isnan().tolist() == [True, True, True, False]
    x[..., 0] = float("inf")
    assert F.grid_sample(x, torch.tensor([[[[-3.0, 0.0], [0.5, 0.0]]]]), align_corners=False).ravel().tolist() == [0, 3.5]


def test_the_kernel_refuses_what_it_was_not_made_for():
    from pyx_tensor_cpu import sampling
    x, grid = np.zeros((1, 1, 2, 2)), np.zeros((1, 1, 1, 2))
    for error, arguments in ((ValueError, (x, grid[..., :1], 0, 0, False)), (ValueError, (x, grid, 3, 0, False)), (ValueError, (x[..., :0], grid, 0, 0, False)),
                             (TypeError, (x.astype(int), grid.astype(int), 0, 0, False)), (ValueError, (x.astype(np.float32), grid, 0, 0, False)),
                             (ValueError, (np.zeros((2, 1, 2, 2)), grid, 0, 0, False)), (ValueError, (x[0], grid, 0, 0, False)),
                             (ValueError, (np.zeros((1, 1, 2, 2, 2)), np.zeros((1, 1, 1, 1, 3)), 2, 0, False))):
        with pytest.raises(error):
            sampling.grid_sampler(*arguments)
    with pytest.raises(ValueError):
        sampling.grid_sampler_input(x, grid, (1, 1, 2, 2), 0, 0, False)
    with pytest.raises(ValueError):
        sampling.grid_sampler_grid(np.zeros((1, 1, 1, 2)), x, grid, 0, 0, False)


@pytest.mark.parametrize("error, message, call", [
    (ValueError, "got: 'foo'", lambda x: F.grid_sample(x, torch.zeros(1, 2, 2, 2), "foo")),
    (ValueError, "padding_mode", lambda x: F.grid_sample(x, torch.zeros(1, 2, 2, 2), padding_mode="foo")),
    (RuntimeError, r"grid with sizes \[1, 2, 2, 3\]", lambda x: F.grid_sample(x, torch.zeros(1, 2, 2, 3), align_corners=True)),
    (RuntimeError, "same batch size", lambda x: F.grid_sample(x, torch.zeros(2, 2, 2, 2), align_corners=True)),
    (ValueError, "Nx2x3", lambda x: F.affine_grid(torch.zeros(1, 3, 3), x.shape, True)),
    (NotImplementedError, "4D and 5D", lambda x: F.affine_grid(torch.zeros(1, 2, 3), (1, 3, 4), True))])
def test_grids_refused(error, message, call):
    with pytest.raises(error, match=message):
        call(torch.zeros(1, 3, 4, 4))


# --- blocks and channels ------------------------------------------------------------------------------------------
def test_fold_is_the_adjoint_of_unfold():
    x, arguments = normal(2, 3, 5, 6).requires_grad_(), ((2, 3), (2, 1), (1, 2), (1, 2))
    columns = F.unfold(x, *arguments)
    g = normal(*columns.shape, seed=1)
    np.testing.assert_allclose(torch.autograd.grad(columns, x, g)[0].numpy(), F.fold(g, (5, 6), *arguments).numpy(), rtol=1e-12)
    assert gradcheck(lambda c: F.fold(c, (5, 6), *arguments), (g.requires_grad_(),))
    assert F.unfold(x[0], 2).shape == (12, 20) and F.unfold(x[:0], 2).shape == (0, 12, 20)
    np.testing.assert_allclose(nn.Fold((5, 6), 2)(nn.Unfold(2)(torch.ones_like(x)))[0, 0].detach().numpy()[1:4, 1:5], 4)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.int8, torch.bool, torch.complex64], ids=str)
@pytest.mark.parametrize("size, kernel, dilation, padding, stride", [
    ((5, 6), (2, 3), (2, 1), (1, 2), (1, 2)), ((1, 40), (3, 1), (1, 1), (4, 0), (3, 1)), ((7, 3), (1, 2), (1, 2), (0, 5), (2, 3)), ((20, 33), (4, 4), 1, 0, 4)])
def test_blocks(size, kernel, dilation, padding, stride, dtype):
    """Against the definition: windows wholly in the padding, steps that leave elements out, images that don't lie in a row."""
    x = (8 * normal(2, 3, *size[::-1])).to(dtype).transpose(2, 3)
    (dh, dw), (ph, pw), (sh, sw) = ((n, n) if isinstance(n, int) else n for n in (dilation, padding, stride))
    columns, padded = F.unfold(x, kernel, dilation, padding, stride), np.pad(x.numpy(), ((0, 0), (0, 0), (ph, ph), (pw, pw)))
    rows = [padded[:, :, i * dh:padded.shape[2] - (kernel[0] - 1 - i) * dh:sh, j * dw:padded.shape[3] - (kernel[1] - 1 - j) * dw:sw].reshape(2, 3, -1)
            for i in range(kernel[0]) for j in range(kernel[1])]
    np.testing.assert_array_equal(columns.numpy(), np.stack(rows, 2).reshape(2, -1, rows[0].shape[-1]))
    assert columns.dtype is dtype
    images, body = F.fold(columns, size, kernel, dilation, padding, stride), F.fold(columns.to("reference"), size, kernel, dilation, padding, stride)
    assert images.dtype is dtype
    np.testing.assert_allclose(images.numpy(), body.cpu().numpy(), rtol=1e-2 if dtype is torch.float16 else 1e-6)


def test_blocks_that_do_not_fit():
    from pyx_tensor_cpu import columns
    ones, two = (1, 1), (2, 2)
    for shape, arguments in (((2, 4, 5, 5), (two, two, (0, 1), ones, ones)), ((4, 5, 5), (two, two, ones, ones, ones)), ((2, 4, 5, 5), (two, (-1, 2), ones, ones, ones))):
        with pytest.raises(ValueError, match="im2col"):
            columns.im2col(np.zeros(shape), *arguments)
    for shape in ((2, 5, 4), (2, 4, 5), (4, 4)):
        with pytest.raises(ValueError, match="col2im"):
            columns.col2im(np.zeros(shape), (5, 5), two, two, ones, (0, 0), ones)


def test_pixels_and_channels():
    x = torch.arange(24.).reshape(1, 8, 1, 3)
    y = F.pixel_shuffle(x, 2)
    assert y.shape == (1, 2, 2, 6) and y[0, 0, 0].tolist() == [0., 3., 1., 4., 2., 5.]
    assert torch.equal(F.pixel_unshuffle(y, 2), x) and torch.equal(nn.PixelUnshuffle(2)(nn.PixelShuffle(2)(x)), x)
    assert F.channel_shuffle(x, 2)[0, :, 0, 0].tolist() == [0., 12., 3., 15., 6., 18., 9., 21.]


@pytest.mark.parametrize("message, call", [
    (r"input.size\(-3\)=3 is not divisible by 4", lambda x: F.pixel_shuffle(x, 2)), ("at least 3 dimensions", lambda x: F.pixel_shuffle(x[0, 0], 2)),
    (r"input.size\(-2\)=4 is not divisible by 3", lambda x: F.pixel_unshuffle(x, 3)), ("Got 3 channels and 2 groups", lambda x: F.channel_shuffle(x, 2)),
    ("components must be at least one", lambda x: F.unfold(x, 5)), ("kernel_height: 0", lambda x: F.unfold(x, 0)),
    (r"input.size\(1\)=13 and kernel_size=\(2, 2\)", lambda x: F.fold(torch.zeros(1, 13, 9), 4, 2)),
    (r"sliding blocks 3 \* 3 = 9, but got input.size\(2\)=8", lambda x: F.fold(torch.zeros(1, 12, 8), 4, 2))])
def test_blocks_refused(message, call):
    with pytest.raises(RuntimeError, match=message):
        call(torch.zeros(1, 3, 4, 4))
