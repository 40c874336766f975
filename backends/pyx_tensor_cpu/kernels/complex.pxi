# Loops of complex numbers, as pairs (real, imaginary).
include "common.pxi"

cdef extern from "complex_math.h" nogil:
    void c_unary_f32(int which, float* out, const float* a)
    void c_unary_f64(int which, double* out, const double* a)
    void c_pow_f32(float* out, const float* a, const float* b)
    void c_pow_f64(double* out, const double* a, const double* b)
    enum:
        C_SQRT, C_EXP, C_LOG, C_SIN, C_COS, C_TAN, C_ASIN, C_ACOS, C_ATAN, C_SINH, C_COSH, C_TANH, C_ASINH, C_ACOSH, C_ATANH


cdef void pairwise(int op, real** p, Py_ssize_t n) noexcept nogil:
    """Where the parts go their own ways."""
    cdef real *out = p[0]
    cdef real *a = p[1]
    cdef real *b = p[2]
    cdef Py_ssize_t i
    if op == ADD:
        for i in range(2 * n): out[i] = a[i] + b[i]
    elif op == SUB:
        for i in range(2 * n): out[i] = a[i] - b[i]
    elif op == NEG:
        for i in range(2 * n): out[i] = -a[i]
    elif op == CONJ:
        for i in range(n):
            out[2 * i] = a[2 * i]
            out[2 * i + 1] = -a[2 * i + 1]


cdef inline void multiply(real* out, real ar, real ai, real br, real bi) noexcept nogil:
    out[0] = ar * br - ai * bi
    out[1] = ar * bi + ai * br


cdef void products(int op, real** p, Py_ssize_t n) noexcept nogil:
    cdef real *out = p[0]
    cdef real *a = p[1]
    cdef real *b = p[2]
    cdef real *c = p[3]
    cdef real *d = p[4]
    cdef real t[2]
    cdef Py_ssize_t i
    if op == MUL:
        for i in range(0, 2 * n, 2): multiply(&out[i], a[i], a[i + 1], b[i], b[i + 1])
    elif op == SQUARE:
        for i in range(0, 2 * n, 2): multiply(&out[i], a[i], a[i + 1], a[i], a[i + 1])
    elif op == DIV:
        for i in range(0, 2 * n, 2): divide(&out[i], a[i], a[i + 1], b[i], b[i + 1])
    elif op == RECIPROCAL:
        for i in range(0, 2 * n, 2): divide(&out[i], 1, 0, a[i], a[i + 1])
    elif op == ADDCMUL:
        for i in range(0, 2 * n, 2):
            multiply(t, d[i], d[i + 1], b[i], b[i + 1])
            multiply(t, t[0], t[1], c[i], c[i + 1])
            out[i], out[i + 1] = a[i] + t[0], a[i + 1] + t[1]
    elif op == ADDCDIV:
        for i in range(0, 2 * n, 2):
            multiply(t, d[i], d[i + 1], b[i], b[i + 1])
            divide(t, t[0], t[1], c[i], c[i + 1])
            out[i], out[i + 1] = a[i] + t[0], a[i + 1] + t[1]
    elif op == LERP:
        for i in range(0, 2 * n, 2):
            multiply(t, c[i], c[i + 1], b[i] - a[i], b[i + 1] - a[i + 1])
            out[i], out[i + 1] = a[i] + t[0], a[i + 1] + t[1]


cdef inline void divide(real* out, real ar, real ai, real br, real bi) noexcept nogil:
    """Smith's method: no overflow where the quotient is a number."""
    cdef real ratio, scale
    if m_fabs(br) >= m_fabs(bi):
        if br == 0 and bi == 0:
            out[0], out[1] = ar / m_fabs(br), ai / m_fabs(br)
            return
        ratio = bi / br
        scale = 1 / (br + bi * ratio)
        out[0], out[1] = (ar + ai * ratio) * scale, (ai - ar * ratio) * scale
    else:
        ratio = br / bi
        scale = 1 / (br * ratio + bi)
        out[0], out[1] = (ar * ratio + ai) * scale, (ai * ratio - ar) * scale


cdef void to_real(int op, real** p, Py_ssize_t n) noexcept nogil:
    cdef real *out = p[0]
    cdef real *a = p[1]
    cdef Py_ssize_t i
    if op == ABS:
        for i in range(n): out[i] = m_hypot(a[2 * i], a[2 * i + 1])
    elif op == ANGLE:
        for i in range(n): out[i] = m_atan2(a[2 * i + 1], a[2 * i])


cdef void tests(int op, real** p, Py_ssize_t n) noexcept nogil:
    cdef uint8_t *out = <uint8_t*>p[0]
    cdef real *a = p[1]
    cdef real *b = p[2]
    cdef Py_ssize_t i
    cdef bint x, y
    if op == EQ:
        for i in range(n): out[i] = (a[2 * i] == b[2 * i]) & (a[2 * i + 1] == b[2 * i + 1])
    elif op == NE:
        for i in range(n): out[i] = (a[2 * i] != b[2 * i]) | (a[2 * i + 1] != b[2 * i + 1])
    elif op == ISNAN:
        for i in range(n): out[i] = (a[2 * i] != a[2 * i]) | (a[2 * i + 1] != a[2 * i + 1])
    elif op == ISINF:
        for i in range(n): out[i] = (m_fabs(a[2 * i]) == INFINITY) | (m_fabs(a[2 * i + 1]) == INFINITY)
    elif op == ISFINITE:
        for i in range(n): out[i] = (m_fabs(a[2 * i]) < INFINITY) & (m_fabs(a[2 * i + 1]) < INFINITY)
    elif op == LOGICAL_NOT:
        for i in range(n): out[i] = (a[2 * i] == 0) & (a[2 * i + 1] == 0)
    else:
        for i in range(n):
            x, y = (a[2 * i] != 0) | (a[2 * i + 1] != 0), (b[2 * i] != 0) | (b[2 * i + 1] != 0)
            out[i] = x & y if op == LOGICAL_AND else x | y if op == LOGICAL_OR else x ^ y


cdef inline void unary(int which, real* out, real* a) noexcept nogil:
    if real is float:
        c_unary_f32(which, out, a)
    else:
        c_unary_f64(which, out, a)


cdef void functions(int op, real** p, Py_ssize_t n) noexcept nogil:
    cdef real *out = p[0]
    cdef real *a = p[1]
    cdef real *b = p[2]
    cdef real t[2]
    cdef Py_ssize_t i
    cdef int which = FUNCTIONS[op]
    for i in range(0, 2 * n, 2):
        if op == POW:
            if real is float:
                c_pow_f32(&out[i], &a[i], &b[i])
            else:
                c_pow_f64(&out[i], &a[i], &b[i])
        elif op == RSQRT:
            unary(C_SQRT, t, &a[i])
            divide(&out[i], 1, 0, t[0], t[1])
        elif op == SIGMOID:
            t[0], t[1] = -a[i], -a[i + 1]
            unary(C_EXP, t, t)
            divide(&out[i], 1, 0, 1 + t[0], t[1])
        elif op == SIGN:
            t[0] = m_hypot(a[i], a[i + 1])
            out[i], out[i + 1] = (a[i] / t[0] if t[0] != 0 else 0), (a[i + 1] / t[0] if t[0] != 0 else 0)
        elif op == LOG2 or op == LOG10:
            unary(C_LOG, t, &a[i])
            t[1] = t[1] / m_log(<real>(2 if op == LOG2 else 10))
            t[0] = t[0] / m_log(<real>(2 if op == LOG2 else 10))
            out[i], out[i + 1] = t[0], t[1]
        else:
            unary(which, &out[i], &a[i])

cdef int[NOPS] FUNCTIONS
for _op, _which in ((SQRT, C_SQRT), (EXP, C_EXP), (LOG, C_LOG), (SIN, C_SIN), (COS, C_COS), (TAN, C_TAN), (ASIN, C_ASIN), (ACOS, C_ACOS),
                    (ATAN, C_ATAN), (SINH, C_SINH), (COSH, C_COSH), (TANH, C_TANH), (ASINH, C_ASINH), (ACOSH, C_ACOSH), (ATANH, C_ATANH)):
    FUNCTIONS[<int>_op] = _which


cdef void install_complex(Loop* table, int code, real* kind):
    codes = (code,)
    enter(table, (ADD, SUB, NEG, CONJ), codes, <Loop>pairwise[real])
    enter(table, (MUL, SQUARE, DIV, RECIPROCAL, ADDCMUL, ADDCDIV, LERP), codes, <Loop>products[real])
    enter(table, (ABS, ANGLE), codes, <Loop>to_real[real])
    enter(table, (EQ, NE, ISNAN, ISINF, ISFINITE, LOGICAL_NOT, LOGICAL_AND, LOGICAL_OR, LOGICAL_XOR), codes, <Loop>tests[real])
    enter(table, (SQRT, RSQRT, EXP, LOG, LOG2, LOG10, SIN, COS, TAN, ASIN, ACOS, ATAN, SINH, COSH, TANH, ASINH, ACOSH, ATANH, POW,
                  SIGN, SIGMOID), codes, <Loop>functions[real])


def install(capsule):
    """Enter these loops into the table in `capsule`."""
    cdef Loop* table = <Loop*>PyCapsule_GetPointer(capsule, "loops")
    install_complex[float](table, C64, NULL)
    install_complex[double](table, C128, NULL)
