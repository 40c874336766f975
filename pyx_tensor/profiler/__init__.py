"""A profiler over the steps of a training, and what it needs: `schedule`, `record_function`, handlers of traces.

It sees the operations, those inside of others too, and what makes tensors of nothing (`ones`, `randn`, `normal_`). What reads a tensor
(`item`, `tolist`, `numpy`) isn't seen: its time counts as that of the block or operation around it.

>>> import pyx_tensor as torch
>>> with torch.profiler.profile(record_shapes=True) as prof:
...     _ = torch.ones(2, 3).exp().sum()
>>> print(prof.key_averages().table(sort_by="self_cpu_time_total", row_limit=10))    # doctest: +ELLIPSIS
---...
"""
import enum
import gzip
import os
import shutil
import socket
import time

from ..autograd import profiler as _profiler
from ..autograd.profiler import record_function

__all__ = ["ProfilerAction", "ProfilerActivity", "profile", "record_function", "schedule", "supported_activities",
           "tensorboard_trace_handler"]


class ProfilerAction(enum.Enum):
    """What a profiler does in a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


class ProfilerActivity(enum.Enum):
    """What can be recorded: operations as the CPU calls them, whatever device runs them."""

    CPU = 0
    CUDA = 2


def supported_activities():
    """The activities that `profile` records."""
    return {ProfilerActivity.CPU}


def schedule(*, wait, warmup, active, repeat=0, skip_first=0, skip_first_wait=0):
    """A function of the step's number that says what a profiler does: nothing for `skip_first` steps, then in turns nothing for `wait`
    steps, warm-up for `warmup`, recording for `active`.

    Args:
        repeat: how many turns; 0: without end.
        skip_first_wait: 1 to leave out the first turn's wait.
    """
    if wait < 0 or warmup < 0 or active <= 0 or repeat < 0 or skip_first < 0:
        raise AssertionError("Invalid profiler schedule arguments")
    turn = wait + warmup + active

    def action(step):
        if step < 0:
            raise AssertionError(f"Step must be non-negative. Got {step}.")
        if step < skip_first:
            return ProfilerAction.NONE
        step -= skip_first
        if skip_first_wait:
            step += wait
        if repeat and step // turn >= repeat:
            return ProfilerAction.NONE
        at = step % turn
        if at < wait:
            return ProfilerAction.NONE
        if at < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if at < turn - 1 else ProfilerAction.RECORD_AND_SAVE

    return action


def tensorboard_trace_handler(dir_name, worker_name=None, use_gzip=False):
    """A function for ``on_trace_ready`` that writes each trace to a folder."""
    def handle(prof):
        os.makedirs(dir_name, exist_ok=True)
        name = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        path = os.path.join(dir_name, f"{name}.{time.time_ns()}.pt.trace.json")
        prof.export_chrome_trace(path + ".gz" * use_gzip)
    return handle


class profile:
    """Records operations, in all steps between `start` and `stop` or in those that a schedule chooses.

    Args:
        activities: any of `ProfilerActivity`; calls are recorded as the CPU makes them.
        schedule: function(step) -> ProfilerAction; `step` is then to be called after each step of the training.
        on_trace_ready: function(profile), called when what was recorded is complete.
        record_shapes: keep the shapes of operands.
        profile_memory: keep how many bytes the results take.
        with_stack: keep the program's lines.
    """

    def __init__(self, *, activities=None, schedule=None, on_trace_ready=None, record_shapes=False, profile_memory=False, with_stack=False,
                 with_flops=False, with_modules=False, experimental_config=None, execution_trace_observer=None, acc_events=False,
                 use_cuda=None, custom_trace_id_callback=None):
        if activities is not None and not set(activities):
            raise AssertionError("No valid profiler activities found")
        self.options = dict(record_shapes=record_shapes, profile_memory=profile_memory, with_stack=with_stack, with_flops=with_flops)
        _profiler.profile(enabled=False, **self.options)        # says what isn't supported
        self.schedule = schedule or (lambda step: ProfilerAction.RECORD)
        self.on_trace_ready = on_trace_ready
        self.step_num = 0
        self.profiler = None
        self._running = None
        self._block = None
        self._has_schedule = schedule is not None

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *exc):
        self.stop()
        return False

    def _records(self, action):
        return action in (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)

    def start(self):
        """Begin with step 0."""
        self.current_action = self.schedule(self.step_num)
        self._enter_step()

    def _enter_step(self):
        if self._records(self.current_action) and self._running is None:
            self._running = _profiler.profile(**self.options).__enter__()
        if self._has_schedule and self._running is not None:
            self._block = record_function(f"ProfilerStep#{self.step_num}").__enter__()

    def _leave_block(self):
        if self._block is not None:
            self._block.__exit__()
            self._block = None

    def _finish(self):
        self._running.__exit__()
        self.profiler, self._running = self._running, None
        if self.on_trace_ready is not None:
            self.on_trace_ready(self)

    def step(self):
        """Say that a step of the training is over."""
        self._leave_block()
        before, self.step_num = self.current_action, self.step_num + 1
        self.current_action = self.schedule(self.step_num)
        if before == ProfilerAction.RECORD_AND_SAVE:
            self._finish()
        self._enter_step()

    def stop(self):
        """End; what was recorded can be read from now on."""
        self._leave_block()
        if self._running is not None:
            self._finish()

    def _finished(self):
        if self.profiler is None:
            raise AssertionError("Profiler must be stopped, and have recorded, before its results can be read")
        return self.profiler

    def events(self):
        """The events of the last recorded steps."""
        return self._finished().function_events

    def key_averages(self, group_by_input_shape=False, group_by_stack_n=0, group_by_overload_name=False):
        """Sums of the events of each name (of each shape of inputs, of each place in the program, if wanted)."""
        return self._finished().key_averages(group_by_input_shape, group_by_stack_n)

    def export_chrome_trace(self, path):
        """Write the events as JSON for chrome://tracing and Perfetto; compressed where the name ends with '.gz'."""
        path = os.fspath(path)
        if not path.endswith(".gz"):
            self._finished().export_chrome_trace(path)
            return
        plain = path[:-len(".gz")]
        self._finished().export_chrome_trace(plain)
        with open(plain, "rb") as source, gzip.open(path, "wb") as target:
            shutil.copyfileobj(source, target)
        os.unlink(plain)

    def export_stacks(self, path, metric="self_cpu_time_total"):
        """Write the places in the program with their times, one a line, for a flame graph; needs ``with_stack=True``."""
        self._finished().export_stacks(path, metric)
