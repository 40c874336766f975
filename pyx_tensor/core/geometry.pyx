"""Shapes, strides and what each view operation makes of them, by PyTorch's rules and free of any array."""
cdef extern from "Python.h":
    Py_ssize_t PY_SSIZE_T_MAX
    Py_ssize_t PyNumber_AsSsize_t(object value, void* overflow) except? -1


cdef Py_ssize_t numel(const Geometry* g) noexcept nogil:
    cdef Py_ssize_t count = 1
    cdef int i
    for i in range(g.ndim):
        count *= g.shape[i]
    return count


cdef bint is_contiguous(const Geometry* g) noexcept nogil:
    """Row-major without gaps; strides of dims of size 1 don't matter, and an empty tensor is contiguous."""
    cdef Py_ssize_t expected = 1
    cdef int i
    for i in range(g.ndim):
        if g.shape[i] == 0:
            return True
    for i in range(g.ndim - 1, -1, -1):
        if g.shape[i] != 1:
            if g.strides[i] != expected:
                return False
            expected *= g.shape[i]
    return True


cdef bint overlaps_itself(const Geometry* g) noexcept nogil:
    """True unless it is certain that no two indices name one element: each stride, in rising order, must step over
    all that the smaller ones reach. (Sufficient, not necessary: odd as_strided layouts are refused, never written.)"""
    cdef int order[MAX_DIMS]
    cdef int n = 0, i, j, key
    cdef Py_ssize_t reach = 0
    for i in range(g.ndim):
        if g.shape[i] == 0:
            return False
        if g.shape[i] > 1:
            j = n
            while j > 0 and g.strides[order[j - 1]] > g.strides[i]:
                order[j] = order[j - 1]
                j -= 1
            order[j] = i
            n += 1
    for i in range(n):
        key = order[i]
        if g.strides[key] <= reach:
            return True
        reach += g.strides[key] * (g.shape[key] - 1)
    return False


cdef void set_contiguous(Geometry* g) noexcept nogil:
    """Strides of a row-major array of g's shape (a dim of size 0 counts as 1, as in PyTorch)."""
    cdef Py_ssize_t step = 1
    cdef int i
    for i in range(g.ndim - 1, -1, -1):
        g.strides[i] = step
        if g.shape[i] > 1:
            step *= g.shape[i]


cdef int wrap_dim(Py_ssize_t dim, int ndim) except -1:
    """A dim counted from the front; IndexError where it is out of range (0-dim tensors take 0 and -1)."""
    cdef int limit = ndim if ndim > 0 else 1
    if dim < -limit or dim >= limit:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-limit}, {limit - 1}], but got {dim})")
    return <int>(dim + limit if dim < 0 else dim)


cdef tuple shape_tuple(const Geometry* g):
    return tuple([g.shape[i] for i in range(g.ndim)])


cdef int load_shape(Geometry* g, object shape) except -1:
    """Read a shape given as a sequence of ints."""
    cdef Py_ssize_t n = len(shape)
    cdef int i = 0
    if n > MAX_DIMS:
        raise RuntimeError(f"a tensor has at most {MAX_DIMS} dimensions, got {n}")
    g.ndim = <int>n
    if type(shape) is tuple:
        for i in range(g.ndim):
            g.shape[i] = (<tuple>shape)[i]
        return 0
    for size in shape:
        g.shape[i] = size
        i += 1
    return 0


cdef inline void remove_dim(Geometry* g, int dim) noexcept nogil:
    cdef int i
    g.ndim -= 1
    for i in range(dim, g.ndim):
        g.shape[i] = g.shape[i + 1]
        g.strides[i] = g.strides[i + 1]


cdef int insert_dim(Geometry* g, int dim, Py_ssize_t size, Py_ssize_t stride) except -1:
    cdef int i
    if g.ndim >= MAX_DIMS:
        raise RuntimeError(f"a tensor has at most {MAX_DIMS} dimensions")
    for i in range(g.ndim, dim, -1):
        g.shape[i] = g.shape[i - 1]
        g.strides[i] = g.strides[i - 1]
    g.shape[dim] = size
    g.strides[dim] = stride
    g.ndim += 1
    return 0


cdef int select(Geometry* g, int dim, Py_ssize_t index) except -1:
    cdef Py_ssize_t size = g.shape[dim]
    if index < -size or index >= size:
        raise IndexError(f"index {index} is out of bounds for dimension {dim} with size {size}")
    g.offset += (index + size if index < 0 else index) * g.strides[dim]
    remove_dim(g, dim)
    return 0


cdef int slice_bounds(Geometry* g, int dim, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t step) except -1:
    cdef Py_ssize_t size = g.shape[dim]
    if step <= 0:
        raise ValueError("slice step must be positive")
    start = max(start + size, 0) if start < 0 else min(start, size)
    stop = max(stop + size, 0) if stop < 0 else min(stop, size)
    stop = max(stop, start)
    g.offset += start * g.strides[dim]
    g.shape[dim] = (stop - start - 1) // step + 1 if stop > start else 0      # without a sum that a huge step overflows
    g.strides[dim] *= step
    return 0


cdef inline Py_ssize_t slice_index(object value, Py_ssize_t missing) except? -1:
    """A bound of a slice, clipped to Py_ssize_t."""
    return missing if value is None else PyNumber_AsSsize_t(value, NULL)


cdef int slice_(Geometry* g, int dim, object start, object stop, object step) except -1:
    """A Python slice of one dim; its bounds are ints, None, or have `__index__`."""
    return slice_bounds(g, dim, slice_index(start, 0), slice_index(stop, PY_SSIZE_T_MAX), slice_index(step, 1))


cdef int unsqueeze(Geometry* g, int dim) except -1:
    return insert_dim(g, dim, 1, g.shape[dim] * g.strides[dim] if dim < g.ndim else 1)


cdef int index_basic(Geometry* g, tuple index) except -1:
    """Integers, slices, None and one Ellipsis, as `x[index]` with nothing to gather."""
    cdef int dim = 0, consumed = 0
    for item in index:
        if item is not None and item is not Ellipsis:
            consumed += 1
    if consumed > g.ndim:
        raise IndexError(f"too many indices for tensor of dimension {g.ndim}")
    for item in index:
        if item is None:
            insert_dim(g, dim, 1, g.shape[dim] * g.strides[dim] if dim < g.ndim else 1)
            dim += 1
        elif item is Ellipsis:
            dim += g.ndim - dim - consumed
        elif type(item) is slice:
            slice_(g, dim, (<slice>item).start, (<slice>item).stop, (<slice>item).step)
            dim += 1
            consumed -= 1
        else:
            select(g, dim, item)
            consumed -= 1
    return 0


cdef int infer_size(Geometry* wanted, object sizes, Py_ssize_t count) except -1:
    """Fill the one -1 in `sizes` so that the product is `count`; RuntimeError where that can't be."""
    cdef Py_ssize_t known = 1
    cdef int i, hole = -1
    load_shape(wanted, sizes)
    for i in range(wanted.ndim):
        if wanted.shape[i] == -1:
            if hole >= 0:
                raise RuntimeError("only one dimension can be inferred")
            hole = i
        elif wanted.shape[i] < 0:
            raise RuntimeError(f"invalid shape dimension {wanted.shape[i]} at index {i} of shape {list(sizes)}")
        else:
            known *= wanted.shape[i]
    if hole >= 0 and known == 0:
        raise RuntimeError(f"cannot reshape tensor of {count} elements into shape {list(sizes)} because the "
                           "unspecified dimension size -1 can be any value and is ambiguous")
    if (known != count) if hole < 0 else (count % known != 0):
        raise RuntimeError(f"shape '{list(sizes)}' is invalid for input of size {count}")
    if hole >= 0:
        wanted.shape[hole] = count // known
    return 0


cdef inline void assign(Geometry* g, const Geometry* other) noexcept nogil:
    """g = other, without the dims that aren't used."""
    cdef int i
    g.ndim = other.ndim
    g.offset = other.offset
    for i in range(other.ndim):
        g.shape[i] = other.shape[i]
        g.strides[i] = other.strides[i]


cdef bint reshape_strides(Geometry* g, const Geometry* wanted) noexcept nogil:
    """Give g the wanted shape without moving data, if its strides allow that; False (and g as it was) if not."""
    cdef Geometry result
    cdef Py_ssize_t base, run = 1, taken = 1
    cdef int d, v = wanted.ndim - 1
    result.ndim = wanted.ndim
    result.offset = g.offset
    for d in range(wanted.ndim):
        result.shape[d] = wanted.shape[d]
    if numel(g) == 0 or g.ndim == 0:
        set_contiguous(&result)
        assign(g, &result)
        return True
    # Walk both shapes from the back; a run of g's dims that lie in one piece feeds a run of wanted dims.
    base = g.strides[g.ndim - 1]
    for d in range(g.ndim - 1, -1, -1):
        run *= g.shape[d]
        if d == 0 or (g.shape[d - 1] != 1 and g.strides[d - 1] != run * base):
            while v >= 0 and (taken < run or wanted.shape[v] == 1):
                result.strides[v] = taken * base
                taken *= wanted.shape[v]
                v -= 1
            if taken != run:
                return False
            if d > 0:
                base = g.strides[d - 1]
                run = taken = 1
    if v != -1:
        return False
    assign(g, &result)
    return True


cdef int view_as(Geometry* g, object sizes) except -1:
    cdef Geometry wanted
    infer_size(&wanted, sizes, numel(g))
    if not reshape_strides(g, &wanted):
        raise RuntimeError("view size is not compatible with input tensor's size and stride (at least one dimension "
                           "spans across two contiguous subspaces). Use .reshape(...) instead.")
    return 0


cdef int _expand(Geometry* g, object sizes) except -1:
    cdef Geometry wanted
    cdef int i, lead
    load_shape(&wanted, sizes)
    lead = wanted.ndim - g.ndim
    if lead < 0:
        raise RuntimeError(f"expand({shape_tuple(g)}, size={list(sizes)}): the number of sizes provided "
                           f"({wanted.ndim}) must be greater or equal to the number of dimensions in the tensor ({g.ndim})")
    for i in range(wanted.ndim):
        if i < lead:
            if wanted.shape[i] < 0:
                raise RuntimeError(f"The expanded size of the tensor ({wanted.shape[i]}) isn't allowed in a leading, "
                                   f"non-existing dimension {i}")
            wanted.strides[i] = 0
        elif wanted.shape[i] == -1 or wanted.shape[i] == g.shape[i - lead]:
            wanted.shape[i] = g.shape[i - lead]
            wanted.strides[i] = g.strides[i - lead]
        elif g.shape[i - lead] == 1 and wanted.shape[i] >= 0:
            wanted.strides[i] = 0
        else:
            raise RuntimeError(
                f"The expanded size of the tensor ({wanted.shape[i]}) must match the existing size ({g.shape[i - lead]}) at "
                f"non-singleton dimension {i}.  Target sizes: {list(sizes)}.  Tensor sizes: {list(shape_tuple(g))}")
    wanted.offset = g.offset
    assign(g, &wanted)
    return 0


cdef int _permute(Geometry* g, object dims) except -1:
    cdef Geometry old
    cdef bint seen[MAX_DIMS]
    cdef int i = 0, d
    assign(&old, g)
    if len(dims) != g.ndim:
        raise RuntimeError(f"permute(sparse_coo): number of dimensions in the tensor input does not match the length of the "
                           f"desired ordering of dimensions i.e. input.dim() = {g.ndim} is not equal to len(dims) = {len(dims)}")
    for i in range(g.ndim):
        seen[i] = False
    i = 0
    for dim in dims:
        d = wrap_dim(dim, g.ndim)
        if seen[d]:
            raise RuntimeError("permute(): duplicate dims are not allowed.")
        seen[d] = True
        g.shape[i] = old.shape[d]
        g.strides[i] = old.strides[d]
        i += 1
    return 0


cdef int _transpose(Geometry* g, Py_ssize_t dim0, Py_ssize_t dim1) except -1:
    cdef int a = wrap_dim(dim0, g.ndim), b = wrap_dim(dim1, g.ndim)
    if g.ndim:
        g.shape[a], g.shape[b] = g.shape[b], g.shape[a]
        g.strides[a], g.strides[b] = g.strides[b], g.strides[a]
    return 0


cdef int _squeeze(Geometry* g, object dims) except -1:
    """Remove the dims of size 1: all of them (None), or those named."""
    cdef int d
    if dims is None:
        wanted = set(range(g.ndim))
    else:
        listed = [wrap_dim(dim, g.ndim) for dim in (dims if isinstance(dims, (tuple, list)) else (dims,))]
        wanted = set(listed)
        for d in wanted:
            if listed.count(d) > 1:
                raise RuntimeError(f"dim {d} appears multiple times in the list of dims")
    for d in range(g.ndim - 1, -1, -1):
        if d in wanted and g.shape[d] == 1:
            remove_dim(g, d)
    return 0


cdef int _diagonal(Geometry* g, Py_ssize_t shift, Py_ssize_t dim1, Py_ssize_t dim2) except -1:
    cdef int a = wrap_dim(dim1, g.ndim), b = wrap_dim(dim2, g.ndim)
    cdef Py_ssize_t size, stride
    if g.ndim < 2 or a == b:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    size = max(min(g.shape[a], g.shape[b] - shift) if shift >= 0 else min(g.shape[a] + shift, g.shape[b]), 0)
    stride = g.strides[a] + g.strides[b]
    if size:
        g.offset += shift * g.strides[b] if shift >= 0 else -shift * g.strides[a]
    remove_dim(g, max(a, b))
    remove_dim(g, min(a, b))
    return insert_dim(g, g.ndim, size, stride)


cdef int _unfold(Geometry* g, Py_ssize_t dimension, Py_ssize_t size, Py_ssize_t step) except -1:
    cdef int d = wrap_dim(dimension, g.ndim)
    cdef Py_ssize_t limit = g.shape[d] if g.ndim else 1
    if size < 0 or size > limit:
        raise RuntimeError(f"maximum size for tensor at dimension {d} is {limit} but size is {size}")
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    if g.ndim == 0:
        return insert_dim(g, 0, size, 1)
    insert_dim(g, g.ndim, size, g.strides[d])
    g.shape[d] = (limit - size) // step + 1
    g.strides[d] *= step
    return 0


cdef int _as_strided(Geometry* g, object size, object stride, object offset) except -1:
    cdef int i
    if len(size) != len(stride):
        raise RuntimeError(f"mismatch in length of strides and shape: {len(size)} and {len(stride)}")
    load_shape(g, size)
    for i in range(g.ndim):
        g.strides[i] = stride[i]
        if g.strides[i] < 0:
            raise RuntimeError(f"as_strided: Negative strides are not supported at the moment, got strides: {list(stride)}")
        if g.shape[i] < 0:
            raise RuntimeError(f"as_strided: negative size {g.shape[i]} at dimension {i}")
    if offset is not None:
        g.offset = offset
    if g.offset < 0:
        raise RuntimeError(f"as_strided: negative storage offset {g.offset}")
    return 0


cdef int apply_view(int kind, Geometry* g, tuple args) except -1:
    """Change g as the view operation does; `args` are its arguments after the tensor."""
    cdef int d
    if kind == VIEW:
        return view_as(g, args[0])
    if kind == EXPAND:
        return _expand(g, args[0])
    if kind == PERMUTE:
        return _permute(g, args[0])
    if kind == TRANSPOSE:
        return _transpose(g, args[0], args[1])
    if kind == SQUEEZE:
        return _squeeze(g, args[0])
    if kind == UNSQUEEZE:
        return unsqueeze(g, wrap_dim(args[0], g.ndim + 1))
    if kind == SELECT:
        if g.ndim == 0:
            raise IndexError("select() cannot be applied to a 0-dim tensor.")
        return select(g, wrap_dim(args[0], g.ndim), args[1])
    if kind == SLICE:
        if g.ndim == 0:
            raise IndexError("slice() cannot be applied to a 0-dim tensor.")
        return slice_(g, wrap_dim(args[0], g.ndim), args[1], args[2], args[3])
    if kind == DIAGONAL:
        return _diagonal(g, args[0], args[1], args[2])
    if kind == UNFOLD:
        return _unfold(g, args[0], args[1], args[2])
    if kind == AS_STRIDED:
        return _as_strided(g, args[0], args[1], args[2])
    if kind == INDEX:
        if type(args[0]) is tuple:
            return index_basic(g, args[0])
        if type(args[0]) is not slice:
            raise TypeError(f"an index is a slice, or a tuple of ints, slices, None and Ellipsis, not {type(args[0]).__name__}")
        if g.ndim == 0:
            raise IndexError("too many indices for tensor of dimension 0")
        return slice_(g, 0, (<slice>args[0]).start, (<slice>args[0]).stop, (<slice>args[0]).step)
    return 0      # ALIAS, RETYPE


VIEW_KINDS = dict(view=VIEW, expand=EXPAND, permute=PERMUTE, transpose=TRANSPOSE, squeeze=SQUEEZE, unsqueeze=UNSQUEEZE,
                  select=SELECT, slice=SLICE, diagonal=DIAGONAL, unfold=UNFOLD, as_strided=AS_STRIDED, index_basic=INDEX,
                  alias=ALIAS, retype=RETYPE)
