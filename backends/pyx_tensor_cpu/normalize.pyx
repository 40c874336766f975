"""Softmax and layer normalisation with their gradients."""
cimport numpy as cnp
from cpython.pycapsule cimport PyCapsule_GetPointer
from cython.parallel cimport prange

import numpy as np

from pyx_tensor_cpu.dtypes cimport code_of, is_half, precision_of
from pyx_tensor_cpu.iterate cimport as_type, contiguous, widened
from pyx_tensor_cpu.memory cimport new_array
from pyx_tensor_cpu.normalize_table cimport COLUMN_TILE, NormalizeKernels, NormalizeTable
from pyx_tensor_cpu.parallel cimport threads_for

from pyx_tensor_cpu import reduce
from pyx_tensor_cpu.level import use_kernels

cnp.import_array()

cdef enum:
    EXP_COST = 8            # an exponential and its passes, in additions
    NORM_COST = 4
    JOB = 1 << 14           # elements of one job
    MOST_PARTS = 64         # partial sums of a weight's gradient

cdef NormalizeTable* table = NULL


def bind(module):
    global table
    table = <NormalizeTable*>PyCapsule_GetPointer(module.table, NULL)


use_kernels("normalize", bind)


cdef NormalizeKernels* kernels_of(str name, cnp.ndarray a) except NULL:
    return &table.double_ if precision_of(name, a) else &table.single


cdef inline cnp.ndarray empty_like(cnp.ndarray a):
    return new_array(cnp.PyArray_NDIM(a), <const Py_ssize_t*>cnp.PyArray_DIMS(a), <cnp.dtype>cnp.PyArray_DESCR(a))


# ---- softmax --------------------------------------------------------------------------------------------------------

# A contiguous array as `outer` slabs of n rows of `inner` elements, n along the dim.
cdef struct Slabs:
    Py_ssize_t outer
    Py_ssize_t n
    Py_ssize_t inner


cdef Slabs slabs_of(cnp.ndarray a, int dim):
    cdef Slabs s = Slabs(outer=1, n=1, inner=1)
    cdef int i
    for i in range(cnp.PyArray_NDIM(a)):
        if i < dim:
            s.outer *= cnp.PyArray_DIM(a, i)
        elif i == dim:
            s.n = cnp.PyArray_DIM(a, i)
        else:
            s.inner *= cnp.PyArray_DIM(a, i)
    return s


cdef void softmax_job(NormalizeKernels* k, const char* g, const char* a, char* out, const Slabs* s, Py_ssize_t job,
                      Py_ssize_t size, Py_ssize_t item, bint log) noexcept nogil:
    """A job is `size` rows, or `size` columns of a slab. With g it is the gradient, a being the result."""
    cdef Py_ssize_t jobs = (s.inner + size - 1) // size, begin, count, offset
    if s.inner == 1:
        begin = job * size
        count = min(size, s.outer - begin)
        offset = begin * s.n * item
        if g == NULL:
            k.softmax_rows(a + offset, out + offset, count, s.n, log)
        else:
            k.softmax_backward_rows(g + offset, a + offset, out + offset, count, s.n, log)
    else:
        begin = job % jobs * size
        count = min(size, s.inner - begin)
        offset = (job // jobs * s.n * s.inner + begin) * item
        if g == NULL:
            k.softmax_columns(a + offset, out + offset, s.n, s.inner, count, log)
        else:
            k.softmax_backward_columns(g + offset, a + offset, out + offset, s.n, s.inner, count, log)


cdef cnp.ndarray run_softmax(NormalizeKernels* k, cnp.ndarray g, cnp.ndarray a, int dim, bint log):
    cdef Slabs s = slabs_of(a, dim)
    cdef cnp.ndarray out = empty_like(a)
    cdef Py_ssize_t size, jobs, job, item = cnp.PyArray_ITEMSIZE(a)
    cdef const char* g_data = NULL if g is None else cnp.PyArray_BYTES(g)
    cdef const char* a_data = cnp.PyArray_BYTES(a)
    cdef char* out_data = cnp.PyArray_BYTES(out)
    cdef int threads
    if cnp.PyArray_SIZE(a) == 0:
        return out
    if s.inner == 1:
        size = max(1, JOB // s.n)
        jobs = (s.outer + size - 1) // size
    else:
        size = COLUMN_TILE
        jobs = s.outer * ((s.inner + size - 1) // size)
    threads = threads_for(cnp.PyArray_SIZE(a) * EXP_COST) if jobs > 1 else 1
    if threads == 1:
        for job in range(jobs):
            softmax_job(k, g_data, a_data, out_data, &s, job, size, item, log)
    else:
        for job in prange(jobs, nogil=True, num_threads=threads, schedule="static"):
            softmax_job(k, g_data, a_data, out_data, &s, job, size, item, log)
    return out


cdef cnp.ndarray softmax_forward(str name, cnp.ndarray a, int dim, bint log):
    if is_half(a):
        return as_type(softmax_forward(name, widened(a), dim, log), a.dtype)
    return run_softmax(kernels_of(name, a), None, contiguous(a), dim, log)


cdef cnp.ndarray softmax_gradient(str name, cnp.ndarray g, cnp.ndarray y, int dim, bint log):
    if is_half(y):
        return as_type(softmax_gradient(name, widened(g), widened(y), dim, log), y.dtype)
    if np.shape(g) != np.shape(y) or g.dtype != y.dtype:
        raise ValueError(f"{name}(): the gradient has shape {np.shape(g)} and dtype {g.dtype}, "
                         f"the result {np.shape(y)} and {y.dtype}")
    return run_softmax(kernels_of(name, y), contiguous(g), contiguous(y), dim, log)


def softmax(cnp.ndarray a, int dim):
    """exp(a) over its sum along dim."""
    return softmax_forward("softmax", a, dim, False)


def log_softmax(cnp.ndarray a, int dim):
    """The logarithm of softmax(a, dim), accurate where that is tiny."""
    return softmax_forward("log_softmax", a, dim, True)


def softmax_backward(cnp.ndarray g, cnp.ndarray y, int dim):
    """The gradient for a, from that for y = softmax(a, dim)."""
    return softmax_gradient("softmax_backward", g, y, dim, False)


def log_softmax_backward(cnp.ndarray g, cnp.ndarray y, int dim):
    """The gradient for a, from that for y = log_softmax(a, dim)."""
    return softmax_gradient("log_softmax_backward", g, y, dim, True)


# ---- layer normalisation ----------------------------------------------------------------------------------------------

cdef int split_shape(str name, cnp.ndarray a, int normalized_ndim, Py_ssize_t* rows, Py_ssize_t* n) except -1:
    cdef int i, ndim = cnp.PyArray_NDIM(a)
    if not 1 <= normalized_ndim <= ndim:
        raise ValueError(f"{name}(): cannot normalise {normalized_ndim} dims of an array of shape {np.shape(a)}")
    rows[0] = n[0] = 1
    for i in range(ndim):
        if i < ndim - normalized_ndim:
            rows[0] *= cnp.PyArray_DIM(a, i)
        else:
            n[0] *= cnp.PyArray_DIM(a, i)
    return 0


cdef cnp.ndarray parameter(str name, str what, cnp.ndarray a, int normalized_ndim, p, double default):
    """weight or bias, contiguous and of the normalised shape."""
    cdef int i, lead = cnp.PyArray_NDIM(a) - normalized_ndim
    cdef bint fits = True
    cdef cnp.ndarray given
    if p is None:
        given = new_array(normalized_ndim, <const Py_ssize_t*>cnp.PyArray_DIMS(a) + lead, <cnp.dtype>cnp.PyArray_DESCR(a))
        given.fill(default)
        return given
    given = p
    fits = cnp.PyArray_NDIM(given) == normalized_ndim and code_of(given) == code_of(a)
    if fits:
        for i in range(normalized_ndim):
            fits = fits and cnp.PyArray_DIM(given, i) == cnp.PyArray_DIM(a, lead + i)
    if not fits:
        raise ValueError(f"{name}(): expected {what} of shape {np.shape(a)[lead:]} and dtype {a.dtype}, got {np.shape(p)} and {p.dtype}")
    return contiguous(given)


cdef cnp.ndarray statistics_of(cnp.ndarray a, int normalized_ndim):
    """Room for one number per row."""
    cdef Py_ssize_t shape[64]
    cdef int i, ndim = cnp.PyArray_NDIM(a)
    for i in range(ndim):
        shape[i] = cnp.PyArray_DIM(a, i) if i < ndim - normalized_ndim else 1
    return new_array(ndim, shape, <cnp.dtype>cnp.PyArray_DESCR(a))


def layer_norm(cnp.ndarray a, int normalized_ndim, weight, bias, double eps):
    """(y, mean, rstd) over the last normalized_ndim dims; mean and rstd keep those dims with size 1, in float32 for half types."""
    cdef Py_ssize_t rows, n, size, jobs, job, begin, item
    cdef cnp.ndarray y, mean, rstd, w, b
    cdef NormalizeKernels* k
    cdef int threads
    if is_half(a):
        y, mean, rstd = layer_norm(widened(a), normalized_ndim, widened(weight), widened(bias), eps)
        return as_type(y, a.dtype), mean, rstd
    k = kernels_of("layer_norm", a)
    split_shape("layer_norm", a, normalized_ndim, &rows, &n)
    a = contiguous(a)
    w = parameter("layer_norm", "weight", a, normalized_ndim, weight, 1)
    b = parameter("layer_norm", "bias", a, normalized_ndim, bias, 0)
    y = empty_like(a)
    mean, rstd = statistics_of(a, normalized_ndim), statistics_of(a, normalized_ndim)
    if cnp.PyArray_SIZE(a) == 0:
        mean.fill(0)
        rstd.fill(np.nan)
        return y, mean, rstd
    item = cnp.PyArray_ITEMSIZE(a)
    size = max(1, JOB // n)
    jobs = (rows + size - 1) // size
    threads = threads_for(rows * n * NORM_COST) if jobs > 1 else 1
    cdef char* y_data = cnp.PyArray_BYTES(y)
    cdef char* mean_data = cnp.PyArray_BYTES(mean)
    cdef char* rstd_data = cnp.PyArray_BYTES(rstd)
    cdef const char* a_data = cnp.PyArray_BYTES(a)
    cdef const char* w_data = cnp.PyArray_BYTES(w)
    cdef const char* b_data = cnp.PyArray_BYTES(b)
    if threads == 1:
        k.layer_norm(a_data, w_data, b_data, y_data, mean_data, rstd_data, rows, n, eps)
        return y, mean, rstd
    for job in prange(jobs, nogil=True, num_threads=threads, schedule="static"):
        begin = job * size
        k.layer_norm(a_data + begin * n * item, w_data, b_data, y_data + begin * n * item, mean_data + begin * item,
                     rstd_data + begin * item, min(size, rows - begin), n, eps)
    return y, mean, rstd


cdef inline char* data_or_null(cnp.ndarray a) noexcept:
    return NULL if a is None else cnp.PyArray_BYTES(a)


def layer_norm_backward(g, a, mean, rstd, weight, int normalized_ndim, needs, double eps=0):
    """(ga, gw, gb), each None where needs (three booleans) says so. eps is in rstd already.

    Every job sums the gradients of weight and bias over its own rows; how rows fall to jobs depends on the shape alone.
    """
    cdef Py_ssize_t rows, n, size, jobs, job, begin, item
    cdef NormalizeKernels* k
    cdef cnp.ndarray w, g_, a_, mean_, rstd_
    cdef int threads
    if is_half(a):
        results = layer_norm_backward(widened(g), widened(a), widened(mean), widened(rstd), widened(weight), normalized_ndim, needs, eps)
        return tuple([as_type(r, a.dtype) for r in results])
    k = kernels_of("layer_norm_backward", a)
    split_shape("layer_norm_backward", a, normalized_ndim, &rows, &n)
    if np.shape(g) != np.shape(a) or mean.size != rows or rstd.size != rows:
        raise ValueError(f"layer_norm_backward(): shapes {np.shape(g)} of g, {np.shape(mean)} of mean and {np.shape(rstd)} "
                         f"of rstd do not fit the input's {np.shape(a)}")
    g_, a_, mean_, rstd_ = [contiguous(np.asarray(x, a.dtype)) for x in (g, a, mean, rstd)]
    w = parameter("layer_norm_backward", "weight", a, normalized_ndim, weight, 1)
    item = cnp.PyArray_ITEMSIZE(a_)
    size = max(1, JOB // max(n, 1), (rows + MOST_PARTS - 1) // MOST_PARTS)
    jobs = (rows + size - 1) // size
    shape = np.shape(a)[a.ndim - normalized_ndim:]
    ga = empty_like(a_) if needs[0] else None
    gw, gb = [np.zeros((jobs, *shape), a.dtype) if need else None for need in needs[1:]]
    cdef char* ga_data = data_or_null(ga)
    cdef char* gw_data = data_or_null(gw)
    cdef char* gb_data = data_or_null(gb)
    cdef const char* g_data = cnp.PyArray_BYTES(g_)
    cdef const char* a_data = cnp.PyArray_BYTES(a_)
    cdef const char* mean_data = cnp.PyArray_BYTES(mean_)
    cdef const char* rstd_data = cnp.PyArray_BYTES(rstd_)
    cdef const char* w_data = cnp.PyArray_BYTES(w)
    if rows * n:
        threads = threads_for(rows * n * NORM_COST) if jobs > 1 else 1
        for job in prange(jobs, nogil=True, num_threads=threads, schedule="static"):
            begin = job * size
            k.layer_norm_backward(
                g_data + begin * n * item, a_data + begin * n * item, mean_data + begin * item, rstd_data + begin * item,
                w_data, NULL if ga_data == NULL else ga_data + begin * n * item,
                NULL if gw_data == NULL else gw_data + job * n * item,
                NULL if gb_data == NULL else gb_data + job * n * item, min(size, rows - begin), n)
    return ga, *[None if part is None else reduce.sum(part, (0,), False) for part in (gw, gb)]
