"""Element types as small numbers, to index tables of loops."""
cimport numpy as cnp

cdef enum Code:
    BOOL, U8, I8, I16, I32, I64, U16, U32, U64, F16, BF16, F32, F64, C64, C128, NCODES


cdef inline bint is_half_code(int code) noexcept nogil:
    return code == F16 or code == BF16


cdef bint is_half(cnp.ndarray a) except -1
cdef int precision_of(str name, cnp.ndarray a) except -1
cdef int code_of_dtype(cnp.dtype dtype) except -1
cdef int code_of(cnp.ndarray a) except -1
cdef cnp.dtype dtype_of(int code)
