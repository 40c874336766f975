# What every file of elementwise loops needs. A loop may run with its result over one of its operands: each element is
# read before it is written.
cimport cython
from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.math cimport INFINITY
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from pyx_tensor_cpu.dtypes cimport *
from pyx_tensor_cpu.ops cimport *

ctypedef fused real:
    float
    double

ctypedef fused word:            # integers where the sign makes no difference: arithmetic wraps
    uint8_t
    uint16_t
    uint32_t
    uint64_t

ctypedef fused signed_integer:
    int8_t
    int16_t
    int32_t
    int64_t

ctypedef fused integer:
    int8_t
    uint8_t
    int16_t
    uint16_t
    int32_t
    uint32_t
    int64_t
    uint64_t

ctypedef fused number:
    int8_t
    uint8_t
    int16_t
    uint16_t
    int32_t
    uint32_t
    int64_t
    uint64_t
    float
    double

cdef void enter(Loop* table, tuple ops, tuple codes, Loop loop):
    cdef int op, code
    for op in ops:
        for code in codes:
            table[op * NCODES + code] = loop

# C functions and macros for the type of their argument; the declared type only says "number" to Cython, which passes
# arguments on as they are.
cdef extern from "scalar_math.h" nogil:
    double m_exp(double)
    double m_exp_near(double)
    bint m_exp_is_near(double)
    double m_exp2(double)
    double m_expm1(double)
    double m_log(double)
    double m_log2(double)
    double m_log10(double)
    double m_log1p(double)
    double m_sin(double)
    double m_cos(double)
    double m_tan(double)
    double m_big_sin(double)
    double m_big_cos(double)
    double m_big_tan(double)
    double m_asin(double)
    double m_acos(double)
    double m_atan(double)
    double m_sinh(double)
    double m_cosh(double)
    double m_tanh(double)
    double m_asinh(double)
    double m_acosh(double)
    double m_atanh(double)
    double m_sigmoid(double)
    double m_silu(double)
    double m_mish(double)
    double m_erf(double)
    double m_erfc(double)
    double m_erfinv(double)
    double m_lgamma(double)
    double m_digamma(double)
    double m_positive_lgamma(double)
    double m_positive_digamma(double)
    double m_i0(double)
    double m_i0e(double)
    double m_i1(double)
    double m_i1e(double)
    double m_erfcx(double)
    double m_ndtri(double)
    double m_log_ndtr(double)
    double m_gammainc(double, double)
    double m_gammaincc(double, double)
    double m_zeta(double, double)
    double m_gelu(double)
    double m_gelu_slope(double)
    double m_gelu_tanh(double)
    double m_gelu_tanh_slope(double)
    double m_sqrt(double)
    double m_floor(double)
    double m_ceil(double)
    double m_round(double)
    double m_trunc(double)
    double m_fabs(double)
    double m_abs(double)
    double m_sign(double)
    double m_pow(double, double)
    double m_atan2(double, double)
    double m_hypot(double, double)
    double m_floor_divide(double, double)
    double m_remainder(double, double)
    double m_fmod(double, double)
    double m_far_fmod(double, double)
    bint m_is_quick(double)
    double quick_floor_divide(double, double)
    double quick_fmod(double, double)
    double quick_remainder(double, double)
    double m_far_remainder(double, double)
    double m_far_floor_divide(double, double)
    double m_copysign(double, double)
    double m_nextafter(double, double)
    uint64_t common_divisor(uint64_t, uint64_t)
    double m_left_shift(double, double)
    double m_right_shift(double, double)
    double m_maximum(double, double)
    double m_minimum(double, double)
    double m_fmax(double, double)
    double m_fmin(double, double)
    bint m_signbit(double)
    double m_select(bint, double, double)
    const double TRIG_LIMIT
    const double FMOD_LIMIT
    const double PI
