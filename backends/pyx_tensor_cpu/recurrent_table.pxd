"""What the kernels of recurrent layers of one CPU level offer the driver, for float32 and float64."""

# Some rows of one step. Every array has `size` elements a row but the gates and the hidden products, which have them for each gate.
ctypedef struct Step:
    char* gates             # products with the input, and with the state where they are added; after the step the activated gates
    char* hidden            # a GRU's products with the state
    char* past_h
    char* past_c
    char* h
    char* c                 # of a GRU: the new gate's product with the state, kept for its backward
    const char* g           # gradient of h from above
    char* to_h              # gradients of h and c from later steps; after the step those of the past ones
    char* to_c
    char* to_gates
    char* to_hidden
    Py_ssize_t rows
    Py_ssize_t size

ctypedef void (*CellStep)(const Step* s, void* floating, void* activation) noexcept nogil    # both NULL: they choose the kernel

cdef enum Cell:
    LSTM, GRU, TANH, RELU, N_CELLS

ctypedef struct RecurrentKernels:
    Py_ssize_t (*packed_size)(Py_ssize_t n, Py_ssize_t k) noexcept nogil
    # b[k, n] is packed panel by panel
    Py_ssize_t (*panels)(Py_ssize_t n) noexcept nogil
    void (*pack_panel)(const char* b, Py_ssize_t b_row, Py_ssize_t b_column, char* packed, Py_ssize_t n, Py_ssize_t k, Py_ssize_t panel) noexcept nogil
    # c[m, n] += a[m, k] b
    void (*product)(const char* a, Py_ssize_t a_row, const char* packed, char* c, Py_ssize_t c_row, Py_ssize_t m, Py_ssize_t n, Py_ssize_t k) noexcept nogil
    CellStep forward[N_CELLS]
    CellStep backward[N_CELLS]

ctypedef struct RecurrentTable:
    RecurrentKernels single
    RecurrentKernels double_
