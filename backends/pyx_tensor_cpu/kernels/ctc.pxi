# cython: language_level=3
"""Sums of numbers whose logarithms are known."""
from cpython.pycapsule cimport PyCapsule_New
from libc.math cimport INFINITY

from pyx_tensor_cpu.ctc_table cimport CtcTable, Exponentials, LogSums

ctypedef fused Floating:
    float
    double

cdef extern from "scalar_math.h" nogil:
    double m_exp(double)
    double m_log(double)
    double m_select(bint, double, double)


cdef void log_sums(Py_ssize_t n, const double* a, const double* b, const double* c, const double* gate, double* out) noexcept nogil:
    cdef Py_ssize_t i
    cdef double x, y, z, top
    for i in range(n):
        x, y, z = a[i], b[i], c[i] + gate[i]
        top = m_select(x > y, x, y)
        top = m_select(top > z, top, z)
        top = m_select(top == -INFINITY, <double>0, top)
        out[i] = top + m_log(m_exp(x - top) + m_exp(y - top) + m_exp(z - top))


cdef void exponentials(Py_ssize_t n, const Floating* x, Floating* out) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n): out[i] = m_exp(x[i])


cdef CtcTable TABLE
TABLE.log_sums = log_sums
TABLE.single = <Exponentials>exponentials[float]
TABLE.double_ = <Exponentials>exponentials[double]
table = PyCapsule_New(&TABLE, NULL, NULL)
