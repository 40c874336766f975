# Loops for every type of number: arithmetic, comparison, logic, bits, selection.
include "common.pxi"


cdef void word_arithmetic(int op, word** p, Py_ssize_t n) noexcept nogil:
    cdef word *out = p[0]
    cdef word *a = p[1]
    cdef word *b = p[2]
    cdef word *c = p[3]
    cdef word *d = p[4]
    cdef Py_ssize_t i
    if op == ADD:
        for i in range(n): out[i] = <word>(a[i] + b[i])
    elif op == SUB:
        for i in range(n): out[i] = <word>(a[i] - b[i])
    elif op == MUL:
        for i in range(n): out[i] = <word>(1u * a[i] * b[i])
    elif op == NEG:
        for i in range(n): out[i] = <word>(0u - a[i])
    elif op == SQUARE:
        for i in range(n): out[i] = <word>(1u * a[i] * a[i])
    elif op == ADDCMUL:
        for i in range(n): out[i] = <word>(a[i] + 1u * d[i] * b[i] * c[i])
    elif op == BITWISE_AND:
        for i in range(n): out[i] = a[i] & b[i]
    elif op == BITWISE_OR:
        for i in range(n): out[i] = a[i] | b[i]
    elif op == BITWISE_XOR:
        for i in range(n): out[i] = a[i] ^ b[i]
    elif op == BITWISE_NOT:
        for i in range(n): out[i] = ~a[i]


cdef void real_arithmetic(int op, real** p, Py_ssize_t n) noexcept nogil:
    cdef real *out = p[0]
    cdef real *a = p[1]
    cdef real *b = p[2]
    cdef real *c = p[3]
    cdef real *d = p[4]
    cdef Py_ssize_t i
    if op == ADD:
        for i in range(n): out[i] = a[i] + b[i]
    elif op == SUB:
        for i in range(n): out[i] = a[i] - b[i]
    elif op == MUL:
        for i in range(n): out[i] = a[i] * b[i]
    elif op == DIV:
        for i in range(n): out[i] = a[i] / b[i]
    elif op == NEG:
        for i in range(n): out[i] = -a[i]
    elif op == SQUARE:
        for i in range(n): out[i] = a[i] * a[i]
    elif op == CUBE:
        for i in range(n): out[i] = a[i] * a[i] * a[i]
    elif op == ABS:
        for i in range(n): out[i] = m_fabs(a[i])
    elif op == SQRT:
        for i in range(n): out[i] = m_sqrt(a[i])
    elif op == RSQRT:
        for i in range(n): out[i] = 1 / m_sqrt(a[i])
    elif op == RECIPROCAL:
        for i in range(n): out[i] = 1 / a[i]
    elif op == ADDCMUL:
        for i in range(n): out[i] = a[i] + d[i] * b[i] * c[i]
    elif op == ADDCDIV:
        for i in range(n): out[i] = a[i] + d[i] * b[i] / c[i]
    elif op == LERP:
        for i in range(n): out[i] = m_select(m_fabs(c[i]) < <real>0.5, a[i] + c[i] * (b[i] - a[i]), b[i] - (b[i] - a[i]) * (<real>1 - c[i]))


cdef void selection(int op, number** p, Py_ssize_t n) noexcept nogil:
    cdef number *out = p[0]
    cdef number *a = p[1]
    cdef number *b = p[2]
    cdef number *c = p[3]
    cdef number raised
    cdef Py_ssize_t i
    if op == MAXIMUM:
        for i in range(n): out[i] = <number>m_maximum(a[i], b[i])
    elif op == MINIMUM:
        for i in range(n): out[i] = <number>m_minimum(a[i], b[i])
    elif op == FMAX:
        for i in range(n): out[i] = <number>m_fmax(a[i], b[i])
    elif op == FMIN:
        for i in range(n): out[i] = <number>m_fmin(a[i], b[i])
    elif op == CLAMP:
        for i in range(n):
            raised = <number>m_maximum(a[i], b[i])
            out[i] = <number>m_minimum(raised, c[i])
    elif op == RELU:
        for i in range(n): out[i] = <number>m_select(a[i] <= 0, <number>0, a[i])
    elif op == RELU_BACKWARD:
        for i in range(n): out[i] = <number>m_select(b[i] <= 0, <number>0, a[i])
    elif op == SIGN:
        for i in range(n): out[i] = <number>m_sign(a[i])
    elif op == HEAVISIDE:
        for i in range(n): out[i] = <number>m_select(a[i] == 0, b[i], <number>(a[i] > 0))


cdef void comparison(int op, number** p, Py_ssize_t n) noexcept nogil:
    cdef uint8_t *out = <uint8_t*>p[0]
    cdef number *a = p[1]
    cdef number *b = p[2]
    cdef Py_ssize_t i
    if op == EQ:
        for i in range(n): out[i] = a[i] == b[i]
    elif op == NE:
        for i in range(n): out[i] = a[i] != b[i]
    elif op == LT:
        for i in range(n): out[i] = a[i] < b[i]
    elif op == LE:
        for i in range(n): out[i] = a[i] <= b[i]
    elif op == GT:
        for i in range(n): out[i] = a[i] > b[i]
    elif op == GE:
        for i in range(n): out[i] = a[i] >= b[i]
    elif op == LOGICAL_AND:
        for i in range(n): out[i] = (a[i] != 0) & (b[i] != 0)
    elif op == LOGICAL_OR:
        for i in range(n): out[i] = (a[i] != 0) | (b[i] != 0)
    elif op == LOGICAL_XOR:
        for i in range(n): out[i] = (a[i] != 0) ^ (b[i] != 0)
    elif op == LOGICAL_NOT:
        for i in range(n): out[i] = a[i] == 0


cdef bint all_quick(integer* a, integer* b, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i
    cdef int found = 0
    for i in range(n): found |= (not m_is_quick(a[i])) | (not m_is_quick(b[i]))
    return not found


cdef void quick_division(int op, integer* out, integer* a, integer* b, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i
    if op == FLOOR_DIVIDE:
        for i in range(n): out[i] = <integer>quick_floor_divide(a[i], b[i])
    elif op == REMAINDER:
        for i in range(n): out[i] = <integer>quick_remainder(a[i], b[i])
    else:
        for i in range(n): out[i] = <integer>quick_fmod(a[i], b[i])


cdef void division(int op, integer** p, Py_ssize_t n) noexcept nogil:
    """By blocks, since one large number slows down its neighbours only."""
    cdef integer *out = p[0]
    cdef integer *a = p[1]
    cdef integer *b = p[2]
    cdef Py_ssize_t start, m
    cdef integer *q[3]
    for start in range(0, n, 256):
        m = min(256, n - start)
        q[0], q[1], q[2] = out + start, a + start, b + start
        if sizeof(integer) >= 4 and (op == FLOOR_DIVIDE or op == REMAINDER or op == FMOD) and all_quick(q[1], q[2], m):
            quick_division(op, q[0], q[1], q[2], m)
        else:
            exact_division(op, q, m)


cdef inline uint64_t magnitude(integer a) noexcept nogil:
    return 0 - <uint64_t>a if a < 0 else <uint64_t>a


cdef void divisors(int op, integer** p, Py_ssize_t n) noexcept nogil:
    cdef integer *out = p[0]
    cdef integer *a = p[1]
    cdef integer *b = p[2]
    cdef Py_ssize_t i
    for i in range(n): out[i] = <integer>common_divisor(magnitude(a[i]), magnitude(b[i]))


cdef void exact_division(int op, integer** p, Py_ssize_t n) noexcept nogil:
    cdef integer *out = p[0]
    cdef integer *a = p[1]
    cdef integer *b = p[2]
    cdef Py_ssize_t i
    if op == FLOOR_DIVIDE:
        for i in range(n): out[i] = <integer>m_floor_divide(a[i], b[i])
    elif op == REMAINDER:
        for i in range(n): out[i] = <integer>m_remainder(a[i], b[i])
    elif op == FMOD:
        for i in range(n): out[i] = <integer>m_fmod(a[i], b[i])
    elif op == POW:
        for i in range(n): out[i] = <integer>m_pow(a[i], b[i])
    elif op == LEFT_SHIFT:
        for i in range(n): out[i] = <integer>m_left_shift(a[i], b[i])
    elif op == RIGHT_SHIFT:
        for i in range(n): out[i] = <integer>m_right_shift(a[i], b[i])


cdef void logical_not(int op, uint8_t** p, Py_ssize_t n) noexcept nogil:
    cdef uint8_t *out = p[0]
    cdef uint8_t *a = p[1]
    cdef Py_ssize_t i
    for i in range(n): out[i] = a[i] == 0


cdef void signed_abs(int op, signed_integer** p, Py_ssize_t n) noexcept nogil:
    cdef signed_integer *out = p[0]
    cdef signed_integer *a = p[1]
    cdef Py_ssize_t i
    for i in range(n): out[i] = <signed_integer>m_abs(a[i])


cdef void copy_words(int op, word** p, Py_ssize_t n) noexcept nogil:
    cdef word *out = p[0]
    cdef word *a = p[1]
    cdef Py_ssize_t i
    for i in range(n): out[i] = a[i]


cdef void where(int op, word** p, Py_ssize_t n) noexcept nogil:
    cdef word *out = p[0]
    cdef uint8_t *condition = <uint8_t*>p[1]
    cdef word *a = p[2]
    cdef word *b = p[3]
    cdef Py_ssize_t i
    for i in range(n): out[i] = <word>m_select(condition[i], a[i], b[i])


cdef void where_pair(int op, double** p, Py_ssize_t n) noexcept nogil:
    cdef double *out = p[0]
    cdef uint8_t *condition = <uint8_t*>p[1]
    cdef double *a = p[2]
    cdef double *b = p[3]
    cdef Py_ssize_t i
    for i in range(n):
        if condition[i]:
            out[2 * i], out[2 * i + 1] = a[2 * i], a[2 * i + 1]
        else:
            out[2 * i], out[2 * i + 1] = b[2 * i], b[2 * i + 1]


cdef void never(int op, void** p, Py_ssize_t n) noexcept nogil:
    """isnan, isinf and signbit of what has none."""
    cdef uint8_t *out = <uint8_t*>p[0]
    cdef Py_ssize_t i
    for i in range(n): out[i] = 0


cdef void always(int op, void** p, Py_ssize_t n) noexcept nogil:
    cdef uint8_t *out = <uint8_t*>p[0]
    cdef Py_ssize_t i
    for i in range(n): out[i] = 1


cdef void signed_signbit(int op, signed_integer** p, Py_ssize_t n) noexcept nogil:
    cdef uint8_t *out = <uint8_t*>p[0]
    cdef signed_integer *a = p[1]
    cdef Py_ssize_t i
    for i in range(n): out[i] = a[i] < 0


cdef void real_test(int op, real** p, Py_ssize_t n) noexcept nogil:
    cdef uint8_t *out = <uint8_t*>p[0]
    cdef real *a = p[1]
    cdef Py_ssize_t i
    if op == ISNAN:
        for i in range(n): out[i] = a[i] != a[i]
    elif op == ISINF:
        for i in range(n): out[i] = m_fabs(a[i]) == INFINITY
    elif op == ISFINITE:
        for i in range(n): out[i] = m_fabs(a[i]) < INFINITY
    elif op == SIGNBIT:
        for i in range(n): out[i] = m_signbit(a[i])


cdef void boolean_ring(int op, uint8_t** p, Py_ssize_t n) noexcept nogil:
    """Sums of bools are "or", products "and"."""
    cdef uint8_t *out = p[0]
    cdef uint8_t *a = p[1]
    cdef uint8_t *b = p[2]
    cdef Py_ssize_t i
    if op == ADD:
        for i in range(n): out[i] = a[i] | b[i]
    elif op == MUL:
        for i in range(n): out[i] = a[i] & b[i]


cdef void install_number(Loop* table, tuple codes, number* kind):
    enter(table, (MAXIMUM, MINIMUM, FMAX, FMIN, CLAMP, RELU, RELU_BACKWARD, SIGN, HEAVISIDE), codes, <Loop>selection[number])
    enter(table, (EQ, NE, LT, LE, GT, GE, LOGICAL_AND, LOGICAL_OR, LOGICAL_XOR, LOGICAL_NOT), codes, <Loop>comparison[number])


cdef void install_word(Loop* table, tuple codes, word* kind):
    enter(table, (ADD, SUB, MUL, NEG, SQUARE, ADDCMUL, BITWISE_AND, BITWISE_OR, BITWISE_XOR, BITWISE_NOT), codes,
          <Loop>word_arithmetic[word])
    enter(table, (FLOOR, CEIL, ROUND, TRUNC, CONJ, ABS), codes, <Loop>copy_words[word])
    enter(table, (WHERE,), codes, <Loop>where[word])
    enter(table, (ISNAN, ISINF, SIGNBIT), codes, <Loop>never)
    enter(table, (ISFINITE,), codes, <Loop>always)


cdef void install_integer(Loop* table, tuple codes, integer* kind):
    enter(table, (FLOOR_DIVIDE, REMAINDER, FMOD, POW, LEFT_SHIFT, RIGHT_SHIFT), codes, <Loop>division[integer])
    enter(table, (GCD,), codes, <Loop>divisors[integer])


cdef void install_signed(Loop* table, tuple codes, signed_integer* kind):
    enter(table, (ABS,), codes, <Loop>signed_abs[signed_integer])
    enter(table, (SIGNBIT,), codes, <Loop>signed_signbit[signed_integer])


cdef void install_real(Loop* table, int code, real* kind):
    enter(table, (ADD, SUB, MUL, DIV, NEG, SQUARE, CUBE, ABS, SQRT, RSQRT, RECIPROCAL, ADDCMUL, ADDCDIV, LERP), (code,),
          <Loop>real_arithmetic[real])
    enter(table, (ISNAN, ISINF, ISFINITE, SIGNBIT), (code,), <Loop>real_test[real])


def install(capsule):
    """Enter these loops into the table in `capsule`."""
    cdef Loop* table = <Loop*>PyCapsule_GetPointer(capsule, "loops")
    install_word[uint8_t](table, (BOOL, U8, I8), NULL)
    install_word[uint16_t](table, (U16, I16), NULL)
    install_word[uint32_t](table, (U32, I32), NULL)
    install_word[uint64_t](table, (U64, I64), NULL)
    install_number[uint8_t](table, (BOOL, U8), NULL)
    install_number[int8_t](table, (I8,), NULL)
    install_number[uint16_t](table, (U16,), NULL)
    install_number[int16_t](table, (I16,), NULL)
    install_number[uint32_t](table, (U32,), NULL)
    install_number[int32_t](table, (I32,), NULL)
    install_number[uint64_t](table, (U64,), NULL)
    install_number[int64_t](table, (I64,), NULL)
    install_number[float](table, (F32,), NULL)
    install_number[double](table, (F64,), NULL)
    install_integer[uint8_t](table, (U8,), NULL)
    install_integer[int8_t](table, (I8,), NULL)
    install_integer[uint16_t](table, (U16,), NULL)
    install_integer[int16_t](table, (I16,), NULL)
    install_integer[uint32_t](table, (U32,), NULL)
    install_integer[int32_t](table, (I32,), NULL)
    install_integer[uint64_t](table, (U64,), NULL)
    install_integer[int64_t](table, (I64,), NULL)
    install_signed[int8_t](table, (I8,), NULL)
    install_signed[int16_t](table, (I16,), NULL)
    install_signed[int32_t](table, (I32,), NULL)
    install_signed[int64_t](table, (I64,), NULL)
    install_real[float](table, F32, NULL)
    install_real[double](table, F64, NULL)
    enter(table, (WHERE,), (F16, BF16), <Loop>where[uint16_t])
    enter(table, (WHERE,), (F32,), <Loop>where[uint32_t])
    enter(table, (WHERE,), (F64, C64), <Loop>where[uint64_t])
    enter(table, (WHERE,), (C128,), <Loop>where_pair)
    enter(table, (CONJ,), (F16, BF16), <Loop>copy_words[uint16_t])
    enter(table, (CONJ,), (F32,), <Loop>copy_words[uint32_t])
    enter(table, (CONJ,), (F64,), <Loop>copy_words[uint64_t])
    enter(table, (ADD, MUL), (BOOL,), <Loop>boolean_ring)
    enter(table, (SUB, NEG, SQUARE, ADDCMUL), (BOOL,), NULL)
    enter(table, (BITWISE_NOT,), (BOOL,), <Loop>logical_not)
