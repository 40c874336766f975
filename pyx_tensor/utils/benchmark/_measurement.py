"""What a Timer found."""
import math
from dataclasses import dataclass, field
from statistics import fmean, median, quantiles

_UNITS = {1e-9: "ns", 1e-6: "us", 1e-3: "ms", 1.0: "s"}


def select_unit(t):
    """(name, seconds) of the unit in which a time is written: 'ns', 'us', 'ms' or 's'."""
    scale = max((unit for unit in _UNITS if unit <= t), default=1e-9)
    return _UNITS[scale], scale


@dataclass
class Measurement:
    """Times of a statement that was run in blocks.

    Attributes:
        number_per_run: how many runs a block has. raw_times: the seconds that each block took.
        stmt, setup, label, sub_label, description, env, num_threads: what was measured, as the Timer was told.
    """

    number_per_run: int
    raw_times: list
    stmt: str = "pass"
    setup: str = "pass"
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1
    metadata: dict = field(default_factory=dict)

    @property
    def times(self):
        """Seconds a run, a number for each block."""
        return [t / self.number_per_run for t in self.raw_times]

    @property
    def mean(self):
        """The mean of `times`."""
        return fmean(self.times)

    @property
    def median(self):
        """The median of `times`."""
        return median(self.times)

    @property
    def iqr(self):
        """The distance of the quartiles of `times`; 0 for a single one."""
        if len(self.times) < 2:
            return 0.0
        low, _, high = quantiles(self.times, n=4, method="inclusive")
        return high - low

    @property
    def has_warnings(self):
        """Whether blocks differ by so much, or are so few, that the median says little."""
        return len(self.times) < 4 or self.iqr / self.median > 0.1

    @property
    def title(self):
        """The label (or the statement), and the sub-label."""
        return ": ".join(part for part in (self.label or self.stmt, self.sub_label) if part)

    def meets_confidence(self, threshold=0.1):
        """Whether the quartiles lie within that share of the median."""
        return self.iqr / self.median < threshold

    @staticmethod
    def merge(measurements):
        """One measurement for each thing that was measured in several, in order of first appearance."""
        groups = {}
        for m in measurements:
            key = m.stmt, m.setup, m.label, m.sub_label, m.description, m.env, m.num_threads
            groups.setdefault(key, []).append(m)
        return [Measurement(1, [t for m in same for t in m.times], *key) for key, same in groups.items()]

    def __repr__(self):
        unit, scale = select_unit(self.median)
        lines = [f"<Measurement of {self.title}>", f"  Median: {self.median / scale:.2f} {unit}"]
        if len(self.times) > 1:
            lines.append(f"  IQR:    {self.iqr / scale:.2f} {unit}")
        blocks = f"{len(self.times)} measurement{'s' * (len(self.times) > 1)}, {self.number_per_run} runs per measurement"
        lines.append(f"  {blocks}, {self.num_threads} thread{'s' * (self.num_threads > 1)}")
        if len(self.times) > 1 and self.has_warnings and not math.isclose(self.iqr, 0):
            lines.append("  WARNING: times vary, or are few")
        return "\n".join(lines)
