"""Tensors made over the memory of another one. Autograd hears nothing of it here: see viewop.pyx."""
cimport numpy as cnp

from . cimport geometry
from .dtype cimport DType
from .geometry cimport Geometry
from .storage cimport Storage, memory_as, ndarray_view
from .tensor cimport TensorBase, new_tensor, share


cdef TensorBase make_view(TensorBase t, Geometry* g):
    """A tensor of t's dtype at g in t's storage, in the same family of versions. Says nothing to autograd."""
    cdef Storage storage = t.storage_()
    cdef TensorBase result
    if type(t.array) is cnp.ndarray:
        result = new_tensor(ndarray_view(<cnp.ndarray>t.array, storage, g), t.dtype, t.device)
    else:
        backend = t.device._backend
        root = memory_as(storage, t.dtype) if backend.strided else t.array
        array = backend.as_strided(root, geometry.shape_tuple(g), tuple([g.strides[i] for i in range(g.ndim)]), g.offset)
        result = new_tensor(array, t.dtype, t.device)
        if not backend.views:
            return result
    share(result, t)
    return result


cdef int check_larger_elements(TensorBase t, DType dtype) except -1:
    """RuntimeError where elements of a larger dtype wouldn't begin where those of its storage do."""
    cdef Py_ssize_t times = dtype.itemsize // t.dtype.itemsize
    if times <= 1 or not t.device._backend.strided or 0 in t.shape_():
        return 0
    counts = [("storage_offset()", t.storage_offset())] + [(f"stride({d})", step) for d, step in enumerate(t.stride()[:-1])]
    for name, count in counts:
        if count % times:
            raise RuntimeError(f"{name} must be divisible by {times} to view {t.dtype} as {dtype}, but got {count}")
    return 0


cdef TensorBase make_retyped_view(TensorBase t, DType dtype):
    """t's memory read as another dtype. Where sizes differ the last dim grows or shrinks, and must lie in one piece."""
    cdef TensorBase result
    backend = t.device._backend
    check_larger_elements(t, dtype)
    try:
        array = backend.view_dtype(t.array, backend.dtypes[dtype.name])
    except ValueError as error:
        raise RuntimeError(f"a view of a {t.dtype} tensor of shape {list(t.shape_())} and strides {list(t.stride())} as {dtype} isn't "
                           f"possible: {error}") from None
    result = new_tensor(array, dtype, t.device)
    share(result, t)
    return result
