"""Running sums, products, extrema and log-sum-exps along a dim.

An array is taken as `outer` slabs of n by `inner` elements, n along the dim; a job scans a few lines of n elements side by side:
neighbouring columns, or, where inner is 1, rows. A single long row is cut into chunks, which are lines too: their totals tell where
each starts. The cuts depend on the length alone, so the number of threads never changes a result.
Sums and products run in float64 or complex128, as in PyTorch, so that each result is rounded once.
"""
cimport numpy as cnp
from cython.parallel cimport prange
from libc.math cimport INFINITY
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc

import numpy as np

from pyx_tensor_cpu.dtypes cimport (
    BF16, BOOL, C64, C128, F16, F32, F64, I8, I16, I32, I64, NCODES, U8, U16, U32, U64, code_of,
)
from pyx_tensor_cpu.iterate cimport as_type, widened
from pyx_tensor_cpu.memory cimport new_array
from pyx_tensor_cpu.parallel cimport threads_for

cnp.import_array()

cdef cnp.dtype INT64 = np.dtype(np.int64)

cdef enum:
    WIDTH = 128             # neighbouring columns of a job
    LANES = 4               # rows of a job where the elements of a row are neighbours: a chain of additions each, side by side
    CHUNK = 4112            # elements of a long row that are scanned beside others
    COST = 4                # of one element, in additions

cdef extern from "scalar_math.h" nogil:
    double exp_f64(double)
    double log1p_f64(double)

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

ctypedef fused Additive:    # what a long row is cut for
    uint8_t
    uint16_t
    uint32_t
    uint64_t
    float
    double

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

# Scans `width` lines of n elements; a line's elements lie `step` apart, the lines `pitch`. `positions` is for those that tell where a
# value came from, `start` (as wide as the accumulator) for those that go on from somewhere.
ctypedef void (*Scan)(const char* a, char* out, int64_t* positions, Py_ssize_t n, Py_ssize_t step, Py_ssize_t width,
                      Py_ssize_t pitch, const char* start, const void* tag) noexcept nogil
# The total of n neighbours, into an accumulator; whether it is finite.
ctypedef bint (*Total)(const char* a, Py_ssize_t n, char* total) noexcept nogil


# ---- loops ----------------------------------------------------------------------------------------------------------

cdef inline void accumulate_lines(Number* a, Number* out, Py_ssize_t n, Py_ssize_t step, Py_ssize_t width, Py_ssize_t pitch,
                                  const char* start, Op* op) noexcept nogil:
    """One of the three accumulators is used, the one wide enough for the type."""
    cdef uint64_t word[WIDTH]
    cdef double real[WIDTH]
    cdef complex128 pair[WIDTH]
    cdef Py_ssize_t i, j, at
    for j in range(width):
        word[j] = (<const uint64_t*>start)[j] if start != NULL else 0 if Op is Sum else 1
        real[j] = (<const double*>start)[j] if start != NULL else 0 if Op is Sum else 1
        pair[j] = 0 if Op is Sum else 1
    for i in range(n):
        for j in range(width):
            at = i * step + j * pitch
            if Number is float or Number is double:
                real[j] = real[j] + a[at] if Op is Sum else real[j] * a[at]
                out[at] = <Number>real[j]
            elif Number is complex64 or Number is complex128:
                pair[j] = pair[j] + a[at] if Op is Sum else pair[j] * a[at]
                out[at] = <Number>pair[j]
            else:
                word[j] = word[j] + a[at] if Op is Sum else word[j] * a[at]
                out[at] = <Number>word[j]


cdef void accumulate(Number* a, Number* out, int64_t* positions, Py_ssize_t n, Py_ssize_t step, Py_ssize_t width, Py_ssize_t pitch,
                     const char* start, Op* op) noexcept nogil:
    if width == 1:          # compiled apart for what is known of the lines
        accumulate_lines(a, out, n, step, 1, 1, start, op)
    elif width == LANES and step == 1:
        accumulate_lines(a, out, n, 1, LANES, pitch, start, op)
    elif pitch == 1:
        accumulate_lines(a, out, n, step, width, 1, start, op)
    else:
        accumulate_lines(a, out, n, step, width, pitch, start, op)


cdef bint total(Additive* a, Py_ssize_t n, char* result) noexcept nogil:
    cdef uint64_t word[LANES]
    cdef double real[LANES]
    cdef Py_ssize_t i, j
    for j in range(LANES):
        word[j] = 0
        real[j] = 0
    for i in range(n // LANES):
        for j in range(LANES):
            if Additive is float or Additive is double:
                real[j] += a[i * LANES + j]
            else:
                word[j] += a[i * LANES + j]
    for j in range(1, LANES):
        word[0] += word[j]
        real[0] += real[j]
    for i in range(n // LANES * LANES, n):
        if Additive is float or Additive is double:
            real[0] += a[i]
        else:
            word[0] += a[i]
    if Additive is float or Additive is double:
        (<double*>result)[0] = real[0]
        return real[0] - real[0] == 0
    else:
        (<uint64_t*>result)[0] = word[0]
        return True


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


cdef inline void extremum_lines(Real* a, Real* out, int64_t* positions, Py_ssize_t n, Py_ssize_t step, Py_ssize_t width,
                                Py_ssize_t pitch, Extremum* op) noexcept nogil:
    cdef Real best[WIDTH]
    cdef int64_t place[WIDTH]
    cdef Py_ssize_t i, j, at
    cdef bint better
    for j in range(width):
        best[j] = a[j * pitch]
        place[j] = 0
    for i in range(n):
        for j in range(width):
            at = i * step + j * pitch
            better = replaces(a[at], best[j], op)
            best[j] = a[at] if better else best[j]
            place[j] = i if better else place[j]
            out[at] = best[j]
            positions[at] = place[j]


cdef void extremum(Real* a, Real* out, int64_t* positions, Py_ssize_t n, Py_ssize_t step, Py_ssize_t width, Py_ssize_t pitch,
                   const char* start, Extremum* op) noexcept nogil:
    if width == LANES and step == 1:
        extremum_lines(a, out, positions, n, 1, LANES, pitch, op)
    elif pitch == 1:
        extremum_lines(a, out, positions, n, step, width, 1, op)
    else:
        extremum_lines(a, out, positions, n, step, width, pitch, op)


cdef inline double log_add(double a, double b) noexcept nogil:
    """log(exp(a) + exp(b))."""
    cdef double high = a if a > b or a != a else b, low = b if a > b or a != a else a
    cdef double result = high + log1p_f64(exp_f64(low - high))
    return high if high == low and (high == INFINITY or high == -INFINITY) else result


cdef inline void log_lines(Floating* a, Floating* out, Py_ssize_t n, Py_ssize_t step, Py_ssize_t width, Py_ssize_t pitch) noexcept nogil:
    cdef double sums[WIDTH]
    cdef double terms[WIDTH]
    cdef Py_ssize_t i, j
    for j in range(width):
        sums[j] = -INFINITY
    for i in range(n):
        for j in range(width):
            terms[j] = a[i * step + j * pitch]
        for j in range(width):
            sums[j] = log_add(terms[j], sums[j])
        for j in range(width):
            out[i * step + j * pitch] = <Floating>sums[j]


cdef void log_accumulate(Floating* a, Floating* out, int64_t* positions, Py_ssize_t n, Py_ssize_t step, Py_ssize_t width,
                         Py_ssize_t pitch, const char* start, void* tag) noexcept nogil:
    if width == LANES:
        log_lines(a, out, n, step, LANES, pitch)
    else:
        log_lines(a, out, n, step, width, pitch)


# ---- tables by dtype code -------------------------------------------------------------------------------------------

cdef Scan sums[NCODES]
cdef Scan products[NCODES]
cdef Scan maxima[NCODES]
cdef Scan minima[NCODES]
cdef Scan logs[NCODES]
cdef Total totals[NCODES]


cdef void fill_arithmetic(int code, Number* t) noexcept:
    sums[code] = <Scan>accumulate[Number, Sum]
    products[code] = <Scan>accumulate[Number, Product]


cdef void fill_total(int code, Additive* t) noexcept:
    totals[code] = <Total>total[Additive]


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
fill_total(U8, <uint8_t*>NULL)
fill_total(I8, <uint8_t*>NULL)
fill_total(U16, <uint16_t*>NULL)
fill_total(I16, <uint16_t*>NULL)
fill_total(U32, <uint32_t*>NULL)
fill_total(I32, <uint32_t*>NULL)
fill_total(U64, <uint64_t*>NULL)
fill_total(I64, <uint64_t*>NULL)
fill_total(F32, <float*>NULL)
fill_total(F64, <double*>NULL)
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

cdef void run_columns(Scan scan, const char* data, char* out, int64_t* positions, Py_ssize_t item, Py_ssize_t outer, Py_ssize_t n,
                      Py_ssize_t inner) noexcept:
    cdef Py_ssize_t columns = (inner + WIDTH - 1) // WIDTH, jobs = outer * columns, job, at
    cdef int threads = threads_for(outer * n * inner * COST) if jobs > 1 else 1
    for job in prange(jobs, nogil=True, num_threads=threads, schedule="static"):
        at = job // columns * n * inner + job % columns * WIDTH
        scan(data + at * item, out + at * item, NULL if positions == NULL else positions + at, n, inner,
             min(<Py_ssize_t>WIDTH, inner - job % columns * WIDTH), 1, NULL, NULL)


cdef void run_rows(Scan scan, const char* data, char* out, int64_t* positions, Py_ssize_t item, Py_ssize_t rows, Py_ssize_t n,
                   const double* starts) noexcept:
    cdef Py_ssize_t jobs = (rows + LANES - 1) // LANES, job, at
    cdef int threads = threads_for(rows * n * COST) if jobs > 1 else 1
    for job in prange(jobs, nogil=True, num_threads=threads, schedule="static"):
        at = job * LANES * n
        scan(data + at * item, out + at * item, NULL if positions == NULL else positions + at, n, 1,
             min(<Py_ssize_t>LANES, rows - job * LANES), n, NULL if starts == NULL else <const char*>(starts + job * LANES), NULL)


cdef bint run_chunks(Scan scan, Total total_of, const char* data, char* out, Py_ssize_t item, Py_ssize_t n, double* starts) noexcept:
    """Sums along one row, chunk by chunk; `starts` has room for a start of each. False, with nothing done, where a total isn't finite:
    the sums before it might be."""
    cdef Py_ssize_t chunks = n // CHUNK, i
    cdef int finite = 0
    cdef uint64_t* words = <uint64_t*>starts
    cdef bint integral = total_of != totals[<int>F32] and total_of != totals[<int>F64]
    for i in prange(chunks, nogil=True, num_threads=threads_for(n), schedule="static"):
        finite += total_of(data + i * CHUNK * item, CHUNK, <char*>(starts + i + 1))
    if finite < chunks:
        return False
    starts[0] = 0
    for i in range(chunks):
        if integral:
            words[i + 1] += words[i]
        else:
            starts[i + 1] += starts[i]
    run_rows(scan, data, out, NULL, item, chunks, CHUNK, starts)
    scan(data + chunks * CHUNK * item, out + chunks * CHUNK * item, NULL, n - chunks * CHUNK, 1, 1, 1, <const char*>(starts + chunks), NULL)
    return True


cdef int run(Scan scan, Total total_of, cnp.ndarray a, int dim, char* out, int64_t* positions) except -1:
    """`total_of` is for scans that may be cut, else NULL. Integers, whose addition is quick, are cut for the threads alone."""
    cdef Py_ssize_t outer = 1, n = 1, inner = 1, item = cnp.PyArray_ITEMSIZE(a)
    cdef const char* data = cnp.PyArray_BYTES(a)
    cdef double* starts
    cdef bint done = False, floating = total_of != NULL and (total_of == totals[<int>F32] or total_of == totals[<int>F64])
    cdef int i
    for i in range(cnp.PyArray_NDIM(a)):
        if i < dim:
            outer *= cnp.PyArray_DIM(a, i)
        elif i == dim:
            n = cnp.PyArray_DIM(a, i)
        else:
            inner *= cnp.PyArray_DIM(a, i)
    if inner > 1:
        run_columns(scan, data, out, positions, item, outer, n, inner)
        return 0
    if outer == 1 and n >= 2 * CHUNK and (floating or total_of != NULL and threads_for(n) > 1):
        starts = <double*>malloc((n // CHUNK + 1) * sizeof(double))
        if starts == NULL:
            raise MemoryError("no memory for the starts of a row's chunks")
        done = run_chunks(scan, total_of, data, out, item, n, starts)
        free(starts)
    if not done:
        run_rows(scan, data, out, positions, item, outer, n, NULL)
    return 0


cdef tuple scanned(str name, Scan* table, cnp.ndarray a, int dim, bint with_positions):
    cdef int code = code_of(a)
    cdef cnp.ndarray out, positions = None
    if code == F16 or code == BF16:
        out, positions = scanned(name, table, widened(a), dim, with_positions)
        return as_type(out, a.dtype), positions
    if table[code] == NULL:
        raise TypeError(f"{name}() does not support dtype {a.dtype}")
    a = np.asarray(a, order="C")
    out = new_array(cnp.PyArray_NDIM(a), <const Py_ssize_t*>cnp.PyArray_DIMS(a), a.dtype)
    if with_positions:
        positions = new_array(cnp.PyArray_NDIM(a), <const Py_ssize_t*>cnp.PyArray_DIMS(a), INT64)
    if cnp.PyArray_SIZE(a):
        run(table[code], totals[code] if table == sums else NULL, a, dim, cnp.PyArray_BYTES(out), <int64_t*>cnp.PyArray_DATA(positions) if with_positions else NULL)
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
