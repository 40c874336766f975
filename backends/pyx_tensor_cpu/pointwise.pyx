"""Elementwise operations: each finds its loop by number in the driver's table (see `ops.pxd`, `iterate.pyx`).

Array arguments come first, of one dtype unless said otherwise, and broadcast; `out` takes the result.
"""
cimport numpy as cnp
from numpy cimport ndarray

import ml_dtypes
import numpy as np

from pyx_tensor_cpu.dtypes cimport *
from pyx_tensor_cpu.iterate cimport binary, quaternary, ternary, unary
from pyx_tensor_cpu.memory cimport new_array
from pyx_tensor_cpu.ops cimport *

from .iterate import op_name

cnp.import_array()


LARGEST = {code: float(ml_dtypes.finfo(dtype_of(code)).max) for code in (F16, BF16, F32, F64)}      # finite numbers


cdef ndarray parameter(object value, ndarray like):
    """A number as a 0-dim array of the type that loops over `like` compute in."""
    cdef int code = code_of(like)
    cdef ndarray result = new_array(0, NULL, dtype_of(F32 if code == F16 or code == BF16 else code))
    result[()] = value
    return result


# ---- one operand ----

def neg(ndarray a not None, ndarray out=None): return unary(NEG, a, out)
def abs(ndarray a not None, ndarray out=None): return unary(ABS, a, out)
def sign(ndarray a not None, ndarray out=None): return unary(SIGN, a, out)
def square(ndarray a not None, ndarray out=None): return unary(SQUARE, a, out)
def sqrt(ndarray a not None, ndarray out=None): return unary(SQRT, a, out)
def rsqrt(ndarray a not None, ndarray out=None): return unary(RSQRT, a, out)
def reciprocal(ndarray a not None, ndarray out=None): return unary(RECIPROCAL, a, out)
def exp(ndarray a not None, ndarray out=None): return unary(EXP, a, out)
def exp2(ndarray a not None, ndarray out=None): return unary(EXP2, a, out)
def expm1(ndarray a not None, ndarray out=None): return unary(EXPM1, a, out)
def log(ndarray a not None, ndarray out=None): return unary(LOG, a, out)
def log2(ndarray a not None, ndarray out=None): return unary(LOG2, a, out)
def log10(ndarray a not None, ndarray out=None): return unary(LOG10, a, out)
def log1p(ndarray a not None, ndarray out=None): return unary(LOG1P, a, out)
def sin(ndarray a not None, ndarray out=None): return unary(SIN, a, out)
def cos(ndarray a not None, ndarray out=None): return unary(COS, a, out)
def tan(ndarray a not None, ndarray out=None): return unary(TAN, a, out)
def asin(ndarray a not None, ndarray out=None): return unary(ASIN, a, out)
def acos(ndarray a not None, ndarray out=None): return unary(ACOS, a, out)
def atan(ndarray a not None, ndarray out=None): return unary(ATAN, a, out)
def sinh(ndarray a not None, ndarray out=None): return unary(SINH, a, out)
def cosh(ndarray a not None, ndarray out=None): return unary(COSH, a, out)
def tanh(ndarray a not None, ndarray out=None): return unary(TANH, a, out)
def asinh(ndarray a not None, ndarray out=None): return unary(ASINH, a, out)
def acosh(ndarray a not None, ndarray out=None): return unary(ACOSH, a, out)
def atanh(ndarray a not None, ndarray out=None): return unary(ATANH, a, out)
def floor(ndarray a not None, ndarray out=None): return unary(FLOOR, a, out)
def ceil(ndarray a not None, ndarray out=None): return unary(CEIL, a, out)
def round(ndarray a not None, ndarray out=None): return unary(ROUND, a, out)
def trunc(ndarray a not None, ndarray out=None): return unary(TRUNC, a, out)
def frac(ndarray a not None, ndarray out=None): return unary(FRAC, a, out)
def erf(ndarray a not None, ndarray out=None): return unary(ERF, a, out)
def erfc(ndarray a not None, ndarray out=None): return unary(ERFC, a, out)
def erfinv(ndarray a not None, ndarray out=None): return unary(ERFINV, a, out)
def lgamma(ndarray a not None, ndarray out=None): return unary(LGAMMA, a, out)
def digamma(ndarray a not None, ndarray out=None): return unary(DIGAMMA, a, out)
def i0(ndarray a not None, ndarray out=None): return unary(I0, a, out)
def i0e(ndarray a not None, ndarray out=None): return unary(I0E, a, out)
def i1(ndarray a not None, ndarray out=None): return unary(I1, a, out)
def i1e(ndarray a not None, ndarray out=None): return unary(I1E, a, out)
def erfcx(ndarray a not None, ndarray out=None): return unary(ERFCX, a, out)
def ndtri(ndarray a not None, ndarray out=None): return unary(NDTRI, a, out)
def log_ndtr(ndarray a not None, ndarray out=None): return unary(LOG_NDTR, a, out)
def sigmoid(ndarray a not None, ndarray out=None): return unary(SIGMOID, a, out)
def relu(ndarray a not None, ndarray out=None): return unary(RELU, a, out)
def silu(ndarray a not None, ndarray out=None): return unary(SILU, a, out)
def mish(ndarray a not None, ndarray out=None): return unary(MISH, a, out)
def hardswish(ndarray a not None, ndarray out=None): return unary(HARDSWISH, a, out)
def logical_not(ndarray a not None, ndarray out=None): return unary(LOGICAL_NOT, a, out)
def bitwise_not(ndarray a not None, ndarray out=None): return unary(BITWISE_NOT, a, out)
def isnan(ndarray a not None, ndarray out=None): return unary(ISNAN, a, out)
def isinf(ndarray a not None, ndarray out=None): return unary(ISINF, a, out)
def isfinite(ndarray a not None, ndarray out=None): return unary(ISFINITE, a, out)
def signbit(ndarray a not None, ndarray out=None): return unary(SIGNBIT, a, out)
def conj(ndarray a not None, ndarray out=None): return unary(CONJ, a, out)
def angle(ndarray a not None, ndarray out=None): return unary(ANGLE, a, out)


def gelu(ndarray a not None, bint tanh, ndarray out=None):
    """x times the normal distribution function of x, or its approximation by tanh."""
    return unary(GELU_TANH if tanh else GELU, a, out)


def prelu(ndarray a not None, ndarray slope not None, ndarray out=None): return binary(LEAKY_RELU, a, slope, out)


def leaky_relu(ndarray a not None, slope, ndarray out=None):
    return binary(LEAKY_RELU, a, parameter(slope, a), out)


def softplus(ndarray a not None, beta, threshold, ndarray out=None):
    """log(1 + e^(beta x)) / beta, and x where beta x exceeds the threshold."""
    return ternary(SOFTPLUS, a, parameter(beta, a), parameter(threshold, a), out)


def elu(ndarray a not None, alpha, scale, input_scale, ndarray out=None):
    return quaternary(ELU, a, parameter(alpha, a), parameter(scale, a), parameter(input_scale, a), out)


def nan_to_num(ndarray a not None, nan, posinf, neginf, ndarray out=None):
    """Numbers for NaN (0 if None), infinity and minus infinity (the largest and the smallest finite number); of real floats alone."""
    cdef int code = code_of(a)
    if not F16 <= code <= F64:
        raise TypeError(f"nan_to_num is not implemented for {a.dtype} on cpu")
    return quaternary(NAN_TO_NUM, a, parameter(0 if nan is None else nan, a), parameter(LARGEST[code] if posinf is None else posinf, a),
                      parameter(-LARGEST[code] if neginf is None else neginf, a), out)


def real(ndarray a not None, ndarray out=None):
    """A copy of the real part."""
    return unary(COPY, (<object>a).real if code_of(a) >= C64 else a, out)


def imag(ndarray a not None, ndarray out=None):
    """A copy of the imaginary part of complex numbers."""
    if code_of(a) < C64:
        raise TypeError(f"imag is not implemented for {a.dtype} on cpu")
    return unary(COPY, (<object>a).imag, out)


# ---- two operands ----

def add(ndarray a not None, ndarray b not None, ndarray out=None): return binary(ADD, a, b, out)
def sub(ndarray a not None, ndarray b not None, ndarray out=None): return binary(SUB, a, b, out)
def mul(ndarray a not None, ndarray b not None, ndarray out=None): return binary(MUL, a, b, out)
def div(ndarray a not None, ndarray b not None, ndarray out=None): return binary(DIV, a, b, out)
def maximum(ndarray a not None, ndarray b not None, ndarray out=None): return binary(MAXIMUM, a, b, out)
def minimum(ndarray a not None, ndarray b not None, ndarray out=None): return binary(MINIMUM, a, b, out)
def fmax(ndarray a not None, ndarray b not None, ndarray out=None): return binary(FMAX, a, b, out)
def fmin(ndarray a not None, ndarray b not None, ndarray out=None): return binary(FMIN, a, b, out)
def gammainc(ndarray a not None, ndarray b not None, ndarray out=None): return binary(GAMMAINC, a, b, out)
def gammaincc(ndarray a not None, ndarray b not None, ndarray out=None): return binary(GAMMAINCC, a, b, out)
def zeta(ndarray a not None, ndarray b not None, ndarray out=None): return binary(ZETA, a, b, out)
def atan2(ndarray a not None, ndarray b not None, ndarray out=None): return binary(ATAN2, a, b, out)
def hypot(ndarray a not None, ndarray b not None, ndarray out=None): return binary(HYPOT, a, b, out)
def copysign(ndarray a not None, ndarray b not None, ndarray out=None): return binary(COPYSIGN, a, b, out)
def heaviside(ndarray a not None, ndarray b not None, ndarray out=None): return binary(HEAVISIDE, a, b, out)
def nextafter(ndarray a not None, ndarray b not None, ndarray out=None): return binary(NEXTAFTER, a, b, out)
def eq(ndarray a not None, ndarray b not None, ndarray out=None): return binary(EQ, a, b, out)
def ne(ndarray a not None, ndarray b not None, ndarray out=None): return binary(NE, a, b, out)
def lt(ndarray a not None, ndarray b not None, ndarray out=None): return binary(LT, a, b, out)
def le(ndarray a not None, ndarray b not None, ndarray out=None): return binary(LE, a, b, out)
def gt(ndarray a not None, ndarray b not None, ndarray out=None): return binary(GT, a, b, out)
def ge(ndarray a not None, ndarray b not None, ndarray out=None): return binary(GE, a, b, out)
def logical_and(ndarray a not None, ndarray b not None, ndarray out=None): return binary(LOGICAL_AND, a, b, out)
def logical_or(ndarray a not None, ndarray b not None, ndarray out=None): return binary(LOGICAL_OR, a, b, out)
def logical_xor(ndarray a not None, ndarray b not None, ndarray out=None): return binary(LOGICAL_XOR, a, b, out)
def bitwise_and(ndarray a not None, ndarray b not None, ndarray out=None): return binary(BITWISE_AND, a, b, out)
def bitwise_or(ndarray a not None, ndarray b not None, ndarray out=None): return binary(BITWISE_OR, a, b, out)
def bitwise_xor(ndarray a not None, ndarray b not None, ndarray out=None): return binary(BITWISE_XOR, a, b, out)
def bitwise_left_shift(ndarray a not None, ndarray b not None, ndarray out=None): return binary(LEFT_SHIFT, a, b, out)
def bitwise_right_shift(ndarray a not None, ndarray b not None, ndarray out=None): return binary(RIGHT_SHIFT, a, b, out)
def gcd(ndarray a not None, ndarray b not None, ndarray out=None): return binary(GCD, a, b, out)


cdef ndarray divide(int op, ndarray a, ndarray b, ndarray out):
    """Integers are searched for a zero divisor first, so that `out` is not half written."""
    if code_of(b) < F16 and cnp.PyArray_SIZE(a) and np.count_nonzero(b) != cnp.PyArray_SIZE(b):
        raise ZeroDivisionError(f"{op_name(op)}: integer division by zero")
    return binary(op, a, b, out)


def floor_divide(ndarray a not None, ndarray b not None, ndarray out=None): return divide(FLOOR_DIVIDE, a, b, out)
def remainder(ndarray a not None, ndarray b not None, ndarray out=None): return divide(REMAINDER, a, b, out)
def fmod(ndarray a not None, ndarray b not None, ndarray out=None): return divide(FMOD, a, b, out)


EXPONENTS = {2: SQUARE, 3: CUBE, 0.5: SQRT, -0.5: RSQRT, -1: RECIPROCAL}     # of floats; the square of all numbers


def pow(ndarray a not None, ndarray b not None, ndarray out=None):
    cdef int code = code_of(a)
    if cnp.PyArray_NDIM(b) == 0 and code != BOOL and code == code_of(b):
        op = EXPONENTS.get((<object>b).item())
        if op is not None and (op == SQUARE or F16 <= code <= F64):
            return unary(op, a, out)
    return binary(POW, a, b, out)


# ---- three operands and more ----

def where(ndarray condition not None, ndarray a not None, ndarray b not None, ndarray out=None):
    """a where the bool `condition` holds, else b."""
    return ternary(WHERE, condition, a, b, out)


def clamp(ndarray a not None, ndarray lo or None, ndarray hi or None, ndarray out=None):
    """min(max(a, lo), hi); a bound that is None does not bind, NaN anywhere gives NaN."""
    if lo is not None and hi is not None:
        return ternary(CLAMP, a, lo, hi, out)
    if lo is None and hi is None:
        raise ValueError("clamp: at least one of lo and hi must be given")
    return binary(MINIMUM, a, hi, out) if lo is None else binary(MAXIMUM, a, lo, out)


def add_scaled(ndarray a not None, ndarray b not None, alpha, ndarray out=None):
    """a + alpha * b, rounded once where the processor can."""
    return quaternary(ADDCMUL, a, b, parameter(alpha, a), parameter(1, a), out)


def addcmul(ndarray a not None, ndarray b not None, ndarray c not None, value, ndarray out=None):
    """a + value * b * c."""
    return quaternary(ADDCMUL, a, b, c, parameter(value, a), out)


def addcdiv(ndarray a not None, ndarray b not None, ndarray c not None, value, ndarray out=None):
    """a + value * b / c."""
    return quaternary(ADDCDIV, a, b, c, parameter(value, a), out)


def lerp(ndarray a not None, ndarray b not None, ndarray w not None, ndarray out=None):
    """a + w (b - a), computed from the nearer end."""
    return ternary(LERP, a, b, w, out)


# ---- gradients: g is the gradient of the result, a the operand, y the result ----

def sigmoid_backward(ndarray g not None, ndarray y not None, ndarray out=None): return binary(SIGMOID_BACKWARD, g, y, out)
def tanh_backward(ndarray g not None, ndarray y not None, ndarray out=None): return binary(TANH_BACKWARD, g, y, out)
def silu_backward(ndarray g not None, ndarray a not None, ndarray out=None): return binary(SILU_BACKWARD, g, a, out)
def relu_backward(ndarray g not None, ndarray y not None, ndarray out=None): return binary(RELU_BACKWARD, g, y, out)


def gelu_backward(ndarray g not None, ndarray a not None, bint tanh, ndarray out=None):
    return binary(GELU_TANH_BACKWARD if tanh else GELU_BACKWARD, g, a, out)
