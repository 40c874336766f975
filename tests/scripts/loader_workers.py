"""A DataLoader with worker processes: a dataset of classes, a collate function, samplers, splits, an iterable dataset."""
import math

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, IterableDataset, Subset, TensorDataset, WeightedRandomSampler, get_worker_info, random_split


class Sequences(Dataset):
    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, index):
        length = 3 + index % 5
        values = torch.arange(length, dtype=torch.float32) * (1 + index % 7) / 10
        return {"values": values, "target": int(index % 7 > 2), "index": index}


class Stream(IterableDataset):
    def __init__(self, n):
        self.n = n

    def __iter__(self):
        worker = get_worker_info()
        first, step = (0, 1) if worker is None else (worker.id, worker.num_workers)
        for i in range(first, self.n, step):
            yield torch.tensor([math.sin(i), math.cos(i)])


def collate(items):
    length = max(len(item["values"]) for item in items)
    values = torch.zeros(len(items), length)
    for i, item in enumerate(items):
        values[i, :len(item["values"])] = item["values"]
    return values, torch.tensor([item["target"] for item in items])


def main():
    torch.manual_seed(9)
    data = Sequences(120)
    train, valid = random_split(data, [100, 20], generator=torch.Generator().manual_seed(4))
    print("split:", valid.indices[:8])
    model = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
    loader = DataLoader(train, batch_size=16, shuffle=True, num_workers=2, collate_fn=collate, drop_last=False, persistent_workers=False)
    for epoch in range(3):
        total = 0.0
        for values, target in loader:
            features = torch.stack([values.mean(1), values.amax(1)], dim=1)
            loss = nn.functional.cross_entropy(model(features), target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch} loss {total / len(loader):.4f} batches {len(loader)}")
    with torch.no_grad():
        for values, target in DataLoader(valid, batch_size=20, collate_fn=collate, num_workers=1):
            features = torch.stack([values.mean(1), values.amax(1)], dim=1)
            print("valid {:.4f}".format(nn.functional.cross_entropy(model(features), target).item()))
    tensors = TensorDataset(torch.arange(12.0).reshape(6, 2), torch.arange(6))
    sampler = WeightedRandomSampler([1.0, 1.0, 5.0, 1.0, 1.0, 5.0], 8, generator=torch.Generator().manual_seed(1))
    for x, y in DataLoader(tensors, batch_size=4, sampler=sampler, num_workers=2):
        print(y.tolist(), "%.4f" % x.sum().item())
    print("subset", [y.tolist() for _, y in DataLoader(Subset(tensors, [0, 2, 4]), batch_size=2)])
    total = torch.zeros(2)
    for batch in DataLoader(Stream(50), batch_size=8, num_workers=2):
        total += batch.sum(0)
    print("stream %.4f %.4f" % tuple(total.tolist()))


if __name__ == "__main__":
    main()
