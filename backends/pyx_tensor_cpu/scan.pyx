"""Running sums, products, extrema and log-sum-exps along a dim.

An array is taken as `outer` slabs of n rows of `inner` elements, n along the dim; a job scans a few neighbouring columns.
Sums and products run in float64 or complex128, as in PyTorch, so that each result is rounded once.
"""
cimport numpy as cnp
from cython.parallel cimport prange
from libc.math cimport INFINITY, exp, log1p
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

import numpy as np

from pyx_tensor_cpu.dtypes cimport (
    BF16, BOOL, C64, C128, F16, F32, F64, I8, I16, I32, I64, NCODES, U8, U16, U32, U64, code_of,
)
from pyx_tensor_cpu.memory cimport new_array
from pyx_tensor_cpu.parallel cimport threads_for

cnp.import_array()

cdef enum:
    WIDTH = 128             # columns of a job
    COST = 4                # of one element, in additions

ctypedef float complex complex64
ctypedef double complex complex128

ctypedef struct Sum:
    char unused
ctypedef struct Product:
    char unused
ctypedef struct Maximum:
    char unused
ctypedef struct Minimum:
    char unused

ctypedef fused Op:
    Sum
    Product

ctypedef fused Extremum:
    Maximum
    Minimum

ctypedef fused Number:      # unsigned integers serve the signed ones: both wrap
    uint8_t
    uint16_t
    uint32_t
    uint64_t
    float
    double
    complex64
    complex128

ctypedef fused Real:
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

ctypedef fused Floating:
    float
    double

# Scans n rows, `inner` elements apart, of `width` columns; `positions` is for those that tell where a value came from.
ctypedef void (*Scan)(const char* a, char* out, int64_t* positions, Py_ssize_t n, Py_ssize_t inner,
                      Py_ssize_t width, const void* tag) noexcept nogil


# ---- loops ----------------------------------------------------------------------------------------------------------

cdef void accumulate(Number* a, Number* out, int64_t* positions, Py_ssize_t n, Py_ssize_t inner, Py_ssize_t width,
                     Op* op) noexcept nogil:
    """One of the three accumulators is used, the one wide enough for the type."""
    cdef uint64_t word[WIDTH]
    cdef double real[WIDTH]
    cdef complex128 pair[WIDTH]
    cdef Py_ssize_t i, j, at
    for j in range(width):
        word[j] = 0 if Op is Sum else 1
        real[j] = 0 if Op is Sum else 1
        pair[j] = 0 if Op is Sum else 1
    for i in range(n):
        for j in range(width):
            at = i * inner + j
            if Number is float or Number is double:
                real[j] = real[j] + a[at] if Op is Sum else real[j] * a[at]
                out[at] = <Number>real[j]
            elif Number is complex64 or Number is complex128:
                pair[j] = pair[j] + a[at] if Op is Sum else pair[j] * a[at]
                out[at] = <Number>pair[j]
            else:
                word[j] = word[j] + a[at] if Op is Sum else word[j] * a[at]
                out[at] = <Number>word[j]


cdef inline bint replaces(Real new, Real old, Extremum* op) noexcept nogil:
    """The later of equals is taken, and a NaN stays until the next NaN."""
    cdef bint new_nan = False, old_nan = False
    if Real is float or Real is double:
        new_nan = new != new
        old_nan = old != old
    if Extremum is Maximum:
        return new_nan or (not old_nan and new >= old)
    else:
        return new_nan or (not old_nan and new <= old)


cdef void extremum(Real* a, Real* out, int64_t* positions, Py_ssize_t n, Py_ssize_t inner, Py_ssize_t width,
                   Extremum* op) noexcept nogil:
    cdef Py_ssize_t i, j, at
    for j in range(width):
        out[j] = a[j]
        positions[j] = 0
    for i in range(1, n):
        for j in range(width):
            at = i * inner + j
            if replaces(a[at], out[at - inner], op):
                out[at] = a[at]
                positions[at] = i
            else:
                out[at] = out[at - inner]
                positions[at] = positions[at - inner]


cdef inline double log_add(double a, double b) noexcept nogil:
    """log(exp(a) + exp(b))."""
    cdef double high = a if a > b or a != a else b, low = b if a > b or a != a else a
    if high == low and (high == INFINITY or high == -INFINITY):
        return high
    return high + log1p(exp(low - high))


cdef void log_accumulate(Floating* a, Floating* out, int64_t* positions, Py_ssize_t n, Py_ssize_t inner, Py_ssize_t width,
                         void* tag) noexcept nogil:
    cdef double total[WIDTH]
    cdef Py_ssize_t i, j
    for j in range(width):
        total[j] = -INFINITY
    for i in range(n):
        for j in range(width):
            total[j] = log_add(a[i * inner + j], total[j])
            out[i * inner + j] = <Floating>total[j]


# ---- tables by dtype code -------------------------------------------------------------------------------------------

cdef Scan sums[NCODES]
cdef Scan products[NCODES]
cdef Scan maxima[NCODES]
cdef Scan minima[NCODES]
cdef Scan logs[NCODES]


cdef void fill_arithmetic(int code, Number* t) noexcept:
    sums[code] = <Scan>accumulate[Number, Sum]
    products[code] = <Scan>accumulate[Number, Product]


cdef void fill_extremum(int code, Real* t) noexcept:
    maxima[code] = <Scan>extremum[Real, Maximum]
    minima[code] = <Scan>extremum[Real, Minimum]


fill_arithmetic(U8, <uint8_t*>NULL)
fill_arithmetic(I8, <uint8_t*>NULL)
fill_arithmetic(U16, <uint16_t*>NULL)
fill_arithmetic(I16, <uint16_t*>NULL)
fill_arithmetic(U32, <uint32_t*>NULL)
fill_arithmetic(I32, <uint32_t*>NULL)
fill_arithmetic(U64, <uint64_t*>NULL)
fill_arithmetic(I64, <uint64_t*>NULL)
fill_arithmetic(F32, <float*>NULL)
fill_arithmetic(F64, <double*>NULL)
fill_arithmetic(C64, <complex64*>NULL)
fill_arithmetic(C128, <complex128*>NULL)
fill_extremum(BOOL, <uint8_t*>NULL)
fill_extremum(U8, <uint8_t*>NULL)
fill_extremum(I8, <int8_t*>NULL)
fill_extremum(U16, <uint16_t*>NULL)
fill_extremum(I16, <int16_t*>NULL)
fill_extremum(U32, <uint32_t*>NULL)
fill_extremum(I32, <int32_t*>NULL)
fill_extremum(U64, <uint64_t*>NULL)
fill_extremum(I64, <int64_t*>NULL)
fill_extremum(F32, <float*>NULL)
fill_extremum(F64, <double*>NULL)
logs[<int>F32] = <Scan>log_accumulate[float]
logs[<int>F64] = <Scan>log_accumulate[double]


# ---- entries --------------------------------------------------------------------------------------------------------

cdef void run(Scan scan, cnp.ndarray a, int dim, char* out, int64_t* positions) noexcept:
    cdef Py_ssize_t outer = 1, n = 1, inner = 1, columns, jobs, job, at, item = cnp.PyArray_ITEMSIZE(a)
    cdef const char* data = cnp.PyArray_BYTES(a)
    cdef int i, threads
    for i in range(cnp.PyArray_NDIM(a)):
        if i < dim:
            outer *= cnp.PyArray_DIM(a, i)
        elif i == dim:
            n = cnp.PyArray_DIM(a, i)
        else:
            inner *= cnp.PyArray_DIM(a, i)
    columns = (inner + WIDTH - 1) // WIDTH
    jobs = outer * columns
    threads = threads_for(outer * n * inner * COST) if jobs > 1 else 1
    for job in prange(jobs, nogil=True, num_threads=threads, schedule="static"):
        at = job // columns * n * inner + job % columns * WIDTH
        scan(data + at * item, out + at * item, NULL if positions == NULL else positions + at, n, inner,
             min(<Py_ssize_t>WIDTH, inner - job % columns * WIDTH), NULL)


cdef tuple scanned(str name, Scan* table, cnp.ndarray a, int dim, bint with_positions):
    cdef int code = code_of(a)
    cdef cnp.ndarray out, positions = None
    if code == F16 or code == BF16:
        out, positions = scanned(name, table, a.astype(np.float32), dim, with_positions)
        return out.astype(a.dtype), positions
    if table[code] == NULL:
        raise TypeError(f"{name}() does not support dtype {a.dtype}")
    a = np.asarray(a, order="C")
    out = new_array(cnp.PyArray_NDIM(a), <const Py_ssize_t*>cnp.PyArray_DIMS(a), a.dtype)
    if with_positions:
        positions = np.empty_like(a, np.int64)
    if cnp.PyArray_SIZE(a):
        run(table[code], a, dim, cnp.PyArray_BYTES(out), <int64_t*>cnp.PyArray_DATA(positions) if with_positions else NULL)
    return out, positions


def cumsum(cnp.ndarray a, int dim):
    """The running sum along dim in a's dtype, integers wrapping."""
    return scanned("cumsum", sums, a, dim, False)[0]


def cumprod(cnp.ndarray a, int dim):
    """The running product along dim in a's dtype, integers wrapping."""
    return scanned("cumprod", products, a, dim, False)[0]


def cummax(cnp.ndarray a, int dim):
    """(values, int64 positions) of the largest element so far along dim, the last of equals; NaN is larger than all."""
    return scanned("cummax", maxima, a, dim, True)


def cummin(cnp.ndarray a, int dim):
    """(values, int64 positions) of the smallest element so far along dim, the last of equals; NaN is smaller than all."""
    return scanned("cummin", minima, a, dim, True)


def logcumsumexp(cnp.ndarray a, int dim):
    """The running log(sum(exp(a))) along dim of floats."""
    return scanned("logcumsumexp", logs, a, dim, False)[0]
