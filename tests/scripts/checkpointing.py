"""Training with recomputed activations, stopped and resumed from a checkpoint file with model, optimizer, scheduler and random state."""
import os
import tempfile

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint, checkpoint_sequential

torch.manual_seed(21)


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.net = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Dropout(0.1), nn.Linear(2 * width, width))

    def forward(self, x):
        return x + self.net(self.norm(x))


class Model(nn.Module):
    def __init__(self, use_checkpoint):
        super().__init__()
        self.blocks = nn.ModuleList([Block(12) for _ in range(3)])
        self.tail = nn.Sequential(*[nn.Linear(12, 12), nn.SiLU()] * 2)
        self.head = nn.Linear(12, 1)
        self.use_checkpoint = use_checkpoint

    def forward(self, x):
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False) if self.use_checkpoint else block(x)
        x = checkpoint_sequential(self.tail, 2, x, use_reentrant=False) if self.use_checkpoint else self.tail(x)
        return self.head(x)


x = torch.randn(32, 12)
y = x.sum(1, keepdim=True).sin()


def train(model, optimizer, scheduler, epochs):
    model.train()
    for epoch in epochs:
        optimizer.zero_grad(set_to_none=True)
        loss = nn.functional.huber_loss(model(x), y)
        loss.backward()
        optimizer.step()
        scheduler.step()
        print(f"epoch {epoch} loss {loss.item():.4f} lr {scheduler.get_last_lr()[0]:.5f}")


def build(use_checkpoint):
    torch.manual_seed(22)
    model = Model(use_checkpoint)
    optimizer = torch.optim.NAdam(model.parameters(), lr=0.01)
    return model, optimizer, torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)


for use_checkpoint in (False, True):
    print("checkpointed" if use_checkpoint else "plain")
    train(*build(use_checkpoint), range(3))

model, optimizer, scheduler = build(True)
train(model, optimizer, scheduler, range(2))
path = os.path.join(tempfile.mkdtemp(), "checkpoint.pth.tar")
torch.save({"epoch": 2, "state_dict": model.state_dict(), "optimizer": optimizer.state_dict(), "scheduler": scheduler.state_dict(),
            "rng": torch.get_rng_state()}, path)
train(model, optimizer, scheduler, range(2, 4))
print("resumed")
model, optimizer, scheduler = build(True)
state = torch.load(path, map_location="cpu", weights_only=True)
print(model.load_state_dict(state["state_dict"]))
optimizer.load_state_dict(state["optimizer"])
scheduler.load_state_dict(state["scheduler"])
torch.set_rng_state(state["rng"])
train(model, optimizer, scheduler, range(state["epoch"], 4))
