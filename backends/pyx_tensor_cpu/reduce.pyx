"""Reductions over dims: sums, extrema, their positions, moments, norms."""
cimport numpy as cnp
from libc.math cimport NAN, isfinite, log
from libc.stdint cimport int64_t

import math

import numpy as np

from pyx_tensor_cpu.dtypes cimport (
    BOOL, C64, C128, F16, F32, F64, I64, code_of, dtype_of, is_half_code,
)
from pyx_tensor_cpu.iterate cimport as_type, contiguous, unary, widened
from pyx_tensor_cpu.memory cimport new_array
from pyx_tensor_cpu.ops cimport SQRT
from pyx_tensor_cpu.reduce_driver cimport LEAF, MAX_DIMS, kernels, reduce_array
from pyx_tensor_cpu.reduce_table cimport (
    ARGMAX, ARGMIN, COPY, COUNT, EXPONENTIALS, EXTREMA, MAGNITUDE, MAXIMUM, MINIMUM, MOMENTS, NONZERO, NUMBERS, PRODUCT, SQUARE, SUM, WIDEN, LoadMap, ReduceOp,
)

cnp.import_array()

cdef struct Dims:
    int ndim                        # of the result
    bint is_reduced[MAX_DIMS]
    Py_ssize_t shape[MAX_DIMS]      # of the result
    Py_ssize_t count                # elements behind each result

cdef cnp.dtype INT64 = np.dtype(np.int64), FLOAT64 = np.dtype(np.float64)


# ---- shapes and types -----------------------------------------------------------------------------------------------

cdef int split_dims(Dims* d, cnp.ndarray a, dims, bint keepdim) except -1:
    cdef int i, ndim = cnp.PyArray_NDIM(a)
    cdef Py_ssize_t size
    d.ndim = 0
    d.count = 1
    for i in range(ndim):
        d.is_reduced[i] = False
    for i in dims:
        if not 0 <= i < ndim:
            raise ValueError(f"dim {i} is out of range for an array of {ndim} dimensions")
        d.is_reduced[i] = True
    for i in range(ndim):
        size = cnp.PyArray_DIM(a, i)
        if d.is_reduced[i]:
            d.count *= size
            if keepdim:
                d.shape[d.ndim] = 1
                d.ndim += 1
        else:
            d.shape[d.ndim] = size
            d.ndim += 1
    return 0


cdef int split_dim(Dims* d, cnp.ndarray a, dim, bint keepdim) except -1:
    """One dim; a 0-dim array counts as one element along dim 0."""
    return split_dims(d, a, (dim,) if cnp.PyArray_NDIM(a) else (), keepdim)


cdef inline int real_code(int code) noexcept nogil:
    """The type of a magnitude: float32 for the half types."""
    return F64 if code == F64 or code == C128 else F32


cdef int refuse(str name, cnp.ndarray a, str expected) except -1:
    raise TypeError(f"{name} isn't implemented for {a.dtype}: expected {expected}")


cdef int need_elements(str name, cnp.ndarray a, Dims* d) except -1:
    """Extrema of nothing do not exist."""
    cdef int i
    if cnp.PyArray_SIZE(a) == 0:
        for i in range(cnp.PyArray_NDIM(a)):
            if d.is_reduced[i] and cnp.PyArray_DIM(a, i) == 0:
                raise IndexError(f"{name}(): Expected reduction dim {i} to have non-zero size.")
    return 0


# ---- one result per kept element --------------------------------------------------------------------------------------

cdef cnp.ndarray reduce_as(ReduceOp op, LoadMap map, int code, cnp.ndarray a, Dims* d, identity):
    """The fold of what map makes of a, in the type of code."""
    cdef cnp.ndarray out = new_array(d.ndim, d.shape, dtype_of(code))
    if map == COPY and cnp.PyArray_SIZE(a) == d.count and 0 < d.count <= LEAF and cnp.PyArray_IS_C_CONTIGUOUS(a):
        kernels().kernel[<int>op][code].fold(
            cnp.PyArray_BYTES(a), 1, 0, d.count, cnp.PyArray_ITEMSIZE(a), cnp.PyArray_BYTES(out), NULL, NULL)
    elif cnp.PyArray_SIZE(a):
        reduce_array(op, map, code, a, d.is_reduced, cnp.PyArray_BYTES(out), NULL)
    elif cnp.PyArray_SIZE(out):
        out.fill(identity)
    return out


cdef cnp.ndarray narrow(cnp.ndarray a, int code):
    """Half types are computed in float32 and rounded once."""
    return as_type(a, dtype_of(code)) if is_half_code(code) else a


cdef cnp.ndarray reduce_same(str name, ReduceOp op, cnp.ndarray a, dims, bint keepdim, identity):
    """A reduction whose result has a's dtype; without an identity it needs elements."""
    cdef Dims d
    cdef int code = code_of(a)
    split_dims(&d, a, dims, keepdim)
    if identity is None:
        need_elements(name, a, &d)
    if is_half_code(code):
        return narrow(reduce_as(op, WIDEN, F32, a, &d, identity), code)
    if kernels().kernel[<int>op][code].fold == NULL:
        refuse(name, a, "a real dtype")
    return reduce_as(op, COPY, code, a, &d, identity)


def sum(cnp.ndarray a, dims, bint keepdim):
    """The sum over dims in a's dtype, integers wrapping; half types accumulate in float32."""
    return reduce_same("sum", SUM, a, dims, keepdim, 0)


def prod(cnp.ndarray a, dims, bint keepdim):
    """The product over dims in a's dtype, integers wrapping."""
    return reduce_same("prod", PRODUCT, a, dims, keepdim, 1)


def amax(cnp.ndarray a, dims, bint keepdim):
    """The largest element over dims, NaN if there is one."""
    return reduce_same("amax", MAXIMUM, a, dims, keepdim, None)


def amin(cnp.ndarray a, dims, bint keepdim):
    """The smallest element over dims, NaN if there is one."""
    return reduce_same("amin", MINIMUM, a, dims, keepdim, None)


def aminmax(cnp.ndarray a, dims, bint keepdim):
    """(smallest, largest) over dims in one pass, NaN if there is one."""
    cdef Dims d
    cdef int code = code_of(a), wide = F32 if is_half_code(code) else code
    cdef cnp.ndarray low, high
    if kernels().kernel[<int>EXTREMA][wide].fold == NULL:
        refuse("aminmax", a, "a real dtype")
    split_dims(&d, a, dims, keepdim)
    need_elements("aminmax", a, &d)
    low, high = new_array(d.ndim, d.shape, dtype_of(wide)), new_array(d.ndim, d.shape, dtype_of(wide))
    if cnp.PyArray_SIZE(a):
        reduce_array(EXTREMA, WIDEN if is_half_code(code) else COPY, wide, a, d.is_reduced, cnp.PyArray_BYTES(low), cnp.PyArray_BYTES(high))
    return narrow(low, code), narrow(high, code)


def nansum(cnp.ndarray a, dims, bint keepdim):
    """The sum over dims of the floats that aren't NaN."""
    cdef Dims d
    cdef int code = code_of(a), wide = F32 if is_half_code(code) else code
    if not F16 <= code <= F64:
        refuse("nansum", a, "a floating point dtype")
    split_dims(&d, a, dims, keepdim)
    return narrow(reduce_as(SUM, NUMBERS, wide, a, &d, 0), code)


cdef cnp.ndarray reduce_truth(ReduceOp op, cnp.ndarray a, dims, bint keepdim, bint identity):
    cdef Dims d
    split_dims(&d, a, dims, keepdim)
    return reduce_as(op, COPY if code_of(a) == BOOL else NONZERO, BOOL, a, &d, identity)


def any(cnp.ndarray a, dims, bint keepdim):
    """Whether an element over dims is not zero; NaN is not zero."""
    return reduce_truth(MAXIMUM, a, dims, keepdim, False)


def all(cnp.ndarray a, dims, bint keepdim):
    """Whether no element over dims is zero."""
    return reduce_truth(MINIMUM, a, dims, keepdim, True)


def count_nonzero(cnp.ndarray a, dims, bint keepdim=False):
    """How many elements over dims are not zero, as int64."""
    cdef Dims d
    split_dims(&d, a, dims, keepdim)
    return reduce_as(SUM, COUNT, I64, a, &d, 0)


cdef void divide(cnp.ndarray a, int code, double n) noexcept:
    """a /= n in place, for contiguous floats and complexes."""
    cdef Py_ssize_t count = cnp.PyArray_SIZE(a), i
    cdef float* single = <float*>cnp.PyArray_DATA(a)
    cdef double* double_ = <double*>cnp.PyArray_DATA(a)
    if code == C64 or code == C128:
        count *= 2
    if code == F32 or code == C64:
        for i in range(count):
            single[i] /= <float>n
    else:
        for i in range(count):
            double_[i] /= n


def mean(cnp.ndarray a, dims, bint keepdim):
    """The mean over dims of floats or complexes; NaN over no elements."""
    cdef Dims d
    cdef int code = code_of(a), wide = F32 if is_half_code(code) else code
    cdef cnp.ndarray out
    if code < F16:
        refuse("mean", a, "a floating point or complex dtype")
    split_dims(&d, a, dims, keepdim)
    out = reduce_as(SUM, WIDEN if is_half_code(code) else COPY, wide, a, &d, 0)
    divide(out, wide, d.count)
    return narrow(out, code)


# ---- positions ------------------------------------------------------------------------------------------------------

cdef tuple reduce_position(str name, ReduceOp op, cnp.ndarray a, Dims* d):
    """(values, positions) along the reduced dims."""
    cdef int code = code_of(a), wide = F32 if is_half_code(code) else code
    cdef cnp.ndarray values, positions
    if kernels().kernel[<int>op][wide].fold == NULL:
        refuse(name, a, "a real dtype")
    need_elements(name, a, d)
    values = new_array(d.ndim, d.shape, dtype_of(wide))
    positions = new_array(d.ndim, d.shape, INT64)
    if cnp.PyArray_SIZE(a):
        reduce_array(op, WIDEN if is_half_code(code) else COPY, wide, a, d.is_reduced,
                     cnp.PyArray_BYTES(values), cnp.PyArray_BYTES(positions))
    return narrow(values, code), positions


cdef cnp.ndarray position(str name, ReduceOp op, cnp.ndarray a, dim, bint keepdim):
    cdef Dims d
    if dim is None:
        split_dims(&d, a, range(a.ndim), keepdim)
        if not cnp.PyArray_IS_C_CONTIGUOUS(a):      # positions count in C order
            a = contiguous(a)
    else:
        split_dim(&d, a, dim, keepdim)
    return reduce_position(name, op, a, &d)[1]


def argmax(cnp.ndarray a, dim, bint keepdim):
    """The first position of the largest element along dim, or in the flattened array; NaN is larger than all."""
    return position("argmax", ARGMAX, a, dim, keepdim)


def argmin(cnp.ndarray a, dim, bint keepdim):
    """The first position of the smallest element along dim, or in the flattened array; NaN is smaller than all."""
    return position("argmin", ARGMIN, a, dim, keepdim)


def max_dim(cnp.ndarray a, dim, bint keepdim):
    """(values, int64 positions) of the largest elements along dim."""
    cdef Dims d
    split_dim(&d, a, dim, keepdim)
    return reduce_position("max", ARGMAX, a, &d)


def min_dim(cnp.ndarray a, dim, bint keepdim):
    """(values, int64 positions) of the smallest elements along dim."""
    cdef Dims d
    split_dim(&d, a, dim, keepdim)
    return reduce_position("min", ARGMIN, a, &d)


# ---- moments --------------------------------------------------------------------------------------------------------

cdef tuple complex_var_mean(cnp.ndarray a, dims, correction, bint keepdim):
    """The variance of a complex variable is that of its real part plus that of its imaginary part."""
    real_var, real_mean = var_mean(a.real, dims, correction, keepdim)
    imag_var, imag_mean = var_mean(a.imag, dims, correction, keepdim)
    means = np.empty(real_mean.shape, a.dtype)
    means.real, means.imag = real_mean, imag_mean
    return np.asarray(real_var + imag_var), means


def var_mean(cnp.ndarray a, dims, correction, bint keepdim):
    """(sum of squared deviations / max(0, n - correction), mean) over dims."""
    cdef Dims d
    cdef int code = code_of(a)
    cdef cnp.ndarray means, squares
    if code == C64 or code == C128:
        return complex_var_mean(a, dims, correction, keepdim)
    if code < F16:
        refuse("var_mean", a, "a floating point or complex dtype")
    split_dims(&d, a, dims, keepdim)
    means = new_array(d.ndim, d.shape, FLOAT64)
    squares = new_array(d.ndim, d.shape, FLOAT64)
    if cnp.PyArray_SIZE(a):
        reduce_array(MOMENTS, WIDEN if is_half_code(code) else COPY, real_code(code), a, d.is_reduced,
                     cnp.PyArray_BYTES(means), cnp.PyArray_BYTES(squares))
    else:
        means.fill(NAN)
        squares.fill(0)
    divide(squares, F64, max(0.0, d.count - <double>correction))
    if code == F64:
        return squares, means
    return as_type(squares, dtype_of(code)), as_type(means, dtype_of(code))


# ---- norms and exponentials -----------------------------------------------------------------------------------------

cdef cnp.ndarray norm_of_powers(cnp.ndarray a, double p, dims, bint keepdim):
    cdef cnp.ndarray powers = np.asarray(np.abs(widened(a) if is_half_code(code_of(a)) else a))
    np.power(powers, p, out=powers)
    total = sum(powers, dims, keepdim)
    return np.power(total, 1 / p, out=total)


def norm(cnp.ndarray a, double p, dims, bint keepdim):
    """The vector norm of order p (0, inf and -inf included) over dims, real."""
    cdef Dims d
    cdef int code = code_of(a), wide = real_code(code), result = code if is_half_code(code) else wide
    cdef cnp.ndarray out
    if code < F16:
        refuse("norm", a, "a floating point or complex dtype")
    split_dims(&d, a, dims, keepdim)
    if p == 2:
        out = reduce_as(SUM, SQUARE, wide, a, &d, 0)
        out = unary(SQRT, out, None)
    elif p == 1:
        out = reduce_as(SUM, MAGNITUDE, wide, a, &d, 0)
    elif p == 0:
        out = reduce_as(SUM, COUNT, I64, a, &d, 0).astype(dtype_of(wide))
    elif math.isinf(p):
        if p < 0:
            need_elements("norm", a, &d)
        out = reduce_as(MAXIMUM if p > 0 else MINIMUM, MAGNITUDE, wide, a, &d, 0)
    else:
        out = norm_of_powers(a, p, dims, keepdim)
    return narrow(out, result)


ctypedef fused Floating:
    float
    double


cdef void finish_logsumexp(Floating* top, double* total, Py_ssize_t n) noexcept nogil:
    """From what EXPONENTIALS gives, in place; the totals count from the top, or from 0 where that is infinite."""
    cdef Py_ssize_t i
    for i in range(n):
        top[i] = <Floating>(log(total[i]) + (top[i] if isfinite(top[i]) else 0))


cdef cnp.ndarray complex_logsumexp(cnp.ndarray a, dims, bint keepdim):
    shift = amax(a.real, dims, True)
    shift = np.where(np.isfinite(shift), shift, shift.dtype.type(0))
    with np.errstate(all="ignore"):
        terms = np.asarray(np.subtract(a, shift))
        total = sum(np.exp(terms, out=terms), dims, True)
        out = np.asarray(np.log(total) + shift)
    return out if keepdim else out.squeeze(tuple(dims))


def logsumexp(cnp.ndarray a, dims, bint keepdim):
    """log(sum(exp(a))) over dims, without overflow; -inf over no elements."""
    cdef Dims d
    cdef int code = code_of(a), wide = F32 if is_half_code(code) else code
    cdef cnp.ndarray out, totals
    if code < F16:
        refuse("logsumexp", a, "a floating point or complex dtype")
    split_dims(&d, a, dims, keepdim)
    if d.count == 0:
        return np.full([d.shape[i] for i in range(d.ndim)], -math.inf, a.dtype)
    if code == C64 or code == C128:
        return complex_logsumexp(a, dims, keepdim)
    out, totals = new_array(d.ndim, d.shape, dtype_of(wide)), new_array(d.ndim, d.shape, FLOAT64)
    if cnp.PyArray_SIZE(a):
        reduce_array(EXPONENTIALS, WIDEN if is_half_code(code) else COPY, wide, a, d.is_reduced, cnp.PyArray_BYTES(out), cnp.PyArray_BYTES(totals))
    if wide == F32:
        finish_logsumexp(<float*>cnp.PyArray_DATA(out), <double*>cnp.PyArray_DATA(totals), cnp.PyArray_SIZE(out))
    else:
        finish_logsumexp(<double*>cnp.PyArray_DATA(out), <double*>cnp.PyArray_DATA(totals), cnp.PyArray_SIZE(out))
    return narrow(out, code)
