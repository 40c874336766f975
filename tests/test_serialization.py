"""Files: what is written is read again, and nothing that a file says is run."""
import collections
import contextlib
import gzip
import io
import os
import pickle
import random
import subprocess
import sys
import threading
import zipfile
import zlib

import cloudpickle
import numpy as np
import pytest
import pyx_tensor as torch
from early_tar import Reference, early_tar
from large_files import huge_file, many_entries
from pyx_tensor import __main__
from pyx_tensor.serialization import atomic, location
from pyx_tensor.serialization.checksum import crc32

DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64", "complex128", "uint16",
          "uint32", "uint64"]
FORMS = {"zip": {}, "legacy": {"_use_new_zipfile_serialization": False}, "protocol 1": {"pickle_protocol": 1}, "protocol 5": {"pickle_protocol": 5}}


def round_trip(obj, form="zip", **options):
    buffer = io.BytesIO()
    torch.save(obj, buffer, **FORMS[form])
    buffer.seek(0)
    return torch.load(buffer, **options)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3, 4)])
def test_tensors(name, shape, form):
    x = torch.arange(int(np.prod(shape))).reshape(shape).to(getattr(torch, name))
    y = round_trip(x, form)
    assert y.dtype is x.dtype and y.shape == x.shape and y.tolist() == x.tolist()


@pytest.mark.rows("S154")
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("weights_only", [True, False])
def test_strides_and_sharing(form, weights_only):
    x = torch.arange(12.0).reshape(3, 4)
    a, b, c = round_trip([x, x[:, 1], x.t()], form, weights_only=weights_only)
    assert b.tolist() == [1.0, 5.0, 9.0] and c.stride() == (1, 4)
    a[0, 1] = 100
    assert b[0] == 100 and c[1, 0] == 100


@pytest.mark.rows("S154")
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


@pytest.mark.rows("S150")
def test_a_whole_model_of_the_librarys_own_layers():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.ReLU())
    x = torch.ones(1, 3)
    assert round_trip(model, weights_only=False)(x).tolist() == model(x).tolist()
    for whole, name in ((model, "nn.modules.container.Sequential"), (torch.optim.SGD(model.parameters(), lr=0.1), "optim.sgd.SGD")):
        with pytest.raises(pickle.UnpicklingError, match=f"whole object of torch.{name}.*weights_only=False"):
            round_trip(whole)


@pytest.mark.rows("S159")
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
    assert again.weight.tolist() == model.weight.tolist() and again.bias.tolist() == model.bias.tolist() != saved["model"]["bias"].tolist()


@pytest.mark.rows("S156")
def test_map_location():
    x = torch.ones(2, device="reference:1")
    assert round_trip(x).device == torch.device("reference:1")
    assert round_trip(x, map_location="cpu").device == torch.device("cpu")
    assert round_trip(x, map_location={"reference:1": "reference:2"}).device == torch.device("reference:2")
    assert round_trip(x, map_location=lambda storage, location: storage.to("reference:3")).device == torch.device("reference:3")
    assert round_trip(x, map_location=lambda storage, location: None).device == torch.device("reference:1")
    assert round_trip(x, map_location=torch.device("reference", 2)).device == torch.device("reference:2")
    assert round_trip(x, "legacy", map_location="cpu").tolist() == [1.0, 1.0]
    met = []
    round_trip([torch.ones(3, dtype=torch.int16)], map_location=lambda storage, location: met.append((type(storage), len(storage), location)))
    assert met == [(torch.UntypedStorage, 6, "cpu")]
    for wrong, error in ((3.5, "map_location must be"), (lambda storage, location: 7, "must give a storage")):
        with pytest.raises(TypeError, match=error):
            round_trip(x, map_location=wrong)


def test_a_device_that_is_not_here():
    file = rewritten(torch.ones(2), lambda name, data: data.replace(b"X\x03\x00\x00\x00cpu", b"X\x04\x00\x00\x00mars") if name.endswith("data.pkl") else data)
    with pytest.raises(RuntimeError, match="'mars'.*not available.*map_location='cpu'"):
        torch.load(file)
    file.seek(0)
    assert torch.load(file, map_location="cpu").tolist() == [1, 1]
    package = (5, lambda storage: None, lambda storage, location: storage if location == "mars" else None)
    torch.serialization.register_package(*package)
    try:
        file.seek(0)
        assert torch.load(file).tolist() == [1, 1]
    finally:
        location._packages.remove(package)


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


@pytest.mark.rows("S158")
@pytest.mark.parametrize("data", [b"", b"not a file of ours", b"PK\x03\x04 cut short", b"\x80\x02}q\x00."])
def test_garbage(data):
    with pytest.raises(RuntimeError, match="zip container|directory can't be read"):
        torch.load(io.BytesIO(data))


@pytest.mark.parametrize(("data", "hint"), [
    (gzip.compress(b"x" * 100, mtime=0), "gzip"), (b"<!DOCTYPE html><html>", "web page"), (b"version https://git-lfs.github.com/spec/v1", "git lfs pull"),
    (b"\x40" + b"\0" * 7 + b"{}" + b" " * 62, "safetensors"), (b"\x93NUMPY\x01\0v\0", "numpy.load")])
def test_what_else_a_file_may_be(data, hint):
    with pytest.raises(RuntimeError, match=hint):
        torch.load(io.BytesIO(data))


def test_files_open_in_another_way(tmp_path):
    torch.save(1, tmp_path / "x.pt")
    with pytest.raises(TypeError, match="open it with 'rb'"), open(tmp_path / "x.pt", encoding="latin1") as file:
        torch.load(file)
    with pytest.raises(io.UnsupportedOperation, match="can't seek"):
        torch.load(Forward(b""))
    with pytest.raises(AttributeError, match="expected a path or a binary file"):
        torch.load(3)
    buffer = io.BytesIO()
    torch.save(1, buffer)
    with pytest.raises(RuntimeError, match=r"seek\(0\)"):
        torch.load(buffer)


class Forward(io.RawIOBase):
    """A file that can't seek: a pipe, a socket."""

    def __init__(self, data=b""):
        self.data = bytearray(data)

    def writable(self):
        return True

    def readable(self):
        return True

    def write(self, data):
        self.data += data
        return len(data)


@pytest.mark.parametrize("form", FORMS)
def test_writing_to_a_file_that_can_not_seek(form):
    file = Forward()
    torch.save([torch.arange(5), "x" * 100], file, **FORMS[form])
    assert torch.load(io.BytesIO(file.data))[0].tolist() == [0, 1, 2, 3, 4]


def test_a_compressed_entry_is_refused():
    source, target = zipfile.ZipFile(io.BytesIO(written(torch.zeros(10000)))), io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in source.namelist():
            archive.writestr(name, source.read(name))
    target.seek(0)
    with pytest.raises(RuntimeError, match="archive/byteorder' is compressed|archive/data.pkl' is compressed"):
        torch.load(target)


@pytest.mark.parametrize("form", ["zip", "legacy"])
def test_every_flipped_byte_is_noticed_or_harmless(form):
    buffer = io.BytesIO()
    torch.save({"w": torch.arange(20.0)}, buffer, **FORMS[form])
    data = buffer.getvalue()
    for at in range(0, len(data), 3):
        broken = bytearray(data)
        broken[at] ^= 0x55
        try:
            torch.load(io.BytesIO(broken))
        except (RuntimeError, pickle.UnpicklingError, NotImplementedError):
            pass


def test_a_damaged_storage_is_told_by_its_place():
    data = bytearray(written(torch.zeros(1000)))
    data[len(data) - 2000] ^= 1
    with pytest.raises(RuntimeError, match="archive/data/0.*checksum"):
        torch.load(io.BytesIO(data))
    torch.serialization.set_crc32_options(False)
    try:
        assert torch.load(io.BytesIO(data)).shape == (1000,)
    finally:
        torch.serialization.set_crc32_options(True)


def test_a_mapped_file(tmp_path):
    path = tmp_path / "x.pt"
    torch.save({"a": torch.arange(1000.0), "b": torch.ones(3, dtype=torch.int8)}, path)
    before = path.read_bytes()
    found = torch.load(path, mmap=True)
    assert found["a"].data_ptr() % 64 == 0 and found["a"].sum() == 499500
    found["a"][0] = 7
    assert found["a"][0] == 7 and path.read_bytes() == before
    for wrong in (io.BytesIO(before), open(path, "rb")):
        with wrong, pytest.raises(RuntimeError, match="needs the path"):
            torch.load(wrong, mmap=True)


def test_a_small_view_of_large_memory(tmp_path):
    large = torch.arange(1 << 18, dtype=torch.float64)
    view = large[10:12]
    with pytest.warns(UserWarning, match=r"shape \[2\] is a view, and with it 2097152 bytes are written, of which 16 are seen"):
        torch.save(view, tmp_path / "all.pt")
    torch.save([view, large[11:14], view.view(torch.int64)], tmp_path / "seen.pt", compact=True)
    torch.save(large, tmp_path / "whole.pt")
    assert os.path.getsize(tmp_path / "all.pt") > 1 << 21 and os.path.getsize(tmp_path / "seen.pt") < 4000
    a, b, c = torch.load(tmp_path / "seen.pt")
    assert a.tolist() == [10, 11] and b.tolist() == [11, 12, 13] and c.dtype is torch.int64
    a[1] = -1
    assert b[0] == -1 and torch.load(tmp_path / "all.pt").untyped_storage().nbytes() == 1 << 21


def test_pickle_module():
    with pytest.raises(Exception, match="lambda|local"):
        round_trip(lambda x: x + 1)
    buffer = io.BytesIO()
    torch.save({"f": lambda x: x + 1, "w": torch.ones(2)}, buffer, pickle_module=cloudpickle)
    buffer.seek(0)
    found = torch.load(buffer, weights_only=False)
    assert found["f"](found["w"]).tolist() == [2, 2]
    buffer.seek(0)
    with pytest.raises(RuntimeError, match="weights_only=False"):
        torch.load(buffer, pickle_module=cloudpickle, weights_only=True)
    buffer.seek(0)
    assert torch.load(buffer, pickle_module=cloudpickle)["f"](1) == 2


def test_an_early_tar():
    tar = early_tar([(1, "cpu", "DoubleStorage", np.arange(6.0))], [(5, 1, 2, 4)],
                    [(7, 1, "DoubleTensor", (2, 3), (3, 1), 0), (8, 5, "DoubleTensor", (2,), (1,), 1)], [Reference(7), Reference(8)])
    a, b = torch.load(io.BytesIO(tar))
    assert a.tolist() == [[0, 1, 2], [3, 4, 5]] and b.tolist() == [3, 4]
    assert torch.load(io.BytesIO(tar), map_location="reference:1")[0].device == torch.device("reference:1")
    for end in range(0, len(tar), 97):
        with contextlib.suppress(RuntimeError, pickle.UnpicklingError):
            torch.load(io.BytesIO(tar[:end]))
    outside = early_tar([(1, "cpu", "DoubleStorage", np.arange(6.0))], [], [(7, 1, "DoubleTensor", (2, 3), (3, 1), 1)], [Reference(7)])
    with pytest.raises(RuntimeError, match="out of bounds"):
        torch.load(io.BytesIO(outside))


def test_python_2_strings():
    data = b"\x80\x02}q\x00U\x02\xc3\xa9q\x01K\x01s."
    for encoding, key in (("utf-8", "é"), ("latin1", "Ã©"), ("bytes", b"\xc3\xa9")):
        file = rewritten(1, lambda name, old: data if name.endswith("data.pkl") else old)
        assert torch.load(file, encoding=encoding) == {key: 1}


def test_checksums():
    rng = random.Random(0)
    data = rng.randbytes(5000)
    for n in (0, 1, 63, 64, 1023, 1024, 1025, 1087, 1088, 1151, 4096, 4999):
        for value in (0, 1, rng.getrandbits(32)):
            assert crc32(data[:n], value) == zlib.crc32(data[:n], value)
            assert crc32(memoryview(data)[1:n + 1], value) == zlib.crc32(data[1:n + 1], value)


def test_more_than_4_GiB(tmp_path):
    """Which need fields of 64 bits."""
    huge_file(tmp_path / "x.pt")
    zeros, seven = torch.load(tmp_path / "x.pt", mmap=True)
    assert zeros.shape == ((1 << 32) + 8,) and zeros[-1] == 0 and seven == 7
    with zipfile.ZipFile(tmp_path / "x.pt") as archive:
        assert archive.getinfo("archive/data/0").file_size == (1 << 32) + 8 and archive.read("archive/data/1") == np.float32(7).tobytes()


def test_more_than_65535_entries():
    archive = zipfile.ZipFile(io.BytesIO(many_entries()))
    assert len(archive.infolist()) == 70_002 and archive.read("archive/data/69999") == b"69999"
    assert torch.load(io.BytesIO(many_entries())) == "x"


def test_the_permissions_of_a_file_stay(tmp_path):
    path, link = tmp_path / "x.pt", tmp_path / "link.pt"
    torch.save(1, path)
    path.chmod(0o600)
    link.symlink_to(path)
    torch.save(2, link)
    assert torch.load(path) == 2 and link.is_symlink() and path.stat().st_mode & 0o777 == 0o600


SAVERS = """
import os, resource, signal, sys
import pyx_tensor as torch
from pyx_tensor import safetensors
from pyx_tensor.serialization import archive, atomic
path, new = sys.argv[1], {str(i): torch.ones(100_000) for i in range(5)}
savers = {"zip": lambda: torch.save(new, path), "legacy": lambda: torch.save(new, path, _use_new_zipfile_serialization=False),
          "safetensors": lambda: safetensors.save_file(new, path), "npz": lambda: torch.serialization.save_npz(new, path)}
"""
FULL = SAVERS + """
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
for name, save in savers.items():
    try:
        save()
    except OSError as error:
        print(name, os.listdir(os.path.dirname(path)), torch.load(path), error.strerror)
"""
KILLED = SAVERS + """
def write(self, data, write=archive.ArchiveWriter._put):
    write(self, data)
    if self.at > 1_000_000:
        self.file.flush()
        os.kill(os.getpid(), signal.SIGKILL)
archive.ArchiveWriter._put = write
if sys.argv[2] == "named":
    del os.O_TMPFILE
savers["zip"]()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no limits of processes")
def test_a_full_disk_leaves_the_old_file(tmp_path):
    """A file that may not grow stands for the disk."""
    path = tmp_path / "x.pt"
    torch.save("old", path)
    done = subprocess.run([sys.executable, "-c", FULL, str(path)], capture_output=True, text=True, timeout=120)
    assert done.stdout.splitlines() == [f"{name} ['x.pt'] old File too large" for name in ("zip", "legacy", "safetensors", "npz")], done.stderr
    if os.path.exists("/dev/full"):
        with pytest.raises(OSError, match="No space left"):
            torch.save(torch.ones(10), "/dev/full")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes can't be killed")
@pytest.mark.parametrize("how", ["nameless", "named"])
def test_the_end_of_the_process_leaves_the_old_file(tmp_path, how):
    path = tmp_path / "x.pt"
    torch.save("old", path)
    done = subprocess.run([sys.executable, "-c", KILLED, str(path), how], capture_output=True, text=True, timeout=120)
    assert done.returncode == -9 and torch.load(path) == "old", done.stderr
    left = [name for name in os.listdir(tmp_path) if name != "x.pt"]
    os.close(atomic._new_file(str(tmp_path / "probe")))
    if how == "nameless" and not os.path.exists(tmp_path / "probe"):          # the file system has such files
        assert left == []
    else:
        assert len(left) == 1 and left[0].startswith("x.pt.") and left[0].endswith(".part")


def test_a_folder_where_nothing_may_be_made(tmp_path, monkeypatch):
    def refused(path):
        raise PermissionError(13, "Permission denied")
    torch.save("old", tmp_path / "x.pt")
    monkeypatch.setattr("pyx_tensor.serialization.atomic._new_file", refused)
    torch.save("new", tmp_path / "x.pt")
    assert torch.load(tmp_path / "x.pt") == "new"
    with pytest.raises(PermissionError):
        torch.save("new", tmp_path / "y.pt")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_a_named_pipe_is_written_to(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    found = []
    reader = threading.Thread(target=lambda: found.append((tmp_path / "pipe").read_bytes()))
    reader.start()
    torch.save(torch.arange(3), tmp_path / "pipe")
    reader.join()
    assert torch.load(io.BytesIO(found[0])).tolist() == [0, 1, 2] and os.listdir(tmp_path) == ["pipe"]


def test_unsafe_names_are_told():
    buffer = io.BytesIO()
    torch.save([Runs(), torch.nn.Linear(1, 1), collections.ChainMap(), torch.ones(1)], buffer)
    assert torch.serialization.get_unsafe_globals_in_checkpoint(buffer_at_start(buffer)) == [
        "posix.mkdir", "torch.nn.modules.linear.Linear", "collections.ChainMap"]
    assert not os.path.exists("/tmp/pyx_tensor_was_run")
    buffer = io.BytesIO()
    torch.save(torch.ones(1), buffer, _use_new_zipfile_serialization=False)
    assert torch.serialization.get_unsafe_globals_in_checkpoint(buffer_at_start(buffer)) == []


def buffer_at_start(buffer):
    buffer.seek(0)
    return buffer


def test_the_listing(tmp_path, capsys):
    x = torch.ones(2, 3)
    for form in ("zip", "legacy"):
        torch.save({"model": {"w": x, "b": torch.nn.Parameter(x[0])}, "n": 3, "u": torch.ones(2, dtype=torch.uint16)}, tmp_path / "x.pt", **FORMS[form])
        assert __main__.main(["inspect", str(tmp_path / "x.pt")]) == 0
        out = capsys.readouterr().out
        assert [line.split() for line in out.splitlines()[1:5]] == [
            ["model.w", "[2,", "3]", "float32", "cpu", "24"], ["model.b", "[3]", "float32", "cpu", "12"], ["n", "3"], ["u", "[2]", "uint16", "cpu", "4"]]
        assert "3 tensors in 2 storages of 28 bytes" in out
    torch.save(torch.nn.Linear(2, 1), tmp_path / "m.pt")
    __main__.main(["inspect", str(tmp_path / "m.pt")])
    out = capsys.readouterr().out
    assert "_parameters.weight" in out and "needs weights_only=False" in out and "torch.nn.modules.linear.Linear" in out


def test_npz(tmp_path):
    tensors = {"a": torch.arange(6).reshape(2, 3), "b": torch.ones(2, requires_grad=True), "c": torch.tensor(1 + 2j)}
    torch.serialization.save_npz(tensors, tmp_path / "x.npz")
    with np.load(tmp_path / "x.npz") as arrays:
        assert arrays["a"].tolist() == [[0, 1, 2], [3, 4, 5]]
    found = torch.serialization.load_npz(tmp_path / "x.npz")
    assert {name: (t.tolist(), t.dtype) for name, t in found.items()} == {name: (t.tolist(), t.dtype) for name, t in tensors.items()}
    with pytest.raises(TypeError, match="bfloat16"):
        torch.serialization.save_npz({"x": torch.ones(1, dtype=torch.bfloat16)}, tmp_path / "x.npz")
    np.savez(tmp_path / "y.npz", a=np.array([{}], object), b=np.arange(3, dtype=">i4"))
    with pytest.raises(ValueError, match="allow_pickle"):
        torch.serialization.load_npz(tmp_path / "y.npz")


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
    # the size (4,) becomes (9,)
    file = rewritten(torch.arange(4.0), lambda name, data: data.replace(b"(K\x04t(", b"(K\x09t(") if name.endswith("data.pkl") else data)
    with pytest.raises(RuntimeError, match="out of bounds"):
        torch.load(file)


PEAK = """
import resource, sys
import pyx_tensor as torch
path, mapped = sys.argv[1], sys.argv[2] == "mapped"
torch.load(sys.argv[3])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
state = torch.load(path, mmap=mapped)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="peak memory is told in KiB on Linux alone")
def test_peak_memory_of_reading(tmp_path):
    torch.save({str(i): torch.ones(1 << 21) for i in range(16)}, tmp_path / "x.pt")        # 128 MiB
    torch.save(1, tmp_path / "small.pt")
    for how, most in (("read", 1.1 * 128), ("mapped", 8)):
        done = subprocess.run([sys.executable, "-c", PEAK, str(tmp_path / "x.pt"), how, str(tmp_path / "small.pt")], capture_output=True, text=True, timeout=120)
        assert done.returncode == 0 and float(done.stdout) < most, done.stdout + done.stderr
