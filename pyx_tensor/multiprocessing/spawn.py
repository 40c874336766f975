"""Several processes that run one function: `spawn`, `start_processes`, and what is raised where one of them fails."""
import ctypes
import multiprocessing
import os
import pickle
import signal
import sys
import tempfile
import time
import traceback
import warnings
from multiprocessing import connection

PR_SET_PDEATHSIG = 1     # of Linux's prctl


class ProcessException(Exception):
    """A process failed: `error_index` is its number, `error_pid` its process id."""

    def __init__(self, msg, error_index, pid):
        super().__init__(msg)
        self.msg = msg
        self.error_index = error_index
        self.pid = pid

    @property
    def error_pid(self):
        return self.pid

    def __reduce__(self):
        return type(self), (self.msg, self.error_index, self.pid)


class ProcessRaisedException(ProcessException):
    """A process ended by an exception; the message holds its traceback."""

    def __init__(self, msg, error_index, error_pid):
        super().__init__(msg, error_index, error_pid)


class ProcessExitedException(ProcessException):
    """A process ended with another exit code than 0, or by a signal."""

    def __init__(self, msg, error_index, error_pid, exit_code, signal_name=None):
        super().__init__(msg, error_index, error_pid)
        self.exit_code = exit_code
        self.signal_name = signal_name

    def __reduce__(self):
        return type(self), (self.msg, self.error_index, self.pid, self.exit_code, self.signal_name)


def _die_with_parent(parent):
    """Ask the system to interrupt this process when its parent ends."""
    if sys.platform != "linux":
        return
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGINT)
    if os.getppid() != parent:            # it ended before
        os.kill(os.getpid(), signal.SIGINT)


def _run(fn, number, args, error_file, parent):
    """In a process: call the function; leave a traceback in `error_file` where it fails."""
    if parent is not None:
        _die_with_parent(parent)
    try:
        fn(number, *args)
    except KeyboardInterrupt:
        pass                              # the parent was interrupted too, and says so
    except Exception:
        with open(error_file, "wb") as file:
            pickle.dump(traceback.format_exc(), file)
        sys.exit(1)


class ProcessContext:
    """Processes that `start_processes` started with ``join=False``."""

    def __init__(self, processes, error_files):
        self.processes = processes
        self.error_files = error_files
        self.sentinels = {process.sentinel: number for number, process in enumerate(processes)}

    def pids(self):
        """The ids of the processes."""
        return [int(process.pid) for process in self.processes]

    def join(self, timeout=None, grace_period=None):
        """Wait for processes to end. Returns True when all have, False when some still run (call again, in a loop).

        Args:
            timeout: seconds to wait at most.
            grace_period: where a process failed, seconds that the others get to end by themselves before they are terminated.

        Raises ProcessRaisedException or ProcessExitedException where one failed; the others are ended first.
        """
        if not self.sentinels:
            return True
        for sentinel in connection.wait(list(self.sentinels), timeout=timeout):
            number = self.sentinels.pop(sentinel)
            self.processes[number].join()
            if self.processes[number].exitcode != 0:
                self._end_others(number, grace_period)
                self._raise(number)
        if not self.sentinels:
            self._remove_files()
        return not self.sentinels

    def _end_others(self, failed, grace_period):
        others = [process for number, process in enumerate(self.processes) if number != failed]
        if grace_period:
            deadline = time.monotonic() + grace_period
            for process in others:
                process.join(max(0.0, deadline - time.monotonic()))
        for process in others:
            if process.is_alive():
                warnings.warn(f"process {process.pid} is terminated, because process {self.processes[failed].pid} failed", stacklevel=4)
                process.terminate()
        for process in others:
            process.join(30)
            if process.is_alive():
                process.kill()
                process.join()

    def _raise(self, number):
        process, error = self.processes[number], self._error_of(number)
        self._remove_files()
        if error is not None:
            raise ProcessRaisedException(f"\n\n-- Process {number} terminated with the following error:\n{error}", number, process.pid)
        if process.exitcode < 0:
            try:
                name = signal.Signals(-process.exitcode).name
            except ValueError:
                name = f"<Unknown signal {-process.exitcode}>"
            raise ProcessExitedException(f"process {number} terminated with signal {name}", number, process.pid, process.exitcode, name)
        raise ProcessExitedException(f"process {number} terminated with exit code {process.exitcode}", number, process.pid,
                                     process.exitcode)

    def _error_of(self, number):
        """The traceback that a process left, or None."""
        if not os.path.getsize(self.error_files[number]):
            return None
        with open(self.error_files[number], "rb") as file:
            return pickle.load(file)

    def _remove_files(self):
        for name in self.error_files:
            if os.path.exists(name):
                os.unlink(name)


class SpawnContext(ProcessContext):
    """`ProcessContext` under its early name."""


def start_processes(fn, args=(), nprocs=1, join=True, daemon=False, start_method="spawn"):
    """Run ``fn(number, *args)`` in `nprocs` processes, numbered from 0.

    Args:
        join: wait until all have ended; False returns a `ProcessContext` at once.
        daemon: the processes end with this one.
        start_method: 'spawn', 'fork' or 'forkserver'.

    Raises ProcessRaisedException, with the traceback, or ProcessExitedException as soon as one fails; the others are ended.
    """
    context = multiprocessing.get_context(start_method)
    processes, error_files = [], []
    parent = None if start_method == "forkserver" else os.getpid()
    for number in range(nprocs):
        with tempfile.NamedTemporaryFile(prefix="pyx_tensor-error-", suffix=".pickle", delete=False) as file:
            error_files.append(file.name)
        process = context.Process(target=_run, args=(fn, number, args, error_files[-1], parent), daemon=daemon)
        process.start()
        processes.append(process)
    started = ProcessContext(processes, error_files)
    if not join:
        return started
    while not started.join():
        pass
    return None


def spawn(fn, args=(), nprocs=1, join=True, daemon=False, start_method="spawn"):
    """`start_processes` by 'spawn': new interpreters, to which `fn` and `args` are pickled. `fn` must be importable.

    Another `start_method` is taken with a warning: `start_processes` is the function for it.
    """
    if start_method != "spawn":
        warnings.warn(f"spawn() starts processes by 'spawn'; use start_processes(..., start_method={start_method!r}) for another way",
                      FutureWarning, stacklevel=2)
    return start_processes(fn, args, nprocs, join, daemon, start_method="spawn")
