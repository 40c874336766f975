"""Connectionist temporal classification: the likelihood of labels over all alignments, and its gradient, row by row.

S labels with blanks around them make 2S + 1 states. `alpha` holds the logarithms of the probabilities of all paths up to a
step's states, for (N, T, 2 S_max + 1); backward, `beta` does of all that go on from there.
"""
cimport numpy as cnp
from cython.parallel cimport prange
from libc.math cimport INFINITY, NAN, exp, log
from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc

import numpy as np

from pyx_tensor_cpu.dtypes cimport F32, F64, code_of
from pyx_tensor_cpu.iterate cimport contiguous
from pyx_tensor_cpu.memory cimport new_array
from pyx_tensor_cpu.parallel cimport threads_for

cnp.import_array()

ctypedef fused Floating:
    float
    double

cdef enum:
    COST = 64               # of a state at a step, in additions


cdef struct Problem:
    Py_ssize_t steps, batch, classes, labels, states    # states: of the longest row
    int64_t blank
    const int64_t* targets
    const int64_t* input_lengths
    const int64_t* target_lengths


cdef inline double log_sum(double a, double b, double c) noexcept nogil:
    cdef double top = max(a, max(b, c))
    if top == -INFINITY:
        return top
    return top + log(exp(a - top) + exp(b - top) + exp(c - top))


cdef inline int64_t label_of(const Problem* p, Py_ssize_t row, Py_ssize_t state) noexcept nogil:
    return p.targets[row * p.labels + (state >> 1)] if state & 1 else p.blank


cdef inline bint may_skip(const Problem* p, Py_ssize_t row, Py_ssize_t state) noexcept nogil:
    """Whether a state may be entered from the one before the last: no blank, and not the same label again."""
    return state >= 2 and (state & 1) and label_of(p, row, state) != label_of(p, row, state - 2)


cdef double forward_row(const Problem* p, const Floating* log_probs, Py_ssize_t row, double* alpha) noexcept nogil:
    """The loss of a row; alpha gets its first 2 S + 1 states at each of its steps."""
    cdef Py_ssize_t t, s, steps = p.input_lengths[row], last = 2 * p.target_lengths[row]
    cdef double* now = alpha
    cdef double* before
    cdef const Floating* step
    if steps == 0:
        return 0 if last == 0 else INFINITY
    for t in range(steps):
        now = alpha + t * p.states
        before = now - p.states
        step = log_probs + (t * p.batch + row) * p.classes
        for s in range(last + 1):
            if t == 0:
                now[s] = 0 if s < 2 else -INFINITY
            else:
                now[s] = log_sum(before[s], before[s - 1] if s else -INFINITY, before[s - 2] if may_skip(p, row, s) else -INFINITY)
            now[s] += step[label_of(p, row, s)]
    return -log_sum(now[last], now[last - 1] if last else -INFINITY, -INFINITY)


cdef void backward_row(const Problem* p, const Floating* log_probs, const double* alpha, double loss, Floating g, Floating* out, Py_ssize_t row,
                       double* beta) noexcept nogil:
    """The gradient of a row's log probabilities, taken to be normalised; beta is room for two steps, the later one first."""
    cdef Py_ssize_t t, s, c, steps = p.input_lengths[row], last = 2 * p.target_lengths[row], at
    cdef double* now
    cdef double* later
    cdef const Floating* step
    cdef const Floating* next_step
    for t in range(p.steps - 1, -1, -1):
        at = (t * p.batch + row) * p.classes
        step = log_probs + at
        for c in range(p.classes):
            out[at + c] = 0
            if t < steps and g != 0:
                out[at + c] = <Floating>NAN if loss == INFINITY else <Floating>exp(step[c])
        if t >= steps or g == 0 or loss == INFINITY:
            continue
        now = beta + (t & 1) * p.states
        later = beta + (~t & 1) * p.states
        next_step = step + p.batch * p.classes
        for s in range(last, -1, -1):
            if t == steps - 1:
                now[s] = 0 if s >= last - 1 else -INFINITY
                continue
            now[s] = log_sum(later[s] + next_step[label_of(p, row, s)],
                             later[s + 1] + next_step[label_of(p, row, s + 1)] if s < last else -INFINITY,
                             later[s + 2] + next_step[label_of(p, row, s + 2)] if s + 2 <= last and may_skip(p, row, s + 2) else -INFINITY)
        for s in range(last + 1):
            out[at + label_of(p, row, s)] -= <Floating>exp(alpha[t * p.states + s] + now[s] + loss)
        for c in range(p.classes):
            out[at + c] *= g


cdef list fill_problem(Problem* p, str name, cnp.ndarray log_probs, cnp.ndarray targets, input_lengths, target_lengths, int64_t blank):
    """Describe the problem; returns the arrays that it points into."""
    cdef cnp.ndarray labels = np.ascontiguousarray(targets, np.int64)
    cdef cnp.ndarray inputs = np.array(input_lengths, np.int64), lengths = np.array(target_lengths, np.int64)
    if code_of(log_probs) != F32 and code_of(log_probs) != F64:
        raise TypeError(f"{name}(): no kernel for dtype {log_probs.dtype}")
    if cnp.PyArray_NDIM(log_probs) != 3 or cnp.PyArray_NDIM(labels) != 2:
        raise ValueError(f"{name}(): expected log probabilities (T, N, C) and targets (N, S), got shapes {np.shape(log_probs)} and {np.shape(targets)}")
    p.steps, p.batch, p.classes = cnp.PyArray_DIM(log_probs, 0), cnp.PyArray_DIM(log_probs, 1), cnp.PyArray_DIM(log_probs, 2)
    p.labels, p.states, p.blank = cnp.PyArray_DIM(labels, 1), 2 * cnp.PyArray_DIM(labels, 1) + 1, blank
    if cnp.PyArray_DIM(labels, 0) != p.batch or np.shape(inputs) != (p.batch,) or np.shape(lengths) != (p.batch,):
        raise ValueError(f"{name}(): {np.shape(targets)} targets, {len(inputs)} and {len(lengths)} lengths don't fit {p.batch} rows")
    if p.batch and not (0 <= inputs.min() and inputs.max() <= p.steps and 0 <= lengths.min() and lengths.max() <= p.labels):
        raise ValueError(f"{name}(): lengths {input_lengths} and {target_lengths} are out of range")
    if not 0 <= blank < p.classes or (cnp.PyArray_SIZE(labels) and not (0 <= labels.min() and labels.max() < p.classes)):
        raise ValueError(f"{name}(): targets or blank are no classes of [0, {p.classes})")
    p.targets = <const int64_t*>cnp.PyArray_DATA(labels)
    p.input_lengths, p.target_lengths = <const int64_t*>cnp.PyArray_DATA(inputs), <const int64_t*>cnp.PyArray_DATA(lengths)
    return [labels, inputs, lengths]


cdef int rows_threads(const Problem* p) noexcept:
    return min(threads_for(p.steps * p.batch * p.states * COST), max(p.batch, 1))


cdef void forward_rows(const Problem* p, const Floating* log_probs, double* alpha, Floating* losses) noexcept:
    cdef Py_ssize_t row
    cdef int threads = rows_threads(p)
    for row in prange(p.batch, nogil=True, num_threads=threads, schedule="static"):
        losses[row] = <Floating>forward_row(p, log_probs, row, alpha + row * p.steps * p.states)


cdef int backward_rows(const Problem* p, const Floating* log_probs, const double* alpha, const Floating* losses, const Floating* g, Floating* out) except -1:
    cdef Py_ssize_t row
    cdef int threads = rows_threads(p)
    cdef double* beta = <double*>malloc(max(p.batch, 1) * 2 * p.states * sizeof(double))
    if beta == NULL:
        raise MemoryError(f"ctc_loss_backward(): no memory for {p.states} states")
    for row in prange(p.batch, nogil=True, num_threads=threads, schedule="static"):
        backward_row(p, log_probs, alpha + row * p.steps * p.states, losses[row], g[row], out, row, beta + row * 2 * p.states)
    free(beta)
    return 0


def ctc_loss(cnp.ndarray log_probs, cnp.ndarray targets, input_lengths, target_lengths, int64_t blank):
    """(the negative log likelihood of each row, alpha)."""
    cdef Problem p
    cdef cnp.ndarray alpha, losses, values = contiguous(log_probs)
    cdef list held = fill_problem(&p, "ctc_loss", log_probs, targets, input_lengths, target_lengths, blank)
    cdef Py_ssize_t shape[3]
    shape[0], shape[1], shape[2] = p.batch, p.steps, p.states
    alpha = new_array(3, shape, np.dtype(np.float64))
    losses = new_array(1, shape, <cnp.dtype>cnp.PyArray_DESCR(values))
    if code_of(values) == F32:
        forward_rows(&p, <const float*>cnp.PyArray_DATA(values), <double*>cnp.PyArray_DATA(alpha), <float*>cnp.PyArray_DATA(losses))
    else:
        forward_rows(&p, <const double*>cnp.PyArray_DATA(values), <double*>cnp.PyArray_DATA(alpha), <double*>cnp.PyArray_DATA(losses))
    return losses, alpha


def ctc_loss_backward(cnp.ndarray g, cnp.ndarray log_probs, cnp.ndarray targets, input_lengths, target_lengths, int64_t blank, cnp.ndarray losses,
                      cnp.ndarray alpha):
    """The gradient of log_probs, from the losses and alpha that ctc_loss gave."""
    cdef Problem p
    cdef cnp.ndarray out, values = contiguous(log_probs)
    cdef list held = fill_problem(&p, "ctc_loss_backward", log_probs, targets, input_lengths, target_lengths, blank)
    if np.shape(g) != (p.batch,) or np.shape(losses) != (p.batch,) or cnp.PyArray_SIZE(alpha) != p.batch * p.steps * p.states or code_of(alpha) != F64 \
            or g.dtype != values.dtype or losses.dtype != values.dtype:
        raise ValueError(f"ctc_loss_backward(): gradients {np.shape(g)}, losses {np.shape(losses)} or alpha {np.shape(alpha)} don't fit {p.batch} rows")
    g, losses, alpha = contiguous(g), contiguous(losses), contiguous(alpha)
    out = new_array(3, <const Py_ssize_t*>cnp.PyArray_DIMS(values), <cnp.dtype>cnp.PyArray_DESCR(values))
    if code_of(values) == F32:
        backward_rows(&p, <const float*>cnp.PyArray_DATA(values), <const double*>cnp.PyArray_DATA(alpha), <const float*>cnp.PyArray_DATA(losses),
                      <const float*>cnp.PyArray_DATA(g), <float*>cnp.PyArray_DATA(out))
    else:
        backward_rows(&p, <const double*>cnp.PyArray_DATA(values), <const double*>cnp.PyArray_DATA(alpha), <const double*>cnp.PyArray_DATA(losses),
                      <const double*>cnp.PyArray_DATA(g), <double*>cnp.PyArray_DATA(out))
    return out
