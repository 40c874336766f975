"""The two kinds of passes over a loader's batches: in this process, and with processes that make them ahead."""
import collections.abc
import errno
import itertools
import os
import signal
import time
import warnings
import weakref
from collections import deque
from multiprocessing import connection as _connection

from ...core.frontend import Tensor
from ...ops.random import default_generator
from ..exceptions import ExceptionWrapper
from . import worker as _worker
from .fetch import make_fetcher
from .sampler import draw_seed, shuffles

PATIENCE = 5.0       # seconds that a process gets to end by itself


class _BaseDataLoaderIter:
    """One pass over a loader."""

    def __init__(self, loader):
        self._loader_name = type(loader.dataset).__name__
        self._dataset = loader.dataset
        self._timeout = loader.timeout
        self._options = loader._auto_collation, loader.collate_fn, loader.drop_last
        self._is_stream = loader._is_stream
        self._index_sampler = loader._index_sampler
        self._pin = _pinning(loader.pin_memory)
        self._base_seed = _draw_base_seed(loader)
        self._start(loader)

    def _start(self, loader):
        self._sampler_iter = iter(self._index_sampler)
        self._num_yielded = 0
        self._promised = _length_of(loader) if self._is_stream else None

    def _reset(self, loader):
        self._start(loader)

    def __iter__(self):
        return self

    def __len__(self):
        return len(self._index_sampler)

    def __next__(self):
        batch = self._next_data()
        self._num_yielded += 1
        if self._promised is not None and self._num_yielded > self._promised:
            warnings.warn(f"Length of IterableDataset {self._loader_name} was reported to be {self._promised} (when accessing "
                          f"len(dataloader)), but {self._num_yielded} samples have been fetched. With several processes, each gives its "
                          "whole stream unless it asks get_worker_info for its part.", stacklevel=2)
        return batch if self._pin is None else self._pin(batch)


def _draw_base_seed(loader):
    """What the seeds of processes count from: the next number of the loader's stream, which is a side stream where nothing is shuffled."""
    stream = loader.generator
    if stream is None and not shuffles(loader._index_sampler):
        stream = default_generator._side_stream()
    return draw_seed(stream)


def _length_of(loader):
    try:
        return len(loader)
    except (TypeError, NotImplementedError):
        return None


class _SingleProcessDataLoaderIter(_BaseDataLoaderIter):
    """Makes each batch when it is asked for."""

    def __init__(self, loader):
        super().__init__(loader)
        if self._timeout != 0:
            raise ValueError(f"timeout={self._timeout} needs processes (num_workers > 0)")
        self._fetcher = make_fetcher(self._dataset, *self._options)

    def _next_data(self):
        return self._fetcher.fetch(next(self._sampler_iter))


class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    """Has processes make batches ahead.

    Tasks are numbered; number n goes to the next process in turn, and each process has a pipe of its own: none waits for
    another, and one that dies is seen at once.
    """

    def __init__(self, loader):
        self._processes, self._connections = [], []
        self._sources = {}                       # what to listen to, a pipe or a sentinel -> number of its process
        self._failed = False                     # whether an error has ended the processes
        self._end = weakref.finalize(self, _end_processes, self._processes, self._connections, os.getpid())
        self._end.atexit = False                 # when Python ends, `multiprocessing` ends them
        self._num_workers = loader.num_workers
        self._limit = loader.prefetch_factor * loader.num_workers
        self._prefetch_factor = loader.prefetch_factor
        self._persistent = loader.persistent_workers
        self._in_order = loader.in_order
        super().__init__(loader)
        try:
            self._start_processes(loader)
            self._begin()
        except BaseException:
            self._shut_down(at_once=True)
            raise

    def _start_processes(self, loader):
        import multiprocessing

        from ... import multiprocessing as _  # noqa: F401  (tensors in the arguments)
        context = loader.multiprocessing_context or multiprocessing.get_context()
        parent = os.getpid() if context.get_start_method() != "forkserver" else None
        for number in range(self._num_workers):
            here, there = context.Pipe()
            process = context.Process(
                target=_worker.run, name=f"DataLoader-{number}", daemon=True,
                args=(there, number, self._num_workers, self._base_seed, parent, self._dataset, make_fetcher, self._options,
                      loader.worker_init_fn))
            self._connections.append(here)
            try:
                process.start()
            finally:
                there.close()
            self._processes.append(process)
            self._sources[here] = self._sources[process.sentinel] = number

    def _begin(self):
        """Hand out the first tasks of a pass."""
        self._sent = self._wanted = 0            # numbers of the next task, and of the next batch to give
        self._tasks = {}                         # number -> (process,), or (process, batch) once it is there
        self._active = [True] * self._num_workers
        self._turns = itertools.cycle(range(self._num_workers))
        self._arrived = deque()                  # (number, batch) read but not looked at
        for _ in range(self._limit):
            self._send_task()

    def _reset(self, loader):
        """Start another pass with the same processes."""
        super()._reset(loader)
        for connection in self._connections:
            _order(connection, "resume")
        waiting = self._num_workers
        while waiting:
            waiting -= isinstance(self._receive()[1], _worker.Resumed)
        self._begin()

    def _send_task(self):
        """Give the next process in turn the next task, if there is one and not too many are under way."""
        if len(self._tasks) >= self._limit:
            return
        try:
            index = next(self._sampler_iter)
        except StopIteration:
            return
        number = self._next_worker()
        if number is None:
            return
        self._tasks[self._sent] = (number,)
        _order(self._connections[number], (self._sent, index))
        self._sent += 1

    def _next_worker(self):
        loads = [0] * self._num_workers
        if not self._in_order:
            for task in self._tasks.values():
                loads[task[0]] += 1
        for number in itertools.islice(self._turns, self._num_workers):
            if self._active[number] and loads[number] < self._prefetch_factor:
                return number
        return None

    def _next_data(self):
        if self._failed:
            raise RuntimeError("DataLoader worker processes have ended with the error before: begin another pass")
        try:
            return self._next_batch()
        except KeyboardInterrupt:
            self._shut_down(at_once=True)
            raise

    def _next_batch(self):
        while True:
            self._skip_ended()
            if self._wanted == self._sent:
                if not self._persistent:
                    self._shut_down()
                raise StopIteration
            if len(self._tasks[self._wanted]) == 2:
                return self._give(self._wanted, self._tasks[self._wanted][1])
            number, batch = self._receive()
            if isinstance(batch, _worker.Finished):
                self._end_stream(self._tasks[number][0])
                self._send_task()
            elif number == self._wanted or not self._in_order:
                return self._give(number, batch)
            else:
                self._tasks[number] = (*self._tasks[number], batch)

    def _skip_ended(self):
        """Pass over the tasks of processes whose stream has ended, and over those given out of order."""
        while self._wanted < self._sent:
            task = self._tasks.get(self._wanted)
            if task is not None:
                if len(task) == 2 or self._active[task[0]]:
                    return
                del self._tasks[self._wanted]
            self._wanted += 1

    def _give(self, number, batch):
        del self._tasks[number]
        if number == self._wanted:
            self._wanted += 1
        self._send_task()
        if isinstance(batch, ExceptionWrapper):
            batch.reraise()
        return batch

    def _end_stream(self, number):
        self._active[number] = False
        if not self._persistent:
            self._forget(number)
            _order(self._connections[number], None)

    def _forget(self, number):
        """Listen no more to a process."""
        for source in (self._connections[number], self._processes[number].sentinel):
            del self._sources[source]

    def _receive(self):
        """The next answer of any process. Raises RuntimeError where one has died or takes too long."""
        deadline = time.monotonic() + self._timeout if self._timeout else None
        while not self._arrived:
            ready = _connection.wait(self._sources, None if deadline is None else max(0.0, deadline - time.monotonic()))
            if not ready:
                self._shut_down(at_once=True)
                raise RuntimeError(f"DataLoader timed out after {self._timeout} seconds")
            self._read(ready)
        return self._arrived.popleft()

    def _read(self, ready):
        from ...multiprocessing.messages import receive
        for number in sorted({self._sources[source] for source in ready}):
            connection = self._connections[number]
            try:
                if connection.poll(0):
                    self._arrived.append(receive(connection))
                elif not self._processes[number].is_alive() and not connection.poll(0):
                    self._report_death(number)
            except Exception as error:
                if _is_end(error):
                    self._report_death(number)
                self._shut_down(at_once=True)        # it isn't known to which task this would have been the answer
                raise

    def _report_death(self, number):
        process = self._processes[number]
        process.join(PATIENCE)
        code, pid = process.exitcode, process.pid
        self._shut_down(at_once=True)
        if code is not None and code < 0:
            name = signal.Signals(-code).name if -code in set(signal.Signals) else -code
            hint = " The system may have run out of memory." if -code == getattr(signal, "SIGKILL", 9) else ""
            raise RuntimeError(f"DataLoader worker (pid {pid}) is killed by signal: {signal.strsignal(-code)} ({name}).{hint}")
        raise RuntimeError(f"DataLoader worker (pid(s) {pid}) exited unexpectedly with exit code {code}")

    def _shut_down(self, at_once=False):
        """End the processes, at once where something has failed, and wait until they have."""
        self._failed = self._failed or at_once
        self._sources = {}
        if ending := self._end.detach():
            _, end, arguments, _ = ending
            end(*arguments, at_once)


def _order(connection, order):
    """Tell a process what to do next."""
    from ...multiprocessing.messages import pack, send
    try:
        send(connection, *pack(order))
    except (BrokenPipeError, ConnectionResetError):
        pass                                     # it has died, which is reported when its answer is missed


def _is_end(error):
    """Whether the other end of a connection is gone, maybe in the middle of a message."""
    return isinstance(error, EOFError) or isinstance(error, OSError) and error.errno in (None, errno.ECONNRESET)


def _join(processes):
    """Wait for the processes, together no longer than they get to end by themselves; those that still run."""
    deadline = time.monotonic() + PATIENCE
    for process in processes:
        process.join(max(0.0, deadline - time.monotonic()))
    return [process for process in processes if process.is_alive()]


def _end_processes(processes, connections, pid, at_once=False):
    """End the processes of a loader in process `pid`, by an order or at once, and wait until they have.

    It knows no iterator: it runs when one is gone, maybe with a cycle that it is part of.
    """
    if pid != os.getpid():
        return                                   # a copy, in a process that was forked from the loader's
    for connection in connections:
        if not at_once:
            _order(connection, None)
    for process in processes:
        if at_once:
            process.terminate()
    for connection in connections:
        connection.close()
    running = _join(processes)
    if running and not at_once:
        for process in running:
            process.terminate()
        running = _join(running)
    for process in running:
        process.kill()
    for process in processes:
        process.join()
        process.close()


def _pinning(wanted):
    """The function that brings a batch to page-locked memory, or None where nothing is to be done."""
    if not wanted:
        return None
    from ... import cuda
    if not cuda.is_available():
        warnings.warn("'pin_memory' argument is set as true but no accelerator is found, then device pinned memory won't be used.",
                      stacklevel=4)
        return None
    return pin_memory


def pin_memory(data):
    """Tensors, inside of containers too, in page-locked memory; other objects by their own `pin_memory`, if they have one."""
    if hasattr(data, "pin_memory") and not isinstance(data, type):
        return data.pin_memory()
    if isinstance(data, (str, bytes, Tensor)):
        return data
    if isinstance(data, collections.abc.Mapping):
        return type(data)({key: pin_memory(value) for key, value in data.items()})
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*map(pin_memory, data))
    if isinstance(data, collections.abc.Sequence):
        return [pin_memory(item) for item in data] if isinstance(data, tuple) else type(data)(map(pin_memory, data))
    return data
