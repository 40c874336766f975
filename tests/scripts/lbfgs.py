"""Fitting by L-BFGS with closures: a sequence predictor without recurrence, and Rosenbrock's valley."""
import torch
import torch.nn as nn
import torch.optim as optim

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)

t = torch.arange(0, 120)
data = torch.sin(t / 8.0 + torch.rand(5, 1) * 6)
windows = data.unfold(1, 9, 1).reshape(-1, 9)
input, target = windows[:, :8], windows[:, 8:]

seq = nn.Sequential(nn.Linear(8, 12), nn.Tanh(), nn.Linear(12, 1))
criterion = nn.MSELoss()
optimizer = optim.LBFGS(seq.parameters(), lr=0.8, max_iter=8, history_size=6)
for i in range(4):
    print("STEP:", i)

    def closure():
        optimizer.zero_grad()
        loss = criterion(seq(input), target)
        loss.backward()
        return loss

    loss = optimizer.step(closure)
    with torch.no_grad():
        print("loss: %.4e" % loss.item(), "after: %.4e" % criterion(seq(input), target).item())

point = torch.tensor([-1.2, 1.0], requires_grad=True)
optimizer = optim.LBFGS([point], line_search_fn="strong_wolfe", max_iter=12)
for i in range(3):
    def closure():
        optimizer.zero_grad()
        loss = (1 - point[0]) ** 2 + 100 * (point[1] - point[0] ** 2) ** 2
        loss.backward()
        return loss

    loss = optimizer.step(closure)
    print("rosenbrock: {:.4e} at {:.4f}, {:.4f}".format(loss.item(), *point.tolist()))
