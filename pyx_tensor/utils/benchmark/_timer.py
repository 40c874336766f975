"""Runs a statement and takes its time."""
import textwrap
import timeit
from time import perf_counter

from ... import cuda
from ...core.threads import get_num_threads, set_num_threads
from ._measurement import Measurement


def timer():
    """Seconds on a clock, when the CUDA devices (if there are any) have done what they were given."""
    if cuda.is_available():
        cuda.synchronize()
    return perf_counter()


class Timer:
    """Times a statement, on one thread unless told otherwise.

    Args:
        stmt, setup: code as text, as for `timeit`; `setup` runs before the first of each block. global_setup: isn't needed in Python.
        timer: the clock. globals: the names that the code knows.
        label, sub_label, description: what stands in the results: `Compare` has a table for each label, a row for each sub-label and
            a column for each description. env: a further word to tell versions apart.
        num_threads: how many threads operations use meanwhile.

    Raises:
        NotImplementedError: `language` isn't Python.
    """

    def __init__(self, stmt="pass", setup="pass", global_setup="", timer=timer, globals=None, label=None, sub_label=None, description=None, env=None,
                 num_threads=1, language="python"):
        if str(getattr(language, "name", language)).lower() not in ("python", "py"):
            raise NotImplementedError(f"Timer: only statements in Python are timed, got language={language!r}")
        stmt, setup = (textwrap.dedent(code).strip() for code in (stmt, setup))
        self._told = dict(stmt=stmt, setup=setup, label=label, sub_label=sub_label, description=description, env=env, num_threads=num_threads)
        self._timer = timeit.Timer(stmt, setup, timer, globals)

    def _times(self, number, enough):
        """Seconds of blocks of `number` runs, until `enough(times)`."""
        before, times = get_num_threads(), []
        set_num_threads(self._told["num_threads"])
        try:
            while not times or not enough(times):
                times.append(self._timer.timeit(number))
        finally:
            set_num_threads(before)
        return times

    def _measured(self, number, times):
        return Measurement(number, times, **self._told)

    def timeit(self, number=1000000):
        """A Measurement of one block of `number` runs."""
        self._times(max(number // 100, 2), lambda times: True)        # what is made on first use isn't timed
        return self._measured(number, self._times(number, lambda times: True))

    def _block_size(self, min_run_time):
        """How many runs take a thousandth of the time at least: then the clock's own time doesn't count."""
        number = 1
        while True:
            taken = min(self._times(number, lambda times: len(times) == 2))
            if taken > min_run_time / 1000 and taken > 1e-5 or taken > min_run_time:
                return number
            number *= 10

    def blocked_autorange(self, callback=None, min_run_time=0.2):
        """A Measurement of as many equal blocks as fit in `min_run_time` seconds; `callback(runs, seconds)` is called after each."""
        number = self._block_size(min_run_time)

        def enough(times):
            if callback is not None:
                callback(number, times[-1])
            return sum(times) >= min_run_time
        return self._measured(number, self._times(number, enough))

    def adaptive_autorange(self, threshold=0.1, *, min_run_time=0.01, max_run_time=10.0, callback=None):
        """A Measurement of blocks until their quartiles lie within `threshold` of the median, or `max_run_time` seconds are over."""
        number = self._block_size(min_run_time)

        def enough(times):
            if callback is not None:
                callback(number, times[-1])
            steady = len(times) > 3 and self._measured(number, times).meets_confidence(threshold)
            return sum(times) >= max_run_time or steady and sum(times) >= min_run_time
        return self._measured(number, self._times(number, enough))
