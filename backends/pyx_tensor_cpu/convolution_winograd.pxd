"""Convolution with 3x3 kernels by Winograd's minimal filtering."""
cimport numpy as cnp

from pyx_tensor_cpu.convolution_plan cimport Job, Taps

cdef bint suits_winograd(const Job* j, const Taps* taps) noexcept
cdef int run_winograd(const Job* from_, cnp.ndarray w, Py_ssize_t row, Py_ssize_t channel, const Taps* taps) except -1
