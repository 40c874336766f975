"""Saving and loading as a newcomer meets it: whole models, parameters, any object, where things go, published weights."""
import collections
import inspect
import io
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import pyx_tensor as torch
from pyx_tensor import nn
from pyx_tensor.utils import model_zoo

DATA = Path(__file__).parents[1] / "data"


class Net(nn.Module):
    """A class of the user's, with a layer, a buffer and a plain attribute."""

    def __init__(self, width=3):
        super().__init__()
        self.layer, self.width = nn.Linear(2, width), width
        self.register_buffer("seen", torch.tensor([4, 5]))

    def forward(self, x):
        return self.layer(x) * self.width


def round_trip(obj, **options):
    file = io.BytesIO()
    torch.save(obj, file)
    file.seek(0)
    return torch.load(file, **options)


# --- whole models --------------------------------------------------------------------------------------------------
@pytest.mark.rows("S149")
def test_a_whole_model(tmp_path):
    model = Net().eval()
    torch.save(model, tmp_path / "model.pkl")
    again = torch.load(tmp_path / "model.pkl", weights_only=False)
    assert type(again) is Net and again.width == 3 and not again.training and again.seen.tolist() == [4, 5]
    assert [name for name, _ in again.named_parameters()] == ["layer.weight", "layer.bias"]
    assert again(torch.ones(2)).tolist() == model(torch.ones(2)).tolist()
    with torch.no_grad():
        model.layer.bias.fill_(7)
    assert again.layer.bias.tolist() != [7, 7, 7] and again.layer.bias.requires_grad


@pytest.mark.rows("S149")
def test_a_whole_model_in_another_process(tmp_path):
    (tmp_path / "my_model.py").write_text("import pyx_tensor as torch\nclass Twice(torch.nn.Module):\n    def forward(self, x):\n        return 2 * x * self.k\n")
    make = "import my_model, pyx_tensor as torch; m = my_model.Twice(); m.k = torch.nn.Parameter(torch.tensor([3.0])); torch.save(m, 'model.pkl')"
    use = "import pyx_tensor as torch; m = torch.load('model.pkl', weights_only=False); print(type(m), m(torch.ones(1)).item(), list(m.state_dict()))"
    paths = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    for program in (make, use):
        done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": paths})
        assert done.returncode == 0, done.stderr
    assert done.stdout == "<class 'my_model.Twice'> 6.0 ['k']\n"


@pytest.mark.rows("S150")
@pytest.mark.parametrize(("make", "shape"), [
    (lambda: nn.Sequential(collections.OrderedDict(a=nn.Linear(4, 3), b=nn.ReLU(), c=nn.BatchNorm1d(3))), (5, 4)),
    (lambda: nn.LSTM(4, 3, num_layers=2), (5, 4)), (lambda: nn.TransformerEncoderLayer(4, 2, dim_feedforward=3), (5, 4)),
    (lambda: nn.DataParallel(nn.Linear(4, 1)), (5, 4)), (lambda: torch.vision.models.squeezenet1_1(num_classes=3), (1, 3, 40, 40)),
    (lambda: nn.ModuleDict({"a": nn.Identity(), "b": nn.ParameterList([torch.ones(2)])}), None)])
def test_a_model_of_the_librarys_own_layers(make, shape, tmp_path):
    torch.manual_seed(0)
    model = make().eval()
    torch.save(model, tmp_path / "model.pkl")
    with pytest.raises(pickle.UnpicklingError, match="weights_only=False"):
        torch.load(tmp_path / "model.pkl")
    again = torch.load(tmp_path / "model.pkl", weights_only=False)
    assert type(again) is type(model) and repr(again) == repr(model) and not again.training
    expected, found = model.state_dict(), again.state_dict()
    assert list(found) == list(expected) and all(torch.equal(found[name], value) for name, value in expected.items())
    assert all(type(p) is nn.Parameter and p.requires_grad for p in again.parameters())
    if shape is not None:
        x = torch.arange(float(torch.Size(shape).numel())).view(shape).sin()
        assert str(again(x)) == str(model(x))
        again(x)[0].sum().backward()
        assert any(p.grad.any() for p in again.parameters())


@pytest.mark.rows("S151")
def test_pythons_own_pickle(tmp_path):
    x, leaf, model = torch.tensor([[1, 2], [3, 4]], dtype=torch.int16), torch.tensor([0.5], requires_grad=True), Net()
    with open(tmp_path / "all.pkl", "wb") as file:
        pickle.dump({"x": x, "leaf": leaf, "model": model}, file)
    with open(tmp_path / "all.pkl", "rb") as file:
        found = pickle.load(file)
    assert found["x"].tolist() == [[1, 2], [3, 4]] and found["x"].dtype is torch.int16 and not found["x"].requires_grad
    assert found["leaf"].tolist() == [0.5] and found["leaf"].requires_grad
    assert type(found["model"]) is Net and found["model"](torch.ones(2)).tolist() == model(torch.ones(2)).tolist()


# --- parameters only -----------------------------------------------------------------------------------------------
@pytest.mark.rows("S152", "S153")
def test_parameters_only(tmp_path):
    net, other = Net(), Net()
    state = net.state_dict()
    assert isinstance(state, collections.OrderedDict) and list(state) == ["seen", "layer.weight", "layer.bias"]
    assert state["layer.weight"].data_ptr() == net.layer.weight.data_ptr()
    torch.save(state, tmp_path / "params.pkl")
    weight = other.layer.weight
    other.load_state_dict(torch.load(tmp_path / "params.pkl"))
    assert other.layer.weight is weight and torch.equal(weight, net.layer.weight) and weight.data_ptr() != net.layer.weight.data_ptr()
    foreign = dict(state, extra=torch.ones(1))
    with pytest.raises(RuntimeError, match='Unexpected key.*"extra"'):
        other.load_state_dict(foreign)
    with pytest.raises(RuntimeError, match='Missing key.*"layer.bias"'):
        other.load_state_dict({name: value for name, value in state.items() if name != "layer.bias"})
    with pytest.raises(RuntimeError, match="size mismatch for layer.bias"):
        other.load_state_dict(dict(state, **{"layer.bias": torch.ones(9)}))
    result = other.load_state_dict({"extra": torch.ones(1), "layer.bias": torch.ones(3)}, strict=False)
    assert result.unexpected_keys == ["extra"] and result.missing_keys == ["seen", "layer.weight"] and other.layer.bias.tolist() == [1, 1, 1]


@pytest.mark.rows("S161")
def test_pretrained_weights_with_foreign_keys(tmp_path):
    published = collections.OrderedDict([("layer.weight", torch.full((3, 2), 2.0)), ("head.weight", torch.ones(10, 3)), ("seen", torch.tensor([0, 1]))])
    torch.save(published, tmp_path / "published.pth")
    net = Net()
    bias = net.layer.bias.tolist()
    pretrained = model_zoo.load_url((tmp_path / "published.pth").as_uri(), model_dir=tmp_path / "cache", progress=False)
    own = net.state_dict()
    own.update({name: value for name, value in pretrained.items() if name in own})
    net.load_state_dict(own)
    assert net.layer.weight.tolist() == [[2, 2]] * 3 and net.seen.tolist() == [0, 1] and net.layer.bias.tolist() == bias


@pytest.mark.rows("S160")
def test_state_dicts_by_url_are_fetched_once(tmp_path):
    torch.save({"w": torch.arange(3)}, tmp_path / "w.pth")
    url, cache = (tmp_path / "w.pth").as_uri(), tmp_path / "cache"
    assert torch.utils.model_zoo.load_url(url, model_dir=cache, progress=False)["w"].tolist() == [0, 1, 2]
    assert os.listdir(cache) == ["w.pth"]
    (tmp_path / "w.pth").unlink()
    assert model_zoo.load_url(url, cache)["w"].tolist() == [0, 1, 2]
    assert list(inspect.signature(model_zoo.load_url).parameters)[:2] == ["url", "model_dir"]


# --- any object, and where it goes ---------------------------------------------------------------------------------
@pytest.mark.rows("S154")
def test_any_object(tmp_path):
    x = torch.arange(4.0)
    obj = {"list": [1, 2.5, "text", None, True], "tuple": (x, [x[1:]]), 3: {"nested": {"set": {1, 2}}}}
    torch.save(obj, str(tmp_path / "obj.pt"))
    with open(tmp_path / "obj2.pt", "wb") as file:
        torch.save(obj, file)
    with open(tmp_path / "obj2.pt", "rb") as file:
        from_file = torch.load(file)
    for found in (torch.load(tmp_path / "obj.pt"), from_file):
        assert found["list"] == obj["list"] and found[3] == obj[3] and type(found["tuple"]) is tuple
        whole, (part,) = found["tuple"]
        part[0] = 100
        assert whole.tolist() == [0, 100, 2, 3] and x.tolist() == [0, 1, 2, 3]


@pytest.mark.rows("S155")
def test_the_arguments():
    save, load = inspect.signature(torch.save).parameters, inspect.signature(torch.load).parameters
    assert list(save)[:4] == ["obj", "f", "pickle_module", "pickle_protocol"] and list(load)[:3] == ["f", "map_location", "pickle_module"]
    assert save["pickle_module"].default is pickle and save["pickle_protocol"].default == 2
    assert load["map_location"].default is load["pickle_module"].default is None
    file = io.BytesIO()
    torch.save(obj={"a": torch.ones(2)}, f=file, pickle_module=pickle, pickle_protocol=2)
    file.seek(0)
    assert torch.load(file, None, pickle)["a"].tolist() == [1, 1]
    file.seek(0)
    assert torch.load(f=file, map_location=None, pickle_module=pickle)["a"].tolist() == [1, 1]


@pytest.mark.rows("S156")
def test_where_storages_go():
    x = torch.arange(3.0)
    met = []

    def place(storage, location):
        met.append((location, storage.nbytes()))
        return storage
    for where in ("cpu", torch.device("cpu"), {"cuda:0": "cpu"}, place):
        found = round_trip([x, x[1:], torch.ones(2, dtype=torch.int64)], map_location=where)
        assert [t.tolist() for t in found] == [[0, 1, 2], [1, 2], [1, 1]] and all(t.device == torch.device("cpu") for t in found)
    assert met == [("cpu", 12), ("cpu", 16)]


@pytest.mark.rows("S158")
@pytest.mark.parametrize("data", [b"", b"rubbish", b"\x80\x02rubbish", bytes(1000), b"PK\x03\x04" + bytes(100), b"{'w': 1}\n" * 50])
def test_reading_what_is_not_there(tmp_path, data):
    with pytest.raises(FileNotFoundError):
        torch.load(tmp_path / "none.pt")
    (tmp_path / "x.pt").write_bytes(data)
    for options in ({}, {"weights_only": False}):
        with pytest.raises((RuntimeError, pickle.UnpicklingError, EOFError)):
            torch.load(tmp_path / "x.pt", **options)


# --- what PyTorch wrote --------------------------------------------------------------------------------------------
@pytest.mark.parametrize("file", [
    pytest.param("pytorch_2.13.pt", marks=pytest.mark.rows("S162")), pytest.param("pytorch_2.13_legacy.pt", marks=pytest.mark.rows("S163"))])
def test_state_dicts_of_pytorch(file):
    """Both were written by PyTorch 2.13: by `torch.save`, and with `_use_new_zipfile_serialization=False`."""
    state = torch.load(DATA / file)
    expected = [
        ("features.0.weight", torch.float32, [[[[0, 0.125, 0.25], [0.375, 0.5, 0.625]]], [[[0.75, 0.875, 1], [1.125, 1.25, 1.375]]]]),
        ("features.0.bias", torch.float32, [0.5, -0.25]), ("norm.running_var", torch.float64, [1, 2]), ("norm.num_batches_tracked", torch.int64, 7),
        ("half", torch.float16, [1.5, -2]), ("bfloat", torch.bfloat16, [3, 0.10009765625]), ("classifier.weight", torch.float32, [[0, 3], [1, 4], [2, 5]])]
    assert type(state) is collections.OrderedDict
    assert [(name, value.dtype, value.tolist()) for name, value in state.items()] == expected
    assert type(state["classifier.weight"]) is nn.Parameter and state["classifier.weight"].stride() == (1, 3)
