"""What `pyx_tensor.cuda` asks of CUDA beside arrays: devices, streams, events, graphs and memory, by way of CuPy."""
import math
from contextlib import nullcontext

import numpy as np

from pyx_tensor.core.protocol import OutOfMemoryError

KIB, UNITS = 1024, ("bytes", "KiB", "MiB", "GiB")


def in_words(size):
    """Bytes as people read them."""
    unit = 0
    while size >= KIB and unit < len(UNITS) - 1:
        size, unit = size / KIB, unit + 1
    return f"{size:.2f} {UNITS[unit]}" if unit else f"{size} {UNITS[0]}"


class RuntimeMethods:
    """Part of CupyBackend; `self.cuda` is the module `cupy.cuda`, `self.xp` CuPy."""

    def start_runtime(self):
        """Begin to keep accounts of memory, and let CuPy's requests for it fail with our error."""
        self._accounts = {}      # device -> Account
        self._captures = 0
        self._held = []          # (event, what is kept until then)
        if hasattr(self.cuda, "set_allocator"):
            self.cuda.set_allocator(self._allocate)

    # -- devices
    def current_device(self):
        return int(self.cuda.runtime.getDevice())

    def set_device(self, index):
        """Make a device the current one of this thread."""
        self.cuda.runtime.setDevice(index)

    def synchronize(self, index=0):
        self.cuda.Device(index).synchronize()

    def device_properties(self, index):
        """The runtime's facts about a device, by name (those of cudaDeviceProp)."""
        return self.cuda.runtime.getDeviceProperties(index)

    def can_access_peer(self, index, peer):
        """Can a device read another one's memory directly?"""
        return bool(self.cuda.runtime.deviceCanAccessPeer(index, peer))

    def _on(self, index):
        return nullcontext() if index is None else self.cuda.Device(index)

    # -- streams and events, as CuPy's objects
    def new_stream(self, index, priority):
        """A new queue on a device (None: the current one)."""
        with self._on(index):
            return self.cuda.Stream(non_blocking=True, priority=priority)

    def external_stream(self, pointer, index):
        """A queue that other code made."""
        return self.cuda.ExternalStream(pointer, -1 if index is None else index)

    def current_stream(self, index):
        """The queue that work on a device goes to."""
        with self._on(index):
            return self.cuda.get_current_stream()

    def default_stream(self):
        """The queue that work goes to where no other is chosen."""
        return self.cuda.Stream.null

    def new_event(self, timing, blocking):
        """A new mark for a queue."""
        return self.cuda.Event(block=blocking, disable_timing=not timing)

    def elapsed_time(self, start, end):
        """Milliseconds between two events."""
        return self.cuda.get_elapsed_time(start, end)

    # -- graphs
    def begin_capture(self, stream):
        """Record what a queue is given from now on, instead of doing it."""
        stream.begin_capture()
        self._captures += 1
        self._held_by_graph = []

    def end_capture(self, stream):
        """The graph of what was recorded, and what it needs to live."""
        self._captures -= 1
        return stream.end_capture(), self._held_by_graph

    def capturing(self):
        """Is a graph being captured?"""
        return self._captures > 0

    def private_pool(self):
        """Memory of a graph's own."""
        return self.cuda.MemoryPool()

    def allocating_from(self, pool):
        """A context in which memory comes from a pool."""
        return self.cuda.using_allocator(pool.malloc)

    # -- memory
    def _pool(self):
        return self.xp.get_default_memory_pool()

    def _allocate(self, size):
        """What CuPy calls for the memory of arrays."""
        try:
            memory = self._pool().malloc(size)
        except MemoryError as error:
            raise OutOfMemoryError(self.memory_summary_of_failure(self.current_device(), error)) from None
        self._account(memory.device_id).grow(size)
        return memory

    def _account(self, index):
        account = self._accounts.get(index)
        if account is None:
            account = self._accounts[index] = _Account(self, index)
        return account

    def memory_used(self, index):
        """Bytes in use on a device."""
        with self.cuda.Device(index):
            return int(self._pool().used_bytes())

    def memory_held(self, index):
        """Bytes that the pool holds on a device."""
        with self.cuda.Device(index):
            return int(self._pool().total_bytes())

    def memory_peak(self, index, what):
        """The most bytes 'used' or 'held' on a device since `reset_memory_peak`."""
        account = self._account(index)
        account.look()
        return account.peaks[what]

    def reset_memory_peak(self, index):
        """Forget the peaks."""
        account = self._account(index)
        account.peaks = dict.fromkeys(account.peaks, 0)
        account.look()

    def memory_requests(self, index):
        """How many times memory was asked for."""
        return self._account(index).requests

    def memory_info(self, index):
        """(free, total) bytes of a device, as the driver counts."""
        with self.cuda.Device(index):
            return tuple(int(size) for size in self.cuda.runtime.memGetInfo())

    def limit_memory(self, index, fraction):
        """Let this process have at most a part of a device's memory."""
        with self.cuda.Device(index):
            self._pool().set_limit(fraction=fraction)

    def free_memory(self):
        """Give unused memory back."""
        self._pool().free_all_blocks()

    def memory_summary_of_failure(self, index, error):
        """What is said where memory doesn't suffice."""
        wanted = getattr(error, "_size", None)
        try:
            free, total = self.memory_info(index)
            used, held = self.memory_used(index), self.memory_held(index)
        except Exception:      # the device may be past answering; the first error counts
            return f"CUDA out of memory. {error}"
        tried = f"Tried to allocate {in_words(wanted)}. " if wanted else ""
        return (f"CUDA out of memory. {tried}GPU {index} has a total capacity of {in_words(total)} of which {in_words(free)} is free. Of the allocated "
                f"memory {in_words(used)} is allocated by pyx_tensor, and {in_words(max(held - used, 0))} is reserved by pyx_tensor but unallocated. If "
                "reserved but unallocated memory is large, torch.cuda.empty_cache() gives it back.")

    # -- copies between devices and the host, and pinned memory, with which they needn't be waited for
    def transfer(self, array, index):
        with self.cuda.Device(index):
            return array.copy()

    def pinned_empty(self, shape, dtype):
        """An ndarray in memory that stays where it is, so that devices read and write it on their own."""
        dtype = np.dtype(dtype)
        size = math.prod(shape) * dtype.itemsize
        return np.frombuffer(self.cuda.alloc_pinned_memory(max(size, 1)), np.uint8, size).view(dtype).reshape(shape)

    def is_pinned(self, array):
        while isinstance(array, np.ndarray) and array.base is not None:
            array = array.base
        owner = array.obj if isinstance(array, memoryview) else array
        return isinstance(owner, self.cuda.PinnedMemoryPointer)

    def _refuse_in_graph(self, what):
        if self.capturing():
            raise RuntimeError(f"{what} while a CUDA graph is captured: a replay would not do it again. Do it before, or copy into a tensor "
                               "between replays")

    def from_host(self, array, index, non_blocking=False):
        if not (non_blocking and array.flags.c_contiguous and self.is_pinned(array)):
            return self.from_numpy(array, index)
        with self.cuda.Device(index):
            result, stream = self.xp.empty(array.shape, dtype=array.dtype), self.cuda.get_current_stream()
            result.set(array, stream=stream)
            self.hold(array, stream)
            return result

    def to_host(self, array, non_blocking=False):
        if not non_blocking:
            return self.to_numpy(array)
        with self.cuda.Device(self.index_of(array)):
            host = self.pinned_empty(array.shape, array.dtype)
            self.xp.asnumpy(array, out=host, blocking=False)
            self.hold((array, host), self.cuda.get_current_stream())
            return host

    def hold(self, array, stream):
        if self.capturing():
            self._held_by_graph.append(array)
            return
        self._held = [(event, kept) for event, kept in self._held if not event.done]
        event = self.cuda.Event(disable_timing=True)
        event.record(stream)
        self._held.append((event, array))

    def same_memory(self, owner):
        """An array over the memory of whatever has `__cuda_array_interface__` or `__dlpack__`."""
        return self.xp.asarray(owner) if hasattr(owner, "__cuda_array_interface__") else self.xp.from_dlpack(owner)

    # -- libraries
    def cudnn_version(self):
        """The version of cuDNN as a number; None where it can't be used."""
        return self.cudnn.version()

    # -- marks for profilers
    def mark(self, message):
        """A mark on the profiler's timeline."""
        self.cuda.nvtx.Mark(message)

    def push_range(self, message):
        """Begin a range on the profiler's timeline."""
        self.cuda.nvtx.RangePush(message)

    def pop_range(self):
        """End the innermost range."""
        self.cuda.nvtx.RangePop()


class _Account:
    """The peaks of a device's memory, exact without asking the pool, which counts all blocks, at each request.

    What is in use is at most what it was when last counted and what was asked for since; only where that exceeds the peak is it counted.
    """

    BLOCK = 512      # the pool's unit

    def __init__(self, backend, index):
        self.backend, self.index = backend, index
        self.peaks = {"used": 0, "held": 0}
        self.bound = self.requests = 0

    def grow(self, size):
        self.requests += 1
        self.bound += -(-size // self.BLOCK) * self.BLOCK
        if self.bound > self.peaks["used"]:
            self.look()

    def look(self):
        self.bound = self.backend.memory_used(self.index)
        self.peaks["used"] = max(self.peaks["used"], self.bound)
        self.peaks["held"] = max(self.peaks["held"], self.backend.memory_held(self.index))
