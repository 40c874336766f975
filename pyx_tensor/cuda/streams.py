"""Streams and events: queues of work on a CUDA device, and marks in them."""
from ..core.device import make_device
from ._devices import backend, current_device, index_of
from ._devices import device as _device


class Stream:
    """A queue of work on a CUDA device (the current one unless `device` says otherwise); use it with `cuda.stream`.

    Args:
        device: a device, its name or index. priority: a lower number is more urgent.
    """

    def __init__(self, device=None, priority=0, *, _native=None, _index=None):
        self._index = index_of(device, "Stream") if _native is None else _index
        self._native = backend().new_stream(self._index, priority) if _native is None else _native
        self.priority = priority

    @property
    def device(self):
        """The device whose work it takes."""
        return make_device("cuda", current_device() if self._index is None else self._index)

    @property
    def cuda_stream(self):
        """Its handle, for other users of CUDA."""
        return int(self._native.ptr)

    def synchronize(self):
        """Wait until all work queued so far is done."""
        self._native.synchronize()

    def query(self):
        """True where all work queued so far is done."""
        return bool(self._native.done)

    def wait_event(self, event):
        """Let work queued from now on wait for an event."""
        self._native.wait_event(event._native)

    def wait_stream(self, stream):
        """Let work queued from now on wait for what another stream has been given so far."""
        self.wait_event(stream.record_event())

    def record_event(self, event=None):
        """Put an event (a new one by default) into this queue and return it."""
        event = Event() if event is None else event
        event.record(self)
        return event

    def __enter__(self):
        self._context = stream(self)
        self._context.__enter__()
        return self

    def __exit__(self, *exc):
        return self._context.__exit__(*exc)

    def __eq__(self, other):
        return isinstance(other, Stream) and self._native == other._native

    def __hash__(self):
        return hash(self._native)

    def __repr__(self):
        return f"<torch.cuda.Stream device={self.device} cuda_stream={self.cuda_stream:#x}>"


class ExternalStream(Stream):
    """A stream that other code made.

    Args:
        stream_ptr: its handle. device: the device that it belongs to.
    """

    def __init__(self, stream_ptr, device=None):
        index = index_of(device, "ExternalStream")
        super().__init__(_native=backend().external_stream(stream_ptr, index), _index=index)


class Event:
    """A mark in a stream that can be waited for.

    Args:
        enable_timing: let `elapsed_time` measure between two such events. blocking: waiting yields the processor.
    """

    def __init__(self, enable_timing=False, blocking=False, interprocess=False):
        if interprocess:
            raise NotImplementedError("Event: interprocess events aren't available")
        self._native = backend().new_event(enable_timing, blocking)

    def record(self, stream=None):
        """Put the mark at the end of a stream (the current one by default)."""
        self._native.record((current_stream() if stream is None else stream)._native)

    def wait(self, stream=None):
        """Let a stream (the current one by default) wait for the mark."""
        (current_stream() if stream is None else stream).wait_event(self)

    def query(self):
        """True where the work before the mark is done."""
        return bool(self._native.done)

    def synchronize(self):
        """Wait until the work before the mark is done."""
        self._native.synchronize()

    def elapsed_time(self, end_event):
        """Milliseconds from this mark to another one, both made with `enable_timing`."""
        return backend().elapsed_time(self._native, end_event._native)


def current_stream(device=None):
    """The stream that work goes to at present."""
    index = index_of(device, "current_stream")
    return Stream(_native=backend().current_stream(index), _index=index)


def default_stream(device=None):
    """The stream that work goes to where no other is chosen."""
    return Stream(_native=backend().default_stream(), _index=index_of(device, "default_stream"))


class stream:
    """A context in which work goes to a stream, and to its device (None: nothing changes)."""

    def __init__(self, stream):
        self.stream = stream

    def __enter__(self):
        if self.stream is not None:
            self._device = _device(self.stream._index)
            self._device.__enter__()
            self.stream._native.__enter__()
        return self

    def __exit__(self, *exc):
        if self.stream is not None:
            self.stream._native.__exit__(*exc)
            self._device.__exit__(*exc)
        return False


StreamContext = stream


def set_stream(stream):
    """Let work go to a stream from now on (None: nothing changes); `cuda.stream` is the form that ends by itself."""
    if stream is not None:
        stream._native.use()
