"""Fills of arrays from an `Engine`, drawing the words and rounding as PyTorch's CPU kernels do.

Every fill writes a given array in place. PyTorch fills in the order of the memory: an array that is not
C-contiguous is filled with its smallest stride running fastest, whatever its dimensions are called. A kernel exists for one or
two element types; other types get its values through a temporary array and a cast.
"""
cimport numpy as cnp
import numpy as np
from libc.float cimport DBL_MAX, FLT_MAX
from libc.math cimport ceil, cos, exp, fma, log, log1p, sin, sqrt, tan, M_PI
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from pyx_tensor.core.mt19937 cimport Engine, Mersenne, draw, draw_doubles, next_normal

cnp.import_array()

cdef extern from "fused.h":
    void box_muller_f32(float* values, int64_t blocks, float mean, float std) noexcept nogil
    void stretch_f32(float* values, int64_t n, float low, float high) noexcept nogil
    void stretch_f64(double* values, int64_t n, double low, double high) noexcept nogil

cdef double FLOAT16_MAX = 65504.0

ctypedef fused real:
    float
    double

cdef enum:
    CHUNK = 512                 # elements drawn at a time
    BLOCK = 16                  # normals made together from two registers of eight uniforms
    RELEASE_GIL_FROM = 4096     # elements


cdef struct Params:
    double a, b
    bint drops_rest             # a partial block of normals draws words for its first, overwritten version
    uint64_t range
    int64_t base
    bint wide
    const void* probabilities


ctypedef void (*Kernel)(Mersenne* e, void* out, Py_ssize_t n, const Params* p) noexcept nogil


cdef struct Kernels:
    Kernel uint8
    Kernel int64
    Kernel float32
    Kernel float64


# Kernels -----------------------------------------------------------------------------------------

cdef void unit_reals(Mersenne* e, real* out, Py_ssize_t n) noexcept nogil:
    """Uniforms of [0, 1): the low 24 bits of a word, or 53 of two words."""
    cdef uint32_t[CHUNK] words
    cdef Py_ssize_t i, size
    if real is double:
        draw_doubles(e, out, n)
    else:
        while n > 0:
            size = min(n, CHUNK)
            draw(e, words, size)
            for i in range(size):
                out[i] = <float><int>(words[i] & <uint32_t>0xffffff) * <float>(1.0 / 16777216.0)
            out += size
            n -= size


cdef void uniform(Mersenne* e, real* out, Py_ssize_t n, const Params* p) noexcept nogil:
    """Over [p.a, p.b)."""
    unit_reals(e, out, n)
    if p.a == 0 and p.b == 1:
        return
    if real is float:
        stretch_f32(out, n, <float>p.a, <float>p.b)
    else:
        stretch_f64(out, n, p.a, p.b)


cdef void box_muller_f64(double* x, Py_ssize_t blocks, double mean, double std) noexcept nogil:
    """Turn each 16 uniforms into 16 normals: eight radii, then eight angles. The float32 form is in fused.h."""
    cdef Py_ssize_t k, j
    cdef double radius, angle
    for k in range(blocks):
        for j in range(BLOCK // 2):
            radius = sqrt(-2 * log(1 - x[j]))
            angle = 2.0 * M_PI * x[j + BLOCK // 2]
            x[j] = fma(radius * cos(angle), std, mean)
            x[j + BLOCK // 2] = fma(radius * sin(angle), std, mean)
        x += BLOCK


cdef void fill_blocks(Mersenne* e, real* out, Py_ssize_t blocks, const Params* p) noexcept nogil:
    cdef Py_ssize_t size
    while blocks > 0:
        size = min(blocks, CHUNK // BLOCK)
        unit_reals(e, out, size * BLOCK)
        if real is float:
            box_muller_f32(out, size, <float>p.a, <float>p.b)
        else:
            box_muller_f64(out, size, p.a, p.b)
        out += size * BLOCK
        blocks -= size


cdef void normal_blocks(Mersenne* e, real* out, Py_ssize_t n, const Params* p) noexcept nogil:
    """n >= 16 normals; the last block, if partial, is drawn again over the last 16 elements."""
    cdef real[BLOCK] dropped
    cdef Py_ssize_t rest = n % BLOCK
    fill_blocks(e, out, n // BLOCK, p)
    if rest:
        if p.drops_rest:
            unit_reals(e, dropped, rest)
        fill_blocks(e, out + n - BLOCK, 1, p)


cdef void normal(Mersenne* e, real* out, Py_ssize_t n, const Params* p) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        out[i] = <real>fma(next_normal(e), p.b, p.a)


cdef void log_normal(Mersenne* e, real* out, Py_ssize_t n, const Params* p) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        out[i] = <real>exp(fma(next_normal(e), p.b, p.a))


cdef void exponential(Mersenne* e, real* out, Py_ssize_t n, const Params* p) noexcept nogil:
    cdef double[CHUNK] u
    cdef double scale = -1.0 / p.a
    cdef Py_ssize_t i, size
    while n > 0:
        size = min(n, CHUNK)
        draw_doubles(e, u, size)
        for i in range(size):
            out[i] = <real>(scale * log1p(-u[i]))
        out += size
        n -= size


cdef void cauchy(Mersenne* e, real* out, Py_ssize_t n, const Params* p) noexcept nogil:
    cdef double[CHUNK] u
    cdef Py_ssize_t i, size
    while n > 0:
        size = min(n, CHUNK)
        draw_doubles(e, u, size)
        for i in range(size):
            out[i] = <real>fma(p.b, tan(M_PI * (u[i] - 0.5)), p.a)
        out += size
        n -= size


cdef void geometric(Mersenne* e, real* out, Py_ssize_t n, const Params* p) noexcept nogil:
    cdef double[CHUNK] u
    cdef double log_failure = log1p(-p.a)
    cdef Py_ssize_t i, size
    while n > 0:
        size = min(n, CHUNK)
        draw_doubles(e, u, size)
        for i in range(size):
            out[i] = <real>ceil(log(u[i]) / log_failure)
        out += size
        n -= size


cdef void double_uniform(Mersenne* e, real* out, Py_ssize_t n, const Params* p) noexcept nogil:
    """A float64 uniform of [a, a + b), rounded to the element type."""
    cdef double[CHUNK] u
    cdef Py_ssize_t i, size
    while n > 0:
        size = min(n, CHUNK)
        draw_doubles(e, u, size)
        for i in range(size):
            out[i] = <real>(u[i] * p.b + p.a)
        out += size
        n -= size


cdef void bernoulli(Mersenne* e, uint8_t* out, Py_ssize_t n, const Params* p) noexcept nogil:
    cdef double[CHUNK] u
    cdef Py_ssize_t i, size
    while n > 0:
        size = min(n, CHUNK)
        draw_doubles(e, u, size)
        for i in range(size):
            out[i] = u[i] < p.a
        out += size
        n -= size


cdef void bernoulli_each(Mersenne* e, uint8_t* out, Py_ssize_t n, const real* p) noexcept nogil:
    cdef real[CHUNK] u
    cdef Py_ssize_t i, size
    while n > 0:
        size = min(n, CHUNK)
        unit_reals(e, u, size)
        for i in range(size):
            out[i] = u[i] < p[i]
        out += size
        p += size
        n -= size


cdef void bernoulli_float(Mersenne* e, uint8_t* out, Py_ssize_t n, const Params* p) noexcept nogil:
    bernoulli_each(e, out, n, <const float*>p.probabilities)


cdef void bernoulli_double(Mersenne* e, uint8_t* out, Py_ssize_t n, const Params* p) noexcept nogil:
    bernoulli_each(e, out, n, <const double*>p.probabilities)


cdef void integers(Mersenne* e, int64_t* out, Py_ssize_t n, const Params* p) noexcept nogil:
    """A word (two for wide ranges) modulo the range, plus the base in `out`'s wrapping arithmetic; range 0: all 64 bits."""
    cdef uint32_t[2 * CHUNK] words
    cdef uint32_t range32 = <uint32_t>p.range
    cdef uint64_t value, base = <uint64_t>p.base
    cdef Py_ssize_t i, size
    while n > 0:
        size = min(n, CHUNK)
        draw(e, words, 2 * size if p.wide else size)
        if not p.wide:
            for i in range(size):
                out[i] = <int64_t>(words[i] % range32 + base)
        else:
            for i in range(size):
                value = (<uint64_t>words[2 * i] << 32) | words[2 * i + 1]
                out[i] = <int64_t>((value % p.range if p.range else value) + base)
        out += size
        n -= size


cdef void shuffle(Mersenne* e, int64_t* order, Py_ssize_t n, const Params* p) noexcept nogil:
    """Fisher and Yates: each position in turn changes places with itself or a later one."""
    cdef uint32_t[CHUNK] words
    cdef Py_ssize_t start = 0, i, size, other
    while start < n - 1:
        size = min(n - 1 - start, CHUNK)
        draw(e, words, size)
        for i in range(start, start + size):
            other = i + <Py_ssize_t>(words[i - start] % <uint64_t>(n - i))
            order[i], order[other] = order[other], order[i]
        start += size


# Dispatch ----------------------------------------------------------------------------------------

cdef Params params(double a, double b=0.0) noexcept:
    return Params(a=a, b=b, drops_rest=False, range=0, base=0, wide=False, probabilities=NULL)


cdef Kernel native(const Kernels* kernels, int type_number) noexcept:
    if type_number == cnp.NPY_FLOAT32:
        return kernels.float32
    if type_number == cnp.NPY_FLOAT64:
        return kernels.float64
    if type_number == cnp.NPY_INT64:
        return kernels.int64
    if type_number == cnp.NPY_BOOL or type_number == cnp.NPY_UINT8:
        return kernels.uint8
    return NULL


cdef staging_dtype(const Kernels* kernels, cnp.ndarray out):
    """The type in which values are made for an `out` that no kernel writes: float32 before a 16-bit rounding."""
    if kernels.int64 != NULL:
        return np.int64
    if kernels.uint8 != NULL:
        return np.uint8
    return np.float32 if is_16bit_float(out) or out.descr.type_num == cnp.NPY_FLOAT32 else np.float64


cdef bint is_16bit_float(cnp.ndarray array):
    return array.itemsize == 2 and chr(array.descr.kind) not in "iu"


def in_memory_order(array, like=None):
    """A view of `array` with its dimensions sorted by the strides of `like` (itself if None), largest first."""
    if cnp.PyArray_IS_C_CONTIGUOUS(<cnp.ndarray?>(array if like is None else like)):
        return array
    strides = (array if like is None else like).strides
    return array.transpose(sorted(range(array.ndim), key=lambda dim: -strides[dim]))


cdef int run(Engine engine, Kernel kernel, void* data, Py_ssize_t n, const Params* p) except -1:
    if n < RELEASE_GIL_FROM:
        with engine.mutex:
            kernel(&engine.mersenne, data, n, p)
    else:
        with nogil, engine.mutex:
            kernel(&engine.mersenne, data, n, p)
    return 0


cdef fill(Engine engine, cnp.ndarray out, const Kernels* kernels, const Params* p):
    """Write `out` and return it."""
    cdef Kernel kernel = native(kernels, out.descr.type_num)
    cdef cnp.ndarray staged
    if kernel != NULL and cnp.PyArray_ISCARRAY(out):
        run(engine, kernel, cnp.PyArray_DATA(out), out.size, p)
        return out
    if not cnp.PyArray_ISWRITEABLE(out):
        raise ValueError("the array to fill is read-only")
    ordered = in_memory_order(out)
    dtype = out.dtype if kernel != NULL else staging_dtype(kernels, out)
    staged = np.empty(ordered.shape, dtype)
    run(engine, native(kernels, staged.descr.type_num), cnp.PyArray_DATA(staged), staged.size, p)
    if kernels.uint8 != NULL:               # fits everywhere
        np.copyto(ordered, staged, casting="unsafe")
        return out
    with np.errstate(all="ignore"):
        np.copyto(ordered, staged, casting="unsafe")
    return out


cdef Kernels real_kernels(Kernel float32, Kernel float64) noexcept:
    return Kernels(uint8=NULL, int64=NULL, float32=float32, float64=float64)


cdef cnp.ndarray require_floating(cnp.ndarray array):
    if chr(array.descr.kind) not in "fV" or not (is_16bit_float(array) or array.itemsize in (4, 8)):
        raise TypeError(f"expected an array of a floating-point dtype, got {array.dtype}")
    return array


cdef cnp.ndarray real_view(cnp.ndarray out):
    """A complex array as real numbers, with one more dimension of size 2; any other array as it is."""
    if chr(out.descr.kind) != "c":
        return out
    # A view of the last axis needs it contiguous; a new axis of size 1 always is.
    return out[..., np.newaxis].view(out.real.dtype)


cdef int expect(bint condition, str what, str name, double found) except -1:
    if not condition:
        raise RuntimeError(f"{what}, but found {name}={found:g}")
    return 0


cdef int check_bounds(cnp.ndarray out, double low, double high) except -1:
    """Refuse a range that is empty or does not fit the dtype of `out`."""
    cdef double largest = FLOAT16_MAX if out.descr.type_num == cnp.NPY_FLOAT16 else FLT_MAX if out.itemsize <= 4 else DBL_MAX
    if -largest <= low <= high <= largest and high - low <= largest:
        return 0            # the messages below take longer to make than small tensors to fill
    expect(-largest <= low <= largest, f"uniform_ expects 'from' within the bounds of {out.dtype}", "from", low)
    expect(-largest <= high <= largest, f"uniform_ expects 'to' within the bounds of {out.dtype}", "to", high)
    expect(low <= high, f"uniform_ expects to return a [from, to) range with to={high:g}", "from", low)
    expect(high - low <= largest, f"uniform_ expects to-from within the bounds of {out.dtype}", "to-from", high - low)
    return 0


# Entries -----------------------------------------------------------------------------------------

def fill_uniform(Engine engine not None, cnp.ndarray out not None, double low=0.0, double high=1.0):
    """Uniform over [low, high). Complex arrays get it in both parts."""
    cdef cnp.ndarray target = real_view(out)
    cdef Params p = params(low, high)
    cdef Kernels kernels = real_kernels(<Kernel>uniform[float], <Kernel>uniform[double])
    check_bounds(require_floating(target), low, high)
    fill(engine, target, &kernels, &p)
    if is_16bit_float(target):  # the same rule for the second rounding
        np.copyto(target, target.dtype.type(low), where=target >= target.dtype.type(high))
    return out


def fill_normal(Engine engine not None, cnp.ndarray out not None, double mean=0.0, double std=1.0):
    """Normal. Sixteen or more elements of a C-contiguous array are made in blocks, all others one by one in float64.

    A complex array has the variance std**2 shared by its two parts, and the mean in each, as in PyTorch.
    """
    expect(std >= 0, "normal expects std >= 0.0", "std", std)
    cdef cnp.ndarray target = real_view(out)
    cdef Params p = params(mean, std)
    cdef Kernels kernels
    if target is not out:
        p.b = std / sqrt(2.0)
    if target.size < BLOCK or not cnp.PyArray_IS_C_CONTIGUOUS(target):
        kernels = real_kernels(<Kernel>normal[float], <Kernel>normal[double])
    else:
        p.drops_rest = not is_16bit_float(target)
        kernels = real_kernels(<Kernel>normal_blocks[float], <Kernel>normal_blocks[double])
    fill(engine, require_floating(target), &kernels, &p)
    return out


def fill_log_normal(Engine engine not None, cnp.ndarray out not None, double mean=1.0, double std=2.0):
    """exp of a normal with this mean and std."""
    expect(std > 0, "log_normal_ expects std > 0.0", "std", std)
    cdef Kernels kernels = real_kernels(<Kernel>log_normal[float], <Kernel>log_normal[double])
    cdef Params p = params(mean, std)
    return fill(engine, require_floating(out), &kernels, &p)


def fill_exponential(Engine engine not None, cnp.ndarray out not None, double lambd=1.0):
    expect(lambd > 0, "exponential_ expects lambda > 0.0", "lambda", lambd)
    cdef Kernels kernels = real_kernels(<Kernel>exponential[float], <Kernel>exponential[double])
    cdef Params p = params(lambd)
    return fill(engine, require_floating(out), &kernels, &p)


def fill_cauchy(Engine engine not None, cnp.ndarray out not None, double median=0.0, double sigma=1.0):
    expect(sigma > 0, "cauchy_ expects sigma > 0.0", "sigma", sigma)
    cdef Kernels kernels = real_kernels(<Kernel>cauchy[float], <Kernel>cauchy[double])
    cdef Params p = params(median, sigma)
    return fill(engine, require_floating(out), &kernels, &p)


def fill_geometric(Engine engine not None, cnp.ndarray out not None, double p):
    """The number of trials up to the first success, 1 or more; integer dtypes too."""
    expect(0 < p < 1, "geometric_ expects p to be in (0, 1)", "p", p)
    cdef Kernels kernels = real_kernels(<Kernel>geometric[float], <Kernel>geometric[double])
    cdef Params chance = params(p)
    return fill(engine, out, &kernels, &chance)


def fill_double_uniform(Engine engine not None, cnp.ndarray out not None, double low=0.0, double high=1.0):
    """Uniform made in float64 between bounds rounded to the dtype, then rounded: rrelu's slope of each negative element."""
    low, high = out.dtype.type(low), out.dtype.type(high)
    cdef Kernels kernels = real_kernels(<Kernel>double_uniform[float], <Kernel>double_uniform[double])
    cdef Params p = params(low, high - low)
    return fill(engine, require_floating(out), &kernels, &p)


def fill_bernoulli(Engine engine not None, cnp.ndarray out not None, double p=0.5):
    """1 with probability p, else 0, in any real dtype. A dropout mask is this with p = the share that is kept."""
    expect(0 <= p <= 1, "bernoulli_ expects p to be in [0, 1]", "p", p)
    cdef Kernels kernels = Kernels(uint8=<Kernel>bernoulli, int64=NULL, float32=NULL, float64=NULL)
    cdef Params chance = params(p)
    return fill(engine, out, &kernels, &chance)


def lie_up_to(cnp.ndarray array not None, double most):
    """Whether all elements lie in [0, most]; infinity and NaN do in no such range. Other types than float64 count as float32."""
    cdef cnp.ndarray dense = np.ascontiguousarray(array, np.float64 if array.descr.type_num == cnp.NPY_FLOAT64 else np.float32)
    cdef Py_ssize_t i, n = cnp.PyArray_SIZE(dense)
    cdef bint within = True
    if array.descr.type_num != cnp.NPY_FLOAT64:
        for i in range(n):
            within &= 0 <= (<float*>cnp.PyArray_DATA(dense))[i] <= most
    else:
        for i in range(n):
            within &= 0 <= (<double*>cnp.PyArray_DATA(dense))[i] <= most
    return within


def fill_bernoulli_array(Engine engine not None, cnp.ndarray out not None, cnp.ndarray p not None):
    """1 with the probability that `p` (floating, broadcast to `out`) has there, else 0."""
    cdef Kernels kernels = Kernels(uint8=NULL, int64=NULL, float32=NULL, float64=NULL)
    cdef bint double = require_floating(p).descr.type_num == cnp.NPY_FLOAT64
    cdef cnp.ndarray probabilities
    kernels.uint8 = <Kernel>bernoulli_double if double else <Kernel>bernoulli_float
    if (<object>p).shape != (<object>out).shape:
        p = np.broadcast_to(p, (<object>out).shape)
    probabilities = np.ascontiguousarray(in_memory_order(p, like=out), np.float64 if double else np.float32)
    if not lie_up_to(probabilities, 1):
        raise RuntimeError("Expected p_in >= 0 && p_in <= 1 to be true, but got false.")
    cdef Params each = params(0.0)
    each.probabilities = cnp.PyArray_DATA(probabilities)
    return fill(engine, out, &kernels, &each)


def fill_integers(Engine engine not None, cnp.ndarray out not None, int64_t base, uint64_t range, bint wide):
    """`base` plus a 32-bit word (64-bit if `wide`) modulo `range`; a wide range of 0 stands for 2**64."""
    if not wide and not 0 < range < 1 << 32:
        raise ValueError(f"range must be in [1, 2**32) for 32-bit words, got {range}")
    cdef Kernels kernels = Kernels(uint8=NULL, int64=<Kernel>integers, float32=NULL, float64=NULL)
    cdef Params p = params(0.0)
    p.base, p.range, p.wide = base, range, wide
    return fill(engine, out, &kernels, &p)


def permutation(Engine engine not None, Py_ssize_t n):
    """0 … n - 1 in random order, as int64."""
    cdef cnp.ndarray result = np.arange(n, dtype=np.int64)
    cdef Params p = params(0.0)
    run(engine, <Kernel>shuffle, cnp.PyArray_DATA(result), n, &p)
    return result
