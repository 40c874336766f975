"""Convolution of few outputs, a plane of the result at a time."""
cimport numpy as cnp

from pyx_tensor_cpu.convolution_plan cimport Geometry, Job
from pyx_tensor_cpu.convolution_table cimport ConvolutionKernels, Windows

cdef bint suits_planes(const Windows* s, Py_ssize_t outputs, Py_ssize_t item) noexcept
cdef int convolve_planes(const Job* j, cnp.ndarray like) except -1
cdef cnp.ndarray weight_of_planes(const Geometry* v, const Windows* windows, const ConvolutionKernels* k, cnp.ndarray g, cnp.ndarray x, cnp.ndarray w)
