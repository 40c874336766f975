"""Order, positions and distinct values."""
from collections import namedtuple

from ..core.tensor import TensorBase
from ..ops import namespace as ops
from ._elementwise import pair

_All = namedtuple("unique_all_result", "values indices inverse_indices counts")
_Counts = namedtuple("unique_counts_result", "values counts")
_Inverse = namedtuple("unique_inverse_result", "values inverse_indices")


def sort(x, /, *, axis=-1, descending=False, stable=True):
    """The elements in order along an axis."""
    return ops.sort(x, axis, descending, stable=stable)[0]


def argsort(x, /, *, axis=-1, descending=False, stable=True):
    """The positions that sort along an axis."""
    return ops.sort(x, axis, descending, stable=stable)[1]


def searchsorted(x1, x2, /, *, side="left", sorter=None):
    """Where elements of x2 belong in the sorted x1."""
    return ops.searchsorted(x1, x2.contiguous(), side=side, sorter=sorter)


def nonzero(x, /):
    """The positions of the non-zero elements, one array an axis."""
    if not x.ndim:
        raise ValueError("nonzero: a 0-dim array has no positions")
    return tuple(ops.nonzero(x, as_tuple=True))


def isin(x1, x2, /, *, invert=False):
    """Whether each element of x1 is among those of x2 (`invert`: isn't)."""
    return ops.isin(x1, x2, invert=invert)


def where(condition, x1, x2, /):
    """Elements of x1 where the condition is True, of x2 elsewhere."""
    if not isinstance(x1, TensorBase) and not isinstance(x2, TensorBase):
        x1, x2 = ops.tensor(x1, device=condition.device), ops.tensor(x2, device=condition.device)
    return ops.where(condition, *pair(x1, x2))


def take(x, indices, /, *, axis=None):
    """The slices of an axis at positions."""
    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"take: axis must be given for an array of {x.ndim} dims")
        axis = 0
    size = x.shape[axis]
    return ops.index_select(x, axis, ops.where(indices < 0, indices + size, indices))


def take_along_axis(x, indices, /, *, axis=-1):
    """Elements at positions along an axis."""
    return ops.take_along_dim(x, indices, axis)


# --- distinct values ----------------------------------------------------------------------------------------------
def _apart(x):
    """The flattened elements without equals; every NaN is a value of its own."""
    flat = ops.reshape(x, (-1,))
    return ops.unique(flat, return_inverse=True, return_counts=True)


def unique_values(x, /):
    """The distinct elements."""
    return ops.unique(ops.reshape(x, (-1,)))


def unique_counts(x, /):
    """The distinct elements, and how often each occurs."""
    values, _, counts = _apart(x)
    return _Counts(values, counts)


def unique_inverse(x, /):
    """The distinct elements, and for each element the number of its value."""
    values, inverse, _ = _apart(x)
    return _Inverse(values, ops.reshape(inverse, tuple(x.shape)))


def unique_all(x, /):
    """The distinct elements, where each occurs first, the number of each element's value, and how often each occurs."""
    values, inverse, counts = _apart(x)
    order = ops.sort(inverse, 0, stable=True)[1]
    starts = ops.cumsum(counts, 0) - counts
    return _All(values, ops.index_select(order, 0, starts), ops.reshape(inverse, tuple(x.shape)), counts)
