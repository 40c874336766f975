"""Samplers: in which order a loader takes samples. What they draw is PyTorch's for the same seed."""
import itertools
from typing import Generic, TypeVar

from ...core.dtype import by_name
from ...ops import namespace as ops
from ...ops.random import Generator

T_co = TypeVar("T_co", covariant=True)
DRAWN_TOGETHER = 32      # indices that RandomSampler draws in one call, with replacement


def draw_seed(generator=None):
    """A number of [0, 2**63) from a stream (the default one: None)."""
    return int(ops.empty((), dtype=by_name["int64"]).random_(generator=generator).item())


def shuffles(sampler):
    """Whether one of our samplers, alone or in batches, gives a random order. Of a user's own it isn't known: no."""
    return getattr(sampler, "_shuffles", False)


def check_positive(name, value):
    """Raise unless `value` is a positive int."""
    if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
        raise ValueError(f"{name} should be a positive integer value, but got {name}={value}")


class Sampler(Generic[T_co]):
    """Base class of samplers: a subclass defines ``__iter__``, which gives indices, and mostly ``__len__``."""
    _shuffles = False        # whether the order is random: a loader then draws its seed as PyTorch's does

    def __iter__(self):
        raise NotImplementedError(f"{type(self).__name__} is missing the method __iter__")


class SequentialSampler(Sampler[int]):
    """All indices of a data set, in order."""

    def __init__(self, data_source):
        self.data_source = data_source

    def __iter__(self):
        return iter(range(len(self.data_source)))

    def __len__(self):
        return len(self.data_source)


class RandomSampler(Sampler[int]):
    """Indices of a data set in random order.

    Args:
        replacement: whether an index can come again before all have come.
        num_samples: how many to draw; as many as there are by default. Without replacement more than that come in several
            orders, one after the other.
        generator: of the random numbers; by default a new one at each pass, seeded from the default stream.
    """
    _shuffles = True

    def __init__(self, data_source, replacement=False, num_samples=None, generator=None):
        if not isinstance(replacement, bool):
            raise TypeError(f"replacement should be a boolean value, but got replacement={replacement}")
        self.data_source = data_source
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator
        check_positive("num_samples", self.num_samples)

    @property
    def num_samples(self):
        """How many indices a pass gives."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self):
        n, count = len(self.data_source), self.num_samples
        generator = self.generator
        if generator is None:
            generator = Generator().manual_seed(draw_seed())
        if self.replacement:
            for size in [DRAWN_TOGETHER] * (count // DRAWN_TOGETHER) + [count % DRAWN_TOGETHER]:
                yield from ops.randint(n, (size,), generator=generator).tolist()
        else:
            for _ in range(count // n):
                yield from ops.randperm(n, generator=generator).tolist()
            yield from ops.randperm(n, generator=generator).tolist()[:count % n]

    def __len__(self):
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """The given indices in random order."""
    _shuffles = True

    def __init__(self, indices, generator=None):
        self.indices = indices
        self.generator = generator

    def __iter__(self):
        for place in ops.randperm(len(self.indices), generator=self.generator).tolist():
            yield self.indices[place]

    def __len__(self):
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """Indices drawn in proportion to `weights`, which need not add up to 1.

    >>> from pyx_tensor.utils.data import WeightedRandomSampler
    >>> list(WeightedRandomSampler([0.0, 0.0, 2.0], 4))
    [2, 2, 2, 2]
    """
    _shuffles = True

    def __init__(self, weights, num_samples, replacement=True, generator=None):
        check_positive("num_samples", num_samples)
        if not isinstance(replacement, bool):
            raise ValueError(f"replacement should be a boolean value, but got replacement={replacement}")
        self.weights = ops.as_tensor(weights, dtype=by_name["float64"])
        if self.weights.ndim != 1:
            raise ValueError(f"weights should be a 1d sequence but given weights have shape {tuple(self.weights.shape)}")
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator

    def __iter__(self):
        drawn = ops.multinomial(self.weights, self.num_samples, self.replacement, generator=self.generator)
        yield from drawn.tolist()

    def __len__(self):
        return self.num_samples


class BatchSampler(Sampler[list]):
    """Lists of `batch_size` indices of another sampler.

    Args:
        drop_last: leave out a last list that is shorter.

    >>> from pyx_tensor.utils.data import BatchSampler
    >>> list(BatchSampler(range(5), 2, drop_last=False))
    [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler, batch_size, drop_last):
        check_positive("batch_size", batch_size)
        if not isinstance(drop_last, bool):
            raise ValueError(f"drop_last should be a boolean value, but got drop_last={drop_last}")
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    @property
    def _shuffles(self):
        return shuffles(self.sampler)

    def __iter__(self):
        indices = iter(self.sampler)
        while batch := list(itertools.islice(indices, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch

    def __len__(self):
        full, rest = divmod(len(self.sampler), self.batch_size)
        return full + (rest > 0 and not self.drop_last)
