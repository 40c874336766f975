# cython: language_level=3
"""The elements of an image that a point of a grid is the weighted sum of, and such sums."""
from cpython.pycapsule cimport PyCapsule_New

from pyx_tensor_cpu.sampling_table cimport (
    BLOCK, BORDER, CUBIC, MAX_PARTS, MAX_SPATIAL, MAX_TAPS, NEAREST, REFLECTION, Grid, Sample, SampleGrid, SampleInput, SamplingTable, place_t)

ctypedef fused Real:
    float
    double

cdef extern from "math.h" nogil:
    float floorf(float)
    double floor(double)
    float rintf(float)
    double rint(double)

cdef extern from "gathers.h" nogil:
    void add_found_f32(float* total, const float* weights, const float* image, const place_t* places, int n)
    void add_found_f64(double* total, const double* weights, const double* image, const place_t* places, int n)

cdef double CUBIC_A = -0.75         # Keys (1981)


cdef inline Real lower(Real x) noexcept nogil:
    return floorf(x) if Real is float else floor(x)


cdef inline Real whole(Real x) noexcept nogil:
    return rintf(x) if Real is float else rint(x)


# ---- one dim --------------------------------------------------------------------------------------------------------
cdef inline void reflect(Real* at, Real* slope, Py_ssize_t size, bint align) noexcept nogil:
    """Mirror at the centres, or the outer edges, of the outer elements."""
    cdef Real low = 0 if align else <Real>-0.5, span = size - 1 if align else size, x, turns, rest
    cdef bint odd
    cdef Py_ssize_t i
    for i in range(BLOCK):
        x = at[i] - low
        slope[i] = -slope[i] if x < 0 else slope[i]
        x = -x if x < 0 else x
        turns = lower(x / span) if span > 0 else 0
        rest = x - span * turns if span > 0 else 0
        odd = turns != 2 * lower(turns * <Real>0.5)
        at[i] = span - rest + low if odd else rest + low
        slope[i] = -slope[i] if odd else slope[i]


cdef inline void clip(Real* at, Real* slope, Py_ssize_t size) noexcept nogil:
    """Between the outer elements; what is no number is at the first."""
    cdef Real last = size - 1
    cdef Py_ssize_t i
    for i in range(BLOCK):
        slope[i] = slope[i] if at[i] > 0 and at[i] < last else 0
        at[i] = at[i] if at[i] > 0 else 0
        at[i] = at[i] if at[i] < last else last


cdef inline void pad(Real* at, Real* slope, Py_ssize_t size, const Grid* how) noexcept nogil:
    if how.padding == REFLECTION:
        reflect(at, slope, size, how.align)
    if how.padding == REFLECTION or how.padding == BORDER:
        clip(at, slope, size)


cdef inline void place(const Real* low, int step, Py_ssize_t size, place_t* places) noexcept nogil:
    """Whole numbers as places among `size` elements, -1 outside."""
    cdef Real x
    cdef Py_ssize_t i
    for i in range(BLOCK):
        x = low[i] + step
        places[i] = <place_t>(x if x >= 0 and x < size else -1)


cdef void cubic(const Real* at, Real* low, Real* parts, Real* slopes) noexcept nogil:
    cdef Real a = CUBIC_A, f, g, near, far
    cdef Py_ssize_t i
    for i in range(BLOCK):
        low[i] = lower(at[i])
        f = at[i] - low[i]
        g, far, near = 1 - f, f + 1, 2 - f
        parts[i] = ((a * far - 5 * a) * far + 8 * a) * far - 4 * a
        parts[BLOCK + i] = ((a + 2) * f - (a + 3)) * f * f + 1
        parts[2 * BLOCK + i] = ((a + 2) * g - (a + 3)) * g * g + 1
        parts[3 * BLOCK + i] = ((a * near - 5 * a) * near + 8 * a) * near - 4 * a
        slopes[i] = (3 * a * far - 10 * a) * far + 8 * a
        slopes[BLOCK + i] = (3 * (a + 2) * f - 2 * (a + 3)) * f
        slopes[2 * BLOCK + i] = -(3 * (a + 2) * g - 2 * (a + 3)) * g
        slopes[3 * BLOCK + i] = -((3 * a * near - 10 * a) * near + 8 * a)


cdef inline void load(const Real* grid, Py_ssize_t step, Py_ssize_t count, Real* at) noexcept nogil:
    """A coordinate of each point, 0 beyond `count`; compiled apart for two dims."""
    cdef Py_ssize_t i
    if step == 2 and count == BLOCK:
        for i in range(BLOCK):
            at[i] = grid[i * 2]
    else:
        for i in range(BLOCK):
            at[i] = grid[i * step] if i < count else 0


cdef int split(const Real* grid, Py_ssize_t step, Py_ssize_t count, Py_ssize_t size, const Grid* how, Real* parts, Real* slopes, Real* slope,
               place_t* places) noexcept nogil:
    """Of each point's coordinate the elements around it, their parts, these parts' derivatives by the place, and `slope`, the place's by the
    coordinate. Returns how many elements that are."""
    cdef Real at[BLOCK]
    cdef Real low[BLOCK]
    cdef Real unused[BLOCK]
    cdef Real half = <Real>0.5, scale = half * (size - 1 if how.align else size), shift = 0 if how.align else -half
    cdef Py_ssize_t i
    cdef int k
    load(grid, step, count, at)
    for i in range(BLOCK):
        at[i] = (at[i] + 1) * scale + shift
        slope[i] = scale
    if how.mode == CUBIC:
        cubic(at, low, parts, slopes)
        for k in range(4):
            for i in range(BLOCK):
                at[i], unused[i] = low[i] + (k - 1), 0
            pad(at, unused, size, how)
            place(at, 0, size, places + k * BLOCK)
        return 4
    pad(at, slope, size, how)
    if how.mode == NEAREST:
        for i in range(BLOCK):
            low[i], parts[i], slopes[i] = whole(at[i]), 1, 0
        place(low, 0, size, places)
        return 1
    for i in range(BLOCK):
        low[i] = lower(at[i])
        parts[BLOCK + i] = at[i] - low[i]
        parts[i] = 1 - parts[BLOCK + i]
        slopes[i], slopes[BLOCK + i] = -1, 1
    place(low, 0, size, places)
    place(low, 1, size, places + BLOCK)
    return 2


# ---- a block of points -------------------------------------------------------------------------------------------------
cdef int split_all(const Real* grid, const Grid* how, Py_ssize_t first, Py_ssize_t count, Real* parts, Real* slopes, Real* slope, place_t* places) noexcept nogil:
    """`split` of each dim; a grid's last coordinate is the first dim's."""
    cdef int d, each = 0
    for d in range(how.dims):
        each = split(grid + first * how.dims + how.dims - 1 - d, how.dims, count, how.size[d], how, parts + d * MAX_PARTS * BLOCK,
                     slopes + d * MAX_PARTS * BLOCK, slope + d * BLOCK, places + d * MAX_PARTS * BLOCK)
    return each


cdef inline int part_of(int tap, int d, int dims, int each) noexcept nogil:
    """Which of the elements along dim d a tap takes; those of the last dim change first."""
    cdef int later
    for later in range(d + 1, dims):
        tap //= each
    return tap % each


cdef void find_places(const Grid* how, int each, const place_t* along, place_t* places) noexcept nogil:
    """The places in the image of all taps, from those along each dim; -1 is outside."""
    cdef int tap, d, k
    cdef place_t size
    cdef Py_ssize_t i
    for tap in range(how.taps):
        k = part_of(tap, 0, how.dims, each) * BLOCK
        for i in range(BLOCK):
            places[i] = along[k + i]
        for d in range(1, how.dims):
            k = (d * MAX_PARTS + part_of(tap, d, how.dims, each)) * BLOCK
            size = <place_t>how.size[d]
            for i in range(BLOCK):
                places[i] = -1 if places[i] | along[k + i] < 0 else places[i] * size + along[k + i]
        places += BLOCK


cdef void find_weights(const Grid* how, int each, const Real* parts, const Real* slopes, int by, Real* weights) noexcept nogil:
    """The weights of all taps, or their derivatives by the place along dim `by`."""
    cdef int tap, d, k
    cdef const Real* factor
    cdef Py_ssize_t i
    for tap in range(how.taps):
        for i in range(BLOCK):
            weights[i] = 1
        for d in range(how.dims):
            k = (d * MAX_PARTS + part_of(tap, d, how.dims, each)) * BLOCK
            factor = &slopes[k] if d == by else &parts[k]
            for i in range(BLOCK):
                weights[i] *= factor[i]
        weights += BLOCK


cdef void find_taps(const Real* grid, const Grid* how, Py_ssize_t first, Py_ssize_t count, Real* weights, place_t* places) noexcept nogil:
    """The weights and places (taps, BLOCK) of the elements that points are the sums of; beyond `count` there is nothing to see."""
    cdef Real parts[MAX_SPATIAL * MAX_PARTS * BLOCK]
    cdef Real slopes[MAX_SPATIAL * MAX_PARTS * BLOCK]
    cdef Real slope[MAX_SPATIAL * BLOCK]
    cdef place_t along[MAX_SPATIAL * MAX_PARTS * BLOCK]
    cdef int each = split_all(grid, how, first, count, parts, slopes, slope, along)
    find_weights(how, each, parts, slopes, -1, weights)
    find_places(how, each, along, places)


cdef inline void add_found(Real* total, const Real* weights, const Real* image, const place_t* places) noexcept nogil:
    """Add weighted elements at places, nothing at -1."""
    if Real is float:
        add_found_f32(total, weights, image, places, BLOCK)
    else:
        add_found_f64(total, weights, image, places, BLOCK)


cdef void sample(const Real* images, const Real* grid, const Grid* how, Py_ssize_t first, Py_ssize_t count, Real* out) noexcept nogil:
    """Points of all channels of an image."""
    cdef Real weights[MAX_TAPS * BLOCK]
    cdef place_t places[MAX_TAPS * BLOCK]
    cdef Real total[BLOCK]
    cdef Py_ssize_t c, i
    cdef int t
    find_taps(grid, how, first, count, weights, places)
    for c in range(how.channels):
        for i in range(BLOCK):
            total[i] = 0
        for t in range(how.taps):
            add_found(total, weights + t * BLOCK, images, places + t * BLOCK)
        for i in range(count):
            out[first + i] = total[i]
        images += how.elements
        out += how.points


cdef void sample_input(const Real* grads, const Real* grid, const Grid* how, Py_ssize_t first, Py_ssize_t count, Py_ssize_t start, Py_ssize_t stop,
                       Real* out) noexcept nogil:
    """Add what points give to the gradient of channels of an image."""
    cdef Real weights[MAX_TAPS * BLOCK]
    cdef place_t places[MAX_TAPS * BLOCK]
    cdef Py_ssize_t c, i
    cdef int t
    find_taps(grid, how, first, count, weights, places)
    for c in range(start, stop):
        for t in range(how.taps):
            for i in range(count):
                if places[t * BLOCK + i] >= 0:
                    out[c * how.elements + places[t * BLOCK + i]] += weights[t * BLOCK + i] * grads[c * how.points + first + i]


cdef void sample_grid(const Real* grads, const Real* images, const Real* grid, const Grid* how, Py_ssize_t first, Py_ssize_t count, Real* out) noexcept nogil:
    """The gradient of points: a weight's is the product of the gradients and what stands at its place, over the channels."""
    cdef Real parts[MAX_SPATIAL * MAX_PARTS * BLOCK]
    cdef Real slopes[MAX_SPATIAL * MAX_PARTS * BLOCK]
    cdef Real slope[MAX_SPATIAL * BLOCK]
    cdef place_t along[MAX_SPATIAL * MAX_PARTS * BLOCK]
    cdef place_t places[MAX_TAPS * BLOCK]
    cdef Real products[MAX_TAPS * BLOCK]
    cdef Real weights[MAX_TAPS * BLOCK]
    cdef Real grad[BLOCK]
    cdef Real total[BLOCK]
    cdef Py_ssize_t c, i
    cdef int each = split_all(grid, how, first, count, parts, slopes, slope, along), t, d
    find_places(how, each, along, places)
    for i in range(how.taps * BLOCK):
        products[i] = 0
    for c in range(how.channels):
        for i in range(BLOCK):
            grad[i] = grads[c * how.points + first + i] if i < count else 0
        for t in range(how.taps):
            add_found(products + t * BLOCK, grad, images, places + t * BLOCK)
        images += how.elements
    for d in range(how.dims):
        find_weights(how, each, parts, slopes, d, weights)
        for i in range(BLOCK):
            total[i] = 0
        for t in range(how.taps):
            for i in range(BLOCK):
                total[i] += weights[t * BLOCK + i] * products[t * BLOCK + i]
        for i in range(count):
            out[(first + i) * how.dims + how.dims - 1 - d] = total[i] * slope[d * BLOCK + i] if slope[d * BLOCK + i] != 0 else 0


cdef SamplingTable TABLE
TABLE.single.sample, TABLE.double_.sample = <Sample>sample[float], <Sample>sample[double]
TABLE.single.sample_input, TABLE.double_.sample_input = <SampleInput>sample_input[float], <SampleInput>sample_input[double]
TABLE.single.sample_grid, TABLE.double_.sample_grid = <SampleGrid>sample_grid[float], <SampleGrid>sample_grid[double]
table = PyCapsule_New(&TABLE, NULL, NULL)
