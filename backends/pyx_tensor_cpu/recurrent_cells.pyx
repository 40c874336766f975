"""One step of recurrent cells: what follows the products, in one pass, with its gradient."""
cimport numpy as cnp

import numpy as np

from pyx_tensor_cpu.recurrent cimport kernels_of
from pyx_tensor_cpu.recurrent_table cimport GRU, LSTM, RecurrentKernels, Step

cnp.import_array()


cdef class OneStep:
    """The elementwise part of a step, forward and backward, on copies of what the kernels overwrite."""
    cdef RecurrentKernels* kernels
    cdef Step step
    cdef list owners
    cdef cnp.ndarray like
    cdef Py_ssize_t rows, size

    def __cinit__(self, str name, cnp.ndarray state, int gates, products):
        self.kernels = kernels_of(state)
        self.like, self.owners = state, []
        for product in products:
            if cnp.PyArray_NDIM(state) != 2 or np.shape(product) != (np.shape(state)[0], gates * np.shape(state)[1]) or product.dtype != state.dtype:
                raise ValueError(f"{name}(): products of shape {np.shape(product)} don't fit a state of shape {np.shape(state)}")
        self.rows, self.size = cnp.PyArray_DIM(state, 0), cnp.PyArray_DIM(state, 1)
        self.step.rows, self.step.size = self.rows, self.size

    cdef char* data(self, array) except? NULL:
        self.owners.append(array)
        return cnp.PyArray_BYTES(<cnp.ndarray>array)

    cdef char* copy(self, array) except? NULL:
        return self.data(np.array(array, dtype=self.like.dtype, order="C"))

    cdef cnp.ndarray empty(self, int gates):
        return np.empty((self.rows, gates * self.size), self.like.dtype)


cdef tuple lstm_step(OneStep one, gates, c):
    """(h, c), the activated gates being kept in the step."""
    h, now = one.empty(1), one.empty(1)
    one.step.gates, one.step.past_c = one.copy(gates), one.copy(c)
    one.step.h, one.step.c = one.data(h), one.data(now)
    one.kernels.forward[<int>LSTM](&one.step, NULL, NULL)
    return h, now


def lstm_gates(cnp.ndarray gates, cnp.ndarray c):
    """(h, c) of an LSTM after a step."""
    return lstm_step(OneStep("lstm_gates", c, 4, (gates,)), gates, c)


def lstm_gates_backward(cnp.ndarray g_h, cnp.ndarray g_c, cnp.ndarray gates, cnp.ndarray c):
    """The gradients of gates and c."""
    cdef OneStep one = OneStep("lstm_gates_backward", c, 4, (gates,))
    if np.shape(g_h) != np.shape(c) or np.shape(g_c) != np.shape(c):
        raise ValueError(f"lstm_gates_backward(): gradients of shapes {np.shape(g_h)} and {np.shape(g_c)} don't fit a state of shape {np.shape(c)}")
    lstm_step(one, gates, c)
    to_gates, to_c = one.empty(4), np.array(g_c, c.dtype, order="C")
    one.step.g, one.step.to_h, one.step.to_c = one.copy(g_h), one.data(np.zeros_like(to_c)), one.data(to_c)
    one.step.to_gates = one.data(to_gates)
    one.kernels.backward[<int>LSTM](&one.step, NULL, NULL)
    return to_gates, to_c


cdef cnp.ndarray gru_step(OneStep one, x, hidden, h):
    new = one.empty(1)
    one.step.gates, one.step.hidden, one.step.past_h = one.copy(x), one.copy(hidden), one.copy(h)
    one.step.h, one.step.c = one.data(new), one.data(one.empty(1))
    one.kernels.forward[<int>GRU](&one.step, NULL, NULL)
    return new


def gru_gates(cnp.ndarray x, cnp.ndarray hidden, cnp.ndarray h):
    """The state of a GRU after a step."""
    return gru_step(OneStep("gru_gates", h, 3, (x, hidden)), x, hidden, h)


def gru_gates_backward(cnp.ndarray g, cnp.ndarray x, cnp.ndarray hidden, cnp.ndarray h):
    """The gradients of x, hidden and h."""
    cdef OneStep one = OneStep("gru_gates_backward", h, 3, (x, hidden))
    if np.shape(g) != np.shape(h):
        raise ValueError(f"gru_gates_backward(): a gradient of shape {np.shape(g)} doesn't fit a state of shape {np.shape(h)}")
    gru_step(one, x, hidden, h)
    to_x, to_hidden, to_h = one.empty(3), one.empty(3), np.zeros(np.shape(h), h.dtype)
    one.step.g, one.step.to_h = one.copy(g), one.data(to_h)
    one.step.to_gates, one.step.to_hidden = one.data(to_x), one.data(to_hidden)
    one.kernels.backward[<int>GRU](&one.step, NULL, NULL)
    return to_x, to_hidden, to_h
