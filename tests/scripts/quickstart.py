"""The common frame of a tutorial: arguments, seeds, a device, a split data set, mixed precision where it is, checkpoints, a whole model."""
import argparse
import os
import random
import tempfile
from typing import Optional, Tuple

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch import Tensor
from torch.optim.lr_scheduler import StepLR
from torch.types import Device
from torch.utils.data import DataLoader, Dataset, random_split


def set_seed(seed: int) -> None:
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    torch.cuda.manual_seed_all(seed)
    torch.backends.cudnn.deterministic = True
    torch.backends.cudnn.benchmark = False


def pick_device(wanted: Optional[str]) -> torch.device:
    if wanted is not None:
        return torch.device(wanted)
    return torch.device("cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu")


class Stripes(Dataset):
    """Noisy images with horizontal or vertical stripes."""

    def __init__(self, n: int, transform=None):
        self.labels = torch.randint(0, 2, (n,))
        stripes = torch.arange(8).remainder(2).float().view(1, 8, 1).expand(1, 8, 8)
        images = [stripes if label else stripes.transpose(1, 2) for label in self.labels]
        self.images = torch.stack(images) + 0.5 * torch.randn(n, 1, 8, 8)
        self.transform = transform

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index) -> Tuple[Tensor, Tensor]:
        image = self.images[index]
        return (self.transform(image) if self.transform else image), self.labels[index]


class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.conv1 = nn.Conv2d(1, 4, 3, 1)
        self.conv2 = nn.Conv2d(4, 8, 3, 1)
        self.dropout = nn.Dropout(0.25)
        self.fc1 = nn.Linear(32, 16)
        self.fc2 = nn.Linear(16, 2)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = self.dropout(torch.flatten(x, 1))
        return F.log_softmax(self.fc2(F.relu(self.fc1(x))), dim=1)


def train(args, model, device: Device, loader, optimizer, epoch, scaler):
    model.train()
    for batch, (data, target) in enumerate(loader):
        data, target = data.to(device, non_blocking=True), target.to(device)
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device.type, enabled=args.amp):
            loss = F.nll_loss(model(data), target)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        scaler.step(optimizer)
        scaler.update()
        if batch % args.log_interval == 0:
            print(f"Train Epoch: {epoch} [{batch * len(data)}/{len(loader.dataset)}]\tLoss: {loss.item():.4f}\tNorm: {norm.item():.4f}")


@torch.no_grad()
def test(model, device, loader):
    model.eval()
    total, correct = 0.0, 0
    for data, target in loader:
        output = model(data.to(device))
        total += F.nll_loss(output, target.to(device), reduction="sum").item()
        pred = output.argmax(dim=1, keepdim=True)
        correct += pred.eq(target.view_as(pred)).sum().item()
    print(f"Test set: Average loss: {total / len(loader.dataset):.4f}, Accuracy: {correct}/{len(loader.dataset)}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--log-interval", type=int, default=4)
    parser.add_argument("--device", default=None)
    parser.add_argument("--amp", action="store_true")
    args = parser.parse_args()

    set_seed(42)
    torch.set_float32_matmul_precision("high")
    device = pick_device(args.device)
    print(f"Using {device} device")
    full = Stripes(100, transform=lambda image: (image - 0.5) / 0.7)
    train_set, test_set = random_split(full, [0.8, 0.2], generator=torch.Generator().manual_seed(42))
    train_loader = DataLoader(train_set, batch_size=16, shuffle=True, drop_last=True, pin_memory=torch.cuda.is_available())
    test_loader = DataLoader(test_set, batch_size=20, generator=torch.Generator())      # leaves the default stream alone

    model = Net().to(device)
    print(model)
    print(sum(p.numel() for p in model.parameters() if p.requires_grad), "parameters")
    compiled = torch.compile(model) if args.amp else model
    optimizer = optim.Adadelta(compiled.parameters(), lr=1.0)
    scheduler = StepLR(optimizer, step_size=1, gamma=0.7)
    scaler = torch.amp.GradScaler(device.type, enabled=args.amp)
    for epoch in range(1, args.epochs + 1):
        train(args, compiled, device, train_loader, optimizer, epoch, scaler)
        test(compiled, device, test_loader)
        scheduler.step()
    print("lr", " ".join("%.4f" % lr for lr in scheduler.get_last_lr()))

    with tempfile.TemporaryDirectory() as folder:
        torch.save(model, os.path.join(folder, "whole.pt"))
        torch.save({"epoch": epoch, "model_state_dict": model.state_dict(), "optimizer_state_dict": optimizer.state_dict(), "rng": torch.get_rng_state()},
                   os.path.join(folder, "checkpoint.tar"))
        whole = torch.load(os.path.join(folder, "whole.pt"), weights_only=False)
        checkpoint = torch.load(os.path.join(folder, "checkpoint.tar"), map_location=device)
    test(whole, device, test_loader)
    again = Net().to(device)
    print(again.load_state_dict(checkpoint["model_state_dict"]))
    optimizer = optim.Adadelta(again.parameters(), lr=1.0)
    optimizer.load_state_dict(checkpoint["optimizer_state_dict"])
    torch.set_rng_state(checkpoint["rng"])
    train(args, again, device, train_loader, optimizer, checkpoint["epoch"] + 1, scaler)


if __name__ == "__main__":
    main()
