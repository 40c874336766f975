from .tensor cimport TensorBase

cdef class Operands:
    cdef TensorBase first
    cdef TensorBase like              # the first of those that promote
    cdef bint mixed                   # their dtypes differ
    cdef bint has_numbers             # there are Python's among them
    cdef bint recorded                # the operation would be, if an operand needs a gradient
    cdef bint needs_grad
    cdef bint take(self, object value, bint promotes) except -1
    cdef list take_all(self, object values, bint promotes)
