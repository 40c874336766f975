# Optimizer steps in one pass over memory. Every operation is rounded as PyTorch's single-tensor optimizers round it;
# the loops go through blocks in local memory, which the compiler knows to overlap nothing.
from cpython.pycapsule cimport PyCapsule_New

from pyx_tensor_cpu.optim_table cimport Adam, AdamStep, OptimKernels, OptimTable, SGD, SGDStep

cdef extern from "scalar_math.h" nogil:         # for the type of its argument, whatever Cython thinks
    double m_sqrt(double)

ctypedef fused Floating:
    float
    double

cdef enum:
    BLOCK = 512


cdef inline void load_gradient(Floating* g, Floating* grad, Floating* param, Py_ssize_t n, double weight_decay,
                               bint maximize) noexcept nogil:
    cdef Floating sign = -1 if maximize else 1, decay = <Floating>weight_decay
    cdef Py_ssize_t i
    if decay != 0:
        for i in range(n):
            g[i] = sign * grad[i] + decay * param[i]
    else:
        for i in range(n):
            g[i] = sign * grad[i]


cdef void sgd_step(Floating* param, Floating* grad, Floating* buf, Py_ssize_t n, SGD* h, bint first) noexcept nogil:
    cdef Floating g[BLOCK]
    cdef Floating momentum = <Floating>h.momentum, rest = <Floating>(1 - h.dampening), lr = <Floating>h.lr
    cdef Py_ssize_t start = 0, count, i
    while start < n:
        count = min(n - start, <Py_ssize_t>BLOCK)
        load_gradient(g, grad + start, param + start, count, h.weight_decay, h.maximize)
        if buf != NULL:
            if first:
                for i in range(count):
                    buf[start + i] = g[i]
            else:
                for i in range(count):
                    buf[start + i] = buf[start + i] * momentum + rest * g[i]
            if h.nesterov:
                for i in range(count):
                    g[i] = g[i] + momentum * buf[start + i]
            else:
                for i in range(count):
                    g[i] = buf[start + i]
        for i in range(count):
            param[start + i] = param[start + i] - lr * g[i]
        start += BLOCK


cdef void adam_step(Floating* param, Floating* grad, Floating* avg, Floating* avg_sq, Floating* max_avg_sq, Py_ssize_t n,
                    Adam* h) noexcept nogil:
    cdef Floating g[BLOCK]
    cdef Floating second[BLOCK]
    cdef Floating new_share = <Floating>(1 - h.beta1), beta2 = <Floating>h.beta2, rest = <Floating>(1 - h.beta2)
    cdef Floating eps = <Floating>h.eps, decay = <Floating>h.decay, step = <Floating>h.step_size
    cdef Floating correction = <Floating>h.correction, m, old_share = 1 - new_share
    cdef bint near = h.beta1 > 0.5                  # lerp starts from the nearer end
    cdef Py_ssize_t start = 0, count, i
    while start < n:
        count = min(n - start, <Py_ssize_t>BLOCK)
        if decay != 1:
            for i in range(count):
                param[i] = param[i] * decay
        load_gradient(g, grad, param, count, h.weight_decay, h.maximize)
        for i in range(count):
            second[i] = avg_sq[i] * beta2 + rest * g[i] * g[i]
        for i in range(count):
            avg_sq[i] = second[i]
        if max_avg_sq != NULL:
            for i in range(count):
                m = max_avg_sq[i]
                m = second[i] if second[i] > m or second[i] != second[i] else m
                max_avg_sq[i] = m
                second[i] = m
        for i in range(count):
            second[i] = <Floating>m_sqrt(second[i]) / correction + eps
        for i in range(count):
            m = avg[i]
            g[i] = m + new_share * (g[i] - m) if near else g[i] - (g[i] - m) * old_share
        for i in range(count):
            avg[i] = g[i]
        for i in range(count):
            param[i] = param[i] - step * g[i] / second[i]
        param += BLOCK
        grad += BLOCK
        avg += BLOCK
        avg_sq += BLOCK
        if max_avg_sq != NULL:
            max_avg_sq += BLOCK
        start += BLOCK


cdef OptimTable TABLE


cdef void fill(OptimKernels* k, Floating* t) noexcept:
    k.sgd = <SGDStep>sgd_step[Floating]
    k.adam = <AdamStep>adam_step[Floating]


fill(&TABLE.single, <float*>NULL)
fill(&TABLE.double_, <double*>NULL)
table = PyCapsule_New(&TABLE, NULL, NULL)
