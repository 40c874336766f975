"""CUDA by CuPy.

CuPy is imported, and the driver asked, when the device `cuda` is first used; without them the device says what is missing.
"""
from .backend import CupyBackend

backend = CupyBackend
