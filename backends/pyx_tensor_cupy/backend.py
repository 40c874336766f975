"""CupyBackend: the array-module backend over CuPy, with what CUDA does differently."""
import functools
import inspect

from pyx_tensor.core.array_module import CATEGORY, ArrayModuleBackend
from .runtime import RuntimeMethods

# Our entry: the name in cupyx.scipy.special.
SPECIAL = {"erf": "erf", "erfc": "erfc", "erfinv": "erfinv", "lgamma": "gammaln", "digamma": "digamma", "sigmoid": "expit",
           **{name: name for name in ("i0", "i0e", "i1", "i1e", "erfcx", "log_ndtr", "ndtri", "gammainc", "gammaincc", "zeta")}}
# What a backend has beside entries that work on arrays.
HELPERS = {"address", "arange_like", "as_strided", "bind", "create", "describe", "device_count", "dtype_name", "empty", "from_numpy",
           "full", "index_of", "offset", "on_host", "place_of", "scalar_like", "strides", "to_numpy"}
INSTALL = "pip install 'pyx-tensor[cuda12]' for CUDA 12, or 'pyx-tensor[cuda13]' for CUDA 13"


def load_cupy():
    """The modules cupy and cupyx.scipy.special.

    Raises:
        ImportError: CuPy isn't installed. RuntimeError: there is no driver or no device.
    """
    try:
        import cupy
    except ImportError as error:
        raise ImportError(f"CuPy isn't installed ({error}); {INSTALL}") from error
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise RuntimeError(f"CuPy {cupy.__version__} finds no usable CUDA driver or device: {error}") from error
    if not count:
        raise RuntimeError(f"CuPy {cupy.__version__} finds no CUDA device")
    import cupyx.scipy.special
    return cupy, cupyx.scipy.special


class CupyBackend(RuntimeMethods, ArrayModuleBackend):
    """Arrays are `cupy.ndarray`; each entry runs on the device of its arrays, whichever device is the current one.

    Args:
        xp: a module with CuPy's surface (`cuda` included); CuPy itself by default.
        special: its module of special functions, if any.
    """

    def __init__(self, xp=None, special=None):
        if xp is None:
            xp, special = load_cupy()
        self.cuda = xp.cuda
        super().__init__("cuda", xp, devices=int(xp.cuda.runtime.getDeviceCount()), strided=True, views=True, mutable=True, out=True)
        for entry, name in SPECIAL.items():
            if hasattr(special, name):
                self.bind(entry, "f", getattr(special, name))
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
        names = {name for name, _ in inspect.getmembers(self, inspect.isroutine) if not name.startswith("_")}
        for name in names - HELPERS - set(dir(RuntimeMethods)):
            setattr(self, name, self._on_device_of_arrays(getattr(self, name)))

    def _on_device_of_arrays(self, method):
        @functools.wraps(method)
        def call(first, *args, **keywords):
            array = first[0] if isinstance(first, (list, tuple)) else first
            with self.cuda.Device(self.index_of(array)):
                return method(first, *args, **keywords)
        return call

    # -- arrays
    def to_numpy(self, array):
        return self.xp.asnumpy(array)

    def address(self, array):
        return int(array.data.ptr)

    def stable_order(self, a, dim):
        return self.xp.argsort(a, axis=dim, kind="stable")

    def _accumulator(self, name):
        """CUDA's atomic additions know few integer types; uint64 holds all, as overflow wraps."""
        return "uint64" if CATEGORY[name] == "i" else super()._accumulator(name)
