"""Timing of statements: `Timer` runs one as often as it takes, `Measurement` is what it found, `Compare` a table of several.

>>> import pyx_tensor as torch
>>> from pyx_tensor.utils.benchmark import Timer
>>> timer = Timer("x.add(1)", globals={"x": torch.ones(4)}, label="sums", sub_label="4 elements", description="add")
>>> measured = timer.timeit(100)
>>> 0 < measured.median < 1
True
"""
from ._compare import Compare
from ._measurement import Measurement, select_unit
from ._timer import Timer, timer

__all__ = ["Compare", "Measurement", "Timer", "select_unit", "timer"]
