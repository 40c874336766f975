"""Fuzzes the readers of files: `python tests/fuzz_files.py --minutes 60 [--crashers FOLDER]`.

Real files (ours and, where it is installed, PyTorch's, of every format) are changed byte by byte, instruction by instruction of
their pickles, or in their directories, and read by every reader in a process with a limit of memory. What isn't refused by an error
that a reader documents, takes more than fifteen seconds, more memory than a file of this size should, or ends the process is kept.
"""
import argparse
import collections
import contextlib
import faulthandler
import io
import itertools
import math
import mmap
import os
import pickle
import pickletools
import random
import resource
import signal
import struct
import subprocess
import sys
import tarfile
import tempfile
import time
import traceback
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pyx_tensor as torch
from early_tar import Reference, early_tar
from pyx_tensor import safetensors
from pyx_tensor.serialization import get_unsafe_globals_in_checkpoint
from pyx_tensor.serialization.legacy import MAGIC, PROTOCOL, SYS_INFO
from pyx_tensor.serialization.listing import print_listing

SECONDS = 15                       # for one file, with all readers
ROOM = 256 << 20                   # bytes of address space over those of the process at its start

# --- real files ---------------------------------------------------------------------------------------------------
MAKE = """
import collections
x = torch.arange(12.0).reshape(3, 4)
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3))
optimizer = torch.optim.Adam(model.parameters())
model(torch.ones(4, 2)).sum().backward()
optimizer.step()
p = torch.nn.Parameter(torch.ones(2))
p.note = [1, "x"]
objects = {
    "plain": {"a": x, "b": [x.t(), x[1:, ::2], p, {"c": (1, "x", None, 2.5, True, 1 << 70, b"b")}]},
    "training": {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3},
    "dtypes": [x.to(getattr(torch, name)) for name in "bool uint8 int8 int16 int32 int64 float16 bfloat16 float64 complex64 complex128 uint16".split()],
    "values": [torch.Size([2, 3]), torch.float16, torch.device("cpu"), {1, 2}, frozenset("ab"), collections.OrderedDict(a=1), collections.Counter("aab"),
               collections.defaultdict(list, a=[1]), np.float32(1.5), np.arange(6).reshape(2, 3), np.array(["ab", "c"]), np.dtype(">f8"), slice(1, 2), 1 + 2j],
    "sparse": torch.sparse_coo_tensor([[0, 2]], [1.0, 2.0], (3,)).coalesce(), "empty": {},
}
"""
ORACLE = f"""
import pathlib, sys, warnings
import numpy as np, torch
warnings.simplefilter("ignore")
{MAKE}
objects.update(model=model, quantised=torch.quantize_per_tensor(x, 0.1, 0, torch.qint8), conj=torch.tensor([1 + 2j]).conj(), storage=x.storage(),
               meta=torch.ones(2, device="meta"), csr=torch.eye(2).to_sparse_csr(), float8=torch.ones(2).to(torch.float8_e4m3fn))
for name, obj in objects.items():
    for form, options in dict(zip=dict(), stream=dict(_use_new_zipfile_serialization=False), protocol4=dict(pickle_protocol=4)).items():
        try:
            torch.save(obj, pathlib.Path(sys.argv[1]) / f"{{name}}.{{form}}", **options)
        except Exception as error:
            print(name, form, error)
"""


def ours():
    """Files of this package."""
    space = {"torch": torch, "np": np}
    exec(MAKE, space)
    for obj in (*space["objects"].values(), space["model"]):
        for options in ({}, {"_use_new_zipfile_serialization": False}, {"pickle_protocol": 1}, {"pickle_protocol": 5}, {"compact": True}):
            buffer = io.BytesIO()
            torch.save(obj, buffer, **options)
            yield buffer.getvalue()
    yield early_tar([(1, "cpu", "FloatStorage", np.arange(6, dtype=np.float32))], [(5, 1, 2, 4)],
                    [(7, 1, "FloatTensor", (2, 3), (3, 1), 0), (8, 5, "FloatTensor", (2,), (1,), 1)], {"a": Reference(7), "b": [Reference(8)]})
    yield safetensors.save({"a": torch.ones(2), "b": torch.arange(3), "c": torch.ones(3, 2, dtype=torch.bool)}, {"made": "here"})


def theirs():
    """Files of PyTorch, if it is here."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-W", "ignore", "-c", ORACLE, folder], capture_output=True, timeout=300)
        return [path.read_bytes() for path in sorted(Path(folder).iterdir())]


# --- containers around a pickle -----------------------------------------------------------------------------------
def container(data, storages=None, **others):
    """A zip container around a pickle."""
    return zipped([("archive/data.pkl", data), *((f"archive/data/{key}", memory) for key, memory in (storages or {"0": b"\0" * 16}).items()),
                   *((f"archive/{name}", content) for name, content in others.items())])


def zipped(entries, kind=zipfile.ZIP_STORED):
    """A zip of (name, bytes)."""
    buffer = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(buffer, "w", kind) as archive:
        warnings.simplefilter("ignore")             # of two entries of a name
        for name, content in entries:
            archive.writestr(name, content)
    return buffer.getvalue()


def stream(data, tail=b""):
    """The format before 1.6 around a pickle."""
    return b"".join(pickle.dumps(value, 2) for value in (MAGIC, PROTOCOL, SYS_INFO)) + data + tail


def unzipped(data):
    """(name, bytes) of the entries."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return [(entry.filename, archive.read(entry)) for entry in archive.infolist()]


# --- changes ------------------------------------------------------------------------------------------------------
STORAGE = b"(X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpuK\x04tQ"
BUILD = b"ctorch._utils\n_rebuild_tensor_v2\n("
HOOKS = b"\x89ccollections\nOrderedDict\n)R"
OPCODES = [bytes((i,)) for i in range(256)]
PIECES = [b"K\x04", b"X\x01\x00\x00\x000", b"}", b"]", b")", b"(", b"t", b"R", b"Q", b"b", b"\x81", b"\x85", b"\x86", b"u", b"e", b"s", b"a", b"2", b"0", b"q\x00", b"h\x00",
          b"\x8f", b"\x90", b"\x91", b"N", b"\x88", BUILD, STORAGE, HOOKS, b"ccollections\nOrderedDict\n", b"ctorch\nSize\n", b"cnumpy\ndtype\n", b"c__builtin__\nset\n",
          b"ctorch._utils\n_rebuild_parameter\n", b"ctorch._tensor\n_rebuild_from_type_v2\n", b"ctorch\nTensor\n", b"ctorch\nfloat32\n", b"cnumpy.core.multiarray\nscalar\n",
          b"cnumpy.core.multiarray\n_reconstruct\n", b"cnumpy\nndarray\n", b"C\x04abcd", b"c__builtin__\nslice\n", b"ctorch._utils\n_rebuild_sparse_tensor\n",
          b"ctorch.serialization\n_get_layout\nX\x10\x00\x00\x00torch.sparse_coo\x85R", b"ctorch\nLongStorage\n", b"ctorch\nBoolStorage\n",
          b"ctorch._utils\n_rebuild_tensor_v3\n(", b"ccollections\ndefaultdict\n", b"ctorch\ndevice\n"]
NUMBERS = (0, 1, 2, 3, 7, 127, 128, 255, 256, 65535, 1 << 20, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 32, 1 << 40, 1 << 59, 1 << 60, (1 << 62) - 1, 1 << 62,
           (1 << 63) - 1, 1 << 63, (1 << 64) - 1, 1 << 64, 1 << 80)


def poke(data, changes):
    """Bytes with each of `changes`, (place, kind, value), made to them."""
    data = bytearray(data)
    for at, kind, value in changes:
        at %= len(data) or 1
        if kind == 0:
            data[at:at + 1] = bytes((value & 255,))
        elif kind == 1:
            del data[at:at + value % 64]
        elif kind == 2:
            data[at:at] = struct.pack("<I", value)
        else:
            data[at:at + 4] = data[value % max(len(data), 1):][:4]
    return bytes(data)


def any_number(rng):
    return rng.choice((1, -1)) * max(rng.choice(NUMBERS) + rng.choice((0, 0, -1, 1)), 0)


def pickled_number(number):
    return pickle.dumps(number, 2)[2:-1]


def instructions(data):
    """The instructions of a pickle, each as bytes."""
    places = [at for _, _, at in pickletools.genops(data)]
    return [data[first:last] for first, last in itertools.pairwise((*places, len(data)))]


def change_pickle(rng, data, others):
    """A pickle with some instructions deleted, doubled, moved, taken from another one, or given other numbers."""
    try:
        code = instructions(data)
    except Exception:
        return poke(data, random_pokes(rng))
    for _ in range(rng.choice((1, 1, 2, 3, 6))):
        at, kind = rng.randrange(len(code)), rng.randrange(10)
        if kind == 0:
            del code[at:at + rng.choice((1, 1, 2, 5))]
        elif kind == 1:
            code[at:at] = code[at:at + rng.choice((1, 2, 8))]
        elif kind == 2:
            code[at:at] = [rng.choice(PIECES)]
        elif kind == 3:
            code[at:at] = [rng.choice(OPCODES)]
        elif kind == 4:
            other = rng.choice(others)
            first = rng.randrange(len(other))
            code[at:at + rng.choice((0, 1))] = other[first:first + rng.choice((1, 3, 12))]
        elif kind == 5:
            code[at:at] = [rng.choice(PIECES)] * rng.choice((10, 100, 5000))
        elif kind == 6:
            code[at] = poke(code[at], random_pokes(rng)[:1])
        elif kind == 7:
            code[at] = pickled_number(any_number(rng))
        else:
            numbers = [i for i, step in enumerate(code) if step[:1] in b"KMJ\x8a"]
            if numbers:
                code[rng.choice(numbers)] = pickled_number(any_number(rng))
        if not code:
            code = [b"."]
    return b"".join(code)


def random_pokes(rng):
    return [(rng.randrange(1 << 16), rng.randrange(4), rng.choice((rng.getrandbits(32), rng.randrange(256)))) for _ in range(rng.randint(1, 6))]


def change_directory(rng, data):
    """A zip with fields of its headers set to other numbers."""
    data = bytearray(data)
    signatures = {b"PK\1\2": ((8, "H"), (10, "H"), (16, "I"), (20, "I"), (24, "I"), (28, "H"), (30, "H"), (32, "H"), (34, "H"), (42, "I")),
                  b"PK\3\4": ((6, "H"), (8, "H"), (14, "I"), (18, "I"), (22, "I"), (26, "H"), (28, "H")),
                  b"PK\5\6": ((4, "H"), (8, "H"), (10, "H"), (12, "I"), (16, "I"), (20, "H"))}
    for _ in range(rng.choice((1, 1, 2, 4))):
        signature = rng.choice(list(signatures))
        places = [at for at in range(len(data) - 22) if data.startswith(signature, at)] or [len(data) - 22] * data.startswith(signature, len(data) - 22)
        if places:
            place, form = rng.choice(signatures[signature])
            place += rng.choice(places)
            size = struct.calcsize(form)
            value = any_number(rng) if rng.random() < 0.7 else int.from_bytes(data[place:place + size], "little") + rng.randint(-64, 64)
            if place + size <= len(data):
                data[place:place + size] = struct.pack("<" + form, value & (1 << 8 * size) - 1)
    return bytes(data)


def change_entries(rng, entries):
    """A zip's entries doubled, left out, renamed, cut, or compressed."""
    entries = list(entries)
    for _ in range(rng.choice((1, 1, 2))):
        if not entries:
            break
        at, kind = rng.randrange(len(entries)), rng.randrange(5)
        name, content = entries[at]
        if kind == 0:
            entries.append((name, content))
        elif kind == 1:
            del entries[at]
        elif kind == 2:
            entries[at] = rng.choice(("archive/data.pkl", "../" + name, "/" + name, name + "\0x", "archive/byteorder", "x/data.pkl", name.upper(), "é/data.pkl", "x/")), content
        elif kind == 3:
            entries[at] = name, content[:rng.randrange(len(content) + 1)]
        else:
            entries[at] = name, content + bytes(rng.randrange(256) for _ in range(rng.choice((1, 4, 64))))
    return zipped(entries, rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)))


class Changes:
    """Files to be read: the n-th is a function of the seed and n alone."""

    def __init__(self, files, seed):
        self.files, self.seed = files, seed
        self.entries = {i: unzipped(data) for i, data in enumerate(files) if data.startswith(b"PK")}
        pickles = [content for entries in self.entries.values() for name, content in entries if name.endswith("data.pkl")]
        self.code = [instructions(data) for data in pickles]
        self.pickles = pickles
        self.tar = next(data for data in files if data[257:262] == b"ustar")

    def __call__(self, n):
        rng = random.Random(self.seed << 40 | n)
        kind = rng.randrange(20)
        if kind == 19:
            return self.changed_tar(rng)
        kind //= 2
        if kind < 4:                                                  # a container whose pickle is changed, with right checksums
            at = rng.choice(list(self.entries))
            return zipped([(name, change_pickle(rng, content, self.code) if name.endswith("data.pkl") else content) for name, content in self.entries[at]])
        if kind == 4:
            return change_directory(rng, self.files[rng.choice(list(self.entries))])
        if kind == 5:
            return change_entries(rng, self.entries[rng.choice(list(self.entries))])
        if kind == 6:                                                 # a stream whose pickles are changed
            return self.changed_stream(rng)
        if kind == 7:
            data = b"\x80\x02" + b"".join(rng.choice(PIECES) if rng.random() < 0.8 else rng.choice(OPCODES) for _ in range(rng.randrange(60))) + b"."
            return (container if rng.random() < 0.5 else stream)(data)
        data = poke(rng.choice(self.files), random_pokes(rng))
        return data[:rng.randrange(len(data) + 1)] if rng.random() < 0.1 else data

    def changed_tar(self, rng):
        """A tar of PyTorch before 0.2 in one of whose files an instruction is changed."""
        source, target = tarfile.open(fileobj=io.BytesIO(self.tar)), io.BytesIO()
        members = {member.name: source.extractfile(member).read() for member in source.getmembers()}
        name = rng.choice(sorted(members))
        data = members[name]
        stops = [at + 1 for at in range(len(data)) if data[at:at + 1] == b"."]           # some of which end a pickle
        first, last = sorted(rng.choice([0, *stops]) for _ in range(2)) if rng.random() < 0.7 else (0, len(data))
        members[name] = data[:first] + (change_pickle(rng, data[first:last], self.code) if first < last else poke(data[first:], random_pokes(rng))) + data[last:]
        with tarfile.open(fileobj=target, mode="w") as tar:
            for name, data in members.items():
                info = tarfile.TarInfo(name)
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))
        return target.getvalue()

    def changed_stream(self, rng):
        data = rng.choice([data for data in self.files if data.startswith(b"\x80")])
        pieces, at = [], 0
        for _ in range(5):                                            # magic number, protocol, system, object, keys
            end = next(at + place + 1 for code, _, place in pickletools.genops(data[at:]) if code.name == "STOP")
            pieces.append(data[at:end])
            at = end
        which = rng.choice((0, 1, 2, 3, 3, 3, 3, 4, 5))
        tail = data[at:]
        if which == 5:
            tail = poke(tail, random_pokes(rng))
        else:
            pieces[which] = change_pickle(rng, pieces[which], self.code)
        return b"".join((*pieces, tail))


# --- reading ------------------------------------------------------------------------------------------------------
REFUSED = (RuntimeError, pickle.UnpicklingError)                      # NotImplementedError is a RuntimeError
UNEXPECTED = (RecursionError,)                                        # … and so is this


def touch(obj):
    """Read what was loaded: of the first thousand things in it the first two million elements."""
    parts, n, elements = [obj], 0, 0
    while parts and n < 1000:
        part = parts.pop()
        n += 1
        if isinstance(part, torch.Tensor):
            elements += part.numel()
            if elements < 1 << 21:
                (part._values() if part.is_sparse else part).sum() if part.dtype is not torch.bool else part.any()
        elif isinstance(part, np.ndarray):
            part.tobytes()
        elif isinstance(part, dict):
            parts.extend(part.values())
        elif isinstance(part, (list, tuple, set, frozenset)):
            parts.extend(part)


def load_mapped(data):
    with tempfile.NamedTemporaryFile(dir=SHM) as file:
        file.write(data)
        file.flush()
        return torch.load(file.name, mmap=True)


def list_contents(data):
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
        print_listing(io.BytesIO(data))


SHM = "/dev/shm" if os.path.isdir("/dev/shm") else None
READERS = {
    "load": lambda data: torch.load(io.BytesIO(data)), "elsewhere": lambda data: torch.load(io.BytesIO(data), map_location="cpu", encoding="latin1"),
    "mapped": load_mapped, "names": lambda data: get_unsafe_globals_in_checkpoint(io.BytesIO(data)), "listing": list_contents,
    "safetensors": safetensors.load,
}


def read_all(data, readers=tuple(READERS)):
    """Reader -> 'read' or the class of the error that it documents. What else is raised goes on."""
    results = {}
    for name in readers:
        try:
            touch(READERS[name](data))
            results[name] = "read"
        except REFUSED as error:
            if isinstance(error, UNEXPECTED):
                raise
            results[name] = type(error).__name__
    return results


# --- the run ------------------------------------------------------------------------------------------------------
class Shared:
    """What the reading process tells the one that watches it: the number of its file, and since when it reads it."""

    def __init__(self):
        self.memory = mmap.mmap(-1, 24)

    def tell(self, n):
        self.memory[:24] = struct.pack("<qdd", n, time.monotonic(), time.process_time())

    def told(self):
        return struct.unpack("<qdd", self.memory[:24])


def cpu_time(pid):
    """Seconds that a process has run: a busy machine may let it wait for longer than a file takes."""
    if sys.platform != "linux":
        return math.inf
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def serve(changes, first, last, shared, report):
    """The reading process."""
    faulthandler.enable()
    limit_memory()
    counts = collections.Counter()
    for n in range(first, last):
        shared.tell(n)
        try:
            for reader, result in read_all(changes(n)).items():
                counts[f"{reader}: {result}"] += 1
        except BaseException:
            report(n, traceback.format_exc())
        if n % 1000 == 999:
            report(n, counts)
            counts.clear()
    report(last - 1, counts)


def run(changes, seconds, keep, most):
    """Fuzz for a time, or until `most` files were read. Returns (files read, Counter of results, number of crashers)."""
    shared, total, first, crashers = Shared(), collections.Counter(), 0, 0
    end = time.monotonic() + seconds
    while first < most and time.monotonic() < end:
        shared.tell(first)
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reading)
            with open(writing, "wb", buffering=0) as file:
                serve(changes, first, most, shared, lambda *what: pickle.dump(what, file))
            os._exit(0)
        os.close(writing)
        os.set_blocking(reading, False)
        status, received, why = None, b"", ""
        while status is None:
            time.sleep(0.2 if seconds > 60 else 0.02)
            pid, code = os.waitpid(child, os.WNOHANG)
            with_data = True
            while with_data:
                try:
                    data = os.read(reading, 1 << 16)
                except BlockingIOError:
                    data = b""
                received += data
                with_data = bool(data)
            if pid:
                status = code
            else:
                n, since, before = shared.told()
                if time.monotonic() - since > SECONDS and cpu_time(child) - before > SECONDS or time.monotonic() - since > 20 * SECONDS:
                    why = f"took more than {SECONDS} s"
                elif time.monotonic() > end:
                    why = "end"
                if why:
                    os.kill(child, signal.SIGKILL)
        os.close(reading)
        n = shared.told()[0]
        file = io.BytesIO(received)
        while file.tell() < len(received):
            try:
                at, what = pickle.load(file)
            except (EOFError, pickle.UnpicklingError):
                break
            if isinstance(what, str):
                crashers += 1
                keep(at, changes(at), what)
            else:
                total.update(what)
        if status and why != "end":
            crashers += 1
            keep(n, changes(n), why or f"the process ended with status {status}")
        first = n + 1
    return first, total, crashers


def limit_memory():
    if sys.platform == "linux":
        size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize() + ROOM
        resource.setrlimit(resource.RLIMIT_AS, (size, size))


def read_one(data):
    """Read one file within the limits: 0, or an exception or 1 where it isn't handled."""
    limit_memory()
    start = time.process_time()
    for reader in READERS:
        print(reader, *read_all(data, (reader,)).values(), f"{time.process_time() - start:.2f} s", flush=True)
    return int(time.process_time() - start > SECONDS)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--files", type=int, default=1 << 40, help="end after so many files")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--crashers", default="crashers", help="folder for the files that weren't handled")
    parser.add_argument("--read", metavar="FILE", help="read one file, such as a crasher, and say what came of it")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.read:
        return read_one(Path(options.read).read_bytes())
    files = [*ours(), *(theirs() if options.files > 10_000 else ())]       # importing PyTorch takes a while
    print(f"{len(files)} real files", flush=True)

    def keep(n, data, why):
        os.makedirs(options.crashers, exist_ok=True)
        path = Path(options.crashers) / f"{options.seed}_{n}"
        path.write_bytes(data)
        path.with_suffix(".txt").write_text(why)
        print(f"{path}: {why.strip().splitlines()[-1]}", flush=True)

    start = time.monotonic()
    n, results, crashers = run(Changes(files, options.seed), 60 * options.minutes, keep, options.files)
    print(f"{n} files read in {(time.monotonic() - start) / 60:.1f} minutes, {crashers} not handled")
    for what, count in sorted(results.items()):
        print(f"{count:10}  {what}")


if __name__ == "__main__":
    sys.exit(main())
