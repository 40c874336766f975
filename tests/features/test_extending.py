"""New operations and layers of a newcomer's own: Functions of both styles, modules, dynamic networks."""
import pytest

import pyx_tensor as torch
import pyx_tensor.nn.functional as F
from pyx_tensor import nn
from pyx_tensor.autograd import Function, Variable


def leaf(*values):
    return torch.tensor(values, requires_grad=True)


class Linear(Function):
    """x W' + b."""

    @staticmethod
    def forward(ctx, x, weight, bias=None):
        assert not torch.is_grad_enabled()
        ctx.save_for_backward(x, weight)
        y = x.mm(weight.t())
        assert y.grad_fn is None
        return y if bias is None else y + bias

    @staticmethod
    def backward(ctx, g):
        x, weight = ctx.saved_tensors
        gx = g.mm(weight) if ctx.needs_input_grad[0] else None
        gw = g.t().mm(x) if ctx.needs_input_grad[1] else None
        return gx, gw, g.sum(0) if ctx.needs_input_grad[2] else None


class Scale(Function):
    """A tensor times a number; the gradient is made a tenfold of what it is, to be told apart."""

    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        return x * factor

    @staticmethod
    def backward(ctx, g):
        return 10 * ctx.factor * g, None


# --- operations ----------------------------------------------------------------------------------------------------
@pytest.mark.rows("S184")
def test_a_function_in_a_larger_graph():
    x = leaf(1.0, 2.0)
    y = Scale.apply(x * 2, 3)
    assert y.tolist() == [6, 12] and y.requires_grad and type(y) is torch.Tensor
    (y * y).sum().backward()
    assert x.grad.tolist() == [2 * 6 * 30 * 2, 2 * 12 * 30 * 2]
    with torch.no_grad():
        assert not Scale.apply(x, 3).requires_grad
    assert Scale.apply(torch.ones(1), 3).grad_fn is None


class EarlyScale(Function):
    """The style of PyTorch 0.1: arguments that aren't tensors go to __init__."""

    def __init__(self, factor):
        super().__init__()
        self.factor = factor

    def forward(self, x, y):
        self.save_for_backward(x, y)
        return x * y * self.factor

    def backward(self, g):
        x, y = self.saved_tensors
        self.needed = self.needs_input_grad
        return g * y * self.factor, g * x * self.factor if self.needs_input_grad[1] else None


@pytest.mark.rows("S069", "S185")
def test_the_instance_style():
    x, y = Variable(torch.tensor([1.0, 2.0]), requires_grad=True), Variable(torch.tensor([3.0, 4.0]))
    function = EarlyScale(2)
    z = function(x, y)
    assert z.tolist() == [6, 16] and z.creator is function and x.creator is None and z.grad_fn.name() == "EarlyScaleBackward"
    assert EarlyScale(5)(x, y).creator is not function
    (z * z).sum().backward()
    assert x.grad.tolist() == [2 * 6 * 6, 2 * 16 * 8] and y.grad is None and function.needed == (True, False)
    with pytest.raises(RuntimeError):
        EarlyScale.apply(x, y)


class SumAndDifference(Function):
    seen = None

    @staticmethod
    def forward(ctx, a, b):
        return a + b, a - b

    @staticmethod
    def backward(ctx, gs, gd):
        SumAndDifference.seen = gs.tolist(), gd.tolist()
        return gs + gd, gs - gd


@pytest.mark.rows("S186")
def test_several_outputs_and_inputs():
    a, b = leaf(5.0, 6.0), leaf(1.0, 2.0)
    outputs = SumAndDifference.apply(a, b)
    assert type(outputs) is tuple and [o.tolist() for o in outputs] == [[6, 8], [4, 4]]
    (outputs[0] * torch.tensor([1.0, 10.0]) + outputs[1] * 100).sum().backward()
    assert SumAndDifference.seen == ([1, 10], [100, 100]) and a.grad.tolist() == [101, 110] and b.grad.tolist() == [-99, -90]
    a.grad = None
    SumAndDifference.apply(a, b)[1].sum().backward()
    assert SumAndDifference.seen == ([0, 0], [1, 1]) and a.grad.tolist() == [1, 1]
    assert type(Scale.apply(a, 2)) is torch.Tensor


@pytest.mark.rows("S187")
def test_inputs_without_a_gradient():
    x, weight, bias = torch.ones(2, 3), torch.full((4, 3), 0.5, requires_grad=True), torch.zeros(4, requires_grad=True)
    Linear.apply(x, weight, bias).sum().backward()
    assert x.grad is None and weight.grad.tolist() == [[2] * 3] * 4 and bias.grad.tolist() == [2] * 4
    asked = []

    class Asks(Function):
        @staticmethod
        def forward(ctx, a, number, b):
            asked.append(ctx.needs_input_grad)
            return a * number + b

        @staticmethod
        def backward(ctx, g):
            asked.append(ctx.needs_input_grad)
            return g, None, None
    a, b = leaf(1.0), leaf(1.0)
    Asks.apply(a, 3, b).backward()
    Asks.apply(a.detach(), 3, b).backward()
    assert asked == [(True, False, True)] * 2 + [(False, False, True)] * 2 and a.grad.tolist() == [1] and b.grad is None


@pytest.mark.rows("S188")
def test_the_number_of_gradients():
    class One(Scale):
        @staticmethod
        def backward(ctx, g):
            return g

    class Three(Scale):
        @staticmethod
        def backward(ctx, g):
            return g, None, g
    x = leaf(1.0, 2.0)
    for function, count in ((One, 1), (Three, 3)):
        with pytest.raises(RuntimeError, match=rf"{function.__name__}Backward returned an incorrect number of gradients \(expected 2, got {count}\)"):
            function.apply(x, 3).sum().backward()
    assert x.grad is None


@pytest.mark.rows("S189")
def test_the_node_of_a_function():
    x, y = leaf(1.0), leaf(2.0)
    inner = x * y
    one, other = SumAndDifference.apply(inner, y)
    again = SumAndDifference.apply(inner, y)[0]
    assert one.grad_fn is other.grad_fn is not again.grad_fn and (one.output_nr, other.output_nr) == (0, 1)
    assert one.grad_fn.name() == "SumAndDifferenceBackward"
    (first, _), (second, _) = one.grad_fn.next_functions
    assert first is inner.grad_fn and second.variable is y


# --- layers --------------------------------------------------------------------------------------------------------
class LinearLayer(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.inputs = inputs
        self.weight = nn.Parameter(torch.arange(float(inputs * outputs)).view(outputs, inputs) / 10)
        self.bias = nn.Parameter(torch.ones(outputs))
        self.register_buffer("calls", torch.tensor(0))

    def forward(self, x):
        self.calls += 1
        return Linear.apply(x, self.weight, self.bias)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = LinearLayer(3, 4), LinearLayer(4, 2)
        self.note, self.plain = "a note", torch.ones(2)

    def forward(self, x):
        return self.second(torch.tanh(self.first(x)))


@pytest.mark.rows("S190")
def test_a_layer_that_runs_a_function():
    layer, x = LinearLayer(3, 2), torch.tensor([[1.0, 2.0, 3.0], [0.5, -1.0, 4.0]], requires_grad=True)
    y = layer(x)
    (y ** 2).sum().backward()
    gradients = [t.grad.clone() for t in (x, layer.weight, layer.bias)]
    for t in (x, layer.weight, layer.bias):
        t.grad = None
    expected = F.linear(x, layer.weight, layer.bias)
    (expected ** 2).sum().backward()
    assert torch.allclose(y, expected) and all(torch.allclose(g, t.grad) for g, t in zip(gradients, (x, layer.weight, layer.bias)))
    assert [name for name, _ in layer.named_parameters()] == ["weight", "bias"] and list(layer.state_dict()) == ["weight", "bias", "calls"]
    before, step = layer.bias.tolist(), torch.optim.SGD(layer.parameters(), lr=0.5)
    step.step()
    assert layer.bias.tolist() == pytest.approx([b - 0.5 * g for b, g in zip(before, layer.bias.grad.tolist())])


@pytest.mark.rows("S191", "S193")
def test_what_a_layer_registers():
    net = Net()
    assert [name for name, _ in net.named_parameters()] == ["first.weight", "first.bias", "second.weight", "second.bias"]
    assert [name for name, _ in net.named_children()] == ["first", "second"] and net.note == "a note" and net.plain.tolist() == [1, 1]
    assert [name for name, _ in net.named_buffers()] == ["first.calls", "second.calls"]
    assert "first.calls" in net.state_dict() and "plain" not in net.state_dict() and all(p is not net.first.calls for p in net.parameters())
    y = net(Variable(torch.ones(1, 3)))
    assert isinstance(y, Variable) and y.grad_fn is not None and net.first.calls == net.second.calls == 1
    y.sum().backward()
    assert all(p.grad is not None for p in net.parameters())
    net.register_buffer("scale", torch.ones(1))
    net.to(torch.float64)
    assert net.scale.dtype is net.first.weight.dtype is torch.float64 and net.plain.dtype is torch.float32 and net.first.calls.dtype is torch.int64
    assert net.to("reference").scale.device.type == "reference"


@pytest.mark.rows("S192")
def test_the_base_comes_first():
    class Late(nn.Module):
        def __init__(self, value):
            self.value = value
            super().__init__()
    for value, kind in ((nn.Linear(1, 1), "module"), (nn.Parameter(torch.ones(1)), "parameters")):
        with pytest.raises(AttributeError, match=rf"cannot assign {kind} before Module.__init__\(\) call"):
            Late(value)


@pytest.mark.rows("S194")
@pytest.mark.parametrize(("module", "function", "expected"), [
    (nn.ReLU(), F.relu, [[0, 2, 0, 4]]), (nn.Hardtanh(), F.hardtanh, [[-1, 1, -1, 1]]), (nn.LeakyReLU(0.5), lambda x: F.leaky_relu(x, 0.5), [[-0.5, 2, -1.5, 4]]),
    (nn.MaxPool1d(2), lambda x: F.max_pool1d(x, 2), [[2, 4]]), (nn.AvgPool1d(2), lambda x: F.avg_pool1d(x, 2), [[0.5, 0.5]]),
    (nn.Softmax(1), lambda x: F.softmax(x, 1), [[v / (2.718281828 ** -1 + 2.718281828 ** 2 + 2.718281828 ** -3 + 2.718281828 ** 4) for v in
                                                (2.718281828 ** -1, 2.718281828 ** 2, 2.718281828 ** -3, 2.718281828 ** 4)]]),
    (nn.Dropout(0.0), lambda x: F.dropout(x, 0.0), [[-1, 2, -3, 4]])])
def test_two_interfaces(module, function, expected):
    x = torch.tensor([[-1.0, 2.0, -3.0, 4.0]])
    assert torch.equal(module(x), function(x)) and module(x).tolist()[0] == pytest.approx(expected[0], rel=1e-5) and not list(module.parameters())


@pytest.mark.rows("S194")
def test_two_interfaces_over_images():
    x = torch.arange(16.0).view(1, 1, 4, 4)
    assert nn.MaxPool2d(2)(x).tolist() == F.max_pool2d(x, 2).tolist() == [[[[5, 7], [13, 15]]]]
    convolution = nn.Conv2d(1, 1, 2, bias=False)
    assert torch.equal(convolution(x), F.conv2d(x, convolution.weight)) and len(list(convolution.parameters())) == 1


@pytest.mark.rows("S195")
def test_a_layer_used_a_varying_number_of_times():
    class Repeated(nn.Module):
        """x w^n: one layer, as often as is asked for, and once more where the sum is negative."""

        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(1, 1, bias=False)

        def forward(self, x, times):
            for _ in range(times):
                x = self.layer(x)
            return self.layer(x) if x.sum() < 0 else x
    model = Repeated()
    for weight, start, times, uses in ((2.0, 3.0, 1, 1), (2.0, 3.0, 4, 4), (0.5, 1.0, 0, 0), (2.0, -3.0, 2, 3), (-2.0, 3.0, 3, 4)):
        with torch.no_grad():
            model.layer.weight.fill_(weight)
        model.zero_grad()
        y = model(torch.tensor([[start]]), times)
        assert y.item() == start * weight ** uses
        if uses:
            y.backward()
            assert model.layer.weight.grad.item() == uses * start * weight ** (uses - 1)
        else:
            assert not y.requires_grad
