"""Normalisation of channels (batch normalisation) with its gradient."""
cimport numpy as cnp
from cpython.pycapsule cimport PyCapsule_GetPointer
from cython.parallel cimport prange
from libc.math cimport sqrt

import numpy as np

from pyx_tensor_cpu.dtypes cimport BF16, F16, F32, F64, code_of, is_half
from pyx_tensor_cpu.iterate cimport as_type
from pyx_tensor_cpu.memory cimport new_array, new_like
from pyx_tensor_cpu.normalize_table cimport COLUMN_TILE, Channels, NormalizeKernels, NormalizeTable
from pyx_tensor_cpu.parallel cimport threads_for

from pyx_tensor_cpu.level import use_kernels

cnp.import_array()

ctypedef fused Floating:
    float
    double

cdef enum:
    COST = 4                # of one element, in additions
    STATISTICS, NORMALISE, SUMS, BACKWARD

cdef NormalizeTable* table = NULL


def bind(module):
    global table
    table = <NormalizeTable*>PyCapsule_GetPointer(module.table, NULL)


use_kernels("normalize", bind)


cdef struct Task:
    # The arrays of a kernel in the order of its arguments.
    char* array[7]
    Channels all
    Py_ssize_t width        # channels of one call


cdef cnp.ndarray operand(a, cnp.ndarray like):
    """a as a contiguous array of the dtype of `like`."""
    return np.ascontiguousarray(a, like.dtype)


cdef cnp.ndarray vector(cnp.ndarray like):
    """Room for a number for each channel."""
    cdef Py_ssize_t channels = cnp.PyArray_DIM(like, 1)
    return new_array(1, &channels, <cnp.dtype>cnp.PyArray_DESCR(like))


cdef int check(str name, cnp.ndarray a, dict vectors) except -1:
    if cnp.PyArray_NDIM(a) < 2:
        raise ValueError(f"{name}(): expected an input of at least 2 dims, got shape {np.shape(a)}")
    if code_of(a) not in (F16, BF16, F32, F64):
        raise TypeError(f"{name}(): expected a floating point dtype, got dtype {a.dtype}")
    for what, v in vectors.items():
        if v is not None and np.shape(v) != (cnp.PyArray_DIM(a, 1),):
            raise ValueError(f"{name}(): expected {what} of shape {(cnp.PyArray_DIM(a, 1),)}, got {np.shape(v)}")
    return 0


cdef inline void call(NormalizeKernels* k, int what, const Task* t, Py_ssize_t job) noexcept nogil:
    cdef Channels s = t.all
    s.first = job * t.width
    s.count = min(t.width, s.channels - s.first)
    if what == STATISTICS:
        k.channel_statistics(t.array[0], t.array[1], t.array[2], &s)
    elif what == NORMALISE:
        k.channel_norm(t.array[0], t.array[1], t.array[2], t.array[3], t.array[4], &s)
    elif what == SUMS:
        k.channel_sums(t.array[0], t.array[1], t.array[2], t.array[3], t.array[4], &s)
    else:
        k.channel_backward(t.array[0], t.array[1], t.array[2], t.array[3], t.array[4], t.array[5], t.array[6], &s)


cdef int run(int what, list arrays, cnp.ndarray shaped) except -1:
    """A kernel over all channels of an array of the shape of `shaped`."""
    cdef NormalizeKernels* k = &table.single if code_of(shaped) == F32 else &table.double_
    cdef Task task
    cdef Py_ssize_t i, job, jobs, size = cnp.PyArray_SIZE(shaped)
    cdef int threads
    if size == 0:
        return 0
    for i in range(len(arrays)):
        task.array[i] = cnp.PyArray_BYTES(<cnp.ndarray>arrays[i])
    task.all = Channels(samples=cnp.PyArray_DIM(shaped, 0), channels=cnp.PyArray_DIM(shaped, 1), size=1, first=0, count=0)
    task.all.size = size // (task.all.samples * task.all.channels)
    threads = threads_for(size * COST) if task.all.channels > 1 else 1
    task.width = COLUMN_TILE
    if threads > 1:
        task.width = min(task.width, max(1 if task.all.size > 1 else 16, task.all.channels // (4 * threads)))
    jobs = (task.all.channels + task.width - 1) // task.width
    if threads == 1 or jobs == 1:
        for job in range(jobs):
            call(k, what, &task, job)
    else:
        for job in prange(jobs, nogil=True, num_threads=threads, schedule="static"):
            call(k, what, &task, job)
    return 0


cdef void scales(Floating* out, const Floating* var, const Floating* weight, Py_ssize_t channels, double eps) noexcept nogil:
    cdef Py_ssize_t c
    for c in range(channels):
        out[c] = <Floating>((1 if weight == NULL else weight[c]) / sqrt(var[c] + eps))


cdef cnp.ndarray scale_of(cnp.ndarray var, weight, double eps):
    """weight / sqrt(var + eps); var has no half type."""
    cdef cnp.ndarray out = new_like(var, <cnp.dtype>cnp.PyArray_DESCR(var)), w = None if weight is None else operand(weight, var)
    cdef void* data = NULL if w is None else cnp.PyArray_DATA(w)
    if code_of(var) == F32:
        scales[float](<float*>cnp.PyArray_DATA(out), <float*>cnp.PyArray_DATA(var), <float*>data, cnp.PyArray_SIZE(var), eps)
    else:
        scales[double](<double*>cnp.PyArray_DATA(out), <double*>cnp.PyArray_DATA(var), <double*>data, cnp.PyArray_SIZE(var), eps)
    return out


def batch_norm(cnp.ndarray a, running_mean, running_var, weight, bias, bint training, double eps):
    """(y, mean, var, mean, var): channels (dim 1) normalised by the batch's statistics in training (var is biased), else by the running ones.

    Half types are computed in float32, in which mean and var come.
    """
    cdef cnp.ndarray wide, y, mean, var, shift
    check("batch_norm", a, dict(running_mean=running_mean, running_var=running_var, weight=weight, bias=bias))
    wide = np.ascontiguousarray(a, np.float32) if is_half(a) else operand(a, a)
    if training:
        mean, var = vector(wide), vector(wide)
        if cnp.PyArray_SIZE(a) == 0:
            mean.fill(np.nan)
            var.fill(np.nan)
        run(STATISTICS, [wide, mean, var], wide)
    else:
        mean, var = np.array(running_mean, wide.dtype, order="C"), np.array(running_var, wide.dtype, order="C")
    y = new_array(cnp.PyArray_NDIM(wide), <const Py_ssize_t*>cnp.PyArray_DIMS(wide), <cnp.dtype>cnp.PyArray_DESCR(wide))
    shift = np.zeros(np.shape(mean), wide.dtype) if bias is None else operand(bias, wide)
    run(NORMALISE, [wide, mean, scale_of(var, weight, eps), shift, y], wide)
    return as_type(y, a.dtype), mean, var, mean, var


def batch_norm_backward(cnp.ndarray g, cnp.ndarray a, mean, var, weight, bint training, double eps, needs):
    """(ga, gw, gb), ga None where needs (three booleans) says so; mean and var are what batch_norm returned."""
    cdef cnp.ndarray grad, wide, centre, scale, rstd, ga, sums, moments
    check("batch_norm_backward", a, dict(mean=mean, var=var, weight=weight))
    if not cnp.PyArray_SAMESHAPE(g, a):
        raise ValueError(f"batch_norm_backward(): the gradient has shape {np.shape(g)}, the input {np.shape(a)}")
    wide = np.ascontiguousarray(a, np.float32) if is_half(a) else operand(a, a)
    grad, centre = operand(g, wide), operand(mean, wide)
    rstd = scale_of(operand(var, wide), None, eps)
    sums, moments = np.zeros(np.shape(rstd), wide.dtype), np.zeros(np.shape(rstd), wide.dtype)
    if training or needs[1] or needs[2]:
        run(SUMS, [grad, wide, centre, sums, moments], wide)
    to_weight, ga = moments * rstd, None
    if needs[0]:
        count = max(1, cnp.PyArray_SIZE(a) // max(1, cnp.PyArray_DIM(a, 1)))
        zeros = None if training else np.zeros(np.shape(rstd), wide.dtype)
        scale = rstd if weight is None else rstd * operand(weight, wide)
        ga = new_array(cnp.PyArray_NDIM(wide), <const Py_ssize_t*>cnp.PyArray_DIMS(wide), <cnp.dtype>cnp.PyArray_DESCR(wide))
        run(BACKWARD, [grad, wide, centre, sums / wide.dtype.type(count) if training else zeros,
                       to_weight * rstd / wide.dtype.type(count) if training else zeros, scale, ga], wide)
        ga = as_type(ga, a.dtype)
    return ga, to_weight, sums


def update_statistics_(cnp.ndarray running, cnp.ndarray batch, double momentum, double factor):
    """running = (1 - momentum) running + momentum factor batch, in place."""
    cdef Py_ssize_t i
    cdef float* p
    cdef const float* q
    if not cnp.PyArray_SAMESHAPE(running, batch):
        raise ValueError(f"update_statistics_(): running statistics of shape {np.shape(running)}, the batch's of shape {np.shape(batch)}")
    if (code_of(running) == F32 and code_of(batch) == F32 and cnp.PyArray_IS_C_CONTIGUOUS(running) and cnp.PyArray_IS_C_CONTIGUOUS(batch)):
        p, q = <float*>cnp.PyArray_DATA(running), <const float*>cnp.PyArray_DATA(batch)
        for i in range(cnp.PyArray_SIZE(running)):
            p[i] = p[i] * <float>(1 - momentum) + q[i] * <float>(momentum * factor)
        return None
    running *= 1 - momentum
    running += (batch * batch.dtype.type(momentum * factor)).astype(running.dtype)
    return None
