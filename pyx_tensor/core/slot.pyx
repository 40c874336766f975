"""The interface between the operators of TensorBase and the operations that fill them."""
cdef extern from *:
    """
    /* Give a Python subclass the operator slots of its C base themselves, where Python would put wrappers that look the
       method up at every call. (Classes that users derive get Python's wrappers, so they may override operators.) */
    static void pyx_inherit_operators(PyObject* derived, PyObject* base) {
        PyNumberMethods* to = ((PyTypeObject*)derived)->tp_as_number;
        PyNumberMethods* from = ((PyTypeObject*)base)->tp_as_number;
        #define PYX_SLOT(name) to->nb_##name = from->nb_##name;
        PYX_SLOT(add) PYX_SLOT(subtract) PYX_SLOT(multiply) PYX_SLOT(true_divide) PYX_SLOT(floor_divide) PYX_SLOT(remainder)
        PYX_SLOT(power) PYX_SLOT(matrix_multiply) PYX_SLOT(and) PYX_SLOT(or) PYX_SLOT(xor) PYX_SLOT(lshift) PYX_SLOT(rshift)
        #undef PYX_SLOT
        ((PyTypeObject*)derived)->tp_richcompare = ((PyTypeObject*)base)->tp_richcompare;
    }
    """
    void pyx_inherit_operators(object derived, object base)


cdef class Slot:
    """An entry called by an operator. The class Op implements it; TensorBase knows only this."""

    cdef object call1(self, object a):
        raise NotImplementedError

    cdef object call2(self, object a, object b):
        raise NotImplementedError

    cdef object call2_(self, object a, object b):
        raise NotImplementedError


cdef void inherit_operators(object derived, object base):
    """Let a class of tensors have the operators of its C base without a look-up."""
    pyx_inherit_operators(derived, base)
