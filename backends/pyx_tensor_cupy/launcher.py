"""Compiles the kernels under kernels/ on first use, and launches them."""
import functools
import math
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).with_name("kernels")
FLOATING = ("float32", "float64", "float16", "bfloat16")
THREADS = 256
MOST_BLOCKS = 1 << 13      # a loop over the elements does the rest


@functools.lru_cache(maxsize=None)
def source(file):
    """The text of a kernel file, with what all of them begin with."""
    return f'{(FOLDER / "common.cuh").read_text()}\n#line 1 "{file}.cu"\n{(FOLDER / file).with_suffix(".cu").read_text()}'


def files():
    """Names of the kernel files."""
    return sorted(path.stem for path in FOLDER.glob("*.cu"))


def options(element):
    """How a file is compiled for an element type."""
    return "--std=c++17", f"-DELEMENT_{element}"


class Launcher:
    """Calls kernels by file and name, on the device that is current.

    Arguments are arrays, None for a null pointer, and NumPy's scalars of the parameter's type; `number` makes those of a kernel's A.
    """

    def __init__(self, xp):
        self.xp = xp
        self._functions = {}      # (file, name, element, device) -> compiled function

    def __call__(self, file, name, element, grid, block, *arguments):
        key = file, name, element, self.xp.cuda.runtime.getDevice()
        function = self._functions.get(key) or self._compile(*key)
        function(grid, block, arguments)

    def each(self, file, name, element, count, *arguments):
        """One thread for each of `count` elements, or for as many as a device has use for."""
        self(file, name, element, (blocks_for(count),), (THREADS,), *arguments)

    def _compile(self, file, name, element, device):
        modules = self._functions
        module = modules.get((file, element, device))
        if module is None:
            module = modules[file, element, device] = self.xp.RawModule(code=source(file), options=options(element))
        function = self._functions[file, name, element, device] = module.get_function(name)
        return function


def blocks_for(count, threads=THREADS, most=MOST_BLOCKS):
    """How many blocks `count` elements get."""
    return max(1, min(most, math.ceil(count / threads)))


def threads_for_row(n):
    """Threads of the block that has a row of n elements: whole warps, a few elements for each thread."""
    return min(1024, max(32, 1 << max(0, (n - 1) // 4).bit_length()))


def number(element, value):
    """A plain number as a kernel's A."""
    return (np.float64 if element == "float64" else np.float32)(value)
