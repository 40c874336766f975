"""Threads that share tensors, forks, memory that runs out, interrupts, garbage: the process lives and tensors stay whole.

What may hang or die runs in a process of its own with a time limit.
"""
import copy
import gc
import os
import pickle
import subprocess
import sys
import textwrap
import threading
import weakref

import numpy as np
import pytest

import pyx_tensor as torch

LIMIT = 60      # seconds that a process of its own may take


def run_alone(program):
    """Run a program in a fresh interpreter; its standard output. A crash, an error and a hang all fail the test."""
    path = os.pathsep.join(p for p in sys.path if p)
    done = subprocess.run([sys.executable, "-X", "faulthandler", "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=LIMIT,
                          env=dict(os.environ, PYTHONPATH=path))
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def in_threads(*functions, times=50):
    """Run each function in a thread of its own, again and again; fail with what they raised or if one doesn't end."""
    errors = []

    def repeat(function):
        try:
            for _ in range(times):
                function()
        except Exception as error:
            errors.append(error)
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        threads = [threading.Thread(target=repeat, args=(f,), daemon=True) for f in functions]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(LIMIT)
        assert not any(thread.is_alive() for thread in threads)
    finally:
        sys.setswitchinterval(before)
    assert not errors, errors[0]


# --- threads ------------------------------------------------------------------------------------------------------
def test_threads_read_one_tensor():
    x = torch.arange(90000.).reshape(300, 300) / 90000
    expected = (x @ x).sum().item()

    def read():
        assert (x @ x).sum().item() == expected and x.t()[3].sum().item() == x[:, 3].contiguous().sum().item()
    in_threads(*[read] * 4, times=20)


def test_threads_resize_and_read_one_tensor():
    x = torch.zeros(10)

    def resize():
        x.resize_(300000)
        x.resize_(3)
    in_threads(resize, resize, lambda: x.sum(), lambda: x + 1, times=100)
    assert x.shape == (3,)


def test_backward_of_threads_meets_in_one_leaf():
    w = torch.ones(8, 8, requires_grad=True)
    in_threads(*[lambda: (w * 2).sum().backward()] * 4, times=100)
    assert w.grad.eq(800).all()


def test_threads_change_what_others_record():
    w = torch.ones(4, requires_grad=True)
    h = w * 1

    def ignore(action):
        def act():
            try:
                action()
            except RuntimeError:      # "modified by an inplace operation", "backward a second time": PyTorch's own words
                pass
        return act
    in_threads(ignore(lambda: h.mul_(1)), ignore(lambda: h.exp().sum().backward()), ignore(lambda: h.sum().backward(retain_graph=True)),
               lambda: w.register_hook(lambda g: g).remove(), times=100)
    assert h.tolist() == [1, 1, 1, 1]


# --- forks --------------------------------------------------------------------------------------------------------
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_a_child_forked_amid_parallel_work_computes():
    run_alone("""
        import os, signal, threading
        import pyx_tensor as torch
        a, b = torch.ones(2_000_000), torch.ones(400, 400)
        a.exp(), b @ b, a.sort()
        stop = False
        def work():
            while not stop:
                b @ b, a + a
        threads = [threading.Thread(target=work) for _ in range(2)]
        for thread in threads: thread.start()
        for _ in range(5):
            child = os.fork()
            if not child:
                signal.alarm(20)
                assert (a + a).sum().item() == 4_000_000 and (b @ b)[3, 3].item() == 400
                w = torch.ones(300, 300, requires_grad=True)
                (w @ w).exp().sum().backward()
                os._exit(0)
            assert os.waitpid(child, 0)[1] == 0, "the child died or hung"
        stop = True
        for thread in threads: thread.join()
    """)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
@pytest.mark.parametrize("busy, after", [
    ("(w * 2).sum().backward()", "v = torch.ones(3, requires_grad=True); (v * 2).sum().backward(); assert v.grad.tolist() == [2, 2, 2]"),
    ("torch.randn(3_000_000)", "torch.manual_seed(3); a = torch.randn(20); torch.manual_seed(3); assert torch.equal(a, torch.randn(20))")])
def test_a_child_waits_for_no_lock_of_another_thread(busy, after):
    run_alone(f"""
        import os, signal, threading
        import pyx_tensor as torch
        w, stop = torch.ones(3_000_000, requires_grad=True), False
        def work():
            while not stop:
                {busy}
        thread = threading.Thread(target=work)
        thread.start()
        for _ in range(15):
            child = os.fork()
            if not child:
                signal.alarm(10)
                {after}
                os._exit(0)
            if os.waitpid(child, 0)[1]:
                stop = True
                raise SystemExit("the child died or hung")
        stop = True
        thread.join()
    """)


# --- memory -------------------------------------------------------------------------------------------------------
@pytest.mark.skipif(sys.platform != "linux", reason="needs RLIMIT_AS and /proc")
def test_when_memory_runs_out():
    output = run_alone("""
        import resource
        import pyx_tensor as torch
        x, small = torch.ones(3000, 3000), torch.ones(64, 64)
        small @ small, x[:100] @ x[:, :100]
        used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + 24 * 2**20,) * 2)
        calls = dict(empty=lambda: torch.empty(3000, 30000), add=lambda: x + x, scalar=lambda: x + 1, exp=lambda: x.exp(), matmul=lambda: x @ x,
                     transposed=lambda: x.t() @ x.t(), cat=lambda: torch.cat([x, x]), clone=lambda: x.clone(), contiguous=lambda: x.t().contiguous(),
                     sort=lambda: x.sort(), to=lambda: x.double(), nonzero=lambda: x.nonzero(), where=lambda: torch.where(x > 0, x, x), add_=lambda: x.add_(x.t()),
                     resize=lambda: small.resize_(100_000_000), softmax=lambda: torch.softmax(x, 0), repeat=lambda: x.repeat(2, 2),
                     inv=lambda: torch.linalg.inv(torch.eye(64)))
        for name, call in calls.items():
            try:
                call()
            except RuntimeError as error:
                print(name)
            assert small.shape == (64, 64) and x.sum().item() == 9_000_000
        assert (small @ small)[0, 0].item() == 64
    """)
    refused = output.split()
    assert {"empty", "add", "scalar", "exp", "matmul", "cat", "clone", "sort", "to", "resize", "repeat", "inv"} <= set(refused)


# --- interrupts ---------------------------------------------------------------------------------------------------
@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")
def test_an_interrupt_ends_a_program_of_small_operations():
    run_alone("""
        import signal
        import pyx_tensor as torch
        w = torch.ones(50, 50, requires_grad=True)
        for _ in range(20):
            signal.setitimer(signal.ITIMER_REAL, 0.01)
            signal.signal(signal.SIGALRM, signal.default_int_handler)
            try:
                while True:
                    (w @ w).tanh().sum().backward()
            except KeyboardInterrupt:
                pass
        w.grad = None
        (w * 2).sum().backward()
        assert w.grad.eq(2).all()
    """)


# --- garbage ------------------------------------------------------------------------------------------------------
def collected(make):
    """True where what `make` returns dies when nothing but itself holds it."""
    thing = make()
    gone = weakref.ref(thing)
    del thing
    gc.collect()
    return gone() is None


def with_attribute():
    x = torch.ones(2)
    x.myself = x
    return x


def with_hook():
    x = torch.ones(2, requires_grad=True)
    x.register_hook(lambda g: x)
    return x


def with_hook_on_result():
    y = torch.ones(2, requires_grad=True) * 2
    y.register_hook(lambda g: y)
    return y


def with_gradient_of_itself():
    x = torch.ones(2, requires_grad=True)
    (x * x).sum().backward(create_graph=True)
    x.grad.kept = x
    return x


@pytest.mark.parametrize("make", [with_attribute, with_hook, with_hook_on_result, with_gradient_of_itself])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_cycles_are_collected(make):
    assert collected(make)


def test_a_view_that_dies_in_a_cycle_leaves_the_list_of_its_memory():
    x = torch.zeros(10)
    view = x[:2]
    view.myself = view
    del view
    gc.collect()
    others = [torch.zeros(3)[:1] for _ in range(100)]      # would lie where the view was
    assert [t is x for t in x._storage.tensors] == [True]
    x.resize_(1000)                                         # moves all tensors on the memory
    assert len(others) == 100


def test_views_keep_memory_alive():
    view = torch.arange(1000.)[990:]
    array = torch.arange(1000.).numpy()[990:]
    gc.collect()
    assert view.tolist() == array.tolist() == [float(i) for i in range(990, 1000)]


def test_a_long_graph_is_freed_without_recursion():
    y = torch.ones(1, requires_grad=True)
    for _ in range(100000):
        y = y + 1
    del y


# --- copies -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("twin", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_are_equal_and_apart(twin):
    for x in (torch.ones(2, 3).t(), torch.zeros(0, 3), torch.ones(1).expand(3), torch.tensor(True), torch.tensor(1.5, dtype=torch.bfloat16),
              torch.ones(2, requires_grad=True), torch.nn.Parameter(torch.ones(2))):
        y = twin(x)
        assert type(y) is type(x) and y.dtype is x.dtype and y.shape == x.shape and y.requires_grad == x.requires_grad
        assert y.tolist() == x.tolist() and not np.may_share_memory(y.detach().numpy(), x.detach().numpy())


def test_a_copy_keeps_what_a_tensor_carries():
    x = torch.ones(2, requires_grad=True)
    x.note = ["a"]
    x.sum().backward()
    y = copy.deepcopy(x)
    assert y.note == ["a"] and y.note is not x.note and y.grad.tolist() == [1, 1] and y.grad is not x.grad


# --- NumPy's side -------------------------------------------------------------------------------------------------
def test_numpy_functions_take_tensors():
    x = torch.tensor([[1., 2.], [3., 4.]])
    assert np.asarray(x).base is not None and np.asarray(x, dtype=np.float64).dtype == np.float64
    assert np.matmul(x, x).tolist() == [[7, 10], [15, 22]]
    assert np.concatenate([x, x]).shape == (4, 2) and np.exp(x).shape == (2, 2) and np.arange(3)[torch.tensor([0, 2])].tolist() == [0, 2]
    with pytest.raises(RuntimeError, match="detach"):
        np.asarray(torch.ones(2, requires_grad=True))


def test_an_array_outlives_its_resized_tensor():
    x = torch.zeros(4)
    array = x.numpy()
    try:
        x.resize_(100000)
    except RuntimeError:
        pass
    array[:] = 7
    assert array.tolist() == [7, 7, 7, 7]


# --- odd arguments ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", ["float32", "int64", "bfloat16", "complex64"])
def test_no_operation_kills_the_process(dtype):
    """Every operation of the table, hidden ones too, with odd shapes, layouts and arguments (tests/memcheck.py, which valgrind watches too)."""
    said = run_alone(f"""
        import sys
        sys.path.insert(0, {os.path.dirname(__file__)!r})
        import memcheck
        memcheck.main(["baseline", {dtype!r}])
    """)
    assert said.startswith("baseline: ")
