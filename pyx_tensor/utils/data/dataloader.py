"""The loader: batches of a data set, made here or by processes of its own."""
import itertools
import multiprocessing
import os
import warnings
from typing import Generic

from .collate import default_collate, default_convert
from .dataset import IterableDataset, T_co
from .iterators import _MultiProcessingDataLoaderIter, _SingleProcessDataLoaderIter
from .sampler import BatchSampler, RandomSampler, SequentialSampler
from .worker import get_worker_info

__all__ = ["DataLoader", "default_collate", "default_convert", "get_worker_info"]
FIXED = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")


class _Endless:
    """The sampler of a stream: as many empty places as are wanted."""

    def __iter__(self):
        return itertools.repeat(None)


class DataLoader(Generic[T_co]):
    """Iterates over a data set in batches.

    Args:
        dataset: with an index (`Dataset`, or anything with ``__getitem__`` and ``__len__``), or a stream (`IterableDataset`).
        batch_size: samples in a batch; None gives single samples.
        shuffle: take the samples in a random order, another one at each pass.
        sampler: gives the indices of samples, instead of `shuffle`.
        batch_sampler: gives lists of indices, instead of `batch_size`, `shuffle`, `sampler` and `drop_last`.
        num_workers: processes that make batches; 0: this one.
        collate_fn: function(list of samples) that gives a batch; `default_collate`.
        pin_memory: bring batches to page-locked memory, from which an accelerator copies faster; does nothing without one.
        drop_last: leave out a last batch that is shorter.
        timeout: seconds after which a batch that hasn't come from a process is an error; 0: none.
        worker_init_fn: function(number) that each process calls first.
        multiprocessing_context: 'fork', 'spawn' or 'forkserver', or such a context.
        generator: of the random order and of the processes' seeds; by default the default stream.
        prefetch_factor: batches that each process makes ahead, 2 by default.
        persistent_workers: keep the processes for the next pass.
        in_order: give batches in the order of the sampler; else as they come from the processes.

    Each pass draws a seed. In process number i, Python's, NumPy's and our random streams start from the seed + i. It comes from the
    `generator`, if there is one, else from the default stream where a sampler of this module shuffles. So order and seeds are PyTorch's.
    A loader that doesn't shuffle, or has a sampler of the user's own, leaves the default stream alone: its seeds are the numbers
    that the stream would give next, drawn from a copy. Here it departs from PyTorch, whose every pass moves the stream by
    one number: in a script that validates between epochs, shuffles and dropout masks from the second epoch on are others than PyTorch's
    (but the same with and without the validation). Where the unshuffled loader has a generator, ``generator=torch.Generator()``,
    they are the same in both.

    An exception in a process is raised here with its traceback, and the pass can go on. Where a process dies, takes longer than `timeout` or sends
    what can't be unpickled, the pass is over; the next has new processes.

    >>> from pyx_tensor.utils.data import DataLoader
    >>> [batch.tolist() for batch in DataLoader(torch.arange(5), batch_size=2)]
    [[0, 1], [2, 3], [4]]
    """

    _initialized = False

    def __init__(self, dataset, batch_size=1, shuffle=None, sampler=None, batch_sampler=None, num_workers=0, collate_fn=None,
                 pin_memory=False, drop_last=False, timeout=0, worker_init_fn=None, multiprocessing_context=None, generator=None, *,
                 prefetch_factor=None, persistent_workers=False, pin_memory_device="", in_order=True):
        _check_processes(num_workers, timeout, prefetch_factor, persistent_workers)
        self.dataset = dataset
        self.num_workers = num_workers
        self.prefetch_factor = 2 if num_workers > 0 and prefetch_factor is None else prefetch_factor
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        self.in_order = in_order
        self.generator = generator
        self.persistent_workers = persistent_workers
        self._is_stream = isinstance(dataset, IterableDataset)
        self._choose_samplers(batch_size, shuffle, sampler, batch_sampler, drop_last)
        self.collate_fn = collate_fn or (default_collate if self._auto_collation else default_convert)
        self._iterator = None
        self._initialized = True
        self.check_worker_number_rationality()

    def _choose_samplers(self, batch_size, shuffle, sampler, batch_sampler, drop_last):
        if self._is_stream:
            given = dict(shuffle=shuffle or None, sampler=sampler, batch_sampler=batch_sampler)
            for name, value in given.items():
                if value is not None:
                    raise ValueError(f"DataLoader with IterableDataset: expected unspecified {name} option, but got {name}={value}")
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError("batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last")
            batch_size, drop_last = None, False
        elif batch_size is None and drop_last:
            raise ValueError("batch_size=None option disables auto-batching and is mutually exclusive with drop_last")
        if sampler is None:
            if self._is_stream:
                sampler = _Endless()
            else:
                sampler = RandomSampler(self.dataset, generator=self.generator) if shuffle else SequentialSampler(self.dataset)
        if batch_size is not None and batch_sampler is None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size, self.drop_last, self.sampler, self.batch_sampler = batch_size, drop_last, sampler, batch_sampler

    def __setattr__(self, name, value):
        if self._initialized and name in FIXED:
            raise ValueError(f"{name} attribute should not be set after {type(self).__name__} is initialized")
        super().__setattr__(name, value)

    @property
    def multiprocessing_context(self):
        """How processes are started: a context of `multiprocessing`, or None for the default one."""
        return self._context

    @multiprocessing_context.setter
    def multiprocessing_context(self, context):
        if context is not None:
            if not self.num_workers > 0:
                raise ValueError("multiprocessing_context can only be used with multi-process loading (num_workers > 0), but got "
                                 f"num_workers={self.num_workers}")
            if isinstance(context, str):
                methods = multiprocessing.get_all_start_methods()
                if context not in methods:
                    raise ValueError(f"multiprocessing_context option should specify a valid start method in {methods!r}, but got "
                                     f"multiprocessing_context={context!r}")
                context = multiprocessing.get_context(context)
            elif not isinstance(context, multiprocessing.context.BaseContext):
                raise TypeError("multiprocessing_context option should be a valid context object or a string specifying the start "
                                f"method, but got multiprocessing_context={context}")
        self._context = context

    @property
    def _auto_collation(self):
        return self.batch_sampler is not None

    @property
    def _index_sampler(self):
        return self.batch_sampler if self._auto_collation else self.sampler

    def _get_iterator(self):
        if self.num_workers == 0:
            return _SingleProcessDataLoaderIter(self)
        self.check_worker_number_rationality()
        return _MultiProcessingDataLoaderIter(self)

    def __iter__(self):
        if not (self.persistent_workers and self.num_workers > 0):
            return self._get_iterator()
        if self._iterator is None or self._iterator._failed:
            self._iterator = self._get_iterator()
        else:
            self._iterator._reset(self)
        return self._iterator

    def __len__(self):
        if not self._is_stream:
            return len(self._index_sampler)
        length = len(self.dataset)
        if self.batch_size is None:
            return length
        full, rest = divmod(length, self.batch_size)
        return full + (rest > 0 and not self.drop_last)

    def check_worker_number_rationality(self):
        """Warn where there are more processes than processors."""
        available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        if available and self.num_workers > available:
            warnings.warn(f"This DataLoader will create {self.num_workers} worker processes in total. Our suggested max number of worker "
                          f"in current system is {available}, which is smaller than what this DataLoader is going to create. Please "
                          "be aware that excessive worker creation might get DataLoader running slow or even freeze, lower the "
                          "worker number to avoid potential slowness/freeze if necessary.", stacklevel=3)


def _check_processes(num_workers, timeout, prefetch_factor, persistent_workers):
    if num_workers < 0:
        raise ValueError("num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.")
    if timeout < 0:
        raise ValueError("timeout option should be non-negative")
    if num_workers == 0 and prefetch_factor is not None:
        raise ValueError("prefetch_factor option could only be specified in multiprocessing. let num_workers > 0 to enable "
                         "multiprocessing, otherwise set prefetch_factor to None.")
    if prefetch_factor is not None and prefetch_factor <= 0:
        raise ValueError(f"prefetch_factor option should be positive, but got prefetch_factor={prefetch_factor}")
    if persistent_workers and num_workers == 0:
        raise ValueError("persistent_workers option needs num_workers > 0")
