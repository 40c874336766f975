"""Functions of a user's own with a forward for each device."""
import pytest

import pyx_tensor as torch
from pyx_tensor import library
from pyx_tensor.autograd import Function, function_for, gradcheck, gradgradcheck

DEVICES = ("cpu", "reference")
calls = []          # the forwards and backwards that ran


def leaf(device):
    return torch.tensor([0.5, -1.25, 2.0], dtype=torch.float64, device=device, requires_grad=True)


class Cube(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        calls.append("own")
        return x * x * x

    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        return 3 * g * x * x


@function_for(Cube, "reference")
class CubeOnReference:
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        calls.append("reference")
        return library.from_array(x.array ** 3, x.device)

    @staticmethod
    def backward(ctx, g):
        calls.append("backward on reference")
        x, = ctx.saved_tensors
        return g * 3 * x.square()


@pytest.mark.parametrize(("device", "ran"), [("cpu", ["own"]), ("reference", ["reference", "backward on reference"])])
def test_a_function_runs_what_its_device_has(device, ran):
    x = leaf(device)
    calls.clear()
    Cube.apply(x).sum().backward()
    assert calls == ran
    assert torch.allclose(x.grad, 3 * x.detach() ** 2)
    assert gradcheck(Cube.apply, (x,)) and gradgradcheck(Cube.apply, (x,))


def test_the_first_tensor_argument_decides():
    class Times(Function):
        pass

    def forward(label):
        def run(ctx, factor, x):
            calls.append(label)
            ctx.factor = factor
            return x * factor
        return run

    for device in DEVICES:
        Times.register(device, forward=forward(device), backward=lambda ctx, g: (None, g * ctx.factor))
    calls.clear()
    for device in DEVICES:
        x = torch.ones(2, device=device, requires_grad=True)
        Times.apply(3.0, x).sum().backward()
        assert x.grad.tolist() == [3.0, 3.0]
    assert calls == list(DEVICES)


def test_a_device_without_a_forward_is_an_error():
    class OnlyCpu(Function):
        @staticmethod
        def backward(ctx, g):
            return g

    OnlyCpu.register("cpu", forward=lambda ctx, x: x * 1)
    assert OnlyCpu.apply(torch.ones(2)).tolist() == [1.0, 1.0]
    with pytest.raises(NotImplementedError, match="OnlyCpu has no forward for device 'reference'; it has one for: cpu"):
        OnlyCpu.apply(torch.ones(2, device="reference"))


def test_setup_context_serves_all_devices():
    class Square(Function):
        @staticmethod
        def forward(x, *, factor=1.0):
            return x * x * factor

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(inputs[0])

        @staticmethod
        def backward(ctx, g):
            return 2 * g * ctx.saved_tensors[0]

    Square.register("reference", forward=lambda x: x.square())
    for device in DEVICES:
        assert gradcheck(Square.apply, (leaf(device),))


def test_early_style_has_devices_too():
    class Scale(Function):
        def __init__(self, factor):
            self.factor = factor

        def forward(self, x):
            return x * self.factor

        def backward(self, g):
            return g * self.factor

    Scale.register("reference", forward=lambda self, x: x * self.factor + 0.5)
    assert Scale(2.0)(torch.ones(1)).item() == 2.0
    x = torch.ones(1, device="reference", requires_grad=True)
    y = Scale(2.0)(x)
    y.backward()
    assert y.item() == 2.5 and x.grad.item() == 2.0


def test_subclasses_inherit_and_override():
    class Inherits(Cube):
        pass

    class Overrides(Cube):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            calls.append("override")
            return x ** 3

    x = torch.ones(1, device="reference")
    calls.clear()
    Inherits.apply(x)
    Overrides.apply(x)
    assert calls == ["reference", "override"]
    Inherits.register("cpu", forward=lambda ctx, x: x * 0)
    assert Cube.apply(torch.ones(1)).item() == 1.0 and Inherits.apply(torch.ones(1)).item() == 0.0


@pytest.mark.parametrize(("arguments", "error", "message"), [
    (("reference", print), ValueError, "has a forward for device 'reference' already"),
    (("cpu",), TypeError, "expected a forward, a backward, or both"),
    (("cpu", 3), TypeError, "forward must be a function, not int"),
    (("cuda:0", print), ValueError, "device must be a device type"),
])
def test_wrong_registrations(arguments, error, message):
    with pytest.raises(error, match=message):
        Cube.register(*arguments)
