# What is read of an ndarray at every call, inline in the modules that read it (which call cnp.import_array()).
cimport numpy as cnp
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_New, PyTuple_SET_ITEM

cdef extern from *:
    """
    #include "numpy/arrayobject.h"
    static inline PyObject* pyx_first_element(PyArrayObject* array) { return PyArray_GETITEM(array, (char*)PyArray_DATA(array)); }

    /* `sizes` of an ndarray as an object of a subclass of tuple that adds no fields. */
    static inline PyObject* pyx_shape_of(PyObject* tuple_class, PyArrayObject* array) {
        int i, n = PyArray_NDIM(array);
        PyTypeObject* type = (PyTypeObject*)tuple_class;
        PyObject* result = type->tp_alloc(type, n);
        if (result == NULL) return NULL;
        for (i = 0; i < n; i++) {
            PyObject* size = PyLong_FromSsize_t(PyArray_DIM(array, i));
            if (size == NULL) { Py_DECREF(result); return NULL; }
            PyTuple_SET_ITEM(result, i, size);
        }
        return result;
    }
    """
    object pyx_first_element(cnp.ndarray array)
    object pyx_shape_of(object tuple_class, cnp.ndarray array)

cdef inline tuple shape_of(cnp.ndarray array):
    cdef int i, n = cnp.PyArray_NDIM(array)
    cdef tuple result = PyTuple_New(n)
    for i in range(n):
        item = <object>cnp.PyArray_DIM(array, i)
        Py_INCREF(item)
        PyTuple_SET_ITEM(result, i, item)
    return result

# True for an ndarray whose elements fill its memory in some order of its dims.
cdef inline bint is_dense(object array) noexcept:
    return cnp.PyArray_IS_C_CONTIGUOUS(<cnp.ndarray>array) or cnp.PyArray_IS_F_CONTIGUOUS(<cnp.ndarray>array)
