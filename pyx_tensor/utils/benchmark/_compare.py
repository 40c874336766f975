"""Measurements side by side."""
from ._measurement import Measurement, select_unit


class Compare:
    """A table of measurements for each label: a row for each sub-label (and number of threads), a column for each description.

    Args:
        results: Measurements; those of the same thing are merged.
    """

    def __init__(self, results):
        self._results = []
        self._trim = False
        self.extend_results(results)

    def extend_results(self, results):
        """Take further measurements in."""
        for result in results:
            if not isinstance(result, Measurement):
                raise ValueError(f"Expected an instance of `Measurement`, got {type(result)} instead.")
            self._results.append(result)

    def trim_significant_figures(self):
        """Show two figures of each time."""
        self._trim = True

    def colorize(self, rowwise=False):
        """Nothing changes: tables have no colours here."""

    def highlight_warnings(self):
        """Nothing changes: a Measurement's own text has its warnings."""

    def __str__(self):
        merged = Measurement.merge(self._results)
        labels = list(dict.fromkeys(m.label for m in merged))
        return "\n\n".join(self._table(label, [m for m in merged if m.label == label]) for label in labels)

    def print(self):
        """Write the tables to the standard output."""
        print(self)

    def _table(self, label, results):
        unit, scale = select_unit(min(m.median for m in results))
        columns = list(dict.fromkeys(m.description or m.stmt for m in results))
        keys = list(dict.fromkeys((m.num_threads, m.env, m.sub_label or m.stmt) for m in results))
        cells = {((m.num_threads, m.env, m.sub_label or m.stmt), m.description or m.stmt): m.median / scale for m in results}
        form = "{:.2g}" if self._trim else "{:.1f}"
        rows = [["", *columns]]
        for key in keys:
            name = ", ".join(str(part) for part in (key[2], key[1], f"{key[0]} threads" if key[0] > 1 else None) if part)
            rows.append([name, *[form.format(cells[key, column]) if (key, column) in cells else "" for column in columns]])
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        lines = ["  ".join([row[0].ljust(widths[0]), *[cell.rjust(width) for cell, width in zip(row[1:], widths[1:])]]).rstrip() for row in rows]
        return "\n".join([label or "", *lines, f"Times are in {dict(ns='nanoseconds', us='microseconds', ms='milliseconds', s='seconds')[unit]} ({unit})."])
