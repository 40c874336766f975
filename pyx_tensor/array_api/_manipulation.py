"""Shapes and places of elements."""
from ..core.tensor import TensorBase
from ..ops import namespace as ops


def broadcast_arrays(*arrays):
    """The arrays in their common shape."""
    return list(ops.broadcast_tensors(*arrays))


def broadcast_to(x, /, shape):
    """The array in a shape to which it broadcasts."""
    return ops.broadcast_to(x, tuple(shape))


def concat(arrays, /, *, axis=0):
    """Arrays joined along an axis; flattened first for axis None."""
    arrays = list(arrays)
    return ops.cat([a.reshape(-1) for a in arrays], 0) if axis is None else ops.cat(arrays, axis)


def stack(arrays, /, *, axis=0):
    """Arrays joined along a new axis."""
    return ops.stack(list(arrays), axis)


def unstack(x, /, *, axis=0):
    """The slices along an axis, without it."""
    return tuple(ops.unbind(x, axis))


def expand_dims(x, /, axis=0):
    """A new axis of size 1, or several."""
    axes = (axis,) if isinstance(axis, int) else axis
    ndim = x.ndim + len(axes)
    places = sorted(_place(a, ndim) for a in axes)
    if len(set(places)) < len(places):
        raise ValueError(f"expand_dims: repeated axis in {axis}")
    for place in places:
        x = ops.unsqueeze(x, place)
    return x


def _place(axis, ndim):
    if not -ndim <= axis < ndim:
        raise IndexError(f"axis {axis} is out of range for {ndim} dims")
    return axis % ndim


def squeeze(x, /, axis):
    """The array without axes of size 1; ValueError where one isn't."""
    axes = sorted((_place(a, x.ndim) for a in ((axis,) if isinstance(axis, int) else axis)), reverse=True)
    for a in axes:
        if x.shape[a] != 1:
            raise ValueError(f"squeeze: axis {a} has size {x.shape[a]}, not 1")
        x = ops.squeeze(x, a)
    return x


def flip(x, /, *, axis=None):
    """The elements in reverse order, along all axes or some."""
    return ops.flip(x, tuple(range(x.ndim)) if axis is None else (axis,) if isinstance(axis, int) else tuple(axis))


def roll(x, /, shift, *, axis=None):
    """The elements moved on along axes; of the flattened array without one."""
    if isinstance(axis, tuple) and isinstance(shift, int):
        shift = (shift,) * len(axis)
    return ops.roll(x, shift, axis)


def moveaxis(x, source, destination, /):
    """Axes moved to other places."""
    return ops.movedim(x, source, destination)


def permute_dims(x, /, axes):
    """The axes in another order."""
    return ops.permute(x, tuple(axes))


def matrix_transpose(x, /):
    """The last two axes exchanged."""
    if x.ndim < 2:
        raise ValueError(f"matrix_transpose: expected at least 2 dims, got {x.ndim}")
    return ops.transpose(x, -2, -1)


def repeat(x, repeats, /, *, axis=None):
    """Each element (or slice of an axis) repeated in place."""
    repeats = repeats if isinstance(repeats, (int, TensorBase)) else ops.tensor(repeats, device=x.device)
    return ops.repeat_interleave(x, repeats, axis)


def tile(x, repetitions, /):
    """The array repeated along each axis."""
    return ops.tile(x, tuple(repetitions))


def reshape(x, /, shape, *, copy=None):
    """The elements in order, in another shape; ValueError where that needs a copy and `copy` is False."""
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    if copy:
        return ops.reshape(ops.clone(x), shape)
    if copy is False:
        try:
            return ops.view(x, shape)
        except RuntimeError as error:
            raise ValueError(f"reshape: {error}") from None
    return ops.reshape(x, shape)
