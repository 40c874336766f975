"""`profile` and `record_function`: which operations ran, how often, how long, on what shapes.

While no profiler runs, nothing is asked: it sets a bit of the thread's mode word, which the call path looks at anyway.
"""
import functools
import threading
from time import perf_counter_ns

from ..core import overrides
from ..core.mode import MASKS, swap_bits
from ..core.tensor import TensorBase
from .profiler_util import EventList, FunctionEvent, FunctionEventAvg, caller_lines, format_time  # noqa: F401

_BIT = MASKS["profile"]
_running = threading.local()


def _recorder():
    return getattr(_running, "recorder", None)


def _shape_of(arg):
    if isinstance(arg, TensorBase):
        return list(arg.shape)
    if isinstance(arg, (list, tuple)) and arg and isinstance(arg[0], TensorBase):
        return [_shape_of(item) for item in arg]
    return []


def _new_bytes(result, args):
    """Bytes of the tensors in a result that are neither operands nor views."""
    tensors = result if isinstance(result, (tuple, list)) else (result,)
    return sum(t.nbytes for t in tensors if isinstance(t, TensorBase) and not t._is_view() and not any(t is arg for arg in args))


class _Recorder:
    """The events of one thread, as they come."""

    def __init__(self, record_shapes, profile_memory, with_stack):
        self.record_shapes, self.profile_memory, self.with_stack = record_shapes, profile_memory, with_stack
        self.events, self.open = [], []

    def begin(self, name, args=(), is_user_annotation=False):
        parent = self.open[-1] if self.open else None
        shapes = None if not self.record_shapes else [_shape_of(arg) for arg in args]
        event = FunctionEvent(len(self.events), name, threading.get_native_id(), perf_counter_ns() / 1e3, shapes, parent,
                              caller_lines() if self.with_stack else [], is_user_annotation)
        self.events.append(event)
        self.open.append(event)
        return event

    def end(self, event):
        event.time_range.end = perf_counter_ns() / 1e3
        while self.open and self.open.pop() is not event:      # those inside were left by an exception
            pass
        if event.cpu_parent is not None:
            event.cpu_parent.cpu_children.append(event)

    def watch(self, name, args, run):
        event = self.begin(name if "::" in name else f"aten::{name}", args)
        try:
            result = run()
            if self.profile_memory:
                event.self_cpu_memory_usage = _new_bytes(result, args)
                event.self_cpu_memory_usage -= min(event.self_cpu_memory_usage, sum(c.cpu_memory_usage for c in event.cpu_children))
            return result
        finally:
            self.end(event)


def _watch(name, args, run):
    recorder = _recorder()
    return run() if recorder is None else recorder.watch(name, args, run)


overrides.set_watcher(_watch)


class record_function:
    """Names a block, or a function that it decorates, in what a profiler shows.

    >>> import pyx_tensor as torch
    >>> with torch.autograd.profiler.profile() as prof:
    ...     with torch.autograd.profiler.record_function("twice"):
    ...         _ = torch.ones(2) * 2
    >>> [(event.key, event.count) for event in prof.key_averages() if event.key in ("twice", "aten::mul")]
    [('twice', 1), ('aten::mul', 1)]
    """

    def __init__(self, name, args=None):
        self.name = name
        self.args = args
        self._open = []

    def __enter__(self):
        recorder = _recorder()
        self._open.append((recorder, recorder and recorder.begin(self.name, is_user_annotation=True)))
        return self

    def __exit__(self, *exc):
        recorder, event = self._open.pop()
        if recorder is not None:
            recorder.end(event)

    def __call__(self, function):
        @functools.wraps(function)
        def decorated(*args, **kwargs):
            with record_function(self.name, self.args):
                return function(*args, **kwargs)
        return decorated


class profile:
    """Records the operations of this thread while it is open.

    Args:
        enabled: False records nothing.
        record_shapes: keep the shapes of operands.
        profile_memory: keep how many bytes the results take.
        with_stack: keep the program's lines.

    >>> import pyx_tensor as torch
    >>> with torch.autograd.profiler.profile(record_shapes=True) as prof:
    ...     for _ in range(3):
    ...         _ = torch.ones(2, 3) @ torch.ones(3, 4)
    >>> [(event.key, event.count) for event in prof.key_averages() if "matmul" in event.key]
    [('aten::matmul', 3)]
    """

    def __init__(self, enabled=True, *, use_cuda=False, use_device=None, record_shapes=False, with_flops=False, profile_memory=False,
                 with_stack=False, with_modules=False, use_kineto=False, use_cpu=True, experimental_config=None, acc_events=False,
                 custom_trace_id_callback=None):
        if with_flops:
            raise NotImplementedError("profile: with_flops=True isn't supported: operations are counted and timed, not their arithmetic")
        self.enabled = enabled
        self.options = dict(record_shapes=record_shapes, profile_memory=profile_memory, with_stack=with_stack)
        self.entered = False
        self.function_events = None

    def __enter__(self):
        if not self.enabled:
            return self
        if self.entered:
            raise RuntimeError("Profiler context manager is not reentrant")
        self.entered = True
        self._outer, self._recording = _recorder(), _Recorder(**self.options)
        _running.recorder = self._recording
        self._bit = swap_bits(_BIT, _BIT)
        return self

    def __exit__(self, *exc):
        if not self.enabled:
            return False
        swap_bits(_BIT, self._bit)
        _running.recorder = self._outer
        self.function_events = EventList(self._recording.events, profile_memory=self.options["profile_memory"],
                                         with_stack=self.options["with_stack"])
        return False

    def _check(self):
        if self.function_events is None:
            raise RuntimeError("Profiler didn't finish running")
        return self.function_events

    def __repr__(self):
        return "<unfinished torch.autograd.profile>" if self.function_events is None else repr(self.function_events)

    def __str__(self):
        return "<unfinished torch.autograd.profile>" if self.function_events is None else str(self.function_events)

    @property
    def self_cpu_time_total(self):
        """Microseconds of all events together."""
        return self._check().self_cpu_time_total

    def _passes_on(name):      # noqa: N805 (makes methods)
        def method(self, *args, **kwargs):
            return getattr(self._check(), name)(*args, **kwargs)
        method.__name__, method.__doc__ = name, getattr(EventList, name).__doc__
        return method

    table = _passes_on("table")
    export_chrome_trace = _passes_on("export_chrome_trace")
    export_stacks = _passes_on("export_stacks")
    total_average = _passes_on("total_average")
    del _passes_on

    def key_averages(self, group_by_input_shape=False, group_by_stack_n=0, group_by_overload_name=False):
        """Sums of the events of each name (of each shape of inputs, of each place in the program, if wanted)."""
        return self._check().key_averages(group_by_input_shape, group_by_stack_n)
