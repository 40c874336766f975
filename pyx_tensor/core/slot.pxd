# What an operator of TensorBase calls: an operation of the table, through the C virtual table.
cdef class Slot:
    cdef object call1(self, object a)
    cdef object call2(self, object a, object b)
    cdef object call2_(self, object a, object b)

cdef void inherit_operators(object derived, object base)
