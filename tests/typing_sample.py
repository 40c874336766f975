"""A program that type checkers read (tests/test_typing.py); it is never run."""
from __future__ import annotations

import numpy as np

import pyx_tensor as torch
from pyx_tensor import Tensor, nn


class Net(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.layer = nn.Linear(width, 1)

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.layer(x)
        return result.tanh()


def losses(x: Tensor, y: Tensor) -> list[float]:
    model, found = Net(x.shape[1]), []
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        loss: Tensor = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        found.append(float(loss.item()))
    return found


def tensors() -> None:
    a: Tensor = torch.zeros(2, 3, dtype=torch.float64, device="cpu")
    b: Tensor = torch.tensor([[1, 2, 3]]) + a * 2 - 1 / (a + 1) @ a.T
    sizes: torch.Size = a.shape
    rows: int = a.size(0)
    kind: torch.dtype = b.dtype
    place: torch.device = b.device
    array: np.ndarray = a.numpy()
    values, indices = torch.sort(a, dim=1, descending=True)
    top = torch.topk(a, 2)
    best: Tensor = top.values
    parts: tuple[Tensor, ...] = torch.split(a, 1)
    same: bool = torch.allclose(a, b)
    c: Tensor = a.add_(1).clamp(min=0).view(-1, 3).permute(1, 0).reshape(6)[1:3]
    d: Tensor = torch.where(a > 0, a, 0.0).sum(dim=(0, 1), keepdim=True)
    e: Tensor = torch.einsum("ij,kj->ik", a, a).to(torch.float32).cpu().detach().requires_grad_()
    with torch.no_grad():
        e.mul_(2)
    gradient = e.grad
    if gradient is not None:
        gradient.zero_()
    g = torch.Generator().manual_seed(3)
    torch.randn(2, 2, generator=g)
    torch.manual_seed(0)
    f: Tensor = torch.cat([a, a], dim=0).mean(0).max(0).values
    h: Tensor = torch.arange(0, 10, 2).float().std(correction=0)
    i: Tensor = torch.linalg.solve(a, a) + torch.linalg.svd(a).S + torch.fft.rfft(a).abs() + torch.special.gammaln(a)
    j: Tensor = nn.functional.conv2d(i[None, None], i[None, None], padding=(1, 1)) + nn.functional.softmax(i, dim=1)
    layers = nn.Sequential(nn.Conv2d(1, 2, 3, padding="same"), nn.ReLU(), nn.MaxPool2d((2, 2)), nn.LSTM(4, 3, batch_first=True))
    total: int = sum(p.numel() for p in layers.parameters())
    print(j, total, torch.masked.mean(a, mask=a > 0), a.__array_namespace__())
    w = nn.Parameter(torch.ones(2))
    print(sizes, rows, kind, place, array, values, indices, best, parts, same, c, d, f, h, w, torch.inf)


@torch.no_grad()
def decorated(x: Tensor) -> int:
    return x.numel()
