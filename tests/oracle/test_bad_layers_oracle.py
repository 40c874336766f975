"""Layers and functional forms with arguments that don't fit, and with nothing in them, against PyTorch: what is raised, or the result's shape.

One line of bad_layers.txt each. Where both should differ, `REFUSED` and `RIGHT` say why.
"""
from pathlib import Path

import pytest
import torch as real

import pyx_tensor as ours

EXPRESSIONS = Path(__file__).with_name("bad_layers.txt").read_text().splitlines()
REFUSED = {         # PyTorch reads memory that isn't there, ignores an argument, or fails by an accident of its own
    "F.ctc_loss(z(5,2,4),L(2,3)+9,(5,5),(3,3))": "RuntimeError", "F.ctc_loss(z(5,2,4),L(2,3)-1,(5,5),(3,3))": "RuntimeError",
    "nn.utils.rnn.pack_padded_sequence(z(5,2,3),I(6,2))": "RuntimeError",
    "F.scaled_dot_product_attention(z(1,2,4,8),z(1,2,5,8),z(1,2,4,8))": "RuntimeError",
    "F.scaled_dot_product_attention(z(1,2,4,8),z(1,2,4,8),z(1,2,4,8),attn_mask=z(4,4),is_causal=True)": "RuntimeError",
    "F.avg_pool2d(z(8,8),3)": "RuntimeError", "F.fractional_max_pool2d(z(1,3,8,8),3,output_ratio=1.5)": "ValueError",
    "F.mse_loss(z(2),None)": "TypeError",
    "F.avg_pool2d(z(1,3,8,8).long(),3)": "NotImplementedError",         # means of integers, rounded down
}
RIGHT = {"F.conv2d(z(1,0,8,8),z(4,0,3,3))": (1, 4, 6, 6)}               # no input channel: zeros, of as many channels as the weight has


def outcome(torch, expression):
    def z(*sizes):
        return torch.zeros(*sizes)

    def L(*sizes):
        return torch.zeros(*sizes).long()

    def I(*values):     # noqa: E743
        return torch.tensor(values)

    torch.manual_seed(0)
    try:
        result = eval(expression, dict(torch=torch, F=torch.nn.functional, nn=torch.nn, z=z, L=L, I=I))
    except Exception as error:
        return type(error).__name__
    return tuple(result.shape) if isinstance(result, torch.Tensor) else f"a {type(result).__name__}"


@pytest.mark.parametrize("expression", EXPRESSIONS)
@pytest.mark.filterwarnings("ignore")
def test_outcome(expression):
    expected = REFUSED.get(expression) or RIGHT.get(expression) or outcome(real, expression)
    assert outcome(ours, expression) == expected
