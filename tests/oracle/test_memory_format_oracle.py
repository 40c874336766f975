"""Memory formats against PyTorch: strides, values, and whether a tensor is itself or a copy."""
import pytest
import torch as real

import pyx_tensor as ours


def tensors(torch):
    """Row-major, channels last, permuted, sliced, broadcast, small ones."""
    x, v, m = torch.arange(120.).reshape(2, 3, 4, 5), torch.arange(240.).reshape(2, 3, 2, 4, 5), torch.arange(6.).reshape(2, 3)
    last = torch.empty_strided((2, 3, 4, 5), (60, 1, 15, 3)).copy_(x)
    return dict(
        images=x, volumes=v, permuted=x.permute(0, 3, 1, 2), channels_last=last, matrix=m, one_channel=torch.ones(1, 1, 4, 4), points=torch.ones(4, 1, 1, 1),
        every_second=x[:, :, ::2], broadcast=torch.ones(1, 3, 1, 1).expand(2, 3, 4, 5), three=torch.arange(24.).reshape(2, 3, 4), transposed=m.t(),
        part=last[:, :2], volumes_last=v.permute(0, 4, 1, 2, 3), scalar=torch.tensor(1.), reversed=x.transpose(0, 3), rows=m[:, None].expand(2, 4, 3))


def actions(torch):
    formats = dict(last=torch.channels_last, last_3d=torch.channels_last_3d, row_major=torch.contiguous_format, kept=torch.preserve_format)
    found = {"double": lambda t: t.double(), "half": lambda t: t.half(), "copy": lambda t: t.to(torch.float32, copy=True),
             "int": lambda t: torch.zeros_like(t, dtype=torch.int64), "full": lambda t: torch.full_like(t, 2.), "ones": lambda t: torch.ones_like(t),
             "sum": lambda t: t + 1, "compared": lambda t: t > 0, "new": lambda t: t.new_zeros(tuple(t.shape)),
             "random": lambda t: torch.rand_like(t), "integers": lambda t: torch.randint_like(t, 9), "normal": lambda t: torch.randn_like(t)}
    for name, format in formats.items():
        found.update({
            f"is {name}": lambda t, f=format: t.is_contiguous(memory_format=f), f"contiguous {name}": lambda t, f=format: t.contiguous(memory_format=f),
            f"to {name}": lambda t, f=format: t.to(memory_format=f), f"double to {name}": lambda t, f=format: t.to(torch.float64, memory_format=f),
            f"cpu {name}": lambda t, f=format: t.cpu(memory_format=f), f"clone {name}": lambda t, f=format: t.clone(memory_format=f),
            f"zeros {name}": lambda t, f=format: torch.zeros_like(t, memory_format=f), f"random {name}": lambda t, f=format: torch.rand_like(t, memory_format=f),
            f"empty {name}": lambda t, f=format: torch.empty(tuple(t.shape), memory_format=f).zero_(),
            f"resized {name}": lambda t, f=format: t.clone().resize_(tuple(t.shape), memory_format=f).zero_()})
    return found


def outcome(torch, tensor, action):
    torch.manual_seed(0)
    given = tensors(torch)[tensor]
    try:
        result = actions(torch)[action](given)
    except RuntimeError as error:
        return type(error).__name__
    if isinstance(result, bool):
        return result
    return tuple(result.shape), result.stride(), str(result.dtype), result is given, result.double().flatten().tolist()


@pytest.mark.parametrize("tensor", list(tensors(ours)))
@pytest.mark.parametrize("action", list(actions(ours)))
def test_strides_and_values(tensor, action):
    mine, theirs = outcome(ours, tensor, action), outcome(real, tensor, action)
    if isinstance(theirs, tuple) and action.startswith("normal"):
        assert mine[:4] == theirs[:4]
        assert mine[4] == pytest.approx(theirs[4], rel=1e-6)
    else:
        assert mine == theirs


@pytest.mark.parametrize("layer", [lambda nn: nn.Conv2d(3, 4, 3, padding=1), lambda nn: nn.BatchNorm2d(3), lambda nn: nn.MaxPool2d(2), lambda nn: nn.ReLU(),
                                   lambda nn: nn.AdaptiveAvgPool2d(2), lambda nn: nn.Upsample(scale_factor=2), lambda nn: nn.ConvTranspose2d(3, 4, 2, 2)])
def test_layers_take_channels_last(layer):
    """Their values and gradients don't depend on how the input lies."""
    results = []
    for torch in (ours, real):
        torch.manual_seed(0)
        model = layer(torch.nn).to(memory_format=torch.channels_last)
        x = torch.rand(2, 3, 4, 6).contiguous(memory_format=torch.channels_last).requires_grad_()
        y = model(x)
        (y * y).sum().backward()
        results.append((y.detach().flatten().tolist(), x.grad.flatten().tolist()))
    assert results[0][0] == pytest.approx(results[1][0], rel=1e-5, abs=1e-6)
    assert results[0][1] == pytest.approx(results[1][1], rel=1e-4, abs=1e-5)
