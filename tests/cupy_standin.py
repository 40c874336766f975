"""A module with CuPy's surface over NumPy: arrays of a class of their own, which know their device, and refuse to be computed
with while another device is the current one. Kernels are compiled for the host (`cuda_on_host`); cuBLAS's products are NumPy's."""
import contextlib
import ctypes
import sys
import types

import numpy as np

if sys.platform == "linux":      # elsewhere the kernels can't be run, and the backend does without them
    from cuda_on_host import RawModule  # noqa: F401 (CuPy's name)

N_DEVICES = 2
_current = [0]


class Array(np.ndarray):
    """Stands in for cupy.ndarray."""

    def __array_finalize__(self, source):
        self._on = getattr(source, "_on", _current[0])

    @property
    def device(self):
        return types.SimpleNamespace(id=self._on)

    @property
    def data(self):
        return types.SimpleNamespace(ptr=self.__array_interface__["data"][0])

    @property
    def __cuda_array_interface__(self):
        return {**self.__array_interface__, "version": 3}

    def __dlpack_device__(self):
        return 2, self._on

    def set(self, array, stream=None):
        asked.append("set")
        self.view(np.ndarray)[...] = array

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **keywords):
        arrays = [a for a in (*inputs, *(out or ())) if isinstance(a, Array)]
        for a in arrays:
            if a._on != _current[0]:
                raise RuntimeError(f"{ufunc.__name__}: the array is on device {a._on}, but device {_current[0]} is current")
        plain = [a.view(np.ndarray) if isinstance(a, Array) else a for a in inputs]
        targets = {} if out is None else {"out": tuple(a.view(np.ndarray) for a in out)}
        result = getattr(ufunc, method)(*plain, **targets, **keywords)
        return out[0] if out is not None else _wrap(result)

    def __array_function__(self, function, kinds, args, keywords):
        return _wrap(super().__array_function__(function, kinds, args, keywords))


def _wrap(result):
    if isinstance(result, (tuple, list)):
        return tuple(map(_wrap, result))
    return np.asarray(result).view(Array) if isinstance(result, (np.ndarray, np.generic)) else result


class _Function:
    """One of NumPy's functions with results of our class."""

    def __init__(self, function):
        self.function = function
        self.__name__ = function.__name__
        if hasattr(function, "at"):
            self.at = function.at
        if hasattr(function, "types"):
            self.types = function.types

    def __call__(self, *args, **keywords):
        with np.errstate(all="ignore"):
            result = self.function(*args, **keywords)
        return _wrap(result) if keywords.get("out") is None else keywords["out"]


class Device:
    """Stands in for cupy.cuda.Device."""

    def __init__(self, id=None):
        self.id = _current[0] if id is None else id

    def __enter__(self):
        self.before, _current[0] = _current[0], self.id

    def __exit__(self, *exc):
        _current[0] = self.before

    def synchronize(self):
        asked.append(("synchronize", self.id))


asked = []      # what was asked of streams, events, devices


class Stream:
    """Stands in for cupy.cuda.Stream: work is done at once, and kept in `given` where a graph is captured."""

    null = None
    done = True

    def __init__(self, null=False, non_blocking=False, priority=None):
        self.device_id, self.priority, self.ptr = _current[0], priority or 0, 0 if null else id(self)

    def synchronize(self):
        asked.append(("stream", self))

    def wait_event(self, event):
        asked.append(("wait", self, event))

    def begin_capture(self):
        asked.append(("capture", self))

    def end_capture(self):
        asked.append(("captured", self))
        return Graph()

    def use(self):
        asked.append(("use", self))

    def __enter__(self):
        _streams.append(self)
        return self

    def __exit__(self, *exc):
        _streams.pop()


class ExternalStream(Stream):
    """Stands in for cupy.cuda.ExternalStream."""

    def __init__(self, ptr, device_id=-1):
        super().__init__()
        self.ptr = ptr


class Graph:
    """Stands in for cupy.cuda.Graph."""

    def launch(self, stream=None):
        asked.append(("launch", self))


class Event:
    """Stands in for cupy.cuda.Event."""

    done = True

    def __init__(self, block=False, disable_timing=False):
        self.timed = not disable_timing

    def record(self, stream=None):
        asked.append(("record", self, stream))

    def synchronize(self):
        asked.append(("event", self))


class MemoryPool:
    """Stands in for cupy.cuda.MemoryPool, which has `limit` bytes to give; a block is in use as long as what `malloc` gave."""

    limit = 1 << 20

    def __init__(self):
        self.used = 0

    def malloc(self, size):
        if self.used + size > self.limit:
            raise OutOfMemoryError(size)
        self.used += size
        return types.SimpleNamespace(device_id=_current[0])

    def used_bytes(self):
        return 100 + _current[0] + self.used

    def total_bytes(self):
        return 200 + self.used

    def free_all_blocks(self):
        asked.append("free")

    def set_limit(self, *, fraction):
        asked.append(("limit", fraction))


class OutOfMemoryError(MemoryError):
    """Stands in for cupy.cuda.memory.OutOfMemoryError."""

    def __init__(self, size):
        super().__init__(f"Out of memory allocating {size} bytes")
        self._size = size


# cuBLAS's numbers for types -> NumPy's
_DATA = {0: "float32", 1: "float64", 2: "float16", 4: "complex64", 5: "complex128", 14: "bfloat16"}
products = []      # the compute types of the products asked for


def _matrices(address, dtype, rows, columns, leading, stride, count):
    """Column-major matrices in memory."""
    size = np.dtype(dtype).itemsize
    length = (count - 1) * stride + (columns - 1) * leading + rows
    memory = np.frombuffer((ctypes.c_char * (length * size)).from_address(address), dtype)
    return np.lib.stride_tricks.as_strided(memory, (count, rows, columns), (stride * size, size, leading * size))


def _gemm(handle, transa, transb, m, n, k, alpha, a, a_type, lda, stride_a, b, b_type, ldb, stride_b, beta, c, c_type, ldc, stride_c, count,
          compute_type, algorithm):
    import ml_dtypes
    assert a_type == b_type == c_type and lda >= (k if transa else m) and ldb >= (n if transb else k) and ldc >= m
    dtype = ml_dtypes.bfloat16 if _DATA[a_type] == "bfloat16" else np.dtype(_DATA[a_type])
    wide = np.dtype(np.float32 if np.dtype(dtype).itemsize == 2 else dtype)
    products.append(compute_type)
    left = _matrices(a, dtype, *((k, m) if transa else (m, k)), lda, stride_a, count).astype(wide)
    right = _matrices(b, dtype, *((n, k) if transb else (k, n)), ldb, stride_b, count).astype(wide)
    target = _matrices(c, dtype, m, n, ldc, stride_c, count)
    factor, keep = (np.frombuffer((ctypes.c_char * wide.itemsize).from_address(p), wide)[0] for p in (alpha, beta))
    product = factor * ((left.swapaxes(1, 2) if transa else left) @ (right.swapaxes(1, 2) if transb else right))
    target[...] = (product + keep * target.astype(wide) if keep else product).astype(dtype)


class PinnedMemoryPointer(bytearray):
    """Stands in for cupy.cuda.PinnedMemoryPointer."""


def _alloc_pinned_memory(size):
    asked.append(("pinned", size))
    return PinnedMemoryPointer(size)


allocator = [None]      # what arrays' memory is asked of; the arrays here don't
Stream.null = Stream(null=True)
_streams = [Stream.null]
_pool = MemoryPool()
_runtime = types.SimpleNamespace(
    getDeviceCount=lambda: N_DEVICES, getDevice=lambda: _current[0], setDevice=lambda i: _current.__setitem__(0, i),
    getDeviceProperties=lambda i: {"name": b"Stand-in", "major": 9, "minor": i, "totalGlobalMem": 1 << 30, "multiProcessorCount": 4, "uuid": bytes(range(16))},
    deviceCanAccessPeer=lambda i, j: int(i != j), memGetInfo=lambda: (1 << 29, 1 << 30))
cuda = types.SimpleNamespace(
    runtime=_runtime, Device=Device, Stream=Stream, ExternalStream=ExternalStream, Event=Event, get_current_stream=lambda: _streams[-1],
    get_elapsed_time=lambda start, end: 1.5, MemoryPool=MemoryPool, using_allocator=lambda allocate: contextlib.nullcontext(),
    set_allocator=lambda function: allocator.__setitem__(0, function), alloc_pinned_memory=_alloc_pinned_memory, PinnedMemoryPointer=PinnedMemoryPointer, get_cublas_handle=lambda: 1,
    cublas=types.SimpleNamespace(gemmStridedBatchedEx=_gemm, setMathMode=lambda handle, mode: asked.append(("math", mode))),
    nvtx=types.SimpleNamespace(Mark=lambda text: asked.append(("mark", text)), RangePush=lambda text: asked.append(("push", text)),
                               RangePop=lambda: asked.append("pop")))

ndarray = Array
__version__ = "14.2.0"


def asnumpy(array, stream=None, order="C", out=None, *, blocking=True):
    host = array.view(np.ndarray)
    if out is None:
        return np.array(host)
    out[...] = host
    return out


def argsort(array, axis=-1, kind=None):
    return _wrap(np.argsort(array.view(np.ndarray), axis=axis, kind=kind))


def asarray(array, dtype=None):
    """What lies on a device stays there; the rest goes to the current one."""
    if hasattr(array, "__cuda_array_interface__") and not isinstance(array, np.ndarray):
        array = np.asarray(types.SimpleNamespace(__array_interface__=array.__cuda_array_interface__, owner=array))
        return array.view(Array)
    return _wrap(np.array(array, dtype, copy=not isinstance(array, Array) or None))


def from_dlpack(owner):
    asked.append("dlpack")
    return np.from_dlpack(types.SimpleNamespace(__dlpack__=owner.__dlpack__, __dlpack_device__=lambda: (1, 0))).view(Array)


def get_default_memory_pool():
    return _pool


lib = types.SimpleNamespace(stride_tricks=types.SimpleNamespace(
    as_strided=lambda x, shape, strides: _strided(x, shape, strides)))


def _strided(x, shape, strides):
    with contextlib.nullcontext() if x._on == _current[0] else Device(x._on):
        return np.lib.stride_tricks.as_strided(x.view(np.ndarray), shape, strides).view(Array)


class _Linalg:
    """numpy.linalg with results of our class."""

    def __getattr__(self, name):
        found = getattr(np.linalg, name)
        return lambda a, *args, **keywords: _wrap(found(a.view(np.ndarray), *args, **keywords))


linalg = _Linalg()
MISSING = ("astype", "concat", "permute_dims", "cumulative_sum", "cumulative_prod", "pow", "asin", "acos", "atan", "bitwise_invert", "bool")


def __getattr__(name):
    if name.startswith("__") or name in MISSING:      # names that some of CuPy's versions lack
        raise AttributeError(name)
    found = getattr(np, name)
    return found if isinstance(found, type) or not callable(found) else _Function(found)
