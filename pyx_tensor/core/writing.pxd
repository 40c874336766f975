from .op cimport Op
from .tensor cimport TensorBase

cdef class WritableOp(Op):
    cdef bint write_directly(self, TensorBase t, TensorBase u, TensorBase out, object factor=*) except -1
    cdef bint write_over(self, list args) except -1
    cdef bint may_overwrite(self, TensorBase t) except -1
    cdef bint overwrite(self, TensorBase t, tuple arrays, list args) except -1
    cdef bint fits(self, list args, TensorBase target) except -1
    cdef bint lies_over(self, list args, TensorBase target) except -1
    cdef int check_result(self, TensorBase target, TensorBase result) except -1
    cdef int direct_or_copied(self, list args, TensorBase out) except -1
    cdef bint enter_directly(self, list args, TensorBase target) except -1
    cdef object run_into(self, list args, TensorBase target)
