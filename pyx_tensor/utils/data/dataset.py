"""Data sets: maps from an index to a sample, and streams of samples."""
import bisect
import itertools
import math
import warnings
from abc import ABC, abstractmethod
from typing import Generic, TypeVar

from ...ops import namespace as ops
from ...ops.random import default_generator

T_co = TypeVar("T_co", covariant=True)


class Dataset(Generic[T_co]):
    """Base class of data sets with an index: a subclass defines ``__getitem__`` and, for most samplers, ``__len__``.

    It may define ``__getitems__(indices)``, which gives the samples of a whole batch as a list. ``a + b`` puts one data set
    behind another.
    """

    def __getitem__(self, index):
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other):
        return ConcatDataset([self, other])


class IterableDataset(Dataset[T_co], ABC):
    """Base class of data sets that are streams: a subclass defines ``__iter__``.

    Each process of a loader has a copy and iterates all of it: `get_worker_info` tells ``__iter__`` which part to give.
    """

    @abstractmethod
    def __iter__(self):
        raise NotImplementedError("Subclasses of IterableDataset should implement __iter__.")

    def __add__(self, other):
        return ChainDataset([self, other])


class TensorDataset(Dataset[tuple]):
    """Sample number i is the tuple of row i of each tensor.

    >>> from pyx_tensor.utils.data import TensorDataset
    >>> pairs = TensorDataset(torch.arange(3), torch.tensor([5.0, 6.0, 7.0]))
    >>> len(pairs), pairs[1]
    (3, (tensor(1), tensor(6.)))
    """

    def __init__(self, *tensors):
        if any(tensor.size(0) != tensors[0].size(0) for tensor in tensors):
            raise AssertionError(f"Size mismatch between tensors: their first sizes are {[tensor.size(0) for tensor in tensors]}")
        self.tensors = tensors

    def __getitem__(self, index):
        return tuple([tensor[index] for tensor in self.tensors])

    def __len__(self):
        return self.tensors[0].size(0)


class StackDataset(Dataset):
    """Data sets side by side: a sample is the tuple (or by keyword, the dictionary) of their samples of that index.

    >>> from pyx_tensor.utils.data import StackDataset
    >>> StackDataset(image=[10, 11], label=[0, 1])[1]
    {'image': 11, 'label': 1}
    """

    def __init__(self, *args, **kwargs):
        if args and kwargs:
            raise ValueError("data sets are given by position, for samples that are tuples, or by keyword, for dictionaries, not both")
        if not args and not kwargs:
            raise ValueError("At least one dataset should be passed")
        self.datasets = kwargs or args
        members = self._members()
        self._length = len(members[0])
        if any(len(dataset) != self._length for dataset in members):
            raise ValueError(f"Size mismatch between datasets: their lengths are {[len(dataset) for dataset in members]}")

    def _members(self):
        return list(self.datasets.values()) if isinstance(self.datasets, dict) else list(self.datasets)

    def _joined(self, parts):
        return dict(zip(self.datasets, parts)) if isinstance(self.datasets, dict) else tuple(parts)

    def __getitem__(self, index):
        return self._joined([dataset[index] for dataset in self._members()])

    def __getitems__(self, indices):
        columns = []
        for dataset in self._members():
            column = _samples(dataset, indices)
            if len(column) != len(indices):
                raise ValueError(f"Nested dataset's output size mismatch. Expected {len(indices)}, got {len(column)}")
            columns.append(column)
        return [self._joined(parts) for parts in zip(*columns)]

    def __len__(self):
        return self._length


def _samples(dataset, indices):
    """The samples of several indices, in one call where the data set has one for that."""
    several = getattr(dataset, "__getitems__", None)
    return several(indices) if callable(several) else [dataset[index] for index in indices]


class ConcatDataset(Dataset[T_co]):
    """Data sets one behind the other.

    >>> from pyx_tensor.utils.data import ConcatDataset
    >>> ConcatDataset([[1, 2], [3]])[-1]
    3
    """

    def __init__(self, datasets):
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        if any(isinstance(dataset, IterableDataset) for dataset in self.datasets):
            raise AssertionError("ConcatDataset does not support IterableDataset")
        self.cumulative_sizes = self.cumsum(self.datasets)

    @staticmethod
    def cumsum(sequence):
        """The sums of the lengths up to each."""
        return list(itertools.accumulate(len(dataset) for dataset in sequence))

    def __len__(self):
        return self.cumulative_sizes[-1]

    def __getitem__(self, idx):
        if idx < 0:
            if -idx > len(self):
                raise ValueError("absolute value of index should not exceed dataset length")
            idx += len(self)
        if idx >= len(self):
            raise IndexError(f"index {idx} is out of range for data sets of {len(self)} samples together")
        at = bisect.bisect_right(self.cumulative_sizes, idx)
        return self.datasets[at][idx - (self.cumulative_sizes[at - 1] if at else 0)]

    @property
    def cummulative_sizes(self):
        warnings.warn("`cummulative_sizes` attribute is renamed to `cumulative_sizes`", FutureWarning, stacklevel=2)
        return self.cumulative_sizes


class ChainDataset(IterableDataset):
    """Streams one behind the other."""

    def __init__(self, datasets):
        super().__init__()
        self.datasets = datasets

    def _streams(self):
        for dataset in self.datasets:
            if not isinstance(dataset, IterableDataset):
                raise AssertionError(f"ChainDataset only supports IterableDataset, got {type(dataset).__name__}")
            yield dataset

    def __iter__(self):
        for dataset in self._streams():
            yield from dataset

    def __len__(self):
        return sum(len(dataset) for dataset in self._streams())


class Subset(Dataset[T_co]):
    """The samples of a data set with the given indices, in their order."""

    def __init__(self, dataset, indices):
        self.dataset = dataset
        self.indices = indices

    def __getitem__(self, idx):
        if isinstance(idx, list):
            return self.dataset[[self.indices[i] for i in idx]]
        return self.dataset[self.indices[idx]]

    def __getitems__(self, indices):
        return _samples(self.dataset, [self.indices[i] for i in indices])

    def __len__(self):
        return len(self.indices)


def random_split(dataset, lengths, generator=default_generator):
    """Subsets of a data set that share no sample, drawn at random.

    Args:
        lengths: how many samples each gets, or fractions that add up to 1: each is rounded down, and what remains goes one by
            one to the first ones.
        generator: of the random order.

    >>> from pyx_tensor.utils.data import random_split
    >>> [len(part) for part in random_split(range(10), [0.25, 0.75])]
    [3, 7]
    """
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        lengths = _lengths_of(lengths, len(dataset))
    if sum(lengths) != len(dataset):
        raise ValueError("Sum of input lengths does not equal the length of the input dataset! "
                         f"{list(lengths)} add up to {sum(lengths)}, the data set has {len(dataset)} samples")
    indices = ops.randperm(sum(lengths), generator=generator).tolist()
    ends = itertools.accumulate(lengths)
    return [Subset(dataset, indices[end - length:end]) for end, length in zip(ends, lengths)]


def _lengths_of(fractions, total):
    for place, fraction in enumerate(fractions):
        if not 0 <= fraction <= 1:
            raise ValueError(f"Fraction at index {place} is not between 0 and 1")
    lengths = [math.floor(total * fraction) for fraction in fractions]
    for number in range(total - sum(lengths)):
        lengths[number % len(lengths)] += 1
    for place, length in enumerate(lengths):
        if length == 0:
            warnings.warn(f"Length of split at index {place} is 0. This might result in an empty dataset.", stacklevel=3)
    return lengths
