"""The names of nodes, as `grad_fn.name()` and as their classes, against PyTorch's: one line of node_names.txt each.

An operation that is made of others shows the node of its last part, so that not all names agree; the list may only grow.
"""
from pathlib import Path

import pytest
import torch as real

import pyx_tensor as ours

EXPRESSIONS = Path(__file__).with_name("node_names.txt").read_text().splitlines()


def names_for(torch):
    """What the expressions speak of."""
    def r(*sizes):
        return torch.rand(*sizes).requires_grad_()

    torch.manual_seed(0)
    square = (torch.randn(4, 4) + 4 * torch.eye(4)).requires_grad_()
    positive = (square.detach() @ square.detach().T + torch.eye(4)).requires_grad_()
    return dict(torch=torch, F=torch.nn.functional, nn=torch.nn, r=r, x=r(4, 6), y=r(4, 6), v=r(6), sq=square, spd=positive, img=r(2, 4, 8, 8),
                seq=r(2, 4, 8), vol=r(2, 4, 6, 6, 6), idx=torch.tensor([0, 2, 1]), t=torch.tensor([1, 0, 3, 2]), oh=torch.rand(4, 6))


def node_of(library, expression):
    node = eval(expression, names_for(library)).grad_fn
    return node.name(), type(node).__name__


@pytest.mark.parametrize("expression", EXPRESSIONS)
@pytest.mark.filterwarnings("ignore")
def test_names(expression):
    assert node_of(ours, expression) == node_of(real, expression)


def test_functions_of_users():
    def node(torch):
        class Twice(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2

            @staticmethod
            def backward(ctx, g):
                return g * 2
        found = Twice.apply(torch.ones(2, requires_grad=True)).grad_fn
        return found.name(), type(found).__name__, type(found.next_functions[0][0]).__name__
    assert node(ours) == node(real)


@pytest.mark.parametrize("spoil", [lambda t, x: (x + 1).split(1)[0].add_(1), lambda t, x: (x + 1).unbind()[1].add_(1)])
def test_parts_of_one_call_refuse_writes(spoil):
    messages = []
    for torch in (ours, real):
        with pytest.raises(RuntimeError) as error:
            spoil(torch, torch.ones(3, requires_grad=True))
        messages.append(str(error.value).partition(" is a view")[0])
    assert messages[0] == messages[1]
