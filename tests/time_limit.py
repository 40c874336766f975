"""A limit on how long a test may take, for those that could hang."""
import signal
from contextlib import contextmanager

import pytest


class TookTooLong(BaseException):
    """Not an Exception: what is tested must not swallow it."""


@contextmanager
def time_limit(seconds):
    """Raise TookTooLong in the main thread after `seconds` (where the system has alarms)."""
    def stop(number, frame):
        raise TookTooLong(f"took more than {seconds} s")

    if not hasattr(signal, "SIGALRM"):
        yield
        return
    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.fixture(autouse=True)
def limited_time():
    """Imported by a test module, limits each of its tests."""
    with time_limit(90):
        yield
