"""Polynomial regression with a small network, two optimizers and a learning-rate schedule."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=60)
parser.add_argument("--lr", type=float, default=0.02)
parser.add_argument("--no-cuda", action="store_true", default=False)
args = parser.parse_args()

torch.manual_seed(1)
device = torch.device("cuda" if torch.cuda.is_available() and not args.no_cuda else "cpu")

x = torch.unsqueeze(torch.linspace(-1, 1, 100), dim=1).to(device)
y = x.pow(3) - 0.5 * x + 0.1 * torch.randn(x.size()).to(device)


class Net(nn.Module):
    def __init__(self, n_feature, n_hidden, n_output):
        super(Net, self).__init__()
        self.hidden = nn.Linear(n_feature, n_hidden, bias=False)
        self.norm = nn.BatchNorm1d(n_hidden)
        self.dropout = nn.Dropout(p=0.1)
        self.predict = nn.Linear(n_hidden, n_output)

    def forward(self, x):
        x = F.leaky_relu(self.norm(self.hidden(x)))
        return self.predict(self.dropout(x))


for name in ("SGD", "Adam"):
    net = Net(1, 16, 1).to(device)
    optimizer = getattr(optim, name)(net.parameters(), lr=args.lr)
    scheduler = optim.lr_scheduler.StepLR(optimizer, step_size=20, gamma=0.5)
    for epoch in range(args.epochs):
        net.train()
        optimizer.zero_grad()
        loss = F.mse_loss(net(x), y)
        loss.backward()
        optimizer.step()
        scheduler.step()
        if epoch % 20 == 19:
            net.eval()
            with torch.no_grad():
                test = F.smooth_l1_loss(net(x), y).item()
            print("{} epoch {:3d} lr {:.4f} loss {:.4f} test {:.4f}".format(name, epoch + 1, scheduler.get_last_lr()[0], loss.item(), test))
print("parameters:", sum(p.numel() for p in net.parameters() if p.requires_grad))
