"""Exceptions that cross from one process or thread to another."""
import sys
import traceback


class _Quoted(str):
    """A message that KeyError shows as it is, not as a string's repr."""

    __slots__ = ()

    def __repr__(self):
        return str(self)


class ExceptionWrapper:
    """An exception with its traceback as text, to be raised again somewhere else.

    Args:
        exc_info: what `sys.exc_info()` gave; now, by default.
        where: where it was caught, for the message: "in background" by default.
    """

    def __init__(self, exc_info=None, where="in background"):
        kind, error, trace = exc_info or sys.exc_info()
        self.exc_type = kind
        self.exc_msg = "".join(traceback.format_exception(kind, error, trace))
        self.where = where

    def reraise(self):
        """Raise an exception of the same class whose message holds the first one's traceback."""
        message = f"Caught {self.exc_type.__name__} {self.where}.\nOriginal {self.exc_msg}"
        if self.exc_type is KeyError:
            message = _Quoted(message)
        try:
            error = self.exc_type(message)
        except Exception:              # a class that wants other arguments
            error = RuntimeError(message)
        try:
            raise error
        finally:
            del error                  # this frame, which the error's traceback holds, would hold the error
