cdef enum Category:
    BOOL = 0
    INTEGRAL = 1
    FLOATING = 2
    COMPLEX = 3

cdef class DType:
    cdef readonly str name
    cdef readonly int code            # position in `dtypes`
    cdef readonly int itemsize        # bytes
    cdef int shift                    # its binary logarithm
    cdef readonly Category category
    cdef readonly bint is_signed
    cdef readonly object numpy        # the numpy.dtype of the same layout

cdef DType promote(DType a, DType b)
cdef DType from_numpy_dtype(object descr)
cdef DType from_type_num(int num)
cdef DType default_float()
cdef DType default_complex()
cdef class Promotion:
    cdef DType dims, zero_dims, scalars
    cdef int add_tensor(self, DType dtype, int ndim) except -1
    cdef int add_scalar(self, object value) except -1
    cdef DType result(self)
cdef DType bool_, uint8, int8, int16, int32, int64, uint16, uint32, uint64
cdef DType float16, bfloat16, float32, float64, complex64, complex128
