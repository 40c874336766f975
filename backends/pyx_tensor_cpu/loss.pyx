"""Negative log likelihood of class indices."""
cimport numpy as cnp
from libc.stdint cimport int64_t

import numpy as np

from pyx_tensor_cpu.dtypes cimport BF16, F16, F32, F64, code_of
from pyx_tensor_cpu.memory cimport new_array

cnp.import_array()

ctypedef fused Floating:
    float
    double

REDUCTIONS = ("none", "mean", "sum")


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
        return losses, np.zeros((), logp.dtype)
    if reduction == "mean":
        total = total / total_weight            # nothing over nothing is NaN, as in PyTorch
    return np.array(total, logp.dtype), np.array(total_weight, logp.dtype)


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


def widen(a):
    return None if a is None else a.astype(np.float32)


def nll_loss(cnp.ndarray logp, cnp.ndarray target, weight, str reduction, int64_t ignore_index):
    """(loss, total_weight) of log probabilities (N, C) and class indices (N,); reduction is 'none', 'mean' or 'sum'."""
    cdef int code = code_of(logp)
    check("nll_loss", logp, target, weight, reduction, ignore_index)
    if code == F16 or code == BF16:
        loss, total = nll_loss(widen(logp), target, widen(weight), reduction, ignore_index)
        return loss.astype(logp.dtype), total.astype(logp.dtype)
    target = np.ascontiguousarray(target)
    weight = None if weight is None else np.ascontiguousarray(weight)
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
    if code == F16 or code == BF16:
        return nll_loss_backward(widen(g), widen(logp), target, widen(weight), reduction, ignore_index,
                                 widen(total_weight)).astype(logp.dtype)
    target = np.ascontiguousarray(target)
    weight = None if weight is None else np.ascontiguousarray(weight)
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
