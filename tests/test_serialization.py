"""Files: what is written is read again, and nothing that a file says is run."""
import collections
import io
import os
import pickle
import zipfile

import numpy as np
import pytest
import pyx_tensor as torch

DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64", "complex128"]


def round_trip(obj, **options):
    buffer = io.BytesIO()
    torch.save(obj, buffer)
    buffer.seek(0)
    return torch.load(buffer, **options)


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3, 4)])
def test_tensors(name, shape):
    x = torch.arange(int(np.prod(shape))).reshape(shape).to(getattr(torch, name))
    y = round_trip(x)
    assert y.dtype is x.dtype and y.shape == x.shape and y.tolist() == x.tolist()


def test_strides_and_sharing():
    x = torch.arange(12.0).reshape(3, 4)
    a, b, c = round_trip([x, x[:, 1], x.t()])
    assert b.tolist() == [1.0, 5.0, 9.0] and c.stride() == (1, 4)
    a[0, 1] = 100
    assert b[0] == 100 and c[1, 0] == 100


def test_containers_and_plain_values():
    obj = collections.OrderedDict(n=3, f=2.5, s="text", t=(1, [2, None]), b=b"bytes", c=1 + 2j, d={"k": torch.ones(2)}, e={1, 2},
                                  size=torch.Size([2, 3]), dtype=torch.float16, device=torch.device("cpu"))
    result = round_trip(obj)
    d = result.pop("d")
    obj.pop("d")
    assert result == obj and type(result) is collections.OrderedDict and d["k"].tolist() == [1.0, 1.0]


def test_parameters_and_requires_grad():
    p, r = round_trip([torch.nn.Parameter(torch.ones(2)), torch.ones(2, requires_grad=True)])
    assert isinstance(p, torch.nn.Parameter) and p.requires_grad and r.requires_grad and not isinstance(r, torch.nn.Parameter)


def test_a_whole_model_of_the_librarys_own_layers():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.ReLU())
    x = torch.ones(1, 3)
    assert round_trip(model)(x).tolist() == model(x).tolist()


def test_training_goes_on_after_loading():
    def steps(model, optimizer, n):
        for _ in range(n):
            optimizer.zero_grad()
            model(torch.ones(4, 3)).pow(2).sum().backward()
            optimizer.step()
    torch.manual_seed(1)
    model = torch.nn.Linear(3, 2)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    steps(model, optimizer, 3)
    saved = round_trip({"model": model.state_dict(), "optimizer": optimizer.state_dict()})
    steps(model, optimizer, 2)
    again = torch.nn.Linear(3, 2)
    again.load_state_dict(saved["model"])
    optimizer = torch.optim.Adam(again.parameters(), lr=0.1)
    optimizer.load_state_dict(saved["optimizer"])
    steps(again, optimizer, 2)
    assert again.weight.tolist() == model.weight.tolist()


def test_map_location():
    x = torch.ones(2, device="reference:1")
    assert round_trip(x).device == torch.device("reference:1")
    assert round_trip(x, map_location="cpu").device == torch.device("cpu")
    assert round_trip(x, map_location={"reference:1": "reference:2"}).device == torch.device("reference:2")
    assert round_trip(x, map_location=lambda storage, location: storage.to("reference:3")).device == torch.device("reference:3")


def test_a_file_is_written_whole_or_not_at_all(tmp_path):
    path = tmp_path / "x.pt"
    torch.save({"a": 1}, path)

    class Breaks:
        def __reduce__(self):
            raise RuntimeError("no")
    with pytest.raises(RuntimeError, match="no"):
        torch.save([torch.ones(3), Breaks()], path)
    assert torch.load(path) == {"a": 1} and os.listdir(tmp_path) == ["x.pt"]
    with pytest.raises(RuntimeError, match="does not exist"):
        torch.save(1, tmp_path / "nowhere" / "x.pt")


class Runs:
    """A pickle of this runs a command."""
    def __reduce__(self):
        return os.mkdir, ("/tmp/pyx_tensor_was_run",)


def test_code_in_a_file_is_not_run():
    buffer = io.BytesIO()
    torch.save(Runs(), buffer)
    buffer.seek(0)
    with pytest.raises(pickle.UnpicklingError, match="mkdir.*add_safe_globals"):
        torch.load(buffer)
    assert not os.path.exists("/tmp/pyx_tensor_was_run")


def test_classes_can_be_allowed():
    obj = round_trip_fails = collections.ChainMap({"a": 1})
    with pytest.raises(pickle.UnpicklingError, match="ChainMap"):
        round_trip(round_trip_fails)
    with torch.serialization.safe_globals([collections.ChainMap]):
        assert round_trip(obj) == obj
    assert round_trip(obj, weights_only=False) == obj


@pytest.mark.parametrize("data", [b"", b"not a file of ours", b"PK\x03\x04 cut short", b"\x80\x02}q\x00."])
def test_garbage(data):
    with pytest.raises(RuntimeError, match="zip container"):
        torch.load(io.BytesIO(data))


def written(obj):
    buffer = io.BytesIO()
    torch.save(obj, buffer)
    return buffer.getvalue()


def test_every_truncation_is_refused():
    data = written(torch.arange(100.0))
    for end in range(0, len(data), 37):
        with pytest.raises((RuntimeError, pickle.UnpicklingError)):
            torch.load(io.BytesIO(data[:end]))


def rewritten(obj, change):
    """A file whose entries went through change(name, bytes)."""
    source, target = zipfile.ZipFile(io.BytesIO(written(obj))), io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for name in source.namelist():
            archive.writestr(name, change(name, source.read(name)))
    target.seek(0)
    return target


def test_a_storage_of_another_length_is_refused():
    file = rewritten(torch.arange(4.0), lambda name, data: data[:-4] if name.endswith("data/0") else data)
    with pytest.raises(RuntimeError, match="12 bytes, expected 16"):
        torch.load(file)


def test_a_tensor_can_not_reach_outside_of_its_storage():
    # the size (4,) written as K\x04 becomes (9,)
    file = rewritten(torch.arange(4.0), lambda name, data: data.replace(b"K\x04\x85", b"K\x09\x85") if name.endswith("data.pkl") else data)
    with pytest.raises(RuntimeError, match="out of bounds"):
        torch.load(file)
