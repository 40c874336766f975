"""Allocation of result arrays, and arrays over the memory of others."""
cimport numpy as cnp

cdef cnp.ndarray new_array(int ndim, const Py_ssize_t* shape, cnp.dtype dtype)
cdef cnp.ndarray new_like(cnp.ndarray a, cnp.dtype dtype)
cdef cnp.ndarray new_strided(int ndim, const Py_ssize_t* shape, const Py_ssize_t* order_strides, cnp.dtype dtype)
cdef cnp.ndarray view_over(cnp.ndarray base, int ndim, const Py_ssize_t* shape, const Py_ssize_t* strides, char* data)
