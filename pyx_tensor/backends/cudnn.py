"""Flags of cuDNN, which isn't used: they are kept and change nothing."""
import sys

from ._flags import changed

enabled = True
benchmark = False
benchmark_limit = 10
deterministic = False
allow_tf32 = True


def is_available():
    """False."""
    return False


def version():
    """None: there is no cuDNN."""
    return None


def is_acceptable(tensor):
    """Whether cuDNN would take a tensor."""
    return False


def flags(enabled=None, benchmark=None, benchmark_limit=None, deterministic=None, allow_tf32=None):
    """In this block the flags given have other values."""
    return changed(sys.modules[__name__], enabled=enabled, benchmark=benchmark, benchmark_limit=benchmark_limit, deterministic=deterministic,
                   allow_tf32=allow_tf32)
