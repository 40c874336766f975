"""Model-agnostic meta-learning of sine waves: gradients of what was learned by gradients."""
import math
from collections import OrderedDict

import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(3)


class Learner(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1 = nn.Linear(1, 20)
        self.l2 = nn.Linear(20, 20)
        self.l3 = nn.Linear(20, 1)

    def forward(self, x, weights=None):
        if weights is None:
            weights = OrderedDict(self.named_parameters())
        x = torch.tanh(F.linear(x, weights["l1.weight"], weights["l1.bias"]))
        x = torch.tanh(F.linear(x, weights["l2.weight"], weights["l2.bias"]))
        return F.linear(x, weights["l3.weight"], weights["l3.bias"])


def task():
    amplitude, phase = 0.1 + 4.9 * torch.rand(1), math.pi * torch.rand(1)
    x = 10 * torch.rand(20, 1) - 5
    y = amplitude * torch.sin(x + phase)
    return x[:10], y[:10], x[10:], y[10:]


def adapt(model, x, y, steps, lr=0.05, create_graph=True):
    weights = OrderedDict(model.named_parameters())
    for _ in range(steps):
        loss = F.mse_loss(model(x, weights), y)
        grads = torch.autograd.grad(loss, weights.values(), create_graph=create_graph)
        weights = OrderedDict((name, w - lr * g) for (name, w), g in zip(weights.items(), grads))
    return weights


model = Learner()
meta = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(1, 31):
    meta.zero_grad()
    total = torch.zeros(())
    for _ in range(4):
        x, y, x_test, y_test = task()
        total = total + F.mse_loss(model(x_test, adapt(model, x, y, 2)), y_test)
    (total / 4).backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), 10.0)
    meta.step()
    if step % 10 == 0:
        print(f"step {step}: query loss {total.item() / 4:.4f}, gradient norm {norm.item():.4f}")
x, y, x_test, y_test = task()
for n in (0, 1, 3):
    weights = adapt(model, x, y, n, create_graph=False)
    print(f"after {n} inner steps: {F.mse_loss(model(x_test, weights), y_test).item():.4f}")
