"""Allocation of result arrays: NumPy's allocator for small ones, a cache of page blocks from 128 KB on.

Fresh pages cost more than the arithmetic that fills them (the kernel zeroes each on its first use), so
freed blocks are kept and handed out again. Everything here runs with the GIL held: the GIL is the lock.
"""
cimport cython
cimport numpy as cnp
from cpython.ref cimport Py_DECREF, Py_INCREF, PyObject
from libc.string cimport memmove

import os
from math import prod

from pyx_tensor.core.protocol import OutOfMemoryError

cnp.import_array()

cdef extern from "pages.h" nogil:
    void* pages_allocate(size_t size)
    void pages_release(void* data, size_t size)
    size_t physical_memory()

cdef extern from *:
    """
    #if !defined(_WIN32)
    #include <sys/mman.h>
    #endif
    /* Whether forked processes go without the pages: 0 where the system has no such thing. */
    static int pages_keep_from_children(void* data, size_t size, int keep) {
    #ifdef MADV_DONTFORK
        return madvise(data, size, keep ? MADV_DONTFORK : MADV_DOFORK) == 0;
    #else
        (void)data; (void)size; (void)keep;
        return 0;
    #endif
    }
    """
    int pages_keep_from_children(void* data, size_t size, int keep) noexcept nogil

cdef extern from "numpy/arrayobject.h":
    object PyArray_NewFromDescr(type subtype, cnp.dtype descr, int nd, const cnp.npy_intp* dims, const cnp.npy_intp* strides,
                                void* data, int flags, void* obj)

cdef extern from *:
    """
    /* Whether an object is a small ndarray with memory of its own that one reference alone holds. */
    static int pyx_is_recyclable(PyObject* o, Py_ssize_t most) {
        const int flags = NPY_ARRAY_OWNDATA | NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED | NPY_ARRAY_WRITEABLE;
        PyArrayObject* a = (PyArrayObject*)o;
        return Py_TYPE(o) == &PyArray_Type && Py_REFCNT(o) == 1 && (PyArray_FLAGS(a) & flags) == flags && PyArray_BASE(a) == NULL
            && ((PyArrayObject_fields*)o)->weakreflist == NULL && PyArray_NBYTES(a) <= most;
    }
    static PyObject* pyx_descr(PyObject* o) { return (PyObject*)PyArray_DESCR((PyArrayObject*)o); }
    """
    int pyx_is_recyclable(PyObject* o, Py_ssize_t most) noexcept
    PyObject* pyx_descr(PyObject* o) noexcept

cdef enum:
    SLOTS = 256                 # most blocks kept
    MAX_DIMS = 64
cdef size_t THRESHOLD = 1 << 17  # what the C library would take from the system and give back, time and again

cdef struct Slot:
    void* data
    size_t size

cdef Slot slots[SLOTS]          # free blocks, the longest unused first
cdef int cached = 0
cdef size_t limit = min(1 << 30, physical_memory() // 4) if physical_memory() else 1 << 28
cdef size_t cached_bytes = 0, live_bytes = 0, peak_bytes = 0, hits = 0, misses = 0


# A forked process doesn't get the free blocks: pages that two processes have are copied by the first that writes to them.
cdef bint forking = False


def _before_fork():
    global forking
    cdef int i
    forking = True
    for i in range(cached - 1, -1, -1):
        if not pages_keep_from_children(slots[i].data, slots[i].size, True):
            drop(i)


def _after_fork_in_parent():
    global forking
    cdef int i
    for i in range(cached):
        pages_keep_from_children(slots[i].data, slots[i].size, False)
    forking = False


def _after_fork_in_child():
    global forking, cached, cached_bytes
    cached = cached_bytes = 0
    forking = False


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child)


cdef size_t size_class(size_t size) noexcept nogil:
    """`size` rounded up to one of eight steps per power of two, so that similar sizes share blocks."""
    cdef size_t step = THRESHOLD >> 3
    while step << 4 <= size:
        step <<= 1
    return (size + step - 1) // step * step


cdef Slot remove(int i) noexcept nogil:
    global cached, cached_bytes
    cdef Slot slot = slots[i]
    cached -= 1
    cached_bytes -= slot.size
    memmove(&slots[i], &slots[i + 1], (cached - i) * sizeof(Slot))
    return slot


cdef void drop(int i) noexcept nogil:
    cdef Slot slot = remove(i)
    pages_release(slot.data, slot.size)


cdef void* take(size_t size) noexcept nogil:
    """A block of exactly `size` bytes, the most recently used one first; NULL if there is no memory."""
    global hits, misses, live_bytes, peak_bytes
    cdef int i
    cdef void* data = NULL
    for i in range(cached - 1, -1, -1):
        if slots[i].size == size and not forking:
            data = remove(i).data
            hits += 1
            break
    else:
        misses += 1
        data = pages_allocate(size)
        while data == NULL and cached:
            drop(0)
            data = pages_allocate(size)
    if data != NULL:
        live_bytes += size
        peak_bytes = max(peak_bytes, live_bytes)
    return data


cdef void give(void* data, size_t size) noexcept nogil:
    global cached, cached_bytes, live_bytes
    live_bytes -= size
    if size > limit or forking:
        pages_release(data, size)
        return
    while cached == SLOTS or cached_bytes + size > limit:
        drop(0)
    slots[cached] = Slot(data=data, size=size)
    cached += 1
    cached_bytes += size


@cython.final
@cython.no_gc
@cython.freelist(64)
cdef class Block:
    """The owner of one block, the base object of the array that uses it."""
    cdef void* data
    cdef size_t size

    def __dealloc__(self):
        if self.data != NULL:
            give(self.data, self.size)


cdef Block new_block(size_t size):
    cdef Block block = Block.__new__(Block)
    block.size = size_class(size)
    block.data = take(block.size)
    if block.data == NULL:
        raise OutOfMemoryError(f"cannot allocate {size} bytes ({live_bytes} bytes in use)")
    return block


cdef size_t byte_count(int ndim, const Py_ssize_t* shape, size_t itemsize) except? 0:
    cdef size_t size = itemsize, limit_bytes = <size_t>(<size_t>-1 >> 1)
    cdef int i
    for i in range(ndim):
        if shape[i] < 0:
            raise ValueError(f"negative dimension {shape[i]} in shape {tuple([shape[j] for j in range(ndim)])}")
        if shape[i] == 0:
            return 0
    for i in range(ndim):
        if size > limit_bytes // <size_t>shape[i]:
            sizes = tuple([shape[j] for j in range(ndim)])
            raise OutOfMemoryError(f"cannot allocate {prod(sizes) * itemsize} bytes for shape {sizes}")
        size *= <size_t>shape[i]
    return size


# --- small arrays ----------------------------------------------------------------------------------------------------
# Results of small operations come and go all the time, and making an ndarray costs more than their arithmetic. The front end
# offers the array of a tensor that dies (`recycler`); the last few that nobody else holds wait here for their like.
cdef enum:
    POOL = 16                   # arrays kept
    SMALL = 1024                # bytes of the largest

cdef PyObject* pool[POOL]
cdef int pooled = 0


cdef int recycle(PyObject* item) noexcept:
    """Keep an array that only its dying tensor holds; 0 where that can't be."""
    global pooled
    cdef PyObject* oldest
    if not pyx_is_recyclable(item, SMALL):
        return 0
    if pooled == POOL:
        oldest = pool[0]
        memmove(&pool[0], &pool[1], (POOL - 1) * sizeof(void*))
        pooled -= 1
        Py_DECREF(<object>oldest)
    pool[pooled] = item
    pooled += 1
    Py_INCREF(<object>item)
    return 1


cdef cnp.ndarray from_pool(int ndim, const Py_ssize_t* shape, cnp.dtype dtype):
    """A waiting array of this shape and dtype, or None."""
    global pooled
    cdef int i, d
    cdef cnp.ndarray found
    for i in range(pooled - 1, -1, -1):
        if pyx_descr(pool[i]) == <PyObject*>dtype and cnp.PyArray_NDIM(<cnp.ndarray>pool[i]) == ndim:
            for d in range(ndim):
                if cnp.PyArray_DIM(<cnp.ndarray>pool[i], d) != shape[d]:
                    break
            else:
                found = <cnp.ndarray>pool[i]
                pooled -= 1
                memmove(&pool[i], &pool[i + 1], (pooled - i) * sizeof(void*))
                Py_DECREF(found)        # the pool's own reference
                return found
    return None


def recycler():
    """Address of the C function `int (PyObject*)` to which the front end offers arrays."""
    return <size_t>&recycle


cdef cnp.ndarray make(int ndim, const Py_ssize_t* shape, const Py_ssize_t* strides, cnp.dtype dtype, size_t size):
    cdef Block block
    cdef cnp.ndarray result
    cdef void* data = NULL
    if size >= THRESHOLD:
        block = new_block(size)
        data = block.data
    elif strides == NULL and size <= SMALL and pooled:
        result = from_pool(ndim, shape, dtype)
        if result is not None:
            return result
    Py_INCREF(dtype)            # NumPy steals this reference
    if data == NULL and strides == NULL:
        return PyArray_NewFromDescr(cnp.ndarray, dtype, ndim, <const cnp.npy_intp*>shape, NULL, NULL, 0, NULL)
    result = PyArray_NewFromDescr(cnp.ndarray, dtype, ndim, <const cnp.npy_intp*>shape, <const cnp.npy_intp*>strides,
                                  data, cnp.NPY_ARRAY_WRITEABLE if data != NULL else 0, NULL)
    if data != NULL:
        cnp.set_array_base(result, block)
    return result


cdef cnp.ndarray view_over(cnp.ndarray base, int ndim, const Py_ssize_t* shape, const Py_ssize_t* strides, char* data):
    """An array on the memory of `base`; strides in bytes."""
    cdef cnp.dtype dtype = base.dtype
    cdef cnp.ndarray result
    Py_INCREF(dtype)                # NumPy steals this reference
    result = PyArray_NewFromDescr(cnp.ndarray, dtype, ndim, <const cnp.npy_intp*>shape, <const cnp.npy_intp*>strides, data,
                                  cnp.NPY_ARRAY_WRITEABLE if cnp.PyArray_ISWRITEABLE(base) else 0, NULL)
    cnp.set_array_base(result, base)
    return result


cdef cnp.ndarray new_array(int ndim, const Py_ssize_t* shape, cnp.dtype dtype):
    """An uninitialised C-contiguous array."""
    return make(ndim, shape, NULL, dtype, byte_count(ndim, shape, cnp.PyDataType_ELSIZE(dtype)))


cdef cnp.ndarray new_strided(int ndim, const Py_ssize_t* shape, const Py_ssize_t* order_strides, cnp.dtype dtype):
    """An uninitialised dense array whose axes lie in memory in the order of `order_strides`.

    Axes of size 1 and of stride 0 (broadcast) have no order of their own; they and ties stay in C order."""
    cdef size_t size = byte_count(ndim, shape, cnp.PyDataType_ELSIZE(dtype))
    cdef Py_ssize_t strides[MAX_DIMS]
    cdef int axes[MAX_DIMS]
    cdef Py_ssize_t step = cnp.PyDataType_ELSIZE(dtype)
    cdef int i, j
    for i in range(ndim):       # insertion sort, outermost first
        j = i
        while (j > 0 and shape[i] != 1 and shape[axes[j - 1]] != 1 and order_strides[axes[j - 1]]
               and abs(order_strides[axes[j - 1]]) < abs(order_strides[i])):
            axes[j] = axes[j - 1]
            j -= 1
        axes[j] = i
    for i in range(ndim - 1, -1, -1):
        strides[axes[i]] = step
        step *= max(shape[axes[i]], 1)
    return make(ndim, shape, strides, dtype, size)


cdef cnp.ndarray new_like(cnp.ndarray a, cnp.dtype dtype):
    """An uninitialised dense array of `a`'s shape and axis order (NumPy's order='K')."""
    cdef int ndim = cnp.PyArray_NDIM(a)
    if cnp.PyArray_IS_C_CONTIGUOUS(a):
        return new_array(ndim, <const Py_ssize_t*>cnp.PyArray_DIMS(a), dtype)
    return new_strided(ndim, <const Py_ssize_t*>cnp.PyArray_DIMS(a), <const Py_ssize_t*>cnp.PyArray_STRIDES(a), dtype)


def empty(shape, dtype):
    """An uninitialised C-contiguous array."""
    cdef Py_ssize_t sizes[MAX_DIMS]
    cdef int ndim = 0
    if len(shape) > MAX_DIMS:
        raise ValueError(f"shape has {len(shape)} dimensions, at most {MAX_DIMS} are supported")
    for size in shape:
        sizes[ndim] = size
        ndim += 1
    return new_array(ndim, sizes, <cnp.dtype>dtype if isinstance(dtype, cnp.dtype) else cnp.dtype(dtype))


def memory_stats():
    """Bytes and counts of the block cache, as a dict."""
    return {"allocated_bytes": live_bytes, "peak_bytes": peak_bytes, "cached_bytes": cached_bytes, "cached_blocks": cached,
            "limit_bytes": limit, "hits": hits, "misses": misses}


def reset_memory_peak():
    """Let `peak_bytes` begin anew at what is in use now."""
    global peak_bytes
    peak_bytes = live_bytes


def empty_cache():
    """Give the unused blocks back to the operating system."""
    while cached:
        drop(0)
