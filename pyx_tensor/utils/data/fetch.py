"""How the samples of one batch are taken from a data set."""
import itertools

from .dataset import IterableDataset, _samples


class MapFetcher:
    """Takes the samples of a batch's indices and collates them; without batches, the sample of one index."""

    def __init__(self, dataset, batched, collate_fn, drop_last):
        self.dataset = dataset
        self.batched = batched
        self.collate_fn = collate_fn

    def fetch(self, index):
        """The batch of a list of indices, or the sample of an index."""
        return self.collate_fn(_samples(self.dataset, index) if self.batched else self.dataset[index])


class IterableFetcher:
    """Takes as many samples of a stream as a batch has places."""

    def __init__(self, dataset, batched, collate_fn, drop_last):
        self.stream = iter(dataset)
        self.batched = batched
        self.collate_fn = collate_fn
        self.drop_last = drop_last
        self.ended = False

    def fetch(self, places):
        """The next batch (`places` only says how long it is), or the next sample. Raises StopIteration at the end."""
        if self.ended:
            raise StopIteration
        if not self.batched:
            return self.collate_fn(next(self.stream))
        samples = list(itertools.islice(self.stream, len(places)))
        self.ended = len(samples) < len(places)
        if not samples or (self.drop_last and self.ended):
            raise StopIteration
        return self.collate_fn(samples)


def make_fetcher(dataset, batched, collate_fn, drop_last):
    """The fetcher for a data set of either kind."""
    kind = IterableFetcher if isinstance(dataset, IterableDataset) else MapFetcher
    return kind(dataset, batched, collate_fn, drop_last)
