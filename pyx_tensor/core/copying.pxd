from .device cimport Device
from .dtype cimport DType
from .tensor cimport TensorBase

cpdef TensorBase copied(TensorBase t)
cdef TensorBase copied_in_order(TensorBase t)
cpdef TensorBase converted(TensorBase t, DType dtype, Device device, bint non_blocking=*)
cpdef bint can_view(TensorBase t, object sizes) except -1
