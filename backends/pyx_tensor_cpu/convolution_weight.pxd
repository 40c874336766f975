"""The gradient of a convolution's weight."""
cimport numpy as cnp

from pyx_tensor_cpu.convolution_plan cimport Geometry

cdef cnp.ndarray weight_gradient(str name, const Geometry* v, cnp.ndarray g, cnp.ndarray x, cnp.ndarray w)
