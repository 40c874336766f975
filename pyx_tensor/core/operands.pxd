from .device cimport Device
from .dtype cimport DType
from .tensor cimport TensorBase

cdef bint is_plain(object x) noexcept
cdef bint may_ask(object x)
cdef bint all_plain(list args)
cdef bint is_scalar(object x)
cdef bint fits_surely(object value, DType dtype)
cdef object as_array(object value, DType dtype, Device device)
cdef object number_operand(object value, TensorBase t)
cdef object cast_array(TensorBase t, DType dtype)
cdef object shapes_message(str op, list args)
cdef str different_devices(Device a, Device b)
cdef str dtype_title(DType dtype)
cdef bint broadcasts_to(tuple shape, tuple target)
cdef bint same_memory(TensorBase a, TensorBase b) except -1
cdef bint alike_and_apart(object a, object b) noexcept
cdef bint may_overlap(TensorBase a, TensorBase b)
cdef bint lies_across(TensorBase a, TensorBase b) except -1
cdef int first_ndim(list args) except -1
cdef tuple all_dims(object dims, int ndim)
cdef object one_bool(str name, str argument, object value)
cpdef object one_int(str name, str argument, object value)
cdef object ints(str name, str argument, object value)
cpdef object one_number(str name, str argument, object value)
cdef object scaled(str name, object input, object other, object alpha)
cdef int write_array(TensorBase target, TensorBase result) except -1
cdef int check_no_overlap(TensorBase t) except -1
cdef int check_no_inference(TensorBase t) except -1
