from .op cimport Op
from .tensor cimport TensorBase

cdef class ViewOp(Op):
    cdef int view_kind                # the rule in geometry.pyx
    cdef object of_sizes(self, TensorBase t, object sizes)
    cdef object of(self, TensorBase t, tuple args)
    cdef object view(self, TensorBase t, tuple args, int origin)

cdef bint is_basic(tuple key)
cdef list places_of(TensorBase x, object key)
