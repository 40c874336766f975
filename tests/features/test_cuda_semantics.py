"""CUDA semantics, over a stand-in for CuPy with two devices: what goes where, and what stays. (tests/gpu runs on real devices.)"""
import pytest
from cuda_devices import devices, first_device  # noqa: F401

import pyx_tensor as torch
from pyx_tensor import nn


def where(x):
    return str(x.device)


@pytest.mark.rows("S121", "S123")
def test_there_and_back(devices):
    x = torch.tensor([1.5, -2.0], requires_grad=True)
    y = x.cuda()
    assert y.is_cuda and not x.is_cuda and y.cuda() is y and y.cuda(0) is y and x.cpu() is x and y.cpu().tolist() == [1.5, -2]
    total = y + x.detach().cuda()
    assert total.is_cuda and where(total) == "cuda:0" and total.tolist() == [3, -4]
    (total * total).sum().backward()
    assert where(x.grad) == "cpu" and x.grad.tolist() == [6, -8]
    assert y.type() == "torch.cuda.FloatTensor" and isinstance(y, torch.cuda.FloatTensor) and not isinstance(y, torch.FloatTensor)
    made = torch.cuda.DoubleTensor([1, 2])
    assert made.type() == "torch.cuda.DoubleTensor" and x.type(torch.cuda.LongTensor).tolist() == [1, -2]


@pytest.mark.rows("S122")
def test_mathematics_gives_the_same(devices):
    a, b = torch.arange(6.0).view(2, 3), torch.arange(6.0).view(3, 2) - 2
    for function in (torch.mm, lambda a, b: torch.linalg.det(a @ b), lambda a, b: torch.sort(a.t() + b)[0], lambda a, b: (a.exp() @ b).softmax(1)):
        result = function(a.cuda(), b.cuda())
        assert result.is_cuda and torch.allclose(result.cpu(), function(a, b))


@pytest.mark.rows("S124")
def test_sparse_tensors(devices):
    i, v = torch.LongTensor([[0, 1, 1], [2, 0, 0]]), torch.DoubleTensor([3, 4, 5])
    for s in (torch.cuda.sparse.DoubleTensor(i.cuda(), v.cuda(), torch.Size([2, 3])), torch.sparse_coo_tensor(i, v, (2, 3)).cuda()):
        assert s.is_cuda and s.is_sparse and s.type() == "torch.cuda.sparse.DoubleTensor" and isinstance(s, torch.cuda.sparse.DoubleTensor)
        assert s.to_dense().cpu().tolist() == [[0, 0, 3], [9, 0, 0]] and s.to_dense().is_cuda


@pytest.mark.rows("S126", "S128", "S135")
def test_the_selected_device(devices):
    on_0 = torch.ones(2, device="cuda:0")
    with torch.cuda.device(1):
        assert where(torch.randn(2, device="cuda")) == where(torch.cuda.FloatTensor(2)) == where(torch.ones(2).cuda()) == "cuda:1"
        assert where(on_0 * 2) == "cuda:0" and where(torch.randn(2).cuda(0)) == "cuda:0"
    assert torch.cuda.current_device() == 0 and where(torch.ones(2).cuda()) == "cuda:0"


@pytest.mark.rows("S130", "S131")
def test_mixing_and_copying(devices):
    x, y = torch.ones(2), torch.full((2,), 5.0, device="cuda")
    for mixed in (lambda: x + y, lambda: y + x, lambda: torch.mm(x.view(1, 2), y.view(2, 1))):
        with pytest.raises(RuntimeError, match="same device"):
            mixed()
    assert (y * torch.tensor(2.0)).tolist() == [10, 10] and (torch.tensor(2.0) * y).is_cuda
    half = torch.zeros(2, dtype=torch.float16)
    assert half.copy_(y) is half and half.tolist() == [5, 5] and half.dtype is torch.float16 and where(half) == "cpu"
    assert y.copy_(torch.tensor([1, 2])) is y and y.tolist() == [1, 2] and y.is_cuda and y.dtype is torch.float32


@pytest.mark.rows("S139")
def test_the_early_keyword_of_asynchronous_copies(devices):
    x = torch.arange(3.0).pin_memory()
    for y in (x.cuda(non_blocking=True), x.to("cuda", non_blocking=True), x.cuda(**{"async": True})):
        torch.cuda.synchronize()
        assert y.is_cuda and y.tolist() == [0, 1, 2]


@pytest.mark.rows("S142")
@pytest.mark.parametrize("move", [lambda model: model.cuda(), lambda model: model.to("cuda")])
def test_modules_move_in_place(devices, move):
    model = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
    parameters, state = list(model.parameters()), {name: t.clone() for name, t in model.state_dict().items()}
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.9)
    assert move(model) is model and all(p is q and p.is_cuda for p, q in zip(model.parameters(), parameters)) and model[1].running_mean.is_cuda
    before = model[1].bias.tolist()
    model(torch.ones(4, 2, device="cuda")).sum().backward()
    optimizer.step()
    assert model[1].bias.grad.is_cuda and model[1].bias.tolist() == [b - 0.5 * 4 for b in before]
    model.load_state_dict(state)
    assert model[1].bias.tolist() == before and model[1].bias.is_cuda and all(t.is_cuda for t in model.state_dict().values())
