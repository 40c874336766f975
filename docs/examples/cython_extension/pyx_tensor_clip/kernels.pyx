# cython: language_level=3, boundscheck=False, wraparound=False
"""limit * tanh(x / limit) in C, for float32 and float64."""
cimport numpy as cnp
import numpy as np
from libc.math cimport tanh

from pyx_tensor.core.device cimport Device
from pyx_tensor.core.op cimport Op
from pyx_tensor.core.tensor cimport TensorBase

cnp.import_array()

ctypedef fused real:
    float
    double


cdef void loop(const real* a, real* y, Py_ssize_t n, double limit) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        y[i] = <real>(limit * tanh(a[i] / limit))


def soft_clip(cnp.ndarray a not None, double limit):
    """The kernel: an array in, a new one out. The arrays of operands may have any strides."""
    cdef cnp.ndarray x = np.ascontiguousarray(a)
    cdef cnp.ndarray y = np.empty_like(x)
    cdef Py_ssize_t n = x.size
    if x.dtype == np.float64:
        with nogil:
            loop(<const double*>cnp.PyArray_DATA(x), <double*>cnp.PyArray_DATA(y), n, limit)
    elif x.dtype == np.float32:
        with nogil:
            loop(<const float*>cnp.PyArray_DATA(x), <float*>cnp.PyArray_DATA(y), n, limit)
    else:
        raise TypeError(f"soft_clip: expected float32 or float64, got {x.dtype}")
    return y.reshape((<object>a).shape)


def enter(Op operation not None, Device device not None):
    """Make the kernel what an operation runs on a device."""
    operation.register(device, soft_clip)


def dims_and_dtype(TensorBase tensor not None):
    """What a tensor's C struct says of it, without a look-up of attributes."""
    return tensor.ndim_(), tensor.dtype.name
