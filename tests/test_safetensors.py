"""The safetensors format, with the package that defines it (its NumPy side) where that reads and writes."""
import json
import os
import struct

import numpy as np
import pytest
import pyx_tensor as torch
from pyx_tensor import safetensors
from safetensors import SafetensorError
from safetensors import numpy as theirs

DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64", "float16", "float32", "float64", "complex64"]


def tensors():
    found = {name: torch.arange(6).reshape(2, 3).to(getattr(torch, name)) for name in DTYPES}
    return {**found, "part": torch.arange(12.0).reshape(3, 4)[:, 1], "single": torch.tensor(2.5), "none": torch.ones(0, 3)}


def same(found, expected):
    assert set(found) == set(expected)
    for name, value in expected.items():
        assert found[name].tolist() == value.tolist() and tuple(found[name].shape) == tuple(value.shape), name
        assert str(found[name].dtype).removeprefix("torch.") == str(value.dtype).removeprefix("torch."), name


def test_both_ways(tmp_path):
    safetensors.save_file(tensors(), tmp_path / "ours", metadata={"format": "pt", "é": "ü"})
    same(theirs.load_file(tmp_path / "ours"), tensors())
    theirs.save_file({name: np.asarray(t.numpy(), order="C") for name, t in tensors().items()}, tmp_path / "theirs")
    same(safetensors.load_file(tmp_path / "theirs"), tensors())
    same(safetensors.load((tmp_path / "theirs").read_bytes()), tensors())
    assert (tmp_path / "ours").read_bytes() == safetensors.save(tensors(), {"format": "pt", "é": "ü"})


def test_bfloat16_and_devices(tmp_path):
    x = torch.tensor([1.5, -2.0], dtype=torch.bfloat16)
    safetensors.save_file({"x": x}, tmp_path / "x")
    assert safetensors.load_file(tmp_path / "x")["x"].dtype is torch.bfloat16
    found = safetensors.load_file(tmp_path / "x", device="reference:1")["x"]
    assert found.device == torch.device("reference:1") and found.tolist() == [1.5, -2.0]
    safetensors.save_file({"x": found.float()}, tmp_path / "x")
    assert safetensors.load_file(tmp_path / "x")["x"].tolist() == [1.5, -2.0]


def test_a_file_is_mapped_not_read(tmp_path):
    safetensors.save_file({"x": torch.zeros(1 << 22)}, tmp_path / "x")
    before = (tmp_path / "x").read_bytes()[-16:]
    x = safetensors.load_file(tmp_path / "x")["x"]
    base = x.array
    while isinstance(getattr(base, "base", None), np.ndarray):
        base = base.base
    assert type(memoryview(base.base).obj).__name__ == "mmap"
    x[-1] = 3
    assert x[-1] == 3 and (tmp_path / "x").read_bytes()[-16:] == before


def test_one_tensor_at_a_time(tmp_path):
    x = torch.arange(12).reshape(3, 4)
    safetensors.save_file({"x": x, "y": torch.ones(1)}, tmp_path / "x", metadata={"a": "b"})
    with safetensors.safe_open(tmp_path / "x", framework="pt") as file:
        assert file.keys() == ["x", "y"] and file.metadata() == {"a": "b"} and file.get_tensor("x").tolist() == x.tolist()
        part = file.get_slice("x")
        assert part.get_shape() == [3, 4] and part.get_dtype() == "I64" and part[1:, :2].tolist() == x[1:, :2].tolist()
        with pytest.raises(KeyError, match="no tensor 'z'"):
            file.get_tensor("z")


def test_what_can_not_be_saved(tmp_path):
    x = torch.ones(3)
    for wrong, error, match in (({"a": x, "b": x[1:]}, RuntimeError, "share memory.*'a', 'b'"), ({"a": 3}, ValueError, "must be a Tensor"),
                                ({"a": torch.ones(1, dtype=torch.complex128)}, ValueError, "complex128"), ([x], TypeError, "a dict"),
                                ({3: x}, ValueError, "name"), ({"__metadata__": x}, ValueError, "name")):
        with pytest.raises(error, match=match):
            safetensors.save_file(wrong, tmp_path / "x")
    with pytest.raises(TypeError, match="strings to strings"):
        safetensors.save_file({"a": x}, tmp_path / "x", metadata={"n": 1})
    assert os.listdir(tmp_path) == []


def file(header, data=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


GOOD = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}


@pytest.mark.parametrize(("data", "match"), [
    (b"", "0 bytes"), (b"\0" * 7, "fewer"), (struct.pack("<Q", 1 << 60) + b"{}", "header is said"), (file(b"[]"), "object"), (file(b"\xff\xfe"), "read"),
    (file(b"{" * 100), "."), (file(b"[" * 100000), "."), (file({"a": GOOD}, b"\0" * 7), "7 follow"), (file({"a": GOOD}, b"\0" * 9), "9 follow"),
    (file({"a": {**GOOD, "shape": [3]}}, b"\0" * 8), "takes 12"), (file({"a": {**GOOD, "shape": [-2]}}, b"\0" * 8), "shape"),
    (file({"a": {**GOOD, "shape": [1 << 62, 1 << 62]}}, b"\0" * 8), "takes"), (file({"a": {**GOOD, "dtype": "F4"}}, b"\0" * 8), "F4"),
    (file({"a": {**GOOD, "data_offsets": [8, 0]}}, b"\0" * 8), "takes"), (file({"a": {**GOOD, "data_offsets": [-8, 0]}}, b"\0" * 8), "offsets"),
    (file({"a": GOOD, "b": GOOD}, b"\0" * 8), "overlap"), (file({"a": {**GOOD, "data_offsets": [8, 16]}}, b"\0" * 16), "gap"),
    (file({"a": {"dtype": "F32"}}), "described"), (file({"a": 1}), "described"), (file({"a": {**GOOD, "shape": [True]}}, b"\0" * 8), "shape"),
    (file(b'{"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}'), "twice"),
    (file({"__metadata__": {"a": 1}}), "metadata")])
def test_damaged_files(tmp_path, data, match):
    with pytest.raises(RuntimeError, match=match):
        safetensors.load(data)
    (tmp_path / "x").write_bytes(data)
    with pytest.raises(RuntimeError):
        safetensors.load_file(tmp_path / "x")
    if match != "twice":                       # the package takes the last of two of one name
        with pytest.raises(SafetensorError):
            theirs.load(data)
