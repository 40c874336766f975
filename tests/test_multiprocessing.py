"""Tensors in shared memory, and their way to other processes."""
import gc
import os
import pickle
import signal
import subprocess
import sys
import time
from multiprocessing.reduction import ForkingPickler
from pathlib import Path

import pytest
from time_limit import limited_time  # noqa: F401

import pyx_tensor as torch
import pyx_tensor.multiprocessing as mp
from pyx_tensor.core import sharing

STRATEGIES = ("file_descriptor", "file_system")
METHODS = ("fork", "spawn", "forkserver")
SHM = Path("/dev/shm")


@pytest.fixture(params=STRATEGIES)
def strategy(request):
    before = mp.get_sharing_strategy()
    mp.set_sharing_strategy(request.param)
    yield request.param
    mp.set_sharing_strategy(before)


def left_over(pid=None):
    """Named segments in sight, of one process or all."""
    return [path.name for path in SHM.glob("pyx_tensor_*" if pid is None else f"pyx_tensor_{pid}_*")]


def children_of(pid):
    """Ids of a process's children."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid:
            found.append(int(path.parent.name))
    return found


def run_program(text, **options):
    """(exit code, output) of a program in a fresh interpreter, whose id stands in its first line."""
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=60, **options)
    return done.returncode, done.stdout + done.stderr


# --- one process -------------------------------------------------------------------------------------------------------
@pytest.mark.rows("S171")
def test_everything_of_the_standard_module_is_there():
    import multiprocessing
    assert set(multiprocessing.__all__) <= set(mp.__all__)
    assert all(hasattr(mp, name) for name in mp.__all__)
    assert mp.get_all_sharing_strategies() == set(STRATEGIES)
    with pytest.raises(AssertionError, match="expected one of"):
        mp.set_sharing_strategy("carrier_pigeon")


@pytest.mark.rows("S174")
def test_sharing_moves_all_tensors_on_the_memory(strategy):
    base = torch.arange(12.0)
    view, crossed, bits = base[2:8], base.view(3, 4).t(), base.view(torch.int32)
    version = base._version
    assert not base.is_shared() and not base.storage().is_shared()
    assert view.share_memory_() is view
    assert all(x.is_shared() and x.storage().is_shared() for x in (base, view, crossed, bits))
    assert base.tolist() == list(range(12)) and crossed.stride() == (1, 4) and view.storage_offset() == 2
    address = base.data_ptr()
    assert base.share_memory_().data_ptr() == address
    view.fill_(-1)
    assert base[2:8].tolist() == [-1] * 6 and crossed[2, 0] == -1 and base._version > version


@pytest.mark.parametrize("dtype", [torch.bool, torch.uint8, torch.bfloat16, torch.float16, torch.float64, torch.complex128])
@pytest.mark.parametrize("shape", [(), (0,), (3, 0), (5,), (200, 300)])
def test_values_dtypes_and_shapes_are_kept(strategy, dtype, shape):
    x = (torch.randn(shape) * 3).to(dtype)
    expected = x.clone()
    x.share_memory_()
    assert x.is_shared() and x.dtype == dtype and x.shape == expected.shape and torch.equal(x, expected)
    sent = pickle.loads(ForkingPickler.dumps(x))
    assert torch.equal(sent, expected) and sent.dtype == dtype


@pytest.mark.rows("S176")
def test_shared_memory_of_parameters_gradients_and_storages(strategy):
    model = torch.nn.Linear(3, 2)
    model(torch.ones(1, 3)).sum().backward()
    assert model.share_memory() is model
    assert all(p.is_shared() and p.grad.is_shared() for p in model.parameters())
    storage = torch.ones(4).storage()
    assert storage.share_memory_() is storage and storage.is_shared() and storage.tolist() == [1] * 4
    again = pickle.loads(ForkingPickler.dumps(storage))
    again[0] = 5
    assert storage[0] == 5 and type(again) is type(storage)
    untyped = torch.ones(4).untyped_storage()
    assert pickle.loads(ForkingPickler.dumps(untyped)) == untyped and untyped.is_shared()


def test_a_handle_comes_back_as_the_same_memory(strategy):
    x = torch.zeros(10000)
    y = pickle.loads(ForkingPickler.dumps(x[5:]))
    y[0] = 3
    assert x[5] == 3 and y.untyped_storage() == x.untyped_storage() and y.storage_offset() == 5
    small = torch.zeros(2)
    assert pickle.loads(ForkingPickler.dumps(small)).untyped_storage() == small.untyped_storage()


def test_requires_grad_gradient_and_attributes_survive():
    x = torch.nn.Parameter(torch.ones(2))
    x.grad = torch.full((2,), 2.0)
    x.note = "kept"
    y = pickle.loads(ForkingPickler.dumps(x))
    assert type(y) is torch.nn.Parameter and y.requires_grad and y.note == "kept"
    y.grad.fill_(9)
    assert x.grad.tolist() == [9, 9]
    frozen = pickle.loads(ForkingPickler.dumps(torch.nn.Parameter(torch.ones(1), requires_grad=False)))
    assert not frozen.requires_grad


def test_tensors_in_the_graph_are_refused():
    x = torch.ones(2, requires_grad=True) * 2
    with pytest.raises(RuntimeError, match="detach"):
        ForkingPickler.dumps(x)
    assert not x.is_shared()


def test_shared_memory_cannot_be_resized():
    x = torch.ones(3).share_memory_()
    with pytest.raises(RuntimeError, match="not resizable"):
        x.resize_(1000)
    assert x.tolist() == [1] * 3


def test_gradients_flow_through_shared_leaves():
    w = torch.ones(3, requires_grad=True).share_memory_()
    (w * torch.arange(3.0)).sum().backward()
    assert w.is_leaf and w.grad.tolist() == [0, 1, 2]


def test_small_tensors_share_a_segment():
    many = [torch.full((4,), float(i)).share_memory_() for i in range(500)]
    assert [x[0].item() for x in many] == list(range(500))
    assert len({id(sharing.segment_of(x._storage)) for x in many}) <= 2


def test_segments_end_with_their_tensors(strategy):
    gc.collect()
    before = len(sharing._segments), len(left_over())
    x = torch.ones(100_000).share_memory_()
    assert len(sharing._segments) == before[0] + 1 and len(left_over()) == before[1] + (strategy == "file_system")
    del x
    gc.collect()
    assert (len(sharing._segments), len(left_over())) == before


def test_too_little_memory_is_an_error_with_sizes(strategy):
    """The limit on the size of files applies to shared memory too."""
    code, output = run_program(f"""
import resource, pyx_tensor as torch, pyx_tensor.multiprocessing as mp
mp.set_sharing_strategy({strategy!r})
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, 1 << 16))
x = torch.ones(100_000)
for make in (x.share_memory_, lambda: torch.multiprocessing.reductions.new_shared((100_000,), torch.float32)):
    try:
        make()
    except RuntimeError as error:
        print(isinstance(error, MemoryError), error)
print(x.is_shared(), x.sum().item())
""")
    assert code == 0, output
    assert output.count("True can't allocate 400000 bytes of shared memory") == 2 and "False 100000.0" in output
    assert strategy != "file_system" or "bytes free of" in output


def test_descriptors_do_not_run_out():
    """Many more tensors than descriptors, alive in sender and receiver."""
    code, output = run_program("""
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (128, 128))
import pyx_tensor as torch, pyx_tensor.multiprocessing as mp
from pyx_tensor.core import sharing

def take(queue, n, done):
    got = [queue.get() for _ in range(n)]
    done.put(sum(x[0].item() for x in got))
    queue.get()

if __name__ == "__main__":
    context = mp.get_context("fork")
    queue, done = context.SimpleQueue(), context.SimpleQueue()
    torch.ones(5000).share_memory_()
    process = context.Process(target=take, args=(queue, 600, done))
    process.start()
    kept = [torch.full((5000,), float(i)) for i in range(300)] + [torch.full((3,), float(i)) for i in range(300)]
    for x in kept:
        queue.put(x)
    print("sum", done.get(), len({s.name for s in sharing._segments.values()}))
    queue.put(None)
    process.join()
""")
    assert code == 0 and "sum 89700.0" in output, output
    assert "leaked" not in output and "Traceback" not in output, output


# --- several processes -------------------------------------------------------------------------------------------------
def add_to_all(queue, back, event):
    items = queue.get()
    items["list"][0].add_(1)
    items["parameter"].data.add_(1)
    items["parameter"].grad.add_(1)
    back.put((items["list"][0], items["parameter"].requires_grad, type(items["parameter"]).__name__))
    event.wait()


@pytest.mark.rows("S173", "S177")
@pytest.mark.parametrize("method", METHODS)
def test_queues_carry_handles(strategy, method):
    context = mp.get_context(method)
    queue, back, event = context.Queue(), context.SimpleQueue(), context.Event()
    process = context.Process(target=add_to_all, args=(queue, back, event))
    process.start()
    x, w = torch.zeros(3), torch.nn.Parameter(torch.zeros(10000))
    w.grad = torch.zeros(10000)
    queue.put({"list": [x], "parameter": w})
    returned, requires_grad, kind = back.get()
    event.set()
    process.join()
    assert x.tolist() == [1] * 3 and x.is_shared() and returned.data_ptr() == x.data_ptr()
    assert w[0] == 1 and w.grad[-1] == 1 and requires_grad and kind == "Parameter"
    assert process.exitcode == 0


def add_to_each(queue, back):
    items = queue.get()
    for x in items:
        x.data.add_(1)
    back.put([(type(x).__name__, x.requires_grad, x.tolist()) for x in items])


@pytest.fixture
def threshold():
    mp.set_sharing_threshold(1024)
    yield
    mp.set_sharing_threshold(0)


def test_below_a_threshold_tensors_go_by_value(strategy, threshold):
    context = mp.get_context("fork")
    queue, back = context.Queue(), context.SimpleQueue()
    process = context.Process(target=add_to_each, args=(queue, back))
    process.start()
    base, small, w = torch.arange(255.0), torch.nn.Parameter(torch.zeros(2)), torch.nn.Parameter(torch.zeros(256))
    queue.put([base[1::2], small, w])
    received = back.get()
    process.join()
    assert received == [("Tensor", False, (base[1::2] + 1).tolist()), ("Parameter", True, [1] * 2), ("Parameter", True, [1] * 256)]
    assert not base.is_shared() and base.tolist() == list(range(255)) and small.tolist() == [0] * 2
    assert w.is_shared() and w.tolist() == [1] * 256
    assert process.exitcode == 0


def test_below_a_threshold_what_is_shared_goes_by_handle_and_a_gradient_with_its_tensor(threshold):
    queue, shared, w = mp.SimpleQueue(), torch.zeros(3).share_memory_(), torch.nn.Parameter(torch.zeros(3))
    w.grad = torch.ones(3)
    queue.put((shared, w))
    first, second = queue.get()
    assert first.data_ptr() == shared.data_ptr() and second.data_ptr() != w.data_ptr() and not w.is_shared()
    assert type(second) is torch.nn.Parameter and second.grad.tolist() == [1] * 3


def test_tensors_on_one_memory_stay_on_one_below_a_threshold(threshold):
    queue, w, base = mp.SimpleQueue(), torch.nn.Parameter(torch.zeros(3)), torch.zeros(4)
    w.grad = torch.ones(3)
    for pair in ((w.detach(), w), (w, w.detach()), (base, base[1:]), (base[1:], base)):
        queue.put(pair)
        one, other = queue.get()
        one.data[-1] = 5
        assert other[-1] == 5


def test_the_threshold_is_0_unless_it_is_set():
    assert mp.get_sharing_threshold() == 0
    with pytest.raises(ValueError, match=r"nbytes of at least 0, got -1"):
        mp.set_sharing_threshold(-1)
    with pytest.raises(TypeError):
        mp.set_sharing_threshold(1.5)
    assert mp.get_sharing_threshold() == 0


def write_number(number, shared, small, *same):
    shared[number] = number + 1
    small[number] = number + 1


@pytest.mark.rows("S175")
@pytest.mark.parametrize("method", METHODS)
def test_arguments_of_processes_are_shared(strategy, method):
    shared, small = torch.zeros(10000), torch.zeros(3)[1:]
    for x in (shared, small) if method == "fork" else ():     # what is inherited isn't pickled
        x.share_memory_()
    mp.start_processes(write_number, (shared[:5], small, shared, small), nprocs=2, start_method=method)
    assert shared[:2].tolist() == [1, 2] and small.tolist() == [1, 2]


def times_two(x):
    return x * 2


@pytest.mark.rows("S180")
def test_pool_and_pipe(strategy):
    with mp.get_context("spawn").Pool(2) as pool:
        results = pool.map(times_two, [torch.ones(2), torch.ones(50_000)])
    assert results[0].tolist() == [2, 2] and [r.sum().item() for r in results] == [4, 100_000] and all(r.is_shared() for r in results)
    one, other = mp.Pipe()
    one.send(torch.arange(3))
    assert other.recv().tolist() == [0, 1, 2]


def send_and_wait(queue, strategy):
    mp.set_sharing_strategy(strategy)
    queue.put([torch.ones(50_000) for _ in range(3)])
    time.sleep(60)


def test_killed_processes_leave_nothing(strategy):
    """A sender that is killed, and with it what it made; a whole program that is killed."""
    context = mp.get_context("fork")
    queue = context.SimpleQueue()
    process = context.Process(target=send_and_wait, args=(queue, strategy))
    process.start()
    got = queue.get()
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    assert got[2].sum() == 50_000
    del got
    gc.collect()
    if strategy == "file_descriptor":          # named ones wait for the tracker, below
        assert left_over(process.pid) == []
    program = subprocess.Popen([sys.executable, "-c", f"""
import os, time, pyx_tensor as torch, pyx_tensor.multiprocessing as mp
mp.set_sharing_strategy({strategy!r})
keep = torch.ones(100_000).share_memory_(), torch.ones(3).share_memory_()
if os.fork() == 0:
    time.sleep(60)
print(os.getpid(), flush=True)
time.sleep(60)
"""], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True)
    pid = int(program.stdout.readline())
    assert len(left_over(pid)) == (2 if strategy == "file_system" else 0)
    os.killpg(program.pid, signal.SIGSTOP)                  # the tracker ignores what interrupts, but not this
    for child in children_of(pid):
        is_tracker = b"resource_tracker" in Path(f"/proc/{child}/cmdline").read_bytes()
        os.kill(child, signal.SIGCONT if is_tracker else signal.SIGKILL)
    os.kill(pid, signal.SIGKILL)
    program.wait()
    deadline = time.monotonic() + 20
    while left_over(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not left_over(pid)


def send_and_end(queue):
    queue.put(torch.ones(50_000))


def test_a_sender_that_has_ended():
    queue = mp.get_context("fork").SimpleQueue()
    process = mp.get_context("fork").Process(target=send_and_end, args=(queue,))
    process.start()
    process.join()
    with pytest.raises(RuntimeError, match="has ended before it was received"):
        queue.get()


def test_a_program_that_ends_leaves_nothing(strategy):
    code, output = run_program(f"""
import pyx_tensor as torch, pyx_tensor.multiprocessing as mp

def keep(number, x):
    global kept
    kept = x, torch.ones(30_000).share_memory_()

if __name__ == "__main__":
    mp.set_sharing_strategy({strategy!r})
    x = torch.ones(30_000).share_memory_()
    mp.start_processes(keep, (x,), nprocs=2, start_method="fork")
    print(sum(x).item())
""")
    assert code == 0 and output.strip() == "30000.0"


# --- spawn -------------------------------------------------------------------------------------------------------------
def fail_second(number, how):
    if number == 1:
        if how == "raise":
            raise ValueError("second one fails")
        if how == "exit":
            sys.exit(7)
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(60)


@pytest.mark.parametrize(("how", "kind", "message", "exit_code"), [
    ("raise", mp.ProcessRaisedException, "-- Process 1 terminated with the following error:\nTraceback", None),
    ("exit", mp.ProcessExitedException, "process 1 terminated with exit code 7", 7),
    ("kill", mp.ProcessExitedException, "process 1 terminated with signal SIGKILL", -9)])
@pytest.mark.filterwarnings("ignore:process .* is terminated")
def test_failing_processes_are_reported_and_the_others_ended(how, kind, message, exit_code):
    with pytest.raises(kind, match=message) as caught:
        mp.start_processes(fail_second, (how,), nprocs=3, start_method="fork")
    assert caught.value.error_index == 1 and caught.value.error_pid > 0
    assert exit_code is None or caught.value.exit_code == exit_code
    assert how != "raise" or "ValueError: second one fails" in str(caught.value)
    assert not mp.active_children()
    assert pickle.loads(pickle.dumps(caught.value)).msg == caught.value.msg


def test_join_of_a_context():
    context = mp.start_processes(write_number, (torch.zeros(2), torch.zeros(2)), nprocs=2, join=False, start_method="fork")
    assert len(context.pids()) == 2 and isinstance(context, mp.ProcessContext)
    while not context.join(timeout=10):
        pass
    assert context.join() and not any(os.path.exists(name) for name in context.error_files)
    with pytest.raises(ValueError, match="cannot find context"):
        mp.start_processes(write_number, nprocs=1, start_method="beam")
    with pytest.warns(FutureWarning, match="start_processes"):
        mp.spawn(print, nprocs=0, start_method="fork")


# --- fork and threads --------------------------------------------------------------------------------------------------
def use_threads():
    x = torch.randn(400, 400)
    return (x @ x).sum().item() + (torch.ones(3_000_000) * 2 + 1).sum().item() + x.softmax(1).sum().item()


def put_result(queue):
    use_threads()
    queue.put("done")


def test_no_deadlock_after_fork_in_a_process_that_used_its_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        use_threads()
        context = mp.get_context("fork")
        queue = context.SimpleQueue()
        processes = [context.Process(target=put_result, args=(queue,)) for _ in range(2)]
        for process in processes:
            process.start()
        assert [queue.get() for _ in processes] == ["done"] * 2
        for process in processes:
            process.join()
        use_threads()                   # and the parent's go on
    finally:
        torch.set_num_threads(before)


def test_systems_that_cannot_set_memory_aside(strategy, monkeypatch):
    """macOS has no posix_fallocate, and its shared files can't be written to."""
    monkeypatch.delattr(os, "posix_fallocate")
    monkeypatch.setattr(sharing, "_arena", None)
    for size in (3, 50_000):
        x = torch.arange(float(size))
        assert torch.equal(x.share_memory_(), torch.arange(float(size))) and x.is_shared()
        assert pickle.loads(ForkingPickler.dumps(x))[-1] == size - 1
    monkeypatch.setattr(sharing, "_arena", None)
