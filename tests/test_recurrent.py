"""Recurrent cells and layers: the formulas by NumPy, kernels against definitions, gradients, and what is refused."""
import numpy as np
import pytest

import pyx_tensor as torch
from pyx_tensor import nn
from pyx_tensor.autograd import gradcheck, gradgradcheck
from pyx_tensor.core.definitions import operations
from pyx_tensor.core.record import namespace as B

GATES = {"lstm": 4, "gru": 3, "tanh": 1, "relu": 1}
LAYER = operations["recurrent_layer"].definition
BACKWARD = operations["recurrent_layer_backward"].definition


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def steps_by_numpy(cell, x, h, c, w_ih, w_hh, b_ih, b_hh, batch_sizes, reverse):
    """Every row of every step on its own."""
    starts = np.cumsum([0, *batch_sizes])[:-1]
    output, h, c = np.zeros((len(x), h.shape[1])), h.copy(), None if c is None else c.copy()
    for start, count in list(zip(starts, batch_sizes))[::-1 if reverse else 1]:
        for row in range(count):
            a, b = w_ih @ x[start + row] + b_ih, w_hh @ h[row] + b_hh
            if cell == "lstm":
                i, f, g, o = np.split(a + b, 4)
                c[row] = sigmoid(f) * c[row] + sigmoid(i) * np.tanh(g)
                h[row] = sigmoid(o) * np.tanh(c[row])
            elif cell == "gru":
                (r, z, n), (hr, hz, hn) = np.split(a, 3), np.split(b, 3)
                new = np.tanh(n + sigmoid(r + hr) * hn)
                h[row] = new + sigmoid(z + hz) * (h[row] - new)
            else:
                h[row] = np.tanh(a + b) if cell == "tanh" else np.maximum(a + b, 0)
            output[start + row] = h[row]
    return [output, h] + ([c] if c is not None else [])


def arguments(cell, batch_sizes, features=3, size=5, dtype="float64", device="cpu"):
    rng, n = np.random.default_rng(0), GATES[cell]
    shapes = [(sum(batch_sizes), features), (batch_sizes[0], size), (batch_sizes[0], size) if cell == "lstm" else None, (n * size, features), (n * size, size),
              (n * size,), (n * size,)]
    arrays = [None if shape is None else rng.standard_normal(shape).astype(dtype) * 0.5 for shape in shapes]
    tensors = [None if a is None else torch.from_numpy(a).to(device).requires_grad_() for a in arrays]
    return arrays, tensors


SIZES = {"even": (2, 2, 2), "falling": (3, 2, 2, 1), "one": (1,), "wide": (40, 40, 17)}


@pytest.mark.rows("S363")
@pytest.mark.parametrize("device", ["cpu", "reference"])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("cell", GATES)
def test_formulas(cell, sizes, reverse, device):
    arrays, tensors = arguments(cell, SIZES[sizes], device=device)
    results = B.recurrent_layer(*tensors, None, cell, SIZES[sizes], reverse)
    for result, expected in zip(results, steps_by_numpy(cell, *arrays, SIZES[sizes], reverse), strict=True):
        np.testing.assert_allclose(result.detach().cpu().numpy(), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("size", [1, 7, 16, 33, 64, 200, 300])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("sizes", [(11, 11, 6), (9, 4)])
@pytest.mark.parametrize("cell", GATES)
def test_kernel_is_the_definition(cell, sizes, dtype, size):
    """Forward and gradients at sizes around the kernels' tiles and blocks, with weights packed or not, on one thread and several."""
    _, tensors = arguments(cell, sizes, size=size, dtype=dtype)
    tensors[4] = (tensors[4].detach() / size ** 0.5).requires_grad_()
    before = torch.get_num_threads()
    outcomes = []
    try:
        for threads in (1, 3):
            torch.set_num_threads(threads)
            results = B.recurrent_layer(*tensors, None, cell, sizes, False)
            outcomes.append([*results, *torch.autograd.grad([r.sum() + (r * r).sum() for r in results], [t for t in tensors if t is not None])])
    finally:
        torch.set_num_threads(before)
    results = [r for r in LAYER(B, *tensors, None, cell, sizes, False) if r is not None]
    outcomes.append([*results, *torch.autograd.grad([r.sum() + (r * r).sum() for r in results], [t for t in tensors if t is not None])])
    tolerance = 2e-4 if dtype == "float32" else 1e-10
    for threaded in outcomes[:2]:
        for ours, expected in zip(threaded, outcomes[2], strict=True):
            np.testing.assert_allclose(ours.detach().numpy(), expected.detach().numpy(), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("device", ["cpu", "reference"])
@pytest.mark.parametrize("cell, projected", [("lstm", False), ("lstm", True), ("gru", False), ("tanh", False)])
def test_gradients(cell, projected, device):
    sizes = (2, 2, 1)
    _, tensors = arguments(cell, sizes, 2, 2, device=device)
    w_hr = torch.randn(1, 2, dtype=torch.float64, device=device, requires_grad=True) if projected else None
    if projected:
        tensors[1], tensors[4] = (torch.randn(*shape, dtype=torch.float64, device=device, requires_grad=True) for shape in ((2, 1), (8, 1)))
    given = [t for t in (*tensors, w_hr) if t is not None]

    def layer(*values):
        values = iter(values)
        return tuple(B.recurrent_layer(*(None if t is None else next(values) for t in (*tensors, w_hr)), cell, sizes, True))

    assert gradcheck(layer, given)
    assert gradgradcheck(layer, given)


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_gradients_of_some_parameters_only(kind):
    model, x = getattr(nn, kind)(3, 4), torch.randn(5, 2, 3)
    model(x)[0].square().sum().backward()
    whole = {name: p.grad for name, p in model.named_parameters()}
    for name, parameter in model.named_parameters():
        for p in model.parameters():
            p.grad = None
            p.requires_grad = p is parameter
        model(x)[0].square().sum().backward()
        torch.testing.assert_close(parameter.grad, whole[name])
        assert sum(p.grad is not None for p in model.parameters()) == 1


@pytest.mark.parametrize("device", ["cpu", "reference"])
def test_cells_are_layers_of_one_step(device):
    for cell, module in (("lstm", nn.LSTMCell(3, 5)), ("gru", nn.GRUCell(3, 5)), ("tanh", nn.RNNCell(3, 5)), ("relu", nn.RNNCell(3, 5, nonlinearity="relu"))):
        module = module.double().to(device)
        x = torch.randn(4, 3, dtype=torch.float64, device=device)
        h, c = torch.randn(2, 4, 5, dtype=torch.float64, device=device)
        state = (h, c) if cell == "lstm" else h
        result = module(x, state)
        expected = B.recurrent_layer(x, h, c if cell == "lstm" else None, *module.parameters(), None, cell, (4,), False)
        for ours, layer in zip(result if cell == "lstm" else [result], expected[1:], strict=True):
            torch.testing.assert_close(ours, layer)


def test_half_precision_is_computed():
    for dtype in (torch.bfloat16, torch.float16):
        model = nn.LSTM(3, 4).to(dtype)
        output, (h, c) = model(torch.randn(5, 2, 3).to(dtype))
        assert output.dtype is h.dtype is c.dtype is dtype
        torch.testing.assert_close(output.float(), model.float()(torch.zeros(5, 2, 3))[0], atol=1.0, rtol=0)


def test_no_sequences():
    output, h = nn.GRU(3, 4, 2)(torch.zeros(5, 0, 3))
    assert output.shape == (5, 0, 4) and h.shape == (2, 0, 4)


def test_state_goes_on():
    """Two halves of a sequence give what the whole gives."""
    model, x = nn.LSTM(3, 4, 2), torch.randn(6, 2, 3)
    whole, last = model(x)
    first, state = model(x[:2])
    second, state = model(x[2:], state)
    torch.testing.assert_close(torch.cat([first, second]), whole)
    torch.testing.assert_close(state[1], last[1])


def test_writing_to_the_output():
    """An LSTM keeps its output for the gradient, and says so; of the others it may be written to."""
    for kind in ("GRU", "RNN"):
        model, x = getattr(nn, kind)(3, 4), torch.randn(5, 2, 3)
        model(x)[0].relu_().sum().backward()
        expected = [p.grad for p in model.parameters()]
        model.zero_grad()
        model(x)[0].relu().sum().backward()
        for p, grad in zip(model.parameters(), expected):
            torch.testing.assert_close(p.grad, grad)
    output, _ = nn.LSTM(3, 4)(torch.randn(5, 2, 3))
    output.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        output.sum().backward()


@pytest.mark.parametrize("change, message", [
    (dict(cell="gur"), "cell is 'gur'"), (dict(batch_sizes=(1, 2)), "batch sizes"), (dict(batch_sizes=(2, 2)), "input of shape"),
    (dict(w_hh=torch.zeros(4, 4)), "w_hh"), (dict(b_hh=torch.zeros(3)), "b_hh"), (dict(h=torch.zeros(3, 2)), "batch sizes"), (dict(c=None), "c is missing"),
    (dict(input=torch.zeros(3, 7)), "input of shape"), (dict(w_ih=torch.zeros(8, 3, dtype=torch.float64)), "same dtype")])
def test_what_does_not_fit_is_refused(change, message):
    given = dict(input=torch.zeros(3, 3), h=torch.zeros(2, 2), c=torch.zeros(2, 2), w_ih=torch.zeros(8, 3), w_hh=torch.zeros(8, 2), b_ih=torch.zeros(8),
                 b_hh=torch.zeros(8), w_hr=None, cell="lstm", batch_sizes=(2, 1), reverse=False)
    B.recurrent_layer(*given.values())
    with pytest.raises(RuntimeError, match=message):
        B.recurrent_layer(*(given | change).values())
    on_reference = {k: v.to("reference") if isinstance(v, torch.Tensor) else v for k, v in (given | change).items()}
    with pytest.raises(RuntimeError, match=message):
        B.recurrent_layer(*on_reference.values())


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("size", [1, 5, 300])
def test_steps_by_kernels_are_the_definitions(size, dtype):
    rng = np.random.default_rng(0)
    for name, gates in (("lstm_gates", [4, 1]), ("gru_gates", [3, 3, 1])):
        inputs = [torch.from_numpy(rng.standard_normal((3, n * size)).astype(dtype)).requires_grad_() for n in gates]
        grads = [torch.from_numpy(rng.standard_normal((3, size)).astype(dtype)) for _ in range(2 if name == "lstm_gates" else 1)]
        for run, arguments in ((name, inputs), (name + "_backward", grads + [i.detach() for i in inputs])):
            with torch.no_grad():
                results, expected = getattr(B, run)(*arguments), operations[run].definition(B, *arguments)
            for ours, wanted in zip(results if isinstance(results, tuple) else (results,), expected if isinstance(expected, tuple) else (expected,), strict=True):
                np.testing.assert_allclose(ours.numpy(), wanted.numpy(), rtol=1e-5 if dtype == "float32" else 1e-12, atol=1e-6 if dtype == "float32" else 1e-13)


@pytest.mark.parametrize("arguments, error, message", [
    ((torch.zeros(3, 2, 4),), TypeError, "takes 9 arguments"),
    ((torch.zeros(3, 2, 4), torch.zeros(1, 2, 5), [], True, 1, 0.0, False, False, False), TypeError, "two states"),
    ((torch.zeros(3, 2, 4), (torch.zeros(1, 2, 5),), [], True, 1, 0.0, False, False, False), RuntimeError, "two hidden states"),
    ((torch.zeros(3, 2, 4), torch.zeros(2, 1, 2, 5), [], True, 1, 0.0, False, False, False), TypeError, "two states"),
    ((torch.zeros(3, 2, 4), tuple(torch.zeros(2, 1, 2, 5)), [torch.zeros(20, 4)], True, 1, 0.0, False, False, False), RuntimeError, "expected 4 parameters"),
    ((torch.zeros(3, 2, 4), tuple(torch.zeros(2, 3, 2, 5)), [torch.zeros(20, 4)] * 4, True, 1, 0.0, False, False, False), RuntimeError, "expected states"),
    ((torch.zeros(3, 4), tuple(torch.zeros(2, 1, 2, 5)), [torch.zeros(20, 4)] * 4, True, 1, 0.0, False, False, False), RuntimeError, "3 dims"),
    ((torch.zeros(3, 4), torch.tensor([2, 2]), tuple(torch.zeros(2, 1, 2, 5)), [torch.zeros(20, 4)] * 4, True, 1, 0.0, False, False), RuntimeError, "expected"),
    (([1], tuple(torch.zeros(2, 1, 2, 5)), [], True, 1, 0.0, False, False, False), TypeError, "got list"),
])
def test_calls_of_lstm_that_are_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        torch.lstm(*arguments)


def test_packed_sequences_on_another_device():
    """The same numbers and gradients, with the batch sizes where they always are."""
    rnn, outcomes = nn.utils.rnn, []
    for device in ("cpu", "reference"):
        torch.manual_seed(0)
        model, x = nn.LSTM(3, 4, 2, bidirectional=True).to(device), torch.randn(5, 3, 3).to(device).requires_grad_()
        packed, (h, c) = model(rnn.pack_padded_sequence(x, [2, 5, 3], enforce_sorted=False))
        output, lengths = rnn.pad_packed_sequence(packed)
        assert packed.batch_sizes.device.type == "cpu" and lengths.tolist() == [2, 5, 3]
        (output.square().sum() + h.sum() + c.sum()).backward()
        outcomes.append([t.detach().cpu() for t in (output, h, c, x.grad, *(p.grad for p in model.parameters()))])
    for ours, expected in zip(*outcomes, strict=True):
        torch.testing.assert_close(ours, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("cell", GATES)
def test_the_kernel_itself(cell):
    """Called as the operation calls it: a TypeError would send the work to the definition, unseen."""
    from pyx_tensor_cpu import recurrent
    arrays, _ = arguments(cell, (3, 2), dtype="float32")
    for biases in (arrays[5:], (None, None)):
        given = (*arrays[:5], *biases, None)
        *results, gates, cells = recurrent.recurrent_layer(*given, cell, (3, 2), False)
        output, h, *c = results
        grads = recurrent.recurrent_layer_backward(output, h, c[0] if c else None, *given, output, gates, cells, cell, (3, 2), False, (True,) * 8)
        assert [None if g is None else g.shape for g in grads[:5]] == [None if a is None else a.shape for a in arrays[:5]]
