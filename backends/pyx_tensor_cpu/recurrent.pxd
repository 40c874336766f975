"""The kernels of recurrent layers, for the module of their cells."""
cimport numpy as cnp

from pyx_tensor_cpu.recurrent_table cimport RecurrentKernels

cdef RecurrentKernels* kernels_of(cnp.ndarray a) except NULL
