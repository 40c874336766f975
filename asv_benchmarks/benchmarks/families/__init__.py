"""What is timed: families of statements, each with the preparation that makes its names.

The same text runs under pyx_tensor and PyTorch, as `torch`; NumPy has a preparation and statements of its own for
what it can do. Statements are timed as text, so that no call but theirs is counted. asv finds the classes in these
modules; `ratios.py` runs the same families side by side. Their base class has
an underscore, since asv would time it too.
"""
from . import small, elementwise, reductions, sorting, layout, random, products, convolution, training, data     # in the order they are timed in
from .base import LIBRARIES, _Family

__all__ = ["FAMILIES", "LIBRARIES"]

FAMILIES = tuple(_Family.__subclasses__())
