"""Creating, copying, converting and rearranging arrays."""
cimport numpy as cnp
from libc.string cimport memcpy
from numpy cimport ndarray

import numpy as np

from pyx_tensor_cpu.dtypes cimport *
from pyx_tensor_cpu.iterate cimport contiguous_copy, convert_into
from pyx_tensor_cpu.memory cimport new_array, new_like, view_over

from .memory import empty

cnp.import_array()

cdef extern from *:
    """
    static int pyx_set_number(PyArrayObject* array, PyObject* value) { return PyArray_SETITEM(array, (char*)PyArray_DATA(array), value); }
    """
    int set_number "pyx_set_number"(ndarray array, object value) except -1

cdef enum:
    MAX_DIMS = 64
    FEW_BYTES = 4096            # a fill of fewer is over before a loop is chosen


cdef cnp.dtype COMPLEX64 = np.dtype(np.complex64), COMPLEX128 = np.dtype(np.complex128)


cdef bint is_complex(int code) noexcept:
    return code == C64 or code == C128


cdef object assign(ndarray dst, ndarray src):
    """Write `src`, broadcast and converted, into `dst`, which it does not overlap."""
    cdef int to = code_of(dst), source = code_of(src)
    if to == source or to == BOOL or not (is_complex(to) or is_complex(source)):
        convert_into(dst, src)
    elif not is_complex(to):
        convert_into(dst, (<object>src).real)
    else:
        convert_into((<object>dst).real, (<object>src).real if is_complex(source) else src)
        convert_into((<object>dst).imag, (<object>src).imag if is_complex(source) else np.zeros((), (<object>dst).imag.dtype))


cdef object reach(ndarray a, char** low, char** high):
    """The first byte of `a` and the first one behind it."""
    cdef int d
    cdef Py_ssize_t span
    low[0] = high[0] = <char*>cnp.PyArray_DATA(a)
    if cnp.PyArray_SIZE(a) == 0:
        return
    for d in range(cnp.PyArray_NDIM(a)):
        span = (cnp.PyArray_DIM(a, d) - 1) * cnp.PyArray_STRIDE(a, d)
        if span < 0:
            low[0] += span
        else:
            high[0] += span
    high[0] += cnp.PyArray_ITEMSIZE(a)


cdef bint may_overlap(ndarray a, ndarray b):
    cdef char *a_low
    cdef char *a_high
    cdef char *b_low
    cdef char *b_high
    reach(a, &a_low, &a_high)
    reach(b, &b_low, &b_high)
    return a_low < b_high and b_low < a_high


cdef object check_writeable(ndarray dst, str name):
    if not cnp.PyArray_ISWRITEABLE(dst):
        raise ValueError(f"{name}: the destination is read-only")


# ---- creation ----

def full(shape, value, dtype):
    """A C-contiguous array of one value."""
    return fill_(empty(shape, dtype), value)


def fill_(ndarray dst not None, value):
    """Write `value`, a number or a 0-dim array, everywhere; integers wrap."""
    check_writeable(dst, "fill_")
    cdef ndarray scalar, source
    cdef bint simple = type(value) is int and 0 <= value <= 127 or type(value) is float and cnp.PyArray_ISFLOAT(dst)
    if simple and cnp.PyArray_NBYTES(dst) <= FEW_BYTES and cnp.PyArray_IS_C_CONTIGUOUS(dst):
        repeat_number(dst, value)
        return dst
    scalar = new_array(0, NULL, dst.dtype)
    if simple:
        set_number(scalar, value)         # without an array of the value's own type
        convert_into(dst, scalar)
        return dst
    source = np.asarray(value)
    if cnp.PyArray_NDIM(source):
        raise ValueError(f"fill_: the value has shape {value.shape}, expected a number or a 0-dim array")
    assign(scalar, source)
    convert_into(dst, scalar)
    return dst


cdef object repeat_number(ndarray dst, object value):
    """Write a number everywhere in a small row-major array: once, then what is written already again behind it."""
    cdef char* data = <char*>cnp.PyArray_DATA(dst)
    cdef Py_ssize_t size = cnp.PyArray_NBYTES(dst), done = min(cnp.PyArray_ITEMSIZE(dst), size), more
    if size:
        set_number(dst, value)
    while done < size:
        more = min(done, size - done)
        memcpy(data + done, data, more)
        done += more


def arange(start, end, step, dtype):
    """start, start + step, … below end (above, for a negative step)."""
    cdef Py_ssize_t i, n
    cdef double first, width
    if step == 0:
        raise ValueError("arange: step must not be zero")
    if all(isinstance(v, int) for v in (start, end, step)):
        n = max(0, -((start - end) // step))
        whole = np.arange(n)
        return cast(whole * step + start, np.dtype(dtype))
    n = max(0, int(np.ceil((end - start) / step)))
    values = np.empty(n)
    cdef double[::1] v = values
    first, width = start, step
    for i in range(n):
        v[i] = first + width * i
    return cast(values, np.dtype(dtype))


def eye(n, m, dtype):
    """Ones on the diagonal of an (n, m) array of zeros."""
    result = full((n, m), 0, dtype)
    np.fill_diagonal(result, 1)
    return result


# ---- copies ----

def copy(ndarray a not None):
    """A C-contiguous copy."""
    return contiguous_copy(a)


def complex(ndarray real not None, ndarray imag not None):
    """Complex numbers of two arrays of parts, alike. TypeError for others: the caller knows what to do with them."""
    cdef int code = code_of(real)
    cdef ndarray result
    if code != code_of(imag) or code != F32 and code != F64 or (<object>real).shape != (<object>imag).shape:
        raise TypeError(f"complex: parts of shapes {(<object>real).shape} and {(<object>imag).shape}, and dtypes {real.dtype} and {imag.dtype}")
    result = new_array(cnp.PyArray_NDIM(real), <const Py_ssize_t*>cnp.PyArray_DIMS(real), COMPLEX64 if code == F32 else COMPLEX128)
    convert_into((<object>result).real, real)
    convert_into((<object>result).imag, imag)
    return result


def cast(ndarray a not None, dtype, ndarray out=None):
    """A copy of `a` as `dtype`, in its layout: reals are cut towards zero, complex numbers lose their imaginary part."""
    cdef cnp.dtype target = cnp.dtype(dtype)
    if out is None:
        out = new_like(a, target)
    else:
        check_writeable(out, "cast")
        if (<object>out).shape != (<object>a).shape or out.dtype != target:
            raise ValueError(f"cast: out has shape {(<object>out).shape} and dtype {out.dtype}, expected {(<object>a).shape} and {target}")
        if may_overlap(out, a):
            a = copy(a)
    assign(out, a)
    return out


def copy_(ndarray dst not None, ndarray src not None):
    """Write `src`, broadcast and converted, into `dst`; the two may overlap."""
    cdef int extra = cnp.PyArray_NDIM(dst) - cnp.PyArray_NDIM(src), d
    check_writeable(dst, "copy_")
    if dst is src:
        return dst
    for d in range(cnp.PyArray_NDIM(src)):
        if extra < 0 or cnp.PyArray_DIM(src, d) != 1 and cnp.PyArray_DIM(src, d) != cnp.PyArray_DIM(dst, d + extra):
            raise ValueError(f"copy_: the source of shape {(<object>src).shape} does not broadcast to {(<object>dst).shape}")
    if may_overlap(dst, src):
        src = copy(src)
    assign(dst, src)
    return dst


def cat(arrays, Py_ssize_t dim):
    """Join arrays of one dtype along `dim`; 1-d empty ones are left out, whatever the shape of the others."""
    cdef Py_ssize_t shape[MAX_DIMS]
    cdef Py_ssize_t start = 0, size
    cdef ndarray a, first, result
    cdef int d, ndim
    if not arrays:
        raise ValueError("cat: expected a non-empty list of arrays")
    kept = [a for a in arrays if cnp.PyArray_NDIM(a) != 1 or cnp.PyArray_DIM(a, 0)]
    if not kept:
        return copy(arrays[0])
    first = kept[0]
    ndim = cnp.PyArray_NDIM(first)
    if dim < 0:
        dim += ndim
    if not 0 <= dim < ndim:
        raise ValueError(f"cat: dim {dim} is out of range for arrays of {ndim} dimensions")
    for d in range(ndim):
        shape[d] = cnp.PyArray_DIM(first, d)
    shape[dim] = 0
    for a in kept:
        check_joins(a, first, dim)
        shape[dim] += cnp.PyArray_DIM(a, dim)
    result = new_array(ndim, shape, first.descr)
    if cnp.PyArray_NBYTES(result) <= FEW_BYTES and join_rows(result, kept, dim):
        return result
    for a in kept:
        size = cnp.PyArray_DIM(a, dim)
        convert_into(narrow(result, dim, start, size), a)
        start += size
    return result


cdef bint join_rows(ndarray result, list arrays, int dim):
    """`cat` of small arrays, row by row; False, with nothing written, where one isn't row-major."""
    cdef Py_ssize_t outer = 1, inner = cnp.PyArray_ITEMSIZE(result), row, start = 0, size, at
    cdef ndarray a
    cdef int d
    for a in arrays:
        if not cnp.PyArray_IS_C_CONTIGUOUS(a):
            return False
    for d in range(cnp.PyArray_NDIM(result)):
        if d < dim:
            outer *= cnp.PyArray_DIM(result, d)
        elif d > dim:
            inner *= cnp.PyArray_DIM(result, d)
    row = inner * cnp.PyArray_DIM(result, dim)
    for a in arrays:
        size = inner * cnp.PyArray_DIM(a, dim)
        for at in range(outer):
            memcpy(<char*>cnp.PyArray_DATA(result) + at * row + start, <char*>cnp.PyArray_DATA(a) + at * size, size)
        start += size
    return True


def stack(arrays, Py_ssize_t dim, ndarray out=None):
    """Join arrays of one shape and dtype along a new dim. TypeError for others: the caller knows what to do with them."""
    cdef Py_ssize_t shape[MAX_DIMS]
    cdef Py_ssize_t strides[MAX_DIMS]
    cdef ndarray a, first
    cdef int d, ndim, code
    cdef size_t size
    cdef char* data
    if not arrays:
        raise TypeError("stack: no arrays")
    first = arrays[0]
    ndim = cnp.PyArray_NDIM(first)
    code = code_of(first)
    if dim < 0:
        dim += ndim + 1
    if not 0 <= dim <= ndim or ndim + 1 > MAX_DIMS:
        raise TypeError(f"stack: dim {dim} is out of range for arrays of {ndim} dimensions")
    for a in arrays:
        if cnp.PyArray_NDIM(a) != ndim or code_of(a) != code:
            raise TypeError("stack: shapes or dtypes differ")
        for d in range(ndim):
            if cnp.PyArray_DIM(a, d) != cnp.PyArray_DIM(first, d):
                raise TypeError("stack: shapes differ")
    for d in range(ndim + 1):
        shape[d] = len(arrays) if d == dim else cnp.PyArray_DIM(first, d if d < dim else d - 1)
    if out is None:
        out = new_array(ndim + 1, shape, first.dtype)
    else:
        check_writeable(out, "stack")
        if (<object>out).shape != tuple([shape[d] for d in range(ndim + 1)]) or code_of(out) != code:
            raise TypeError("stack: out has another shape or dtype")
    for d in range(ndim):
        strides[d] = cnp.PyArray_STRIDE(out, d if d < dim else d + 1)
        shape[d] = cnp.PyArray_DIM(first, d)
    data = <char*>cnp.PyArray_DATA(out)
    size = cnp.PyArray_NBYTES(first)
    for a in arrays:
        if dim == 0 and cnp.PyArray_IS_C_CONTIGUOUS(a) and cnp.PyArray_IS_C_CONTIGUOUS(out):
            memcpy(data, cnp.PyArray_DATA(a), size)
        else:
            convert_into(view_over(out, ndim, shape, strides, data), a)
        data += cnp.PyArray_STRIDE(out, dim)
    return out


cdef object check_joins(ndarray a, ndarray first, int dim):
    cdef int d
    same = cnp.PyArray_NDIM(a) == cnp.PyArray_NDIM(first)
    for d in range(cnp.PyArray_NDIM(first)):
        same = same and (d == dim or cnp.PyArray_DIM(a, d) == cnp.PyArray_DIM(first, d))
    if not same:
        raise ValueError(f"cat: shapes {(<object>first).shape} and {(<object>a).shape} differ in another dimension than {dim}")
    if code_of(a) != code_of(first):
        raise TypeError(f"cat: dtypes {first.dtype} and {a.dtype} differ")


def flip(ndarray a not None, dims):
    """A copy, in its layout, with the order along `dims` reversed."""
    cdef Py_ssize_t strides[MAX_DIMS]
    cdef char* data = <char*>cnp.PyArray_DATA(a)
    cdef ndarray result
    cdef int d
    for d in range(cnp.PyArray_NDIM(a)):
        strides[d] = cnp.PyArray_STRIDE(a, d)
    for d in dims:
        data += max(cnp.PyArray_DIM(a, d) - 1, 0) * strides[d]
        strides[d] = -strides[d]
    result = new_like(a, a.dtype)
    convert_into(result, view_over(a, cnp.PyArray_NDIM(a), <const Py_ssize_t*>cnp.PyArray_DIMS(a), strides, data))
    return result


def roll(ndarray a not None, shifts, dims):
    """A copy with elements moved by `shifts` along `dims`, around the end; without dims, along the flattened array."""
    cdef ndarray result
    cdef Py_ssize_t size, shift
    if not dims:
        return roll(copy(a).reshape(-1), shifts, (0,)).reshape((<object>a).shape)
    if len(shifts) != len(dims):
        raise ValueError(f"roll: {len(shifts)} shifts for {len(dims)} dims")
    for s, d in zip(shifts, dims):
        size = cnp.PyArray_DIM(a, d)
        shift = s % size if size else 0
        result = new_array(cnp.PyArray_NDIM(a), <const Py_ssize_t*>cnp.PyArray_DIMS(a), a.dtype)
        if cnp.PyArray_IS_C_CONTIGUOUS(a) and cnp.PyArray_NBYTES(a) <= FEW_BYTES:
            roll_rows(a, result, d, shift)
        else:
            convert_into(narrow(result, d, shift, size - shift), narrow(a, d, 0, size - shift))
            convert_into(narrow(result, d, 0, shift), narrow(a, d, size - shift, shift))
        a = result
    return a


cdef void roll_rows(ndarray a, ndarray result, int dim, Py_ssize_t shift) noexcept:
    """`roll` of a small row-major array by 0 … size - 1 places."""
    cdef const char* source = <const char*>cnp.PyArray_DATA(a)
    cdef char* to = <char*>cnp.PyArray_DATA(result)
    cdef Py_ssize_t item = cnp.PyArray_ITEMSIZE(a), row, moved, at = 0
    cdef int d
    for d in range(dim + 1, cnp.PyArray_NDIM(a)):
        item *= cnp.PyArray_DIM(a, d)
    row, moved = item * cnp.PyArray_DIM(a, dim), item * shift
    while at < cnp.PyArray_NBYTES(a):
        memcpy(to + at + moved, source + at, row - moved)
        memcpy(to + at, source + at + row - moved, moved)
        at += row


def constant_pad_nd(ndarray a not None, pad, value=0):
    """A copy with `value` put around it: pad tells how many before and after along the last dim, then along the one before, and so on.

    TypeError where that can't be, or the value doesn't surely fit: the caller knows what to do then.
    """
    cdef Py_ssize_t shape[MAX_DIMS]
    cdef ndarray result, source = a, target
    cdef Py_ssize_t before, after, size
    cdef int ndim = cnp.PyArray_NDIM(a), d, at
    if len(pad) % 2 or len(pad) > 2 * ndim or not (type(value) is int and 0 <= value <= 127 or type(value) is float and (<object>a).dtype.kind in "fc"):
        raise TypeError(f"constant_pad_nd: padding {pad} with {value!r} of an array of shape {(<object>a).shape} and dtype {a.dtype}")
    for d in range(ndim):
        shape[d] = cnp.PyArray_DIM(a, d)
    for at in range(len(pad) // 2):
        d, before, after = ndim - 1 - at, pad[2 * at], pad[2 * at + 1]
        if shape[d] + min(before, 0) + min(after, 0) < 0:
            raise TypeError(f"constant_pad_nd: padding {pad} takes more away than an array of shape {(<object>a).shape} has")
        shape[d] += before + after
    result = target = new_array(ndim, shape, a.dtype)
    if cnp.PyArray_SIZE(result) != cnp.PyArray_SIZE(a) or min(pad, default=0) < 0:
        fill_(result, value)
    for at in range(len(pad) // 2):
        d, before, after = ndim - 1 - at, pad[2 * at], pad[2 * at + 1]
        size = cnp.PyArray_DIM(a, d) + min(before, 0) + min(after, 0)
        source = narrow(source, d, max(-before, 0), size)
        target = narrow(target, d, max(before, 0), size)
    convert_into(target, source)
    return result


# ---- views ----

cdef ndarray narrow(ndarray a, int dim, Py_ssize_t start, Py_ssize_t size):
    """The view of `size` elements from `start` on along `dim`."""
    cdef Py_ssize_t shape[MAX_DIMS]
    cdef int d
    for d in range(cnp.PyArray_NDIM(a)):
        shape[d] = cnp.PyArray_DIM(a, d)
    shape[dim] = size
    return view_over(a, cnp.PyArray_NDIM(a), shape, <const Py_ssize_t*>cnp.PyArray_STRIDES(a),
                <char*>cnp.PyArray_DATA(a) + start * cnp.PyArray_STRIDE(a, dim))


cdef object out_of_bounds(shape, strides, Py_ssize_t offset, Py_ssize_t elements):
    return RuntimeError(f"as_strided: shape {tuple(shape)} with strides {tuple(strides)} and offset {offset} is out of bounds "
                        f"for memory of {elements} elements")


def as_strided(ndarray base not None, shape, strides, Py_ssize_t offset):
    """A view on the memory of `base`, strides and offset in elements; the offset counts from base's first element."""
    cdef Py_ssize_t sizes[MAX_DIMS]
    cdef Py_ssize_t steps[MAX_DIMS]
    cdef Py_ssize_t itemsize = cnp.PyArray_ITEMSIZE(base), last = offset, size, step
    cdef char *low
    cdef char *high
    cdef char *data = <char*>cnp.PyArray_DATA(base)
    cdef int d = 0, ndim = len(shape)
    cdef bint nothing = False, outside = offset < 0, beyond = False
    if ndim > MAX_DIMS or len(strides) != ndim:
        raise ValueError(f"as_strided: shape {tuple(shape)} and strides {tuple(strides)} must have one length of at most {MAX_DIMS}")
    reach(base, &low, &high)
    for size, step in zip(shape, strides):
        outside = outside or size < 0 or step < 0
        beyond = beyond or size > 1 and step > 0 and size - 1 > (high - low) // itemsize // step
        sizes[d], steps[d] = size, step * itemsize
        nothing = nothing or size == 0
        last += (size - 1) * step if size > 1 else 0
        d += 1
    if outside or not nothing and (beyond or data + (last + 1) * itemsize > high):
        raise out_of_bounds(shape, strides, offset, (high - low) // itemsize)
    return view_over(base, ndim, sizes, steps, data + (0 if nothing else offset * itemsize))
