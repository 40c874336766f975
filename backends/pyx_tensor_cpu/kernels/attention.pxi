# The weights of attention from products of queries and keys, and back: rows that stay in the cache.
from cpython.pycapsule cimport PyCapsule_New

from pyx_tensor_cpu.attention_table cimport AttentionKernels, AttentionTable, Scores, Weigh, WeighBackward

include "../kernels/rows.pxi"


cdef inline Py_ssize_t seen_by(const Scores* s, Py_ssize_t row) noexcept nogil:
    return min(s.seen + row, s.columns) if s.causal else s.columns


cdef inline void scale_row(Floating* x, Floating* mask, Floating scale, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t j
    if mask == NULL:
        for j in range(n):
            x[j] = x[j] * scale
    else:
        for j in range(n):
            x[j] = x[j] * scale + mask[j]


cdef inline void exponentials(Floating* x, Floating shift, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t j
    for j in range(n):
        x[j] = <Floating>m_exp(x[j] - shift)


cdef inline void multiply_row(Floating* x, Floating factor, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t j
    for j in range(n):
        x[j] = x[j] * factor


cdef inline void clear_row(Floating* x, Py_ssize_t first, Py_ssize_t last) noexcept nogil:
    cdef Py_ssize_t j
    for j in range(first, last):
        x[j] = 0


cdef void weigh(const Scores* s, Floating* tag) noexcept nogil:
    cdef Floating* x = <Floating*>s.values
    cdef Floating* total = <Floating*>s.total
    cdef const char* mask = s.mask
    cdef Floating top, sum
    cdef Py_ssize_t row, n
    for row in range(s.rows):
        n = seen_by(s, row)
        scale_row(x, <Floating*>mask, <Floating>s.scale, n)
        top = row_max(x, n)
        top = top if top != -INFINITY else 0
        exponentials(x, top, n)
        sum = <Floating>row_sum(x, x, x, <Floating>0, n, <Plain*>NULL)
        total[2 * row], total[2 * row + 1] = top, 1 / sum if sum != 0 else 0        # nothing to see gives 0; where there is NaN, the sum is it
        if sum == 0:
            n = 0
        else:
            multiply_row(x, total[2 * row + 1], n)
        clear_row(x, n, s.columns)
        x += s.columns
        if mask != NULL:
            mask += s.mask_step


cdef inline void to_products(Floating* weights, Floating* g, Floating along, Floating scale, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t j
    for j in range(n):
        g[j] = weights[j] * (g[j] - along) * scale


cdef void weigh_backward(const Scores* s, Floating* g) noexcept nogil:
    cdef Floating* x = <Floating*>s.values
    cdef Floating* total = <Floating*>s.total
    cdef const char* mask = s.mask
    cdef Floating along
    cdef Py_ssize_t row, n
    for row in range(s.rows):
        n = seen_by(s, row) if total[2 * row + 1] != 0 else 0
        scale_row(x, <Floating*>mask, <Floating>s.scale, n)
        exponentials(x, total[2 * row], n)
        multiply_row(x, total[2 * row + 1], n)
        along = <Floating>row_sum(x, g, x, <Floating>0, n, <Dot*>NULL)
        to_products(x, g, along, <Floating>s.scale, n)
        clear_row(x, n, s.columns)
        clear_row(g, n, s.columns)
        x += s.columns
        g += s.columns
        if mask != NULL:
            mask += s.mask_step


cdef AttentionTable TABLE


cdef void weigh_single(const Scores* s) noexcept nogil:
    weigh(s, <float*>NULL)


cdef void weigh_double(const Scores* s) noexcept nogil:
    weigh(s, <double*>NULL)


cdef void weigh_backward_single(const Scores* s, char* g) noexcept nogil:
    weigh_backward(s, <float*>g)


cdef void weigh_backward_double(const Scores* s, char* g) noexcept nogil:
    weigh_backward(s, <double*>g)


TABLE.single.weigh, TABLE.single.weigh_backward = weigh_single, weigh_backward_single
TABLE.double_.weigh, TABLE.double_.weigh_backward = weigh_double, weigh_backward_double
table = PyCapsule_New(&TABLE, NULL, NULL)
