"""Training in several processes that share one model's memory (Hogwild: Recht et al., 2011)."""
import pytest
from time_limit import limited_time  # noqa: F401

import pyx_tensor as torch
from pyx_tensor import multiprocessing as mp
from pyx_tensor import nn
from pyx_tensor.utils.data import DataLoader, DistributedSampler, TensorDataset


def digits():
    """(images, labels) for training and for testing."""
    load_digits = pytest.importorskip("sklearn.datasets").load_digits
    images, labels = load_digits(return_X_y=True)
    images, labels = torch.tensor(images, dtype=torch.float32) / 16, torch.tensor(labels)
    order = torch.randperm(len(images), generator=torch.Generator().manual_seed(0))
    return (images[order[360:]], labels[order[360:]]), (images[order[:360]], labels[order[:360]])


def train(rank, model, images, labels):
    torch.manual_seed(rank)
    torch.set_num_threads(1)
    data = TensorDataset(images, labels)
    sampler = DistributedSampler(data, num_replicas=2, rank=rank)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.5)
    for epoch in range(12):
        sampler.set_epoch(epoch)
        for x, y in DataLoader(data, batch_size=16, sampler=sampler):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()


@pytest.mark.rows("S181")
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_two_processes_train_one_model(method):
    (images, labels), (test_images, test_labels) = digits()
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    model.share_memory()
    before = [p.clone() for p in model.parameters()]
    mp.start_processes(train, (model, images, labels), nprocs=2, start_method=method)
    assert not any(torch.equal(p, q) for p, q in zip(model.parameters(), before))
    accuracy = (model(test_images).argmax(1) == test_labels).float().mean().item()
    assert accuracy >= 0.95
