"""The loader with processes: order, seeds, errors, deaths, ends. Every test has a time limit."""
import contextlib
import gc
import os
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from time_limit import limited_time  # noqa: F401

import pyx_tensor as torch
from pyx_tensor import multiprocessing as mp
from pyx_tensor.utils.data import (BatchSampler, DataLoader, Dataset, DistributedSampler, IterableDataset, RandomSampler,
                                   SubsetRandomSampler, TensorDataset, WeightedRandomSampler, get_worker_info)


pytestmark = pytest.mark.filterwarnings("ignore:This DataLoader will create")


def numbers(n=23):
    return TensorDataset(torch.arange(n), torch.arange(float(n)).view(n, 1).expand(n, 3000))


def firsts(loader):
    return [batch[0].tolist() for batch in loader]


class Ask(Dataset):
    """What each process and its random streams say."""

    def __len__(self):
        return 8

    def __getitem__(self, index):
        info = get_worker_info()
        return torch.tensor([info.id, info.num_workers, info.seed == torch.initial_seed(), len(info.dataset)]), \
            random.random(), np.random.rand(), torch.rand(1).item()


class Fail(Dataset):
    def __init__(self, error):
        self.error = error

    def __len__(self):
        return 6

    def __getitem__(self, index):
        if index == 3:
            raise self.error
        return index


class Die(Dataset):
    def __init__(self, how):
        self.how = how

    def __len__(self):
        return 100

    def __getitem__(self, index):
        if index == 5:
            if self.how == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            if self.how == "exit":
                os._exit(3)
            if self.how == "sleep":
                time.sleep(60)
        return index


class Slow(Dataset):
    def __len__(self):
        return 10

    def __getitem__(self, index):
        time.sleep(60 if index else 0)
        return index


class Counted(IterableDataset):
    """A stream of which each process gives its part."""

    def __init__(self, n, parts=True):
        self.n, self.parts = n, parts

    def __iter__(self):
        info = get_worker_info()
        return iter(range(info.id, self.n, info.num_workers) if info and self.parts else range(self.n))


class Texts(Dataset):
    """Batches that don't fit a pipe at once."""

    def __len__(self):
        return 12

    def __getitem__(self, index):
        return str(index) * 200_000


def processes_of(iterator):
    return [process.pid for process in iterator._processes]


@pytest.fixture
def no_new_processes():
    gc.collect()          # iterators that an earlier test's exception holds
    before = set(mp.active_children())
    yield
    assert set(mp.active_children()) <= before


def is_alive(pid):
    """Whether a process runs; one that has ended may wait for its parent to take notice."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


# --- batches -----------------------------------------------------------------------------------------------------------
@pytest.mark.rows("S148")
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_the_same_batches_in_the_same_order(method):
    expected = [[batch[0].tolist(), batch[1][:, 0].tolist()] for batch in DataLoader(numbers(), batch_size=4)]
    loader = DataLoader(numbers(), batch_size=4, num_workers=2, multiprocessing_context=method)
    got = list(loader)
    assert [[a.tolist(), b[:, 0].tolist()] for a, b in got] == expected


def test_small_batches_go_by_value_and_others_by_handle():
    small, large = torch.arange(12.0).view(6, 2), torch.arange(120_000.0).view(6, 20_000)
    already = torch.ones(3).share_memory_()
    batches = list(DataLoader(TensorDataset(small, large), batch_size=3, num_workers=1))
    assert [(a.is_shared(), b.is_shared()) for a, b in batches] == [(False, True)] * 2
    assert torch.equal(torch.cat([a for a, _ in batches]), small) and torch.equal(torch.cat([b for _, b in batches]), large)
    alone = list(DataLoader([already, small[:, 1], torch.nn.Parameter(small[0])], batch_size=None, num_workers=1))
    assert alone[0].is_shared() and alone[1].tolist() == small[:, 1].tolist() and alone[1].stride() == (2,)
    assert type(alone[2]) is torch.nn.Parameter and alone[2].requires_grad


def pairs_on_one_memory(batch):
    whole = torch.stack(batch)
    return whole, whole[0]


def test_tensors_on_one_memory_stay_so_by_value():
    whole, first = next(iter(DataLoader([torch.zeros(2)] * 4, batch_size=4, num_workers=1, collate_fn=pairs_on_one_memory)))
    first.fill_(1)
    assert whole.tolist() == [[1, 1], [0, 0], [0, 0], [0, 0]]


@pytest.mark.parametrize("strategy", ["file_descriptor", "file_system"])
def test_shuffled_and_persistent(strategy):
    before = mp.get_sharing_strategy()
    mp.set_sharing_strategy(strategy)
    try:
        loader = DataLoader(numbers(), batch_size=4, shuffle=True, num_workers=3, persistent_workers=True, prefetch_factor=3)
        torch.manual_seed(0)
        one, two = firsts(loader), firsts(loader)
        iterator = iter(loader)
        next(iterator)                                        # and a pass that is broken off
        third = firsts(loader)
        assert len({pid for pid in processes_of(iterator)}) == 3
        del loader, iterator
    finally:
        mp.set_sharing_strategy(before)
    torch.manual_seed(0)
    plain = DataLoader(numbers(), batch_size=4, shuffle=True)
    assert one == firsts(plain) and one != two
    assert sorted(sum(third, [])) == list(range(23))


def test_large_messages_in_both_directions():
    assert [len(b[0]) for b in DataLoader(Texts(), num_workers=2, prefetch_factor=4)] == [200_000] * 10 + [400_000] * 2
    many = [list(range(200_000))] * 6
    got = [len(b) for b in DataLoader(range(200_000), batch_sampler=many, collate_fn=list, num_workers=2)]
    assert got == [200_000] * 6


def test_many_tensors_in_a_batch():
    loader = DataLoader([[torch.full((5000,), float(i))] * 1 for i in range(600)], batch_size=300, collate_fn=list, num_workers=1)
    assert [int(sample[0][0]) for batch in loader for sample in batch] == list(range(600))


def test_out_of_order_gives_everything():
    loader = DataLoader(numbers(), batch_size=2, num_workers=2, in_order=False)
    assert sorted(sum(firsts(loader), [])) == list(range(23))


def test_streams_in_parts_and_whole():
    assert sorted(torch.cat(list(DataLoader(Counted(11), batch_size=2, num_workers=3))).tolist()) == list(range(11))
    whole = DataLoader(Counted(3, parts=False), batch_size=2, num_workers=2, persistent_workers=True)
    for _ in range(2):
        assert [b.tolist() for b in whole] == [[0, 1], [0, 1], [2], [2]]
    assert list(DataLoader(Counted(2, parts=False), batch_size=None, num_workers=1)) == [0, 1]


UNSHUFFLED = {
    "in order": {}, "single samples": dict(batch_size=None), "processes": dict(num_workers=2),
    "processes that stay": dict(num_workers=2, persistent_workers=True), "a sampler": dict(sampler=[3, 1, 4, 1, 5]), "a batch sampler": dict(batch_size=1, batch_sampler=[[3, 1], [4]], num_workers=1),
    "distributed": dict(sampler=DistributedSampler(range(23), 2, 0, shuffle=False)),
    "a generator": dict(generator=torch.Generator()), "shuffled by a generator": dict(shuffle=True, generator=torch.Generator())}


@pytest.mark.parametrize("options", UNSHUFFLED.values(), ids=UNSHUFFLED)
def test_a_loader_that_does_not_shuffle_leaves_the_stream_alone(options):
    state = torch.get_rng_state()
    loader = DataLoader(numbers(), **{"batch_size": 8, **options})
    for _ in range(2):
        list(loader)
        assert torch.equal(state, torch.get_rng_state())


@pytest.mark.parametrize("num_workers", [0, 2])
def test_a_stream_of_samples_leaves_the_stream_alone(num_workers):
    state = torch.get_rng_state()
    list(DataLoader(Counted(11), batch_size=2, num_workers=num_workers))
    assert torch.equal(state, torch.get_rng_state())


@pytest.mark.parametrize("sampler", [lambda: RandomSampler(range(8), generator=torch.Generator()), lambda: SubsetRandomSampler([1, 2]),
                                     lambda: WeightedRandomSampler([1.0, 2.0], 3), lambda: BatchSampler(RandomSampler(range(4)), 2, False)])
def test_a_loader_that_shuffles_draws_its_seed_from_the_stream_first(sampler):
    torch.manual_seed(0)
    batches = firsts(DataLoader(numbers(), sampler=sampler(), batch_size=None))
    state = torch.get_rng_state()
    torch.manual_seed(0)
    torch.empty((), dtype=torch.int64).random_()
    assert batches == list(sampler()) and torch.equal(state, torch.get_rng_state())


# --- seeds and information ---------------------------------------------------------------------------------------------
def test_processes_know_themselves_and_have_their_own_seeds():
    torch.manual_seed(5)
    loader = DataLoader(Ask(), batch_size=2, num_workers=2)
    first, second = list(loader), list(loader)
    assert [batch[0][0].tolist() for batch in first] == [[0, 2, 1, 8], [1, 2, 1, 8]] * 2
    for stream in (1, 2, 3):
        values = torch.cat([batch[stream] for batch in first + second])
        assert len(set(values.tolist())) == 16
    torch.manual_seed(5)
    repeated = [*loader, *DataLoader(Ask(), batch_size=2, num_workers=2)]          # another loader goes on
    assert all(torch.equal(a, b) for one, two in zip(first + second, repeated) for a, b in zip(one, two))


class Assigns(Ask):
    """Tries to change what is known of its process."""

    def __getitem__(self, index):
        try:
            get_worker_info().id = 5
        except AttributeError as error:
            return str(error)


def test_what_is_known_of_a_process_is_fixed():
    assert "'id'" in next(iter(DataLoader(Assigns(), num_workers=1)))[0]


def record_start(worker_id):
    get_worker_info().dataset.error = KeyError(f"from {worker_id}")


def test_init_function():
    with pytest.raises(KeyError, match="Caught KeyError in DataLoader worker process 0.\nOriginal Traceback") as caught:
        list(DataLoader(Fail(ValueError("replaced")), batch_size=6, num_workers=1, worker_init_fn=record_start))
    assert "from 0" in str(caught.value)
    with pytest.raises(ZeroDivisionError, match="in DataLoader worker process 1"):
        list(DataLoader(numbers(), num_workers=2, worker_init_fn=lambda number: 1 // (1 - number)))


# --- errors and deaths -------------------------------------------------------------------------------------------------
class Unbuildable(Exception):
    def __init__(self, one, two):
        super().__init__(one, two)


@pytest.mark.parametrize(("error", "kind"), [(ValueError("bad sample"), ValueError), (Unbuildable("bad", "sample"), RuntimeError),
                                             (StopIteration("bad sample"), RuntimeError)])
def test_exceptions_arrive_with_their_traceback(error, kind):
    loader = DataLoader(Fail(error), batch_size=1, num_workers=2)
    got = []
    iterator = iter(loader)
    with pytest.raises(kind) as caught:
        for batch in iterator:
            got.append(batch.item())
    assert got == [0, 1, 2]
    assert "Original Traceback" in str(caught.value) and "__getitem__" in str(caught.value) and "bad" in str(caught.value)
    assert [batch.item() for batch in iterator] == [4, 5]          # the pass goes on


class Misstated(Dataset):
    """Five samples of what it says to have."""

    def __init__(self, length):
        self.length = length

    def __len__(self):
        return self.length

    def __getitem__(self, index):
        return [0, 1, 2, 3, 4][index]


@pytest.mark.parametrize("num_workers", [0, 2])
def test_data_sets_of_wrong_length(num_workers):
    for length, error in ((7, IndexError), (-1, ValueError), (2.5, TypeError), ("5", TypeError)):
        with pytest.raises(error):
            list(DataLoader(Misstated(length), batch_size=2, num_workers=num_workers))
    assert [batch.tolist() for batch in DataLoader(Misstated(3), batch_size=2, num_workers=num_workers)] == [[0, 1], [2]]


def test_batches_that_cannot_be_pickled():
    with pytest.raises(Exception, match="pickle"):
        list(DataLoader(range(2), collate_fn=lambda batch: (lambda: batch), num_workers=1))
    with pytest.raises(RuntimeError, match="detach"):
        list(DataLoader(torch.ones(3, requires_grad=True), num_workers=1))


def test_data_sets_that_cannot_be_pickled(no_new_processes):
    with pytest.raises((AttributeError, TypeError, __import__("pickle").PicklingError)):
        iter(DataLoader([lambda: 1], num_workers=1, multiprocessing_context="spawn"))


@pytest.mark.parametrize(("how", "message"), [("kill", r"\(pid \d+\) is killed by signal: Killed"),
                                              ("exit", "exited unexpectedly with exit code 3")])
def test_processes_that_die_are_reported(how, message, no_new_processes):
    with pytest.raises(RuntimeError, match=message):
        list(DataLoader(Die(how), batch_size=2, num_workers=2))


def test_idle_processes_that_are_killed_are_reported():
    iterator = iter(DataLoader(numbers(1000), batch_size=1, num_workers=2))
    next(iterator)
    os.kill(processes_of(iterator)[1], signal.SIGKILL)
    with pytest.raises(RuntimeError, match="killed by signal"):
        list(iterator)


@pytest.mark.parametrize("persistent", [False, True])
@pytest.mark.parametrize(("how", "options"), [("kill", {}), ("exit", {}), ("sleep", {"timeout": 0.5})])
def test_after_an_error_the_pass_is_over_and_the_next_has_new_processes(how, options, persistent, no_new_processes):
    loader = DataLoader(Die(how), batch_size=2, num_workers=2, persistent_workers=persistent, **options)
    for _ in range(2):
        iterator = iter(loader)
        with pytest.raises(RuntimeError, match="killed|exited|timed out"):
            list(iterator)
        with pytest.raises(RuntimeError, match="begin another"):
            next(iterator)
    loader.dataset.how = "not at all"
    assert firsts(loader) == list(range(0, 100, 2))


class LongTexts(Texts):
    """Batches that take a process a while to send."""

    def __getitem__(self, index):
        return "x" * 50_000_000


def test_processes_that_die_in_the_middle_of_a_message_are_reported(no_new_processes):
    iterator = iter(DataLoader(LongTexts(), batch_size=None, num_workers=1))
    process = iterator._processes[0]
    assert iterator._connections[0].poll(30)          # the beginning is there
    os.kill(process.pid, signal.SIGKILL)
    with pytest.raises(RuntimeError, match="killed by signal"):
        next(iterator)


class Unloadable:
    """Can be sent, but not received."""

    def __reduce__(self):
        return int, ("not a number",)


@pytest.mark.parametrize("persistent", [False, True])
def test_batches_that_cannot_be_received_end_the_pass(persistent, no_new_processes):
    loader = DataLoader(range(4), num_workers=2, collate_fn=lambda batch: Unloadable(), persistent_workers=persistent)
    for _ in range(2):
        iterator = iter(loader)
        with pytest.raises(ValueError, match="not a number"):
            next(iterator)
        with pytest.raises(RuntimeError, match="begin another"):
            next(iterator)


def test_stopped_processes_are_killed(monkeypatch, no_new_processes):
    monkeypatch.setattr("pyx_tensor.utils.data.iterators.PATIENCE", 0.5)
    iterator = iter(DataLoader(Slow(), num_workers=2, timeout=0.5))
    next(iterator)
    for pid in processes_of(iterator):
        os.kill(pid, signal.SIGSTOP)
    start = time.monotonic()
    with pytest.raises(RuntimeError, match="timed out"):
        next(iterator)
    assert time.monotonic() - start < 10


def test_time_out(no_new_processes):
    start = time.monotonic()
    with pytest.raises(RuntimeError, match="timed out after 0.5 seconds"):
        list(DataLoader(Die("sleep"), batch_size=5, num_workers=1, timeout=0.5))
    assert time.monotonic() - start < 20


# --- ends --------------------------------------------------------------------------------------------------------------
def test_processes_end_with_the_pass_and_with_the_iterator():
    iterator = iter(DataLoader(numbers(), batch_size=4, num_workers=2))
    pids = processes_of(iterator)
    list(iterator)
    assert not any(map(is_alive, pids))
    iterator = iter(DataLoader(numbers(), batch_size=4, num_workers=2))
    pids = processes_of(iterator)
    next(iterator)
    del iterator
    assert not any(map(is_alive, pids))


def test_processes_end_where_an_exception_ends_the_pass():
    """At once: no cycle keeps the iterator; and where one of the user's does, its collector ends them."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        iterator = iter(DataLoader(Fail(ValueError("bad sample")), num_workers=2))
        pids = processes_of(iterator)
        with pytest.raises(ValueError, match="bad sample"):
            list(iterator)
        del iterator
        assert not any(map(is_alive, pids))
        iterator = iter(DataLoader(numbers(), num_workers=2))
        pids = processes_of(iterator)
        iterator.itself = iterator
        del iterator
        assert all(map(is_alive, pids))
        gc.collect()
        assert not any(map(is_alive, pids))
    finally:
        if collecting:
            gc.enable()


def test_a_program_that_ends_in_the_middle_of_a_pass_says_nothing():
    code = PROGRAM.format(tests=os.path.dirname(__file__)).replace("next(iterator)", "")
    program = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert program.returncode == 0 and not program.stderr
    assert gone([int(word) for word in program.stdout.split()], 5)


def test_no_descriptors_are_lost():
    def count():
        list(DataLoader(numbers(), batch_size=4, num_workers=2))
        return len(os.listdir("/proc/self/fd"))
    count()
    assert count() == count()


PROGRAM = """
import os, signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)      # what runs in the background ignores it
sys.path.insert(0, {tests!r})
import test_data_workers as module
from pyx_tensor.utils.data import DataLoader
iterator = iter(DataLoader(module.Slow(), num_workers=2))
next(iterator)
print(*module.processes_of(iterator), flush=True)
next(iterator)
"""


def start_program():
    program = subprocess.Popen([sys.executable, "-c", PROGRAM.format(tests=os.path.dirname(__file__))], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, start_new_session=True)
    return program, [int(word) for word in program.stdout.readline().split()]


def gone(pids, seconds):
    deadline = time.monotonic() + seconds
    while any(map(is_alive, pids)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not any(map(is_alive, pids))


@pytest.mark.parametrize("everybody", [True, False])
def test_an_interrupt_ends_at_once(everybody):
    """Ctrl-C goes to all processes of a terminal; `kill -INT` to one."""
    program, pids = start_program()
    time.sleep(0.3)
    start = time.monotonic()
    (os.killpg if everybody else os.kill)(program.pid, signal.SIGINT)
    _, errors = program.communicate(timeout=30)
    assert program.returncode == -signal.SIGINT and "KeyboardInterrupt" in errors
    assert time.monotonic() - start < 4 and gone(pids, 2)


def test_processes_end_when_the_program_is_killed():
    program, pids = start_program()
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)         # as if they were at work in the moment
    os.kill(program.pid, signal.SIGKILL)
    program.wait()
    for pid in pids:
        os.kill(pid, signal.SIGCONT)
    program.stdout.close(), program.stderr.close()
    deadline = time.monotonic() + 20
    while any(map(is_alive, pids)) and time.monotonic() < deadline:
        for pid in filter(is_alive, pids):    # asleep in the data set, they'd look for their parent only afterwards
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGINT)
        time.sleep(0.3)
    assert gone(pids, 1)
