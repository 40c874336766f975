# Loops of functions of real numbers.
include "common.pxi"


cdef bint all_near(real* a, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i
    cdef int found = 0
    for i in range(n): found |= not m_exp_is_near(a[i])
    return not found


cdef void exponentials(real* out, real* a, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t start, i, m
    for start in range(0, n, 256):      # so that one far argument slows down its neighbours only
        m = min(256, n - start)
        if all_near(a, m):
            for i in range(m): out[i] = m_exp_near(a[i])
        else:
            for i in range(m): out[i] = m_exp(a[i])
        a += m
        out += m


cdef void exponential(int op, real** p, Py_ssize_t n) noexcept nogil:
    cdef real *out = p[0]
    cdef real *a = p[1]
    cdef Py_ssize_t i
    if op == EXP:
        exponentials(out, a, n)
    elif op == EXP2:
        for i in range(n): out[i] = m_exp2(a[i])
    elif op == EXPM1:
        for i in range(n): out[i] = m_expm1(a[i])
    elif op == LOG:
        for i in range(n): out[i] = m_log(a[i])
    elif op == LOG2:
        for i in range(n): out[i] = m_log2(a[i])
    elif op == LOG10:
        for i in range(n): out[i] = m_log10(a[i])
    elif op == LOG1P:
        for i in range(n): out[i] = m_log1p(a[i])
    elif op == SINH:
        for i in range(n): out[i] = m_sinh(a[i])
    elif op == COSH:
        for i in range(n): out[i] = m_cosh(a[i])
    elif op == TANH:
        for i in range(n): out[i] = m_tanh(a[i])
    elif op == ASINH:
        for i in range(n): out[i] = m_asinh(a[i])
    elif op == ACOSH:
        for i in range(n): out[i] = m_acosh(a[i])
    elif op == ATANH:
        for i in range(n): out[i] = m_atanh(a[i])


cdef bint any_large(real* a, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i
    cdef int found = 0
    for i in range(n): found |= m_fabs(a[i]) > TRIG_LIMIT
    return found


cdef void large_trigonometric(int op, real* out, real* a, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        out[i] = m_big_sin(a[i]) if op == SIN else m_big_cos(a[i]) if op == COS else m_big_tan(a[i])


cdef void trigonometric(int op, real** p, Py_ssize_t n) noexcept nogil:
    cdef real *out = p[0]
    cdef real *a = p[1]
    cdef Py_ssize_t start, i, m
    for start in range(0, n, 256):      # so that one large argument slows down its neighbours only
        m = min(256, n - start)
        if any_large(a, m):
            large_trigonometric(op, out, a, m)
        elif op == SIN:
            for i in range(m): out[i] = m_sin(a[i])
        elif op == COS:
            for i in range(m): out[i] = m_cos(a[i])
        else:
            for i in range(m): out[i] = m_tan(a[i])
        a += m
        out += m


cdef void rounding(int op, real** p, Py_ssize_t n) noexcept nogil:
    cdef real *out = p[0]
    cdef real *a = p[1]
    cdef Py_ssize_t i
    if op == FLOOR:
        for i in range(n): out[i] = m_floor(a[i])
    elif op == CEIL:
        for i in range(n): out[i] = m_ceil(a[i])
    elif op == ROUND:
        for i in range(n): out[i] = m_round(a[i])
    elif op == TRUNC:
        for i in range(n): out[i] = m_trunc(a[i])
    elif op == FRAC:
        for i in range(n): out[i] = a[i] - m_trunc(a[i])


cdef void special(int op, real** p, Py_ssize_t n) noexcept nogil:
    cdef real *out = p[0]
    cdef real *a = p[1]
    cdef Py_ssize_t i
    if op == ASIN:
        for i in range(n): out[i] = m_asin(a[i])
    elif op == ACOS:
        for i in range(n): out[i] = m_acos(a[i])
    elif op == ATAN:
        for i in range(n): out[i] = m_atan(a[i])
    elif op == ERF:
        for i in range(n): out[i] = m_erf(a[i])
    elif op == ERFC:
        for i in range(n): out[i] = m_erfc(a[i])
    elif op == ERFINV:
        for i in range(n): out[i] = m_erfinv(a[i])
    elif op == ANGLE:
        for i in range(n): out[i] = m_select(a[i] != a[i], a[i], m_select(a[i] < 0, PI, 0))


cdef bint all_positive(real* a, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i
    cdef int found = 0
    for i in range(n): found |= not (a[i] > 0)
    return not found


cdef void gamma_functions(int op, real** p, Py_ssize_t n) noexcept nogil:
    cdef real *out = p[0]
    cdef real *a = p[1]
    cdef Py_ssize_t start, i, m
    for start in range(0, n, 64):       # so that one negative argument slows down its neighbours only
        m = min(64, n - start)
        if not all_positive(a, m):
            if op == LGAMMA:
                for i in range(m): out[i] = m_lgamma(a[i])
            else:
                for i in range(m): out[i] = m_digamma(a[i])
        elif op == LGAMMA:
            for i in range(m): out[i] = m_positive_lgamma(a[i])
        else:
            for i in range(m): out[i] = m_positive_digamma(a[i])
        a += m
        out += m


cdef void rarer(int op, real** p, Py_ssize_t n) noexcept nogil:
    cdef real *out = p[0]
    cdef real *a = p[1]
    cdef Py_ssize_t i
    if op == I0:
        for i in range(n): out[i] = m_i0(a[i])
    elif op == I0E:
        for i in range(n): out[i] = m_i0e(a[i])
    elif op == I1:
        for i in range(n): out[i] = m_i1(a[i])
    elif op == I1E:
        for i in range(n): out[i] = m_i1e(a[i])
    elif op == ERFCX:
        for i in range(n): out[i] = m_erfcx(a[i])
    elif op == NDTRI:
        for i in range(n): out[i] = m_ndtri(a[i])
    elif op == LOG_NDTR:
        for i in range(n): out[i] = m_log_ndtr(a[i])


cdef void rarer_binary(int op, real** p, Py_ssize_t n) noexcept nogil:
    cdef real *out = p[0]
    cdef real *a = p[1]
    cdef real *b = p[2]
    cdef Py_ssize_t i
    if op == GAMMAINC:
        for i in range(n): out[i] = m_gammainc(a[i], b[i])
    elif op == GAMMAINCC:
        for i in range(n): out[i] = m_gammaincc(a[i], b[i])
    elif op == ZETA:
        for i in range(n): out[i] = m_zeta(a[i], b[i])


cdef bint any_far(real* a, real* b, Py_ssize_t n) noexcept nogil:
    """Whether a quotient is too large for the quick loops, or no number."""
    cdef Py_ssize_t i
    cdef int found = 0
    for i in range(n): found |= not (m_fabs(a[i]) < <real>FMOD_LIMIT * m_fabs(b[i]))
    return found


cdef void far_modular(int op, real* out, real* a, real* b, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        out[i] = m_far_fmod(a[i], b[i]) if op == FMOD else m_far_remainder(a[i], b[i]) if op == REMAINDER else m_far_floor_divide(a[i], b[i])


cdef void modular(int op, real** p, Py_ssize_t n) noexcept nogil:
    cdef real *out = p[0]
    cdef real *a = p[1]
    cdef real *b = p[2]
    cdef Py_ssize_t start, i, m
    for start in range(0, n, 256):
        m = min(256, n - start)
        if any_far(a, b, m):
            far_modular(op, out, a, b, m)
        elif op == FMOD:
            for i in range(m): out[i] = m_fmod(a[i], b[i])
        elif op == REMAINDER:
            for i in range(m): out[i] = m_remainder(a[i], b[i])
        else:
            for i in range(m): out[i] = m_floor_divide(a[i], b[i])
        a += m
        b += m
        out += m


cdef void binary(int op, real** p, Py_ssize_t n) noexcept nogil:
    cdef real *out = p[0]
    cdef real *a = p[1]
    cdef real *b = p[2]
    cdef Py_ssize_t i
    if op == POW:
        for i in range(n): out[i] = m_pow(a[i], b[i])
    elif op == ATAN2:
        for i in range(n): out[i] = m_atan2(a[i], b[i])
    elif op == HYPOT:
        for i in range(n): out[i] = m_hypot(a[i], b[i])
    elif op == COPYSIGN:
        for i in range(n): out[i] = m_copysign(a[i], b[i])
    elif op == NEXTAFTER:
        for i in range(n): out[i] = m_nextafter(a[i], b[i])


cdef void finite(int op, real** p, Py_ssize_t n) noexcept nogil:
    """Numbers in the place of NaN, infinity and minus infinity."""
    cdef real *out = p[0]
    cdef real *a = p[1]
    cdef real *b = p[2]
    cdef real *c = p[3]
    cdef real *d = p[4]
    cdef Py_ssize_t i
    for i in range(n): out[i] = m_select(a[i] != a[i], b[i], m_select(a[i] == INFINITY, c[i], m_select(a[i] == -INFINITY, d[i], a[i])))


cdef void activation(int op, real** p, Py_ssize_t n) noexcept nogil:
    cdef real *out = p[0]
    cdef real *a = p[1]
    cdef real *b = p[2]             # negative slope; alpha; beta
    cdef real *c = p[3]             # scale; threshold
    cdef real *d = p[4]             # input scale
    cdef real s, zero = 0, six = 6
    cdef Py_ssize_t i
    if op == SIGMOID:
        for i in range(n): out[i] = m_sigmoid(a[i])
    elif op == SILU:
        for i in range(n): out[i] = m_silu(a[i])
    elif op == MISH:
        for i in range(n): out[i] = m_mish(a[i])
    elif op == GELU:
        for i in range(n): out[i] = m_gelu(a[i])
    elif op == GELU_TANH:
        for i in range(n): out[i] = m_gelu_tanh(a[i])
    elif op == LEAKY_RELU:
        for i in range(n): out[i] = m_select(a[i] > 0, a[i], a[i] * b[i])
    elif op == SOFTPLUS:
        for i in range(n): out[i] = m_select(a[i] * b[i] > c[i], a[i], m_log1p(m_exp(a[i] * b[i])) / b[i])
    elif op == HARDSWISH:
        for i in range(n):
            s = a[i] + <real>3
            s = m_maximum(s, zero)
            out[i] = a[i] * m_minimum(s, six) / six
    elif op == ELU:
        for i in range(n): out[i] = m_select(a[i] > 0, a[i] * c[i], m_expm1(a[i] * d[i]) * (b[i] * c[i]))


cdef void activation_backward(int op, real** p, Py_ssize_t n) noexcept nogil:
    cdef real *out = p[0]
    cdef real *g = p[1]
    cdef real *a = p[2]             # the operand, or the result `y` of the functions named so in the protocol
    cdef Py_ssize_t i
    cdef real s
    if op == SIGMOID_BACKWARD:
        for i in range(n): out[i] = g[i] * (<real>1 - a[i]) * a[i]
    elif op == TANH_BACKWARD:
        for i in range(n): out[i] = g[i] * (<real>1 - a[i] * a[i])
    elif op == GELU_BACKWARD:
        for i in range(n): out[i] = g[i] * m_gelu_slope(a[i])
    elif op == GELU_TANH_BACKWARD:
        for i in range(n): out[i] = g[i] * m_gelu_tanh_slope(a[i])
    elif op == SILU_BACKWARD:
        for i in range(n):
            s = m_sigmoid(a[i])
            out[i] = g[i] * s * (<real>1 + a[i] * (<real>1 - s))


cdef void install_real(Loop* table, int code, real* kind):
    codes = (code,)
    enter(table, (EXP, EXP2, EXPM1, LOG, LOG2, LOG10, LOG1P, SINH, COSH, TANH, ASINH, ACOSH, ATANH), codes, <Loop>exponential[real])
    enter(table, (SIN, COS, TAN), codes, <Loop>trigonometric[real])
    enter(table, (FLOOR, CEIL, ROUND, TRUNC, FRAC), codes, <Loop>rounding[real])
    enter(table, (ASIN, ACOS, ATAN, ERF, ERFC, ERFINV, ANGLE), codes, <Loop>special[real])
    enter(table, (LGAMMA, DIGAMMA), codes, <Loop>gamma_functions[real])
    enter(table, (I0, I0E, I1, I1E, ERFCX, NDTRI, LOG_NDTR), codes, <Loop>rarer[real])
    enter(table, (GAMMAINC, GAMMAINCC, ZETA), codes, <Loop>rarer_binary[real])
    enter(table, (FLOOR_DIVIDE, REMAINDER, FMOD), codes, <Loop>modular[real])
    enter(table, (POW, ATAN2, HYPOT, COPYSIGN, NEXTAFTER), codes, <Loop>binary[real])
    enter(table, (NAN_TO_NUM,), codes, <Loop>finite[real])
    enter(table, (SIGMOID, SILU, MISH, GELU, GELU_TANH, HARDSWISH, LEAKY_RELU, SOFTPLUS, ELU), codes, <Loop>activation[real])
    enter(table, (SIGMOID_BACKWARD, TANH_BACKWARD, GELU_BACKWARD, GELU_TANH_BACKWARD, SILU_BACKWARD), codes,
          <Loop>activation_backward[real])


def install(capsule):
    """Enter these loops into the table in `capsule`."""
    cdef Loop* table = <Loop*>PyCapsule_GetPointer(capsule, "loops")
    install_real[float](table, F32, NULL)
    install_real[double](table, F64, NULL)
