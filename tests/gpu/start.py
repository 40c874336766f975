"""Begins each part: finds the device, counts what holds and what doesn't, and says so in one last line.

Without a GPU the parts run over the stand-in for CuPy (`--standin`), so that no slip waits for the machine that has one.
"""
import argparse
import contextlib
import sys
import time
import traceback
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS))

import pyx_tensor as torch  # noqa: E402 (the path comes first)

ARGUMENTS = argparse.ArgumentParser()
ARGUMENTS.add_argument("--standin", action="store_true", help="run over NumPy, to try the program out")
ARGUMENTS.add_argument("--seconds", type=float, default=1e9, help="end early after this time, and say so")
ARGUMENTS.add_argument("rest", nargs="*")
OPTIONS = ARGUMENTS.parse_args()
STANDIN = OPTIONS.standin
BEGUN = time.monotonic()
torch.backends.cudnn.allow_tf32 = False      # results are compared with the cpu's


def use_standin():
    """Make the stand-in the device "cuda"."""
    import cupy_standin
    from pyx_tensor.core import registry
    from pyx_tensor_cupy.backend import CupyBackend
    cupy_standin.N_DEVICES = 1
    registry.register_backend("cuda", CupyBackend(cupy_standin))


if STANDIN:
    use_standin()


def time_is_up():
    """Whether the part has had its time."""
    return time.monotonic() - BEGUN > OPTIONS.seconds


class Part:
    """What a part found."""

    def __init__(self, name):
        self.name, self.passed, self.failed, self.left_out = name, 0, [], []
        print(f"== {name} on {torch.cuda.get_device_name()}", flush=True)

    @contextlib.contextmanager
    def check(self, what):
        """A block that should not raise."""
        try:
            yield
        except Exception as error:      # each failure is reported, and the next check runs
            self.failed.append(what)
            print(f"FAILED {what}: {type(error).__name__}: {str(error)[:600]}", flush=True)
            if STANDIN:
                traceback.print_exc()
        else:
            self.passed += 1

    def each(self, cases, function):
        """A check for each case, as long as there is time."""
        for case in cases:
            if time_is_up():
                self.left_out.append(case)
                continue
            with self.check(str(case)):
                function(case)

    def end(self):
        """The last line; leaves with status 1 where something failed or was left out."""
        print(f"== {self.name}: {self.passed} passed, {len(self.failed)} failed, {len(self.left_out)} left out for lack of time, "
              f"{time.monotonic() - BEGUN:.0f} s", flush=True)
        if self.failed:
            print(f"   failed: {' '.join(map(str, self.failed))}", flush=True)
        sys.exit(bool(self.failed or self.left_out))
