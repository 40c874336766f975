# Conversions between types. In the row CAST of the table, a loop is found by the type it makes; its `op` is the code of
# the type it reads. Half-precision numbers go to and from float only; the driver chains the rest.
include "common.pxi"

cdef extern from "half.h" nogil:
    void f16_to_f32_array(float* out, const uint16_t* a, Py_ssize_t n)
    void f32_to_f16_array(uint16_t* out, const float* a, Py_ssize_t n)
    float bf16_to_f32(uint16_t)
    uint16_t f32_to_bf16(float)
    double m_truncate(double witness, double x)


cdef inline void from_integer(number* out, integer* a, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n): out[i] = <number>a[i]


cdef inline void from_real(number* out, real* a, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n): out[i] = <number>m_truncate(out[i], a[i])


cdef void to_number(int source, number** p, Py_ssize_t n) noexcept nogil:
    cdef void *a = p[1]
    if source == BOOL or source == U8:
        from_integer(p[0], <uint8_t*>a, n)
    elif source == I8:
        from_integer(p[0], <int8_t*>a, n)
    elif source == U16:
        from_integer(p[0], <uint16_t*>a, n)
    elif source == I16:
        from_integer(p[0], <int16_t*>a, n)
    elif source == U32:
        from_integer(p[0], <uint32_t*>a, n)
    elif source == I32:
        from_integer(p[0], <int32_t*>a, n)
    elif source == U64:
        from_integer(p[0], <uint64_t*>a, n)
    elif source == I64:
        from_integer(p[0], <int64_t*>a, n)
    elif source == F32:
        from_real(p[0], <float*>a, n)
    elif source == F64:
        from_real(p[0], <double*>a, n)


cdef void to_float(int source, float** p, Py_ssize_t n) noexcept nogil:
    cdef float *out = p[0]
    cdef uint16_t *a = <uint16_t*>p[1]
    cdef Py_ssize_t i
    if source == F16:
        f16_to_f32_array(out, a, n)
    elif source == BF16:
        for i in range(n): out[i] = bf16_to_f32(a[i])
    else:
        to_number(source, p, n)


cdef inline void nonzero(uint8_t* out, number* a, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n): out[i] = a[i] != 0


cdef void to_bool(int source, uint8_t** p, Py_ssize_t n) noexcept nogil:
    cdef void *a = p[1]
    if source == BOOL or source == U8 or source == I8:
        nonzero(p[0], <uint8_t*>a, n)
    elif source == U16 or source == I16:
        nonzero(p[0], <uint16_t*>a, n)
    elif source == U32 or source == I32:
        nonzero(p[0], <uint32_t*>a, n)
    elif source == U64 or source == I64:
        nonzero(p[0], <uint64_t*>a, n)
    elif source == F32:
        nonzero(p[0], <float*>a, n)
    elif source == F64:
        nonzero(p[0], <double*>a, n)
    elif source == C64:
        nonzero_pair(p[0], <float*>a, n)
    elif source == C128:
        nonzero_pair(p[0], <double*>a, n)


cdef inline void nonzero_pair(uint8_t* out, real* a, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n): out[i] = (a[2 * i] != 0) | (a[2 * i + 1] != 0)


cdef void to_float16(int source, uint16_t** p, Py_ssize_t n) noexcept nogil:
    f32_to_f16_array(p[0], <float*>p[1], n)


cdef void to_bfloat16(int source, uint16_t** p, Py_ssize_t n) noexcept nogil:
    cdef uint16_t *out = p[0]
    cdef float *a = <float*>p[1]
    cdef Py_ssize_t i
    for i in range(n): out[i] = f32_to_bf16(a[i])


cdef void copy_word(int op, word** p, Py_ssize_t n) noexcept nogil:
    cdef word *out = p[0]
    cdef word *a = p[1]
    cdef Py_ssize_t i
    for i in range(n): out[i] = a[i]


cdef void copy_pair(int op, uint64_t** p, Py_ssize_t n) noexcept nogil:
    copy_word(op, p, 2 * n)


def install(capsule):
    """Enter these loops into the table in `capsule`."""
    cdef Loop* table = <Loop*>PyCapsule_GetPointer(capsule, "loops")
    cast, copy = (CAST,), (COPY,)
    enter(table, cast, (BOOL,), <Loop>to_bool)
    enter(table, cast, (U8,), <Loop>to_number[uint8_t])
    enter(table, cast, (I8,), <Loop>to_number[int8_t])
    enter(table, cast, (U16,), <Loop>to_number[uint16_t])
    enter(table, cast, (I16,), <Loop>to_number[int16_t])
    enter(table, cast, (U32,), <Loop>to_number[uint32_t])
    enter(table, cast, (I32,), <Loop>to_number[int32_t])
    enter(table, cast, (U64,), <Loop>to_number[uint64_t])
    enter(table, cast, (I64,), <Loop>to_number[int64_t])
    enter(table, cast, (F32,), <Loop>to_float)
    enter(table, cast, (F64,), <Loop>to_number[double])
    enter(table, cast, (F16,), <Loop>to_float16)
    enter(table, cast, (BF16,), <Loop>to_bfloat16)
    enter(table, copy, (BOOL, U8, I8), <Loop>copy_word[uint8_t])
    enter(table, copy, (U16, I16, F16, BF16), <Loop>copy_word[uint16_t])
    enter(table, copy, (U32, I32, F32), <Loop>copy_word[uint32_t])
    enter(table, copy, (U64, I64, F64, C64), <Loop>copy_word[uint64_t])
    enter(table, copy, (C128,), <Loop>copy_pair)
