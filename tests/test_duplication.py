"""Copies by copy, pickle and cloudpickle: values, sharing, classes; and pickles of releases, which must go on loading."""
import copy
import pickle
from pathlib import Path

import cloudpickle
import numpy as np
import pytest
import pyx_tensor as torch
from pyx_tensor import nn
from pyx_tensor.autograd import gradcheck

DATA = Path(__file__).parent / "data"
WAYS = {"deepcopy": copy.deepcopy, "cloudpickle": lambda obj: pickle.loads(cloudpickle.dumps(obj)),
        **{f"pickle {p}": lambda obj, p=p: pickle.loads(pickle.dumps(obj, p)) for p in range(6)}}
DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64", "float16", "bfloat16", "float32", "float64",
          "complex64", "complex128"]


@pytest.fixture(params=WAYS, name="twin")
def way(request):
    return WAYS[request.param]


@pytest.mark.rows("S151")
@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("shape", [(), (0,), (2, 3)])
def test_tensors(twin, name, shape):
    x = torch.arange(int(np.prod(shape))).reshape(shape).to(getattr(torch, name))
    y = twin(x)
    assert y.dtype is x.dtype and y.shape == x.shape and y.tolist() == x.tolist() and type(y) is torch.Tensor
    y.copy_(y.logical_not() if name == "bool" else y + 1)
    assert x.numel() == 0 or y.tolist() != x.tolist()


def test_strides_are_kept(twin):
    x = torch.arange(24.0).reshape(2, 3, 4)
    for view in (x.permute(2, 0, 1), x[:, 1], x[0, 0].expand(3, 4), x[..., ::2]):
        y = twin(view)
        assert y.tolist() == view.tolist() and y.stride() == view.stride() and y.storage_offset() == view.storage_offset()


def test_shared_memory_is_shared_by_the_copies(twin):
    x = torch.arange(4.0)
    y, z, bits = twin((x, x[1:], x.view(torch.int32)))
    z[0] = 100
    assert y.tolist() == [0, 100, 2, 3] and x.tolist() == [0, 1, 2, 3] and bits[1] == torch.tensor(100.0).view(torch.int32)
    assert y.untyped_storage() == z.untyped_storage() == bits.untyped_storage() != x.untyped_storage()


def test_one_object_stays_one(twin):
    x = torch.ones(2)
    a, b = twin([x, x])
    assert a is b


def test_grad_and_attributes():
    x = torch.ones(2, requires_grad=True)
    (x * 3).sum().backward()
    x.note = ["a"]
    y = copy.deepcopy(x)
    assert y.grad.tolist() == [3, 3] and y.grad is not x.grad and y.note == ["a"] and y.note is not x.note
    z = pickle.loads(pickle.dumps(x))
    assert z.requires_grad and z.note == ["a"] and z.is_leaf
    for fails in (copy.deepcopy, pickle.dumps):
        with pytest.raises(RuntimeError, match="[Ll]ea[fv]"):
            fails(x * 2)


@pytest.mark.rows("S151")
def test_parameters_and_subclasses(twin):
    class Marked(torch.Tensor):
        pass
    globals()["Marked"] = Marked
    Marked.__qualname__ = "Marked"
    p = twin(nn.Parameter(torch.ones(2), requires_grad=False))
    assert type(p) is nn.Parameter and not p.requires_grad
    assert type(twin(torch.ones(2).as_subclass(Marked))) is Marked


def test_a_shallow_copy_is_on_the_same_memory():
    x = torch.zeros(2)
    y = copy.copy(x)
    y[0] = 1
    assert y is not x and x.tolist() == [1, 0]


def test_other_backends(twin):
    x = torch.arange(3.0, device="reference:1")
    y, z = twin((x, x[1:]))
    z[0] = 9
    assert y.tolist() == [0, 9, 2] and y.device == x.device and x.tolist() == [0, 1, 2]


def test_storages(twin):
    x = torch.arange(3.0)
    y, typed, untyped = twin((x, x.storage(), x.untyped_storage()))
    y[0] = 5
    assert typed.tolist() == [5, 1, 2] and untyped == y.untyped_storage() and isinstance(typed, torch.FloatStorage)


def test_a_model_with_its_optimizer(twin):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    x = torch.randn(5, 3)

    def step(model, optimizer):
        optimizer.zero_grad()
        loss = model(x).pow(2).sum()
        loss.backward()
        optimizer.step()
        return loss.item()
    step(model, optimizer)
    other, continued = twin((model, optimizer))
    assert continued.param_groups[0]["params"][0] is next(other.parameters())
    assert [step(other, continued) for _ in range(3)] == [step(model, optimizer) for _ in range(3)]
    assert next(other.parameters()).data_ptr() != next(model.parameters()).data_ptr()


def test_tied_weights_stay_tied(twin):
    model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
    model[1].weight = model[0].weight
    assert twin(model)[1].weight is not model[0].weight
    other = twin(model)
    assert other[0].weight is other[1].weight


def test_generators(twin):
    generator = torch.Generator().manual_seed(3)
    torch.rand(5, generator=generator)
    other = twin(generator)
    assert torch.rand(3, generator=other).tolist() == torch.rand(3, generator=generator).tolist()


def test_code_by_cloudpickle():
    scale = torch.tensor(2.0)

    class Local(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.Linear(2, 1)

        def forward(self, x):
            return self.inner(x) * scale

    model, x = Local(), torch.ones(1, 2)
    assert pickle.loads(cloudpickle.dumps(model))(x).tolist() == model(x).tolist()
    assert pickle.loads(cloudpickle.dumps(lambda x: x @ scale.reshape(1, 1)))(torch.ones(1, 1)).tolist() == [[2]]


@pytest.mark.parametrize("protocol", [2, 4])
def test_a_pickle_of_release_0_1_0(protocol):
    with open(DATA / f"release_0.1.0_protocol{protocol}.pickle", "rb") as file:
        obj = pickle.load(file)
    for name, x in obj["tensors"].items():
        assert x.dtype is getattr(torch, name) and x.tolist() == torch.arange(6).reshape(2, 3).to(x.dtype).tolist()
    assert obj["view"].tolist() == torch.arange(12.0).reshape(3, 4).t()[1:].tolist()
    assert obj["leaf"].requires_grad and type(obj["parameter"]) is nn.Parameter and obj["parameter"].tolist() == [3, 3]
    # another processor's kernels may add in another order
    assert obj["model"](torch.ones(1, 3)).tolist() == [pytest.approx(row, rel=1e-6) for row in obj["output"]] and not obj["model"].training
    assert torch.rand(2, generator=obj["generator"]).tolist() == obj["next"]
    assert obj["plain"] == (torch.Size([2, 3]), torch.float16, torch.device("cpu"), torch.channels_last, torch.finfo(torch.float32))
    obj["model"](torch.ones(1, 3)).sum().backward()
    obj["optimizer"].step()
    assert obj["model"](torch.ones(1, 3)).tolist() != obj["output"]


def test_a_file_of_release_0_1_0():
    saved = torch.load(DATA / "release_0.1.0.pt")
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 2))
    model.load_state_dict(saved["state"])
    torch.optim.Adam(model.parameters()).load_state_dict(saved["optimizer"])
    assert saved["x"].stride() == (1, 4) and saved["x"].tolist() == torch.arange(12.0).reshape(3, 4).t()[1:].tolist()


# --- clones -----------------------------------------------------------------------------------------------------------
VIEWS = {
    "permuted": lambda x: x.permute(2, 0, 1), "transposed": lambda x: x.transpose(0, 1), "sliced": lambda x: x[:, 1:], "stepped": lambda x: x[..., ::2],
    "one": lambda x: x[:, :1], "both": lambda x: x.permute(2, 1, 0)[::2], "selected": lambda x: x.select(1, 1).t(), "empty": lambda x: x[:0],
    "broadcast": lambda x: x[:, None].expand(2, 3, 3, 4)}


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64, torch.bool], ids=str)
def test_a_clone_keeps_the_order_of_dims_without_gaps(view, dtype):
    x = view(torch.arange(24).reshape(2, 3, 4).to(dtype))
    y, rows = x.clone(), x.clone(memory_format=torch.contiguous_format)
    assert torch.equal(x, y) and torch.equal(x, rows) and rows.is_contiguous()
    order = sorted((d for d in range(x.ndim) if x.shape[d] > 1 and x.stride(d)), key=x.stride)
    assert sorted((d for d in order), key=y.stride) == order and not y._is_view() and y.storage_offset() == 0
    assert y.storage().nbytes() == x.numel() * x.itemsize
    if y.numel():
        y.zero_()
        assert not torch.equal(x, y)
    leaf = torch.randn(2, 3, 4, dtype=torch.float64, requires_grad=True)
    assert gradcheck(lambda x: view(x).clone() ** 2, (leaf,))


def test_a_clone_of_a_turned_tensor_can_grow():
    y = torch.arange(6.0).reshape(2, 3).t().clone()
    assert y.resize_(4, 2).shape == (4, 2)
