"""Python's `multiprocessing`, with tensors that travel as handles to shared memory instead of copies.

Everything of the standard module is here under its name. A tensor that is put in a queue, sent through a pipe, given to a
process as an argument or returned from a pool moves to shared memory first (with its views, and with its gradient), so that
the receiver's tensor is the sender's memory: what one writes, the other reads. Small tensors share one segment, so that it takes
one descriptor for all; where writes needn't show, `set_sharing_threshold` lets them go by value, several times as fast. (The
processes of a DataLoader keep no batch that they have sent, so small ones of these always do.) What isn't a leaf and requires
grad can't be sent; tensors of a subclass, and those on a device with memory of its own, are copied.

A queue has a thread that pickles what was put in; `SimpleQueue` has none, and is the choice where threads are a danger (a
process that forks while another of its threads holds a lock can hang).

>>> import pyx_tensor as torch
>>> queue = torch.multiprocessing.SimpleQueue()
>>> x = torch.zeros(2)
>>> queue.put(x)
>>> queue.get().fill_(7)
tensor([7., 7.])
>>> x, x.is_shared()
(tensor([7., 7.]), True)
"""
import multiprocessing
from multiprocessing import *  # noqa: F403

from ..core import sharing as _sharing
from . import reductions
from .reductions import get_sharing_threshold, init_reductions, set_sharing_threshold  # noqa: F401
from .spawn import (ProcessContext, ProcessExitedException, ProcessRaisedException, SpawnContext, spawn,  # noqa: F401
                    start_processes)

__all__ = [*multiprocessing.__all__, "get_all_sharing_strategies", "get_sharing_strategy", "get_sharing_threshold", "set_sharing_strategy",
           "set_sharing_threshold"]

init_reductions()


def get_all_sharing_strategies():
    """The names of the strategies that `set_sharing_strategy` takes."""
    return set(_sharing.STRATEGIES)


def get_sharing_strategy():
    """The name of the strategy by which tensors move to shared memory."""
    return _sharing.get_strategy()


def set_sharing_strategy(new_strategy):
    """Choose how tensors move to shared memory from now on.

    Args:
        new_strategy: 'file_descriptor' (anonymous memory, gone with its last user whatever happens; each segment takes a file
            descriptor in each process, and beyond a quarter of the limit named memory is used), or 'file_system' (named memory,
            counted, and removed by its last user; what crashed processes leave is removed when all have ended).
    """
    if new_strategy not in _sharing.STRATEGIES:
        raise AssertionError(f"invalid sharing strategy {new_strategy!r}, expected one of {sorted(_sharing.STRATEGIES)}")
    _sharing.set_strategy(new_strategy)
