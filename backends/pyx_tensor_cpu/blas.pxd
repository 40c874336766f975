cimport numpy as cnp

cpdef cnp.ndarray matmul(cnp.ndarray a, cnp.ndarray b)
