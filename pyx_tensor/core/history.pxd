from .graph cimport Node
from .tensor cimport TensorBase

cdef int check_writable(TensorBase t, bint recorded) except -1
cdef int connect_written(TensorBase t, Node node) except -1
