"""What programs build on: layers over NumPy, C and Cython, networks that change, errors that point home, tensors as Python objects (rows S196 - S198, S378 - S384)."""
import copy
import ctypes
import gc
import pickle
import traceback
import weakref

import numpy as np
import pytest

import pyx_tensor as torch
from pyx_tensor import nn

from .values import close


# --- layers in other languages -------------------------------------------------------------------------------------
class SoftPlus(torch.autograd.Function):
    """log(1 + exp(x)) by NumPy."""

    @staticmethod
    def forward(ctx, x):
        array = x.detach().numpy()
        ctx.save_for_backward(x)
        return torch.from_numpy(np.log1p(np.exp(array)))

    @staticmethod
    def backward(ctx, grad):
        x, = ctx.saved_tensors
        return torch.from_numpy(grad.numpy() / (1 + np.exp(-x.numpy())))


@pytest.mark.rows("S196")
def test_a_layer_by_numpy():
    x = torch.tensor([0.0, 1.0, -2.0], dtype=torch.float64, requires_grad=True)
    y = SoftPlus.apply(x)
    close(y, np.log1p(np.exp([0, 1, -2])))
    y.sum().backward()
    close(x.grad, 1 / (1 + np.exp([0, -1, 2])))
    assert torch.autograd.gradcheck(SoftPlus.apply, (x,))

    class Layer(nn.Module):
        def forward(self, x):
            return SoftPlus.apply(x)
    torch.manual_seed(0)
    model, x = nn.Sequential(nn.Linear(2, 3), Layer(), nn.Linear(3, 1)), torch.randn(4, 2)
    model(x).sum().backward()
    found = [p.grad.clone() for p in model.parameters()]
    model.zero_grad()
    model[2](nn.functional.softplus(model[0](x))).sum().backward()
    for ours, expected in zip(found, model.parameters()):
        close(ours, expected.grad.numpy(), 1e-5)


@pytest.mark.rows("S196")
def test_a_convolution_by_scipy():
    """A layer with a parameter of its own, both gradients by SciPy."""
    signal = pytest.importorskip("scipy.signal")

    class Correlate(torch.autograd.Function):
        @staticmethod
        def forward(ctx, input, kernel):
            ctx.save_for_backward(input, kernel)
            return torch.from_numpy(signal.correlate2d(input.detach().numpy(), kernel.detach().numpy(), mode="valid"))

        @staticmethod
        def backward(ctx, grad):
            input, kernel = ctx.saved_tensors
            return (torch.from_numpy(signal.convolve2d(grad.numpy(), kernel.numpy(), mode="full")),
                    torch.from_numpy(signal.correlate2d(input.numpy(), grad.numpy(), mode="valid")))
    rng = np.random.default_rng(0)
    input, kernel = (torch.tensor(rng.standard_normal(shape), requires_grad=True) for shape in ((5, 6), (2, 3)))
    y = Correlate.apply(input, kernel)
    close(y, nn.functional.conv2d(input[None, None], kernel[None, None])[0, 0].detach().numpy(), 1e-12)
    assert torch.autograd.gradcheck(Correlate.apply, (input, kernel))


@pytest.mark.rows("S197")
def test_c_reads_and_writes_tensor_memory():
    """memmove and qsort of the C library, by pointers from data_ptr()."""
    libc = ctypes.CDLL(None)
    a, b = torch.tensor([3.0, 1.0, 2.0], dtype=torch.float64), torch.zeros(3, dtype=torch.float64)
    libc.memmove.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]
    libc.memmove(b.data_ptr(), a.data_ptr(), a.numel() * a.element_size())
    assert b.tolist() == [3, 1, 2]
    compare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_double), ctypes.POINTER(ctypes.c_double))
    libc.qsort.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t, compare]
    libc.qsort(a.data_ptr(), 3, 8, compare(lambda p, q: (p[0] > q[0]) - (p[0] < q[0])))
    assert a.tolist() == [1, 2, 3] and b[1:].data_ptr() == b.data_ptr() + 8


# --- networks that change ------------------------------------------------------------------------------------------
@pytest.mark.rows("S378")
def test_a_live_model_may_change():
    torch.manual_seed(0)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList([nn.Linear(2, 2)])

        def forward(self, x, times=1):
            for _ in range(times):                                  # the graph of each call is its own
                for layer in self.layers:
                    x = layer(x)
            return x
    model, x = Net(), torch.ones(1, 2)
    first = model(x)
    assert torch.equal(model(x, times=2), model.layers[0](first))
    first.sum().backward()
    with pytest.raises(RuntimeError, match="second time"):          # backward has freed what was saved
        (y := model(x).pow(2).sum()).backward()
        y.backward()
    model.layers.append(nn.Linear(2, 3))
    assert torch.equal(model(x), model.layers[1](model.layers[0](x))) and len(list(model.parameters())) == 4
    model.layers[0] = nn.Linear(2, 2, bias=False)
    assert torch.equal(model(x), model.layers[1](x @ model.layers[0].weight.t()))
    model.zero_grad()
    model(x).sum().backward()
    before = [p.detach().clone() for p in model.parameters()]
    torch.optim.SGD(model.parameters(), lr=0.1).step()
    for old, p in zip(before, model.parameters(), strict=True):
        close(p, (old - 0.1 * p.grad).numpy())
    del model.layers[1]
    assert torch.equal(model(x), x @ model.layers[0].weight.t())


# --- errors --------------------------------------------------------------------------------------------------------
def lines_of(error):
    return [frame.line for frame in traceback.extract_tb(error.__traceback__)]


@pytest.mark.rows("S379")
def test_an_error_points_at_its_line():
    class Broken(nn.Module):
        def forward(self, x):
            y = x * 2
            z = y + torch.ones(5)                                   # the line
            return z.sum()
    with pytest.raises(RuntimeError, match=r"\(3\).*\(5\)") as raised:
        nn.Sequential(nn.Identity(), Broken())(torch.ones(3))
    assert "z = y + torch.ones(5)                                   # the line" in lines_of(raised.value)
    with pytest.raises(RuntimeError, match="2x3 and 2x3|2, 3"):
        torch.mm(torch.ones(2, 3), torch.ones(2, 3))


@pytest.mark.rows("S380")
def test_an_error_in_backward_points_at_its_line():
    class Unlucky(ValueError):
        pass

    class Broken(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            raise Unlucky("in the user's backward")
    x = torch.ones(2, requires_grad=True)
    loss = (Broken.apply(x * 1) + 1).sum()
    with pytest.raises(Unlucky, match="in the user's backward") as raised:
        loss.backward()
    assert 'raise Unlucky("in the user\'s backward")' in lines_of(raised.value) and x.grad is None


# --- Python objects ------------------------------------------------------------------------------------------------
@pytest.mark.rows("S381")
def test_tensors_are_python_objects():
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert len(x) == 2 and [row.tolist() for row in x] == [[1, 2], [3, 4]] and x[1][0] == 3 and 3.0 in x and 7 not in x
    one = torch.tensor([2.5])
    assert float(one) == 2.5 and int(one) == 2 and bool(one) and not bool(torch.tensor(0)) and f"{one[0]:.1f}" == "2.5"
    assert type(float(one)) is float and type(int(one)) is int and [10, 20, 30][torch.tensor(1)] == 20 and round(torch.tensor(2.7).item()) == 3
    for convert in (float, int):
        with pytest.raises((RuntimeError, ValueError, TypeError)):
            convert(x)
    assert x.numpy().tolist() == x.tolist() and np.asarray(x).shape == (2, 2)
    assert {x: "by identity"}[x] == "by identity"
    for twin in (copy.deepcopy(x), pickle.loads(pickle.dumps(x)), copy.copy(x)):
        assert torch.equal(twin, x) and twin.dtype is x.dtype and twin is not x
    assert copy.deepcopy(x).data_ptr() != x.data_ptr() == copy.copy(x).data_ptr()


@pytest.mark.rows("S381")
def test_modules_are_copied():
    model = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
    twin, x = copy.deepcopy(model), torch.randn(4, 2)
    assert torch.equal(model(x), twin(x))
    with torch.no_grad():
        twin[0].weight.zero_()
    assert model[0].weight.any() and torch.equal(model[1].running_mean, twin[1].running_mean) and model[1].running_mean is not twin[1].running_mean


# --- graphs --------------------------------------------------------------------------------------------------------
@pytest.mark.rows("S383")
def test_a_deep_chain():
    """20 000 operations; the gradient is known in closed form."""
    x = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
    y = x
    for _ in range(10_000):
        y = y * 0.9999 + 1e-4
    y.backward()
    assert x.grad.item() == pytest.approx(0.9999 ** 10_000, rel=1e-11) and y.item() == pytest.approx(1 + 0.9999 ** 10_000, rel=1e-11)


@pytest.mark.rows("S384")
def test_an_iterations_graph_goes_with_its_last_reference():
    w = torch.ones(3, requires_grad=True)
    x = torch.tensor([1.0, 2.0, 3.0])
    gc.collect()
    gc.disable()                                                    # without the cyclic collector
    try:
        for _ in range(3):
            inner = torch.exp(w * x)
            loss = (inner * inner).sum()
            dead = [weakref.ref(o) for o in (inner, loss, inner.grad_fn, loss.grad_fn)]
            loss.backward()
            del inner, loss
            assert [r() for r in dead] == [None] * 4
    finally:
        gc.enable()
    close(w.grad, 3 * 2 * np.array([1, 2, 3]) * np.exp([2, 4, 6]), 1e-5)
