"""Anomaly mode: an error in backward shows where the failing operation was called, and nan in a gradient is an error."""
import warnings

from ..core.mode import MASKS, has_bits, swap_bits
from . import engine

_ANOMALY = MASKS["anomaly"]


def is_anomaly_enabled():
    """True where anomaly mode is on in this thread."""
    return has_bits(_ANOMALY)


def is_anomaly_check_nan_enabled():
    """True where anomaly mode looks for nan."""
    return engine.nan_check


def set_anomaly_enabled(mode, check_nan=True):
    """Anomaly mode on or off in this thread, until it is changed again."""
    set_detect_anomaly(mode, check_nan)


class set_detect_anomaly:
    """Anomaly mode on or off: takes effect at once, and for a block where it is used as one.

    Args:
        mode: on or off. check_nan: is a gradient with nan in it an error?
    """

    def __init__(self, mode, check_nan=True):
        self._before = swap_bits(_ANOMALY, _ANOMALY if mode else 0), engine.nan_check
        engine.set_nan_check(check_nan)

    def __enter__(self):
        pass

    def __exit__(self, *exc):
        mode, check_nan = self._before
        swap_bits(_ANOMALY, mode)
        engine.set_nan_check(check_nan)


class detect_anomaly:
    """Anomaly mode for a block: operations remember where they were called (slow: for debugging).

    >>> import pyx_tensor as torch
    >>> x = torch.tensor(0., requires_grad=True)
    >>> with torch.autograd.detect_anomaly(check_nan=True):
    ...     (x * x.sqrt() / x).backward()
    Traceback (most recent call last):
    RuntimeError: Function 'DivBackward0' returned nan values in its 1th output.

    The warning beside it shows the line of the division.
    """

    def __init__(self, check_nan=True):
        self.check_nan = check_nan
        warnings.warn("Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for debugging.",
                      stacklevel=2)

    def __enter__(self):
        self._mode = set_detect_anomaly(True, self.check_nan)

    def __exit__(self, *exc):
        self._mode.__exit__(*exc)
