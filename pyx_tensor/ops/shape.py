"""Views and operations that rearrange elements. What a view does to shape and strides stands in core/geometry.pyx."""
import math

from ..core.conversion import clone_function, contiguous_function, reshape_function, to_method, type_method
from ..core.copying import can_view, converted, copied, is_on
from ..core.definitions import methods, op, operations
from ..core.definitions import view as view_op
from ..core.dtype import by_name
from ..core.memory_format import contiguous_format, preserve_format
from ..core.making import new_filled
from ..core.operands import one_int
from ..core.record import namespace as B
from ..core.signature import Dim, Dims, Int, Ints, Raw, Sizes, T
from ..core.tensor import TensorBase


# --- views --------------------------------------------------------------------------------------------------------
@view_op("view", lambda B, g, input_shape: B.reshape(g, input_shape))
def view(B, input: T, sizes: Sizes):
    """The same memory in another shape (one size may be -1), or of another dtype.

    Raises:
        RuntimeError: the sizes don't fit, or the strides don't allow a view (`reshape` copies then).
    """


@op(call=lambda operation: reshape_function(operation, operations["view"]))
def reshape(B, input: T, sizes: Sizes):
    """The elements in order, in another shape: a view where strides allow that, else a copy.

    >>> import pyx_tensor as torch
    >>> torch.arange(6).reshape(2, -1)
    tensor([[0, 1, 2],
            [3, 4, 5]])
    """
    return B.view(input if can_view(input, sizes) else B.clone(input, memory_format=contiguous_format), sizes)


@view_op("expand", lambda B, g, input_shape: B.sum_to_size(g, input_shape))
def expand(B, input: T, sizes: Sizes):
    """A view in which dims of size 1 are repeated (with stride 0); -1 keeps a size, new dims come first."""


@view_op("permute", lambda B, g, dims: B.permute(g, _inverse(dims, g.ndim)))
def permute(B, input: T, dims: Sizes):
    """A view with the dims in another order."""


def _inverse(dims, ndim):
    inverse = [0] * ndim
    for i, d in enumerate(dims):
        inverse[d % ndim] = i
    return tuple(inverse)


@view_op("transpose", lambda B, g, dim0, dim1: B.transpose(g, dim0, dim1), public=("transpose", "swapaxes", "swapdims"), inplace=False)
def transpose(B, input: T, dim0, dim1):
    """A view with two dims exchanged."""


@op()
def t(B, input: T):
    """The transpose of a matrix; tensors of fewer dims as they are."""
    if input.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {input.ndim}D")
    return B._t(input, 0, 1) if input.ndim == 2 else B.alias(input)


@view_op("transpose", lambda B, g, dim0, dim1: B.transpose(g, dim0, dim1), hidden=True, grad_name="T")
def _t(B, input: T, dim0, dim1):
    """`transpose`, as `t` calls it."""


@view_op("alias", lambda B, g: g, hidden=True)
def alias(B, input: T):
    """The tensor itself as a view."""


@view_op("squeeze", lambda B, g, input_shape: B.reshape(g, input_shape),
         grad_name=lambda input, dim: f"SqueezeBackward{0 if dim is None else 1 if isinstance(dim, int) else 2}")
def squeeze(B, input: T, dim=None):
    """A view without dims of size 1: all of them, or those named."""


@view_op("unsqueeze", lambda B, g, input_shape: B.reshape(g, input_shape))
def unsqueeze(B, input: T, dim):
    """A view with a new dim of size 1 before `dim`."""


@view_op("select", lambda B, g, input_shape, dim, index: B._view_backward(g, input_shape, "select", (dim, index)))
def select(B, input: T, dim, index):
    """A view of one index of a dim, without that dim."""


@view_op("slice", lambda B, g, input_shape, dim, start, end, step: B._view_backward(g, input_shape, "_slice", (dim, start, end, step)), hidden=True, grad_name="Slice")
def _slice(B, input: T, dim, start=None, end=None, step=1):
    """A view of a range of indices of a dim."""


@view_op("diagonal", lambda B, g, input_shape, offset, dim1, dim2: B._view_backward(g, input_shape, "diagonal", (offset, dim1, dim2)))
def diagonal(B, input: T, offset=0, dim1=0, dim2=1):
    """A view of the elements whose two indices differ by `offset`, as the last dim."""


@view_op("unfold", lambda B, g, input_shape, dimension, size, step: B._overlapping_view_backward(g, input_shape, "_unfold", (dimension, size, step)), hidden=True, grad_name="Unfold")
def _unfold(B, input: T, dimension, size, step):
    """A view of overlapping windows along a dim, as a new last dim."""


@view_op("as_strided", lambda B, g, input_geometry, size, stride, storage_offset: B._as_strided_backward(g, input_geometry, size, stride, storage_offset))
def as_strided(B, input: T, size, stride, storage_offset=None):
    """A view of the storage with any shape, strides and offset (in elements).

    Raises:
        RuntimeError: it would reach outside of the storage.
    """


@view_op("index_basic", lambda B, g, input_shape, index: B._view_backward(g, input_shape, "_index_basic", (index,)), hidden=True, grad_name="Slice")
def _index_basic(B, input: T, index):
    """`input[index]` for integers, slices, None and Ellipsis."""


# The gradient of a view that shows a part: zeros, with the incoming gradient written to the same view of them. Its own
# gradient is that view. One operation serves all such views; it is told which.
@op(hidden=True, vjp=dict(grad=lambda B, g, operation, args: operations[operation].replay(g, args)))
def _view_backward(B, grad: T, shape, operation, args):
    """Zeros of `shape` with `grad` written to the view that `operation` makes with `args`."""
    if not grad.device.backend.mutable:
        return B._scatter_view(grad, shape, operation, args)
    result = new_filled(shape, 0, grad.dtype, grad.device)
    operations[operation].replay(result, args).copy_(grad)
    return result


@op(hidden=True)
def _scatter_view(B, grad: T, shape, operation, args):
    """`_view_backward` where arrays can't be written: by the positions of the view's elements."""
    count = math.prod(shape)
    positions = operations[operation].replay(B.arange(count, device=grad.device).reshape(shape), args)
    zeros = B.zeros((count,), dtype=grad.dtype, device=grad.device)
    return zeros.scatter_add(0, positions.reshape(-1), grad.reshape(-1)).reshape(shape)


@op(hidden=True, vjp=dict(grad=lambda B, g, operation, args: operations[operation].replay(g, args)))
def _overlapping_view_backward(B, grad: T, shape, operation, args):
    """The same where the view shows elements more than once: their gradients add up."""
    return B._scatter_view(grad, shape, operation, args)


@op(hidden=True)
def _as_strided_backward(B, grad: T, geometry, size, stride, storage_offset):
    """The gradient of `as_strided`: through the storage. `geometry` is the input's (shape, strides, offset)."""
    shape, strides, offset = geometry
    start = offset if storage_offset is None else storage_offset
    room = 1 + max(_last(shape, strides, offset), _last(size, stride, start))
    positions = B.as_strided(B.arange(room, device=grad.device), size, stride, start)
    storage = B.zeros((room,), dtype=grad.dtype, device=grad.device).scatter_add(0, positions.reshape(-1), grad.reshape(-1))
    return B.as_strided(storage, shape, strides, offset)


def _last(shape, strides, offset):
    return offset + sum((n - 1) * s for n, s in zip(shape, strides)) if all(shape) else 0


# --- views in terms of others -------------------------------------------------------------------------------------
@op()
def narrow(B, input: T, dim: Dim, start, length: Int):
    """A view of `length` indices of a dim from `start` on."""
    size = input.shape[dim] if input.ndim else 0
    if input.ndim == 0:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    if isinstance(start, TensorBase) and (start.ndim or start.dtype.is_floating_point or start.dtype.name == "bool"):
        raise RuntimeError("start must be an 0-dim integral Tensor.")
    start = one_int("narrow", "start", start)
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    if not -size <= start <= size:
        raise IndexError(f"start out of range (expected to be in range of [{-size}, {size}], but got {start})")
    if start < 0:
        start += size
    if start + length > size:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({size}).")
    return B._slice(input, dim, start, start + length, 1)


@op()
def unfold(B, input: T, dimension, size, step):
    """A view of windows of `size` elements, `step` apart, along a dim; the window is a new last dim."""
    return B._unfold(input, dimension, size, step)


@op()
def view_as(B, input: T, other: Raw):
    """`input.view(other.shape)`."""
    return B.view(input, tuple(other.shape))


@op()
def reshape_as(B, input: T, other: Raw):
    """`input.reshape(other.shape)`."""
    return B.reshape(input, tuple(other.shape))


@op()
def expand_as(B, input: T, other: Raw):
    """`input.expand(other.shape)`."""
    return B.expand(input, tuple(other.shape))


@op()
def flatten(B, input: T, start_dim=0, end_dim=-1):
    """The dims from `start_dim` to `end_dim` as one."""
    ndim = input.ndim
    if start_dim == 0 and end_dim == -1 and ndim != 1:
        return B.reshape(input, (-1,))
    n = max(ndim, 1)
    first, last = wrapped(start_dim, n), wrapped(end_dim, n)
    if first > last:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if first == last:
        return input
    shape = tuple(input.shape)
    return B.reshape(input, shape[:first] + (math.prod(shape[first:last + 1]),)
                     + shape[last + 1:])


def wrapped(dim, ndim):
    if not -ndim <= dim < ndim:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-ndim}, {ndim - 1}], but got {dim})")
    return dim % ndim


@op()
def unflatten(B, input: T, dim: Dim, sizes):
    """One dim as several (one size may be -1)."""
    shape = tuple(input.shape)
    sizes = list(sizes) if not isinstance(sizes, int) else [sizes]
    if sizes.count(-1) == 1:
        known = -math.prod(sizes)
        if known == 0 or shape[dim] % known:
            raise RuntimeError(f"unflatten: Provided sizes {sizes} don't multiply up to the size of dim {dim} ({shape[dim]}) in the input tensor")
        sizes[sizes.index(-1)] = shape[dim] // known
    if math.prod(sizes) != shape[dim]:
        raise RuntimeError(f"unflatten: Provided sizes {sizes} don't multiply up to the size of dim {dim} ({shape[dim]}) in the input tensor")
    return B.view(input, shape[:dim] + tuple(sizes) + shape[dim + 1:])


@op()
def ravel(B, input: T):
    """All elements as one dim."""
    return B.reshape(input, (-1,))


def _movedim(ndim, source, destination):
    if type(source) is type(destination) is int:
        order = list(range(ndim)) or [0]
        order.insert(wrapped(destination, len(order)), order.pop(wrapped(source, len(order))))
        return order
    source = [source] if isinstance(source, int) else list(source)
    destination = [destination] if isinstance(destination, int) else list(destination)
    if len(source) != len(destination):
        raise RuntimeError("movedim: Invalid source or destination dims: source and destination must have the same number of dims")
    source = [wrapped(d, max(ndim, 1)) for d in source]
    destination = [wrapped(d, max(ndim, 1)) for d in destination]
    if len(set(source)) < len(source) or len(set(destination)) < len(destination):
        raise RuntimeError("movedim: repeated dim in source or destination")
    order = [d for d in range(ndim) if d not in source]
    for d, s in sorted(zip(destination, source)):
        order.insert(d, s)
    return tuple(order)


@op(public=("movedim", "moveaxis"))
def movedim(B, input: T, source: Ints, destination: Ints):
    """A view with dims moved to other places, the rest in order."""
    return B.permute(input, _movedim(input.ndim, source, destination)[:input.ndim])


@op()
def adjoint(B, input: T):
    """The last two dims exchanged, and the conjugate."""
    return B.conj(B.transpose(input, -2, -1))


def _equal_lengths(size, step):
    """The lengths of parts of `step`, of which the last may be shorter."""
    if not size:
        return [0]
    return [step] * (size // step) + [size % step] * (size % step > 0)


@op(entry=False, vjp=dict(input=lambda B, g, dim: B.cat(g, dim)),
    grad_name=lambda input, sizes, dim: "SplitBackward0" if isinstance(sizes, int) else "SplitWithSizesBackward0")
def split(B, input: T, split_size_or_sections: Ints, dim: Dim = 0):
    """Views of consecutive parts of a dim: of one length (the last may be shorter), or of the lengths given."""
    if input.ndim == 0:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    size = input.shape[dim]
    if isinstance(split_size_or_sections, int):
        step = split_size_or_sections
        if step < 0:
            raise RuntimeError(f"split expects split_size be non-negative, but got split_size={step}")
        if step == 0 and size:
            raise RuntimeError(f"split_size can only be 0 if dimension size is 0, but got dimension size of {size}")
        sections = _equal_lengths(size, step)
    else:
        sections = list(split_size_or_sections)
        if sum(sections) != size or any(n < 0 for n in sections):
            raise RuntimeError(f"split_with_sizes expects split_sizes to sum exactly to {size} (input tensor's size at dimension {dim}), "
                               f"but got split_sizes={sections}")
    return operations["_slice"].parts(input, dim, sections)


@op()
def split_with_sizes(B, input: T, split_sizes, dim: Dim = 0):
    """Views of consecutive parts of the given lengths."""
    return B.split(input, list(split_sizes), dim)


@op(entry=False, vjp=dict(input=lambda B, g, dim: B.cat(g, dim)),
    grad_name=lambda input, chunks, dim: "SplitBackward0" if input.shape[dim] else "SplitWithSizesBackward0")
def chunk(B, input: T, chunks: Int, dim: Dim = 0):
    """Views of at most `chunks` parts of equal length (the last may be shorter)."""
    if input.ndim == 0:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    size = input.shape[dim]
    return operations["_slice"].parts(input, dim, _equal_lengths(size, -(-size // chunks)) if size else [0] * chunks)


@op()
def tensor_split(B, input: T, indices_or_sections, dim: Dim = 0):
    """Views of parts of a dim: that many of nearly equal length, or cut at the given indices."""
    if input.ndim == 0:
        raise RuntimeError("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    size = input.shape[dim]
    if hasattr(indices_or_sections, "tolist"):          # a tensor's, an array's, NumPy's number
        indices_or_sections = indices_or_sections.tolist()
    if isinstance(indices_or_sections, int):
        n = indices_or_sections
        if n <= 0:
            raise RuntimeError(f"number of sections must be larger than 0, got {n}")
        small, extra = divmod(size, n)
        ends = [0]
        for i in range(n):
            ends.append(ends[-1] + small + (i < extra))
    else:
        ends = [0, *indices_or_sections, size]
    return tuple([B._slice(input, dim, a, b, 1) for a, b in zip(ends[:-1], ends[1:])])


@op(entry=False, vjp=dict(input=lambda B, g, dim: B.stack(g, dim)))
def unbind(B, input: T, dim: Dim = 0):
    """A view of every index of a dim."""
    if input.ndim == 0:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    return operations["select"].each(input, dim)


# --- copies -------------------------------------------------------------------------------------------------------
@op(call=clone_function, vjp=dict(input=lambda B, g: g))
def clone(B, input: T, *, memory_format=preserve_format):
    """A copy with memory of its own, in the same order of dims, or in the format that is given."""
    if memory_format is contiguous_format or memory_format in (None, preserve_format) and (input.ndim < 2 or input.is_contiguous()):
        return copied(input)
    return B.empty_like(input, memory_format=memory_format or preserve_format).copy_(input)


@op(call=contiguous_function)
def contiguous(B, input: T, memory_format=None):
    """The tensor itself where its elements lie in row-major order (or that of another format), else a copy in which they do."""
    if input.is_contiguous(memory_format):
        return input
    if memory_format is preserve_format:
        raise RuntimeError("preserve memory format is unsupported by the contiguous operator")
    return B.clone(input, memory_format=memory_format or contiguous_format)


@op(hidden=True, grad_name="ToCopy", vjp=dict(input=lambda B, g: g))
def _convert(B, input: T, dtype, device, non_blocking=False):
    """The values in another dtype and on another device; the gradient is brought back by the engine."""
    return converted(input, dtype, device, non_blocking)


@op(hidden=True, method=False)
def _to(B, input: T, dtype, device, copy, non_blocking=False):
    """`Tensor.to` after its arguments were read."""
    changes = (dtype is not None and dtype is not input.dtype) or (device is not None and not is_on(input, device))
    if changes:
        return B._convert(input, dtype, device, non_blocking)
    return B.clone(input) if copy else input


_to_method = to_method(operations["_convert"], B._to)
_to_method.__doc__ = """This tensor with another dtype and/or device: `to(dtype)`, `to(device)`, `to(device, dtype)`, `to(other)`,
each also with `non_blocking` and `copy` behind.

Returns the tensor itself where nothing would change (unless `copy`). With `non_blocking`, copies between pinned memory and a CUDA device
are only begun: what is done on the device afterwards comes after them, the host has to synchronize.
"""
methods["to"] = _to_method

for _method, _name in dict(float="float32", double="float64", half="float16", bfloat16="bfloat16", int="int32", long="int64", short="int16",
                           char="int8", byte="uint8", bool="bool", cfloat="complex64", cdouble="complex128").items():
    methods[_method] = type_method(operations["_convert"], by_name[_name], B._to)
    methods[_method].__name__ = methods[_method].__qualname__ = _method
    methods[_method].__doc__ = f"This tensor as {_name}."


@op()
def repeat(B, input: T, repeats: Sizes):
    """The tensor repeated along each dim; new dims come first."""
    lead = len(repeats) - input.ndim
    if lead < 0:
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    if any(n < 0 for n in repeats):
        raise RuntimeError(f"Trying to create tensor with negative dimension in repeat {list(repeats)}")
    shape = (1,) * lead + tuple(input.shape)
    pairs = [x for n, size in zip(repeats, shape) for x in (n, size)]
    spread = B.expand(B.reshape(input, [x for size in shape for x in (1, size)]), pairs)
    return B.clone(spread, memory_format=contiguous_format).reshape([n * size for n, size in zip(repeats, shape)])


@op()
def tile(B, input: T, dims: Sizes):
    """`repeat` in which missing leading repeats are 1."""
    dims = tuple(dims)
    return B.repeat(input, (1,) * (input.ndim - len(dims)) + dims)


@op(hidden=True, entry="flip", grad_name="Flip", vjp=dict(input=lambda B, g, dims: B._flip(g, dims)))
def _flip(B, input: T, dims: Dims):
    """`flip` with dims counted from the front."""
    for d in dims:
        n = input.shape[d]
        input = B.index_select(input, d, B.arange(n - 1, -1, -1, device=input.device) if n else B.arange(0, device=input.device))
    return B.clone(input)


@op()
def flip(B, input: T, dims: Sizes):
    """The elements in reverse order along the dims."""
    return B._flip(input, dims) if dims else B.clone(input)


@op()
def fliplr(B, input: T):
    """The second dim reversed."""
    if input.ndim < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return B.flip(input, (1,))


@op()
def flipud(B, input: T):
    """The first dim reversed."""
    if input.ndim < 1:
        raise RuntimeError("Input must be >= 1-d.")
    return B.flip(input, (0,))


@op(hidden=True, entry="roll", grad_name="Roll", vjp=dict(input=lambda B, g, shifts, dims: B._roll(g, tuple([-n for n in shifts]), dims)))
def _roll(B, input: T, shifts, dims):
    """`roll` with tuples of shifts and of dims counted from the front."""
    for shift, dim in zip(shifts, dims):
        size = input.shape[dim]
        if size:
            cut = size - shift % size
            input = B.cat([B._slice(input, dim, cut, size, 1), B._slice(input, dim, 0, cut, 1)], dim)
    return B.clone(input)


@op()
def roll(B, input: T, shifts: Ints, dims: Ints = None):
    """The elements moved on along dims, those that fall off coming in at the start."""
    if dims is None or dims == ():
        if input.ndim != 1:
            return B.reshape(B.roll(B.reshape(input, (-1,)), shifts, 0), tuple(input.shape))
        dims = 0
    shifts, dims = ((x,) if isinstance(x, int) else tuple(x) for x in (shifts, dims))
    if len(shifts) != len(dims):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}")
    if not input.ndim:
        raise IndexError(f"Dimension specified as {dims[0]} but tensor has no dimensions")
    return B._roll(input, shifts, tuple([wrapped(dim, input.ndim) for dim in dims]))


@op()
def rot90(B, input: T, k: Int = 1, dims=(0, 1)):
    """Turned by 90 degrees k times in the plane of two dims, from the first towards the second."""
    if input.ndim < 2:
        raise RuntimeError(f"rot90(): expected a tensor of at least 2 dims, got shape {list(input.shape)}")
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    a, b = [wrapped(d, input.ndim) for d in dims]
    if a == b:
        raise RuntimeError(f"rot90(): expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}")
    k %= 4
    if k == 2:
        return B._flip(input, (a, b))
    if k == 0:
        return B.clone(input)
    return B._flip(B.transpose(input, a, b), (a,) if k == 1 else (b,))


@op()
def sum_to_size(B, input: T, size: Sizes):
    """Summed over dims that broadcasting would repeat, down to `size`; the inverse of `expand`."""
    lead, shape = input.ndim - len(size), tuple(input.shape)
    if lead < 0 or any(n not in (1, own) for n, own in zip(size, shape[lead:])):
        raise RuntimeError(f"size {{{list(size)}}} is not expandable to size {{{list(shape)}}}.")
    dims = tuple(range(lead)) + tuple(lead + i for i, n in enumerate(size) if n == 1 and shape[lead + i] != 1)
    if dims:
        input = B.sum(input, dims, True)
    return B.view(input, size) if lead else input
