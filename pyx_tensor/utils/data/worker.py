"""What a process of a loader does: take orders, fetch, send."""
import os
import random
import signal
import sys

import numpy as np

from ..exceptions import ExceptionWrapper

LOOK_FOR_PARENT = 5.0      # seconds between two looks whether the loader's process still lives

_info = None


class WorkerInfo:
    """What a data set can ask in a loader's process: `id` of 0 … `num_workers` - 1, its `seed`, its copy of the `dataset`."""

    def __init__(self, id, num_workers, seed, dataset):      # noqa: A002 (PyTorch's name)
        self.__dict__.update(id=id, num_workers=num_workers, seed=seed, dataset=dataset)

    def __setattr__(self, name, value):
        raise AttributeError(f"the attributes of WorkerInfo are fixed, and {name!r} can't be assigned")

    def __repr__(self):
        return f"WorkerInfo({', '.join(f'{name}={value}' for name, value in vars(self).items())})"


def get_worker_info():
    """In a process of a loader, its WorkerInfo; None elsewhere."""
    return _info


class Finished:
    """Sent in place of a batch: the process's stream has ended."""


class Resumed:
    """Sent to say that the process is ready for the next epoch."""


def seed_everything(base_seed, worker_id):
    """Seed Python's, NumPy's and our default streams, each process's differently."""
    from ...ops.random import manual_seed
    random.seed(base_seed + worker_id)
    manual_seed(base_seed + worker_id)
    words = [worker_id, base_seed & 0xFFFFFFFF, base_seed >> 32, 0]
    np.random.seed(np.random.SeedSequence(words).generate_state(4))


def run(connection, worker_id, num_workers, base_seed, parent, dataset, make_fetcher, options, init_fn):
    """The main function of a process of a loader.

    Orders are (number, indices), "resume" for another epoch, or None to end; answers are (number, batch).
    """
    global _info
    from ...core.threads import set_num_threads
    from ...multiprocessing.messages import Sender
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    set_num_threads(1)
    seed_everything(base_seed, worker_id)
    _info = WorkerInfo(worker_id, num_workers, base_seed + worker_id, dataset)
    maker = _Maker(lambda: make_fetcher(dataset, *options), f"in DataLoader worker process {worker_id}")
    sender = Sender(connection)
    try:
        maker.begin(None if init_fn is None else lambda: init_fn(worker_id))
        while (order := _next_order(connection, parent)) is not None:
            if order == "resume":
                maker.begin()
                sender.put((None, Resumed()))
            else:
                _send(sender, order[0], maker.make(order[1]), maker.where)
    except (KeyboardInterrupt, BrokenPipeError, ConnectionResetError):
        pass                   # the loader's process was interrupted too and says so, or it is gone
    sys.stdout.flush()
    sys.stderr.flush()


class _Maker:
    """Makes the batches of one pass; an exception is a batch too, for the loader to raise."""

    def __init__(self, new_fetcher, where):
        self.new_fetcher = new_fetcher
        self.where = where

    def begin(self, init=None):
        """Begin a pass. What fails now is the answer to every order."""
        self.fetcher = self.failed = None
        try:
            if init is not None:
                init()
            self.fetcher = self.new_fetcher()
        except Exception:
            self.failed = ExceptionWrapper(where=self.where)

    def make(self, index):
        """The batch of some indices."""
        if self.failed is not None:
            return self.failed
        try:
            return self.fetcher.fetch(index)
        except StopIteration as error:
            if hasattr(self.fetcher, "stream"):
                return Finished()
            return ExceptionWrapper((RuntimeError, error, error.__traceback__), self.where)      # it must not end the pass silently
        except Exception:
            return ExceptionWrapper(where=self.where)


def _send(sender, number, batch, where):
    try:
        sender.put((number, batch))
    except (BrokenPipeError, ConnectionResetError):
        raise
    except Exception:          # the batch can't be pickled
        sender.put((number, ExceptionWrapper(where=where)))


def _next_order(connection, parent):
    """What the loader wants next; None where it is gone."""
    from ...multiprocessing.messages import receive
    while not connection.poll(LOOK_FOR_PARENT):
        if os.getppid() != parent and parent is not None:
            return None
    try:
        return receive(connection)
    except (EOFError, ConnectionResetError):
        return None
