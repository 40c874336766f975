"""A sampler for training in several processes, each of which takes its part of the data."""
import itertools
import math

from ...ops import namespace as ops
from ...ops.random import Generator
from .sampler import Sampler


class DistributedSampler(Sampler[int]):
    """The indices of one process among several: every `num_replicas`-th, from `rank` on.

    Args:
        dataset: of the samples; only its length is asked for.
        num_replicas, rank: how many processes there are, and which this one is, from 0.
        shuffle: mix the indices anew at each epoch (see `set_epoch`), in all processes alike.
        seed: of the order; the same in all processes.
        drop_last: leave out the samples that can't be divided evenly; else the first ones come again.

    >>> from pyx_tensor.utils.data import DistributedSampler
    >>> list(DistributedSampler(range(5), num_replicas=2, rank=1, shuffle=False))
    [1, 3, 0]
    """

    def __init__(self, dataset, num_replicas=None, rank=None, shuffle=True, seed=0, drop_last=False):
        if num_replicas is None or rank is None:
            raise ValueError("there is no process group that could tell how many processes there are: give num_replicas and rank")
        if not 0 <= rank < num_replicas:
            raise ValueError(f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]")
        self.dataset = dataset
        self.num_replicas = num_replicas
        self.rank = rank
        self.epoch = 0
        self.drop_last = drop_last
        self.shuffle = shuffle
        self.seed = seed
        share = len(dataset) / num_replicas
        if drop_last and len(dataset) % num_replicas:
            share = math.floor(share)
        self.num_samples = math.ceil(share)
        self.total_size = self.num_samples * num_replicas

    def __iter__(self):
        if self.shuffle:
            generator = Generator().manual_seed(self.seed + self.epoch)
            indices = ops.randperm(len(self.dataset), generator=generator).tolist()
        else:
            indices = list(range(len(self.dataset)))
        return iter(list(itertools.islice(itertools.cycle(indices), self.total_size))[self.rank::self.num_replicas])

    def __len__(self):
        return self.num_samples

    @property
    def _shuffles(self):
        return self.shuffle

    def set_epoch(self, epoch):
        """Say which epoch comes: the order depends on it. Without it each epoch has the same."""
        self.epoch = epoch
