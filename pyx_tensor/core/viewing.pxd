from .dtype cimport DType
from .geometry cimport Geometry
from .tensor cimport TensorBase

cdef TensorBase make_view(TensorBase t, Geometry* g)
cdef TensorBase make_retyped_view(TensorBase t, DType dtype)
