"""The gradients of a linear map's weight and bias."""
cimport numpy as cnp

import numpy as np

from pyx_tensor_cpu.blas cimport matmul
from pyx_tensor_cpu.dtypes cimport C64, code_of

from pyx_tensor_cpu import reduce

cnp.import_array()


cdef cnp.ndarray rows_of(cnp.ndarray a):
    """All dims but the last as one."""
    cdef int ndim = cnp.PyArray_NDIM(a), i
    cdef Py_ssize_t rows = 1
    if ndim == 2:
        return a
    for i in range(ndim - 1):               # a row may be empty, so that the size doesn't tell how many there are
        rows *= cnp.PyArray_DIM(a, i)
    return a.reshape(rows, cnp.PyArray_DIM(a, ndim - 1))


def linear_backward(cnp.ndarray g, cnp.ndarray a, needs):
    """(gw, gb) of a weight^T + bias, each None where needs (two booleans) says so."""
    cdef bint to_weight, to_bias
    cdef cnp.ndarray rows
    cdef int i, ndim = cnp.PyArray_NDIM(g)
    to_weight, to_bias = needs
    if ndim == 0:
        raise ValueError(f"linear_backward(): expected a gradient of at least one dim, got shape {np.shape(g)}, and input {np.shape(a)}")
    for i in range(ndim):
        if cnp.PyArray_NDIM(a) != ndim or (i < ndim - 1 and cnp.PyArray_DIM(a, i) != cnp.PyArray_DIM(g, i)):
            raise ValueError(f"linear_backward(): the gradient has shape {np.shape(g)}, the input {np.shape(a)}")
    rows = rows_of(g)
    gw = gb = None
    if to_weight:
        gw = matmul(cnp.PyArray_Transpose(rows, NULL), rows_of(a if code_of(a) < C64 else np.conj(a)))
    if to_bias:
        gb = reduce.sum(rows, (0,), False)
    return gw, gb
