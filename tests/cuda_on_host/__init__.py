"""Compiles CUDA kernels for the host with the C++ compiler and runs them: RawModule and RawKernel as CuPy's are called."""
import ctypes
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

import numpy as np

SHIM = pathlib.Path(__file__).with_name("shim.h")
REFUSALS = {1: "threads wait for others that never come", 2: "the grid or block isn't one that CUDA takes", 3: "wrong number of arguments"}
ARGUMENTS = "const unsigned* grid, const unsigned* size, int backwards, void** arguments, int given, const int* bytes"
CACHE = pathlib.Path(tempfile.gettempdir()) / f"cuda_on_host_{os.getuid()}"

backwards = [False]      # the order of threads and blocks
launched = []            # names of the kernels run


def compiler():
    """The C++ compiler; the kernels' tests need one, as building the package does."""
    found = os.environ.get("CXX") or shutil.which("g++") or shutil.which("c++")
    assert found, "no C++ compiler: the tests of CUDA kernels need one"
    return found


def _run(*command, **keywords):
    done = subprocess.run(command, capture_output=True, text=True, **keywords)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return done.stdout


def build(code, options):
    """The shared library of a kernel source, compiled once for each text and options."""
    flags = ["-std=c++17", "-O1", "-w", "-fPIC", "-U_FORTIFY_SOURCE", "-fno-gnu-unique", "-Wl,-Bsymbolic", "-ffp-contract=off", *[o for o in options if o.startswith("-D")]]
    key = hashlib.sha256("\0".join([code, SHIM.read_text(), *flags]).encode()).hexdigest()[:24]
    library = CACHE / f"{key}.so"
    if not library.exists():
        CACHE.mkdir(mode=0o700, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=CACHE) as folder:
            source = pathlib.Path(folder, "kernels.cpp")
            source.write_text(f'#include "{SHIM}"\n{code}')
            text = _run(compiler(), *flags, "-E", "-P", str(source))
            names = re.findall(r'extern "C" __attribute__\(\(used\)\) void (\w+)\(', text)
            calls = [f'extern "C" int call_{name}({ARGUMENTS}) {{ return host::invoke({name}, grid, size, backwards, arguments, given, bytes); }}'
                     for name in names]
            source.write_text("\n".join([f'#include "{SHIM}"', code, *calls, ""]))
            _run(compiler(), *flags, "-shared", "-o", f"{folder}/kernels.so", str(source))
            os.replace(f"{folder}/kernels.so", library)
    return ctypes.CDLL(str(library))


class RawModule:
    """Stands in for cupy.RawModule."""

    def __init__(self, *, code, options=(), backend="nvrtc"):
        self.library = build(code, options)

    def get_function(self, name):
        return RawKernel(getattr(self.library, f"call_{name}"), name)


class RawKernel:
    """Stands in for what cupy.RawModule.get_function gives."""

    def __init__(self, call, name):
        self.call, self.name = call, name

    def __call__(self, grid, block, args, *, shared_mem=0, stream=None):
        launched.append(self.name)
        sizes = [(ctypes.c_uint * 3)(*(*dims, 1, 1)[:3]) for dims in (grid, block)]
        values = [self._bytes(value) for value in args]
        buffers = [ctypes.create_string_buffer(value, len(value)) for value in values]
        pointers = (ctypes.c_void_p * len(values))(*[ctypes.addressof(b) for b in buffers])
        lengths = (ctypes.c_int * len(values))(*map(len, values))
        refused = self.call(*sizes, int(backwards[0]), pointers, len(values), lengths)
        if refused:
            raise RuntimeError(f"{self.name}: " + REFUSALS.get(refused, f"argument {refused - 16} has the wrong size"))

    @staticmethod
    def _bytes(value):
        if value is None:
            return bytes(8)
        if isinstance(value, np.generic):
            return value.tobytes()
        if hasattr(value, "_on"):      # an array of the stand-in, not one on the host
            return np.uint64(value.__array_interface__["data"][0]).tobytes()
        raise TypeError(f"kernel arguments are arrays, None and NumPy's scalars, not {type(value).__name__}")
