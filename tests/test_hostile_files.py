"""Files made to do harm: nothing is run, nothing outside of their storages is read, memory and time stay in proportion to the file."""
import contextlib
import io
import os
import pickle
import resource
import struct
import subprocess
import sys
import tarfile
import zipfile

import fuzz_files
import numpy as np
import pytest
import pyx_tensor as torch
from early_tar import Reference, early_tar
from fuzz_files import BUILD, HOOKS, OPCODES, PIECES, REFUSED, STORAGE, container, instructions, ours, poke, read_all, stream, unzipped, zipped
from hypothesis import given, settings, strategies
from pyx_tensor import __main__, safetensors
from pyx_tensor.serialization import get_unsafe_globals_in_checkpoint

def load(data, **options):
    return torch.load(io.BytesIO(data), **options)



def tensor(storage=STORAGE, offset=b"K\x00", size=b"K\x04\x85", stride=b"K\x01\x85"):
    return b"\x80\x02" + BUILD + storage + offset + size + stride + HOOKS + b"tR."


def test_the_corpus_is_of_the_form_that_loads():
    """Else what follows would be refused for nothing."""
    assert load(container(tensor())).tolist() == [0, 0, 0, 0]


# --- code ---------------------------------------------------------------------------------------------------------
class Runs:
    def __init__(self, function, *args):
        self.made = function, args

    def __reduce__(self):
        return self.made


CODE = {
    "os.system": Runs(os.system, "touch {}"), "os.mkdir": Runs(os.mkdir, "{}"), "eval": Runs(eval, "__import__('os').mkdir('{}')"),
    "exec": Runs(exec, "import os; os.mkdir('{}')"), "subprocess": Runs(subprocess.check_call, ["mkdir", "{}"]), "open": Runs(open, "{}", "w"),
    "import": Runs(__import__, "os"), "getattr": Runs(getattr, os, "system") if False else Runs(getattr, "x", "upper"), "map": Runs(map, len, ["a"]),
    "pickle.loads": Runs(pickle.loads, pickle.dumps(Runs(os.mkdir, "{}"))), "zipfile": Runs(zipfile.ZipFile, "{}", "w"),
    "torch.load": Runs(torch.load, "x"), "torch.save": Runs(torch.save, 1, "{}"), "hub": Runs(torch.from_numpy, 3),
}


@pytest.mark.parametrize("name", CODE)
@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize("wrap", [container, stream])
def test_code_is_not_run(tmp_path, name, protocol, wrap):
    mark = tmp_path / "was_run"
    data = pickle.dumps(["fine", CODE[name]], protocol).replace(b"{}", os.fsencode(mark)) if protocol == 0 else pickle.dumps(
        ["fine", Runs(*[part if not isinstance(part, tuple) else tuple(_put(p, str(mark)) for p in part) for part in CODE[name].made])], protocol)
    data = wrap(data)
    with pytest.raises(REFUSED, match="not on the list|damaged"):
        load(data)
    assert get_unsafe_globals_in_checkpoint(io.BytesIO(data)) if wrap is container else True
    assert not mark.exists()


def _put(part, path):
    if isinstance(part, list):
        return [_put(p, path) for p in part]
    return part.replace("{}", path) if isinstance(part, str) else part


def test_state_and_keywords_run_nothing(tmp_path):
    """By the other instructions that call something: NEWOBJ, NEWOBJ_EX, INST, OBJ, BUILD with __setstate__, EXT."""
    for data in (
            b"\x80\x02cos\nsystem\n(X\x01\x00\x00\x00at\x81.", b"\x80\x04cos\nsystem\n)}\x92.", b"(S'true'\nios\nsystem\n.", b"(cos\nsystem\nS'true'\no.",
            b"\x82\x01.", b"\x80\x02ccollections\nOrderedDict\n)R}X\x05\x00\x00\x00itemsK\x01sb.", b"\x80\x02ctorch\nTensor\n)\x81.",
            b"\x80\x02ctorch\nTensor\n\x8a\x05\x00\x00\x00\x00\x01\x85R.", b"\x80\x02c__builtin__\nint\nX\x01\x00\x00\x009\x85R.", b"\x80\x02K\x01K\x02\x85R.",
            b"\x80\x02X\x01\x00\x00\x00aX\x01\x00\x00\x00b\x85R.", b"\x80\x02]}b.", b"\x80\x02ctorch\nfloat32\nK\x01\x85R.",
            b"\x80\x02c__builtin__\nbytearray\n\x8a\x05\x00\x00\x00\x00\x01\x85R.", b"\x80\x02c_codecs\nencode\nX\x01\x00\x00\x00aX\x03\x00\x00\x00zip\x86R.",
            b"\x80\x02ccollections\ndefaultdict\ncos\nsystem\n\x85R.", b"\x97.", b"\x98.", b"\x80\x09.", b"\xff."):
        with pytest.raises(REFUSED):
            load(container(data))


@pytest.mark.parametrize("data", [
    # numpy: an array of objects, a dtype that is one, a structure, values that aren't there
    b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\nK\x00\x85C\x01btR(K\x01K\x01\x85cnumpy\ndtype\n(X\x02\x00\x00\x00O8\x89\x88tR\x89]K\x01atb.",
    b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\nK\x00\x85C\x01btR(K\x01J\x00\x00\x00\x7f\x85cnumpy\ndtype\n(X\x02\x00\x00\x00f8\x89\x88tR\x89C\x01atb.",
    b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\nJ\x00\x00\x00\x7f\x85C\x01btRK\x01\x85b.",
    b"cnumpy.core.multiarray\nscalar\n(cnumpy\ndtype\n(X\x02\x00\x00\x00f8\x89\x88tRC\x01atR.",
    b"cnumpy.core.multiarray\nscalar\n(cnumpy\ndtype\n(X\x01\x00\x00\x00O\x89\x88tRK\x01tR.",
    b"cnumpy\ndtype\n(X\x02\x00\x00\x00f8\x89\x88tR(K\x03X\x01\x00\x00\x00<NNNJ\x00\x10\x00\x00K\x08K\x00tb.",
    b"cnumpy\ndtype\n(X\x06\x00\x00\x00i4, i4\x89\x88tR.", b"cnumpy\nndarray\n(K\x08\x85tR.",
])
def test_numpy_s_values_are_checked(data):
    with pytest.raises(pickle.UnpicklingError):
        load(container(b"\x80\x03" + data))


# --- memory and time ----------------------------------------------------------------------------------------------
COUNTS = {
    "text": b"\x8d" + struct.pack("<Q", 1 << 60), "bytes": b"\x8e" + struct.pack("<Q", 1 << 40), "bytearray": b"\x96" + struct.pack("<Q", 1 << 40),
    "text32": b"X\xff\xff\xff\x7f", "number": b"\x8b\xff\xff\xff\x7f", "memo": b"]r\xff\xff\xff\xff0h\x01.", "frame": b"\x95" + b"\xff" * 8 + b"]",
    "python2": b"T\xff\xff\xff\x7f", "digits": b"I" + b"9" * 100000 + b"\n.", "line": b"V" + b"x" * 200000,
}


@pytest.mark.parametrize("wrap", [container, stream])
@pytest.mark.parametrize("name", COUNTS)
def test_counts_that_are_not_there(name, wrap):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(REFUSED):
        load(wrap(b"\x80\x04" + COUNTS[name]))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000      # KiB


@pytest.mark.parametrize(("data", "error"), [
    (b"(" * 100_000 + b"t" * 100_000 + b".", None),                                              # a deep tuple
    (b"]" * 100_000 + b"a" * 99_999 + b".", None),                                               # a deep list
    (b"}" + b"(" * 100_000 + b"t" * 100_000 + b"K\x01s.", "parts"),                              # … as a key
    (b"\x8f(" + b"(" * 100_000 + b"t" * 100_000 + b"\x90.", "parts"),                            # … in a set
    (b"}K\x01\x85" + b"2\x86" * 60 + b"K\x01s.", "parts"),                                       # a tuple of 2**60 leaves as a key
    (b"c__builtin__\nset\n]K\x01\x85" + b"2\x86" * 60 + b"a\x85R.", "parts"),
    (b"}]K\x01s.", "can't be a key"),
])
def test_deep_and_wide_values(data, error):
    """In a process of its own: the failure to be seen is a crash, or no end."""
    code = f"""
import io, pickle, sys
sys.path[:0] = {sys.path!r}
import pyx_tensor as torch
try:
    torch.load(io.BytesIO(sys.stdin.buffer.read()))
    print("loaded")
except pickle.UnpicklingError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], input=container(b"\x80\x04" + data), capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr[-500:]
    assert (error or "loaded") in done.stdout.decode()


def _again(function, args, call=b"h\x00h\x01R", n=50_000, prefix=b""):
    """A pickle that calls a function again and again with the same arguments, and keeps what it gives."""
    return b"\x80\x04" + prefix + function + b"q\x000" + args + b"q\x010(" + call * n + b"l."


def _text(n):
    return b"X" + struct.pack("<I", n) + b"x" * n


def _items(n):
    return b"](" + b"".join(b"J" + struct.pack("<i", i) for i in range(n)) + b"e"


RANGE = b"c__builtin__\nrange\n\x8a\x06\0\0\0\0\0\1\x85R"        # of 2**40 numbers
COMPLEX = b"(X\x07\x00\x00\x00storagectorch\nComplexFloatStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpuJ\x00\x00\x02\x00tQ"
CONJ = b"}X\x04\x00\x00\x00conj\x88s"
HUGE = b"\x8a\x06\0\0\0\0\0\1\x85"                             # (2**40,)
SPARSE = b"ctorch.serialization\n_get_layout\nX\x10\x00\x00\x00torch.sparse_coo\x85R"
BOMBS = {
    "bytes": _again(b"c_codecs\nencode\n", _text(1 << 20) + b"X\x06\x00\x00\x00latin1\x86"),
    "bytearrays": _again(b"c__builtin__\nbytearray\n", b"B" + struct.pack("<I", 1 << 20) + b"x" * (1 << 20) + b"\x85"),
    "sets": _again(b"c__builtin__\nset\n", _items(100_000) + b"\x85"), "sizes": _again(b"ctorch\nSize\n", _items(100_000) + b"\x85"),
    "pairs": _again(b"ccollections\nOrderedDict\n", b"](" + b"".join(b"K\x00J" + struct.pack("<i", i) + b"\x86" for i in range(100_000)) + b"e\x85"),
    "states": _again(b"ccollections\nOrderedDict\n)R", b"}(" + b"".join(b"X\x04\0\0\0a%03dK\x00" % i for i in range(1000)) + b"u", b"h\x00h\x01b"),
    "arrays": _again(b"cnumpy.core.multiarray\n_reconstruct\n", b"(cnumpy\nndarray\nK\x00\x85C\x01bt",
                     b"h\x00h\x01Rh\x02b", prefix=b"(K\x01J\x00\x00\x10\x00\x85cnumpy\ndtype\n(X\x02\x00\x00\x00b1\x89\x88tR\x89B\x00\x00\x10\x00" + b"x" * (1 << 20) + b"tq\x020"),
    "scalars": _again(b"cnumpy.core.multiarray\nscalar\n", b"cnumpy\ndtype\n(X\x08\x00\x00\x00S1048576\x89\x88tRB\x00\x00\x10\x00" + b"x" * (1 << 20) + b"\x86"),
    "from numpy": _again(b"ctorch._utils\n_rebuild_device_tensor_from_numpy\n",
                         b"(cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\nK\x00\x85C\x01btR(K\x01J\x00\x00\x10\x00\x85cnumpy\ndtype\n(X\x02\x00\x00\x00u1\x89\x88tR\x89B\x00\x00\x10\x00"
                         + b"x" * (1 << 20) + b"tbctorch\nfloat64\nX\x03\x00\x00\x00cpu\x89t"),
    "keys": b"\x80\x04}q\x000(" + b"K\x00" * 900 + b"tq\x010" + b"h\x00h\x01Ns0" * 300_000 + b"N.",
    **{f"range in {name}": b"\x80\x04" + code + b"." for name, code in {
        "set": b"c__builtin__\nset\n" + RANGE + b"\x85R", "frozenset": b"c__builtin__\nfrozenset\n" + RANGE + b"\x85R", "Size": b"ctorch\nSize\n" + RANGE + b"\x85R",
        "pairs": b"ccollections\nOrderedDict\n]" + RANGE + b"a\x85R", "shape": BUILD + COMPLEX + b"K\x00" + RANGE + RANGE + HOOKS + b"tR",
        "array": b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\nK\x00\x85C\x01btR(K\x01" + RANGE + b"cnumpy\ndtype\n(X\x02\x00\x00\x00u1\x89\x88tR\x89C\x01xtb"}.items()},
    "an expanded conjugate": b"\x80\x04" + BUILD + COMPLEX + b"K\x00" + HUGE + b"K\x00\x85" + HOOKS + CONJ + b"tR.",
    "conjugates": _again(b"ctorch._utils\n_rebuild_tensor_v2\n", b"(" + COMPLEX + b"K\x00J\x00\x00\x02\x00\x85K\x01\x85" + HOOKS + CONJ + b"t"),
    "conjugates of storages named anew": _again(b"ctorch._utils\n_rebuild_tensor_v2\n", COMPLEX[:-1] + b"(K\x00J\x00\x00\x02\x00\x85K\x01\x85" + HOOKS + CONJ + b"t",
                                                b"h\x00" + b"(" + COMPLEX + b"K\x00J\x00\x00\x02\x00\x85K\x01\x85" + HOOKS + CONJ + b"tR", n=2000),
    "an expanded sparse tensor": b"\x80\x04ctorch._utils\n_rebuild_sparse_tensor\n" + SPARSE + b"(ctorch._utils\n_rebuild_tensor_v2\n("
                                 + COMPLEX.replace(b"ComplexFloat", b"Long") + b"K\x00K\x01\x8a\x06\0\0\0\0\0\1\x86K\x00K\x00\x86" + HOOKS + b"tR"
                                 + BUILD + COMPLEX + b"K\x00" + HUGE + b"K\x00\x85" + HOOKS + b"tRK\x05\x85t\x86R.",
    "long keys of a listing": b"\x80\x04}" + _text(1 << 20) + b"](" + b"N" * 99_000 + b"es.",
    "long rows of a listing": b"\x80\x04" + BUILD + COMPLEX.replace(b"X\x03\x00\x00\x00cpu", _text(1 << 20)) + b"K\x00K\x01\x85K\x01\x85" + HOOKS + b"tRq\x000]("
                              + b"h\x00" * 90_000 + b"e.",
    "large elements of sets": b"\x80\x04" + _text(1 << 20) + b"q\x000](\x8f((" + b"h\x00" * 900 + b"t\x90e.",
    "names": b"\x80\x04" + b"".join(b"cm%05d\nn\n0" % i for i in range(60_000)) + b"N.",
    "long names": b"\x80\x04" + b"".join(b"X\x88\x13\0\0%br%b0" % (b"%05d" % i * 1000, struct.pack("<I", i)) for i in range(300))
                  + b"".join(b"j%bj%b\x930" % (struct.pack("<I", i), struct.pack("<I", j)) for i in range(300) for j in range(300)) + b"N.",
}


def test_sparse_tensors_made_again_and_again():
    """Each would be checked, and the second kind kept in another form."""
    n = 1 << 14
    for x in (torch.sparse_coo_tensor(torch.arange(n)[None], torch.ones(n), (n,)).coalesce(), torch.sparse_csr_tensor([0, n], torch.arange(n), torch.ones(n), (1, n))):
        buffer = io.BytesIO()
        torch.save(x, buffer)
        entries = dict(unzipped(buffer.getvalue()))
        code = instructions(entries["archive/data.pkl"])
        at = len(code) - 1 - code[::-1].index(b"R")                      # the call of _rebuild_sparse_tensor
        for count, error in ((2, contextlib.nullcontext()), (1000, pytest.raises(pickle.UnpicklingError, match="so many calls"))):
            pickled = b"".join((*code[:at], b"q\xfe0q\xff0(", b"h\xffh\xfeR" * count, b"l."))
            with error:
                assert len(load(zipped({**entries, "archive/data.pkl": pickled}.items()))) == count


@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited on Linux alone")
@pytest.mark.parametrize("name", BOMBS)
def test_what_is_small_stays_small(tmp_path, name):
    """Files of 3 MB at most, each of which would take gigabytes or minutes if a reader did what it says."""
    (tmp_path / "x").write_bytes(container(BOMBS[name], {"0": b"\0" * (1 << 20)}))
    done = subprocess.run([sys.executable, fuzz_files.__file__, "--read", str(tmp_path / "x")], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr[-1000:]


def test_a_zip_bomb():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("archive/data.pkl", tensor())
        archive.writestr("archive/data/0", b"\0" * (1 << 24))
    with pytest.raises(RuntimeError, match="compressed"):
        load(buffer.getvalue())


def patched(data, at, value):
    return data[:at] + value + data[at + len(value):]


def test_entries_over_each_other():
    """Two storages that are one piece of the file would give twice its memory."""
    data = container(tensor(), {"0": b"\0" * 16, "1": b"\0" * 16})
    first, second = data.rindex(b"archive/data/0"), data.rindex(b"archive/data/1")
    data = patched(data, second - 4, data[first - 4:first])
    with pytest.raises(RuntimeError, match="lies over"):
        load(data)
    data = container(tensor())
    at = data.rindex(b"archive/data/0") - 26
    for size in (1 << 20, 0xfffffff0):                                   # an entry longer than the file
        with pytest.raises(RuntimeError, match="cut short|lies over|damaged"):
            load(patched(data, at, struct.pack("<II", size, size)))


def test_two_entries_of_one_name():
    with pytest.warns(UserWarning, match="Duplicate"):
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            for _ in range(2):
                archive.writestr("archive/data.pkl", tensor())
    with pytest.raises(RuntimeError, match="two entries"):
        load(buffer.getvalue())


# --- storages -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("geometry", [
    dict(size=b"K\x05\x85"), dict(offset=b"K\x01"), dict(stride=b"K\x02\x85"), dict(stride=b"J\xff\xff\xff\xff\x85"), dict(offset=b"J\xff\xff\xff\xff"),
    dict(size=b"J\xff\xff\xff\xff\x85"), dict(size=b"K\x02K\x02\x86"), dict(size=b"\x8a\x08" + b"\xff" * 7 + b"\x7f\x85"), dict(size=b"\x8a\x0a" + b"\x01" * 10 + b"\x85"),
    dict(size=b"\x8a\x08" + b"\0" * 7 + b"\x40\x8a\x08" + b"\0" * 7 + b"\x40\x86", stride=b"K\x01K\x01\x86"),
    dict(stride=b"\x8a\x08" + b"\xff" * 7 + b"\x7f\x85"), dict(size=b"X\x01\x00\x00\x00a\x85"), dict(size=b"K\x04"), dict(size=b"N\x85"), dict(storage=b"N"),
    dict(size=b"(" + b"K\x01" * 100 + b"t", stride=b"(" + b"K\x01" * 100 + b"t"), dict(offset=b"G" + b"\0" * 8),
])
def test_tensors_outside_of_their_storage(geometry):
    for wrap in (container, lambda data: stream(data, pickle.dumps(["0"], 2) + struct.pack("<q", 4) + b"\0" * 16)):
        with pytest.raises(REFUSED):
            load(wrap(tensor(**geometry)))


@pytest.mark.parametrize(("old", "new"), [
    (b"K\x04tQ", b"K\x05tQ"), (b"K\x04tQ", b"J\xff\xff\xff\xfftQ"), (b"K\x04tQ", b"\x8a\x08" + b"\xff" * 7 + b"\x7ftQ"), (b"K\x04tQ", b"NtQ"),
    (b"X\x01\x00\x00\x000", b"X\x0b\x00\x00\x00../../../x0"), (b"X\x01\x00\x00\x000", b"X\x0b\x00\x00\x00/etc/passwd"), (b"X\x01\x00\x00\x000", b"X\x0b\x00\x00\x00../data.pkl"),
    (b"X\x01\x00\x00\x000", b"N"), (b"X\x01\x00\x00\x000", b"]"), (b"X\x07\x00\x00\x00storage", b"X\x07\x00\x00\x00module_"), (b"ctorch\nFloatStorage\n", b"ctorch\nFloatTensor\n"),
    (b"X\x03\x00\x00\x00cpu", b"N"), (b"X\x03\x00\x00\x00cpu", b"X\x03\x00\x00\x00a b"), (b"K\x04tQ", b"K\x04K\x01tQ"),
])
def test_references_to_storages(old, new):
    assert old in STORAGE
    for wrap in (container, lambda data: stream(data, pickle.dumps(["0"], 2) + struct.pack("<q", 4) + b"\0" * 16)):
        with pytest.raises((*REFUSED, TypeError)):
            load(wrap(tensor(storage=STORAGE.replace(old, new))))


def test_bools_are_zero_or_one():
    """A byte of another value would be counted as several, and overrun what was set aside for what is counted."""
    bools = STORAGE.replace(b"FloatStorage", b"BoolStorage")
    data = tensor(storage=bools)
    untyped = tensor(storage=STORAGE.replace(b"FloatStorage", b"UntypedStorage")).replace(b"_v2", b"_v3").replace(b")RtR.", b")Rctorch\nbool\ntR.")
    array = b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\nK\x00\x85C\x01btR(K\x01K\x04\x85cnumpy\ndtype\n(X\x02\x00\x00\x00b1\x89\x88tR\x89C\x04\x00\xff\x01\x02tb."
    for pickled in (data, untyped, b"\x80\x03" + array):
        x = load(container(pickled, {"0": b"\x00\xff\x01\x02"}))
        assert np.asarray(x).view(np.uint8).tolist() == [0, 1, 1, 1]
    header = b'{"a":{"dtype":"BOOL","shape":[3],"data_offsets":[0,3]}}'
    x = safetensors.load(struct.pack("<Q", len(header)) + header + b"\x00\xff\x01")["a"]
    assert x.numpy().view(np.uint8).tolist() == [0, 1, 1]


def test_paths_in_a_container_lead_nowhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name in ("../../data.pkl", "../../data/0", "/etc/x", "..\\..\\y"):
            archive.writestr(name, tensor() if name.endswith("pkl") else b"\0" * 16)
    assert load(buffer.getvalue()).shape == (4,) and os.listdir(tmp_path) == []
    tar = io.BytesIO(early_tar([], [], [], [1]))
    with tarfile.open(fileobj=tar, mode="a") as archive:
        archive.addfile(tarfile.TarInfo("../../../outside"))
    assert load(tar.getvalue()) == [1] and os.listdir(tmp_path) == []


def test_a_tar_s_links_are_not_followed():
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name in ("storages", "tensors", "pickle"):
            link = tarfile.TarInfo(name)
            link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
            tar.addfile(link)
    with pytest.raises(RuntimeError, match="no whole file"):
        load(buffer.getvalue())


@pytest.mark.parametrize("key", [(), 3, "3", [], 1 << 70, [[]] * 3, 2.5])
def test_a_tar_s_references_are_checked(key):
    with pytest.raises(pickle.UnpicklingError, match="key of a storage or tensor|has no tensor"):
        load(early_tar([], [], [], [Reference(key)]))


@pytest.mark.parametrize("views", [3, {"x": 1}, "x", [3], [()], [((), 1, 0, 1)], [(5, 1, 0, 1)]])
def test_a_tar_s_parts_of_storages_are_checked(views):
    with pytest.raises(REFUSED, match="damaged"):
        load(early_tar([(2, "cpu", "FloatStorage", np.zeros(2, np.float32))], views, [], 1))


def test_a_stream_without_its_storages():
    whole = stream(tensor(), pickle.dumps(["0"], 2) + struct.pack("<q", 4) + b"\0" * 16)
    assert load(whole).shape == (4,)
    for tail in (b"", pickle.dumps([], 2), pickle.dumps(["0"], 2), pickle.dumps(["0"], 2) + struct.pack("<q", 4) + b"\0" * 15,
                 pickle.dumps(["0"], 2) + struct.pack("<q", 1 << 60) + b"\0" * 16, pickle.dumps(["0", "0"], 2) + (struct.pack("<q", 4) + b"\0" * 16) * 2,
                 pickle.dumps(["1"], 2) + struct.pack("<q", 4) + b"\0" * 16, pickle.dumps("0", 2), pickle.dumps([[]], 2)):
        with pytest.raises(REFUSED):
            load(stream(tensor(), tail))
    with pytest.raises(REFUSED):                                          # 2**40 elements
        load(stream(tensor(storage=STORAGE.replace(b"K\x04tQ", b"\x8a\x06\0\0\0\0\0\1tQ")), pickle.dumps(["0"], 2) + struct.pack("<q", 1 << 40) + b"\0" * 16))


def test_a_listing_of_a_file_without_end(tmp_path, capsys):
    (tmp_path / "wide.pt").write_bytes(container(b"\x80\x02]" + b"2\x86" * 60 + b"."))
    (tmp_path / "deep.pt").write_bytes(container(b"\x80\x02" + b"]" * 5000 + b"a" * 4999 + b"."))
    assert __main__.main(["inspect", str(tmp_path / "wide.pt"), str(tmp_path / "deep.pt")]) == 1
    assert "more than 100000 values" in capsys.readouterr().err


# --- at random ----------------------------------------------------------------------------------------------------
FILES = list(ours())
CHANGES = strategies.lists(strategies.tuples(strategies.integers(0, 1 << 16), strategies.integers(0, 3), strategies.integers(0, (1 << 32) - 1)),
                           min_size=1, max_size=6)


@settings(max_examples=150, deadline=None)
@given(strategies.sampled_from(FILES), CHANGES)
def test_broken_files(data, changes):
    read_all(poke(data, changes))


@settings(max_examples=150, deadline=None)
@given(strategies.lists(strategies.sampled_from(PIECES) | strategies.sampled_from(OPCODES), max_size=40))
def test_pickles_of_random_instructions(pieces):
    data = b"\x80\x02" + b"".join(pieces) + b"."
    read_all(container(data))
    read_all(stream(data))


@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited on Linux alone")
def test_a_short_run_of_the_fuzzer(tmp_path):
    """In a process of its own, which has one thread; longer runs: `python tests/fuzz_files.py --minutes 60`."""
    done = subprocess.run([sys.executable, fuzz_files.__file__, "--files", "600", "--crashers", str(tmp_path)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and "600 files read" in done.stdout and not os.listdir(tmp_path), done.stdout + done.stderr


@pytest.mark.parametrize(("pickled", "row"), [
    # what the fuzzer found: builders of tensors with too few arguments, or with others
    (BUILD + STORAGE + b"tR", "_rebuild_tensor_v2(...)"), (b"ctorch._utils\n_rebuild_parameter\n)R", "_rebuild_parameter(...)"),
    (b"ctorch._tensor\n_rebuild_from_type_v2\n)R", "_rebuild_from_type_v2(...)"), (b"ctorch._utils\n_rebuild_tensor_v3\n(" + STORAGE + b"K\x00)))tR", "_rebuild_tensor_v3(...)"),
    (BUILD + STORAGE + b"K\x00K\x04K\x01\x85" + HOOKS + b"tR", "_rebuild_tensor_v2(...)"), (BUILD + STORAGE + b"K\x00N\x85K\x01\x85" + HOOKS + b"tR", "_rebuild_tensor_v2(...)"),
    # values that Python can't print
    (b"\x8b\x00\x10\x00\x00" + b"\x7f" * 4096, "a number of 32767 bits"), (b"]" * 90 + b"\x8f(" + b"(" * 990 + b"t" * 990 + b"\x90" + b"a" * 90, "(1 values)"),
    (b"ctorch._utils\n_rebuild_tensor_v3\n(" + STORAGE + b"K\x00K\x04\x85K\x01\x85" + HOOKS + b"(" * 990 + b"t" * 990 + b"tR", "_rebuild_tensor_v3(...)"),
])
def test_a_listing_shows_what_it_can(tmp_path, capsys, pickled, row):
    (tmp_path / "x.pt").write_bytes(container(b"\x80\x04" + pickled + b"."))
    assert __main__.main(["inspect", str(tmp_path / "x.pt")]) == 0
    assert row in capsys.readouterr().out
