"""What `pyx_tensor.cuda` asks of CUDA beside arrays: devices, streams, events and memory, by way of CuPy."""
from contextlib import nullcontext


class RuntimeMethods:
    """Part of CupyBackend; `self.cuda` is the module `cupy.cuda`, `self.xp` CuPy."""

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

    # -- streams and events, as CuPy's objects
    def new_stream(self, index, priority):
        """A new queue on a device (None: the current one)."""
        with nullcontext() if index is None else self.cuda.Device(index):
            return self.cuda.Stream(non_blocking=True, priority=priority)

    def current_stream(self, index):
        """The queue that work on a device goes to."""
        with nullcontext() if index is None else self.cuda.Device(index):
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

    # -- memory
    def memory_used(self, index):
        """Bytes in use on a device."""
        with self.cuda.Device(index):
            return int(self.xp.get_default_memory_pool().used_bytes())

    def memory_held(self, index):
        """Bytes that the pool holds on a device."""
        with self.cuda.Device(index):
            return int(self.xp.get_default_memory_pool().total_bytes())

    def free_memory(self):
        """Give unused memory back."""
        self.xp.get_default_memory_pool().free_all_blocks()
