"""The loader against PyTorch: the same order, seeds and stream for the same seed; the same batches."""
import random

import numpy as np
import pytest
import torch
import torch.utils.data
from nn_support import LIBRARIES
from time_limit import limited_time  # noqa: F401

import pyx_tensor as pt
import pyx_tensor.multiprocessing
import pyx_tensor.utils.data

SAMPLERS = {
    "in order": {}, "shuffled": dict(shuffle=True), "in order, with a generator": dict(generator=7),
    "without the last": dict(shuffle=True, drop_last=True, batch_size=5),
    "by a generator": dict(shuffle=True, generator=7), "single samples": dict(batch_size=None, shuffle=True),
    "weighted": dict(sampler=lambda d, s: d.WeightedRandomSampler([1.0 + i for i in range(23)], 40)),
    "weighted, without replacement": dict(sampler=lambda d, s: d.WeightedRandomSampler([1.0 + i for i in range(23)], 9, replacement=False)),
    "with replacement": dict(sampler=lambda d, s: d.RandomSampler(s, True, 70)),
    "more than there are": dict(sampler=lambda d, s: d.RandomSampler(s, num_samples=60)),
    "of a subset": dict(sampler=lambda d, s: d.SubsetRandomSampler(range(5, 20))),
    "distributed": dict(sampler=lambda d, s: d.DistributedSampler(s, 3, 1, seed=4)),
    "batch sampler": dict(batch_size=1, batch_sampler=lambda d, s: d.BatchSampler(d.RandomSampler(s), 6, False)),
}


def plain(value):
    """Tensors as lists of (dtype, values)."""
    if hasattr(value, "tolist") and hasattr(value, "dtype"):
        return str(value.dtype), value.tolist()
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [plain(item) for item in value]
    return value


def passes(t, options, workers, count=3):
    """Batches of several passes, and what the streams give between them."""
    t.manual_seed(3)
    options = {"batch_size": 4, **options, "num_workers": workers}
    data = t.utils.data.TensorDataset(t.arange(23), t.arange(23.0) * 2)
    for name in ("sampler", "batch_sampler"):
        if name in options:
            options[name] = options[name](t.utils.data, data)
    if "generator" in options:
        options["generator"] = t.Generator().manual_seed(options["generator"])
    loader = t.utils.data.DataLoader(data, **options)
    seen = []
    for _ in range(count):
        seen.append([plain(batch) for batch in loader])
        seen.append(t.rand(2).tolist())
        if "generator" in options:
            seen.append(t.rand(2, generator=options["generator"]).tolist())
    return seen


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("name", SAMPLERS)
def test_order_and_stream(name, workers):
    ours, theirs = (passes(t, SAMPLERS[name], workers) for t in (pt, torch))
    if name == "in order":        # where nothing is shuffled, PyTorch alone moves the default stream
        ours, theirs = ours[::2], theirs[::2]
    assert ours == theirs


def test_order_and_stream_with_processes_that_stay():
    for options in (SAMPLERS["shuffled"], SAMPLERS["by a generator"]):
        ours, theirs = (passes(t, dict(options, persistent_workers=True), 2) for t in (pt, torch))
        assert ours == theirs


class Drawing:
    """Samples that are drawn from the streams of the process."""

    def __init__(self, t):
        self.t = t

    def __len__(self):
        return 12

    def __getitem__(self, index):
        info = self.t.utils.data.get_worker_info()
        return index, info.id, info.seed, random.random(), np.random.rand(), self.t.rand(2), self.t.randperm(5)


@pytest.mark.parametrize("shuffle", [False, True])
def test_seeds_of_processes(shuffle):
    def run(t):
        t.manual_seed(11)
        loader = t.utils.data.DataLoader(Drawing(t), batch_size=3, shuffle=shuffle, num_workers=2)
        return [[plain(batch) for batch in loader] for _ in range(2)]

    assert run(pt) == run(torch)


def stream(t, n):
    class Stream(t.utils.data.IterableDataset):
        def __iter__(self):
            info = t.utils.data.get_worker_info()
            return iter(range(n + (info.id if info else 0)))
    return Stream()


@pytest.mark.parametrize("workers", [0, 1, 2])
@pytest.mark.parametrize("options", [dict(batch_size=2), dict(batch_size=3, drop_last=True), dict(batch_size=None)])
def test_streams(options, workers):
    ours, theirs = ([plain(b) for b in t.utils.data.DataLoader(stream(t, 5), num_workers=workers, **options)] for t in (pt, torch))
    assert ours == theirs


def test_splits():
    for lengths in ([3, 20], [0.35, 0.65], [0.5, 0.25, 0.25]):
        for seed in (1, 2):
            ours, theirs = ([list(part.indices) for part in t.utils.data.random_split(range(23), lengths, t.Generator().manual_seed(seed))]
                            for t in (pt, torch))
            assert ours == theirs


@pytest.mark.parametrize("batch", [
    [1, 2], [1.0, 2.0], [True], [np.float32(1)], [np.ones(2), np.zeros(2)], [np.array(3)], [(1, 2.0), (3, 4.0)], [{"a": 1}, {"a": 2}],
    [[1, "x"], [2, "y"]], ["a"], [b"a"], [range(2)] * 2, [np.bool_(True)], [1, 2.0]])
def test_collating(batch):
    assert plain(pt.utils.data.default_collate(batch)) == plain(torch.utils.data.default_collate(batch))


@pytest.mark.parametrize("batch", [[None], [{1}], [1j], [np.array("a")], [(1, 2), (3,)], [np.ones(2), np.ones(3)]])
def test_collating_refuses_the_same(batch):
    errors = []
    for t in LIBRARIES:
        with pytest.raises(Exception) as caught:
            t.utils.data.default_collate(batch)
        errors.append(type(caught.value))
    assert errors[0] is errors[1]
