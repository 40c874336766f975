"""Element types as small numbers, to index tables of loops."""
cimport numpy as cnp

import ml_dtypes
import numpy as np

cnp.import_array()

# In the order of `Code`.
DTYPES = tuple(np.dtype(name) for name in (
    "bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64", "float16", ml_dtypes.bfloat16,
    "float32", "float64", "complex64", "complex128"))

cdef enum:
    NUMBERS = 512               # NumPy counts its own types from 0 and registered ones from 256

cdef signed char codes[NUMBERS]
cdef int _number
for _number in range(NUMBERS):
    codes[_number] = -1
for _code, _dtype in enumerate(DTYPES):
    codes[<int>_dtype.num] = _code
for _dtype in (np.dtype("longlong"), np.dtype("ulonglong"), np.dtype("intc"), np.dtype("uintc")):  # second C types of one size
    codes[<int>_dtype.num] = DTYPES.index(_dtype)


cdef int code_of_number(int number) except -1:
    if 0 <= number < NUMBERS and codes[number] >= 0:
        return codes[number]
    raise TypeError(f"dtype number {number} is not one of {', '.join(map(str, DTYPES))}, which the cpu backend supports")


cdef int code_of_dtype(cnp.dtype dtype) except -1:
    return code_of_number(dtype.type_num)


cdef int code_of(cnp.ndarray a) except -1:
    return code_of_number(cnp.PyArray_TYPE(a))


cdef bint is_half(cnp.ndarray a) except -1:
    return is_half_code(code_of(a))


cdef int precision_of(str name, cnp.ndarray a) except -1:
    """0 for float32, 1 for float64: the place of its kernels in a table of both. TypeError for other dtypes."""
    cdef int code = code_of(a)
    if code != F32 and code != F64:
        raise TypeError(f"{name}(): expected float32 or float64, got dtype {a.dtype}")
    return code == F64


cdef cnp.dtype dtype_of(int code):
    return DTYPES[code]
