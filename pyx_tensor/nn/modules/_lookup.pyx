"""Attribute lookup of modules in C.

Python asks ``Module.__getattr__`` for a parameter or child only after the ordinary lookup has failed, and up to CPython
3.11 that means an exception raised and caught each time: ten times what the operations of a small layer cost. The
function below finds the same by the same rules without the exception; ``__getattr__`` remains for what is not found.
Later versions need no exception either, and from 3.13 on the C function for it is no longer public: there Python's own
way stays.
"""
from cpython.ref cimport Py_DECREF, PyObject

cdef extern from *:
    """
    #if PY_VERSION_HEX < 0x030D0000
    #define FAST_LOOKUP 1
    #define ordinary_attribute(object, name) _PyObject_GenericGetAttrWithDict(object, name, NULL, 1)
    #else
    #define FAST_LOOKUP 0
    #define ordinary_attribute(object, name) PyObject_GenericGetAttr(object, name)
    #endif
    """
    const bint FAST_LOOKUP
    # A new reference, or NULL without an exception where nothing is found.
    PyObject* ordinary_attribute(object, object) except? NULL

cdef extern from "Python.h":
    ctypedef object (*getattrofunc)(object, object)
    ctypedef struct PyTypeObject:
        getattrofunc tp_getattro
    PyObject* PyDict_GetItemWithError(object, object) except? NULL

cdef tuple STORES = ("_parameters", "_modules", "_buffers")
cdef object MISSING = object()


cdef object ordinary(object module, object name):
    """What the ordinary lookup finds, or MISSING."""
    cdef PyObject* found = ordinary_attribute(module, name)
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


def install(cls, base):
    """Give ``cls`` this lookup, unless it has rules of its own for attributes: others than those of ``base``."""
    if not isinstance(cls, type):           # (a class may have a metaclass, which an argument declared as `type` may not)
        raise TypeError(f"expected a class, got {cls!r}")
    if FAST_LOOKUP and cls.__getattribute__ is object.__getattribute__ and cls.__getattr__ is base.__getattr__:
        (<PyTypeObject*>cls).tp_getattro = lookup
