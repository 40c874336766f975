"""Pooling: values window by window, gradients by finite differences, kernels against definitions, what is refused."""
import itertools

import numpy as np
import pytest

import pyx_tensor as torch
from pyx_tensor import nn
from pyx_tensor.autograd import gradcheck, gradgradcheck
from pyx_tensor.nn import functional as F


def distinct(*shape, dtype="f8", seed=0):
    values = np.random.default_rng(seed).permutation(int(np.prod(shape))).reshape(shape) / 4 - 3
    return torch.tensor(values.astype(dtype))


def windows(size, kernel, stride, padding, dilation, ceil):
    """For each dim, the places of each window (those outside too)."""
    found = []
    for n, k, s, p, d in zip(size, kernel, stride, padding, dilation):
        count = (n + 2 * p - d * (k - 1) - 1 + (s - 1 if ceil else 0)) // s + 1
        if ceil and (count - 1) * s >= n + p:
            count -= 1
        found.append([[o * s - p + i * d for i in range(k)] for o in range(count)])
    return found


def each_window(x, spatial, *arguments):
    """(place in the result, values inside, how many of the padded input)."""
    size = x.shape[x.ndim - spatial:]
    dims = windows(size, *arguments)
    for at in itertools.product(*[range(len(d)) for d in dims]):
        chosen = [dims[i][a] for i, a in enumerate(at)]
        inside = [[p for p in places if 0 <= p < n] for places, n in zip(chosen, size)]
        padded = int(np.prod([sum(p < n + pad for p in places) for places, n, pad in zip(chosen, size, arguments[2])]))
        yield at, x[(..., *np.ix_(*inside))].reshape(*x.shape[:x.ndim - spatial], -1), padded


# shape, kernel, stride, padding, dilation, ceil_mode
CASES = [
    ((2, 3, 9), (3,), (2,), (1,), (1,), False),
    ((3, 70), (4,), (3,), (2,), (2,), True),
    ((2, 3, 7, 8), (3, 2), (2, 2), (1, 1), (1, 1), False),
    ((2, 3, 7, 8), (2, 3), (1, 3), (0, 1), (2, 2), True),
    ((1, 2, 6, 50), (3, 3), (2, 2), (1, 1), (1, 1), True),
    ((2, 2, 4, 5, 6), (2, 3, 2), (2, 1, 2), (1, 1, 1), (1, 2, 1), False),
]


@pytest.fixture(params=["f4", "f8", "baseline"])
def dtype(request):
    from pyx_tensor_cpu.level import cpu_level, set_cpu_level
    before = cpu_level()
    if request.param == "baseline":
        set_cpu_level("baseline")
    yield "f4" if request.param == "baseline" else request.param
    set_cpu_level(before)


@pytest.mark.rows("S363")
@pytest.mark.parametrize("case", CASES, ids=str)
def test_max_pool(case, dtype):
    shape, *arguments = case
    x = distinct(*shape, dtype=dtype)
    y, indices = getattr(F, f"max_pool{len(arguments[0])}d")(x, *arguments, return_indices=True)
    assert torch.equal(getattr(F, f"max_pool{len(arguments[0])}d")(x, *arguments), y)
    flat = x.numpy().reshape(*shape[:len(shape) - len(arguments[0])], -1)
    for at, values, _ in each_window(x.numpy(), len(arguments[0]), *arguments):
        assert (y.numpy()[(..., *at)] == values.max(-1)).all()
    lead = flat.shape[:-1]
    assert (np.take_along_axis(flat, indices.numpy().reshape(*lead, -1), -1).reshape(y.shape) == y.numpy()).all()


@pytest.mark.rows("S363")
@pytest.mark.parametrize("include, divisor", [(True, None), (False, None), (True, 5)])
@pytest.mark.parametrize("case", [c for c in CASES if set(c[4]) == {1}], ids=str)
def test_avg_pool(case, include, divisor, dtype):
    shape, kernel, stride, padding, _, ceil = case
    if len(kernel) == 1 and divisor:
        divisor = None
    x = distinct(*shape, dtype=dtype)
    y = getattr(F, f"avg_pool{len(kernel)}d")(x, kernel, stride, padding, ceil, include, *[divisor] * (len(kernel) > 1))
    for at, values, padded in each_window(x.numpy(), len(kernel), kernel, stride, padding, (1,) * len(kernel), ceil):
        count = divisor or (padded if include else values.shape[-1])
        np.testing.assert_allclose(y.numpy()[(..., *at)], values.sum(-1) / count, rtol=1e-5, atol=1e-5)


def test_nan_and_infinities():
    inf = float("inf")
    x = torch.tensor([[1., float("nan"), 2., -inf, -inf, -inf]])
    y, indices = F.max_pool1d(x, 2, return_indices=True)
    assert str(y.tolist()) == "[[nan, 2.0, -inf]]" and indices.tolist() == [[1, 2, 4]]


DERIVATIVES = {
    "max_pool1d": (lambda x: F.max_pool1d(x, 3, 2, 1), (2, 2, 7)),
    "max_pool2d": (lambda x: F.max_pool2d(x, (2, 3), (1, 2), 1, ceil_mode=True), (1, 2, 4, 5)),
    "max_pool2d, dilation": (lambda x: F.max_pool2d(x, 2, 1, 0, 2), (1, 2, 4, 5)),
    "max_pool3d": (lambda x: F.max_pool3d(x, 2, 1), (1, 3, 3, 3)),
    "avg_pool1d": (lambda x: F.avg_pool1d(x, 3, 2, 1), (2, 2, 7)),
    "avg_pool2d": (lambda x: F.avg_pool2d(x, (2, 3), (1, 2), 1, True, False), (1, 2, 4, 5)),
    "avg_pool3d": (lambda x: F.avg_pool3d(x, 2, 1, 1, divisor_override=3), (1, 2, 3, 2)),
    "adaptive_avg_pool2d": (lambda x: F.adaptive_avg_pool2d(x, (2, 3)), (1, 2, 5, 6)),
    "adaptive_avg_pool2d, uneven": (lambda x: F.adaptive_avg_pool2d(x, (3, 4)), (1, 2, 5, 6)),
    "adaptive_max_pool2d": (lambda x: F.adaptive_max_pool2d(x, (3, 2)), (1, 2, 5, 4)),
    "lp_pool2d": (lambda x: F.lp_pool2d(x + 4, 3, 2), (1, 2, 4, 4)),
    "max_unpool1d": (lambda x: F.max_unpool1d(x, torch.tensor([[[0, 3]]]), 2), (1, 1, 2)),
    "fractional_max_pool2d": (lambda x: F.fractional_max_pool2d(x, 2, (2, 3), _random_samples=torch.full((1, 2, 2), 0.3).double()), (1, 2, 5, 6)),
}


@pytest.mark.parametrize("name", DERIVATIVES)
def test_derivatives(name):
    function, shape = DERIVATIVES[name]
    assert gradcheck(function, (distinct(*shape).requires_grad_(),))
    assert gradgradcheck(function, (distinct(*shape).requires_grad_(),))


@pytest.mark.parametrize("name", DERIVATIVES)
def test_kernels_agree_with_the_definitions(name):
    function, shape = DERIVATIVES[name]
    if name in ("max_unpool1d", "fractional_max_pool2d"):
        return                             # they are given tensors of the CPU
    results = []
    for device in ("cpu", "reference"):
        x = distinct(*shape).to(device).requires_grad_()
        y = function(x)
        results.append([t.detach().cpu().numpy() for t in (y, *torch.autograd.grad((y * y).sum(), x))])
    for kernel, body in zip(*results):
        np.testing.assert_allclose(kernel, body, rtol=1e-12)


def test_integers_and_half_types():
    x = torch.tensor([[[[3, -1], [7, 2]]]])
    assert F.max_pool2d(x, 2).tolist() == [[[[7]]]] and F.max_pool2d(x, 2).dtype is torch.int64
    half = x.half()
    assert F.avg_pool2d(half, 2).dtype is torch.float16 and float(F.avg_pool2d(half, 2)) == 2.75
    with pytest.raises(NotImplementedError):
        F.avg_pool2d(x, 2)


def test_adaptive_windows_cover_everything():
    x = torch.arange(7.).reshape(1, 1, 7)
    assert F.adaptive_avg_pool1d(x, 3).tolist() == [[[1., 3., 5.]]]
    values, indices = F.adaptive_max_pool1d(x, 3, return_indices=True)
    assert values.tolist() == [[[2., 4., 6.]]] and indices.tolist() == [[[2, 4, 6]]]
    assert F.adaptive_avg_pool2d(torch.zeros(2, 3, 5, 6), (None, 4)).shape == (2, 3, 5, 4)
    assert F.adaptive_avg_pool2d(torch.zeros(2, 3, 5, 6), 0).shape == (2, 3, 0, 0)


@pytest.mark.parametrize("shape, grid", [((2, 3, 11), (4,)), ((3, 11, 20), (4, 7)), ((2, 2, 9, 5), (4, 13)), ((1, 2, 4, 5, 7), (3, 2, 5))], ids=str)
def test_windows_with_borders_of_their_own(shape, grid, dtype):
    """Adaptive windows overlap, and may be more than there are elements; of equal elements the first is taken, of NaN the last."""
    spatial = len(grid)
    lead, size = shape[:len(shape) - spatial], shape[len(shape) - spatial:]
    values = np.random.default_rng(1).integers(-2, 3, shape).astype(dtype)
    values[np.random.default_rng(2).random(shape) < 0.1] = np.nan
    for x in (torch.tensor(values), torch.tensor(values.transpose()).permute(*range(len(shape) - 1, -1, -1))):
        y, indices = getattr(F, f"adaptive_max_pool{spatial}d")(x, grid, return_indices=True)
        assert y.shape == indices.shape == (*lead, *grid) and y.dtype == x.dtype
        for at in itertools.product(*map(range, (*lead, *grid))):
            edges = [(o * n // g, -(-(o + 1) * n // g)) for o, n, g in zip(at[len(lead):], size, grid)]
            window = values[(*at[:len(lead)], *[slice(*edge) for edge in edges])]
            flat = window.ravel()
            chosen = np.flatnonzero(np.isnan(flat))[-1] if np.isnan(flat).any() else flat.argmax()
            place = np.ravel_multi_index([i + start for i, (start, _) in zip(np.unravel_index(chosen, window.shape), edges)], size)
            assert indices[at] == place and np.array_equal(y[at].item(), flat[chosen], equal_nan=True)


def test_unpooling_undoes_pooling():
    x = distinct(1, 2, 6, 5)
    pooled, indices = F.max_pool2d(x, 2, return_indices=True)
    back = F.max_unpool2d(pooled, indices, 2, output_size=(6, 5))
    assert back.shape == x.shape and torch.equal(F.max_pool2d(back + (back == 0) * x.min(), 2), pooled)
    with pytest.raises(RuntimeError, match="invalid max index: 100"):
        F.max_unpool2d(pooled, torch.full_like(indices, 100), 2)
    with pytest.raises(ValueError, match="must be between"):
        F.max_unpool2d(pooled, indices, 2, output_size=(60, 50))


def test_fractional_windows_are_drawn():
    torch.manual_seed(0)
    x = distinct(2, 3, 9, 9)
    y, indices = F.fractional_max_pool2d(x, 2, output_ratio=0.5, return_indices=True)
    assert y.shape == (2, 3, 4, 4)
    assert (x.reshape(2, 3, 81).gather(2, indices.reshape(2, 3, 16)).reshape(y.shape) == y).all()
    assert (y[:, :, -1, -1] >= x[:, :, 7:, 7:].amax((2, 3))).all()       # the last window ends at the end


@pytest.mark.parametrize("device", ("cpu", "reference"))
def test_fractional_windows_stand_where_the_numbers_say(device, dtype):
    """Differently in each plane: the window i of n begins at floor((i + u) s) - floor(u s), s = (size - kernel) / (n - 1), the last at the end."""
    x, samples = distinct(2, 3, 9, 14, dtype=dtype), np.random.default_rng(3).random((2, 3, 2)).astype(dtype)
    kernel, grid = (3, 2), (5, 1)
    y, indices = F.fractional_max_pool2d(x.to(device), kernel, grid, return_indices=True, _random_samples=torch.tensor(samples, device=device))
    for n, c, i in itertools.product(range(2), range(3), range(5)):
        u, step = samples[n, c, 1], (9 - 3) / 4
        top = 6 if i == 4 else int((u + i) * step) - int(u * step)
        window = x.numpy()[n, c, top:top + 3, 12:]
        assert y[n, c, i, 0] == window.max()
        assert x.numpy()[n, c].ravel()[indices[n, c, i, 0].item()] == window.max()


def test_what_was_pooled_may_be_written_over():
    x = distinct(2, 3, 7, 8).requires_grad_()
    F.adaptive_max_pool2d(x, 3).zero_().add_(1).mul_(2).sum().backward()
    half = F.adaptive_max_pool2d(x.half(), 3)
    assert half.dtype is torch.float16 and torch.equal(half, F.adaptive_max_pool2d(x, 3).half())


def pool(name, shape, *args, **names):
    return lambda: getattr(F, name)(torch.zeros(shape), *args, **names)


REFUSED = [
    (r"Given input size: \(3x4x4\)\. Calculated output size: \(3x0x0\)", pool("max_pool2d", (1, 3, 4, 4), 5)),
    (r"pad should be at most half of effective kernel size, but got pad=2, kernel_size=2 and dilation=1", pool("max_pool2d", (1, 3, 4, 4), 2, padding=2)),
    ("pad must be non-negative", pool("avg_pool2d", (1, 3, 4, 4), 2, padding=-1)),
    ("stride should not be zero", pool("max_pool2d", (1, 3, 4, 4), 2, 0)),
    ("dilation should be greater than zero", pool("max_pool2d", (1, 3, 4, 4), 2, dilation=0)),
    (r"optional 0 dim batch size for input, but got:\[1, 0, 4, 4\]", pool("max_pool2d", (1, 0, 4, 4), 2)),
    (r"kernel_size must either be a single int, or a tuple of two ints", pool("max_pool2d", (1, 3, 4, 4), (2, 2, 2))),
    ("divisor must be not zero", pool("avg_pool2d", (1, 3, 4, 4), 2, divisor_override=0)),
    (r"Invalid computed output size: 0", pool("max_pool1d", (1, 3, 4), 5)),
    (r"output_size must be 2", pool("adaptive_avg_pool2d", (1, 3, 4, 4), (2, 2, 2))),
    (r"received \{-1, 2\}", pool("adaptive_avg_pool2d", (1, 3, 4, 4), (-1, 2))),
    (r"input has sizes \[1, 3, 0, 4\] with dimension 2 being empty", pool("adaptive_max_pool2d", (1, 3, 0, 4), 2)),
    ("pool height 2 too large relative to input height 4", pool("fractional_max_pool2d", (1, 3, 4, 4), 2, 4)),
]


@pytest.mark.parametrize("message, call", REFUSED, ids=[m for m, _ in REFUSED])
def test_refused(message, call):
    with pytest.raises(RuntimeError, match=message):
        call()


def test_empty_batches():
    x = torch.zeros(0, 3, 4, 4, requires_grad=True)
    for y in (F.max_pool2d(x, 2), F.avg_pool2d(x, 2), F.adaptive_avg_pool2d(x, 3), F.adaptive_max_pool2d(x, 3)):
        assert y.shape[:2] == (0, 3)
        y.sum().backward()


def test_kernels_refuse_what_does_not_fit():
    from pyx_tensor_cpu import pooling
    x = np.zeros((2, 5, 5))
    for arguments in (((2, 2), (9, 2), (2, 2), (0, 0), (1, 1)), ((2, 2), (2, 2), (0, 2), (0, 0), (1, 1)), ((2, 2), (2, 2), (2, 2), (3, 0), (1, 1))):
        with pytest.raises(ValueError, match="do not fit"):
            pooling.max_pool(x, *arguments)
    places = np.array([0, 2, 0, 2])
    for starts, ends in ((places, places), (places, places + 4), (places - 1, places + 1), (places[:3], places[:3] + 1), (places.astype("i4"), places + 1),
                         (np.stack([places] * 3), np.stack([places] * 3) + 1)):
        with pytest.raises(ValueError, match="max_windows"):
            pooling.max_windows(x, starts, ends, (2, 2), (1, 1))
    with pytest.raises(ValueError):
        pooling.max_pool_backward(np.zeros((2, 3, 3)), x, (2, 2), (2, 2), (2, 2), (0, 0), (1, 1))
    with pytest.raises(ValueError):
        pooling.avg_pool_backward(np.zeros((2, 3, 3)), (5, 5), (2, 2), (2, 2), (2, 2), (0, 0), True, 0)


def test_layers_print_as_in_pytorch():
    assert repr(nn.MaxPool2d(3, 2, 1)) == "MaxPool2d(kernel_size=3, stride=2, padding=1, dilation=1, ceil_mode=False)"
    assert repr(nn.AvgPool1d(3)) == "AvgPool1d(kernel_size=(3,), stride=(3,), padding=(0,))"
    assert repr(nn.AdaptiveAvgPool2d((2, None))) == "AdaptiveAvgPool2d(output_size=(2, None))"
    with pytest.raises(ValueError, match="between 0 and 1"):
        nn.FractionalMaxPool2d(2, output_ratio=2)
