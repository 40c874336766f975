"""Attribute lookup of modules in C.

Python asks ``Module.__getattr__`` for a parameter or child only after the ordinary lookup has failed, and up to CPython
3.11 that means an exception raised and caught each time: ten times what the operations of a small layer cost. The
function below finds the same by the same rules without the exception; ``__getattr__`` remains for what is not found.
"""
from cpython.ref cimport Py_DECREF, PyObject

cdef extern from "Python.h":
    ctypedef object (*getattrofunc)(object, object)
    ctypedef struct PyTypeObject:
        getattrofunc tp_getattro
    # The ordinary lookup: a new reference, or NULL without an exception where `suppress` is set and nothing is found.
    PyObject* _PyObject_GenericGetAttrWithDict(object, object, PyObject*, int suppress) except? NULL
    PyObject* PyDict_GetItemWithError(object, object) except? NULL

cdef tuple STORES = ("_parameters", "_modules", "_buffers")


cdef object MISSING = object()


cdef object ordinary(object module, object name):
    """What the ordinary lookup finds, or MISSING."""
    cdef PyObject* found = _PyObject_GenericGetAttrWithDict(module, name, NULL, 1)
    if found is NULL:
        return MISSING
    value = <object>found
    Py_DECREF(value)
    return value


cdef object lookup(object module, object name):
    cdef PyObject* found
    value = ordinary(module, name)
    if value is not MISSING:
        return value
    for store in STORES:
        entries = ordinary(module, store)
        if type(entries) is dict:
            found = PyDict_GetItemWithError(entries, name)
            if found is not NULL:
                return <object>found
    return type(module).__getattr__(module, name)


def install(type cls not None):
    """Give ``cls`` this lookup, unless it has rules of its own for attributes."""
    from .module import Module
    if cls.__getattribute__ is object.__getattribute__ and cls.__getattr__ is Module.__getattr__:
        (<PyTypeObject*>cls).tp_getattro = lookup
