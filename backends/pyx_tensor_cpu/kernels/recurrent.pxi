# The elementwise part of recurrent cells, forward and backward, and products with packed weights. The loops go through
# blocks in local memory, which the compiler knows to overlap nothing.
from cpython.pycapsule cimport PyCapsule_New

from pyx_tensor_cpu.recurrent_table cimport GRU, LSTM, RELU, TANH, CellStep, RecurrentKernels, RecurrentTable, Step

cdef extern from "scalar_math.h" nogil:         # for the type of its argument, whatever Cython thinks
    double m_sigmoid(double)
    double m_tanh(double)

cdef extern from "gemm.h" nogil:
    Py_ssize_t gemm_f32_packed_size(Py_ssize_t n, Py_ssize_t k)
    Py_ssize_t gemm_f64_packed_size(Py_ssize_t n, Py_ssize_t k)
    Py_ssize_t gemm_f32_panels(Py_ssize_t n)
    Py_ssize_t gemm_f64_panels(Py_ssize_t n)
    void gemm_f32_pack_panel(const float* b, Py_ssize_t b_row, Py_ssize_t b_column, float* packed, Py_ssize_t n, Py_ssize_t k, Py_ssize_t panel)
    void gemm_f64_pack_panel(const double* b, Py_ssize_t b_row, Py_ssize_t b_column, double* packed, Py_ssize_t n, Py_ssize_t k, Py_ssize_t panel)
    void gemm_f32_packed_product(const float* a, Py_ssize_t a_row, const float* packed, float* c, Py_ssize_t c_row, Py_ssize_t m, Py_ssize_t n, Py_ssize_t k)
    void gemm_f64_packed_product(const double* a, Py_ssize_t a_row, const double* packed, double* c, Py_ssize_t c_row, Py_ssize_t m, Py_ssize_t n, Py_ssize_t k)

ctypedef fused Floating:
    float
    double

ctypedef struct Tanh:                           # tags that choose the activation at compile time
    char unused
ctypedef struct Relu:
    char unused
ctypedef fused Activation:
    Tanh
    Relu

cdef enum:
    BLOCK = 256


cdef inline void activate(Floating* x, Floating* out, Py_ssize_t n, bint tanh) noexcept nogil:
    cdef Py_ssize_t j
    if tanh:
        for j in range(n):
            out[j] = <Floating>m_tanh(x[j])
    else:
        for j in range(n):
            out[j] = <Floating>m_sigmoid(x[j])


cdef inline void load(Floating* x, Floating* out, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t j
    for j in range(n):
        out[j] = x[j]


# ---- LSTM: gates are input, forget, cell, output ------------------------------------------------------------------------

cdef void lstm_row(Floating* gates, Floating* past, Floating* h, Floating* c, Py_ssize_t size, Py_ssize_t n) noexcept nogil:
    cdef Floating i[BLOCK]
    cdef Floating f[BLOCK]
    cdef Floating g[BLOCK]
    cdef Floating o[BLOCK]
    cdef Floating now[BLOCK]
    cdef Py_ssize_t j
    activate(gates, <Floating*>i, n, False)
    activate(gates + size, <Floating*>f, n, False)
    activate(gates + 2 * size, <Floating*>g, n, True)
    activate(gates + 3 * size, <Floating*>o, n, False)
    for j in range(n):
        now[j] = f[j] * past[j] + i[j] * g[j]
    load(<Floating*>i, gates, n)
    load(<Floating*>f, gates + size, n)
    load(<Floating*>g, gates + 2 * size, n)
    load(<Floating*>o, gates + 3 * size, n)
    load(<Floating*>now, c, n)
    for j in range(n):
        h[j] = o[j] * <Floating>m_tanh(now[j])


cdef void lstm_forward(const Step* s, Floating* tag, void* activation) noexcept nogil:
    cdef Py_ssize_t row, start
    for row in range(s.rows):
        for start from 0 <= start < s.size by BLOCK:
            lstm_row(<Floating*>s.gates + 4 * row * s.size + start, <Floating*>s.past_c + row * s.size + start,
                     <Floating*>s.h + row * s.size + start, <Floating*>s.c + row * s.size + start, s.size, min(s.size - start, <Py_ssize_t>BLOCK))


cdef void lstm_row_backward(Floating* gates, Floating* past_c, Floating* c_now, Floating* g_above, Floating* to_h, Floating* to_c, Floating* to_gates,
                            Py_ssize_t size, Py_ssize_t n) noexcept nogil:
    cdef Floating i[BLOCK]
    cdef Floating f[BLOCK]
    cdef Floating g[BLOCK]
    cdef Floating o[BLOCK]
    cdef Floating past[BLOCK]
    cdef Floating squashed[BLOCK]
    cdef Floating g_h[BLOCK]
    cdef Floating g_c[BLOCK]
    cdef Py_ssize_t j
    load(gates, <Floating*>i, n)
    load(gates + size, <Floating*>f, n)
    load(gates + 2 * size, <Floating*>g, n)
    load(gates + 3 * size, <Floating*>o, n)
    load(past_c, <Floating*>past, n)
    activate(c_now, <Floating*>squashed, n, True)
    for j in range(n):
        g_h[j] = g_above[j] + to_h[j]
    for j in range(n):
        g_c[j] = to_c[j] + g_h[j] * o[j] * (1 - squashed[j] * squashed[j])
    for j in range(n):
        to_gates[j] = g_c[j] * g[j] * i[j] * (1 - i[j])
    for j in range(n):
        to_gates[size + j] = g_c[j] * past[j] * f[j] * (1 - f[j])
    for j in range(n):
        to_gates[2 * size + j] = g_c[j] * i[j] * (1 - g[j] * g[j])
    for j in range(n):
        to_gates[3 * size + j] = g_h[j] * squashed[j] * o[j] * (1 - o[j])
    for j in range(n):
        to_c[j] = g_c[j] * f[j]


cdef void lstm_backward(const Step* s, Floating* tag, void* activation) noexcept nogil:
    cdef Py_ssize_t row, start, at
    for row in range(s.rows):
        for start from 0 <= start < s.size by BLOCK:
            at = row * s.size + start
            lstm_row_backward(<Floating*>s.gates + 4 * row * s.size + start, <Floating*>s.past_c + at, <Floating*>s.c + at, <Floating*>s.g + at,
                              <Floating*>s.to_h + at, <Floating*>s.to_c + at, <Floating*>s.to_gates + 4 * row * s.size + start, s.size,
                              min(s.size - start, <Py_ssize_t>BLOCK))


# ---- GRU: gates are reset, update, new ------------------------------------------------------------------------------------

cdef void gru_row(Floating* gates, Floating* hidden, Floating* past, Floating* h, Floating* kept, Py_ssize_t size, Py_ssize_t n) noexcept nogil:
    cdef Floating r[BLOCK]
    cdef Floating z[BLOCK]
    cdef Floating new[BLOCK]
    cdef Floating product[BLOCK]
    cdef Py_ssize_t j
    for j in range(n):
        r[j] = gates[j] + hidden[j]
    for j in range(n):
        z[j] = gates[size + j] + hidden[size + j]
    activate(<Floating*>r, <Floating*>r, n, False)
    activate(<Floating*>z, <Floating*>z, n, False)
    load(hidden + 2 * size, <Floating*>product, n)
    for j in range(n):
        new[j] = gates[2 * size + j] + r[j] * product[j]
    activate(<Floating*>new, <Floating*>new, n, True)
    load(<Floating*>r, gates, n)
    load(<Floating*>z, gates + size, n)
    load(<Floating*>new, gates + 2 * size, n)
    load(<Floating*>product, kept, n)
    for j in range(n):
        h[j] = new[j] + z[j] * (past[j] - new[j])


cdef void gru_forward(const Step* s, Floating* tag, void* activation) noexcept nogil:
    cdef Py_ssize_t row, start, at
    for row in range(s.rows):
        for start from 0 <= start < s.size by BLOCK:
            at = row * s.size + start
            gru_row(<Floating*>s.gates + 3 * row * s.size + start, <Floating*>s.hidden + 3 * row * s.size + start, <Floating*>s.past_h + at,
                    <Floating*>s.h + at, <Floating*>s.c + at, s.size, min(s.size - start, <Py_ssize_t>BLOCK))


cdef void gru_row_backward(Floating* gates, Floating* kept, Floating* past, Floating* g_above, Floating* to_h, Floating* to_gates, Floating* to_hidden,
                           Py_ssize_t size, Py_ssize_t n) noexcept nogil:
    cdef Floating r[BLOCK]
    cdef Floating z[BLOCK]
    cdef Floating new[BLOCK]
    cdef Floating g[BLOCK]
    cdef Floating to_new[BLOCK]
    cdef Floating slope[BLOCK]
    cdef Py_ssize_t j
    load(gates, <Floating*>r, n)
    load(gates + size, <Floating*>z, n)
    load(gates + 2 * size, <Floating*>new, n)
    for j in range(n):
        g[j] = g_above[j] + to_h[j]
    for j in range(n):
        to_new[j] = g[j] * (1 - z[j]) * (1 - new[j] * new[j])
    for j in range(n):
        slope[j] = g[j] * (past[j] - new[j]) * z[j] * (1 - z[j])
    load(<Floating*>slope, to_gates + size, n)
    load(<Floating*>slope, to_hidden + size, n)
    for j in range(n):
        slope[j] = to_new[j] * kept[j] * r[j] * (1 - r[j])
    load(<Floating*>slope, to_gates, n)
    load(<Floating*>slope, to_hidden, n)
    load(<Floating*>to_new, to_gates + 2 * size, n)
    for j in range(n):
        to_hidden[2 * size + j] = to_new[j] * r[j]
    for j in range(n):
        to_h[j] = g[j] * z[j]


cdef void gru_backward(const Step* s, Floating* tag, void* activation) noexcept nogil:
    cdef Py_ssize_t row, start, at
    for row in range(s.rows):
        for start from 0 <= start < s.size by BLOCK:
            at = row * s.size + start
            gru_row_backward(<Floating*>s.gates + 3 * row * s.size + start, <Floating*>s.c + at, <Floating*>s.past_h + at, <Floating*>s.g + at,
                             <Floating*>s.to_h + at, <Floating*>s.to_gates + 3 * row * s.size + start, <Floating*>s.to_hidden + 3 * row * s.size + start,
                             s.size, min(s.size - start, <Py_ssize_t>BLOCK))


# ---- Elman networks: the activated gates are h ------------------------------------------------------------------------------

cdef void plain_forward(const Step* s, Floating* tag, Activation* activation) noexcept nogil:
    cdef Floating* x = <Floating*>s.gates
    cdef Floating* h = <Floating*>s.h
    cdef Floating value
    cdef Py_ssize_t j
    for j in range(s.rows * s.size):
        value = x[j]
        if Activation is Tanh:
            h[j] = <Floating>m_tanh(value)
        else:
            h[j] = 0 if value < 0 else value


cdef void plain_backward(const Step* s, Floating* tag, Activation* activation) noexcept nogil:
    cdef Floating* h = <Floating*>s.h
    cdef Floating* above = <Floating*>s.g
    cdef Floating* later = <Floating*>s.to_h
    cdef Floating* out = <Floating*>s.to_gates
    cdef Floating g
    cdef Py_ssize_t j
    for j in range(s.rows * s.size):
        g = above[j] + later[j]
        if Activation is Tanh:
            out[j] = g * (1 - h[j] * h[j])
        else:
            out[j] = 0 if h[j] <= 0 else g


# ---- the table --------------------------------------------------------------------------------------------------------------

ctypedef void (*PackPanel)(const char*, Py_ssize_t, Py_ssize_t, char*, Py_ssize_t, Py_ssize_t, Py_ssize_t) noexcept nogil
ctypedef void (*PackedProduct)(const char*, Py_ssize_t, const char*, char*, Py_ssize_t, Py_ssize_t, Py_ssize_t, Py_ssize_t) noexcept nogil

cdef RecurrentTable TABLE


cdef void fill(RecurrentKernels* k, Floating* t) noexcept:
    k.forward[<int>LSTM] = <CellStep>lstm_forward[Floating]
    k.forward[<int>GRU] = <CellStep>gru_forward[Floating]
    k.forward[<int>TANH] = <CellStep>plain_forward[Floating, Tanh]
    k.forward[<int>RELU] = <CellStep>plain_forward[Floating, Relu]
    k.backward[<int>LSTM] = <CellStep>lstm_backward[Floating]
    k.backward[<int>GRU] = <CellStep>gru_backward[Floating]
    k.backward[<int>TANH] = <CellStep>plain_backward[Floating, Tanh]
    k.backward[<int>RELU] = <CellStep>plain_backward[Floating, Relu]


fill(&TABLE.single, <float*>NULL)
fill(&TABLE.double_, <double*>NULL)
TABLE.single.packed_size, TABLE.single.panels, TABLE.single.pack_panel = gemm_f32_packed_size, gemm_f32_panels, <PackPanel>gemm_f32_pack_panel
TABLE.double_.packed_size, TABLE.double_.panels, TABLE.double_.pack_panel = gemm_f64_packed_size, gemm_f64_panels, <PackPanel>gemm_f64_pack_panel
TABLE.single.product, TABLE.double_.product = <PackedProduct>gemm_f32_packed_product, <PackedProduct>gemm_f64_packed_product
table = PyCapsule_New(&TABLE, NULL, NULL)
