"""CupyBackend: the array-module backend over CuPy, with what CUDA does differently."""
import functools
import inspect

import numpy as np

from pyx_tensor.core.array_module import CATEGORY, ArrayModuleBackend, module_dtypes
from pyx_tensor.core.protocol import permissions

from .cudnn import Library
from .entries import ENTRIES, bind_entries
from .launcher import Launcher
from .runtime import RuntimeMethods
from .scatter import any_outside

# Our entry: the name in cupyx.scipy.special.
SPECIAL = {"erf": "erf", "erfc": "erfc", "erfinv": "erfinv", "lgamma": "gammaln", "digamma": "digamma", "sigmoid": "expit",
           **{name: name for name in ("i0", "i0e", "i1", "i1e", "erfcx", "log_ndtr", "ndtri", "gammainc", "gammaincc", "zeta")}}
# What a backend has beside entries that work on arrays.
HELPERS = {"address", "arange_like", "as_strided", "bind", "create", "describe", "device_count", "dtype_name", "empty", "from_numpy",
           "full", "index_of", "offset", "on_host", "place_of", "scalar_like", "strides", "to_numpy", "number", "deterministic", "launch", "like"}
INSTALL = "pip install 'pyx-tensor[cuda12]' for CUDA 12, or 'pyx-tensor[cuda13]' for CUDA 13"
CHARS = {"f": "eEfd", "c": "FD"}      # of floating and complex types, as CuPy's functions list them; E is bfloat16
MOST_NUMBERS = 256
FIRST_WITH_BFLOAT16 = 14      # of CuPy's major versions


def load_cupy():
    """The modules cupy and cupyx.scipy.special.

    Raises:
        ImportError: CuPy isn't installed, or can't load CUDA's libraries. RuntimeError: there is no driver or no device, or they don't fit CuPy.
    """
    try:
        import cupy
    except ImportError as error:
        if getattr(error, "name", None) == "cupy":
            raise ImportError(f"CuPy isn't installed ({error}); {INSTALL}") from error
        raise ImportError(f"CuPy is installed, but can't be imported: {error}; install the one of this machine's CUDA: {INSTALL}") from error
    runtime = cupy.cuda.runtime
    try:
        count = runtime.getDeviceCount()
    except runtime.CUDARuntimeError as error:
        raise RuntimeError(f"CuPy {cupy.__version__} finds no usable CUDA driver or device: {error}{_versions(runtime)}") from error
    if not count:
        raise RuntimeError(f"CuPy {cupy.__version__} finds no CUDA device")
    import cupyx.scipy.special
    return cupy, cupyx.scipy.special


def _versions(runtime):
    """What a mismatch of driver and CuPy is about, where both can be asked."""
    try:
        built, driver = runtime.runtimeGetVersion(), runtime.driverGetVersion()
    except Exception:      # the question is what is wrong: no answer adds nothing
        return ""
    if not driver:
        return "; no NVIDIA driver is loaded"
    known = [f"{v // 1000}.{v % 1000 // 10}" for v in (built, driver)]
    return f"; it is built for CUDA {known[0]}, the driver serves CUDA {known[1]}" + (f": update the driver, or {INSTALL}" if built > driver else "")


class CupyBackend(RuntimeMethods, ArrayModuleBackend):
    """Arrays are `cupy.ndarray`; each entry runs on the device of its arrays, whichever device is the current one.

    Args:
        xp: a module with CuPy's surface (`cuda` included); CuPy itself by default.
        special: its module of special functions, if any.
    """

    host_memory = False

    def __init__(self, xp=None, special=None):
        if xp is None:
            xp, special = load_cupy()
        self.cuda = xp.cuda
        super().__init__("cuda", xp, dtypes=_dtypes(xp), devices=int(xp.cuda.runtime.getDeviceCount()), strided=True, views=True, mutable=True, out=True)
        self.start_runtime()
        for entry, name in SPECIAL.items():
            if hasattr(special, name):
                self.bind(entry, "f", getattr(special, name))
        self.launch = Launcher(xp)
        self.cudnn = Library(self)
        self._numbers = {}      # (number, dtype, device, stream) -> 0-dim array
        self.kernels = hasattr(xp, "RawModule")
        if self.kernels:
            bind_entries(self)
        if self.device_count() > 1:
            self._follow_arrays()

    # -- devices
    def create(self, function, *args, index=0, **keywords):
        with self.cuda.Device(index):
            return function(*args, **keywords)

    def index_of(self, array):
        return int(array.device.id)

    def _follow_arrays(self):
        """Let every entry run on the device of its first array; needed only where there are several devices."""
        names = {name for name, _ in inspect.getmembers(self, inspect.isroutine) if not name.startswith("_")} | {n for n in ENTRIES if hasattr(self, n)}
        for name in names - HELPERS - set(dir(RuntimeMethods)):
            setattr(self, name, self._on_device_of_arrays(getattr(self, name)))

    def _on_device_of_arrays(self, method):
        @functools.wraps(method)
        def call(first, *args, **keywords):
            array = first[0] if isinstance(first, (list, tuple)) else first
            if array is None or not isinstance(array, self.array_type):
                return method(first, *args, **keywords)
            with self.cuda.Device(self.index_of(array)):
                return method(first, *args, **keywords)
        return call

    def number(self, value, dtype, index=0):
        """Kept for the next use on the same stream. A graph's own are made by its replays only, and one of these may be dropped before a graph is."""
        if self.capturing() or index != self.current_device():
            return self.full((), value, dtype, index)
        key = repr(value), dtype, index, self.cuda.get_current_stream().ptr
        found = self._numbers.get(key)
        if found is None:
            if len(self._numbers) >= MOST_NUMBERS:
                self._numbers.clear()
            found = self._numbers[key] = self.full((), value, dtype, index)
        return found

    # -- what the user asks for
    def deterministic(self):
        """Must results have the same bits in every run?"""
        return permissions.deterministic

    # -- pointwise entries
    def bind(self, entry, accepts, function):
        """As for any module; but arrays of the floating and complex types that one of CuPy's functions knows go there at once. It computes half
        types in float32 and rounds once."""
        super().bind(entry, accepts, function)
        general = self.__dict__.get(entry)
        direct = _known_types(function, "fc" if "c" in accepts else "f" if "f" in accepts else "")
        if general is None or not direct:
            return

        def call(*arrays, out=None):
            if arrays[0].dtype.char not in direct:
                return general(*arrays, out=out)
            return function(*arrays) if out is None else function(*arrays, out=out)
        call.__name__ = entry
        setattr(self, entry, call)

    # -- arrays
    def to_numpy(self, array):
        self._refuse_in_graph("values are brought to the host")
        return self.xp.asnumpy(array)

    def from_numpy(self, array, index=0):
        self._refuse_in_graph("values come from the host")
        return self.create(self.xp.asarray, array, index=index)

    def address(self, array):
        return int(array.data.ptr)

    def like(self, result, array):
        """A result in the dtype of an array."""
        return result if result.dtype == array.dtype else self.cast(result, array.dtype)

    def stable_order(self, a, dim):
        return self.xp.argsort(a, axis=dim, kind="stable")

    def _check_within(self, index, dim, size, lowest=0, error=RuntimeError):
        """Not asked while a graph is captured: it can't wait for the answer. CuPy and our kernels keep within their arrays anyway."""
        if self.capturing() or self.kernels and self.dtype_name(index) == "int64" and not any_outside(self, index, lowest, size):
            return
        super()._check_within(index, dim, size, lowest, error)

    def _flat_places(self, shape, dim, index):
        """Flat places in an array of `shape` of the elements that `index` names along dim."""
        places, step = None, 1
        for d in range(len(shape) - 1, -1, -1):
            along = index if d == dim else self.xp.reshape(self.arange_like(index.shape[d], index), tuple(-1 if e == d else 1 for e in range(len(shape))))
            places = along * step if places is None else places + along * step
            step *= shape[d]
        return self.xp.ascontiguousarray(self.xp.reshape(self.xp.broadcast_to(places, index.shape), (-1,)))

    def _accumulator(self, name):
        """CUDA's atomic additions know few integer types; uint64 holds all, as overflow wraps."""
        return "uint64" if CATEGORY[name] == "i" else super()._accumulator(name)


def _known_types(function, categories):
    """Characters of the types that a function takes as they are, with results of the same type, of real parts, or bool."""
    known = set()
    for kind in getattr(function, "types", ()):
        given, result = kind.split("->")
        char = given[0]
        if set(given) == {char} and result in (char, char.lower(), "?") and any(char in CHARS[c] for c in categories):
            known.add(char)
    return "".join(sorted(known))


def _dtypes(xp):
    """The module's dtypes, and bfloat16 where CuPy computes with it."""
    found = module_dtypes(xp)
    major = str(getattr(xp, "__version__", "0")).split(".")[0]
    if major.isdigit() and int(major) >= FIRST_WITH_BFLOAT16:
        import ml_dtypes
        found["bfloat16"] = np.dtype(ml_dtypes.bfloat16)
    return found
