"""The tensors of one call, as the short path of an operation sees them."""
cimport cython

from .operands cimport is_plain


@cython.final
@cython.no_gc
@cython.freelist(8)
cdef class Operands:
    """What the short path learns of a call's tensors, as it goes over the arguments."""

    cdef bint take(self, object value, bint promotes) except -1:
        """Take note of an operand; False unless it is a plain tensor on the device of those before. `promotes`: its dtype counts."""
        cdef TensorBase t
        if not is_plain(value):
            return False
        t = <TensorBase>value
        if self.first is None:
            self.first = t
        elif t.device is not self.first.device:
            return False
        if promotes and self.like is None:
            self.like = t
        elif promotes and t.dtype is not self.like.dtype:
            self.mixed = True
        if self.recorded:                   # else a view that is out of date with its base mustn't be looked into
            self.needs_grad = t.needs_grad() or self.needs_grad
        return True

    cdef list take_all(self, object values, bint promotes):
        """The arrays of a list of operands, of which those that don't promote may be None; None where one of them isn't plain."""
        cdef list arrays = []
        if type(values) is not list and type(values) is not tuple:
            return None
        for value in values:
            if value is not None or promotes:
                if not self.take(value, promotes):
                    return None
                value = (<TensorBase>value).array
            arrays.append(value)
        return arrays
