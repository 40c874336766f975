"""Losses with their reduction: squared error, negative log likelihood of class indices."""
cimport numpy as cnp
from libc.stdint cimport int64_t

import numpy as np

from pyx_tensor_cpu.dtypes cimport F32, F64, code_of, is_half_code
from pyx_tensor_cpu.iterate cimport as_type, contiguous, widened
from pyx_tensor_cpu.memory cimport new_array

from pyx_tensor_cpu import normalize, pointwise, reduce

cnp.import_array()

ctypedef fused Floating:
    float
    double

REDUCTIONS = ("none", "mean", "sum")

cdef enum:
    LANES = 16
    MOST_AT_ONCE = 1 << 15      # elements of a loss that one pass does; for more, the threads of several operations are worth it


# ---- squared error ------------------------------------------------------------------------------------------------------

cdef bint in_one_pass(cnp.ndarray a, cnp.ndarray b, int code) noexcept:
    """Few enough contiguous floats of one shape."""
    return ((code == F32 or code == F64) and cnp.PyArray_SAMESHAPE(a, b) and cnp.PyArray_SIZE(a) <= MOST_AT_ONCE
            and cnp.PyArray_IS_C_CONTIGUOUS(a) and cnp.PyArray_IS_C_CONTIGUOUS(b))


cdef double squared_distance(Floating* a, Floating* b, Py_ssize_t n) noexcept nogil:
    cdef double lane[LANES]
    cdef double total = 0
    cdef Floating d
    cdef Py_ssize_t i = 0, j
    for j in range(LANES):
        lane[j] = 0
    while i + LANES <= n:
        for j in range(LANES):
            d = a[i + j] - b[i + j]
            lane[j] += d * d
        i += LANES
    while i < n:
        d = a[i] - b[i]
        total += d * d
        i += 1
    for j in range(LANES):
        total += lane[j]
    return total


cdef void scaled_difference(Floating* a, Floating* b, Floating* out, Floating scale, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        out[i] = (a[i] - b[i]) * scale


cdef cnp.ndarray number(double value, cnp.ndarray like):
    """A 0-dim array of the dtype of `like`, which is float32 or float64."""
    cdef cnp.ndarray out = new_array(0, NULL, <cnp.dtype>cnp.PyArray_DESCR(like))
    if cnp.PyArray_ITEMSIZE(out) == sizeof(float):
        (<float*>cnp.PyArray_DATA(out))[0] = <float>value
    else:
        (<double*>cnp.PyArray_DATA(out))[0] = value
    return out


def mse_loss(cnp.ndarray a, cnp.ndarray b, str reduction):
    """(a - b)^2; reduction is 'none', 'mean' or 'sum'."""
    cdef int code = code_of(a)
    cdef Py_ssize_t n = cnp.PyArray_SIZE(a)
    cdef double total
    if reduction not in REDUCTIONS:
        raise ValueError(f"mse_loss(): {reduction!r} is not one of the reductions {REDUCTIONS}")
    if reduction == "none" or not in_one_pass(a, b, code):
        square = pointwise.square(pointwise.sub(a, b))
        if reduction == "none":
            return square
        return (reduce.mean if reduction == "mean" else reduce.sum)(square, tuple(range(square.ndim)), False)
    if code == F32:
        total = squared_distance(<float*>cnp.PyArray_DATA(a), <float*>cnp.PyArray_DATA(b), n)
    else:
        total = squared_distance(<double*>cnp.PyArray_DATA(a), <double*>cnp.PyArray_DATA(b), n)
    return number(total / n if reduction == "mean" else total, a)


def mse_loss_backward(cnp.ndarray g, cnp.ndarray a, cnp.ndarray b, str reduction):
    """The gradient for a: 2 g (a - b), for a mean divided by the number of elements."""
    cdef int code = code_of(a)
    cdef Py_ssize_t n = cnp.PyArray_SIZE(a)
    cdef double scale = 2. / max(n, 1) if reduction == "mean" else 2.
    cdef cnp.ndarray out
    if cnp.PyArray_NDIM(g) or code_of(g) != code or not in_one_pass(a, b, code):
        difference = pointwise.sub(a, b)
        return pointwise.mul(difference, pointwise.mul(g, np.asarray(scale, g.dtype)))
    out = new_array(cnp.PyArray_NDIM(a), <const Py_ssize_t*>cnp.PyArray_DIMS(a), <cnp.dtype>cnp.PyArray_DESCR(a))
    if code == F32:
        scaled_difference(<float*>cnp.PyArray_DATA(a), <float*>cnp.PyArray_DATA(b), <float*>cnp.PyArray_DATA(out),
                          <float>scale * (<float*>cnp.PyArray_DATA(g))[0], n)
    else:
        scaled_difference(<double*>cnp.PyArray_DATA(a), <double*>cnp.PyArray_DATA(b), <double*>cnp.PyArray_DATA(out),
                          scale * (<double*>cnp.PyArray_DATA(g))[0], n)
    return out


# ---- negative log likelihood --------------------------------------------------------------------------------------------


cdef int check(str name, cnp.ndarray logp, cnp.ndarray target, weight, str reduction, int64_t ignore_index) except -1:
    """Whether everything fits; every target is looked at before anything is computed."""
    cdef Py_ssize_t i, step
    cdef int64_t t
    cdef const char* targets
    if cnp.PyArray_NDIM(logp) != 2 or cnp.PyArray_NDIM(target) != 1 or cnp.PyArray_DIM(logp, 0) != cnp.PyArray_DIM(target, 0):
        raise ValueError(f"{name}(): expected input of shape (N, C) and target of shape (N,), "
                         f"got {np.shape(logp)} and {np.shape(target)}")
    if target.dtype != np.int64:
        raise TypeError(f"{name}(): expected target of dtype int64, got {target.dtype}")
    if weight is not None and (np.shape(weight) != (np.shape(logp)[1],) or weight.dtype != logp.dtype):
        raise ValueError(f"{name}(): expected weight of shape {(np.shape(logp)[1],)} and dtype {logp.dtype}, "
                         f"got {np.shape(weight)} and {weight.dtype}")
    if reduction not in REDUCTIONS:
        raise ValueError(f"{name}(): {reduction!r} is not one of the reductions {REDUCTIONS}")
    targets = cnp.PyArray_BYTES(target)
    step = cnp.PyArray_STRIDE(target, 0)
    for i in range(cnp.PyArray_DIM(target, 0)):
        t = (<const int64_t*>(targets + i * step))[0]
        if t != ignore_index and not 0 <= t < cnp.PyArray_DIM(logp, 1):
            raise IndexError(f"Target {t} is out of bounds.")
    return 0


cdef tuple forward(Floating* unused, cnp.ndarray logp, cnp.ndarray target, cnp.ndarray weight, str reduction,
                   int64_t ignore_index):
    cdef Py_ssize_t n = cnp.PyArray_DIM(logp, 0), i
    cdef Py_ssize_t row = cnp.PyArray_STRIDE(logp, 0), column = cnp.PyArray_STRIDE(logp, 1)
    cdef const char* data = cnp.PyArray_BYTES(logp)
    cdef const int64_t* targets = <const int64_t*>cnp.PyArray_DATA(target)
    cdef const Floating* weights = NULL if weight is None else <const Floating*>cnp.PyArray_DATA(weight)
    cdef cnp.ndarray losses = new_array(1, &n, logp.dtype)
    cdef Floating* loss = <Floating*>cnp.PyArray_DATA(losses)
    cdef double total = 0, total_weight = 0, w
    for i in range(n):
        loss[i] = 0
        if targets[i] != ignore_index:
            w = 1 if weights == NULL else weights[targets[i]]
            loss[i] = <Floating>(-w * (<const Floating*>(data + i * row + targets[i] * column))[0])
            total += loss[i]
            total_weight += w
    if reduction == "none":
        return losses, number(0, logp)
    if reduction == "mean":
        total = total / total_weight            # nothing over nothing is NaN, as in PyTorch
    return number(total, logp), number(total_weight, logp)


cdef void backward(Floating* out, Py_ssize_t columns, cnp.ndarray g, cnp.ndarray target, cnp.ndarray weight,
                   double scale, int64_t ignore_index):
    """out, zeros at first, gets -weight * g * scale at the targets."""
    cdef const int64_t* targets = <const int64_t*>cnp.PyArray_DATA(target)
    cdef const Floating* weights = NULL if weight is None else <const Floating*>cnp.PyArray_DATA(weight)
    cdef const char* g_data = cnp.PyArray_BYTES(g)
    cdef Py_ssize_t step = cnp.PyArray_STRIDE(g, 0) if cnp.PyArray_NDIM(g) else 0, i
    cdef double w
    for i in range(cnp.PyArray_DIM(target, 0)):
        if targets[i] != ignore_index:
            w = 1 if weights == NULL else weights[targets[i]]
            out[i * columns + targets[i]] = <Floating>(-w * scale * (<const Floating*>(g_data + i * step))[0])


def nll_loss(cnp.ndarray logp, cnp.ndarray target, weight, str reduction, int64_t ignore_index):
    """(loss, total_weight) of log probabilities (N, C) and class indices (N,); reduction is 'none', 'mean' or 'sum'."""
    cdef int code = code_of(logp)
    check("nll_loss", logp, target, weight, reduction, ignore_index)
    if is_half_code(code):
        loss, total = nll_loss(widened(logp), target, widened(weight), reduction, ignore_index)
        return as_type(loss, logp.dtype), as_type(total, logp.dtype)
    target = contiguous(target)
    weight = None if weight is None else contiguous(weight)
    if code == F32:
        return forward[float](NULL, logp, target, weight, reduction, ignore_index)
    if code == F64:
        return forward[double](NULL, logp, target, weight, reduction, ignore_index)
    raise TypeError(f"nll_loss(): expected a floating point dtype, got dtype {logp.dtype}")


def nll_loss_backward(cnp.ndarray g, cnp.ndarray logp, cnp.ndarray target, weight, str reduction, int64_t ignore_index,
                      total_weight):
    """The gradient for logp; g has the loss's shape, total_weight is what nll_loss returned."""
    cdef int code = code_of(logp)
    cdef cnp.ndarray out
    cdef double scale
    check("nll_loss_backward", logp, target, weight, reduction, ignore_index)
    if np.shape(g) != (np.shape(target) if reduction == "none" else ()) or g.dtype != logp.dtype:
        raise ValueError(f"nll_loss_backward(): the gradient has shape {np.shape(g)} and dtype {g.dtype}, "
                         f"reduction {reduction!r} of targets {np.shape(target)} and dtype {logp.dtype}")
    if is_half_code(code):
        return as_type(nll_loss_backward(widened(g), widened(logp), target, widened(weight), reduction, ignore_index, widened(total_weight)),
                       logp.dtype)
    target = contiguous(target)
    weight = None if weight is None else contiguous(weight)
    out = np.zeros(np.shape(logp), logp.dtype)
    scale = 1
    if reduction == "mean":
        scale = 1 / <double>float(total_weight)
    if code == F32:
        backward[float](<float*>cnp.PyArray_DATA(out), cnp.PyArray_DIM(logp, 1), g, target, weight, scale, ignore_index)
    elif code == F64:
        backward[double](<double*>cnp.PyArray_DATA(out), cnp.PyArray_DIM(logp, 1), g, target, weight, scale, ignore_index)
    else:
        raise TypeError(f"nll_loss_backward(): expected a floating point dtype, got dtype {logp.dtype}")
    return out


# ---- cross entropy ------------------------------------------------------------------------------------------------------

def cross_entropy(cnp.ndarray a, cnp.ndarray target, weight, str reduction, int64_t ignore_index):
    """(loss, logp, total_weight) of scores (N, C) and class indices (N,): nll_loss of logp = log_softmax(a)."""
    check("cross_entropy", a, target, weight, reduction, ignore_index)
    cdef cnp.ndarray logp = normalize.log_softmax(a, 1)
    loss, total = nll_loss(logp, target, weight, reduction, ignore_index)
    return loss, logp, total


cdef void cross_entropy_rows(Floating* out, Py_ssize_t columns, cnp.ndarray g, cnp.ndarray target, cnp.ndarray weight,
                             double scale, int64_t ignore_index):
    """out, the exponentials of logp at first, gets the gradient of cross entropy."""
    cdef const int64_t* targets = <const int64_t*>cnp.PyArray_DATA(target)
    cdef const Floating* weights = NULL if weight is None else <const Floating*>cnp.PyArray_DATA(weight)
    cdef const char* g_data = cnp.PyArray_BYTES(g)
    cdef Py_ssize_t step = cnp.PyArray_STRIDE(g, 0) if cnp.PyArray_NDIM(g) else 0, i, j
    cdef Floating factor
    for i in range(cnp.PyArray_DIM(target, 0)):
        factor = 0
        if targets[i] != ignore_index:
            factor = <Floating>((1 if weights == NULL else weights[targets[i]]) * scale * (<const Floating*>(g_data + i * step))[0])
        for j in range(columns):
            out[j] *= factor
        if targets[i] != ignore_index:
            out[targets[i]] -= factor
        out += columns


def cross_entropy_backward(cnp.ndarray g, cnp.ndarray a, cnp.ndarray target, weight, str reduction, int64_t ignore_index,
                           cnp.ndarray logp, cnp.ndarray total_weight):
    """The gradient for the scores a; logp and total_weight are what cross_entropy returned."""
    cdef int code = code_of(logp)
    cdef double scale = 1
    cdef cnp.ndarray out
    check("cross_entropy_backward", logp, target, weight, reduction, ignore_index)
    if np.shape(g) != (np.shape(target) if reduction == "none" else ()) or g.dtype != logp.dtype:
        raise ValueError(f"cross_entropy_backward(): the gradient has shape {np.shape(g)} and dtype {g.dtype}, "
                         f"reduction {reduction!r} of targets {np.shape(target)} and dtype {logp.dtype}")
    if code != F32 and code != F64:
        inner = nll_loss_backward(g, logp, target, weight, reduction, ignore_index, total_weight)
        return normalize.log_softmax_backward(inner, logp, 1)
    target = contiguous(target)
    weight = None if weight is None else contiguous(weight)
    if reduction == "mean":
        scale = 1 / <double>float(total_weight)
    out = pointwise.exp(logp)
    if code == F32:
        cross_entropy_rows[float](<float*>cnp.PyArray_DATA(out), cnp.PyArray_DIM(logp, 1), g, target, weight, scale, ignore_index)
    else:
        cross_entropy_rows[double](<double*>cnp.PyArray_DATA(out), cnp.PyArray_DIM(logp, 1), g, target, weight, scale, ignore_index)
    return out
