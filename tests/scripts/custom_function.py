"""Autograd functions with a forward and a backward of one's own, checked and trained with."""
import torch
from torch.autograd import Function, gradcheck

torch.manual_seed(11)


class LegendrePolynomial3(Function):
    @staticmethod
    def forward(ctx, input):
        ctx.save_for_backward(input)
        return 0.5 * (5 * input ** 3 - 3 * input)

    @staticmethod
    def backward(ctx, grad_output):
        input, = ctx.saved_tensors
        return grad_output * 1.5 * (5 * input ** 2 - 1)


class StraightThrough(Function):
    @staticmethod
    def forward(ctx, input, levels):
        ctx.levels = levels
        return torch.round(input * levels) / levels

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.clamp(-1, 1), None


class LinearFunction(Function):
    @staticmethod
    def forward(ctx, input, weight, bias):
        ctx.save_for_backward(input, weight, bias)
        return input.mm(weight.t()) + bias.unsqueeze(0).expand(input.size(0), -1)

    @staticmethod
    def backward(ctx, grad_output):
        input, weight, bias = ctx.saved_tensors
        grad_input = grad_weight = grad_bias = None
        if ctx.needs_input_grad[0]:
            grad_input = grad_output.mm(weight)
        if ctx.needs_input_grad[1]:
            grad_weight = grad_output.t().mm(input)
        if ctx.needs_input_grad[2]:
            grad_bias = grad_output.sum(0)
        return grad_input, grad_weight, grad_bias


inputs = (torch.randn(4, 3, dtype=torch.double, requires_grad=True), torch.randn(2, 3, dtype=torch.double, requires_grad=True),
          torch.randn(2, dtype=torch.double, requires_grad=True))
print("gradcheck:", gradcheck(LinearFunction.apply, inputs, eps=1e-6, atol=1e-4),
      gradcheck(LegendrePolynomial3.apply, (inputs[0],)), torch.autograd.gradgradcheck(LegendrePolynomial3.apply, (inputs[0],)))

torch.manual_seed(12)
x = torch.linspace(-3, 3, 200)
y = torch.sin(x)
a, b, c, d = (torch.full((), v, requires_grad=True) for v in (0.0, -1.0, 0.0, 0.3))
P3 = LegendrePolynomial3.apply
for t in range(100):
    y_pred = a + b * P3(c + d * x)
    loss = (y_pred - y).pow(2).sum()
    if t % 25 == 24:
        print(t, "{:.4f}".format(loss.item()))
    loss.backward()
    with torch.no_grad():
        for p in (a, b, c, d):
            p -= 5e-6 * p.grad
            p.grad = None
print(f"Result: y = {abs(a.item()):.4f} + {b.item():.4f} * P3({abs(c.item()):.4f} + {d.item():.4f} x)")

weight, bias = torch.randn(2, 3, requires_grad=True), torch.zeros(2, requires_grad=True)
optimizer = torch.optim.SGD([weight, bias], lr=0.1, momentum=0.9)
data = torch.randn(32, 3)
target = data[:, :2] - data[:, 1:]
for step in range(30):
    optimizer.zero_grad()
    loss = torch.nn.functional.mse_loss(LinearFunction.apply(StraightThrough.apply(data, 8), weight, bias), target)
    loss.backward()
    optimizer.step()
    if step % 10 == 9:
        print("quantised", step, "%.4f" % loss)
