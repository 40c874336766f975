"""The interface between the operators of TensorBase and the operations that fill them."""


cdef class Slot:
    """An entry called by an operator. The class Op implements it; TensorBase knows only this."""

    cdef object call1(self, object a):
        raise NotImplementedError

    cdef object call2(self, object a, object b):
        raise NotImplementedError

    cdef object call2_(self, object a, object b):
        raise NotImplementedError
