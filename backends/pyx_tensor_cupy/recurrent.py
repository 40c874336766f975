"""The elementwise part of a recurrent cell's step, one kernel for each."""
import numpy as np

from .entries import contiguous, element_of, entry, new


def _run(backend, kernel, arrays, results, rows, size):
    arrays = [contiguous(backend, a, arrays[0]) for a in arrays]
    if rows * size:
        backend.launch.each("recurrent", kernel, element_of(backend, kernel, *arrays), rows * size, *arrays, *results, np.int64(rows), np.int64(size))


def _like(backend, *arrays):
    return [new(backend, a.shape, a.dtype, a) for a in arrays]


def _check(kernel, c, wide, gates):
    if len(c.shape) != 2 or any(tuple(a.shape) != (c.shape[0], gates * c.shape[1]) for a in wide):
        raise ValueError(f"{kernel}: products of shapes {[tuple(a.shape) for a in wide]} don't fit a state of shape {tuple(c.shape)}")


@entry
def lstm_gates(self, gates, c):
    """(h, c) after a step."""
    _check("lstm_gates", c, (gates,), 4)
    h, new_c = _like(self, c, c)
    _run(self, "lstm_gates", (gates, c), (h, new_c), *c.shape)
    return h, new_c


@entry
def lstm_gates_backward(self, g_h, g_c, gates, c):
    _check("lstm_gates_backward", c, (gates,), 4)
    to_gates, to_c = _like(self, gates, c)
    xp = self.xp
    _run(self, "lstm_gates_backward", (xp.broadcast_to(g_h, c.shape), xp.broadcast_to(g_c, c.shape), gates, c), (to_gates, to_c), *c.shape)
    return to_gates, to_c


@entry
def gru_gates(self, x, hidden, h):
    _check("gru_gates", h, (x, hidden), 3)
    new_h, = _like(self, h)
    _run(self, "gru_gates", (x, hidden, h), (new_h,), *h.shape)
    return new_h


@entry
def gru_gates_backward(self, g, x, hidden, h):
    _check("gru_gates_backward", h, (x, hidden), 3)
    results = _like(self, x, hidden, h)
    _run(self, "gru_gates_backward", (self.xp.broadcast_to(g, h.shape), x, hidden, h), results, *h.shape)
    return tuple(results)
