"""Convolution: values against sums by NumPy, gradients by finite differences, kernels against definitions, what is refused."""
import itertools

import numpy as np
import pytest

import pyx_tensor as torch
from pyx_tensor import nn
from pyx_tensor.autograd import gradcheck, gradgradcheck
from pyx_tensor.nn import functional as F


def normal(*shape, seed=0, dtype="f8"):
    return torch.tensor(np.random.default_rng(seed).standard_normal(shape).astype(dtype))


def convolved(x, w, stride, padding, dilation, groups):
    """The definition, window by window, in float64."""
    x, w = x.astype("f8"), w.astype("f8")
    n = x.ndim - 2
    x = np.pad(x, [(0, 0), (0, 0), *[(p, p) for p in padding]])
    grid = [(x.shape[2 + d] - dilation[d] * (w.shape[2 + d] - 1) - 1) // stride[d] + 1 for d in range(n)]
    per_group, outputs = w.shape[1], w.shape[0] // groups
    y = np.zeros((x.shape[0], w.shape[0], *grid))
    for at in itertools.product(*map(range, grid)):
        window = x[(slice(None), slice(None), *[slice(a * s, a * s + d * (k - 1) + 1, d) for a, s, d, k in zip(at, stride, dilation, w.shape[2:])])]
        for g in range(groups):
            part = window[:, g * per_group:(g + 1) * per_group].reshape(x.shape[0], -1)
            y[(slice(None), slice(g * outputs, (g + 1) * outputs), *at)] = part @ w[g * outputs:(g + 1) * outputs].reshape(outputs, -1).T
    return y


# samples, channels of a group, outputs of a group, groups, size, kernel, stride, padding, dilation
CASES = [
    (2, 3, 4, 1, (7,), (3,), (2,), (1,), (1,)),
    (1, 2, 9, 2, (70,), (4,), (1,), (2,), (3,)),
    (2, 3, 5, 1, (6, 7), (3, 2), (1, 2), (1, 0), (1, 1)),
    (3, 5, 8, 2, (9, 50), (3, 3), (1, 1), (1, 1), (2, 1)),
    (2, 40, 17, 1, (5, 6), (2, 3), (2, 3), (2, 4), (1, 2)),
    (2, 1, 1, 5, (8, 61), (3, 3), (1, 1), (1, 1), (1, 1)),       # a plane for each channel
    (2, 1, 2, 3, (9, 8), (5, 3), (2, 3), (2, 1), (1, 2)),
    (2, 1, 4, 3, (7, 7), (3, 3), (2, 2), (1, 1), (1, 1)),
    (2, 6, 1, 1, (9, 20), (3, 3), (1, 1), (1, 1), (1, 1)),       # one output
    (2, 20, 24, 1, (6, 9), (1, 1), (1, 1), (0, 0), (1, 1)),      # no windows to speak of
    (2, 20, 24, 1, (6, 9), (1, 1), (2, 2), (0, 0), (1, 1)),
    (3, 17, 19, 1, (13, 14), (3, 3), (1, 1), (1, 1), (1, 1)),    # Winograd's way, ragged tiles
    (2, 16, 33, 1, (15, 18), (3, 3), (1, 1), (0, 2), (1, 1)),
    (3, 170, 168, 1, (10, 11), (3, 3), (1, 1), (1, 1), (1, 1)),  # the same with a weight too large to keep
    (1, 3, 4, 1, (4, 5, 6), (2, 3, 2), (1, 2, 1), (1, 0, 1), (1, 1, 2)),
    (2, 1, 1, 3, (4, 5, 6), (2, 3, 2), (2, 1, 1), (1, 0, 1), (1, 1, 2)),
]


def arrays(case, dtype="f8"):
    samples, channels, outputs, groups, size, kernel = case[:6]
    x, w = (np.random.default_rng(i).standard_normal(shape).astype(dtype) for i, shape in
            enumerate([(samples, channels * groups, *size), (outputs * groups, channels, *kernel)]))
    return x, w, np.linspace(-1, 1, outputs * groups).astype(dtype)


def levels():
    from pyx_tensor_cpu.level import supported_levels
    return supported_levels()


@pytest.fixture(params=levels())
def level(request):
    from pyx_tensor_cpu.level import cpu_level, set_cpu_level
    before = cpu_level()
    set_cpu_level(request.param)
    yield request.param
    set_cpu_level(before)


@pytest.mark.rows("S359")
@pytest.mark.parametrize("dtype, tolerance", [("f4", 2e-5), ("f8", 1e-12)])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_values_are_numpys(case, dtype, tolerance, level):
    x, w, b = arrays(case, dtype)
    stride, padding, dilation, groups = *case[6:], case[3]
    y = torch.convolution(*map(torch.tensor, (x, w, b)), stride, padding, dilation, False, 0, groups)
    expected = convolved(x, w, stride, padding, dilation, groups) + b.reshape(-1, *[1] * len(stride))
    assert y.shape == expected.shape
    np.testing.assert_allclose(y.numpy(), expected, rtol=tolerance, atol=tolerance * np.abs(expected).max())


@pytest.mark.rows("S359")
@pytest.mark.parametrize("dtype, tolerance", [("f4", 1e-4), ("f8", 1e-11)])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_gradients_are_adjoint(case, dtype, tolerance, level):
    """<y, w * x> is the same sum from each of the three operations."""
    x, w, _ = arrays(case, dtype)
    stride, padding, dilation, groups = *case[6:], case[3]
    x, w = torch.tensor(x, requires_grad=True), torch.tensor(w, requires_grad=True)
    y = torch.convolution(x, w, None, stride, padding, dilation, False, 0, groups)
    g = normal(*y.shape, seed=5, dtype=dtype)
    to_x, to_w = torch.autograd.grad(y, (x, w), g)
    v, u = normal(*x.shape, seed=6, dtype=dtype), normal(*w.shape, seed=7, dtype=dtype)
    for along, grad, moved in ((v, to_x, convolved(v.numpy(), w.detach().numpy(), stride, padding, dilation, groups)),
                               (u, to_w, convolved(x.detach().numpy(), u.numpy(), stride, padding, dilation, groups))):
        left, right = float((along * grad).double().sum()), float((g.double().numpy() * moved).sum())
        assert abs(left - right) <= tolerance * float(np.abs(g.double().numpy() * moved).sum())


@pytest.mark.parametrize("case", CASES[:5] + CASES[5:8] + CASES[14:], ids=str)
def test_kernels_agree_with_the_definitions(case):
    x, w, b = arrays(case)
    stride, padding, dilation, groups = *case[6:], case[3]
    results = []
    for device in ("cpu", "reference"):
        inputs = [torch.tensor(a).to(device).requires_grad_() for a in (x, w, b)]
        y = torch.convolution(*inputs, stride, padding, dilation, False, 0, groups)
        grads = torch.autograd.grad((y * y).sum(), inputs, create_graph=True)
        again = torch.autograd.grad(sum((g * g).sum() for g in grads), inputs)
        results.append([t.detach().cpu().numpy() for t in (y, *grads, *again)])
    for kernel, body in zip(*results):
        np.testing.assert_allclose(kernel, body, rtol=1e-9, atol=1e-9 * max(1, np.abs(body).max()))


DERIVATIVES = {
    "conv1d": (lambda x, w, b: F.conv1d(x, w, b, 2, 1), [(2, 2, 5), (3, 2, 3), (3,)]),
    "conv2d": (lambda x, w, b: F.conv2d(x, w, b, 1, (1, 0), 1, 2), [(2, 2, 3, 4), (4, 1, 2, 3), (4,)]),
    "conv2d, same": (lambda x, w: F.conv2d(x, w, padding="same"), [(1, 2, 3, 4), (2, 2, 2, 3)]),
    "conv3d": (lambda x, w: F.conv3d(x, w, None, 1, 1, (1, 2, 1)), [(1, 1, 3, 3, 2), (2, 1, 2, 2, 2)]),
    "conv_transpose1d": (lambda x, w, b: F.conv_transpose1d(x, w, b, 2, 1, 1), [(2, 2, 3), (2, 3, 3), (3,)]),
    "conv_transpose1d, output_padding beyond the stride": (lambda x, w: F.conv_transpose1d(x, w, None, 1, 0, 1, 1, 2), [(1, 2, 3), (2, 2, 3)]),
    "conv_transpose2d": (lambda x, w: F.conv_transpose2d(x, w, None, (2, 1), 0, 0, 2, 2), [(1, 4, 2, 3), (4, 1, 2, 3)]),
    "conv_tbc": (lambda x, w, b: torch.conv_tbc(x, w, b, 1), [(4, 2, 2), (3, 2, 3), (3,)]),
}


@pytest.mark.rows("S359")
@pytest.mark.parametrize("name", DERIVATIVES)
def test_derivatives(name):
    function, shapes = DERIVATIVES[name]
    inputs = [normal(*shape, seed=i).requires_grad_() for i, shape in enumerate(shapes)]
    assert gradcheck(function, inputs)
    assert gradgradcheck(function, inputs)


def test_complex_and_integers():
    x, w = torch.complex(normal(1, 2, 4), normal(1, 2, 4, seed=1)), torch.complex(normal(3, 2, 2, seed=2), normal(3, 2, 2, seed=3))
    np.testing.assert_allclose(F.conv1d(x, w)[0, :, 1].numpy(), np.einsum("ct,oct->o", x.numpy()[0, :, 1:3], w.numpy()))
    assert gradcheck(F.conv1d, (x.requires_grad_(), w.requires_grad_()))
    assert F.conv1d(torch.arange(5).reshape(1, 1, 5), torch.tensor([[[1, 2]]])).tolist() == [[[2, 5, 8, 11]]]


@pytest.mark.parametrize("dtype, tolerance", [("float16", 2e-3), ("bfloat16", 2e-2)])
def test_half_types(dtype, tolerance):
    x, w = normal(2, 3, 6, 6).to(getattr(torch, dtype)), normal(4, 3, 3, 3, seed=1).to(getattr(torch, dtype)).requires_grad_()
    y = F.conv2d(x, w, padding=1)
    exact = convolved(x.double().numpy(), w.detach().double().numpy(), (1, 1), (1, 1), (1, 1), 1)
    assert y.dtype is w.dtype
    np.testing.assert_allclose(y.detach().double().numpy(), exact, rtol=tolerance, atol=tolerance)
    y.sum().backward()
    assert w.grad.dtype is w.dtype


def test_memory_layout_makes_no_difference():
    x, w = normal(2, 3, 6, 5), normal(4, 3, 3, 3, seed=1)
    turned = x.permute(2, 3, 0, 1).contiguous().permute(2, 3, 0, 1)
    assert torch.equal(F.conv2d(x, w), F.conv2d(turned, w.permute(3, 2, 1, 0).contiguous().permute(3, 2, 1, 0)))


def test_threads_make_no_difference():
    x, w = normal(3, 24, 17, 19, dtype="f4"), normal(20, 24, 3, 3, seed=1, dtype="f4").requires_grad_()
    results, before = [], torch.get_num_threads()
    for threads in (1, 3):
        torch.set_num_threads(threads)
        y = F.conv2d(x, w, stride=2, padding=1)
        results.append((y.detach(), torch.autograd.grad(y, w, torch.ones_like(y))[0]))
    torch.set_num_threads(before)
    for one, three in zip(*results):
        np.testing.assert_allclose(one.numpy(), three.numpy(), rtol=1e-4, atol=1e-4)


def test_empty_batches():
    w, b = normal(4, 3, 3, 3).requires_grad_(), normal(4).requires_grad_()
    y = F.conv2d(torch.zeros(0, 3, 5, 5).double(), w, b)
    assert y.shape == (0, 4, 3, 3)
    y.sum().backward()
    assert (w.grad == 0).all() and (b.grad == 0).all()
    assert F.conv_transpose2d(torch.zeros(0, 4, 5, 5).double(), w).shape == (0, 3, 7, 7)
    assert (F.conv2d(torch.zeros(2, 0, 5, 5), torch.zeros(3, 0, 2, 2), torch.ones(3)) == 1).all()


def test_unbatched():
    x, w = normal(3, 6, 5), normal(4, 3, 3, 3, seed=1)
    assert torch.equal(F.conv2d(x, w), F.conv2d(x.unsqueeze(0), w).squeeze(0))
    assert F.conv_transpose2d(normal(4, 6, 5), w).shape == (3, 8, 7)


def conv2d(x=(1, 4, 8, 8), w=(4, 4, 3, 3), *rest, **names):
    return lambda: F.conv2d(torch.zeros(x), torch.zeros(w), *rest, **names)


REFUSED = [
    (r"expected input\[1, 3, 8, 8\] to have 4 channels, but got 3 channels", conv2d((1, 3, 8, 8))),
    (r"Expected 3D \(unbatched\) or 4D \(batched\) input to conv2d, but got input of size: \[8, 8\]", conv2d((8, 8))),
    (r"padded input size per channel: \(2 x 4\)\. Kernel size: \(3 x 3\)", conv2d((1, 4, 2, 2), padding=(0, 1))),
    (r"bias to be 1-dimensional with 4 elements, but got bias of size \[5\]", conv2d(bias=torch.zeros(5))),
    (r"weight to be divisible by 2 at dimension 0, but got weight of size \[\[5, 2, 3, 3\]\]", conv2d(w=(5, 2, 3, 3), groups=2)),
    (r"weight to be at least 1 at dimension 0, but got weight of size \[0, 4, 3, 3\]", conv2d(w=(0, 4, 3, 3))),
    ("non-positive groups", conv2d(groups=0)),
    ("non-positive stride", conv2d(stride=0)),
    (r"stride to be a single integer value or a list of 2 values .* stride=\[1, 1, 1\]", conv2d(stride=(1, 1, 1))),
    ("negative padding", conv2d(padding=-1)),
    (r"dilation should be greater than zero, but got \[0, 0\]", conv2d(dilation=0)),
    ("'same' is not supported for strided", conv2d(padding="same", stride=2)),
    ("Invalid padding string: 'foo'", conv2d(padding="foo")),
    (r"kernel size should be greater than zero, but got kernel_height: 0", conv2d(w=(4, 4, 0, 3))),
    ("weight type .* should be the same", lambda: F.conv2d(torch.zeros(1, 4, 8, 8), torch.zeros(4, 4, 3, 3).double())),
    ("output padding must be smaller", lambda: F.conv_transpose2d(torch.zeros(1, 4, 8, 8), torch.zeros(4, 4, 3, 3), output_padding=1)),
    ("Output size is too small", lambda: F.conv_transpose2d(torch.zeros(1, 4, 1, 1), torch.zeros(4, 4, 1, 1), padding=1)),
]


@pytest.mark.parametrize("message, call", REFUSED, ids=[m for m, _ in REFUSED])
def test_refused(message, call):
    with pytest.raises(RuntimeError, match=message):
        call()


def test_kernels_refuse_what_does_not_fit():
    from pyx_tensor_cpu import convolution
    x, w = np.zeros((1, 4, 5, 5)), np.zeros((4, 4, 3, 3))
    for shapes in ((x, w[:, :3]), (x[:, :3], w), (x, w.astype("f4"))):
        with pytest.raises(ValueError):
            convolution.convolve(*shapes, None, (3, 3), (1, 1), (0, 0), (1, 1), 1)
    with pytest.raises(ValueError):
        convolution.convolve(x, w, None, (3, 3), (0, 1), (0, 0), (1, 1), 1)
    with pytest.raises(ValueError):
        convolution.convolve(x, w, np.zeros(3), (3, 3), (1, 1), (0, 0), (1, 1), 1)
    with pytest.raises(ValueError):
        convolution.convolve_weight(np.zeros((2, 4, 3, 3)), x, (3, 3), (1, 1), (0, 0), (1, 1), 1)


# --- layers -------------------------------------------------------------------------------------------------------
def test_layers_print_as_in_pytorch():
    assert repr(nn.Conv2d(4, 4, (3, 5), groups=2, padding="same", padding_mode="reflect", bias=False)) == (
        "Conv2d(4, 4, kernel_size=(3, 5), stride=(1, 1), padding=same, groups=2, bias=False, padding_mode=reflect)")
    assert repr(nn.ConvTranspose2d(4, 4, 3, stride=2, output_padding=1, dilation=3)) == (
        "ConvTranspose2d(4, 4, kernel_size=(3, 3), stride=(2, 2), dilation=(3, 3), output_padding=(1, 1))")


def test_weights_start_in_their_bounds():
    torch.manual_seed(0)
    layer = nn.Conv2d(6, 8, 3, groups=2)
    assert list(layer.state_dict()) == ["weight", "bias"] and layer.weight.shape == (8, 3, 3, 3)
    bound = 1 / np.sqrt(27)
    assert 0.9 * bound < float(layer.weight.abs().max()) < bound and float(layer.bias.abs().max()) < bound
    assert nn.ConvTranspose2d(6, 8, 3, groups=2).weight.shape == (6, 4, 3, 3)


@pytest.mark.parametrize("mode, numpy_mode", [("reflect", "reflect"), ("replicate", "edge"), ("circular", "wrap")])
def test_padding_modes(mode, numpy_mode):
    layer = nn.Conv1d(2, 3, 3, padding=2, padding_mode=mode)
    x = normal(1, 2, 5, dtype="f4")
    padded = np.pad(x.numpy(), [(0, 0), (0, 0), (2, 2)], mode=numpy_mode)
    np.testing.assert_allclose(layer(x).detach().numpy(), F.conv1d(torch.tensor(padded), layer.weight, layer.bias).detach().numpy(), rtol=1e-6)


def test_output_size_of_transposed():
    layer = nn.ConvTranspose2d(2, 3, 3, stride=2)
    assert layer(torch.zeros(1, 2, 5, 5), output_size=(12, 11)).shape == (1, 3, 12, 11)
    with pytest.raises(ValueError, match=r"valid sizes range from \[11, 11\] to \[12, 12\]"):
        layer(torch.zeros(1, 2, 5, 5), output_size=(13, 11))


@pytest.mark.parametrize("names, error", [(dict(groups=2), "in_channels must be divisible"), (dict(padding="foo"), "Invalid padding string"),
                                          (dict(padding="same", stride=2), "not supported for strided"), (dict(padding_mode="foo"), "padding_mode must be")])
def test_layers_refuse(names, error):
    with pytest.raises(ValueError, match=error):
        nn.Conv2d(3, 4, 3, **names)


def test_lazy_layers():
    layer = nn.LazyConv2d(4, 3, groups=2)
    assert layer.has_uninitialized_params() and repr(layer).startswith("LazyConv2d(0, 4")
    for use in (lambda: layer.weight + 1, lambda: layer.weight.sum()):
        with pytest.raises(ValueError, match="uninitialized parameter"):
            use()
    with pytest.raises(RuntimeError, match="Can't access the shape"):
        layer.weight.shape
    assert layer.double()(torch.zeros(1, 6, 5, 5).double()).shape == (1, 4, 3, 3)
    assert type(layer) is nn.Conv2d and layer.in_channels == 6 and type(layer.weight) is nn.Parameter
    lazy = nn.LazyLinear(3)
    lazy.load_state_dict(nn.Linear(5, 3).state_dict())
    assert lazy.weight.shape == (3, 5)
    norm = nn.LazyBatchNorm1d()
    assert norm(torch.randn(4, 7)).shape == (4, 7) and norm.running_mean.shape == (7,) and type(norm) is nn.BatchNorm1d
    assert nn.LazyConvTranspose1d(4, 3, bias=False)(torch.zeros(1, 2, 5)).shape == (1, 4, 7)


def test_helpers_of_arguments():
    from pyx_tensor.nn.modules.utils import _list_with_default, _pair, _reverse_repeat_tuple, _triple
    assert _pair(3) == (3, 3) and _triple([1, 2, 3]) == (1, 2, 3) and _reverse_repeat_tuple((1, 2), 2) == (2, 2, 1, 1)
    assert _list_with_default([None, 5], [7, 8, 9]) == [8, 5]
    assert nn.utils.__name__ == "pyx_tensor.nn.utils"       # and not that module


def test_memory_formats_change_no_values():
    layer, x = nn.Conv2d(3, 4, 3), torch.randn(2, 3, 5, 5)
    expected = layer(x)
    assert torch.equal(layer.to(memory_format=torch.channels_last)(x.to(memory_format=torch.channels_last)), expected)
