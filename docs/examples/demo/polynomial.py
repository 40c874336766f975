"""Learns the coefficients of a polynomial of degree four from random batches, by gradient descent written by hand."""
import itertools
from pathlib import Path

import numpy as np
import pyx_tensor as torch

DEGREE = 4
OUTPUT = Path("demo_output")

torch.manual_seed(5000)
target_weight = torch.randn(DEGREE, 1) * 5
target_bias = torch.randn(1) * 5


def powers(x):
    """The columns x, x**2, x**3, x**4."""
    x = x.unsqueeze(1)
    return torch.cat([x ** degree for degree in range(1, DEGREE + 1)], 1)


def draw_batch(size=32):
    """Sorted random points and the target's values there."""
    x = powers(torch.from_numpy(np.sort(torch.randn(size))))
    return x, x.mm(target_weight) + target_bias


def describe(weight, bias):
    """The classic program's line. Its labels count down while the columns count up: x's coefficient stands at x^4."""
    terms = [f"{value:+.2f} x^{DEGREE - i}" for i, value in enumerate(weight.view(-1))]
    return f"y={''.join(terms)}{bias.view(-1)[0]:+.2f}"


def learn(model, rate=0.1, bound=1e-3):
    """Descends until a batch's loss is under the bound; returns that loss and the number of batches."""
    for count in itertools.count(1):
        x, y = draw_batch()
        model.zero_grad()
        loss = torch.nn.functional.smooth_l1_loss(model(x), y)
        loss.backward()
        for param in model.parameters():
            param.data.add_(-rate * param.grad.data)
        if loss < bound:
            return loss, count


def draw(model, path):
    try:
        import matplotlib
    except ImportError:
        print("(no picture: matplotlib is not installed)")
        return
    matplotlib.use("Agg")
    from matplotlib import pyplot

    x = torch.linspace(-2, 2, 200)
    with torch.no_grad():
        learned, actual = model(powers(x)), powers(x).mm(target_weight) + target_bias
    pyplot.plot(x.numpy(), actual.numpy(), label="actual", linewidth=4, alpha=0.4)
    pyplot.plot(x.numpy(), learned.numpy(), label="learned")
    pyplot.legend()
    path.parent.mkdir(exist_ok=True)
    pyplot.savefig(path)
    print(f"Picture: {path}")


model = torch.nn.Linear(target_weight.size(0), 1)
loss, count = learn(model)
print(f"Loss: {loss:.6f} after {count} batches")
print("==> Learned function:", describe(model.weight.data, model.bias.data))
print("==> Actual function:", describe(target_weight, target_bias))
draw(model, OUTPUT / "polynomial.png")
