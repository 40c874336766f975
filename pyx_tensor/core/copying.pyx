"""Copies, conversions and changes of memory, outside of the graph: what operations such as `clone` and `to` are made of."""
cimport numpy as cnp
import numpy as np

from . cimport geometry
from .device cimport Device
from .dtype cimport DType
from .geometry cimport Geometry
from .shared_memory cimport Segment
from .storage cimport Storage, check_bounds, memory_as, ndarray_view, storage_of
from .tensor cimport TensorBase, load_geometry, new_tensor
from .viewing cimport make_view

cnp.import_array()


cpdef TensorBase copied(TensorBase t):
    """A row-major copy."""
    return new_tensor(t.device._backend.copy(t.array), t.dtype, t.device)


cdef TensorBase copied_in_order(TensorBase t):
    """A copy whose dims lie in the order of t's, without gaps (`strides_like`). None where t isn't on an ndarray, is empty or broadcast."""
    cdef Geometry g, by_order
    cdef int order[geometry.MAX_DIMS]
    cdef int i, j
    cdef bint dense = True, turned = False
    cdef Py_ssize_t step = 1, row_step = 1
    cdef TensorBase result
    if type(t.array) is not cnp.ndarray:
        return None
    load_geometry(t, &g)
    for i in range(g.ndim):
        if g.shape[i] == 0 or g.strides[i] <= 0:
            return None
        j = i
        while j and g.strides[order[j - 1]] < g.strides[i]:
            order[j] = order[j - 1]
            j -= 1
        order[j] = i
    by_order = g
    for i in range(g.ndim - 1, -1, -1):
        dense = dense and (g.shape[order[i]] == 1 or g.strides[order[i]] == step)
        by_order.strides[order[i]] = step
        step *= g.shape[order[i]]
    for i in range(g.ndim - 1, -1, -1):
        turned = turned or by_order.strides[i] != row_step
        row_step *= g.shape[i]
    if not turned:
        return copied(t)
    if not dense:
        g = by_order
    g.offset = 0
    array = (<object>t.array).transpose([order[i] for i in range(g.ndim)])
    result = new_tensor(t.device._backend.copy(array), t.dtype, t.device)
    result.point_at(ndarray_view(<cnp.ndarray>result.array, result.storage_(), &g), result.storage)
    return result


cpdef TensorBase converted(TensorBase t, DType dtype, Device device, bint non_blocking=False):
    """The values as another dtype and/or on another device (None: as here). `non_blocking` copies needn't be waited for."""
    cdef Device target = t.device
    if device is not None:
        device.resolve()
        target = device.canonical
    array = t.array
    if dtype is not None and dtype is not t.dtype:
        array = t.device._backend.cast(array, t.device._backend.dtypes[dtype.name])
    if target is not t.device:
        array = moved(array, t.device._backend, target, non_blocking)
    return new_tensor(array, dtype or t.dtype, target)


cdef object moved(object array, object source, Device target, bint non_blocking):
    """An array of the backend `source` on another device."""
    backend = target._backend
    if backend is source:
        return backend.transfer(array, target.ordinal)
    host = source.to_host(array, non_blocking)
    if source.host_memory and backend.host_memory:
        host = host.copy()
    return backend.from_host(host, target.ordinal, non_blocking)


def is_on(TensorBase t not None, Device device not None):
    """True where the tensor is on the device (an index left out means the current one)."""
    device.resolve()
    return device.canonical is t.device


cpdef bint can_view(TensorBase t, object sizes) except -1:
    """True where `view(sizes)` needs no copy."""
    cdef Geometry g, wanted
    load_geometry(t, &g)
    geometry.infer_size(&wanted, sizes, geometry.numel(&g))
    return geometry.reshape_strides(&g, &wanted)


def resize(TensorBase t not None, tuple sizes):
    """Take another shape at the same offset; grow the storage, with all its tensors, where it is too small."""
    cdef Geometry g
    cdef Storage storage = t.storage_()
    cdef Py_ssize_t needed
    cdef TensorBase resized
    load_geometry(t, &g)
    geometry.load_shape(&g, sizes)
    geometry.set_contiguous(&g)
    needed = (g.offset + geometry.numel(&g)) * t.dtype.itemsize
    if needed > storage.nbytes:
        grow(storage, needed)
    resized = make_view(t, &g)
    t.point_at(resized.array, t.storage)
    return t


cdef int grow(Storage storage, Py_ssize_t nbytes) except -1:
    """Give a storage, and all tensors on it, more memory."""
    if storage.resizable and type(storage.array) is not cnp.ndarray:
        return grow_on_device(storage, nbytes)
    if not storage.resizable or not owns_memory(<cnp.ndarray>storage.array):
        raise RuntimeError("Trying to resize storage that is not resizable")
    backend = storage.device._backend
    root = backend.empty((-(-nbytes // storage.dtype.itemsize),), backend.dtypes[storage.dtype.name])
    old = (<cnp.ndarray>storage.array).ravel("K")
    root[:old.size] = old
    move(storage, root)
    return 0


cdef int grow_on_device(Storage storage, Py_ssize_t nbytes) except -1:
    """`grow` where arrays aren't ndarrays."""
    cdef Geometry g
    cdef TensorBase t
    cdef Storage moved
    backend = storage.device._backend
    if not (backend.strided and backend.views and backend.mutable):
        raise RuntimeError("Trying to resize storage that is not resizable")
    size = storage.dtype.itemsize
    known = (storage.nbytes // size,)
    where = () if storage.device.index is None else (storage.device.index,)
    root = backend.empty((-(-nbytes // size),), backend.dtypes[storage.dtype.name], *where)
    backend.copy_(backend.as_strided(root, known, (1,), 0), backend.as_strided(storage.array, known, (1,), 0))
    moved = storage_of(root, storage.dtype, storage.device)
    for t in storage.tensors:
        load_geometry(t, &g)
        array = backend.as_strided(memory_as(moved, t.dtype), geometry.shape_tuple(&g), tuple([g.strides[i] for i in range(g.ndim)]), g.offset)
        t.point_at(array, moved)
    return 0


def move(Storage storage not None, cnp.ndarray root not None):
    """Let all tensors on a storage stand on `root` instead, which begins with the same bytes. Returns the storage of `root`."""
    cdef Geometry g
    cdef TensorBase t
    cdef Storage moved = storage_of(root, storage.dtype, storage.device)
    for t in storage.tensors:
        load_geometry(t, &g)
        t.point_at(ndarray_view(<cnp.ndarray>t.array, moved, &g), moved)
    return moved


def on_storage(Storage storage not None, DType dtype not None, tuple sizes, tuple strides, Py_ssize_t offset):
    """A new tensor on the memory of a storage of the host, `offset` and `strides` in elements of its dtype."""
    cdef Geometry g
    cdef int i
    cdef TensorBase result
    geometry.load_shape(&g, sizes)
    for i in range(g.ndim):
        g.strides[i] = strides[i]
    g.offset = offset
    check_bounds(&g, storage.nbytes // dtype.itemsize)
    result = new_tensor(None, dtype, storage.device)
    result.point_at(ndarray_view(np.empty(0, dtype.numpy), storage, &g), storage)
    return result


cdef bint owns_memory(cnp.ndarray array):
    """False for memory that came from outside (an ndarray's, a buffer's) or that other processes see."""
    base = (<object>array).base
    return base is None or not isinstance(base, (np.ndarray, Segment))
