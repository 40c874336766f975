"""Normalisation of channels (batch normalisation), or of groups of them in each sample, with their gradients."""
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
        scale = rstd if weight is None else rstd * operand(weight, wide)
        share = scale / wide.dtype.type(count) if training else np.zeros(np.shape(rstd), wide.dtype)
        ga = new_array(cnp.PyArray_NDIM(wide), <const Py_ssize_t*>cnp.PyArray_DIMS(wide), <cnp.dtype>cnp.PyArray_DESCR(wide))
        run(BACKWARD, [grad, wide, centre, sums * share, to_weight * rstd * share, scale, ga], wide)
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


# ---- groups of channels ---------------------------------------------------------------------------------------------

# The channels of all samples, one after the other, are normalised like those of one sample: each has the statistics of its group.
cdef struct Groups:
    Py_ssize_t samples, channels, groups, size


cdef Groups read_groups(str name, cnp.ndarray a, Py_ssize_t groups, vectors) except *:
    cdef Groups s
    check(name, a, vectors)
    s.samples, s.channels, s.groups, s.size = cnp.PyArray_DIM(a, 0), cnp.PyArray_DIM(a, 1), groups, 1
    if groups < 1 or s.channels % groups:
        raise ValueError(f"{name}(): {s.channels} channels are not {groups} groups of one size")
    for i in range(2, cnp.PyArray_NDIM(a)):
        s.size *= cnp.PyArray_DIM(a, i)
    return s


cdef list vectors_of(const Groups* s, cnp.ndarray like, int count):
    """Room for a number for each channel of each sample, `count` times."""
    cdef Py_ssize_t channels = s.samples * s.channels
    return [new_array(1, &channels, <cnp.dtype>cnp.PyArray_DESCR(like)) for _ in range(count)]


cdef cnp.ndarray statistics_of(const Groups* s, cnp.ndarray like):
    cdef Py_ssize_t shape[3]
    shape[0], shape[1], shape[2] = s.samples, s.groups, 1
    return new_array(3, shape, <cnp.dtype>cnp.PyArray_DESCR(like))


cdef void spread_forward(const Groups* s, const Floating* mean, Floating* rstd, const Floating* weight, const Floating* bias, double eps,
                         Floating* centre, Floating* scale, Floating* shift) noexcept nogil:
    """For each channel what it is normalised with; rstd comes in as the variance."""
    cdef Py_ssize_t group, c, each = s.channels // s.groups, channel, at
    for group in range(s.samples * s.groups):
        rstd[group] = <Floating>(1 / sqrt(rstd[group] + eps))
        for c in range(each):
            at, channel = group * each + c, group % s.groups * each + c
            centre[at] = mean[group]
            scale[at] = rstd[group] * (1 if weight == NULL else weight[channel])
            shift[at] = 0 if bias == NULL else bias[channel]


cdef void spread_backward(const Groups* s, const Floating* rstd, const Floating* weight, const Floating* sums, const Floating* moments,
                          Floating* level, Floating* tilt, Floating* scale) noexcept nogil:
    """For each channel what its gradient is made with."""
    cdef Py_ssize_t group, c, each = s.channels // s.groups, first, at
    cdef double total, product, share = 1. / max(each * s.size, <Py_ssize_t>1)
    cdef Floating factor
    for group in range(s.samples * s.groups):
        total = product = 0
        first = group % s.groups * each
        for c in range(each):
            at, factor = group * each + c, 1 if weight == NULL else weight[first + c]
            scale[at] = factor * rstd[group] if each * s.size > 1 else 0        # one number has no slope
            total += factor * sums[at]
            product += factor * moments[at]
        for c in range(each):
            at = group * each + c
            level[at] = <Floating>(total * share * rstd[group]) if each * s.size > 1 else 0
            tilt[at] = <Floating>(product * share * rstd[group] * rstd[group] * rstd[group])


cdef void over_samples(const Groups* s, const Floating* rstd, const Floating* sums, const Floating* moments, Floating* gw,
                       Floating* gb) noexcept nogil:
    cdef Py_ssize_t i, c, each = s.channels // s.groups
    cdef double weight, bias
    for c in range(s.channels):
        weight = bias = 0
        for i in range(s.samples):
            weight += <double>moments[i * s.channels + c] * rstd[i * s.groups + c // each]
            bias += sums[i * s.channels + c]
        gw[c], gb[c] = <Floating>weight, <Floating>bias


cdef inline void* data_of(cnp.ndarray a) noexcept:
    return NULL if a is None else cnp.PyArray_DATA(a)


def group_norm(cnp.ndarray a, Py_ssize_t groups, weight, bias, double eps):
    """(y, mean, rstd): groups of channels (dim 1) of each sample normalised, each channel scaled and shifted; mean and rstd are (samples, groups, 1).

    Half types are computed in float32, in which mean and rstd come.
    """
    cdef Groups s = read_groups("group_norm", a, groups, dict(weight=weight, bias=bias))
    cdef cnp.ndarray wide = np.ascontiguousarray(a, np.float32) if is_half(a) else operand(a, a)
    cdef cnp.ndarray y = new_like(wide, <cnp.dtype>cnp.PyArray_DESCR(wide))
    cdef cnp.ndarray mean = statistics_of(&s, wide), rstd = statistics_of(&s, wide), centre, scale, shift
    cdef cnp.ndarray w = None if weight is None else operand(weight, wide), b = None if bias is None else operand(bias, wide)
    if cnp.PyArray_SIZE(a) == 0:
        mean.fill(0)
        rstd.fill(np.nan)
        return as_type(y, a.dtype), mean, rstd
    run(STATISTICS, [wide, mean, rstd], wide.reshape(1, s.samples * groups, -1))
    centre, scale, shift = vectors_of(&s, wide, 3)
    if code_of(wide) == F32:
        spread_forward(&s, <float*>data_of(mean), <float*>data_of(rstd), <float*>data_of(w), <float*>data_of(b), eps, <float*>data_of(centre),
                       <float*>data_of(scale), <float*>data_of(shift))
    else:
        spread_forward(&s, <double*>data_of(mean), <double*>data_of(rstd), <double*>data_of(w), <double*>data_of(b), eps, <double*>data_of(centre),
                       <double*>data_of(scale), <double*>data_of(shift))
    run(NORMALISE, [wide, centre, scale, shift, y], wide.reshape(1, s.samples * s.channels, s.size))
    return as_type(y, a.dtype), mean, rstd


def group_norm_backward(cnp.ndarray g, cnp.ndarray a, mean, rstd, weight, Py_ssize_t groups, needs, double eps=0):
    """(ga, gw, gb), ga None where needs (three booleans) says so; mean and rstd are what group_norm returned."""
    cdef Groups s = read_groups("group_norm_backward", a, groups, dict(weight=weight))
    cdef cnp.ndarray wide, grad, inverse, w, centre, sums, moments, level, tilt, scale, gw, gb, ga = None
    if not cnp.PyArray_SAMESHAPE(g, a) or np.size(mean) != s.samples * groups or np.size(rstd) != s.samples * groups:
        raise ValueError(f"group_norm_backward(): shapes {np.shape(g)} of g, {np.shape(mean)} of mean and {np.shape(rstd)} of rstd do not fit "
                         f"the input's {np.shape(a)} in {groups} groups")
    wide = np.ascontiguousarray(a, np.float32) if is_half(a) else operand(a, a)
    grad, inverse, w = operand(g, wide), operand(rstd, wide), None if weight is None else operand(weight, wide)
    centre = np.repeat(operand(mean, wide).reshape(-1), s.channels // groups)
    sums, moments, level, tilt, scale = vectors_of(&s, wide, 5)
    gw, gb = vector(wide), vector(wide)
    if cnp.PyArray_SIZE(a) == 0:
        gw.fill(0)
        gb.fill(0)
        return new_like(a, <cnp.dtype>cnp.PyArray_DESCR(a)) if needs[0] else None, gw, gb
    each = wide.reshape(1, s.samples * s.channels, s.size)
    run(SUMS, [grad, wide, centre, sums, moments], each)
    if code_of(wide) == F32:
        spread_backward(&s, <float*>data_of(inverse), <float*>data_of(w), <float*>data_of(sums), <float*>data_of(moments), <float*>data_of(level),
                        <float*>data_of(tilt), <float*>data_of(scale))
        over_samples(&s, <float*>data_of(inverse), <float*>data_of(sums), <float*>data_of(moments), <float*>data_of(gw), <float*>data_of(gb))
    else:
        spread_backward(&s, <double*>data_of(inverse), <double*>data_of(w), <double*>data_of(sums), <double*>data_of(moments),
                        <double*>data_of(level), <double*>data_of(tilt), <double*>data_of(scale))
        over_samples(&s, <double*>data_of(inverse), <double*>data_of(sums), <double*>data_of(moments), <double*>data_of(gw), <double*>data_of(gb))
    if needs[0]:
        ga = new_like(wide, <cnp.dtype>cnp.PyArray_DESCR(wide))
        run(BACKWARD, [grad, wide, centre, level, tilt, scale, ga], each)
        ga = as_type(ga, a.dtype)
    return ga, gw, gb
