"""The same `torch.library` program under PyTorch and here."""
import numpy as np
import pytest
import torch as pytorch

import pyx_tensor


def program(torch, namespace):
    """Defines an operation in PyTorch's style, and gives what it and its gradient compute."""
    @torch.library.custom_op(f"{namespace}::scaled_sin", mutates_args=())
    def scaled_sin(x: torch.Tensor, scale: float, *, shift: float = 0.0) -> torch.Tensor:
        return torch.from_numpy(np.sin(x.numpy()) * scale + shift)

    def setup_context(ctx, inputs, keyword_only_inputs=None, output=None):
        x, ctx.scale = inputs[:2]
        ctx.save_for_backward(x)

    def backward(ctx, grad):
        x, = ctx.saved_tensors
        return grad * x.cos() * ctx.scale, None

    scaled_sin.register_autograd(backward, setup_context=setup_context)
    x = torch.tensor([0.5, -1.0, 2.0], dtype=torch.float64, requires_grad=True)
    y = getattr(torch.ops, namespace).scaled_sin(x, 3.0, shift=0.25)
    grad, = torch.autograd.grad(y.sum(), x, create_graph=True)
    second, = torch.autograd.grad(grad.sum(), x)
    return [t.detach().numpy() for t in (y, grad, second)]


def test_a_program_in_pytorchs_style():
    for ours, theirs in zip(program(pyx_tensor, "oracle_ours"), program(pytorch, "oracle_theirs"), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-14)


def in_place(torch, namespace):
    @torch.library.custom_op(f"{namespace}::fill_squares", mutates_args={"out"})
    def fill_squares(x: torch.Tensor, out: torch.Tensor) -> None:
        out.numpy()[:] = x.numpy() ** 2

    x, out = torch.tensor([1.0, 2.0]), torch.zeros(2)
    before = out._version
    result = fill_squares(x, out)
    return result, out.tolist(), out._version > before


def test_an_operation_that_writes():
    assert in_place(pyx_tensor, "oracle_ours") == in_place(pytorch, "oracle_theirs")


@pytest.mark.parametrize("body", [lambda x: x, lambda x: x.view(-1)])
def test_results_that_share_memory_are_refused(body):
    def of(torch, namespace):
        def function(x):
            return body(x)
        function.__annotations__ = {"x": torch.Tensor, "return": torch.Tensor}
        return torch.library.custom_op(f"{namespace}::shares{id(body)}", function, mutates_args=())(torch.ones(2, 2))

    for torch in (pyx_tensor, pytorch):
        with pytest.raises(RuntimeError):
            of(torch, f"oracle_{torch.__name__}")
