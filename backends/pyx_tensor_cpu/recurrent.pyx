"""Recurrent layers: all steps of an LSTM, GRU or Elman network in one direction, with their gradients.

The products with the input are one product for all steps. The steps follow one another, but not the sequences: each
thread does all steps of some rows of the batch, and nobody waits. The weights that every step needs are packed once.
"""
cimport numpy as cnp
from cpython.pycapsule cimport PyCapsule_GetPointer
from cython.parallel cimport prange
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

import numpy as np

from pyx_tensor_cpu cimport openblas
from pyx_tensor_cpu.blas cimport matmul
from pyx_tensor_cpu.product cimport Matrix, fill_rows, multiply
from pyx_tensor_cpu.dtypes cimport F32, F64, precision_of
from pyx_tensor_cpu.iterate cimport contiguous
from pyx_tensor_cpu.memory cimport new_array
from pyx_tensor_cpu.parallel cimport threads_for
from pyx_tensor_cpu.recurrent_table cimport GRU, LSTM, N_CELLS, RELU, TANH, Cell, RecurrentKernels, RecurrentTable, Step

from pyx_tensor_cpu import blas, pointwise
from pyx_tensor_cpu.level import use_kernels
from pyx_tensor_cpu.linear import linear_backward

cnp.import_array()

cdef enum:
    ROWS_AT_LEAST = 4           # of a thread, which reads all weights in every step
    FEWEST_STEPS = 3            # that repay packing

CELLS = {"lstm": LSTM, "gru": GRU, "tanh": TANH, "relu": RELU}

cdef int n_gates[N_CELLS]
n_gates[<int>LSTM] = 4
n_gates[<int>GRU] = 3
n_gates[<int>TANH] = n_gates[<int>RELU] = 1

cdef RecurrentTable* table = NULL


def bind(module):
    global table
    table = <RecurrentTable*>PyCapsule_GetPointer(module.table, NULL)


use_kernels("recurrent", bind)


# ---- a layer in memory ---------------------------------------------------------------------------------------------------

cdef struct Memory:
    # Arrays with a row for each row of the packed input, or of the batch (the states at first, and scratch).
    char* gates
    char* cells
    char* output
    char* first_h
    char* first_c
    char* scratch               # a GRU's products with the state
    char* bias                  # what the scratch is filled with; NULL for zeros
    Matrix weight
    char* packed                # the weight as the kernels' product wants it; NULL where OpenBLAS takes it as it is
    const char* g
    char* to_h
    char* to_c
    char* to_gates
    char* to_hidden


cdef class Layer:
    """The steps of a layer, in the order of the computation, and what all of them need."""
    cdef RecurrentKernels* kernels
    cdef int cell, gates
    cdef bint use_blas
    cdef Py_ssize_t item, size, steps, batch, rows
    cdef Py_ssize_t* starts         # first row of each step
    cdef Py_ssize_t* counts
    cdef Memory memory
    cdef list owners

    def __cinit__(self, str cell, tuple batch_sizes, bint reverse, cnp.ndarray h):
        cdef Py_ssize_t i, at, start = 0
        if cell not in CELLS:
            raise ValueError(f"recurrent_layer(): cell is {cell!r}, expected one of {', '.join(CELLS)}")
        self.cell = CELLS[cell]
        self.gates = n_gates[self.cell]
        self.kernels = kernels_of(h)
        if cnp.PyArray_NDIM(h) != 2:
            raise ValueError(f"recurrent_layer(): expected a state of 2 dims, got shape {np.shape(h)}")
        self.item, self.batch, self.size = cnp.PyArray_ITEMSIZE(h), cnp.PyArray_DIM(h, 0), cnp.PyArray_DIM(h, 1)
        self.steps = len(batch_sizes)
        self.owners = []
        self.starts = <Py_ssize_t*>malloc(max(self.steps, 1) * 2 * sizeof(Py_ssize_t))
        if self.starts == NULL:
            raise MemoryError(f"recurrent_layer(): no memory for {self.steps} steps")
        self.counts = self.starts + self.steps
        for i in range(self.steps):
            at = self.steps - 1 - i if reverse else i
            self.starts[at] = start
            self.counts[at] = batch_sizes[i]
            start += batch_sizes[i]
        self.rows = start
        if sorted(batch_sizes, reverse=True) != list(batch_sizes) or not self.steps or batch_sizes[0] != self.batch or min(batch_sizes) < 0:
            raise ValueError(f"recurrent_layer(): batch sizes {batch_sizes} don't fit a state of {self.batch} rows: expected as many in the first step, "
                             "and never more than in the step before")

    def __dealloc__(self):
        free(self.starts)

    cdef char* hold(self, str what, array, Py_ssize_t rows, Py_ssize_t columns) except? NULL:
        """The memory of an array (rows, columns) of the layer's dtype; NULL for None."""
        cdef cnp.ndarray a
        if array is None:
            return NULL
        a = contiguous(array)
        if np.shape(a) != (rows, columns) or kernels_of(a) != self.kernels:
            raise ValueError(f"recurrent_layer(): expected {what} of shape {(rows, columns)}, got shape {np.shape(array)} and dtype {array.dtype}")
        self.owners.append(a)
        return cnp.PyArray_BYTES(a)

    cdef cnp.ndarray empty(self, Py_ssize_t rows, Py_ssize_t columns):
        cdef Py_ssize_t shape[2]
        shape[0], shape[1] = rows, columns
        return new_array(2, shape, np.dtype(np.float32 if self.item == sizeof(float) else np.float64))

    cdef int take_weight(self, cnp.ndarray weight, bint transposed) except -1:
        """The weight (gates, size) for products with rows of gates, or transposed of states; packed if enough steps use it."""
        cdef cnp.ndarray w = contiguous(weight), packed
        cdef Matrix* m = &self.memory.weight
        cdef Py_ssize_t panel, panels
        cdef int threads
        m.data = cnp.PyArray_BYTES(w)
        m.rows, m.columns = self.gates * self.size, self.size
        m.row, m.column = self.size, 1
        if transposed:
            m.rows, m.columns, m.row, m.column = m.columns, m.rows, 1, self.size
        self.owners.append(w)
        self.memory.packed = NULL
        if self.steps < FEWEST_STEPS:
            self.use_blas = openblas.load()
            if self.use_blas:
                openblas.use_threads(1)
            return 0
        packed = self.empty(1, self.kernels.packed_size(m.columns, m.rows))
        self.owners.append(packed)
        self.memory.packed = cnp.PyArray_BYTES(packed)
        panels = self.kernels.panels(m.columns)
        threads = threads_for(m.rows * m.columns)
        for panel in prange(panels, nogil=True, num_threads=threads, schedule="static"):
            self.kernels.pack_panel(m.data, m.row, m.column, self.memory.packed, m.columns, m.rows, panel)
        return 0

    cdef int run(self, bint backward) except -1:
        """All steps, each thread with rows of its own."""
        cdef int threads = threads_for(self.rows * self.gates * self.size * self.size // 16), i
        cdef Py_ssize_t share
        cdef Memory* memory = &self.memory
        cdef Steps steps = Steps(kernels=self.kernels, cell=self.cell, gates=self.gates, item=self.item, size=self.size, steps=self.steps,
                                 starts=self.starts, counts=self.counts, code=F32 if self.item == sizeof(float) else F64, use_blas=self.use_blas)
        threads = min(threads, max(1, self.batch // ROWS_AT_LEAST))
        share = (self.batch + threads - 1) // threads
        if threads == 1:
            with nogil:
                run_rows(&steps, memory, 0, self.batch, backward)
            return 0
        for i in prange(threads, nogil=True, num_threads=threads, schedule="static"):
            run_rows(&steps, memory, i * share, min((i + 1) * share, self.batch), backward)
        return 0


cdef struct Steps:
    RecurrentKernels* kernels
    int cell
    int gates
    Py_ssize_t item, size, steps
    Py_ssize_t* starts
    Py_ssize_t* counts
    int code
    bint use_blas


cdef RecurrentKernels* kernels_of(cnp.ndarray a) except NULL:
    return &table.double_ if precision_of("recurrent layers and cells", a) else &table.single


# ---- the steps of some rows -------------------------------------------------------------------------------------------------

cdef void run_rows(const Steps* s, const Memory* m, Py_ssize_t first, Py_ssize_t last, bint backward) noexcept nogil:
    """Rows [first, last) of the batch. In a step, those that the step before had too have their past there, the others in the first states."""
    cdef Py_ssize_t i, at, known
    for i in range(s.steps):
        at = s.steps - 1 - i if backward else i
        known = s.counts[at - 1] if at else 0
        run_step(s, m, at, first, min(last, s.counts[at], known), True, backward)
        run_step(s, m, at, max(first, known), min(last, s.counts[at]), False, backward)


cdef void run_step(const Steps* s, const Memory* m, Py_ssize_t at, Py_ssize_t first, Py_ssize_t last, bint past, bint backward) noexcept nogil:
    cdef Py_ssize_t line = s.size * s.item, wide = s.gates * line, here = s.starts[at] + first, before, rows = last - first
    cdef Step step
    if rows <= 0:
        return
    step.rows, step.size = rows, s.size
    before = (s.starts[at - 1] + first if past else first) * line
    step.past_h = (m.output if past else m.first_h) + before
    step.past_c = (m.cells if past else m.first_c) + before if s.cell == LSTM else NULL
    step.gates = m.gates + here * wide
    step.h = m.output + here * line
    step.c = m.cells + here * line if m.cells != NULL else NULL
    if backward:
        step.g = m.g + here * line
        step.to_h = m.to_h + first * line
        step.to_c = m.to_c + first * line if m.to_c != NULL else NULL
        step.to_gates = m.to_gates + here * wide
        step.to_hidden = m.to_hidden + here * wide
        s.kernels.backward[s.cell](&step, NULL, NULL)
        if s.cell != GRU:
            memset(step.to_h, 0, rows * line)
        add_product(s, m, step.to_hidden, step.to_h, rows)
        return
    step.hidden = step.gates
    if s.cell == GRU:
        step.hidden = m.scratch + first * wide
        if m.bias != NULL:
            fill_rows(step.hidden, wide, rows, m.bias, wide)
        else:
            memset(step.hidden, 0, rows * wide)
    add_product(s, m, step.past_h, step.hidden, rows)
    s.kernels.forward[s.cell](&step, NULL, NULL)


cdef void add_product(const Steps* s, const Memory* m, char* a, char* c, Py_ssize_t rows) noexcept nogil:
    """c += a weight, for rows of both."""
    cdef Matrix left
    if m.packed != NULL:
        s.kernels.product(a, m.weight.rows, m.packed, c, m.weight.columns, rows, m.weight.columns, m.weight.rows)
        return
    left.data, left.rows, left.columns, left.row, left.column = a, rows, m.weight.rows, m.weight.rows, 1
    multiply(s.code, &left, &m.weight, c, m.weight.columns, True, s.use_blas)


# ---- entries ------------------------------------------------------------------------------------------------------------------

cdef int refuse_projection(w_hr) except -1:
    if w_hr is not None:
        raise TypeError("recurrent_layer(): no kernel for projected states")
    return 0


def recurrent_layer(cnp.ndarray input, cnp.ndarray h, c, cnp.ndarray w_ih, cnp.ndarray w_hh, b_ih, b_hh, w_hr, str cell, tuple batch_sizes,
                    bint reverse):
    """(output, h, [c,] gates, cells) after all steps; gates and cells are for the backward."""
    cdef Layer layer
    cdef Memory* m
    cdef cnp.ndarray output, gates, cells = None
    refuse_projection(w_hr)
    layer = Layer(cell, batch_sizes, reverse, h)
    check_weights(layer, input, w_ih, w_hh, b_ih, b_hh)
    m = &layer.memory
    gates = blas.linear(input, w_ih, b_ih if b_hh is None or layer.cell == GRU else b_hh if b_ih is None else pointwise.add(b_ih, b_hh))
    output = layer.empty(layer.rows, layer.size)
    if layer.cell == LSTM or layer.cell == GRU:
        cells = layer.empty(layer.rows, layer.size)
    m.gates = layer.hold("input", gates, layer.rows, layer.gates * layer.size)
    m.output = layer.hold("output", output, layer.rows, layer.size)
    m.cells = layer.hold("c", cells, layer.rows, layer.size)
    m.first_h = layer.hold("h", h, layer.batch, layer.size)
    m.first_c = first_cells(layer, c)
    if layer.cell == GRU:
        m.scratch = layer.hold("scratch", layer.empty(layer.batch, layer.gates * layer.size), layer.batch, layer.gates * layer.size)
        m.bias = layer.hold("b_hh", None if b_hh is None else b_hh.reshape(1, -1), 1, layer.gates * layer.size)
    layer.take_weight(w_hh, True)
    layer.run(False)
    last = last_rows(layer)
    final = (output[last],) if layer.cell != LSTM else (output[last], cells[last])
    return output, *final, None if layer.cell in (TANH, RELU) else gates, cells


cdef char* first_cells(Layer layer, c) except? NULL:
    if (c is None) == (layer.cell == LSTM):
        raise ValueError(f"recurrent_layer(): c is {'missing' if c is None else 'for an LSTM only'}")
    return layer.hold("c", c, layer.batch, layer.size)


cdef int check_weights(Layer layer, cnp.ndarray input, cnp.ndarray w_ih, cnp.ndarray w_hh, b_ih, b_hh) except -1:
    cdef Py_ssize_t gates = layer.gates * layer.size
    if cnp.PyArray_NDIM(input) != 2 or cnp.PyArray_DIM(input, 0) != layer.rows or np.shape(w_ih) != (gates, np.shape(input)[1]):
        raise ValueError(f"recurrent_layer(): input {np.shape(input)} and its weight {np.shape(w_ih)} don't fit {layer.rows} rows and {gates} gates")
    if np.shape(w_hh) != (gates, layer.size) or any([b is not None and np.shape(b) != (gates,) for b in (b_ih, b_hh)]):
        raise ValueError(f"recurrent_layer(): the state's weight {np.shape(w_hh)} or a bias doesn't fit a state of {layer.size} features and {gates} gates")
    if any([a is not None and kernels_of(a) != layer.kernels for a in (input, w_ih, w_hh, b_ih, b_hh)]):
        raise ValueError("recurrent_layer(): the dtypes of input, state and weights differ")
    return 0


cdef cnp.ndarray last_rows(Layer layer):
    """Where each sequence's last state in the order of the computation stands."""
    cdef cnp.ndarray rows = np.empty(layer.batch, np.intp)
    cdef Py_ssize_t* at = <Py_ssize_t*>cnp.PyArray_DATA(rows)
    cdef Py_ssize_t i, row
    for i in range(layer.steps):
        for row in range(layer.counts[i]):
            at[row] = layer.starts[i] + row
    return rows


cdef cnp.ndarray past_states(Layer layer, cnp.ndarray output, cnp.ndarray h):
    """The h before each row."""
    cdef cnp.ndarray past = layer.empty(layer.rows, layer.size)
    cdef Py_ssize_t line = layer.size * layer.item, i, known
    cdef char* data = cnp.PyArray_BYTES(past)
    cdef char* done = layer.memory.output
    for i in range(layer.steps):
        known = min(layer.counts[i - 1], layer.counts[i]) if i else 0
        if known:
            memcpy(data + layer.starts[i] * line, done + layer.starts[i - 1] * line, known * line)
        memcpy(data + (layer.starts[i] + known) * line, layer.memory.first_h + known * line, (layer.counts[i] - known) * line)
    return past


def recurrent_layer_backward(cnp.ndarray g, cnp.ndarray g_h, g_c, cnp.ndarray input, cnp.ndarray h, c, cnp.ndarray w_ih, cnp.ndarray w_hh, b_ih, b_hh,
                             w_hr, cnp.ndarray output, gates, cells, str cell, tuple batch_sizes, bint reverse, tuple needs):
    """The gradients of input, h, c, w_ih, w_hh, b_ih, b_hh and w_hr (None where needs says so)."""
    cdef Layer layer
    cdef Memory* m
    cdef Py_ssize_t wide
    cdef cnp.ndarray to_gates, to_hidden, to_h, to_c = None
    refuse_projection(w_hr)
    layer = Layer(cell, batch_sizes, reverse, h)
    check_weights(layer, input, w_ih, w_hh, b_ih, b_hh)
    m = &layer.memory
    wide = layer.gates * layer.size
    to_gates = layer.empty(layer.rows, wide)
    to_hidden = layer.empty(layer.rows, wide) if layer.cell == GRU else to_gates
    to_h = np.array(g_h, order="C")
    m.gates = layer.hold("gates", gates if gates is not None else to_gates, layer.rows, wide)
    m.output = layer.hold("output", output, layer.rows, layer.size)
    m.cells = layer.hold("cells", cells, layer.rows, layer.size)
    m.first_h = layer.hold("h", h, layer.batch, layer.size)
    m.first_c = first_cells(layer, c)
    m.g = layer.hold("the output's gradient", g, layer.rows, layer.size)
    m.to_h = layer.hold("h's gradient", to_h, layer.batch, layer.size)
    m.to_gates, m.to_hidden = cnp.PyArray_BYTES(to_gates), cnp.PyArray_BYTES(to_hidden)
    if layer.cell == LSTM or layer.cell == GRU:
        if gates is None or cells is None:
            raise ValueError("recurrent_layer_backward(): the gates of the forward are missing")
    if layer.cell == LSTM:
        to_c = np.array(g_c, order="C")
        m.to_c = layer.hold("c's gradient", to_c, layer.batch, layer.size)
    layer.take_weight(w_hh, False)
    layer.run(True)
    to_w_ih, to_b_ih = linear_backward(to_gates, input, (needs[3], needs[5] or (needs[6] and layer.cell != GRU)))
    past = past_states(layer, output, h) if needs[4] else to_hidden        # without the weight's gradient any rows will do
    to_w_hh, to_b_hh = linear_backward(to_hidden, past, (needs[4], needs[6] and layer.cell == GRU))
    return (matmul(to_gates, w_ih) if needs[0] else None, to_h, to_c, to_w_ih, to_w_hh, to_b_ih,
            to_b_hh if layer.cell == GRU or to_b_ih is None else to_b_ih.copy(), None)
