"""Reading and writing at indexed places: gather, scatter, advanced indexing, masks, embeddings.

Every entry checks all its indices before it writes to an array that is given, so bad input leaves arrays whole; what writes to a
new one may check on the way.
"""
from libc.stdint cimport int64_t
cimport numpy as cnp

import numpy as np

from pyx_tensor_cpu.dtypes cimport BF16, F16, code_of
from pyx_tensor_cpu.indexed cimport (
    ADD, GET, MAX_DIMS, MAXIMUM, MINIMUM, MULTIPLY, PUT, IndexLoop, Operation, add_offsets, all_within,
    index_range, loop_add, loop_check, loop_init, loop_run)
from pyx_tensor_cpu.iterate cimport contiguous, contiguous_copy, widened
from pyx_tensor_cpu.memory cimport new_array, view_over

cnp.import_array()

cdef object INT64 = np.dtype(np.int64)
cdef dict REDUCTIONS = {"sum": ADD, "mean": ADD, "prod": MULTIPLY, "amax": MAXIMUM, "amin": MINIMUM}


# ---------------------------------------------------------------------------------------------- checks of arguments

cdef list sizes(array):
    """The shape as PyTorch prints it."""
    return list(array.shape)


cdef cnp.ndarray as_index(index):
    """`index` as an int64 array."""
    cdef cnp.ndarray result = index
    if cnp.PyArray_TYPE(result) == cnp.NPY_INT64:
        return result
    if not cnp.PyArray_ISINTEGER(result):
        raise IndexError(f"index must be an integer array, got dtype {result.dtype}")
    return result.astype(INT64)


cdef bint check_range(cnp.ndarray index, Py_ssize_t lowest, Py_ssize_t size, Py_ssize_t dim, error) except -1:
    """Raise `error` unless lowest <= index < size everywhere; says whether an index is negative."""
    cdef int64_t low = 0, high = 0
    cdef cnp.ndarray packed = index
    cdef const int64_t *data
    if not cnp.PyArray_IS_C_CONTIGUOUS(index):  # what is only repeated is looked at once
        repeated = tuple([slice(0, 1) if stride == 0 else slice(None) for stride in (<object>index).strides])
        packed = contiguous(index[repeated])
    data = <const int64_t *>cnp.PyArray_DATA(packed)
    if all_within(data, cnp.PyArray_SIZE(packed), size):
        return False
    index_range(data, cnp.PyArray_SIZE(packed), &low, &high)
    if low < lowest or high >= size:
        raise error(f"index {low if low < lowest else high} is out of bounds for dimension {dim} with size {size}")
    return True


cdef cnp.ndarray checked_index(index, Py_ssize_t size, Py_ssize_t dim, bint negative, error=IndexError):
    """`index` as int64 in [0, size); with `negative`, indices from the end are turned into ordinary ones."""
    cdef cnp.ndarray result = as_index(index)
    if check_range(result, -size if negative else 0, size, dim, error):
        result = np.where(result < 0, result + size, result)
    return result


cdef int check_vector(cnp.ndarray index, str name) except -1:
    if cnp.PyArray_NDIM(index) > 1:
        raise IndexError(f"{name}(): index is expected to be a vector or a scalar, got shape {sizes(index)}")
    return 0


cdef Py_ssize_t size_along(cnp.ndarray array, Py_ssize_t dim) except -1:
    """array.shape[dim], where a 0-dim array counts as a vector of one element."""
    cdef Py_ssize_t ndim = max(cnp.PyArray_NDIM(array), 1)
    if not 0 <= dim < ndim:
        raise IndexError(f"Dimension out of range (expected to be in range of [0, {ndim - 1}], but got {dim})")
    return array.shape[dim] if cnp.PyArray_NDIM(array) else 1


cdef int check_dtype(cnp.ndarray array, cnp.ndarray values, str name) except -1:
    if array.dtype != values.dtype:
        raise RuntimeError(f"{name}(): expected values of dtype {array.dtype}, got {values.dtype}")
    return 0


cdef int check_fits(cnp.ndarray index, cnp.ndarray array, cnp.ndarray source, Py_ssize_t dim, str name) except -1:
    """The index of gather and scatter may be smaller than the operands, never larger."""
    cdef int d
    if index.ndim != array.ndim or (source is not None and source.ndim != array.ndim):
        raise RuntimeError(f"{name}(): index {sizes(index)} must have the same number of dimensions as input "
                           f"{sizes(array)}" + ("" if source is None else f" and src {sizes(source)}"))
    for d in range(index.ndim):
        if ((d != dim and index.shape[d] > array.shape[d])
                or (source is not None and index.shape[d] > source.shape[d])):
            raise RuntimeError(
                f"{name}(): expected index {sizes(index)} to be no larger than self {sizes(array)} apart "
                f"from dimension {dim}" + ("" if source is None else f" and no larger than src {sizes(source)}"))
    return 0


# -------------------------------------------------------------------------------------------------- loops over places

cdef cnp.ndarray at_least_1d(cnp.ndarray array):
    return array.reshape(1) if cnp.PyArray_NDIM(array) == 0 else array


cdef int along_dimension(cnp.ndarray array, Py_ssize_t dim, cnp.ndarray index, cnp.ndarray dense, Operation operation) except -1:
    """gather and scatter: `index` and `dense` have one shape, and `index` replaces the coordinate along `dim`.

    The range of the indices is checked on the way, so what is written to must be new.
    """
    cdef IndexLoop loop
    cdef Py_ssize_t size = size_along(array, dim)
    cdef int d
    loop_init(&loop, array.strides[dim], operation)
    for d in range(index.ndim):
        loop_add(&loop, index.shape[d], 0 if d == dim else array.strides[d], index.strides[d], dense.strides[d], d != dim)
    loop_check(&loop, size)
    if not loop_run(&loop, array, index, dense):
        check_range(index, 0, size, dim, RuntimeError)      # raises, and names the index
    return 0


cdef int along_places(cnp.ndarray array, int first, int count, cnp.ndarray places, Py_ssize_t scale, cnp.ndarray dense,
                      Operation operation) except -1:
    """Dimensions first … first+count of `array` are indexed by `places` (of any rank, `scale` bytes a unit); the
    others stay around them, so that `dense` has shape array[:first] + places + array[first+count:]."""
    cdef IndexLoop loop
    cdef int d, rank = cnp.PyArray_NDIM(places)
    loop_init(&loop, scale, operation)
    for d in range(first):
        loop_add(&loop, array.shape[d], array.strides[d], 0, dense.strides[d], True)
    for d in range(rank):
        loop_add(&loop, places.shape[d], 0, places.strides[d], dense.strides[first + d], False)
    for d in range(first + count, array.ndim):
        loop_add(&loop, array.shape[d], array.strides[d], 0, dense.strides[d - count + rank], True)
    loop_run(&loop, array, places, dense)
    return 0


cdef tuple result_shape(cnp.ndarray array, int first, int count, cnp.ndarray places):
    cdef tuple shape = (<object>array).shape
    return shape[:first] + (<object>places).shape + shape[first + count:]


cdef cnp.ndarray read_places(cnp.ndarray array, int first, int count, cnp.ndarray places, Py_ssize_t scale):
    cdef Py_ssize_t shape[2 * MAX_DIMS]
    cdef int d, rank = cnp.PyArray_NDIM(places), ndim = cnp.PyArray_NDIM(array) - count + rank
    cdef cnp.ndarray result
    if ndim > MAX_DIMS:
        raise ValueError(f"indexing gives {ndim} dimensions, more than {MAX_DIMS}")
    for d in range(first):
        shape[d] = array.shape[d]
    for d in range(rank):
        shape[first + d] = places.shape[d]
    for d in range(first + rank, ndim):
        shape[d] = array.shape[d + count - rank]
    result = new_array(ndim, shape, array.dtype)
    along_places(array, first, count, places, scale, result, GET)
    return result


cdef bint needs_widening(cnp.ndarray array):
    """float16 and bfloat16 are accumulated in float32 and rounded once."""
    cdef int code = code_of(array)
    return code == F16 or code == BF16


# -------------------------------------------------------------------------------------------------- one index vector

def index_select(cnp.ndarray array not None, Py_ssize_t dim, index):
    cdef cnp.ndarray places = checked_index(index, size_along(array, dim), dim, False)
    cdef cnp.ndarray source = at_least_1d(array)
    check_vector(places, "index_select")
    if array.ndim == 0:
        return read_places(source, 0, 1, places, source.strides[0]).reshape(())
    return read_places(source, dim, 1, at_least_1d(places), source.strides[dim])


def take(cnp.ndarray array not None, Py_ssize_t dim, index):
    """index_select that counts negative indices from the end and takes indices of any rank."""
    cdef cnp.ndarray places = checked_index(index, size_along(array, dim), dim, True)
    array = at_least_1d(array)
    return read_places(array, dim, 1, places, array.strides[dim])


def take_flat(cnp.ndarray array not None, cnp.ndarray index not None):
    """Elements of the flattened array, in the shape of `index`. TypeError for indices that aren't int64: the caller knows what to do with them."""
    cdef cnp.ndarray flat, places
    if cnp.PyArray_TYPE(index) != cnp.NPY_INT64 or not cnp.PyArray_SIZE(array):
        raise TypeError(f"take: indices of dtype {index.dtype} in an array of shape {sizes(array)}")
    flat = contiguous(array).reshape(-1)
    places = checked_index(index, cnp.PyArray_DIM(flat, 0), 0, True)
    return read_places(flat, 0, 1, places, cnp.PyArray_STRIDE(flat, 0))


def put_(cnp.ndarray array not None, index, cnp.ndarray source not None, bint accumulate=False):
    """Write elements of `source` at flat places of `array`, in place."""
    cdef cnp.ndarray places = checked_index(index, array.size, 0, True), target = at_least_1d(array)
    check_dtype(array, source, "put_")
    if places.size != source.size:
        raise IndexError(f"put_(): expected source and index to have the same number of elements, but got "
                         f"source.numel() = {source.size}, index.numel() = {places.size}")
    if places.size:
        coordinates = np.unravel_index(places.reshape(-1), (<object>target).shape)
        index_put_(target, coordinates, source.reshape(-1), accumulate)
    return array


cdef tuple index_rows(cnp.ndarray array, Py_ssize_t dim, index, cnp.ndarray source, str name, error):
    """Checks of index_add, index_copy and index_fill; gives the index vector and the broadcastable source."""
    cdef cnp.ndarray places = checked_index(index, size_along(array, dim), dim, error is IndexError, error)
    check_vector(places, name)
    check_dtype(array, source, name)
    places = at_least_1d(places)
    expected = result_shape(array, dim, 1, places)
    if source.ndim and (<object>source).shape != expected:
        raise RuntimeError(f"{name}(): source of shape {sizes(source)} must match self of shape "
                           f"{sizes(array)} with {places.size} indices along dimension {dim}")
    return places, source if source.ndim else spread_out(source, expected)


cdef cnp.ndarray to_write(cnp.ndarray array, cnp.ndarray out, bint widen):
    """What an operation that changes some elements of `array` writes to: `out`, a copy of `array` unless it is `array` itself, or a new copy;
    with `widen`, one in float32 that `written` rounds."""
    if widen:
        return at_least_1d(array.astype(np.float32, order="C"))
    if out is None:
        return contiguous_copy(at_least_1d(array))
    if out is not array:
        np.copyto(out, array)
    return at_least_1d(out)


cdef cnp.ndarray written(cnp.ndarray target, cnp.ndarray array, cnp.ndarray out, bint widen):
    """The result, when `target` has been written to."""
    if out is None:
        return (target.astype(array.dtype) if widen else target).reshape((<object>array).shape)
    if widen:
        out[...] = target.astype(array.dtype).reshape((<object>array).shape)
    return out


cdef cnp.ndarray write_rows(cnp.ndarray array, Py_ssize_t dim, index, cnp.ndarray source, Operation operation, str name, error,
                            alpha=1, cnp.ndarray out=None):
    """A copy of `array` with alpha * `source` written or added at `index` along `dim`."""
    cdef cnp.ndarray target = at_least_1d(array)
    cdef bint widen = operation != PUT and needs_widening(array)
    places, source = index_rows(target, dim, index, source if array.ndim else source.reshape(-1), name, error)
    target = to_write(array, out, widen)
    if widen:
        source = widened(source)
    if alpha != 1:
        source = source * np.asarray(alpha).astype(source.dtype)
    along_places(target, dim, 1, places, target.strides[dim], source, operation)
    return written(target, array, out, widen)


def index_add(cnp.ndarray array not None, Py_ssize_t dim, index, cnp.ndarray source not None, alpha=1, cnp.ndarray out=None):
    """A copy of `array` with alpha * `source` added at `index` along `dim`; repeated indices add up."""
    return write_rows(array, dim, index, source, ADD, "index_add", RuntimeError, alpha, out)


def index_copy(cnp.ndarray array not None, Py_ssize_t dim, index, cnp.ndarray source not None):
    return write_rows(array, dim, index, source, PUT, "index_copy", IndexError)


def index_fill(cnp.ndarray array not None, Py_ssize_t dim, index, value):
    """A copy of `array` with a number in the slices at `index`. TypeError for what isn't surely a number of its dtype."""
    if not (type(value) is int and 0 <= value <= 127 or type(value) is float and cnp.PyArray_ISFLOAT(array) and cnp.PyArray_ITEMSIZE(array) >= 4 and abs(value) <= 1e38):
        raise TypeError(f"index_fill: {value!r} in an array of dtype {array.dtype}")
    return write_rows(array, dim, index, np.asarray(value, array.dtype), PUT, "index_fill", IndexError)


def embedding(cnp.ndarray weight not None, index):
    cdef cnp.ndarray places
    if weight.ndim == 0:
        raise RuntimeError("embedding(): weight must have a dimension to index, got a 0-dim array")
    places = checked_index(index, weight.shape[0], 0, False)
    return read_places(weight, 0, 1, places, weight.strides[0])


def embedding_backward(cnp.ndarray g not None, index, Py_ssize_t num_weights, padding_idx=None):
    """The gradient of embedding: rows of `g` added up at their indices, none at `padding_idx`."""
    cdef cnp.ndarray places = checked_index(index, num_weights, 0, False).reshape(-1)
    cdef Py_ssize_t width
    cdef cnp.ndarray rows
    if (<object>g).shape[:max(g.ndim - 1, 0)] != index.shape or g.ndim == 0:
        raise RuntimeError(f"embedding_backward(): g of shape {sizes(g)} does not fit index of shape {sizes(index)}")
    width = g.shape[g.ndim - 1]
    rows = g.reshape(places.size, width)
    if padding_idx is not None and padding_idx >= 0:
        kept = places != padding_idx
        places, rows = places[kept], rows[kept]
    return index_add(np.zeros((num_weights, width), g.dtype), 0, places, rows)


# -------------------------------------------------------------------------------------------------- gather and scatter

def gather(cnp.ndarray array not None, Py_ssize_t dim, index):
    cdef cnp.ndarray places = as_index(index), source = at_least_1d(array), result
    shape = (<object>places).shape
    places = at_least_1d(places)
    if cnp.PyArray_SIZE(places) == 0:  # of any rank, as in PyTorch
        return np.empty(shape, array.dtype)
    check_fits(places, source, None, dim, "gather")
    result = new_array(cnp.PyArray_NDIM(places), <const Py_ssize_t *>cnp.PyArray_DIMS(places), array.dtype)
    along_dimension(source, dim, places, result, GET)
    return result.reshape(shape)


cdef cnp.ndarray scatter_with(cnp.ndarray array, Py_ssize_t dim, index, cnp.ndarray src, Operation operation, str name, cnp.ndarray out=None):
    """A copy of `array` with the elements of `src` written or combined at `index` along `dim`."""
    cdef cnp.ndarray places = at_least_1d(as_index(index)), target = at_least_1d(array)
    cdef cnp.ndarray source = spread_out(src, (<object>places).shape) if src.ndim == 0 else src
    cdef bint widen = operation != PUT and needs_widening(array)
    check_dtype(array, source, name)
    if cnp.PyArray_SIZE(places) == 0:  # of any rank, as in PyTorch
        return written(to_write(array, out, False), array, out, False)
    check_fits(places, target, source, dim, name)
    if out is not None:
        check_range(places, 0, size_along(target, dim), dim, RuntimeError)
    target = to_write(array, out, widen)
    along_dimension(target, dim, places, widened(source) if widen else source, operation)
    return written(target, array, out, widen)


def scatter(cnp.ndarray array not None, Py_ssize_t dim, index, cnp.ndarray src not None, cnp.ndarray out=None):
    return scatter_with(array, dim, index, src, PUT, "scatter", out)


def scatter_add(cnp.ndarray array not None, Py_ssize_t dim, index, cnp.ndarray src not None, cnp.ndarray out=None):
    return scatter_with(array, dim, index, src, ADD, "scatter_add", out)


cdef object identity_of(str reduce, dtype):
    """The value that `reduce` starts from."""
    if reduce in ("sum", "mean"):
        return np.zeros((), dtype)
    if reduce == "prod":
        return np.ones((), dtype)
    if dtype == np.bool_:
        return np.asarray(reduce == "amin", dtype)
    if np.issubdtype(dtype, np.integer):
        limits = np.iinfo(dtype)
        return np.asarray(limits.min if reduce == "amax" else limits.max, dtype)
    return np.asarray(-np.inf if reduce == "amax" else np.inf, dtype)


def scatter_reduce(cnp.ndarray array not None, Py_ssize_t dim, index, cnp.ndarray src not None, str reduce, bint include_self=True):
    if reduce not in REDUCTIONS:
        raise RuntimeError(f"scatter_reduce(): reduce must be one of {', '.join(REDUCTIONS)}, got {reduce!r}")
    if needs_widening(array):
        check_dtype(array, src, "scatter_reduce")
        wide = scatter_reduce(widened(array), dim, index, widened(src), reduce, include_self)
        return wide.astype(array.dtype)
    start = array
    if not include_self:
        start = scatter(array, dim, index, identity_of(reduce, array.dtype))
    total = scatter_with(start, dim, index, src, REDUCTIONS[reduce], "scatter_reduce")
    if reduce != "mean":
        return total
    counts = np.full((<object>array).shape, int(include_self), np.int64)
    counts = np.maximum(scatter_add(counts, dim, index, np.ones((), np.int64)), 1)
    divide = np.floor_divide if np.issubdtype(array.dtype, np.integer) else np.divide
    return np.asarray(divide(total, counts.astype(array.dtype)), array.dtype)


# -------------------------------------------------------------------------------------------------- advanced indexing

cdef tuple resolve_indices(cnp.ndarray array, indices):
    """The indexed array with its indexed dimensions side by side, and where in them the indices point.

    Gives (view, first, count, places, scale): dimensions first … first+count of the view are indexed by `places`, in
    units of `scale` bytes. Index arrays that are not side by side move their dimensions to the front.
    """
    cdef list dims = [d for d, index in enumerate(indices) if index is not None]
    cdef cnp.ndarray view = array
    cdef Py_ssize_t first
    if len(indices) > array.ndim:
        raise IndexError(f"too many indices for tensor of dimension {array.ndim}")
    if not dims:
        return array, 0, 0, np.zeros((), INT64), 0
    first = dims[0]
    if len(dims) == 1:
        return view, first, 1, checked_index(indices[first], array.shape[first], first, True), array.strides[first]
    if dims[len(dims) - 1] - first + 1 != len(dims):
        view = array.transpose(dims + [d for d in range(array.ndim) if d not in dims])
        first = 0
    return view, first, len(dims), combined_offsets(array, indices, dims), 1


cdef tuple broadcast_shape(list arrays):
    cdef tuple shape = arrays[0].shape
    if all([array.shape == shape for array in arrays]):
        return shape
    try:
        return np.broadcast_shapes(*[array.shape for array in arrays])
    except ValueError:
        shapes = ", ".join([str(sizes(array)) for array in arrays])
        raise IndexError(f"shape mismatch: indexing tensors could not be broadcast together with shapes {shapes}") from None


cdef cnp.ndarray combined_offsets(cnp.ndarray array, indices, list dims):
    """Byte offsets of the places that several broadcast index arrays tell together."""
    cdef list arrays = [as_index(indices[d]) for d in dims]
    cdef tuple shape = broadcast_shape(arrays)
    cdef cnp.ndarray offsets = np.zeros(shape, INT64), full
    cdef Py_ssize_t d
    for d, index in zip(dims, arrays):
        check_range(index, -array.shape[d], array.shape[d], d, IndexError)
        full = contiguous(index if index.shape == shape else np.broadcast_to(index, shape))
        add_offsets(<const int64_t *>cnp.PyArray_DATA(full), cnp.PyArray_SIZE(full), array.shape[d], array.strides[d],
                    <int64_t *>cnp.PyArray_DATA(offsets))
    return offsets


def index_get(cnp.ndarray array not None, indices):
    """Advanced indexing by a list of None (the whole dimension) and integer arrays."""
    view, first, count, places, scale = resolve_indices(array, indices)
    return read_places(view, first, count, places, scale)


cdef cnp.ndarray spread_out(cnp.ndarray values, tuple shape):
    """A view of `values` in the shape of an indexing result, to which it broadcasts."""
    cdef Py_ssize_t strides[MAX_DIMS]
    cdef Py_ssize_t target[MAX_DIMS]
    cdef int ndim = len(shape), lead = ndim - cnp.PyArray_NDIM(values), d
    cdef bint fits = lead >= 0
    for d in range(ndim):
        target[d], strides[d] = shape[d], 0
        if fits and d >= lead and cnp.PyArray_DIM(values, d - lead) != 1:
            fits = cnp.PyArray_DIM(values, d - lead) == target[d]
            strides[d] = cnp.PyArray_STRIDE(values, d - lead)
    if not fits:
        raise RuntimeError(f"shape mismatch: value tensor of shape {sizes(values)} cannot be broadcast to indexing result of shape {list(shape)}")
    return view_over(values, ndim, target, strides, cnp.PyArray_BYTES(values))


def index_put_(cnp.ndarray array not None, indices, cnp.ndarray values not None, bint accumulate=False):
    """array[indices] = values, or += where every repeated index counts; the last of repeated writes wins."""
    check_dtype(array, values, "index_put_")
    if not cnp.PyArray_ISWRITEABLE(array):
        raise ValueError("index_put_(): the array written to is read-only")
    if accumulate and needs_widening(array):
        array[...] = index_put_(widened(array), indices, widened(values), True).astype(array.dtype)
        return array
    view, first, count, places, scale = resolve_indices(array, indices)
    shape = result_shape(view, first, count, places)
    dense = values if (<object>values).shape == shape else spread_out(values, shape)
    if (cnp.PyArray_NDIM(values) or accumulate) and np.may_share_memory(array, values):        # one element may be written over itself
        dense = dense.copy()
    if np.may_share_memory(array, places):
        places = places.copy()
    along_places(view, first, count, places, scale, dense, ADD if accumulate else PUT)
    return array


def index_put(cnp.ndarray array not None, indices, cnp.ndarray values not None, bint accumulate=False, cnp.ndarray out=None):
    """A copy of `array` with values written or added by index_put_."""
    if out is None:
        out = contiguous_copy(array)
    elif out is not array:
        np.copyto(out, array)
    return index_put_(out, indices, values if values.dtype == array.dtype else values.astype(array.dtype), accumulate)
