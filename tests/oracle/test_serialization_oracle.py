"""Files both ways between pyx_tensor and PyTorch."""
import collections
import io
import re

import numpy as np
import pytest
import pyx_tensor
import torch
from early_tar import Reference, early_tar
from large_files import huge_file, many_entries
from pyx_tensor import __main__
from pyx_tensor.serialization.names import public_module

OLD = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64", "complex128"]
DTYPES = [*OLD, "uint16", "uint32", "uint64"]
FORMS = {"zip": {}, "legacy": {"_use_new_zipfile_serialization": False}, "protocol 4": {"pickle_protocol": 4}, "protocol 5": {"pickle_protocol": 5}}


def over(save, load, obj, form="zip", **options):
    buffer = io.BytesIO()
    save(obj, buffer, **FORMS[form])
    buffer.seek(0)
    return load(buffer, **options)


def make(module, name):
    x = module.arange(24).reshape(2, 3, 4).to(getattr(module, name))
    return {"whole": x, "part": x[:, 1], "turned": x.permute(2, 0, 1), "single": x[0, 0, 0], "none": x[:0], "spread": x[0, 0].expand(3, 4),
            "steps": x[:, ::2, 1::2], "again": x, "apart": x.clone()}


def same(found, expected):
    for key, value in expected.items():
        assert found[key].tolist() == value.tolist() and found[key].stride() == value.stride(), key
        assert str(found[key].dtype) == str(value.dtype) and found[key].storage_offset() == value.storage_offset(), key
        assert (found[key].untyped_storage().data_ptr() == found["whole"].untyped_storage().data_ptr()) == (key != "apart"), key
    assert found["again"] is found["whole"]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", DTYPES)
def test_tensors_both_ways(name, form):
    ours, theirs = make(pyx_tensor, name), make(torch, name)
    if form != "legacy" or name in OLD:                                                                  # PyTorch can't load its own ones
        same(over(pyx_tensor.save, torch.load, ours, form, weights_only="protocol" not in form), theirs)     # and knows protocol 2 alone
    same(over(torch.save, pyx_tensor.load, theirs, form), ours)
    same(over(torch.save, pyx_tensor.load, theirs, form, weights_only=False), ours)


def test_mapped(tmp_path):
    torch.save(make(torch, "float64"), tmp_path / "theirs.pt")
    pyx_tensor.save(make(pyx_tensor, "float64"), tmp_path / "ours.pt")
    same(pyx_tensor.load(tmp_path / "theirs.pt", mmap=True), make(pyx_tensor, "float64"))
    same(torch.load(tmp_path / "ours.pt", mmap=True), make(torch, "float64"))


def test_fields_of_64_bits(tmp_path):
    huge_file(tmp_path / "x.pt")
    zeros, seven = torch.load(tmp_path / "x.pt", mmap=True)
    assert zeros.shape == ((1 << 32) + 8,) and zeros[-1] == 0 and seven == 7
    assert torch.load(io.BytesIO(many_entries())) == "x"


def network(module):
    nn = module.nn
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.LayerNorm(8), nn.BatchNorm1d(8), nn.Linear(8, 3))


X = np.random.default_rng(0).standard_normal((5, 4)).astype(np.float32)


def close(ours, theirs):
    np.testing.assert_allclose(theirs.eval()(torch.from_numpy(X)).detach().numpy(), ours.eval()(pyx_tensor.from_numpy(X)).detach().numpy(),
                               rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("form", ["zip", "legacy"])
def test_state_dicts_both_ways(form):
    ours, theirs = network(pyx_tensor), network(torch)
    theirs.load_state_dict(over(pyx_tensor.save, torch.load, ours.state_dict(), form, weights_only=True))
    close(ours, theirs)
    theirs = network(torch)
    found = over(torch.save, pyx_tensor.load, theirs.state_dict(), form)
    assert type(found) is collections.OrderedDict and found._metadata == theirs.state_dict()._metadata
    ours.load_state_dict(found)
    close(ours, theirs)


@pytest.mark.parametrize("form", ["zip", "legacy"])
def test_whole_models_both_ways(form):
    ours = network(pyx_tensor)
    close(ours, over(pyx_tensor.save, torch.load, ours, form, weights_only=False))
    theirs = network(torch)
    close(over(torch.save, pyx_tensor.load, theirs, form, weights_only=False), theirs)


LAYERS = sorted(name for name, kind in vars(pyx_tensor.nn).items() if isinstance(kind, type) and hasattr(torch.nn, name))


@pytest.mark.parametrize("name", LAYERS)
def test_layers_stand_in_pytorch_s_modules(name):
    """A file names a class by its module, where PyTorch must find it."""
    ours, theirs = getattr(pyx_tensor.nn, name), getattr(torch.nn, name)
    assert public_module(ours.__module__, name) == theirs.__module__ or name == "Parameter"


def steps(module, model, optimizer, n):
    for _ in range(n):
        optimizer.zero_grad()
        model(module.from_numpy(X)).pow(2).mean().backward()
        optimizer.step()


@pytest.mark.parametrize("kind", ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad"])
def test_training_goes_on_over_there(kind):
    options = {"lr": 0.05, **({"momentum": 0.9} if kind == "SGD" else {})}
    for here, there, load in ((pyx_tensor, torch, torch.load), (torch, pyx_tensor, pyx_tensor.load)):
        model = network(here)[:3].append(here.nn.Linear(8, 3))
        optimizer = getattr(here.optim, kind)(model.parameters(), **options)
        steps(here, model, optimizer, 3)
        saved = over(here.save, load, {"model": model.state_dict(), "optimizer": optimizer.state_dict()}, weights_only=True)
        other = network(there)[:3].append(there.nn.Linear(8, 3))
        other.load_state_dict(saved["model"])
        continued = getattr(there.optim, kind)(other.parameters(), **options)
        continued.load_state_dict(saved["optimizer"])
        steps(here, model, optimizer, 3)
        steps(there, other, continued, 3)
        close(*((model, other) if here is pyx_tensor else (other, model)))


def test_parameters_and_sharing():
    p = pyx_tensor.nn.Parameter(pyx_tensor.ones(3))
    p.note = [1, 2]
    a, b = over(pyx_tensor.save, torch.load, [p, p.detach()[1:]], weights_only=True)
    assert isinstance(a, torch.nn.Parameter) and a.requires_grad and a.note == [1, 2]
    assert b.untyped_storage().data_ptr() == a.untyped_storage().data_ptr()
    p = torch.nn.Parameter(torch.ones(3))
    p.note = [1, 2]
    x = torch.ones(2)
    x.note = "n"
    a, b, x = over(torch.save, pyx_tensor.load, [p, p.detach()[1:], x])
    assert isinstance(a, pyx_tensor.nn.Parameter) and a.requires_grad and a.note == [1, 2] and x.note == "n" and type(x) is pyx_tensor.Tensor
    assert b.untyped_storage() == a.untyped_storage()


def test_one_memory_seen_as_two_dtypes():
    """Here this keeps the sharing; PyTorch's own save refuses it."""
    x = pyx_tensor.tensor([1.0, 2.0])
    a, b = over(pyx_tensor.save, torch.load, [x, x.view(pyx_tensor.int32)], weights_only=True)
    a[0] = 0
    assert b.tolist() == [0, 0x40000000] and b.dtype is torch.int32
    a, b = over(pyx_tensor.save, pyx_tensor.load, [x, x.view(pyx_tensor.int32)])
    a[0] = 0
    assert b.tolist() == [0, 0x40000000]


def test_conjugates_and_negatives():
    x = torch.tensor([1 + 2j, 3 - 1j])
    a, b = over(torch.save, pyx_tensor.load, [x.conj(), torch._neg_view(torch.ones(2))])
    assert a.tolist() == x.conj().tolist() and b.tolist() == [-1, -1]


@pytest.mark.filterwarnings("ignore:TypedStorage")
@pytest.mark.parametrize("form", ["zip", "legacy"])
def test_storages(form):
    for here, there, load in ((pyx_tensor, torch, torch.load), (torch, pyx_tensor, pyx_tensor.load)):
        x = here.tensor([1.0, 2.0, 3.0])
        tensor, typed = over(here.save, load, [x, x.storage()], form)
        assert typed.tolist() == [1.0, 2.0, 3.0] and typed.dtype is there.float32 and isinstance(typed, there.FloatStorage)
        assert typed.data_ptr() == tensor.data_ptr()
        assert over(here.save, load, x.untyped_storage()).nbytes() == 12


def test_plain_values():
    obj = {"size": (2, 3), "none": None, "bytes": b"\0\xff", "set": {1, 2}, "counter": collections.Counter("aab"), "text": "\ud800é",
           "numpy": [np.float32(1.5), np.int64(3), np.arange(6).reshape(2, 3), np.array(["ab", "c"]), np.dtype("float32")],
           "big": 1 << 100, "default": collections.defaultdict(list, a=[1])}
    for form in FORMS:
        found = over(torch.save, pyx_tensor.load, obj, form)
        assert repr(found) == repr(obj)
        found = over(pyx_tensor.save, torch.load, obj, form, weights_only=False)
        assert repr(found) == repr(obj)


def test_pytorch_s_own_names():
    obj = [torch.Size([2, 3]), torch.float16, torch.device("cpu"), torch.device("cuda", 1)]
    found = over(torch.save, pyx_tensor.load, obj)
    assert found == [pyx_tensor.Size([2, 3]), pyx_tensor.float16, pyx_tensor.device("cpu"), pyx_tensor.device("cuda", 1)]
    assert over(pyx_tensor.save, torch.load, found, weights_only=True) == obj


@pytest.mark.filterwarnings("ignore:Sparse CSR", "ignore:torch.quantize")
@pytest.mark.parametrize("form", ["zip", "legacy"])
def test_sparse_layouts(form):
    for here, there, save, load in ((pyx_tensor, torch, pyx_tensor.save, torch.load), (torch, pyx_tensor, torch.save, pyx_tensor.load)):
        dense = here.tensor([[0.0, 1.0, 0.0], [2.0, 0.0, 3.0]])
        coo, csr = over(save, load, [dense.to_sparse(), dense.to_sparse_csr()], form, weights_only=True)
        assert coo.layout is there.sparse_coo and csr.layout is there.sparse_csr and coo.is_coalesced()
        assert coo.to_dense().tolist() == csr.to_dense().tolist() == dense.tolist()


@pytest.mark.filterwarnings("ignore:Sparse", "ignore:torch.quantize")
@pytest.mark.parametrize("form", ["zip", "legacy"])
def test_what_is_not_supported_is_named(form, tmp_path, capsys):
    quantised = torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.qint8)
    for obj, what in ((quantised, "quantised tensor"), (torch.ones(2).to(torch.float8_e4m3fn), "float8_e4m3fn"), (torch.ones(2, device="meta"), "meta"),
                      (torch.eye(2).to_sparse_csc(), "sparse_csc")):
        for weights_only in (True, False):
            with pytest.raises(NotImplementedError, match=what):
                over(torch.save, pyx_tensor.load, [obj], form, weights_only=weights_only)
    torch.save({"q": quantised, "s": torch.eye(2).to_sparse(), "w": torch.ones(2)}, tmp_path / "x.pt", **FORMS[form])
    assert __main__.main(["inspect", str(tmp_path / "x.pt")]) == 0
    out = capsys.readouterr().out
    assert "isn't supported: torch.QInt8Storage" in out and "add_safe_globals" not in out
    assert [line.split() for line in out.splitlines()[1:4]] == [
        ["q", "torch._utils._rebuild_qtensor(...)"], ["s", "[2,", "2]", "float32,", "sparse", "cpu", "40"], ["w", "[2]", "float32", "cpu", "8"]]


def test_an_early_tar(tmp_path):
    x = np.arange(6, dtype=np.float32)
    tar = early_tar([(1, "cpu", "FloatStorage", x), (2, "cpu", "LongStorage", np.arange(3))], [(5, 1, 2, 4)],
                    [(7, 1, "FloatTensor", (2, 3), (3, 1), 0), (8, 5, "FloatTensor", (2,), (1,), 1), (9, 2, "LongTensor", (3,), (1,), 0)],
                    {"a": Reference(7), "b": [Reference(8), Reference(9)]})
    (tmp_path / "early.pt").write_bytes(tar)
    theirs = torch.load(tmp_path / "early.pt", weights_only=False)
    ours = pyx_tensor.load(io.BytesIO(tar))
    assert theirs["a"].tolist() == ours["a"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert [b.tolist() for b in theirs["b"]] == [b.tolist() for b in ours["b"]] == [[3, 4], [0, 1, 2]]
    ours["a"][1, 0] = 100
    assert ours["b"][0][0] == 100


def test_several_objects_in_one_stream():
    buffer = io.BytesIO()
    for save, module in ((torch.save, torch), (pyx_tensor.save, pyx_tensor)):
        save({"x": module.arange(3)}, buffer, _use_new_zipfile_serialization=False)
    buffer.seek(0)
    assert [pyx_tensor.load(buffer)["x"].tolist(), torch.load(buffer)["x"].tolist()] == [[0, 1, 2]] * 2
    buffer.seek(0)
    assert [torch.load(buffer)["x"].tolist(), pyx_tensor.load(buffer)["x"].tolist()] == [[0, 1, 2]] * 2


def test_the_same_names_are_refused():
    """The list of what a file may build is no longer than PyTorch's, but for NumPy's and Python's plain values."""
    theirs = {f"{o.__module__}.{o.__qualname__}" for o in torch.serialization.get_safe_globals() if hasattr(o, "__qualname__")}
    from pyx_tensor.serialization import allowed
    ours = {f"{module}.{name}" for module, name in (*allowed._PLAIN, *allowed.NUMPY_NAMES)}
    plain = re.compile(r"(builtins|__builtin__)\.(set|frozenset|complex|bytearray|slice|range|list|dict|tuple|int|float|str|bool)"
                       r"|collections\.\w+|_codecs\.encode|numpy\.(_?core\.(multiarray|numeric)\.\w+|dtype|ndarray|dtypes\.\w+DType)")
    assert not {name for name in ours - theirs if not plain.fullmatch(name)}


def resnet18(nn):
    """ResNet-18 (He et al., 2015) with torchvision's names of parameters, in either library."""
    class BasicBlock(nn.Module):
        def __init__(self, inplanes, planes, stride):
            super().__init__()
            self.conv1 = nn.Conv2d(inplanes, planes, 3, stride, 1, bias=False)
            self.bn1 = nn.BatchNorm2d(planes)
            self.relu = nn.ReLU(inplace=True)
            self.conv2 = nn.Conv2d(planes, planes, 3, 1, 1, bias=False)
            self.bn2 = nn.BatchNorm2d(planes)
            self.downsample = None
            if stride != 1 or inplanes != planes:
                self.downsample = nn.Sequential(nn.Conv2d(inplanes, planes, 1, stride, bias=False), nn.BatchNorm2d(planes))

        def forward(self, x):
            out = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
            out += x if self.downsample is None else self.downsample(x)
            return self.relu(out)

    class ResNet(nn.Module):
        def __init__(self, width=64):
            super().__init__()
            self.conv1 = nn.Conv2d(3, width, 7, 2, 3, bias=False)
            self.bn1 = nn.BatchNorm2d(width)
            self.relu = nn.ReLU(inplace=True)
            self.maxpool = nn.MaxPool2d(3, 2, 1)
            planes = [width << max(i - 1, 0) for i in range(5)]
            for i in range(1, 5):
                setattr(self, f"layer{i}", nn.Sequential(BasicBlock(planes[i - 1], planes[i], 1 + (i > 1)), BasicBlock(planes[i], planes[i], 1)))
            self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
            self.fc = nn.Linear(8 * width, 1000)

        def forward(self, x):
            x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
            x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
            return self.fc(self.avgpool(x).flatten(1))

    return ResNet()


@pytest.mark.parametrize("form", ["zip", "legacy"])
def test_a_resnet_18_of_pytorch_gives_the_same_logits(form):
    torch.manual_seed(0)
    theirs, ours = resnet18(torch.nn), resnet18(pyx_tensor.nn)
    x = np.random.default_rng(1).standard_normal((2, 3, 64, 64)).astype(np.float32)
    with torch.no_grad():
        theirs(torch.from_numpy(x))                     # moves the running statistics
    print(ours.load_state_dict(over(torch.save, pyx_tensor.load, theirs.state_dict(), form)))
    theirs.eval(), ours.eval()
    expected = theirs(torch.from_numpy(x)).detach().numpy()
    np.testing.assert_allclose(ours(pyx_tensor.from_numpy(x)).detach().numpy(), expected, rtol=1e-4, atol=1e-4 * np.abs(expected).max())
    again = resnet18(torch.nn).eval()
    again.load_state_dict(over(pyx_tensor.save, torch.load, ours.state_dict(), form, weights_only=True))
    assert np.array_equal(again(torch.from_numpy(x)).detach().numpy(), expected)


LAZY = ["LazyLinear(3)", "LazyConv1d(4, 3)", "LazyConv2d(4, 3)", "LazyConv3d(4, 3)", "LazyConvTranspose1d(4, 3)", "LazyConvTranspose2d(4, 3)",
        "LazyConvTranspose3d(4, 3)", "LazyBatchNorm1d()", "LazyBatchNorm2d()", "LazyBatchNorm3d()", "LazyInstanceNorm1d(affine=True)",
        "LazyInstanceNorm2d(affine=True, track_running_stats=True)", "LazyInstanceNorm3d()"]


@pytest.mark.filterwarnings("ignore:Lazy modules")
@pytest.mark.parametrize("name", LAZY)
@pytest.mark.parametrize("writer, reader", [(pyx_tensor, pyx_tensor), (pyx_tensor, torch), (torch, pyx_tensor)])
def test_parameters_without_a_shape(name, writer, reader):
    """The state of a lazy layer before its first call is written and read; PyTorch reads it with `weights_only=False` alone."""
    state = eval(f"nn.{name}", dict(nn=writer.nn)).state_dict()
    file = io.BytesIO()
    writer.save(state, file)
    file.seek(0)
    found = reader.load(file, weights_only=reader is pyx_tensor)
    assert {key: type(value).__name__ for key, value in found.items()} == {key: type(value).__name__ for key, value in state.items()}
    eval(f"nn.{name}", dict(nn=reader.nn)).load_state_dict(found)


@pytest.mark.filterwarnings("ignore:Lazy modules")
def test_a_lazy_layer_is_written_whole():
    file = io.BytesIO()
    pyx_tensor.save(pyx_tensor.nn.LazyLinear(3), file)
    file.seek(0)
    assert pyx_tensor.load(file, weights_only=False)(pyx_tensor.ones(2, 5)).shape == (2, 3)
