# cython: language_level=3
"""Leaves of the reductions: runs and rows of at most a few thousand elements.

Long sums are trees of these leaves (the driver's work); inside a leaf eight elements are added as a tree into one of
many independent lanes, which the compiler turns into vector registers, so float32 keeps its accuracy.
"""
from cpython.pycapsule cimport PyCapsule_New
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy

from pyx_tensor_cpu.dtypes cimport BF16, BOOL, C64, C128, F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64
from pyx_tensor_cpu.reduce_table cimport (
    ARGMAX, ARGMIN, COPY, COUNT, EXPONENTIALS, EXTREMA, KEPT_TILE, MAGNITUDE, MAXIMUM, MINIMUM, MOMENTS, NONZERO, NUMBERS, PRODUCT, SQUARE,
    SUM, WIDEN, Fold, Load, Merge, ReduceTable,
)

ctypedef float complex complex64
ctypedef double complex complex128

# Tags choose the operation at compile time; no value of these types is ever looked at.
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
    Maximum
    Minimum

ctypedef fused Extremum:
    Maximum
    Minimum

ctypedef fused Number:
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

cdef extern from "math.h" nogil:
    bint isunordered(double, double)
    const float NAN
    const float INFINITY

cdef extern from "scalar_math.h" nogil:
    double m_exp(double)

cdef enum:
    LANE_BYTES = 128       # two of the widest vector registers
    SEARCH_BLOCK = 128
    EXP_BLOCK = 1024


cdef inline bint is_nan(Number x) noexcept nogil:
    if Number is float or Number is double:
        return x != x
    else:
        return False


# ---- sum, product, maximum, minimum ---------------------------------------------------------------------------------

cdef inline Number exceeding(Number a, Number b, Op* op) noexcept nogil:
    """The larger or smaller of two; b where one is NaN, as the processor's own instruction has it."""
    if Number is complex64 or Number is complex128:
        return a                                     # never in the table
    elif Op is Maximum:
        return a if a > b else b
    else:
        return a if a < b else b


cdef inline Number combine(Number a, Number b, Op* op) noexcept nogil:
    cdef Number best
    if Op is Sum:
        return a + b
    elif Op is Product:
        return a * b
    elif Number is complex64 or Number is complex128:
        return a                                     # never in the table
    else:
        best = exceeding(a, b, op)
        if Number is float or Number is double:
            best = a if a != a else best             # a NaN in b has lost no comparison: it is there already
        return best


cdef inline Number combine8(Number* p, Py_ssize_t step, Op* op) noexcept nogil:
    return combine(
        combine(combine(p[0], p[step], op), combine(p[2 * step], p[3 * step], op), op),
        combine(combine(p[4 * step], p[5 * step], op), combine(p[6 * step], p[7 * step], op), op), op)


cdef inline Py_ssize_t halve(Number* lane, Py_ssize_t half, const Number* end, Py_ssize_t rest, Op* op) noexcept nogil:
    """Combine the upper half of the lanes, and as many of the `rest` elements before `end`, with the lower; how many are left then."""
    cdef Py_ssize_t j
    for j in range(half):
        lane[j] = combine(lane[j], lane[j + half], op)
    if rest < half:
        return rest
    for j in range(half):
        lane[j] = combine(lane[j], (end - rest)[j], op)
    return rest - half


cdef inline Number fold_lanes(Number* lane, Py_ssize_t count, const Number* end, Py_ssize_t rest, Op* op) noexcept nogil:
    """One result from `count` lanes, a power of two, and fewer elements behind; in steps of known width, which the compiler unrolls."""
    cdef Number result
    if count > 64:
        rest = halve(lane, 64, end, rest, op)
    if count > 32:
        rest = halve(lane, 32, end, rest, op)
    if count > 16:
        rest = halve(lane, 16, end, rest, op)
    if count > 8:
        rest = halve(lane, 8, end, rest, op)
    if count > 4:
        rest = halve(lane, 4, end, rest, op)
    rest = halve(lane, 2, end, rest, op)
    result = combine(lane[0], lane[1], op)
    return combine(result, end[-1], op) if rest else result


cdef inline Number fold_few(Number* p, Py_ssize_t n, Op* op) noexcept nogil:
    """One result from n > 0 elements, fewer than there are lanes."""
    cdef Number lane[64]
    cdef Number result = p[0]
    cdef Py_ssize_t i
    if n >= 64:
        memcpy(lane, p, 64 * sizeof(Number))
        return fold_lanes(<Number*>lane, 64, p + n, n - 64, op)
    if n >= 32:
        memcpy(lane, p, 32 * sizeof(Number))
        return fold_lanes(<Number*>lane, 32, p + n, n - 32, op)
    if n >= 16:
        memcpy(lane, p, 16 * sizeof(Number))
        return fold_lanes(<Number*>lane, 16, p + n, n - 16, op)
    if n >= 8:
        memcpy(lane, p, 8 * sizeof(Number))
        return fold_lanes(<Number*>lane, 8, p + n, n - 8, op)
    for i in range(1, n):
        result = combine(result, p[i], op)
    return result


cdef inline Number extreme_run(Number* p, Py_ssize_t n, Op* op) noexcept nogil:
    """The extremum of contiguous floats, at least as many as there are lanes: that of the numbers, and beside it whether there is a NaN."""
    cdef Py_ssize_t width = <Py_ssize_t>(LANE_BYTES // sizeof(Number)), i = 0, j
    cdef Number lane[LANE_BYTES]
    cdef Number nan[LANE_BYTES]
    cdef Number found
    if Number is not float and Number is not double:
        return p[0]                                  # never asked for
    for j in range(width):
        lane[j] = p[0]
        nan[j] = 0
    while i + 2 * width <= n:
        for j in range(width):
            lane[j] = exceeding(exceeding(p[i + j], p[i + width + j], op), lane[j], op)
            if Number is float or Number is double:
                nan[j] = <Number>NAN if isunordered(p[i + j], p[i + width + j]) else nan[j]
        i += 2 * width
    if i + width <= n:
        for j in range(width):
            lane[j] = combine(lane[j], p[i + j], op)
        i += width
    found = fold_lanes(<Number*>nan, width, NULL, 0, <Sum*>NULL)
    return found if is_nan(found) else fold_lanes(<Number*>lane, width, p + n, n - i, op)


cdef inline Number fold_run(Number* p, Py_ssize_t n, Op* op) noexcept nogil:
    """One result from n > 0 contiguous elements."""
    cdef Py_ssize_t width = <Py_ssize_t>(LANE_BYTES // sizeof(Number))
    cdef Py_ssize_t i, j
    cdef Number lane[LANE_BYTES]
    cdef Number result
    if n < width:
        result = fold_few(p, n, op)
    elif (Op is Maximum or Op is Minimum) and (Number is float or Number is double):
        return extreme_run(p, n, op)
    else:
        for j in range(width):
            lane[j] = p[j]
        i = width
        while i + 8 * width <= n:
            for j in range(width):
                lane[j] = combine(lane[j], combine8(p + i + j, width, op), op)
            i += 8 * width
        while i + width <= n:
            for j in range(width):
                lane[j] = combine(lane[j], p[i + j], op)
            i += width
        result = fold_lanes(<Number*>lane, width, p + n, n - i, op)
    if Op is Sum:
        result = result + 0                          # a sum of negative zeros is +0, as in PyTorch
    return result


cdef inline void fold_rows(Number* a, Py_ssize_t n, Py_ssize_t rows, Py_ssize_t step, Number* out, Op* op) noexcept nogil:
    """n <= KEPT_TILE results from rows > 0 rows that lie step elements apart."""
    cdef Number acc[KEPT_TILE]                       # local, so that the compiler knows that nothing overlaps it
    cdef Py_ssize_t row = 1, j
    for j in range(n):
        acc[j] = a[j]
    while row + 8 <= rows:
        for j in range(n):
            acc[j] = combine(acc[j], combine8(a + row * step + j, step, op), op)
        row += 8
    while row < rows:
        for j in range(n):
            acc[j] = combine(acc[j], a[row * step + j], op)
        row += 1
    if Op is Sum:
        for j in range(n):
            acc[j] = acc[j] + 0
    memcpy(out, acc, n * sizeof(Number))


cdef inline void fold_narrow(Number* a, Py_ssize_t n, Py_ssize_t rows, Number* out, Op* op) noexcept nogil:
    """As fold_rows for contiguous rows of a few elements: as many rows as fit a tile are one wide row."""
    cdef Number wide[KEPT_TILE]
    cdef Py_ssize_t group = min(KEPT_TILE // n, max(1, rows // 8)), groups = rows // group, row, j
    fold_rows(a, group * n, groups, group * n, wide, op)
    fold_rows(wide, n, group, n, out, op)
    for row in range(groups * group, rows):
        for j in range(n):
            out[j] = combine(out[j], a[row * n + j], op)


cdef void fold(Number* a, Py_ssize_t kept, Py_ssize_t kept_stride, Py_ssize_t reduced, Py_ssize_t reduced_stride,
               Number* out, char* extra, Op* op) noexcept nogil:
    cdef Py_ssize_t size = sizeof(Number), i
    if reduced_stride == size:
        for i in range(kept):
            out[i] = fold_run(<Number*>(<char*>a + i * kept_stride), reduced, op)
    elif kept <= 16 and reduced_stride == kept * size:
        fold_narrow(a, kept, reduced, out, op)
    else:
        fold_rows(a, kept, reduced, reduced_stride // size, out, op)


cdef void merge(Number* out, char* extra, Number* part, char* part_extra, Py_ssize_t kept, Py_ssize_t n_out,
                Py_ssize_t n_part, Op* op) noexcept nogil:
    cdef Py_ssize_t j
    for j in range(kept):
        out[j] = combine(out[j], part[j], op)


# ---- both extrema: the smallest to out, the largest to extra ----------------------------------------------------------

cdef void fold_extrema(Real* a, Py_ssize_t kept, Py_ssize_t kept_stride, Py_ssize_t reduced, Py_ssize_t reduced_stride,
                       Real* out, Real* extra, void* tag) noexcept nogil:
    """Twice through a leaf, which is in the cache by then."""
    fold(a, kept, kept_stride, reduced, reduced_stride, out, NULL, <Minimum*>NULL)
    fold(a, kept, kept_stride, reduced, reduced_stride, extra, NULL, <Maximum*>NULL)


cdef void merge_extrema(Real* out, Real* extra, Real* part, Real* part_extra, Py_ssize_t kept, Py_ssize_t n_out,
                        Py_ssize_t n_part, void* tag) noexcept nogil:
    merge(out, NULL, part, NULL, kept, n_out, n_part, <Minimum*>NULL)
    merge(extra, NULL, part_extra, NULL, kept, n_out, n_part, <Maximum*>NULL)


# ---- argmax, argmin: the extremum to out, its first position to extra -----------------------------------------------

cdef inline bint beats(Real a, Real b, Extremum* op) noexcept nogil:
    """Whether a takes the place of an earlier b: NaN beats numbers, equals do not beat."""
    if Extremum is Maximum:
        return (a > b) | (is_nan(a) & (not is_nan(b)))
    else:
        return (a < b) | (is_nan(a) & (not is_nan(b)))


cdef inline int64_t find_first(Real* p, Py_ssize_t n, Real value) noexcept nogil:
    """The first position of a value that p holds; NaN finds NaN. Whole blocks are searched as vectors first."""
    cdef Py_ssize_t i = 0, j
    cdef int32_t hits
    if is_nan(value):
        while not is_nan(p[i]):
            i += 1
        return i
    while i + SEARCH_BLOCK <= n:
        hits = 0
        for j in range(SEARCH_BLOCK):
            hits += p[i + j] == value
        if hits:
            break
        i += SEARCH_BLOCK
    while p[i] != value:
        i += 1
    return i


cdef void fold_arg(Real* a, Py_ssize_t kept, Py_ssize_t kept_stride, Py_ssize_t reduced, Py_ssize_t reduced_stride,
                   Real* out, int64_t* extra, Extremum* op) noexcept nogil:
    cdef Py_ssize_t step = reduced_stride // <Py_ssize_t>sizeof(Real), i, j
    cdef Real best[KEPT_TILE]
    cdef int32_t where[KEPT_TILE]
    cdef Real* run
    cdef bint better
    if step == 1:
        for i in range(kept):
            run = <Real*>(<char*>a + i * kept_stride)
            out[i] = fold_run(run, reduced, op)
            extra[i] = find_first(run, reduced, out[i])
        return
    for j in range(kept):
        best[j] = a[j]
        where[j] = 0
    for i in range(1, reduced):
        for j in range(kept):
            better = beats(a[i * step + j], best[j], op)
            where[j] = <int32_t>i if better else where[j]
            best[j] = a[i * step + j] if better else best[j]
    for j in range(kept):
        out[j] = best[j]
        extra[j] = where[j]


cdef void merge_arg(Real* out, int64_t* extra, Real* part, int64_t* part_extra, Py_ssize_t kept, Py_ssize_t n_out,
                    Py_ssize_t n_part, Extremum* op) noexcept nogil:
    cdef Py_ssize_t j
    for j in range(kept):
        if beats(part[j], out[j], op):
            out[j] = part[j]
            extra[j] = part_extra[j] + n_out


# ---- moments: mean to out, sum of squared deviations to extra, both float64 -----------------------------------------

cdef inline void moments_run(Floating* p, Py_ssize_t n, double* mean, double* squares) noexcept nogil:
    """Deviations from the rounded mean, and their sum to correct both results for that rounding."""
    cdef Py_ssize_t width = <Py_ssize_t>(LANE_BYTES // sizeof(Floating)), i = 0, j
    cdef Floating centre = fold_run(p, n, <Sum*>NULL) / n
    cdef Floating deviation[LANE_BYTES]
    cdef Floating square[LANE_BYTES]
    cdef Floating d
    cdef double rest
    for j in range(width):
        deviation[j] = 0
        square[j] = 0
    while i + width <= n:
        for j in range(width):
            d = p[i + j] - centre
            deviation[j] += d
            square[j] += d * d
        i += width
    for j in range(n - i):
        d = p[i + j] - centre
        deviation[j] += d
        square[j] += d * d
    rest = fold_run(deviation, width, <Sum*>NULL)
    mean[0] = centre + rest / n
    squares[0] = fold_run(square, width, <Sum*>NULL) - rest * rest / n


cdef void fold_moments(Floating* a, Py_ssize_t kept, Py_ssize_t kept_stride, Py_ssize_t reduced,
                       Py_ssize_t reduced_stride, double* out, double* extra, void* tag) noexcept nogil:
    cdef Py_ssize_t step = reduced_stride // <Py_ssize_t>sizeof(Floating), i, j
    cdef Floating centre[KEPT_TILE]
    cdef Floating deviation[KEPT_TILE]
    cdef Floating square[KEPT_TILE]
    cdef Floating d
    if step == 1:
        for i in range(kept):
            moments_run(<Floating*>(<char*>a + i * kept_stride), reduced, out + i, extra + i)
        return
    fold_rows(a, kept, reduced, step, centre, <Sum*>NULL)
    for j in range(kept):
        centre[j] /= reduced
        deviation[j] = 0
        square[j] = 0
    for i in range(reduced):
        for j in range(kept):
            d = a[i * step + j] - centre[j]
            deviation[j] += d
            square[j] += d * d
    for j in range(kept):
        out[j] = centre[j] + <double>deviation[j] / reduced
        extra[j] = square[j] - <double>deviation[j] * deviation[j] / reduced


cdef void merge_moments(double* out, double* extra, double* part, double* part_extra, Py_ssize_t kept,
                        Py_ssize_t n_out, Py_ssize_t n_part, void* tag) noexcept nogil:
    """Chan, Golub and LeVeque, Updating formulae and a pairwise algorithm for computing sample variances (1979)."""
    cdef double share = <double>n_part / (n_out + n_part), weight = share * n_out, delta
    cdef Py_ssize_t j
    for j in range(kept):
        delta = part[j] - out[j]
        out[j] += delta * share
        extra[j] += part_extra[j] + delta * delta * weight


# ---- logsumexp: the largest to out, the sum of the exponentials of what all are above it to extra, in float64 ----------

cdef inline Floating finite(Floating x) noexcept nogil:
    """What exponents are counted from: an infinite extremum leaves them as they are."""
    return x if x - x == 0 else 0


cdef inline double exponentials_run(Floating* p, Py_ssize_t n, Floating top) noexcept nogil:
    cdef Floating e[EXP_BLOCK]
    cdef double total = 0
    cdef Py_ssize_t count, i
    while n > 0:
        count = min(n, <Py_ssize_t>EXP_BLOCK)
        for i in range(count):
            e[i] = m_exp(p[i] - top)
        total += fold_run(<Floating*>e, count, <Sum*>NULL)
        p += count
        n -= count
    return total


cdef void fold_exponentials(Floating* a, Py_ssize_t kept, Py_ssize_t kept_stride, Py_ssize_t reduced,
                            Py_ssize_t reduced_stride, Floating* out, double* extra, void* tag) noexcept nogil:
    cdef Py_ssize_t step = reduced_stride // <Py_ssize_t>sizeof(Floating), i, j
    cdef Floating top[KEPT_TILE]
    cdef double total[KEPT_TILE]
    fold(a, kept, kept_stride, reduced, reduced_stride, out, NULL, <Maximum*>NULL)
    if step == 1:
        for i in range(kept):
            extra[i] = exponentials_run(<Floating*>(<char*>a + i * kept_stride), reduced, finite(out[i]))
        return
    for j in range(kept):
        top[j] = finite(out[j])
        total[j] = 0
    for i in range(reduced):
        for j in range(kept):
            total[j] += <Floating>m_exp(a[i * step + j] - top[j])
    memcpy(extra, total, kept * sizeof(double))


cdef inline double rescaled(double total, double exponent) noexcept nogil:
    """total e^exponent; nothing and infinity stay so, whatever the exponent."""
    return total if total == 0 or total == INFINITY else total * m_exp(exponent)


cdef void merge_exponentials(Floating* out, double* extra, Floating* part, double* part_extra, Py_ssize_t kept,
                             Py_ssize_t n_out, Py_ssize_t n_part, void* tag) noexcept nogil:
    cdef Floating top, base
    cdef Py_ssize_t j
    for j in range(kept):
        top = combine(out[j], part[j], <Maximum*>NULL)
        base = finite(top)
        extra[j] = rescaled(extra[j], finite(out[j]) - base) + rescaled(part_extra[j], finite(part[j]) - base)
        out[j] = top


# ---- loads ----------------------------------------------------------------------------------------------------------

include "../kernels/load.pxi"


# ---- the table ------------------------------------------------------------------------------------------------------

cdef ReduceTable TABLE


cdef void fill_arithmetic(int code, Number* t) noexcept:
    TABLE.kernel[<int>SUM][code].fold = <Fold>fold[Number, Sum]
    TABLE.kernel[<int>SUM][code].merge = <Merge>merge[Number, Sum]
    TABLE.kernel[<int>PRODUCT][code].fold = <Fold>fold[Number, Product]
    TABLE.kernel[<int>PRODUCT][code].merge = <Merge>merge[Number, Product]


cdef void fill_order(int code, Real* t) noexcept:
    TABLE.kernel[<int>MAXIMUM][code].fold = <Fold>fold[Real, Maximum]
    TABLE.kernel[<int>MAXIMUM][code].merge = <Merge>merge[Real, Maximum]
    TABLE.kernel[<int>MINIMUM][code].fold = <Fold>fold[Real, Minimum]
    TABLE.kernel[<int>MINIMUM][code].merge = <Merge>merge[Real, Minimum]
    TABLE.kernel[<int>EXTREMA][code].fold = <Fold>fold_extrema[Real]
    TABLE.kernel[<int>EXTREMA][code].merge = <Merge>merge_extrema[Real]
    TABLE.kernel[<int>ARGMAX][code].fold = <Fold>fold_arg[Real, Maximum]
    TABLE.kernel[<int>ARGMAX][code].merge = <Merge>merge_arg[Real, Maximum]
    TABLE.kernel[<int>ARGMIN][code].fold = <Fold>fold_arg[Real, Minimum]
    TABLE.kernel[<int>ARGMIN][code].merge = <Merge>merge_arg[Real, Minimum]


cdef void fill_floating(int code, Floating* t) noexcept:
    TABLE.kernel[<int>MOMENTS][code].fold = <Fold>fold_moments[Floating]
    TABLE.kernel[<int>MOMENTS][code].merge = <Merge>merge_moments
    TABLE.kernel[<int>EXPONENTIALS][code].fold = <Fold>fold_exponentials[Floating]
    TABLE.kernel[<int>EXPONENTIALS][code].merge = <Merge>merge_exponentials[Floating]


cdef void fill_table() noexcept:
    """Sums and products wrap, which C promises for unsigned types alone; those of bools are any and all."""
    fill_order(BOOL, <uint8_t*>NULL)
    TABLE.kernel[<int>SUM][<int>BOOL] = TABLE.kernel[<int>MAXIMUM][<int>BOOL]
    TABLE.kernel[<int>PRODUCT][<int>BOOL] = TABLE.kernel[<int>MINIMUM][<int>BOOL]
    fill_arithmetic(I8, <uint8_t*>NULL)
    fill_arithmetic(U8, <uint8_t*>NULL)
    fill_arithmetic(I16, <uint16_t*>NULL)
    fill_arithmetic(U16, <uint16_t*>NULL)
    fill_arithmetic(I32, <uint32_t*>NULL)
    fill_arithmetic(U32, <uint32_t*>NULL)
    fill_arithmetic(I64, <uint64_t*>NULL)
    fill_arithmetic(U64, <uint64_t*>NULL)
    fill_arithmetic(F32, <float*>NULL)
    fill_arithmetic(F64, <double*>NULL)
    fill_arithmetic(C64, <complex64*>NULL)
    fill_arithmetic(C128, <complex128*>NULL)
    fill_order(I8, <int8_t*>NULL)
    fill_order(U8, <uint8_t*>NULL)
    fill_order(I16, <int16_t*>NULL)
    fill_order(U16, <uint16_t*>NULL)
    fill_order(I32, <int32_t*>NULL)
    fill_order(U32, <uint32_t*>NULL)
    fill_order(I64, <int64_t*>NULL)
    fill_order(U64, <uint64_t*>NULL)
    fill_order(F32, <float*>NULL)
    fill_order(F64, <double*>NULL)
    fill_floating(F32, <float*>NULL)
    fill_floating(F64, <double*>NULL)
    fill_loads()


fill_table()
table = PyCapsule_New(&TABLE, NULL, NULL)
