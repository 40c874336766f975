"""Searching in sorted values, and among values."""
from ..core.definitions import composes, op
from ..core.dtype import by_name
from ..core.record import namespace
from ..core.signature import Raw, T
from ..core.tensor import TensorBase


@op(promote="common", nograd=True, hidden=True, entry="searchsorted", method=False)
def _searchsorted(B, boundaries: T, values: T, right):
    """Where values belong in rows of sorted boundaries: the number of boundaries below them (or not above: `right`)."""
    if values.ndim:
        boundaries = B.unsqueeze(boundaries, -2 if boundaries.ndim > 1 else 0)
    below = (B.le if right else B.lt)(boundaries, B.unsqueeze(values, -1))
    if right:     # NaN is above all
        below = B.logical_or(below, B.isnan(B.unsqueeze(values, -1)))
    return B.sum(below, -1)


def _is_right(name, right, side):
    if side not in (None, "left", "right"):
        raise RuntimeError(f"{name}(): side can only be 'left' or 'right' but got {side}")
    if side == "left" and right:
        raise RuntimeError(f"{name}(): side and right can't be set to opposites, got side of left while right was True")
    return bool(right) or side == "right"


def _number(B, value, sequence):
    """A number to look up, with its fraction and its sign, whatever the dtype of the sequence."""
    exact = B.promote_types(sequence.dtype, by_name["float64" if isinstance(value, float) else "int64"])
    return B.full((), value, dtype=sequence.dtype if sequence.dtype.is_floating_point else exact, device=sequence.device)


@op(nograd=True, entry=False, method=False)
def searchsorted(B, sorted_sequence: Raw, input, *, out_int32=False, right=False, side=None, sorter=None):
    """The positions at which elements could be inserted into a sorted dim, keeping its order.

    Args:
        sorted_sequence: one sorted vector, or rows that match the leading dims of `input`.
        input: a tensor or number. right: after equal elements instead of before (`side='right'` says the same).
        sorter: positions that sort `sorted_sequence`, where it isn't.
    """
    return _places(B, sorted_sequence, input, out_int32, _is_right("searchsorted", right, side), sorter)


def _places(B, sorted_sequence, input, out_int32, right, sorter=None):
    if not isinstance(input, TensorBase):
        input = _number(B, input, sorted_sequence)
        if sorted_sequence.ndim != 1:
            raise RuntimeError("torch.searchsorted(): input value can be a scalar only when boundaries tensor dimension is 1")
    if not sorted_sequence.ndim:
        raise RuntimeError("torch.searchsorted(): boundaries tensor should have positive dimension, but got 0 dimension")
    if sorted_sequence.ndim > 1 and tuple(sorted_sequence.shape[:-1]) != tuple(input.shape[:-1]):
        raise RuntimeError("torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries tensor and "
                           f"input value tensor must match, but we got boundaries tensor {list(sorted_sequence.shape)} and input value tensor "
                           f"{list(input.shape)}")
    if sorted_sequence.dtype is not input.dtype:
        dtype = B.promote_types(sorted_sequence.dtype, input.dtype)
        sorted_sequence, input = sorted_sequence.to(dtype), input.to(dtype)
    if sorter is not None:
        if sorter.shape != sorted_sequence.shape:
            raise RuntimeError(f"torch.searchsorted(): boundaries and sorter must have the same size, but got boundary tensor "
                               f"{list(sorted_sequence.shape)} and got sorter tensor {list(sorter.shape)}")
        sorted_sequence = B.gather(sorted_sequence, -1, sorter)
    found = B._searchsorted(sorted_sequence, input, right)
    return found.int() if out_int32 else found


@op(nograd=True, entry=False, method=False)
def bucketize(B, input, boundaries: Raw, *, out_int32=False, right=False):
    """The number of the bucket between sorted boundaries in which each element falls; a boundary belongs to the bucket below (`right`: above)."""
    if boundaries.ndim != 1:
        raise RuntimeError(f"bucketize(): boundaries tensor must be 1 dimension, but got dim({boundaries.ndim})")
    if not isinstance(input, TensorBase):
        input = _number(B, input, boundaries)
    return _places(B, boundaries, input, out_int32, bool(right))


@op(promote="common", result="bool", nograd=True, hidden=True, entry="isin")
def _isin(B, elements: T, test_elements: T, invert):
    """`isin` of two tensors."""
    found = B.any(B.eq(B.unsqueeze(elements, -1), B.reshape(test_elements, (-1,))), -1)
    return B.logical_not(found) if invert else found


@composes
def isin(elements, test_elements, *, assume_unique=False, invert=False):
    """True where an element is among the test elements (`invert`: where it isn't); either may be a number."""
    B = namespace
    if not isinstance(elements, TensorBase) and not isinstance(test_elements, TensorBase):
        raise TypeError("isin(): argument 'elements' or 'test_elements' must be Tensor")
    return B._isin(elements, test_elements, bool(invert))
