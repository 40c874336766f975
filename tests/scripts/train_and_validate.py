"""The usual loop: each epoch a shuffled pass with dropout over the training set, then an ordered one over the validation set."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(3)
x = torch.randn(240, 6)
y = (x[:, :3].sum(1) * x[:, 3] > 0).long()
train, valid = random_split(TensorDataset(x, y), [200, 40])
train_loader = DataLoader(train, batch_size=25, shuffle=True)
valid_loader = DataLoader(valid, batch_size=20, generator=torch.Generator())      # which leaves the default stream alone
model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 2))
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.03, total_steps=5 * len(train_loader))
for epoch in range(5):
    model.train()
    total = 0.0
    for inputs, target in train_loader:
        loss = nn.functional.cross_entropy(model(inputs), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        total += loss.item() * len(inputs)
    model.eval()
    with torch.no_grad():
        outputs = [(model(inputs), target) for inputs, target in valid_loader]
        lost = sum(nn.functional.cross_entropy(out, target, reduction="sum").item() for out, target in outputs)
        right = sum((out.argmax(1) == target).sum().item() for out, target in outputs)
    print(f"epoch {epoch} loss {total / len(train):.4f} validation {lost / len(valid):.4f} right {right} of {len(valid)}")
print("next number of the stream {:.4f}".format(torch.rand(()).item()))
