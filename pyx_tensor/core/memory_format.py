"""The orders in which elements can lie, and the layouts of tensors."""


class _Named:
    """One object a name, printed and pickled by it."""

    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return f"torch.{self.name}"

    def __reduce__(self):
        return self.name


class memory_format(_Named):
    """`contiguous_format` (row-major), `preserve_format` (as the input), and formats of images whose channels are neighbours.

    A format says how elements lie, and so what strides a tensor has; results of layers are row-major whatever their input's is.
    """


contiguous_format = memory_format("contiguous_format")
preserve_format = memory_format("preserve_format")
channels_last = memory_format("channels_last")
channels_last_3d = memory_format("channels_last_3d")

_ORDERS = {channels_last: (0, 2, 3, 1), channels_last_3d: (0, 2, 3, 4, 1)}        # dims from the outermost to the innermost


def _dense_strides(shape, order):
    """The strides of a dense tensor whose dims lie in this order."""
    strides, step = [0] * len(shape), 1
    for d in reversed(order):
        strides[d] = step
        step *= max(shape[d], 1)
    return tuple(strides)


def strides_in(shape, format):
    """The strides of a dense tensor in a format; RuntimeError where the format doesn't fit."""
    if format is preserve_format:
        raise RuntimeError("unsupported memory format option Preserve")
    order = _ORDERS.get(format, range(len(shape)))
    if len(order) != len(shape):
        raise RuntimeError(f"required rank {len(order)} tensor to use {format.name} format")
    return _dense_strides(shape, order)


def lies_in(shape, strides, format):
    """Whether the elements lie without gaps in an image format."""
    order = _ORDERS[format]
    return len(order) == len(shape) and all(n == 1 or s == want for n, s, want in zip(shape, strides, _dense_strides(shape, order)))


def format_of(shape, strides):
    """The format in whose order the dims are, with or without gaps: an image format only where nothing else would give these strides."""
    for format, order in _ORDERS.items():
        if len(order) == len(shape) and _in_order(shape, strides, order):
            return format
    return contiguous_format


def _in_order(shape, strides, order):
    reach = 0
    for d in reversed(order):
        if not shape[d] or not strides[d] or strides[d] < reach or (d == order[0] and reach == strides[order[-1]]):
            return False
        reach = strides[d] * shape[d]
    return True


def _is_dense(shape, strides):
    step = 1
    for stride, size in sorted((s, n) for n, s in zip(shape, strides) if n != 1):
        if stride != step:
            return False
        step *= size
    return True


def strides_like(shape, strides):
    """What `preserve_format` means for a tensor: its strides where it is dense, else those of a dense one with the dims in the same order."""
    if _is_dense(shape, strides):
        return tuple(strides)
    order = []                        # dims that are broadcast have no place of their own: they stay before those that follow
    for d in range(len(shape)):
        at = len(order)
        while at and strides[d] and strides[order[at - 1]] and strides[order[at - 1]] < strides[d]:
            at -= 1
        order.insert(at, d)
    return _dense_strides(shape, order)


class layout(_Named):
    """How a tensor keeps its elements: `strided`, an array with strides, or `sparse_coo`, a list of places and values.

    The other names are PyTorch's; no tensor has them.
    """


strided = layout("strided")
sparse_coo = layout("sparse_coo")
sparse_csr, sparse_csc, sparse_bsr, sparse_bsc = (layout(f"sparse_{kind}") for kind in ("csr", "csc", "bsr", "bsc"))
