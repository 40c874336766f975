"""Tensors in several processes as a newcomer meets them: queues, arguments, pools, training of one model by many."""
import collections

import pytest
from time_limit import limited_time  # noqa: F401

import pyx_tensor as torch
import pyx_tensor.multiprocessing as mp
from pyx_tensor import nn

METHODS = ("fork", "spawn", "forkserver")


def run(context, target, *args):
    """A process from start to end."""
    process = context.Process(target=target, args=args)
    process.start()
    process.join()
    assert process.exitcode == 0


# --- one process -----------------------------------------------------------------------------------------------------
@pytest.mark.rows("S172", "S174")
@pytest.mark.parametrize("make", [mp.Queue, mp.SimpleQueue])
def test_a_queue_carries_a_handle(make):
    queue, t = make(), torch.arange(4.0)
    assert not t.is_shared()
    queue.put(t)
    received = queue.get()
    assert t.is_shared() and received.is_shared() and received is not t and received.tolist() == [0, 1, 2, 3]
    received[0], t[1] = 10, 11
    assert t.tolist() == received.tolist() == [10, 11, 2, 3]
    address = t.data_ptr()
    assert t.share_memory_() is t and t.storage().is_shared()
    queue.put(t[2:])
    queue.get().zero_()
    assert t.data_ptr() == address and t.tolist() == [10, 11, 0, 0]


@pytest.mark.rows("S178")
def test_simple_queues():
    queue = mp.SimpleQueue()
    assert queue.empty()
    queue.put([torch.ones(2), "text"])
    assert not queue.empty()
    received, text = queue.get()
    assert queue.empty() and received.tolist() == [1, 1] and text == "text" and received.is_shared()


# --- several -----------------------------------------------------------------------------------------------------------
def add_one(queue, done):
    queue.get().add_(1)
    done.put("done")


@pytest.mark.rows("S173")
@pytest.mark.parametrize("method", METHODS)
def test_the_sender_sees_what_the_receiver_writes(method):
    context = mp.get_context(method)
    queue, done, t = context.Queue(), context.SimpleQueue(), torch.zeros(2, 3)
    process = context.Process(target=add_one, args=(queue, done))
    process.start()
    queue.put(t)
    assert done.get() == "done"
    process.join()
    assert t.tolist() == [[1] * 3] * 2 and process.exitcode == 0


def fill(t, value):
    t.fill_(value)


@pytest.mark.rows("S171", "S175")
@pytest.mark.parametrize("method", METHODS)
def test_an_argument_of_a_process(method):
    context = mp.get_context(method)
    assert context.get_start_method() == method
    t = torch.zeros(3).share_memory_()
    run(context, fill, t, 7)
    assert t.tolist() == [7, 7, 7]


def write_data_and_gradient(x):
    x.data.add_(10)
    x.grad.data.add_(100)


def with_gradient():
    x = torch.autograd.Variable(torch.tensor([1.0, 2.0]), requires_grad=True)
    (x * x).sum().backward()
    return x


@pytest.mark.rows("S176")
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_data_and_gradient_are_shared(method):
    x, layer = with_gradient(), nn.Linear(2, 1, bias=False)
    x.share_memory_()
    x.grad.share_memory_()
    layer(torch.ones(1, 2)).sum().backward()
    before = layer.weight.tolist()
    assert layer.share_memory() is layer and layer.weight.is_shared() and layer.weight.grad.is_shared()
    for variable in (x, layer.weight):
        run(mp.get_context(method), write_data_and_gradient, variable)
    assert x.tolist() == [11, 12] and x.grad.tolist() == [102, 104] and x.requires_grad
    assert layer.weight.grad.tolist() == [[101, 101]] and torch.equal(layer.weight, torch.tensor(before) + 10)


def receive_variable(queue, done):
    x = queue.get()
    write_data_and_gradient(x)
    done.put((x.requires_grad, x.is_leaf, x.grad.requires_grad))


@pytest.mark.rows("S177")
@pytest.mark.parametrize("method", METHODS)
def test_a_variable_takes_its_gradient_along(method):
    context = mp.get_context(method)
    queue, done, x = context.Queue(), context.SimpleQueue(), with_gradient()
    process = context.Process(target=receive_variable, args=(queue, done))
    process.start()
    queue.put(x)
    assert done.get() == (True, True, False)
    process.join()
    assert x.tolist() == [11, 12] and x.grad.tolist() == [102, 104]


def describe(queue, back):
    """Say of each object what it is, and write a 5 to the first place of each tensor."""
    for obj in iter(queue.get, None):
        tensors = list(obj.values()) if isinstance(obj, dict) else [obj]
        back.put((type(obj).__name__, list(obj) if isinstance(obj, dict) else None,
                  [(type(t).__name__, str(t.dtype), tuple(t.shape), t.requires_grad) for t in tensors]))
        for t in tensors:
            t.data.view(-1)[0] = 5


@pytest.mark.rows("S179")
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_queues_carry_all_kinds_of_objects(method):
    context = mp.get_context(method)
    queue, back = context.Queue(), context.SimpleQueue()
    process = context.Process(target=describe, args=(queue, back))
    process.start()
    plain, named = torch.zeros(2, 2, dtype=torch.int64), {"a": torch.zeros(2, dtype=torch.float64, requires_grad=True), "b": torch.zeros(1)}
    parameter, layer = nn.Parameter(torch.zeros(3)), nn.Linear(2, 1)
    sent = [plain, named, parameter, layer.state_dict()]
    for obj in [*sent, None]:
        queue.put(obj)
    found = [back.get() for _ in sent]
    process.join()
    assert found == [
        ("Tensor", None, [("Tensor", "torch.int64", (2, 2), False)]),
        ("dict", ["a", "b"], [("Tensor", "torch.float64", (2,), True), ("Tensor", "torch.float32", (1,), False)]),
        ("Parameter", None, [("Parameter", "torch.float32", (3,), True)]),
        ("OrderedDict", ["weight", "bias"], [("Tensor", "torch.float32", (1, 2), False), ("Tensor", "torch.float32", (1,), False)])]
    assert isinstance(sent[3], collections.OrderedDict) and plain[0, 0] == named["a"][0] == parameter[0] == layer.weight[0, 0] == layer.bias[0] == 5


def train(model, seed):
    """Fit y = 2 a - b by steps of one's own optimizer."""
    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(100):
        x = torch.randn(8, 2, generator=generator)
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x)[:, 0], 2 * x[:, 0] - x[:, 1]).backward()
        optimizer.step()


@pytest.mark.rows("S181")
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes_train_one_model(method):
    context = mp.get_context(method)
    torch.manual_seed(0)
    model = nn.Linear(2, 1)
    model.share_memory()
    address = model.weight.data_ptr()
    processes = [context.Process(target=train, args=(model, seed)) for seed in (1, 2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0] and model.weight.data_ptr() == address
    assert model.weight.tolist()[0] == pytest.approx([2, -1], abs=1e-2) and model.bias.item() == pytest.approx(0, abs=1e-2)
