"""A convolutional network on made-up digits: the usual example's layers, in training and evaluation mode."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.optim.lr_scheduler import StepLR


class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, 1)
        self.conv2 = nn.Conv2d(8, 16, 3, 1)
        self.dropout1 = nn.Dropout2d(0.25)
        self.dropout2 = nn.Dropout(0.5)
        self.bn = nn.BatchNorm2d(8)
        self.fc1 = nn.Linear(256, 32)
        self.fc2 = nn.Linear(32, 10)

    def forward(self, x):
        x = F.relu(self.bn(self.conv1(x)))
        x = F.relu(self.conv2(x))
        x = F.max_pool2d(x, 2)
        x = self.dropout1(x)
        x = torch.flatten(x, 1)
        x = F.relu(self.fc1(x))
        x = self.dropout2(x)
        return F.log_softmax(self.fc2(x), dim=1)


SEGMENTS = ["1110111", "0010010", "1011101", "1011011", "0111010", "1101011", "1101111", "1010010", "1111111", "1111011"]


def digits(n):
    """Seven-segment digits of 12 by 12 pixels, moved and noisy."""
    labels = torch.randint(0, 10, (n,))
    images = torch.zeros(n, 1, 12, 12)
    for i, label in enumerate(labels.tolist()):
        top, left = torch.randint(0, 3, (2,)).tolist()
        s = SEGMENTS[label]
        image = images[i, 0, top:top + 9, left:left + 6]
        for j, row in ((0, 0), (3, 4), (6, 8)):
            image[row] += int(s[j])
        for j, rows, column in ((1, slice(0, 5), 0), (2, slice(0, 5), 5), (4, slice(4, 9), 0), (5, slice(4, 9), 5)):
            image[rows, column] += int(s[j])
    return (images.clamp(max=1) + 0.1 * torch.randn(n, 1, 12, 12) - 0.3) / 0.4, labels


def train(args, model, data, target, optimizer, epoch):
    model.train()
    for batch_idx, (x, y) in enumerate(zip(data.split(args.batch_size), target.split(args.batch_size))):
        optimizer.zero_grad()
        loss = F.nll_loss(model(x), y)
        loss.backward()
        optimizer.step()
        if batch_idx % args.log_interval == 0:
            print("Train Epoch: {} [{}/{}]\tLoss: {:.4f}".format(epoch, batch_idx * len(x), len(data), loss.item()))


def test(model, data, target):
    model.eval()
    with torch.no_grad():
        output = model(data)
        loss = F.nll_loss(output, target).item()
        correct = output.argmax(dim=1, keepdim=True).eq(target.view_as(output.argmax(dim=1, keepdim=True))).sum().item()
    print("Test set: Average loss: {:.4f}, Accuracy: {}/{}".format(loss, correct, len(target)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--lr", type=float, default=0.05)
    parser.add_argument("--gamma", type=float, default=0.7)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--log-interval", type=int, default=4)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    data, target = digits(256)
    model = Net().to("cpu")
    optimizer = optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    scheduler = StepLR(optimizer, step_size=1, gamma=args.gamma)
    for epoch in range(1, args.epochs + 1):
        train(args, model, data, target, optimizer, epoch)
        test(model, *digits(64))
        scheduler.step()


if __name__ == "__main__":
    main()
