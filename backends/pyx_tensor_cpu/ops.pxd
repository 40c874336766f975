"""Elementwise operations as numbers: the rows of the table of loops."""

cpdef enum Op:
    # one operand
    NEG, ABS, SIGN, SQUARE, CUBE, LOGICAL_NOT, BITWISE_NOT, ISNAN, ISINF, ISFINITE, SIGNBIT
    SQRT, RSQRT, RECIPROCAL, EXP, EXP2, EXPM1, LOG, LOG2, LOG10, LOG1P, SIN, COS, TAN, ASIN, ACOS, ATAN
    SINH, COSH, TANH, ASINH, ACOSH, ATANH, FLOOR, CEIL, ROUND, TRUNC, FRAC
    ERF, ERFC, ERFINV, LGAMMA, DIGAMMA, SIGMOID, RELU, SILU, MISH, HARDSWISH, GELU, GELU_TANH, CONJ, ANGLE
    I0, I0E, I1, I1E, ERFCX, NDTRI, LOG_NDTR
    # two operands
    ADD, SUB, MUL, DIV, FLOOR_DIVIDE, REMAINDER, FMOD, POW, MAXIMUM, MINIMUM, FMAX, FMIN
    GAMMAINC, GAMMAINCC, ZETA
    ATAN2, HYPOT, COPYSIGN, NEXTAFTER, EQ, NE, LT, LE, GT, GE, LOGICAL_AND, LOGICAL_OR, LOGICAL_XOR
    BITWISE_AND, BITWISE_OR, BITWISE_XOR, LEFT_SHIFT, RIGHT_SHIFT, GCD, LEAKY_RELU, HEAVISIDE
    SIGMOID_BACKWARD, TANH_BACKWARD, GELU_BACKWARD, GELU_TANH_BACKWARD, SILU_BACKWARD, RELU_BACKWARD
    # three operands
    WHERE, CLAMP, LERP, SOFTPLUS
    # four operands
    ADDCMUL, ADDCDIV, ELU, NAN_TO_NUM
    # one operand, of another type than the result (see kernels/casts.pxi) or of the same
    CAST, COPY
    NOPS

# p[0] is the result, p[1:] are the operands: contiguous, each of the loop's own type; the result may be an operand.
ctypedef void (*Loop)(int op, void** p, Py_ssize_t n) noexcept nogil
