"""Recurrent cells and layers: what an RNN, LSTM or GRU computes, step by step and over whole sequences.

Sequences are packed: the steps of all sequences one after the other, step t having the first `batch_sizes[t]` rows of the
batch; sequences of one length have the same number at each step. The formulas are Elman's (1990), Hochreiter and
Schmidhuber's (1997, with the forget gate of Gers et al., 2000) and Cho et al.'s (2014, with the reset after the product).
"""
from ..core.definitions import op
from ..core.signature import Raw, T


# --- the elementwise part of a step: one operation each, so that one kernel can do it -----------------------------------
def _lstm_gates_vjp(B, g, gates, c):
    return B.lstm_gates_backward(g[0], g[1], gates, c)


@op(promote="same", method=False, hidden=True, returns=("h", "c"), vjp={("gates", "c"): _lstm_gates_vjp})
def lstm_gates(B, gates: T, c: T):
    """The step of an LSTM from its products: gates (N, 4H), which are input, forget, cell and output, and c (N, H)."""
    i, f, g, o = _activated(B, gates)
    c = B.add(B.mul(f, c), B.mul(i, g))
    return B.mul(o, B.tanh(c)), c


def _activated(B, gates):
    i, f, g, o = B.chunk(gates, 4, 1)
    return B.sigmoid(i), B.sigmoid(f), B.tanh(g), B.sigmoid(o)


@op(promote="same", method=False, hidden=True, entry="lstm_gates_backward")
def lstm_gates_backward(B, g_h: T, g_c: T, gates: T, c: T):
    """The gradients of lstm_gates's gates and c."""
    i, f, g, o = _activated(B, gates)
    squashed = B.tanh(B.add(B.mul(f, c), B.mul(i, g)))
    g_c = B.add(g_c, B.mul(B.mul(g_h, o), B.rsub(B.square(squashed), 1)))
    to_gates = (B.mul(B.mul(g_c, g), _sigmoid_slope(B, i)), B.mul(B.mul(g_c, c), _sigmoid_slope(B, f)),
                B.mul(B.mul(g_c, i), B.rsub(B.square(g), 1)), B.mul(B.mul(g_h, squashed), _sigmoid_slope(B, o)))
    return B.cat(to_gates, 1), B.mul(g_c, f)


def _sigmoid_slope(B, y):
    return B.mul(y, B.rsub(y, 1))


@op(promote="same", method=False, hidden=True, vjp={
    ("x", "hidden", "h"): lambda B, g, x, hidden, h: B.gru_gates_backward(g, x, hidden, h)})
def gru_gates(B, x: T, hidden: T, h: T):
    """The step of a GRU from its products with input and state, (N, 3H) each: reset, update, new; and h (N, H)."""
    _, z, n, _ = _gru_activated(B, x, hidden)
    return B.add(n, B.mul(z, B.sub(h, n)))


def _gru_activated(B, x, hidden):
    (x_r, x_z, x_n), (h_r, h_z, h_n) = B.chunk(x, 3, 1), B.chunk(hidden, 3, 1)
    r = B.sigmoid(B.add(x_r, h_r))
    return r, B.sigmoid(B.add(x_z, h_z)), B.tanh(B.add(x_n, B.mul(r, h_n))), h_n


@op(promote="same", method=False, hidden=True, entry="gru_gates_backward")
def gru_gates_backward(B, g: T, x: T, hidden: T, h: T):
    """The gradients of gru_gates's x, hidden and h."""
    r, z, n, h_n = _gru_activated(B, x, hidden)
    to_n = B.mul(B.mul(g, B.rsub(z, 1)), B.rsub(B.square(n), 1))
    to_z = B.mul(B.mul(g, B.sub(h, n)), _sigmoid_slope(B, z))
    to_r = B.mul(B.mul(to_n, h_n), _sigmoid_slope(B, r))
    return B.cat((to_r, to_z, to_n), 1), B.cat((to_r, to_z, B.mul(to_n, r)), 1), B.mul(g, z)


# --- a layer: all steps in one direction ------------------------------------------------------------------------------
# A cell's `step` gives the new state from the products of input and state with the weights; its `back` the gradients of
# both products and of the old state, from those of the new one.
def _lstm_step(B, x, hidden, h, c):
    return B.lstm_gates(B.add(x, hidden), c)


def _lstm_back(B, grads, x, hidden, h, c):
    to_gates, to_c = B.lstm_gates_backward(*grads, B.add(x, hidden), c)
    return to_gates, to_gates, None, to_c


def _gru_step(B, x, hidden, h):
    return (B.gru_gates(x, hidden, h),)


def _gru_back(B, grads, x, hidden, h):
    return B.gru_gates_backward(*grads, x, hidden, h)


def _rnn_cell(activation, slope):
    def step(B, x, hidden, h):
        return (activation(B, B.add(x, hidden)),)

    def back(B, grads, x, hidden, h):
        to_sum = slope(B, grads[0], activation(B, B.add(x, hidden)))
        return to_sum, to_sum, None

    return step, back


_CELLS = {
    "lstm": (_lstm_step, _lstm_back), "gru": (_gru_step, _gru_back),
    "tanh": _rnn_cell(lambda B, x: B.tanh(x), lambda B, g, y: B.mul(g, B.rsub(B.square(y), 1))),
    "relu": _rnn_cell(lambda B, x: B.relu(x), lambda B, g, y: B.masked_fill(g, B.le(y, 0), 0)),
}


def _steps(batch_sizes, reverse):
    """(first row, rows) of each step, in the order of the computation."""
    rows, start = [], 0
    for size in batch_sizes:
        rows.append((start, size))
        start += size
    return rows[::-1] if reverse else rows


def _first(B, x, count):
    return x if x.shape[0] == count else B.narrow(x, 0, 0, count)


def _replace_first(B, whole, first):
    """`whole` with its first rows replaced."""
    count = first.shape[0]
    return first if count == whole.shape[0] else B.cat((first, B.narrow(whole, 0, count, whole.shape[0] - count)), 0)


def _in_order(pieces, reverse):
    return pieces[::-1] if reverse else pieces


def _run(B, cell, x, state, w_hh, b_hh, w_hr, steps):
    """(the state before, both products and the unprojected output of each step, the last state)."""
    trace = []
    for start, count in steps:
        current = tuple(_first(B, s, count) for s in state)
        products = B.narrow(x, 0, start, count), B.linear(current[0], w_hh, b_hh)
        new = tuple(_CELLS[cell][0](B, *products, *current))
        raw = new[0]
        if w_hr is not None:
            new = (B.linear(raw, w_hr, None), *new[1:])
        trace.append((current, products, raw, new[0]))
        state = tuple(_replace_first(B, s, n) for s, n in zip(state, new))
    return trace, state


_GATES = {"lstm": 4, "gru": 3, "tanh": 1, "relu": 1}


def _explain_layer(input, h, c, w_ih, w_hh, b_ih, b_hh, w_hr, cell, batch_sizes, reverse):
    """What doesn't fit, or None."""
    if cell not in _GATES:
        return f"recurrent_layer: cell is {cell!r}, expected one of {', '.join(_GATES)}"
    if (c is None) == (cell == "lstm"):
        return f"recurrent_layer: c is {'missing' if c is None else 'for an LSTM only'}"
    size = h.shape[-1] if w_hr is None else w_hr.shape[-1]
    gates, rows, batch = _GATES[cell] * size, sum(batch_sizes), batch_sizes[0] if batch_sizes else 0
    if not batch_sizes or list(batch_sizes) != sorted(batch_sizes, reverse=True) or min(batch_sizes) < 0 or tuple(h.shape[:-1]) != (batch,):
        return f"recurrent_layer: batch sizes {batch_sizes} don't fit a state of shape {list(h.shape)}: expected its rows first, and never more than before"
    expected = dict(input=(rows, w_ih.shape[-1]), c=(batch, size), w_ih=(gates, input.shape[-1]), w_hh=(gates, h.shape[-1]), b_ih=(gates,), b_hh=(gates,),
                    w_hr=(h.shape[-1], size))
    for name, given in dict(input=input, c=c, w_ih=w_ih, w_hh=w_hh, b_ih=b_ih, b_hh=b_hh, w_hr=w_hr).items():
        if given is not None and tuple(given.shape) != expected[name]:
            return f"recurrent_layer: expected {name} of shape {list(expected[name])}, got {list(given.shape)}"
    return None


def _layer_vjp(B, g, y, input, h, c, w_ih, w_hh, b_ih, b_hh, w_hr, cell, batch_sizes, reverse, gates, cells, needs):
    return B.recurrent_layer_backward(
        g[0], g[1], g[2] if c is not None else None, input, h, c, w_ih, w_hh, b_ih, b_hh, w_hr, y[0], gates, cells, cell, batch_sizes, reverse, needs)


@op(promote="same", method=False, hidden=True, returns=("output", "h", "c"), aux=("gates", "cells"), grad_name="Recurrent", explain=_explain_layer, vjp={
    ("input", "h", "c", "w_ih", "w_hh", "b_ih", "b_hh", "w_hr"): _layer_vjp})
def recurrent_layer(B, input: T, h: T, c: T, w_ih: T, w_hh: T, b_ih: T, b_hh: T, w_hr: T, cell, batch_sizes, reverse):
    """One layer of a recurrent network in one direction: (output, h, c) after all steps; no c but for an LSTM.

    Args:
        input: (steps, input_size), packed. h: (batch, hidden_size), or projected; c: (batch, hidden_size) of an LSTM.
        w_ih, w_hh, b_ih, b_hh: weights and biases (optional). w_hr: the projection of an LSTM's h, optional.
        cell: 'lstm', 'gru', 'tanh' or 'relu'. batch_sizes: rows of each step, not increasing.
        reverse: from the last step to the first.

    Hidden outputs: what a kernel keeps for its backward, each row's activated gates and c.
    """
    message = _explain_layer(input, h, c, w_ih, w_hh, b_ih, b_hh, w_hr, cell, batch_sizes, reverse)
    if message is not None:
        raise RuntimeError(message)
    state = (h,) if c is None else (h, c)
    trace, state = _run(B, cell, B.linear(input, w_ih, b_ih), state, w_hh, b_hh, w_hr, _steps(batch_sizes, reverse))
    output = B.cat(_in_order([new for *_, new in trace], reverse), 0)
    return output, *(B.clone(s) for s in state), None, None


@op(promote=None, method=False, hidden=True, entry="recurrent_layer_backward")
def recurrent_layer_backward(B, g: T, g_h: T, g_c: T, input: T, h: T, c: T, w_ih: T, w_hh: T, b_ih: T, b_hh: T, w_hr: T, output: Raw, gates: Raw,
                             cells: Raw, cell, batch_sizes, reverse, needs):
    """The gradients of recurrent_layer's tensors. The body does the steps again, for gradients of gradients pass through them."""
    steps = _steps(batch_sizes, reverse)
    x = B.linear(input, w_ih, b_ih)
    trace, _ = _run(B, cell, x, (h,) if c is None else (h, c), w_hh, b_hh, w_hr, steps)
    grads = (g_h,) if c is None else (g_h, g_c)
    to_x, to_hidden, before, to_projected = [], [], [], []
    for (start, count), (current, products, raw, _) in zip(reversed(steps), reversed(trace)):
        g_h, *rest = (_first(B, s, count) for s in grads)
        g_h = B.add(g_h, B.narrow(g, 0, start, count))
        if w_hr is not None:
            to_projected.append((g_h, raw))
            g_h = B.matmul(g_h, w_hr)
        for_x, for_hidden, direct, *others = _CELLS[cell][1](B, (g_h, *rest), *products, *current)
        past = B.matmul(for_hidden, w_hh)
        grads = tuple(_replace_first(B, s, n) for s, n in zip(grads, (past if direct is None else B.add(past, direct), *others)))
        to_x.append(for_x)
        to_hidden.append(for_hidden)
        before.append(current[0])
    to_x, to_hidden = B.cat(_in_order(to_x, not reverse), 0), B.cat(to_hidden, 0)
    weights = (*B.linear_backward(to_x, input, (True, True)), *B.linear_backward(to_hidden, B.cat(before, 0), (True, True)))
    to_w_hr = None
    if w_hr is not None:
        to_w_hr = B.linear_backward(B.cat([p for p, _ in to_projected], 0), B.cat([r for _, r in to_projected], 0), (True, False))[0]
    return (B.matmul(to_x, w_ih), grads[0], grads[1] if c is not None else None, weights[0], weights[2], weights[1], weights[3], to_w_hr)
