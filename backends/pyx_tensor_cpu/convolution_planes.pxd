"""Convolution from planes with their borders: of few outputs a plane at a time, of many row by row."""
cimport numpy as cnp

from pyx_tensor_cpu.convolution_plan cimport Geometry, Job
from pyx_tensor_cpu.convolution_table cimport ConvolutionKernels, Windows

cdef bint suits_planes(const Windows* s, Py_ssize_t outputs, Py_ssize_t item) noexcept
cdef bint suits_rows(const Job* j) noexcept
cdef int convolve_rows(const Job* j, cnp.ndarray like) except -1
cdef int convolve_planes(const Job* j, cnp.ndarray like) except -1
cdef cnp.ndarray weight_of_planes(const Geometry* v, const Windows* windows, const ConvolutionKernels* k, cnp.ndarray g, cnp.ndarray x, cnp.ndarray w)
