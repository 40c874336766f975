"""What a profiler has recorded: events, their sums, the table and the trace."""
import json
import os
import sys
from collections import defaultdict

NAME_WIDTH, SHAPES_WIDTH, SOURCE_WIDTH = 55, 80, 75      # of the table's columns, at most
COLUMN, MARGIN, GAP = 12, 4, "  "
SORT_KEYS = ("cpu_time", "cpu_time_total", "cpu_memory_usage", "self_cpu_time_total", "self_cpu_memory_usage", "count")


def format_time(microseconds):
    """'3.250ms' and the like."""
    if microseconds >= 1e6:
        return f"{microseconds / 1e6:.3f}s"
    if microseconds >= 1e3:
        return f"{microseconds / 1e3:.3f}ms"
    return f"{microseconds:.3f}us"


def format_memory(nbytes):
    """'1.50 KB' and the like."""
    for unit, size in (("GB", 2**30), ("MB", 2**20), ("KB", 2**10)):
        if abs(nbytes) >= size:
            return f"{nbytes / size:.2f} {unit}"
    return f"{int(nbytes)} B"


class Interval:
    """Start and end in microseconds."""

    def __init__(self, start, end):
        self.start, self.end = start, end

    def elapsed_us(self):
        """Microseconds between the two."""
        return self.end - self.start


class _Times:
    """What an event and a sum of events have in common."""

    @property
    def cpu_time(self):
        """Microseconds of one call, on average."""
        return self.cpu_time_total / self.count if self.count else 0.0

    @property
    def cpu_time_str(self):
        return format_time(self.cpu_time)

    @property
    def cpu_time_total_str(self):
        return format_time(self.cpu_time_total)

    @property
    def self_cpu_time_total_str(self):
        return format_time(self.self_cpu_time_total)


class FunctionEvent(_Times):
    """One call of an operation, or one block of `record_function`.

    Attributes: ``name``, ``time_range``, ``thread``, ``input_shapes``, ``stack``, ``cpu_children`` (calls inside of it), ``cpu_parent``,
    ``cpu_time_total`` and ``self_cpu_time_total`` (without the calls inside) in microseconds, ``cpu_memory_usage`` in bytes.
    """

    count = 1

    def __init__(self, id, name, thread, start, input_shapes, parent, stack, is_user_annotation):      # noqa: A002
        self.id = id
        self.name = self.key = self.trace_name = name
        self.thread = thread
        self.time_range = Interval(start, start)
        self.input_shapes = input_shapes
        self.cpu_parent = parent
        self.cpu_children = []
        self.stack = stack
        self.is_user_annotation = is_user_annotation
        self.self_cpu_memory_usage = 0

    @property
    def cpu_time_total(self):
        return self.time_range.elapsed_us()

    @property
    def self_cpu_time_total(self):
        return self.cpu_time_total - sum(child.cpu_time_total for child in self.cpu_children)

    @property
    def cpu_memory_usage(self):
        """Bytes of new results, of the calls inside too."""
        return self.self_cpu_memory_usage + sum(child.cpu_memory_usage for child in self.cpu_children)

    def __repr__(self):
        return (f"<FunctionEvent id={self.id} name={self.name} cpu_time={self.cpu_time_str} start_us={self.time_range.start:.3f} "
                f"end_us={self.time_range.end:.3f} cpu_children={[child.id for child in self.cpu_children]} thread={self.thread} "
                f"input_shapes={self.input_shapes} cpu_memory_usage={self.cpu_memory_usage}>")


class FunctionEventAvg(_Times):
    """The sum of events of one name: ``key``, ``count``, and times and bytes as of one event."""

    def __init__(self, key=None, input_shapes=None, stack=None):
        self.key = key
        self.count = 0
        self.input_shapes = input_shapes
        self.stack = stack or []
        self.cpu_time_total = self.self_cpu_time_total = 0.0
        self.cpu_memory_usage = self.self_cpu_memory_usage = 0
        self.is_user_annotation = False

    def add(self, other):
        """Take in another event or sum; returns itself."""
        self.key = other.key if self.key is None else self.key
        self.count += other.count
        for name in ("cpu_time_total", "self_cpu_time_total", "cpu_memory_usage", "self_cpu_memory_usage"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.is_user_annotation = other.is_user_annotation
        return self

    __iadd__ = add

    def __repr__(self):
        return (f"<FunctionEventAvg key={self.key} self_cpu_time={self.self_cpu_time_total_str} cpu_time={self.cpu_time_str} "
                f"input_shapes={self.input_shapes} cpu_memory_usage={self.cpu_memory_usage}>")


class EventList(list):
    """Events, or their sums, in the order in which they began."""

    def __init__(self, events=(), *, profile_memory=False, with_stack=False):
        super().__init__(events)
        self._profile_memory = profile_memory
        self._with_stack = with_stack

    def _like(self, events):
        return EventList(events, profile_memory=self._profile_memory, with_stack=self._with_stack)

    @property
    def self_cpu_time_total(self):
        """Microseconds of all events together."""
        return sum(event.self_cpu_time_total for event in self)

    def key_averages(self, group_by_input_shapes=False, group_by_stack_n=0):
        """Sums of the events of each name (of each shape of inputs, of each place in the program, if wanted)."""
        sums = {}
        for event in self:
            shapes = event.input_shapes if group_by_input_shapes else None
            place = tuple(event.stack[:group_by_stack_n])
            key = event.key, str(shapes), place
            if key not in sums:
                sums[key] = FunctionEventAvg(event.key, shapes, list(place))
            sums[key].add(event)
        return self._like(sums.values())

    def total_average(self):
        """The sum of all."""
        total = FunctionEventAvg()
        for event in self:
            total.add(event)
        total.key = "Total"
        return total

    def table(self, sort_by=None, row_limit=100, max_src_column_width=SOURCE_WIDTH, max_name_column_width=NAME_WIDTH,
              max_shapes_column_width=SHAPES_WIDTH, header=None, top_level_events_only=False, time_unit=None):
        """PyTorch's table as text.

        Args:
            sort_by: 'cpu_time', 'cpu_time_total', 'cpu_memory_usage', 'self_cpu_time_total', 'self_cpu_memory_usage' or 'count'.
            row_limit: rows at most; -1 for all.
            top_level_events_only: leave out calls inside of others.
        """
        if not self:
            return ""
        if sort_by is not None and sort_by not in SORT_KEYS:
            raise ValueError(f"table(): sort_by must be one of {', '.join(SORT_KEYS)}, got {sort_by!r}")
        rows = list(self) if sort_by is None else sorted(self, key=lambda event: getattr(event, sort_by), reverse=True)
        if top_level_events_only:
            rows = [event for event in rows if getattr(event, "cpu_parent", None) is None]
        if row_limit >= 0:
            rows = rows[:row_limit]
        return _Table(self, rows, max_name_column_width, max_shapes_column_width, max_src_column_width, header).text()

    def __str__(self):
        return self.table()

    def export_chrome_trace(self, path):
        """Write the events as JSON for chrome://tracing and Perfetto."""
        process = os.getpid()
        events = [dict(ph="X", cat="user_annotation" if event.is_user_annotation else "cpu_op", name=event.name, pid=process,
                       tid=event.thread, ts=event.time_range.start, dur=event.cpu_time_total,
                       args={"External id": event.id, "Input Dims": event.input_shapes}) for event in self]
        with open(path, "w") as file:
            json.dump(dict(schemaVersion=1, displayTimeUnit="ms", traceEvents=events, traceName=os.fspath(path)), file)

    def export_stacks(self, path, metric="self_cpu_time_total"):
        """Write the places in the program with their times, one a line, for a flame graph; needs ``with_stack=True``."""
        if not self._with_stack:
            raise AssertionError("export_stacks() requires with_stack=True")
        if metric not in ("self_cpu_time_total", "cpu_time_total"):
            raise ValueError(f"metric should be one of self_cpu_time_total, cpu_time_total, got {metric!r}")
        sums = defaultdict(float)
        for event in self:
            if event.stack:
                sums[";".join(reversed(event.stack))] += getattr(event, metric)
        with open(path, "w") as file:
            for stack, value in sums.items():
                if int(value) > 0:
                    file.write(f"{stack} {int(value)}\n")


class _Table:
    def __init__(self, events, rows, name_width, shapes_width, source_width, header):
        self.rows = rows
        self.header = header
        self.total = events.self_cpu_time_total
        longest = max((len(str(row.key)) for row in rows), default=0) + MARGIN
        self.columns = [("Name", min(longest, name_width) if name_width else longest, lambda event: str(event.key))]
        numbers = [("Self CPU %", lambda event: self.share(event.self_cpu_time_total)), ("Self CPU", lambda event: event.self_cpu_time_total_str),
                   ("CPU total %", lambda event: self.share(event.cpu_time_total)), ("CPU total", lambda event: event.cpu_time_total_str),
                   ("CPU time avg", lambda event: event.cpu_time_str)]
        if events._profile_memory:
            numbers += [("CPU Mem", lambda event: format_memory(event.cpu_memory_usage)),
                        ("Self CPU Mem", lambda event: format_memory(event.self_cpu_memory_usage))]
        numbers.append(("# of Calls", lambda event: str(event.count)))
        self.columns += [(title, COLUMN, cell) for title, cell in numbers]
        if any(row.input_shapes is not None for row in rows):
            longest = max(len(str(row.input_shapes)) for row in rows) + COLUMN
            self.columns.append(("Input Shapes", min(longest, shapes_width), lambda event: str(event.input_shapes)))
        if any(row.stack for row in rows):
            longest = max(len(line) for row in rows for line in row.stack[:1]) + MARGIN
            self.columns.append(("Source Location", min(longest, source_width), lambda event: event.stack[0] if event.stack else ""))

    def share(self, time):
        return f"{100 * time / self.total:.2f}%" if self.total else "0.00%"

    @staticmethod
    def fitted(text, width):
        return (text if len(text) <= width else text[:width - 3] + "...").rjust(width)

    def line(self, cells):
        return GAP.join(self.fitted(cell, width) for cell, (_, width, _) in zip(cells, self.columns)) + GAP

    def text(self):
        rule = self.line(["-" * width for _, width, _ in self.columns])
        lines = [rule, self.line([title for title, _, _ in self.columns]), rule]
        lines += [self.line([cell(row) for _, _, cell in self.columns]) for row in self.rows]
        lines += [rule, f"Self CPU time total: {format_time(self.total)}"]
        if self.header is not None:
            lines = ["=" * len(rule), self.header, *lines]
        return "\n".join(lines) + "\n"


def caller_lines():
    """The program's lines that are running, the innermost first, without those of this package."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    lines, frame = [], sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if not code.co_filename.startswith(package):
            lines.append(f"{code.co_filename}({frame.f_lineno}): {code.co_name}")
        frame = frame.f_back
    return lines
