"""Loads: a tile of any strides and element type into contiguous memory of the type that a fold takes."""

# The half types are their bits; structs keep them apart from the integers.
ctypedef struct float16:
    uint16_t bits
ctypedef struct bfloat16:
    uint16_t bits
ctypedef struct Widen:
    char unused
ctypedef struct Magnitude:
    char unused
ctypedef struct Square:
    char unused
ctypedef struct Numbers:
    char unused

ctypedef fused Bits:
    uint8_t
    uint16_t
    uint32_t
    uint64_t
    complex128

ctypedef fused Testable:
    uint8_t
    uint16_t
    uint32_t
    uint64_t
    float16
    bfloat16
    float
    double
    complex64
    complex128

ctypedef fused Flag:
    uint8_t
    int64_t

ctypedef fused Measurable:
    float16
    bfloat16
    float
    double
    complex64
    complex128

ctypedef fused Measure:
    Widen
    Magnitude
    Square
    Numbers

cdef extern from "half.h" nogil:
    float f16_to_f32(uint16_t)
    void f16_to_f32_array(float* out, const uint16_t* a, Py_ssize_t n)
    float bf16_to_f32(uint16_t)

cdef extern from "math.h" nogil:
    double fabs(double)
    float fabsf(float)
    double hypot(double, double)
    float hypotf(float, float)


cdef inline bint nonzero(Testable x) noexcept nogil:
    if Testable is float16 or Testable is bfloat16:
        return (x.bits & 0x7fff) != 0
    elif Testable is complex64 or Testable is complex128:
        return (x.real != 0) | (x.imag != 0)
    else:
        return x != 0


cdef inline Floating measured(Floating x, Measure* map) noexcept nogil:
    if Measure is Magnitude:
        return fabsf(x) if Floating is float else fabs(x)
    elif Measure is Square:
        return x * x
    elif Measure is Numbers:
        return x if x == x else 0
    else:
        return x


cdef inline void store_measure(Measurable x, float* single, double* double_, Measure* map) noexcept nogil:
    """One of the two pointers is written: float64 for the 64-bit types, float32 for the rest."""
    if Measurable is float16:
        single[0] = measured(f16_to_f32(x.bits), map)
    elif Measurable is bfloat16:
        single[0] = measured(bf16_to_f32(x.bits), map)
    elif Measurable is float:
        single[0] = measured(x, map)
    elif Measurable is double:
        double_[0] = measured(x, map)
    elif Measurable is complex64:
        single[0] = hypotf(x.real, x.imag) if Measure is Magnitude else x.real * x.real + x.imag * x.imag
    else:
        double_[0] = hypot(x.real, x.imag) if Measure is Magnitude else x.real * x.real + x.imag * x.imag


cdef void load_copy(char* a, Py_ssize_t outer, Py_ssize_t outer_stride, Py_ssize_t inner, Py_ssize_t inner_stride,
                    Bits* out, void* tag) noexcept nogil:
    cdef Py_ssize_t i, j
    for i in range(outer):
        for j in range(inner):
            out[i * inner + j] = (<Bits*>(a + i * outer_stride + j * inner_stride))[0]


cdef void load_flags(Testable* a, Py_ssize_t outer, Py_ssize_t outer_stride, Py_ssize_t inner, Py_ssize_t inner_stride,
                     Flag* out, void* tag) noexcept nogil:
    cdef Py_ssize_t step = inner_stride // <Py_ssize_t>sizeof(Testable), i, j
    cdef Testable* row
    for i in range(outer):
        row = <Testable*>(<char*>a + i * outer_stride)
        if step == 1:
            for j in range(inner):
                out[i * inner + j] = nonzero(row[j])
        else:
            for j in range(inner):
                out[i * inner + j] = nonzero(row[j * step])


cdef void load_measures(Measurable* a, Py_ssize_t outer, Py_ssize_t outer_stride, Py_ssize_t inner,
                        Py_ssize_t inner_stride, char* out, Measure* map) noexcept nogil:
    cdef Py_ssize_t step = inner_stride // <Py_ssize_t>sizeof(Measurable), i, j
    cdef Measurable* row
    cdef float* single
    cdef double* double_
    for i in range(outer):
        row = <Measurable*>(<char*>a + i * outer_stride)
        single = <float*>out + i * inner
        double_ = <double*>out + i * inner
        if step == 1 and Measurable is float16 and Measure is Widen:
            f16_to_f32_array(single, <const uint16_t*>row, inner)
        elif step == 1:
            for j in range(inner):
                store_measure(row[j], single + j, double_ + j, map)
        else:
            for j in range(inner):
                store_measure(row[j * step], single + j, double_ + j, map)


cdef void fill_flags(int code, Testable* t) noexcept:
    TABLE.load[<int>NONZERO][code] = <Load>load_flags[Testable, uint8_t]
    TABLE.load[<int>COUNT][code] = <Load>load_flags[Testable, int64_t]


cdef void fill_measures(int code, Measurable* t) noexcept:
    TABLE.load[<int>MAGNITUDE][code] = <Load>load_measures[Measurable, Magnitude]
    TABLE.load[<int>SQUARE][code] = <Load>load_measures[Measurable, Square]
    if not (Measurable is complex64 or Measurable is complex128):
        TABLE.load[<int>NUMBERS][code] = <Load>load_measures[Measurable, Numbers]
    if Measurable is float16 or Measurable is bfloat16:
        TABLE.load[<int>WIDEN][code] = <Load>load_measures[Measurable, Widen]


cdef void fill_copy(int code, Bits* t) noexcept:
    TABLE.load[<int>COPY][code] = <Load>load_copy[Bits]


cdef void fill_loads() noexcept:
    """Copies, and tests of integers, care for the width alone."""
    cdef int code
    for code in (BOOL, U8, I8):
        fill_copy(code, <uint8_t*>NULL)
        fill_flags(code, <uint8_t*>NULL)
    for code in (U16, I16):
        fill_copy(code, <uint16_t*>NULL)
        fill_flags(code, <uint16_t*>NULL)
    for code in (U32, I32):
        fill_copy(code, <uint32_t*>NULL)
        fill_flags(code, <uint32_t*>NULL)
    for code in (U64, I64):
        fill_copy(code, <uint64_t*>NULL)
        fill_flags(code, <uint64_t*>NULL)
    fill_copy(F32, <uint32_t*>NULL)
    fill_copy(F64, <uint64_t*>NULL)
    fill_copy(C64, <uint64_t*>NULL)
    fill_copy(C128, <complex128*>NULL)
    fill_flags(F16, <float16*>NULL)
    fill_flags(BF16, <bfloat16*>NULL)
    fill_flags(F32, <float*>NULL)
    fill_flags(F64, <double*>NULL)
    fill_flags(C64, <complex64*>NULL)
    fill_flags(C128, <complex128*>NULL)
    fill_measures(F16, <float16*>NULL)
    fill_measures(BF16, <bfloat16*>NULL)
    fill_measures(F32, <float*>NULL)
    fill_measures(F64, <double*>NULL)
    fill_measures(C64, <complex64*>NULL)
    fill_measures(C128, <complex128*>NULL)
