"""The memory under tensors: who stands on it, where an array lies in it, and arrays made over it."""
cimport cython
cimport numpy as cnp
import math

from . cimport geometry
from .device cimport Device
from .dtype cimport DType
from .geometry cimport Geometry

cnp.import_array()

cdef extern from *:
    """
    #include "numpy/arrayobject.h"
    /* Making an ndarray costs more than the rest of a view. The last few that died with the tensor of a view wait here for the next of as many dims,
       over no memory. (What NumPy remembers of exported buffers it compares before it uses it again.) */
    enum { PYX_MOST_DIMS = 4, PYX_MOST_WAITING = 8 };
    static PyObject* pyx_waiting[PYX_MOST_DIMS + 1][PYX_MOST_WAITING];
    static int pyx_n_waiting[PYX_MOST_DIMS + 1];

    /* Let an array wait that only its dying tensor holds, and that has no memory of its own. */
    static void pyx_keep_array(void* array) {
        PyObject* o = (PyObject*)array;
        PyArrayObject_fields* a = (PyArrayObject_fields*)array;
        if (Py_TYPE(o) != &PyArray_Type || Py_REFCNT(o) != 1 || a->base == NULL || a->weakreflist != NULL || a->nd > PYX_MOST_DIMS
            || (a->flags & (NPY_ARRAY_OWNDATA | NPY_ARRAY_WRITEBACKIFCOPY)) || pyx_n_waiting[a->nd] == PYX_MOST_WAITING) return;
        Py_INCREF(o);
        pyx_waiting[a->nd][pyx_n_waiting[a->nd]++] = o;
        Py_CLEAR(a->base);
    }

    /* An array that waited, as `pyx_ndarray_over` makes one; NULL, without an error, where none waits or NumPy would have to count the bytes. */
    static PyObject* pyx_waiting_array(PyArray_Descr* descr, int ndim, npy_intp* shape, npy_intp* strides, void* data, int flags, PyObject* owner) {
        double bytes = (double)PyDataType_ELSIZE(descr);
        PyArrayObject_fields* a;
        int i;
        if (ndim > PYX_MOST_DIMS || !pyx_n_waiting[ndim]) return NULL;
        for (i = 0; i < ndim; i++) bytes *= (double)shape[i];
        if (bytes > 1e15) return NULL;
        a = (PyArrayObject_fields*)pyx_waiting[ndim][--pyx_n_waiting[ndim]];
        if (a->descr != descr) {
            PyArray_Descr* before = a->descr;
            Py_INCREF(descr);
            a->descr = descr;
            Py_DECREF(before);
        }
        for (i = 0; i < ndim; i++) {
            a->dimensions[i] = shape[i];
            a->strides[i] = strides[i];
        }
        Py_INCREF(owner);
        a->base = owner;
        a->data = (char*)data;
        a->flags = flags;
        PyArray_UpdateFlags((PyArrayObject*)a, NPY_ARRAY_UPDATE_ALL);
        return (PyObject*)a;
    }

    /* An ndarray of `like`'s type over memory that `owner` keeps alive. */
    static PyObject* pyx_ndarray_over(PyArrayObject* like, int ndim, npy_intp* shape, npy_intp* strides, void* data,
                                      int flags, PyObject* owner) {
        PyArray_Descr* descr = PyArray_DESCR(like);
        PyObject* view = pyx_waiting_array(descr, ndim, shape, strides, data, flags, owner);
        if (view != NULL) return view;
        Py_INCREF(descr);
        view = PyArray_NewFromDescr(&PyArray_Type, descr, ndim, shape, strides, data, flags, NULL);
        if (view == NULL) {
            if (PyErr_ExceptionMatches(PyExc_ValueError))
                PyErr_SetString(PyExc_RuntimeError, "the number of elements or bytes of a tensor of these sizes overflows 64 bits");
            return NULL;
        }
        Py_INCREF(owner);
        if (PyArray_SetBaseObject((PyArrayObject*)view, owner) < 0) { Py_DECREF(view); return NULL; }
        return view;
    }
    """
    void pyx_keep_array(void* array) noexcept
    object pyx_ndarray_over(cnp.ndarray like, int ndim, Py_ssize_t* shape, Py_ssize_t* strides, void* data, int flags,
                            object owner)

cdef extern from "Python.h":
    Py_ssize_t PY_SSIZE_T_MAX


@cython.binding(False)     # method descriptors check the type of self, bound functions do not
cdef class Storage:
    """The memory that a tensor and all its aliases share, with a list of them."""

    @property
    def tensors(self):
        """The live tensors on this memory."""
        found = []
        cdef Alias* alias = self.aliases
        while alias != NULL:
            found.append(<object>alias.owner)
            alias = alias.next
        return found

    def data_ptr(self):
        if type(self.array) is not cnp.ndarray and self.device._backend.strided:
            return self.device._backend.address(self.array) if self.nbytes else 0
        return <size_t>self.pointer


cdef Storage storage_of(object array, DType dtype, Device device):
    """The memory under a tensor's array. No tensor is on its list yet."""
    cdef Storage storage = Storage.__new__(Storage)
    storage.array = array
    storage.dtype = dtype
    storage.device = device
    if type(array) is cnp.ndarray:
        storage.pointer = <char*>cnp.PyArray_DATA(<cnp.ndarray>array)
        storage.nbytes = cnp.PyArray_NBYTES(<cnp.ndarray>array)
        if not cnp.PyArray_IS_C_CONTIGUOUS(<cnp.ndarray>array):
            storage.nbytes = extent(<cnp.ndarray>array)
    else:
        storage.nbytes = math.prod(array.shape) * dtype.itemsize
    storage.resizable = True
    return storage


cdef Py_ssize_t extent(cnp.ndarray array) noexcept:
    """Bytes from the first to behind the last element of a strided array."""
    cdef Py_ssize_t last = cnp.PyArray_ITEMSIZE(array)
    cdef int i
    for i in range(cnp.PyArray_NDIM(array)):
        if cnp.PyArray_DIM(array, i) == 0:
            return 0
        last += (cnp.PyArray_DIM(array, i) - 1) * cnp.PyArray_STRIDE(array, i)
    return last


cdef int locate(Geometry* g, object array, DType dtype, Device device, Storage storage) except -1:
    """Shape, strides and offset, in elements, of a tensor's array in its storage (None: it has no other tensor on it)."""
    cdef cnp.ndarray a
    cdef int i
    if type(array) is cnp.ndarray:
        a = <cnp.ndarray>array
        g.ndim = cnp.PyArray_NDIM(a)
        for i in range(g.ndim):
            g.shape[i] = cnp.PyArray_DIM(a, i)
            g.strides[i] = cnp.PyArray_STRIDE(a, i) >> dtype.shift
        g.offset = 0
        if storage is not None:
            g.offset = (<char*>cnp.PyArray_DATA(a) - storage.pointer) >> dtype.shift
        if cnp.PyArray_SIZE(a) == 0:
            geometry.set_contiguous(g)    # NumPy has no strides worth keeping for an empty array
        return 0
    geometry.load_shape(g, array.shape)
    geometry.set_contiguous(g)
    g.offset = 0
    backend = device._backend
    if backend.strided:
        i = 0
        for step in backend.strides(array):
            g.strides[i] = step
            i += 1
        if storage is not None:
            g.offset = backend.offset(array, storage.array)
    return 0


cdef int check_bounds(const Geometry* g, Py_ssize_t available) except -1:
    """RuntimeError where g reaches outside a storage of `available` elements."""
    cdef Py_ssize_t last = g.offset
    cdef int i
    for i in range(g.ndim):
        if g.shape[i] == 0:
            return 0
    for i in range(g.ndim):
        if g.strides[i] and g.shape[i] - 1 > (PY_SSIZE_T_MAX - 1 - last) // g.strides[i]:
            raise RuntimeError(f"Storage size calculation overflowed with sizes={list(geometry.shape_tuple(g))} and "
                               f"strides={[g.strides[j] for j in range(g.ndim)]}")
        last += (g.shape[i] - 1) * g.strides[i]
    if last >= available:
        raise RuntimeError(
            f"setStorage: sizes {list(geometry.shape_tuple(g))}, strides {[g.strides[i] for i in range(g.ndim)]}, storage "
            f"offset {g.offset} require {last + 1} elements, which is out of bounds for storage of {available} elements")
    return 0


cdef object ndarray_view(object array, Storage storage, Geometry* g):
    """An ndarray of the kind of `array` on the storage, with any shape and strides; its base keeps the memory alive."""
    cdef cnp.ndarray like = <cnp.ndarray>array
    cdef Py_ssize_t strides[geometry.MAX_DIMS]
    cdef Py_ssize_t itemsize = cnp.PyArray_ITEMSIZE(like)
    cdef int i, flags = cnp.PyArray_FLAGS(<cnp.ndarray>storage.array) & cnp.NPY_ARRAY_WRITEABLE
    for i in range(g.ndim):
        strides[i] = g.strides[i] * itemsize
    return pyx_ndarray_over(like, g.ndim, g.shape, strides, storage.pointer + g.offset * itemsize, flags, storage.array)


cdef void keep_view(void* array) noexcept:
    """Let the array of a dying view be used again, if it is an ndarray without memory of its own and the view alone holds it (so it comes as a pointer)."""
    pyx_keep_array(array)


cdef object memory_as(Storage storage, DType dtype):
    """A strided backend's array over the memory: the storage's, read as dtype where it is of another one."""
    cdef Py_ssize_t size
    backend = storage.device._backend
    if backend.dtype_name(storage.array) == dtype.name:
        return storage.array
    flat = backend.as_strided(storage.array, (math.prod(storage.array.shape),), (1,), 0)
    flat = backend.view_dtype(flat, backend.dtypes["uint8"])
    size = math.prod(flat.shape) // dtype.itemsize * dtype.itemsize
    return backend.view_dtype(backend.as_strided(flat, (size,), (1,), 0), backend.dtypes[dtype.name])
