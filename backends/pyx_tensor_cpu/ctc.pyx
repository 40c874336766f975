"""Connectionist temporal classification: the likelihood of labels over all alignments, and its gradient, row by row.

S labels with blanks around them make 2S + 1 states. `alpha` holds the logarithms of the probabilities of all paths up to a
step's states, for (N, T, 2 S_max + 1); backward, `beta` does of all that go on from there.
"""
cimport numpy as cnp
from cpython.pycapsule cimport PyCapsule_GetPointer
from cython.parallel cimport prange
from libc.math cimport INFINITY, NAN
from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc

import numpy as np

from pyx_tensor_cpu.ctc_table cimport CtcTable
from pyx_tensor_cpu.dtypes cimport F32, F64, code_of
from pyx_tensor_cpu.iterate cimport contiguous
from pyx_tensor_cpu.memory cimport new_array
from pyx_tensor_cpu.parallel cimport threads_for

from pyx_tensor_cpu.level import use_kernels

cnp.import_array()

ctypedef fused Floating:
    float
    double

cdef enum:
    COST = 16               # of a state at a step, in additions
    ROOM = 5                # arrays that a row needs, of a number for each state and PADDING more
    PADDING = 2             # places beyond the states, where no path is

cdef CtcTable* table = NULL


def bind(module):
    global table
    table = <CtcTable*>PyCapsule_GetPointer(module.table, NULL)


use_kernels("ctc", bind)


cdef struct Problem:
    Py_ssize_t steps, batch, classes, labels, states    # states: of the longest row
    int64_t blank
    const int64_t* targets
    const int64_t* input_lengths
    const int64_t* target_lengths


# What a row is worked out with: arrays of the states.
cdef struct Row:
    Py_ssize_t steps, last      # last: the last state
    int64_t* label              # of each state
    double* gate                # 0 for states that may be entered from the one before the last, else -inf
    double* padded              # numbers of the neighbouring step, with room at one end
    double* beta
    double* posterior


cdef Row row_of(const Problem* p, Py_ssize_t row, double* room) noexcept nogil:
    cdef Py_ssize_t width = p.states + PADDING, s
    cdef Row r = Row(steps=p.input_lengths[row], last=2 * p.target_lengths[row], label=<int64_t*>room, gate=room + width, padded=room + 2 * width,
                     beta=room + 3 * width, posterior=room + 4 * width)
    for s in range(r.last + 1):
        r.label[s] = p.targets[row * p.labels + (s >> 1)] if s & 1 else p.blank
        r.gate[s] = 0 if s >= 2 and s & 1 and r.label[s] != r.label[s - 2] else -INFINITY
    for s in range(r.last + 1, r.last + 1 + PADDING):
        r.gate[s] = -INFINITY
    return r


cdef double forward_row(const Problem* p, const Floating* log_probs, Py_ssize_t row, double* alpha, double* room) noexcept nogil:
    """The loss of a row; alpha gets its first 2 S + 1 states at each of its steps."""
    cdef Row r = row_of(p, row, room)
    cdef Py_ssize_t t, s
    cdef double* now = alpha
    cdef double* before = r.padded + PADDING
    cdef double ends[3]
    cdef double likelihood
    cdef const Floating* step
    if r.steps == 0:
        return 0 if r.last == 0 else INFINITY
    for s in range(PADDING):
        r.padded[s] = -INFINITY
    for t in range(r.steps):
        now = alpha + t * p.states
        step = log_probs + (t * p.batch + row) * p.classes
        if t == 0:
            for s in range(r.last + 1):
                now[s] = 0 if s < 2 else -INFINITY
        else:
            table.log_sums(r.last + 1, before, before - 1, before - 2, r.gate, now)
        for s in range(r.last + 1):
            now[s] += step[r.label[s]]
            before[s] = now[s]
    ends[0], ends[1], ends[2] = now[r.last], now[r.last - 1] if r.last else -INFINITY, -INFINITY
    table.log_sums(1, ends, ends + 1, ends + 2, ends + 2, &likelihood)
    return -likelihood


cdef void go_back(const Problem* p, const Row* r, const Floating* next_step) noexcept nogil:
    """Beta of a step from that of the next one, or for the last step (NULL) what ends there."""
    cdef Py_ssize_t s
    if next_step == NULL:
        for s in range(r.last + 1):
            r.beta[s] = 0 if s >= r.last - 1 else -INFINITY
        return
    for s in range(r.last + 1):
        r.padded[s] = r.beta[s] + next_step[r.label[s]]
    for s in range(r.last + 1, r.last + 1 + PADDING):
        r.padded[s] = -INFINITY
    table.log_sums(r.last + 1, r.padded, r.padded + 1, r.padded + 2, r.gate + 2, r.beta)


cdef void backward_row(const Problem* p, const Floating* log_probs, const double* alpha, double loss, Floating g, Floating* out, Py_ssize_t row,
                       double* room) noexcept nogil:
    """The gradient of a row's log probabilities, taken to be normalised."""
    cdef Row r = row_of(p, row, room)
    cdef Py_ssize_t t, s, c, at
    for t in range(p.steps - 1, -1, -1):
        at = (t * p.batch + row) * p.classes
        if t >= r.steps or g == 0 or loss == INFINITY:
            for c in range(p.classes):
                out[at + c] = 0 if t >= r.steps or g == 0 else <Floating>NAN
            continue
        go_back(p, &r, log_probs + at + p.batch * p.classes if t < r.steps - 1 else NULL)
        for s in range(r.last + 1):
            r.posterior[s] = alpha[t * p.states + s] + r.beta[s] + loss
        table.double_(r.last + 1, r.posterior, r.posterior)
        if Floating is float:
            table.single(p.classes, log_probs + at, out + at)
        else:
            table.double_(p.classes, log_probs + at, out + at)
        for s in range(r.last + 1):
            out[at + r.label[s]] -= <Floating>r.posterior[s]
        for c in range(p.classes):
            out[at + c] *= g


cdef bint all_between(const int64_t* numbers, Py_ssize_t count, int64_t least, int64_t most) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(count):
        if not least <= numbers[i] <= most:
            return False
    return True


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
    p.targets = <const int64_t*>cnp.PyArray_DATA(labels)
    p.input_lengths, p.target_lengths = <const int64_t*>cnp.PyArray_DATA(inputs), <const int64_t*>cnp.PyArray_DATA(lengths)
    if not all_between(p.input_lengths, p.batch, 0, p.steps) or not all_between(p.target_lengths, p.batch, 0, p.labels):
        raise ValueError(f"{name}(): lengths {input_lengths} and {target_lengths} are out of range")
    if not 0 <= blank < p.classes or not all_between(p.targets, cnp.PyArray_SIZE(labels), 0, p.classes - 1):
        raise ValueError(f"{name}(): targets or blank are no classes of [0, {p.classes})")
    return [labels, inputs, lengths]


cdef int rows_threads(const Problem* p) noexcept:
    return min(threads_for(p.steps * p.batch * p.states * COST), max(p.batch, 1))


cdef double* room_for(const Problem* p) except NULL:
    cdef double* room = <double*>malloc(max(p.batch, 1) * ROOM * (p.states + PADDING) * sizeof(double))
    if room == NULL:
        raise MemoryError(f"ctc_loss(): no memory for {p.batch} rows of {p.states} states")
    return room


cdef int forward_rows(const Problem* p, const Floating* log_probs, double* alpha, Floating* losses) except -1:
    cdef Py_ssize_t row, size = ROOM * (p.states + PADDING)
    cdef int threads = rows_threads(p)
    cdef double* room = room_for(p)
    for row in prange(p.batch, nogil=True, num_threads=threads, schedule="static"):
        losses[row] = <Floating>forward_row(p, log_probs, row, alpha + row * p.steps * p.states, room + row * size)
    free(room)
    return 0


cdef int backward_rows(const Problem* p, const Floating* log_probs, const double* alpha, const Floating* losses, const Floating* g, Floating* out) except -1:
    cdef Py_ssize_t row, size = ROOM * (p.states + PADDING)
    cdef int threads = rows_threads(p)
    cdef double* room = room_for(p)
    for row in prange(p.batch, nogil=True, num_threads=threads, schedule="static"):
        backward_row(p, log_probs, alpha + row * p.steps * p.states, losses[row], g[row], out, row, room + row * size)
    free(room)
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
