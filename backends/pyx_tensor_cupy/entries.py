"""Entries of the table that run kernels of ours or cuDNN's: functions of the backend and arrays, by the operation's name.

They are bound to a backend whose module compiles kernels; without them the operations' definitions do the same, in more steps.
"""
import types

from .launcher import FLOATING

ENTRIES = {}      # name -> function(backend, *arguments)


def entry(function):
    """Make a function an entry of its name."""
    ENTRIES[function.__name__] = function
    return function


def bind_entries(backend):
    """Give a backend all entries."""
    from . import activations, attention, convolution, decompositions, loss, normalize, optim, products, recurrent, scatter, softmax  # noqa: F401 (they enter themselves)
    for name, function in ENTRIES.items():
        setattr(backend, name, types.MethodType(function, backend))


def element_of(backend, name, *arrays):
    """The element type of an entry's arrays; TypeError where its kernel has none for it."""
    element = backend.dtype_name(arrays[0])
    if element not in FLOATING:
        raise TypeError(f"{name} isn't defined for {element}")
    return element


def contiguous(backend, array, like=None):
    """The array (or None) in row-major order, of the dtype of `like`."""
    if array is None:
        return None
    if like is not None and array.dtype != like.dtype:
        array = backend.cast(array, like.dtype)
    return array if array.flags.c_contiguous else backend.xp.ascontiguousarray(array)      # which makes one dim of none


def new(backend, shape, dtype, beside):
    """An uninitialised array on the device of another one."""
    return backend.create(backend.xp.empty, tuple(shape), dtype=dtype, index=backend.index_of(beside))


def accumulator(backend, element):
    """The dtype that a kernel computes in."""
    return backend.dtypes["float64" if element == "float64" else "float32"]
