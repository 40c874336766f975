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
        raise RuntimeError("Cannot assign attributes to WorkerInfo objects")

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
    if hasattr(signal, "SIGTERM"):
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
    set_num_threads(1)
    seed_everything(base_seed, worker_id)
    _info = WorkerInfo(worker_id, num_workers, base_seed + worker_id, dataset)
    where = f"in DataLoader worker process {worker_id}"
    sender = Sender(connection)
    fetcher = failed = None
    try:
        try:
            if init_fn is not None:
                init_fn(worker_id)
            fetcher = make_fetcher(dataset, *options)
        except Exception:
            failed = ExceptionWrapper(where=where)
        while (order := _next_order(connection, parent)) is not None:
            if order == "resume":
                try:
                    fetcher, failed = make_fetcher(dataset, *options), None
                except Exception:
                    failed = ExceptionWrapper(where=where)
                sender.put((None, Resumed()))
                continue
            number, index = order
            if failed is not None:
                sender.put((number, failed))
                continue
            _answer(sender, number, fetcher, index, where)
    except KeyboardInterrupt:
        pass                   # the loader's process was interrupted too, and says so
    except (BrokenPipeError, ConnectionResetError):
        pass                   # the loader is gone
    sys.stdout.flush()
    sys.stderr.flush()


def _answer(sender, number, fetcher, index, where):
    try:
        result = fetcher.fetch(index)
    except StopIteration as error:
        result = Finished()
        if not hasattr(fetcher, "stream"):       # of a data set with an index it is an error, which must not end the pass silently
            result = ExceptionWrapper((RuntimeError, error, error.__traceback__), where)
    except Exception:
        result = ExceptionWrapper(where=where)
    try:
        sender.put((number, result))
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
