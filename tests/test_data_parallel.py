"""Modules over several devices: the reference backend has four."""
import collections

import pytest

import pyx_tensor as torch
from pyx_tensor import nn
from pyx_tensor.nn.parallel import DataParallel, data_parallel, gather, parallel_apply, replicate, scatter, scatter_kwargs

DEVICES = [f"reference:{i}" for i in range(4)]
Pair = collections.namedtuple("Pair", "a b")


def test_scatter():
    parts = scatter(torch.arange(7), DEVICES[:3])
    assert [p.tolist() for p in parts] == [[0, 1, 2], [3, 4, 5], [6]] and [str(p.device) for p in parts] == DEVICES[:3]
    assert len(scatter(torch.ones(2), DEVICES)) == 2
    mixed = scatter((Pair(torch.ones(4), "x"), [torch.zeros(4, 2)], {"k": torch.arange(4)}, 5), DEVICES[:2])
    assert mixed[1][0].a.shape == (2,) and type(mixed[0][0]) is Pair and mixed[0][0].b == "x"
    assert mixed[1][2]["k"].tolist() == [2, 3] and mixed[0][3] == 5 and mixed[0][1][0].shape == (2, 2)
    assert [p.shape for p in scatter(torch.ones(2, 6), DEVICES[:2], dim=1)] == [(2, 3)] * 2
    args, kwargs = scatter_kwargs((torch.ones(4),), {"flag": True}, DEVICES[:2])
    assert len(args) == len(kwargs) == 2 and kwargs[1] == {"flag": True}


def test_gather():
    parts = scatter(torch.arange(6.0).requires_grad_(), DEVICES[:3])
    whole = gather(parts, "reference:1")
    assert whole.tolist() == list(range(6)) and str(whole.device) == "reference:1"
    x = torch.arange(6.0, requires_grad=True)
    (gather(scatter(x, DEVICES[:3]), "cpu") * torch.arange(6.0)).sum().backward()
    assert x.grad.tolist() == list(range(6)) and x.grad.device.type == "cpu"
    assert gather([{"a": torch.ones(1)}, {"a": torch.zeros(2)}], "cpu")["a"].tolist() == [1, 0, 0]
    joined = gather([Pair(torch.ones(1), None), Pair(torch.zeros(1), None)], "cpu")
    assert type(joined) is Pair and joined.a.tolist() == [1, 0] and joined.b is None
    with pytest.warns(UserWarning, match="will instead unsqueeze"):
        assert gather([torch.tensor(1.0), torch.tensor(2.0)], "cpu").tolist() == [1, 2]
    with pytest.raises(ValueError, match="same number of keys"):
        gather([{"a": torch.ones(1)}, {}], "cpu")


def make_model():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Tanh(), nn.Linear(4, 2))


def test_replicas_lead_back_to_the_module():
    model = make_model().to("reference:0")
    copies = replicate(model, DEVICES[:2])
    assert [str(c[0].weight.device) for c in copies] == DEVICES[:2] and not list(copies[1].parameters())
    assert copies[1] is not model and copies[0][1].running_mean is model[1].running_mean
    tied = nn.Module()
    tied.one = tied.other = nn.Linear(2, 2)
    copy = replicate(tied, DEVICES[1:2])[0]
    assert copy.one is copy.other and copy.one is not tied.one
    copies[1](torch.ones(2, 3, device="reference:1")).sum().backward()
    assert model[0].weight.grad is not None and str(model[0].weight.grad.device) == "reference:0"
    assert list(model.parameters()) and not replicate(model, DEVICES[1:2], detach=True)[0][0].weight.requires_grad


@pytest.mark.rows("S144", "S145")
@pytest.mark.parametrize("devices", [DEVICES[:1], DEVICES[:3], DEVICES])
@pytest.mark.parametrize("batch", [2, 8, 9])
def test_outputs_and_gradients_are_the_modules_own(devices, batch):
    model, plain = make_model().eval().to("reference:0"), make_model().eval()
    parallel = DataParallel(model, device_ids=devices)
    x = torch.randn(batch, 3)
    y = parallel(x.to("reference:0"))
    z = plain(x)
    assert torch.allclose(y.cpu(), z, atol=1e-6) and y.device == torch.device("reference:0")
    (y ** 2).sum().backward(), (z ** 2).sum().backward()
    for p, q in zip(model.parameters(), plain.parameters()):
        assert torch.allclose(p.grad.cpu(), q.grad, rtol=1e-4, atol=1e-6)
    assert all(name.startswith("module.") for name in parallel.state_dict())


def test_all_devices_by_default_and_training():
    model = make_model().to("reference:0")
    parallel = DataParallel(model, output_device=2)
    assert parallel.device_ids == [0, 1, 2, 3]
    optimizer = torch.optim.SGD(parallel.parameters(), lr=0.5)
    x, before = torch.randn(16, 3, device="reference:0"), model[1].running_mean.clone()
    losses = []
    for _ in range(20):
        optimizer.zero_grad()
        loss = (parallel(x) ** 2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.2 * losses[0] and str(loss.device) == "reference:2"
    assert not torch.equal(before, model[1].running_mean)        # the first copy's statistics are the module's


@pytest.mark.rows("S143")
def test_without_devices_it_calls_the_module():
    if torch.cuda.is_available():
        pytest.fail("this test is for machines without a CUDA device")
    model = make_model()
    x = torch.randn(4, 3)
    parallel = DataParallel(model)
    assert parallel.device_ids == [] and parallel.module is model and torch.equal(parallel.eval()(x), model(x))
    assert list(parallel.state_dict()) == [f"module.{name}" for name in model.state_dict()]
    parallel(x).sum().backward()
    assert model[3].bias.grad.tolist() == [4, 4] and all(p.grad is not None for p in model.parameters())


def test_keywords_and_the_function():
    class Keyed(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(1))

        def forward(self, x, *, factor):
            return {"y": x * self.weight * factor, "n": torch.tensor([len(x)], device=x.device)}

    model = Keyed().to("reference:0")
    x = torch.arange(4.0, device="reference:0")
    result = data_parallel(model, x, DEVICES[:2], module_kwargs={"factor": torch.tensor([1.0, 1, 10, 10], device="reference:0")})
    assert result["y"].tolist() == [0, 1, 20, 30] and result["n"].tolist() == [2, 2]


def test_errors():
    model = make_model()
    with pytest.raises(RuntimeError, match="must have its parameters and buffers on device reference:0"):
        DataParallel(model, device_ids=DEVICES[:2])(torch.ones(2, 3))

    def fail(x):
        raise KeyError("in the copy")

    with pytest.raises(KeyError, match="Caught KeyError in replica 1 on device reference:1.\nOriginal Traceback"):
        parallel_apply([lambda x: x, fail], [(1,), (2,)], devices=DEVICES[:2])
    with pytest.raises(AssertionError, match="number of modules 1"):
        parallel_apply([fail], [])


def test_threads_share_grad_mode_and_autocast():
    w = torch.ones(2, 2, requires_grad=True)
    with torch.no_grad(), torch.autocast("cpu"):
        results = parallel_apply([lambda x: x @ w] * 3, [torch.ones(2, 2)] * 3)
    assert all(r.dtype == torch.bfloat16 and not r.requires_grad for r in results)
