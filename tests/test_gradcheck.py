"""gradcheck and gradgradcheck find wrong gradients, and only those."""
import pytest

import pyx_tensor as torch
from pyx_tensor.autograd import Function, GradcheckError, gradcheck, gradgradcheck


def leaf(*values, dtype=torch.float64):
    return torch.tensor(values, dtype=dtype, requires_grad=True)


class Wrong(Function):
    """A square whose gradient is off by `error`."""

    @staticmethod
    def forward(ctx, x, error):
        ctx.save_for_backward(x)
        ctx.error = error
        return x * x

    @staticmethod
    def backward(ctx, g):
        return (2 + ctx.error) * ctx.saved_tensors[0] * g, None


class WrongTwice(Function):
    """A square with a gradient that is right but for its own derivative."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        return 2 * ctx.saved_tensors[0].detach() * g


def test_right_gradients_pass():
    a, b = leaf(0.5, 2.0), leaf(1.5, -1.0)
    assert gradcheck(lambda a, b: (a * b, a.exp() + b), (a, b))
    assert gradgradcheck(lambda a, b: (a * b, (a * b).exp()), (a, b))


def test_wrong_gradients_fail():
    x = leaf(0.5, 2.0)
    with pytest.raises(GradcheckError, match="Jacobian mismatch for output 0 with respect to input 0"):
        gradcheck(lambda x: Wrong.apply(x, 0.1), x)
    assert gradcheck(lambda x: Wrong.apply(x, 0.1), x, raise_exception=False) is False
    assert gradcheck(lambda x: Wrong.apply(x, 0.1), x, rtol=0.2)


def test_wrong_second_derivatives_fail():
    x = leaf(0.5, 2.0)
    assert gradcheck(WrongTwice.apply, x)
    with pytest.raises(GradcheckError):
        gradgradcheck(WrongTwice.apply, x)
    assert gradgradcheck(WrongTwice.apply, x, raise_exception=False) is False


@pytest.mark.parametrize("function", [lambda z: z * z, lambda z: z.conj() * z, lambda z: z.abs(), lambda z: z.real * 2, lambda z: z.exp()])
def test_complex(function):
    z = leaf(0.5 + 1j, -1.0 + 0.25j, dtype=torch.complex128)
    assert gradcheck(function, z) and gradgradcheck(function, z)


def test_complex_gradients_that_miss_the_conjugate_fail():
    class Square(Function):
        @staticmethod
        def forward(ctx, z):
            ctx.save_for_backward(z)
            return z * z

        @staticmethod
        def backward(ctx, g):
            return 2 * ctx.saved_tensors[0] * g
    with pytest.raises(GradcheckError):
        gradcheck(Square.apply, leaf(0.5 + 1j, dtype=torch.complex128))


def test_inputs_without_gradient_are_left_alone():
    assert gradcheck(lambda x, n, t: (x ** n) * t, (leaf(2.0), 3, torch.ones(1, dtype=torch.float64)))
    with pytest.raises(ValueError, match="at least one input tensor to require gradient"):
        gradcheck(lambda x: x, torch.ones(1))


def test_outputs_that_ignore_an_input():
    assert gradcheck(lambda a, b: (a * 2, b * 3), (leaf(1.0), leaf(2.0)))


def test_backward_must_be_repeatable():
    class Noisy(Function):
        calls = 0

        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            Noisy.calls += 1
            return g * (1 + 1e-9 * Noisy.calls)
    with pytest.raises(GradcheckError, match="not reentrant"):
        gradcheck(Noisy.apply, leaf(1.0))
    assert gradcheck(Noisy.apply, leaf(1.0), nondet_tol=1e-6)


def test_backward_must_multiply_by_the_incoming_gradient():
    class Constant(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 3

        @staticmethod
        def backward(ctx, g):
            return torch.full_like(g, 3.0)
    with pytest.raises(GradcheckError, match="not multiplied by grad_output"):
        gradcheck(Constant.apply, leaf(1.0))


def test_single_precision_warns_and_overlap_is_refused():
    with pytest.warns(UserWarning, match="not a double precision"):
        gradcheck(lambda x: x * 2, leaf(1.0, dtype=torch.float32), eps=1e-2, atol=1e-2)
    with pytest.raises(RuntimeError, match="stride 0"):
        gradcheck(lambda x: x * 2, torch.ones(1, dtype=torch.float64).expand(3).requires_grad_())
