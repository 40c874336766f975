"""Functions of the user's own: both styles, what the context keeps, outputs of all kinds, errors."""
import gc
import weakref

import pytest

import pyx_tensor as torch
from pyx_tensor.autograd import Function, grad, gradcheck, gradgradcheck
from pyx_tensor.autograd.function import InplaceFunction, once_differentiable


def leaf(*values, dtype=torch.float64):
    return torch.tensor(values if len(values) != 1 else values[0], dtype=dtype, requires_grad=True)


class Cube(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x ** 3

    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        return 3 * x * x * g


class Scale(Function):
    """The early style."""

    def __init__(self, factor):
        self.factor = factor

    def forward(self, x):
        self.save_for_backward(x)
        self.positive = x > 0
        return x * x * self.factor

    def backward(self, g):
        x, = self.saved_tensors
        return 2 * x * g * self.factor


@pytest.mark.rows("S184")
def test_static_style():
    assert gradcheck(Cube.apply, leaf(0.5, 2.0)) and gradgradcheck(Cube.apply, leaf(0.5, 2.0))
    assert Cube.apply(leaf(1.0)).grad_fn.name() == "CubeBackward"


@pytest.mark.rows("S185")
def test_instance_style():
    x = leaf(1.0, -2.0)
    scale = Scale(3)
    scale(x).sum().backward()
    assert x.grad.tolist() == [6.0, -12.0] and scale.positive.tolist() == [True, False]
    assert gradcheck(Scale(2), x) and gradgradcheck(Scale(2), x)


def test_instances_can_be_called_again():
    x, y = leaf(2.0), leaf(3.0)
    scale = Scale(1)
    a, b = scale(x), scale(y)
    (a + b).backward()
    assert (x.grad.item(), y.grad.item()) == (4.0, 6.0)


def test_the_wrong_way_to_call_is_an_error():
    with pytest.raises(RuntimeError, match="not a static method"):
        Scale.apply(leaf(1.0))
    with pytest.raises(RuntimeError, match="static method"):
        Cube()(leaf(1.0))


def test_setup_context():
    class Power(Function):
        @staticmethod
        def forward(x, n=2):
            return x ** n

        @staticmethod
        def setup_context(ctx, inputs, output):
            x, ctx.n = inputs
            ctx.save_for_backward(x)

        @staticmethod
        def backward(ctx, g):
            x, = ctx.saved_tensors
            return ctx.n * x ** (ctx.n - 1) * g, None

    assert gradcheck(lambda x: Power.apply(x, 3), leaf(2.0))
    x = leaf(3.0)
    Power.apply(x).backward()
    assert x.grad.item() == 6.0
    assert grad(Power.apply(x, n=4), x)[0].item() == 108.0


def test_vjp_is_another_name_of_backward():
    class Twice(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def vjp(ctx, g):
            return g * 2
    assert grad(Twice.apply(leaf(1.0)), (x := leaf(1.0)), allow_unused=True) == (None,)
    assert grad(Twice.apply(x), x)[0].item() == 2.0


def test_without_backward():
    class Half(Function):
        @staticmethod
        def forward(ctx, x):
            return x / 2
    with pytest.raises(NotImplementedError, match="backward or vjp"):
        Half.apply(leaf(1.0)).backward()


class Record(Function):
    """Several outputs and arguments that aren't tensors."""
    seen = None

    @staticmethod
    def forward(ctx, a, number, b, text=None):
        Record.seen = ctx.needs_input_grad
        ctx.number = number
        return a * number, text, b + 1

    @staticmethod
    def backward(ctx, ga, gt, gb):
        Record.seen = (ga, gt, gb)
        return ga * ctx.number, None, gb, None


@pytest.mark.rows("S184", "S186")
def test_several_outputs_and_plain_arguments():
    a, b = leaf(1.0), torch.tensor(2.0, dtype=torch.float64)
    x, text, y = Record.apply(a, 5, b, "text")
    assert Record.seen == (True, False, False, False) and text == "text"
    x.backward()
    assert a.grad.item() == 5.0
    assert Record.seen[0].item() == 1.0 and Record.seen[1] is None and Record.seen[2].item() == 0.0      # zeros were made


def test_gradients_may_stay_unmaterialised():
    class Pair(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(False)
            return x * 1, x * 2

        @staticmethod
        def backward(ctx, g1, g2):
            assert g1 is None
            return g2 * 2
    x = leaf(1.0)
    Pair.apply(x)[1].backward()
    assert x.grad.item() == 2.0


def returning(*gradients):
    class Returning(Function):
        @staticmethod
        def forward(ctx, x, y):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return gradients[0] if len(gradients) == 1 else gradients
    return Returning


@pytest.mark.rows("S188")
@pytest.mark.parametrize("gradients, error, message", [
    ((torch.ones(2),), RuntimeError, r"incorrect number of gradients \(expected 2, got 1\)"),
    ((torch.ones(2), None, torch.ones(2)), RuntimeError, r"incorrect number of gradients \(expected 2, got 3\)"),
    ((torch.ones(2), torch.ones(2)), RuntimeError, "gradient different from None at position 2"),
    ((torch.ones(3), None), RuntimeError, "invalid gradient"),
    ((1.0, None), TypeError, "expected Variable or None"),
])
def test_wrong_gradients_are_refused(gradients, error, message):
    with pytest.raises(error, match=message):
        returning(*gradients).apply(torch.ones(2, requires_grad=True), 5).sum().backward()


@pytest.mark.rows("S187")
def test_gradients_may_be_none_or_too_many_nones():
    x = torch.ones(2, requires_grad=True)
    returning(None, None).apply(x, 5).sum().backward()
    assert x.grad is None
    returning(torch.ones(2), None, None).apply(x, 5).sum().backward()
    assert x.grad.tolist() == [1, 1]


@pytest.mark.rows("S089")
def test_saved_tensors_are_checked_and_freed():
    x = leaf(2.0)
    y = x * 1
    z = Cube.apply(y)
    y.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.backward()
    z = Cube.apply(x)
    z.backward()
    with pytest.raises(RuntimeError, match="second time"):
        z.backward()
    with pytest.raises(RuntimeError, match="second time"):
        z.grad_fn.saved_tensors


def test_saved_outputs_and_none():
    class Exp(Function):
        @staticmethod
        def forward(ctx, x):
            y = x.exp()
            ctx.save_for_backward(y, None)
            return y

        @staticmethod
        def backward(ctx, g):
            y, nothing = ctx.saved_tensors
            assert nothing is None
            return g * y
    assert gradcheck(Exp.apply, leaf(0.5)) and gradgradcheck(Exp.apply, leaf(0.5))
    y = Exp.apply(leaf(1.0))
    y.mul_(2)
    with pytest.raises(RuntimeError, match="which is output 0 of Exp"):
        y.backward()
    with pytest.raises(TypeError, match="save_for_backward can only save variables"):
        Exp().save_for_backward(1)


# --- in place, as is, views ---------------------------------------------------------------------------------------
class AddOne(Function):
    @staticmethod
    def forward(ctx, x):
        x.add_(1)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, g):
        return g * 10


def test_dirty_inputs():
    x = leaf(1.0, 2.0)
    y = x * 1
    z = AddOne.apply(y)
    assert z is y and y.tolist() == [2.0, 3.0] and y._version == 2 and y.grad_fn.name() == "AddOneBackward"
    z.sum().backward()
    assert x.grad.tolist() == [10.0, 10.0]
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad has been used in an in-place"):
        AddOne.apply(x)


def test_dirty_views():
    x = leaf(1.0, 2.0)
    y = x * 1
    AddOne.apply(y[:1])
    assert y.grad_fn.name() == "CopySlices"
    y.sum().backward()
    assert x.grad.tolist() == [10.0, 1.0]


def test_dirty_inputs_must_be_returned():
    class Wrong(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x + 1
    with pytest.raises(RuntimeError, match="must all be outputs"):
        Wrong.apply(leaf(1.0) * 1)


def test_inputs_returned_as_they_are():
    class Reverse(Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, g):
            return -g
    x = leaf(1.0)
    y = Reverse.apply(x)
    assert y is not x and y.data_ptr() == x.data_ptr() and x.is_leaf
    y.backward()
    assert x.grad.item() == -1.0
    with pytest.raises(RuntimeError, match="custom Function"):
        Reverse.apply(leaf(1.0) * 1).mul_(2)


def test_views_of_inputs():
    class First(Function):
        @staticmethod
        def forward(ctx, x):
            return x[:1]

        @staticmethod
        def backward(ctx, g):
            return torch.cat([g * 5, torch.zeros(1, dtype=g.dtype)])
    x = leaf(1.0, 2.0)
    y = x * 1
    v = First.apply(y)
    v.sum().backward(retain_graph=True)
    assert x.grad.tolist() == [5.0, 0.0]
    with pytest.raises(RuntimeError, match="custom Function"):
        v.mul_(2)


def test_outputs_without_gradient():
    class Sort(Function):
        @staticmethod
        def forward(ctx, x):
            index = x.argsort()
            ordered = x[index]
            copy = x * 2
            ctx.mark_non_differentiable(copy)
            ctx.save_for_backward(index)
            return ordered, index, copy

        @staticmethod
        def backward(ctx, g, gi, gc):
            index, = ctx.saved_tensors
            return torch.zeros_like(g).index_add(0, index, g)
    x = leaf(3.0, 1.0, 2.0)
    ordered, index, copy = Sort.apply(x)
    assert ordered.requires_grad and not index.requires_grad and not copy.requires_grad
    (ordered * torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)).sum().backward()
    assert x.grad.tolist() == [3.0, 1.0, 2.0]


def test_unrecorded_calls():
    x = leaf(2.0)
    with torch.no_grad():
        assert not Cube.apply(x).requires_grad
    assert not Cube.apply(x.detach()).requires_grad


def test_inplace_function():
    class Negate(InplaceFunction):
        def forward(self, x):
            if self.inplace:
                self.mark_dirty(x)
                return x.neg_()
            return -x

        def backward(self, g):
            return -g
    x = leaf(1.0)
    y = x * 1
    assert Negate(inplace=True)(y) is y and Negate()(y) is not y
    y.backward()
    assert x.grad.item() == -1.0


# --- second derivatives -------------------------------------------------------------------------------------------
def test_once_differentiable():
    class Once(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        @once_differentiable
        def backward(ctx, g):
            x, = ctx.saved_tensors
            return 2 * x * g
    x = leaf(3.0)
    assert grad(Once.apply(x), x)[0].item() == 6.0
    first, = grad(Once.apply(x * 1) * x, x, create_graph=True)
    with pytest.raises(RuntimeError, match="marked with @once_differentiable"):
        first.backward()


def keeping(make, keep=None):
    """A Function that keeps on its context what `make(x)` gives."""
    class Keeping(Function):
        @staticmethod
        def forward(ctx, x):
            kept = make(x)
            if keep is None:
                ctx.kept = kept
            else:
                keep(ctx, kept)
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            x, = ctx.saved_tensors
            return 2 * x * g
    return Keeping


@pytest.mark.parametrize("make", [
    lambda x: x.exp(), lambda x: [x * 2], lambda x: {"a": x.sum()}, lambda x: x.view(-1).detach(), lambda x: torch.zeros(2).copy_(x),
    lambda x: torch.cat([x, x]), lambda x: torch.zeros_like(x).add_(x), lambda x: torch.exp(x, out=torch.zeros(2, dtype=x.dtype)),
    lambda x: Cube.apply(x), lambda x: x.to(torch.float32), lambda x: x[0], lambda x: (x > 0) * x])
def test_kept_values_derived_from_an_input_are_refused_under_create_graph(make):
    x = leaf(1.0, 2.0)
    function = keeping(make)
    assert grad(function.apply(x).sum(), x)[0].tolist() == [2.0, 4.0]
    with pytest.raises(RuntimeError, match="ctx.kept was computed in forward from an input that requires grad"):
        grad(function.apply(x).sum(), x, create_graph=True)


@pytest.mark.parametrize("make", [lambda x: x > 0, lambda x: x.argsort(), lambda x: torch.randn(2), lambda x: torch.ones_like(x), lambda x: x,
                                  lambda x: x.shape, lambda x: (torch.rand(2) > 0.5).double() * 2])
def test_other_kept_values_are_fine_under_create_graph(make):
    assert gradgradcheck(keeping(make).apply, leaf(1.0, 2.0))


def test_saved_intermediate_values_are_refused_under_create_graph():
    x = leaf(1.0, 2.0)

    class Saving(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x.exp())
            return x.exp()

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[0]
    grad(Saving.apply(x).sum(), x)
    with pytest.raises(RuntimeError, match="neither input nor output"):
        grad(Saving.apply(x).sum(), x, create_graph=True)


# --- memory -------------------------------------------------------------------------------------------------------
def test_functions_make_no_reference_cycles():
    class Both(Function):
        @staticmethod
        def forward(ctx, x):
            y = x.exp()
            ctx.save_for_backward(x, y)
            return y

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[1]

    gc.collect()
    gc.disable()
    try:
        x = leaf(1.0, 2.0)
        y = Both.apply(x)
        scale = Scale(2)
        z = scale(y)
        u = x * 1
        v = AddOne.apply(u[:1])
        alive = [weakref.ref(o) for o in (x, y, z, u, v, y.grad_fn, z.grad_fn, u.grad_fn, y.grad_fn.ctx)]
        z.sum().backward()
        del x, y, z, u, v, scale
        assert [r() for r in alive] == [None] * 9
    finally:
        gc.enable()


def test_the_base_class_cannot_be_applied():
    with pytest.raises(NotImplementedError, match="forward"):
        Function.apply(torch.ones(1))
